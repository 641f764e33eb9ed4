"""Version numbers: Confluent's registry counts from 1, Pulsar's from 0. Only this module converts between them."""

from __future__ import annotations

import operator
import re

from .error import BadVersionError


def to_confluent(version: int) -> int:
    """Confluent's number for Pulsar's: always one more, also where deletions leave gaps."""
    return version + 1


def to_pulsar(version: object, topic: str) -> int:
    """Pulsar's number for Confluent's, which may be given as text, as Confluent's client allows.

    Raises:
        BadVersionError: ``version`` is not a whole number from 1 on.
    """
    number = whole(version)
    if number is None or number < 1:
        raise BadVersionError(
            f'expected a version from 1 on, or "latest", got {version!r:.80}',
            topic=topic,
            status=422,
            hint="version numbers of compat are Pulsar's + 1",
        )
    return number - 1


def whole(given: object) -> int | None:
    """The integer that ``given`` is, or whose digits it contains; None for anything else, such as a bool."""
    if isinstance(given, str):
        return int(given) if re.fullmatch("[0-9]{1,20}", given) else None
    if isinstance(given, bool):
        return None
    try:
        return operator.index(given)  # type: ignore[arg-type]  # TypeError for all others
    except TypeError:
        return None
