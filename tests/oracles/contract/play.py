"""Contract player: runs scripts against a server over HTTP, once each, and compares transcripts."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from typing import Final, Self
from urllib.parse import urlsplit

from .changes import STRATEGIES
from .said import Said
from .script import Ask, Case, put

SECONDS: Final = 60  # only a hanging server takes that long


class Player:
    """Plays cases on the server at ``url``, and keeps its responses."""

    def __init__(self, url: str) -> None:
        self.address = urlsplit(url).netloc
        self._played: dict[str, tuple[Said, ...]] = {}

    def transcript(self, case: Case) -> tuple[Said, ...]:
        """Return the responses to all requests of the case, which is played at the first call."""
        if case.promise not in self._played:
            self._played[case.promise] = self.play(case)
        return self._played[case.promise]

    def prepare(self) -> Self:
        """Create tenant ``contract``, with a namespace for each strategy."""
        asks = [put("/admin/v2/tenants/contract", {"allowedClusters": ["standalone"]}).done()]
        for strategy in STRATEGIES:
            path = f"/admin/v2/namespaces/contract/{strategy}"
            asks += [put(path).done(), put(f"{path}/schemaCompatibilityStrategy", strategy).done()]
        case = Case("namespaces for strategies", *asks)
        complaints = case.complaints(self.play(case))
        if complaints:
            raise AssertionError("\n".join(complaints))
        return self

    def play(self, case: Case) -> tuple[Said, ...]:
        # Not a session of `requests`: paths are sent unchanged, redirects are not followed, and no headers are added.
        with closing(HTTPConnection(self.address, timeout=SECONDS)) as connection:
            return tuple(_answer(connection, ask, case.name) for ask in case.asks)


def _answer(connection: HTTPConnection, ask: Ask, name: str) -> Said:
    body = None if ask.body is None else ask.body.replace(b"{case}", name.encode())
    connection.request(ask.method, ask.path.replace("{case}", name), body, dict(ask.headers))
    answer = connection.getresponse()
    return Said.of(answer.status, answer.reason, answer.headers, answer.read())


def said_differently(case: Case, one: tuple[Said, ...], other: tuple[Said, ...]) -> list[str]:
    """Return each request whose responses differ."""
    return [
        f"{ask.method} {ask.path} {(ask.body or b'')!r:.300}\n    {ours}\n    {theirs}"
        for ask, ours, theirs in zip(case.asks, one, other, strict=True)
        if ours != theirs
    ]
