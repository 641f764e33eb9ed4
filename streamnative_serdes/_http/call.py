"""One registry request: its HTTP method, addresses and body, and how errors and logs describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

API: Final = "/admin/v2/schemas/"


@dataclass(frozen=True, slots=True)
class Call:
    """A request of the schema API.

    Args:
        method: HTTP method.
        urls: the request's URL at each address of the registry; retries go through all of them.
        operation: completes "cannot ..." in errors, such as "register a schema".
        right: completes "the role needs ..." in errors.
        topic: as the user named it.
        version: the requested schema version, or None.
        body: JSON, or None.
        patience: time limit for all attempts, in seconds, if it is to be less than ``retries.total.ms``.
    """

    method: str
    urls: tuple[str, ...]
    operation: str
    right: str
    topic: str
    version: int | None = None
    body: bytes | None = None
    patience: float | None = None

    @property
    def url(self) -> str:
        """The first URL, which errors and logs show."""
        return self.urls[0]

    @property
    def tried(self) -> str:
        """All addresses, for errors."""
        return " and ".join((self.url, *(_base(url) for url in self.urls[1:])))

    @property
    def prefix(self) -> str:
        """The path in ``schema.registry.url``: Pulsar itself has none, a proxy in front of it may."""
        return urlsplit(_base(self.url)).path


def _base(url: str) -> str:
    """The configured address, that is ``url`` up to the last ``/admin/v2/schemas/``: the address may contain it too."""
    return url.rpartition(API)[0]
