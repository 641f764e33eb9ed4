"""Rows that are encoded in blocks of up to 64, compared with the same rows encoded one by one."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import pytest

pa = pytest.importorskip("pyarrow")

from arrow_blocks import before_protected_memory, protects_memory  # noqa: E402 - requires pyarrow
from arrow_kinds import INNER, KINDS, encoded, forms, message, schema  # noqa: E402
from schemas import array, enum, fixed, logical, mapping, record  # noqa: E402

from streamnative_serdes import EncodeError  # noqa: E402
from streamnative_serdes._schema import parse  # noqa: E402
from streamnative_serdes.arrow import ColumnCodec, ColumnWriter  # noqa: E402
from streamnative_serdes.codec import Codec  # noqa: E402

BLOCK = 64
ROWS = 2 * BLOCK + 9
HEADER = b"\3\4" + bytes(8)
EVENTS = [record(f"E{number}", (f"a{number}", "long"), (f"b{number}", ["null", "string"])) for number in range(5)]


def one_by_one(codec: ColumnCodec, batch: Any) -> list[bytes]:
    """The messages of batches of one row each, which are never encoded in blocks."""
    return [codec.encode(batch.slice(row, 1))[0].as_py() for row in range(batch.num_rows)]


def agree(codec: ColumnCodec, batch: Any) -> list[bytes]:
    """Check that all rows, and some of them, are encoded as they are alone; return the messages."""
    alone = one_by_one(codec, batch)
    for first, end in ((0, None), (1, None), (7, 7 + BLOCK), (5, 6 + BLOCK), (3, 2 + BLOCK), (9, 17), (20, 27)):
        messages = codec.encode(batch.slice(first, None if end is None else end - first))
        messages.validate(full=True)
        assert messages.to_pylist() == alone[first:end]
    return alone


def patterns(rng: Random) -> list[list[bool]]:
    """Which rows are null: many, few, most, all but one, and in runs."""
    drawn = [[rng.random() < part for _ in range(ROWS)] for part in (0.5, 0.05, 0.95)]
    return [*drawn, [row != 70 for row in range(ROWS)], [row // 40 % 2 == 0 for row in range(ROWS)], [True] * ROWS]


@pytest.mark.parametrize("name", KINDS)
def test_fields_of_each_kind_are_encoded_as_in_a_row_of_its_own(name: str) -> None:
    kind, _, values = KINDS[name]
    data, rng = encoded(kind, values), Random(name)
    for writer, _, null, there in forms(kind, kind)[:3]:
        codec = ColumnCodec(schema("R", writer))
        for nulls in patterns(rng) if null else [[False] * ROWS]:
            messages = [message(row, null if one else there + rng.choice(data)) for row, one in enumerate(nulls)]
            batch = codec.decode(pa.array(messages, pa.binary()))
            alone = agree(codec, batch)
            if name != "union of numbers":  # a column of numbers does not tell their branches
                assert alone == messages


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 8])
@pytest.mark.parametrize("header", [b"", HEADER])
def test_any_number_of_rows_is_encoded_behind_headers(count: int, header: bytes) -> None:
    kind = record("R", ("id", "long"), ("text", "string"))
    rows = [{"id": 3**row % 2**61, "text": "é" * (row % 40)} for row in range(count)]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema([("id", pa.int64()), ("text", pa.string())]))
    messages = ColumnWriter(parse(kind), {}).encode(batch, header)
    assert messages.to_pylist() == [header + Codec(kind).encode(row) for row in rows]


# Of types that columns of messages do not have: the type in Avro, that in Arrow, and values.
MILLIS, MICROS = logical("long", "timestamp-millis"), logical("long", "timestamp-micros")
AMOUNT = logical("bytes", "decimal", precision=20, scale=4)
ODD_TYPES: dict[str, tuple[Any, Any, list[Any]]] = {
    "text with offsets of 64 bits": ("string", pa.large_string(), ["", "x", "y" * 33, "z" * 64, "é" * 40]),
    "views of text": ("string", pa.string_view(), ["", "short", "y" * 13, "z" * 64, "é" * 40]),
    "bytes with offsets of 64 bits": ("bytes", pa.large_binary(), [b"", b"\xff" * 32, b"\xff" * 33]),
    "views of bytes": ("bytes", pa.binary_view(), [b"", b"\xff" * 12, b"\xff" * 70]),
    "bytes of one size": ("bytes", pa.binary(3), [b"abc", b"\0\xff\0"]),
    "a dictionary of text": ("string", pa.dictionary(pa.int8(), pa.string()), ["a", "b" * 40, "é"]),
    "a dictionary of symbols": (enum("E", "A", "B"), pa.dictionary(pa.uint16(), pa.string()), ["A", "B"]),
    "a dictionary of numbers": ("long", pa.dictionary(pa.int64(), pa.int64()), [1, 2**50]),
    "small numbers": ("int", pa.int8(), [1, -128, 127]),
    "numbers without a sign": ("long", pa.uint64(), [0, 2**63 - 1]),
    "whole numbers as doubles": ("double", pa.int32(), [1, -7]),
    "floats as doubles": ("double", pa.float32(), [0.5, -2.0]),
    "doubles as floats": ("float", pa.float64(), [0.5, -2.0]),
    "seconds as milliseconds": (logical("long", "timestamp-millis"), pa.timestamp("s", "UTC"), [0, -1, 2**31]),
    "nanoseconds as microseconds": (MICROS, pa.timestamp("ns", "UTC"), [0, -1000, 10**15]),
    "dates of 64 bits": (logical("int", "date"), pa.date64(), [dt.date(2024, 2, 29), dt.date(1, 1, 1)]),
    "a uuid of 16 bytes": (logical("string", "uuid"), pa.binary(16), [bytes(16), bytes(range(16))]),
    "unusual text of a uuid": (logical("string", "uuid"), pa.string(), ["0" * 32, str(UUID(int=2**127)).upper()]),
    "a decimal that is moved": (AMOUNT, pa.decimal128(9, 2), [1, -7, 10**6]),
    "lists of one size": (array("int"), pa.list_(pa.int32(), 3), [[1, 2, 3], [-(2**31), 0, 5]]),
    "lists with offsets of 64 bits": (array("string"), pa.large_list(pa.string()), [[], ["a", "b" * 70], ["é"] * 9]),
    "lists of text of 64 bits": (array("string"), pa.list_(pa.large_string()), [["a", "b" * 70], [], ["é"]]),
    "lists of views": (array("string"), pa.list_(pa.string_view()), [["a", "b" * 70], [], ["é" * 9]]),
    "lists of bytes of one size": (array("bytes"), pa.list_(pa.binary(2)), [[b"ab", b"cd"], []]),
    "lists of lists": (array(array(INNER)), None, [[], [[]], [[{"a": 1, "b": "x", "c": True}] * 3, []]]),
    "lists with nulls": (array(["null", "string"]), pa.list_(pa.string()), [[None], ["a", None, "b" * 40], []]),
    "lists of maps": (array(mapping("long")), None, [[], [[("k", 1)], []], [[("k" * 40, -1)] * 3]]),
    "int or long": (["int", "long"], pa.int64(), [1, 2**40]),
    "text or a number": (["null", "string", "double"], pa.float64(), [1.5, -2.0]),
    "a fixed of 100 bytes": (fixed("F", 100), pa.binary(100), [bytes(100), b"x" * 100]),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_TYPES)
def test_columns_of_other_types_are_encoded_as_in_a_row_of_its_own(name: str) -> None:
    kind, arrow, values = ODD_TYPES[name]
    rng = Random(name)
    nullable = kind if isinstance(kind, list) else ["null", kind]
    for avro, part in ((kind, 0.0), (nullable, 0.5), (nullable, 0.95)):
        if part and avro is kind and "null" not in kind:
            continue
        codec = ColumnCodec(record("R", ("before", "string"), ("x", avro), ("after", ["null", "long"])))
        drawn = [None if rng.random() < part else rng.choice(values) for _ in range(ROWS)]
        column = pa.array(drawn, arrow or codec.arrow_schema.field("x").type)
        texts, numbers = ["t" * (row % 70) for row in range(ROWS)], [row if row % 3 else None for row in range(ROWS)]
        batch = pa.record_batch([pa.array(texts), column, pa.array(numbers, pa.int64())], ["before", "x", "after"])
        agree(codec, batch)


def garbage(kind: Any, values: Any, nulls: list[bool]) -> Any:
    """An array with values that could not be written where it is null."""
    whole = pa.array(values, kind)
    valid = pa.array([not null for null in nulls]).buffers()[1]
    if pa.types.is_list(kind):
        return pa.Array.from_buffers(kind, len(whole), [valid, whole.buffers()[1]], children=[whole.values])
    return pa.Array.from_buffers(kind, len(whole), [valid, *whole.buffers()[1:]])


GARBAGE = {
    "text": (["null", "string"], pa.binary(), [b"\xff" * 9, b"\xff" * 40]),
    "time": (["null", logical("long", "timestamp-millis")], pa.timestamp("us", "UTC"), [2**63 - 1, -(2**63)]),
    "number": (["null", "int"], pa.int64(), [2**40, -(2**40)]),
    "unsigned": (["null", "long"], pa.uint64(), [2**64 - 1, 2**63]),
    "enum": (["null", enum("E", "A")], pa.string(), ["no symbol", ""]),
    "decimal": (["null", logical("bytes", "decimal", precision=4, scale=0)], pa.decimal128(38, 0), [10**37, -(10**37)]),
    "uuid": (["null", logical("string", "uuid")], pa.string(), ["no uuid", ""]),
    "float": (["null", "float"], pa.float64(), [1e300, -1e300]),
    "list": (["null", array("int")], pa.list_(pa.int32()), [[1, 2], [3]]),
}


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("most", [False, True])
def test_what_stands_in_the_slot_of_a_null_does_not_matter(name: str, most: bool) -> None:
    kind, arrow, bad = GARBAGE[name]
    codec = ColumnCodec(record("R", ("x", kind), ("n", "int")))
    nulls = [row % 9 != 4 if most else row % 2 == 0 for row in range(ROWS)]
    column = garbage(arrow, [bad[row // 2 % 2] for row in range(ROWS)], nulls)
    if name == "text":
        column = column.view(pa.string())
    there = [row for row in range(ROWS) if not nulls[row]]
    batch = pa.record_batch([column, pa.array(range(ROWS), pa.int32())], ["x", "n"])
    if name == "list":
        agree(codec, batch)
        return
    with pytest.raises(EncodeError) as caught:  # the first of those that are not null
        codec.encode(batch)
    assert (caught.value.row, caught.value.path) == (there[0], "x")
    blank = garbage(arrow, [bad[row // 2 % 2] for row in range(ROWS)], [True] * ROWS)
    only = pa.record_batch([blank.view(pa.string()) if name == "text" else blank, batch["n"]], ["x", "n"])
    assert codec.encode(only).to_pylist() == [b"\0" + Codec("int").encode(row) for row in range(ROWS)]


@pytest.mark.parametrize("row", [0, 7, 8, BLOCK - 1, BLOCK, 2 * BLOCK - 1, ROWS - 1])
def test_an_error_is_that_of_the_first_row_that_has_one(row: int) -> None:
    """A later row has an error in an earlier column, and a later column of the same row has one too."""
    moment = logical("long", "timestamp-millis")
    inner = record("I", ("at", moment), ("e", enum("E", "A")))
    codec = ColumnCodec(record("R", ("text", "string"), ("r", ["null", inner]), ("xs", array(inner["name"]))))
    good = {"text": "x", "r": {"at": dt.datetime(2024, 1, 1), "e": "A"}, "xs": []}
    rows = [{**good, "r": None if number % 3 == 1 and number != row else good["r"]} for number in range(ROWS)]
    rows[row] = {"text": "x", "r": {"at": good["r"]["at"], "e": "B"}, "xs": [{"at": None, "e": "A"}]}
    if row + 1 < ROWS:
        rows[row + 1] = {**good, "text": None}
    batch = pa.RecordBatch.from_pylist(rows, codec.arrow_schema)
    with pytest.raises(EncodeError) as caught:
        codec.encode(batch)
    with pytest.raises(EncodeError) as alone:
        codec.encode(batch.slice(row, 1))
    assert (caught.value.row, caught.value.path, caught.value.message) == (row, "r.e", alone.value.message)


def test_rows_of_very_different_sizes_are_encoded_as_alone() -> None:
    """Texts, lists and single items that do not fit on the stage, among rows that do."""
    item = record("I", ("name", "string"), ("notes", array("string")))
    codec = ColumnCodec(record("R", ("id", "long"), ("text", ["null", "string"]), ("items", array(item)),
                               ("labels", mapping("string"))))  # fmt: skip
    rng, rows = Random(1), []
    for row in range(700):
        size = rng.choice([0, 3, 40, 70, 900]) if row % 97 else 5_000
        items = [{"name": "n" * (row % 50), "notes": ["é" * (row % 45)] * (row % 4)} for _ in range(row % 7)]
        if row % 103 == 5:
            items = [{"name": "n" * 40_000, "notes": ["x"] * 3_000}] * 2
        rows.append({"id": row, "text": None if row % 5 == 0 else "t" * size, "items": items,
                     "labels": [(f"k{key}", "v" * (row % 66)) for key in range(row % 12)]})  # fmt: skip
    batch = pa.RecordBatch.from_pylist(rows, codec.arrow_schema)
    assert codec.encode(batch).to_pylist() == one_by_one(codec, batch)


@pytest.mark.parametrize("seed", range(6))
def test_unions_of_records_and_sparse_records_are_encoded_as_alone(seed: int) -> None:
    rng = Random(seed)
    names = [event["name"] for event in EVENTS]
    sparse = [(f"s{number}", [name, "null"] if number == 3 else ["null", name]) for number, name in enumerate(names)]
    codec = ColumnCodec(record("R", ("u", ["null", *EVENTS]), *sparse, ("last", ["null", "int"])))
    values = [{f"a{number}": number << 40, f"b{number}": None if seed % 2 else "text"} for number in range(5)]
    rows = []
    for _ in range(ROWS):
        member, there = rng.randrange(6), rng.randrange(12)
        union = None if member == 5 else {f"member{member}": values[member]}
        fields = {f"s{number}": values[number] if number == there else None for number in range(5)}
        rows.append({"u": union, **fields, "last": None if there < 10 else there})
    agree(codec, pa.RecordBatch.from_pylist(rows, codec.arrow_schema))


@pytest.mark.parametrize("row", [3, 70])
def test_two_members_of_a_union_are_an_error_in_a_block_too(row: int) -> None:
    codec = ColumnCodec(record("R", ("u", ["long", "string"])))
    rows = [{"u": {"member0": 1} if number % 2 else {"member1": "x"}} for number in range(ROWS)]
    rows[row] = {"u": {"member0": 1, "member1": "x"}}
    with pytest.raises(EncodeError, match="at most one non-null member") as caught:
        codec.encode(pa.RecordBatch.from_pylist(rows, codec.arrow_schema))
    assert (caught.value.row, caught.value.path) == (row, "u")


NOT_NULL = {
    "number": ("long", [1], "long"),
    "text": ("string", ["x"], "string"),
    "record": (INNER, [{"a": 1, "b": None, "c": True}], "record Inner"),
    "list": (array("long"), [[1]], "array"),
    "map": (mapping("long"), [[("k", 1)]], "map"),
    "union": (["string", INNER], [{"member0": "x"}, {"member1": {"a": 1, "b": None, "c": True}}], "union"),
    "item": (array("long"), [[1, None]], "long"),
    "record in a list": (array(INNER), [[None]], "record Inner"),
}


@pytest.mark.parametrize("row", [5, 100])
@pytest.mark.parametrize("name", NOT_NULL)
def test_a_null_that_the_schema_does_not_allow_is_an_error_in_a_block_too(name: str, row: int) -> None:
    kind, values, expected = NOT_NULL[name]
    codec = ColumnCodec(record("R", ("n", "int"), ("x", kind)))
    within = isinstance(values[0], list) and None in values[0]
    rows = [{"n": number, "x": [] if within else values[number % len(values)]} for number in range(ROWS)]
    rows[row]["x"] = values[0] if within else None
    fields = [pa.field("n", pa.int32()), pa.field("x", nullable(codec.arrow_schema.field("x").type))]
    with pytest.raises(EncodeError, match=f"expected {expected}, got null") as caught:
        codec.encode(pa.RecordBatch.from_pylist(rows, pa.schema(fields)))
    assert caught.value.row == row


def nullable(kind: Any) -> Any:
    """The type with items that may be null."""
    return pa.list_(nullable(kind.value_type)) if pa.types.is_list(kind) else kind


def test_decimals_of_all_sizes_are_encoded_as_by_the_codec() -> None:
    """In as few bytes as they take: at each power of two where one more begins, and of more than 64 bits."""
    edges = [sign * (1 << 8 * size - 1) + by for size in range(1, 16) for sign in (1, -1) for by in (-1, 0, 1)]
    numbers = [0, 1, -1, *edges, 10**38 - 1, 1 - 10**38]
    kind = record("R", ("x", logical("bytes", "decimal", precision=38, scale=0)))
    column = pa.array(list(map(Decimal, numbers)), pa.decimal128(38, 0))
    expected = [Codec(kind).encode({"x": Decimal(number)}) for number in numbers]
    assert ColumnCodec(kind).encode(pa.record_batch([column], ["x"])).to_pylist() == expected


UNFIT = {
    "too few bytes": (fixed("F", 3), pa.binary(), b"abc", b"ab", "expected exactly 3 bytes, got 2"),
    "too many bytes": (fixed("F", 3), pa.binary(), b"abc", b"abcd", "expected exactly 3 bytes, got 4"),
    "a uuid and more": (logical("string", "uuid"), pa.string(), str(UUID(int=7)), f"{UUID(int=7)}0", "expected uuid"),
    "no uuid": (logical("string", "uuid"), pa.string(), str(UUID(int=7)), f"{str(UUID(int=7))[:-1]}g", "expected uuid"),
    "too early": (MILLIS, pa.timestamp("us", "UTC"), 0, -(2**60), "outside of the years"),
    "too late": (MILLIS, pa.timestamp("us", "UTC"), 0, 2**60, "outside of the years"),
    "too small": ("int", pa.int64(), -(2**31), -(2**31) - 1, "out of range"),
    "too large": ("int", pa.int64(), 2**31 - 1, 2**31, "out of range"),
    "too many digits": (AMOUNT, pa.decimal128(30, 4), 1, 10**17, "too many digits"),
}


@pytest.mark.parametrize("row", [5, 100])
@pytest.mark.parametrize("name", UNFIT)
def test_a_value_that_does_not_fit_is_an_error_in_a_block_too(name: str, row: int) -> None:
    kind, arrow, good, bad, expected = UNFIT[name]
    column = pa.array([bad if number == row else good for number in range(ROWS)], arrow)
    with pytest.raises(EncodeError, match=expected) as caught:
        ColumnCodec(record("R", ("x", kind))).encode(pa.record_batch([column], ["x"]))
    assert (caught.value.row, caught.value.path) == (row, "x")


@pytest.mark.parametrize("row", [5, 100])
def test_an_index_beyond_the_dictionary_is_an_error_in_a_block_too(row: int) -> None:
    indexes = [2 if number == row else number % 2 for number in range(ROWS)]
    values = pa.array(["a", "b", "of another array"])[:2]
    column = pa.DictionaryArray.from_arrays(pa.array(indexes, pa.int8()), values, safe=False)
    with pytest.raises(EncodeError, match="a dictionary index is out of bounds") as caught:
        ColumnCodec(record("R", ("x", "string"))).encode(pa.record_batch([column], ["x"]))
    assert (caught.value.row, caught.value.path) == (row, "x")


def test_a_branch_whose_index_takes_two_bytes_is_encoded_as_alone() -> None:
    branches = [record(f"B{number}", ("v", "int")) for number in range(66)]
    codec = ColumnCodec(record("R", ("u", branches), ("n", [*(f"B{number}" for number in range(64)), "null", "int"])))
    rows = [
        {"u": {f"member{row % 66}": {"v": row}}, "n": {"member64": row} if row % 3 else None} for row in range(ROWS)
    ]
    messages = agree(codec, pa.RecordBatch.from_pylist(rows, codec.arrow_schema))
    assert messages[64:66] == [b"\x80\1\x80\1\x82\1\x80\1", b"\x82\1\x82\1\x82\1\x82\1"]


def test_forty_nulls_in_a_row_are_written_behind_each_other() -> None:
    """Nulls that are put off are written by 32 bytes, and at once where another branch is null."""
    fields = [(f"f{number}", ["long", "null"] if number in (20, 21, 39) else ["null", "long"]) for number in range(80)]
    codec = ColumnCodec(record("R", *fields))
    rows = [{f"f{number}": row if number in (row % 90, 50 + row % 50) else None for number in range(80)}
            for row in range(ROWS)]  # fmt: skip
    messages = agree(codec, pa.RecordBatch.from_pylist(rows, codec.arrow_schema))
    assert messages[81] == b"".join(
        (b"\0" if number in (20, 21, 39) else b"\2") + Codec("long").encode(81) if number == 81 else
        (b"\2" if number in (20, 21, 39) else b"\0") for number in range(80)
    )  # fmt: skip


@pytest.mark.parametrize("depth", [7, 8, 9, 10, 20])
def test_records_deep_in_records_are_encoded_as_alone(depth: int) -> None:
    kind: Any = record("R0", ("text", "string"), ("items", array("string")))
    for level in range(1, depth):
        kind = record(f"R{level}", ("n", "int"), ("r", ["null", kind] if level % 2 else kind))
    codec = ColumnCodec(record("R", ("r", kind)))
    rng, rows = Random(depth), []
    for row in range(ROWS):
        value: Any = {"text": "t" * (row % 50), "items": ["x" * (row % 40)] * (row % 3)}
        for level in range(1, depth):
            value = {"n": row, "r": None if level % 2 and rng.random() < 0.2 else value}
        rows.append({"r": value})
    agree(codec, pa.RecordBatch.from_pylist(rows, codec.arrow_schema))


@protects_memory
@pytest.mark.parametrize("sizes", [(9, 1), (32, 5), (40, 3), (64, 1), (7, 63)])
def test_no_byte_behind_the_last_text_is_read(sizes: tuple[int, int]) -> None:
    texts = [b"x" * sizes[row % 2] for row in range(BLOCK)]
    column = before_protected_memory(texts)
    for kind, part in (("bytes", column), ("string", column.view(pa.string())), (["null", "bytes"], column)):
        batch = pa.record_batch([part], ["x"])
        head = b"\2" if isinstance(kind, list) else b""
        assert ColumnCodec(record("R", ("x", kind))).encode(batch).to_pylist() == [
            head + Codec("bytes").encode(text) for text in texts
        ]
    lists = pa.ListArray.from_arrays(pa.array(range(BLOCK + 1), pa.int32()), column)
    messages = ColumnCodec(record("R", ("x", array("bytes")))).encode(pa.record_batch([lists], ["x"])).to_pylist()
    assert messages == [b"\2" + Codec("bytes").encode(text) + b"\0" for text in texts]


@protects_memory
@pytest.mark.parametrize("last", range(5))
def test_uuids_in_any_form_are_encoded_as_alone(last: int) -> None:
    usual = str(UUID(int=0x0123456789ABCDEF << 60))
    texts = [usual, usual.upper(), usual.replace("-", ""), "{" + usual + "}", "urn:uuid:" + usual]
    column = before_protected_memory([texts[(row + last + 1) % 5].encode() for row in range(BLOCK + 1)][1:])
    nulls = pa.array([None if row % 3 == 0 else texts[row % 4] for row in range(BLOCK)])
    codec = ColumnCodec(record("R", ("u", logical("string", "uuid")), ("n", ["null", logical("string", "uuid")])))
    batch = pa.record_batch([column.view(pa.string()), nulls], ["u", "n"])
    one = Codec("string").encode(usual)
    assert agree(codec, batch) == [one + (b"\0" if row % 3 == 0 else b"\2" + one) for row in range(BLOCK)]


def test_rows_without_a_value_are_null_messages_between_blocks() -> None:
    rows = pa.array([None if row % 50 == 20 else {"n": row} for row in range(ROWS)], pa.struct([("n", pa.int32())]))
    messages = ColumnCodec(record("R", ("n", "int"))).encode(rows)
    assert messages.to_pylist() == [None if row % 50 == 20 else Codec("int").encode(row) for row in range(ROWS)]


def test_batches_of_one_schema_are_written_by_one_plan() -> None:
    writer = ColumnWriter(parse(record("R", ("a", ["null", "long"]), ("b", ["null", "string"]))), {})
    one = pa.record_batch([pa.array([1, 2])], ["a"])
    other = pa.record_batch([pa.array(["x"])], ["b"])
    for _ in range(2):
        assert writer.encode(one, b"").to_pylist() == [b"\2\2\0", b"\2\4\0"]
        assert writer.encode(other, b"").to_pylist() == [b"\0\2\2x"]
        assert writer.encode(pa.Table.from_batches([one, one]), b"").to_pylist() == [b"\2\2\0", b"\2\4\0"] * 2
