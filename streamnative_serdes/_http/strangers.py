"""Wrong-address diagnosis: what listens at an address if not Pulsar's registry, and a hint for the right address.

It is inferred from how a request fails, or from the response. Source: Apache Kafka 4 and Pulsar 4.0 on all of their
ports, as observed.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

from .call import Call
from .reply import Reply

_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
_RECORDS: Final = ("\x15\x03", "\x16\x03")  # the first bytes of a TLS alert and of a TLS handshake


class Stranger(Enum):
    """What a failed request reveals about its address, which may be wrong unless it has answered before."""

    NOBODY = "the connection was refused, or the host is unknown"
    CLOSES = "the connection was closed without a response"
    TLS = "the address is http, but the server speaks TLS"
    PLAIN = "the address is https, but the server does not speak TLS"
    OTHER = "the server does not speak HTTP"

    def hint(self, url: str) -> str | None:
        """Which address to use instead of ``url``."""
        host = urlsplit(url).netloc
        if self is Stranger.CLOSES:
            return (
                "is this a port for Kafka clients or for Pulsar's binary protocol (pulsar://)? These close HTTP "
                "connections; use Pulsar's HTTP port, such as http://HOST:8080 or https://HOST:8443"
            )
        if self is Stranger.TLS:
            return f"the port speaks TLS: use https://{host}"
        if self is Stranger.PLAIN:
            return f"the port does not speak TLS: use http://{host}, or the https port, such as 8443"
        if self is Stranger.OTHER:
            return "use Pulsar's HTTP port, such as http://HOST:8080"
        return None


def at(fault: BaseException) -> Stranger | None:
    """Diagnose a failed request by its root cause."""
    if isinstance(fault, ConnectionRefusedError | socket.gaierror):
        return Stranger.NOBODY
    # http.client.RemoteDisconnected is a ConnectionError and a BadStatusLine.
    if isinstance(fault, ConnectionError | ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Stranger.CLOSES
    if isinstance(fault, http.client.BadStatusLine):
        return Stranger.TLS if str(fault).startswith(_RECORDS) else Stranger.OTHER
    if isinstance(fault, ssl.SSLError) and fault.reason in _NO_TLS:
        return Stranger.PLAIN
    return None


def hint(call: Call, reply: Reply) -> str | None:
    """A hint for a response that Pulsar would not send."""
    if reply.status == 400 and "https" in reply.words().lower():
        return Stranger.TLS.hint(call.url)
    if call.prefix:
        parts = urlsplit(call.url)
        return (
            f"schema.registry.url has the path {call.prefix}, but Pulsar's own address has none: use "
            f"{parts.scheme}://{parts.netloc} unless a proxy in front of Pulsar needs that path"
        )
    if reply.has("error_code"):
        return "this is a Confluent-style registry: use Pulsar's HTTP address, such as http://localhost:8080"
    return None
