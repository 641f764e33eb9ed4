"""Runs of null, records that may be null and unions of records in messages that are read in blocks."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from arrow_blocks import BLOCK, LEAST, agree, in_blocks, same_buffers  # noqa: E402 - requires pyarrow
from arrow_kinds import KINDS, encoded, forms, schema  # noqa: E402
from schemas import array, record  # noqa: E402

from streamnative_serdes.arrow import ColumnCodec  # noqa: E402
from streamnative_serdes.codec import Codec  # noqa: E402
from streamnative_serdes.errors import SchemaError  # noqa: E402

LEAVES = ("long", "string", "double", "boolean", "int", "bytes", "float")
PLACES = [0, 1, 7, 8, BLOCK - 1, BLOCK, BLOCK + 1]  # of a row; the first one is read on its own
RUNS = [*range(10), 15, 16, 17, 63, 64, 65, 66, 130]
VALUES: dict[str, Any] = {
    "long": 2**40, "string": "text", "double": 1.5, "boolean": True, "int": -7, "bytes": b"\0\2\0", "float": 0.5,
}  # fmt: skip


def optional(count: int, order: int = 0, *, behind: bool = True) -> Any:
    """A record of so many optional fields: null comes first in none of them, in all, or in every other."""
    fields = []
    for number in range(count):
        kind = LEAVES[number % len(LEAVES)]
        fields.append((f"f{number}", ["null", kind] if order == 1 or (order == 2 and number % 2) else [kind, "null"]))
    return record("R", ("first", "int"), *fields, *([("last", "string")] if behind else []))


def datum(kind: Any, there: set[int]) -> dict[str, Any]:
    """A value for the fields with these numbers, null for the others."""
    found: dict[str, Any] = {"first": len(there), "last": "the end"}
    for field in kind["fields"][1:]:
        if field["name"].startswith("f"):
            number = int(field["name"][1:])
            found[field["name"]] = VALUES[LEAVES[number % len(LEAVES)]] if number in there else None
    return {field["name"]: found[field["name"]] for field in kind["fields"]}


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("count", RUNS)
def test_runs_of_null_of_any_length_are_null(count: int, order: int, behind: bool) -> None:
    kind, rng = optional(count, order, behind=behind), Random(count)
    columns, codec = ColumnCodec(kind), Codec(kind)
    some = [
        set(), set(range(count)), {0}, {count - 1}, {7}, {8}, {9}, {count // 2}, {7, 8}, {0, count - 1},
        *({number for number in range(count) if rng.random() < part} for part in (0.03, 0.1, 0.3, 0.9)),
    ]  # fmt: skip
    rows = [codec.encode(datum(kind, there)) for there in some]
    for share in (rows[:1], rows[1:2], rows[:6], rows):
        messages = [share[row % len(share)] for row in range(150)]
        assert agree(columns, messages)["why"].null_count == len(messages)
        assert in_blocks(columns, messages) >= len(messages) - LEAST  # blocks of many bytes may leave some rows
        same_buffers(columns, messages)


@pytest.mark.parametrize("count", [8, 9, 17])
@pytest.mark.parametrize("place", PLACES)
def test_one_row_of_a_block_may_be_other_than_all_of_its_neighbours(count: int, place: int) -> None:
    kind = optional(count, 1)
    columns, codec = ColumnCodec(kind), Codec(kind)
    nothing, all_of_them = (codec.encode(datum(kind, there)) for there in (set[int](), set(range(count))))
    for common, other in ((nothing, all_of_them), (all_of_them, nothing)):
        messages = [other if row == place else common for row in range(BLOCK + 10)]
        batch = agree(columns, messages)
        nulls = 1 if other is nothing else len(messages) - 1
        assert [batch[f"f{number}"].null_count for number in range(count)] == [nulls] * count
        assert in_blocks(columns, messages) == len(messages) - 1


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("count", [4, 8, 9, 16])
def test_a_message_that_ends_within_a_run_is_an_error_of_its_own(count: int, order: int) -> None:
    kind = optional(count, order, behind=False)
    columns, codec = ColumnCodec(kind), Codec(kind)
    for there in (set[int](), {0}, {count // 2}, {count - 1}):
        good = codec.encode(datum(kind, there))
        for place in (1, 9, 19):
            for end in range(len(good)):
                messages = [good[:end] if row == place else good for row in range(20)]
                why = agree(columns, messages)["why"].is_valid().to_pylist()
                assert why == [row == place for row in range(20)], (end, good.hex())


@pytest.mark.parametrize("byte", [1, 3, 4, 0x7E, 0x80, 0xFF])
def test_a_branch_that_there_is_not_within_a_run_is_an_error_of_its_row(byte: int) -> None:
    kind = optional(20, 2)
    columns, codec = ColumnCodec(kind), Codec(kind)
    good = codec.encode(datum(kind, set()))
    for at in range(1, 21):
        bad = good[:at] + bytes([byte]) + good[at + 1 :]
        batch = agree(columns, [bad if row == 12 else good for row in range(20)])
        assert batch["why"].is_valid().to_pylist() == [row == 12 for row in range(20)]


def test_a_branch_in_two_bytes_is_read_too() -> None:
    """80 00 is null, and 82 00 the value, though no library writes so."""
    kind = optional(9, 1)
    columns, good = ColumnCodec(kind), Codec(kind).encode(datum(kind, set()))
    for at in range(1, 10):
        odd = good[:at] + b"\x80\0" + good[at + 1 :]
        assert agree(columns, [odd if row == 12 else good for row in range(20)])["why"].null_count == 20


def test_runs_with_fields_that_are_left_out_or_come_from_defaults() -> None:
    writer = optional(40, 2)
    codec, rng = Codec(writer), Random(3)
    for kept in (range(0, 40, 2), range(0, 40, 13), range(10, 30), range(39, 40), ()):
        fields = [(f"f{number}", writer["fields"][number + 1]["type"]) for number in kept]
        more: list[Any] = [("more", ["null", "int"], None), ("default", "string", "d")]
        columns = ColumnCodec(writer, record("R", *more, *fields, ("last", "string")))
        messages = []
        for _ in range(210):
            part = rng.choice([0, 0.02, 0.5, 1])
            messages.append(codec.encode(datum(writer, {number for number in range(40) if rng.random() < part})))
        assert agree(columns, messages)["default"].to_pylist() == ["d"] * 210
        assert in_blocks(columns, messages) == 209


# --- records that may be null -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_fields_of_each_kind_are_what_they_are_in_a_record_that_may_be_null(name: str) -> None:
    kind, reads, values = KINDS[name]
    data, rng = encoded(kind, values), Random(name)
    for writer, reader, null, there in forms(kind, reads)[:3]:
        writes, readers = (
            record("R", ("a", "int"), ("r", ["null", record("Around", ("n", "long"), ("v", one), ("s", "string"))]))
            for one in (writer, reader)
        )
        columns = ColumnCodec(writes, readers)
        for part in (0.0, 0.05, 0.5, 1.0):
            messages = []
            for row in range(150):
                value = null if null and rng.random() < 0.3 else there + rng.choice(data)
                inner = b"\2" + Codec("long").encode(row**5) + value + b"\4%02d" % (row % 100)
                messages.append(b"\2" + (inner if rng.random() < part else b"\0"))
            messages[70] = None  # type: ignore[call-overload]
            assert agree(columns, messages)["why"].null_count == 150
            same_buffers(columns, messages)


def nested(depth: int) -> Any:
    """Records that may be null, each in another one, with fields before and behind them."""
    kind = record("R0", ("x", "int"), ("flag", "boolean"))
    for level in range(1, depth):
        more: Any = ["null", kind] if level % 2 else [kind, "null"]
        kind = record(f"R{level}", ("t", "string"), ("r", more), ("c", record(f"C{level}", ("d", ["double", "null"]))))
    return record("Top", ("r", ["null", kind]), ("rows", array(["null", kind["name"]])), ("n", "int"))


@pytest.mark.parametrize("depth", [1, 2, 3, 6, 14, 15, 16, 25])
def test_records_in_records_may_be_null_on_each_level(depth: int) -> None:
    kind, rng = nested(depth), Random(depth)
    columns, codec = ColumnCodec(kind), Codec(kind)

    def one(level: int, part: float) -> Any:
        if rng.random() > part:
            return None
        if level == 0:
            return {"x": rng.randrange(100), "flag": rng.random() < 0.5}
        return {"t": "t" * level, "r": one(level - 1, part), "c": {"d": rng.choice([None, 0.5])}}

    for part in (0.0, 0.2, 0.7, 0.95, 1.0):
        rows = [
            {"r": one(depth - 1, part), "rows": [one(depth - 1, part) for _ in range(rng.randrange(4))], "n": row}
            for row in range(210)
        ]
        messages: list[Any] = [codec.encode(row) for row in rows]
        assert in_blocks(columns, messages) == (209 if depth < 16 else 0) or part > 0.9  # then they are too long
        messages[100] = None
        batch = agree(columns, messages)
        same_buffers(columns, messages)
        assert [row for row in batch["n"].to_pylist() if row is not None] == [*range(100), *range(101, 210)]
        assert batch["r"].null_count == sum(row["r"] is None for number, row in enumerate(rows) if number != 100) + 1


def test_a_list_in_a_record_that_may_be_null_has_records_that_may_be_null() -> None:
    item = record("Item", ("x", "int"), ("t", "string"), ("flag", "boolean"))
    kind = record("Top", ("r", ["null", record("R", ("n", "int"), ("l", array(["null", item])))]))
    columns, codec, rng = ColumnCodec(kind), Codec(kind), Random(0)

    def items() -> list[Any]:
        one = {"x": rng.randrange(100), "t": "t" * rng.randrange(5), "flag": rng.random() < 0.5}
        return [rng.choice([None, one]) for _ in range(rng.randrange(4))]

    rows = [{"r": rng.choice([None, {"n": number, "l": items()}])} for number in range(210)]
    batch = agree(columns, [codec.encode(row) for row in rows])
    batch.validate(full=True)
    assert batch.select(["r"]).to_pylist() == rows


@pytest.mark.parametrize("sizes", [(1,), (64, 1), (65, 64, 3), (7, 8, 9)], ids=str)
def test_null_records_and_null_rows_of_several_chunks(sizes: tuple[int, ...]) -> None:
    kind = record("R", ("r", ["null", record("I", ("s", "string"), ("b", "boolean"))]), ("n", "int"))
    columns = ColumnCodec(kind)
    some: list[Any] = [b"\2\2a\1\2", b"\0\4", None, b"\2\0\0\6", b"\0"]
    messages = [some[row % (4 if row % 3 else 5)] for row in range(sum(sizes))]
    chunks, start = [], 0
    for size in sizes:
        chunks.append(pa.array(messages[start : start + size], pa.binary()))
        start += size
    agree(columns, messages, pa.chunked_array(chunks))


# --- unions of several types ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("null", [None, 0, 3, -1])
@pytest.mark.parametrize("count", [2, 12, 63, 64, 65])
def test_unions_of_records_have_a_member_for_each(count: int, null: int | None) -> None:
    events: list[Any] = [record(f"E{number}", ("x", "int"), ("s", ["null", "string"])) for number in range(count)]
    branches = [*events, "string", "double"][: max(count, 3)]
    if null is not None:
        branches.insert(null if null >= 0 else len(branches), "null")
    kind, rng = record("R", ("u", branches), ("n", "int")), Random(count)
    columns, codec = ColumnCodec(kind), Codec(kind)
    values = [
        None if branch == "null" else "text" if branch == "string" else 1.5 if branch == "double"
        else (branch["name"], {"x": 5, "s": rng.choice([None, "s"])})
        for branch in branches
    ]  # fmt: skip
    for some in (values, values[:1], values[-3:]):
        messages = [codec.encode({"u": rng.choice(some), "n": row}) for row in range(300)]
        assert agree(columns, messages)["why"].null_count == 300
        assert in_blocks(columns, messages) == (299 if len(branches) <= 64 else 0)
        same_buffers(columns, messages)
    for byte in (2 * len(branches), 1, 0x7E, 0x80, 0xFF):
        bad = bytes([byte]) + b"\2" * 5
        agree(columns, [bad if row == 12 else messages[row] for row in range(80)])


def test_unions_that_a_reader_sees_in_another_way_are_read_the_same() -> None:
    first, second = record("A", ("x", "int")), record("B", ("y", "string"))
    written: list[Any] = [["null", first, second], [first, second], ["int", "string", first], ["null", "int", "string"]]
    readers: list[Any] = [
        [second, "null", first, "long"], [first, second, "string"], ["string", first, "double"], ["long", "string"],
        ["null", "string", "long", "double"], first,
    ]  # fmt: skip
    values: dict[str, Any] = {"null": None, "int": 5, "string": "s", "A": ("A", {"x": 1}), "B": ("B", {"y": "b"})}
    for writer in written:
        names = [one if isinstance(one, str) else one["name"] for one in writer]
        codec, rng = Codec(schema("R", writer)), Random(1)
        for reader in readers:
            try:
                columns = ColumnCodec(schema("R", writer), schema("R", reader))
            except SchemaError:  # none of the writer's branches can be read, or not all of them
                continue
            rest = {"before": 1, "text": "t", "flag": True, "after": None}
            messages = [codec.encode({"x0": values[rng.choice(names)], **rest}) for _ in range(100)]
            agree(columns, messages)


READERS: list[Any] = [
    *(
        "string",
        "bytes",
        "int",
        "double",
        array("int"),
        {"type": "map", "values": "string"},
        record("Q", ("s", "string")),
    ),
    {"type": "array", "items": array("string")},
]


@pytest.mark.parametrize("count", [1, LEAST, BLOCK, BLOCK + 1])
@pytest.mark.parametrize("reader", READERS, ids=str)
def test_a_union_of_null_alone_is_null_of_the_readers_type(reader: Any, count: int) -> None:
    around = [(f"a{number}", "int") for number in range(5)]
    written, wanted = (record("R", *around, ("x", kind)) for kind in (["null"], ["null", reader]))
    columns = ColumnCodec(written, wanted)
    batch = columns.decode(pa.array([b"\2" * 5 + b"\0"] * (count + 1)))
    batch.validate(full=True)
    assert batch["x"].null_count == len(batch) == count + 1
    assert batch["a4"].to_pylist() == [1] * (count + 1)


def test_a_signalling_nan_keeps_its_bits_in_rows_and_in_blocks() -> None:
    columns = ColumnCodec(record("R", ("f", "float"), ("n", "long")))
    message = bytes.fromhex("c000807f") + b"\2"
    for count in (1, 2, BLOCK + 1):
        batch = columns.decode(pa.array([message] * count))
        assert columns.encode(batch).to_pylist() == [message] * count


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("gaps", [(1, 2), (6, 7, 8, 9, 10), (511, 1, 512, 513), (1_500,)])
def test_values_of_a_member_are_in_their_rows_however_far_apart(gaps: tuple[int, ...], large: bool) -> None:
    inner = record("Inner", ("n", "long"), ("i", "int"), ("t", "string"), ("l", array("string")), ("b", "boolean"))
    kind = record("R", ("first", "int"), ("u", ["null", inner, record("Other", ("x", "bytes"))]))
    columns, codec = ColumnCodec(kind, large_types=large), Codec(kind)
    rows: list[dict[str, Any]] = []
    while len(rows) < 1_600:
        number = len(rows)
        value = {"n": number << 33, "i": -number, "t": f"t {number}", "l": ["x"] * (number % 3), "b": number % 2 > 0}
        rows.append({"first": number, "u": ("Inner", value)})
        for each in range(gaps[number % len(gaps)] - 1):
            rows.append({"first": -each, "u": None if each % 5 else ("Other", {"x": b"x" * (each % 40)})})
    expected = [
        {f"member{number}": dict(row["u"][1]) if row["u"][0] == name else None
         for number, name in enumerate(("Inner", "Other"))} if row["u"] else None for row in rows
    ]  # fmt: skip
    batch = columns.decode(pa.array([codec.encode(row) for row in rows]))
    batch.validate(full=True)
    assert batch["u"].to_pylist() == expected
    assert columns.encode(batch).to_pylist() == [codec.encode(row) for row in rows]
