"""Columns of type null, such as polars' List(Null) and Spark's array(), fit what a null or no item fits."""

from __future__ import annotations

from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from streamnative_serdes.arrow import ColumnCodec  # noqa: E402
from streamnative_serdes.codec import Codec  # noqa: E402
from streamnative_serdes.errors import EncodeError  # noqa: E402

ITEM = {"type": "record", "name": "Item", "fields": [{"name": "x", "type": "int"}]}
ENUM = {"type": "enum", "name": "E", "symbols": ["A"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
KINDS: list[Any] = ["int", "string", "bytes", "boolean", "double", ITEM, ENUM, FIXED]
KINDS += [{"type": "long", "logicalType": "timestamp-micros"}, {"type": "string", "logicalType": "uuid"}]
KINDS += [{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}, {"type": "array", "items": "int"}]
KINDS += [{"type": "map", "values": ITEM}, ["int", "string"], ["null", "int"]]


def record(kind: Any) -> Any:
    return {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}


def same_as_rows(kind: Any, column: Any) -> None:
    schema = record(kind)
    rows = [{"a": value} for value in column.to_pylist()]
    written = ColumnCodec(schema).encode(pa.record_batch({"a": column})).to_pylist()
    assert written == [Codec(schema).encode(row) for row in rows]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("list_of", [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 0)], ids=["l", "L", "fixed"])
def test_an_array_of_nothing_is_an_array_without_items(kind: Any, list_of: Any) -> None:
    items = {"type": "array", "items": kind}
    same_as_rows(items, pa.array([[], []], list_of(pa.null())))
    same_as_rows(["null", items], pa.array([None, []], list_of(pa.null())))
    same_as_rows({"type": "array", "items": items}, pa.array([[], [[]]], pa.list_(list_of(pa.null()))))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_map_of_nothing_is_a_map_without_entries(kind: Any) -> None:
    column = pa.array([[], []], pa.map_(pa.string(), pa.null()))
    written = ColumnCodec(record({"type": "map", "values": kind})).encode(pa.record_batch({"a": column}))
    assert written.to_pylist() == [b"\x00", b"\x00"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not isinstance(kind, list)], ids=str)
def test_nulls_fit_where_a_null_fits(kind: Any) -> None:
    same_as_rows(["null", kind], pa.nulls(2))
    same_as_rows({"type": "array", "items": ["null", kind]}, pa.array([[None], []], pa.list_(pa.null())))


def test_a_null_that_does_not_fit_is_an_error_with_its_row_and_path() -> None:
    column = pa.array([[], [None]], pa.list_(pa.null()))
    with pytest.raises(EncodeError, match="expected record Item, got null") as caught:
        ColumnCodec(record({"type": "array", "items": ITEM})).encode(pa.record_batch({"a": column}))
    assert (caught.value.row, caught.value.path) == (1, "a[0]")
    entries = pa.array([[("k", None)]], pa.map_(pa.string(), pa.null()))
    with pytest.raises(EncodeError, match="expected int, got null"):
        ColumnCodec(record({"type": "map", "values": "int"})).encode(pa.record_batch({"a": entries}))
    with pytest.raises(EncodeError, match="expected a column for int, got a column of type null"):
        ColumnCodec(record("int")).encode(pa.record_batch({"a": pa.nulls(0)}))  # no row would fit


def test_a_column_of_nulls_does_not_choose_the_branch_that_refuses_nulls() -> None:
    optional = {"type": "record", "name": "B", "fields": [{"name": "x", "type": ["null", "int"]}]}
    column = pa.array([{"x": None}, None], pa.struct([("x", pa.null())]))
    for branches in (["null", ITEM, optional], ["null", optional, ITEM]):
        written = ColumnCodec(record(branches)).encode(pa.record_batch({"a": column})).to_pylist()
        assert written == [bytes([2 * branches.index(optional), 0]), b"\x00"]
    lists = pa.array([[], None], pa.list_(pa.null()))
    same_as_rows(["null", optional, {"type": "array", "items": ITEM}], lists)


def test_polars_lists_without_items_are_written() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [[], []]})
    assert ColumnCodec(record({"type": "array", "items": "string"})).encode(frame).to_pylist() == [b"\x00", b"\x00"]
