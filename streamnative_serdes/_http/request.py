"""One registry request: its HTTP method, addresses and body, and how errors and logs describe it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request to a schema registry.

    Args:
        method: HTTP method.
        urls: the request's URL at each address of the registry; retries go through all of them.
        operation: completes "cannot ..." in errors, such as "register a schema".
        right: completes "the role needs ..." in errors.
        topic: as the user named it; None if the request is for no topic.
        version: the requested schema version, or None.
        body: JSON, or None.
        patience: time limit for all attempts, in seconds, if it is to be less than ``retries.total.ms``.
        path: the end of each URL, after the registry's address.
    """

    method: str
    urls: tuple[str, ...]
    operation: str
    right: str
    topic: str | None = None
    version: int | None = None
    body: bytes | None = None
    patience: float | None = None
    path: str = ""

    @property
    def url(self) -> str:
        """The first URL, which errors and logs show."""
        return self.urls[0]

    @property
    def tried(self) -> str:
        """All addresses, for errors."""
        return " and ".join((self.url, *(url.removesuffix(self.path) for url in self.urls[1:])))

    @property
    def prefix(self) -> str:
        """The path in the registry's address: Pulsar itself has none, a proxy in front of it may."""
        return urlsplit(self.url.removesuffix(self.path)).path
