"""Random logs with transactions: what is read is what a simple model of read_committed says."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field

import pytest

pytest.importorskip("aiokafka")
pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")
pytest.importorskip("pyarrow")

import kafka_batches as kb
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka_batches import Rec

from streamnative_serdes.converters import KafkaEntryReader, read_segment, read_segment_batches

PLAIN, RECORDS, COMMIT, ABORT = range(4)
# What is written next: of which kind, by which producer, how many records.
STEPS = st.lists(st.tuples(st.integers(PLAIN, ABORT), st.integers(1, 3), st.integers(1, 3)), max_size=25)


@dataclass
class Log:
    """A partition; each offset is that of a record of a transaction (its number), of none (None), or of a marker."""

    batches: list[bytes] = field(default_factory=list)
    records: list[tuple[int, int | None]] = field(default_factory=list)
    commits: dict[int, bool] = field(default_factory=dict)  # by the number of the transaction
    offset: int = 0

    def append(self, batch: bytes, count: int) -> None:
        self.batches.append(struct.pack(">q", self.offset) + batch[8:])
        self.offset += count

    def committed(self) -> list[int]:
        """Offsets before the first record of an open transaction, without those of aborted ones."""
        end = min(
            (at for at, number in self.records if number is not None and number not in self.commits), default=None
        )
        settled = [each for each in self.records if end is None or each[0] < end]
        return [at for at, number in settled if number is None or self.commits[number]]


def written(steps: list[tuple[int, int, int]]) -> Log:
    log, begun, count = Log(), dict[int, int](), 0
    for kind, producer, size in steps:
        if kind in (COMMIT, ABORT):
            if producer in begun:
                log.commits[begun.pop(producer)] = kind == COMMIT
            log.append(kb.marker(producer, commits=kind == COMMIT), 1)
            continue
        number = None
        if kind == RECORDS:
            count += producer not in begun
            number = begun.setdefault(producer, count)
        log.records += [(log.offset + at, number) for at in range(size)]
        whose = {} if number is None else {"producer_id": producer, "transactional": True}
        log.append(kb.batch(*[Rec(b"x" * 20)] * size, **whose), size)  # type: ignore[arg-type]
    return log


@settings(max_examples=150)
@given(steps=STEPS, cut=st.integers(1, 3))
def test_committed_records_are_those_of_the_model(steps: list[tuple[int, int, int]], cut: int) -> None:
    log = written(steps)
    data, expected = b"".join(log.batches), log.committed()
    reader = KafkaEntryReader(isolation="read_committed")
    parts = (b"".join(log.batches[at : at + cut]) for at in range(0, len(log.batches), cut))
    assert [message.offset for part in parts for message in reader.batches(part)] == expected
    messages = read_segment(io.BytesIO(data), isolation="read_committed", partial=True)
    assert [message.offset for message in messages] == expected
    columns = read_segment_batches(io.BytesIO(data), isolation="read_committed", partial=True, batch_rows=2)
    assert [offset for batch in columns for offset in batch["offset"].to_pylist()] == expected
    assert [message.offset for message in KafkaEntryReader().batches(data)] == [at for at, _ in log.records]
