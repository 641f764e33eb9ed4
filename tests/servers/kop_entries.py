"""Entries as KoP 3.1.1 stores them with entryFormat=pulsar, and a producer that sends entries unchanged.

KoP itself is in no package registry. It writes to the topic's ledger by itself, and a broker stores what a producer
sends without changes, so a topic with these entries is one that Kafka clients have written to.

An entry, all integers big-endian::

    0e01 | crc32c of the rest | int32 size | MessageMetadata | { int32 size | SingleMessageMetadata | value }*
"""

from __future__ import annotations

import base64
import socket
import struct
from collections.abc import Sequence
from itertools import count
from typing import Final, NamedTuple, Self
from urllib.parse import urlsplit

from servers import Pulsar

_MAGIC: Final = b"\x0e\x01"
_CONNECT, _PRODUCER, _SEND = 2, 5, 6  # BaseCommand.Type, and the field of the command
_CONNECTED, _SEND_RECEIPT, _PRODUCER_SUCCESS, _PING, _PONG = 3, 7, 17, 18, 19
_PROTOCOL: Final = 19  # of Pulsar 2.8
_PATIENCE: Final = 20.0  # seconds


class Record(NamedTuple):
    """A Kafka record."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, str]] = ()
    timestamp: int = 1_600_000_000_000


def kop_entry(*records: Record) -> bytes:
    """Return one produce batch as KoP's PulsarEntryFormatter encodes it.

    No schema version; the key is base64 in ``partition_key`` and as it is in ``ordering_key``; a null has a flag.
    """
    first, parts = records[0], []
    for record in records:
        value = record.value or b""
        single = _single(record, len(value))
        parts += [struct.pack(">i", len(single)), single, value]
    metadata = _text(1, b"") + _number(2, 0) + _number(3, first.timestamp)
    if first.key is not None:
        metadata += _text(6, base64.b64encode(first.key))
    metadata += _number(11, len(records))
    if first.key is not None:
        metadata += _number(17, 1) + _text(18, first.key)
    return sealed(metadata, b"".join(parts))


def _single(record: Record, size: int) -> bytes:
    encoded = b"".join(_text(1, _text(1, name.encode()) + _text(2, value.encode())) for name, value in record.headers)
    if record.key is not None:
        encoded += _text(2, base64.b64encode(record.key))
    encoded += _number(3, size) + _number(5, record.timestamp)
    if record.key is not None:
        encoded += _number(6, 1) + _text(7, record.key)
    encoded += _number(8, 0)
    return encoded + (_number(9, 1) if record.value is None else b"")


def kafka_entry(batch: bytes, records: int) -> bytes:
    """Return a Kafka RecordBatch as KoP stores it with entryFormat=kafka: no magic, no checksum."""
    property_ = _text(1, b"entry.format") + _text(2, b"kafka")
    metadata = (
        _text(1, b"") + _number(2, 0) + _number(3, 1_600_000_000_000) + _text(4, property_) + _number(11, records)
    )
    return struct.pack(">i", len(metadata)) + metadata + batch


def pulsar_entry(value: bytes, schema_version: bytes) -> bytes:
    """Return a message as a Pulsar producer sends it, without a batch."""
    metadata = _text(1, b"producer") + _number(2, 0) + _number(3, 1_600_000_000_000) + _text(16, schema_version)
    return sealed(metadata, value)


def sealed(metadata: bytes, payload: bytes) -> bytes:
    """Return an entry with magic and checksum."""
    rest = struct.pack(">i", len(metadata)) + metadata + payload
    return _MAGIC + struct.pack(">I", crc32c(rest)) + rest


class EntryProducer:
    """A connection that speaks Pulsar's binary protocol, as far as entries need it to be sent unchanged.

    If the server requires tokens, it is that of ``admin``.
    """

    def __init__(self, server: Pulsar, topic: str) -> None:
        full = f"persistent://public/default/{topic}"
        found = server.admin("GET", f"../../lookup/v2/topic/persistent/public/default/{topic}")
        assert found.ok, found.text  # also makes the broker own the topic's bundle
        address = urlsplit(server.service_url)
        assert address.hostname
        assert address.port
        self._socket = socket.create_connection((address.hostname, address.port), _PATIENCE)
        self._numbers = count()
        token = b"" if server.tokens is None else server.tokens.of("admin").encode()
        signed_in = _text(3, token), _text(5, b"token")
        self._ask(_CONNECT, _text(1, b"tests") + signed_in[0] + _number(4, _PROTOCOL) + signed_in[1], _CONNECTED)
        self._ask(_PRODUCER, _text(1, full.encode()) + _number(2, 0) + _number(3, 0), _PRODUCER_SUCCESS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, entry: bytes, records: int = 1) -> None:
        command = _number(1, 0) + _number(2, next(self._numbers)) + _number(3, records)
        self._ask(_SEND, command, _SEND_RECEIPT, entry)

    def _ask(self, kind: int, command: bytes, expected: int, entry: bytes = b"") -> None:
        self._write(kind, command, entry)
        while True:
            answer = self._read()
            kind = answer[1]  # field 1 is the first, a varint
            if kind == _PING:
                self._write(_PONG, b"", b"")
                continue
            assert kind == expected, f"expected command {expected}, got {answer!r}"
            return

    def _write(self, kind: int, command: bytes, entry: bytes) -> None:
        base = _number(1, kind) + _text(kind, command)
        self._socket.sendall(struct.pack(">ii", 4 + len(base) + len(entry), len(base)) + base + entry)

    def _read(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        frame = self._exactly(size)
        (length,) = struct.unpack_from(">i", frame)
        return frame[4 : 4 + length]

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            assert part, "the broker has closed the connection"
            data += part
        return data


def keep_entries(server: Pulsar, topic: str) -> None:
    """Subscribe to a topic of public/default, since brokers delete full ledgers that nobody has yet to read."""
    created = server.admin("PUT", f"persistent/public/default/{topic}")
    assert created.status_code in (204, 409), created.text
    path = f"persistent/public/default/{topic}/subscription/keep"
    done = server.admin("PUT", path, json={"ledgerId": -1, "entryId": -1})
    assert done.ok, done.text


def send_entries(server: Pulsar, topic: str, *entries: bytes) -> None:
    """Append entries to a topic of public/default, unchanged."""
    with EntryProducer(server, topic) as producer:
        for entry in entries:
            producer.send(entry)


# Protocol buffers


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _number(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def _text(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli), bit by bit by a table."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _row(crc: int) -> int:
    for _ in range(8):
        crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc


_TABLE: Final = [_row(byte) for byte in range(256)]
