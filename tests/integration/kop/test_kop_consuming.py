"""Columns to a real KoP and back, with the schema in its Pulsar: keys, dead letters, tombstones, commit and restart."""

from __future__ import annotations

import time
from typing import Any

import polars as pl
import pytest
from confluent_kafka import Producer
from kop_server import Kop
from migrations import new_name

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.integrations.builders import KafkaAvroDeserializerBuilder
from streamnative_serdes.integrations.consuming import (
    ArrowConsumer,
    ArrowProducer,
    DeserializingConsumer,
    SerializingProducer,
)

ROW: Any = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}
POISON = b"\3\4" + bytes(8) + b"\xff"
SECONDS = 60.0
BUILDER = KafkaAvroDeserializerBuilder()

pytestmark = pytest.mark.usefixtures("nothing_is_known")


def frame_of(consumer: ArrowConsumer, count: int) -> pl.DataFrame:
    """The next ``count`` rows."""
    frames: list[pl.DataFrame] = []
    until = time.monotonic() + SECONDS
    while (left := count - sum(map(len, frames))) and time.monotonic() < until:
        batch = consumer.read_batch(left, 1.0)
        frames += [pl.DataFrame(batch)] if batch.num_rows else []
    return pl.concat(frames)


def test_columns_go_to_a_kop_and_back(kop: Kop) -> None:
    topic = new_name("columns")
    conf = {"bootstrap.servers": kop.kafka, "schema.registry.url": kop.url, "log_level": 2}
    with ArrowProducer(conf, topic, ROW, key="who") as producer:
        assert producer.write(pl.DataFrame({"id": range(5), "who": ["a", "b", None, "d", "e"]})) == 5
        producer.flush()
        assert producer.delivered == 5
    plain = Producer({"bootstrap.servers": kop.kafka, "log_level": 2})
    for value in (POISON, None):
        plain.produce(topic, value, "last")
    assert plain.flush(SECONDS) == 0
    group = {**conf, "group.id": new_name("g"), "auto.offset.reset": "earliest"}
    with ArrowConsumer(group, keep=["key", "value"], error_column="error") as consumer:
        consumer.subscribe([topic])
        first = frame_of(consumer, 3)
        assert first["id"].to_list() == [0, 1, 2]
        assert first["key"].to_list() == [b"a", b"b", None]
        assert [each.offset for each in consumer.commit(asynchronous=False) or ()] == [3]
        assert len(frame_of(consumer, 1)) == 1  # not committed
    with ArrowConsumer(group, keep=["key", "value"], error_column="error") as consumer:
        consumer.subscribe([topic])
        rest = frame_of(consumer, 4)
        assert rest["id"].to_list() == [3, 4, None, None]
        assert rest["value"].is_null().to_list() == [False, False, False, True]
        dead = rest.filter(pl.col("error").struct.field("error").is_not_null())["error"].struct.unnest()
        assert dead.select("offset", "value").rows() == [(5, POISON)]
        consumer.commit(asynchronous=False)
    objects = DeserializingConsumer({**group, "group.id": new_name("g"), "value.deserializer.builder": BUILDER})
    objects.subscribe([topic])
    messages = []
    until = time.monotonic() + SECONDS
    while len(messages) < 7 and time.monotonic() < until:
        messages += objects.consume(7, 1.0)
    objects.close()
    assert [message.error() is None for message in messages] == [True] * 5 + [False, True]
    values: list[Any] = [message.value() for message in messages]
    assert values == [*({"id": number} for number in range(5)), POISON, None]


def test_objects_go_to_a_kop_and_back(kop: Kop) -> None:
    topic, registry = new_name("objects"), {"schema.registry.url": kop.url}
    kafka = {"bootstrap.servers": kop.kafka, "log_level": 2}
    producer = SerializingProducer[Any, Any]({**kafka, "value.serializer": KafkaAvroSerializer(registry, ROW)})
    for number in range(3):
        producer.produce(topic, value={"id": number})
    assert producer.flush(SECONDS) == 0
    group = {**kafka, "group.id": new_name("g"), "auto.offset.reset": "earliest"}
    consumer = DeserializingConsumer[Any, Any]({**group, "value.deserializer": KafkaAvroDeserializer(registry)})
    consumer.subscribe([topic])
    polled = [consumer.poll(SECONDS) for _ in range(3)]
    consumer.close()
    assert [message and message.value() for message in polled] == [{"id": 0}, {"id": 1}, {"id": 2}]
