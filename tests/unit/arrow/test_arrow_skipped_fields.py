"""Fields that the reader lacks, which columns skip in runs: the same values and errors as when objects are decoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from arrow_blocks import before_protected_memory, protects_memory  # noqa: E402 - requires pyarrow

from streamnative_serdes import Codec, DecodeError  # noqa: E402
from streamnative_serdes.arrow import ColumnCodec  # noqa: E402

INNER: dict[str, Any] = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "string"}]}
FIELDS: dict[str, tuple[Any, Any]] = {  # type and value of each
    "long": ("long", 2**40),
    "int": ("int", -5),
    "wide": ("int", 2**31 - 1),
    "text": ("string", "some text"),
    "longer": ("bytes", b"\xff" * 70),
    "truth": ("boolean", True),
    "nothing": ("null", None),
    "real": ("double", 1.5),
    "fixed": ({"type": "fixed", "name": "F", "size": 3}, b"abc"),
    "symbol": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    "absent": (["null", "string"], None),
    "there": (["null", "string"], "x"),
    "last_null": (["long", "null"], 2**40),
    "no_number": (["null", "int"], None),
    "truth_there": (["boolean", "null"], False),
    "no_symbol": (["null", {"type": "enum", "name": "N", "symbols": ["A"]}], None),
    "real_there": (["null", "float"], 0.5),
    "no_real": (["double", "null"], None),
    "three": (["null", "int", "string"], "y"),
    "record": (INNER, {"x": "inner"}),
    "either": (["null", "Inner"], {"x": "y"}),
    "items": ({"type": "array", "items": "long"}, [1, 2**50]),
    "entries": ({"type": "map", "values": "int"}, {"k": 1}),
    "huge": ("long", 2**62),
    "end": ("string", "the end"),
}


def schema(*names: str) -> dict[str, Any]:
    kinds: dict[str, Any] = {name: kind for name, (kind, _) in FIELDS.items()}
    if "record" not in names:
        kinds["either"] = ["null", INNER]
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kinds[name]} for name in names]}


ALL = tuple(FIELDS)
# With these alone, a run is skipped without comparing each step with the end, if enough of the array is behind it.
LEAVES = tuple(name for name in ALL if name not in ("three", "record", "either", "items", "entries"))


def message_of(names: tuple[str, ...]) -> bytes:
    return Codec(schema(*names)).encode({name: FIELDS[name][1] for name in names})


MESSAGE = message_of(ALL)
# One run of all but the first or the last field, several runs, runs of one, and no field at all.
READERS = [ALL[:1], ALL[-1:], ALL[5:6], ALL[::2], ALL[1::2], ALL[::7], ALL[3:9], ()]
UNUSUAL = ("wide", "longer", "huge")  # encodings that end the program of a run, which is tried to its end without them
READERS_OF_LEAVES = [UNUSUAL, LEAVES[:1], LEAVES[-1:], LEAVES[8:9], LEAVES[::5], ()]


def outcome(codec: Codec, message: bytes) -> Any:
    try:
        return codec.decode(message)
    except DecodeError as error:
        return str(error)


def outcome_in_columns(columns: ColumnCodec, messages: Any) -> Any:
    """The same for row 1 of several: what is kept of one row must not depend on the others, which are all equal."""
    try:
        batch = columns.decode(messages)
    except DecodeError as error:
        assert error.row == 1
        return str(error).removeprefix("row 1, ")
    first, row, *others = batch.to_pylist()
    assert all(other == first for other in others)
    return {name: as_object(name, value) for name, value in row.items()}


def as_object(name: str, value: Any) -> Any:
    """Maps are lists of pairs in Arrow, and unions are structs with one member that is not null."""
    if name == "entries":
        return dict(value)
    if name == "three" and value is not None:
        return value["member0"] if value["member1"] is None else value["member1"]
    return value


@pytest.mark.parametrize("names", READERS, ids=lambda names: ",".join(names) or "none")
def test_damaged_messages_give_what_objects_give(names: tuple[str, ...]) -> None:
    reader = schema(*names)
    codec, columns = Codec(schema(*ALL), reader), ColumnCodec(schema(*ALL), reader)
    assert outcome(codec, MESSAGE) == {name: FIELDS[name][1] for name in names}
    for message in damaged(MESSAGE):
        rows = [MESSAGE, message, MESSAGE]
        assert repr(outcome_in_columns(columns, rows)) == repr(outcome(codec, message)), message.hex()  # NaN


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("names", READERS_OF_LEAVES, ids=lambda names: ",".join(names) or "none")
def test_damaged_messages_of_leaves_give_what_objects_give(names: tuple[str, ...], apart: bool) -> None:
    """In one buffer, where a damaged length may lead into the next messages, or each on its own."""
    reader = schema(*names)
    codec, columns = Codec(schema(*LEAVES), reader), ColumnCodec(schema(*LEAVES), reader)
    good = message_of(LEAVES)
    for message in damaged(good):
        rows = [good, message] + [good] * 14
        messages = rows if apart else pa.array(rows)
        assert repr(outcome_in_columns(columns, messages)) == repr(outcome(codec, message)), message.hex()


def damaged(good: bytes) -> Iterator[bytes]:
    """The message itself; cut off at each byte; each byte replaced by several others."""
    yield good
    for place in range(len(good)):
        yield good[:place]
        for byte in (0, 1, 2, 3, 4, 0x7E, 0x7F, 0x80, 0xFF):
            yield good[:place] + bytes([byte]) + good[place + 1 :]


@protects_memory
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_nothing_behind_the_array_is_read(rows: int) -> None:
    """Memory behind the last message cannot be read: to look at it would end the process."""
    kinds = [{"name": f"t{i}", "type": "string"} for i in range(40)]
    kinds += [{"name": f"o{i}", "type": ["null", "string"]} for i in range(40)]
    writer = {"type": "record", "name": "R", "fields": kinds}
    columns = ColumnCodec(writer, {"type": "record", "name": "R", "fields": []})
    good = Codec(writer).encode({field["name"]: "x" * 63 for field in kinds})
    few = Codec(writer).encode({field["name"]: "x" for field in kinds})
    assert columns.decode(before_protected_memory([good, few] * rows)).num_rows == 2 * rows
    for last in (good[:-1], few[:-1], few[:-3]):
        with pytest.raises(DecodeError, match=f"row {rows}, field o39"):
            columns.decode(before_protected_memory([good] * rows + [last]))


@pytest.mark.parametrize("name", ALL)
def test_the_error_names_the_field_that_is_damaged(name: str) -> None:
    """In a run of fields, wherever it is: the path must not be that of the first or of a neighbour."""
    before = ALL[: ALL.index(name)]
    columns = ColumnCodec(schema(*ALL), {"type": "record", "name": "R", "fields": []})
    cut = Codec(schema(*before)).encode({each: FIELDS[each][1] for each in before})
    if name == "nothing":  # takes no bytes
        name = "real"
    with pytest.raises(DecodeError) as caught:
        columns.decode([cut])
    assert (caught.value.path or "").partition("[")[0].partition(".")[0] == name
