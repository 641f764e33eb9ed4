"""One attempt at a registry request: authenticates, follows redirects, and fails over between addresses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

from streamnative_serdes._auth.credentials import credentials
from streamnative_serdes._http.address import ApiRequest, next_hop, origin
from streamnative_serdes._http.exchange import Exchange, Failure
from streamnative_serdes._http.reply import Diagnosis, Reply, quoted
from streamnative_serdes._http.retry import TransientFailure, transient
from streamnative_serdes._http.tls import Tls
from streamnative_serdes._log import logger
from streamnative_serdes.errors import SchemaRegistryError

from .api import Api

MAX_HOPS: Final = 5  # redirects in a row
_REDIRECTS: Final = frozenset({301, 302, 307, 308})


class Transport:
    """Sends requests to one registry; threads share it, and it survives a fork."""

    def __init__(self, conf: Mapping[str, Any], api: Api, *, clock: Callable[[], float]) -> None:
        self._api = api
        self.answered: set[str] = set()  # origins (address.origin) that have answered, the OAuth issuer's included
        self._auth = credentials(conf, clock, self.answered, token_passwords=api.token_passwords)
        self._exchange = Exchange(conf, Tls.of_registry(conf), clock=clock)
        self._first = 0  # index of the address that answered last

    @property
    def sign_in_hint(self) -> str:
        """The hint for credentials that the registry rejects."""
        return self._auth.hint

    @property
    def calls(self) -> Counter[str]:
        """Requests sent to the registry so far, by method."""
        return self._exchange.calls

    def close(self) -> None:
        self._exchange.close()
        self._auth.close()

    def attempt(self, request: ApiRequest, deadline: float) -> Reply | TransientFailure:
        """Make one attempt, redirects included, until ``deadline`` on the clock.

        Of several addresses, the one that answered last is tried first, then the others in order. If the registry
        rejects renewable credentials, they are fetched again and the request is sent once more: the token may have
        expired meanwhile, or its file may just have been replaced.

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
        first, unreached = self._first, self.answered.isdisjoint(map(origin, request.urls))
        for step in range(len(request.urls)):
            number = (first + step) % len(request.urls)
            outcome = self._follow(request, request.urls[number], header, deadline)
            if isinstance(outcome, Reply):
                self._first = number
                return outcome
            unreached = unreached and outcome.unreached
        assert isinstance(outcome, TransientFailure)
        return replace(outcome, unreached=unreached, hint=outcome.hint or (self._api.away if unreached else None))

    def _follow(self, request: ApiRequest, url: str, header: str | None, deadline: float) -> Reply | TransientFailure:
        for _ in range(MAX_HOPS + 1):
            outcome = self._hop(request, url, header, deadline)
            if isinstance(outcome, TransientFailure):
                return outcome
            if outcome.status not in _REDIRECTS:
                passes = self._api.passes(request, outcome)
                return transient(outcome, hint=self._api.doubt(outcome)) if passes else outcome
            location = outcome.headers.get("Location")
            _refuse_telling(outcome, location or "")
            url = next_hop(url, location, request.path)
        # While a topic moves between brokers, they may redirect in a circle for a moment.
        return TransientFailure(f"redirected more than {MAX_HOPS} times, last to {url}", outcome.status)

    def _hop(self, request: ApiRequest, url: str, header: str | None, deadline: float) -> Reply | TransientFailure:
        headers = {} if request.body is None else {"Content-Type": "application/json"}
        if header is not None:
            headers["Authorization"] = header
        secrets = (*self._auth.secrets, (header or "").partition(" ")[2])
        outcome = self._exchange.ask(request.method, url, deadline, headers, request.body, secrets=secrets)
        if isinstance(outcome, Failure):
            return self._classified(request, url, outcome)
        if url in request.urls:
            self.answered.add(origin(url))
        logger.debug("%s %s: %d", request.method, url, outcome.status)
        return outcome

    def _classified(self, request: ApiRequest, url: str, failure: Failure) -> TransientFailure:
        """Classify a failed request. Raises SchemaRegistryError if the failure is permanent."""
        if url not in request.urls:
            return _lasting_or_transient(request, url, replace(failure, text=f"redirected to {url}: {failure.text}"))
        if failure.diagnosis is None or origin(url) in self.answered:
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
