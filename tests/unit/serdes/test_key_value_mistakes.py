"""KEY_VALUE topics: mistakes that must not go unnoticed, and what a key must not depend on."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import requests
from confluent_kafka.serialization import MessageField, SerializationContext
from confluent_stand_in import ConfluentStandIn
from schemas import record
from waiting import together

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    EncodeError,
    IncompatibleSchemaError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaError,
    SchemaNotFoundError,
    TypedSchema,
)
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.schema_registry import SchemaRegistryClient
from streamnative_serdes.testing import LocalRegistry

KEY: Final = record("K", ("id", "long"))
USER: Final = record("User", ("age", "long"), ("name", ["null", "string"], None))
WIDER: Final = record("User", ("age", "long"), ("name", ["null", "string"], None), ("mail", "string", "-"))
BOB: Final = {"age": 7, "name": "bob"}
SEPARATED, INLINE = KeyValueSchema(KEY, USER, "SEPARATED"), KeyValueSchema(KEY, USER, "INLINE")
BOTH: Final = bytes.fromhex("00000001 02 00000006 0e0206626f62")  # ({"id": 1}, BOB), INLINE
TOPIC: Final = "users"
AS_KEY, AS_VALUE = (SerializationContext(TOPIC, field) for field in (MessageField.KEY, MessageField.VALUE))
ORDERS: Final = ("snip42,confluent,headerless", "snip42,headerless,confluent")


@dataclass
class K:
    id: int


@dataclass
class User:
    age: int
    name: str | None


def conf(registry: LocalRegistry, **more: Any) -> dict[str, Any]:
    """Classes have the schemas above."""
    options = {key.replace("_", "."): value for key, value in more.items()}
    return {"schema.registry.url": registry.url, "allow.null": False, **options}


def register(registry: LocalRegistry, schema: KeyValueSchema | dict[str, Any]) -> None:
    KafkaAvroSerializer(conf(registry), schema).warm_up(TOPIC)


def post(registry: LocalRegistry, value: dict[str, Any], encoding: str, kind: str = "AVRO") -> int:
    """Register a pair as others may do."""
    properties = {"kv.encoding.type": encoding}
    others = '{"team": 7, "share": 1e400, "open": true}'  # not texts, which Pulsar takes
    for half, its_type in (("key", "AVRO"), ("value", kind)):
        properties |= {f"{half}.schema.name": "", f"{half}.schema.type": its_type, f"{half}.schema.properties": others}
    body = {"type": "KEY_VALUE", "schema": json.dumps({"key": KEY, "value": value}), "properties": properties}
    answer = requests.post(f"{registry.url}/admin/v2/schemas/public/default/{TOPIC}/schema", json=body, timeout=30)
    assert answer.ok, answer.text
    version: int = answer.json()["version"]["version"]
    return version


# A pair where a half is expected, and other data of the wrong kind


def test_a_key_value_for_one_half_is_an_error_even_if_all_fields_have_defaults(registry: LocalRegistry) -> None:
    empty = record("Empty", ("name", ["null", "string"], None))
    schema = KeyValueSchema(empty, empty, "SEPARATED")
    both = KafkaAvroSerializer(conf(registry), schema)
    keys = KafkaAvroSerializer(conf(registry), schema, is_key=True)
    assert both({}, AS_VALUE) == both({}, AS_KEY) == b"\x00"
    for serializer, context in ((both, AS_VALUE), (both, AS_KEY), (keys, AS_KEY)) * 2:
        with pytest.raises(EncodeError, match="topic users, schema version 0: expected a key or a value, got a Key"):
            serializer(KeyValue({"name": "a"}, {"name": "b"}), context)
    assert both({"name": "c"}, AS_VALUE) == b"\x02\x02c"


@pytest.mark.parametrize("automatic", [True, False])
def test_a_key_value_without_a_schema_is_written_by_the_topics_pair(registry: LocalRegistry, automatic: bool) -> None:
    serializer = KafkaAvroSerializer(conf(registry, auto_register_schemas=automatic))
    with pytest.raises(SchemaNotFoundError, match="pass one to the serializer, for pairs a KeyValueSchema"):
        serializer.serialize("new", KeyValue({"id": 1}, BOB))
    register(registry, INLINE)
    assert serializer.serialize(TOPIC, KeyValue({"id": 1}, BOB)) == BOTH


@pytest.mark.parametrize("schema", [SEPARATED, record("Empty", ("name", ["null", "string"], None))])
@pytest.mark.parametrize("cls", [KafkaAvroSerializer, KafkaPulsarSerializer])
def test_a_key_value_without_a_schema_is_refused_where_the_topic_has_no_inline_pair(
    registry: LocalRegistry, cls: type[KafkaAvroSerializer | KafkaPulsarSerializer], schema: Any
) -> None:
    register(registry, schema)
    with pytest.raises(EncodeError, match=r"topic users, schema version 0: expected .*, got a KeyValue"):
        cls(conf(registry)).serialize(TOPIC, KeyValue({"id": 1}, BOB))


LIST: Final = {"type": "array", "items": "long"}
INTEGERS: Final = TypedSchema("JSON", record("Ints", ("items", LIST)))


@pytest.mark.parametrize("framing", ["bare", "value"])
@pytest.mark.parametrize("half", [USER, "string", "INT32", INTEGERS], ids=["record", "string", "INT32", "JSON"])
def test_a_tuple_for_one_half_is_an_error_that_says_where_the_other_goes(
    registry: LocalRegistry, half: Any, framing: str
) -> None:
    both = KeyValueSchema(half, half, "SEPARATED")
    options = conf(registry, key_value_framing=framing)
    value, key = KafkaAvroSerializer(options, both), KafkaAvroSerializer(options, both, is_key=True)
    for _ in range(2):
        with pytest.raises(EncodeError, match=r"topic users, schema version 0: .* got tuple") as caught:
            value.serialize(TOPIC, ({"id": 1}, BOB))
        assert caught.value.hint == (
            "the topic's encoding is SEPARATED: give the value alone; the key goes to a serializer with is_key=True"
        )
        for write in (lambda: key.serialize(TOPIC, (1, 2)), lambda: value((1, 2), AS_KEY)):
            with pytest.raises(EncodeError, match="got tuple") as caught:
                write()
            assert caught.value.hint == "the topic's encoding is SEPARATED: give the key alone; the value has its own"
    with pytest.raises(EncodeError, match="got tuple") as caught:
        value.serialize(TOPIC, (1, 2, 3))  # not both halves
    assert "SEPARATED" not in (caught.value.hint or "")


@pytest.mark.parametrize("framing", ["bare", "value"])
def test_a_tuple_is_data_of_one_half_where_it_fits(registry: LocalRegistry, framing: str) -> None:
    both = KeyValueSchema(LIST, LIST, "SEPARATED")
    options = conf(registry, key_value_framing=framing)
    value, key = KafkaAvroSerializer(options, both), KafkaAvroSerializer(options, both, is_key=True)
    header = {"bare": b"", "value": b"\3\4" + bytes(8)}[framing]
    assert value.serialize(TOPIC, (1, 2)) == header + b"\x04\x02\x04\x00" == value.serialize(TOPIC, [1, 2])
    assert key.serialize(TOPIC, (1, 2)) == b"\x04\x02\x04\x00" == value((1, 2), AS_KEY)
    with pytest.raises(EncodeError, match=r"field \[1\]") as caught:
        value.serialize(TOPIC, (1, "x"))
    assert "SEPARATED" not in (caught.value.hint or "")


def test_columns_of_the_value_alone_are_a_clear_error(registry: LocalRegistry) -> None:
    pa = pytest.importorskip("pyarrow")
    serializer = KafkaAvroSerializer(conf(registry), SEPARATED)
    with pytest.raises(EncodeError, match=r'topic users, .*: expected the columns "key" and "value" .*, got age, name'):
        serializer.serialize_batch(TOPIC, pa.table({"age": [7], "name": ["bob"]}))


# Another encoding than the topic's


@pytest.mark.parametrize(("first", "encoding"), [(SEPARATED, "INLINE"), (INLINE, "SEPARATED")])
def test_an_evolved_pair_with_another_encoding_is_not_registered(
    registry: LocalRegistry, first: KeyValueSchema, encoding: Any
) -> None:
    register(registry, first)
    Binding.forget()
    other = KafkaAvroSerializer(conf(registry), KeyValueSchema(KEY, WIDER, encoding))
    with pytest.raises(SchemaError, match=f"and AVRO, {encoding}, but the registry holds .*{first.encoding}"):
        other.warm_up(TOPIC)
    assert registry.calls["POST schema"] == 1
    register(registry, KeyValueSchema(KEY, WIDER, first.encoding))
    assert registry.calls["POST schema"] == 2


def test_a_pair_that_the_topic_has_is_written_though_others_have_changed_the_encoding(registry: LocalRegistry) -> None:
    register(registry, SEPARATED)
    assert post(registry, WIDER, "INLINE") == 1
    Binding.forget()
    framed = KafkaAvroSerializer(conf(registry, key_value_framing="value"), SEPARATED).serialize(TOPIC, BOB)
    assert framed is not None
    assert framed[:10] == b"\x03\x04" + bytes(8)
    assert KafkaAvroDeserializer(conf(registry)).deserialize(TOPIC, framed) == BOB


def test_given_schemas_with_another_encoding_or_for_a_topic_of_another_type_are_errors(registry: LocalRegistry) -> None:
    register(registry, SEPARATED)
    reader = KafkaAvroDeserializer(conf(registry), INLINE)
    for context in (AS_VALUE, AS_KEY) * 2:
        with pytest.raises(SchemaError, match="expected the encoding INLINE, but the topic has SEPARATED"):
            reader(b"\x02", context)
    framed = KafkaAvroSerializer(conf(registry), USER).serialize("plain", BOB)
    assert framed is not None
    for message in (framed, framed[10:]):
        with pytest.raises(SchemaError, match="expected a schema of type KEY_VALUE, got type AVRO"):
            KafkaAvroDeserializer(conf(registry), SEPARATED).deserialize("plain", message)


def test_a_pair_that_differs_in_what_avro_does_not_compare_is_no_new_version(registry: LocalRegistry) -> None:
    documented = {"fields": USER["fields"], "name": "User", "doc": "in another order", "type": "record"}
    for value in (USER, documented, WIDER, documented):
        Binding.forget()
        register(registry, KeyValueSchema(KEY, value, "SEPARATED"))
    assert registry.calls["POST schema"] == 2


def test_a_race_for_the_first_version_with_another_encoding_is_noticed(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(registry, SEPARATED)
    Binding.forget()
    monkeypatch.setattr(SchemaRegistryClient, "all_versions", lambda self, topic: [])  # as it was a moment ago
    for _ in range(2):
        with pytest.raises(SchemaError, match=r"and AVRO, INLINE, but the registry holds .*SEPARATED"):
            KafkaAvroSerializer(conf(registry), INLINE).warm_up(TOPIC)


@pytest.mark.parametrize("schema", [KeyValueSchema("STRING", USER, "SEPARATED"), USER])
def test_another_type_than_the_topics_is_refused_with_a_hint(registry: LocalRegistry, schema: Any) -> None:
    register(registry, SEPARATED)
    with pytest.raises(IncompatibleSchemaError) as caught:
        register(registry, schema)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("the topic")
    assert "type" in caught.value.hint


# Keys as objects of classes


@pytest.mark.parametrize("automatic", [True, False])
def test_a_key_of_a_class_is_written_by_the_topics_pair_that_has_its_schema(
    registry: LocalRegistry, automatic: bool
) -> None:
    register(registry, SEPARATED)
    options = conf(registry, auto_register_schemas=automatic)
    shared, keys = KafkaAvroSerializer(options), KafkaAvroSerializer(options, is_key=True)
    for _ in range(2):
        assert shared(K(1), AS_KEY) == keys(K(1), AS_KEY) == keys.serialize(TOPIC, K(1)) == b"\x02"
    assert registry.calls["POST schema"] == 1
    with pytest.raises(SchemaNotFoundError, match="no version of the topic has this schema as that of its keys"):
        keys.serialize(TOPIC, User(7, None))
    assert shared(K(2), AS_KEY) == b"\x04"


def test_one_serializer_takes_objects_of_the_same_class_as_keys_and_as_values(registry: LocalRegistry) -> None:
    register(registry, KeyValueSchema(KEY, KEY, "SEPARATED"))
    options = conf(registry, auto_register_schemas=False, key_value_framing="value")
    for contexts in ((AS_KEY, AS_VALUE, AS_KEY), (AS_VALUE, AS_KEY, AS_VALUE)):
        serializer = KafkaAvroSerializer(options)
        expected = {MessageField.KEY: b"\x02", MessageField.VALUE: b"\x03\x04" + bytes(8) + b"\x02"}
        assert [serializer(K(1), context) for context in contexts] == [expected[each.field] for each in contexts]


def test_keys_do_not_depend_on_whether_values_can_be_read(registry: LocalRegistry) -> None:
    post(registry, USER, "SEPARATED", "PROTOBUF")
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer(b"\x02", AS_KEY) == {"id": 1}
    assert deserializer.stats()["misses"] == 1


# Classes to read as


def test_value_type_holds_for_values_of_given_schemas_and_keys_stay_dicts(registry: LocalRegistry) -> None:
    register(registry, SEPARATED)
    for schema in (None, SEPARATED, KeyValueSchema(KEY, User, "SEPARATED")):
        deserializer = KafkaAvroDeserializer(conf(registry, value_type=User), schema)
        assert deserializer(b"\x0e\x02\x06bob", AS_VALUE) == User(7, "bob")
        assert deserializer(b"\x02", AS_KEY) == {"id": 1}
        keys = KafkaAvroDeserializer(conf(registry, value_type=K), schema, is_key=True)
        assert keys.deserialize(TOPIC, b"\x02") == K(1)


def test_value_type_for_a_half_without_fields_is_refused(registry: LocalRegistry) -> None:
    with pytest.raises(ConfigError, match=r"value\.type is for halves of type AVRO, and this one has type STRING"):
        KafkaAvroDeserializer(conf(registry, value_type=User), KeyValueSchema(KEY, "STRING", "SEPARATED"))


# Files


def test_schemas_in_files_are_read_once_and_travel_in_pickles(registry: LocalRegistry, tmp_path: Path) -> None:
    file = tmp_path / "key.avsc"
    file.write_text(json.dumps(KEY))
    schema = KeyValueSchema(TypedSchema("AVRO", file), USER, "SEPARATED")
    serializer, deserializer = (
        KafkaAvroSerializer(conf(registry), schema),
        KafkaAvroDeserializer(conf(registry), schema),
    )
    sent = pickle.dumps((serializer, deserializer))
    file.unlink()
    for writer, reader in (pickle.loads(sent), (serializer, deserializer)):
        assert writer({"id": 1}, AS_KEY) == b"\x02"
        assert reader(b"\x02", AS_KEY) == {"id": 1}
    assert serializer.configure(conf(registry))({"id": 1}, AS_KEY) == b"\x02"


# Messages without a version, and other framings


def test_without_a_fallback_bare_messages_need_given_schemas(registry: LocalRegistry) -> None:
    register(registry, SEPARATED)
    options = conf(registry, fallback_to_latest=False)
    for _ in range(2):
        with pytest.raises(DecodeError, match=r"keys have no schema version \(hint: .*KeyValueSchema"):
            KafkaAvroDeserializer(options)(b"\x02", AS_KEY)
        with pytest.raises(DecodeError, match="the message has no schema version header"):
            KafkaAvroDeserializer(options)(b"\x0e\x00", AS_VALUE)
    reader = KafkaAvroDeserializer(options, SEPARATED)
    assert (reader(b"\x02", AS_KEY), reader(b"\x0e\x00", AS_VALUE)) == ({"id": 1}, {"age": 7, "name": None})
    register(registry, KeyValueSchema(KEY, WIDER, "SEPARATED"))
    Binding.forget()
    wider = b"\x0e\x00\x02-"  # as the latest schema reads it
    assert KafkaAvroDeserializer(conf(registry), SEPARATED)(wider, AS_VALUE) == {"age": 7, "name": None}
    with pytest.raises(DecodeError, match="byte 2: expected the end of the message"):
        KafkaAvroDeserializer(options, SEPARATED)(wider, AS_VALUE)


@pytest.mark.parametrize("framings", ORDERS)
def test_pairs_are_read_beside_confluents_framing_though_lengths_look_like_its_prefix(
    registry: LocalRegistry, framings: str
) -> None:
    register(registry, INLINE)
    with ConfluentStandIn() as second:
        options = conf(registry, framings=framings, confluent_schema_registry_url=second.url)
        deserializer = KafkaAvroDeserializer(options)
        for _ in range(2):
            assert deserializer(BOTH, AS_VALUE) == ({"id": 1}, BOB)
        assert {name: deserializer.stats()[name] for name in ("messages", "headerless", "confluent", "errors")} == {
            "messages": 2,
            "headerless": 2,
            "confluent": 0,
            "errors": 0,
        }
        with pytest.raises(DecodeError, match="field value, byte 5"):
            deserializer(BOTH[:-1], AS_VALUE)


@pytest.mark.parametrize("framings", ORDERS)
def test_a_key_is_never_taken_for_confluents_framing(registry: LocalRegistry, framings: str) -> None:
    numbers = record("Numbers", *((name, "int") for name in "abcdef"))
    schema = KeyValueSchema(numbers, USER, "SEPARATED")
    register(registry, schema)
    data = dict.fromkeys("abcd", 0) | {"e": -1, "f": 5}
    key = bytes.fromhex("00000000 01 0a")
    with ConfluentStandIn() as second:
        assert second.register(f"{TOPIC}-value", record("Other", ("x", "int"))) == 1  # the "id" in the key
        options = conf(registry, framings=framings, confluent_schema_registry_url=second.url)
        for own in (KafkaAvroDeserializer(options), KafkaAvroDeserializer(options, is_key=True)):
            for _ in range(2):
                assert own(key, AS_KEY) == data
            assert own.stats()["confluent"] == 0
        only = conf(registry, framings="snip42,confluent", confluent_schema_registry_url=second.url)
        assert KafkaAvroDeserializer(only)(key, AS_KEY) == data


def test_a_damaged_inline_message_is_not_said_to_be_confluents(registry: LocalRegistry) -> None:
    register(registry, INLINE)
    with pytest.raises(DecodeError) as caught:
        KafkaAvroDeserializer(conf(registry)).deserialize(TOPIC, BOTH[:-1])
    assert caught.value.hint is None


# Counters


def test_keys_that_one_serdes_takes_by_context_count_once(registry: LocalRegistry) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))
    expected = {"messages": 0, "hits": -1, "misses": 1, "errors": 0}
    for _ in range(3):
        assert serializer({"id": 1}, AS_KEY) == b"\x02"
        assert deserializer(b"\x02", AS_KEY) == {"id": 1}
        expected = {**expected, "messages": expected["messages"] + 1, "hits": expected["hits"] + 1}
        for stats in (serializer.stats(), deserializer.stats()):
            assert {name: stats[name] for name in expected} == expected
    for _ in range(2):
        with pytest.raises(DecodeError):
            deserializer(b"\x02\x02", AS_KEY)
    assert {name: deserializer.stats()[name] for name in ("messages", "misses", "errors", "headerless")} == {
        "messages": 5,
        "misses": 1,
        "errors": 2,
        "headerless": 5,
    }


def test_a_registry_that_is_away_counts_one_error_for_a_key(registry: LocalRegistry) -> None:
    register(registry, SEPARATED)
    Binding.forget()
    options = {**conf(registry), "schema.registry.url": "http://127.0.0.1:1", "retries.first.ms": 1}
    deserializer = KafkaAvroDeserializer(options)
    with pytest.raises(Exception, match=r"127\.0\.0\.1"):
        deserializer(b"\x02", AS_KEY)
    assert {name: deserializer.stats()[name] for name in ("messages", "hits", "misses", "errors")} == {
        "messages": 1,
        "hits": 0,
        "misses": 1,
        "errors": 1,
    }


def test_configure_keeps_the_counts_of_keys(registry: LocalRegistry) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))
    for number in range(1, 4):
        assert deserializer(serializer({"id": 1}, AS_KEY), AS_KEY) == {"id": 1}
        for serdes in (serializer, deserializer):
            assert serdes.stats()["messages"] == serdes.configure(conf(registry)).stats()["messages"] == number
    assert deserializer.stats()["headerless"] == 3


# Several of everything


@pytest.mark.parametrize("field", ["key", MessageField.KEY, "".join(("k", "ey"))])
def test_fields_are_compared_as_text(registry: LocalRegistry, field: str) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))
    as_key, as_value = (SerializationContext(TOPIC, name) for name in (field, "value"))
    for _ in range(2):
        assert (serializer({"id": 1}, as_key), serializer(BOB, as_value)) == (b"\x02", b"\x0e\x02\x06bob")
        read = deserializer(b"\x02", as_key), deserializer(b"\x0e\x00", as_value)
        assert read == ({"id": 1}, {"age": 7, "name": None})


def test_keys_of_several_topics_and_classes_take_turns(registry: LocalRegistry) -> None:
    # Each key could be written and read by the schema of the other topic, so a wrong choice would not be an error.
    others = record("K", ("number", "long", 0), ("id", "long", 0))
    for topic, schema in (("one", SEPARATED), ("two", KeyValueSchema(others, USER, "SEPARATED"))):
        KafkaAvroSerializer(conf(registry), schema).warm_up(topic)
    writer = KafkaAvroSerializer(conf(registry, auto_register_schemas=False, use_latest_version=True))
    reader = KafkaAvroDeserializer(conf(registry))
    one, two = (SerializationContext(topic, MessageField.KEY) for topic in ("one", "two"))
    for _ in range(3):
        assert (writer({"id": 1}, one), writer({"id": 1}, two), writer(K(1), one)) == (b"\x02", b"\x00\x02", b"\x02")
        assert (reader(b"\x02", one), reader(b"\x00\x02", two)) == ({"id": 1}, {"number": 0, "id": 1})
    assert (writer.stats()["messages"], reader.stats()["messages"]) == (9, 6)


def test_of_equal_versions_the_newest_is_written_and_the_last_encoding_counts(registry: LocalRegistry) -> None:
    for doc in ("a", "b"):
        post(registry, {**USER, "doc": doc}, "SEPARATED")
    framed = KafkaAvroSerializer(conf(registry, key_value_framing="value"), SEPARATED).serialize(TOPIC, BOB)
    assert framed is not None
    assert framed[:10] == b"\x03\x04" + bytes(7) + b"\x01"
    post(registry, WIDER, "INLINE")
    Binding.forget()
    wider_key = record("K", ("id", "long"), ("shard", "int", 0))
    with pytest.raises(SchemaError, match="but the registry holds KEY_VALUE of AVRO and AVRO, INLINE"):
        register(registry, KeyValueSchema(wider_key, WIDER, "SEPARATED"))


# What changes while keys are read and written


def test_a_recreated_topic_is_noticed_by_a_key_that_cannot_be_read(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamnative_serdes._topics.binding._LEAST_SECONDS", 0.0)
    text_key = KeyValueSchema(record("K", ("name", "string")), USER, "SEPARATED")
    register(registry, SEPARATED)
    shared, own = KafkaAvroDeserializer(conf(registry)), KafkaAvroDeserializer(conf(registry), is_key=True)
    for reader in (shared, own):
        assert reader(b"\x02", AS_KEY) == {"id": 1}
    registry.store.delete_forever(f"public/default/{TOPIC}")
    Binding.forget()
    register(registry, text_key)  # as another process
    for reader in (shared, own):
        assert reader(b"\x06abc", AS_KEY) == {"name": "abc"}


def test_threads_share_one_serdes_that_is_configured_closed_and_pickled_meanwhile(registry: LocalRegistry) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))

    def work(number: int) -> int:
        context, data = ((AS_KEY, {"id": number}), (AS_VALUE, {"age": number, "name": None}))[number % 2]
        if number > 5:
            return sum(disturb(step, context, data) for step in range(60))
        return sum(deserializer(serializer(data, context), context) != data for _ in range(1_000))

    def disturb(step: int, context: SerializationContext, data: Any) -> int:
        if step % 3 == 0:
            serializer.configure(conf(registry))
            deserializer.configure(conf(registry))
        elif step % 3 == 1:
            serializer.close()
            deserializer.close()
        writer, reader = pickle.loads(pickle.dumps((serializer, deserializer)))
        return int(reader(writer(data, context), context) != data)

    assert together(8, work) == [0] * 8
