"""HTTP exchange: one request and its response, limited in time and size, over this process's connection pool."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final

import requests
from requests.auth import AuthBase

from streamnative_serdes._log import logger
from streamnative_serdes.errors import ConfigError, SchemaRegistryError, SerdesError

from .reply import Diagnosis, Reply, diagnose, hidden
from .timely import answers_within
from .tls import Tls, TlsAdapter, lasts

MAX_BODY: Final = 16 * 1024 * 1024  # bytes of one answer
MAX_REFUSAL: Final = 1024 * 1024  # bytes of an error response; the rest is not read
_CHUNK: Final = 64 * 1024  # bytes
_CONNECTIONS: Final = 32  # kept open per broker; additional threads reconnect

_PASSING_ERRORS = (
    ConnectionError,
    TimeoutError,
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.ContentDecodingError,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no response.

    ``lasting``: a retry would fail as well. ``late``: the deadline had passed. ``diagnosis``: what probably listens at
    the address, if not a registry.
    """

    text: str
    lasting: bool
    hint: str | None = None
    late: bool = False
    diagnosis: Diagnosis | None = None


class Exchange:
    """Sends requests over one session per process; threads share it.

    After a fork, the child opens its own session and leaves its parent's sockets alone. Redirects are not followed.
    """

    def __init__(self, conf: Mapping[str, Any], tls: Tls, *, clock: Callable[[], float]) -> None:
        self._tls = tls
        self._proxies = None if conf["proxy"] is None else {"http": conf["proxy"], "https": conf["proxy"]}
        self._connect = conf["http.connect.timeout.ms"] / 1000
        self._read = conf["http.read.timeout.ms"] / 1000
        self._clock = clock
        self._sessions: dict[int, _Session] = {}

    @property
    def calls(self) -> Counter[str]:
        """Requests sent so far, by method."""
        session = self._sessions.get(os.getpid())
        return Counter() if session is None else Counter(session.calls)

    def close(self) -> None:
        session = self._sessions.get(os.getpid())
        if session is not None:
            session.close()

    def ask(
        self,
        method: str,
        url: str,
        deadline: float,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        secrets: tuple[str, ...] = (),
    ) -> Reply | Failure:
        """Send a request and read its response until ``deadline`` on the clock.

        ``secrets`` are the credentials that are sent; no error shows them.

        Raises:
            SchemaRegistryError: the response exceeds ``MAX_BODY``.
            ConfigError: a file of the TLS options cannot be used.
        """
        outer = sys.exception()  # the caller may be handling one
        try:
            return replace(self._ask(method, url, deadline, headers, body), secrets=secrets)
        except SerdesError:
            raise
        except Exception as error:  # noqa: BLE001 - requests does not wrap everything that urllib3 raises
            fault, lasting = _root(error, outer), not isinstance(error, _PASSING_ERRORS)
        self._session().look_at_files()
        # Outside the handler, so that __context__ is not requests' error, which holds the request's credentials.
        text = hidden(f"{type(fault).__name__}: {fault}", secrets)  # it quotes a bad response, which may echo them
        late = self._clock() >= deadline
        return Failure(text, lasting or lasts(fault), self._tls.hint(fault), late, diagnose(fault))

    def _ask(self, method: str, url: str, deadline: float, headers: Mapping[str, str], body: bytes | None) -> Reply:
        left = deadline - self._clock()
        if left <= 0:
            raise requests.Timeout("no time left")
        with (
            answers_within(lambda: deadline - self._clock()),
            self._session().request(
                method,
                url,
                data=body,
                headers=headers,
                auth=_AsGiven(),
                proxies=self._proxies,  # set on the session, they would yield to those of the environment
                verify=self._tls.ca or True,
                timeout=(min(self._connect, left), min(self._read, left)),
                allow_redirects=False,
                stream=True,
            ) as response,
        ):
            content = self._body(response)
        return Reply(response.status_code, response.reason or "", response.headers, content, url)

    def _body(self, response: requests.Response) -> bytes:
        body = bytearray()
        response.raw.enforce_content_length = True  # urllib3 1.26 would accept a truncated body
        for chunk in response.iter_content(_CHUNK):
            body += chunk
            if len(body) > MAX_REFUSAL and response.status_code >= 300:
                break
            if len(body) > MAX_BODY:
                raise SchemaRegistryError(f"the response is larger than {MAX_BODY} bytes", url=response.url)
        return bytes(body)

    def _session(self) -> _Session:
        pid = os.getpid()
        # setdefault picks one winner among threads without a lock, which a fork could leave locked forever.
        return self._sessions.get(pid) or self._sessions.setdefault(pid, _Session(self._tls))


class _Session(requests.Session):
    """The connections of one process, and a count of the requests sent over them, by method."""

    def __init__(self, tls: Tls) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self._lock = threading.RLock()  # a finalizer may send a request while this thread holds it
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.headers.update(
            {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "streamnative-serdes"}
        )
        self._tls, self._adapter = tls, TlsAdapter(tls.context(), _CONNECTIONS)
        for scheme in ("http://", "https://"):
            self.mount(scheme, self._adapter)

    def look_at_files(self) -> None:
        """Reload the TLS files after a failure: a certificate may have expired, and its file may have been replaced."""
        try:
            context = self._tls.context()
        except ConfigError as error:  # the files may be only half written
            logger.warning("cannot reload the TLS files, keeping the previous certificates: %s", error)
            return
        if context is not None:
            self._adapter.renew(context)

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        with self._lock:
            self.calls[request.method or ""] += 1
        return super().send(request, **kwargs)

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: the transport follows redirects, since requests drops Authorization when the port changes."""


class _AsGiven(AuthBase):
    """Leaves the headers unchanged: without an AuthBase, requests would take credentials from ~/.netrc."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


def _root(error: BaseException, outer: BaseException | None) -> BaseException:
    """The root cause of ``error``, below ``outer``: requests and urllib3 wrap a refused connection four times."""
    while (inner := error.__cause__ or error.__context__) not in (None, outer):
        error = inner
    return error
