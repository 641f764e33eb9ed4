"""LocalRegistry: a stand-in for Pulsar's schema registry, over real HTTP on loopback, with faults on demand."""

from __future__ import annotations

import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

from ..errors import ConfigError
from .admin_api import AdminApi
from .exchange import Answer, Request, as_page
from .faults import Fault, FaultQueue
from .flavours import FLAVOURS
from .store import Store

_STOP_SECONDS = 5.0  # to wait for one connection's thread
_POLL_SECONDS = 0.01  # how soon the listening thread sees that it shall stop


class Call(NamedTuple):
    """One request as it came in: ``path`` with its query."""

    method: str
    path: str


class LocalRegistry:
    """Pulsar's admin REST API for schemas, on ``127.0.0.1``, in threads of this process.

    Tenant ``public`` with namespace ``default`` exists; others are made with PUT, as in Pulsar. Nothing outlives the
    object. It answers as Apache Pulsar 4.0.8 does, which ``tests/integration/contract`` of the project proves: status,
    reason phrase, headers and body, and whether a schema is compatible. What differs on purpose:

    - topics live here only as far as the admin API makes or deletes them;
    - topic-level strategies are on, as with ``topicLevelPoliciesEnabled``, and act at once;
    - GET, POST, PUT, DELETE and PATCH are served, HEAD and OPTIONS are not;
    - the words of Jackson, in a 400, and of Gson, for KEY_VALUE that is no JSON, are Python's;
    - a PROTOBUF_NATIVE descriptor is kept as text, neither decoded nor compared;
    - a bad default whose type refers to a named type is told with the name alone, not with its definition;
    - doubles of many digits, in schemas that a refusal quotes, are as JDK 19 and later print them;
    - any token may do all: there are no roles. A missing right is ``Fault.status(401, "Unauthorized to ...")``.

    Args:
        port: 0 picks a free one.
        token: when given, each request needs ``Authorization: Bearer TOKEN``.
        flavour: "4.0", or "2.8" for what Pulsar 2.8 to 2.10 answer otherwise: registering and looking up are 202, a
            schema that is not found is Jetty's page without a reason, and so is a namespace; where a right is missing
            it is 404 as well.

    Raises:
        ConfigError: there is no such flavour.

    Use it as a context manager, or call :meth:`start` and :meth:`close`::

        with LocalRegistry() as registry:
            requests.get(registry.url + "/admin/v2/clusters")
    """

    def __init__(self, port: int = 0, token: str | None = None, *, flavour: str = "4.0") -> None:
        if flavour not in FLAVOURS:
            raise ConfigError(f"flavour is one of {', '.join(map(repr, FLAVOURS))}, got {flavour!r:.80}")
        self._flavour = FLAVOURS[flavour]
        self.store = Store()
        self._api = AdminApi(self.store)
        self._port = port
        self._token = token
        self._faults = FaultQueue()
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._log: list[Call] = []
        self._url = ""
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    # Life

    def start(self) -> Self:
        """Listen and serve.

        Raises:
            ConfigError: the port is taken.
        """
        if self._server is None:
            try:
                self._server = _Server(("127.0.0.1", self._port), self._serve)
            except OSError as error:
                raise ConfigError(f"cannot listen on 127.0.0.1:{self._port}: {error}") from error
            self._url = f"http://127.0.0.1:{self._server.server_port}"
            self._thread = threading.Thread(
                target=self._server.serve_forever, args=(_POLL_SECONDS,), name="LocalRegistry", daemon=True
            )
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop listening, cut all connections and wait for their threads."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.stop()
            thread.join(_STOP_SECONDS)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address, such as ``http://127.0.0.1:40123``.

        Raises:
            ConfigError: the registry is not running.
        """
        if self._server is None:
            raise ConfigError("the registry is not running", hint="use it as a context manager, or call start()")
        return self._url

    # What a test sets and sees

    @property
    def calls(self) -> Counter[str]:
        """Requests received since :meth:`reset_calls`, failed ones included, by kind.

        ``GET schema`` is the latest, ``GET version`` one version, ``GET schemas`` all of them; ``POST schema``
        registers, ``POST version`` looks up, ``POST compatibility`` checks; ``DELETE schema``, ``PUT namespace``, ...
        """
        with self._lock:
            return self._counts.copy()

    @property
    def requests(self) -> list[Call]:
        """The same requests one by one, in the order in which they came."""
        with self._lock:
            return list(self._log)

    def reset_calls(self) -> None:
        with self._lock:
            self._counts.clear()
            self._log.clear()

    def fail(self, fault: Fault, times: int | None = 1, match: str | None = None) -> None:
        """Let ``fault`` happen to the next requests, after the faults that wait already.

        Args:
            fault: such as ``Fault.status(503)``; see :class:`Fault`.
            times: to how many requests; None is all, until :meth:`heal`.
            match: a regular expression to find in ``METHOD /path?query``; other requests pass.
        """
        if times is not None and times < 1:
            raise ConfigError(f"times is a whole number from 1, or None, got {times!r}")
        self._faults.add(fault, times, match)

    def heal(self) -> None:
        """Forget all faults that have not happened yet."""
        self._faults.clear()

    def set_strategy(self, strategy: str, name: str = "public/default") -> None:
        """Set the compatibility strategy of ``tenant/namespace`` or of ``tenant/namespace/topic``.

        Raises:
            ConfigError: there is no such strategy.
        """
        try:
            self.store.set_strategy(name, strategy)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    # Serving

    def _serve(self, request: Request, stopping: threading.Event) -> tuple[Answer, Fault | None]:
        kind = self._api.kind(request)
        with self._lock:
            self._counts[kind] += 1
            self._log.append(Call(request.method, request.target))
        fault = self._faults.take(request.method, request.target)
        if fault is not None:
            stopping.wait(fault.seconds)
            if fault.answer is not None:
                return self._flavour(kind, request, fault.answer(request, self._url)), fault
        return self._flavour(kind, request, self._answer(request)), fault

    def _answer(self, request: Request) -> Answer:
        if self._token is not None and request.headers.get("Authorization") != f"Bearer {self._token}":
            return as_page(401, "Authentication required", request)
        return self._api.answer(request)


def serve(port: int = 8080, token: str | None = None, ready: Callable[[str], None] | None = None) -> None:
    """Run a registry until Ctrl-C; ``ready`` is called once with its address.

    Raises:
        ConfigError: the port is taken.
    """
    with LocalRegistry(port, token) as registry:
        try:
            if ready is not None:
                ready(registry.url)
            threading.Event().wait()
        except KeyboardInterrupt:
            return


class _Server(ThreadingHTTPServer):
    """Knows its open connections, so that stopping ends them and waits for their threads."""

    request_queue_size = 256
    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        respond: Callable[[Request, threading.Event], tuple[Answer, Fault | None]],
    ) -> None:
        self.respond = respond
        self.stopping = threading.Event()
        self._at_work: dict[
            threading.Thread, socket.socket
        ] = {}  # only the listening thread adds, and stop() comes after
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), name="LocalRegistry", daemon=True
        )
        thread.start()
        self._at_work = {other: open_ for other, open_ in self._at_work.items() if other.is_alive()}
        self._at_work[thread] = request

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client may go away at any time
            super().handle_error(request, client_address)

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        self.server_close()
        for connection in self._at_work.values():
            _hang_up(connection)
        for thread in self._at_work:
            thread.join(_STOP_SECONDS)


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed already, by either side


class _Handler(BaseHTTPRequestHandler):
    """One connection, kept alive. Header and body leave in one send: two would wait 40 ms for a delayed ACK."""

    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        length = self.headers.get("Content-Length", "0")
        body = self.rfile.read(int(length)) if length.isdigit() else b""
        request = Request(self.command, self.path, self.headers, body)
        answer, fault = self.server.respond(request, self.server.stopping)
        cut = fault.cut_at if fault is not None else None
        if self.server.stopping.is_set() or cut == "answer":
            self.close_connection = True
            return
        self._send(answer, cut == "body")

    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET  # noqa: N815  # http.server's names

    def _send(self, answer: Answer, cut: bool) -> None:
        self.send_response(answer.status, answer.status_text())
        for name, value in answer.headers:
            self.send_header(name, value)
        if answer.content_type:
            self.send_header("Content-Type", answer.content_type)
        if answer.status != 204:
            # A cut must show even if the body is empty.
            self.send_header("Content-Length", str(len(answer.body) + (1 if cut else 0)))
        self.end_headers()
        self.wfile.write(answer.body[: len(answer.body) // 2] if cut else answer.body)
        self.close_connection = self.close_connection or cut

    def version_string(self) -> str:
        return "LocalRegistry"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Silent: what came in stands in ``LocalRegistry.requests``."""
