"""HTTP exchange: one request and its response, limited in time and size, over this process's connection pool.

A socket's timeout applies to a single read: a server that sends a byte now and then could prolong a response forever.
So connections limit the total time of a response, however slowly it trickles in.
"""

from __future__ import annotations

import http.client
import logging
import os
import queue
import socket
import ssl
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util.connection import allowed_gai_family

from streamnative_serdes.errors import ConfigError, SchemaRegistryError, SerdesError

from .reply import Failure, Reply, diagnose, hidden
from .tls import Tls, lasts

logger = logging.getLogger(__name__)

MAX_BODY: Final = 16 * 1024 * 1024  # bytes of one answer
MAX_REFUSAL: Final = 1024 * 1024  # bytes of an error response; the rest is not read
_CHUNK: Final = 64 * 1024  # bytes
_LEAST: Final = 0.001  # seconds to connect; 0 would not wait at all
_CONNECTIONS: Final = 32  # kept open per broker; additional threads reconnect
_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "keep-alive",
    "User-Agent": "streamnative-serdes",
}

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

    def __init__(self, conf: Mapping[str, Any], tls: Tls, *, clock: Callable[[], float], mocked: bool = False) -> None:
        self._tls = tls
        self._proxies = {} if conf["proxy"] is None else {"http": conf["proxy"], "https": conf["proxy"]}
        if mocked:  # no proxy reaches a registry in this process; "" precedes the environment's proxies
            self._proxies["http://127.0.0.1"] = ""
        self._connect = conf["http.connect.timeout.ms"] / 1000
        self._read = conf["http.read.timeout.ms"] / 1000
        self._clock = clock
        self._sessions = _Sessions(tls)

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
        handled = sys.exception()  # by the caller
        outer = getattr(_here, "limit", None)  # of another request, which a finalizer or a signal handler interrupts
        left = deadline - self._clock()
        try:
            if left <= 0:
                raise requests.Timeout("no time left")
            session = self._sessions[os.getpid()]
            # Not prepared by the session, which would take credentials from ~/.netrc.
            request = requests.Request(method, url, {**_HEADERS, **headers}, data=body).prepare()
            # A proxy set on the session would yield to those of the environment.
            settings = session.merge_environment_settings(url, {**self._proxies}, True, self._tls.ca or True, None)
            timeout = (min(self._connect, left), min(self._read, left))
            _here.limit = self._clock, deadline
            with session.lock:
                session.calls[method] += 1
            with session.send(request, timeout=timeout, allow_redirects=False, **settings) as got:
                return Reply(got.status_code, got.reason or "", got.headers, self._body(got), url, secrets)
        except SerdesError:
            raise
        except Exception as error:  # noqa: BLE001 - requests does not wrap everything that urllib3 raises
            fault, lasting = _root(error, handled), not isinstance(error, _PASSING_ERRORS)
        finally:
            _here.limit = outer
        lasting = self._sessions[os.getpid()].look_at_files() and (lasting or lasts(fault))
        # Outside the handler, so that __context__ is not requests' error, which holds the request's credentials.
        text = hidden(f"{type(fault).__name__}: {fault}", secrets)  # it quotes a bad response, which may echo them
        late = self._clock() >= deadline
        return Failure(text, lasting, self._tls.hint(fault), late, diagnose(fault))

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


class _Sessions(dict[int, "_Session"]):
    """Process id -> session, which is made when it is first asked for."""

    def __init__(self, tls: Tls) -> None:
        super().__init__()
        self._tls = tls

    def __missing__(self, pid: int) -> _Session:
        # setdefault picks one winner among threads without a lock, which a fork could leave locked forever.
        return self.setdefault(pid, _Session(self._tls))


class _Session(requests.Session):
    """The connections of one process, and a count of the requests sent over them, by method, which a lock guards."""

    def __init__(self, tls: Tls) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.lock = threading.RLock()  # a finalizer may send a request while this thread holds it
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._tls, self._adapter = tls, _TlsAdapter(tls.context(), _CONNECTIONS)
        for scheme in ("http://", "https://"):
            self.mount(scheme, self._adapter)

    def look_at_files(self) -> bool:
        """Reload the TLS files after a failure: a certificate may have expired, and its file may have been replaced.

        False if they cannot be used: they may be only half written.
        """
        try:
            context = self._tls.context()
        except ConfigError as error:
            logger.warning("cannot reload the TLS files, keeping the previous certificates: %s", error)
            return False
        if context is not None:
            self._adapter.renew(context)
        return True

    def counted(self) -> Counter[str]:
        with self.lock:
            return self.calls.copy()

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: the transport follows redirects, since requests drops Authorization when the port changes."""


def _root(error: BaseException, outer: BaseException | None) -> BaseException:
    """The root cause of ``error``, below ``outer``: requests and urllib3 wrap a refused connection four times."""
    while (inner := error.__cause__ or error.__context__) not in (None, outer):
        error = inner
    return error


# Deadlines of responses

_here = threading.local()  # limit: the clock, and the deadline on it of responses that this thread reads


def _read_in_time(connection: socket.socket, clock: Callable[[], float], deadline: float, buffer: Any) -> int:
    """Read what has arrived into ``buffer``, or raise TimeoutError after the deadline."""
    left, timeout = deadline - clock(), connection.gettimeout()
    if left <= 0:
        raise TimeoutError("the response did not complete in time")
    connection.settimeout(left if timeout is None else min(timeout, left))
    return connection.recv_into(buffer)


class _Answer(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        limit = getattr(_here, "limit", None)
        if limit is not None:  # all that is read from the socket goes through this one method of the unbuffered stream
            self.fp.raw.readinto = partial(_read_in_time, sock, *limit)  # type: ignore[method-assign]


class _HttpConnection(HTTPConnection):
    response_class = _Answer

    def _new_conn(self) -> Any:
        """As urllib3's, which would let each IP address of the host take the whole timeout, past the deadline."""
        limit, host, timeout = getattr(_here, "limit", None), self._dns_host, self.timeout
        if limit is None:
            return super()._new_conn()
        try:
            found = socket.getaddrinfo(host.strip("[]"), self.port, allowed_gai_family(), socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise NewConnectionError(self, str(error)) from error
        try:
            while True:
                share = (limit[1] - limit[0]()) / len(found)
                self._dns_host = str(found.pop(0)[4][0])
                self.timeout = max(min(timeout, share), _LEAST)
                try:
                    return super()._new_conn()
                except (NewConnectionError, ConnectTimeoutError):
                    if not found:
                        raise
        finally:
            self._dns_host, self.timeout = host, timeout

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
