"""SNIP 42's test plan: two producers with schemas of their own on one topic, under each strategy of compatibility."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, DeserializingConsumer, Message, SerializingProducer, TopicPartition
from confluent_kafka.error import (
    KeyDeserializationError,
    KeySerializationError,
    ValueDeserializationError,
    ValueSerializationError,
)

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KeyValue, KeyValueSchema
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import IncompatibleSchemaError, SchemaError
from streamnative_serdes.key_value import KeyValueEncodingType

PATIENCE = 30.0  # seconds until a client that does not respond fails the test
# They assign partitions themselves and commit nothing, so the group is only a name. Requests wait for a fetch.
CONSUMER: Final = {"group.id": "plan", "enable.auto.commit": False, "fetch.wait.max.ms": 10}

Json = dict[str, Any]


def user(*fields: Json) -> Json:
    return {"type": "record", "name": "User", "namespace": "shop", "fields": [*fields]}


NAME, AGE = {"name": "name", "type": "string"}, {"name": "age", "type": "int"}
FIRST: Final = user(NAME, AGE)
FIRST_USERS: Final = [{"name": f"user {i}", "age": i} for i in range(10)]


@dataclass(frozen=True)
class Change:
    """Producer B's schema and data, and how each of the two schemas reads the other's data."""

    schema: Json
    users: list[Json]
    by_second: Callable[[Json], Json] | None = None  # converts a user of A as read with B's schema
    by_first: Callable[[Json], Json] | None = None  # converts a user of B as read with A's schema


def without(name: str) -> Callable[[Json], Json]:
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
    """A new Kafka topic, whose values have an Avro schema.

    Args:
        bootstrap_servers: of a Kafka that creates topics by itself.
        conf: of serializers and deserializers: a registry, and a namespace that has the strategy.
    """

    def __init__(self, bootstrap_servers: str, conf: Json) -> None:
        self.conf, self.topic = conf, f"plan-{uuid.uuid4()}"
        # Log only errors: clients that outlive the broker would log that repeatedly.
        self._kafka = {"bootstrap.servers": bootstrap_servers, "log_level": 2}

    def producer(self, schema: Any) -> SerializingProducer:
        """A producer without cached schemas, as in a new process."""
        Binding.forget()
        return SerializingProducer({**self._kafka, **self._serializers(schema)})

    def send(self, producer: SerializingProducer, users: list[Json]) -> None:
        for one in users:
            self.produce(producer, one)
        assert producer.flush(PATIENCE) == 0

    @contextmanager
    def consumer(self, reader: Any = None) -> Iterator[Callable[[int], list[Any]]]:
        """Yield a function that returns the next ``count`` users from the start; errors replace unreadable ones.

        It has no cached schemas. All messages must have been read at the end.
        """
        Binding.forget()
        consumer = DeserializingConsumer({**self._kafka, **CONSUMER, **self._deserializers(reader)})
        partition = TopicPartition(self.topic, 0, 0)
        consumer.assign([partition])
        try:
            yield lambda count: [self._next(consumer) for _ in range(count)]
            assert consumer.position([partition])[0].offset == consumer.get_watermark_offsets(partition)[1]
        finally:
            consumer.close()

    def _next(self, consumer: DeserializingConsumer) -> Any:
        try:
            return self._received(taken(consumer.poll(PATIENCE)))
        except (KeyDeserializationError, ValueDeserializationError) as error:
            return error.exception

    def raw(self, count: int) -> list[Message]:
        """Return the first messages, unread."""
        consumer = Consumer({**self._kafka, **CONSUMER})
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        try:
            return [taken(consumer.poll(PATIENCE)) for _ in range(count)]
        finally:
            consumer.close()

    # What depends on the kind of topic

    def _serializers(self, schema: Any) -> Json:
        return {"value.serializer": KafkaAvroSerializer(self.conf, schema)}

    def _deserializers(self, reader: Any) -> Json:
        return {"value.deserializer": KafkaAvroDeserializer(self.conf, reader)}

    def produce(self, producer: SerializingProducer, one: Json) -> None:
        producer.produce(self.topic, value=one)

    def _received(self, message: Message) -> Any:
        return message.value()

    def check_keys(self, messages: list[Message]) -> None:
        assert {message.key() for message in messages} == {None}


class PairStage(Stage):
    """A new Kafka topic of type KEY_VALUE: each user has a key of its own."""

    def __init__(
        self, bootstrap_servers: str, conf: Json, encoding: KeyValueEncodingType, framing: str = "value"
    ) -> None:
        super().__init__(bootstrap_servers, conf)
        self._encoding, self._writing = encoding, {**conf, "key.value.framing": framing}

    def _pair(self, schema: Json | KeyValueSchema) -> KeyValueSchema:
        """Of a value's schema, or of both."""
        return schema if isinstance(schema, KeyValueSchema) else KeyValueSchema(KEY, schema, self._encoding)

    def _serializers(self, schema: Any) -> Json:
        pair = self._pair(schema)
        values = {"value.serializer": KafkaAvroSerializer(self._writing, pair)}
        if self._encoding == "INLINE":
            return values
        return {**values, "key.serializer": KafkaAvroSerializer(self._writing, pair, is_key=True)}

    def _deserializers(self, reader: Any) -> Json:
        pair = None if reader is None else self._pair(reader)
        values = {"value.deserializer": KafkaAvroDeserializer(self.conf, pair)}
        if self._encoding == "INLINE":
            return values
        return {**values, "key.deserializer": KafkaAvroDeserializer(self.conf, pair, is_key=True)}

    def produce(self, producer: SerializingProducer, one: Json) -> None:
        if self._encoding == "INLINE":
            producer.produce(self.topic, value=KeyValue(key_of(one), one))
        else:
            producer.produce(self.topic, key=key_of(one), value=one)

    def _received(self, message: Message) -> Any:
        key, value = message.value() if self._encoding == "INLINE" else (message.key(), message.value())
        assert key == key_of(value)
        return value

    def check_keys(self, messages: list[Message]) -> None:
        """Equal keys are equal bytes, whatever the version."""
        assert {message.key() for message in messages} == (
            {None} if self._encoding == "INLINE" else {bytes([2 * number]) for number in range(10)}
        )


KEY: Final = {"type": "record", "name": "Key", "namespace": "shop", "fields": [{"name": "id", "type": "int"}]}


def key_of(one: Json) -> Json:
    """The key of a user: the number in its name."""
    return {"id": int(one["name"].split()[1])}


def taken(message: Message | None) -> Message:
    assert message is not None
    assert message.error() is None
    return message


def header(version: int) -> bytes:
    return b"\x03\x04" + struct.pack(">q", version)


# The plan


def old_and_new_producers_share_a_topic(stage: Stage, change: Change) -> None:
    first, second = stage.producer(FIRST), stage.producer(change.schema)
    stage.send(first, FIRST_USERS)
    with stage.consumer() as received:
        assert received(10) == FIRST_USERS
        stage.send(second, change.users)
        assert received(10) == change.users
        _both_readers_see(stage, change)
        stage.send(first, FIRST_USERS[:5])
        stage.send(stage.producer(FIRST), FIRST_USERS[5:])
        assert received(10) == FIRST_USERS
    messages = stage.raw(30)
    assert _headers(messages) == [header(0)] * 10 + [header(1)] * 10 + [header(0)] * 10
    stage.check_keys(messages)
    with stage.consumer() as received:
        assert received(30) == FIRST_USERS + change.users + FIRST_USERS


def _headers(messages: list[Message]) -> list[bytes]:
    return [(message.value() or b"")[:10] for message in messages]


def _both_readers_see(stage: Stage, change: Change) -> None:
    """Check consumers with each of the two reader's schemas on ten messages of each producer."""
    with stage.consumer(change.schema) as received:
        _read_or_refused(received(10), FIRST_USERS, change.by_second, 0)
        assert received(10) == change.users
    with stage.consumer(FIRST) as received:
        assert received(10) == FIRST_USERS
        _read_or_refused(received(10), change.users, change.by_first, 1)


def _read_or_refused(got: list[Any], sent: list[Json], reads: Callable[[Any], Any] | None, version: int) -> None:
    if reads is not None:
        assert got == [reads(user) for user in sent]
    else:
        assert [(type(error), error.version) for error in got] == [(SchemaError, version)] * 10


def a_refused_schema_says_why_and_the_old_producer_still_works(stage: Stage, strategy: str, change: Change) -> None:
    first, second = stage.producer(FIRST), stage.producer(change.schema)
    stage.send(first, FIRST_USERS)
    for one in change.users:
        _is_refused(stage, second, one, strategy)
    stage.send(first, FIRST_USERS)
    stage.send(stage.producer(FIRST), FIRST_USERS)
    with stage.consumer() as received:
        assert received(30) == FIRST_USERS * 3
    assert _headers(stage.raw(30)) == [header(0)] * 30


def _is_refused(stage: Stage, producer: SerializingProducer, one: Json, strategy: str) -> None:
    try:
        stage.produce(producer, one)
    except (KeySerializationError, ValueSerializationError) as wrapped:
        _says_why(wrapped, stage.topic, strategy)
    else:
        raise AssertionError("the schema was not refused")


def _says_why(wrapped: KeySerializationError | ValueSerializationError, topic: str, strategy: str) -> None:
    error = wrapped.exception
    assert type(error) is IncompatibleSchemaError
    assert (error.status, error.topic, error.retriable) == (409, topic, False)
    assert error.reason
    for text in (str(wrapped), str(error), error.reason):
        assert f"strategy {strategy}: org.apache.avro.SchemaValidationException: Unable to read schema" in text
        assert '"name" : "User"' in text or '"name" : "Key"' in text  # keys are compared first
        assert "&" not in text  # such as &quot;, which the broker sends
    assert f"topic {topic}: cannot register a schema: " in str(wrapped)
    assert "HTTP 409" in str(wrapped)
