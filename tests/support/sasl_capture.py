"""A Kafka broker that only authenticates clients by OAUTHBEARER, and records what they send.

::

    request    | size int32 | key int16 | version int16 | correlation id int32 | client id: length int16, text | ...
    response   | size int32 | correlation id int32 | ...

Source: Kafka protocol guide, ApiVersions (18), SaslHandshake (17), SaslAuthenticate (36); RFC 7628, section 3.1.
"""

from __future__ import annotations

import queue
import socketserver
import struct
import threading
from typing import Final, Self

_HANDSHAKE, _VERSIONS, _AUTHENTICATE = 17, 18, 36
_MECHANISM: Final = b"OAUTHBEARER"
_SPOKEN: Final = ((_HANDSHAKE, 1), (_VERSIONS, 0), (_AUTHENTICATE, 0))  # request and its highest version
_UNSUPPORTED_VERSION: Final = 35


class SaslCapture:
    """``with SaslCapture() as broker``: ``broker.said`` has the unchanged credentials of each client."""

    def __init__(self) -> None:
        self.said: queue.Queue[bytes] = queue.Queue()
        capture = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while size := self.rfile.read(4):
                    request = self.rfile.read(struct.unpack(">i", size)[0])
                    answer = capture._answer(request)
                    if answer is None:
                        return
                    self.wfile.write(struct.pack(">i", 4 + len(answer)) + request[4:8] + answer)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.bootstrap_servers = f"127.0.0.1:{self._server.server_address[1]}"

    def _answer(self, request: bytes) -> bytes | None:
        """Return the response; None closes the connection, after a client has signed in."""
        key, version = struct.unpack_from(">hh", request)
        if key == _VERSIONS:
            spoken = b"".join(struct.pack(">hhh", key, 0, highest) for key, highest in _SPOKEN)
            return struct.pack(">hi", _UNSUPPORTED_VERSION if version else 0, len(_SPOKEN)) + spoken
        if key == _HANDSHAKE:
            return struct.pack(">hih", 0, 1, len(_MECHANISM)) + _MECHANISM
        if key == _AUTHENTICATE:
            (client,) = struct.unpack_from(">h", request, 8)
            self.said.put(request[10 + client + 4 :])
        return None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def extensions(said: bytes) -> dict[str, str]:
    """Parse the extensions of a first message: ``n,,``, then pairs ``key=value``, each after a byte 1; two end it."""
    assert (said[:2], said[-2:]) == (b"n,", b"\x01\x01"), said
    pairs = dict(pair.split("=", 1) for pair in said.decode().split("\x01")[1:-2])
    assert pairs.pop("auth").startswith("Bearer ")
    return pairs
