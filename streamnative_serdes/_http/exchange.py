"""HTTP exchange: one request and its response, limited in time and size, over this process's connection pool.

A socket's timeout applies to a single read: a server that sends a byte now and then could prolong a response forever.
So connections limit the total time of a response, however slowly it trickles in.
"""

from __future__ import annotations

import http.client
import io
import logging
import os
import queue
import socket
import ssl
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from streamnative_serdes.errors import ConfigError, SchemaRegistryError, SerdesError

from .reply import Failure, Reply, diagnose, hidden
from .tls import Tls, lasts

logger = logging.getLogger(__name__)

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
        return Counter() if session is None else session.counted()

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
        outer = getattr(_here, "left", None)  # of another request, which a finalizer or a signal handler interrupts
        _here.left = lambda: deadline - self._clock()
        try:
            with self._session().request(
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
            ) as response:
                content = self._body(response)
        finally:
            _here.left = outer
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
    """The connections of one process, and a count of the requests sent over them, by method, which a lock guards."""

    def __init__(self, tls: Tls) -> None:
        super().__init__()
        self._calls: Counter[str] = Counter()
        self._lock = threading.RLock()  # a finalizer may send a request while this thread holds it
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.headers.update(
            {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "streamnative-serdes"}
        )
        self._tls, self._adapter = tls, _TlsAdapter(tls.context(), _CONNECTIONS)
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

    def counted(self) -> Counter[str]:
        with self._lock:
            return self._calls.copy()

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        with self._lock:
            self._calls[request.method or ""] += 1
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


# Deadlines of responses

_here = threading.local()  # left() -> seconds left for responses that this thread reads


class _Timely(io.RawIOBase):
    """A socket's input stream that raises TimeoutError after the deadline."""

    def __init__(self, stream: io.RawIOBase, connection: socket.socket, left: Callable[[], float]) -> None:
        self._stream, self._connection, self._left = stream, connection, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left, timeout = self._left(), self._connection.gettimeout()
        if left <= 0:
            raise TimeoutError("the response did not complete in time")
        self._connection.settimeout(left if timeout is None else min(timeout, left))
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        left = getattr(_here, "left", None)
        if left is not None:
            self.fp = io.BufferedReader(_Timely(self.fp.detach(), sock, left))


class _HttpConnection(HTTPConnection):
    response_class = _Answer

    # urllib3 1.26 first tries an argument of Python 2, whose TypeError would show up in tracebacks.
    def getresponse(self, **_: Any) -> Any:
        return super().getresponse()


class _HttpsConnection(_HttpConnection, HTTPSConnection):
    pass


class _Idle:
    """Idle connections, most recently used first, in place of urllib3's ``queue.LifoQueue``.

    The queue's lock would deadlock a finalizer with its own thread. No lock is needed: requests' pools never block,
    each step on a deque is atomic, and a connection more than ``most`` does no harm.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._connections: deque[Any] = deque()

    def qsize(self) -> int:
        return len(self._connections)

    def put(self, connection: Any, block: bool = False) -> None:  # noqa: ARG002
        if len(self._connections) >= self._most:
            raise queue.Full
        self._connections.append(connection)

    def get(self, block: bool = False, timeout: float | None = None) -> Any:  # noqa: ARG002
        try:
            return self._connections.pop()
        except IndexError:
            raise queue.Empty from None


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _HttpConnection
    QueueCls = _Idle  # type: ignore[assignment]


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _HttpsConnection
    QueueCls = _Idle  # type: ignore[assignment]


_POOLS: Final = {"http": _HttpPool, "https": _HttpsPool}


class _TlsAdapter(HTTPAdapter):
    """Makes requests use our TLS context, directly and through a proxy.

    A lock guards the managers of proxies: requests looks for one in two steps, between which renew() may drop it.
    """

    def __init__(self, context: ssl.SSLContext | None, connections: int) -> None:
        self._connections = connections
        self._more: dict[str, Any] = {} if context is None else {"ssl_context": context}
        self._lock = threading.RLock()
        super().__init__(pool_maxsize=connections)

    def renew(self, context: ssl.SSLContext) -> None:
        """Use ``context`` for new connections; open ones finish their current request."""
        self._more = {"ssl_context": context}
        self.init_poolmanager(self._connections, self._connections)
        with self._lock:
            self.proxy_manager.clear()

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._more)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        with self._lock:
            manager = super().proxy_manager_for(proxy, **kwargs, **self._more)
        if not proxy.lower().startswith("socks"):  # SOCKS proxies have their own pool classes
            manager.pool_classes_by_scheme = _POOLS
        return manager
