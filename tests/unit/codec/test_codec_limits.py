"""The limits of a codec and of a schema: each is exact, and nesting does not get around any of them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from schemas import array

from streamnative_serdes._schema import Limits, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, SchemaError

LIST: Any = {"type": "record", "name": "L", "fields": [{"name": "n", "type": ["null", "L"], "default": None}]}
LONGER = {**LIST, "fields": [*LIST["fields"], {"name": "x", "type": "int", "default": 1}]}
EMPTY = {"type": "record", "name": "E", "fields": []}


def listed(levels: int) -> Any:
    datum: Any = {"n": None}
    for _ in range(levels - 1):
        datum = {"n": datum}
    return datum


def levels_of(datum: Any) -> int:
    levels = 0
    while datum is not None:
        datum, levels = datum["n"], levels + 1
    return levels


@pytest.mark.promise("limits")
@pytest.mark.parametrize("levels", [1, 2, 255, 256, 257, 1000])
def test_max_depth_applies_to_encoding_decoding_and_skipping(levels: int) -> None:
    codec, other = Codec(LIST, max_depth=levels), Codec(LIST, LONGER, max_depth=levels)
    data = codec.encode(listed(levels))

    assert levels_of(codec.decode(data)) == levels_of(other.decode(data)) == levels
    assert codec.skip(data) == len(data)
    with pytest.raises(EncodeError, match=rf"nested deeper than {levels} levels .*max\.depth"):
        codec.encode(listed(levels + 1))
    for read in (codec.decode, codec.skip, other.decode):
        with pytest.raises(DecodeError, match=rf"nested deeper than {levels} levels .*max\.depth"):
            read(b"\2" + data)


def test_skipped_levels_of_a_resolution_count_towards_max_depth() -> None:
    writer = {"type": "record", "name": "R", "fields": [{"name": "a", "type": LIST}, {"name": "b", "type": "int"}]}
    reader = {"type": "record", "name": "R", "fields": [{"name": "b", "type": "int"}]}
    codec = Codec(writer, reader, max_depth=5)

    assert codec.decode(b"\2\2\2\0\6") == {"b": 3}
    with pytest.raises(DecodeError, match="nested deeper than 5 levels") as caught:
        codec.decode(b"\2\2\2\2\0\6")
    assert caught.value.path == "a.n.n.n.n"


@pytest.mark.promise("zero-bytes")
@pytest.mark.parametrize("kind", ["null", EMPTY, {"type": "fixed", "name": "F", "size": 0}], ids=str)
def test_max_empty_values_is_counted_over_the_whole_datum(kind: Any) -> None:
    codec = Codec(array(array(kind)), max_empty_values=10)

    assert len(codec.decode(codec.encode([[Codec(kind).decode(b"")] * 5] * 2))) == 2
    for data in (b"\2\x16\0\0", b"\4\x0c\0\x0c\0\0", b"\2" + b"\2" * 11 + b"\0\0"):  # 11 at once, 6 and 6, one by one
        for read in (codec.decode, codec.skip):
            with pytest.raises(DecodeError, match=r"too many zero-byte values .*max\.empty\.values"):
                read(data)


NULLS = {"type": "record", "name": "N", "fields": [{"name": f"n{i}", "type": "null"} for i in range(3)]}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (array("null"), [b"\x14\0", b"\x0a\x0a\0"], [b"\x16\0", b"\x0a\x0c\0", b"\x13\0\x02\0"]),
        (array(NULLS), [b"\4\0"], [b"\6\0", b"\2\4\0", b"\5\0\0"]),  # counts the record and its 3 fields
        (array(array("null")), [b"\4\x0a\0\x0a\0\0"], [b"\4\x0a\0\x0c\0\0"]),
        ({"type": "map", "values": array(EMPTY)}, [b"\4\2a\x0a\0\2b\x0a\0\0"], [b"\4\2a\x0a\0\2b\x0c\0\0"]),
        (["null", array("null")], [b"\2\x14\0"], [b"\2\x16\0"]),
        (array(["null", array("null")]), [b"\4\2\x14\0\0\0"], [b"\4\2\x14\0\2\2\0\0"]),
    ],
    ids=str,
)
def test_max_empty_values_counts_skipped_values_too(kind: Any, good: list[bytes], bad: list[bytes]) -> None:
    def fields(*types: Any) -> dict[str, Any]:
        return {"type": "record", "name": "R", "fields": [{"name": f"f{i}", "type": one} for i, one in types]}

    writer, reader = fields((0, kind), (1, "int")), fields((1, "int"))
    codec = Codec(writer, reader, max_empty_values=10)
    for data in good:
        assert codec.decode(data + b"\x0e") == {"f1": 7}
    for data in bad:
        with pytest.raises(DecodeError, match=r"field f0.*too many zero-byte values .*max\.empty\.values"):
            codec.decode(data + b"\x0e")
    seen = Codec(fields((1, array("null")), (0, kind)), fields((1, array("null"))), max_empty_values=10)
    assert seen.decode(b"\0" + good[0]) == {"f1": []}
    with pytest.raises(DecodeError, match=r"field f0.*too many zero-byte values"):  # three were counted before
        seen.decode(b"\6\0" + good[0])


def test_max_empty_values_counts_fields_too() -> None:
    schema = {"type": "record", "name": "N", "fields": [{"name": f"f{i}", "type": "null"} for i in range(4)]}
    codec = Codec(array(schema), max_empty_values=10)

    assert len(codec.decode(b"\4\0")) == 2  # 2 records without bytes with 4 fields each
    with pytest.raises(DecodeError, match="too many zero-byte values"):
        codec.decode(b"\6\0")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (array("int"), [0] * 10, [0] * 11),
        (array(array("int")), [[0] * 4] * 2, [[0] * 4, [0] * 5]),
        ({"type": "map", "values": array("int")}, {"a": [0] * 8, "b": []}, {"a": [0] * 9, "b": []}),
        (array({"type": "map", "values": "int"}), [{"a": 0}] * 5, [{"a": 0}] * 6),
    ],
    ids=str,
)
def test_max_items_is_counted_over_all_arrays_and_maps(schema: Any, good: Any, bad: Any) -> None:
    codec = Codec(schema, max_items=10)

    assert codec.decode(codec.encode(good)) == good
    for read in (codec.decode, codec.skip):
        with pytest.raises(DecodeError, match=r"too many items .*max\.items"):
            read(codec.encode(bad))


def test_trailing_bytes_are_an_error_unless_ignored() -> None:
    with pytest.raises(DecodeError, match="expected the end of the message, got 2 more bytes"):
        Codec("int").decode(b"\2\0\0")
    assert Codec("int", ignore_trailing_bytes=True).decode(b"\2\0\0") == 1
    with pytest.raises(DecodeError, match="ends in the middle of a number"):
        Codec("int", ignore_trailing_bytes=True).decode(b"\x82")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_depth": 0}, "max.depth: expected a whole number from 1 to 1000, got 0"),
        ({"max_depth": 1001}, "max.depth: expected a whole number from 1 to 1000, got 1001"),
        ({"max_items": -1}, "max.items: expected a whole number from 0"),
        ({"max_empty_values": 1.5}, "max.empty.values: expected a whole number from 0"),
        ({"ignore_trailing_bytes": 1}, "ignore.trailing.bytes: expected true or false, got 1"),
    ],
)
def test_a_bad_value_of_a_limit_is_an_error(options: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Codec("int", **options)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(size=20), "the schema text has 31 characters, the limit is 20"),
        (Limits(depth=1), "nested deeper than 1 levels"),
        (Limits(names=0), "defines more than 0 names"),
    ],
)
def test_a_schema_beyond_a_limit_is_refused(limits: Limits, text: str) -> None:
    source = {"items": array(EMPTY), "type": "array"} if limits.size > 20 else '{"type":"array","items":"int"} '

    with pytest.raises(SchemaError, match=text):
        parse(source, strict=False, limits=limits)
    assert parse(source, strict=False)


def test_a_schema_exactly_at_the_limits_is_accepted() -> None:
    source = '{"type":"array","items":{"type":"fixed","name":"F","size":1}}'

    assert parse(source, limits=Limits(size=len(source), depth=1, names=1)).text == source


def test_a_codec_whose_schema_exceeds_the_default_limits_can_be_pickled() -> None:
    nested: Any = "int"
    for _ in range(210):
        nested = array(nested)
    codec = Codec(parse(nested, limits=Limits(depth=250)))

    assert pickle.loads(pickle.dumps(codec)).decode(b"\0") == []


def test_errors_of_nested_unions_are_short() -> None:
    union = ["null", "A", {"type": "map", "values": "A"}]
    schema = {"type": "record", "name": "A", "fields": [{"name": "n", "type": union}]}
    datum: Any = {"n": 5}
    for _ in range(200):
        datum = {"n": datum}

    with pytest.raises(EncodeError) as caught:
        Codec(schema).encode(datum)
    assert len(str(caught.value)) < 3000


def test_paths_in_errors_are_short_even_if_names_are_long() -> None:
    schema = {"type": "record", "name": "L", "fields": [{"name": "n" * 100_000, "type": ["null", "L"]}]}

    with pytest.raises(DecodeError) as caught:
        Codec(schema).decode(b"\2" * 255)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("count", [64, 65, 66])
def test_a_record_of_many_fields_is_read_from_its_minimum_number_of_bytes(count: int) -> None:
    codec = Codec({"type": "record", "name": "M", "fields": [{"name": f"f{i}", "type": "int"} for i in range(count)]})

    assert codec.decode(bytes(count)) == {f"f{i}": 0 for i in range(count)}
    with pytest.raises(DecodeError):
        codec.decode(bytes(count - 1))
