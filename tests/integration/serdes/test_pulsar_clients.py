"""Pulsar's Python client and our SerDes on the same topic of a real Pulsar."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import fastavro
import pytest
from pulsar import Client, MessageId
from pulsar.schema import Array, AvroSchema, BytesSchema, Double, Integer, JsonSchema, Map, Record, String
from pulsar_topic import PulsarTopic
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import DecodeError, IncompatibleSchemaError, SchemaError

# pulsar-client's AvroSchema logs with a deprecated method.
pytestmark = [
    pytest.mark.usefixtures("nothing_is_known"),
    pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning"),
]


def avro(schema: dict[str, Any], value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


class Address(Record):
    city = String()
    lots = Array(Integer())


class User(Record):
    name = String()
    age = Integer(required=True)
    weights = Map(Double())
    address = Address()


USER = {"name": "Ada", "age": 36, "weights": {"a": 0.5}, "address": {"city": "London", "lots": [1, -2, 3]}}
BY_CLASS = User(name="Ada", age=36, weights={"a": 0.5}, address=Address(city="London", lots=[1, -2, 3]))
NULLABLE = ["null", "string"]
NAMED = record("R", ("name", "string"), ("age", "int"))
EARLIER = {"name": "Ada", "age": 36}
WITH_EMAIL = record("R", ("email", NULLABLE, None), ("name", "string"), ("age", "int"))
LATER = {"email": "b@c", "name": "Bob", "age": 7}


# --- their messages, read by us ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [BY_CLASS, USER], ids=["record class", "schema definition"])
def test_messages_of_pulsars_avro_producer_are_read_with_the_latest_schema(
    pulsar_topic: PulsarTopic, value: Any
) -> None:
    by_class = isinstance(value, User)
    schema = AvroSchema(User) if by_class else AvroSchema(None, schema_definition=User.schema())
    pulsar_topic.send(schema, value, value)
    deserializer = KafkaAvroDeserializer(pulsar_topic.conf)
    raw = pulsar_topic.raw()
    assert [message.data for message in raw] == [avro(User.schema(), USER)] * 2
    assert [deserializer.deserialize(pulsar_topic.name, message.data) for message in raw] == [USER, USER]
    counts = deserializer.stats()
    assert (counts["headerless"], counts["fallbacks"], counts["registry_calls"]) == (2, 0, 1)


@pytest.mark.parametrize("end", ["a b", "a+b", "a%20b", "a%252Bb", "50%", "%2F", "a?#b", "käse"])
def test_a_topic_has_the_schemas_of_pulsars_client_whatever_its_name_contains(
    pulsar_topic: PulsarTopic, end: str
) -> None:
    pulsar_topic.name += end
    pulsar_topic.send(AvroSchema(None, schema_definition=NAMED), EARLIER)
    [message] = pulsar_topic.raw()
    assert KafkaAvroDeserializer(pulsar_topic.conf).deserialize(pulsar_topic.name, message.data) == EARLIER


def test_messages_of_several_versions_are_read_with_the_version_that_the_caller_passes(
    pulsar_topic: PulsarTopic,
) -> None:
    earlier, later = (AvroSchema(None, schema_definition=schema) for schema in (NAMED, WITH_EMAIL))
    pulsar_topic.send(earlier, EARLIER)
    pulsar_topic.send(later, LATER)
    pulsar_topic.send_raw(KafkaAvroSerializer(pulsar_topic.conf, NAMED).serialize(pulsar_topic.name, EARLIER))
    pulsar_topic.send(earlier, EARLIER)
    raw = pulsar_topic.raw()
    assert [message.version for message in raw] == [0, 1, -1, 0]
    expected = [EARLIER, LATER, EARLIER, EARLIER]
    reader = KafkaAvroDeserializer(pulsar_topic.conf)
    assert [reader.deserialize(pulsar_topic.name, *message) for message in raw] == expected
    as_later = KafkaAvroDeserializer(pulsar_topic.conf, WITH_EMAIL)
    assert [as_later.deserialize(pulsar_topic.name, *message) for message in raw] == [
        {"email": None, **user} for user in expected
    ]
    with pytest.raises(DecodeError, match="schema version 1, field email"):  # with the latest, which did not write it
        reader.deserialize(pulsar_topic.name, raw[0].data)


def test_headerless_messages_from_before_a_schema_change_need_their_version(pulsar_topic: PulsarTopic) -> None:
    """As with KoP, which passes no version to Kafka clients."""
    before, same_shape = record("R", ("a", "int", 0)), record("R", ("b", "int", 0))
    longer = record("R", ("b", "int", 0), ("c", "string", ""))
    for schema, value in ((before, {"a": 5}), (same_shape, {"b": 6}), (longer, {"b": 7, "c": "x"})):
        pulsar_topic.send(AvroSchema(None, schema_definition=schema), value)
        if schema is same_shape:
            (old, _) = pulsar_topic.raw()
            assert KafkaAvroDeserializer(pulsar_topic.conf).deserialize(pulsar_topic.name, old.data) == {"b": 5}
            Binding.forget()
    old, *_, last = pulsar_topic.raw()
    for reader in (KafkaAvroDeserializer(pulsar_topic.conf), KafkaAvroDeserializer(pulsar_topic.conf, before)):
        with pytest.raises(DecodeError, match="schema version 2, field c"):
            reader.deserialize(pulsar_topic.name, old.data)
        assert reader.deserialize(pulsar_topic.name, old.data, version=old.version) == {"a": 5}
    assert KafkaAvroDeserializer(pulsar_topic.conf).deserialize(pulsar_topic.name, last.data) == {"b": 7, "c": "x"}


def test_a_version_above_127_is_read(pulsar_topic: PulsarTopic, pulsar_client: Client) -> None:
    schemas = [record("R", ("number", "int", i)) for i in range(129)]
    for schema in schemas:
        pulsar_topic.register("AVRO", json.dumps(schema))
    pulsar_topic.send(AvroSchema(None, schema_definition=schemas[128]), {"number": 5})
    (message,) = pulsar_topic.raw()
    assert message.version == 128
    assert KafkaAvroDeserializer(pulsar_topic.conf).deserialize(pulsar_topic.name, *message) == {"number": 5}
    reader = pulsar_client.create_reader(pulsar_topic.name, MessageId.earliest)
    with pytest.raises(UnicodeDecodeError):  # therefore the tests read the version like pulsar-client's AvroSchema
        reader.read_next(20_000).schema_version()
    reader.close()


@pytest.mark.parametrize("data", [b"garbage", b"", b"\x06Ada", b"\x06Ada\x48\x00"])
def test_bytes_that_are_not_a_message_of_the_topic_are_a_clear_error(pulsar_topic: PulsarTopic, data: bytes) -> None:
    pulsar_topic.register("AVRO", json.dumps(NAMED))
    pulsar_topic.send_raw(data)
    (message,) = pulsar_topic.raw()
    with pytest.raises(DecodeError, match=f"topic {pulsar_topic.name}, schema version 0, .*byte [0-9]+: "):
        KafkaAvroDeserializer(pulsar_topic.conf).deserialize(pulsar_topic.name, *message)


# --- our messages, read by them ---------------------------------------------------------------------------------------


def test_our_framed_bytes_come_back_intact_through_a_topic_with_a_schema(pulsar_topic: PulsarTopic) -> None:
    pulsar_topic.send(AvroSchema(None, schema_definition=NAMED), EARLIER)
    framed = KafkaAvroSerializer(pulsar_topic.conf, NAMED).serialize(pulsar_topic.name, EARLIER)
    assert framed == b"\x03\x04" + bytes(8) + avro(NAMED, EARLIER)
    pulsar_topic.send_raw(framed)
    message = pulsar_topic.raw()[1]
    assert message == (framed, -1)
    assert pulsar_topic.read(BytesSchema(), 2)[1] == framed
    reader = KafkaAvroDeserializer(pulsar_topic.conf)
    assert reader.deserialize(pulsar_topic.name, *message) == EARLIER
    assert reader.deserialize(pulsar_topic.name, framed) == EARLIER
    assert reader.stats()["headerless"] == 0


@pytest.mark.parametrize(
    ("schema", "value", "error"),
    [
        (NAMED, EARLIER, EOFError),  # the header's first byte is read as the length of a string: -2
        (record("R", ("a", NULLABLE), ("b", NULLABLE)), {"a": "x", "b": "y"}, IndexError),  # its second is branch 2
    ],
)
def test_pulsars_avro_consumer_fails_on_our_framed_bytes(
    pulsar_topic: PulsarTopic, schema: Any, value: Any, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    pulsar_topic.send_raw(KafkaAvroSerializer(pulsar_topic.conf, schema).serialize(pulsar_topic.name, value))
    (outcome,) = pulsar_topic.read(AvroSchema(None, schema_definition=schema), 1)
    assert type(outcome) is error
    assert "Failed to decode" in caplog.text
    assert "version -1" in caplog.text


@pytest.mark.parametrize(
    ("schema", "value", "wrong"),
    [
        (record("R", ("x", "int"), ("y", "int")), {"x": 1, "y": 5}, {"x": -2, "y": 2}),
        (record("R", ("name", NULLABLE)), {"name": "Ada"}, {"name": None}),  # branch -2: Python counts from the end
    ],
)
def test_pulsars_avro_consumer_may_read_our_framed_bytes_as_wrong_data_without_an_error(
    pulsar_topic: PulsarTopic, schema: Any, value: Any, wrong: Any
) -> None:
    pulsar_topic.send_raw(KafkaAvroSerializer(pulsar_topic.conf, schema).serialize(pulsar_topic.name, value))
    assert pulsar_topic.read(AvroSchema(None, schema_definition=schema), 1) == [wrong]


# --- one schema, two ways to register it ------------------------------------------------------------------------------


def test_pulsars_client_finds_a_schema_that_we_registered(pulsar_topic: PulsarTopic) -> None:
    same = json.loads(json.dumps(User.schema()))
    same["doc"] = "Avro does not look at it"
    KafkaAvroSerializer(pulsar_topic.conf, same).serialize(pulsar_topic.name, USER)
    pulsar_topic.send(AvroSchema(User), BY_CLASS)
    assert [message.version for message in pulsar_topic.raw()] == [0]
    assert pulsar_topic.schemas() == [same]


def test_we_find_a_schema_that_pulsars_client_registered(pulsar_topic: PulsarTopic) -> None:
    pulsar_topic.send(AvroSchema(User), BY_CLASS)
    same = {**User.schema(), "doc": "Avro does not look at it", "aliases": ["Person"]}
    framed = KafkaAvroSerializer(pulsar_topic.conf, same).serialize(pulsar_topic.name, USER)
    assert framed[:10] == b"\x03\x04" + bytes(8)
    assert pulsar_topic.schemas() == [User.schema()]


def test_another_default_gives_another_version(pulsar_topic: PulsarTopic) -> None:
    theirs = record("R", ("name", NULLABLE))  # a Record's fields have no defaults
    ours = record("R", ("name", NULLABLE, None))
    pulsar_topic.send(AvroSchema(None, schema_definition=theirs), {"name": "Ada"})
    framed = KafkaAvroSerializer(pulsar_topic.conf, ours).serialize(pulsar_topic.name, {"name": "Bob"})
    assert framed[:10] == b"\x03\x04" + bytes(7) + b"\x01"
    assert pulsar_topic.schemas() == [theirs, ours]


# --- messages without a header that begin like one --------------------------------------------------------------------

NUMBERS = (("a", "long"), ("b", "long"))  # -2 and 2 are encoded as 03 04


def sent_by_their_producer(topic: PulsarTopic, schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    topic.send(AvroSchema(None, schema_definition=schema), value)
    (message,) = topic.raw()
    assert message == (avro(schema, value), 0)
    assert message.data[:2] == b"\x03\x04"
    return message.data


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        (NUMBERS, {"a": -2, "b": 2}),
        ((*NUMBERS, ("c", "string")), {"a": -2, "b": 2, "c": "1234567"}),  # eight characters would be long enough
    ],
)
def test_a_headerless_message_that_is_too_short_for_a_header_is_read(
    pulsar_topic: PulsarTopic, fields: Any, value: Any
) -> None:
    data = sent_by_their_producer(pulsar_topic, record("R", *fields), value)
    assert len(data) < 11
    reader = KafkaAvroDeserializer(pulsar_topic.conf)
    assert reader.deserialize(pulsar_topic.name, data) == value
    assert reader.deserialize(pulsar_topic.name, data, version=0) == value


def test_a_headerless_message_that_looks_like_an_unknown_version_is_read_as_a_whole(
    pulsar_topic: PulsarTopic, caplog: pytest.LogCaptureFixture
) -> None:
    schema, value = record("R", *NUMBERS, ("c", "string")), {"a": -2, "b": 2, "c": "a longer text"}
    data = sent_by_their_producer(pulsar_topic, schema, value)
    reader = KafkaAvroDeserializer(pulsar_topic.conf)
    with caplog.at_level(logging.WARNING, "streamnative_serdes"):
        assert reader.deserialize(pulsar_topic.name, data) == value
    assert "read all of it, as a message without a header, with version 0" in caplog.text
    assert reader.deserialize(pulsar_topic.name, data, version=0) == value
    assert reader.stats()["fallbacks"] == 2


def test_a_headerless_message_that_looks_like_a_known_version_is_an_error_without_the_callers_version(
    pulsar_topic: PulsarTopic,
) -> None:
    schema, value = record("R", *NUMBERS, ("c", "double")), {"a": -2, "b": 2, "c": 0.0}
    data = sent_by_their_producer(pulsar_topic, schema, value)
    assert data == b"\x03\x04" + bytes(8)  # version 0 without a datum
    reader = KafkaAvroDeserializer(pulsar_topic.conf)
    with pytest.raises(DecodeError, match="schema version 0, field a, byte 10"):
        reader.deserialize(pulsar_topic.name, data)
    assert reader.deserialize(pulsar_topic.name, data, version=0) == value


@pytest.mark.parametrize(
    ("number", "with_version"),
    [
        pytest.param(0.0, "wrong", id="version 0, which is known"),
        pytest.param(5e-324, "right", id="version 2**56, which is unknown"),
    ],
)
def test_a_headerless_message_whose_rest_is_also_a_message_is_read_wrong_without_an_error(
    pulsar_topic: PulsarTopic, number: float, with_version: str
) -> None:
    rest = (("b", "long"), ("c", "double"), ("d", "bytes"))
    inner = avro(record("R", *rest), {"b": 5, "c": 1.5, "d": b"x"})
    value = {"a": -2, "b": 2, "c": number, "d": inner}
    data = sent_by_their_producer(pulsar_topic, record("R", ("a", "long"), *rest), value)
    wrong = {"a": len(inner), "b": 5, "c": 1.5, "d": b"x"}
    reader = KafkaAvroDeserializer(pulsar_topic.conf)
    assert reader.deserialize(pulsar_topic.name, data) == wrong
    passed = reader.deserialize(pulsar_topic.name, data, version=0)
    assert passed == {"wrong": wrong, "right": value}[with_version]


# --- topics of other types --------------------------------------------------------------------------------------------


class Event(Record):
    name = String()


HALVES = json.dumps({"key": NAMED, "value": NAMED})
KEY_VALUE = {f"{half}.schema.type": "AVRO" for half in ("key", "value")} | {"kv.encoding.type": "SEPARATED"}


@pytest.mark.parametrize("kind", ["JSON", "KEY_VALUE"])
def test_an_avro_schema_alone_is_refused_by_topics_of_other_types(pulsar_topic: PulsarTopic, kind: str) -> None:
    if kind == "JSON":
        pulsar_topic.send(JsonSchema(Event), Event(name="Ada"))
    else:
        pulsar_topic.register("KEY_VALUE", HALVES, KEY_VALUE)
    with pytest.raises(IncompatibleSchemaError, match=f"exists schema type {kind}, new schema type AVRO") as refused:
        KafkaAvroSerializer(pulsar_topic.conf, NAMED).serialize(pulsar_topic.name, EARLIER)
    assert (refused.value.status, refused.value.topic) == (409, pulsar_topic.name)


def test_the_avro_deserializer_refuses_json_topics(pulsar_topic: PulsarTopic) -> None:
    name = pulsar_topic.name
    pulsar_topic.send(JsonSchema(Event), Event(name="Ada"))
    data = pulsar_topic.raw()[0].data
    for message, version in ((data, None), (data, 0), (b"\x03\x04" + bytes(8) + data, None)):
        Binding.forget()
        with pytest.raises(SchemaError, match="expected a schema of type AVRO, got type JSON") as caught:
            KafkaAvroDeserializer(pulsar_topic.conf).deserialize(name, message, version=version)
        assert (caught.value.topic, caught.value.version) == (name, 0)
