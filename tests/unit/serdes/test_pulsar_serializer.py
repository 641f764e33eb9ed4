"""KafkaPulsarSerializer: JSON, primitives and all other types, as Pulsar's own producers write them."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from any_type import header, register
from conf import conf
from confluent_kafka.serialization import MessageField, SerializationContext, Serializer
from schemas import logical, record
from waiting import together

from streamnative_serdes import (
    ConfigError,
    EncodeError,
    IncompatibleSchemaError,
    KafkaAutoConsumeDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValueSchema,
    SchemaError,
    SchemaNotFoundError,
    TypedSchema,
)
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import LocalRegistry

USER = record("User", ("name", "string"), ("age", "int"))
WIDER = record("User", ("name", "string"), ("age", "int"), ("city", ["null", "string"], None))
BOB = {"name": "bob", "age": 7}
TEXT = b'{"name":"bob","age":7}'


@dataclass
class User:
    name: str
    age: int


def held(registry: LocalRegistry, topic: str = "t") -> dict[str, Any]:
    """The latest schema of a topic, as the registry answers."""
    answer = requests.get(f"{registry.url}/admin/v2/schemas/public/default/{topic}/schema", timeout=10)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def has_schema(registry: LocalRegistry, topic: str = "t") -> bool:
    answer = requests.get(f"{registry.url}/admin/v2/schemas/public/default/{topic}/schema", timeout=10)
    return answer.status_code == 200


# What is written and registered


def test_json_is_written_without_a_header_and_its_schema_registered_once(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", USER, {"a": "b"}))
    for _ in range(3):
        assert serializer.serialize("t", BOB) == TEXT
    found = held(registry)
    assert (found["type"], json.loads(found["data"]), found["properties"]) == ("JSON", USER, {"a": "b"})
    assert registry.calls == {"POST schema": 1, "GET schema": 1}


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("BOOLEAN", True, b"\1"),
        ("INT8", -1, b"\xff"),
        ("INT16", 258, b"\1\2"),
        ("INT32", 16909060, b"\1\2\3\4"),
        ("INT64", 5, bytes(7) + b"\5"),
        ("FLOAT", 1.0, b"\x3f\x80\0\0"),
        ("DOUBLE", 1.0, b"\x3f\xf0" + bytes(6)),
        ("STRING", "\u20ac", b"\xe2\x82\xac"),
        ("DATE", 1, bytes(7) + b"\1"),
        ("TIME", 1, bytes(7) + b"\1"),
        ("TIMESTAMP", 1, bytes(7) + b"\1"),
        ("INSTANT", 1_000_000_002, bytes(7) + b"\1" + bytes(3) + b"\2"),
        ("LOCAL_DATE", 1, bytes(7) + b"\1"),
        ("LOCAL_TIME", 1, bytes(7) + b"\1"),
        ("LOCAL_DATE_TIME", 1, bytes(15) + b"\1"),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_primitives_are_registered_without_text_and_written_without_a_header(
    registry: LocalRegistry, kind: str, value: Any, data: bytes, named: bool
) -> None:
    serializer = KafkaPulsarSerializer(conf(registry), kind if named else TypedSchema(kind))
    context = SerializationContext("t", MessageField.VALUE)
    assert serializer(value, context) == serializer.serialize("t", value) == data
    assert (held(registry)["type"], held(registry)["data"]) == (kind, "")
    read = KafkaAutoConsumeDeserializer(conf(registry)).deserialize("t", data)
    assert read is not None
    assert read.schema_type == kind
    assert serializer.serialize("t", read.native_object) == data


def test_avro_is_written_as_by_the_avro_serializer(registry: LocalRegistry) -> None:
    expected = KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    for schema in (USER, TypedSchema("AVRO", USER), json.dumps(USER)):
        assert KafkaPulsarSerializer(conf(registry), schema).serialize("t", BOB) == expected
    serializer = KafkaPulsarSerializer(conf(registry), TypedSchema("AVRO", WIDER, {"a": "b"}))
    assert serializer.serialize("t", BOB)[:10] == header(1)  # type: ignore[index]
    assert held(registry)["properties"] == {"a": "b"}


def test_avros_own_string_is_not_pulsars(registry: LocalRegistry) -> None:
    assert KafkaPulsarSerializer(conf(registry), "string").serialize("a", "x") == header(0) + b"\2x"
    assert KafkaPulsarSerializer(conf(registry), "STRING").serialize("b", "x") == b"x"


def test_classes_give_the_schema_of_json(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(conf(registry, **{"allow.null": False}), TypedSchema("JSON", User))
    assert serializer.serialize("t", User("bob", 7)) == serializer.serialize("t", BOB) == TEXT
    assert [field["name"] for field in json.loads(held(registry)["data"])["fields"]] == ["name", "age"]


def test_objects_of_classes_are_written_as_json(registry: LocalRegistry) -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Member", name=(str, ...), age=(int | None, None), friend=(User | None, None))
    obj, text = (
        model(name="bob", age=7, friend=User("ann", 9)),
        b'{"age":7,"friend":{"age":9,"name":"ann"},"name":"bob"}',
    )
    own = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", model))
    for _ in range(2):
        assert own.serialize("t", obj) == text
        assert own.serialize("t", {"name": "bob", "age": 7, "friend": {"name": "ann", "age": 9}}) == text
    for other in (
        KafkaPulsarSerializer(conf(registry)),
        KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", held(registry)["data"])),
    ):
        assert other.serialize("t", obj) == text
        with pytest.raises(EncodeError, match=r"topic t, schema version 0, field age"):
            other.serialize("t", model.model_construct(name="bob", age="x", friend=None))
    pair = KeyValueSchema("STRING", TypedSchema("JSON", model), "INLINE")
    assert KafkaPulsarSerializer(conf(registry), pair).serialize("pairs", ("k", obj))[-len(text) :] == text  # type: ignore[index]


def test_a_class_keeps_the_branch_of_a_union(registry: LocalRegistry) -> None:
    branches = [record("Cat", ("name", "string")), record("Dog", ("name", "string"), ("good", "boolean", True))]
    schema = record("Pet", ("pet", branches))
    pydantic = pytest.importorskip("pydantic")
    cat = pydantic.create_model("Cat", name=(str, ...))
    pet = pydantic.create_model("Pet", pet=(cat, ...))
    serializer = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", schema))
    assert serializer.serialize("t", pet(pet=cat(name="Tom"))) == b'{"pet":{"name":"Tom"}}'
    moments = [record(name, ("at", logical("long", f"timestamp-{name}"))) for name in ("millis", "micros")]
    serializer, at = (
        KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", record("M", ("m", moments)))),
        dt.datetime(2013, 1, 1, 5, 0, 0, 123456, dt.UTC),
    )
    micros = pydantic.create_model("micros", at=(dt.datetime, ...))
    text = serializer.serialize("m", pydantic.create_model("M", m=(micros, ...))(m=micros(at=at)))
    assert text == serializer.serialize("m", {"m": ("micros", {"at": at})})
    assert text is not None
    assert b"123456" in text


def test_to_dict_converts(registry: LocalRegistry) -> None:
    seen: list[Any] = []

    def to_dict(obj: Any, context: Any) -> Any:
        seen.append((context.topic, context.field))
        return vars(obj)

    serializer = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", USER), to_dict)
    assert serializer.serialize("t", User("bob", 7)) == TEXT
    assert seen == [("t", MessageField.VALUE)]


def test_none_is_a_tombstone(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(conf(registry), "INT64")
    assert serializer.serialize("t", None) is None
    assert serializer(None, SerializationContext("t", MessageField.VALUE)) is None
    assert not has_schema(registry)


def test_an_object_that_does_not_fit_is_an_error_that_says_where(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", USER))
    for times in (1, 2):
        with pytest.raises(EncodeError) as caught:
            serializer.serialize("t", {"name": "bob", "age": "x"})
        assert (caught.value.topic, caught.value.version, caught.value.path) == ("t", 0, "age")
        assert serializer.stats()["errors"] == times
    assert serializer.serialize("t", BOB) == TEXT
    numbers = KafkaPulsarSerializer(conf(registry), "INT8")
    with pytest.raises(EncodeError, match=r"topic n, schema version 0: .*128"):
        numbers.serialize("n", 128)


# Topics without a schema


def test_bytes_are_written_to_topics_without_a_schema_and_register_none(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(conf(registry), "BYTES")
    for data in (b"abc", header(0), b""):
        assert serializer.serialize("t", data) == data
    assert not has_schema(registry)
    assert registry.calls["POST schema"] == 0


@pytest.mark.parametrize("kind", ["NONE", "BYTES"])
def test_bytes_are_written_to_topics_of_type_none(registry: LocalRegistry, kind: str) -> None:
    register(registry, "t", kind)
    assert KafkaPulsarSerializer(conf(registry), "BYTES").serialize("t", b"abc") == b"abc"
    assert KafkaPulsarSerializer(conf(registry)).serialize("t", b"abc") == b"abc"
    assert registry.calls["POST schema"] == 1


def test_bytes_are_refused_where_the_topic_has_a_schema(registry: LocalRegistry) -> None:
    register(registry, "t", "AVRO", USER)
    serializer = KafkaPulsarSerializer(conf(registry), "BYTES")
    for _ in range(2):
        with pytest.raises(SchemaError, match=r"topic t, schema version 0: .*it has one of type AVRO"):
            serializer.serialize("t", b"abc")


def test_a_topic_that_gets_a_schema_refuses_bytes_after_a_while(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(
        conf(registry, **{"cache.latest.ttl.sec": 0, "cache.missing.ttl.sec": 0}), "BYTES"
    )
    assert serializer.serialize("t", b"abc") == b"abc"
    register(registry, "t", "INT64")
    with pytest.raises(SchemaError, match="it has one of type INT64"):
        serializer.serialize("t", b"abc")


# What the topic has


PAIR = KeyValueSchema("STRING", "STRING", "SEPARATED")
BY_AVRO = "use KafkaAvroSerializer with an Avro schema"
BY_TYPE = "use KafkaPulsarSerializer with a schema of this type, or with none"


@pytest.mark.parametrize(
    ("there", "schema", "value", "new", "hint"),
    [
        ("INT32", "INT64", 5, "INT64", BY_TYPE),
        ("AVRO", TypedSchema("JSON", USER), BOB, "JSON", BY_AVRO),
        ("AVRO", PAIR, "x", "KEY_VALUE", BY_AVRO),
        ("JSON", USER, BOB, "AVRO", BY_TYPE),
        ("JSON", "STRING", "x", "STRING", BY_TYPE),
        ("KEY_VALUE", "STRING", "x", "STRING", "use a KeyValueSchema"),
    ],
)
def test_a_topic_of_another_type_is_an_error_that_says_what_writes_it(
    registry: LocalRegistry, there: str, schema: Any, value: Any, new: str, hint: str
) -> None:
    if there == "KEY_VALUE":
        KafkaPulsarSerializer(conf(registry), PAIR).serialize("t", "x")
    else:
        register(registry, "t", there, USER if there in ("AVRO", "JSON") else "")
    serializer = KafkaPulsarSerializer(conf(registry), schema)
    for _ in range(2):
        with pytest.raises(IncompatibleSchemaError, match=f"topic t: .*exists schema type {there}, ") as caught:
            serializer.serialize("t", value)
        assert caught.value.hint == f"the topic's schema is of type {there}, and the new one of type {new}: {hint}"
    assert held(registry)["type"] == there


@pytest.mark.parametrize("schema", ["INT64", TypedSchema("JSON", USER)])
def test_schemas_are_only_looked_up_if_they_are_not_to_be_registered(registry: LocalRegistry, schema: Any) -> None:
    serializer = KafkaPulsarSerializer(conf(registry, **{"auto.register.schemas": False}), schema)
    value = 5 if schema == "INT64" else BOB
    with pytest.raises(SchemaNotFoundError, match="register it first"):
        serializer.serialize("empty", value)
    register(registry, "other", "BOOLEAN")
    with pytest.raises(
        SchemaNotFoundError, match="the topic's schemas are of type BOOLEAN, and the serializer's is of"
    ):
        serializer.serialize("other", value)
    registry.reset_calls()
    kind, text = ("INT64", "") if schema == "INT64" else ("JSON", json.dumps(USER, indent=1))
    register(registry, "t", kind, text)
    assert serializer.serialize("t", value) in (TEXT, bytes(7) + b"\5")
    assert registry.calls == {"POST schema": 1, "GET schemas": 1}


def test_a_known_schema_of_an_evolved_json_topic_is_still_written(registry: LocalRegistry) -> None:
    old = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", USER))
    new = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", WIDER))
    assert old.serialize("t", BOB) == TEXT
    assert new.serialize("t", {**BOB, "city": "Rome"}) == b'{"name":"bob","age":7,"city":"Rome"}'
    assert old.serialize("t", BOB) == TEXT
    assert KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", USER)).serialize("t", BOB) == TEXT
    assert held(registry)["version"] == 1


def test_without_a_schema_each_object_is_written_by_its_topics_latest(registry: LocalRegistry) -> None:
    register(registry, "avro", "AVRO", USER)
    register(registry, "json", "JSON", USER)
    register(registry, "number", "INT16")
    pair = KeyValueSchema("STRING", TypedSchema("JSON", USER), "SEPARATED")
    KafkaAvroSerializer(conf(registry), pair).warm_up("pair")
    registry.reset_calls()
    serializer = KafkaPulsarSerializer(conf(registry))
    for _ in range(2):
        assert serializer.serialize("avro", BOB)[:10] == header(0)  # type: ignore[index]
        assert serializer.serialize("json", BOB) == serializer.serialize("json", User("bob", 7)) == TEXT
        assert serializer.serialize("number", 258) == b"\1\2"
        assert serializer.serialize("pair", BOB) == TEXT
        assert serializer("key", SerializationContext("pair", MessageField.KEY)) == b"key"
    assert registry.calls == {"GET schema": 4}
    with pytest.raises(SchemaNotFoundError, match="neither the serializer nor the topic has a schema"):
        serializer.serialize("nothing", BOB)


def test_an_object_of_a_class_registers_nothing_without_a_schema(registry: LocalRegistry) -> None:
    register(registry, "t", "AVRO", USER)
    assert KafkaPulsarSerializer(conf(registry)).serialize("t", User("bob", 7)) == header(0) + b"\6bob\x0e"
    assert registry.calls["POST schema"] == 1


@pytest.mark.parametrize("option", [{"use.latest.version": True}, {"use.schema.version": 1}])
def test_options_choose_a_version_of_the_topic(registry: LocalRegistry, option: dict[str, Any]) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    register(registry, "t", "INT64")
    register(registry, "t", "JSON", USER)
    chosen = conf(registry, **{"auto.register.schemas": False}, **option)
    for schema in (None, "INT64", TypedSchema("JSON", WIDER)):
        assert KafkaPulsarSerializer(chosen, schema).serialize("t", BOB) == TEXT
    with pytest.raises(ConfigError, match=r"auto\.register\.schemas"):
        KafkaPulsarSerializer(conf(registry, **option), "INT64")


# Keys


def test_key_value_topics_are_written_as_by_the_avro_serializer(registry: LocalRegistry) -> None:
    pair = KeyValueSchema("STRING", TypedSchema("JSON", USER), "SEPARATED")
    values, keys = KafkaPulsarSerializer(conf(registry), pair), KafkaPulsarSerializer(conf(registry), pair, is_key=True)
    assert (keys.serialize("t", "k"), values.serialize("t", BOB)) == (b"k", TEXT)
    assert held(registry)["type"] == "KEY_VALUE"
    by_topic = KafkaPulsarSerializer(conf(registry), is_key=True)
    assert by_topic.serialize("t", "k") == b"k"


@pytest.mark.parametrize("schema", ["STRING", TypedSchema("JSON", USER)])
def test_keys_have_no_schema_of_their_own(registry: LocalRegistry, schema: Any) -> None:
    with pytest.raises(ConfigError, match=r"Pulsar has one schema per topic.*KeyValueSchema"):
        KafkaPulsarSerializer(conf(registry), schema, is_key=True)
    serializer = KafkaPulsarSerializer(conf(registry), schema)
    with pytest.raises(ConfigError, match="keys have a schema in topics of type KEY_VALUE only"):
        serializer("k", SerializationContext("t", MessageField.KEY))


def test_a_pair_with_protobuf_is_registered_once(registry: LocalRegistry) -> None:
    """In a pair, the registry spaces the text of a descriptor otherwise than on its own."""
    pytest.importorskip("google.protobuf", reason="the extra protobuf is not installed")
    from google.protobuf.timestamp_pb2 import Timestamp

    pair = KeyValueSchema("INT32", TypedSchema("PROTOBUF_NATIVE", Timestamp), "SEPARATED")
    for number in range(2):
        Binding.forget()
        assert KafkaPulsarSerializer(conf(registry), pair).serialize("t", Timestamp(seconds=5)) == b"\x08\x05"
        assert registry.calls["POST schema"] == 1, number


# It is a serializer like the others


def test_anything_but_a_schema_is_refused(registry: LocalRegistry) -> None:
    for schema in (5, {"type": "nothing"}, "INT128", TypedSchema("JSON", {"type": "nothing"})):
        with pytest.raises(SchemaError):
            KafkaPulsarSerializer(conf(registry), schema)
    with pytest.raises(ConfigError, match="expected a schema, got options"):
        KafkaPulsarSerializer(conf(registry), conf(registry))
    with pytest.raises(ConfigError, match="expected a function"):
        KafkaPulsarSerializer(conf(registry), "INT64", 5)  # type: ignore[arg-type]


def test_options_of_a_second_registry_are_refused(registry: LocalRegistry) -> None:
    for option in ("framing", "confluent.schema.registry.url"):
        with pytest.raises(ConfigError, match="unknown option"):
            KafkaPulsarSerializer(conf(registry, **{option: "confluent"}), "INT64")


def test_the_avro_serializer_refuses_other_types_and_names_this_one(registry: LocalRegistry) -> None:
    assert KafkaAvroSerializer(conf(registry), TypedSchema("AVRO", USER)).serialize("t", BOB)[:10] == header(0)  # type: ignore[index]
    for schema in (TypedSchema("JSON", USER), TypedSchema("INT64")):
        with pytest.raises(SchemaError, match=f"got type {schema.type}.*KafkaPulsarSerializer"):
            KafkaAvroSerializer(conf(registry), schema)


@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy])
@pytest.mark.parametrize("schema", ["INT64", TypedSchema("JSON", USER), None])
def test_a_copy_writes_without_asking_again(registry: LocalRegistry, schema: Any, copied: Any) -> None:
    register(registry, "t", "INT64") if schema == "INT64" else register(registry, "t", "JSON", USER)
    serializer, value = KafkaPulsarSerializer(conf(registry), schema), 5 if schema == "INT64" else BOB
    assert isinstance(serializer, Serializer)
    expected = serializer.serialize("t", value)
    packed = copied(serializer)
    Binding.forget()  # simulates another process
    registry.reset_calls()
    again = copied(packed)
    assert again.serialize("t", value) == expected
    assert registry.calls == {}


@pytest.mark.parametrize("pair", [True, False])
def test_the_file_of_a_schema_is_read_at_once(registry: LocalRegistry, tmp_path: Path, pair: bool) -> None:
    path = tmp_path / "user.avsc"
    path.write_text(json.dumps(USER))
    schema: Any = TypedSchema("JSON", str(path))
    if pair:
        schema = KeyValueSchema(str(path), schema, "SEPARATED")
    serializer = KafkaPulsarSerializer(conf(registry), schema)
    path.unlink()
    again = pickle.loads(pickle.dumps(serializer))
    assert again.serialize("t", BOB) == TEXT
    assert again.configure(conf(registry)).serialize("t", BOB) == TEXT


def test_warm_up_asks_for_all_that_the_first_message_needs(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", USER))
    serializer.warm_up("t")
    assert registry.calls == {"POST schema": 1}
    assert serializer.serialize("t", BOB) == TEXT
    assert registry.calls == {"POST schema": 1}


def test_threads_share_one_serializer(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(conf(registry), TypedSchema("JSON", USER))
    results = together(8, lambda _: [serializer.serialize("t", BOB) for _ in range(100)])
    assert all(one == TEXT for found in results for one in found)
    assert registry.calls == {"POST schema": 1}
    assert serializer.stats()["messages"] == 800


def test_a_closed_serializer_stays_usable(registry: LocalRegistry) -> None:
    with KafkaPulsarSerializer(conf(registry), "INT64") as serializer:
        assert serializer.serialize("t", 5) == bytes(7) + b"\5"
    assert serializer.serialize("u", 5) == bytes(7) + b"\5"
    counts = serializer.stats()
    assert counts.pop("registry_calls") > 0
    assert counts == {"messages": 2, "bytes": 16, "hits": 0, "misses": 2, "errors": 0}


def test_it_is_used_before_and_after_configure(registry: LocalRegistry) -> None:
    serializer = KafkaPulsarSerializer(schema="INT64")
    with pytest.raises(ConfigError, match=r"schema\.registry\.url is missing"):
        serializer.serialize("t", 5)
    assert serializer.configure(conf(registry)).serialize("t", 5) == bytes(7) + b"\5"
