"""A token that is renewed ahead of its end, by one thread, while the others go on with the one that holds.

::

    fetched          80 % of its time            its end
       |--- everybody uses it ---|--- one thread ---|--- all wait for one thread
                                     fetches
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from streamnative_serdes.errors import SerdesError
from streamnative_serdes.flights import Flights

from .retry import Trouble
from .tokens import Token

_AHEAD: Final = 0.8  # of its time; Confluent's clients and librdkafka take the same
_LEAST_TIME, _MOST_TIME = 1.0, 10.0  # seconds for a renewal while the old token holds
_LONGEST_WAIT: Final = 30.0  # seconds until a renewal that failed is tried again

_NEXT: Final = "the next token"

_log = logging.getLogger("streamnative_serdes")

Fetch = Callable[[float], Token | Trouble]


@dataclass(slots=True, eq=False)
class _Held:
    """``renew_from`` moves on when a renewal fails."""

    token: Token
    until: float
    renew_from: float


class Renewed:
    """The token of now. Threads share it, and a fork takes it along.

    Args:
        fetch: asks for a new one until a deadline; its ``until`` is set.
        clock: monotonic time in seconds.
    """

    def __init__(self, fetch: Fetch, clock: Callable[[], float]) -> None:
        self._fetch, self._clock = fetch, clock
        self._held: _Held | None = None
        self._flights = Flights()

    def token(self, deadline: float) -> Token | Trouble:
        """One that holds.

        Raises:
            SerdesError: there is none, as ``fetch`` says.
        """
        now, held = self._clock(), self._held
        if held is not None and held.renew_from <= now < held.until:
            self._renew_ahead(now, held, deadline)
            now, held = self._clock(), self._held
        if held is not None and now < held.until:
            return held.token
        try:
            return self._flights.run(_NEXT, lambda: self._ask(held, deadline), deadline - now)
        except TimeoutError as late:
            return Trouble(str(late))

    def reject(self, text: str) -> None:
        """It was found bad: the next question fetches another, unless another thread has one already."""
        held = self._held
        if held is not None and held.token.text == text:
            self._held = None

    def _renew_ahead(self, now: float, held: _Held, deadline: float) -> None:
        """Hold a new one, or go on with this one, which is good for a while yet."""
        left = held.until - now
        patience = min(max(left / 2, _LEAST_TIME), _MOST_TIME)
        try:
            outcome = self._flights.run(_NEXT, lambda: self._ask(held, min(deadline, now + patience)), 0.0)
        except TimeoutError:  # another thread is at it
            return
        except SerdesError as error:
            outcome = Trouble(str(error))
        if isinstance(outcome, Trouble):
            wait = min(left / 4, _LONGEST_WAIT)
            _log.warning("no new token: %s; the old one holds for %.0f s, next in %.0f s", outcome.text, left, wait)
            held.renew_from = self._clock() + wait

    def _ask(self, seen: _Held | None, deadline: float) -> Token | Trouble:
        """A new one, which is held from now on, unless another thread got one since ``seen``."""
        now, held = self._clock(), self._held
        if held is not None and held is not seen and now < held.until:
            return held.token
        outcome = self._fetch(deadline)
        if isinstance(outcome, Token):
            assert outcome.until is not None
            lifetime = outcome.until - now
            _log.debug("a new token, for %.0f s", lifetime)
            self._held = _Held(outcome, outcome.until, now + _AHEAD * lifetime)
        return outcome
