"""Log segments of Kafka's brokers, read to messages or to Arrow columns."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from streamnative_serdes.errors import ConfigError, DecodeError

from .batches import read_batches
from .kafka_entries import Isolation, check_options
from .segment_files import SegmentBatch, Source, blocks, in_file, name_of, path_of
from .transactions import AbortedTransactions, HeldTransactions, indexes_beside
from .wire import MIB, BatchLimits, Message, RecordColumns

if TYPE_CHECKING:
    import os

    import pyarrow as pa

logger = logging.getLogger(__name__)

_PARTITION: Final = re.compile(r"(?s)(.+)-(\d{1,9})")  # the folder of a partition, as brokers name it


class SegmentOptions(TypedDict, total=False):
    """Options for reading segments.

    Args:
        isolation: ``read_uncommitted`` (the default) returns each record as it comes. ``read_committed`` returns the
            records that a Kafka consumer with this isolation gets, in the same order: batches of open transactions,
            and all batches behind them, are held until the transaction's marker.
        max_batch_size: bytes of records that one batch may have, as it is stored and after decompression.
        max_held: bytes that ``read_committed`` may hold: batches as they are stored, at 1,000 bytes more for each.
        check_crc: whether the checksums of batches are compared.
        partial: whether the last segment may end within a batch or within transactions, as a segment does to which a
            broker still writes. Incomplete batches and transactions are left out with a warning; without
            ``partial``, they are an error.
        transaction_indexes: paths of ``.txnindex`` files, which ``read_committed`` uses; by default those beside the
            segments, with the same names, and those of later segments in the same folder.
    """

    isolation: Isolation
    max_batch_size: int
    max_held: int
    check_crc: bool
    partial: bool
    transaction_indexes: Iterable[str | os.PathLike[str]] | None


def read_segment(*segments: Source, schema_header: bool = True, **options: Unpack[SegmentOptions]) -> Iterator[Message]:
    """Return an iterator over the messages of log segments, in the order of their offsets.

    Args:
        segments: paths of a partition's segments in order (``00000000000000000000.log``, or copies with other names),
            or open binary files, which are read from their position on and stay open.
        schema_header: whether a schema version header (SNIP 42) is taken off the values and becomes
            ``message.schema_version``.
        **options: those of :class:`SegmentOptions`.

    Raises:
        ConfigError: an option has an impossible value, or there is no segment.
        DecodeError: (while iterating) a batch is damaged or cut off, or the last segment ends within transactions;
            ``offset`` is the byte of the segment. Messages before it have been yielded.
        OSError: (while iterating) a file cannot be read.
    """
    log = Segments(segments, **options)
    limits = replace(log.limits, schema_header=schema_header)
    return (message for batch in log.batches() for message in batch.messages(limits))


def read_segment_batches(
    *segments: Source,
    batch_rows: int = 16_384,
    batch_size: int = 16 * MIB,
    topic: str | None = None,
    partition: int | None = None,
    **options: Unpack[SegmentOptions],
) -> Iterator[pa.RecordBatch]:
    """Return an iterator over log segments as Arrow batches with the columns of Spark's Kafka source.

    These are key, value, topic, partition, offset, timestamp (microseconds, UTC; null if there is none), timestampType
    (-1 none, 0 CreateTime, 1 LogAppendTime), headers. Values are as they were stored, with their schema version header,
    so that ``deserialize_batch`` reads them.

    Args:
        segments: as for :func:`read_segment`.
        batch_rows: messages in one Arrow batch at most.
        batch_size: bytes of records in one Arrow batch at most; a larger record is alone in its batch.
        topic: for the column of that name; by default it and ``partition`` come from the folder of the first segment
            if its name is that of a broker's (``TOPIC-PARTITION``), and are null otherwise.
        partition: as ``topic``.
        **options: those of :class:`SegmentOptions`.

    Raises:
        ConfigError: as :func:`read_segment`.
        DecodeError: as :func:`read_segment`; also for a header's name that is not UTF-8, and for a timestamp that has
            no 64 bits of microseconds.
        ImportError: pyarrow is not installed.
        OSError: as :func:`read_segment`.
    """
    from streamnative_serdes.arrow.columns import batch_of_capsules

    check_options("read_uncommitted", batch_rows=batch_rows, batch_size=batch_size)
    log = Segments(segments, **options)
    of_folder = _named_by(path_of(segments[0]))
    topic, partition = topic if topic is not None else of_folder[0], of_folder[1] if partition is None else partition
    columns = RecordColumns(topic, partition, rows=batch_rows, size=batch_size)
    return map(batch_of_capsules, _filled(log, columns))


class Segments:
    """Segments of one partition, in order; arguments as in :class:`SegmentOptions`."""

    def __init__(
        self,
        segments: tuple[Source, ...],
        *,
        isolation: Isolation = "read_uncommitted",
        max_batch_size: int = 64 * MIB,
        max_held: int = 64 * MIB,
        check_crc: bool = True,
        partial: bool = False,
        transaction_indexes: Iterable[str | os.PathLike[str]] | None = None,
    ) -> None:
        check_options(isolation, max_batch_size=max_batch_size, max_held=max_held)
        if not segments:
            raise ConfigError("expected at least one segment")
        self._segments, self._isolation, self._max_held, self._partial = segments, isolation, max_held, partial
        self._indexes = None if transaction_indexes is None else [Path(path) for path in transaction_indexes]
        self.limits = BatchLimits(max_batch_size, schema_header=False, check_crc=check_crc)

    def batches(self) -> Iterator[SegmentBatch]:
        """Yield the batches that the isolation permits, without control batches.

        Raises:
            DecodeError: as :func:`read_segment`.
            OSError: as :func:`read_segment`.
        """
        if self._isolation == "read_uncommitted":
            return (batch for batch in self._stored() if not batch.batch.control)
        return self._committed()

    def _stored(self) -> Iterator[SegmentBatch]:
        last, end = -1, len(self._segments) - 1
        for number, source in enumerate(self._segments):
            for batch in self._of_file(source, partial=self._partial and number == end):
                if batch.offset <= last:
                    raise DecodeError(
                        f"{batch.file}: expected a batch with an offset after {last}, got {batch.offset}",
                        offset=batch.at,
                        hint="segments are given in order, and only those of one partition",
                    )
                last = batch.batch.last_offset
                yield batch

    def _of_file(self, source: Source, *, partial: bool) -> Iterator[SegmentBatch]:
        name = name_of(source)
        for start, block in blocks(source, self.limits.max_batch_size, partial=partial):
            with in_file(name, start):
                for at, batch in read_batches(block, self.limits):
                    yield SegmentBatch(name, start + at, batch)

    def _committed(self) -> Iterator[SegmentBatch]:
        aborted = AbortedTransactions(self._index_paths(), self._max_held)
        held: HeldTransactions[SegmentBatch] = HeldTransactions(
            self._max_held, SegmentBatch.size_held, keep=SegmentBatch.kept, aborted=aborted
        )
        for batch in self._stored():
            if not batch.batch.control:
                yield from held.take(batch)
                continue
            for producer_id, commits, offset in batch.markers(self.limits):
                yield from held.end(producer_id, commits, offset)
        if held.unknown.open:
            self._end_within(held.unknown.open)

    def _index_paths(self) -> list[Path]:
        if self._indexes is not None:
            return self._indexes
        paths = [path for path in map(path_of, self._segments) if path is not None]
        return sorted({index for path in paths for index in indexes_beside(path)})

    def _end_within(self, transactions: dict[int, int]) -> None:
        name = name_of(self._segments[-1])
        producers = ", ".join(f"producer {producer} from offset {first}" for producer, first in transactions.items())
        if self._partial:
            logger.warning("%s: left out messages at the end, behind open transactions (%s)", name, producers)
            return
        raise DecodeError(
            f"{name}: expected the end of all transactions, got the end of the segment within {producers}",
            hint="give the segments of a partition together; partial=True leaves out messages behind open transactions",
        )


def _filled(log: Segments, columns: RecordColumns) -> Iterator[tuple[object, object]]:
    """Yield the columns when they are full, and at the end or before an error."""
    try:
        for batch in log.batches():
            for _ in batch.fill(columns, log.limits):
                yield columns.take()
    except DecodeError:
        if len(columns):
            yield columns.take()
        raise
    if len(columns):
        yield columns.take()


def _named_by(path: Path | None) -> tuple[str | None, int | None]:
    """Topic and partition, from the folder of a segment."""
    found = None if path is None else _PARTITION.fullmatch(path.absolute().parent.name)
    return (found[1], int(found[2])) if found else (None, None)
