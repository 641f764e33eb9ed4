"""Tokens: reads a bearer token from an option, a file or a function, and validates it.

Source: Pulsar's token authentication. Over HTTP, the header is exactly ``Bearer TOKEN``: Pulsar accepts neither
``bearer`` nor a ``token:`` prefix. No error, log or repr shows a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import url2pathname

from streamnative_serdes.errors import AuthenticationError, ConfigError

PREFIX = "token:"  # how Pulsar and KoP mark a token where a password or a path is possible too
_TOKEN = re.compile(rb"[\x21-\x7e]+")  # visible ASCII: a line break would end the header
_LONGEST = 64 * 1024  # bytes of a file
_FORMS = "give the token itself, without 'Bearer ', or file:///PATH"


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token. ``until``: its expiry time on the caller's clock, or None if unknown."""

    text: str = field(repr=False)
    until: float | None = None


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
    """The token in a file. Raises AuthenticationError."""
    content = read_file(path, "token file").strip()
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
