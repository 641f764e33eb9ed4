"""KafkaAutoConsumeDeserializer on KEY_VALUE topics: both encodings, with and without the key, null halves."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from any_type import KafkaMessage, PulsarMessage, confluent_message, header
from conf import conf
from confluent_kafka.serialization import MessageField, SerializationContext
from schemas import record

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    KafkaAutoConsumeDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaNotFoundError,
    TypedSchema,
)
from streamnative_serdes.auto_consume import UNREAD_KEY, GenericObject
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

ID = record("Id", ("id", "int"))
USER = record("User", ("name", "string"))
WIDER = record("User", ("name", "string"), ("age", ["null", "int"], None))
ONE, BOB, ANN = {"id": 1}, {"name": "bob"}, {"name": "ann", "age": 9}
KEY, VALUE = b"\x02", b"\x06bob"


def register(registry: LocalRegistry, topic: str, *schemas: KeyValueSchema) -> None:
    for schema in schemas:
        KafkaAvroSerializer(conf(registry), schema).warm_up(topic)


def sized(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else len(data).to_bytes(4, "big") + data


@pytest.fixture
def separated(registry: LocalRegistry) -> LocalRegistry:
    """Topic "users" with two versions, SEPARATED."""
    register(registry, "users", KeyValueSchema(ID, USER, "SEPARATED"), KeyValueSchema(ID, WIDER, "SEPARATED"))
    registry.reset_calls()
    return registry


@pytest.fixture
def inline(registry: LocalRegistry) -> LocalRegistry:
    """Topic "users" with two versions, INLINE."""
    register(registry, "users", KeyValueSchema(ID, USER, "INLINE"), KeyValueSchema(ID, WIDER, "INLINE"))
    registry.reset_calls()
    return registry


def read(reader: KafkaAutoConsumeDeserializer, data: Any, **more: Any) -> GenericObject:
    found = reader.deserialize("users", data, **more)
    assert found is not None
    return found


def test_key_and_value_are_read_together_if_the_key_is_passed(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    for _ in range(2):
        for version, data, value in ((0, VALUE, BOB), (1, Codec(WIDER).encode(ANN), ANN)):
            found = read(reader, data, version=version, key=KEY)
            assert (found.schema_type, found.native_object) == ("KEY_VALUE", KeyValue(ONE, value))
            assert (found.schema_version, found.decoded_by.rule) == (version, "caller")
    assert separated.calls == {"GET version": 2}


def test_the_schema_of_a_pair_has_both_schemas(separated: LocalRegistry) -> None:
    schema = KafkaAutoConsumeDeserializer(conf(separated)).schema("users", 0)
    assert schema is not None
    assert schema.key is not None
    assert schema.value is not None
    assert (schema.type, schema.encoding, schema.native) == ("KEY_VALUE", "SEPARATED", KeyValue(ID, USER))
    assert (schema.key.type, schema.key.native, schema.key.encoding) == ("AVRO", ID, None)
    assert (schema.value.type, schema.value.native, schema.value.version) == ("AVRO", USER, 0)
    assert schema.value.at_version(1).native == WIDER
    assert schema.decode(VALUE, key=KEY) == KeyValue(ONE, BOB)
    assert schema.decode(header(0) + VALUE, key=None) == KeyValue(None, BOB)
    assert schema.decode(None, key=KEY) == KeyValue(ONE, None)
    assert schema.decode(VALUE) == KeyValue(UNREAD_KEY, BOB)
    assert schema.decode(None) is None
    assert schema.key.decode(KEY) == ONE
    assert schema.value.decode(VALUE) == BOB
    assert json.loads(schema.info.text) == {"key": ID, "value": USER}


def test_a_key_that_is_not_passed_is_not_taken_for_null(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    assert read(reader, VALUE, version=0).native_object == KeyValue(UNREAD_KEY, BOB)
    assert read(reader, VALUE, version=0, key=None).native_object == KeyValue(None, BOB)
    context = SerializationContext("users", MessageField.VALUE)
    found = reader(Codec(WIDER).encode(ANN), context)
    assert found.native_object == KeyValue(UNREAD_KEY, ANN)
    assert repr(found.native_object) == "KeyValue(key=UNREAD_KEY, value={'name': 'ann', 'age': 9})"


def test_null_halves_are_null(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    for version, schema_version, rule in ((None, 1, "latest"), (-1, 1, "latest"), (0, 0, "caller"), (1, 1, "caller")):
        found = read(reader, None, version=version, key=KEY)
        assert (found.schema_type, found.native_object) == ("KEY_VALUE", KeyValue(ONE, None))
        assert (found.schema_version, found.decoded_by.rule) == (schema_version, rule)
    assert read(reader, None, key=None).native_object == KeyValue(None, None)
    assert reader.deserialize("users", None) is None
    with pytest.raises(SchemaNotFoundError, match="schema version 7"):
        reader.deserialize("users", None, version=7, key=KEY)


def test_framed_values_are_read_by_their_version(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    for version, data, value in ((0, VALUE, BOB), (1, Codec(WIDER).encode(ANN), ANN), (0, VALUE, BOB)):
        found = read(reader, header(version) + data, key=KEY)
        assert (found.native_object, found.schema_version) == (KeyValue(ONE, value), version)
        assert found.decoded_by.rule == "header"
        assert found.reader_schema is not None
        assert found.reader_schema.native == KeyValue(ID, USER if version == 0 else WIDER)
    found = read(reader, header(77) + Codec(WIDER).encode(ANN), key=KEY)
    assert (found.native_object, found.decoded_by.rule, found.reader_schema) == (KeyValue(ONE, ANN), "fallback", None)


@pytest.mark.parametrize("given", ["text", 5, 10**13, [0], 0.5])
def test_keys_and_values_of_another_type_than_bytes_are_refused(separated: LocalRegistry, given: Any) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    schema = reader.schema("users", 0)
    assert schema is not None
    for read_it in (
        lambda: reader.deserialize("users", header(0) + VALUE, key=given),
        lambda: schema.decode(given),
        lambda: schema.decode(VALUE, key=given),
    ):
        with pytest.raises(DecodeError, match=f"expected bytes, bytearray or memoryview, got {type(given).__name__}"):
            read_it()


def test_inline_messages_have_both_halves(inline: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(inline))
    for key, value, pair in (
        (KEY, VALUE, KeyValue(ONE, BOB)),
        (None, VALUE, KeyValue(None, BOB)),
        (KEY, None, KeyValue(ONE, None)),
        (None, None, KeyValue(None, None)),
    ):
        message = sized(key) + sized(value)
        for data, more in ((message, {"version": 0}), (header(0) + message, {})):
            found = read(reader, data, **more)
            assert (found.native_object, found.schema_version) == (pair, 0)
            assert read(reader, data, key=b"a Kafka key without a schema", **more) == found
    schema = reader.schema("users", 0)
    assert schema is not None
    assert schema.encoding == "INLINE"
    assert schema.decode(sized(KEY) + sized(VALUE)) == KeyValue(ONE, BOB)
    assert reader.deserialize("users", None, key=b"k") is None


def test_keys_are_read_alone_by_is_key_and_by_the_context(separated: LocalRegistry) -> None:
    reader, keys = (
        KafkaAutoConsumeDeserializer(conf(separated)),
        KafkaAutoConsumeDeserializer(conf(separated), is_key=True),
    )
    for _ in range(2):
        found = read(keys, KEY)
        assert (found.schema_type, found.native_object, found.decoded_by.rule) == ("AVRO", ONE, "latest")
        assert found.decoded_by.schema is not None
        assert found.decoded_by.schema.native == ID
        assert reader(KEY, SerializationContext("users", MessageField.KEY)) == found
        assert keys(KEY, SerializationContext("users", MessageField.KEY)) == found
    exact = read(keys, KEY, version=0).reader_schema
    assert exact is not None
    assert (exact.version, exact.type, exact.at_version(1).version) == (0, "AVRO", 1)
    assert exact.decode(KEY) == ONE
    for schema in (exact, reader.schema("users", 0).key):  # type: ignore[union-attr]
        with pytest.raises(DecodeError):  # keys have no header
            schema.decode(header(0) + KEY)  # type: ignore[union-attr]
    assert reader.stats()["messages"] == 2


def test_inline_topics_have_no_keys_of_their_own(inline: LocalRegistry) -> None:
    keys = KafkaAutoConsumeDeserializer(conf(inline), is_key=True)
    with pytest.raises(ConfigError, match="its encoding is INLINE"):
        keys.deserialize("users", KEY)
    with pytest.raises(ConfigError, match="its encoding is INLINE"):
        KafkaAutoConsumeDeserializer(conf(inline))(KEY, SerializationContext("users", MessageField.KEY))


def test_errors_name_the_half_and_the_byte(registry: LocalRegistry) -> None:
    register(registry, "users", KeyValueSchema(ID, TypedSchema("JSON", USER), "SEPARATED"))
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    for message, key, path, byte in (
        (b'{"name":"bob"}', b"", "key.id", 0),
        (b'{"name":"b', KEY, None, 8),
        (header(0) + b'{"name":"b', KEY, None, 18),
    ):
        with pytest.raises(DecodeError) as caught:
            reader.deserialize("users", message, key=key)
        error = caught.value
        assert (error.topic, error.version, error.path, error.offset) == ("users", 0, path, byte)
    assert reader.stats()["errors"] == 3
    assert read(reader, b'{"name":"bob"}', key=KEY).native_object == KeyValue(ONE, BOB)


# Messages of clients


def test_messages_of_kafka_clients_bring_topic_key_and_value(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    plain = [
        KafkaMessage(header(0) + VALUE, key=KEY),
        KafkaMessage(header(0) + VALUE),
        KafkaMessage(None, key=KEY),
        KafkaMessage(None),
    ]
    expected = [KeyValue(ONE, BOB), KeyValue(None, BOB), KeyValue(ONE, None), KeyValue(None, None)]
    for messages in (plain, [confluent_message(message) for message in plain]):
        singly = [reader.deserialize_message(message) for message in messages]
        assert [found and found.native_object for found in singly] == expected
        assert list(reader.deserialize_many(None, messages)) == singly
        assert list(reader.deserialize_many("users", messages)) == singly
    elsewhere = KafkaMessage(header(0) + VALUE, key=KEY, topic="elsewhere")
    assert reader.deserialize_message(elsewhere, "users") == singly[0]
    assert list(reader.deserialize_many("users", [elsewhere])) == singly[:1]


def test_values_alone_have_no_key(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    (found, nothing) = reader.deserialize_many("users", [header(0) + VALUE, None])
    assert (found.native_object, nothing) == (KeyValue(UNREAD_KEY, BOB), None)


def test_messages_of_pulsars_client_are_read_by_their_metadatas_version(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    encoded = base64.b64encode(KEY).decode()
    for version, data, value in ((0, VALUE, BOB), (1, Codec(WIDER).encode(ANN), ANN), (0, VALUE, BOB)):
        message = PulsarMessage(data, version=version, partition_key=encoded)
        found = reader.deserialize_message(message)
        assert found is not None
        assert (found.native_object, found.schema_version) == (KeyValue(ONE, value), version)
        assert found.decoded_by.rule == "caller"
        assert reader.reader_schema(message) == found.reader_schema == reader.schema(message.topic_name(), version)
    elsewhere = PulsarMessage(VALUE, "elsewhere", version=0, partition_key=encoded)
    assert read(reader, VALUE, version=0, key=KEY) == reader.deserialize_message(elsewhere, "users")
    null = PulsarMessage(None, version=0, partition_key=encoded)
    assert [found.native_object for found in reader.deserialize_many(None, [null])] == [KeyValue(ONE, None)]
    assert reader.reader_schema(null) == reader.schema(null.topic_name(), 0)
    nothing = reader.deserialize_message(PulsarMessage(None, version=0))
    assert nothing is not None
    assert (nothing.native_object, nothing.schema_version) == (KeyValue(None, None), 0)


def test_a_message_of_which_pulsars_client_gets_no_bytes_is_an_error_and_not_an_empty_value(
    registry: LocalRegistry,
) -> None:
    """Of a KoP's entry in Kafka's format it makes a message without producer and time."""
    KafkaPulsarSerializer(conf(registry), "STRING").serialize("users", "Ada")
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    lost = PulsarMessage(b"", producer="", time=0)
    with pytest.raises(DecodeError, match=r"without its bytes.*entryFormat=kafka") as caught:
        reader.deserialize_message(lost)
    assert caught.value.raw is not None
    assert caught.value.raw.topic == "persistent://public/default/users"
    kept = [PulsarMessage(b"", producer="p"), PulsarMessage(b"", producer="", time=1), PulsarMessage(b"x", producer="")]
    found = list(reader.deserialize_many(None, [*kept, lost], on_error=lambda error: None))
    assert [each and each.native_object for each in found] == ["", "", "x", None]


@pytest.mark.parametrize("version", [128, 255, 2**40])
def test_versions_that_are_not_utf_8_are_read_from_pulsars_metadata(registry: LocalRegistry, version: int) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    with pytest.raises(SchemaNotFoundError, match=f"schema version {version}"):
        reader.deserialize_message(PulsarMessage(b"x", version=version))


def test_a_key_that_is_not_base64_is_taken_as_it_is(registry: LocalRegistry) -> None:
    register(registry, "users", KeyValueSchema("STRING", USER, "SEPARATED"))
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    for shown, key in (("a key!", "a key!"), ("YWJj", "abc"), ("", None)):
        found = reader.deserialize_message(PulsarMessage(VALUE, version=0, partition_key=shown))
        assert found is not None
        assert found.native_object.key == key


def test_reader_schema_is_the_schema_that_a_message_was_written_with(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    assert reader.reader_schema(KafkaMessage(header(0) + VALUE)) == reader.schema("users", 0)
    assert reader.reader_schema(KafkaMessage(Codec(WIDER).encode(ANN))) is None
    assert reader.reader_schema(header(0) + VALUE, "users") == reader.schema("users", 0)
    assert reader.reader_schema(KafkaMessage(None, key=KEY)) is None
    assert reader.reader_schema(KafkaMessage(b"x", topic="raw")) is None
    with pytest.raises(SchemaNotFoundError, match="schema version 7"):
        reader.reader_schema(PulsarMessage(None, version=7))
    with pytest.raises(DecodeError) as caught:
        reader.reader_schema(KafkaMessage(header(0) + b"\x06b"))
    assert caught.value.raw is not None
    assert caught.value.raw.offset == 7


def test_unreadable_messages_are_left_to_the_caller(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    good, no_value, no_key = (
        KafkaMessage(header(0) + VALUE, key=KEY),
        KafkaMessage(header(0) + b"\x06b", key=KEY),
        KafkaMessage(header(0) + VALUE, key=b""),
    )
    with pytest.raises(DecodeError):
        reader.deserialize_message(no_value)
    messages = [no_value, good, no_key, good]
    assert len(list(reader.deserialize_many(None, messages, "skip"))) == 2
    raws = list(reader.deserialize_many(None, messages, lambda error: error.raw))
    assert [raw.key for raw in raws if not isinstance(raw, GenericObject)] == [KEY, b""]
    for bad in (no_value, no_key, confluent_message(good, "an error")):
        with pytest.raises(DecodeError) as caught:
            list(reader.deserialize_many(None, [good, bad]))
        assert caught.value.raw is not None
        assert caught.value.raw.offset == 7


def test_anything_but_a_message_is_refused(separated: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(separated))
    with pytest.raises(DecodeError, match="expected bytes or a client's message, got int"):
        reader.deserialize_message(5)
    with pytest.raises(DecodeError, match="expected bytes or a client's message, got int"):
        list(reader.deserialize_many(None, [5], "skip"))
    with pytest.raises(DecodeError, match="expected a topic as str, got NoneType"):
        reader.deserialize_message(b"x")
    with pytest.raises(DecodeError, match="expected a topic as str, got int"):
        reader.deserialize_many(5, [])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="on_error"):
        reader.deserialize_many("users", [], "ignore")  # type: ignore[arg-type]
