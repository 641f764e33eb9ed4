"""One question to the registry: what goes over HTTP, and the words for it in errors and logs."""

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
        urls: the addresses to ask, again and again after failures; each leads to the same registry.
        operation: what is asked, to be read after "cannot", such as "register a schema".
        right: what a role needs for it, to be read after "needs".
        topic: as the user named it.
        version: the schema version asked for, if one is.
        body: JSON, or None.
        patience: total time in seconds, where it is to be less than ``retries.total.ms``.
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
        """What stands for them all in errors and logs."""
        return self.urls[0]

    @property
    def tried(self) -> str:
        """All addresses, in words."""
        return " and ".join((self.url, *(_base(url) for url in self.urls[1:])))

    @property
    def prefix(self) -> str:
        """The path of the option ``schema.registry.url``; Pulsar has none, a proxy before it may."""
        return urlsplit(_base(self.url)).path


def _base(url: str) -> str:
    """What was given as the address: a call's own path may begin like the one that was given."""
    return url.rpartition(API)[0]
