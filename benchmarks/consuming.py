"""Kafka to a polars frame: ArrowConsumer against the other ways in Python, on a real Kafka, which this starts.

    python benchmarks/consuming.py                  table and goals: 200,000 messages, 9 rounds
    python benchmarks/consuming.py --write-docs     also write the table in docs/consuming.md

Each contender reads one topic from its beginning, in batches of 10,000 messages, into frames whose values are compared
with ours before the first round. Rounds are interleaved in shuffled order, in one process. The clock is the wall's: it
begins when the first batch has come. **By hand** is consume() and deserialize_batch() in a loop, which is what an
ArrowConsumer cannot be faster than. kafkarrow takes part where it is installed (pip install kafkarrow).
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
from harness import DOCS, ROOT, Goal, Results, Told, judged, machine, measure, options, table, write_docs
from shapes import BY_NAME, FLAT, Source

from streamnative_serdes import KafkaAvroDeserializer, header
from streamnative_serdes.integrations.consuming import ArrowConsumer, ArrowProducer
from streamnative_serdes.testing import LocalRegistry

TOPIC, PARTITIONS, BATCH, SECONDS = "rows", 2, 10_000, 60.0
OURS, BY_HAND, FASTAVRO, RUST = "ArrowConsumer", "by hand", "consume(), fastavro", "consume(), pyruhvro"
ARROW_FASTAVRO, ARROW_RUST = "kafkarrow, fastavro", "kafkarrow, pyruhvro"
FASTER, MOST = 2.0, 1.1
MARKER = "<!-- benchmark of consuming -->\n"
PLACES = [TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)]
Frames = Iterator[pl.DataFrame]


def fill(kafka: str, registry: str, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
    source = Source(0)
    rows = pl.DataFrame([source.a_record(FLAT) for _ in range(2_048)])
    conf = {"bootstrap.servers": kafka, "schema.registry.url": registry, "linger.ms": 50}
    with ArrowProducer(conf, TOPIC, FLAT, partition="partition") as producer:
        for number in range(count // len(rows)):
            producer.write(rows.with_columns(partition=pl.lit(number % PARTITIONS, pl.Int32)))


def ours(kafka: dict[str, Any], registry: str) -> Frames:
    with ArrowConsumer({**kafka, "schema.registry.url": registry}) as consumer:
        consumer.assign(PLACES)
        while True:
            yield pl.DataFrame(consumer.read_batch(BATCH, SECONDS))


def consumed(decode: Callable[[list[Any]], pl.DataFrame], kafka: dict[str, Any]) -> Frames:
    consumer = Consumer(kafka)
    consumer.assign(PLACES)
    try:
        while True:
            yield decode(consumer.consume(BATCH, SECONDS))
    finally:
        consumer.close()


def by_arrow(decode: Callable[[list[bytes]], pl.DataFrame], kafka: dict[str, Any]) -> Frames:
    from kafkarrow import ConsumerManager, SourceTopic  # type: ignore[import-not-found]

    place = {"bootstrap.servers": kafka["bootstrap.servers"]}
    manager = ConsumerManager(config=place, topics=[SourceTopic.from_earliest(TOPIC)], batch_size=BATCH)
    while True:
        batch = manager.poll(timeout_ms=1_000)
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
    yield FASTAVRO, partial(consumed, lambda found: by_fastavro([each.value() for each in found]), kafka)
    yield RUST, partial(consumed, lambda found: by_pyruhvro([each.value() for each in found]), kafka)
    if find_spec("kafkarrow"):
        yield ARROW_FASTAVRO, partial(by_arrow, by_fastavro, kafka)
        yield ARROW_RUST, partial(by_arrow, by_pyruhvro, kafka)


def seconds(frames: Callable[[], Frames], count: int) -> float:
    """Seconds for ``count`` messages, by those that follow the first batch."""
    found = frames()
    first = done = len(next(found))
    began = time.perf_counter()
    while done < count:
        done += len(next(found))
    taken = time.perf_counter() - began
    found.close()  # type: ignore[attr-defined]
    return taken * count / (count - first)


def main() -> int:
    parser = options(__doc__, 9, "--write-docs", "--check")
    parser.add_argument("--messages", type=int, default=200_000)
    given = parser.parse_args()
    count = given.messages // 2_048 * 2_048
    sys.path.insert(0, str(ROOT / "tests" / "servers"))
    from servers import Kafka  # type: ignore[import-not-found]

    with Kafka() as kafka, LocalRegistry() as registry:
        fill(kafka.bootstrap_servers, registry.url, count)
        conf = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "bench", "enable.auto.commit": False}
        all_of = dict(contenders(conf, registry.url))
        jobs = [Told(("", name), partial(seconds, frames, count), count) for name, frames in all_of.items()]
        cells = measure(jobs, given.rounds, warm_up=1)
    for name in all_of:
        print(name, cells["", name].ns, cells.times(("", name), ("", OURS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
