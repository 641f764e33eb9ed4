"""A raw TCP server: answers HTTP requests with arbitrary bytes."""

from __future__ import annotations

import http.client
import socketserver
import threading
from collections.abc import Callable, Iterable, Mapping

from waiting import join


class RawServer:
    """``with RawServer(answer) as server``: responds to each request with the bytes of ``answer(headers, body)``."""

    def __init__(self, answer: Callable[[Mapping[str, str], bytes], Iterable[bytes]]) -> None:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.rfile.readline()
                headers = http.client.parse_headers(self.rfile)
                body = self.rfile.read(int(headers["Content-Length"] or 0))
                try:
                    for part in answer(headers, body):
                        self.wfile.write(part)
                except ConnectionError:
                    return  # the client has closed the connection

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> RawServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        join(self._thread)
