"""KafkaAutoConsumeDeserializer on topics of each type, as Pulsar's Java client writes them, and of several types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from any_type import framed, header, register
from conf import conf
from schema_types import Row, written
from schemas import record
from scripted_registry import Answer, ScriptedRegistry

from streamnative_serdes import DecodeError, KafkaAutoConsumeDeserializer, SchemaError, SchemaNotFoundError
from streamnative_serdes._formats import format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.auto_consume import GenericObject
from streamnative_serdes.codec import Codec
from streamnative_serdes.schema_registry import SchemaInfo
from streamnative_serdes.testing import LocalRegistry

USER = record("User", ("name", "string"), ("age", "int"))
WIDER = record("User", ("name", "string"), ("age", "int"), ("city", ["null", "string"], None))
BOB = {"name": "bob", "age": 7}
PRIMITIVES = ["BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "STRING", "DATE", "TIME", "TIMESTAMP"]
PRIMITIVES += ["INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"]
LOOKS_LIKE_VERSION_0 = header(0).decode()
LOOKS_LIKE_VERSION_77 = header(77).decode()


def read(reader: KafkaAutoConsumeDeserializer, data: bytes, topic: str = "t", **more: Any) -> GenericObject:
    found = reader.deserialize(topic, data, **more)
    assert found is not None
    return found


def by_type() -> dict[str, list[Row]]:
    """The messages that Java wrote, of each type that can be read here."""
    found: dict[str, list[Row]] = {}
    for row in written():
        if row.type != "PROTOBUF":
            found.setdefault(row.type, []).append(row)
    return found


def outcome(read: Any) -> Any:
    """The value, or the error without its place."""
    try:
        return read()
    except DecodeError as error:
        return type(error), error.message, error.path, error.offset


@pytest.mark.parametrize("kind", sorted(by_type()))
def test_a_message_of_each_type_is_what_its_format_reads_and_has_the_type_that_java_gives_it(
    registry: LocalRegistry, kind: str
) -> None:
    if kind == "PROTOBUF_NATIVE":
        pytest.importorskip("google.protobuf")
    for number, row in enumerate(by_type()[kind]):
        topic = f"t{number}"
        register(registry, topic, kind, row.schema, dict(row.properties))
        reader, expected = (
            KafkaAutoConsumeDeserializer(conf(registry)),
            format_of(SchemaInfo(0, kind, row.schema, 0, row.properties), Limits(), {}),
        )
        for more, rule in (({}, "latest"), ({"version": 0}, "caller")):
            ours = outcome(lambda: read(reader, row.data, topic, **more))  # noqa: B023
            value = outcome(lambda: expected.decode(row.data))  # noqa: B023
            if not isinstance(ours, GenericObject):
                assert ours == value
                continue
            assert repr(ours.native_object) == repr(value)
            assert ours.decoded_by.rule == rule
            if "type" in row.auto:
                assert ours.schema_type == row.auto["type"]
        exact = reader.schema(topic, 0)
        assert exact is not None
        assert exact.info.text == row.schema
        assert exact.info.properties == row.properties
        if kind in ("AVRO", "JSON"):
            assert exact.native == json.loads(row.schema)
        elif kind != "PROTOBUF_NATIVE":
            assert exact.native is None


@pytest.mark.parametrize("kind", PRIMITIVES)
def test_each_primitive_type_is_there(kind: str) -> None:
    assert by_type()[kind]


def test_a_json_topic_reports_the_exact_schema_of_each_message(registry: LocalRegistry) -> None:
    assert [register(registry, "t", "JSON", schema) for schema in (USER, WIDER)] == [0, 1]
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    registry.reset_calls()
    for _ in range(2):
        for version, schema, text, datum in (
            (0, USER, b'{"name":"bob","age":7}', BOB),
            (1, WIDER, b'{"name":"ann","age":9,"city":"Rome"}', {"name": "ann", "age": 9, "city": "Rome"}),
        ):
            found = read(reader, text, version=version)
            assert (found.schema_type, found.native_object, found.schema_version) == ("JSON", datum, version)
            assert found.reader_schema is not None
            assert found.reader_schema.native == schema
            assert found.reader_schema.decode(text) == datum
    assert registry.calls == {"GET version": 2}
    assert read(reader, b'{"name":"bob","age":7}').reader_schema is None


def test_an_unreadable_json_message_is_not_said_to_look_like_json(registry: LocalRegistry) -> None:
    register(registry, "t", "JSON", USER)
    with pytest.raises(DecodeError, match="topic t, schema version 0") as caught:
        KafkaAutoConsumeDeserializer(conf(registry)).deserialize("t", b'{"name": 5, "age": "x"}')
    assert "looks like JSON" not in str(caught.value)


# Only AVRO and KEY_VALUE have messages with a header


@pytest.mark.parametrize("text", [LOOKS_LIKE_VERSION_0, LOOKS_LIKE_VERSION_77, LOOKS_LIKE_VERSION_0 + "more"])
def test_text_that_begins_like_a_header_is_text(registry: LocalRegistry, text: str) -> None:
    register(registry, "t", "STRING")
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    for _ in range(2):
        for more, rule in (({}, "latest"), ({"version": 0}, "caller")):
            found = read(reader, text.encode(), **more)
            assert (found.schema_type, found.native_object, found.decoded_by.rule) == ("STRING", text, rule)
            assert found.decoded_by.schema is not None
            assert found.decoded_by.schema.decode(text.encode()) == text
    assert reader.stats()["fallbacks"] == 0
    assert reader.stats()["errors"] == 0


def test_text_that_begins_like_a_header_needs_a_version_without_a_fallback(registry: LocalRegistry) -> None:
    register(registry, "t", "STRING")
    reader = KafkaAutoConsumeDeserializer(conf(registry, **{"fallback.to.latest": False}))
    for text in (LOOKS_LIKE_VERSION_0, LOOKS_LIKE_VERSION_77):
        assert read(reader, text.encode(), version=0).native_object == text
        with pytest.raises(DecodeError, match=r"fallback\.to\.latest"):
            reader.deserialize("t", text.encode())


def test_damaged_text_that_begins_like_a_header_is_an_error_with_its_byte(registry: LocalRegistry) -> None:
    register(registry, "t", "STRING")
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    for more in ({}, {"version": 0}):
        with pytest.raises(DecodeError, match="topic t, schema version 0, byte 11: expected text in UTF-8"):
            reader.deserialize("t", header(0) + b"a\xff", **more)


def test_bytes_of_a_topic_of_type_none_are_bytes_of_type_bytes_as_in_java(registry: LocalRegistry) -> None:
    register(registry, "t", "BYTES")  # Pulsar stores NONE
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    for data in (b"abc", b"", header(0), header(77) + b"x"):
        found = read(reader, data)
        assert (found.schema_type, found.native_object) == ("BYTES", data)
        assert found.schema_info is not None
        assert found.schema_info.type == "NONE"


# Topics of several types, which the strategy ALWAYS_COMPATIBLE allows


@pytest.fixture
def mixed(registry: LocalRegistry) -> LocalRegistry:
    """Topic "t" with AVRO, JSON, INT64, STRING and AVRO, in this order."""
    registry.set_strategy("ALWAYS_COMPATIBLE")
    schemas = [("AVRO", USER), ("JSON", USER), ("INT64", ""), ("STRING", ""), ("AVRO", WIDER)]
    assert [register(registry, "t", kind, schema) for kind, schema in schemas] == [0, 1, 2, 3, 4]
    return registry


def test_each_version_of_a_topic_of_several_types_reads_its_messages(mixed: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(mixed))
    ann = {"name": "ann", "age": 9, "city": None}
    for _ in range(2):
        for message, version, kind, value in (
            (Codec(USER).encode(BOB), 0, "AVRO", BOB),
            (b'{"name":"bob","age":7}', 1, "JSON", BOB),
            (bytes(7) + b"\x05", 2, "INT64", 5),
            (b"text", 3, "STRING", "text"),
            (Codec(WIDER).encode(ann), 4, "AVRO", ann),
        ):
            found = read(reader, message, version=version)
            assert (found.schema_type, found.native_object, found.schema_version) == (kind, value, version)
    assert read(reader, framed(0, USER, BOB)).native_object == BOB
    assert read(reader, framed(4, WIDER, ann)).native_object == ann
    assert read(reader, Codec(WIDER).encode(ann)).native_object == ann


def test_a_header_with_the_version_of_another_type_is_no_header(mixed: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(mixed))
    assert read(reader, header(1) + b"x", version=3).native_object == (header(1) + b"x").decode()
    with pytest.raises(DecodeError, match="topic t, schema version 4"):  # the latest, on all bytes
        reader.deserialize("t", header(1) + b"x")


def test_an_unknown_version_on_a_topic_whose_latest_type_has_no_header_is_data(mixed: LocalRegistry) -> None:
    register(mixed, "t", "NONE", "x")
    reader = KafkaAutoConsumeDeserializer(conf(mixed))
    found = read(reader, header(77) + b"x")
    assert (found.native_object, found.schema_version, found.decoded_by.rule) == (header(77) + b"x", 5, "latest")
    assert read(reader, framed(0, USER, BOB)).native_object == BOB
    assert reader.stats()["fallbacks"] == 0


# Types whose messages cannot be read


@pytest.mark.parametrize("kind", ["EXTERNAL", "PROTOBUF", "FUTURE"])
@pytest.mark.parametrize("version", [None, 0])
def test_the_error_names_a_type_that_cannot_be_read(kind: str, version: int | None) -> None:
    info = {"version": 0, "type": kind, "timestamp": 1, "data": "", "properties": {}}
    with ScriptedRegistry(Answer(body=info)) as registry:
        reader = KafkaAutoConsumeDeserializer({"schema.registry.url": registry.url})
        for times in (1, 2):
            with pytest.raises(SchemaError, match=f"topic t, schema version 0: .*{kind}"):
                reader.deserialize("t", b"abc", version=version)
            assert reader.stats()["errors"] == times
        schema = reader.schema("t")
        assert schema is not None
        assert (schema.type, schema.info.type) == (kind, kind)
        for use in (lambda: schema.native, lambda: schema.decode(b"abc")):
            with pytest.raises(SchemaError, match=f"topic t, schema version 0: .*{kind}"):
                use()


@pytest.mark.parametrize(
    ("kind", "text"),
    [("AVRO", "{"), ("JSON", "{"), ("PROTOBUF_NATIVE", '{"fileDescriptorSet": "x"}'), ("KEY_VALUE", '{"key": ""}')],
)
def test_an_invalid_schema_is_an_error_that_names_the_version(kind: str, text: str) -> None:
    if kind == "PROTOBUF_NATIVE":
        pytest.importorskip("google.protobuf")
    info = {"version": 0, "type": kind, "timestamp": 1, "data": text, "properties": {}}
    with ScriptedRegistry(Answer(body=info)) as registry:
        reader = KafkaAutoConsumeDeserializer({"schema.registry.url": registry.url})
        for version in (None, 0):
            with pytest.raises(SchemaError, match="topic t, schema version 0"):
                reader.deserialize("t", b"", version=version)


def test_a_topic_without_this_version_is_not_a_topic_without_a_schema(registry: LocalRegistry) -> None:
    register(registry, "t", "INT64")
    with pytest.raises(SchemaNotFoundError, match="schema version 3"):
        KafkaAutoConsumeDeserializer(conf(registry)).deserialize("t", bytes(8), version=3)
