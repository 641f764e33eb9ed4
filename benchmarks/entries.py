"""Records of Kafka's batches to messages and to Arrow columns, against aiokafka's compiled parser.

python benchmarks/entries.py            table: 10 batches of 1,000 records of 100 bytes, 31 rounds
python benchmarks/entries.py --check    fail if messages are below 0.8 times as fast, or columns below once

All compare the checksum, and touch offset, timestamp, key, value and headers of each record. "messages" are those of
KafkaEntryReader, "version" has a schema version header taken off each value, and "columns" are the Arrow batches that
read_segment_batches makes of the same bytes. Batches are uncompressed; the contenders alternate within each round, and
the ratio is the median over the rounds. The clock is the processor time of this thread.
"""

from __future__ import annotations

import argparse
import io
import struct
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pyarrow.compute as pc
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from streamnative_serdes import header
from streamnative_serdes.converters import KafkaEntryReader, read_segment_batches

GOAL, GOAL_OF_COLUMNS = 0.8, 1.0
RECORDS, BATCHES, ROUNDS = 1000, 10, 31


def batch(value: bytes, headers: list[tuple[str, bytes]]) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)
    for number in range(RECORDS):
        builder.append(number, 1_600_000_000_000 + number, struct.pack(">q", number), value, headers)
    return bytes(builder.build())


def segment(data: bytes) -> list[bytes]:
    """The batch, many times, with the offsets that it would have in a log."""
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


def with_version(batches: list[bytes]) -> int:
    return ours(batches, schema_header=True)


def columns(batches: list[bytes]) -> int:
    """The same number as theirs, from the columns."""
    touched = 0
    for batch in read_segment_batches(io.BytesIO(b"".join(batches))):
        touched += len(batch["headers"].flatten())
        millis = pc.divide(batch["timestamp"].cast("int64"), 1000)
        for numbers in (batch["offset"], millis, pc.binary_length(batch["key"]), pc.binary_length(batch["value"])):
            touched += pc.sum(numbers).as_py()
    return touched


def seconds(read: Callable[[list[bytes]], int], batches: list[bytes]) -> float:
    before = time.thread_time()
    read(batches)
    return time.thread_time() - before


CONTENDERS = {"messages": ours, "version": with_version, "columns": columns}


def compare(name: str, batches: list[bytes]) -> dict[str, float]:
    """Print a line; returns how many times as fast as aiokafka each of ours is."""
    assert theirs(batches) == ours(batches) == columns(batches) > with_version(batches)
    rounds = [[seconds(read, batches) for read in (theirs, *CONTENDERS.values())] for _ in range(ROUNDS)]
    times = [median(of_one) / RECORDS / BATCHES * 1e9 for of_one in zip(*rounds, strict=True)]
    ratios = [median(row[0] / row[number] for row in rounds) for number in range(1, len(times))]
    cells = "".join(f"  {time:8.0f}  {ratio:5.2f}" for time, ratio in zip(times[1:], ratios, strict=True))
    print(f"{name:18}  {times[0]:8.0f}{cells}")
    return dict(zip(CONTENDERS, ratios, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help=f"fail below {GOAL} times aiokafka's speed")
    check = parser.parse_args().check
    print(f"{'ns a record':18}  aiokafka" + "".join(f"  {name:>8}  times" for name in CONTENDERS))
    value = header.pack(3) + bytes(82)
    found = (
        compare("no headers", segment(batch(value, []))),
        compare("two headers", segment(batch(value, [("source", b"web"), ("trace", bytes(16))]))),
    )
    for name in CONTENDERS:
        goal, slowest = GOAL_OF_COLUMNS if name == "columns" else GOAL, min(ratios[name] for ratios in found)
        if check and slowest < goal:
            sys.exit(f"{name}: expected at least {goal} times aiokafka's speed, got {slowest:.2f}")


if __name__ == "__main__":
    main()
