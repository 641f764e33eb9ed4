"""The look of what nothing reads, on topics without a schema too; and the framing that reads it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
from confluent_stand_in import ConfluentStandIn
from consumed import Message
from schemas import fixed, record

from streamnative_serdes import Codec, KafkaAvroDeserializer, KafkaAvroSerializer, KafkaPulsarSerializer, KeyValueSchema
from streamnative_serdes.errors import DecodeError, SchemaError, SchemaNotFoundError, SerdesError
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB = {"name": "bob"}
BODY = b"\x06bob"
THEIRS = b"\0\0\0\0\1" + BODY
HEADER = "__value_schema_id"
BEGINS = (
    "the message begins like those of Confluent's serializer (0x00, schema id 1); framings=snip42,confluent,headerless"
)


@pytest.fixture
def second() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn() as registry:
        registry.register("t-value", USER)
        yield registry


@pytest.fixture
def conf(registry: LocalRegistry) -> dict[str, Any]:
    return {"schema.registry.url": registry.url, "cache.missing.ttl.sec": 60}


@pytest.fixture
def both(conf: dict[str, Any], second: ConfluentStandIn) -> dict[str, Any]:
    framings = "snip42,headerless,confluent,confluent-header"
    return {**conf, "framings": framings, "confluent.schema.registry.url": second.url}


def ways(deserializer: KafkaAvroDeserializer, message: bytes, headers: Any = None) -> list[Callable[[], Any]]:
    """The ways to read a message of a topic: one by one, and in batches."""
    context = SerializationContext("t", MessageField.VALUE, headers)
    alone = message if headers is None else Message(message, headers=headers)
    return [
        lambda: deserializer.deserialize("t", message, headers=headers),
        lambda: deserializer(message, context),
        lambda: next(deserializer.deserialize_many("t", [alone])),
        lambda: deserializer.deserialize_batch("t", [message], headers=[headers]).to_pylist()[0],
    ]


def refused(read: Callable[[], Any]) -> SerdesError:
    with pytest.raises(SerdesError) as caught:
        read()
    return caught.value


# The look


@pytest.mark.parametrize("schema", [None, USER], ids=["written", "reader"])
def test_a_topic_without_a_schema_does_not_hide_what_its_messages_look_like(conf: dict[str, Any], schema: Any) -> None:
    for read in ways(KafkaAvroDeserializer(conf, schema), THEIRS):
        error = refused(read)
        assert isinstance(error, SchemaNotFoundError)
        assert "cannot read the latest schema: Schema not found (HTTP 404)" in str(error)
        assert str(error.hint).startswith(BEGINS)
        assert "`streamnative-serdes migrate` copies the topic" in str(error.hint)


def test_the_error_column_of_a_topic_without_a_schema_says_what_each_message_looks_like(conf: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer(conf, USER)
    batch = deserializer.deserialize_batch("t", [THEIRS, BODY, b'{"a": 1}', None, b"\3\4"], error_column="why")
    theirs, bare, json, null, cut = batch.column("why").to_pylist()
    assert BEGINS in theirs
    assert bare.endswith("Schema not found (HTTP 404)")  # it may be anything
    assert "looks like JSON text, not Avro: '{\"a\": 1}'" in json
    assert null is None
    assert "may be truncated: it has 2 of the 10 bytes" in cut


def test_without_columns_the_first_message_that_is_not_null_shows_its_look(conf: dict[str, Any]) -> None:
    column = pa.chunked_array([pa.array([None, THEIRS]), pa.array([BODY])])
    for data in ([None, THEIRS, BODY], column, [None], []):
        error = refused(lambda data=data: KafkaAvroDeserializer(conf).deserialize_batch("t", data))  # type: ignore[misc]
        assert isinstance(error, SchemaNotFoundError)
        assert "columns need the reader's schema" in str(error.hint)
        assert error.row == (1 if len(data) == 3 else None)
        assert str(error.hint).startswith(BEGINS) is (len(data) == 3)


def test_columns_by_what_was_seen_show_the_look_too(conf: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer({**conf, "reader.schema.policy": "latest.seen"})
    for read in (lambda: deserializer.deserialize("t", THEIRS), lambda: deserializer.deserialize_batch("t", [THEIRS])):
        assert str(refused(read).hint).startswith(BEGINS)


def test_a_clients_message_has_its_place_beside_its_look(conf: dict[str, Any]) -> None:
    error = refused(
        lambda: KafkaAvroDeserializer(conf).deserialize_batch("t", [Message(THEIRS, partition=3, offset=7)])
    )
    assert str(error).startswith("topic t, row 0, partition 3, offset 7: cannot read the latest schema")
    assert str(error.hint).startswith(BEGINS)


def test_keys_of_a_topic_without_a_schema_show_their_look(conf: dict[str, Any]) -> None:
    key = SerializationContext("t", MessageField.KEY)
    assert str(refused(lambda: KafkaAvroDeserializer(conf)(THEIRS, key)).hint).startswith(BEGINS)
    halves = KeyValueSchema(USER, USER, "SEPARATED")
    for schema in (None, halves):
        error = refused(lambda schema=schema: KafkaAvroDeserializer(conf, schema, is_key=True).deserialize("t", THEIRS))  # type: ignore[misc]
        assert str(error.hint).startswith(BEGINS)


@pytest.mark.parametrize("data", [BODY, b"\3\4" + bytes(8) + BODY])
def test_what_may_be_anything_and_what_has_our_header_get_no_look(conf: dict[str, Any], data: bytes) -> None:
    for read in ways(KafkaAvroDeserializer(conf), data)[:3]:
        assert refused(read).hint is None


def test_a_schema_of_another_type_keeps_its_own_hint_before_the_look(
    registry: LocalRegistry, conf: dict[str, Any]
) -> None:
    KafkaPulsarSerializer({"schema.registry.url": registry.url}, "STRING").warm_up("t")
    error = refused(lambda: KafkaAvroDeserializer(conf).deserialize("t", b'{"a": 1}'))
    assert isinstance(error, SchemaError)
    assert str(error.hint).endswith("; the message looks like JSON text, not Avro: '{\"a\": 1}'")
    assert "STRING" in str(error)


def test_a_schema_that_cannot_read_what_was_written_is_named_before_the_look(
    registry: LocalRegistry, conf: dict[str, Any]
) -> None:
    KafkaAvroSerializer(conf, USER).warm_up("t")
    other = {"type": "record", "name": "User", "fields": [{"name": "zz", "type": "int"}]}
    error = refused(lambda: KafkaAvroDeserializer(conf, other).deserialize("t", bytes(4) + b"\x0e"))
    assert isinstance(error, SchemaError)
    assert not str(error.hint).startswith(BEGINS)


def test_a_message_that_must_have_a_header_shows_its_look(registry: LocalRegistry, conf: dict[str, Any]) -> None:
    KafkaAvroSerializer(conf, USER).warm_up("t")
    deserializer = KafkaAvroDeserializer({**conf, "fallback.to.latest": False})
    for read in ways(deserializer, THEIRS):
        error = refused(read)
        assert "the message has no schema version header" in str(error)
        assert str(error.hint).startswith(BEGINS)


def test_each_failure_is_one_miss_and_one_error(conf: dict[str, Any]) -> None:
    message = KafkaAvroSerializer(conf, USER).serialize("good", BOB)
    deserializer = KafkaAvroDeserializer(conf)
    for _ in range(3):
        assert deserializer.deserialize("good", message) == BOB
        refused(lambda: deserializer.deserialize("t", THEIRS))
    stats = deserializer.stats()
    assert (stats["messages"], stats["misses"], stats["errors"]) == (6, 4, 3)


def test_a_schema_that_is_registered_meanwhile_reads_the_next_message(conf: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer(conf)
    refused(lambda: deserializer.deserialize("t", BODY))
    KafkaAvroSerializer(conf, USER).warm_up("t")
    assert deserializer.deserialize("t", BODY) == BOB


# A reading that has no schema is one that has failed


@pytest.mark.parametrize("order", ["headerless,confluent,confluent-header", "confluent,confluent-header,headerless"])
def test_a_sign_is_read_where_bare_avro_has_no_schema(
    both: dict[str, Any], second: ConfluentStandIn, order: str
) -> None:
    shown = [
        (THEIRS, None),
        (BODY, [(HEADER, b"\0\0\0\0\1")]),
        (BODY, [(HEADER, b"\1" + second.guid(1))]),
    ]
    deserializer = KafkaAvroDeserializer({**both, "framings": f"snip42,{order}"}, USER)
    for message, headers in shown:
        assert [read() for read in ways(deserializer, message, headers)] == [BOB] * 4
    stats = deserializer.stats()
    assert (stats["confluent"], stats["confluent_header"], stats["headerless"], stats["errors"]) == (4, 8, 0, 0)


def test_a_sign_is_read_where_the_topics_schema_is_of_another_type(
    registry: LocalRegistry, both: dict[str, Any]
) -> None:
    KafkaPulsarSerializer({"schema.registry.url": registry.url}, "STRING").warm_up("t")
    assert KafkaAvroDeserializer(both).deserialize("t", THEIRS) == BOB


def test_what_neither_reading_reads_has_both_reasons(both: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer(both, USER)
    for message, why in ((THEIRS + b"x", "byte 9: expected the end"), (b"\0\0\0\0\7" + BODY, "not have schema id 7")):
        texts = {str(refused(read)).replace(", row 0", "") for read in ways(deserializer, message)}
        (text,) = texts
        assert text.startswith("topic t: expected Confluent's framing with schema id ")
        assert why in text
        assert text.endswith("as the latter: cannot read the latest schema: Schema not found (HTTP 404)")


@pytest.mark.parametrize("has_schema", [False, True])
def test_an_id_is_found_behind_many_unknown_ones(both: dict[str, Any], has_schema: bool) -> None:
    if has_schema:
        number = record("N", ("n", fixed("F", 1)))
        KafkaAvroSerializer({"schema.registry.url": both["schema.registry.url"]}, number).warm_up("t")
    deserializer = KafkaAvroDeserializer(both)
    for unknown in range(100, 130):
        refused(lambda unknown=unknown: deserializer.deserialize("t", unknown.to_bytes(5) + BODY))  # type: ignore[misc]
    assert deserializer.deserialize("t", THEIRS) == BOB


def test_without_headerless_an_unknown_id_is_the_reason(both: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer({**both, "framings": "snip42,confluent"}, USER)
    for read in ways(deserializer, b"\0\0\0\0\7" + BODY):
        error = refused(read)
        assert isinstance(error, SchemaNotFoundError)
        assert "the second registry does not have schema id 7" in str(error)
    for read in ways(deserializer, b'{"a": 1}'):
        error = refused(read)
        assert isinstance(error, DecodeError)
        assert "looks like JSON" in str(error.hint)


def test_columns_of_a_topic_without_a_schema_need_the_readers(both: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer({**both, "framings": "snip42,headerless,confluent"})
    error = refused(lambda: deserializer.deserialize_batch("t", [THEIRS]))
    assert "columns need the reader's schema" in str(error.hint)
    assert Codec(USER).encode(BOB) == BODY
