"""Kafka to a polars frame: ArrowConsumer against the other ways in Python, on a real Kafka, which this starts.

    python benchmarks/consuming.py --write-docs     also write the table in docs/consuming.md

Each contender reads one topic, in batches of 10,000 messages, into frames that are compared with ours before the first
round. Rounds are interleaved in shuffled order, in one process. The clock is the processor time of all threads, and
begins when the first batch has come. **By hand** is consume() and deserialize_batch() in a loop, which an ArrowConsumer
cannot be faster than. kafkarrow takes part where it is installed (pip install kafkarrow).
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import fastavro
import polars as pl
import pyruhvro
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from harness import DOCS, ROOT, Goal, Told, judged, machine, measure, options, table, write_docs
from shapes import BY_NAME, FLAT, Source

from streamnative_serdes import KafkaAvroDeserializer, header
from streamnative_serdes.integrations.consuming import ArrowConsumer, ArrowProducer
from streamnative_serdes.testing import LocalRegistry

TOPIC, PARTITIONS, BATCH, ROWS, SECONDS = "rows", 2, 10_000, 2_000, 60.0  # ROWS: different ones
OURS, BY_HAND, COMPARED = "ArrowConsumer", "by hand", ["id", "user", "price", "referrer"]
CONF = {"group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 10}  # as ArrowConsumer sets it
FASTER, MOST = 2.0, 1.1
MARKER = "<!-- benchmark of consuming -->\n"
PLACES = [TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)]
Frames = Iterator[pl.DataFrame]


def fill(kafka: str, registry: str, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
    source = Source(0)
    rows = pl.DataFrame([source.a_record(FLAT) for _ in range(ROWS)])
    conf = {"bootstrap.servers": kafka, "schema.registry.url": registry, "linger.ms": 50}
    with ArrowProducer(conf, TOPIC, FLAT, partition="partition") as producer:
        for number in range(count // ROWS):
            producer.write(rows.with_columns(partition=pl.lit(number % PARTITIONS, pl.Int32)))


def ours(kafka: dict[str, Any], registry: str) -> Frames:
    with ArrowConsumer({**kafka, "schema.registry.url": registry}) as consumer:
        consumer.assign(PLACES)
        while True:
            yield pl.DataFrame(consumer.read_batch(BATCH, SECONDS))


def consumed(decode: Callable[[list[Any]], pl.DataFrame], kafka: dict[str, Any]) -> Frames:
    with Consumer(kafka) as consumer:
        consumer.assign(PLACES)
        while True:
            yield decode(consumer.consume(BATCH, SECONDS))


def by_arrow(decode: Callable[[list[bytes]], pl.DataFrame], kafka: dict[str, Any]) -> Frames:
    from kafkarrow import ConsumerManager, SourceTopic  # type: ignore[import-not-found]

    place = {"bootstrap.servers": kafka["bootstrap.servers"]}
    manager = ConsumerManager(config=place, topics=[SourceTopic.from_earliest(TOPIC)], batch_size=BATCH)
    while True:
        batch = manager.poll(timeout_ms=10)
        if batch.num_rows:
            yield decode(batch["value"].to_pylist())


def by_fastavro(values: list[bytes]) -> pl.DataFrame:
    read, schema = fastavro.schemaless_reader, fastavro.parse_schema(FLAT)
    return pl.DataFrame([read(io.BytesIO(value[header.SIZE :]), schema) for value in values])


def by_pyruhvro(values: list[bytes]) -> pl.DataFrame:
    return pl.DataFrame(pyruhvro.deserialize_array([value[header.SIZE :] for value in values], BY_NAME["flat"].text))


def contenders(kafka: dict[str, Any], registry: str) -> Iterator[tuple[str, Callable[[], Frames]]]:
    deserializer = KafkaAvroDeserializer({"schema.registry.url": registry})
    yield OURS, partial(ours, kafka, registry)
    yield BY_HAND, partial(consumed, lambda found: pl.DataFrame(deserializer.deserialize_batch(TOPIC, found)), kafka)
    yield "consume(), fastavro", partial(consumed, lambda found: by_fastavro([each.value() for each in found]), kafka)
    yield "consume(), pyruhvro", partial(consumed, lambda found: by_pyruhvro([each.value() for each in found]), kafka)
    if find_spec("kafkarrow"):
        yield "kafkarrow, fastavro", partial(by_arrow, by_fastavro, kafka)
        yield "kafkarrow, pyruhvro", partial(by_arrow, by_pyruhvro, kafka)


def parts_of(frames: Callable[[], Frames], count: int) -> Frames:
    found = frames()
    while count > 0:
        part = next(found)
        count -= len(part)
        yield part
    found.close()  # type: ignore[attr-defined]


def compared(frames: Callable[[], Frames], count: int) -> pl.DataFrame:
    """Some columns of all messages, in an order that does not depend on partitions."""
    return pl.concat([part.select(COMPARED) for part in parts_of(frames, count)]).sort(COMPARED)


def seconds(frames: Callable[[], Frames], count: int) -> float:
    """Seconds for ``count`` messages, by those that follow the first batch."""
    parts = parts_of(frames, count)
    first, began = len(next(parts)), time.process_time()
    rest = sum(map(len, parts))
    return (time.process_time() - began) * (first + rest) / rest


def main() -> int:
    given, count = options(__doc__, 9, "--write-docs", "--check").parse_args(), 20 * BATCH
    sys.path.insert(0, str(ROOT / "tests" / "servers"))
    from servers import Kafka  # type: ignore[import-not-found]

    with Kafka() as kafka, LocalRegistry() as registry:
        fill(kafka.bootstrap_servers, registry.url, count)
        conf = {"bootstrap.servers": kafka.bootstrap_servers, **CONF}
        all_of = dict(contenders(conf, registry.url))
        expected = compared(all_of[OURS], count)
        for name, frames in all_of.items():
            assert compared(frames, count).equals(expected), name
        jobs = [Told(("", name), partial(seconds, frames, count), count) for name, frames in all_of.items()]
        cells = measure(jobs, given.rounds)
    times = {name: cells.times(("", name), ("", OURS)) or 0.0 for name in all_of}
    rows = [[name, f"{cells['', name].ns:,.0f}", f"{ratio:.2f}x"] for name, ratio in times.items()]
    rows.insert(0, ["way", "ns per message", "ArrowConsumer is faster"])
    where = machine("confluent-kafka", "polars", "pyarrow", "fastavro", "pyruhvro", "kafkarrow")
    print(table(rows), "", where, "", sep="\n")
    if given.write_docs:
        write_docs(DOCS / "consuming.md", f"{table(rows, padded=False)}\n\n{where}", MARKER)
    goals = [Goal(f"<= {MOST}x by hand", cells.times(("", OURS), ("", BY_HAND)), MOST, most=True)]
    others = [name for name in all_of if "fastavro" in name]
    goals += [Goal(f">= {FASTER:g}x {name}", cells.times(("", name), ("", OURS)), FASTER) for name in others]
    return judged(goals, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
