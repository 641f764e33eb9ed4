"""Credentials: the ``Authorization`` header of registry requests, for each authentication method of the options.

No error, log or repr shows a credential.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamnative_serdes._config import credentials as ways
from streamnative_serdes._config import named
from streamnative_serdes._http.api_request import TransientFailure
from streamnative_serdes.errors import ConfigError

from .tokens import PREFIX, Fetch, Renewed, Token, called, in_file, literal, path_of

_TOKEN_OPTION: Final = ways.TOKEN.keys[0]


class Credentials:
    """No credentials, and the interface of the other methods.

    ``renewable``: after a rejection, ``header`` may return a new value. ``hint`` goes into the error when the registry
    rejects them; ``secrets`` must never be shown.
    """

    renewable = False
    hint = "see docs/auth.md for the ways to sign in"
    secrets: tuple[str, ...] = ()

    def header(self, deadline: float) -> str | TransientFailure | None:  # noqa: ARG002
        """The header's value, or None for no header; ``deadline``, on the clock, limits a request to an issuer.

        Raises:
            AuthenticationError: the token cannot be obtained.
        """
        return None

    def reject(self, header: str | None) -> None:
        """Note that the registry rejected this header."""

    def close(self) -> None:
        """Close connections, if there are any."""


class Basic(Credentials):
    """User and password."""

    hint = "the user or password is wrong"

    def __init__(self, user: str, password: str) -> None:
        self.secrets = (password,)
        self._header = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"

    def header(self, deadline: float) -> str:  # noqa: ARG002
        return self._header


class Bearer(Credentials):
    """A bearer token, read for each request; ``source`` describes its origin in the repr."""

    hint = "the token is invalid or has expired"

    def __init__(self, read: Callable[[float], Token | TransientFailure], source: str, *, renewable: bool) -> None:
        self._read, self._source, self.renewable = read, source, renewable

    def token(self, deadline: float) -> Token | TransientFailure:
        """As :meth:`header`, with the token's expiry time if it is known."""
        return self._read(deadline)

    def header(self, deadline: float) -> str | TransientFailure:
        token = self.token(deadline)
        return token if isinstance(token, TransientFailure) else f"Bearer {token.text}"

    def __repr__(self) -> str:
        return f"Bearer({self._source})"


class OAuth(Bearer):
    """A token from an OAuth issuer, renewed before it expires and after the registry rejected it."""

    hint = "the registry rejects the OAuth issuer's tokens: do issuer and audience match the registry's configuration?"

    def __init__(self, fetch: Fetch, clock: Callable[[], float], close: Callable[[], None]) -> None:
        self._renewed = Renewed(fetch, clock)
        self.close = close  # type: ignore[method-assign]
        super().__init__(self._renewed.token, "OAuth", renewable=True)

    def reject(self, header: str | None) -> None:
        self._renewed.reject((header or "").removeprefix("Bearer "))


def credentials(
    conf: Mapping[str, Any],
    clock: Callable[[], float],
    answered: set[str] | None = None,
    *,
    token_passwords: bool = True,
) -> Credentials:
    """The credentials for validated options; an issuer that answers is added to ``answered``.

    Args:
        conf: the options of one registry.
        clock: monotonic time in seconds.
        answered: the origins (:func:`address.origin`) that have ever answered.
        token_passwords: whether a password ``token:TEXT`` is sent as a bearer token, as Pulsar's HTTP API takes it.

    Raises:
        ConfigError: a credential is malformed.
    """
    way, user = ways.way_of(conf), _user if token_passwords else Basic
    if way is ways.TOKEN:
        return from_token(conf[_TOKEN_OPTION], named(conf, _TOKEN_OPTION))
    if way is ways.OAUTH:
        from .oauth import ClientCredentials  # needs requests, whose import opens a socket

        flow = ClientCredentials(conf, clock, set() if answered is None else answered)
        return OAuth(flow.fetch, clock, flow.close)
    if way is ways.USER_INFO:
        return user(*conf[ways.USER_INFO.keys[0]].split(":", 1))
    if way is ways.SASL_USER:
        return user(conf["sasl.username"], conf["sasl.password"])
    if way is ways.SASL_TOKEN:
        if not conf["sasl.password"].startswith(PREFIX):
            raise ConfigError("sasl.password is not a token: expected it to begin with token:")
        return _static(literal(conf["sasl.password"], "sasl.password"))
    none = Credentials()
    none.hint = f"set {named(conf, _TOKEN_OPTION)}, or see docs/auth.md for other ways to sign in"
    return none


def from_token(value: str | Callable[[], str], option: str = _TOKEN_OPTION) -> Bearer:
    """Credentials for the option ``bearer.auth.token``: ``TEXT``, ``token:TEXT``, ``file:///PATH`` or a function.

    The file is read, or the function called, for every request, so a new token takes effect at once. The file need not
    exist yet. ``option`` is the option's name in errors.

    Raises:
        ConfigError: the text is not a token, or the file is not given as ``file:///PATH``.
    """
    if callable(value):
        return Bearer(lambda _: Token(called(value, option)), "function", renewable=True)
    if value.startswith("file:"):
        path = path_of(value, option)
        return Bearer(lambda _: Token(in_file(path)), f"file {path}", renewable=True)
    return _static(literal(value, option))


def _static(text: str) -> Bearer:
    return Bearer(lambda _: Token(text), "text", renewable=False)


def _user(user: str, password: str) -> Credentials:
    """KoP reads a password ``token:TEXT`` as a token; Pulsar's HTTP API takes that token as Bearer."""
    if password.startswith(PREFIX):
        return _static(literal(password, "the password"))
    found = Basic(user, password)
    found.hint += "; if the password is a JSON web token, put token: before it"
    return found
