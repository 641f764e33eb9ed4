"""HTTP: one attempt at a call, through its redirects, bounded in time and size."""

from __future__ import annotations

import logging
import os
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter

from streamnative_serdes.errors import SchemaRegistryError, SerdesError

from . import auth
from .address import next_hop
from .call import Call
from .refusal import bad_credentials, passes
from .reply import Reply
from .retry import Trouble

MAX_BODY: Final = 16 * 1024 * 1024  # bytes of one answer
MAX_HOPS: Final = 5  # redirects in a row
_CHUNK: Final = 1024  # bytes between two looks at the clock
_CONNECTIONS: Final = 32  # kept open per broker; more threads than that reconnect
_REDIRECTS: Final = frozenset({301, 302, 307, 308})

_PASSING_TLS_ERRORS = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)

_log = logging.getLogger("streamnative_serdes")
_PASSING_ERRORS = (
    ConnectionError,
    TimeoutError,
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.ContentDecodingError,
)


class _Session(requests.Session):
    """One process's connections, and the requests sent over them, by method."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.headers.update(
            {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "streamnative-serdes"}
        )
        for scheme in ("http://", "https://"):
            self.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        with self._lock:
            self.calls[request.method or ""] += 1
        return super().send(request, **kwargs)

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: we follow by hand. requests would drop Authorization when the port changes."""


class Transport:
    """Connections of this process to one registry; threads share it.

    A session belongs to the process that made it: after a fork the child makes its own, and leaves its parent's
    sockets alone.
    """

    def __init__(self, conf: Mapping[str, Any], *, clock: Callable[[], float]) -> None:
        self._auth = auth.from_option(conf["bearer.auth.token"])
        self._proxies = None if conf["proxy"] is None else {"http": conf["proxy"], "https": conf["proxy"]}
        self._first = 0  # of several addresses, the one that answered last
        self._connect = conf["http.connect.timeout.ms"] / 1000
        self._read = conf["http.read.timeout.ms"] / 1000
        self._clock = clock
        self._sessions: dict[int, _Session] = {}

    @property
    def authenticated(self) -> bool:
        return not isinstance(self._auth, auth.Anonymous)

    @property
    def calls(self) -> Counter[str]:
        return Counter(self._session().calls)

    def close(self) -> None:
        self._session().close()

    def attempt(self, call: Call, deadline: float) -> Reply | Trouble:
        """One attempt, redirects included, until ``deadline`` on the clock.

        Of several addresses, the one that answered last is asked first, and the others in their order if it fails.
        Credentials that are found bad are asked for once more: a token may have run out on its way, or a file with
        the next one may just have been written.

        Raises:
            SchemaRegistryError: it failed in a way that lasts (bad certificate, bad redirect, endless answer).
        """
        first = self._first
        for step in range(len(call.urls)):
            number = (first + step) % len(call.urls)
            outcome = self._authenticated(call, call.urls[number], deadline)
            if isinstance(outcome, Reply):
                self._first = number
                break
        return outcome

    def _authenticated(self, call: Call, url: str, deadline: float) -> Reply | Trouble:
        outcome = self._follow(call, url, deadline)
        if self._auth.renewable and isinstance(outcome, Reply) and bad_credentials(outcome):
            _log.info("%s %s: the credentials are bad, trying with those of now", call.method, url)
            outcome = self._follow(call, url, deadline)
        return outcome

    def _follow(self, call: Call, url: str, deadline: float) -> Reply | Trouble:
        for _ in range(MAX_HOPS + 1):
            outcome = self._hop(call, url, deadline)
            if isinstance(outcome, Trouble):
                return outcome
            if outcome.status not in _REDIRECTS:
                return _trouble(outcome) if passes(outcome) else outcome
            url = next_hop(url, outcome.headers.get("Location"))
        # Brokers that pass a topic on between them may send a client around for a moment.
        return Trouble(f"redirected more than {MAX_HOPS} times, the last time to {url}", outcome.status)

    def _hop(self, call: Call, url: str, deadline: float) -> Reply | Trouble:
        outer = sys.exception()  # our caller may be handling one
        try:
            reply = self._exchange(call, url, deadline)
        except SerdesError:
            raise
        except (OSError, ValueError) as error:  # requests' own errors are OSErrors, those about addresses ValueErrors
            fault, lasting = _root(error, outer), not isinstance(error, _PASSING_ERRORS)
        else:
            _log.debug("%s %s: %d", call.method, url, reply.status)
            return reply
        # Raised out here, the error does not carry requests' error, which holds the request with its credentials.
        text = f"{type(fault).__name__}: {fault}"
        text = text if url in call.urls else f"redirected to {url}: {text}"
        if lasting or (isinstance(fault, ssl.SSLError) and not isinstance(fault, _PASSING_TLS_ERRORS)):
            raise SchemaRegistryError(f"cannot {call.operation}: {text}", url=url)
        return Trouble(text)

    def _exchange(self, call: Call, url: str, deadline: float) -> Reply:
        left = deadline - self._clock()
        if left <= 0:
            raise requests.Timeout("no time left")
        with self._session().request(
            call.method,
            url,
            data=call.body,
            headers={} if call.body is None else {"Content-Type": "application/json"},
            auth=self._auth,
            proxies=self._proxies,  # given with the session, those of the environment would go before it
            timeout=(min(self._connect, left), min(self._read, left)),
            allow_redirects=False,
            stream=True,
        ) as response:
            body = self._body(response, deadline)
        return Reply(response.status_code, response.reason or "", response.headers, body, url)

    def _body(self, response: requests.Response, deadline: float) -> bytes:
        body = bytearray()
        response.raw.enforce_content_length = True  # urllib3 1.26 would take a cut body for a whole one
        for chunk in response.iter_content(_CHUNK):
            body += chunk
            if len(body) > MAX_BODY:
                raise SchemaRegistryError(f"the answer is larger than {MAX_BODY} bytes", url=response.url)
            if self._clock() >= deadline:
                raise requests.Timeout("the answer did not end in time")
        return bytes(body)

    def _session(self) -> _Session:
        pid = os.getpid()
        # setdefault lets one of several threads win without a lock, which a fork could leave locked for ever.
        return self._sessions.get(pid) or self._sessions.setdefault(pid, _Session())


def _trouble(reply: Reply) -> Trouble:
    words, after = reply.words(), reply.headers.get("Retry-After", "")
    seconds = float(after) if after.isascii() and after.isdigit() else 0.0  # the other form, a date, is not used here
    return Trouble(f"HTTP {reply.status}: {words}", reply.status, words, seconds)


def _root(error: BaseException, outer: BaseException | None) -> BaseException:
    """What lies at the bottom, above ``outer``: requests and urllib3 wrap a refused connection four times over."""
    while (inner := error.__cause__ or error.__context__) not in (None, outer):
        error = inner
    return error
