"""deserialize_batch and serialize_batch of KEY_VALUE topics, of JSON and of Pulsar's primitive types."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from typing import Any, Final

import any_type
import pytest
from conf import conf

pa = pytest.importorskip("pyarrow")

from schemas import record  # noqa: E402

from streamnative_serdes import (  # noqa: E402 - requires pyarrow
    BatchTooLargeError,
    ConfigError,
    DecodeError,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValueSchema,
    SchemaError,
    TypedSchema,
    header,
)
from streamnative_serdes._formats import format_of  # noqa: E402
from streamnative_serdes._schema import Limits  # noqa: E402
from streamnative_serdes._topics.binding import Binding  # noqa: E402
from streamnative_serdes.arrow import in_parts  # noqa: E402
from streamnative_serdes.codec import Codec  # noqa: E402
from streamnative_serdes.schema_registry import SchemaInfo  # noqa: E402
from streamnative_serdes.testing import LocalRegistry  # noqa: E402

TOPIC: Final = "users"
KEY: Final = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}]}
USER: Final[dict[str, Any]] = record("User", ("age", "int"), ("name", ["null", "string"], None))
WIDER: Final = {**USER, "fields": [*USER["fields"], {"name": "mail", "type": "string", "default": "-"}]}
SEPARATED, INLINE = KeyValueSchema(KEY, USER, "SEPARATED"), KeyValueSchema(KEY, USER, "INLINE")
K, V, W = Codec(KEY), Codec(USER), Codec(WIDER)
BOB: Final = {"age": 7, "name": "bob"}
KEY1, BOB1 = K.encode({"id": 1}), V.encode(BOB)
PAIRS: Final = [(KEY1, BOB1), (None, BOB1), (KEY1, None), (None, None)]
ROWS: Final = [({"id": 1}, BOB), (None, BOB), ({"id": 1}, None), (None, None)]


def registered(registry: LocalRegistry, schema: Any, topic: str = TOPIC) -> None:
    KafkaAvroSerializer(conf(registry), schema).warm_up(topic)


def post(registry: LocalRegistry, kind: str, schema: Any = "", topic: str = TOPIC, **properties: str) -> None:
    any_type.register(registry, topic, kind, schema, properties)


def joined(key: bytes | None, value: bytes | None) -> bytes:
    return b"".join(b"\xff" * 4 if half is None else len(half).to_bytes(4) + half for half in (key, value))


def framed(version: int, body: bytes) -> bytes:
    return header.pack(version) + body


def rows(batch: Any) -> list[tuple[Any, Any]]:
    batch.validate(full=True)
    return [(row["key"], row["value"]) for row in batch.to_pylist()]


def refused(registry: LocalRegistry, data: list[bytes | None], keys: Any = None, **more: Any) -> Any:
    with pytest.raises(DecodeError) as caught:
        KafkaAvroDeserializer(conf(registry, **more)).deserialize_batch(TOPIC, data, keys=keys)
    return caught.value


# KEY_VALUE: reading


@pytest.mark.parametrize("head", [b"", header.pack(0)])
def test_separated_messages_and_keys_become_two_columns(registry: LocalRegistry, head: bytes) -> None:
    registered(registry, SEPARATED)
    deserializer = KafkaAvroDeserializer(conf(registry))
    keys, values = zip(*PAIRS, strict=True)
    data = [None if value is None else head + value for value in values]
    batch = deserializer.deserialize_batch(TOPIC, data, keys=list(keys))
    assert rows(batch) == ROWS
    assert batch.schema == deserializer.columns(TOPIC).arrow_schema
    assert str(batch.schema.field("key").type) == "struct<id: int32 not null>"
    assert deserializer.stats()["messages"] == 3, "a row without message and key is no message"


@pytest.mark.parametrize("head", [b"", header.pack(0)])
def test_inline_messages_become_two_columns(registry: LocalRegistry, head: bytes) -> None:
    registered(registry, INLINE)
    data = [head + joined(*pair) for pair in PAIRS] + [None]
    batch = KafkaAvroDeserializer(conf(registry)).deserialize_batch(TOPIC, data)
    assert rows(batch) == [*ROWS, (None, None)]


def test_the_version_of_the_value_reads_both_halves(registry: LocalRegistry) -> None:
    """Of the key, too: that has no version of its own."""
    other = {**KEY, "fields": [{"name": "no", "type": ["null", "string"], "default": None}, *KEY["fields"]]}
    newer = Codec(other).encode({"no": "x", "id": 2})
    for encoding in ("SEPARATED", "INLINE"):
        topic = encoding.lower()
        registered(registry, KeyValueSchema(KEY, USER, encoding), topic)
        registered(registry, KeyValueSchema(other, WIDER, encoding), topic)  # type: ignore[arg-type]
        wide = W.encode({**BOB, "mail": "m"})
        halves = [(KEY1, BOB1, 0), (newer, wide, 1), (newer, wide, None), (newer, None, None)]
        heads = [b"" if version is None else header.pack(version) for _, _, version in halves]
        data = [
            head + joined(key, value) if encoding == "INLINE" else value and head + value
            for head, (key, value, _) in zip(heads, halves, strict=True)
        ]
        batch = KafkaAvroDeserializer(conf(registry)).deserialize_batch(topic, data, keys=[key for key, _, _ in halves])
        assert rows(batch) == [
            ({"no": None, "id": 1}, {**BOB, "mail": "-"}),
            ({"no": "x", "id": 2}, {**BOB, "mail": "m"}),
            ({"no": "x", "id": 2}, {**BOB, "mail": "m"}),
            ({"no": "x", "id": 2}, None),
        ]


def test_a_bare_message_of_an_older_version_is_an_error_or_wrong(registry: LocalRegistry) -> None:
    """The limit of messages without a version: they are read by the latest schema."""
    registered(registry, SEPARATED)
    registered(registry, KeyValueSchema(KEY, WIDER, "SEPARATED"))
    error = refused(registry, [framed(0, BOB1), BOB1], [KEY1, KEY1])
    assert (error.row, error.version, error.path) == (1, 1, "value.mail")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"", "field key, byte 0: expected the length of the key in 4 bytes, got 0"),
        (b"\0\0\0", "field key, byte 0: expected the length of the key in 4 bytes, got 3"),
        (b"\0\0\0\1", "field key, byte 0: expected a length from -1 to 0 for the key, got 1"),
        (b"\xff\xff\xff\xfe", "field key, byte 0: expected a length from -1 to 0 for the key, got -2"),
        (b"\x80\0\0\0" + bytes(8), "field key, byte 0: expected a length from -1 to 8 for the key, got -2147483648"),
        (b"\x7f\xff\xff\xff" + bytes(8), "field key, byte 0: expected a length from -1 to 8 for the key, got "
         "2147483647"),
        (b"\0\0\0\1\2", "field value, byte 5: expected the length of the value in 4 bytes, got 0"),
        (b"\xff\xff\xff\xff\0\0", "field value, byte 4: expected the length of the value in 4 bytes, got 2"),
        (b"\0\0\0\1\2\0\0\0\2\2", "field value, byte 5: expected a length from -1 to 1 for the value, got 2"),
        (joined(KEY1, BOB1) + b"x", "byte 15: expected the message to end after the value, got 1 more bytes"),
        (joined(KEY1 + b"x", BOB1), "field key, byte 5: expected the end of the message, got 1 more bytes (hint: it "
         "was probably written with another schema)"),
        (joined(KEY1, BOB1 + b"x"), "field value, byte 15: expected the end of the message, got 1 more bytes (hint: it "
         "was probably written with another schema)"),
        (joined(b"", BOB1), "field key.id, byte 4: the message ends in the middle of a number: it is truncated or of "
         "another schema"),
        (joined(KEY1, BOB1[:-1]), "field value.name, byte 12: expected a length from 0 to 2, the number of remaining "
         "bytes, got 3"),
    ],
)  # fmt: skip
def test_hostile_inline_messages_are_errors_of_their_row_as_of_single_messages(
    registry: LocalRegistry, message: bytes, expected: str
) -> None:
    registered(registry, INLINE)
    deserializer = KafkaAvroDeserializer(conf(registry))
    good = joined(KEY1, BOB1)
    batch = deserializer.deserialize_batch(TOPIC, [good, message, good], error_column="why")
    assert rows(batch.drop_columns("why")) == [ROWS[0], (None, None), ROWS[0]]
    assert batch["why"].to_pylist() == [None, f"topic users, schema version 0, {expected}", None]
    assert deserializer.stats()["errors"] == 1
    with pytest.raises(DecodeError) as caught:
        deserializer.deserialize(TOPIC, message)
    assert str(caught.value) == f"topic users, schema version 0, {expected}"
    error = refused(registry, [good, message])
    assert str(error) == f"topic users, row 1, schema version 0, {expected}"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (b"", BOB1, "field key.id, byte 0: the message ends in the middle of a number: it is truncated or of another "
         "schema"),
        (KEY1 + b"xy", BOB1, "field key, byte 1: expected the end of the message, got 2 more bytes (hint: it was "
         "probably written with another schema)"),
        (KEY1, BOB1 + b"x", "field value, byte 6: expected the end of the message, got 1 more bytes (hint: it was "
         "probably written with another schema)"),
        (KEY1, b'{"age":7}', "field value.name, byte 2: expected a union branch index from 0 to 1, got 17 (hint: the "
         "message looks like JSON text, not Avro: '{\"age\":7}')"),
        # What the value looks like says nothing about the key.
        (b"", b'{"age":7}', "field key.id, byte 0: the message ends in the middle of a number: it is truncated or of "
         "another schema"),
        (b"\xff", None, "field key.id, byte 0: the message ends in the middle of a number: it is truncated or of "
         "another schema"),
    ],
)  # fmt: skip
def test_a_damaged_half_of_a_separated_message_nulls_both(
    registry: LocalRegistry, key: bytes, value: bytes | None, expected: str
) -> None:
    registered(registry, SEPARATED)
    deserializer = KafkaAvroDeserializer(conf(registry))
    for head in (b"", header.pack(0)):
        data = [BOB1, value if value is None or not head else head + value, BOB1]
        batch = deserializer.deserialize_batch(TOPIC, data, keys=[KEY1, key, None], error_column="why")
        assert rows(batch.drop_columns("why")) == [ROWS[0], (None, None), ROWS[1]]
        [why] = [text for text in batch["why"].to_pylist() if text is not None]
        if not head:
            assert why == f"topic users, schema version 0, {expected}"
        assert why.split(", byte")[0] == f"topic users, schema version 0, {expected.split(', byte')[0]}"
    assert deserializer.stats()["errors"] == 2


def test_trailing_bytes_of_a_half_are_allowed_behind_a_version_only(registry: LocalRegistry) -> None:
    registered(registry, INLINE)
    loose = KafkaAvroDeserializer(conf(registry, ignore_trailing_bytes=True))
    extra = joined(KEY1 + b"xx", BOB1 + b"y")
    batch = loose.deserialize_batch(TOPIC, [framed(0, extra), extra, framed(0, extra + b"z")], error_column="why")
    assert [text and text.partition("byte")[0] for text in batch["why"].to_pylist()] == [
        None, "topic users, schema version 0, field key, ", "topic users, schema version 0, "
    ]  # fmt: skip
    assert rows(batch.drop_columns("why"))[0] == ROWS[0] == tuple(loose.deserialize(TOPIC, framed(0, extra)))


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (USER, ["age", "name"]),
        (TypedSchema("JSON", USER), ["age", "name"]),
        (TypedSchema("INT32"), ["value"]),
        (INLINE, ["key", "value"]),
        (KeyValueSchema(TypedSchema("JSON", KEY), USER, "INLINE"), ["key", "value"]),
    ],
)
def test_the_error_column_has_no_name_of_another_column(registry: LocalRegistry, schema: Any, names: list[str]) -> None:
    KafkaPulsarSerializer(conf(registry), schema).warm_up(TOPIC)
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer.deserialize_batch(TOPIC, [], error_column="why").schema.names == [*names, "why"]
    for name in names:
        with pytest.raises(ConfigError, match=f"error_column '{name}' is also the name of a column of the messages"):
            deserializer.deserialize_batch(TOPIC, [], error_column=name)


def test_each_half_has_the_limits_of_a_message(registry: LocalRegistry) -> None:
    numbers = {"type": "array", "items": "int"}
    deep: Any = "int"
    for number in range(4):
        deep = {"type": "record", "name": f"D{number}", "fields": [{"name": "f", "type": deep}]}
    registered(registry, KeyValueSchema(numbers, deep, "INLINE"))
    codec = Codec(numbers)
    message = joined(codec.encode([1] * 5), Codec(deep).encode({"f": {"f": {"f": {"f": 1}}}}))
    both = joined(codec.encode([1] * 6), None)
    reader = KafkaAvroDeserializer(conf(registry, max_items=5, max_depth=4))
    assert rows(reader.deserialize_batch(TOPIC, [message]))[0][0] == [1] * 5
    assert list(reader.deserialize(TOPIC, message).key) == [1] * 5
    with pytest.raises(DecodeError, match="field key, byte 5: the message holds too many items"):
        reader.deserialize_batch(TOPIC, [both])
    registered(registry, KeyValueSchema(numbers, numbers, "INLINE"), "numbers")
    five = codec.encode([1] * 5)
    assert rows(reader.deserialize_batch("numbers", [joined(five, five)] * 2)) == [([1] * 5, [1] * 5)] * 2
    shallow = KafkaAvroDeserializer(conf(registry, max_depth=3))
    for read in (shallow.deserialize, lambda topic, data: shallow.deserialize_batch(topic, [data])):
        with pytest.raises(DecodeError, match=r"field value\.f\.f\.f, byte 15: .* nested deeper than 3 levels"):
            read(TOPIC, message)


def test_an_unknown_version_is_read_by_the_latest_from_its_body_or_as_a_whole(registry: LocalRegistry) -> None:
    registered(registry, SEPARATED)
    deserializer = KafkaAvroDeserializer(conf(registry))
    batch = deserializer.deserialize_batch(TOPIC, [framed(9, BOB1), framed(9, b"\xff")], keys=[KEY1, KEY1],
                                           error_column="why")  # fmt: skip
    assert rows(batch.drop_columns("why")) == [ROWS[0], (None, None)]
    assert deserializer.stats()["fallbacks"] == 1
    assert "the registry does not have this version" in batch["why"][1].as_py()
    strict = refused(registry, [BOB1], [KEY1], fallback_to_latest=False)
    assert "the message has no schema version header" in str(strict)


def test_the_keys_of_a_separated_topic_have_to_be_there(registry: LocalRegistry) -> None:
    registered(registry, SEPARATED)
    deserializer = KafkaAvroDeserializer(conf(registry))
    for error_column in (None, "why"):
        with pytest.raises(ConfigError, match=r"its encoding is SEPARATED \(hint: pass keys="):
            deserializer.deserialize_batch(TOPIC, [BOB1], error_column=error_column)
    for keys in ([KEY1], [KEY1] * 3, pa.chunked_array([[KEY1], [KEY1], [KEY1]], pa.binary())):
        with pytest.raises(DecodeError, match=f"expected a key or null for each message, got {len(keys)} keys for 2"):
            deserializer.deserialize_batch(TOPIC, [BOB1, BOB1], keys=keys)
    with pytest.raises(TypeError, match="expected an Arrow array of bytes or text, got an array of int64"):
        deserializer.deserialize_batch(TOPIC, [BOB1], keys=pa.array([1]))
    with pytest.raises(ConfigError, match="a batch has both halves"):
        KafkaAvroDeserializer(conf(registry), is_key=True).deserialize_batch(TOPIC, [KEY1])
    second = {"confluent.schema.registry.url": "http://127.0.0.1:9", "framings": "snip42,confluent,headerless"}
    both = KafkaAvroDeserializer({**conf(registry), **second})
    with pytest.raises(ConfigError, match="no framings of other registries"):
        both.deserialize_batch(TOPIC, [BOB1], keys=[KEY1])


def test_messages_and_keys_may_be_in_different_chunks_and_forms(registry: LocalRegistry) -> None:
    registered(registry, SEPARATED)
    deserializer = KafkaAvroDeserializer(conf(registry))
    pairs = [(K.encode({"id": number}), V.encode({"age": number, "name": None})) for number in range(5)]
    keys, values = ([pair[half] for pair in pairs] for half in (0, 1))
    expected = [({"id": number}, {"age": number, "name": None}) for number in range(5)]
    messages = pa.chunked_array([values[:2], [], values[2:]], pa.binary())
    for given in (
        keys, pa.array(keys, pa.large_binary()), pa.array(keys, pa.binary_view()), pa.array(keys, pa.binary(1)),
        pa.chunked_array([keys[:1], keys[1:4], keys[4:]], pa.binary()),
        pa.array([b"x", *keys, b"y"], pa.binary()).slice(1, 5),
    ):  # fmt: skip
        assert rows(deserializer.deserialize_batch(TOPIC, messages, keys=given)) == expected
    table = pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})
    parts = in_parts(table, lambda part: deserializer.deserialize_batch(TOPIC, part["value"], keys=part["key"]))
    assert [row for _, batch in parts for row in rows(batch)] == expected


def test_given_schemas_read_messages_of_every_version(registry: LocalRegistry) -> None:
    for schema in (SEPARATED, KeyValueSchema(KEY, WIDER, "SEPARATED")):
        registered(registry, schema)
    view = {**USER, "fields": [{"name": "age", "type": "double"}]}
    deserializer = KafkaAvroDeserializer(conf(registry), KeyValueSchema(KEY, view, "SEPARATED"))
    wide = W.encode({**BOB, "mail": "longer"})
    data = [framed(0, BOB1), framed(1, wide), Codec(view).encode({"age": 3.0}), wide, b"\xff"]
    batch = deserializer.deserialize_batch(TOPIC, data, keys=[KEY1] * 5, error_column="why")
    assert [value and value["age"] for _, value in rows(batch.drop_columns("why"))] == [7.0, 7.0, 3.0, 7.0, None]
    # Without a version, by the given schemas first; their error counts.
    expected = "topic users, schema version 1, field value.age, byte 0: expected 8 bytes"
    assert batch["why"][4].as_py().startswith(expected)
    # The schema of one half alone is the value's; the key is read as the latest one.
    alone = KafkaAvroDeserializer(conf(registry), view)
    assert rows(alone.deserialize_batch(TOPIC, data[:2], keys=[KEY1] * 2)) == [({"id": 1}, {"age": 7.0})] * 2
    for schema, reason in (
        (KeyValueSchema("STRING", USER, "SEPARATED"), "expected a key of type STRING, but the topic has type AVRO"),
        (KeyValueSchema(KEY, {**USER, "fields": [{"name": "age", "type": "string"}]}, "SEPARATED"),
         "field value.age: the writer's int cannot be read as the reader's string"),
    ):  # fmt: skip
        with pytest.raises(SchemaError, match=reason):
            KafkaAvroDeserializer(conf(registry), schema).deserialize_batch(TOPIC, data[:1], keys=[KEY1])


def test_a_schema_for_avro_does_not_fit_other_topics_whoever_asks_first(registry: LocalRegistry) -> None:
    registered(registry, KeyValueSchema("STRING", "STRING", "INLINE"))
    message = joined(b"a", b"b")
    for known in (False, True):
        if not known:
            Binding.forget()
        with pytest.raises(SchemaError, match="expected a value of type AVRO, but the topic has type STRING"):
            KafkaAvroDeserializer(conf(registry), USER).deserialize_batch(TOPIC, [message])
    registered(registry, USER, "plain")
    with pytest.raises(SchemaError, match="expected messages of type KEY_VALUE, but the topic has type AVRO"):
        KafkaAvroDeserializer(conf(registry), SEPARATED).deserialize_batch("plain", [framed(0, BOB1)])


@pytest.mark.parametrize("encoding", ["SEPARATED", "INLINE"])
def test_latest_seen_reads_pairs_as_the_highest_version_of_the_batch_or_before(
    registry: LocalRegistry, encoding: Any
) -> None:
    for schema in (USER, WIDER):
        registered(registry, KeyValueSchema(KEY, schema, encoding))
    wide = W.encode({**BOB, "mail": "m"})
    old, new = ((framed(0, BOB1), framed(1, wide)) if encoding == "SEPARATED" else
                (framed(0, joined(KEY1, BOB1)), framed(1, joined(KEY1, wide))))  # fmt: skip
    deserializer = KafkaAvroDeserializer(conf(registry, reader_schema_policy="latest.seen"))
    for data, mails in (([old, old], None), ([old, new], ["-", "m"]), ([old], ["-"])):
        keys = [KEY1] * len(data)
        values = [value for _, value in rows(deserializer.deserialize_batch(TOPIC, data, keys=keys))]
        assert [value.get("mail") for value in values] == (mails or [None] * len(data))


@pytest.mark.parametrize("large", [False, True])
def test_both_dialects_and_large_types(registry: LocalRegistry, large: bool) -> None:
    registered(registry, KeyValueSchema("STRING", "INSTANT", "INLINE"))
    deserializer = KafkaAvroDeserializer(conf(registry))
    data = [joined("zoë".encode(), (1).to_bytes(8) + (5).to_bytes(4))]
    for dialect, kind in (("arrow", pa.timestamp("ns", "UTC")), ("spark", pa.int64())):
        batch = deserializer.deserialize_batch(TOPIC, data, dialect=dialect, large_types=large)  # type: ignore[arg-type]
        assert batch.schema.field("value").type == kind
        assert batch.schema.field("key").type == (pa.large_string() if large else pa.string())
        assert batch.column("value").cast(pa.int64()).to_pylist() == [1_000_000_005]


def test_a_batch_that_is_too_large_is_read_in_parts(registry: LocalRegistry) -> None:
    nothing = {"type": "array", "items": {"type": "fixed", "name": "Nothing", "size": 0}}
    registered(registry, KeyValueSchema(KEY, nothing, "INLINE"))
    message = joined(KEY1, Codec(nothing).encode([b""] * 900))
    deserializer = KafkaAvroDeserializer(conf(registry, max_items=1000))
    messages = pa.array([message] * 3)
    with pytest.raises(BatchTooLargeError, match=r"^topic users, row 1, field value: the items of the batch take"):
        deserializer.deserialize_batch(TOPIC, messages)
    parts = list(in_parts(messages, lambda part: deserializer.deserialize_batch(TOPIC, part)))
    assert [len(part) for part, _ in parts] == [1] * 3


# KEY_VALUE: writing


@pytest.mark.parametrize("framing", ["bare", "value"])
@pytest.mark.parametrize("schema", [SEPARATED, INLINE])
def test_columns_are_written_as_single_objects_are(
    registry: LocalRegistry, schema: KeyValueSchema, framing: str
) -> None:
    serializer = KafkaAvroSerializer(conf(registry, key_value_framing=framing), schema)
    head = header.pack(0) if framing == "value" else b""
    batch = pa.RecordBatch.from_pylist([{"key": key, "value": value} for key, value in ROWS])
    written = serializer.serialize_batch(TOPIC, batch)
    written.validate(full=True)
    if schema is SEPARATED:
        expected = [(key, None if value is None else head + value) for key, value in PAIRS]
    else:
        expected = [(None, head + joined(*pair)) for pair in PAIRS]
        assert [value for _, value in expected] == [serializer.serialize(TOPIC, row) for row in ROWS]
    assert rows(written) == expected
    assert serializer.stats()["errors"] == 0
    back = KafkaAvroDeserializer(conf(registry)).deserialize_batch(TOPIC, written["value"], keys=written["key"])
    assert rows(back) == ROWS
    large = serializer.serialize_batch(TOPIC, batch, large_types=True)
    assert large.schema.types == [pa.large_binary()] * 2
    assert rows(large) == expected


def test_every_form_of_columns_is_written(registry: LocalRegistry) -> None:
    for schema in (SEPARATED, INLINE):
        topic = schema.encoding
        serializer = KafkaAvroSerializer(conf(registry), schema)
        batch = pa.RecordBatch.from_pylist([{"key": key, "value": value} for key, value in ROWS])
        expected = serializer.serialize_batch(topic, batch)
        table = pa.Table.from_batches([batch, batch[:0], batch])
        twice = [*rows(expected), *rows(expected)]
        assert rows(serializer.serialize_batch(topic, table)) == twice
        assert rows(serializer.serialize_batch(topic, table.to_reader())) == twice
        wider = batch.append_column("more", pa.array([1] * 4))
        assert rows(serializer.serialize_batch(topic, wider[1:3])) == rows(expected)[1:3]
        # A struct that is null as a whole is a null message.
        structs = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema),
                                             mask=pa.array([False, True, False, True]))  # fmt: skip
        found = rows(serializer.serialize_batch(topic, structs))
        assert [found[0], found[2]] == [rows(expected)[0], rows(expected)[2]]
        assert found[1] == found[3] == (None, None)
        nulls = pa.record_batch({"key": pa.nulls(1), "value": pa.nulls(1)})
        assert rows(serializer.serialize_batch(topic, nulls)) == [rows(expected)[3]]


@pytest.mark.parametrize("schema", [SEPARATED, INLINE])
def test_columns_that_do_not_match_are_errors_with_the_half(registry: LocalRegistry, schema: KeyValueSchema) -> None:
    serializer = KafkaAvroSerializer(conf(registry), schema)
    key, value = pa.array([{"id": 1}] * 2), pa.array([BOB] * 2)
    huge = pa.array([{"id": 1}, {"id": 1 << 40}])
    for columns, expected in (
        ({"key": key}, '^topic users, schema version 0: expected the columns "key" and "value" .*, got key'),
        ({"k": key, "v": value}, "got k, v"),
        ({"key": key, "value": pa.array([1, 2])}, "field value: expected a column for record User, got .* int64"),
        ({"key": pa.array([{"no": 1}] * 2), "value": value}, "field key: "),
        ({"key": huge, "value": value}, "^topic users, row 1, schema version 0, field key.id: int out of range"),
        ({"key": key, "value": pa.array([BOB, {"age": None, "name": "x"}])},
         "^topic users, row 1, schema version 0, field value.age: expected int, got null"),
    ):  # fmt: skip
        with pytest.raises(EncodeError, match=expected):
            serializer.serialize_batch(TOPIC, pa.record_batch(columns))
    assert serializer.stats()["errors"] == 6
    strict = KafkaAvroSerializer(conf(registry, validate_strict=True), schema)
    with pytest.raises(EncodeError, match="expected no columns besides key and value, got key, value, more"):
        strict.serialize_batch(TOPIC, pa.record_batch({"key": key, "value": value, "more": value}))
    with pytest.raises(ConfigError, match="a batch has both halves"):
        KafkaAvroSerializer(conf(registry), SEPARATED, is_key=True).serialize_batch("other", pa.record_batch({}))


def test_a_half_as_deep_as_the_limit_is_written(registry: LocalRegistry) -> None:
    deep: Any = "int"
    for number in range(3):
        deep = {"type": "record", "name": f"D{number}", "fields": [{"name": "f", "type": deep}]}
    batch = pa.RecordBatch.from_pylist([{"key": "k", "value": {"f": {"f": {"f": 1}}}}])
    for depth in (3, 2):
        serializer = KafkaAvroSerializer(conf(registry, max_depth=depth), KeyValueSchema("STRING", deep, "INLINE"))
        if depth == 3:
            assert rows(serializer.serialize_batch(TOPIC, batch)) == [(None, joined(b"k", b"\2"))]
        else:
            with pytest.raises(EncodeError, match=r"field value\.f\.f: .* nested deeper than 2 levels"):
                serializer.serialize_batch(TOPIC, batch)


def test_the_topics_pair_is_written_by_without_a_schema_or_by_one_half(registry: LocalRegistry) -> None:
    registered(registry, INLINE)
    batch = pa.RecordBatch.from_pylist([{"key": key, "value": value} for key, value in ROWS])
    lookup = conf(registry, auto_register_schemas=False)
    expected = [(None, joined(*pair)) for pair in PAIRS]
    for serializer in (
        KafkaAvroSerializer(conf(registry)),
        KafkaAvroSerializer(lookup),
        KafkaAvroSerializer(lookup, USER),
        KafkaAvroSerializer(conf(registry, use_schema_version=0, auto_register_schemas=False)),
        pickle.loads(pickle.dumps(KafkaAvroSerializer(lookup, INLINE))),
    ):
        assert rows(serializer.serialize_batch(TOPIC, batch)) == expected


def test_pickles_take_along_what_batches_need(registry: LocalRegistry) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf(registry), SEPARATED), KafkaAvroDeserializer(conf(registry))
    batch = pa.RecordBatch.from_pylist([{"key": key, "value": value} for key, value in ROWS])
    written = serializer.serialize_batch(TOPIC, batch)
    deserializer.deserialize_batch(TOPIC, written["value"], keys=written["key"])
    texts = [pickle.dumps(one) for one in (serializer, deserializer)]
    Binding.forget()
    before = registry.calls.copy()
    writer, reader = map(pickle.loads, texts)
    assert rows(writer.serialize_batch(TOPIC, batch)) == PAIRS
    assert rows(reader.deserialize_batch(TOPIC, written["value"], keys=written["key"])) == ROWS
    assert registry.calls == before


# Primitive types

UTC: Final = dt.UTC
MOMENT: Final = dt.datetime(2026, 11, 23, 13, 45, 0, 123000, UTC)
FIRST, LAST = dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999000, UTC)
DAY: Final = 86_400_000_000_000
PLAIN: Final[dict[str, tuple[Any, list[Any]]]] = {
    "BOOLEAN": (pa.bool_(), [True, False]),
    "INT8": (pa.int8(), [0, -1, 127, -128]),
    "INT16": (pa.int16(), [0, -1, 32_767, -32_768]),
    "INT32": (pa.int32(), [0, -1, 2**31 - 1, -(2**31)]),
    "INT64": (pa.int64(), [0, -1, 2**63 - 1, -(2**63)]),
    "FLOAT": (pa.float32(), [0.0, 1.5, float("inf"), -(2.0**-149)]),
    "DOUBLE": (pa.float64(), [0.0, -1.5, float("-inf"), 1e300]),
    "STRING": (pa.string(), ["", "zoë", "日本", "x" * 100]),
    "DATE": (pa.timestamp("us", "UTC"), [MOMENT, FIRST, LAST]),
    "TIME": (pa.timestamp("us", "UTC"), [MOMENT, FIRST, LAST]),
    "TIMESTAMP": (pa.timestamp("us", "UTC"), [MOMENT, FIRST, LAST]),
    "INSTANT": (pa.int64(), [0, -1, 10**9, -(10**9), 2**63 - 1, -(2**63)]),
    "LOCAL_DATE": (pa.date32(), [dt.date(2026, 11, 23), dt.date.min, dt.date.max]),
    "LOCAL_TIME": (pa.int64(), [0, DAY - 1]),
    "LOCAL_DATE_TIME": (pa.int64(), [0, -1, DAY, -DAY, 2**63 - 1, -(2**63)]),
}


SIZES: Final = {
    "BOOLEAN": 1, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8, "DATE": 8, "TIME": 8,
    "TIMESTAMP": 8, "INSTANT": 12, "LOCAL_DATE": 8, "LOCAL_TIME": 8, "LOCAL_DATE_TIME": 16,
}  # fmt: skip


@pytest.mark.parametrize("kind", PLAIN)
def test_a_primitive_type_is_one_column_as_its_format_reads_it(registry: LocalRegistry, kind: str) -> None:
    post(registry, kind)
    form, (column, values) = format_of(SchemaInfo(0, kind, ""), Limits(), {}), PLAIN[kind]
    payloads = [*map(form.encode, values), None]
    deserializer, serializer = KafkaAvroDeserializer(conf(registry)), KafkaAvroSerializer(conf(registry))
    batch = deserializer.deserialize_batch(TOPIC, payloads, dialect="spark")
    batch.validate(full=True)
    assert batch.schema.types == [column]
    assert batch["value"].to_pylist() == [*values, None]
    assert [form.decode(data) for data in payloads if data is not None] == values
    assert serializer.serialize_batch(TOPIC, batch).to_pylist() == payloads
    arrow = deserializer.deserialize_batch(TOPIC, payloads)
    assert serializer.serialize_batch(TOPIC, arrow).to_pylist() == payloads
    assert serializer.serialize_batch(TOPIC, arrow, large_types=True).type == pa.large_binary()


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        *((kind, bytes(size - 1), f"byte {size - 1}: expected {size} bytes for {kind}, got {size - 1}")
          for kind, size in SIZES.items()),
        *((kind, bytes(size + 1), f"byte {size}: expected {size} bytes for {kind}, got {size + 1}")
          for kind, size in SIZES.items()),
        ("STRING", b"a\xff", "expected text in UTF-8: invalid start byte in b'a\\\\xff'"),
        ("DATE", (253_402_300_800_000).to_bytes(8), "DATE 253402300800000 is outside of the years 1 to 9999"),
        ("DATE", (-62_135_596_800_001).to_bytes(8, signed=True), "DATE -62135596800001 is outside of the years 1 to"),
        ("LOCAL_DATE", (2_932_897).to_bytes(8), "LOCAL_DATE 2932897 is outside of the years 1 to 9999 that date"),
        ("LOCAL_DATE", (-719_163).to_bytes(8, signed=True), "LOCAL_DATE -719163 is outside of the years"),
        ("LOCAL_TIME", b"\xff" * 8, "LOCAL_TIME -1 is not a time of day"),
        ("LOCAL_TIME", DAY.to_bytes(8), f"LOCAL_TIME {DAY} is not a time of day"),
        ("LOCAL_DATE_TIME", bytes(8) + DAY.to_bytes(8), f"byte 8: {DAY} nanoseconds since midnight are not a time"),
        ("LOCAL_DATE_TIME", bytes(8) + b"\xff" * 8, "byte 8: -1 nanoseconds since midnight are not a time of day"),
        ("LOCAL_DATE_TIME", (106_752).to_bytes(8) + bytes(8), "LOCAL_DATE_TIME 106752 is outside of the years 1677"),
        ("INSTANT", (9_223_372_036).to_bytes(8) + (854_775_808).to_bytes(4), "outside of the years 1677 to 2262"),
        ("INSTANT", (-9_223_372_037).to_bytes(8, signed=True) + (145_224_191).to_bytes(4), "outside of the years 1677"),
        ("INSTANT", b"\x7f" + b"\xff" * 11, "outside of the years 1677 to 2262"),
        ("INSTANT", b"\x80" + bytes(11), "outside of the years 1677 to 2262"),
    ],
)  # fmt: skip
def test_bytes_that_do_not_fit_the_type_are_errors(
    registry: LocalRegistry, kind: str, payload: bytes, expected: str
) -> None:
    post(registry, kind)
    deserializer = KafkaAvroDeserializer(conf(registry))
    for data in ([payload], [None, payload, None]):
        with pytest.raises(DecodeError, match=f"^topic users, row {len(data) // 2}, schema version 0, .*{expected}"):
            deserializer.deserialize_batch(TOPIC, data)
    batch = deserializer.deserialize_batch(TOPIC, [payload, None], error_column="why")
    assert batch["value"].null_count == 2
    assert deserializer.stats()["errors"] == 3


def test_any_byte_but_zero_is_true_and_nanoseconds_may_exceed_a_second_as_in_java(registry: LocalRegistry) -> None:
    post(registry, "BOOLEAN", topic="b")
    post(registry, "INSTANT", topic="i")
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer.deserialize_batch("b", [b"\0", b"\1", b"\2", b"\xff"])["value"].to_pylist() == [
        False, True, True, True
    ]  # fmt: skip
    odd = [(1).to_bytes(8) + nanos.to_bytes(4, signed=True) for nanos in (2**31 - 1, -(2**31))]
    batch = deserializer.deserialize_batch("i", odd, dialect="spark")
    assert batch["value"].to_pylist() == [10**9 + 2**31 - 1, 10**9 - 2**31]


@pytest.mark.parametrize(
    ("kind", "column", "expected"),
    [
        ("INT8", pa.array([128]), "INT8 out of range: 128 does not fit 8 bits"),
        ("INT16", pa.array([-32_769]), "INT16 out of range: -32769 does not fit 16 bits"),
        ("INT32", pa.array([2**31]), "INT32 out of range: 2147483648 does not fit 32 bits"),
        ("INT64", pa.array([2**63], pa.uint64()), "INT64 out of range"),
        ("INT64", pa.array(["1"]), "expected a column for INT64, got a column of type string"),
        ("FLOAT", pa.array([1e300]), "float out of range"),
        ("DOUBLE", pa.array([2**63 - 1]), "a DOUBLE cannot hold an integer of the column without loss"),
        ("STRING", pa.array([b"x"]), "expected a column for STRING, got a column of type binary"),
        ("BOOLEAN", pa.array([1]), "expected a column for BOOLEAN, got a column of type int64"),
        ("LOCAL_TIME", pa.array([DAY]), f"LOCAL_TIME {DAY} is not a time of day"),
        ("LOCAL_DATE", pa.array(["x"]), "expected a column for LOCAL_DATE, got a column of type string"),
        ("DATE", pa.array([253_402_300_800_000]), "DATE 253402300800000 is outside of the years 1 to 9999"),
        ("DATE", pa.array([MOMENT.replace(tzinfo=None)]), "expected a column for DATE, got a column of type timestamp"),
    ],
)  # fmt: skip
def test_columns_that_do_not_fit_a_primitive_type_are_errors(
    registry: LocalRegistry, kind: str, column: Any, expected: str
) -> None:
    post(registry, kind)
    with pytest.raises(EncodeError, match=f"^topic users, .*{expected}"):
        KafkaAvroSerializer(conf(registry)).serialize_batch(TOPIC, pa.record_batch({"value": column}))


def test_other_columns_of_a_kind_are_converted(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry))
    for kind, column, expected in (
        ("INT8", pa.array([5], pa.uint64()), b"\5"),
        ("INT64", pa.array([-5], pa.int8()), b"\xff" * 7 + b"\xfb"),
        ("FLOAT", pa.array([2], pa.int32()), b"\x40\0\0\0"),
        ("STRING", pa.array(["é"], pa.string_view()), "é".encode()),
        ("STRING", pa.array(["é"]).dictionary_encode(), "é".encode()),
        ("DATE", pa.array([MOMENT], pa.timestamp("ns", "UTC")), int(MOMENT.timestamp() * 1000).to_bytes(8)),
        ("LOCAL_TIME", pa.array([1], pa.time32("s")), (10**9).to_bytes(8)),
        ("LOCAL_DATE", pa.array([86_400_000], pa.date64()), (1).to_bytes(8)),
        ("INSTANT", pa.array([-1], pa.timestamp("ms", "UTC")), b"\xff" * 8 + (999_000_000).to_bytes(4)),
        ("LOCAL_DATE_TIME", pa.array([-1], pa.timestamp("us")), b"\xff" * 8 + (DAY - 1000).to_bytes(8)),
    ):
        topic = f"{kind}-{column.type}".replace("[", "").split(",")[0].split("<")[0].replace("]", "").replace(" ", "")
        post(registry, kind, topic=topic)
        assert serializer.serialize_batch(topic, pa.record_batch({"value": column})).to_pylist() == [expected]


def test_a_string_in_another_charset_is_read_and_written(registry: LocalRegistry) -> None:
    post(registry, "STRING", __charset="ISO-8859-1")
    payloads = ["zoë".encode("latin-1"), None, b""]
    batch = KafkaAvroDeserializer(conf(registry)).deserialize_batch(TOPIC, payloads)
    assert batch.to_pydict() == {"value": ["zoë", None, ""]}
    written = KafkaAvroSerializer(conf(registry)).serialize_batch(TOPIC, batch[:1])
    assert written.to_pylist() == payloads[:1]


# JSON

PERSON: Final = {
    "type": "record",
    "name": "Person",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "age", "type": ["null", "int"], "default": None},
        {"name": "born", "type": {"type": "int", "logicalType": "date"}, "default": 0},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "home", "type": ["null", {"type": "record", "name": "Home", "fields": [
            {"name": "zip", "type": "string"}, {"name": "rooms", "type": "int"}]}]},
    ],
}  # fmt: skip


def test_json_has_the_columns_of_its_avro_schema_all_nullable(registry: LocalRegistry) -> None:
    post(registry, "JSON", json.dumps(PERSON))
    deserializer = KafkaAvroDeserializer(conf(registry))
    data = [
        b'{"name":"ada","age":36,"born":1,"tags":["a",null],"home":{"zip":"1"},"more":{"x":[1]}}',
        b"{}",
        None,
        b"null",
    ]
    batch = deserializer.deserialize_batch(TOPIC, data)
    batch.validate(full=True)
    ada = {
        "name": "ada", "age": 36, "born": dt.date(1970, 1, 2), "tags": ["a", None], "home": {"zip": "1", "rooms": None}
    }  # fmt: skip
    nothing = dict.fromkeys(ada)
    assert batch.to_pylist() == [ada, {**nothing, "born": dt.date(1970, 1, 1)}, nothing, nothing]
    assert batch.schema == deserializer.columns(TOPIC).arrow_schema
    assert batch.schema.field("home").type.field("rooms").nullable


def test_the_first_row_that_cannot_be_read_as_json_is_the_error(registry: LocalRegistry) -> None:
    post(registry, "JSON", json.dumps(PERSON))
    deserializer = KafkaAvroDeserializer(conf(registry))
    data = [None, b'{"name":5}', b"{", b'{"home":{"rooms":"x"}}', b"[1]"]
    with pytest.raises(DecodeError) as caught:
        deserializer.deserialize_batch(TOPIC, data)
    assert str(caught.value) == "topic users, row 1, schema version 0, field name: expected string, got int 5"
    assert caught.value.row == 1
    whys = deserializer.deserialize_batch(TOPIC, data, error_column="why")["why"].to_pylist()
    assert whys[:2] == [None, "topic users, schema version 0, field name: expected string, got int 5"]
    assert [why.split(": ")[0] for why in whys[2:]] == [
        "topic users, schema version 0, byte 1", "topic users, schema version 0, field home.rooms",
        "topic users, schema version 0",
    ]  # fmt: skip
    assert deserializer.stats() | {"bytes": 0, "hits": 0, "misses": 0, "registry_calls": 0} == {
        "messages": 4, "bytes": 0, "hits": 0, "misses": 0, "errors": 5, "headerless": 4, "fallbacks": 0,
        "registry_calls": 0,
    }  # fmt: skip


def test_json_is_read_as_the_given_schema(registry: LocalRegistry) -> None:
    post(registry, "JSON", json.dumps(PERSON))
    view = {"type": "record", "name": "P", "fields": [
        {"name": "name", "type": "string", "default": "?"}, {"name": "age", "type": "long"}]}  # fmt: skip
    for _ in range(2):
        Binding.forget()
        batch = KafkaAvroDeserializer(conf(registry), view).deserialize_batch(TOPIC, [b'{"age":5}', b'{"name":"x"}'])
        assert batch.to_pylist() == [{"name": "?", "age": 5}, {"name": "x", "age": None}]
        assert batch.schema.field("age").type == pa.int64()


def test_columns_are_written_as_javas_json(registry: LocalRegistry) -> None:
    post(registry, "JSON", json.dumps(PERSON))
    serializer = KafkaAvroSerializer(conf(registry))
    ada = {"name": "ada", "age": None, "born": dt.date(1970, 1, 2), "tags": ["a"], "home": {"zip": "1", "rooms": 2}}
    batch = pa.RecordBatch.from_pylist([ada])
    form = format_of(SchemaInfo(0, "JSON", json.dumps(PERSON)), Limits(), {})
    assert serializer.serialize_batch(TOPIC, batch).to_pylist() == [form.encode(ada)]
    structs = pa.array([ada, None], pa.struct(list(batch.schema)))
    assert serializer.serialize_batch(TOPIC, structs).to_pylist() == [form.encode(ada), None]
    with pytest.raises(EncodeError, match=r"^topic users, row 1, schema version 0, field name: expected string"):
        serializer.serialize_batch(TOPIC, pa.array([ada, {**ada, "name": None}], pa.struct(list(batch.schema))))
    with pytest.raises(EncodeError, match="field tags: there is no column of that name"):
        serializer.serialize_batch(TOPIC, batch.drop_columns(["tags"]))


@pytest.mark.parametrize("encoding", ["SEPARATED", "INLINE"])
def test_halves_of_type_json_beside_compiled_ones(registry: LocalRegistry, encoding: Any) -> None:
    registered(registry, KeyValueSchema("INT32", TypedSchema("JSON", USER), encoding))
    key = (5).to_bytes(4)
    halves = [
        (key, b'{"age":7,"name":"bob"}'), (key, b"{}"), (None, b'{"age":1}'), (key, None), (key, b"x"), (b"", b"{}"),
        (b"", b"x"),
    ]  # fmt: skip
    keys = [pair[0] for pair in halves] if encoding == "SEPARATED" else None
    data = [joined(*pair) if encoding == "INLINE" else pair[1] for pair in halves]
    deserializer = KafkaAvroDeserializer(conf(registry))
    batch = deserializer.deserialize_batch(TOPIC, data, keys=keys, error_column="why")
    nothing = {"age": None, "name": None}
    assert rows(batch.drop_columns("why")) == [
        (5, BOB), (5, nothing), (None, {**nothing, "age": 1}), (5, None), *[(None, None)] * 3
    ]  # fmt: skip
    assert [why and why.split(", byte")[0].rpartition("field ")[2] for why in batch["why"].to_pylist()] == [
        None, None, None, None, "value", "key", "key"
    ]  # fmt: skip
    assert deserializer.stats()["errors"] == 3
    # Without an error column, the first row that cannot be read, whichever half it is.
    for first, path in ((4, "value"), (5, "key"), (6, "key")):
        for others in ([], [5, 4]):
            order = [0, first, *others]
            with pytest.raises(DecodeError) as caught:
                deserializer.deserialize_batch(TOPIC, [data[i] for i in order], keys=keys and [keys[i] for i in order])
            assert (caught.value.row, caught.value.path, caught.value.topic) == (1, path, TOPIC)
    good = [0, 3]
    written = KafkaAvroSerializer(conf(registry)).serialize_batch(TOPIC, batch.drop_columns("why").take(pa.array(good)))
    expected = [(None if encoding == "INLINE" else halves[i][0], data[i]) for i in good]
    assert rows(written) == expected


def test_types_without_columns_are_clear_errors(registry: LocalRegistry) -> None:
    post(registry, "JSON", json.dumps({"type": "object", "properties": {}}), "jackson")
    deserializer = KafkaAvroDeserializer(conf(registry))
    with pytest.raises(SchemaError, match="no columns for JSON messages whose schema is not a valid Avro schema"):
        deserializer.deserialize_batch("jackson", [b"{}"])
    recursive = {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}
    post(registry, "JSON", json.dumps(recursive), "recursive")
    with pytest.raises(SchemaError, match="record R contains itself"):
        deserializer.deserialize_batch("recursive", [b"{}"])


def test_the_columns_of_a_topic_are_made_once(registry: LocalRegistry) -> None:
    registered(registry, SEPARATED)
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert deserializer.columns(TOPIC) is deserializer.columns(TOPIC)
    assert deserializer.columns(TOPIC) is not deserializer.columns(TOPIC, dialect="spark")
