"""Rest: requests to one registry, retried and limited in time, and their responses as values or typed errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from streamnative_serdes._http.address import ApiRequest, base_urls, reachable
from streamnative_serdes._http.reply import Reply, quoted
from streamnative_serdes._http.retry import Retrier
from streamnative_serdes.errors import SchemaRegistryError

from .api import Api

_T = TypeVar("_T")


class Rest:
    """Requests to one registry; threads share it, and it survives a fork.

    Args:
        conf: the validated options of the registry.
        api: the peculiarities of this kind of registry.
        clock: monotonic time in seconds.
        sleep: waits that many seconds.
    """

    def __init__(
        self, conf: Mapping[str, Any], api: Api, *, clock: Callable[[], float], sleep: Callable[[float], object]
    ) -> None:
        self.urls = base_urls(conf, api.address, mock=api.mock)
        from .transport import Transport  # importing requests opens a socket, to detect IPv6

        self._api = api
        self.transport = Transport(conf, api, clock=clock)
        self.retrier = Retrier(conf, clock=clock, sleep=sleep)

    @property
    def calls(self) -> Counter[str]:
        """HTTP requests sent by this process so far, retries and redirects included, by method."""
        return self.transport.calls

    @property
    def answered(self) -> frozenset[str]:
        """Addresses that have ever answered, an OAuth issuer's included; these are retried for ``retries.total.ms``."""
        return frozenset(self.transport.answered)

    def met(self, answered: Iterable[str]) -> None:
        """Note that these addresses have answered another process."""
        self.transport.answered.update(answered)

    def close(self) -> None:
        """Close the connections. The next call opens new ones."""
        self.transport.close()

    def request(
        self, method: str, path: str, operation: str, right: str, topic: str | None = None, **more: Any
    ) -> ApiRequest:
        """A request for ``path`` at each address; all other arguments are those of :class:`ApiRequest`."""
        urls = tuple(f"{reachable(base)}{path}" for base in self.urls)
        return ApiRequest(method, urls, operation, right, topic, path=path, **more)

    def ask(self, request: ApiRequest, meaning: Callable[[Any], _T]) -> _T:
        """Send a request, and parse the response by ``meaning``, which raises ValueError with the expected form."""
        return self.understood(request, self.send(request), meaning)

    def send(self, request: ApiRequest) -> Reply:
        """Send a request until it gets a final response, which may be a refusal."""
        try:
            return self.retrier.run(request, lambda deadline: self.transport.attempt(request, deadline))
        except SchemaRegistryError as error:
            error.at(topic=request.topic, version=request.version)
            raise

    def understood(self, request: ApiRequest, reply: Reply, meaning: Callable[[Any], _T]) -> _T:
        """Parse a successful response as in :meth:`ask`. Raises SchemaRegistryError for any other response."""
        if reply.status not in self._api.successes:
            raise self._api.refusal(request, reply, self.transport.sign_in_hint)
        if reply.repeats(reply.body.decode("utf-8", "replace")):  # schemas appear in errors and logs
            raise SchemaRegistryError(
                f"cannot {request.operation}: the response contains our credentials, so it is discarded",
                url=reply.url,
                topic=request.topic,
                version=request.version,
                hint=f"{self._api.option} is probably not {self._api.kind}; or a name in the schema contains the "
                "password",
            )
        try:
            return meaning(reply.json())
        except ValueError as expected:
            fault = str(expected)
        raise SchemaRegistryError(
            f"cannot {request.operation}: expected {fault}, got {quoted(reply.beginning())!r}",
            status=reply.status,
            url=reply.url,
            topic=request.topic,
            version=request.version,
            hint=self._api.odd(request, reply),
        )
