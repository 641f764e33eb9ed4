"""Entries of Pulsar's own format become messages: single ones, batches, and chunks put together."""

from __future__ import annotations

import struct
from base64 import b64decode
from binascii import Error as NotBase64
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from streamnative_serdes._external_ids import NO_IDS, SchemaIds, headers_of, ids_in
from streamnative_serdes.errors import DecodeError

from .compression import decompress_pulsar
from .converter import read_only
from .entry import Entry, read_entry
from .kafka_entries import is_kafka
from .metadata import Metadata, read_single
from .pulsar_batches import EXACT_HEADERS
from .wire import MIB, Buffer, Message, RecordReader, check_sizes, zigzag

_SIZE: Final = struct.Struct(">i")
_NO_VERSION: Final = b"\xff" * 8
_REMEMBERED: Final = 1_000  # whole messages, whose chunks may come again


class PulsarEntryReader:
    """Reads the messages of entries that Pulsar's producers, or KoP with ``entryFormat=pulsar``, have written.

    Keys, headers and timestamps are those that KoP gives to a Kafka consumer: the ordering key, else the partition key;
    the properties; the event time, else the time of publishing. An id in the metadata of a schema outside of Pulsar
    (EXTERNAL, PIP-420) comes first in the headers, as ``__value_schema_id`` and, of a KeyValue, ``__key_schema_id``.

    Args:
        max_batch_size: bytes of a payload after decompression.
        max_chunked: bytes of chunks whose message is not yet whole.
        check_crc: whether checksums are compared.

    Raises:
        ConfigError: an argument has an impossible value.
    """

    def __init__(self, *, max_batch_size: int = 64 * MIB, max_chunked: int = 64 * MIB, check_crc: bool = True) -> None:
        check_sizes(max_batch_size=max_batch_size, max_chunked=max_chunked)
        self._most, self._most_chunked, self._check_crc = max_batch_size, max_chunked, check_crc
        self._chunked: dict[str, _Chunks] = {}
        self._whole: deque[int] = deque(maxlen=_REMEMBERED)  # hashes, since a UUID may have any length

    @property
    def unfinished(self) -> dict[str, int]:
        """Messages with missing chunks: UUID of the message, and number of chunks read."""
        return {uuid: chunks.count for uuid, chunks in self._chunked.items()}

    def entry(self, buffer: Buffer) -> Iterator[Message]:
        """Yield the messages of an entry. A chunk yields nothing but the last one, which yields the whole message.

        A chunk that has been read already is skipped, as in Pulsar's Java client: a producer that lost its connection
        sends chunks again. If it sends all of them again, the message comes twice.

        Raises:
            DecodeError: the entry is damaged, encrypted, or of Kafka's format; or a chunk follows the wrong one.
        """
        entry = read_entry(read_only(buffer), check_crc=self._check_crc)
        self._refuse(entry)
        if entry.metadata.marker is not None:
            return  # of the broker: replication, transactions
        if entry.metadata.chunks > 1:
            whole = self._assembled(entry)
            if whole is None:
                return
            entry.payload = whole
        metadata = entry.metadata
        payload = decompress_pulsar(metadata.compression, entry.payload, metadata.uncompressed_size, self._most)
        ids = ids_in(metadata.schema_id)
        if metadata.messages is None:
            yield _message(metadata, metadata, ids, bytes(payload), _offset(entry, 0, 1))
        else:
            yield from self._batch(entry, ids, payload)

    def _refuse(self, entry: Entry) -> None:
        if is_kafka(entry):
            raise DecodeError(
                "expected an entry of Pulsar's format, got one of Kafka's", hint="KafkaEntryReader reads those"
            )
        if entry.metadata.encrypted:
            raise DecodeError("expected a payload in plain text, got an encrypted one: this reader has no keys")

    def _batch(self, entry: Entry, ids: SchemaIds, payload: memoryview) -> Iterator[Message]:
        count, place = entry.metadata.messages or 0, 0
        if not 0 < count <= len(payload) // 4:
            raise DecodeError(f"batch: expected 1 to {len(payload) // 4} messages, got the count {count}")
        for number in range(count):
            single, value, place = _single(payload, place, number)
            if not single.compacted_out:
                yield _message(single, entry.metadata, ids, value, _offset(entry, number, count))
        if place != len(payload):
            raise DecodeError(f"batch: expected the end after {count} messages, got {len(payload) - place} more bytes")

    def _assembled(self, entry: Entry) -> memoryview | None:
        """The payload of a message, if ``entry`` is its last chunk; None for earlier chunks."""
        metadata = entry.metadata
        if metadata.chunk_id == 0:
            self._chunked[metadata.uuid] = _Chunks(metadata.chunks, metadata.schema_id)
        chunks = self._chunked.get(metadata.uuid)
        if self._known(metadata, chunks):
            return None
        if chunks is None or (metadata.chunk_id, metadata.chunks) != (chunks.count, chunks.expected):
            raise self._out_of_order(metadata, chunks)
        size = sum(len(each.data) for each in self._chunked.values()) + len(entry.payload)
        if size > self._most_chunked:
            del self._chunked[metadata.uuid]
            raise DecodeError(
                f"message {metadata.uuid!r} in chunks: expected at most {self._most_chunked} bytes of unfinished "
                f"messages, got {size}",
                hint="max_chunked allows more",
            )
        chunks.data += entry.payload
        chunks.count += 1
        if chunks.count < chunks.expected:
            return None
        del self._chunked[metadata.uuid]
        self._whole.append(hash((metadata.uuid, metadata.chunks)))
        metadata.schema_id = chunks.schema_id
        return memoryview(bytes(chunks.data))

    def _known(self, metadata: Metadata, chunks: _Chunks | None) -> bool:
        """Whether a chunk but the first has been read already."""
        if chunks is not None:
            return 0 < metadata.chunk_id < chunks.count and metadata.chunks == chunks.expected
        return 0 < metadata.chunk_id < metadata.chunks and hash((metadata.uuid, metadata.chunks)) in self._whole

    def _out_of_order(self, metadata: Metadata, chunks: _Chunks | None) -> DecodeError:
        self._chunked.pop(metadata.uuid, None)
        expected = f"chunk {chunks.count} of {chunks.expected}" if chunks else "its first chunk"
        got = f"chunk {metadata.chunk_id} of {metadata.chunks}"
        return DecodeError(
            f"message {metadata.uuid!r} in chunks: expected {expected}, got {got}",
            hint="all chunks have to be read, in order, with one reader",
        )


@dataclass(slots=True)
class _Chunks:
    expected: int
    schema_id: bytes  # of the first chunk; in the others, Pulsar's client 4.2.4 writes whatever its buffer has
    count: int = 0
    data: bytearray = field(default_factory=bytearray)


def _message(own: Metadata, whole: Metadata, ids: SchemaIds, value: bytes | None, offset: int) -> Message:
    """A message; ``own`` are its own metadata, ``whole`` are the entry's, which all of its messages share, as ``ids``.

    If an id names the schema, the version names an entry of type EXTERNAL in Pulsar's registry, which reads nothing.
    """
    key, value, headers = _key(own), None if own.null_value else value, _headers(own)
    version = None if value is None or ids is not NO_IDS else version_of(whole.schema_version)
    timestamp = own.event_time or whole.publish_time
    if timestamp >= 2**63:
        raise DecodeError(f"expected a timestamp below 2**63, got {timestamp}")
    if ids is not NO_IDS:
        if ids.key is not None and value is not None and not (own.null_key or own.base64_key):
            key, value = _inline(value)
        headers = (*headers_of(ids if value is not None else ids._replace(value=b"")), *headers)
    return Message(
        value,
        key=key,
        headers=headers,
        timestamp=timestamp,
        offset=offset,
        schema_version=version,
    )


def _inline(payload: bytes) -> tuple[bytes | None, bytes | None]:
    """Key and value of a KeyValue with the encoding INLINE; SEPARATED sets a key in base64, or says that it is null."""
    halves: list[bytes | None] = []
    place = 0
    for name in ("key", "value"):
        size = _SIZE.unpack_from(payload, place)[0] if len(payload) - place >= 4 else -2
        if not -1 <= size <= len(payload) - place - 4:
            left = len(payload) - place - 4
            raise DecodeError(f"KeyValue: expected a {name} of -1 to {left} bytes, got {size}", offset=place)
        halves.append(None if size < 0 else payload[place + 4 : place + 4 + size])
        place += 4 + max(size, 0)
    if place != len(payload):
        raise DecodeError(f"KeyValue: expected the end after the value, got {len(payload) - place} more bytes")
    return halves[0], halves[1]


def version_of(data: bytes) -> int | None:
    """The schema version in metadata: int64, big-endian; None if it is missing.

    Pulsar before 2.4 wrote 64 bytes, of which the first eight are the version.

    Raises:
        DecodeError: the version has another size, or is negative.
    """
    if not data:
        return None
    if len(data) not in (8, 64) or data[0] & 0x80:
        hint = "-1 is the version of type EXTERNAL (PIP-420), whose schemas another registry has"
        raise DecodeError(
            f"schema version: expected 8 bytes, a number from 0, got {data[:16].hex()!r}",
            hint=hint if data == _NO_VERSION else None,
        )
    return int.from_bytes(data[:8])


def _single(payload: memoryview, place: int, number: int) -> tuple[Metadata, bytes, int]:
    """A message's metadata and value, and the position of their end."""
    left = len(payload) - place - 4
    size: int = _SIZE.unpack_from(payload, place)[0] if left >= 0 else -1
    if not 0 <= size <= left:
        raise DecodeError(
            f"message {number} of the batch: expected metadata of 0 to {left} bytes, got {size}", offset=place
        )
    start = place + 4 + size
    try:
        single = read_single(bytes(payload[place + 4 : start]))
    except DecodeError as error:
        raise DecodeError(f"message {number} of the batch: {error.message}", offset=place + 4) from None
    if not 0 <= single.payload_size <= len(payload) - start:
        raise DecodeError(
            f"message {number} of the batch: expected 0 to {len(payload) - start} bytes, got {single.payload_size}",
            offset=start,
        )
    end = start + single.payload_size
    return single, bytes(payload[start:end]), end


def _offset(entry: Entry, number: int, count: int) -> int:
    """The offset of a message, from the entry's index, which is the offset of the last message."""
    return -1 if entry.broker.index is None else max(-1, entry.broker.index - count + 1 + number)


def _key(metadata: Metadata) -> bytes | None:
    if metadata.ordering_key is not None:
        return metadata.ordering_key
    if metadata.partition_key is None or not metadata.base64_key:
        return metadata.partition_key
    try:
        return b64decode(metadata.partition_key, validate=True)
    except NotBase64 as error:
        raise DecodeError(f"partition key: expected base64, as its flag says, got {error}") from None


def _headers(metadata: Metadata) -> tuple[tuple[str, bytes | None], ...]:
    exact = metadata.property(EXACT_HEADERS)
    if exact is not None:
        return _exact_headers(exact)
    return tuple((name.decode("utf-8", "surrogateescape"), value) for name, value in metadata.properties)


def _exact_headers(encoded: bytes) -> tuple[tuple[str, bytes | None], ...]:
    """The headers that :func:`~.pulsar_batches.write_headers` has written: those of a record without anything else."""
    try:
        body = b"\0\0\0\x01\x01" + b64decode(encoded, validate=True)
        record = zigzag(len(body)) + body
        (message,) = RecordReader(record, count=1, base_offset=0, last_delta=0, base_timestamp=0)
    except (NotBase64, DecodeError) as error:
        raise DecodeError(
            f"property {EXACT_HEADERS.decode()}: expected Kafka's headers in base64, got {error}"
        ) from None
    return message.headers
