"""Regenerate golden.jsonl with a real KoP, whose bookie's files hold the entries byte for byte.

Run as ``PYTHONPATH=tests/oracles:tests/servers python -m kop_formats KOP``; KOP is a program that takes ``up`` with the
broker's settings, ``down``, and the environment variables ``KOP_RUN`` and ``KOP_PORT``, as ../shared/servers/kop does.

A record of a bookie's entry log, behind 1,024 bytes, all integers big-endian::

    int32 size | ledger int64 | entry int64 | last confirmed int64 | length int64 | crc32c uint32 | entry of the topic
"""

from __future__ import annotations

import base64
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import requests
from confluent_kafka import Consumer, Producer, TopicPartition

from streamnative_serdes import header

from . import CODECS, FORMATS, GOLDEN

PORT: Final = 29592
SECONDS: Final = 30.0
_TIME: Final = 1_600_000_000_000
_FRONT: Final = struct.Struct(">iqqqqI")
_LOG_HEADER: Final = 1024

Sent = tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]  # value, key, headers
A, B = header.pack(0) + b"\x02a\x02", header.pack(2**40) + b"\x02b\x04"
SINGLE: Final[Sequence[Sent]] = ((A, None, []), (A, b"k1", [("h", b"v"), ("empty", b"")]), (None, b"k3", []))
BATCH: Final[Sequence[Sent]] = (
    *SINGLE,
    (B, b"\x00\xff", []),
    (b"", None, []),
    (b"no header " * 100, "\u20ac".encode(), [("h", "\u20ac".encode())]),
)


def send(address: str, topic: str, codec: str, *, idempotent: bool) -> None:
    """Send each message of SINGLE in a batch of its own, and then BATCH as one."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "linger.ms": 500,
            "compression.type": codec,
            "enable.idempotence": idempotent,
            "batch.num.messages": 1_000,
        }
    )
    for messages in (*([message] for message in SINGLE), BATCH):
        for place, (value, key, headers) in enumerate(messages):
            producer.produce(topic, value, key, 0, headers=headers, timestamp=_TIME + place)
        assert producer.flush(SECONDS) == 0


def read(address: str, topic: str) -> list[dict[str, Any]]:
    """All messages as a Kafka consumer reads them."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "golden"})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), SECONDS)
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[dict[str, Any]] = []
        while len(found) < end:
            message = consumer.poll(SECONDS)
            assert message is not None
            assert message.error() is None, message.error()
            found.append(
                {
                    "value": _shown(message.value()),
                    "key": _shown(message.key()),
                    "headers": [[name, _shown(value)] for name, value in message.headers() or ()],
                    "timestamp": message.timestamp()[1],
                    "offset": message.offset(),
                }
            )
        return found
    finally:
        consumer.close()


def ledgers(web: str, topic: str) -> list[int]:
    """The ledgers of a topic's only partition."""
    answer = requests.get(
        f"{web}/admin/v2/persistent/public/default/{topic}-partition-0/internalStats", timeout=SECONDS
    )
    return [ledger["ledgerId"] for ledger in answer.json()["ledgers"]]


def stored(folder: Path) -> Iterator[tuple[int, int, bytes]]:
    """Ledger, number and bytes of each entry in a bookie's entry logs."""
    for log in folder.rglob("*.log"):
        data = log.read_bytes()
        if data[:4] != b"BKLO":
            continue
        place = _LOG_HEADER
        while place + _FRONT.size <= len(data):
            size, ledger, entry, *_ = _FRONT.unpack_from(data, place)
            if size <= 0:
                break
            if ledger >= 0 and entry >= 0:
                yield ledger, entry, data[place + _FRONT.size : place + 4 + size]
            place += 4 + size


def lines_of(kop: str, format: str, run: Path) -> Iterator[dict[str, Any]]:
    environment = {**os.environ, "KOP_RUN": str(run), "KOP_PORT": str(PORT), "PYTHON": sys.executable}
    subprocess.run([kop, "up", f"entryFormat={format}"], env=environment, check=True)
    address, web = f"127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT + 2}"
    try:
        topics = {f"{format}-{codec}": codec for codec in CODECS}
        for topic, codec in topics.items():
            for idempotent in (False, True):
                send(address, topic, codec, idempotent=idempotent)
        messages = {topic: read(address, topic) for topic in topics}
        of_topic = {topic: ledgers(web, topic) for topic in topics}
        process = int((run / "kop.pid").read_text())
        os.kill(process, signal.SIGTERM)  # the bookie writes its logs to the end
        until = time.monotonic() + SECONDS
        while Path(f"/proc/{process}").exists() and time.monotonic() < until:
            time.sleep(0.2)
        found = {(ledger, entry): data for ledger, entry, data in stored(run)}
        for topic, codec in topics.items():
            entries = [found[place] for place in sorted(found) if place[0] in of_topic[topic]]
            assert len(entries) == 2 * (len(SINGLE) + 1), (topic, len(entries))
            counts = [1] * len(SINGLE) + [len(BATCH)]
            yield {
                "topic": topic,
                "format": "pulsar" if format == "pulsar" else "kafka",
                "plain": codec == "none" or format == "pulsar",
                "entries": [
                    [base64.b64encode(entry).decode(), count] for entry, count in zip(entries, counts * 2, strict=True)
                ],
                "messages": messages[topic],
            }
    finally:
        subprocess.run([kop, "down"], env=environment, check=True)


def _shown(data: bytes | str | None) -> str | None:
    return None if data is None else base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, GOLDEN.open("w") as file:
        for format in FORMATS:
            for line in lines_of(sys.argv[1], format, Path(folder) / "run"):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
