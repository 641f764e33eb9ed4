"""Credentials: what goes into the header ``Authorization`` of a request, by the way that the options ask for.

No error, log or repr shows them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamnative_serdes.config import credentials as ways
from streamnative_serdes.errors import ConfigError

from .renewal import Fetch, Renewed
from .retry import Trouble
from .tokens import PREFIX, Token, called, in_file, literal, path_of

_TOKEN_OPTION: Final = ways.TOKEN.keys[0]


class Credentials:
    """None. ``renewable``: whether asking once more, after they were found bad, may give other ones.

    ``hint`` is for when the registry does not take them; ``secrets`` must not be shown.
    """

    renewable = False
    hint = "set bearer.auth.token, or see docs/auth.md for other ways to sign in"
    secrets: tuple[str, ...] = ()

    def header(self, deadline: float) -> str | Trouble | None:  # noqa: ARG002
        """The header's value, if there is one; ``deadline`` on the clock is for what has to be asked for.

        Raises:
            AuthenticationError: they cannot be had.
        """
        return None

    def reject(self, header: str | None) -> None:
        """The registry found this header bad."""

    def close(self) -> None:
        """Close connections, if there are any."""


class Basic(Credentials):
    """User and password."""

    hint = "user or password are wrong. Is the password a JSON web token? Then put token: before it"

    def __init__(self, user: str, password: str) -> None:
        self.secrets = (password,)
        self._header = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"

    def header(self, deadline: float) -> str:  # noqa: ARG002
        return self._header


class Bearer(Credentials):
    """A token, asked for each time; ``source`` says in words where it comes from."""

    hint = "the token is bad or has expired"

    def __init__(self, read: Callable[[float], Token | Trouble], source: str, *, renewable: bool) -> None:
        self._read, self._source, self.renewable = read, source, renewable

    def token(self, deadline: float) -> Token | Trouble:
        """As :meth:`header`, with the time at which it runs out, where that is known."""
        return self._read(deadline)

    def header(self, deadline: float) -> str | Trouble:
        token = self.token(deadline)
        return token if isinstance(token, Trouble) else f"Bearer {token.text}"

    def __repr__(self) -> str:
        return f"Bearer({self._source})"


class OAuth(Bearer):
    """A token of an issuer, renewed ahead of its end, and when it is found bad."""

    hint = "the registry does not take the OAuth issuer's tokens: are issuer and audience what it was set up for?"

    def __init__(self, fetch: Fetch, clock: Callable[[], float], close: Callable[[], None]) -> None:
        self._renewed = Renewed(fetch, clock)
        self.close = close  # type: ignore[method-assign]
        super().__init__(self._renewed.token, "OAuth", renewable=True)

    def reject(self, header: str | None) -> None:
        self._renewed.reject((header or "").removeprefix("Bearer "))


def credentials(conf: Mapping[str, Any], clock: Callable[[], float], answered: set[str] | None = None) -> Credentials:
    """Those that checked options ask for; an issuer that answers is put down in ``answered``.

    Raises:
        ConfigError: they are none.
    """
    way = ways.way_of(conf)
    if way is ways.TOKEN:
        return from_token(conf[_TOKEN_OPTION])
    if way is ways.OAUTH:
        from .oauth import ClientCredentials  # needs requests, whose import opens a socket

        flow = ClientCredentials(conf, clock, set() if answered is None else answered)
        return OAuth(flow.fetch, clock, flow.close)
    if way is ways.USER_INFO:
        return _user(*conf[ways.USER_INFO.keys[0]].split(":", 1))
    if way is ways.SASL_USER:
        return _user(conf["sasl.username"], conf["sasl.password"])
    if way is ways.SASL_TOKEN:
        if not conf["sasl.password"].startswith(PREFIX):
            raise ConfigError("sasl.password is no token: it does not begin with token:")
        return _static(literal(conf["sasl.password"], "sasl.password"))
    return Credentials()


def from_token(value: str | Callable[[], str]) -> Bearer:
    """Credentials for the option ``bearer.auth.token``: ``TEXT``, ``token:TEXT``, ``file:///PATH`` or a function.

    A file is read for every request, so that a new token in it is taken up at once; it need not exist yet. A function
    is called for every request.

    Raises:
        ConfigError: the text is no token, or the file is not given as ``file:///PATH``.
    """
    if callable(value):
        return Bearer(lambda _: Token(called(value)), "function", renewable=True)
    if value.startswith("file:"):
        path = path_of(value, _TOKEN_OPTION)
        return Bearer(lambda _: Token(in_file(path)), f"file {path}", renewable=True)
    return _static(literal(value, _TOKEN_OPTION))


def _static(text: str) -> Bearer:
    return Bearer(lambda _: Token(text), "text", renewable=False)


def _user(user: str, password: str) -> Credentials:
    """A password ``token:TEXT`` is what KoP takes for a token, and Pulsar takes the same one as Bearer."""
    return _static(literal(password, "the password")) if password.startswith(PREFIX) else Basic(user, password)
