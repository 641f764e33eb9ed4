"""KEY_VALUE topics: key and value are written and read by one registered pair of schemas, INLINE or SEPARATED."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from typing import Any, Final

import pytest
from conf import conf
from confluent_kafka.serialization import MessageField, SerializationContext
from schemas import record
from waiting import together

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    EncodeError,
    IncompatibleSchemaError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaError,
    SchemaNotFoundError,
    TypedSchema,
)
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.schema_registry import SchemaRegistryClient
from streamnative_serdes.testing import LocalRegistry

KEY: Final = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}]}
USER: Final = record("User", ("age", "int"), ("name", ["null", "string"], None))
WIDER: Final = {**USER, "fields": [*USER["fields"], {"name": "mail", "type": "string", "default": "-"}]}  # type: ignore[misc]
BOB: Final = {"age": 7, "name": "bob"}
BOB_BYTES: Final = bytes.fromhex("0e0206626f62")
SEPARATED, INLINE = KeyValueSchema(KEY, USER, "SEPARATED"), KeyValueSchema(KEY, USER, "INLINE")
TOPIC: Final = "users"
AS_KEY, AS_VALUE = (SerializationContext(TOPIC, field) for field in (MessageField.KEY, MessageField.VALUE))


def framed(version: int, body: bytes) -> bytes:
    return b"\x03\x04" + version.to_bytes(8) + body


# What is on the wire


def test_separated_halves_are_bare_and_each_is_avro_alone(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), SEPARATED)
    assert serializer({"id": 1}, AS_KEY) == b"\x02"
    assert serializer(BOB, AS_VALUE) == BOB_BYTES


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (({"id": 1}, BOB), "00000001 02 00000006 0e0206626f62"),
        ((None, {"age": 8, "name": "nokey"}), "ffffffff 00000008 10020a6e6f6b6579"),
        (({"id": 3}, None), "00000001 06 ffffffff"),
        ((None, None), "ffffffff ffffffff"),
    ],
)
def test_inline_messages_equal_those_of_pulsars_java_client(
    registry: LocalRegistry, pair: tuple[Any, Any], expected: str
) -> None:
    message = bytes.fromhex(expected)
    serializer, deserializer = KafkaAvroSerializer(conf(registry), INLINE), KafkaAvroDeserializer(conf(registry))
    assert serializer(KeyValue(*pair), AS_VALUE) == serializer.serialize(TOPIC, pair) == message
    read = deserializer(message, AS_VALUE)
    assert read == pair
    assert type(read) is KeyValue
    assert (read.key, read.value) == pair


@pytest.mark.parametrize(("schema", "value"), [(SEPARATED, BOB), (INLINE, ({"id": 1}, BOB))])
def test_with_framing_value_only_values_have_the_header(
    registry: LocalRegistry, schema: KeyValueSchema, value: Any
) -> None:
    bare = KafkaAvroSerializer(conf(registry), schema).serialize(TOPIC, value)
    serializer = KafkaAvroSerializer(conf(registry, key_value_framing="value"), schema)
    assert bare is not None
    assert serializer(value, AS_VALUE) == framed(0, bare)
    assert KafkaAvroDeserializer(conf(registry))(framed(0, bare), AS_VALUE) == value
    if schema is SEPARATED:
        assert serializer({"id": 1}, AS_KEY) == b"\x02"


def test_none_stays_none(registry: LocalRegistry) -> None:
    for schema in (SEPARATED, INLINE):
        assert KafkaAvroSerializer(conf(registry), schema)(None, AS_VALUE) is None
    assert KafkaAvroSerializer(conf(registry), SEPARATED)(None, AS_KEY) is None
    assert KafkaAvroDeserializer(conf(registry))(None, AS_KEY) is None


# One schema for both, whichever comes first


def test_whichever_serializer_runs_first_registers_the_pair_once(registry: LocalRegistry) -> None:
    for topic, order in (("a", ("key", "value")), ("b", ("value", "key"))):
        serializers = {
            "key": KafkaAvroSerializer(conf(registry), SEPARATED, is_key=True),
            "value": KafkaAvroSerializer(conf(registry), SEPARATED),
        }
        data = {"key": {"id": 1}, "value": BOB}
        assert {name: serializers[name].serialize(topic, data[name]) for name in order} == {
            "key": b"\x02",
            "value": BOB_BYTES,
        }
        [entry] = registry.store.versions(f"public/default/{topic}")
        assert entry.data is not None
        assert entry.data.type == "KEY_VALUE"
        assert json.loads(entry.data.text) == {"key": KEY, "value": USER}
        assert entry.data.properties == {
            "kv.encoding.type": "SEPARATED",
            **{f"{half}.schema.{what}": text for half in ("key", "value") for what, text in HALF.items()},
        }


HALF: Final = {"name": "", "type": "AVRO", "properties": "{}"}


def test_one_serializer_and_one_deserializer_do_both_in_any_order(registry: LocalRegistry) -> None:
    for first, second in ((AS_KEY, AS_VALUE), (AS_VALUE, AS_KEY)):
        serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))
        data = {MessageField.KEY: {"id": 1}, MessageField.VALUE: BOB}
        for context in (first, second, first, second, second):
            message = serializer(data[context.field], context)
            assert deserializer(message, context) == data[context.field]


def test_a_field_of_the_context_decides_for_each_message_also_after_others(registry: LocalRegistry) -> None:
    # Both halves can be read by both schemas, so a wrong choice would not be an error.
    long, text = ({"type": "record", "name": "R", "fields": [{"name": name, "type": "long"}]} for name in "ab")
    serializer = KafkaAvroSerializer(conf(registry), KeyValueSchema(long, text, "SEPARATED"))
    deserializer = KafkaAvroDeserializer(conf(registry))
    for number in range(3):
        assert deserializer(serializer({"a": number}, AS_KEY), AS_KEY) == {"a": number}
        assert deserializer(serializer({"b": number}, AS_VALUE), AS_VALUE) == {"b": number}


def test_a_new_pair_takes_one_post_between_two_gets_and_a_known_one_takes_one_get(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), SEPARATED)
    for context, data in ((AS_VALUE, BOB), (AS_KEY, {"id": 1}), (AS_VALUE, BOB), (AS_KEY, {"id": 2})):
        serializer(data, context)
    KafkaAvroSerializer(conf(registry), SEPARATED, is_key=True)({"id": 3}, AS_KEY)
    assert registry.calls == {"GET schemas": 1, "POST schema": 1, "GET version": 1}
    Binding.forget()
    registry.reset_calls()
    KafkaAvroSerializer(conf(registry), SEPARATED)(BOB, AS_VALUE)
    assert registry.calls == {"GET schemas": 1}


def test_keys_that_begin_like_a_header_are_read_as_keys(registry: LocalRegistry) -> None:
    key = {"type": "record", "name": "K", "fields": [{"name": name, "type": "long"} for name in "abcdefghij"]}
    schema = KeyValueSchema(key, USER, "SEPARATED")
    data = {name: {"a": -2, "b": 2}.get(name, 0) for name in "abcdefghij"}
    message = KafkaAvroSerializer(conf(registry), schema, is_key=True).serialize(TOPIC, data)
    assert message == framed(0, b"")
    shared, own = KafkaAvroDeserializer(conf(registry)), KafkaAvroDeserializer(conf(registry), is_key=True)
    for _ in range(2):
        assert shared(message, AS_KEY) == own(message, AS_KEY) == own.deserialize(TOPIC, message) == data
    unknown = message[:9] + b"\x02"  # "version 1", which does not exist
    assert shared(unknown, AS_KEY) == own(unknown, AS_KEY) == {**data, "j": 1}


# What the registry holds


@pytest.mark.parametrize(("first", "second"), [(SEPARATED, INLINE), (INLINE, SEPARATED)])
def test_another_encoding_than_the_topics_is_an_error(
    registry: LocalRegistry, first: KeyValueSchema, second: KeyValueSchema
) -> None:
    KafkaAvroSerializer(conf(registry), first).warm_up(TOPIC)
    other = KafkaAvroSerializer(conf(registry), second)
    for _ in range(2):
        with pytest.raises(SchemaError) as caught:
            other.serialize(TOPIC, ({"id": 1}, BOB) if second is INLINE else BOB)
        assert str(caught.value).startswith(
            f"topic users, schema version 0: expected KEY_VALUE of AVRO and AVRO, {second.encoding}, "
            f"but the registry holds KEY_VALUE of AVRO and AVRO, {first.encoding}"
        )


def test_another_type_of_a_half_is_refused_by_the_registry(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), SEPARATED).warm_up(TOPIC)
    with pytest.raises(IncompatibleSchemaError):
        KafkaAvroSerializer(conf(registry), USER).serialize(TOPIC, BOB)


def test_without_auto_register_the_topics_pair_is_used(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), SEPARATED).warm_up(TOPIC)
    options = conf(registry, auto_register_schemas=False)
    for serializer in (KafkaAvroSerializer(options), KafkaAvroSerializer(options, SEPARATED)):
        assert (serializer({"id": 1}, AS_KEY), serializer(BOB, AS_VALUE)) == (b"\x02", BOB_BYTES)
    assert KafkaAvroSerializer(options, is_key=True).serialize(TOPIC, {"id": 1}) == b"\x02"
    assert registry.calls["POST schema"] == 1


def test_without_auto_register_each_serializer_may_have_its_half_alone(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), SEPARATED).warm_up(TOPIC)
    KafkaAvroSerializer(conf(registry), KeyValueSchema(KEY, WIDER, "SEPARATED")).warm_up(TOPIC)
    options = conf(registry, auto_register_schemas=False, key_value_framing="value")
    assert KafkaAvroSerializer(options, KEY, is_key=True).serialize(TOPIC, {"id": 1}) == b"\x02"
    assert KafkaAvroSerializer(options, USER).serialize(TOPIC, BOB) == framed(0, BOB_BYTES)
    assert KafkaAvroSerializer(options, WIDER).serialize(TOPIC, BOB) == framed(1, BOB_BYTES + b"\x02-")
    with pytest.raises(SchemaNotFoundError, match="the topic does not have the serializer's schema"):
        KafkaAvroSerializer(options, '"long"').serialize(TOPIC, 1)
    with pytest.raises(SchemaNotFoundError, match="no version of the topic has this schema as that of its keys"):
        KafkaAvroSerializer(options, USER, is_key=True).serialize(TOPIC, BOB)


def test_a_pair_that_the_topic_lacks_is_not_registered_without_auto_register(registry: LocalRegistry) -> None:
    with pytest.raises(SchemaNotFoundError, match="the topic does not have the serializer's schema"):
        KafkaAvroSerializer(conf(registry, auto_register_schemas=False), SEPARATED).serialize(TOPIC, BOB)
    assert registry.calls["POST schema"] == 0


# Keys in topics of another kind


def test_keys_are_errors_where_the_topic_has_no_pair(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER).warm_up(TOPIC)
    expected = (
        "topic users: keys have a schema in topics of type KEY_VALUE only, and this topic's schema is of type AVRO"
    )
    with pytest.raises(ConfigError, match=expected):
        KafkaAvroDeserializer(conf(registry), is_key=True).deserialize(TOPIC, b"\x02")
    with pytest.raises(ConfigError, match=expected):
        KafkaAvroDeserializer(conf(registry))(b"\x02", AS_KEY)
    with pytest.raises(ConfigError, match="cannot register the schema of keys alone"):
        KafkaAvroSerializer(conf(registry), KEY, is_key=True)
    assert registry.calls["POST schema"] == 1


def test_a_key_by_its_context_is_an_error_as_long_as_no_value_is_like_it(registry: LocalRegistry) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), USER), KafkaAvroDeserializer(conf(registry))
    refused = pytest.raises(ConfigError, match="keys have a schema in topics of type KEY_VALUE only")
    for _ in range(2):
        with refused:
            serializer(BOB, AS_KEY)
    message = serializer(BOB, AS_VALUE)
    with refused:
        serializer("of another class", AS_KEY)
    for _ in range(2):
        with refused:
            deserializer(BOB_BYTES, AS_KEY)
    assert deserializer(message, AS_VALUE) == BOB
    with refused:
        deserializer(BOB_BYTES, AS_KEY)  # without a header, as no value was


def test_keys_of_inline_topics_are_errors(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), INLINE)
    message = serializer(({"id": 1}, BOB), AS_VALUE)
    for use in (
        lambda: serializer({"id": 1}, AS_KEY),
        lambda: KafkaAvroSerializer(conf(registry), INLINE, is_key=True)({"id": 1}, AS_KEY),
        lambda: KafkaAvroDeserializer(conf(registry))(message, AS_KEY),
        lambda: KafkaAvroDeserializer(conf(registry), is_key=True).deserialize(TOPIC, message),
    ):
        with pytest.raises(ConfigError, match="topic users: the topic's keys are part of its values"):
            use()
    assert serializer(({"id": 1}, BOB), AS_VALUE) == message  # the failure has left no trace


# Schemas that change


def evolved(registry: LocalRegistry, encoding: Any = "SEPARATED", **more: Any) -> list[bytes]:
    """Values of two versions of the pair."""
    narrow, wide = KeyValueSchema(KEY, USER, encoding), KeyValueSchema(KEY, WIDER, encoding)
    data: Any = BOB if encoding == "SEPARATED" else ({"id": 1}, BOB)
    messages = [KafkaAvroSerializer(conf(registry, **more), schema).serialize(TOPIC, data) for schema in (narrow, wide)]
    return [message for message in messages if message is not None]


@pytest.mark.parametrize("encoding", ["SEPARATED", "INLINE"])
def test_framed_values_are_read_by_their_own_version(registry: LocalRegistry, encoding: str) -> None:
    old, new = evolved(registry, encoding, key_value_framing="value")
    deserializer = KafkaAvroDeserializer(conf(registry))
    for message, value in ((old, BOB), (new, {**BOB, "mail": "-"}), (old, BOB)):
        expected = value if encoding == "SEPARATED" else ({"id": 1}, value)
        assert deserializer(message, AS_VALUE) == expected


def test_bare_values_are_read_by_the_latest_version_unless_the_caller_knows_theirs(registry: LocalRegistry) -> None:
    old, new = evolved(registry)
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer.deserialize(TOPIC, new) == {**BOB, "mail": "-"}
    with pytest.raises(DecodeError, match="topic users, schema version 1, field mail"):
        deserializer.deserialize(TOPIC, old)
    assert deserializer.deserialize(TOPIC, old, version=0) == BOB


def test_given_schemas_read_bare_values_first_by_themselves_then_from_the_latest(registry: LocalRegistry) -> None:
    old, new = evolved(registry)
    deserializer = KafkaAvroDeserializer(conf(registry), SEPARATED)
    assert deserializer(old, AS_VALUE) == deserializer(new, AS_VALUE) == BOB
    assert deserializer(b"\x02", AS_KEY) == {"id": 1}
    with pytest.raises(DecodeError, match="topic users, schema version 1, field name"):
        deserializer(old[:3], AS_VALUE)


def test_a_readers_schema_alone_is_that_of_the_half_that_is_read(registry: LocalRegistry) -> None:
    old, new = evolved(registry, key_value_framing="value")
    reader = KafkaAvroDeserializer(conf(registry), WIDER)
    assert [reader(message, AS_VALUE) for message in (old, new)] == [{**BOB, "mail": "-"}] * 2
    assert reader(b"\x02", AS_KEY) == {"id": 1}
    longs = {**KEY, "fields": [{"name": "id", "type": "long"}, {"name": "more", "type": "int", "default": 5}]}
    keys = KafkaAvroDeserializer(conf(registry), longs, is_key=True)
    assert keys.deserialize(TOPIC, b"\x02") == {"id": 1, "more": 5}
    with pytest.raises(SchemaError, match="schema version 0"):
        KafkaAvroDeserializer(conf(registry), '"bytes"').deserialize(TOPIC, old)


def test_an_unknown_version_falls_back_to_the_latest(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), INLINE)
    body = serializer.serialize(TOPIC, ({"id": 1}, BOB))
    assert body is not None
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer.deserialize(TOPIC, framed(9, body)) == ({"id": 1}, BOB)
    assert deserializer.stats()["fallbacks"] == 1


def test_a_recreated_topic_is_noticed_by_a_message_that_cannot_be_read(registry: LocalRegistry) -> None:
    deserializer = KafkaAvroDeserializer(conf(registry, cache_latest_ttl_sec=0))
    message = KafkaAvroSerializer(conf(registry), INLINE).serialize(TOPIC, ({"id": 1}, BOB))
    assert deserializer.deserialize(TOPIC, message) == ({"id": 1}, BOB)
    registry.store.delete_forever("public/default/users")
    text = KeyValueSchema(KEY, "string", "INLINE")
    other = KafkaAvroSerializer(conf(registry, retries_total_ms=29_999), text).serialize(TOPIC, ({"id": 1}, "bob"))
    assert deserializer.deserialize(TOPIC, other) == ({"id": 1}, "bob")


# Bytes and objects that do not fit


def test_offsets_in_errors_count_the_header(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), INLINE).warm_up(TOPIC)
    with pytest.raises(DecodeError) as caught:
        KafkaAvroDeserializer(conf(registry)).deserialize(TOPIC, framed(0, bytes.fromhex("00000001020000000102")))
    assert (caught.value.path, caught.value.offset) == ("value.name", 20)


def test_bytes_behind_a_framed_value_are_allowed_only_if_asked_for(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), SEPARATED).warm_up(TOPIC)
    with pytest.raises(DecodeError):
        KafkaAvroDeserializer(conf(registry)).deserialize(TOPIC, framed(0, BOB_BYTES + b"x"))
    lenient = KafkaAvroDeserializer(conf(registry, ignore_trailing_bytes=True))
    assert lenient.deserialize(TOPIC, framed(0, BOB_BYTES + b"x")) == BOB
    with pytest.raises(DecodeError):
        lenient.deserialize(TOPIC, BOB_BYTES + b"x")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (({"id": "x"}, BOB), "field key.id: expected int, got str"),
        (({"id": 1}, {"age": "x"}), "field value.age: expected int, got str"),
        ({"id": 1}, "expected a KeyValue or a tuple of key and value, got dict"),
        ([1, 2], "expected a KeyValue or a tuple of key and value, got list"),
        (({"id": 1},), "expected a KeyValue or a tuple of key and value, got tuple"),
        (({"id": 1}, BOB, None), "expected a KeyValue or a tuple of key and value, got tuple"),
    ],
)
def test_pairs_that_do_not_fit_are_errors_that_name_the_half(registry: LocalRegistry, value: Any, words: str) -> None:
    serializer = KafkaAvroSerializer(conf(registry), INLINE)
    with pytest.raises(EncodeError, match=f"topic users, schema version 0(, |: ){words}"):
        serializer.serialize(TOPIC, value)
    assert serializer.serialize(TOPIC, (None, None)) == b"\xff" * 8
    assert serializer.stats()["errors"] == 1


def test_keys_that_do_not_fit_are_errors_of_the_key(registry: LocalRegistry) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))
    with pytest.raises(EncodeError, match="topic users, schema version 0, field id: expected int"):
        serializer({"id": "x"}, AS_KEY)
    assert serializer({"id": 1}, AS_KEY) == b"\x02"
    with pytest.raises(DecodeError, match="topic users, schema version 0, field id, byte 0"):
        deserializer(b"\x80", AS_KEY)
    assert deserializer(b"\x02", AS_KEY) == {"id": 1}
    assert (serializer.stats()["errors"], deserializer.stats()["errors"]) == (1, 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: KeyValueSchema(KEY, USER, "inline"), "expected the encoding INLINE or SEPARATED, got 'inline'"),  # type: ignore[arg-type]
        (lambda: KeyValueSchema(None, USER, "INLINE"), "needs a schema for the key and one for the value"),
        (lambda: KeyValueSchema(KEY, None, "INLINE"), "needs a schema for the key and one for the value"),
        (lambda: KeyValueSchema(SEPARATED, USER, "INLINE"), "a half of a key/value schema cannot be a key/value"),
        (lambda: TypedSchema("KEY_VALUE", KEY), "expected one of the types AVRO, JSON, PROTOBUF_NATIVE, BOOLEAN"),
        (lambda: TypedSchema("AVRO", KEY, {"owner": 7}), "expected properties as a dict of texts, got {'owner': 7}"),
        (lambda: TypedSchema("AVRO", KEY, None), "expected properties as a dict of texts, got None"),
        (lambda: KeyValueSchema("PROTOBUF", USER, "INLINE"), "expected one of the types AVRO, .*, got 'PROTOBUF'"),
        (lambda: TypedSchema("STRING", KEY), "the type STRING has no schema besides its name"),
        (lambda: TypedSchema("JSON"), "the type JSON needs a schema"),
    ],
)
def test_schemas_without_meaning_are_refused(make: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        make()


@pytest.mark.parametrize(
    ("text", "properties", "words"),
    [
        ("{", {}, "the KEY_VALUE schema is not JSON"),
        ("[]", {}, 'expected a KEY_VALUE schema with "key" and "value"'),
        ('{"key": ""}', {}, 'expected a KEY_VALUE schema with "key" and "value"'),
        ('{"key": "", "value": ""}', {"kv.encoding.type": "BOTH"}, "expected the encoding INLINE or SEPARATED"),
        ('{"key": "", "value": ""}', {"key.schema.type": "KEY_VALUE"}, "of type KEY_VALUE itself"),
        ('{"key": "", "value": ""}', {"value.schema.properties": "["}, "value.schema.properties is not JSON"),
        ('{"key": "", "value": ""}', {"key.schema.properties": "[]"}, "expected a JSON object with text values"),
        ('{"key": {"type": "nothing"}, "value": ""}', {"key.schema.type": "AVRO"}, "topic users, schema version 0"),
    ],
)
def test_damaged_pairs_of_the_registry_are_typed_errors(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, text: str, properties: dict[str, str], words: str
) -> None:
    from streamnative_serdes.schema_registry import SchemaInfo

    deserializer = KafkaAvroDeserializer(conf(registry))
    binding: Binding = policy_of(deserializer).binding
    info = SchemaInfo(0, "KEY_VALUE", text, properties=properties)
    monkeypatch.setattr(binding.client, "latest", lambda *_, **__: info)
    with pytest.raises(SchemaError, match=words):
        deserializer.deserialize(TOPIC, b"\x02")


# Classes, functions, pickles, threads


@dataclass
class Id:
    id: int


@dataclass
class Person:
    age: int
    name: str | None = None


def test_halves_may_be_classes(registry: LocalRegistry) -> None:
    options = conf(registry, allow_null=False)
    schema = KeyValueSchema(Id, Person, "INLINE")
    serializer, deserializer = KafkaAvroSerializer(options, schema), KafkaAvroDeserializer(options, schema)
    message = serializer((Id(1), Person(7, "bob")), AS_VALUE)
    assert message == bytes.fromhex("00000001 02 00000006 0e0206626f62")
    assert deserializer(message, AS_VALUE) == (Id(1), Person(7, "bob"))


def test_functions_see_each_half_with_its_field(registry: LocalRegistry) -> None:
    seen = []

    def noted(obj: Any, context: SerializationContext) -> Any:
        seen.append(context.field)
        return obj

    keys = KafkaAvroSerializer(conf(registry), SEPARATED, noted, is_key=True)
    values = KafkaAvroSerializer(conf(registry), SEPARATED, noted)
    keys.serialize(TOPIC, {"id": 1})
    values.serialize(TOPIC, BOB)
    values({"id": 1}, AS_KEY)
    KafkaAvroDeserializer(conf(registry), None, noted, is_key=True).deserialize(TOPIC, b"\x02")
    assert seen == [MessageField.KEY, MessageField.VALUE, MessageField.KEY, MessageField.KEY]


def test_pickles_know_the_pair_and_what_they_are_for(registry: LocalRegistry) -> None:
    options = conf(registry)
    originals = (
        KafkaAvroSerializer(options, SEPARATED, is_key=True),
        KafkaAvroSerializer(options, SEPARATED),
        KafkaAvroDeserializer(options, is_key=True),
        KafkaAvroDeserializer(options),
    )
    calls = [({"id": 1}, b"\x02"), (BOB, BOB_BYTES), (b"\x02", {"id": 1}), (BOB_BYTES, BOB)]

    def use(serdes: Any, data: Any) -> Any:
        return serdes.serialize(TOPIC, data) if hasattr(serdes, "serialize") else serdes.deserialize(TOPIC, data)

    for serdes, (data, expected) in zip(originals, calls, strict=True):
        assert use(serdes, data) == expected
    travelled = [pickle.dumps(serdes) for serdes in originals]
    Binding.forget()
    registry.reset_calls()
    for pickled, (data, expected) in zip(travelled, calls, strict=True):
        assert use(pickle.loads(pickled), data) == expected
    assert not registry.calls


def test_configure_says_what_it_is_for(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), SEPARATED).warm_up(TOPIC)
    deserializer = KafkaAvroDeserializer().configure(conf(registry), is_key=True)
    assert deserializer.deserialize(TOPIC, b"\x02") == {"id": 1}
    assert deserializer.configure(conf(registry)).deserialize(TOPIC, BOB_BYTES) == BOB  # as the constructor says
    keys = KafkaAvroDeserializer(is_key=True).configure(conf(registry))
    assert keys.deserialize(TOPIC, b"\x02") == {"id": 1}
    assert keys.configure(conf(registry), is_key=False).deserialize(TOPIC, BOB_BYTES) == BOB


class OldConfigure(KafkaAvroSerializer):
    def configure(self, conf: Any) -> Any:  # type: ignore[override]
        return super().configure(conf)


def test_a_subclass_whose_configure_takes_the_options_alone_can_be_pickled(registry: LocalRegistry) -> None:
    serializer = OldConfigure(conf(registry), SEPARATED)
    message = serializer.serialize(TOPIC, BOB)
    assert pickle.loads(pickle.dumps(serializer)).serialize(TOPIC, BOB) == message


def test_a_closed_serdes_reads_and_writes_keys_again(registry: LocalRegistry) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))
    for _ in range(2):
        assert deserializer(serializer({"id": 1}, AS_KEY), AS_KEY) == {"id": 1}
        serializer.close()
        deserializer.close()


def test_threads_share_one_serdes_for_keys_and_values(registry: LocalRegistry) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))

    def wrong(number: int) -> int:
        context, data = ((AS_KEY, {"id": number}), (AS_VALUE, {"age": number, "name": None}))[number % 2]
        return sum(deserializer(serializer(data, context), context) != data for _ in range(200))

    assert together(8, wrong) == [0] * 8
    assert deserializer.stats()["messages"] == serializer.stats()["messages"] == 8 * 200
    assert registry.calls["POST schema"] == 1


# Halves of other types


@pytest.mark.parametrize("is_key", [True, False])
def test_serdes_for_one_half_of_another_type_write_and_read_it(registry: LocalRegistry, is_key: bool) -> None:
    schema = KeyValueSchema("STRING", "INT32", "SEPARATED")
    datum, data = ("a", b"a") if is_key else (5, b"\0\0\0\5")
    serializer = KafkaAvroSerializer(conf(registry, key_value_framing="value"), schema, is_key=is_key)
    message = serializer.serialize(TOPIC, datum)
    assert message == (data if is_key else framed(0, data))
    for given in (None, schema):
        deserializer = KafkaAvroDeserializer(conf(registry), given, is_key=is_key)
        assert deserializer.deserialize(TOPIC, message) == datum
        travelled = pickle.loads(pickle.dumps(deserializer))
        assert travelled.deserialize(TOPIC, message) == datum


def test_data_of_another_type_is_an_error_that_names_the_half(registry: LocalRegistry) -> None:
    schema = KeyValueSchema("STRING", TypedSchema("JSON", USER), "INLINE")
    serializer, deserializer = KafkaAvroSerializer(conf(registry), schema), KafkaAvroDeserializer(conf(registry))
    with pytest.raises(EncodeError, match="topic users, schema version 0, field key: "):
        serializer.serialize(TOPIC, (5, BOB))
    with pytest.raises(EncodeError, match=r"topic users, schema version 0, field value\.age: "):
        serializer.serialize(TOPIC, ("a", {"age": "x"}))
    with pytest.raises(DecodeError, match="topic users, schema version 0, field key, byte 4: "):
        deserializer.deserialize(TOPIC, bytes.fromhex("00000001 ff ffffffff"))
    with pytest.raises(DecodeError, match="topic users, schema version 0, field value"):
        deserializer.deserialize(TOPIC, bytes.fromhex("ffffffff 00000001 7b"))


def test_a_readers_schema_of_another_type_than_the_half_is_an_error(registry: LocalRegistry) -> None:
    message = KafkaAvroSerializer(conf(registry), KeyValueSchema("STRING", USER, "SEPARATED")).serialize(TOPIC, BOB)
    with pytest.raises(
        SchemaError, match="schema version 0: expected a key of type AVRO, but the topic has type STRING"
    ):
        KafkaAvroDeserializer(conf(registry), '"string"', is_key=True).deserialize(TOPIC, b"a")
    with pytest.raises(SchemaError, match="expected a key of type INT32, but the topic has type STRING"):
        KafkaAvroDeserializer(conf(registry), KeyValueSchema("INT32", USER, "SEPARATED"), is_key=True).deserialize(
            TOPIC, b"a"
        )
    assert KafkaAvroDeserializer(conf(registry), USER).deserialize(TOPIC, message) == BOB


# What the registry leaves out


def registered(registry: LocalRegistry, properties: dict[str, str]) -> KafkaAvroDeserializer:
    """A deserializer of a topic whose pair of schemas, without texts, was registered by someone else."""
    deserializer = KafkaAvroDeserializer(conf(registry))
    client: SchemaRegistryClient = policy_of(deserializer).binding.client
    client.register(TOPIC, '{"key": "", "value": ""}', type="KEY_VALUE", properties=properties)
    return deserializer


def test_a_pair_without_an_encoding_is_inline(registry: LocalRegistry) -> None:
    deserializer = registered(registry, {"key.schema.type": "STRING", "value.schema.type": "INT8"})
    assert deserializer.deserialize(TOPIC, bytes.fromhex("00000001 61 00000001 05")) == ("a", 5)


def test_halves_without_a_type_are_bytes(registry: LocalRegistry) -> None:
    deserializer = registered(registry, {"kv.encoding.type": "SEPARATED"})
    assert (deserializer(b"\xff", AS_KEY), deserializer(b"\xfe", AS_VALUE)) == (b"\xff", b"\xfe")
