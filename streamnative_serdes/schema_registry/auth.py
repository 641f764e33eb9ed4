"""Credentials: the bearer token that goes with each request, given as text, in a file or by a function.

Source: Pulsar's token authentication. Over HTTP the token stands alone behind ``Bearer``: Pulsar takes neither
another case of that word nor a ``token:`` prefix. No error, log or repr shows a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.request import url2pathname

from requests import PreparedRequest
from requests.auth import AuthBase

from streamnative_serdes.errors import AuthenticationError, ConfigError

_TOKEN = re.compile(rb"[\x21-\x7e]+")  # anything else could end the header, or is no token
_LONGEST = 64 * 1024  # bytes of a token file
_FORMS = "give the token alone, without 'Bearer ', or file:///PATH"


class Credentials(AuthBase):
    """``renewable``: whether asking once more, after they were found bad, may give other ones."""

    renewable = False


class Anonymous(Credentials):
    """No credentials. It is passed all the same: without an AuthBase, requests takes some from ~/.netrc."""

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        return request


class BearerToken(Credentials):
    """Asks ``read`` for the token each time; ``source`` says in words where it comes from."""

    def __init__(self, read: Callable[[], str], source: str, *, renewable: bool) -> None:
        self._read = read
        self._source = source
        self.renewable = renewable

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._read()}"
        return request

    def __repr__(self) -> str:
        return f"BearerToken({self._source})"


def from_option(value: str | Callable[[], str] | None) -> Credentials:
    """Credentials for the option ``bearer.auth.token``: ``TEXT``, ``token:TEXT``, ``file:///PATH``, function or None.

    A file is read for every request, so that a new token in it is taken up at once; it need not exist yet. A function
    is called for every request.

    Raises:
        ConfigError: the text is no token, or the file is not given as ``file:///PATH``.
    """
    if value is None:
        return Anonymous()
    if callable(value):
        return BearerToken(lambda: _call(value), "function", renewable=True)
    if value.startswith("file:"):
        path = _path_of(value)
        return BearerToken(lambda: _read_file(path), f"file {path}", renewable=True)
    token = value.removeprefix("token:")
    if not _is_token(token):
        raise ConfigError("bearer.auth.token is no token: it is empty or not all visible ASCII", hint=_FORMS)
    return BearerToken(lambda: token, "text", renewable=False)


def _is_token(text: str) -> bool:
    return bool(_TOKEN.fullmatch(text.encode("utf-8", "surrogatepass")))


def _call(function: Callable[[], object]) -> str:
    try:
        token = function()
    except Exception as error:
        # Its kind only: what a user's function says may well quote what it holds. Its traceback is kept for them.
        raise AuthenticationError(f"the function for bearer.auth.token failed: {type(error).__name__}") from error
    if not isinstance(token, str) or not _is_token(token.removeprefix("token:")):
        raise AuthenticationError(
            f"the function for bearer.auth.token returned no token but a {type(token).__name__}", hint=_FORMS
        )
    return token.removeprefix("token:")


def _path_of(url: str) -> str:
    host, slash, path = url.removeprefix("file:").removeprefix("//").partition("/")
    if host not in ("", "localhost") or not path:
        raise ConfigError("bearer.auth.token names a file in another way than file:///PATH", hint=_FORMS)
    return url2pathname(slash + path)


def _read_file(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LONGEST).strip()
    except (OSError, ValueError) as error:
        # errno's words only: what stands in the file stays there.
        fault = error.strerror if isinstance(error, OSError) else "not a path"
        raise AuthenticationError(f"the token file {path} cannot be read: {fault}") from None
    if not _TOKEN.fullmatch(content):
        raise AuthenticationError(f"the token file {path} holds no token", hint="one token, nothing else")
    return content.decode("ascii")
