"""The codec for every Avro type: exact bytes, round trip, skip, accepted inputs, defaults."""

from __future__ import annotations

import collections
import math
import struct
import sys
from typing import Any

import pytest
from schemas import record
from wire import sized, varint

from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError

INTS = [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101")]
INTS += [(8191, "fe7f"), (8192, "808001"), (2**31 - 1, "feffffff0f"), (-(2**31), "ffffffff0f")]
LONGS = [*INTS, (2**31, "8080808010"), (2**63 - 1, "feffffffffffffffff01"), (-(2**63), "ffffffffffffffffff01")]
SUIT = {"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS", "CLUBS"]}
LIST = record("LongList", ("value", "long"), ("next", ["null", "LongList"]))
TREE = record("Tree", ("children", {"type": "array", "items": "Tree"}), ("by", {"type": "map", "values": "Tree"}))
INNER_RECORD = record("Inner", ("x", "int"))

# (schema, datum, bytes in hex), including the examples of the Avro specification.
SAMPLES: list[tuple[Any, Any, str]] = [
    ("null", None, ""),
    ("boolean", False, "00"),
    ("boolean", True, "01"),
    *[("int", number, text) for number, text in INTS],
    *[("long", number, text) for number, text in LONGS],
    ("float", 0.0, "00000000"),
    ("float", -0.0, "00000080"),
    ("float", 1.5, "0000c03f"),
    ("float", math.inf, "0000807f"),
    ("float", -math.inf, "000080ff"),
    ("float", 3.4028234663852886e38, "ffff7f7f"),
    ("float", 1.401298464324817e-45, "01000000"),
    ("double", 1.0, "000000000000f03f"),
    ("double", -0.0, "0000000000000080"),
    ("double", math.inf, "000000000000f07f"),
    ("double", sys.float_info.max, "ffffffffffffef7f"),
    ("double", 5e-324, "0100000000000000"),
    ("bytes", b"", "00"),
    ("bytes", b"\x00\xff", "0400ff"),
    ("bytes", bytes(64), "8001" + "00" * 64),
    ("string", "", "00"),
    ("string", "foo", "06666f6f"),
    ("string", "a", "0261"),
    ("string", "\x00", "0200"),
    ("string", "é", "04c3a9"),
    ("string", "日本", "0ce697a5e69cac"),
    ("string", "😀", "08f09f9880"),
    ("string", "aé日😀", "14" + "aé日😀".encode().hex()),
    ("string", "x" * 1000, "d00f" + "78" * 1000),
    ("string", "é" * 3000, "e05d" + "c3a9" * 3000),
    ({"type": "fixed", "name": "F", "size": 3}, b"abc", "616263"),
    ({"type": "fixed", "name": "F", "size": 0}, b"", ""),
    (SUIT, "SPADES", "00"),
    (SUIT, "CLUBS", "04"),
    ({"type": "array", "items": "long"}, [3, 27], "04063600"),
    ({"type": "array", "items": "long"}, [], "00"),
    ({"type": "array", "items": "null"}, [None] * 3, "0600"),
    ({"type": "array", "items": {"type": "array", "items": "int"}}, [[1], [], [2, 3]], "06020200000404060000"),
    ({"type": "map", "values": "long"}, {}, "00"),
    ({"type": "map", "values": "long"}, {"a": 1, "": -1}, "0402610200" + "0100"),
    ({"type": "map", "values": {"type": "map", "values": "null"}}, {"k": {"é": None}}, "02026b0204c3a90000"),
    (record("R", ("a", "long"), ("b", "string")), {"a": 27, "b": "foo"}, "3606666f6f"),
    (record("R"), {}, ""),
    (record("R", ("e", record("Empty"))), {"e": {}}, ""),
    (["null", "string"], None, "00"),
    (["null", "string"], "a", "020261"),
    (["string", "null"], None, "02"),
    (["string", "null"], "a", "000261"),
    (["int"], 1, "0002"),
    (["null", "int", "string", "boolean"], True, "0601"),
    (["null", SUIT, "long"], "HEARTS", "0202"),
    (["bytes", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}], [5], "02020a00"),
    (["bytes", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}], {"k": 5}, "0402026b0a00"),
    (LIST, {"value": 1, "next": {"value": 2, "next": None}}, "02020400"),
    (TREE, {"children": [{"children": [], "by": {}}], "by": {}}, "0200000000"),
    (record("R", ("a", INNER_RECORD), ("b", "Inner")), {"a": {"x": 1}, "b": {"x": 2}}, "0204"),
]


def ident(sample: object) -> str:
    return str(sample)[:40] if isinstance(sample, str | int | float) else ""


@pytest.mark.parametrize(("schema", "datum", "text"), SAMPLES, ids=ident)
def test_each_type_is_encoded_to_exactly_the_specified_bytes(schema: Any, datum: Any, text: str) -> None:
    codec, data = Codec(schema), bytes.fromhex(text)

    assert codec.encode(datum) == data
    back = codec.decode(data)
    assert (back, type(back)) == (datum, type(datum))
    assert repr(back) == repr(datum)  # the sign of 0.0, order of keys, types inside
    assert codec.skip(data) == len(data)
    assert codec.skip(b"??" + data + b"!!", 2) == len(data) + 2


@pytest.mark.parametrize(("schema", "datum", "text"), SAMPLES, ids=ident)
def test_a_truncated_or_too_long_message_is_refused(schema: Any, datum: Any, text: str) -> None:
    codec, data = Codec(schema), bytes.fromhex(text)

    for end in range(min(len(data), 70)):
        with pytest.raises(DecodeError):
            codec.decode(data[:end])
        with pytest.raises(DecodeError):
            codec.skip(data[:end])
    with pytest.raises(DecodeError, match="expected the end of the message, got 1 more bytes"):
        codec.decode(data + b"\x00")


def test_nan_is_written_and_read_as_nan() -> None:
    assert Codec("double").encode(math.nan) == struct.pack("<d", math.nan)
    assert math.isnan(Codec("float").decode(Codec("float").encode(math.nan)))


def test_a_message_larger_than_the_buffer_on_the_stack_is_written_whole() -> None:
    codec = Codec({"type": "array", "items": "string"})
    data = ["x" * size for size in (0, 1000, 23, 1, 1024, 5, 100_000, 7)] * 3

    assert codec.encode(data) == varint(len(data)) + b"".join(sized(s.encode()) for s in data) + b"\x00"
    assert codec.decode(codec.encode(data)) == data


@pytest.mark.parametrize("size", [1022, 1023, 1024, 1025, 2047, 2048, 2049, 4096])
def test_messages_of_sizes_around_the_buffer_limits_are_written_whole(size: int) -> None:
    codec = Codec(record("R", ("a", "string"), ("b", "long"), ("c", "double")))
    datum = {"a": "x" * size, "b": -(2**63), "c": 1.0}

    assert codec.encode(datum) == sized(b"x" * size) + varint(-(2**63)) + struct.pack("<d", 1.0)


# --- blocks of arrays and maps as other writers produce them ----------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        varint(3) + b"\x02\x04\x06\x00",
        varint(1) + b"\x02" + varint(2) + b"\x04\x06\x00",
        varint(-3) + varint(3) + b"\x02\x04\x06\x00",
        varint(-1) + varint(1) + b"\x02" + varint(2) + b"\x04\x06\x00",
        varint(-2) + varint(2) + b"\x02\x04" + varint(-1) + varint(1) + b"\x06\x00",
    ],
)
def test_an_array_is_read_however_it_is_split_into_blocks(data: bytes) -> None:
    codec = Codec({"type": "array", "items": "int"})

    assert codec.decode(data) == [1, 2, 3]
    assert codec.skip(data + b"tail") == len(data)


def test_a_map_is_read_in_blocks_and_the_last_of_equal_keys_wins() -> None:
    codec = Codec({"type": "map", "values": "int"})
    data = (
        varint(-1) + varint(3) + sized(b"a") + b"\x02" + varint(2) + sized(b"b") + b"\x04" + sized(b"a") + b"\x06\x00"
    )

    assert codec.decode(data) == {"a": 3, "b": 2}
    assert codec.skip(data) == len(data)


def test_a_number_with_redundant_bytes_is_read() -> None:
    assert Codec("long").decode(b"\x82\x80\x00") == 1
    assert Codec(["null", "long"]).decode(b"\x82\x00\x02") == 1


# --- accepted inputs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_decode_and_skip_accept_bytes_bytearray_and_memoryview(wrap: Any) -> None:
    codec = Codec(["null", "string"])

    assert codec.decode(wrap(b"\x02\x06foo")) == "foo"
    assert codec.skip(wrap(b"\x02\x06foo")) == 5


@pytest.mark.parametrize("data", ["text", None, 5, [1], memoryview(bytes(4))[::2]])
def test_decode_of_anything_but_bytes_is_a_decode_error(data: Any) -> None:
    with pytest.raises(DecodeError, match=r"expected (bytes|a readable buffer)"):
        Codec("int").decode(data)
    with pytest.raises(DecodeError, match=r"expected (bytes|a readable buffer)"):
        Codec("int").skip(data)


@pytest.mark.parametrize("offset", [-1, 3])
def test_skip_refuses_an_offset_outside_the_data(offset: int) -> None:
    with pytest.raises(DecodeError, match=f"got {offset}"):
        Codec("null").skip(b"ab", offset)


# --- records ----------------------------------------------------------------------------------------------------------


def test_encoding_adds_no_keys_to_a_defaultdict() -> None:
    codec = Codec(record("R", ("a", "int", 5), ("b", ["null", "int"])))
    datum: dict[str, int] = collections.defaultdict(lambda: 9)

    assert codec.decode(codec.encode(datum)) == {"a": 5, "b": None}
    assert datum == {}


def test_keys_that_are_not_interned_or_not_ascii_are_found() -> None:
    codec = Codec(parse(record("R", ("lång", "int"), ("b", "int")), strict=False))

    assert codec.encode({"".join(["b"]): 2, "".join(["lå", "ng"]): 1}) == b"\x02\x04"
    assert codec.decode(b"\x02\x04") == {"lång": 1, "b": 2}


def test_keys_of_a_dict_may_be_in_any_order_and_decoded_fields_are_in_schema_order() -> None:
    names = [f"field_{i}" for i in range(300)]
    codec, datum = Codec(record("R", *[(name, "int") for name in names])), {name: i for i, name in enumerate(names)}

    assert codec.encode(dict(reversed(datum.items()))) == codec.encode(datum)
    assert list(codec.decode(codec.encode(datum)).items()) == list(datum.items())


def test_decoded_records_share_nothing() -> None:
    codec = Codec(record("R", ("a", {"type": "array", "items": "int"}), ("m", {"type": "map", "values": "int"})))
    first, second = codec.decode(b"\x00\x00"), codec.decode(b"\x00\x00")
    first["a"].append(1)
    first["m"]["k"] = 1
    first["new"] = 1

    assert second == codec.decode(b"\x00\x00") == {"a": [], "m": {}}


# --- defaults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("int", -5, -5),
        ("long", 2**40, 2**40),
        ("float", 1.5, 1.5),
        ("double", 3, 3.0),
        ("string", "é", "é"),
        ("bytes", "\u00ffA", b"\xffA"),
        ({"type": "fixed", "name": "F", "size": 2}, "\u0000\u00fe", b"\x00\xfe"),
        (SUIT, "CLUBS", "CLUBS"),
        ({"type": "array", "items": "int"}, [1, 2], [1, 2]),
        ({"type": "array", "items": "int"}, [], []),
        ({"type": "map", "values": {"type": "array", "items": "bytes"}}, {"k": ["\u00e9"]}, {"k": [b"\xe9"]}),
        (["null", "int"], None, None),
        (["int", "null"], 5, 5),
        (["null", "int"], 5, 5),  # a default of any branch is allowed since Avro 1.12
        (["null", "string", "bytes"], "x", "x"),
        (record("I", ("x", "int", 1), ("y", "string")), {"y": "a"}, {"x": 1, "y": "a"}),
        (record("I", ("x", record("J", ("y", "int", 7)), {})), {}, {"x": {"y": 7}}),
    ],
    ids=ident,
)
def test_a_missing_field_is_written_as_its_default(kind: Any, default: Any, value: Any) -> None:
    codec = Codec(record("R", ("before", "int"), ("f", kind, default), ("after", "int")))

    for datum in ({"before": 1, "after": 2}, collections.UserDict(after=2, before=1)):
        assert codec.decode(codec.encode(datum)) == {"before": 1, "f": value, "after": 2}


def test_a_missing_optional_field_without_default_is_null() -> None:
    codec = Codec(record("R", ("a", ["int", "null"]), ("b", ["string", "null", "int"])))

    assert codec.decode(codec.encode({})) == {"a": None, "b": None}


@pytest.mark.parametrize(
    ("kind", "default"),
    [("int", "x"), ("string", None), ("bytes", "\u0100"), ("long", 2**63), (SUIT, "NONE"), (["null", "int"], "x")],
    ids=ident,
)
def test_a_bad_default_from_the_registry_is_an_error_only_when_needed(kind: Any, default: Any) -> None:
    codec = Codec(parse(record("R", ("good", "int", 1), ("bad", kind, default)), strict=False))
    value = {"int": 1, "string": "", "bytes": b"", "long": 1}.get(str(kind), "CLUBS" if kind is SUIT else None)

    assert codec.decode(codec.encode({"bad": value})) == {"good": 1, "bad": value}
    with pytest.raises(EncodeError, match="the field is missing and its default") as caught:
        codec.encode({})
    assert caught.value.path == "bad"


# --- repetition within one message ------------------------------------------------------------------------------------


def test_repeated_map_keys_of_a_message_are_the_same_string_object() -> None:
    schema = {"type": "array", "items": {"type": "map", "values": {"type": "map", "values": "int"}}}
    # Empty, one byte, not ASCII, as long as the longest remembered key and longer, and more keys than slots.
    keys = ["", "a", "b", "é", "éa", "\U0001f600", "x" * 32, "x" * 33, "ab", "ba", *(f"key{i}" for i in range(200))]
    datum = [{key: dict.fromkeys(keys[:12], i)} for i, key in enumerate(keys * 2)]

    codec = Codec(schema)

    got = codec.decode(codec.encode(datum))
    assert got == datum
    assert list(got[3]["é"]) == keys[:12]
    twice = codec.decode(codec.encode([{"campaign": {}}] * 2))
    assert next(iter(twice[0])) is next(iter(twice[1]))  # so its hash is computed only once


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 5000])
def test_lists_of_all_sizes_are_read_whole(count: int) -> None:
    for item, value in (("int", 7), ("null", None), ("string", "s")):
        codec = Codec({"type": "array", "items": item})
        assert codec.decode(codec.encode([value] * count)) == [value] * count
