"""OAuth 2 key files: client id and secret as JSON, in a file or inside the option.

Source: Pulsar's ``privateKey`` (a path, ``file:`` or ``data:`` URL) and StreamNative's key files. The JSON has
``client_id`` and ``client_secret``, often ``issuer_url``; ``type`` and ``client_email`` are not needed.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from streamnative_serdes._config.checks import encodable
from streamnative_serdes.errors import AuthenticationError, ConfigError, SerdesError

from .tokens import path_of, read_file

_HINT = 'expected JSON: {"client_id": "...", "client_secret": "...", "issuer_url": "https://..."}'


@dataclass(frozen=True, slots=True)
class ClientKey:
    """Credentials of an OAuth client; ``issuer`` is the issuer's address, or None if the key does not name it."""

    id: str
    secret: str = field(repr=False)
    issuer: str | None = None


def key_source(value: str, option: str) -> Callable[[], ClientKey]:
    """A function that returns the key. A file is read for each token, so it can be replaced; a ``data:`` URL once, now.

    Args:
        value: of the option ``bearer.auth.private.key``.
        option: its name in errors.

    Raises:
        ConfigError: ``value`` is neither a path nor a valid URL.
    """
    if value.startswith("data:"):
        key = _parsed(_data(value, option), ConfigError, f"the key in {option}")
        return lambda: key
    if not value.startswith("file:") and ("://" in value or _is_content(value)):
        raise ConfigError(f"{option}: expected a path, file:///PATH or a data: URL")
    path = path_of(value, option) if value.startswith("file:") else value
    return lambda: _parsed(read_file(path, "key file"), AuthenticationError, f"the key file {path}")


def _is_content(value: str) -> bool:
    """Whether ``value`` is the key itself, plain or in base64: taken for a path, errors would show it."""
    try:
        return "{" in value or base64.b64decode(value, validate=True).lstrip().startswith(b"{")
    except ValueError:
        return False


def _data(url: str, option: str) -> bytes:
    head, comma, content = url.removeprefix("data:").partition(",")
    data = unquote_to_bytes(content)
    try:
        if comma:
            return base64.b64decode(data, validate=True) if head.endswith(";base64") else data
    except binascii.Error:
        pass
    raise ConfigError(f"{option} is not a valid data: URL", hint="such as data:application/json;base64,...")


def _parsed(content: bytes, error: type[SerdesError], what: str) -> ClientKey:
    """Raises ``error`` if a member is missing; the message does not show the content."""
    found = {name: text for name, text in _json(content).items() if isinstance(text, str) and text and encodable(text)}
    missing = [name for name in ("client_id", "client_secret") if name not in found]
    if missing:
        raise error(f"{what} has no {' and no '.join(missing)}", hint=_HINT)
    return ClientKey(found["client_id"], found["client_secret"], found.get("issuer_url"))


def _json(content: bytes) -> dict[str, Any]:
    """The JSON object, or {}: an error of json would contain the text, with the secret."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}
