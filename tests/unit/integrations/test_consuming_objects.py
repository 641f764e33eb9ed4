"""Batches of objects: consume(), poll() and produce() of our clients do what those of confluent-kafka do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("confluent_kafka")

import confluent_kafka  # noqa: E402
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition  # noqa: E402
from confluent_kafka import DeserializingConsumer as FromConfluent  # noqa: E402
from confluent_kafka.error import (  # noqa: E402
    ConsumeError,
    KeyDeserializationError,
    KeySerializationError,
    ValueDeserializationError,
    ValueSerializationError,
)
from confluent_kafka.serialization import SerializationContext  # noqa: E402
from consumed import with_serdes  # noqa: E402
from schemas import record  # noqa: E402

from streamnative_serdes import (  # noqa: E402 - requires pyarrow
    ConfigError,
    DecodeError,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    SchemaNotFoundError,
    SerdesError,
)
from streamnative_serdes.errors import AuthenticationError, RegistryUnavailableError  # noqa: E402
from streamnative_serdes.integrations.consuming import (  # noqa: E402
    ArrowProducer,
    DeserializingConsumer,
    SerializingProducer,
    UnreadMessageError,
    objects,
)
from streamnative_serdes.testing import LocalRegistry, MockBroker  # noqa: E402

KINDS = ("ours", "with functions", "a subclass with its own call", "a subclass with its own method", "others")
TOPICS = (
    "objects",
    "ends",
    "unread",
    "away",
    *(f"clients-{number}-{keys}" for number in range(len(KINDS)) for keys in (False, True)),
)
ROW: dict[str, Any] = record("Row", ("id", "long"), ("note", ["null", "string"], None))
SECONDS = 30.0
NEEDS_SET_ERROR = pytest.mark.skipif(
    not hasattr(Message, "set_error"), reason="this confluent-kafka cannot put an error into a message"
)


@pytest.fixture(scope="module")
def conf() -> Iterator[dict[str, Any]]:
    with LocalRegistry() as registry, MockBroker(dict.fromkeys(TOPICS, 1)) as broker:
        yield {"bootstrap.servers": broker.bootstrap_servers, "schema.registry.url": registry.url, "log_level": 2}


def deserializing(conf: dict[str, Any], **more: Any) -> DeserializingConsumer[Any, Any]:
    return DeserializingConsumer({**with_serdes(conf), "group.id": "g", **more})


def failing_key(data: bytes | None, _: object) -> str:
    if data == b"bad":
        raise ValueError("not this one")
    return f"key {data!r}"


@NEEDS_SET_ERROR
def test_consume_deserializes_keys_and_values_as_poll_does(conf: dict[str, Any]) -> None:
    with ArrowProducer(conf, "objects", ROW, key="note") as producer:
        producer.write(pa.table({"id": [1, 2, 3], "note": ["a", "bad", "c"]}))
    value = KafkaAvroDeserializer({"schema.registry.url": conf["schema.registry.url"]})
    consumer = deserializing(conf, **{"key.deserializer": failing_key, "value.deserializer": value})
    consumer.assign([TopicPartition("objects", 0, 0)])
    first, second, third = consumer.consume(3, SECONDS)
    assert (first.key(), first.value(), first.error()) == ("key b'a'", {"id": 1, "note": "a"}, None)
    assert (third.key(), third.value(), third.error()) == ("key b'c'", {"id": 3, "note": "c"}, None)
    fault = second.error()
    assert isinstance(fault, UnreadMessageError)
    assert (fault.name(), fault.str()) == ("_KEY_DESERIALIZATION", "not this one")
    assert isinstance(fault.exception, KeyDeserializationError)
    assert isinstance(fault.exception.exception, ValueError)
    assert isinstance(second.value(), bytes)
    assert second.key() == b"bad"
    # poll() is as it was, and goes on behind the batch.
    consumer.assign([TopicPartition("objects", 0, 1)])
    with pytest.raises(KeyDeserializationError):
        consumer.poll(SECONDS)
    polled = consumer.poll(SECONDS)
    assert polled is not None
    assert polled.value() == {"id": 3, "note": "c"}
    assert consumer.consume(0, 0.0) == []
    assert consumer.consume(5, 0.0) == []
    consumer.close()


class Doubling(KafkaAvroSerializer):
    """A subclass with a call of its own, which clients have to make."""

    def __call__(self, obj: Any, ctx: Any = None) -> bytes | None:
        return super().__call__({**obj, "id": 2 * obj["id"]}, ctx)


class Other(KafkaAvroSerializer):
    """A subclass with a method of its own, which a call does not call."""

    def serialize(self, topic: str, obj: Any, headers: Any = None) -> bytes | None:
        return super().serialize(topic, {**obj, "id": 7}, headers)


class Adding(KafkaAvroDeserializer):
    def __call__(self, data: Any, ctx: Any = None) -> Any:
        row = super().__call__(data, ctx)
        return {**row, "id": row["id"] + 1}


SEEN = list[tuple[str, Any]]


def seen_by(seen: SEEN, result: Any) -> Any:
    """A SerDes or a converter that notes its context."""

    def note(value: Any, ctx: SerializationContext) -> Any:
        seen.append((str(ctx.field), (ctx.topic, ctx.headers)))
        return result(value)

    return note


def serializers(registry: dict[str, Any], seen: SEEN) -> dict[str, tuple[Any, Any]]:
    """A serializer and a deserializer of each kind that a client may get."""
    noting = seen_by(seen, lambda value: value)
    return {
        "ours": (KafkaAvroSerializer(registry, ROW), KafkaAvroDeserializer(registry)),
        "with functions": (
            KafkaAvroSerializer(registry, ROW, to_dict=noting),
            KafkaAvroDeserializer(registry, from_dict=noting),
        ),
        "a subclass with its own call": (Doubling(registry, ROW), Adding(registry)),
        "a subclass with its own method": (Other(registry, ROW), KafkaAvroDeserializer(registry)),
        "others": (seen_by(seen, lambda row: json.dumps(row).encode()), seen_by(seen, json.loads)),
    }


@NEEDS_SET_ERROR
@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_produce_and_poll_do_what_those_of_confluents_clients_do(
    conf: dict[str, Any], kind: str, *, keys: bool
) -> None:
    clients = ((SerializingProducer, DeserializingConsumer), (confluent_kafka.SerializingProducer, FromConfluent))
    registry, found = {"schema.registry.url": conf["schema.registry.url"]}, []
    topic = f"clients-{KINDS.index(kind)}-{keys}"
    for number, (producing, consuming_) in enumerate(clients):
        seen = SEEN()
        write, read_ = serializers(registry, seen)[kind]
        on_key = {"key.serializer": seen_by(seen, str.encode)} if keys else {}
        of_key = {"key.deserializer": seen_by(seen, bytes.decode)} if keys else {}
        producer = producing({**with_serdes(conf, serializer=write), **on_key})
        consumer = consuming_({**with_serdes(conf, deserializer=read_), "group.id": "g", **of_key})
        reports: list[Any] = []
        for index in range(2):
            producer.produce(
                topic, "k", {"id": 5 + index, "note": None}, 0, lambda *report, to=reports: to.append(report),
                timestamp=1_700_000_000_000, headers=[("h", b"1")],
            )  # fmt: skip
        assert producer.flush(SECONDS) == 0
        consumer.assign([TopicPartition(topic, 0, 2 * number)])
        messages = [consumer.poll(SECONDS) for _ in range(2)]
        assert consumer.poll(0) is None
        consumer.close()
        parts = [(each.key(), each.value(), each.headers(), each.timestamp(), each.error()) for each in messages]
        found.append((parts, seen, [(error, message.offset() - 2 * number) for error, message in reports]))
    ours, confluents = found
    assert ours == confluents
    ids = [11, 13] if kind == "a subclass with its own call" else [5, 6]
    assert [value for _, value, *_ in ours[0]] == [{"id": each, "note": None} for each in ids]
    assert len(ours[1]) == 4 * (keys + (kind in ("with functions", "others")))


def failing(*_: object) -> Any:
    raise ValueError("not this one")


@NEEDS_SET_ERROR
def test_an_error_says_whether_key_or_value_cannot_be_written_or_read(conf: dict[str, Any]) -> None:
    serializer = KafkaAvroSerializer({"schema.registry.url": conf["schema.registry.url"]}, ROW)
    producer = SerializingProducer[Any, Any](with_serdes(conf, serializer=serializer))
    with pytest.raises(ValueSerializationError, match=r"unread.*id") as unwritten:
        producer.produce("unread", value={"id": "x", "note": None})
    assert isinstance(unwritten.value.__cause__, EncodeError)
    with pytest.raises(KeySerializationError, match="not this one"):
        SerializingProducer({**with_serdes(conf), "key.serializer": failing}).produce("unread", "k", b"v")
    with pytest.raises(TypeError, match="topic must be a str, not int"):
        producer.produce(5, value={"id": 1, "note": None})  # type: ignore[arg-type]
    for row in ({"id": 1, "note": "a"}, {"id": 2, "note": None}):
        producer.produce("unread", "k", row)
    producer.flush(SECONDS)
    consumer = deserializing(conf, **{"value.deserializer": failing, "enable.partition.eof": True})
    consumer.assign([TopicPartition("unread", 0, 0)])
    with pytest.raises(ValueDeserializationError, match="not this one") as unread:
        consumer.poll(SECONDS)
    assert (unread.value.kafka_message.key(), type(unread.value.kafka_message.value())) == (b"k", bytes)
    batch = consumer.consume(2, SECONDS)  # the next message is not the one before
    assert [(message.offset(), type(message.error())) for message in batch] == [
        (1, UnreadMessageError), (2, KafkaError),
    ]  # fmt: skip
    consumer.seek(TopicPartition("unread", 0, 2))
    with pytest.raises(ConsumeError, match="_PARTITION_EOF") as end:
        consumer.poll(SECONDS)
    assert type(end.value) is ConsumeError
    consumer.close()
    with pytest.raises(RuntimeError):
        consumer.poll(0)


@NEEDS_SET_ERROR
@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (RegistryUnavailableError("away", retriable=True), 1),
        (AuthenticationError("no token"), 1),
        (SchemaNotFoundError("no such version"), 3),
        (DecodeError("bad"), 3),
    ],
)
def test_a_batch_asks_a_registry_that_is_away_once(conf: dict[str, Any], error: SerdesError, asked: int) -> None:
    with ArrowProducer(conf, "away", ROW) as producer:
        producer.write(pa.table({"id": [1, 2, 3]}))
    seen: list[bytes] = []

    def fails(data: bytes, _: object) -> Any:
        seen.append(data)
        raise error

    consumer = deserializing(conf, **{"value.deserializer": fails})
    consumer.assign([TopicPartition("away", 0, 0)])
    messages = consumer.consume(3, SECONDS)
    consumer.close()
    faults: list[Any] = [message.error() for message in messages]
    assert [(type(each.exception), each.exception.exception) for each in faults] == [
        (ValueDeserializationError, error)
    ] * 3
    assert [each.exception.kafka_message for each in faults] == messages
    assert len(seen) == asked


@NEEDS_SET_ERROR
def test_a_closed_producer_does_not_call_its_serializers(conf: dict[str, Any]) -> None:
    producer = SerializingProducer(with_serdes(conf, serializer=failing))
    producer.close()
    with pytest.raises(RuntimeError, match="closed"):
        producer.produce("rows", value=1)


@NEEDS_SET_ERROR
def test_what_the_client_reports_is_returned_as_a_plain_consumer_returns_it(conf: dict[str, Any]) -> None:
    with ArrowProducer(conf, "ends", ROW) as producer:
        producer.write(pa.table({"id": [1]}))
    consumer = deserializing(conf, **{"enable.partition.eof": True})
    consumer.assign([TopicPartition("ends", 0, 0)])
    message, end = consumer.consume(2, SECONDS)
    consumer.close()
    assert isinstance(message.value(), bytes)  # there is no deserializer
    fault: Any = end.error()
    assert (type(fault), fault.name()) == (KafkaError, "_PARTITION_EOF")


@NEEDS_SET_ERROR
def test_the_class_takes_types_as_confluents_does(conf: dict[str, Any]) -> None:
    consumer = DeserializingConsumer[str, dict[str, Any]]({"bootstrap.servers": "x:1", "group.id": "g", "log_level": 2})
    assert isinstance(consumer, Consumer)
    consumer.close()


def test_errors_of_unread_messages_compare_by_their_codes_as_the_clients_do() -> None:
    key, other, value = (
        UnreadMessageError.of(kind(ValueError(text)))
        for kind, text in (
            (KeyDeserializationError, "x"),
            (KeyDeserializationError, "y"),
            (ValueDeserializationError, ""),
        )
    )
    clients = KafkaError(KafkaError._KEY_DESERIALIZATION)
    for same in (key, other, clients, clients.code()):
        assert key == same
        assert not key != same  # noqa: SIM202
    for different in (value, KafkaError(KafkaError._PARTITION_EOF), None):
        assert key != different
    assert len({key, other, clients, value}) == 2


def test_a_client_that_cannot_hold_errors_is_refused(conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "Message", object)
    with pytest.raises(ConfigError, match="cannot put an error into a message"):
        deserializing(conf)
