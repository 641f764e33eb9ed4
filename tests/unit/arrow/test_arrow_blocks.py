"""Neighbouring messages, which columns read in blocks of up to 64: each kind of field, each number of rows."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from arrow_blocks import agree, same_buffers  # noqa: E402 - requires pyarrow
from arrow_kinds import (  # noqa: E402
    FIRST_DAY,
    INNER,
    INNERS,
    KINDS,
    LAST_DAY,
    LONG,
    LONGS,
    MICROS,
    MILLIS,
    STRING,
    SYMBOLS,
    encoded,
    forms,
    message,
    schema,
)
from schemas import array, enum, fixed, logical, mapping, record  # noqa: E402

from streamnative_serdes import Codec, DecodeError  # noqa: E402
from streamnative_serdes.arrow import ColumnCodec  # noqa: E402

ROWS = 100  # more than a block
MORE = b"\2" * 16  # bytes that may follow a message
BLOCK_AND_MORE = 70
DEFAULTS: dict[str, tuple[Any, Any]] = {
    "int": ("int", 7),
    "string": ("string", "a default of more than 32 bytes of text"),
    "null": (["null", "int"], None),
    "record": (INNER, INNERS[1]),
    "array": (array("int"), [1, 2, 3]),
    "map": (mapping("string"), {"k": "v"}),
}


def patterns(null: bytes, rng: Random) -> list[list[bool]]:
    """Which rows are null."""
    if not null:
        return [[False] * ROWS]
    drawn = [[rng.random() < part for _ in range(ROWS)] for part in (0.5, 0.05, 0.95)]
    return [*drawn, [True] * ROWS, [False] * ROWS]


@pytest.mark.parametrize("name", KINDS)
def test_fields_of_each_kind_are_what_they_are_in_a_row_of_its_own(name: str) -> None:
    kind, reads, values = KINDS[name]
    data, rng = encoded(kind, values), Random(name)
    for writer, reader, null, there in forms(kind, reads):
        columns = ColumnCodec(schema("R", writer), schema("R", reader))
        for nulls in patterns(null, rng):
            messages = [message(row, null if one else there + rng.choice(data)) for row, one in enumerate(nulls)]
            batch = agree(columns, messages)
            assert batch["why"].null_count == ROWS
            if null:
                assert batch["x0"].null_count == sum(nulls)
            same_buffers(columns, messages)


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_fields_of_each_kind_are_read_where_they_are_whatever_else_would_fit(name: str, left_out: bool) -> None:
    """There are only numbers around, and more behind: wherever they are read, they would be numbers too."""
    kind, reads, values = KINDS[name]
    data, rng, some = encoded(kind, values), Random(name), [(name, "int") for name in "abcdef"]
    for writer, reader, null, there in forms(kind, reads)[:3]:
        records = (record("R", *some[:3], *each, *some[3:]) for each in ([("x", writer)], [("x", reader)]))
        columns = ColumnCodec(
            next(records), record("R", *some) if left_out else next(records), ignore_trailing_bytes=True
        )
        for nulls in patterns(null, rng)[::2]:
            parts = [null if one else there + rng.choice(data) for one in nulls]
            agree(
                columns, [b"\2\4\6" + part + b"\x08\x0a%c" % (2 * row % 128) + MORE for row, part in enumerate(parts)]
            )


@pytest.mark.parametrize("name", KINDS)
def test_fields_of_each_kind_that_the_reader_lacks_are_left_out(name: str) -> None:
    kind, _, values = KINDS[name]
    data, rng = encoded(kind, values), Random(name)
    for writer, _, null, there in forms(kind, kind)[:3]:
        for reader in (schema("R"), record("R", ("flag", "boolean"), ("text", "string"), ("more", "int", 7))):
            columns = ColumnCodec(schema("R", writer, fixed("Behind", 2)), reader)
            for nulls in patterns(null, rng)[:3]:
                messages = [
                    message(row, null if one else there + rng.choice(data), b"%c." % row)
                    for row, one in enumerate(nulls)
                ]
                assert agree(columns, messages)["why"].null_count == ROWS


def test_a_value_that_is_left_out_in_full_is_that_of_its_own_field() -> None:
    """Texts of many bytes, which are all numbers too, and numbers of many."""
    fields = [("a", "long"), ("b", "bytes"), ("c", "long"), ("d", ["null", "bytes"]), ("n", "int"), ("m", "int")]
    columns = ColumnCodec(record("R", *fields), record("R", ("n", "int")), ignore_trailing_bytes=True)
    for a, b, c, d in ((1, 70, 1, 1), (1, 1, 2**62, 1), (2**62, 70, 1, 1), (1, 1, 1, 70), (1, 100, 2**62, 100)):
        numbers, texts = map(Codec("long").encode, (a, c)), [Codec("bytes").encode(b"\2" * size) for size in (b, d)]
        one = next(numbers) + texts[0] + next(numbers) + b"\2" + texts[1] + b"\x0e\x10"
        assert agree(columns, [one + MORE] * 40)["n"].to_pylist() == [7] * 40


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_readers_defaults_are_in_each_row(name: str) -> None:
    kind, default = DEFAULTS[name]
    reader = record("R", ("more", kind, default), *[(field["name"], field["type"]) for field in schema("R")["fields"]])
    batch = agree(ColumnCodec(schema("R"), reader), [message(row) for row in range(ROWS)])
    (first, *_) = values = batch["more"].to_pylist()
    assert values == [first] * ROWS
    assert (dict(first) if name == "map" else first) == default


# Numbers that are at a bound are read; the next one is not. One at a time, since it is looked for row by row then.
BEYOND: dict[str, tuple[Any, Any, list[int]]] = {
    "date": ("int", logical("int", "date"), [FIRST_DAY - 1, LAST_DAY + 1]),
    "time in ms": ("int", logical("int", "time-millis"), [-1, MILLIS]),
    "time in us": ("long", logical("long", "time-micros"), [-1, MICROS]),
    "moment in ms": ("long", logical("long", "timestamp-millis"), [FIRST_DAY * MILLIS - 1, (LAST_DAY + 1) * MILLIS]),
    "moment in us": ("long", logical("long", "timestamp-micros"), [FIRST_DAY * MICROS - 1, (LAST_DAY + 1) * MICROS]),
    "moment in ms as us": (
        logical("long", "timestamp-millis"), logical("long", "timestamp-micros"),
        [FIRST_DAY * MILLIS - 1, (LAST_DAY + 1) * MILLIS],
    ),
    "moment in ms as ns": (
        logical("long", "timestamp-millis"), logical("long", "timestamp-nanos"),
        [2**63 // 10**6 + 1, -(2**63 // 10**6) - 1, 2**63 - 1, -(2**63)],
    ),
    "moment in us as ms": (
        logical("long", "timestamp-micros"), logical("long", "timestamp-millis"),
        [FIRST_DAY * MICROS - 1, (LAST_DAY + 1) * MICROS],
    ),
    "int": ("int", "int", [2**31, -(2**31) - 1, 2**34, 2**62]),
    "int as long": ("int", "long", [2**31, -(2**31) - 1, 2**34, 2**62]),
    "int as double": ("int", "double", [2**31, -(2**31) - 1, 2**34, 2**62]),
    "int that is left out": ("int", None, [2**31, -(2**31) - 1, 2**34, 2**62]),
    "symbol": (enum("E", "A", "B"), enum("E", "A", "B"), [2, -1, 63, 64, 127, 128, 2**40]),
    "symbol that is left out": (enum("E", "A", "B"), None, [2, -1, 63, 64, 127, 128, 2**40]),
    "symbol of 70": (enum("E", *SYMBOLS), enum("E", *SYMBOLS), [70, -1]),
    "symbol that the reader lacks": (enum("E", "A", "B"), enum("E", "A"), [1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("optional", [False, True])
def test_numbers_beyond_a_bound_are_errors_of_their_rows(name: str, optional: bool) -> None:
    kind, reader, values = BEYOND[name]
    wraps = ["null", kind] if optional else kind
    reads = schema("R") if reader is None else schema("R", ["null", reader] if optional else reader)
    columns = ColumnCodec(schema("R", wraps), reads)
    there = b"\2" if optional else b""
    good = [message(row, there + b"\0") for row in range(BLOCK_AND_MORE)]
    for value in values:
        bad = message(5, there + Codec("long").encode(value))
        batch = agree(columns, [*good[:30], bad, *good[30:]])
        assert batch["why"].is_valid().to_pylist() == [row == 30 for row in range(BLOCK_AND_MORE + 1)], value


@pytest.mark.parametrize("count", [*range(1, 20), 31, 32, 33, 62, 63])
def test_the_symbol_behind_the_last_is_an_error_of_its_row(count: int) -> None:
    """Whatever is in memory there: the symbols of another enum, for some of these codecs."""
    good = [message(row, Codec("int").encode(row % count)) for row in range(20)]
    data = [*good[:10], message(3, Codec("int").encode(count)), *good[10:]]
    kind = schema("R", enum("E", *SYMBOLS[:count]))
    for columns in [ColumnCodec(kind) for _ in range(30)]:
        assert columns.decode(pa.array(data), error_column="why")["why"].is_valid().to_pylist() == [
            row == 10 for row in range(21)
        ]


def test_symbols_of_one_byte_and_of_two_are_told_from_bytes_behind_them() -> None:
    columns = ColumnCodec(record("R", ("e", enum("E", *SYMBOLS)), ("n", "int")), ignore_trailing_bytes=True)
    for first in (0, 32, 40, 63, 64, 69):
        data = [Codec("int").encode(number) + b"\2\1" for number in [first] * 20 + [*range(70)]]
        batch = agree(columns, data)
        assert batch["e"].to_pylist() == [SYMBOLS[first]] * 20 + SYMBOLS
        assert batch["n"].to_pylist() == [1] * 90


# --- rows -------------------------------------------------------------------------------------------------------------

ROW = schema("R", ["null", "boolean"], "boolean", ["string", "null"], "double", ["null", "long"], array("int"))
INTS = Codec(array("int"))


def rows(count: int, first: int = 0) -> list[bytes]:
    """Messages of ROW, of which no two neighbours are alike."""
    rng, found = Random(first), []
    for number in range(first, first + count):
        parts = [
            rng.choice([b"\0", b"\2\0", b"\2\1"]),
            rng.choice([b"\0", b"\1"]),
            rng.choice([b"\2", b"\0" + STRING.encode("s" * rng.randrange(40))]),
            struct.pack("<d", number),
            rng.choice([b"\0", b"\2" + LONG.encode(rng.choice(LONGS))]),
            INTS.encode(list(range(number % 4))),
        ]
        found.append(message(number, *parts))
    return found


@pytest.fixture(scope="module")
def columns() -> ColumnCodec:
    return ColumnCodec(ROW)


@pytest.mark.parametrize("count", [*range(1, 20), 63, 64, 65, 66, 127, 128, 129, 130, 193, 700])
def test_any_number_of_rows_is_read(columns: ColumnCodec, count: int) -> None:
    agree(columns, rows(count))
    same_buffers(columns, rows(count))


@pytest.mark.parametrize("length", [7, 8, 9, 17, 64, 65, 130])
@pytest.mark.parametrize("nulls", range(17))
def test_a_block_may_begin_at_each_bit(columns: ColumnCodec, nulls: int, length: int) -> None:
    """Null rows before it shift the bits of all columns; a second block of another bit follows."""
    messages = [*rows(1), *[None] * nulls, *rows(length, 1), None, *rows(20, 200)]
    assert agree(columns, messages)["before"].null_count == nulls + 1
    same_buffers(columns, messages)


@pytest.mark.parametrize("run", [1, 2, 7, 8, 9, 63, 64, 65])
def test_null_rows_between_runs_are_null(columns: ColumnCodec, run: int) -> None:
    data = rows(3 * run)
    messages = [None, *data[:run], None, None, *data[run : 2 * run], None, *data[2 * run :], None]
    batch = agree(columns, messages)
    assert [value is None for value in batch["before"].to_pylist()] == [one is None for one in messages]


def test_messages_without_bytes_are_rows() -> None:
    for fields in ((), (("a", "null"), ("b", fixed("F", 0))), (("r", record("Inner")),)):
        for reader in (record("R", *fields), record("R", *fields, ("more", "int", 7)), record("R")):
            columns = ColumnCodec(record("R", *fields), reader)
            assert agree(columns, [b""] * 100)["why"].null_count == 100
            agree(columns, [b""] * 20 + [None] + [b""] * 20)
            batch = agree(columns, [b""] * 20 + [b"\0"] + [b""] * 20)
            assert batch["why"].is_valid().to_pylist() == [row == 20 for row in range(41)]


def test_null_rows_may_have_bytes() -> None:
    """Those of a message here, which are not to be read: an array may have any bytes there."""
    columns = ColumnCodec(ROW)
    messages = rows(150)
    there = [row % 23 not in (3, 4) for row in range(150)]
    whole = pa.array(messages)
    bitmap = pa.array(there).buffers()[1]
    data = pa.Array.from_buffers(pa.binary(), 150, [bitmap, *whole.buffers()[1:]])
    expected = [one if is_there else None for one, is_there in zip(messages, there, strict=True)]
    for start in (0, 1, 3, 5, 20, 70):
        assert agree(columns, expected[start:], data[start:])["before"].null_count == there[start:].count(False)


# --- what holds the messages ------------------------------------------------------------------------------------------

FORMS = [pa.binary(), pa.large_binary(), pa.binary_view()]


@pytest.mark.parametrize("kind", FORMS, ids=str)
@pytest.mark.parametrize("large", [False, True])
def test_slices_of_arrays_of_bytes_are_read(kind: Any, large: bool) -> None:
    columns = ColumnCodec(ROW, large_types=large)
    messages: list[Any] = [*rows(75), None, *rows(75, 80)]
    data = pa.array(messages, kind)
    for start, end in ((0, 151), (1, 151), (3, 70), (9, 17), (60, 140), (75, 151), (76, 150), (83, 91)):
        agree(columns, messages[start:end], data[start:end])
        agree(columns, messages[start:end], data[1:][start - 1 : end - 1] if start else data[:end])


@pytest.mark.parametrize("kind", FORMS, ids=str)
@pytest.mark.parametrize("sizes", [(9, 9, 9), (64, 1, 64), (65, 0, 130), (7, 7, 7, 7), (100, 3, 100)], ids=str)
def test_chunks_are_read_as_one_batch(columns: ColumnCodec, kind: Any, sizes: tuple[int, ...]) -> None:
    messages: list[Any] = rows(sum(sizes))
    messages[sum(sizes) // 2] = None
    chunks, start = [], 0
    for size in sizes:
        chunks.append(pa.array(messages[start : start + size], kind))
        start += size
    agree(columns, messages, pa.chunked_array(chunks))


@pytest.mark.parametrize("longest", [10, 200, 4_000])
def test_lists_of_messages_are_read(columns: ColumnCodec, longest: int) -> None:
    """Short ones are copied into one buffer, and are read in blocks; long ones stay where they are."""
    messages: list[Any] = rows(130)
    long = message(1, b"\0", b"\0", b"\0" + Codec("string").encode("l" * longest), bytes(10))
    messages[70], messages[71] = None, long
    agree(columns, messages, messages)
    agree(columns, messages * 2, messages * 2)
    agree(columns, [*messages, *[long] * 130], [*messages, *[long] * 130])


def test_messages_of_fixed_size_are_read() -> None:
    columns = ColumnCodec(record("R", ("a", "double"), ("b", "boolean")))
    messages: list[Any] = [struct.pack("<d?", row / 8, row % 2) for row in range(100)]
    messages[50] = None
    agree(columns, messages, pa.array(messages, pa.binary(9)))
    agree(columns, messages, pa.array(messages))


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["string", "bytes"])
@pytest.mark.parametrize("large", [False, True])
def test_text_of_any_size_is_read_wherever_it_is_in_a_block(kind: str, large: bool) -> None:
    columns, text = ColumnCodec(schema("R", kind, ["null", kind]), large_types=large), Codec(kind)
    for size in (0, 1, 31, 32, 33, 63, 64, 10_000):
        one: Any = "w" * size if kind == "string" else b"\xfe" * size
        for place in (1, 2, 8, 40, 63, 64, 65):
            messages = [message(row, text.encode(one[:3]), b"\0") for row in range(80)]
            messages[place] = message(place, text.encode(one), b"\2" + text.encode(one))
            agree(columns, messages)
    agree(columns, [message(row, text.encode(one), b"\2" + text.encode(one)) for row in range(70)])


def test_text_buffers_grow_within_a_block() -> None:
    """The first array has little text, for which the buffers are made; the second one has much."""
    columns, text = ColumnCodec(schema("R", "string", ["bytes", "null"])), Codec("string")
    for size in (20, 32, 33, 300):
        short = [message(row, text.encode("a"), b"\2") for row in range(10)]
        long = [
            message(row, text.encode(f"{row:03}" * (size // 3)), b"\0" + text.encode("é" * row)) for row in range(500)
        ]
        agree(columns, [*short, *long], pa.chunked_array([short, long]))


@pytest.mark.parametrize("bad", [b"\xff", b"a" * 31 + b"\x80", b"a" * 32 + b"\xc0\x80", b"\xe2\x82", b"\xed\xa0\x80"])
@pytest.mark.parametrize("place", [1, 8, 40, 64])
def test_text_that_is_not_utf8_is_an_error_of_its_row_only(bad: bytes, place: int) -> None:
    columns, sized = ColumnCodec(schema("R", "string", ["null", "string"])), Codec("bytes").encode
    good = [message(row, sized("é".encode() * (row % 20)), b"\2" + sized(b"x" * row)) for row in range(80)]
    for spoilt in (message(1, sized(bad), b"\0"), message(1, sized(b""), b"\2" + sized(bad))):
        batch = agree(columns, [*good[:place], spoilt, *good[place + 1 :]])
        assert batch["why"].is_valid().to_pylist() == [row == place for row in range(80)]
    with pytest.raises(DecodeError, match="UTF-8"):
        columns.decode(pa.array([*good[:place], spoilt]))


# --- size of the messages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size", [255, 256, 257, 2_000, 8_191, 8_192, (16 << 10) - 1, 16 << 10, (16 << 10) + 1, 1 << 20]
)
def test_blocks_end_where_they_would_have_too_many_bytes(size: int) -> None:
    columns = ColumnCodec(schema("R", "bytes"))
    around = len(message(0, Codec("bytes").encode(b"\0" * size))) - size
    long = message(0, Codec("bytes").encode(b"\xab" * (size - around)))
    short = [message(row, b"\2.") for row in range(40)]
    for many in (1, 2, 9) if size < 1 << 20 else (1,):
        agree(columns, [*short, *[long] * many, *short, long, *short[:8]])
