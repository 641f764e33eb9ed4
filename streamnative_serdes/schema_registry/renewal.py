"""A token that is renewed ahead of its end, by one thread, while the others go on with the one that holds.

::

    fetched          80 % of its time            its end
       |--- everybody uses it ---|--- one thread ---|--- all wait for one thread
                                     fetches
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Final

from streamnative_serdes.errors import SerdesError

from .retry import Trouble
from .tokens import Token

_AHEAD: Final = 0.8  # of its time; Confluent's clients and librdkafka take the same
_LEAST_TIME, _MOST_TIME = 1.0, 10.0  # seconds for a renewal while the old token holds
_LONGEST_WAIT: Final = 30.0  # seconds until a renewal that failed is tried again

_log = logging.getLogger("streamnative_serdes")

Fetch = Callable[[float], Token | Trouble]


@dataclass(frozen=True, slots=True)
class _Held:
    token: Token
    until: float
    renew_from: float


@dataclass(frozen=True, slots=True, eq=False)
class _Failed:
    how: Trouble | SerdesError


class Renewed:
    """The token of now. Threads share it, and a fork takes it along.

    Args:
        fetch: asks for a new one until a deadline; its ``until`` is set.
        clock: monotonic time in seconds.
    """

    def __init__(self, fetch: Fetch, clock: Callable[[], float]) -> None:
        self._fetch, self._clock = fetch, clock
        # Both are replaced as a whole, so that they can be read without the lock.
        self._held: _Held | None = None
        self._failed: _Failed | None = None
        # By process: a fork may leave its parent's lock locked for ever. A signal handler may ask while it is held.
        self._locks: dict[int, threading.RLock] = {}

    def token(self, deadline: float) -> Token | Trouble:
        """One that holds.

        Raises:
            SerdesError: there is none, as ``fetch`` says.
        """
        now, held, failed = self._clock(), self._held, self._failed
        if held is None or now >= held.until:
            return self._wait_for_one(failed, now, deadline)
        if now >= held.renew_from and self._lock.acquire(blocking=False):
            try:
                held = self._renew_ahead(now, held, deadline)
            finally:
                self._lock.release()
            if self._clock() >= held.until:
                return self._wait_for_one(failed, now, deadline)
        return held.token

    def reject(self, text: str) -> None:
        """It was found bad: the next question fetches another, unless another thread has one already."""
        held = self._held
        if held is not None and held.token.text == text:
            self._held = None

    def _renew_ahead(self, now: float, held: _Held, deadline: float) -> _Held:
        """A new one, or ``held`` again, which is good for a while yet."""
        if self._held is not held and self._held is not None:
            return self._held  # somebody was faster
        left = held.until - now
        try:
            outcome = self._fetch(min(deadline, now + min(max(left / 2, _LEAST_TIME), _MOST_TIME)))
        except SerdesError as error:
            outcome = Trouble(str(error))
        if isinstance(outcome, Token):
            return self._hold(now, outcome)
        wait = min(left / 4, _LONGEST_WAIT)
        _log.warning("no new token: %s; the old one holds for %.0f s, next in %.0f s", outcome.text, left, wait)
        later = replace(held, renew_from=self._clock() + wait)
        if self._held is held:  # it may have been rejected meanwhile
            self._held = later
        return later

    def _wait_for_one(self, seen: _Failed | None, now: float, deadline: float) -> Token | Trouble:
        if not self._lock.acquire(timeout=max(0.0, deadline - now)):
            return Trouble("the token that another thread is asking for did not come in time")
        try:
            held, failed = self._held, self._failed
            if held is not None and self._clock() < held.until:
                return held.token
            if failed is None or failed is seen:
                return self._first(deadline)
        finally:
            self._lock.release()
        # It failed while we waited; to ask again, one thread after the other, would take as long for each.
        if isinstance(failed.how, SerdesError):
            raise copy(failed.how)
        return failed.how

    def _first(self, deadline: float) -> Token | Trouble:
        now = self._clock()
        try:
            outcome = self._fetch(deadline)
        except SerdesError as error:
            self._failed = _Failed(copy(error))
            raise
        if isinstance(outcome, Trouble):
            self._failed = _Failed(outcome)
            return outcome
        return self._hold(now, outcome).token

    def _hold(self, since: float, token: Token) -> _Held:
        assert token.until is not None
        self._failed = None
        lifetime = token.until - since
        _log.debug("a new token, for %.0f s", lifetime)
        self._held = _Held(token, token.until, since + _AHEAD * lifetime)
        return self._held

    @property
    def _lock(self) -> threading.RLock:
        pid = os.getpid()
        return self._locks.get(pid) or self._locks.setdefault(pid, threading.RLock())
