"""KEY_VALUE topics: Pulsar's Java client and our SerDes on the same topic of a real Pulsar.

Our messages get into the topic as KoP stores those of Kafka producers (see kop_entries.py).
"""

from __future__ import annotations

import json
from typing import Any, Final, get_args

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext
from java_pulsar import JavaPulsar, SchemaName, Seen
from kop_entries import Record, kop_entry, send_entries
from pulsar_topic import PulsarTopic
from schemas import record
from servers import Pulsar

from streamnative_serdes import (
    DecodeError,
    KafkaAutoConsumeDeserializer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaError,
    TypedSchema,
)
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.key_value import KeyValueEncodingType

pytestmark = pytest.mark.usefixtures("nothing_is_known")

# Schemas that Java derives from classes of JavaClient.java.
KEY: Final = record("Key", ("id", "int"))
USER: Final = record("User", ("age", "int"), ("name", ["null", "string"], None))
WITH_EMAIL: Final = record(
    "UserWithEmail", ("age", "int"), ("email", ["null", "string"], None), ("name", ["null", "string"], None)
)
BOB, NO_KEY, ADA = {"age": 7, "name": "bob"}, {"age": 8, "name": "nokey"}, {"age": 36, "email": "a@b", "name": "ada"}
ENCODINGS: Final = get_args(KeyValueEncodingType)

# Pairs of Java's KeyValue<Key, User>, and the Kafka key and value that KoP makes of them.
PAIRS: Final = [({"id": 1}, BOB), (None, NO_KEY), ({"id": 3}, None), None, (None, None)]
ON_THE_WIRE: Final = {
    "SEPARATED": [("02", "0e0206626f62"), (None, "10020a6e6f6b6579"), ("06", None), (None, None), (None, None)],
    "INLINE": [
        (None, "00000001 02 00000006 0e0206626f62"),
        (None, "ffffffff 00000008 10020a6e6f6b6579"),
        (None, "00000001 06 ffffffff"),
        (None, None),
        (None, "ffffffff ffffffff"),
    ],
}


def java_pair(encoding: str, key: str = "Key", value: str = "User") -> SchemaName:
    return {"encoding": encoding, "key": key, "value": value}


def wire(encoding: str) -> list[tuple[bytes | None, bytes | None]]:
    return [(unhex(key), unhex(value)) for key, value in ON_THE_WIRE[encoding]]


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


class Ours:
    """Our SerDes, one for keys and values, as a Kafka client calls them."""

    def __init__(self, topic: PulsarTopic, schema: KeyValueSchema | None, **more: Any) -> None:
        conf = {**topic.conf, **{name.replace("_", "."): value for name, value in more.items()}}
        options = {name: value for name, value in conf.items() if name != "key.value.framing"}
        self._serializer, self._deserializer = KafkaAvroSerializer(conf, schema), KafkaAvroDeserializer(options)
        self._inline = schema is not None and schema.encoding == "INLINE"
        self._key, self._value = (
            SerializationContext(topic.name, field) for field in (MessageField.KEY, MessageField.VALUE)
        )

    def written(self, pair: tuple[Any, Any] | None) -> tuple[bytes | None, bytes | None]:
        """The Kafka key and value."""
        if self._inline:
            return None, self._serializer(pair and KeyValue(*pair), self._value)
        key, value = pair or (None, None)
        return self._serializer(key, self._key), self._serializer(value, self._value)

    def read(self, key: bytes | None, value: bytes | None) -> Any:
        """The pair; None for a null that an INLINE topic has as a whole."""
        found = self._deserializer(value, self._value)
        if found is None or isinstance(found, KeyValue):
            return found if key is None else (self._deserializer(key, self._key), None)
        return self._deserializer(key, self._key), found


def as_kafka(seen: list[Seen]) -> list[tuple[bytes | None, bytes | None]]:
    """The key and value that KoP makes of messages of Pulsar's producers."""
    return [(one.key, one.data) for one in seen]


def send_as_kop(pulsar: Pulsar, topic: PulsarTopic, *messages: tuple[bytes | None, bytes | None]) -> None:
    send_entries(pulsar, topic.name, *(kop_entry(Record(value, key)) for key, value in messages))


# Byte for byte


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_java_writes_is_what_we_write_and_we_read_it(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    java_client.produce(pulsar_topic.name, java_pair(encoding), *PAIRS)
    seen = java_client.consume(pulsar_topic.name, "BYTES", len(PAIRS))
    assert as_kafka(seen) == wire(encoding)
    assert [one.version for one in seen] == [0] * len(PAIRS)
    ours = Ours(pulsar_topic, KeyValueSchema(KEY, USER, encoding))
    assert [ours.written(pair) for pair in PAIRS] == wire(encoding)
    whole = None if encoding == "INLINE" else (None, None)
    nothing = {3: None, 4: (None, None) if encoding == "INLINE" else None}  # SEPARATED: both look the same
    expected = [nothing.get(place, pair) for place, pair in enumerate(PAIRS)]
    assert [ours.read(*message) or whole for message in wire(encoding)] == [pair or whole for pair in expected]
    assert schemas_of(pulsar_topic) == 1


def schemas_of(topic: PulsarTopic) -> int:
    """How many versions the topic has."""
    return len(topic.schemas())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_java_reads_what_we_write_bare(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    ours = Ours(pulsar_topic, KeyValueSchema(KEY, USER, encoding))
    messages = [ours.written(pair) for pair in PAIRS]
    send_as_kop(pulsar, pulsar_topic, *messages)
    seen = java_client.consume(pulsar_topic.name, java_pair(encoding), len(PAIRS))
    assert [one.error for one in seen] == [""] * len(PAIRS)
    whole = None if encoding == "INLINE" else [None, None]
    assert [one.value for one in seen] == [whole if pair is None else [*pair] for pair in PAIRS]
    assert {one.version for one in seen} == {-1}
    assert as_kafka(seen) == messages
    # Without a version in the metadata, AUTO_CONSUME takes every message for bytes.
    generic = java_client.consume(pulsar_topic.name, "AUTO_CONSUME", len(PAIRS))
    assert [(one.type, one.value) for one in generic] == [("BYTES" if data else "", data) for _, data in messages]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_java_does_not_read_framed_values_and_we_do(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    ours = Ours(pulsar_topic, KeyValueSchema(KEY, USER, encoding), key_value_framing="value")
    key, value = ours.written(({"id": 1}, BOB))
    bare_key, bare_value = wire(encoding)[0]
    assert (key, value) == (bare_key, b"\x03\x04" + bytes(8) + (bare_value or b""))
    send_as_kop(pulsar, pulsar_topic, (key, value))
    (seen,) = java_client.consume(pulsar_topic.name, java_pair(encoding), 1)
    expected = {"SEPARATED": "ArrayIndexOutOfBoundsException", "INLINE": "BufferUnderflowException"}
    assert expected[encoding] in seen.error
    assert ours.read(*as_kafka([seen])[0]) == ({"id": 1}, BOB)


# Registration


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_javas_pair_and_ours_are_the_same_version_whoever_registers_first(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    other = PulsarTopic(pulsar, pulsar_topic.client)
    documented = {**USER, "doc": "Avro does not look at it"}
    for topic, java_first in ((pulsar_topic, True), (other, False)):
        value_schema = json.dumps(documented if java_first else USER, indent=2)  # Pulsar compares texts, without space
        ours = Ours(topic, KeyValueSchema(KEY, value_schema, encoding), key_value_framing="value")
        if java_first:
            java_client.produce(topic.name, java_pair(encoding), [{"id": 1}, BOB])
        _, value = ours.written(({"id": 1}, BOB))
        assert value is not None
        assert value[:10] == b"\x03\x04" + bytes(8)
        if not java_first:
            java_client.produce(topic.name, java_pair(encoding), [{"id": 1}, BOB])
        assert [one.version for one in java_client.consume(topic.name, "BYTES", 1)] == [0]
        assert schemas_of(topic) == 1


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_another_encoding_than_javas_is_an_error_also_for_an_evolved_pair(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: str
) -> None:
    java_client.produce(pulsar_topic.name, java_pair(encoding), [{"id": 1}, BOB])
    other = next(name for name in ENCODINGS if name != encoding)
    wrong = (
        f"expected KEY_VALUE of AVRO and AVRO, {other}, but the registry holds KEY_VALUE of AVRO and AVRO, {encoding}"
    )
    for value in (USER, WITH_EMAIL):
        with pytest.raises(SchemaError, match=f"topic {pulsar_topic.name}, schema version 0: {wrong}"):
            KafkaAvroSerializer(pulsar_topic.conf, KeyValueSchema(KEY, value, other)).warm_up(pulsar_topic.name)
    assert schemas_of(pulsar_topic) == 1
    # Pulsar would have taken either: the first as version 0, and the second as a new version.
    properties = {"kv.encoding.type": other}
    for half in ("key", "value"):
        properties |= {f"{half}.schema.name": "", f"{half}.schema.type": "AVRO", f"{half}.schema.properties": "{}"}
    for value, version in ((USER, 0), (WITH_EMAIL, 1)):
        text = json.dumps({"key": KEY, "value": value})
        assert pulsar_topic.register("KEY_VALUE", text, properties) == version


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_serializers_use_the_pair_that_java_registered(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    java_client.produce(pulsar_topic.name, java_pair(encoding), [{"id": 1}, BOB])
    ours = Ours(pulsar_topic, KeyValueSchema(KEY, USER, encoding), auto_register_schemas=False)
    assert [ours.written(pair) for pair in PAIRS] == wire(encoding)
    conf = {**pulsar_topic.conf, "auto.register.schemas": False}
    topics_own = KafkaAvroSerializer(conf)
    if encoding == "INLINE":
        assert topics_own.serialize(pulsar_topic.name, ({"id": 1}, BOB)) == wire(encoding)[0][1]
    else:
        assert KafkaAvroSerializer(conf, KEY, is_key=True).serialize(pulsar_topic.name, {"id": 1}) == b"\x02"
        for serializer in (topics_own, KafkaAvroSerializer(conf, USER)):
            assert serializer.serialize(pulsar_topic.name, BOB) == wire(encoding)[0][1]
    assert schemas_of(pulsar_topic) == 1


# Halves of other types


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_keys_with_avro_values(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    pairs: list[tuple[Any, Any]] = [("sk", BOB), ("", NO_KEY), ("ü", None)]
    java_client.produce(pulsar_topic.name, java_pair(encoding, "STRING"), *pairs)
    theirs = as_kafka(java_client.consume(pulsar_topic.name, "BYTES", 3))
    ours = Ours(pulsar_topic, KeyValueSchema("STRING", USER, encoding))
    messages = [ours.written(pair) for pair in pairs]
    assert messages == theirs
    first = {"SEPARATED": (b"sk", BOB_BYTES), "INLINE": (None, b"\0\0\0\2sk\0\0\0\6" + BOB_BYTES)}
    assert messages[0] == first[encoding]
    assert [ours.read(*message) for message in theirs] == pairs
    send_as_kop(pulsar, pulsar_topic, *messages)
    seen = java_client.consume(pulsar_topic.name, java_pair(encoding, "STRING"), 6)
    assert [one.value for one in seen] == [[*pair] for pair in pairs] * 2
    assert schemas_of(pulsar_topic) == 1


BOB_BYTES: Final = bytes.fromhex("0e0206626f62")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_halves_are_read_by_each_other_and_registered_once(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    spec = java_pair(encoding, "JSON Key", "JSON User")
    pairs: list[tuple[Any, Any]] = [({"id": 1}, BOB), (None, {"age": -1, "name": None}), ({"id": 3}, None)]
    ours = Ours(pulsar_topic, KeyValueSchema(TypedSchema("JSON", KEY), TypedSchema("JSON", USER), encoding))
    messages = [ours.written(pair) for pair in pairs]  # and the pair is ours
    send_as_kop(pulsar, pulsar_topic, *messages)
    java_client.produce(pulsar_topic.name, spec, *pairs)
    seen = java_client.consume(pulsar_topic.name, spec, 6)
    assert [one.value for one in seen] == [[*pair] for pair in pairs] * 2
    assert [one.version for one in seen] == [-1] * 3 + [0] * 3
    assert [ours.read(*message) for message in as_kafka(seen)] == pairs * 2
    assert schemas_of(pulsar_topic) == 1


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_protobuf_halves_are_those_of_java_and_registered_once(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    pytest.importorskip("google.protobuf", reason="the extra protobuf is not installed")
    from google.protobuf.timestamp_pb2 import Timestamp

    pairs = [(5, Timestamp(seconds=5, nanos=6)), (6, None)]
    other = PulsarTopic(pulsar, pulsar_topic.client)
    for topic, java_first in ((pulsar_topic, True), (other, False)):
        ours = Ours(topic, KeyValueSchema("INT64", TypedSchema("PROTOBUF_NATIVE", Timestamp), encoding))
        messages = [] if java_first else [ours.written(pair) for pair in pairs]
        java_client.produce(topic.name, java_pair(encoding, "INT64", "PROTOBUF_NATIVE"), ["5", "5 6"], ["6", None])
        theirs = as_kafka(java_client.consume(topic.name, "BYTES", 2))
        assert (messages or [ours.written(pair) for pair in pairs]) == theirs
        read = [ours.read(*message) for message in theirs]
        assert [(key, str(value)) for key, value in read] == [(key, str(value)) for key, value in pairs]
        assert schemas_of(topic) == 1


# A topic of Debezium


SHOP: Final = record("Value", ("id", "int"), ("name", ["null", "string"], None), ("price", "double"), namespace="shop")
SHOP_KEY: Final = record("Key", ("id", "int"), namespace="shop")


def test_a_topic_of_debezium_is_read_by_one_call(pulsar_topic: PulsarTopic, java_client: JavaPulsar) -> None:
    halves = [f"KAFKA JSON {json.dumps(schema)}" for schema in (SHOP_KEY, SHOP)]
    rows = [{"id": 1, "name": "tea", "price": 2.5}, {"id": 2, "name": None, "price": 1.0}]
    sent = [[json.dumps({"id": row["id"]}), json.dumps(row)] for row in rows]
    java_client.produce(pulsar_topic.name, java_pair("SEPARATED", *halves), *sent, [sent[0][0], None])
    properties = pulsar_topic.properties(0)
    for half in ("key", "value"):
        assert properties[f"{half}.schema.name"] == "KafKaJson"
        assert json.loads(properties[f"{half}.schema.properties"]) == {"__AVRO_READ_OFFSET__": "0"}
        assert properties[f"{half}.schema.type"] == "JSON"
    deserializer = KafkaAvroDeserializer(pulsar_topic.conf)
    seen = java_client.consume(pulsar_topic.name, "BYTES", 3)
    contexts = [SerializationContext(pulsar_topic.name, field) for field in (MessageField.KEY, MessageField.VALUE)]
    read = [tuple(map(deserializer, message, contexts)) for message in as_kafka(seen)]
    assert read == [({"id": 1}, rows[0]), ({"id": 2}, rows[1]), ({"id": 1}, None)]
    auto = KafkaAutoConsumeDeserializer(pulsar_topic.conf)
    for (key, value), expected in zip(as_kafka(seen), read, strict=True):
        found = auto.deserialize(pulsar_topic.name, value, key=key)
        assert (found.schema_type, found.native_object) == ("KEY_VALUE", expected)
    generic = java_client.consume(pulsar_topic.name, "AUTO_CONSUME", 3)
    assert [one.value for one in generic] == [[{"id": 1}, rows[0]], [{"id": 2}, rows[1]], [{"id": 1}, None]]


# ReaderSchemaPolicy


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bare_messages_need_their_version_after_an_evolution_and_framed_ones_have_it(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, encoding: KeyValueEncodingType
) -> None:
    old, new = KeyValueSchema(KEY, USER, encoding), KeyValueSchema(KEY, WITH_EMAIL, encoding)
    java_client.produce(pulsar_topic.name, java_pair(encoding), [{"id": 1}, BOB])
    java_client.produce(pulsar_topic.name, java_pair(encoding, value="UserWithEmail"), [{"id": 2}, ADA])
    framed = [
        Ours(pulsar_topic, schema, key_value_framing="value").written(pair)
        for schema, pair in ((old, ({"id": 1}, BOB)), (new, ({"id": 2}, ADA)))
    ]
    send_as_kop(pulsar, pulsar_topic, *framed)
    seen = java_client.consume(pulsar_topic.name, "BYTES", 4)
    assert [one.version for one in seen] == [0, 1, -1, -1]
    values = [one.data for one in seen]
    name, conf = pulsar_topic.name, pulsar_topic.conf
    pairs = [({"id": 1}, BOB), ({"id": 2}, ADA)]
    expected = pairs if encoding == "INLINE" else [value for _, value in pairs]

    Binding.forget()  # as in a new process
    by_latest = KafkaAvroDeserializer(conf)
    # The latest schema is not the one that it was written by.
    with pytest.raises(DecodeError, match=r"schema version 1, field .*name"):
        by_latest.deserialize(name, values[0])
    assert [by_latest.deserialize(name, value) for value in values[1:]] == [expected[1], *expected]

    # The remedies: the version in Pulsar's metadata, if the caller knows it, or the schemas that the writer had.
    assert [by_latest.deserialize(name, one.data, one.version) for one in seen] == expected * 2
    as_old = KafkaAvroDeserializer(conf, old)
    without_email = {"age": 36, "name": "ada"}
    projected = [pairs[0], ({"id": 2}, without_email)] if encoding == "INLINE" else [BOB, without_email]
    assert [as_old.deserialize(name, value) for value in values] == projected * 2
