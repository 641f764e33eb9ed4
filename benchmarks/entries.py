"""Records of Kafka's batches to messages, against aiokafka's compiled parser.

python benchmarks/entries.py            table: 1,000 records of 100 bytes a batch, 31 rounds
python benchmarks/entries.py --check    fail if ours is below 0.8 times as fast

Both compare the checksum, and touch offset, timestamp, key, value and headers of each record. Batches are uncompressed;
the contenders alternate within each round, and the ratio is the median over the rounds. The clock is the processor time
of this thread.
"""

from __future__ import annotations

import argparse
import struct
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from streamnative_serdes import header
from streamnative_serdes.converters import KafkaEntryReader

GOAL = 0.8
RECORDS, BATCHES, ROUNDS = 1000, 10, 31


def batch(value: bytes, headers: list[tuple[str, bytes]]) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)
    for number in range(RECORDS):
        builder.append(number, 1_600_000_000_000 + number, struct.pack(">q", number), value, headers)
    return bytes(builder.build())


def theirs(data: bytes) -> int:
    parsed = DefaultRecordBatch(bytearray(data))
    assert parsed.validate_crc()
    touched = 0
    for record in parsed:
        touched += record.offset + record.timestamp + len(record.key) + len(record.value) + len(record.headers)
    return touched


def ours(data: bytes, *, schema_header: bool = False) -> int:
    touched = 0
    message: Any  # neither key nor value is None here
    for message in KafkaEntryReader(schema_header=schema_header).batches(data):
        touched += message.offset + message.timestamp + len(message.key) + len(message.value) + len(message.headers)
    return touched


def with_version(data: bytes) -> int:
    return ours(data, schema_header=True)


def seconds(read: Callable[[bytes], int], data: bytes) -> float:
    before = time.thread_time()
    for _ in range(BATCHES):
        read(data)
    return time.thread_time() - before


def compare(name: str, data: bytes) -> float:
    """Print a line; returns how many times as fast as aiokafka ours is."""
    assert theirs(data) == ours(data)
    rounds = [(seconds(theirs, data), seconds(ours, data), seconds(with_version, data)) for _ in range(ROUNDS)]
    a, b, c = (median(times) / RECORDS / BATCHES * 1e9 for times in zip(*rounds, strict=True))
    ratio = median(theirs / ours for theirs, ours, _ in rounds)
    versioned = median(theirs / ours for theirs, _, ours in rounds)
    print(f"{name:24}  {a:7.0f}  {b:7.0f}  {ratio:6.2f}  {c:7.0f}  {versioned:6.2f}")
    return min(ratio, versioned)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help=f"fail below {GOAL} times aiokafka's speed")
    check = parser.parse_args().check
    print("ns a record               aiokafka     ours   times   +version  times")
    value = header.pack(3) + bytes(82)
    slowest = min(
        compare("no headers", batch(value, [])),
        compare("two headers", batch(value, [("source", b"web"), ("trace", bytes(16))])),
    )
    if check and slowest < GOAL:
        sys.exit(f"expected at least {GOAL} times aiokafka's speed, got {slowest:.2f}")


if __name__ == "__main__":
    main()
