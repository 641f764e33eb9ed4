"""Limits where messages are read in blocks: each message has its own, and all have one limit of slots."""

from __future__ import annotations

from typing import Any

import pytest
from wire import varint

pa = pytest.importorskip("pyarrow")

from arrow_blocks import WHY, agree, refusal  # noqa: E402 - requires pyarrow
from schemas import array, fixed, mapping, record  # noqa: E402

from streamnative_serdes import BatchTooLargeError, DecodeError  # noqa: E402
from streamnative_serdes.arrow import ColumnCodec  # noqa: E402

PLAIN = [(f"n{number}", "int") for number in range(8)]  # so many that containers beside them are read in blocks
NUMBERS = b"\2" * len(PLAIN)
SOME = record("R", *PLAIN[:5])


def nothings(count: int) -> bytes:
    """An array of values that take no bytes."""
    return varint(count) + b"\0" if count else b"\0"


def numbers(count: int) -> bytes:
    return varint(count) + b"\2" * count + b"\0" if count else b"\0"


def entries(count: int) -> bytes:
    return varint(count) + b"".join(b"\2%c\2" % (97 + number) for number in range(count)) + b"\0" if count else b"\0"


def refused(columns: ColumnCodec, rows: list[bytes]) -> list[int]:
    """Which rows cannot be read because of a limit; all are what they are in batches of their own."""
    why = agree(columns, rows)[WHY].to_pylist()
    assert all("too many" in said for said in why if said)
    return [row for row, said in enumerate(why) if said]


# Types of two fields, how so many values of them are written, and the option that limits them.
TWO: dict[str, tuple[Any, Any, Any, Any, str]] = {
    "arrays": (array("int"), array("long"), numbers, numbers, "max_items"),
    "an array and a map": (array("int"), mapping("int"), numbers, entries, "max_items"),
    "arrays of nulls": (array("null"), array(fixed("F", 0)), nothings, nothings, "max_empty_values"),
    "optional arrays": (
        ["null", array("int")], [array("int"), "null"], lambda n: b"\2" + numbers(n), lambda n: b"\0" + numbers(n),
        "max_items",
    ),
    "an array of records": (array(record("I", ("x", "int"))), array("int"), numbers, numbers, "max_items"),
}  # fmt: skip


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("name", TWO)
def test_a_message_at_its_limit_is_read_and_one_above_is_not_whatever_the_others_hold(
    name: str, left_out: bool
) -> None:
    first, second, one, other, option = TWO[name]
    writer = record("R", ("a", first), *PLAIN[:4], ("b", second), *PLAIN[4:])
    options: dict[str, Any] = {option: 10}
    columns = ColumnCodec(writer, SOME if left_out else writer, **options)

    def message(a: int, b: int) -> bytes:
        return b"".join((one(a), NUMBERS[:4], other(b), NUMBERS[4:]))

    within = [(5, 5), (10, 0), (0, 10), (0, 0), (9, 1), (1, 9), (4, 4)]
    good = [message(*within[row % len(within)]) for row in range(100)]
    assert refused(columns, good) == []
    for beyond in ((5, 6), (6, 5), (11, 0), (0, 11), (10, 1), (1, 10)):
        for place in (1, 2, 40, 64, 65, 99):
            assert refused(columns, [*good[:place], message(*beyond), *good[place + 1 :]]) == [place]
    assert refused(columns, [message(5, 6)] * 100) == list(range(100))


@pytest.mark.parametrize("left_out", [False, True])
def test_fields_without_bytes_and_items_without_bytes_are_counted_together(left_out: bool) -> None:
    nulls = record("N", ("x", "null"), ("y", fixed("F", 0)))
    writer = record("R", ("r", nulls), ("z", "null"), *PLAIN, ("a", array("null")))
    reader = SOME if left_out else writer
    read = ColumnCodec(writer, reader, max_empty_values=10)
    # r: itself if it is left out, and its two fields; z.
    most = next(count for count in range(11) if refused(read, [NUMBERS + nothings(count + 1)]))
    assert most == 6
    good = [NUMBERS + nothings(row % (most + 1)) for row in range(100)]
    assert refused(read, good) == []
    for place in (1, 30, 64, 99):
        assert refused(read, [*good[:place], NUMBERS + nothings(most + 1), *good[place + 1 :]]) == [place]


@pytest.mark.parametrize("what", ["without bytes", "from defaults"])
def test_a_record_behind_items_that_take_all_but_a_part_of_a_limit_is_too_much(what: str) -> None:
    """The record takes three of what the items have left."""
    empty = what == "without bytes"
    option: dict[str, Any] = {"max_empty_values" if empty else "max_items": 10}
    three: list[Any] = [(name, "null") for name in "xyz"] if empty else [(name, "int", 5) for name in "xyz"]
    items, one = (array("null"), nothings) if empty else (array("int"), numbers)
    writer, reader = (
        record("R", *PLAIN, ("a", items), ("n", record("N", ("w", "int"), *fields)))
        for fields in (three if empty else [], three)
    )
    columns = ColumnCodec(writer, reader, **option)
    good = [NUMBERS + one(row % 8) + b"\2" for row in range(100)]
    assert refused(columns, good) == []
    for items_of_one in (8, 9, 10, 11):
        for place in (1, 30, 64, 99):
            assert refused(columns, [*good[:place], NUMBERS + one(items_of_one) + b"\2", *good[place + 1 :]]) == [place]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("arrays", [False, True])
def test_fields_without_bytes_count_in_each_message(nested: bool, arrays: bool) -> None:
    """Also where no message can have more than another, so that they are counted once for all of a block."""
    nulls = [("x", "null"), ("y", fixed("F", 0)), ("z", "null")]
    fields = [("r", record("N", *nulls)), ("s", "N"), *PLAIN] if nested else [*nulls, *PLAIN]
    writer = record("R", *fields, *[("a", array("int"))] * arrays)
    rows = [NUMBERS + (b"\0" if arrays else b"")] * 100
    need = 8 if nested else 3  # the records r and s take no bytes themselves
    assert refused(ColumnCodec(writer, max_empty_values=need), rows) == []
    assert refused(ColumnCodec(writer, max_empty_values=need - 1), rows) == list(range(100))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("arrays", [False, True])
def test_defaults_count_in_each_message(nested: bool, arrays: bool) -> None:
    more = [("d", array("int"), [1, 2, 3]), ("e", "int", 7)]  # an array of three, and one
    inner, inner_more = record("I", ("x", "int")), record("I", ("x", "int"), *more)
    own, own_more = [*PLAIN, *[("a", array("int"))] * arrays], more
    writer = record("R", *[("r", inner)] * nested, *own)
    reader = record("R", *[("r", inner_more)] * nested, *own, *own_more)

    def message(items: int) -> bytes:
        return b"\2" * nested + NUMBERS + (numbers(items) if arrays else b"")

    need = next(most for most in range(20) if not refused(ColumnCodec(writer, reader, max_items=most), [message(0)]))
    assert need == (10 if nested else 5)
    for most in (need, need + 2):
        columns = ColumnCodec(writer, reader, max_items=most)
        good = [message(row % (most - need + 1)) for row in range(100)]
        assert refused(columns, good) == []
        if arrays:
            for place in (1, 50, 64, 99):
                assert refused(columns, [*good[:place], message(most - need + 1), *good[place + 1 :]]) == [place]
    assert refused(ColumnCodec(writer, reader, max_items=need - 1), [message(0)] * 100) == list(range(100))


def test_depth_is_that_of_a_message_on_its_own() -> None:
    inner = record("C", ("x", "int"))
    for depth in range(2, 6):
        inner = record(f"C{depth}", ("c", inner), ("d", ["null", inner["name"]]), ("n", "int"))
    rows = [b"\2" + b"\0\2" * 4] * 50
    for most in range(1, 8):
        said = agree(ColumnCodec(inner, max_depth=most), rows)[WHY].to_pylist()
        assert [bool(one) for one in said] == [most < 5] * 50, most


# --- slots ------------------------------------------------------------------------------------------------------------

WIDE = record("Wide", *[(f"f{number}", "long") for number in range(200)])


def nulls(count: int) -> bytes:
    return varint(count) + b"\0" * (count + bool(count))


def greedy(first: int, second: int = 0) -> bytes:
    """So many nulls in two arrays: each takes a byte, and 201 slots."""
    return nulls(first) + NUMBERS + nulls(second)


def slots_taken(rows: list[bytes], schema: Any) -> int:
    """The limit that is just enough for these messages, if they are read one by one."""
    least, most = 0, 1 << 20
    while most - least > 1:
        middle = (least + most) // 2
        try:
            ColumnCodec(schema, max_items=middle).decode(pa.array(rows, pa.binary_view()), error_column=WHY)
            most = middle
        except BatchTooLargeError:
            least = middle
    return most


@pytest.mark.parametrize("damaged", [(), (20,), (5, 40, 60), (64, 65, 66)], ids=str)
@pytest.mark.parametrize("sizes", [(30, 0), (10, 25), (0, 40), (3, 3)], ids=str)
def test_the_limit_of_slots_is_that_of_the_batch_and_damaged_messages_take_none(
    sizes: tuple[int, int], damaged: tuple[int, ...]
) -> None:
    schema = record("R", ("a", array(["null", WIDE])), *PLAIN, ("b", array(["null", "Wide"])))
    one = greedy(*sizes)
    rows = [one[:-1] if row in damaged else one for row in range(100)]
    need = slots_taken(rows, schema)
    assert need > 10_000
    batch = ColumnCodec(schema, max_items=need).decode(pa.array(rows), error_column=WHY)
    batch.validate(full=True)
    assert [row for row, why in enumerate(batch[WHY].to_pylist()) if why] == list(damaged)
    assert set(batch["a"].value_lengths().to_pylist()) - {None} == {sizes[0]}
    assert set(batch["b"].value_lengths().to_pylist()) - {None} == {sizes[1]}
    for limit in (need - 1, need // 2, need // 3, need // 30):
        found = []
        for kind in (pa.binary(), pa.binary_view()):
            with pytest.raises(BatchTooLargeError) as caught:
                ColumnCodec(schema, max_items=limit).decode(pa.array(rows, kind), error_column=WHY)
            found.append((caught.value.row, caught.value.path, str(caught.value)))
        assert found[0] == found[1]
        row = found[0][0]
        ColumnCodec(schema, max_items=limit).decode(pa.array(rows[:row]), error_column=WHY)


def test_a_message_that_alone_takes_too_many_slots_is_an_error_of_its_row() -> None:
    schema = record("R", ("a", array(["null", WIDE])), *PLAIN, ("b", array("int")))
    columns = ColumnCodec(schema, max_items=5_000)
    rows = [greedy(1)] * 30 + [greedy(100)] + [greedy(1)] * 30
    assert [row for row, why in enumerate(agree(columns, rows)[WHY].to_pylist()) if why] == [30]
    with pytest.raises(DecodeError, match=r"row 30, field a, byte 2: the items of the message take far more slots"):
        columns.decode(pa.array(rows))
    assert refusal(columns, pa.array(rows))[1:] == refusal(columns, [greedy(100)])[1:]
