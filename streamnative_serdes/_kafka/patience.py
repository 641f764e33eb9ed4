"""How long a run waits for a broker that has answered it before, and is away now: it may be restarting.

Without :func:`patient`, every question has its own short limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from streamnative_serdes._log import logger

PATIENCE: Final = 300.0  # seconds
_SAY_SECONDS: Final = 60.0  # between two remarks about one broker


@dataclass(slots=True)
class _Patience:
    seconds: float = 0.0
    said: dict[str, float] = field(default_factory=dict)  # when it was said last that these brokers are away


_current: ContextVar[_Patience] = ContextVar("patience", default=_Patience())  # noqa: B039 - never changed


@contextmanager
def patient(seconds: float = PATIENCE) -> Iterator[None]:
    """Wait for brokers that have answered before, for up to ``seconds``, and log that it waits, once a minute."""
    token = _current.set(_Patience(seconds))
    try:
        yield
    finally:
        _current.reset(token)


def is_patient() -> bool:
    """Whether there is a time to wait for brokers that are away."""
    return _current.get().seconds > 0


def goes_on_waiting(addresses: str, since: float, met: str) -> bool:
    """Whether to wait longer for brokers that have not answered since then (of ``time.monotonic()``).

    Args:
        addresses: of the brokers.
        since: when they were asked.
        met: what the client has met, for the log.
    """
    patience, now = _current.get(), time.monotonic()
    if now - since >= patience.seconds:
        return False
    if now - patience.said.get(addresses, -_SAY_SECONDS) >= _SAY_SECONDS:
        patience.said[addresses] = now
        left = patience.seconds - (now - since)
        logger.warning("Waiting for a Kafka broker at %s, for up to %.0f s more: %s", addresses, left, met)
    return True


def is_waiting() -> bool:
    """Whether a broker was away within the last minute."""
    return any(time.monotonic() - said < _SAY_SECONDS for said in _current.get().said.values())
