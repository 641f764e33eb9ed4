"""Token renewal: one thread renews a token before it expires, while other threads keep using the current one.

::

    fetched            80 % of its lifetime          expiry
       |--- all threads use it ---|--- one thread ---|--- all wait for one thread
                                      renews
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from streamnative_serdes._http.retry import TransientFailure
from streamnative_serdes._log import logger
from streamnative_serdes._single_flight import Flights
from streamnative_serdes.errors import SerdesError

from .tokens import Token

_AHEAD: Final = 0.8  # of its lifetime; Confluent's clients and librdkafka do the same
_LEAST_TIME, _MOST_TIME = 1.0, 10.0  # seconds for a renewal while the current token is valid
_LONGEST_WAIT: Final = 30.0  # seconds until a failed renewal is retried

_NEXT: Final = "the next token"


Fetch = Callable[[float], Token | TransientFailure]


@dataclass(slots=True, eq=False)
class _Held:
    """The current token; a failed renewal moves ``renew_from``."""

    token: Token
    until: float
    renew_from: float


class Renewed:
    """Keeps a valid token. Threads share it, and it survives a fork.

    Args:
        fetch: fetches a new token until a deadline; the token's ``until`` is set.
        clock: monotonic time in seconds.
    """

    def __init__(self, fetch: Fetch, clock: Callable[[], float]) -> None:
        self._fetch, self._clock = fetch, clock
        self._held: _Held | None = None
        self._flights = Flights()

    def token(self, deadline: float) -> Token | TransientFailure:
        """A valid token.

        Raises:
            SerdesError: ``fetch`` failed, and the current token has expired.
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
            return TransientFailure(str(late))

    def reject(self, text: str) -> None:
        """Drop the rejected token ``text``: the next request fetches a new one, unless another thread already has."""
        held = self._held
        if held is not None and held.token.text == text:
            self._held = None

    def _renew_ahead(self, now: float, held: _Held, deadline: float) -> None:
        """Try to renew; on failure, keep the current token, which is still valid."""
        left = held.until - now
        patience = min(max(left / 2, _LEAST_TIME), _MOST_TIME)
        try:
            outcome = self._flights.run(_NEXT, lambda: self._ask(held, min(deadline, now + patience)), 0.0)
        except TimeoutError:  # another thread is renewing it
            return
        except SerdesError as error:
            outcome = TransientFailure(str(error))
        if isinstance(outcome, TransientFailure):
            wait = min(left / 4, _LONGEST_WAIT)
            logger.warning(
                "cannot renew the token: %s; the current one is valid for %.0f s, retrying in %.0f s",
                outcome.text,
                left,
                wait,
            )
            held.renew_from = self._clock() + wait

    def _ask(self, seen: _Held | None, deadline: float) -> Token | TransientFailure:
        """Fetch and store a new token, unless another thread has replaced ``seen`` meanwhile."""
        now, held = self._clock(), self._held
        if held is not None and held is not seen and now < held.until:
            return held.token
        outcome = self._fetch(deadline)
        if isinstance(outcome, Token):
            assert outcome.until is not None
            lifetime = outcome.until - now
            logger.debug("got a new token, valid for %.0f s", lifetime)
            self._held = _Held(outcome, outcome.until, now + _AHEAD * lifetime)
        return outcome
