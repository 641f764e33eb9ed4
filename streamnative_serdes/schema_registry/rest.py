"""Rest: requests to one registry, retried and limited in time, and their responses as values or typed errors.

What is peculiar to one kind of registry is an :class:`Api`; everything else over HTTP is the same for all kinds.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from operator import add
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from streamnative_serdes._auth.credentials import credentials
from streamnative_serdes._http.api_request import (
    ApiRequest,
    Retrier,
    TransientFailure,
    base_urls,
    is_mock,
    next_hop,
    origin,
    reachable,
    transient,
)
from streamnative_serdes._http.reply import Diagnosis, Expected, Failure, Reply, quoted
from streamnative_serdes.errors import SchemaRegistryError

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
MAX_HOPS: Final = 5  # redirects in a row
_REDIRECTS: Final = frozenset({301, 302, 307, 308})


@dataclass(frozen=True, slots=True)
class Api:
    """One kind of registry, with the texts of its errors.

    Args:
        kind: completes "is probably not ..." in errors, such as "a Pulsar registry".
        option: the option with the registry's address, as the user writes it.
        address: completes "give ..." in errors about the address.
        away: the hint for addresses that have never answered.
        expected: what should listen at the address, for hints.
        passes: whether a response is a transient failure: the same request may succeed shortly.
        refusal: the typed error for any other refusal; takes the hint for rejected credentials too.
        odd: the hint for a response that this kind of registry would not send.
        successes: the HTTP statuses of a successful response.
        doubt: the hint for a transient failure that may be another one.
        elsewhere: whether a 404 is another server's, as a proxy's that does not know the registry for a moment: a
            transient failure if the registry has answered before at this address.
        agreed: whether an HTTP 500 is about the request, so that all servers answer it.
        bad_credentials: whether a response rejects the credentials, and does not just lack a permission.
        token_passwords: whether a password ``token:TEXT`` is sent as a bearer token.
        mock: whether an address may be ``mock://SCOPE``.
    """

    kind: str
    option: str
    address: str
    away: str
    expected: Expected
    passes: Callable[[ApiRequest, Reply], bool]
    refusal: Callable[[ApiRequest, Reply, str], SchemaRegistryError]
    odd: Callable[[ApiRequest, Reply], str]
    successes: frozenset[int] = frozenset({200})
    doubt: Callable[[Reply], str | None] = lambda _: None
    elsewhere: Callable[[ApiRequest, Reply], bool] = lambda *_: False
    agreed: Callable[[Reply], bool] = lambda _: False
    bad_credentials: Callable[[Reply], bool] = lambda reply: reply.status == 401
    token_passwords: bool = False
    mock: bool = False


def refused(
    kind: type[SchemaRegistryError], request: ApiRequest, reply: Reply, hint: str | None, code: int | None = None
) -> SchemaRegistryError:
    """The error for a response that refuses a request, with the registry's own words."""
    words = reply.words()
    return kind(
        f"cannot {request.operation}: {quoted(words)} (HTTP {reply.status})",
        status=reply.status,
        reason=words,
        url=reply.url,
        code=code,
        topic=request.topic,
        version=request.version,
        hint=hint,
    )


def member(tree: Any, name: str) -> Any:
    """A member of a response; None if it is missing. Raises ValueError with the expected form, as parsers do."""
    if not isinstance(tree, dict):
        raise ValueError("a JSON object")
    return tree.get(name)


class RestClient:
    """The members that the clients of all registries share: their requests go through one Rest."""

    rest: Rest
    """Sends and retries the requests."""

    @property
    def calls(self) -> Counter[str]:
        """HTTP requests sent by this process so far, retries and redirects included, by method."""
        return self.rest._exchange.calls  # noqa: SLF001 - of this file

    @property
    def answered(self) -> frozenset[str]:
        """Addresses that have ever answered, an OAuth issuer's included; these are retried for ``retries.total.ms``."""
        return frozenset(self.rest._answered)  # noqa: SLF001

    def met(self, answered: Iterable[str]) -> None:
        """Note that these addresses have answered another process."""
        self.rest._answered.update(answered)  # noqa: SLF001

    def close(self) -> None:
        """Close the connections. The client stays usable: the next call opens new ones."""
        self.rest.close()

    def after_fork(self) -> None:
        """In a child process: its session is a new one anyway."""


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
        from streamnative_serdes._http.exchange import Exchange  # importing requests opens a socket, to detect IPv6
        from streamnative_serdes._http.tls import Tls

        self._api, self._mocked = api, any(map(is_mock, self.urls))
        self._answered: set[str] = set()  # origins (see origin()) that have answered, the OAuth issuer's included
        self._auth = credentials(conf, clock, self._answered, token_passwords=api.token_passwords)
        self._exchange = Exchange(conf, Tls.of_registry(conf), clock=clock, mocked=self._mocked)
        self._first = 0  # index of the address that answered last, or of the one after an address that failed since
        self._clock = clock
        self.retrier = Retrier(conf, clock=clock, sleep=sleep)

    def close(self) -> None:
        """Close the connections. The next call opens new ones."""
        self._exchange.close()
        self._auth.close()

    def request(
        self, method: str, path: str, operation: str, right: str, topic: str | None = None, **more: Any
    ) -> ApiRequest:
        """A request for ``path`` at each address; all other arguments are those of :class:`ApiRequest`."""
        bases = map(reachable, self.urls) if self._mocked else self.urls
        urls = tuple(map(add, bases, repeat(path)))
        return ApiRequest(method, urls, operation, right, topic, path=path, **more)

    def ask(self, request: ApiRequest, meaning: Callable[[Any], _T]) -> _T:
        """Send a request, and parse the response by ``meaning``, which raises ValueError with the expected form."""
        return self.understood(request, self.retrier.run(request, self.attempt), meaning)

    def send(self, request: ApiRequest) -> Reply:
        """Send a request until it gets a final response, which may be a refusal."""
        return self.retrier.run(request, self.attempt)

    def understood(
        self,
        request: ApiRequest,
        reply: Reply,
        meaning: Callable[[Any], _T],
        read: Callable[[Reply], Any] = Reply.json,
    ) -> _T:
        """Parse a successful response as in :meth:`ask`. Raises SchemaRegistryError for any other response."""
        if reply.status not in self._api.successes:
            raise self._api.refusal(request, reply, self._auth.hint)
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
            return meaning(read(reply))
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

    # One attempt: it authenticates, follows redirects, and fails over between addresses

    def attempt(self, request: ApiRequest, deadline: float) -> Reply | TransientFailure:
        """Make one attempt, redirects included, until ``deadline`` on the clock.

        Of several addresses, the one that answered last is tried first, then the others in order, until one answers as
        a registry does; what is wrong with an address is raised only if none does. If the registry rejects renewable
        credentials, they are fetched again and the request is sent once more: the token may have expired meanwhile, or
        its file may just have been replaced.

        Raises:
            SchemaRegistryError: a permanent failure (bad certificate, bad redirect, oversized response).
            AuthenticationError: the token cannot be obtained.
        """
        header = self._auth.header(deadline)
        if isinstance(header, TransientFailure):
            return header
        outcome = self._anywhere(request, header, deadline)
        if self._auth.renewable and isinstance(outcome, Reply) and self._api.bad_credentials(outcome):
            logger.info("%s %s: credentials rejected, retrying with new ones", request.method, request.url)
            self._auth.reject(header)
            header = self._auth.header(deadline)
            return header if isinstance(header, TransientFailure) else self._anywhere(request, header, deadline)
        return outcome

    def _anywhere(self, request: ApiRequest, header: str | None, deadline: float) -> Reply | TransientFailure:
        headers = {} if request.body is None else {"Content-Type": "application/json"}
        if header is not None:
            headers["Authorization"] = header
        secrets = (*self._auth.secrets, (header or "").partition(" ")[2])
        first, count, unreached = self._first, len(request.urls), True
        telling: TransientFailure | None = None
        lasting: Reply | SchemaRegistryError | None = None
        for step in range(count):
            number = (first + step) % count
            # Each address may take its share of the time, so that one that hangs leaves some for the others.
            until = deadline - (deadline - self._clock()) * (1 - 1 / (count - step))
            try:
                outcome = self._at(request, request.urls[number], until, headers, secrets)
            except SchemaRegistryError as error:
                lasting = lasting or error
                continue
            if isinstance(outcome, Reply):
                # Another address may answer better than a server's own fault, or the page of another server.
                page = outcome.status == 404 and not outcome.is_json
                if not page and (outcome.status < 500 or self._api.agreed(outcome)):
                    self._first = number
                    return outcome
                lasting = lasting or outcome
                continue
            if step == 0:
                self._first = (number + 1) % count
            unreached = unreached and outcome.unreached
            telling = telling if telling and outcome.late else outcome
        if isinstance(lasting, Reply):
            return lasting
        if lasting is not None:
            try:
                raise lasting
            finally:
                del lasting  # its traceback holds this frame
        assert telling is not None
        return replace(telling, unreached=unreached, hint=telling.hint or (self._api.away if unreached else None))

    def _at(
        self, request: ApiRequest, url: str, deadline: float, headers: Mapping[str, str], secrets: tuple[str, ...]
    ) -> Reply | TransientFailure:
        """Ask one address, redirects included."""
        asked = url
        for _ in range(MAX_HOPS + 1):
            reply = self._exchange.ask(request.method, url, deadline, headers, request.body, secrets=secrets)
            if isinstance(reply, Failure):
                return self._classified(request, url, reply)
            elsewhere = reply.status == 404 and not reply.is_json and self._api.elsewhere(request, reply)
            if url in request.urls and not elsewhere:
                self._answered.add(origin(url.removesuffix(request.path)))
            status = reply.status
            logger.debug("%s %s: %d", request.method, url, status)
            if status not in _REDIRECTS:
                known = elsewhere and origin(asked.removesuffix(request.path)) in self._answered
                passes = known or self._api.passes(request, reply)
                return transient(reply, hint=self._api.doubt(reply)) if passes else reply
            location = reply.headers.get("Location")
            _refuse_telling(reply, location or "")
            url = next_hop(url, location, request.path)
        # While a topic moves between brokers, they may redirect in a circle for a moment.
        return TransientFailure(f"redirected more than {MAX_HOPS} times, last to {url}", status)

    def _classified(self, request: ApiRequest, url: str, failure: Failure) -> TransientFailure:
        """Classify a failed request. Raises SchemaRegistryError if the failure is permanent."""
        if url not in request.urls:
            return _lasting_or_transient(request, url, replace(failure, text=f"redirected to {url}: {failure.text}"))
        if failure.diagnosis is None or origin(url) in self._answered:
            return _lasting_or_transient(request, url, failure)
        found, lasting = (
            failure.diagnosis,
            failure.lasting or failure.diagnosis in (Diagnosis.SPEAKS_TLS, Diagnosis.NOT_HTTP),
        )
        if found is Diagnosis.REFUSED:
            return replace(_lasting_or_transient(request, url, failure), unreached=True)
        text, hint = f"{found.value}: {failure.text}", failure.hint or found.hint(url, self._api.expected)
        return _lasting_or_transient(request, url, replace(failure, text=text, lasting=lasting, hint=hint))


def _refuse_telling(reply: Reply, location: str) -> None:
    """Raises SchemaRegistryError: the redirect's URL contains our credentials, so logging it would expose them."""
    query = location.partition("?")[2]  # the path may contain a short password by chance, such as "admin"
    if reply.hide(query) != query or reply.repeats(location) or reply.repeats(unquote(location)):
        raise SchemaRegistryError("the registry redirected to an address that contains our credentials", url=reply.url)


def _lasting_or_transient(request: ApiRequest, url: str, failure: Failure) -> TransientFailure:
    if failure.lasting:
        raise SchemaRegistryError(f"cannot {request.operation}: {quoted(failure.text)}", url=url, hint=failure.hint)
    return TransientFailure(failure.text, hint=failure.hint, late=failure.late)
