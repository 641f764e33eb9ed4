"""Records of Kafka's batches to messages and to Arrow columns, against aiokafka's compiled parser.

python benchmarks/entries.py            table: 10 batches of 1,000 records of 100 bytes, 31 rounds
python benchmarks/entries.py --check    fail if messages are below 0.8 times as fast, or columns below once

All compare the checksum, and touch offset, timestamp, key, value and headers of each record. "messages" are those of
KafkaEntryReader, "version" has a schema version header taken off each value, and "columns" are the Arrow batches that
read_segment_batches makes of the same bytes. Batches are uncompressed; ratios are medians over the rounds.
"""

from __future__ import annotations

import io
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow.compute as pc
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from harness import Goal, Job, judged, measure, options

from streamnative_serdes import header
from streamnative_serdes.converters import KafkaEntryReader, read_segment_batches

THEIRS, GOALS = "aiokafka", {"messages": 0.8, "version": 0.8, "columns": 1.0}  # times aiokafka's speed
RECORDS, BATCHES = 1000, 10
HEADERS: dict[str, list[tuple[str, bytes]]] = {
    "no headers": [], "two headers": [("source", b"web"), ("trace", bytes(16))],
}  # fmt: skip


def segment(headers: list[tuple[str, bytes]]) -> list[bytes]:
    """One batch, many times, with the offsets that it would have in a log."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)
    for number in range(RECORDS):
        value = header.pack(3) + bytes(82)
        builder.append(number, 1_600_000_000_000 + number, struct.pack(">q", number), value, headers)
    data = bytes(builder.build())
    return [struct.pack(">q", number * RECORDS) + data[8:] for number in range(BATCHES)]


def theirs(batches: list[bytes]) -> int:
    touched = 0
    for data in batches:
        parsed = DefaultRecordBatch(bytearray(data))
        assert parsed.validate_crc()
        for record in parsed:
            touched += record.offset + record.timestamp + len(record.key) + len(record.value) + len(record.headers)
    return touched


def ours(batches: list[bytes], *, schema_header: bool = False) -> int:
    touched = 0
    message: Any  # neither key nor value is None here
    for data in batches:
        for message in KafkaEntryReader(schema_header=schema_header).batches(data):
            touched += message.offset + message.timestamp + len(message.key) + len(message.value) + len(message.headers)
    return touched


def columns(batches: list[bytes]) -> int:
    """The same number as theirs, from the columns."""
    touched = 0
    for batch in read_segment_batches(io.BytesIO(b"".join(batches))):
        touched += len(batch["headers"].flatten())
        millis = pc.divide(batch["timestamp"].cast("int64"), 1000)
        for numbers in (batch["offset"], millis, pc.binary_length(batch["key"]), pc.binary_length(batch["value"])):
            touched += pc.sum(numbers).as_py()
    return touched


def main() -> int:
    given = options(__doc__, 31, "--check").parse_args()
    works: dict[str, Callable[[list[bytes]], int]] = {
        THEIRS: theirs,
        "messages": ours,
        "version": partial(ours, schema_header=True),
        "columns": columns,
    }
    jobs = []
    for name, headers in HEADERS.items():
        batches = segment(headers)
        assert theirs(batches) == ours(batches) == columns(batches) > works["version"](batches)
        jobs += [Job((name, who), partial(work, batches), RECORDS * BATCHES) for who, work in works.items()]
    cells = measure(jobs, given.rounds)
    times = {key: cells.times((key[0], THEIRS), key) or 0.0 for key in cells}
    print(f"{'ns a record':18}  {THEIRS}" + "".join(f"  {name:>8}  times" for name in GOALS))
    for name in HEADERS:
        told = "".join(f"  {cells[name, who].ns:8.0f}  {times[name, who]:5.2f}" for who in GOALS)
        print(f"{name:18}  {cells[name, THEIRS].ns:8.0f}{told}")
    slowest = {who: min(times[name, who] for name in HEADERS) for who in GOALS}
    goals = [Goal(f"{who} >= {least:g}x {THEIRS}", slowest[who], least) for who, least in GOALS.items()]
    return judged(goals, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
