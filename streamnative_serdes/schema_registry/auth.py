"""Credentials: the bearer token that goes with each request, given as text or in a file.

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


class Anonymous(AuthBase):
    """No credentials. It is passed all the same: without an AuthBase, requests takes some from ~/.netrc."""

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        return request


class BearerToken(AuthBase):
    """Asks ``read`` for the token each time; ``source`` says in words where it comes from."""

    def __init__(self, read: Callable[[], str], source: str) -> None:
        self._read = read
        self._source = source

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._read()}"
        return request

    def __repr__(self) -> str:
        return f"BearerToken({self._source})"


def from_option(value: str | None) -> AuthBase:
    """Credentials for the option ``bearer.auth.token``: ``TEXT``, ``token:TEXT``, ``file:///PATH`` or None.

    A file is read for every request, so that a new token in it is taken up at once; it need not exist yet.

    Raises:
        ConfigError: the text is no token, or the file is not given as ``file:///PATH``.
    """
    if value is None:
        return Anonymous()
    if value.startswith("file:"):
        path = _path_of(value)
        return BearerToken(lambda: _read_file(path), f"file {path}")
    token = value.removeprefix("token:")
    if not _TOKEN.fullmatch(token.encode("utf-8", "surrogatepass")):
        raise ConfigError("bearer.auth.token is no token: it is empty or not all visible ASCII", hint=_FORMS)
    return BearerToken(lambda: token, "text")


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
