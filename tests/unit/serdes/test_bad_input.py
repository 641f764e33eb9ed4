"""Bad input is always refused: each error names the field, the expected type and the actual value."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from schemas import array, enum, logical, mapping, record
from wire import sized, varint

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError
from streamnative_serdes.testing import LocalRegistry

FIELDS: dict[str, Any] = {
    "flag": "boolean",
    "small": "int",
    "large": "long",
    "ratio": "float",
    "exact": "double",
    "raw": "bytes",
    "text": "string",
    "hash": {"type": "fixed", "name": "Hash", "size": 4},
    "suit": {"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"]},
    "list": {"type": "array", "items": "int"},
    "map": {"type": "map", "values": "int"},
    "maybe": ["null", "int"],
    "either": ["null", "int", "string"],
    "nothing": "null",
    "day": logical("int", "date"),
    "at": logical("long", "timestamp-millis"),
    "local": logical("long", "local-timestamp-micros"),
    "nanos": logical("long", "timestamp-nanos"),
    "time": logical("int", "time-millis"),
    "price": logical("bytes", "decimal", precision=5, scale=2),
    "id": logical("string", "uuid"),
    "lapse": logical("fixed", "duration", name="Lapse", size=12),
}
GOOD: dict[str, Any] = {
    "flag": True,
    "small": 1,
    "large": 2,
    "ratio": 0.5,
    "exact": 0.1,
    "raw": b"raw",
    "text": "text",
    "hash": b"hash",
    "suit": "SPADES",
    "list": [1, 2],
    "map": {"k": 1},
    "maybe": None,
    "either": "x",
    "nothing": None,
    "day": dt.date(2020, 1, 1),
    "at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "local": dt.datetime(2020, 1, 1),
    "nanos": 1,
    "time": dt.time(1),
    "price": Decimal("1.50"),
    "id": uuid.UUID(int=1),
    "lapse": (1, 2, 3),
}
DEEP: dict[str, Any] = record(
    "User", ("tags", mapping(array(["null", record("Tag", ("n", "int"), ("parts", ["null", "Tag"], None))])))
)
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "All",
    "fields": [{"name": name, "type": kind} for name, kind in FIELDS.items()] + [{"name": "user", "type": DEEP}],
}
GOOD["user"] = {"tags": {"a": [None, {"n": 1}, {"n": 2, "parts": {"n": 3}}]}}
CODEC = Codec(SCHEMA)


def user(value: Any, *, key: str = "a", at: int = 3) -> dict[str, Any]:
    return {"user": {"tags": {"ok": [], key: [None] * at + [value]}}}


class Failing:
    def __index__(self) -> int:
        raise RuntimeError("broken counter")


@dataclass
class Tag:
    n: Any


Named = namedtuple("Named", ["n"])

# (change of GOOD, exact path, expected, got); tests/unit/codec has more values of each type
BAD_VALUES: list[tuple[Any, str, str, str]] = [
    # Wrong types
    ({"flag": 1}, "flag", "expected boolean", "int 1"),
    ({"flag": "true"}, "flag", "expected boolean", "str 'true'"),
    ({"flag": None}, "flag", "expected boolean", "NoneType None"),
    ({"small": True}, "small", "expected int", "bool True"),
    ({"small": 1.5}, "small", "expected int", "float 1.5"),
    ({"small": 1.0}, "small", "expected int", "float 1.0"),
    ({"small": "1"}, "small", "expected int", "str '1'"),
    ({"small": None}, "small", "expected int", "NoneType None"),
    ({"small": Decimal(1)}, "small", "expected int", "Decimal 1"),
    ({"large": 1e3}, "large", "expected long", "float 1000.0"),
    ({"ratio": "0.5"}, "ratio", "expected float", "str '0.5'"),
    ({"ratio": False}, "ratio", "expected float", "bool False"),
    ({"exact": Decimal("0.5")}, "exact", "expected double", "Decimal 0.5"),
    ({"text": 5}, "text", "expected string", "int 5"),
    ({"hash": "hash"}, "hash", "expected bytes", "str 'hash'"),
    ({"suit": 0}, "suit", "expected a symbol of enum Suit", "int 0"),
    ({"list": 5}, "list", "expected array", "int 5"),
    ({"map": {1: 1}}, "map", "expected a string as map key", "int 1"),
    ({"maybe": "x"}, "maybe", "expected int", "str 'x'"),
    ({"either": 1.5}, "either", "expected union of null, int, string", "float 1.5"),
    ({"either": True}, "either", "expected union of null, int, string", "bool True"),
    ({"user": [1]}, "user", "expected a mapping for record User", "list"),
    ({"user": ({"a": []},)}, "user", "expected record User", "tuple"),
    ({"user": None}, "user", "expected a mapping for record User", "NoneType None"),
    # Out of range
    ({"small": 2**31}, "small", "int out of range", "2147483648 does not fit 32 bits"),
    ({"small": -(2**31) - 1}, "small", "int out of range", "-2147483649 does not fit 32 bits"),
    ({"large": 2**63}, "large", "long out of range", "9223372036854775808 does not fit 64 bits"),
    ({"large": 10**5000}, "large", "long out of range", "a number of more than 256 bits"),
    ({"ratio": 1e39}, "ratio", "float out of range", "1e+39"),
    ({"ratio": 16_777_217}, "ratio", "a float cannot hold", "16777217"),
    ({"exact": 2**53 + 1}, "exact", "a double cannot hold", "9007199254740993"),
    ({"exact": 10**400}, "exact", "double out of range", "a number of more than 256 bits"),
    ({"hash": b"hashes"}, "hash", "expected exactly 4 bytes", "got 6"),
    ({"hash": b""}, "hash", "expected exactly 4 bytes", "got 0"),
    ({"text": "a\ud800"}, "text", "expected text that UTF-8 can encode", "lone surrogate"),
    ({"map": {"\udfff": 1}}, "map[", "expected text that UTF-8 can encode", "lone surrogate"),
    ({"maybe": 2**31}, "maybe", "int out of range", "2147483648"),
    ({"either": 2**31}, "either", "int out of range", "2147483648"),
    # Enums, missing fields
    ({"suit": "CLUBS"}, "suit", "is not a symbol of enum Suit", "'CLUBS'"),
    ({"suit": "spades"}, "suit", "its symbols are SPADES, HEARTS", "'spades'"),
    ({"user": {}}, "user.tags", "the field is missing and has no default", ""),
    # Logical types
    (
        {"at": dt.datetime(2020, 1, 1)},
        "at",
        "expected a datetime with a time zone",
        "datetime.datetime(2020, 1, 1, 0, 0)",
    ),
    ({"at": 10**15}, "at", "years 1 to 9999", "1000000000000000"),
    ({"at": "2020-01-01"}, "at", "expected a datetime", "str '2020-01-01'"),
    ({"price": Decimal("1.555")}, "price", "decimal(5, 2) cannot hold", "1.555"),
    ({"price": Decimal(1000)}, "price", "decimal(5, 2) cannot hold", "1000"),
    ({"price": Decimal("NaN")}, "price", "decimal(5, 2) cannot hold", "NaN"),
    ({"price": 1.5}, "price", "expected a Decimal", "float 1.5"),
    # Deep inside
    ({"list": [1, 2, "3"]}, "list[2]", "expected int", "str '3'"),
    ({"list": (1, 2.5)}, "list[1]", "expected int", "float 2.5"),
    ({"list": range(2**31 - 1, 2**31 + 1)}, "list[1]", "int out of range", "2147483648"),
    ({"map": {"k": 1, "two": None}}, 'map["two"]', "expected int", "NoneType None"),
    ({"map": {'say "é"\n': None}}, 'map["say \\"é\\"\\n"]', "expected int", "NoneType None"),
    (user({"n": "x"}), 'user.tags["a"][3].n', "expected int", "str 'x'"),
    (
        user({"n": 1, "parts": {"n": 2, "parts": {"n": 2**31}}}),
        'user.tags["a"][3].parts.parts.n',
        "int out of range",
        "2147483648",
    ),
    (user({"n": 1, "parts": 5}), 'user.tags["a"][3].parts', "expected a mapping for record Tag", "int 5"),
    (user({}), 'user.tags["a"][3].n', "the field is missing and has no default", ""),
    (user(5, at=0), 'user.tags["a"][0]', "expected a mapping for record Tag", "int 5"),
    (user(Tag(n="x")), 'user.tags["a"][3].n', "expected int", "str 'x'"),
    (user(Named(n="x")), 'user.tags["a"][3].n', "expected int", "str 'x'"),
    (user({"n": Failing()}), 'user.tags["a"][3].n', "reading the value raised RuntimeError", "broken counter"),
    ({"user": {"tags": {"": "x"}}}, 'user.tags[""]', "expected array", "str 'x'"),
]


def ident(sample: object) -> str:
    return str(sample)[:50].encode("ascii", "backslashreplace").decode() if isinstance(sample, str) else ""


def test_the_unchanged_datum_is_written_and_read() -> None:
    back = CODEC.decode(CODEC.encode(GOOD))

    assert back["user"] == {"tags": {"a": [None, {"n": 1, "parts": None}, {"n": 2, "parts": {"n": 3, "parts": None}}]}}
    assert {**back, "user": None} == {**GOOD, "user": None}


@pytest.mark.parametrize(("change", "path", "expected", "got"), BAD_VALUES, ids=ident)
def test_the_error_for_a_wrong_value_names_field_expected_type_and_value(
    change: dict[str, Any], path: str, expected: str, got: str
) -> None:
    with pytest.raises(EncodeError) as caught:
        CODEC.encode({**GOOD, **change})

    error, text = caught.value, str(caught.value)
    assert isinstance(error, SerializationError)
    assert isinstance(error, ValueError)
    assert error.path == path if path != "map[" else error.path.startswith(path)
    assert f"field {error.path}: " in text
    assert expected in text
    assert got in text
    assert len(text) < 500
    assert CODEC.decode(CODEC.encode(GOOD))["text"] == "text"  # the codec still works


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in ("maybe", "either")])
def test_the_error_for_a_missing_field_names_it(name: str) -> None:
    with pytest.raises(EncodeError, match="the field is missing and has no default") as caught:
        CODEC.encode({key: value for key, value in GOOD.items() if key != name})
    assert caught.value.path == name


@pytest.mark.parametrize(
    ("schema", "datum", "path"),
    [
        ("int", "x", ""),
        (["null", "int"], "x", ""),
        ({"type": "array", "items": "int"}, [1, "x"], "[1]"),
        ({"type": "array", "items": {"type": "array", "items": "int"}}, [[], [1, "x"]], "[1][1]"),
        ({"type": "map", "values": {"type": "map", "values": "int"}}, {"a": {"b.c": "x"}}, '["a"]["b.c"]'),
    ],
)
def test_paths_begin_at_the_root_whatever_its_type(schema: Any, datum: Any, path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec(schema).encode(datum)

    assert caught.value.path == path
    assert ("field" in str(caught.value)) == bool(path)


def test_a_huge_wrong_value_is_truncated_in_the_error() -> None:
    for value in ("x" * 10_000_000, b"x" * 10_000_000, [0] * 1_000_000, 10**100_000, Decimal("1" * 100_000)):
        with pytest.raises(EncodeError) as caught:
            CODEC.encode({**GOOD, "suit": value})
        assert len(str(caught.value)) < 500


def test_a_huge_key_is_truncated_in_the_error() -> None:
    with pytest.raises(EncodeError) as caught:
        CODEC.encode({**GOOD, "map": {"k" * 1_000_000: "x"}})
    assert len(str(caught.value)) < 500


# --- bytes ------------------------------------------------------------------------------------------------------------

HEAD = record(
    "Head", ("n", "int"), ("user", DEEP), ("kind", enum("Kind", "A", "B")), ("any", ["null", "boolean", "string"])
)
START = b"\x02"  # n = 1
TAGS = START + varint(1) + sized(b"a") + varint(4) + b"\x00" * 3  # three nulls, then a Tag
TAIL = START + b"\x00"  # no tags

BAD_BYTES: list[tuple[bytes, str, int, str]] = [
    (b"", "n", 0, "the message ends in the middle of a number"),
    (b"\x80", "n", 0, "the message ends in the middle of a number"),
    (varint(2**31), "n", 0, "expected a variable-length integer of at most 32 bits, got a larger one"),
    (b"\xff" * 11, "n", 0, "expected a variable-length integer of at most 32 bits, got a larger one"),
    (START, "user.tags", 1, "the message ends in the middle of a number"),
    (START + varint(5), "user.tags", 2, "expected 5 items of at least 2 bytes each, but only 0 bytes remain"),
    (START + varint(-(2**63)) + b"\x02", "user.tags", 12, "expected a block"),
    (START + varint(-1) + varint(-1), "user.tags", 3, "expected a block of at most the 0 remaining bytes"),
    (
        START + varint(-1) + varint(9) + b"\x02a\x00",
        "user.tags",
        3,
        "expected a block of at most the 3 remaining bytes",
    ),
    (
        START + varint(-1) + varint(2) + b"\x02a\x00\x00" + b"\x00\x00",
        'user.tags["a"]',
        6,
        "do not end at the block's declared size",
    ),
    (
        START + varint(1) + varint(50) + b"\x00",
        "user.tags",
        3,
        "expected a length from 0 to 1, the number of remaining bytes, got 50",
    ),
    (
        START + varint(1) + varint(-1) + b"\x00",
        "user.tags",
        3,
        "expected a length from 0 to 1, the number of remaining bytes, got -1",
    ),
    (START + varint(1) + sized(b"\xff") + b"\x00", "user.tags", 4, "expected text in UTF-8"),
    (TAGS + b"\x04", 'user.tags["a"][3]', 9, "expected a union branch index from 0 to 1, got 2"),
    (TAGS + b"\x01", 'user.tags["a"][3]', 9, "expected a union branch index from 0 to 1, got -1"),
    (TAGS + b"\x02", 'user.tags["a"][3].n', 9, "the message ends in the middle of a number"),
    (TAGS + b"\x02\x02\x02\x80", 'user.tags["a"][3].parts.n', 11, "the message ends in the middle of a number"),
    (TAIL + b"\x04", "kind", 3, "expected a symbol index of enum Kind from 0 to 1, got 2"),
    (TAIL + b"\x01", "kind", 3, "expected a symbol index of enum Kind from 0 to 1, got -1"),
    (TAIL + b"\x00\x06", "any", 4, "expected a union branch index from 0 to 2, got 3"),
    (TAIL + b"\x00\x02\x02", "any", 5, "expected byte 0 or 1 for a boolean, got 2"),
    (TAIL + b"\x00\x02", "any", 4, "expected 1 bytes, got 0: the message is truncated"),
    (TAIL + b"\x00\x04\x06\xffab", "any", 8, "expected text in UTF-8"),
    (
        TAIL + b"\x00\x04" + varint(2**40),
        "any",
        10,
        "expected a length from 0 to 0, the number of remaining bytes, got 1099511627776",
    ),
    (TAIL + b"\x00\x00\x00", "", 4, "expected the end of the message, got 1 more bytes"),
]


@pytest.mark.parametrize(("data", "path", "offset", "text"), BAD_BYTES, ids=ident)
def test_the_error_for_bad_bytes_names_field_and_offset(data: bytes, path: str, offset: int, text: str) -> None:
    codec = Codec(HEAD)
    with pytest.raises(DecodeError) as caught:
        codec.decode(data)

    error = caught.value
    assert isinstance(error, SerializationError)
    assert isinstance(error, ValueError)
    assert text in str(error)
    assert (error.path, error.offset) == (path, offset)


# --- through the serializer and the deserializer ----------------------------------------------------------------------

SEEN_FROM_OUTSIDE = [
    sample
    for sample in BAD_VALUES
    if sample[1] in ("flag", "large", "suit", "list[2]", "at", "price", 'user.tags["a"][3].n')
]


@pytest.fixture(scope="module")
def served() -> Any:
    with LocalRegistry() as registry:
        serializer = KafkaAvroSerializer({"schema.registry.url": registry.url}, SCHEMA)
        # Another schema is registered first, so that the expected version is not 0.
        first = {**SCHEMA, "fields": [*SCHEMA["fields"], {"name": "first", "type": "int", "default": 0}]}
        KafkaAvroSerializer({"schema.registry.url": registry.url}, first).serialize("bad-topic", GOOD)
        with serializer, KafkaAvroDeserializer({"schema.registry.url": registry.url}) as deserializer:
            yield serializer, deserializer


@pytest.mark.parametrize(("change", "path", "expected", "got"), SEEN_FROM_OUTSIDE, ids=ident)
def test_the_serializers_error_also_names_topic_and_version(
    served: Any, change: dict[str, Any], path: str, expected: str, got: str
) -> None:
    serializer, _ = served
    context = SerializationContext("bad-topic", MessageField.VALUE)
    assert serializer(GOOD, context)[:10] == b"\x03\x04" + bytes(7) + b"\x01"

    with pytest.raises(SerializationError) as caught:
        serializer({**GOOD, **change}, context)

    assert isinstance(caught.value, EncodeError)
    assert (caught.value.topic, caught.value.version, caught.value.path) == ("bad-topic", 1, path)
    assert str(caught.value).startswith(f"topic bad-topic, schema version 1, field {path}: ")
    assert expected in str(caught.value)
    assert got in str(caught.value)


@pytest.mark.parametrize("cut", [1, 5, 20, 60, 120])
def test_the_deserializers_error_also_names_topic_and_version(served: Any, cut: int) -> None:
    serializer, deserializer = served
    context = SerializationContext("bad-topic", MessageField.VALUE)
    message = serializer(GOOD, context)
    assert deserializer(message, context)["text"] == "text"

    for data in (message[:-cut], message + b"\x00" * cut):
        with pytest.raises(SerializationError) as caught:
            deserializer(data, context)
        assert isinstance(caught.value, DecodeError)
        assert (caught.value.topic, caught.value.version) == ("bad-topic", 1)
        assert "topic bad-topic, schema version 1" in str(caught.value)


def test_nan_is_a_valid_double() -> None:
    assert math.isnan(CODEC.decode(CODEC.encode({**GOOD, "exact": math.nan}))["exact"])
