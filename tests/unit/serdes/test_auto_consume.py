"""KafkaAutoConsumeDeserializer on AVRO topics: which schema reads a message, and what it says about that (PIP 85)."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from any_type import framed, header, register
from conf import conf
from confluent_kafka.serialization import Deserializer, MessageField, SerializationContext
from schemas import record

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    KafkaAutoConsumeDeserializer,
    SchemaNotFoundError,
    SerdesError,
)
from streamnative_serdes.auto_consume import GenericObject, TopicSchema
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

USER = record("User", ("name", "string"), ("age", "int"))
WIDER = record("User", ("name", "string"), ("age", "int"), ("city", ["null", "string"], None))
WIDEST = record("User", ("name", "string"), ("age", "int"), ("city", ["null", "string"], None), ("tags", "string", ""))
BOB = {"name": "bob", "age": 7}
ANN = {"name": "ann", "age": 9, "city": "Rome"}
LONGS = record("Longs", *((letter, "long") for letter in "abcdefghij"))
TEN = dict(zip("abcdefghij", [-2, 2, *[0] * 8], strict=True))  # encoded, it equals the header of version 0


def text_of(schema: TopicSchema | None) -> str:
    assert schema is not None
    return schema.info.text


@pytest.fixture
def users(registry: LocalRegistry) -> LocalRegistry:
    """Topic "users" with version 0 (USER) and version 1 (WIDER)."""
    assert [register(registry, "users", "AVRO", schema) for schema in (USER, WIDER)] == [0, 1]
    registry.reset_calls()
    return registry


@pytest.fixture
def reader(users: LocalRegistry) -> KafkaAutoConsumeDeserializer:
    return KafkaAutoConsumeDeserializer(conf(users))


def read(reader: KafkaAutoConsumeDeserializer, data: Any, topic: str = "users", **more: Any) -> GenericObject:
    found = reader.deserialize(topic, data, **more)
    assert found is not None
    return found


# Each message reports the schema that it was written with


def test_each_message_reports_its_exact_schema(users: LocalRegistry, reader: KafkaAutoConsumeDeserializer) -> None:
    for _ in range(3):
        for version, schema, datum in ((0, USER, BOB), (1, WIDER, ANN), (0, USER, BOB)):
            found = read(reader, framed(version, schema, datum))
            assert (found.schema_type, found.native_object, found.schema_version) == ("AVRO", datum, version)
            assert found.decoded_by.rule == "header"
            exact = found.reader_schema
            assert exact is not None
            assert exact is found.decoded_by.schema
            assert (exact.type, exact.version, exact.topic, exact.native) == ("AVRO", version, "users", schema)
            assert exact.info == found.schema_info == users_info(users, version)
    assert users.calls == {"GET version": 2}


def users_info(registry: LocalRegistry, version: int) -> Any:
    return KafkaAutoConsumeDeserializer(conf(registry)).schema("users", version).info  # type: ignore[union-attr]


def test_an_old_message_keeps_its_schema_after_the_latest_has_moved_on(
    users: LocalRegistry, reader: KafkaAutoConsumeDeserializer
) -> None:
    before = read(reader, framed(0, USER, BOB))
    for version, schema in ((2, WIDEST), (3, record("User", ("name", "string"), ("age", "int"), ("x", "int", 0)))):
        assert register(users, "users", "AVRO", schema) == version
        after = read(reader, framed(0, USER, BOB))
        assert after == before
        assert after.reader_schema is not None
        assert after.reader_schema.native == USER


def test_schemas_are_downloaded_and_parsed_once_per_topic_and_version(
    users: LocalRegistry, reader: KafkaAutoConsumeDeserializer
) -> None:
    register(users, "others", "AVRO", USER)
    users.reset_calls()
    seen: dict[tuple[str, int], list[Any]] = {}
    for _ in range(3):
        for topic, version, schema, datum in (
            ("users", 0, USER, BOB),
            ("users", 1, WIDER, ANN),
            ("others", 0, USER, BOB),
        ):
            exact = read(reader, framed(version, schema, datum), topic).reader_schema
            assert exact is not None
            seen.setdefault((topic, version), []).extend([exact, exact.native])
    assert users.calls == {"GET version": 3}
    assert len(seen) == 3
    for schema, native, *others in seen.values():
        assert [id(one) for one in others] == [id(schema), id(native)] * 2


def test_a_message_without_a_header_is_read_by_the_latest_schema_which_it_does_not_report_as_its_own(
    users: LocalRegistry, reader: KafkaAutoConsumeDeserializer
) -> None:
    for _ in range(3):
        found = read(reader, Codec(WIDER).encode(ANN))
        assert (found.native_object, found.schema_version, found.decoded_by.rule) == (ANN, 1, "latest")
        assert found.schema_info is not None
        assert found.reader_schema is None
    assert users.calls == {"GET schema": 1}
    assert reader.stats()["headerless"] == 3


def test_the_callers_version_is_the_messages_own(reader: KafkaAutoConsumeDeserializer) -> None:
    for version, schema, datum in ((0, USER, BOB), (1, WIDER, ANN), (0, USER, BOB)):
        found = read(reader, Codec(schema).encode(datum), version=version)
        assert (found.native_object, found.schema_version, found.decoded_by.rule) == (datum, version, "caller")
        assert found.reader_schema is not None
        assert found.reader_schema.native == schema


@pytest.mark.parametrize("unknown", [None, -1])
def test_no_version_and_minus_one_mean_that_it_is_unknown(
    reader: KafkaAutoConsumeDeserializer, unknown: int | None
) -> None:
    assert read(reader, Codec(WIDER).encode(ANN), version=unknown).decoded_by.rule == "latest"


def test_a_header_takes_precedence_over_the_callers_version(reader: KafkaAutoConsumeDeserializer) -> None:
    found = read(reader, framed(0, USER, BOB), version=1)
    assert (found.schema_version, found.decoded_by.rule) == (0, "header")


def test_an_unknown_version_of_the_caller_is_an_error(reader: KafkaAutoConsumeDeserializer) -> None:
    for _ in range(2):
        with pytest.raises(SchemaNotFoundError, match="schema version 9"):
            reader.deserialize("users", Codec(USER).encode(BOB), version=9)
    assert read(reader, Codec(USER).encode(BOB), version=0).native_object == BOB


def test_an_unknown_version_in_the_header_is_read_by_the_latest_and_has_no_schema_of_its_own(
    users: LocalRegistry, reader: KafkaAutoConsumeDeserializer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "streamnative_serdes"):
        for _ in range(3):
            found = read(reader, framed(77, WIDER, ANN))
            assert (found.native_object, found.schema_version, found.decoded_by.rule) == (ANN, 1, "fallback")
            assert found.reader_schema is None
    assert len(caplog.records) == 1
    assert reader.stats()["fallbacks"] == 3
    assert users.calls == {"GET version": 1, "GET schema": 1}


def test_with_an_unknown_version_in_the_header_the_whole_message_is_read_by_the_callers(
    registry: LocalRegistry,
) -> None:
    register(registry, "longs", "AVRO", LONGS)
    reader, datum = KafkaAutoConsumeDeserializer(conf(registry)), {**TEN, "j": -39}
    assert Codec(LONGS).encode(datum) == header(77)
    for times in (1, 2):
        found = read(reader, header(77), "longs", version=0)
        assert (found.native_object, found.schema_version, found.decoded_by.rule) == (datum, 0, "caller")
        assert reader.stats()["fallbacks"] == times
    with pytest.raises(SchemaNotFoundError, match="schema version 5"):
        reader.deserialize("longs", header(77), version=5)


def test_a_version_that_is_registered_later_is_found(users: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(users, **{"cache.missing.ttl.sec": 0}))
    with pytest.raises(SerdesError):
        reader.deserialize("users", framed(2, WIDEST, {**ANN, "tags": "x"}))
    register(users, "users", "AVRO", WIDEST)
    found = read(reader, framed(2, WIDEST, {**ANN, "tags": "x"}))
    assert (found.schema_version, found.decoded_by.rule) == (2, "header")


def test_avro_that_looks_like_a_header_of_a_known_version_is_read_by_the_callers(registry: LocalRegistry) -> None:
    register(registry, "longs", "AVRO", LONGS)
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    found = read(reader, Codec(LONGS).encode(TEN), "longs", version=0)
    assert (found.native_object, found.decoded_by.rule) == (TEN, "caller")
    with pytest.raises(DecodeError, match="topic longs, schema version 0"):
        reader.deserialize("longs", Codec(LONGS).encode(TEN))


def test_the_fallback_can_be_turned_off(users: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(users, **{"fallback.to.latest": False}))
    assert read(reader, framed(0, USER, BOB)).native_object == BOB
    assert read(reader, Codec(USER).encode(BOB), version=0).native_object == BOB
    with pytest.raises(SchemaNotFoundError, match="schema version 77"):
        reader.deserialize("users", framed(77, WIDER, ANN))
    with pytest.raises(DecodeError, match=r"no schema version header.*fallback\.to\.latest"):
        reader.deserialize("users", Codec(WIDER).encode(ANN))
    with pytest.raises(DecodeError, match=r"fallback\.to\.latest"):
        reader.deserialize("nothing", b"abc")
    for topic in ("users", "nothing"):
        with pytest.raises(SchemaNotFoundError, match="schema version 9"):
            reader.deserialize(topic, b"abc", version=9)


def test_trailing_bytes_are_ignored_only_behind_a_known_header(users: LocalRegistry) -> None:
    tolerant = conf(users, **{"ignore.trailing.bytes": True})
    for order in (1, -1):
        reader = KafkaAutoConsumeDeserializer(tolerant)
        for message in (framed(0, USER, BOB) + b"xyz", Codec(USER).encode(BOB))[::order]:
            assert read(reader, message, version=0).native_object == BOB
        for more in ({}, {"version": 0}):
            with pytest.raises(DecodeError):
                reader.deserialize("users", Codec(USER).encode(BOB) + b"xyz", **more)


def test_errors_name_topic_version_field_and_byte(reader: KafkaAutoConsumeDeserializer) -> None:
    for message, more, version, byte in (
        (framed(0, USER, BOB)[:-1], {}, 0, 14),
        (Codec(USER).encode(BOB)[:-1], {"version": 0}, 0, 4),
        (Codec(USER).encode(BOB)[:-1], {}, 1, 4),
    ):
        with pytest.raises(DecodeError) as caught:
            reader.deserialize("users", message, **more)
        error = caught.value
        assert (error.topic, error.version, error.path, error.offset) == ("users", version, "age", byte)
    assert reader.stats()["errors"] == 3


def test_the_error_says_what_the_bytes_look_like(reader: KafkaAutoConsumeDeserializer) -> None:
    with pytest.raises(DecodeError, match="looks like JSON text, not Avro"):
        reader.deserialize("users", b'{"name": "bob"}')


# Topics without a schema


def test_a_topic_without_a_schema_holds_bytes(registry: LocalRegistry, caplog: pytest.LogCaptureFixture) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(registry, **{"cache.missing.ttl.sec": 3600}))
    with caplog.at_level(logging.WARNING, "streamnative_serdes"):
        for data in (b"abc", bytearray(b""), memoryview(b"\x00\x01")):
            found = read(reader, data, "raw")
            assert (found.schema_type, found.native_object) == ("BYTES", bytes(data))
            assert (found.schema_info, found.schema_version, found.reader_schema) == (None, None, None)
            assert found.decoded_by == (None, "no schema")
    assert [one.getMessage() for one in caplog.records] == [
        "topic raw has no schema, so its messages are returned as bytes"
    ]
    assert registry.calls == {"GET schema": 1}


def test_a_topic_without_a_schema_is_logged_once_however_often_it_is_asked_for(
    registry: LocalRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(registry, **{"cache.missing.ttl.sec": 0}))
    with caplog.at_level(logging.WARNING, "streamnative_serdes"):
        for topic in ("raw", "raw", "other", "raw", "other"):
            assert read(reader, b"abc", topic, key=b"a key without a schema").native_object == b"abc"
    assert [one.getMessage().split()[1] for one in caplog.records] == ["raw", "other"]


def test_bytes_that_look_like_a_header_are_bytes_on_a_topic_without_a_schema(registry: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    messages = [framed(0, USER, BOB), b"\x03\x04" + bytes(8), framed(2**40, USER, BOB), b"\x03\x04" + b"\xff" * 9]
    for data in (*messages, messages[0]):
        for found in (read(reader, data, "raw"), *reader.deserialize_many("raw", [data])):
            assert (found.schema_type, found.native_object) == ("BYTES", data)
            assert found.decoded_by == (None, "no schema")
    with pytest.raises(SchemaNotFoundError):
        reader.deserialize("raw", b"abc", version=0)


def test_a_topic_that_gets_a_schema_is_read_by_it(registry: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(registry, **{"cache.missing.ttl.sec": 0}))
    message = Codec(USER).encode(BOB)
    assert read(reader, message).native_object == message
    register(registry, "users", "AVRO", USER)
    assert read(reader, message).native_object == BOB


# Schemas


def test_schema_gives_the_latest_or_a_version_or_none(users: LocalRegistry, reader: Any) -> None:
    assert reader.schema("users").native == WIDER
    assert reader.schema("users", -1) is reader.schema("users")
    assert reader.schema("users", 0).native == USER
    assert reader.schema("raw") is None
    with pytest.raises(SchemaNotFoundError, match="schema version 5"):
        reader.schema("users", 5)
    with pytest.raises(DecodeError, match="expected a topic as str, got int"):
        reader.schema(5)
    assert users.calls == {"GET schema": 2, "GET version": 2}


def test_at_version_decodes_bound_to_that_version(reader: Any) -> None:
    latest = reader.schema("users")
    first = latest.at_version(0)
    assert (first.version, first.native, first.type, first.encoding) == (0, USER, "AVRO", None)
    assert first.decode(Codec(USER).encode(BOB)) == first.decode(framed(0, USER, BOB)) == BOB
    assert latest.decode(Codec(WIDER).encode(ANN)) == ANN
    assert first.at_version(1) == latest
    assert first.decode(None) is None
    with pytest.raises(DecodeError, match="topic users, schema version 0, "):
        first.decode(Codec(WIDER).encode(ANN))
    for other in (framed(1, WIDER, ANN), framed(1, USER, BOB)):
        with pytest.raises(DecodeError, match="topic users, schema version 0, "):
            first.decode(other)
    with pytest.raises(SchemaNotFoundError, match="topic users, schema version 2"):
        first.at_version(2)


@pytest.mark.parametrize("bad", [None, "0", b"0", True, 0.0, [0]])
def test_a_version_that_is_not_an_int_is_a_typed_error(reader: Any, bad: Any) -> None:
    with pytest.raises(ConfigError, match="topic users: expected a schema version as int, got"):
        reader.schema("users").at_version(bad)
    if bad is not None:
        with pytest.raises(ConfigError, match="topic users: expected a schema version as int, got"):
            reader.schema("users", bad)


def test_decode_names_the_byte_of_the_whole_message(reader: Any) -> None:
    for message, byte in ((framed(0, USER, BOB)[:-1], 14), (Codec(USER).encode(BOB)[:-1], 4)):
        with pytest.raises(DecodeError) as caught:
            reader.schema("users", 0).decode(message)
        assert (caught.value.path, caught.value.offset) == ("age", byte)


def test_decode_reads_data_that_begin_like_a_header(registry: LocalRegistry) -> None:
    register(registry, "longs", "AVRO", LONGS)
    schema = KafkaAutoConsumeDeserializer(conf(registry)).schema("longs")
    assert schema is not None
    assert schema.decode(Codec(LONGS).encode(TEN)) == TEN
    assert schema.decode(header(0) + Codec(LONGS).encode(TEN)) == TEN


def test_schemas_are_equal_if_topic_and_version_are(users: LocalRegistry, reader: Any) -> None:
    other = KafkaAutoConsumeDeserializer(conf(users))
    assert reader.schema("users") == other.schema("users")
    assert hash(reader.schema("users")) == hash(other.schema("users"))
    assert reader.schema("users") != reader.schema("users", 0)
    assert reader.schema("users") != "users"
    assert repr(reader.schema("users")) == "TopicSchema('users', AVRO, version 1)"


# It is a deserializer like the others


def test_it_is_called_as_confluents_deserializers_are(reader: KafkaAutoConsumeDeserializer) -> None:
    assert isinstance(reader, Deserializer)
    context = SerializationContext("users", MessageField.VALUE)
    assert reader(framed(0, USER, BOB), context) == reader.deserialize("users", framed(0, USER, BOB))
    assert reader(None, context) is None
    assert reader.deserialize("users", None) is None
    for key in (b"k", None):
        assert reader.deserialize("users", None, key=key) is None
        assert reader.deserialize("raw", None, key=key) is None


def test_keys_have_a_schema_in_key_value_topics_alone(users: LocalRegistry, reader: Any) -> None:
    keys = KafkaAutoConsumeDeserializer(conf(users), is_key=True)
    for _ in range(2):
        with pytest.raises(ConfigError, match="this topic's schema is of type AVRO"):
            keys.deserialize("users", b"k")
        with pytest.raises(ConfigError, match="this topic's schema is of type AVRO"):
            reader(b"k", SerializationContext("users", MessageField.KEY))
    with pytest.raises(SchemaNotFoundError):
        keys.deserialize("raw", b"k")
    assert read(reader, framed(0, USER, BOB), key=b"any key").native_object == BOB


@pytest.mark.parametrize(
    "option", ["value.type", "key.schema", "use.latest.version", "schema.resolution", "allow.null"]
)
def test_options_for_other_readers_schemas_are_refused(registry: LocalRegistry, option: str) -> None:
    with pytest.raises(ConfigError, match="unknown option"):
        KafkaAutoConsumeDeserializer(conf(registry, **{option: "x"}))


def test_it_is_used_before_and_after_configure(users: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer()
    with pytest.raises(ConfigError, match=r"schema\.registry\.url is missing"):
        reader.deserialize("users", b"")
    with pytest.raises(ConfigError, match=r"schema\.registry\.url is missing"):
        reader.schema("users")
    reader.configure({**conf(users), "bootstrap.servers": "x"})
    assert read(reader, framed(0, USER, BOB)).native_object == BOB
