"""The attempts to read a message, in order, as data: by which schema and from which byte (SNIP 42, docs/messages.md).

| in the header    | the caller knows | attempts                                                        |
|------------------|------------------|-----------------------------------------------------------------|
| a known version  |                  | by that version, behind the header                              |
| a known version  | another version  | the same; then by the caller's, as a whole                      |
| an unknown one   |                  | by the latest, behind the header; then by the latest, as a whole |
| an unknown one   | a version        | by the caller's, as a whole                                     |
| none             |                  | by the latest, as a whole                                       |
| none             | a version        | by the caller's, as a whole                                     |

Only the first row's message may have bytes behind its datum. In all others nothing but the bytes tells that the schema
is right, so every byte has to be used.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from streamnative_serdes import header
from streamnative_serdes._call_path import LATEST, without_header
from streamnative_serdes.errors import DecodeError

UNKNOWN: Final = "which the registry does not know"
UNREADABLE: Final = "which does not read it"


class Attempt(NamedTuple):
    """One way to read a message.

    Args:
        key: by which schema: a version from a header, LATEST, or ``without_header(version)``.
        offset: in bytes, where the datum begins.
    """

    key: int
    offset: int

    @property
    def whole(self) -> bool:
        """Whether every byte has to be used."""
        return self.key < 0


def by_key(key: int) -> Attempt:
    """The first attempt for messages that are bound under ``key``."""
    return Attempt(key, header.SIZE if key >= 0 else 0)


def without_version(caller: int | None) -> tuple[Attempt, ...]:
    """The attempts that leave the header's version aside; ``caller`` is the version that the caller gave."""
    if caller is not None:
        return (Attempt(without_header(caller), 0),)
    return Attempt(LATEST, header.SIZE), Attempt(LATEST, 0)


def unreadable(
    topic: str, in_header: int, why: str, used: int, failed: list[tuple[Attempt, DecodeError]]
) -> DecodeError:
    """The error of a message that no attempt has read, with the reason of each.

    Args:
        topic: whose message it is.
        in_header: the version in its header.
        why: UNKNOWN or UNREADABLE.
        used: the version that was tried in its place.
        failed: all attempts, in order.
    """
    first = "the registry does not have this version" if why == UNKNOWN else "this version does not read the message"
    reasons = (f"{'behind the header' if attempt.offset else 'as a whole'}: {error}" for attempt, error in failed)
    return DecodeError(
        f"{first}, and version {used} does not read the message either; {'; '.join(reasons)}",
        topic=topic,
        version=in_header,
    )
