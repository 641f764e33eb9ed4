"""JSON web tokens, signed with HS256 and a key of this run."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from pathlib import Path
from typing import Any


class Tokens:
    """Creates tokens that a server with ``key_file`` accepts."""

    def __init__(self, folder: Path) -> None:
        self.key_file = folder / "secret.key"
        if not self.key_file.exists():
            self.key_file.write_bytes(secrets.token_bytes(32))
        self._key = self.key_file.read_bytes()

    def of(self, role: str, **claims: Any) -> str:
        """Return a token of the role; it expires at ``exp`` (seconds since 1970, UTC), if given."""
        signed = _base64({"alg": "HS256"}) + b"." + _base64({"sub": role, **claims})
        return (signed + b"." + _encode(hmac.digest(self._key, signed, hashlib.sha256))).decode()


def _base64(value: Any) -> bytes:
    return _encode(json.dumps(value).encode())


def _encode(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
