"""One attempt at a registry request: authenticates, follows redirects, and fails over between addresses."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

from streamnative_serdes._auth.credentials import credentials
from streamnative_serdes._http.address import next_hop, origin
from streamnative_serdes._http.call import Call
from streamnative_serdes._http.exchange import Exchange, Failure
from streamnative_serdes._http.reply import Reply, quoted
from streamnative_serdes._http.retry import Trouble, trouble
from streamnative_serdes._http.strangers import Stranger
from streamnative_serdes._http.tls import Tls
from streamnative_serdes.errors import SchemaRegistryError

from .refusal import bad_credentials, passes

MAX_HOPS: Final = 5  # redirects in a row
_REDIRECTS: Final = frozenset({301, 302, 307, 308})

_log = logging.getLogger("streamnative_serdes")


class Transport:
    """Sends requests to one registry; threads share it, and it survives a fork."""

    def __init__(self, conf: Mapping[str, Any], *, clock: Callable[[], float]) -> None:
        self.answered: set[str] = set()  # origins (address.origin) that have answered, the OAuth issuer's included
        self._auth = credentials(conf, clock, self.answered)
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

    def attempt(self, call: Call, deadline: float) -> Reply | Trouble:
        """Make one attempt, redirects included, until ``deadline`` on the clock.

        Of several addresses, the one that answered last is tried first, then the others in order. If the registry
        rejects renewable credentials, they are fetched again and the request is sent once more: the token may have
        expired meanwhile, or its file may just have been replaced.

        Raises:
            SchemaRegistryError: a permanent failure (bad certificate, bad redirect, oversized response).
            AuthenticationError: the token cannot be obtained.
        """
        header = self._auth.header(deadline)
        if isinstance(header, Trouble):
            return header
        outcome = self._anywhere(call, header, deadline)
        if self._auth.renewable and isinstance(outcome, Reply) and bad_credentials(outcome):
            _log.info("%s %s: credentials rejected, retrying with new ones", call.method, call.url)
            self._auth.reject(header)
            header = self._auth.header(deadline)
            return header if isinstance(header, Trouble) else self._anywhere(call, header, deadline)
        return outcome

    def _anywhere(self, call: Call, header: str | None, deadline: float) -> Reply | Trouble:
        first, unmet = self._first, self.answered.isdisjoint(map(origin, call.urls))
        for step in range(len(call.urls)):
            number = (first + step) % len(call.urls)
            outcome = self._follow(call, call.urls[number], header, deadline)
            if isinstance(outcome, Reply):
                self._first = number
                return outcome
            unmet = unmet and outcome.unmet
        assert isinstance(outcome, Trouble)
        return replace(outcome, unmet=unmet)

    def _follow(self, call: Call, url: str, header: str | None, deadline: float) -> Reply | Trouble:
        for _ in range(MAX_HOPS + 1):
            outcome = self._hop(call, url, header, deadline)
            if isinstance(outcome, Trouble):
                return outcome
            if outcome.status not in _REDIRECTS:
                return trouble(outcome) if passes(outcome) else outcome
            location = outcome.headers.get("Location")
            _refuse_telling(outcome, location or "")
            url = next_hop(url, location)
        # While a topic moves between brokers, they may redirect in a circle for a moment.
        return Trouble(f"redirected more than {MAX_HOPS} times, last to {url}", outcome.status)

    def _hop(self, call: Call, url: str, header: str | None, deadline: float) -> Reply | Trouble:
        headers = {} if call.body is None else {"Content-Type": "application/json"}
        if header is not None:
            headers["Authorization"] = header
        secrets = (*self._auth.secrets, (header or "").partition(" ")[2])
        outcome = self._exchange.ask(call.method, url, deadline, headers, call.body, secrets=secrets)
        if isinstance(outcome, Failure):
            return self._troubled(call, url, outcome)
        if url in call.urls:
            self.answered.add(origin(url))
        _log.debug("%s %s: %d", call.method, url, outcome.status)
        return outcome

    def _troubled(self, call: Call, url: str, failure: Failure) -> Trouble:
        """Classify a failed request. Raises SchemaRegistryError: the failure is permanent."""
        if url not in call.urls:
            return _lasting_or_trouble(call, url, replace(failure, text=f"redirected to {url}: {failure.text}"))
        if failure.stranger is None or origin(url) in self.answered:
            return _lasting_or_trouble(call, url, failure)
        found, lasting = failure.stranger, failure.lasting or failure.stranger in (Stranger.TLS, Stranger.OTHER)
        if found is Stranger.NOBODY:
            return replace(_lasting_or_trouble(call, url, failure), unmet=True)
        text, hint = f"{found.value}: {failure.text}", failure.hint or found.hint(url)
        return _lasting_or_trouble(call, url, replace(failure, text=text, lasting=lasting, hint=hint))


def _refuse_telling(reply: Reply, location: str) -> None:
    """Raises SchemaRegistryError: the redirect's URL contains our credentials, so logging it would expose them."""
    query = location.partition("?")[2]  # the path may contain a short password by chance, such as "admin"
    if reply.hide(query) != query or reply.repeats(location) or reply.repeats(unquote(location)):
        raise SchemaRegistryError("the registry redirected to an address that contains our credentials", url=reply.url)


def _lasting_or_trouble(call: Call, url: str, failure: Failure) -> Trouble:
    if failure.lasting:
        raise SchemaRegistryError(f"cannot {call.operation}: {quoted(failure.text)}", url=url, hint=failure.hint)
    return Trouble(failure.text, hint=failure.hint, late=failure.late)
