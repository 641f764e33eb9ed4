"""Key files of OAuth 2 clients: who we are, in a file or in the option itself.

Source: Pulsar's ``privateKey``, a path, ``file:`` or ``data:`` URL; the files that StreamNative gives out. JSON with
``client_id`` and ``client_secret``, often ``issuer_url``; ``type`` and ``client_email`` say nothing that is needed.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from streamnative_serdes.config.checks import encodable
from streamnative_serdes.errors import AuthenticationError, ConfigError, SerdesError

from .tokens import path_of, read_file

_OPTION = "bearer.auth.private.key"
_HINT = 'it is JSON: {"client_id": "...", "client_secret": "...", "issuer_url": "https://..."}'


@dataclass(frozen=True, slots=True)
class ClientKey:
    """``issuer``: its address, where it is named."""

    id: str
    secret: str = field(repr=False)
    issuer: str | None = None


def key_source(value: str) -> Callable[[], ClientKey]:
    """What reads the key: a file for each token, so that a new one in it is taken up; a ``data:`` URL now.

    Raises:
        ConfigError: it is neither.
    """
    if value.startswith("data:"):
        key = _parsed(_data(value), ConfigError, f"the key in {_OPTION}")
        return lambda: key
    if not value.startswith("file:") and ("://" in value or _is_content(value)):
        raise ConfigError(f"{_OPTION} takes a path, file:///PATH or a data: URL")
    path = path_of(value, _OPTION) if value.startswith("file:") else value
    return lambda: _parsed(read_file(path, "key file"), AuthenticationError, f"the key file {path}")


def _is_content(value: str) -> bool:
    """Whether it is the key itself, perhaps in base64: as a path it would be shown in errors."""
    try:
        return "{" in value or base64.b64decode(value, validate=True).lstrip().startswith(b"{")
    except ValueError:
        return False


def _data(url: str) -> bytes:
    head, comma, content = url.removeprefix("data:").partition(",")
    data = unquote_to_bytes(content)
    try:
        if comma:
            return base64.b64decode(data, validate=True) if head.endswith(";base64") else data
    except binascii.Error:
        pass
    raise ConfigError(f"{_OPTION} is no data: URL", hint="data:application/json;base64,...")


def _parsed(content: bytes, error: type[SerdesError], what: str) -> ClientKey:
    """Raises: an error of that type, which shows nothing of the content."""
    found = {name: text for name, text in _json(content).items() if isinstance(text, str) and text and encodable(text)}
    missing = [name for name in ("client_id", "client_secret") if name not in found]
    if missing:
        raise error(f"{what} has no {' and no '.join(missing)}", hint=_HINT)
    return ClientKey(found["client_id"], found["client_secret"], found.get("issuer_url"))


def _json(content: bytes) -> dict[str, Any]:
    """The object, or an empty one: errors of json hold what they could not read."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}
