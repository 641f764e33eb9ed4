"""Messages become entries of Pulsar's own format: batches, as KoP's PulsarEntryFormatter writes them."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from streamnative_serdes._external_ids import NO_IDS, Headers, IdForm, SchemaIds, id_bytes, ids_among
from streamnative_serdes.errors import EncodeError

from .entry import write_entry
from .metadata import SCHEMA_ID, BrokerMetadata
from .wire import Message, framed, number, text, zigzag

EXACT_HEADERS: Final = b"streamnative.serdes.kafka.headers"
_SIZE: Final = struct.Struct(">i")
_NULL_KEY: Final = 10  # of SingleMessageMetadata


@dataclass(slots=True)
class _Batch:
    """A batch that is being written; schema version and ids in its metadata hold for every message in it."""

    most: int
    form: IdForm | None = None
    version: int | None = None
    ids: SchemaIds = NO_IDS
    has_value: bool = False
    count: int = 0
    first: Message | None = None
    last: int = -1
    payload: bytearray = field(default_factory=bytearray)

    def fits(self, message: Message) -> bool:
        """Whether the message may have the same metadata; a null has no schema version."""
        if self.form and self.count and self._split(message)[0] != self.ids:
            return False
        return message.value is None or not self.has_value or message.schema_version == self.version

    def _split(self, message: Message) -> tuple[SchemaIds, Headers]:
        """The ids of a message that go into the metadata, and the headers that become properties."""
        if self.form is None:
            return NO_IDS, message.headers
        return ids_among(message.headers, null=message.value is None)

    def add(self, message: Message) -> None:
        self.ids, headers = self._split(message)
        value = message.value or b""
        if any(self.ids):
            value = framed(message) or b""  # beside an id, readers ignore the version
        elif message.value is not None:
            self.version, self.has_value = message.schema_version, True
        single = _single(message, headers, len(value))
        if self.ids.key is not None and message.key is None:
            single += number(_NULL_KEY, 1)  # or the pair looks like one of encoding INLINE
        if len(self.payload) + 4 + len(single) + len(value) > self.most:
            raise EncodeError(
                f"offset {message.offset}: expected a batch of at most {self.most} bytes, got more",
                hint="max_batch_size allows larger batches",
            )
        self.payload += _SIZE.pack(len(single)) + single + value
        self.first = self.first or message
        self.count, self.last = self.count + 1, message.offset

    def entry(self, broker: BrokerMetadata, publish_time: int) -> bytes:
        index = self.last if broker.index is not None and self.last >= 0 else None
        metadata = self._metadata(publish_time)
        return write_entry(metadata, bytes(self.payload), BrokerMetadata(broker.timestamp, index))

    def _metadata(self, publish_time: int) -> bytes:
        assert self.first is not None
        key, timestamp = self.first.key, self.first.timestamp
        encoded = text(1, b"") + number(2, 0) + number(3, timestamp if timestamp >= 0 else publish_time)
        if key is not None:
            encoded += text(6, b64encode(key))
        encoded += number(11, self.count)
        if self.version is not None:
            encoded += text(16, self.version.to_bytes(8))
        if key is not None:
            encoded += number(17, 1) + text(18, key)
        if self.form is not None and any(self.ids):
            encoded += text(SCHEMA_ID, id_bytes(self.ids, self.form))
        return encoded


def write_batches(
    messages: Iterable[Message],
    broker: BrokerMetadata,
    publish_time: int,
    most: int,
    external_ids: IdForm | None = None,
) -> Iterator[bytes]:
    """Yield entries, each a batch of successive messages whose values have the same schema version and ids.

    With an index, another entry also begins after a gap between offsets, since all but the last follow from it. KoP
    would show messages that are marked as compacted out, in place of the gap.

    Args:
        messages: with their offsets.
        broker: metadata of the old entry; the index of each new entry is the offset of its last message.
        publish_time: milliseconds, for messages without a timestamp.
        most: bytes that a batch may have.
        external_ids: the form in which ids in headers go into the metadata; None leaves them in the headers.

    Raises:
        EncodeError: a batch would be larger.
    """
    batch = _Batch(most, external_ids)
    for message in messages:
        gap = broker.index is not None and batch.count and message.offset > batch.last + 1
        if gap or not batch.fits(message):
            yield batch.entry(broker, publish_time)
            batch = _Batch(most, external_ids)
        batch.add(message)
    if batch.count:
        yield batch.entry(broker, publish_time)


def _single(message: Message, headers: Headers, size: int) -> bytes:
    """SingleMessageMetadata, its fields in the order in which Pulsar's classes write them."""
    encoded = b"".join(text(1, text(1, name) + text(2, value)) for name, value in _properties(headers))
    if message.key is not None:
        encoded += text(2, b64encode(message.key))
    encoded += number(3, size)
    if message.timestamp >= 0:
        encoded += number(5, message.timestamp)
    if message.key is not None:
        encoded += number(6, 1) + text(7, message.key)
    encoded += number(8, 0)
    return encoded + (number(9, 1) if message.value is None else b"")


def _properties(headers: tuple[tuple[str, bytes | None], ...]) -> Iterator[tuple[bytes, bytes]]:
    """Headers as properties, which are UTF-8 text.

    If text cannot hold all headers exactly, each property is as near as possible, and one more property has the exact
    headers: in base64, as Kafka writes them in a record. So it is if a header has the name of that property.
    """
    exact = True
    for name, value in headers:
        raw = name.encode("utf-8", "surrogateescape")
        key, shown = _as_text(raw), _as_text(value or b"")
        exact = exact and key == raw and shown == value and raw != EXACT_HEADERS
        yield key, shown
    if not exact:
        yield EXACT_HEADERS, b64encode(write_headers(headers))


def _as_text(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def write_headers(headers: tuple[tuple[str, bytes | None], ...]) -> bytes:
    """Headers as Kafka writes them in a record: their count, then each name and value with its length."""
    parts = [zigzag(len(headers))]
    for name, value in headers:
        raw = name.encode("utf-8", "surrogateescape")
        parts += [zigzag(len(raw)), raw, zigzag(-1 if value is None else len(value)), value or b""]
    return b"".join(parts)
