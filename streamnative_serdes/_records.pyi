from collections.abc import Iterable, Iterator
from typing import Any, final

from typing_extensions import Buffer

@final
class Message:
    """A message, as Kafka's and Pulsar's clients both know it. It cannot be changed.

    Args:
        value: without a schema version header; None is a tombstone.
        key: its exact bytes, or None.
        headers: Kafka's headers or Pulsar's properties: names, and exact bytes or None. A name that is not UTF-8 has
            surrogates (``surrogateescape``).
        timestamp: milliseconds since 1970; -1 if the message has none.
        offset: Kafka's offset; -1 if it is not known.
        schema_version: in Pulsar's registry; None if the message does not name one.
        producer_id: of Kafka's idempotent or transactional producer; -1 for any other producer.
        transactional: whether the record is part of a transaction.
    """

    def __init__(
        self,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp: int = -1,
        offset: int = -1,
        schema_version: int | None = None,
        producer_id: int = -1,
        transactional: bool = False,
    ) -> None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def schema_version(self) -> int | None: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def transactional(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class RecordReader(Iterator[Message]):
    """The records of a batch, one by one; each becomes an object only when it is asked for.

    Args:
        data: the records, decompressed.
        count: of the records, as the batch says.
        base_offset: offset of the first record.
        last_delta: the largest offset delta that the batch allows.
        base_timestamp: milliseconds, to which each record adds its own.
        append_time: milliseconds: the timestamp of every record (LogAppendTime).
        producer_id: for every message; so is ``transactional``.
        schema_header: whether a schema version header is taken off the values.
    """

    def __new__(
        cls,
        data: Buffer,
        *,
        count: int,
        base_offset: int,
        last_delta: int,
        base_timestamp: int,
        append_time: int | None = None,
        producer_id: int = -1,
        transactional: bool = False,
        schema_header: bool = True,
    ) -> RecordReader: ...
    def __iter__(self) -> RecordReader: ...
    def __next__(self) -> Message: ...
    def fill(self, columns: RecordColumns) -> bool:
        """Append the remaining records to columns; False if the columns are full before the last one.

        Raises:
            DecodeError: a record is damaged, or has what columns cannot hold. Those before it are in the columns.
        """

@final
class RecordColumns:
    """Builds Arrow columns of records, with the names and types of those of Spark's Kafka source.

    Args:
        topic: of all records; None if it is not known. So is ``partition``.
        rows: how many records a batch takes at most.
        size: how many bytes of records a batch takes at most; the first one is always taken.
    """

    def __new__(cls, topic: str | None, partition: int | None, *, rows: int, size: int) -> RecordColumns: ...
    def __len__(self) -> int: ...
    def append(self, message: Message, kind: int) -> bool:
        """Append a message, without its headers; False if the columns are full.

        Args:
            message: with its value as it was stored.
            kind: of the timestamp: -1 none, 0 CreateTime, 1 LogAppendTime.

        Raises:
            DecodeError: the timestamp has no microseconds in an int64.
            TypeError: key or value are no bytes.
        """
    def take(self) -> tuple[object, object]:
        """Return the columns as capsules (schema, array) of a struct, and begin the next batch."""

def fields_of(data: Buffer) -> list[tuple[int, Any, int, int]]:
    """Return the fields of a protocol buffer: number, value (int, or bytes), first byte, byte after the last.

    Raises:
        DecodeError: it is cut off, or has a number or a wire type that protocol buffers do not allow.
    """

def varint(number: int) -> bytes:
    """Return a number from 0 to 2**64 - 1 as protocol buffers write it."""

def zigzag(number: int) -> bytes:
    """Return an int64 as Kafka writes it in records."""
