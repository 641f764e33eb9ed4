"""A topic of Confluent's clients with Avro keys, migrated there and back with the keys kept or stripped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from command import CommandLine, Ended
from confluent_kafka import DeserializingConsumer, SerializingProducer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from migrations import Sides, create, new_name

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer

SECONDS = 60.0
PARTITIONS = 3
ID: Any = {"type": "record", "name": "OrderId", "fields": [
    {"name": "shop", "type": "string"}, {"name": "number", "type": "long"}]}  # fmt: skip
ORDER: Any = {"type": "record", "name": "Order", "fields": [{"name": "total", "type": "long"}]}
KEYS: list[tuple[Any, list[Any]]] = [
    (ID, [{"shop": "Paris", "number": number} for number in range(-2, 6)]),
    ("bytes", [b"\0", b"\x02h", b"\x03\x04" + bytes(9), b"x" * 200]),
]
Read = list[tuple[int, Any, Any]]  # partition, key and value


class KeyedTopic:
    """The topic, the servers and the commands: ``with KeyedTopic(...) as topic``.

    Args:
        kafka: address of the brokers of both sides.
        confluent: address of the registry with Confluent's API.
        pulsar: address of Pulsar's registry.
        schema: of the keys.
    """

    def __init__(self, kafka: str, confluent: str, pulsar: str, schema: Any) -> None:
        self.kafka, self.schema = kafka, schema
        self.source, self.target, self.back = (new_name(word) for word in ("source", "target", "back"))
        self.pulsar = {"schema.registry.url": pulsar}
        self.bare = {**self.pulsar, "key.schema": schema}
        self.old = {**self.pulsar, "confluent.schema.registry.url": confluent}
        self.both = {**self.old, "framings": "snip42,confluent,headerless"}
        self.theirs = SchemaRegistryClient({"url": confluent})
        self._sides, self._run = Sides(confluent, pulsar, kafka), CommandLine()
        create(kafka, self.source, partitions=PARTITIONS)

    def __enter__(self) -> KeyedTopic:
        return self

    def __exit__(self, *_: object) -> None:
        self.theirs.close()

    def write(self, topic: str, key: Any, value: Any, keys: Iterable[Any], total: int) -> None:
        """Produce a message for each key, by these serializers."""
        conf = {"bootstrap.servers": self.kafka, "key.serializer": key, "value.serializer": value}
        producer = SerializingProducer({**conf, "max.in.flight": 1})
        for one in keys:
            producer.produce(topic, key=one, value={"total": total})
        assert producer.flush(SECONDS) == 0

    def write_old(self, keys: Iterable[Any], total: int) -> None:
        """Produce to the source as Confluent's programs do."""
        conf = {"subject.name.strategy": topic_subject_name_strategy}
        texts = (json.dumps(schema) for schema in (self.schema, ORDER))
        self.write(self.source, *(AvroSerializer(self.theirs, text, conf=conf) for text in texts), keys, total)

    def read(self, topic: str, key: Any = None, value: Any = None) -> Read:
        """All messages, by these deserializers; without them, as bytes."""
        conf = {"bootstrap.servers": self.kafka, "group.id": "test", "auto.offset.reset": "error"}
        consumer = DeserializingConsumer({**conf, "key.deserializer": key, "value.deserializer": value})
        found: Read = []
        for partition in range(PARTITIONS):
            place = TopicPartition(topic, partition, 0)
            low, high = consumer.get_watermark_offsets(place, SECONDS)
            consumer.unassign()
            consumer.assign([place])
            until = time.monotonic() + SECONDS
            while low < high and consumer.position([place])[0].offset < high:
                assert time.monotonic() < until, f"partition {partition} does not end"
                message = consumer.poll(0.2)
                if message is not None:
                    found.append((partition, message.key(), message.value()))
        consumer.close()
        return found

    def read_old(self, topic: str) -> Read:
        """All messages, as Confluent's programs read them."""
        return self.read(topic, AvroDeserializer(self.theirs), AvroDeserializer(self.theirs))

    def migrate(self, step: str, *more: str, code: int = 0) -> Ended:
        return self._run(
            *self._sides(step, self.source, self.target, "--state", f"{self.target}.json", "--json", *more), code=code
        )

    def migrate_back(self, step: str, *more: str, code: int = 0) -> Ended:
        names = [self.target, self.back, "--back", "--state", f"{self.back}.json", "--json", *more]
        return self._run(*self._sides(step, *names), code=code)

    def copy(self, *keys: str) -> None:
        """There, and verify it."""
        self.migrate("schemas")
        assert json.loads(self.migrate("topic", "--create", *keys).out.splitlines()[-1])["bad"] == 0
        assert json.loads(self.migrate("verify", *keys).out.splitlines()[-1])["same"] is True

    def copy_back(self) -> None:
        self.migrate_back("schemas", "--ids-of", f"{self.target}.json")
        self.migrate_back("topic", "--create", "--from", "beginning")
        assert json.loads(self.migrate_back("verify").out.splitlines()[-1])["same"] is True


def kept_there_and_back(topic: KeyedTopic, keys: list[Any]) -> None:
    """Keys keep Confluent's framing: new producers write the same bytes, so each key stays in its partition."""
    topic.write_old(keys, 1)
    written = topic.read_old(topic.source)
    assert len(written) == len(keys)
    own, values = KafkaAvroDeserializer(topic.both, is_key=True), KafkaAvroDeserializer(topic.both)
    shared = KafkaAvroDeserializer(topic.both)
    assert topic.read(topic.source, own, values) == topic.read(topic.source, shared, shared) == written

    topic.copy()
    assert topic.read(topic.target, own, values) == topic.read(topic.target, shared, shared) == written
    text = topic.theirs.get_latest_version(f"{topic.source}-key").schema.schema_str  # the same text has the same id
    old_keys = KafkaAvroSerializer({**topic.old, "framing": "confluent"}, text, is_key=True)
    topic.write(topic.target, old_keys, KafkaAvroSerializer(topic.pulsar, ORDER), keys, 2)
    found = topic.read(topic.target, own, values)
    assert in_any_order(found) == in_any_order([*written, *((place, key, {"total": 2}) for place, key, _ in written)])
    assert len({key for _, key, _ in topic.read(topic.target)}) == len(keys)

    topic.copy_back()
    assert topic.read_old(topic.back) == found


def stripped_there_and_back(topic: KeyedTopic, keys: list[Any]) -> None:
    """Keys become bare Avro, and stay that on the way back."""
    topic.write_old(keys, 1)
    written = topic.read_old(topic.source)
    topic.copy("--keys", "strip")
    own, values = KafkaAvroDeserializer(topic.bare, is_key=True), KafkaAvroDeserializer(topic.pulsar)
    shared = KafkaAvroDeserializer(topic.bare)
    assert topic.read(topic.target, own, values) == topic.read(topic.target, shared, shared) == written

    topic.write(
        topic.target, KafkaAvroSerializer(topic.bare, is_key=True), KafkaAvroSerializer(topic.pulsar, ORDER), keys, 2
    )
    both = KafkaAvroSerializer(topic.bare, ORDER)
    topic.write(topic.target, both, both, keys, 3)
    found = topic.read(topic.target, own, values)
    assert sorted(value["total"] for _, _, value in found) == sorted([1, 2, 3] * len(keys))
    assert all(key in keys for _, key, _ in found)
    assert len({key for _, key, _ in topic.read(topic.target)}) == len(keys)

    topic.copy_back()
    assert "--keys strip is for the way from" in topic.migrate_back("verify", "--keys", "strip", code=2).err
    dual = KafkaAvroDeserializer({**topic.both, "key.schema": topic.schema}, is_key=True)
    assert topic.read(topic.back, dual, AvroDeserializer(topic.theirs)) == found


def in_any_order(messages: Iterable[Any]) -> list[str]:
    return sorted(map(repr, messages))
