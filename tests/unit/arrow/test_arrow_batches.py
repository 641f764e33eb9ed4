# ruff: noqa: E501 - one case per line
"""Batches of messages as Arrow columns: null rows, unreadable rows, limits, slices, and errors when encoding."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from schemas import array, logical, record

pa = pytest.importorskip("pyarrow")

from streamnative_serdes._formats.parts import Part  # noqa: E402
from streamnative_serdes._schema import parse  # noqa: E402
from streamnative_serdes.arrow import ColumnCodec, Columns, in_parts  # noqa: E402 - requires pyarrow
from streamnative_serdes.arrow.typed_columns import TypedColumnWriter  # noqa: E402
from streamnative_serdes.codec import Codec  # noqa: E402
from streamnative_serdes.errors import BatchTooLargeError, DecodeError, EncodeError  # noqa: E402

ITEM = {"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": "int"}]}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "items", "type": {"type": "array", "items": ["null", ITEM]}},
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "boolean"}}},
        {"name": "either", "type": ["null", "string", "int", "Item"]},
        {"name": "last", "type": ["null", "double"]},
    ],
}
ORDERS = [
    {"id": 1, "items": [{"sku": "a", "n": 1}, None], "tags": {"x": [True, False]}, "either": "s", "last": None},
    {"id": 2, "items": [], "tags": {}, "either": None, "last": 0.5},
    {"id": 3, "items": [None], "tags": {"y": [], "z": [True] * 9}, "either": {"sku": "b", "n": 2}, "last": -1.0},
]
WIDE = {"type": "record", "name": "Wide", "fields": [{"name": f"f{i}", "type": "long"} for i in range(1000)]}
POINT: dict[str, Any] = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}


def messages() -> list[bytes]:
    return [Codec(ORDER).encode(order) for order in ORDERS]


def columns_of(data: list[bytes | None]) -> Any:
    return ColumnCodec(ORDER).decode(pa.array(data, pa.binary()))


# --- reading ----------------------------------------------------------------------------------------------------------


def test_an_unreadable_row_is_null_with_its_error_and_does_not_affect_other_rows() -> None:
    good = messages()
    cut = [one[:end] for one in good for end in range(len(one))]
    mixed = [row for bad in cut for row in (*good, bad, None)]

    batch = ColumnCodec(ORDER).decode(pa.array(mixed, pa.binary()), error_column="why")
    batch.validate(full=True)
    why = batch.column("why").to_pylist()
    assert [i for i, error in enumerate(why) if error] == [3 + 5 * i for i in range(len(cut))]
    with pytest.raises(DecodeError) as caught:
        Codec(ORDER).decode(cut[-1])
    assert why[-2] == str(caught.value)
    kept = batch.drop_columns("why")
    assert kept.filter(pa.array([not error for error in why])) == columns_of([*good, None] * len(cut))
    assert kept.slice(3, 2) == columns_of([None, None])


def test_without_an_error_column_the_first_unreadable_row_is_an_error_that_names_the_row() -> None:
    with pytest.raises(DecodeError, match=r"^row 2, field items\[0\]\.sku, byte 4: expected a length") as caught:
        columns_of([*messages()[:2], b"\2\2\2\x7f", b"\2"])
    assert (caught.value.row, caught.value.path, caught.value.offset) == (2, "items[0].sku", 4)


@pytest.mark.parametrize("kind", ["binary", "large_binary", "binary_view"])
def test_arrays_of_bytes_of_all_types_and_their_slices_are_read(kind: str) -> None:
    rows = [*messages(), None] * 3
    data = pa.array(rows, getattr(pa, kind)())

    for start, end in ((0, 12), (1, 12), (3, 4), (5, 5), (11, 12)):
        assert ColumnCodec(ORDER).decode(data[start:end]) == columns_of(rows[start:end])


def test_fixed_size_arrays_are_read() -> None:
    data = pa.array([b"\2", None, b"\4"], pa.binary(1))
    assert ColumnCodec("int").decode(data[1:]).column(0).to_pylist() == [None, 2]


@pytest.mark.parametrize("data", [b"x", [1], None, pa.chunked_array([[1]]), pa.array([1]), pa.table({"a": [b"x"]})])
def test_anything_but_an_array_of_bytes_is_a_type_error(data: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        ColumnCodec("int").decode(data)


def test_an_empty_batch_has_all_columns() -> None:
    batch = columns_of([])
    batch.validate(full=True)
    assert (batch.num_rows, batch.num_columns) == (0, 5)
    assert ColumnCodec(ORDER).encode(batch).to_pylist() == []


def test_columns_stay_valid_after_their_messages_are_freed() -> None:
    data = pa.array(messages())
    batch = ColumnCodec(ORDER).decode(data)
    expected = batch.to_pylist()
    del data
    assert batch.to_pylist() == expected


def test_text_must_be_utf8_and_may_contain_any_character() -> None:
    codec = ColumnCodec("string")
    good = ["", "x" * 7, "é" * 40, "€", "𝄞" * 9, "a" * 63 + "é", "\0", "\x7f\x80߿ࠀ\ud7ff\ue000\U0010ffff"]
    assert codec.decode(pa.array([Codec("string").encode(text) for text in good])).column(0).to_pylist() == good

    bad = [b"\x80", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80",
           b"\xf5\x80\x80\x80", b"\xe2\x82", b"x" * 70 + b"\xff", b"\xf0\x9d\x84"]  # fmt: skip
    batch = codec.decode(pa.array([Codec("bytes").encode(text) for text in bad]), error_column="why")
    assert all("expected text in UTF-8" in why for why in batch.column("why").to_pylist())


def test_decimals_of_all_sizes_are_read() -> None:
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0}
    numbers = [sign * (10**n + d) for n in range(38) for sign in (1, -1) for d in (-1, 0, 1)] + [10**38 - 1, 1 - 10**38]
    data = [Codec("bytes").encode(n.to_bytes(size, "big", signed=True)) for n in numbers for size in (17, 40)]
    data += [Codec(schema).encode(Decimal(n)) for n in numbers]

    column = ColumnCodec(schema).decode(pa.array(data)).column(0)
    assert column.to_pylist() == [Decimal(n) for n in numbers for _ in range(2)] + [Decimal(n) for n in numbers]
    for beyond in (10**38, -(10**38), 2**127 - 1, -(2**127), 2**127, 2**130, -(2**135)):
        with pytest.raises(DecodeError, match="at most 38 digits"):
            ColumnCodec(schema).decode(pa.array([Codec("bytes").encode(beyond.to_bytes(18, "big", signed=True))]))


# --- limits -----------------------------------------------------------------------------------------------------------


def test_the_limits_of_the_codec_apply_to_each_message() -> None:
    schema = array(array("null"))
    codec = ColumnCodec(schema, max_empty_values=10, max_items=12, max_depth=2)
    good, empty, items = b"\2\x14\0\0", b"\2\x16\0\0", b"\x1a" + b"\0" * 13 + b"\0"

    batch = codec.decode(pa.array([good, empty, good, items, good]), error_column="why")
    assert [len(row["value"] or ()) for row in batch.to_pylist()] == [1, 0, 1, 0, 1]
    assert [error and error.partition("too many ")[2] for error in batch.column("why").to_pylist()] == [
        None,
        "zero-byte values (hint: the option max.empty.values sets the limit)",
        None,
        "items (hint: the option max.items sets the limit)",
        None,
    ]
    with pytest.raises(DecodeError, match="nested deeper than 1 levels"):
        ColumnCodec(schema, max_depth=1).decode(pa.array([good]))


def test_items_that_take_a_thousand_column_slots_per_byte_are_limited() -> None:
    """A null takes one byte in a message, but a slot in each of the thousand columns of WIDE."""
    codec = ColumnCodec(array(["null", WIDE]))
    greedy = Codec("long").encode(1 << 17) + b"\0" * (1 << 17) + b"\0"
    modest = b"\x04\0\0\0"

    batch = codec.decode(pa.array([modest, greedy, greedy, modest]), error_column="why")
    assert batch.column(0).to_pylist() == [[None, None], None, None, [None, None]]
    assert "far more slots in columns than the message has bytes" in batch.column("why")[1].as_py()
    assert batch.nbytes < 1 << 20


def test_items_without_bytes_are_limited_per_batch() -> None:
    codec = ColumnCodec(array({"type": "fixed", "name": "F", "size": 0}), max_items=1 << 20)
    data = pa.array([Codec("long").encode(1 << 18) + b"\0"] * 100)

    with pytest.raises(
        BatchTooLargeError, match=r"row 4: the items of the batch take far more slots .*in_parts"
    ) as caught:
        codec.decode(data, error_column="why")
    assert caught.value.row == 4
    parts = [batch for _, batch in in_parts(data, lambda part: codec.decode(part, error_column="why"))]
    assert [(len(batch), batch.column("why").null_count) for batch in parts] == [(4, 4)] * 25
    assert max(batch.nbytes for batch in parts) < 16 << 20


def test_a_message_that_fails_does_not_count_against_the_limit_of_its_batch() -> None:
    codec = ColumnCodec(array(["null", WIDE]), max_items=1 << 20)
    whole = Codec("long").encode(700) + b"\0" * 700 + b"\0"

    batch = codec.decode(pa.array([*[whole[:-1]] * 5, whole]), error_column="why")
    assert batch.column(0).to_pylist() == [None] * 5 + [[None] * 700]
    assert batch.column("why").null_count == 1


def test_no_message_is_refused_because_of_other_messages_in_its_batch() -> None:
    """Each message is within the limit; together they exceed the limit on slots per byte."""
    extra = [{"name": f"f{i}", "type": ["null", "int"], "default": None} for i in range(40)]
    codec = ColumnCodec(array(POINT), array({**POINT, "fields": [*POINT["fields"], *extra]}), max_items=100_000)
    good = Codec(array(POINT)).encode([{"x": i} for i in range(1000)])
    data = pa.array([good, b"\1", None, *[good] * 7, b"\1", good])

    batches = [batch for _, batch in in_parts(data, lambda part: codec.decode(part, error_column="why"))]
    assert 2 < len(batches) < len(data)
    assert [row["why"] is None for batch in batches for row in batch.to_pylist()] == [
        m != b"\1" for m in data.to_pylist()
    ]
    values = [row["value"] for batch in batches for row in batch.to_pylist()]
    assert [value and len(value) for value in values] == [1000 if m == good else None for m in data.to_pylist()]
    with pytest.raises(DecodeError, match="row 1"):
        list(in_parts(data, codec.decode))


def test_a_batch_can_be_split_at_each_row() -> None:
    codec = ColumnCodec(array({"type": "fixed", "name": "F", "size": 0}), max_items=1 << 10)
    data = pa.array([Codec("long").encode(1 << 10) + b"\0"] * 2_000)
    assert sum(len(batch) for _, batch in in_parts(data, codec.decode)) == 2_000


NULLS = {"type": "record", "name": "N", "fields": [{"name": f"n{i}", "type": "null"} for i in range(3)]}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (array("null"), b"\x0a\x0a\0", b"\x0a\x0c\0"),
        (array(NULLS), b"\4\0", b"\6\0"),  # counts the record and its 3 fields
        (NULLS, b"", None),
        (array(["null", array("null")]), b"\4\2\x14\0\0\0", b"\4\2\x14\0\2\2\0\0"),
    ],
    ids=str,
)
def test_values_without_bytes_count_in_skipped_fields_too(kind: Any, good: bytes, bad: bytes | None) -> None:
    reader = {"type": "record", "name": "R", "fields": [{"name": "b", "type": "int"}]}
    writer = {**reader, "fields": [{"name": "a", "type": kind}, *reader["fields"]]}
    codec = ColumnCodec(writer, reader, max_empty_values=10)
    rows = [good + b"\x0e"] * 3  # each message has its own budget
    assert codec.decode(pa.array(rows)).to_pylist() == [{"b": 7}] * 3
    if bad is not None:
        batch = codec.decode(pa.array([*rows, bad + b"\x0e", *rows]), error_column="why")
        assert [row["b"] for row in batch.to_pylist()] == [7, 7, 7, None, 7, 7, 7]
        assert "field a" in batch["why"][3].as_py()
        assert "too many zero-byte values" in batch["why"][3].as_py()
    with pytest.raises(DecodeError, match=r"field a.*too many zero-byte values"):
        ColumnCodec(writer, reader, max_empty_values=2).decode(pa.array(rows))


# --- by version -------------------------------------------------------------------------------------------------------


def test_more_versions_than_the_lookup_table_holds_are_distinguished() -> None:
    def version(number: int) -> Any:
        fields = [{"name": f"f{i}", "type": "long", "default": -1} for i in range(number % 7)]
        return parse({**WIDE, "fields": [*fields, {"name": "v", "type": "long"}]})

    def message(number: int) -> bytes:
        datum = dict.fromkeys((f"f{i}" for i in range(number % 7)), 9)
        return b"\3\4" + number.to_bytes(8, "big") + Codec(version(number)).encode({**datum, "v": number})

    columns, asked = Columns(version(0), {}, "arrow", large_types=False), []

    def find(number: int) -> Any:
        asked.append(number)
        return ((columns.plan(version(number)), 10, False),)

    numbers = [i * i * 31 % 1000 for i in range(3000)]
    batch, counts, _ = columns.decode(pa.array(map(message, numbers)), find, lambda *_: 1 / 0)
    assert batch.column("v").to_pylist() == numbers
    assert sorted(asked) == sorted(set(numbers))
    assert counts == {(number, 0): numbers.count(number) for number in asked}


# --- by another schema ------------------------------------------------------------------------------------------------


def test_the_readers_defaults_are_filled_in() -> None:
    reader = {
        **ORDER,
        "fields": [
            {"name": "who", "type": {"type": "record", "name": "Who", "fields": [{"name": "name", "type": "string"}]},
             "default": {"name": "nobody"}},
            {"name": "id", "type": "double"},
            {"name": "list", "type": array("int"), "default": [1, 2]},
            {"name": "either", "type": ["int", "null"], "default": 7},
            {"name": "stamp", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 1500},
        ],
    }  # fmt: skip
    writer = {**ORDER, "fields": [field for field in ORDER["fields"] if field["name"] != "either"]}
    data = [Codec(writer).encode(order) for order in ORDERS]

    batch = ColumnCodec(writer, reader).decode(pa.array(data))
    batch.validate(full=True)
    assert batch.to_pylist() == [
        {"who": {"name": "nobody"}, "id": float(i), "list": [1, 2], "either": 7,
         "stamp": dt.datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=dt.UTC)}
        for i in (1, 2, 3)
    ]  # fmt: skip


def test_a_decimal_must_fit_its_column_even_if_the_codec_accepts_more_digits() -> None:
    kinds = [{"type": "bytes", "logicalType": "decimal", "precision": p, "scale": 1} for p in (9, 3)]
    data = [Codec(kinds[0]).encode(Decimal(text)) for text in ("99.9", "100.0")]

    assert Codec(*kinds).decode(data[1]) == Decimal("100.0")
    batch = ColumnCodec(*kinds).decode(pa.array(data), error_column="why")
    assert batch.column(0).to_pylist() == [Decimal("99.9"), None]
    why = batch.column("why")[1].as_py()
    assert "expected a decimal of at most 3 digits, got more (hint: the column cannot hold it; read objects, or" in why


# --- writing ----------------------------------------------------------------------------------------------------------


def test_slices_with_nulls_are_written() -> None:
    rows = messages() * 3
    batch = columns_of(rows)

    for start, end in ((0, 9), (1, 9), (4, 7), (5, 5)):
        assert ColumnCodec(ORDER).encode(batch.slice(start, end - start)).to_pylist() == rows[start:end]


def test_a_null_struct_becomes_a_null_message() -> None:
    structs = columns_of(messages()).to_struct_array()
    masked = pa.StructArray.from_arrays(
        structs.flatten(), fields=list(structs.type), mask=pa.array([False, True, False])
    )

    assert ColumnCodec(ORDER).encode(masked).to_pylist() == [messages()[0], None, messages()[2]]
    assert ColumnCodec(ORDER).encode(masked[1:]).to_pylist() == [None, messages()[2]]


def test_columns_match_by_name_and_missing_columns_get_the_default() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": "int"},
            {"name": "b", "type": "string", "default": "é"},
            {"name": "c", "type": ["null", "int"]},
        ],
    }
    batch = pa.record_batch([pa.array(["?"]), pa.array([5])], ["more", "a"])

    left_out = ColumnCodec(schema, unmatched_columns="ignore").encode(batch)
    assert Codec(schema).decode(left_out[0].as_py()) == {"a": 5, "b": "é", "c": None}
    with pytest.raises(
        EncodeError, match=r"^field a: there is no column of that name: the field is missing and has no"
    ):
        ColumnCodec(schema).encode(pa.record_batch([pa.array(["x"])], ["b"]))
    with pytest.raises(EncodeError, match="record R has no field for column 'more', and no column for its fields"):
        ColumnCodec(schema, validate_strict_allow_default=True).encode(batch)
    with pytest.raises(EncodeError, match=r"field b: there is no column of that name: validate.strict requires all"):
        ColumnCodec(schema, validate_strict=True).encode(batch.select(["a"]))


def test_a_column_that_differs_only_in_case_is_not_treated_as_missing() -> None:
    schema = {"type": "record", "name": "P", "fields": [{"name": "y", "type": ["null", "int"], "default": None}]}
    outer = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}, {"name": "p", "type": schema}]}
    rows = {"y": [5], "Y": [6]}
    with pytest.raises(
        EncodeError, match=r"^field y: there is no column of that name, but there is 'Y' .hint: rename the column"
    ):
        ColumnCodec(schema).encode(pa.RecordBatch.from_pydict({"Y": [6]}))
    with pytest.raises(EncodeError, match=r"^field p\.y: there is no column of that name, but there is 'Y'"):
        ColumnCodec(outer).encode(pa.RecordBatch.from_pylist([{"x": 1, "p": {"Y": 6}}]))
    codec = ColumnCodec(schema)
    assert codec.decode(codec.encode(pa.RecordBatch.from_pydict(rows))).to_pylist() == [{"y": 5}]


def test_a_batch_without_a_column_for_any_field_is_an_error() -> None:
    schema = {"type": "record", "name": "P", "fields": [{"name": "y", "type": ["null", "int"], "default": None}]}
    with pytest.raises(EncodeError, match=r"^there is no column for any field of record P"):
        ColumnCodec(schema, unmatched_columns="ignore").encode(pa.RecordBatch.from_pydict({"other": [6]}))


MEMBERS = pa.array([{"member0": 1, "member1": "x"}], pa.struct([("member0", pa.int64()), ("member1", pa.string())]))
VALUES = [
    ("string", pa.array([None], pa.string()), "expected string, got null"),
    ("int", pa.array([2**31]), "int out of range: 2147483648 does not fit 32 bits"),
    ("long", pa.array([2**63], pa.uint64()), "long out of range"),
    ("float", pa.array([1e39]), r"float out of range: 1e\+39 does not fit 32 bits"),
    ("float", pa.array([2**24 + 1]), "a float cannot hold an integer of the column without loss"),
    ("double", pa.array([2**53 + 1]), "a double cannot hold an integer of the column without loss"),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.array(["B"]), "'B' is not a symbol of enum E .hint: its symbols are A"),
    ({"type": "fixed", "name": "F", "size": 2}, pa.array([b"abc"]), "expected exactly 2 bytes, got 3"),
    ({"type": "fixed", "name": "F", "size": 2}, pa.array([b"a"]), "expected exactly 2 bytes, got 1"),
    (logical("int", "date"), pa.array([10**7], pa.int32()).cast(pa.date32()), "date 10000000 is outside of the years"),
    (logical("int", "time-millis"), pa.array([-1]), "time-millis -1 is not a time of day"),
    (logical("long", "timestamp-micros"), pa.array([2**62]), "timestamp-micros 4611686018427387904 is outside of the years"),
    (logical("long", "timestamp-nanos"), pa.array([10**11], pa.timestamp("s", "UTC")), "timestamp-nanos: 100000000000 is too large"),
    (logical("bytes", "decimal", precision=3, scale=1), pa.array([Decimal("100.0")]), r"decimal\(3, 1\) cannot hold the number: it has too many digits"),
    (logical("bytes", "decimal", precision=3, scale=1), pa.array([Decimal("0.25")]), r"decimal\(3, 1\) cannot hold the number: it has too many decimal places"),
    (logical("bytes", "decimal", precision=38, scale=30), pa.array([10**9], pa.decimal128(10, 0)), "too many digits"),
    (logical("string", "uuid"), pa.array(["no"]), "expected uuid, got 'no', which is not a valid UUID"),
    ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, pa.array([b"x" * 15]), "expected uuid"),
    (logical("bytes", "big-decimal"), pa.array([b"\x02"]), "expected a big-decimal: bytes of"),
    (["long", "string"], MEMBERS, "expected at most one non-null member of the union, got more"),
    (["long", "string"], pa.nulls(1, MEMBERS.type), "expected union, got null"),
    (["int", "double"], pa.array([None], pa.int32()), "expected int, got null"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "column", "said"), VALUES, ids=str)
def test_a_value_that_does_not_fit_is_an_error_with_row_and_path(kind: Any, column: Any, said: str) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "list", "type": array({"type": "map", "values": kind})}],
    }
    maps = pa.MapArray.from_arrays([0, 1], ["k"], column)
    good = pa.array([[]], pa.list_(maps.type))
    bad = pa.ListArray.from_arrays([0, 1], maps)

    with pytest.raises(EncodeError, match=said) as caught:
        ColumnCodec(schema).encode(pa.record_batch([pa.concat_arrays([good, bad])], ["list"]))
    assert (caught.value.row, caught.value.path) == (1, 'list[0]["k"]')


# A column that is finer than the type -> what is left of it. What is finer than a microsecond, or than a day, is an error.
FINER = [
    (unit, kind, number)
    for unit, kinds, numbers in (
        ("long", ("timestamp-micros", "timestamp-millis"), (1001, -1001, 1, 1000 - 2**63, 2**63 - 1)),
        ("long", ("local-timestamp-micros", "local-timestamp-millis"), (1_000_001, -1)),
        ("long", ("time-micros",), (1001, 86_399_999_999_999)),
        ("int", ("time-millis",), (1001, 1_000_999)),
        ("int", ("date",), (1, -1, 86_400_001)),
    )
    for kind in kinds
    for number in numbers
]


def finer(kind: str, numbers: list[int]) -> Any:
    """Nanoseconds, or milliseconds of date64."""
    if kind == "date":
        return pa.array(numbers, pa.int64()).view(pa.date64())
    if kind.startswith("time-"):
        return pa.array(numbers, pa.time64("ns"))
    return pa.array(numbers, pa.timestamp("ns", None if kind.startswith("local") else "UTC"))


@pytest.mark.parametrize(("base", "kind", "number"), FINER)
def test_what_a_time_cannot_hold_of_a_finer_column_is_an_error_or_dropped(base: str, kind: str, number: int) -> None:
    grain = 86_400_000 if kind == "date" else 1000
    schema = logical(base, kind)
    bad, good = (pa.table({"value": finer(kind, [0, each])}) for each in (number, number // grain * grain))

    lost = f"the time of day of {number} ms" if kind == "date" else f"the nanoseconds of {number} ns"
    for columns in (bad, bad.combine_chunks().to_batches()[0]):
        with pytest.raises(
            EncodeError, match=f"^row 1: {kind} cannot hold {lost} .hint: truncate.times=true"
        ) as caught:
            ColumnCodec(["null", schema]).encode(columns)
        assert caught.value.row == 1
    expected = number // {"date": 86_400_000, "millis": 1_000_000, "micros": 1000}[kind.rpartition("-")[2]]
    truncated = ColumnCodec(schema, truncate_times=True).encode(bad)
    assert truncated == ColumnCodec(schema).encode(good)
    assert truncated.to_pylist() == [b"\0", Codec(base).encode(expected)]


@pytest.mark.parametrize("kind", ["timestamp-micros", "timestamp-millis"])
def test_nanoseconds_of_frames_are_refused_too(kind: str) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    stamp = pandas.Timestamp(1_709_209_815_123_456_789, unit="ns", tz="UTC")
    series = polars.Series([stamp.value]).cast(polars.Datetime("ns", "UTC"))
    schema = {"type": "record", "name": "R", "fields": [{"name": "at", "type": logical("long", kind)}]}

    for frame in (pandas.DataFrame({"at": [stamp]}), polars.DataFrame({"at": series})):
        with pytest.raises(EncodeError, match="cannot hold the nanoseconds of 1709209815123456789 ns"):
            ColumnCodec(schema).encode(frame)
        expected = [Codec(schema).encode({"at": stamp.floor("us").to_pydatetime()})]
        assert ColumnCodec(schema, truncate_times=True).encode(frame).to_pylist() == expected


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "LOCAL_DATE"])
def test_what_pulsars_times_cannot_hold_of_a_finer_column_is_an_error_or_dropped(kind: str) -> None:
    number = 86_400_001 if kind == "LOCAL_DATE" else 1_000_001
    columns = pa.table({"value": finer("date" if kind == "LOCAL_DATE" else "timestamp", [number])})

    with pytest.raises(EncodeError, match=f"{kind} cannot hold the .* of {number} [nm]s"):
        TypedColumnWriter(Part(kind), {}).encode(columns, b"")
    truncated = TypedColumnWriter(Part(kind), {"truncate_times": True}).encode(columns, b"")
    assert truncated.to_pylist() == [(1).to_bytes(8)]


def test_a_number_in_a_union_of_int_and_long_is_written_as_int_if_it_fits() -> None:
    schema = ["int", "null", "long"]
    numbers = [0, -(2**31), 2**31 - 1, 2**31, -(2**63), None]

    data = ColumnCodec(schema).encode(pa.record_batch([pa.array(numbers)], ["value"]))
    assert data.to_pylist() == [Codec(schema).encode(number) for number in numbers]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x80", "the message ends in the middle of a number"),
        (b"\x80\x80\x80\x80\x80\x01", "expected a variable-length integer of at most 32 bits"),
    ],
)
def test_a_bad_symbol_index_is_reported_as_by_the_codec(data: bytes, why: str) -> None:
    schema = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    good = Codec(schema).encode("B")
    batch = ColumnCodec(schema).decode(pa.array([good, data, good]), error_column="why")

    with pytest.raises(DecodeError, match=why) as by_the_codec:
        Codec(schema).decode(data)
    assert batch.column("why").to_pylist() == [None, str(by_the_codec.value), None]
    assert batch.column(0).to_pylist() == ["B", None, "B"]


THREE = ["null", "string", "int"]
MICROS, NANOS = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("micros", "nanos"))
DAMAGE: dict[str, Any] = {
    "a branch beyond the last": (THREE, None, b"\6"),
    "a branch before the first": (THREE, None, b"\1"),
    "a boolean of 2": ("boolean", None, b"\2"),
    "an item of the second block": (array("boolean"), None, b"\4\0\1\4\1\2\0"),
    "a branch beyond the last, skipped": (record("R", ("a", THREE), ("b", "int")), record("R", ("b", "int")), b"\6\0"),
    "a boolean of 2, skipped": (record("R", ("a", "boolean"), ("b", "int")), record("R", ("b", "int")), b"\2\0"),
    "empty values in two blocks": (array("null"), None, b"\x0c\x0c\0"),
    "more nanoseconds than 64 bits": (MICROS, NANOS, Codec("long").encode((2**63 - 1) // 1000 + 1)),
    "fewer nanoseconds than 64 bits": (MICROS, NANOS, Codec("long").encode(-(2**63 // 1000) - 1)),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_columns_refuse_what_the_codec_refuses_with_the_same_text(name: str) -> None:
    writer, reader, data = DAMAGE[name]
    batch = ColumnCodec(writer, reader, max_empty_values=10).decode(pa.array([data]), error_column="why")

    with pytest.raises(DecodeError) as by_the_codec:
        Codec(writer, reader, max_empty_values=10).decode(data)
    assert batch.column("why").to_pylist() == [str(by_the_codec.value)]


@pytest.mark.parametrize("micros", [(2**63 - 1) // 1000, -(2**63 // 1000)])
def test_timestamps_are_converted_to_nanoseconds_up_to_the_last_that_fits(micros: int) -> None:
    column = ColumnCodec(MICROS, NANOS).decode(pa.array([Codec("long").encode(micros)])).column(0)
    assert column.cast(pa.int64()).to_pylist() == [micros * 1000]
    assert Codec(MICROS, NANOS).decode(Codec("long").encode(micros)) == micros * 1000


@pytest.mark.parametrize("size", [3 << 20, 9 << 20, (32 << 20) - 32, 32 << 20, (32 << 20) + 32, 70 << 20, 150 << 20])
def test_the_memory_of_a_large_batch_is_used_again_only_when_it_is_gone(size: int) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "text", "type": "string"}]}
    columns, rows = ColumnCodec(schema), 8
    held = []
    for mark in "abcab":
        batch = pa.record_batch({"text": [mark * (size // rows)] * rows})
        messages = columns.encode(batch)
        held = [*held[-1:], (mark, messages, columns.decode(messages))]  # the one before the last is gone now
        for each, encoded, decoded in held:
            assert encoded[0].as_py()[-9:] == encoded[rows - 1].as_py()[-9:] == each.encode() * 9
            assert decoded.column("text")[rows - 1].as_py() == each * (size // rows)
    smaller = columns.encode(pa.record_batch({"text": ["z" * (33 << 20)]}))
    assert columns.decode(smaller).column("text")[0].as_py() == "z" * (33 << 20)


def test_threads_that_free_large_batches_at_once_each_have_their_own() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "text", "type": "string"}]}
    columns = ColumnCodec(schema)

    def work(mark: str) -> None:
        batch = pa.record_batch({"text": [mark * 6_000_000] * 6})
        for _ in range(6):
            assert columns.decode(columns.encode(batch)) == batch

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, mark) for mark in "abcd"]:
            done.result(60)
