"""The schema with which KafkaAvroDeserializer reads a message, and its errors if no schema matches."""

import copy
import logging
import pickle
from typing import Any

import any_type
import pytest
from conf import conf
from confluent_kafka.serialization import Deserializer, MessageField, SerializationContext
from travelled import unpickled

from streamnative_serdes import (
    DecodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes._call_path import policy_of
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

USER: dict[str, Any] = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": "int"}],
}
WIDER = {**USER, "fields": [*USER["fields"], {"name": "city", "type": ["null", "string"], "default": None}]}
BOB = {"name": "bob", "age": 7}
ANN = {"name": "ann", "age": 9, "city": "Rome"}
LONGS = {"type": "record", "name": "Longs", "fields": [{"name": n, "type": "long"} for n in "abcdefghij"]}


def register(registry: LocalRegistry, topic: str, *schemas: Any) -> list[bytes]:
    """Register the schemas in order, and return the header of each."""
    headers = []
    for schema in schemas:
        serializer = KafkaAvroSerializer(conf(registry), schema)
        version = policy_of(serializer).bind(serializer, topic, None, None).version
        headers.append(b"\x03\x04" + version.to_bytes(8, "big"))
    return headers


def framed(version: int, schema: Any, datum: Any) -> bytes:
    return b"\x03\x04" + version.to_bytes(8, "big") + Codec(schema).encode(datum)


@pytest.fixture
def users(registry: LocalRegistry) -> LocalRegistry:
    """Topic "users" with version 0 (USER) and version 1 (WIDER)."""
    register(registry, "users", USER, WIDER)
    registry.reset_calls()
    return registry


def test_each_message_is_read_with_the_version_it_was_written_with(users: LocalRegistry) -> None:
    deserializer = KafkaAvroDeserializer(conf(users))
    for _ in range(3):
        assert deserializer.deserialize("users", framed(0, USER, BOB)) == BOB
        assert deserializer.deserialize("users", framed(1, WIDER, ANN)) == ANN
    assert users.calls == {"GET version": 2}


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_bytearray_and_memoryview_are_accepted(users: LocalRegistry, kind: Any) -> None:
    context = SerializationContext("users", MessageField.VALUE)
    assert KafkaAvroDeserializer(conf(users))(kind(framed(0, USER, BOB)), context) == BOB


def test_it_is_an_instance_of_confluents_deserializer(users: LocalRegistry) -> None:
    assert isinstance(KafkaAvroDeserializer(conf(users)), Deserializer)


def test_none_is_returned_as_none_without_using_the_registry(users: LocalRegistry) -> None:
    deserializer = KafkaAvroDeserializer()
    assert deserializer(None, None) is None
    assert deserializer.deserialize("users", None) is None


def test_a_message_without_a_header_is_read_with_the_latest_schema(users: LocalRegistry) -> None:
    deserializer = KafkaAvroDeserializer(conf(users))
    for _ in range(3):
        assert deserializer.deserialize("users", Codec(WIDER).encode(ANN)) == ANN
    assert users.calls == {"GET schema": 1, "GET version": 1}, "version 0, which this process knows, is the same still"
    assert deserializer.stats()["headerless"] == 3
    assert deserializer.stats()["fallbacks"] == 0


def test_the_caller_may_pass_the_version_of_a_message_without_a_header(users: LocalRegistry) -> None:
    deserializer = KafkaAvroDeserializer(conf(users))
    assert deserializer.deserialize("users", Codec(USER).encode(BOB), version=0) == BOB
    assert deserializer.deserialize("users", Codec(WIDER).encode(ANN), version=-1) == ANN
    with pytest.raises(SchemaNotFoundError, match="schema version 9"):
        deserializer.deserialize("users", Codec(USER).encode(BOB), version=9)


@pytest.mark.parametrize("version", ["3", 1.5, True, 2**63, 2**62])
def test_an_invalid_version_is_refused_with_and_without_header(users: LocalRegistry, version: Any) -> None:
    deserializer = KafkaAvroDeserializer(conf(users))
    for message in (framed(0, USER, BOB), framed(0, USER, BOB)[:-1], Codec(USER).encode(BOB)):
        with pytest.raises(DecodeError, match=r"expected a schema version as int below 2\*\*62, got"):
            deserializer.deserialize("users", message, version=version)


def test_a_header_takes_precedence_over_the_callers_version(users: LocalRegistry) -> None:
    assert KafkaAvroDeserializer(conf(users)).deserialize("users", framed(0, USER, BOB), version=1) == BOB


def test_an_unknown_version_is_read_with_the_latest_counted_and_logged_once(
    users: LocalRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    deserializer = KafkaAvroDeserializer(conf(users))
    with caplog.at_level(logging.WARNING, "streamnative_serdes"):
        for _ in range(5):
            assert deserializer.deserialize("users", framed(77, WIDER, ANN)) == ANN
    assert deserializer.stats()["fallbacks"] == 5
    assert [record.getMessage() for record in caplog.records] == [
        "topic users: a message has schema version 77 in its header, which the registry does not have; "
        "read the bytes after its header with version 1"
    ]
    assert users.calls == {"GET version": 2, "GET schema": 1}, "77, and 0, which is the same still"


def test_avro_that_begins_like_a_header_is_read_as_a_whole(registry: LocalRegistry) -> None:
    register(registry, "longs", LONGS)
    deserializer = KafkaAvroDeserializer(conf(registry))
    for rest in ([5] * 8, [-2] * 8, [2**40] * 8):
        datum = dict(zip("abcdefghij", [-2, 2, *rest], strict=True))
        message = Codec(LONGS).encode(datum)
        assert message[:2] == b"\x03\x04"
        assert deserializer.deserialize("longs", message) == datum


def test_a_marker_alone_is_not_a_header(registry: LocalRegistry) -> None:
    pair = {"type": "record", "name": "Pair", "fields": [{"name": n, "type": "long"} for n in "ab"]}
    register(registry, "pairs", pair)
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer.deserialize("pairs", b"\x03\x04") == {"a": -2, "b": 2}


def test_data_that_looks_like_a_header_is_read_with_the_callers_version(registry: LocalRegistry) -> None:
    register(registry, "longs", LONGS)
    datum = dict(zip("abcdefghij", [-2, 2, *[0] * 8], strict=True))  # the bytes of a header of version 0
    message = Codec(LONGS).encode(datum)
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer.deserialize("longs", message, version=0) == datum
    with pytest.raises(DecodeError, match="topic longs, schema version 0"):
        deserializer.deserialize("longs", message)


def test_the_error_of_an_unreadable_message_contains_both_reasons(users: LocalRegistry) -> None:
    with pytest.raises(DecodeError) as caught:
        KafkaAvroDeserializer(conf(users)).deserialize("users", framed(77, USER, BOB) + b"xyz")
    text = str(caught.value)
    assert text.startswith("topic users, schema version 77: the registry does not have this version")
    assert "after the header: " in text
    assert "as a whole: " in text


def test_the_fallback_can_be_turned_off(users: LocalRegistry) -> None:
    deserializer = KafkaAvroDeserializer(conf(users, **{"fallback.to.latest": False}))
    assert deserializer.deserialize("users", framed(0, USER, BOB)) == BOB
    assert deserializer.deserialize("users", Codec(USER).encode(BOB), version=0) == BOB
    with pytest.raises(SchemaNotFoundError, match="schema version 77"):
        deserializer.deserialize("users", framed(77, WIDER, ANN))
    with pytest.raises(DecodeError, match=r"no schema version header.*fallback\.to\.latest"):
        deserializer.deserialize("users", Codec(WIDER).encode(ANN))


def test_a_leading_null_is_not_mistaken_for_confluents_framing(registry: LocalRegistry) -> None:
    nullable = {
        "type": "record",
        "name": "N",
        "fields": [{"name": n, "type": ["null", "long"], "default": None} for n in "abcdefg"],
    }
    register(registry, "nulls", nullable)
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer.deserialize("nulls", bytes(7)) == dict.fromkeys("abcdefg")


def test_an_empty_message_is_a_record_without_fields(registry: LocalRegistry) -> None:
    register(registry, "empty", {"type": "record", "name": "E", "fields": []})
    assert KafkaAvroDeserializer(conf(registry)).deserialize("empty", b"") == {}


def test_errors_name_topic_version_field_and_offset(users: LocalRegistry) -> None:
    with pytest.raises(DecodeError) as caught:
        KafkaAvroDeserializer(conf(users)).deserialize("users", framed(0, USER, BOB)[:-1])
    error = caught.value
    assert (error.topic, error.version, error.path, error.offset) == ("users", 0, "age", 14)


def test_every_version_is_read_with_the_readers_schema(users: LocalRegistry) -> None:
    old, new = framed(0, USER, BOB), framed(1, WIDER, ANN)

    by_user, by_wider = KafkaAvroDeserializer(conf(users), USER), KafkaAvroDeserializer(conf(users), WIDER)

    assert [by_user.deserialize("users", message) for message in (old, new)] == [BOB, {"name": "ann", "age": 9}]
    assert [by_wider.deserialize("users", message) for message in (old, new, old)] == [
        {**BOB, "city": None},
        ANN,
        {**BOB, "city": None},
    ]
    assert by_wider.deserialize("users", new[10:]) == ANN  # without a header; written with the latest version
    assert by_wider.stats()["misses"] == 3
    assert pickle.loads(pickle.dumps(by_wider)).deserialize("users", old) == {**BOB, "city": None}


def test_the_error_for_an_incompatible_readers_schema_names_the_version(users: LocalRegistry) -> None:
    reader = {**USER, "fields": [*USER["fields"], {"name": "city", "type": "string"}]}
    deserializer = KafkaAvroDeserializer(conf(users), reader)

    with pytest.raises(SchemaError, match=r"topic users, schema version 0: .*writer has no field 'city'") as caught:
        deserializer.deserialize("users", framed(0, USER, BOB))
    assert (caught.value.topic, caught.value.version) == ("users", 0)
    with pytest.raises(SchemaError) as again:
        deserializer.deserialize("users", framed(0, USER, BOB))
    assert str(again.value) == str(caught.value)
    assert again.value is not caught.value
    with pytest.raises(DecodeError, match="topic users, schema version 1, field city, byte 16: the writer's null"):
        deserializer.deserialize("users", framed(1, WIDER, {**ANN, "city": None}))
    assert deserializer.deserialize("users", framed(1, WIDER, ANN)) == ANN


def test_read_options_are_passed_to_the_codec(registry: LocalRegistry) -> None:
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "child", "type": ["null", "R"]},
    ]}  # fmt: skip
    register(registry, "t", schema)
    datum = {"at": 5, "child": {"at": 6, "child": None}}
    message = framed(0, schema, datum)

    def read(data: bytes = message, **options: Any) -> Any:
        return KafkaAvroDeserializer(conf(registry, **options)).deserialize("t", data)

    raw = {"avro.logical.types": "false"}
    assert read(**raw) == datum
    assert read(**raw, **{"return.record.name": True})["child"] == ("R", {"at": 6, "child": None})
    assert read(message + b"x", **raw, **{"ignore.trailing.bytes": True}) == datum
    with pytest.raises(DecodeError, match="nested deeper than 1 level"):
        read(**{"max.depth": 1})


def test_from_dict_gets_datum_and_context(users: LocalRegistry) -> None:
    def from_dict(datum: dict[str, Any], ctx: SerializationContext) -> tuple[Any, ...]:
        return datum["name"], ctx.topic, ctx.field

    deserializer = KafkaAvroDeserializer(conf(users), None, from_dict)
    message = framed(0, USER, BOB)
    assert deserializer.deserialize("users", message) == ("bob", "users", "value")
    assert deserializer(message, SerializationContext("users", MessageField.VALUE)) == ("bob", "users", "value")


def test_the_error_for_a_schema_of_another_type_names_the_type(registry: LocalRegistry) -> None:
    any_type.register(registry, "texts", "STRING")
    with pytest.raises(SchemaError, match=r"topic texts, schema version 0: expected a schema of type AVRO.*STRING"):
        KafkaAvroDeserializer(conf(registry)).deserialize("texts", b"abc")


def test_a_schema_with_a_bad_default_still_reads(registry: LocalRegistry) -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
    any_type.register(registry, "lenient", "AVRO", text)
    assert KafkaAvroDeserializer(conf(registry)).deserialize("lenient", b"\x0e") == {"a": 7}


@pytest.mark.parametrize(
    ("data", "words"), [("text", "expected bytes, bytearray or memoryview, got str"), (5, "got int")]
)
def test_anything_but_bytes_is_refused(users: LocalRegistry, data: Any, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        KafkaAvroDeserializer(conf(users)).deserialize("users", data)


def test_a_released_memoryview_is_an_error(users: LocalRegistry) -> None:
    reader = KafkaAvroDeserializer(conf(users))
    message = framed(0, USER, BOB)
    view = memoryview(message)
    assert reader.deserialize("users", view) == BOB
    view.release()
    expected = "topic users: expected bytes that can be read: .*released"
    for read in (
        lambda: reader.deserialize("users", view),
        lambda: reader.deserialize("users", view, version=0),
        lambda: reader(view, SerializationContext("users", MessageField.VALUE)),
        lambda: list(reader.deserialize_many("users", [view])),
    ):
        with pytest.raises(DecodeError, match=expected):
            read()
    assert list(reader.deserialize_many("users", [view, message], "skip")) == [BOB]


@pytest.mark.parametrize("clone", [copy.deepcopy, unpickled])
def test_copies_have_the_cached_schemas_of_the_original(users: LocalRegistry, clone: Any) -> None:
    deserializer = KafkaAvroDeserializer(conf(users))
    messages = [framed(0, USER, BOB), framed(1, WIDER, ANN), Codec(WIDER).encode(ANN)]
    expected = [deserializer.deserialize("users", message) for message in messages]
    users.reset_calls()
    copied = clone(deserializer)
    assert [copied.deserialize("users", message) for message in messages] == expected
    assert not users.calls
