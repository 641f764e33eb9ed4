"""PIP 85's test plan on a real Pulsar: KafkaAutoConsumeDeserializer and Java's AUTO_CONSUME on the same messages.

Pulsar's Java client writes messages of each type. They are read with pulsar-client, whose messages have the schema
version in their metadata, and by Java with ``Schema.AUTO_CONSUME``. docs/auto-consume.md has the differences.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from java_pulsar import JavaPulsar, Received
from pulsar import Client, InitialPosition, Message
from pulsar_topic import PulsarTopic
from schema_types import same
from schemas import record
from servers import Kafka, Pulsar

from streamnative_serdes import (
    GenericObject,
    IncompatibleSchemaError,
    KafkaAutoConsumeDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaError,
    TypedSchema,
)

pytestmark = pytest.mark.usefixtures("nothing_is_known")

PATIENCE: Final = 20.0  # seconds
Json = dict[str, Any]

# Schemas that Java derives from classes of JavaClient.java: references may be null.
TEXT: Final = ["null", "string"]
KEY: Final = record("Key", ("id", "int"))
USER: Final = record("User", ("age", "int"), ("name", TEXT, None))
WITH_EMAIL: Final = record("UserWithEmail", ("age", "int"), ("email", TEXT, None), ("name", TEXT, None))
BOB: Final = {"age": 7, "name": "bob"}
ANN: Final = {"age": 9, "email": "a@n", "name": "ann"}

# Type -> messages as JavaClient.java takes them.
PRIMITIVES: Final = {
    "BOOLEAN": ["true", "false"],
    "INT8": ["-128", "127"],
    "INT16": ["-1", "258"],
    "INT32": ["16909060", "-2147483648"],
    "INT64": ["-1", "9223372036854775807"],
    "FLOAT": ["1.5", "NaN"],
    "DOUBLE": ["-0.0", "4.9E-324"],
    "STRING": ["h\u20ac", "", "\u0003\u0004" + "\0" * 8],
    "DATE": ["1357016400123", "-1"],
    "TIME": ["18000123", "0"],
    "TIMESTAMP": ["1357016400123", "-1"],
    "INSTANT": ["1357016400 123456789", "-1 999999999"],
    "LOCAL_DATE": ["15706", "-1"],
    "LOCAL_TIME": ["18000123456789", "0"],
    "LOCAL_DATE_TIME": ["15706 18000123456789", "-1 0"],
}


def plain(value: Any) -> Any:
    """What Java gives, with JSON as data: Jackson's nodes are shown as text."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value


def native_of(java: Received) -> Any:
    """The native schema that Java reports, without a property that AUTO_CONSUME adds."""
    assert java.reader is not None
    assert java.reader.native is not None
    schema = json.loads(java.reader.native)
    assert schema.pop("__AVRO_READ_OFFSET__", "0") == "0"
    return schema


def info_of(java: Received) -> tuple[str, dict[str, str]]:
    """Text and properties that Java reports. For STRING, its client makes up a property."""
    assert java.reader is not None
    properties = dict(java.reader.properties)
    if java.reader.type == "STRING":
        assert properties.pop("__charset") == "UTF-8"
    return java.reader.text, properties


def equal(ours: Any, java: Any) -> bool:
    if isinstance(ours, KeyValue):
        return isinstance(java, tuple) and all(map(equal, ours, java))
    return same(ours, java)


@pytest.fixture
def taken(pulsar_topic: PulsarTopic, pulsar_client: Client) -> Callable[[int], list[Message]]:
    """Takes the first messages of the topic with pulsar-client, without a schema."""

    def take(count: int) -> list[Message]:
        consumer = pulsar_client.subscribe(
            pulsar_topic.name, str(uuid.uuid4()), initial_position=InitialPosition.Earliest
        )
        try:
            return [consumer.receive(int(PATIENCE * 1000)) for _ in range(count)]
        finally:
            consumer.close()

    return take


def read(reader: KafkaAutoConsumeDeserializer, message: Any) -> GenericObject:
    found = reader.deserialize_message(message)
    assert found is not None
    return found


def registered(pulsar: Pulsar, topic: str, version: int) -> Json:
    answer = pulsar.admin("GET", f"schemas/public/default/{topic}/schema/{version}")
    assert answer.ok, answer.text
    found: Json = answer.json()
    return found


# Two Avro schemas, two messages: each reports its exact schema


def test_each_message_reports_its_exact_schema_info_and_native_schema_as_in_java(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    topic = pulsar_topic.name
    for kind, datum in (("User", BOB), ("UserWithEmail", ANN), ("User", BOB)):
        java_client.produce(topic, kind, datum)
    messages, javas = taken(3), java_client.receive(topic, 3)
    reader = KafkaAutoConsumeDeserializer(pulsar_topic.conf)
    expected = [(0, USER, BOB), (1, WITH_EMAIL, ANN), (0, USER, BOB)]
    before = reader.stats()["registry_calls"]
    for _ in range(2):
        for message, java, (version, schema, datum) in zip(messages, javas, expected, strict=True):
            found, exact = read(reader, message), reader.reader_schema(message)
            assert (found.schema_type, found.native_object, found.schema_version) == ("AVRO", datum, version)
            assert exact == found.reader_schema
            assert exact is not None
            held = registered(pulsar, topic, version)
            assert (exact.info.type, exact.info.text) == (held["type"], held["data"])
            assert (exact.info.timestamp, exact.info.properties) == (held["timestamp"], held["properties"])
            assert exact.native == schema
            assert exact.decode(message.data()) == datum
            assert java.version == version
            assert java.reader is not None
            assert (java.reader.type, java.value, java.reader.decoded) == ("AVRO", datum, datum)
            assert native_of(java) == exact.native
            assert info_of(java) == (exact.info.text, exact.info.properties)
    assert reader.stats()["registry_calls"] - before == 2  # one for each version
    # The latest moves on; a message still reports its own.
    pulsar_topic.register("AVRO", json.dumps(record("User", ("age", "int"), ("x", "int", 0), ("name", TEXT, None))))
    again = KafkaAutoConsumeDeserializer(pulsar_topic.conf)
    assert [again.reader_schema(message) for message in messages] == [reader.reader_schema(one) for one in messages]


@pytest.fixture
def kafka_topic(kafka: Kafka) -> Iterator[Callable[[str, list[Any]], list[Any]]]:
    """Sends (key, value) with Kafka's client, and returns the messages that its consumer gets."""
    servers = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 2}
    producer = Producer(servers)
    consumer = Consumer({**servers, "group.id": "auto", "enable.auto.commit": False})

    def through(topic: str, pairs: list[Any]) -> list[Any]:
        for key, value in pairs:
            producer.produce(topic, key=key, value=value)
        assert producer.flush(PATIENCE) == 0
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = consumer.consume(len(pairs), PATIENCE)
        assert [message.error() for message in found] == [None] * len(pairs)
        return found

    yield through
    consumer.close()


def test_framed_kafka_messages_report_their_exact_schema(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, kafka_topic: Callable[[str, list[Any]], list[Any]]
) -> None:
    topic, conf = pulsar_topic.name, pulsar_topic.conf
    first, second = KafkaAvroSerializer(conf, USER), KafkaAvroSerializer(conf, WITH_EMAIL)
    pairs = [
        (b"k", first.serialize(topic, BOB)),
        (None, second.serialize(topic, ANN)),
        (b"k", first.serialize(topic, BOB)),
    ]
    reader = KafkaAutoConsumeDeserializer(conf)
    messages = kafka_topic(topic, pairs)
    for message, version, schema, datum in zip(
        messages, (0, 1, 0), (USER, WITH_EMAIL, USER), (BOB, ANN, BOB), strict=True
    ):
        found, exact = read(reader, message), reader.reader_schema(message)
        assert (found.native_object, found.decoded_by.rule) == (datum, "header")
        assert exact is not None
        held = registered(pulsar, topic, version)
        assert (exact.info.text, exact.info.timestamp, exact.native) == (held["data"], held["timestamp"], schema)
    assert list(reader.deserialize_many(None, messages)) == [read(reader, message) for message in messages]


def test_key_value_messages_of_kafka_clients_are_read_with_their_keys(
    pulsar_topic: PulsarTopic, kafka_topic: Callable[[str, list[Any]], list[Any]]
) -> None:
    topic, conf = pulsar_topic.name, {**pulsar_topic.conf, "key.value.framing": "value"}
    pairs = []
    for schema, datum in ((USER, BOB), (WITH_EMAIL, ANN)):
        both = KeyValueSchema(TypedSchema("JSON", KEY), schema, "SEPARATED")
        keys, values = KafkaPulsarSerializer(conf, both, is_key=True), KafkaPulsarSerializer(conf, both)
        pairs.append((keys.serialize(topic, {"id": 1}), values.serialize(topic, datum)))
    pairs.append((pairs[0][0], None))
    reader = KafkaAutoConsumeDeserializer(pulsar_topic.conf)
    found = [read(reader, message) for message in kafka_topic(topic, pairs)]
    assert [one.native_object for one in found] == [KeyValue({"id": 1}, datum) for datum in (BOB, ANN, None)]
    assert [one.decoded_by.rule for one in found] == ["header", "header", "latest"]
    assert [one.reader_schema and one.reader_schema.native for one in found] == [
        KeyValue(KEY, USER),
        KeyValue(KEY, WITH_EMAIL),
        None,
    ]


# Each type, written by Pulsar's Java client


def compare(reader: KafkaAutoConsumeDeserializer, messages: list[Message], javas: list[Received]) -> None:
    """Value for value, with the schema of each message."""
    for message, java in zip(messages, javas, strict=True):
        assert not java.error, java.error
        found, exact = reader.deserialize_message(message), reader.reader_schema(message)
        assert (found is None) == java.null
        if found is not None:
            assert found.schema_type == java.type
            assert equal(found.native_object, plain(java.value)), (found, java)
            assert found.reader_schema == exact
        assert exact is not None
        assert java.reader is not None
        assert (exact.version, exact.type) == (java.version, java.reader.type)
        if exact.type != "KEY_VALUE":  # Java shows the halves in another form than the registry
            assert (exact.info.text, exact.info.properties) == info_of(java)
            if found is not None:
                assert equal(exact.decode(message.data()), plain(java.reader.decoded))


@pytest.mark.promise("any-topic")
@pytest.mark.parametrize("kind", PRIMITIVES)
def test_primitives_that_java_writes_are_read_value_for_value(
    kind: str, pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    values = [*PRIMITIVES[kind], None]
    java_client.produce(pulsar_topic.name, kind, *values)
    javas = java_client.receive(pulsar_topic.name, len(values))
    reader = KafkaAutoConsumeDeserializer(pulsar_topic.conf)
    compare(reader, taken(len(values)), javas)
    assert [java.type for java in javas] == [kind] * (len(values) - 1) + [None]
    schema = reader.schema(pulsar_topic.name)
    assert schema is not None
    assert schema.native is None
    assert [java.reader and java.reader.native for java in javas] == [None] * len(values)


@pytest.mark.promise("any-topic")
@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_objects_that_java_writes_are_read_value_for_value_by_their_versions(
    kind: str, pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    nameless, of = {"age": -1, "name": None}, "" if kind == "AVRO" else "JSON "
    java_client.produce(pulsar_topic.name, f"{of}User", BOB, nameless, None)
    java_client.produce(pulsar_topic.name, f"{of}UserWithEmail", ANN)
    java_client.produce(pulsar_topic.name, f"{of}User", BOB)
    reader, messages = KafkaAutoConsumeDeserializer(pulsar_topic.conf), taken(5)
    javas = java_client.receive(pulsar_topic.name, 5)
    if kind == "JSON":  # Jackson leaves out what is null, and so does AUTO_CONSUME; here it is null
        assert plain(javas[1].value) == {"age": -1}
        javas[1] = javas[1]._replace(
            value=nameless, reader=javas[1].reader and javas[1].reader._replace(decoded=nameless)
        )
    compare(reader, messages, javas)
    natives = [reader.reader_schema(message).native for message in messages]  # type: ignore[union-attr]
    assert natives == [USER, USER, USER, WITH_EMAIL, USER]
    if kind == "JSON":  # Java does not report it
        assert [java.reader and java.reader.native for java in javas] == [None] * 5
    else:
        assert [native_of(java) for java in javas] == natives


@pytest.mark.promise("any-topic")
def test_protobuf_messages_that_java_writes_are_read_by_the_registrys_descriptor(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    pytest.importorskip("google.protobuf")
    from google.protobuf.timestamp_pb2 import Timestamp

    java_client.produce(pulsar_topic.name, "PROTOBUF_NATIVE", "5 6", "-1 0", None)
    reader, messages = KafkaAutoConsumeDeserializer(pulsar_topic.conf), taken(3)
    javas = java_client.receive(pulsar_topic.name, 3)
    for message, java in zip(messages, javas, strict=True):
        found, exact = reader.deserialize_message(message), reader.reader_schema(message)
        assert exact is not None
        assert java.reader is not None
        assert exact.native.full_name == java.reader.native == "google.protobuf.Timestamp"
        assert exact.info.text == java.reader.text
        if found is None:
            assert java.null
            continue
        assert (found.schema_type, str(found.native_object)) == (java.type, java.value)
        assert str(exact.decode(message.data())) == java.reader.decoded
    # A serializer of ours registers the same text, byte for byte, and so the same version.
    ours = KafkaPulsarSerializer(pulsar_topic.conf, TypedSchema("PROTOBUF_NATIVE", Timestamp))
    assert ours.serialize(pulsar_topic.name, Timestamp(seconds=5, nanos=6)) == messages[0].data()
    assert len(pulsar_topic.schemas()) == 1


KEYS: Final = {
    "Key": ({"id": 1}, {"id": 1}),
    "JSON Key": ({"id": 1}, {"id": 1}),
    "STRING": ("k", "k"),
    "INT64": ("5", 5),
    "BYTES": (base64.b64encode(b"\xff").decode(), b"\xff"),
}


@pytest.mark.promise("any-topic")
@pytest.mark.parametrize("encoding", ["SEPARATED", "INLINE"])
@pytest.mark.parametrize("kind", KEYS)
def test_key_value_messages_that_java_writes_are_read_value_for_value(
    encoding: str, kind: str, pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    key, expected = KEYS[kind]
    schema = {"encoding": encoding, "key": kind, "value": "User"}
    java_client.produce(pulsar_topic.name, schema, [key, BOB], [None, BOB], [key, None], [None, None])
    java_client.produce(pulsar_topic.name, {**schema, "value": "UserWithEmail"}, [key, ANN])
    java_client.produce(pulsar_topic.name, schema, [key, BOB])
    reader = KafkaAutoConsumeDeserializer(pulsar_topic.conf)
    messages, javas = taken(6), java_client.receive(pulsar_topic.name, 6)
    compare(reader, messages, javas)
    pairs = [(expected, BOB), (None, BOB), (expected, None), (None, None), (expected, ANN), (expected, BOB)]
    assert [read(reader, message).native_object for message in messages] == pairs
    exact = [reader.reader_schema(message) for message in messages]
    assert [(one.version, one.encoding) for one in exact if one] == [(v, encoding) for v in (0, 0, 0, 0, 1, 0)]
    assert [one.value.native for one in exact if one and one.value] == [USER] * 4 + [WITH_EMAIL, USER]


def test_topics_of_several_types_are_read_by_the_type_of_each_message(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, pulsar_client: Client, java_client: JavaPulsar
) -> None:
    namespace = f"namespaces/public/{pulsar_topic.name}"
    assert pulsar.admin("PUT", namespace).ok
    assert pulsar.admin("PUT", f"{namespace}/schemaCompatibilityStrategy", json="ALWAYS_COMPATIBLE").ok
    topic = f"persistent://public/{pulsar_topic.name}/mixed"
    for schema, value in (
        ("User", BOB),
        ("JSON User", BOB),
        ("INT64", "5"),
        ("STRING", "text"),
        ("UserWithEmail", ANN),
        ("User", BOB),
    ):
        java_client.produce(topic, schema, value)
    consumer = pulsar_client.subscribe(topic, "all", initial_position=InitialPosition.Earliest)
    messages = [consumer.receive(int(PATIENCE * 1000)) for _ in range(6)]
    consumer.close()
    reader, javas = KafkaAutoConsumeDeserializer(pulsar_topic.conf), java_client.receive(topic, 6)
    compare(reader, messages, javas)
    assert [java.type for java in javas] == ["AVRO", "JSON", "INT64", "STRING", "AVRO", "AVRO"]
    assert [java.version for java in javas] == [0, 1, 2, 3, 4, 0]


# Where Java's AUTO_CONSUME gives something else


def test_a_topic_without_a_schema_holds_bytes_as_in_java(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    java_client.produce(pulsar_topic.name, "BYTES", base64.b64encode(b"\0\1\xff").decode(), None)
    reader, messages = KafkaAutoConsumeDeserializer(pulsar_topic.conf), taken(2)
    java, null = java_client.receive(pulsar_topic.name, 2)
    found = read(reader, messages[0])
    assert (found.schema_type, found.native_object) == (java.type, java.value) == ("BYTES", b"\0\1\xff")
    assert reader.deserialize_message(messages[1]) is None
    assert null.null
    assert [reader.reader_schema(message) for message in messages] == [None, None] == [java.reader, null.reader]


@pytest.mark.parametrize("kind", ["NONE", "BYTES"])
def test_a_topic_of_type_none_holds_bytes_as_in_java(
    kind: str, pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    assert pulsar_topic.register(kind, "") == 0
    pulsar_topic.send_raw(b"\0\1\xff")
    found = read(KafkaAutoConsumeDeserializer(pulsar_topic.conf), *taken(1))
    (java,) = java_client.receive(pulsar_topic.name, 1)
    assert (found.schema_type, found.native_object) == (java.type, java.value) == ("BYTES", b"\0\1\xff")


def test_messages_without_a_version_are_bytes_in_java_and_read_by_the_latest_here(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    framed = KafkaAvroSerializer(pulsar_topic.conf, USER).serialize(pulsar_topic.name, BOB)
    assert framed is not None
    pulsar_topic.send_raw(framed, framed[10:])
    reader = KafkaAutoConsumeDeserializer(pulsar_topic.conf)
    found = [read(reader, message) for message in taken(2)]
    assert [(one.schema_type, one.native_object, one.decoded_by.rule) for one in found] == [
        ("AVRO", BOB, "header"),
        ("AVRO", BOB, "latest"),
    ]
    assert [one.reader_schema is None for one in found] == [False, True]
    javas = java_client.receive(pulsar_topic.name, 2)
    assert [(java.type, java.value) for java in javas] == [("BYTES", framed), ("BYTES", framed[10:])]


def test_a_null_on_an_inline_topic_is_an_object_of_null_in_java_and_none_here(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    java_client.produce(pulsar_topic.name, {"encoding": "INLINE", "key": "User", "value": "User"}, None)
    (java,) = java_client.receive(pulsar_topic.name, 1)
    assert (java.null, java.type, java.value) == (False, "KEY_VALUE", None)
    assert KafkaAutoConsumeDeserializer(pulsar_topic.conf).deserialize_message(*taken(1)) is None


def test_messages_of_type_protobuf_are_an_error_that_names_the_type_here_and_in_java(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    java_client.produce(pulsar_topic.name, "PROTOBUF", "5 6")
    with pytest.raises(AssertionError, match="type 'PROTOBUF' is not supported"):
        java_client.receive(pulsar_topic.name, 1)
    with pytest.raises(SchemaError, match=r"schema version 0: .*PROTOBUF"):
        KafkaAutoConsumeDeserializer(pulsar_topic.conf).deserialize_message(*taken(1))


# What KafkaPulsarSerializer writes is read by Java's consumers of that type


@pytest.mark.parametrize("kind", PRIMITIVES)
def test_java_reads_our_primitives(
    kind: str, pulsar_topic: PulsarTopic, java_client: JavaPulsar, taken: Callable[[int], list[Message]]
) -> None:
    name, values = pulsar_topic.name, PRIMITIVES[kind]
    java_client.produce(name, kind, *values)
    reader, ours = KafkaAutoConsumeDeserializer(pulsar_topic.conf), KafkaPulsarSerializer(pulsar_topic.conf, kind)
    messages = taken(len(values))
    written = [ours.serialize(name, read(reader, message).native_object) for message in messages]
    assert written == [message.data() for message in messages]
    assert pulsar_topic.register(kind, "") == 0  # the one that Java registered is the only one
    pulsar_topic.send_raw(*(one for one in written if one is not None))
    javas = java_client.receive(name, 2 * len(values), kind)
    assert [java.version for java in javas] == [0] * len(values) + [-1] * len(values)
    assert str([java.value for java in javas[len(values) :]]) == str([java.value for java in javas[: len(values)]])


def test_java_reads_our_json(pulsar_topic: PulsarTopic, java_client: JavaPulsar) -> None:
    name, ours = pulsar_topic.name, KafkaPulsarSerializer(pulsar_topic.conf, TypedSchema("JSON", USER))
    data = [ours.serialize(name, value) for value in (BOB, {"age": -1, "name": None})]
    pulsar_topic.send_raw(*(one for one in data if one is not None))
    java_client.produce(name, "JSON User", BOB)  # Java finds our schema
    assert pulsar_topic.schemas() == [USER]
    javas = java_client.receive(name, 3, "JSON User")
    assert [dict(java.value) for java in javas] == [BOB, {"age": -1, "name": None}, BOB]


def test_a_topic_of_another_type_refuses_ours(pulsar_topic: PulsarTopic, java_client: JavaPulsar) -> None:
    java_client.produce(pulsar_topic.name, "INT32", "5")
    for schema, value in (("INT64", 5), (TypedSchema("JSON", USER), BOB), (USER, BOB)):
        with pytest.raises(IncompatibleSchemaError, match="exists schema type INT32, new schema type"):
            KafkaPulsarSerializer(pulsar_topic.conf, schema).serialize(pulsar_topic.name, value)
    with pytest.raises(SchemaError, match="it has one of type INT32"):
        KafkaPulsarSerializer(pulsar_topic.conf, "BYTES").serialize(pulsar_topic.name, b"x")
    assert KafkaPulsarSerializer(pulsar_topic.conf).serialize(pulsar_topic.name, 5) == b"\0\0\0\5"
