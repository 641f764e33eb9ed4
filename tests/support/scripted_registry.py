"""A scripted web server: sends given responses in order, and records the requests."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from waiting import HANG_SECONDS, join

from streamnative_serdes._config import REGISTRY_OPTIONS
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient

CONF: dict[str, Any] = {option.key: option.default for option in REGISTRY_OPTIONS}


class Clock:
    """A clock that advances only by sleeping, and by ``step`` seconds each time it is read."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 1000.0
        self.step = step
        self.slept: list[float] = []

    def __call__(self) -> float:
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass(frozen=True)
class Answer:
    """``cut``: bytes of the body sent before the connection breaks (-1: not even a status line).

    ``hold``: nothing is sent until the server closes. ``phrase`` is the HTTP reason phrase. A body that is not
    bytes is sent as JSON.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    phrase: str | None = None
    cut: int | None = None
    hold: bool = False


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    port: int  # port of the client, which identifies the connection


class ScriptedRegistry:
    """``with ScriptedRegistry(answer, ...) as server``: sends the responses in order, and repeats the last one.

    With ``tls`` it is https, for the name ``host``.
    """

    def __init__(
        self, *answers: Answer, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.asked: list[Asked] = []
        self._answers = list(answers)
        self._connections: list[socket.socket] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        if tls is not None:  # each connection's thread does its handshake
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'http' if tls is None else 'https'}://{host}:{self._server.server_port}"

    def script(self, *answers: Answer) -> None:
        self._answers = list(answers)

    def __enter__(self) -> ScriptedRegistry:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._closing.set()
        for connection in self._connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client has closed it already
        self._server.server_close()
        join(self._thread)

    def _next(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                registry._connections.append(self.connection)

            def handle(self) -> None:
                try:
                    super().handle()
                except (ConnectionError, ssl.SSLError):
                    self.close_connection = True  # the client has closed the connection

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked = Asked(self.command, self.path, self.headers, body, self.client_address[1])
                answer = registry._next(asked)
                if answer.hold:
                    registry._closing.wait(HANG_SECONDS)
                if answer.hold or answer.cut == -1:
                    self.close_connection = True
                    return
                self.close_connection = answer.cut is not None
                self.wfile.write(_raw(answer))

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                """Log nothing, because pytest shows the requests."""

        return Handler


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # connections that may wait; a client beyond that retries a second later
    daemon_threads = False


def _raw(answer: Answer) -> bytes:
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    phrase = HTTPStatus(answer.status).phrase if answer.phrase is None else answer.phrase
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **answer.headers}
    head = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body[: answer.cut]


TOKEN = "eyJhbGciOiJIUzI1NiJ9.e30.c2VjcmV0"
FOUND = Answer(body={"version": 0, "type": "AVRO", "timestamp": 1, "data": '"int"', "properties": {}})
INFO = SchemaInfo(0, "AVRO", '"int"', 1, {})
PATH = "/admin/v2/schemas/public/default/t/schema"
Connect = Callable[..., SchemaRegistryClient]


def redirect(location: str, status: int = 307) -> Answer:
    return Answer(status, b"", {"Location": location})
