"""Connections whose answers end by a deadline, however slowly they trickle in.

A socket's timeout is for one read: a byte now and then keeps a status line, a header or a body going for ever.
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

_here = threading.local()  # left: seconds that answers read by this thread have


@contextmanager
def answers_within(left: Callable[[], float]) -> Iterator[None]:
    """Answers that this thread reads meanwhile have so many seconds, and end in a TimeoutError then.

    A finalizer or a signal handler may ask in the middle of a question: that of its thread goes on in its own time.
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
    """What a socket receives, until the time is over."""

    def __init__(self, stream: io.RawIOBase, connection: socket.socket, left: Callable[[], float]) -> None:
        self._stream, self._connection, self._left = stream, connection, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left, timeout = self._left(), self._connection.gettimeout()
        if left <= 0:
            raise TimeoutError("the answer did not end in time")
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

    # urllib3 1.26 tries an argument of Python 2's first, and shows its TypeError.
    def getresponse(self, **_: Any) -> Any:
        return super().getresponse()


class _HttpsConnection(_HttpConnection, HTTPSConnection):
    pass


class _Idle:
    """Connections at rest, the one used last on top, in place of urllib3's ``queue.LifoQueue``.

    That one's lock would keep a finalizer waiting for its own thread. Nobody waits here: requests' pools do not block.
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
