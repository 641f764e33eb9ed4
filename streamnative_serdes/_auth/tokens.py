"""Tokens: reads and validates bearer tokens, and renews them before they expire.

Source: Pulsar's token authentication. Over HTTP, the header is exactly ``Bearer TOKEN``: Pulsar accepts neither
``bearer`` nor a ``token:`` prefix. No error, log or repr shows a token.

One thread renews a token before it expires, while other threads keep using the current one::

    fetched            80 % of its lifetime          expiry
       |--- all threads use it ---|--- one thread ---|--- all wait for one thread
                                      renews
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.request import url2pathname

from streamnative_serdes._http.api_request import TransientFailure
from streamnative_serdes._single_flight import Flights
from streamnative_serdes.errors import AuthenticationError, ConfigError, SerdesError

logger = logging.getLogger(__name__)

PREFIX = "token:"  # how Pulsar and KoP mark a token where a password or a path is possible too
_TOKEN = re.compile(rb"[\x21-\x7e]+")  # visible ASCII: a line break would end the header
_LONGEST = 64 * 1024  # bytes of a file
_FORMS = "give the token itself, without 'Bearer ', or file:///PATH"


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token.

    ``until``: its expiry time on the caller's clock, or None if unknown; ``ends``: the same in seconds since 1970.
    A monotonic clock may stand still while the machine sleeps.
    """

    text: str = field(repr=False)
    until: float | None = None
    ends: float = math.inf


def is_token(text: str) -> bool:
    return bool(_TOKEN.fullmatch(text.encode("utf-8", "surrogatepass")))


def literal(value: str, option: str) -> str:
    """The token in ``TEXT`` or ``token:TEXT``. Raises ConfigError: it is not a token."""
    token = value.removeprefix(PREFIX)
    if not is_token(token):
        raise ConfigError(f"{option} is not a token: expected visible ASCII without spaces", hint=_FORMS)
    return token


def called(function: Callable[[], object], option: str) -> str:
    """The token that the user's function for ``option`` returns. Raises AuthenticationError."""
    try:
        token = function()
    except Exception as error:
        # Only the type: the function's message may contain a secret. The traceback is kept as the cause.
        raise AuthenticationError(f"the function for {option} failed: {type(error).__name__}") from error
    if not isinstance(token, str) or not is_token(token.removeprefix(PREFIX)):
        raise AuthenticationError(
            f"the function for {option} returned an invalid token of type {type(token).__name__}", hint=_FORMS
        )
    return token.removeprefix(PREFIX)


def in_file(path: str) -> str:
    """The token in a file, ``TEXT`` or ``token:TEXT``. Raises AuthenticationError."""
    content = read_file(path, "token file").strip().removeprefix(PREFIX.encode())
    if not _TOKEN.fullmatch(content):
        raise AuthenticationError(
            f"expected one token in the token file {path}", hint="the file must contain the token and nothing else"
        )
    return content.decode("ascii")


def path_of(url: str, option: str) -> str:
    """The path in ``file:/PATH`` or ``file:///PATH``. Raises ConfigError."""
    host, slash, path = url.removeprefix("file:").removeprefix("//").partition("/")
    if host not in ("", "localhost") or not path:
        raise ConfigError(f"{option}: expected a file URL without a host", hint="such as file:///PATH")
    return url2pathname(slash + path)


def read_file(path: str, kind: str) -> bytes:
    """The content of a small file. Raises AuthenticationError: it cannot be read, or is too large."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LONGEST + 1)
    except (OSError, ValueError) as error:
        # Only errno's text, so that nothing of the file's content is shown.
        fault = error.strerror if isinstance(error, OSError) else "not a path"
        raise AuthenticationError(f"the {kind} {path} cannot be read: {fault}") from None
    if len(content) > _LONGEST:
        raise AuthenticationError(f"the {kind} {path} is larger than {_LONGEST} bytes")
    return content


_AHEAD: Final = 0.8  # of its lifetime; Confluent's clients and librdkafka do the same
_LEAST_TIME, _MOST_TIME = 1.0, 10.0  # seconds for a renewal while the current token is valid
_LONGEST_WAIT: Final = 30.0  # seconds until a failed renewal is retried

_NEXT: Final = "the next token"


Fetch = Callable[[float], Token | TransientFailure]


@dataclass(slots=True, eq=False)
class _Held:
    """The current token; a failed renewal moves ``renew_from``, and a rejection ``until`` to the past.

    Each is a plain assignment to the object that has the token, so neither can undo what another thread has renewed.
    """

    token: Token
    until: float
    renew_from: float


class Renewed:
    """Keeps a valid token. Threads share it, and it survives a fork.

    ``_held`` is replaced as a whole, by one thread at a time: single flight guards it.

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
        if held is not None and time.time() >= held.token.ends:
            held.until = -math.inf
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
            held.until = -math.inf

    def _renew_ahead(self, now: float, held: _Held, deadline: float) -> None:
        """Try to renew; on failure, keep the current token, which is still valid."""
        left = max(held.until - now, 0.0)  # it may have been rejected meanwhile
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
