"""Damaged messages among those that are read in blocks: the errors of their own rows, and nothing for the others."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from child import run_limited
from wire import varint

pa = pytest.importorskip("pyarrow")

from arrow_blocks import WHY, agree, before_protected_memory, one_by_one, protects_memory, refusal, same  # noqa: E402
from arrow_kinds import INNER, KINDS, LONGS, encoded, forms, message, schema  # noqa: E402
from schemas import array, enum, fixed, mapping, record  # noqa: E402

from streamnative_serdes import Codec, DecodeError  # noqa: E402
from streamnative_serdes.arrow import ColumnCodec  # noqa: E402

PLACES = [0, 1, 7, 8, 31, 62, 63, 64]  # the first message is read on its own; the first block begins with the second
ROWS = 70
# Usual and unusual encodings of each leaf, and containers between.
FIELDS: dict[str, tuple[Any, Any]] = {
    "long": ("long", 2**40),
    "int": ("int", -5),
    "wide": ("int", 2**31 - 1),
    "huge": ("long", -(2**62)),
    "text": ("string", "some text"),
    "longer": ("bytes", b"\xff" * 70),
    "other": ("string", "é"),
    "truth": ("boolean", True),
    "real": ("double", 1.5),
    "float": ("float", 0.5),
    "fixed": (fixed("F", 3), b"abc"),
    "symbol": (enum("E", "A", "B"), "B"),
    "no_text": (["null", "string"], None),
    "some_text": (["string", "null"], "x"),
    "no_number": (["null", "int"], None),
    "number": (["long", "null"], 2**40),
    "no_truth": (["null", "boolean"], None),
    "some_truth": (["boolean", "null"], False),
    "no_symbol": (["null", "E"], None),
    "some_symbol": (["E", "null"], "B"),
    "no_real": (["double", "null"], None),
    "some_real": (["null", "float"], 0.25),
    "record": (INNER, {"a": 7, "b": "inner", "c": True}),
    "items": (array("long"), [1, 2**50]),
    "either": (["null", "int", "string"], "y"),
    "end": ("string", "the end"),
}
ALL = tuple(FIELDS)
LEAVES = tuple(name for name in ALL if name not in ("record", "items", "either"))
READERS = {
    "all": (ALL, ALL),
    "leaves": (LEAVES, LEAVES),
    "none": (ALL, ()),
    "no leaves": (LEAVES, ()),
    "half": (ALL, ALL[::2]),
    "other half": (ALL, ALL[1::2]),
    "half of the leaves": (LEAVES, LEAVES[::2]),
    "few": (LEAVES, LEAVES[5::7]),
}


def chosen(names: tuple[str, ...]) -> Any:
    kinds = {name: kind for name, (kind, _) in FIELDS.items()}
    first = next((name for name in names if "symbol" in name), None)
    if first is not None and first != "symbol":  # the first one defines the type
        kinds[first] = [FIELDS["symbol"][0] if part == "E" else part for part in kinds[first]]
    return record("R", *((name, kinds[name]) for name in names))


def codec_of(reader: str) -> tuple[ColumnCodec, bytes]:
    """The codec, and a message."""
    writes, reads = READERS[reader]
    datum = {name: FIELDS[name][1] for name in writes}
    return ColumnCodec(chosen(writes), chosen(reads)), Codec(chosen(writes)).encode(datum)


class Among:
    """Many good messages, and one in their midst."""

    def __init__(self, columns: ColumnCodec, good: list[bytes]) -> None:
        self.columns, self.good = columns, good
        self.batch = columns.decode(pa.array(good), error_column=WHY)
        assert self.batch.equals(one_by_one(columns, good))

    def check(self, place: int, one: bytes) -> bool:
        """Whether the message is read in this place, which all must be as in a batch of its own; not the others."""
        batch = self.columns.decode(pa.array([*self.good[:place], one, *self.good[place + 1 :]]), error_column=WHY)
        batch.validate(full=True)
        alone = self.columns.decode(pa.array([one]), error_column=WHY)
        assert same(batch.slice(place, 1), alone), (place, one.hex(), batch.slice(place, 1).to_pylist())
        assert batch.slice(0, place).equals(self.batch.slice(0, place)), one.hex()
        assert batch.slice(place + 1).equals(self.batch.slice(place + 1)), one.hex()
        return bool(alone[WHY].null_count)


@pytest.mark.parametrize("reader", READERS)
def test_a_message_with_another_byte_or_fewer_changes_no_other_row(reader: str) -> None:
    columns, good = codec_of(reader)
    among = Among(columns, [good] * 20)
    for at in range(len(good)):
        assert not among.check(10, good[:at])
        for byte in (0, 1, 2, 3, 4, 0x7E, 0x7F, 0x80, 0xFF):
            among.check(10, good[:at] + bytes([byte]) + good[at + 1 :])


def some_damage(good: bytes) -> list[bytes]:
    """Cut, empty, of too many bytes, and with lengths that lead far away or into the next message."""
    return [
        good[:-1],
        good[: len(good) // 2],
        good[:1],
        b"",
        good + b"\0",
        good + good,
        b"\xff" * 40,
        b"\x80" * 9 + good,
    ]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("place", PLACES)
def test_the_error_is_that_of_the_message_on_its_own_wherever_it_is(reader: str, place: int) -> None:
    columns, good = codec_of(reader)
    among = Among(columns, [good] * ROWS)
    for bad in some_damage(good):
        assert not among.check(place, bad)
        _, *said = refusal(columns, [bad])
        for rows in ([*[good] * place, bad], [*[good] * place, bad, *[good] * 20], [*[good] * place, bad, bad, good]):
            assert refusal(columns, pa.array(rows)) == (place, *said)
    assert columns.decode(pa.array(among.good), error_column=WHY).equals(among.batch)


@pytest.mark.parametrize("reader", READERS)
def test_several_damaged_messages_are_errors_of_their_rows(reader: str) -> None:
    columns, good = codec_of(reader)
    damage, rng = some_damage(good), Random(reader)
    for bad in ([3, 4, 60], range(1, 200, 2), range(0, 200, 9), range(200), range(64, 128), (10, 100, 199)):
        rows = [rng.choice(damage) if row in bad else good for row in range(200)]
        batch = agree(columns, rows)
        assert [row for row, why in enumerate(batch[WHY].to_pylist()) if why] == list(bad)
        agree(columns, [good] * 100)  # by the same codec
        _, *said = refusal(columns, [rows[bad[0]]])
        assert refusal(columns, pa.array(rows)) == (bad[0], *said)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3, 0.9])
def test_no_row_is_lost_or_read_twice_where_blocks_are_tried_ever_more_rarely(share: float) -> None:
    columns, rng = ColumnCodec(schema("R", "string", ["null", "long"])), Random(str(share))
    rows: list[Any] = []
    for row in range(5_000):
        good = message(row, Codec("string").encode(str(row)), b"\0" if row % 7 == 3 else b"\2" + varint(row))
        spoilt = rng.random() < share and row < 3_500
        rows.append(None if rng.random() < 0.002 else good[:-1] if spoilt else good)
    batch = agree(columns, rows)
    assert batch["before"].null_count > 5_000 * share / 3
    sizes = (1_000, 1, 0, 63, 936, 3_000)
    chunks = [rows[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in range(len(sizes))]
    assert columns.decode(pa.chunked_array(chunks, pa.binary()), error_column=WHY).equals(batch)


# --- one field --------------------------------------------------------------------------------------------------------

FIVE = [b"\xff\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x08"]  # an int in five bytes
OVERLONG = [b"\x80\0", b"\x8e\0", b"\x8e\x80\0", b"\x8e\x80\x80\x80\0", b"\x80" * 7 + b"\0", b"\x80" * 9 + b"\0"]
TOO_LONG = [b"\xff\xff\xff\xff\x1f", b"\x80" * 10 + b"\0", b"\xff" * 9 + b"\x02", b"\xff" * 11, b"\xff" * 9 + b"\x01"]
NUMBERS = [*FIVE, *OVERLONG, *TOO_LONG, b"\x80", b""]
LENGTHS = [
    b"\1", b"\3", b"\x7f", b"\x80", b"\x81\1", b"\x80\0", b"\x84\0ab", b"\6ab",
    varint(64), varint(2**31), varint(2**62), varint(-(2**63)), varint(2**63 - 1),
    b"\xff" * 10, b"\x04a\xff", b"\x02\x80", b"",
]  # fmt: skip
RAW: dict[str, tuple[Any, list[bytes]]] = {
    "long": ("long", NUMBERS),
    "int": ("int", NUMBERS),
    "boolean": ("boolean", [b"\2", b"\x80\0", b"\x81\0", b"\xff", b""]),
    "string": ("string", LENGTHS),
    "bytes": ("bytes", LENGTHS),
    "enum": (enum("E", "A", "B"), [*NUMBERS, b"\1", b"\3", b"\4", b"\5", b"\x7e", b"\x80\0", b"\x82\0"]),
    "double": ("double", [b"1234567", b"123456789", b""]),
    "float": ("float", [b"123", b"12345", b""]),
    "fixed": (fixed("F", 3), [b"12", b"1234", b""]),
    "array": (array("int"), [b"\1\2\1\0", b"\1\4\1\0", b"\2", b"\2\1", b"\2\1\2", b"\x7f\0", varint(2**62), b"\x80\0"]),
    "map": (mapping("int"), [b"\2\2k", b"\2\3k\1\0", b"\2\2\xff\1\0", varint(2**31), b"\x80\0", b"\2\2k\1\0\0"]),
    "record": (INNER, [b"\0\4\0", b"\0\0\2", b"\0\2\3x\0", b"\0\0", b"\x80\0\0\1", b"\0\x82\0\2x\0"]),
    "union": (["int", "string", "null"], [b"\6", b"\1", b"\x80\0\1", b"\2\3x", b"\x84\0", b"\4\4", b"\0"]),
}
BRANCHES = [
    b"\1",
    b"\3",
    b"\4",
    b"\5",
    b"\x80\0",
    b"\x82\0",
    b"\x84\0",
    b"\x80\x80\0",
    b"\xff",
    b"\x80",
    b"\2",
    b"\0",
    b"",
]


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("name", RAW)
def test_unusual_and_damaged_bytes_of_a_field_are_what_they_are_in_a_message_of_its_own(
    name: str, left_out: bool
) -> None:
    kind, spoilt = RAW[name]
    value = encoded(kind, KINDS[name if name in KINDS else "union of several with null"][2][:1])[0]
    unions = isinstance(kind, list)
    value = b"\0\2" if unions else value
    for writer, _, null, there in forms(kind, kind)[:3]:
        for more in ((), ("string",)):  # the field is followed by others, also by one of any length
            columns = ColumnCodec(schema("R", writer, *more), schema("R") if left_out else None)
            tail = (b"\x10 another",) * len(more)
            among = Among(columns, [message(row, there + value, *tail) for row in range(30)])
            assert among.check(17, message(2, there + value, *tail))
            bad = [there + one for one in spoilt]
            if null:
                assert among.check(17, message(2, null, *tail))
                bad += [branch + one for branch in BRANCHES for one in (b"", value, *spoilt[:3])]
            for one in bad:
                for place in (9, 17) if len(bad) < 60 else (17,):
                    among.check(place, message(2, one, *tail))


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("behind", ["long", "string", "array", "fixed", "enum", "boolean", "double", "float", "uuid"])
@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("optional", [False, True])
def test_a_text_that_reaches_into_other_messages_is_an_error_though_the_fields_behind_would_fit(
    loose: bool, behind: str, left_out: bool, optional: bool
) -> None:
    """All messages are alike, so that what is read from a later one looks right, and ends where that one ends."""
    kind, _, values = KINDS[behind]
    writer = record(
        "R", ("text", ["null", "string"] if optional else "string"), ("x", kind), ("n", "int"), ("m", "int")
    )
    reader = record("R", ("n", "int")) if left_out else writer
    columns = ColumnCodec(writer, reader, ignore_trailing_bytes=loose)
    tail = encoded(kind, values)[-1] + b"\x0e\x0e"
    there = b"\2" if optional else b""
    for text in (b"", b"t", b"text"):
        good = there + varint(len(text)) + text + tail
        among = Among(columns, [good] * 40)
        for more in range(1, 3 * len(good)):
            spoilt = there + varint(len(text) + more) + text + tail
            if len(spoilt) == len(good):  # so that the messages behind are where they were
                among.check(20, spoilt)


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("reader", READERS)
def test_trailing_bytes_are_errors_unless_they_are_ignored(reader: str, loose: bool) -> None:
    writes, reads = READERS[reader]
    _, good = codec_of(reader)
    columns = ColumnCodec(chosen(writes), chosen(reads), ignore_trailing_bytes=loose)
    among = Among(columns, [good] * 40)
    for place in (1, 20, 39):
        for more in (b"\0", b"\xff", b"x" * 100, good):
            assert among.check(place, good + more) == loose
            assert not among.check(place, good[:-1])
            assert not among.check(place, b"")
    rows = [good + b"?" * (row % 5) for row in range(100)]
    assert agree(columns, rows)[WHY].null_count == (100 if loose else 20)


# --- the end of memory ------------------------------------------------------------------------------------------------


@protects_memory
@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_nothing_behind_the_messages_of_a_block_is_read(name: str, left_out: bool) -> None:
    """Memory behind the last message cannot be read: to look at it would end the process."""
    kind, reads, values = KINDS[name]
    data = encoded(kind, values)
    for writer, reader, null, there in forms(kind, reads)[:3]:
        first = (("a", "long"), ("b", "boolean"), ("c", "boolean"), ("d", "string"))
        columns = ColumnCodec(
            record("R", *first, ("x", writer)), record("R", *first, *[("x", reader)] * (not left_out))
        )
        for each in [there + value for value in data[:4]] + [null] * bool(null):
            good = b"\2\0\1\0" + each
            agree(columns, [good] * 12, before_protected_memory([good] * 12))
            for cut in range(1, min(len(good), 12)):
                rows = [good] * 11 + [good[:-cut]]
                agree(columns, rows, before_protected_memory(rows))


@protects_memory
def test_a_message_that_reaches_behind_all_others_is_an_error() -> None:
    columns = ColumnCodec(record("R", ("text", "string"), ("n", "long"), ("other", ["null", "bytes"])))
    good = b"\2t\0\2\2b"
    for size in (*range(2, 70), 126, 127, 128, 2**31, 2**62):
        rows = [good] * 11 + [varint(size) + good[1:]]
        agree(columns, rows, before_protected_memory(rows))
        rows = [good] * 11 + [good[:-2] + varint(size) + b"b"]
        agree(columns, rows, before_protected_memory(rows))


def test_a_huge_length_takes_no_memory() -> None:
    told = run_limited("""
        import pyarrow as pa
        from streamnative_serdes.arrow import ColumnCodec

        kinds = {"n": "long", "t": "string", "b": ["null", "bytes"]}
        fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
        record, brief = ({"type": "record", "name": "R", "fields": part} for part in (fields, fields[:1]))
        good, before = b"\\2\\2t\\2\\2b", None
        for reader in (None, brief):
            columns = ColumnCodec(record, reader)
            for size in (2**62, 2**31, 2**31 - 1, 2**30, 2**63 - 1, -(2**63), 2**26, 1000):
                for bad in (b"\\2" + varint(size) + good[2:], good[:-2] + varint(size) + b"b"):
                    batch = columns.decode(pa.array([good] * 40 + [bad] + [good] * 40), error_column="why")
                    why = batch.column("why").to_pylist()
                    assert [row for row, said in enumerate(why) if said] == [40], why
                    assert batch.column("n").to_pylist() == [1] * 40 + [None] + [1] * 40
                    before = before or peak()
        print(peak() - before)
    """)
    assert int(told) < 64


def test_numbers_of_all_sizes_are_read_in_one_block() -> None:
    """Of up to ten bytes, the last of which is at the end of all messages."""
    for kind in ("long", ["null", "long"]):
        columns, there = ColumnCodec(record("R", ("a", kind), ("b", kind))), b"\2" if isinstance(kind, list) else b""
        rows = [there + varint(one) + there + varint(other) for one in LONGS for other in (LONGS[-1], one)]
        agree(columns, rows * 2)
        with pytest.raises(DecodeError, match=r"row 20, field b"):
            columns.decode(pa.array([*rows[:20], rows[20][:-1], *rows[:20]]))
