"""LocalRegistry: a stand-in for Pulsar's schema registry, over real HTTP on loopback, with fault injection."""

from __future__ import annotations

import re
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from streamnative_serdes._broker_rules.store import Store
from streamnative_serdes.errors import ConfigError

from .admin_api import AdminApi
from .faults import Fault, FaultQueue
from .flavours import FLAVOURS
from .http_messages import Answer, Request, as_page

_STOP_SECONDS = 5.0  # to wait for one connection's thread
_POLL_SECONDS = 0.01  # how soon the listening thread notices that it must stop


class RequestLine(NamedTuple):
    """Method and path of a received request; ``path`` includes the query."""

    method: str
    path: str


class LocalRegistry:
    """Pulsar's admin REST API for schemas, on ``127.0.0.1``, in threads of this process.

    Tenant ``public`` with namespace ``default`` exists; others are created with PUT, as in Pulsar. All data is in
    memory and is lost with the object. It serves all schema types of Pulsar 4.0. Responses equal those of Apache
    Pulsar 4.0.8 in status, reason phrase, headers, body and compatibility results; the project's
    ``tests/integration/contract`` verifies that. Deliberate differences:

    - topics exist only if they are created or deleted through the admin API;
    - topic-level strategies are on, as with ``topicLevelPoliciesEnabled``, and take effect at once;
    - GET, POST, PUT, DELETE and PATCH are served, HEAD and OPTIONS are not;
    - parser messages (Jackson's in a 400, Gson's for a KEY_VALUE that is not JSON) are Python's, and JSON is parsed
      strictly, while Gson accepts names without quotation marks, for example;
    - descriptors of PROTOBUF_NATIVE are checked by the library protobuf, which must be installed; it refuses a few that
      protoc never writes, and Pulsar accepts;
    - an error about a bad default shows a named type by its name, not by its definition;
    - doubles with many digits, in schemas that an error quotes, are printed as by JDK 19 and later;
    - there are no roles: a valid token permits everything. Use ``Fault.status(401, "Unauthorized to ...")`` to simulate
      a missing permission.

    Args:
        port: 0 picks a free port.
        token: if given, each request needs ``Authorization: Bearer TOKEN``.
        flavour: "4.0"; "4.2" for the web server of Pulsar 4.2.4: reason phrases say nothing, and the JSON of an error
            page has line breaks inside texts; or "2.8" for the responses of Pulsar 2.8 to 2.10: register and lookup
            return 202, a missing schema or namespace is Jetty's page without a reason, and a missing permission is a
            404 as well. GET ``/admin/v2/brokers/version`` tells the release. What 4.2.4 answers otherwise because of
            its newer Avro and JSON is in the project's ``tests/oracles/contract/on_4_2.py``; here it is as in 4.0.8.

    Raises:
        ConfigError: ``flavour`` is unknown.

    Use it as a context manager, or call :meth:`start` and :meth:`close`::

        with LocalRegistry() as registry:
            requests.get(registry.url + "/admin/v2/clusters")
    """

    def __init__(self, port: int = 0, token: str | None = None, *, flavour: str = "4.0") -> None:
        if flavour not in FLAVOURS:
            raise ConfigError(f"flavour: expected one of {', '.join(map(repr, FLAVOURS))}, got {flavour!r:.80}")
        self._flavour = FLAVOURS[flavour]
        self.store = Store()
        self._api = AdminApi(self.store)
        self._port = port
        self._token = token
        self._faults = FaultQueue()
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._log: list[RequestLine] = []
        self._url = ""
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    # Life

    def start(self) -> Self:
        """Start to listen and serve.

        Raises:
            ConfigError: the port is in use, or not a port.
        """
        if self._server is None:
            try:
                self._server = _Server(("127.0.0.1", self._port), self._serve)
            except (OSError, OverflowError, TypeError) as error:
                raise ConfigError(f"cannot listen on 127.0.0.1:{self._port}: {error}") from error
            self._url = f"http://127.0.0.1:{self._server.server_port}"
            self._thread = threading.Thread(
                target=self._server.serve_forever, args=(_POLL_SECONDS,), name="LocalRegistry", daemon=True
            )
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop listening, close all connections and wait for their threads."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.stop()
            thread.join(_STOP_SECONDS)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
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

    # For tests: what was received, and what to simulate

    @property
    def calls(self) -> Counter[str]:
        """Number of requests received since :meth:`reset_calls`, failed ones included, by kind.

        ``GET schema`` reads the latest schema, ``GET version`` one version, ``GET schemas`` all; ``POST schema``
        registers, ``POST version`` looks up, ``POST compatibility`` checks; ``DELETE schema``, ``PUT namespace``, ...
        """
        with self._lock:
            return self._counts.copy()

    @property
    def requests(self) -> list[RequestLine]:
        """The same requests, one by one, in order of arrival."""
        with self._lock:
            return list(self._log)

    def reset_calls(self) -> None:
        with self._lock:
            self._counts.clear()
            self._log.clear()

    def fail(self, fault: Fault, times: int | None = 1, match: str | None = None) -> None:
        """Apply ``fault`` to the next matching requests, after the faults that are already queued.

        Args:
            fault: such as ``Fault.status(503)``; see :class:`Fault`.
            times: to how many requests it applies; None for all, until :meth:`heal`.
            match: a regular expression that is searched in ``METHOD /path?query``; other requests are not affected.

        Raises:
            ConfigError: an argument is something else.
        """
        if not isinstance(fault, Fault):
            raise ConfigError(f"fault: expected a Fault, such as Fault.status(503), got {fault!r:.80}")
        if times is not None and (type(times) is not int or times < 1):
            raise ConfigError(f"times: expected an integer from 1 on, or None, got {times!r:.80}")
        try:
            re.compile(match or "").search("")  # bytes compile, but do not search in a str
            self._faults.add(fault, times, match)
        except (re.error, TypeError):
            raise ConfigError(f"match: expected a regular expression, got {match!r:.80}") from None

    def heal(self) -> None:
        """Remove all queued faults."""
        self._faults.clear()

    def set_strategy(self, strategy: str, name: str = "public/default") -> None:
        """Set the compatibility strategy of ``tenant/namespace`` or of ``tenant/namespace/topic``.

        Raises:
            ConfigError: the strategy does not exist.
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
            self._log.append(RequestLine(request.method, request.target))
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
        ConfigError: the port is in use, or not a port.
    """
    with LocalRegistry(port, token) as registry:
        try:
            if ready is not None:
                ready(registry.url)
            threading.Event().wait()
        except KeyboardInterrupt:
            return


class _Server(ThreadingHTTPServer):
    """Tracks its open connections, so that stopping closes them and waits for their threads."""

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
    """One keep-alive connection. Header and body go out in one send: two would wait 40 ms for a delayed ACK."""

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
            # One more than is sent, so that the client notices the cut even if the body is empty.
            self.send_header("Content-Length", str(len(answer.body) + (1 if cut else 0)))
        self.end_headers()
        self.wfile.write(answer.body[: len(answer.body) // 2] if cut else answer.body)
        self.close_connection = self.close_connection or cut

    def version_string(self) -> str:
        return "LocalRegistry"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Log nothing: ``LocalRegistry.requests`` lists the requests."""
