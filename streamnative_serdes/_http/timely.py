"""Response deadlines: HTTP connections that limit the total time of a response, however slowly it trickles in.

A socket's timeout applies to a single read: a server that sends a byte now and then could prolong a response forever.
"""

from __future__ import annotations

import http.client
import io
import queue
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_here = threading.local()  # left() -> seconds left for responses that this thread reads


@contextmanager
def answers_within(left: Callable[[], float]) -> Iterator[None]:
    """Responses that this thread reads inside the block have ``left()`` seconds; then reading raises TimeoutError.

    Blocks nest: a finalizer or signal handler may send a request in the middle of another one of its thread.
    """
    outer = _seconds_left()
    _here.left = left
    try:
        yield
    finally:
        _here.left = outer


def _seconds_left() -> Callable[[], float] | None:
    return getattr(_here, "left", None)


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
        left = _seconds_left()
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

    The queue's lock would deadlock a finalizer with its own thread. No lock is needed: requests' pools never block.
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


POOLS = {"http": _HttpPool, "https": _HttpsPool}
