"""A token, where it is found (text, file, function), and how it is told from what is none.

Source: Pulsar's token authentication. Over HTTP the token stands alone behind ``Bearer``: Pulsar takes neither
another case of that word nor a ``token:`` prefix. No error, log or repr shows a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import url2pathname

from streamnative_serdes.errors import AuthenticationError, ConfigError

PREFIX = "token:"  # Pulsar's and KoP's mark of a token where a password or a path could stand as well
_TOKEN = re.compile(rb"[\x21-\x7e]+")  # anything else could end the header, or is no token
_LONGEST = 64 * 1024  # bytes of a file
_FORMS = "give the token alone, without 'Bearer ', or file:///PATH"


@dataclass(frozen=True, slots=True)
class Token:
    """``until``: when it runs out, on the clock of who asked for it; None where that is not known."""

    text: str = field(repr=False)
    until: float | None = None


def is_token(text: str) -> bool:
    return bool(_TOKEN.fullmatch(text.encode("utf-8", "surrogatepass")))


def literal(value: str, option: str) -> str:
    """``TEXT`` or ``token:TEXT`` as the text. Raises ConfigError: it is no token."""
    token = value.removeprefix(PREFIX)
    if not is_token(token):
        raise ConfigError(f"{option} is no token: it is empty or not all visible ASCII", hint=_FORMS)
    return token


def called(function: Callable[[], object]) -> str:
    """What the user's function for ``bearer.auth.token`` gives. Raises AuthenticationError."""
    try:
        token = function()
    except Exception as error:
        # Its kind only: what a user's function says may well quote what it holds. Its traceback is kept for them.
        raise AuthenticationError(f"the function for bearer.auth.token failed: {type(error).__name__}") from error
    if not isinstance(token, str) or not is_token(token.removeprefix(PREFIX)):
        raise AuthenticationError(
            f"the function for bearer.auth.token returned no token but a {type(token).__name__}", hint=_FORMS
        )
    return token.removeprefix(PREFIX)


def in_file(path: str) -> str:
    """The one token that a file holds. Raises AuthenticationError."""
    content = read_file(path, "token file").strip()
    if not _TOKEN.fullmatch(content):
        raise AuthenticationError(f"the token file {path} holds no token", hint="one token, nothing else")
    return content.decode("ascii")


def path_of(url: str, option: str) -> str:
    """The path in ``file:/PATH`` or ``file:///PATH``. Raises ConfigError."""
    host, slash, path = url.removeprefix("file:").removeprefix("//").partition("/")
    if host not in ("", "localhost") or not path:
        raise ConfigError(f"{option} names a file in another way than file:///PATH", hint="file:///PATH")
    return url2pathname(slash + path)


def read_file(path: str, kind: str) -> bytes:
    """A small file's content. Raises AuthenticationError: it cannot be read, or is not small."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LONGEST + 1)
    except (OSError, ValueError) as error:
        # errno's words only: what stands in the file stays there.
        fault = error.strerror if isinstance(error, OSError) else "not a path"
        raise AuthenticationError(f"the {kind} {path} cannot be read: {fault}") from None
    if len(content) > _LONGEST:
        raise AuthenticationError(f"the {kind} {path} is larger than {_LONGEST} bytes")
    return content
