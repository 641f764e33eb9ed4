"""Bounds of the codec, one by one: the last accepted value and the first refused one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from schemas import array, logical, mapping, record

from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError

EPOCH = dt.date(1970, 1, 1).toordinal()


def refused(schema: Any, data: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        Codec(schema).decode(data)
    return caught.value.message


def test_a_boolean_is_0_or_1() -> None:
    assert [Codec("boolean").decode(bytes([byte])) for byte in (0, 1)] == [False, True]
    assert refused("boolean", b"\x02") == "expected byte 0 or 1 for a boolean, got 2"
    assert refused(["null", "boolean"], b"\x02\x02") == "expected byte 0 or 1 for a boolean, got 2"


def test_a_branch_of_an_optional_value_is_0_or_1() -> None:
    for schema in (["null", "int"], ["int", "null"]):
        assert "expected a union branch index from 0 to 1, got 2" in refused(schema, b"\x04\x02")
        assert "expected a union branch index from 0 to 1, got -1" in refused(schema, b"\x01\x02")


def test_a_block_longer_than_the_remaining_bytes_is_an_error() -> None:
    """The bytes are: a count of one item, the size of the block, the item, the end."""
    assert Codec(array("int")).decode(b"\x01\x02\x0e\x00") == [7]
    assert refused(array("int"), b"\x01\x06\x0e\x00").startswith(
        "expected a block of at most the 2 remaining bytes, got"
    )
    assert "block" in refused(array("int"), b"\x01\x04\x0e\x00")  # all remaining bytes, but more than the item takes


@pytest.mark.parametrize("kind", [array("int"), mapping("int")], ids=["array", "map"])
def test_a_skipped_block_must_end_at_its_declared_size(kind: Any) -> None:
    item = b"\x0e" if kind["type"] == "array" else b"\x02k\x0e"
    skipping = Codec(record("R", ("a", kind), ("b", "int")), record("R", ("b", "int")))
    for more in (-1, 0, 1):
        data = b"\x01" + bytes([2 * (len(item) + more)]) + item + b"\x00\x02"
        if more == 0:
            assert skipping.decode(data) == {"b": 1}
        else:
            with pytest.raises(DecodeError, match="block"):
                skipping.decode(data)


def test_dates_given_as_numbers_must_be_in_the_years_1_to_9999() -> None:
    date = Codec(logical("int", "date"))
    first, last = 1 - EPOCH, dt.date.max.toordinal() - EPOCH
    for day in (first, last):
        assert date.decode(date.encode(day)) == dt.date.fromordinal(day + EPOCH)
    for day in (first - 1, last + 1):
        with pytest.raises(EncodeError, match="outside of the years 1 to 9999"):
            date.encode(day)


def test_similar_keys_of_successive_maps_are_distinguished_in_any_script() -> None:
    maps = array(mapping("int"))
    keys = ["é", "è", "ab", "ba", "ÿÿ", "ÿ\x7f", "日本", "日木", "é", "ab"]
    value = [{key: number, key[::-1] + "x": -number} for number, key in enumerate(keys)]
    assert Codec(maps).decode(Codec(maps).encode(value)) == value


@pytest.mark.parametrize("change", [lambda one: one.update(more=1), lambda one: one.pop("a")], ids=["grows", "shrinks"])
def test_a_dict_whose_last_value_changes_its_size_is_an_error(change: Callable[[dict[str, Any]], Any]) -> None:
    class Changes:
        def __index__(self) -> int:
            change(changing)
            return 7

    changing: dict[str, Any] = {"a": 1, "b": Changes()}
    with pytest.raises(EncodeError, match="changed size during encoding"):
        Codec(mapping("int")).encode(changing)


@pytest.mark.parametrize(("length", "end"), [(79, "'"), (80, "'"), (81, "'...")])
def test_text_in_an_error_is_truncated_after_80_characters(length: int, end: str) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec("int").encode("x" * length)
    assert caught.value.message.endswith(f"'{'x' * min(length, 80)}{end}")


@pytest.mark.parametrize(("levels", "fits"), [(64, True), (65, False)])
def test_a_nested_encode_call_has_a_quarter_of_the_levels(levels: int, fits: bool) -> None:
    schema: Any = "int"
    value: Any = 7
    for _ in range(levels):
        schema, value = array(schema), [value]
    inner = Codec(schema)

    class Encodes:
        def __index__(self) -> int:
            inner.encode(value)
            return 7

    assert inner.encode(value)
    if fits:
        assert Codec("int").encode(Encodes()) == b"\x0e"
    else:
        with pytest.raises(EncodeError, match="nested deeper than 64 levels"):
            Codec("int").encode(Encodes())
