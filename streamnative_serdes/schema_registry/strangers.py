"""Who is at an address, if not Pulsar's registry: told by how a request fails, and by what answers, with what to give.

Source: Apache Kafka 4 and Pulsar 4.0 on all of their ports, as seen live.
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
_RECORDS: Final = ("\x15\x03", "\x16\x03")  # how those of TLS begin: an alert, a handshake


class Stranger(Enum):
    """How a request failed that says something of the address; until it has ever answered, it may be the wrong one."""

    NOBODY = "connections are refused, or the host is unknown"
    CLOSES = "the connection was closed without an answer"
    TLS = "an http address is answered in TLS"
    PLAIN = "an https address is not answered in TLS"
    OTHER = "what answers does not speak HTTP"

    def hint(self, url: str) -> str | None:
        """What to give instead of this address."""
        host = urlsplit(url).netloc
        if self is Stranger.CLOSES:
            return (
                "do Kafka clients or Pulsar's binary ones (pulsar://) use this port? They close such connections: give "
                "Pulsar's HTTP port, such as http://HOST:8080 or https://HOST:8443"
            )
        if self is Stranger.TLS:
            return f"the port speaks TLS: give https://{host}"
        if self is Stranger.PLAIN:
            return f"the port does not speak TLS: give http://{host}, or the port of https, such as 8443"
        if self is Stranger.OTHER:
            return "give Pulsar's HTTP port, such as http://HOST:8080"
        return None


def at(fault: BaseException) -> Stranger | None:
    """Who is there, by what lies at the bottom of a failed request."""
    if isinstance(fault, ConnectionRefusedError | socket.gaierror):
        return Stranger.NOBODY
    if isinstance(fault, ConnectionError | ssl.SSLEOFError | ssl.SSLZeroReturnError):  # http.client's own is one too
        return Stranger.CLOSES
    if isinstance(fault, http.client.BadStatusLine):
        return Stranger.TLS if str(fault).startswith(_RECORDS) else Stranger.OTHER
    if isinstance(fault, ssl.SSLError) and fault.reason in _NO_TLS:
        return Stranger.PLAIN
    return None


def hint(call: Call, reply: Reply) -> str | None:
    """What to do about an answer that Pulsar would not give."""
    if reply.status == 400 and "https" in reply.words().lower():
        return Stranger.TLS.hint(call.url)
    if call.prefix:
        parts = urlsplit(call.url)
        return (
            f"schema.registry.url has the path {call.prefix}, and Pulsar's own address has none: give "
            f"{parts.scheme}://{parts.netloc} alone, unless a proxy before Pulsar wants that path"
        )
    if reply.has("error_code"):
        return "a registry of Confluent's kind answers there: give Pulsar's HTTP address, such as http://localhost:8080"
    return None
