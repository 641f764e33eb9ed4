"""SNIP 42's test plan: producers of two schemas on one topic of a real Kafka, schemas in a real Pulsar, by strategy."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, DeserializingConsumer, Message, SerializingProducer, TopicPartition
from confluent_kafka.error import ValueDeserializationError, ValueSerializationError
from servers import Kafka, Pulsar

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import IncompatibleSchemaError, SchemaError

PATIENCE = 30.0  # seconds until a client that does not respond fails the test
# They assign partitions themselves and commit nothing, so the group is only a name. Requests wait for a fetch.
CONSUMER: Final = {"group.id": "plan", "enable.auto.commit": False, "fetch.wait.max.ms": 10}


def user(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "User", "namespace": "shop", "fields": [*fields]}


NAME, AGE = {"name": "name", "type": "string"}, {"name": "age", "type": "int"}
FIRST = user(NAME, AGE)
FIRST_USERS = [{"name": f"user {i}", "age": i} for i in range(10)]


@dataclass(frozen=True)
class Change:
    """Producer B's schema and data, and how each of the two schemas reads the other's data."""

    schema: dict[str, Any]
    users: list[dict[str, Any]]
    by_second: Callable[[dict[str, Any]], dict[str, Any]] | None = None  # converts a user of A as read with B's schema
    by_first: Callable[[dict[str, Any]], dict[str, Any]] | None = None  # converts a user of B as read with A's schema


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda user: {key: value for key, value in user.items() if key != name}


EMAIL = {"name": "email", "type": "string"}
WITH_EMAIL = [{"name": f"b {i}", "age": 100 + i, "email": f"{i}@b"} for i in range(10)]
FIELD_WITH_DEFAULT = Change(
    user(NAME, AGE, {**EMAIL, "default": "none"}),
    WITH_EMAIL,
    by_second=lambda user: {**user, "email": "none"},
    by_first=without("email"),
)
REQUIRED_FIELD = Change(user(NAME, AGE, EMAIL), WITH_EMAIL, by_first=without("email"))
FIELD_GONE = Change(user(NAME), [{"name": f"b {i}"} for i in range(10)], by_second=without("age"))
OTHER_TYPE = Change(user(NAME, {"name": "age", "type": "string"}), [{"name": f"b {i}", "age": "x"} for i in range(10)])

CHANGES: Final = {
    "field with default": FIELD_WITH_DEFAULT,
    "required field": REQUIRED_FIELD,
    "field gone": FIELD_GONE,
    "other type": OTHER_TYPE,
}

# For each strategy, a change that it allows and another strategy refuses, if there is one.
ALLOWED: Final = {  # ALWAYS_INCOMPATIBLE allows nothing
    "ALWAYS_COMPATIBLE": "other type",
    "BACKWARD": "field gone",
    "BACKWARD_TRANSITIVE": "field gone",
    "FORWARD": "required field",
    "FORWARD_TRANSITIVE": "required field",
    "FULL": "field with default",
    "FULL_TRANSITIVE": "field with default",
}
REFUSED: Final = [  # ALWAYS_COMPATIBLE refuses nothing
    ("ALWAYS_INCOMPATIBLE", "field with default"),
    ("BACKWARD", "required field"),
    ("BACKWARD_TRANSITIVE", "required field"),
    ("FORWARD", "field gone"),
    ("FORWARD_TRANSITIVE", "field gone"),
    ("FULL", "required field"),
    ("FULL", "field gone"),
    ("FULL_TRANSITIVE", "required field"),
    ("FULL_TRANSITIVE", "field gone"),
]


class Stage:
    """A Kafka topic, in a Pulsar namespace with the strategy."""

    def __init__(self, kafka: Kafka, pulsar: Pulsar, strategy: str) -> None:
        namespace = strategy.lower().replace("_", "-")
        assert pulsar.admin("PUT", f"namespaces/public/{namespace}").status_code in (204, 409)  # 409: already exists
        path = f"namespaces/public/{namespace}/schemaCompatibilityStrategy"
        assert pulsar.admin("PUT", path, json=strategy).status_code == 204
        assert pulsar.admin("GET", path).json() == strategy
        self.conf = {"schema.registry.url": pulsar.url, "pulsar.namespace": namespace}
        self.topic = f"plan-{uuid.uuid4()}"
        # Log only errors: clients that outlive the broker would log that repeatedly.
        self._kafka = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 2}

    def producer(self, schema: dict[str, Any]) -> SerializingProducer:
        """A producer without cached schemas, as in a new process."""
        Binding.forget()
        return SerializingProducer({**self._kafka, "value.serializer": KafkaAvroSerializer(self.conf, schema)})

    def send(self, producer: SerializingProducer, users: list[dict[str, Any]]) -> None:
        for value in users:
            producer.produce(self.topic, value=value)
        assert producer.flush(PATIENCE) == 0

    @contextmanager
    def consumer(self, reader: dict[str, Any] | None = None) -> Iterator[Callable[[int], list[Any]]]:
        """Yield a function that returns the next ``count`` users from the start; errors replace unreadable ones.

        It has no cached schemas. All messages must have been read at the end.
        """
        Binding.forget()
        deserializer = KafkaAvroDeserializer(self.conf, reader)
        consumer = DeserializingConsumer({**self._kafka, **CONSUMER, "value.deserializer": deserializer})
        partition = TopicPartition(self.topic, 0, 0)
        consumer.assign([partition])
        try:
            yield lambda count: [_value(consumer) for _ in range(count)]
            assert consumer.position([partition])[0].offset == consumer.get_watermark_offsets(partition)[1]
        finally:
            consumer.close()

    def headers(self, count: int) -> list[bytes]:
        """Return the first ten bytes of each message."""
        consumer = Consumer({**self._kafka, **CONSUMER})
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        try:
            messages = [taken(consumer.poll(PATIENCE)) for _ in range(count)]
        finally:
            consumer.close()
        return [(message.value() or b"")[:10] for message in messages]


def _value(consumer: DeserializingConsumer) -> Any:
    try:
        return taken(consumer.poll(PATIENCE)).value()
    except ValueDeserializationError as error:
        return error.exception


def taken(message: Message | None) -> Message:
    assert message is not None
    assert message.error() is None
    return message


def header(version: int) -> bytes:
    return b"\x03\x04" + struct.pack(">q", version)


@pytest.mark.parametrize("strategy", sorted(ALLOWED))
def test_old_and_new_producers_share_a_topic(kafka: Kafka, pulsar: Pulsar, strategy: str) -> None:
    stage, change = Stage(kafka, pulsar, strategy), CHANGES[ALLOWED[strategy]]
    first, second = stage.producer(FIRST), stage.producer(change.schema)
    stage.send(first, FIRST_USERS)
    with stage.consumer() as received:
        assert received(10) == FIRST_USERS
        stage.send(second, change.users)
        assert received(10) == change.users
        both_readers_see(stage, change)
        stage.send(first, FIRST_USERS[:5])
        stage.send(stage.producer(FIRST), FIRST_USERS[5:])
        assert received(10) == FIRST_USERS
    assert stage.headers(30) == [header(0)] * 10 + [header(1)] * 10 + [header(0)] * 10
    with stage.consumer() as received:
        assert received(30) == FIRST_USERS + change.users + FIRST_USERS


def both_readers_see(stage: Stage, change: Change) -> None:
    """Check consumers with each of the two reader's schemas on ten messages of each producer."""
    with stage.consumer(change.schema) as received:
        read_or_refused(received(10), FIRST_USERS, change.by_second, 0)
        assert received(10) == change.users
    with stage.consumer(FIRST) as received:
        assert received(10) == FIRST_USERS
        read_or_refused(received(10), change.users, change.by_first, 1)


def read_or_refused(
    got: list[Any], sent: list[dict[str, Any]], reads: Callable[[Any], Any] | None, version: int
) -> None:
    if reads is not None:
        assert got == [reads(user) for user in sent]
    else:
        assert [(type(error), error.version) for error in got] == [(SchemaError, version)] * 10


@pytest.mark.parametrize(("strategy", "change"), REFUSED)
def test_a_refused_schema_quotes_the_brokers_reason_and_the_old_producer_still_works(
    kafka: Kafka, pulsar: Pulsar, strategy: str, change: str
) -> None:
    stage = Stage(kafka, pulsar, strategy)
    first, second = stage.producer(FIRST), stage.producer(CHANGES[change].schema)
    stage.send(first, FIRST_USERS)
    for value in CHANGES[change].users:
        with pytest.raises(ValueSerializationError) as caught:
            second.produce(stage.topic, value=value)
        assert_says_why(caught.value, stage.topic, strategy)
    stage.send(first, FIRST_USERS)
    stage.send(stage.producer(FIRST), FIRST_USERS)
    with stage.consumer() as received:
        assert received(30) == FIRST_USERS * 3
    assert stage.headers(30) == [header(0)] * 30


def assert_says_why(wrapped: ValueSerializationError, topic: str, strategy: str) -> None:
    error = wrapped.exception
    assert type(error) is IncompatibleSchemaError
    assert (error.status, error.topic, error.retriable) == (409, topic, False)
    assert error.reason
    for text in (str(wrapped), str(error), error.reason):
        assert f"strategy {strategy}: org.apache.avro.SchemaValidationException: Unable to read schema" in text
        assert '"name" : "User"' in text
        assert "&" not in text  # such as &quot;, which the broker sends
    assert f"topic {topic}: cannot register a schema: " in str(wrapped)
    assert "HTTP 409" in str(wrapped)
