"""Wrong-address diagnosis: what listens at an address if not the expected server, and a hint for the right address.

It is inferred from how a request fails. Source: Apache Kafka 4 and Pulsar 4.0 on all of their ports, as observed.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
_RECORDS: Final = ("\x15\x03", "\x16\x03")  # the first bytes of a TLS alert and of a TLS handshake


@dataclass(frozen=True, slots=True)
class Expected:
    """The server that should listen at an address.

    Args:
        closing: completes "is this ...?": ports near it that close HTTP connections.
        ports: completes "use ...": its ports, with examples.
        https: its port for https.
    """

    closing: str
    ports: str
    https: str


class Diagnosis(Enum):
    """What a failed request reveals about its address, which may be wrong unless it has answered before."""

    REFUSED = "the connection was refused, or the host is unknown"
    CLOSED = "the connection was closed without a response"
    SPEAKS_TLS = "the address is http, but the server speaks TLS"
    NO_TLS = "the address is https, but the server does not speak TLS"
    NOT_HTTP = "the server does not speak HTTP"

    def hint(self, url: str, expected: Expected) -> str | None:
        """Which address to use instead of ``url``, where ``expected`` should be."""
        host = urlsplit(url).netloc
        if self is Diagnosis.CLOSED:
            return f"is this {expected.closing}? These close HTTP connections; use {expected.ports}"
        if self is Diagnosis.SPEAKS_TLS:
            return f"the port speaks TLS: use https://{host}"
        if self is Diagnosis.NO_TLS:
            return f"the port does not speak TLS: use http://{host}, or {expected.https}"
        if self is Diagnosis.NOT_HTTP:
            return f"use {expected.ports}"
        return None


def diagnose(fault: BaseException) -> Diagnosis | None:
    """Diagnose a failed request by its root cause."""
    if isinstance(fault, ConnectionRefusedError | socket.gaierror):
        return Diagnosis.REFUSED
    # http.client.RemoteDisconnected is a ConnectionError and a BadStatusLine.
    if isinstance(fault, ConnectionError | ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Diagnosis.CLOSED
    if isinstance(fault, http.client.BadStatusLine):
        return Diagnosis.SPEAKS_TLS if str(fault).startswith(_RECORDS) else Diagnosis.NOT_HTTP
    if isinstance(fault, ssl.SSLError) and fault.reason in _NO_TLS:
        return Diagnosis.NO_TLS
    return None
