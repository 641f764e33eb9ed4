"""confluent-kafka's DeserializingShareConsumer, on a real Kafka with share groups and with schemas in a real Pulsar."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from program import output_of
from servers import Kafka, Pulsar

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer

if not hasattr(confluent_kafka, "DeserializingShareConsumer"):
    pytest.skip("needs confluent-kafka 2.15", allow_module_level=True)

SCHEMA = {"type": "record", "name": "Job", "fields": [{"name": "number", "type": "long"}]}
REPORT = "".join(f"done {{'number': {number}}}\n" for number in range(5))


@pytest.fixture
def group(next_kafka: Kafka) -> str:
    """A share group that begins at the start of its topics."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    name = f"workers-{uuid.uuid4()}"
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, name, incremental_configs=[earliest])
    admin = AdminClient({"bootstrap.servers": next_kafka.bootstrap_servers})
    admin.incremental_alter_configs([resource])[resource].result(60)
    return name


@pytest.fixture
def topic(next_kafka: Kafka) -> str:
    name = f"jobs-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": next_kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, 1)])[name].result(60)
    return name


@pytest.fixture
def consumer_of(next_kafka: Kafka, group: str, topic: str) -> Iterator[Callable[..., Any]]:
    opened = []

    def made(deserializer: Any, **more: Any) -> Any:
        conf = {"bootstrap.servers": next_kafka.bootstrap_servers, "group.id": group, "log_level": 0, **more}
        consumer = confluent_kafka.DeserializingShareConsumer({**conf, "value.deserializer": deserializer})
        consumer.subscribe([topic])
        opened.append(consumer)
        return consumer

    yield made
    for consumer in opened:
        consumer.close()


def send(kafka: Kafka, topic: str, messages: list[Any]) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for message in messages:
        producer.produce(topic, message)
    assert producer.flush(60) == 0


def polled(consumer: Any, count: int, then: Callable[[Any], None] = lambda _: None) -> list[Any]:
    found: list[Any] = []
    until = time.monotonic() + 60
    while len(found) < count and time.monotonic() < until:
        for message in consumer.poll(1):
            found.append(message)
            then(message)
        consumer.commit_sync()
    return found


def test_the_example_accepts_jobs_and_rejects_what_cannot_be_read(next_kafka: Kafka, pulsar: Pulsar) -> None:
    servers = {"BOOTSTRAP_SERVERS": next_kafka.bootstrap_servers, "SCHEMA_REGISTRY_URL": pulsar.url}
    output = output_of("share_consumer.py", {**servers, "TOPIC": f"jobs-{uuid.uuid4()}"})
    assert output == REPORT + "rejected b'no job' _VALUE_DESERIALIZATION\n"


def test_a_message_that_cannot_be_read_has_an_error_and_its_bytes_and_loses_no_other(
    next_kafka: Kafka, pulsar: Pulsar, topic: str, consumer_of: Callable[..., Any]
) -> None:
    conf = {"schema.registry.url": pulsar.url}
    good = KafkaAvroSerializer(conf, SCHEMA).serialize(topic, {"number": 7})
    send(next_kafka, topic, [good, b"\xff", None, good])
    deserializer = KafkaAvroDeserializer(conf)
    messages = polled(consumer_of(deserializer), 4)
    assert [message.value() for message in messages] == [{"number": 7}, b"\xff", None, {"number": 7}]
    errors = [message.error() for message in messages]
    assert [error and error.code() for error in errors] == [None, KafkaError._VALUE_DESERIALIZATION, None, None]
    assert f"topic {topic}, schema version 0, field number, byte 0" in errors[1].str()
    assert deserializer.stats(by="error.type") == {"DecodeError": {topic: 1}}


def test_a_message_that_was_released_comes_again_and_is_read_again(
    next_kafka: Kafka, pulsar: Pulsar, topic: str, consumer_of: Callable[..., Any]
) -> None:
    from confluent_kafka import AcknowledgeType

    conf = {"schema.registry.url": pulsar.url}
    serializer, deserializer = KafkaAvroSerializer(conf, SCHEMA), KafkaAvroDeserializer(conf)
    send(next_kafka, topic, [serializer.serialize(topic, {"number": number}) for number in range(3)])
    consumer, released = consumer_of(deserializer, **{"share.acknowledgement.mode": "explicit"}), list[int]()

    def answer(message: Any) -> None:
        again = message.value()["number"] == 1 and not released
        released.extend([1] * again)
        consumer.acknowledge(message, AcknowledgeType.RELEASE if again else AcknowledgeType.ACCEPT)

    assert [message.value()["number"] for message in polled(consumer, 4, answer)] == [0, 1, 2, 1]
    assert deserializer.stats()["messages"] == 4


def test_what_a_share_consumer_polls_becomes_columns(
    next_kafka: Kafka, pulsar: Pulsar, topic: str, consumer_of: Callable[..., Any]
) -> None:
    conf = {"schema.registry.url": pulsar.url}
    serializer = KafkaAvroSerializer(conf, SCHEMA)
    send(next_kafka, topic, [serializer.serialize(topic, {"number": number}) for number in range(3)])
    messages = polled(consumer_of(None), 3)
    assert KafkaAvroDeserializer(conf).deserialize_batch(topic, messages).to_pydict() == {"number": [0, 1, 2]}


def test_a_share_consumer_is_traced(
    next_kafka: Kafka, pulsar: Pulsar, topic: str, consumer_of: Callable[..., Any]
) -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from streamnative_serdes.integrations import otel

    conf = {"schema.registry.url": pulsar.url}
    send(next_kafka, topic, [KafkaAvroSerializer(conf, SCHEMA).serialize(topic, {"number": 1}), b"\xff"])
    spans, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    consumer = otel.instrument(
        consumer_of(KafkaAvroDeserializer(conf)), tracer_provider=tracers, meter_provider=MeterProvider()
    )
    polled(consumer, 2)
    found = spans.get_finished_spans()
    assert {span.name for span in found} == {f"poll {topic}"}
    assert sum(int(str((span.attributes or {}).get("messaging.batch.message_count", 1))) for span in found) == 2
    assert {(span.attributes or {}).get("error.type") for span in found} - {None} == {"_VALUE_DESERIALIZATION"}
