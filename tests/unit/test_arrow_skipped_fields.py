"""Fields that the reader lacks, which columns skip in runs: the same values and errors as when objects are decoded."""

from __future__ import annotations

from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from streamnative_serdes import Codec, DecodeError  # noqa: E402 - requires pyarrow
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
    "last_null": (["long", "null"], 7),
    "three": (["null", "int", "string"], "y"),
    "record": (INNER, {"x": "inner"}),
    "either": (["null", "Inner"], {"x": "y"}),
    "items": ({"type": "array", "items": "long"}, [1, 2**50]),
    "entries": ({"type": "map", "values": "int"}, {"k": 1}),
    "end": ("long", 2**62),
}


def schema(*names: str) -> dict[str, Any]:
    kinds: dict[str, Any] = {name: kind for name, (kind, _) in FIELDS.items()}
    if "record" not in names:
        kinds["either"] = ["null", INNER]
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kinds[name]} for name in names]}


ALL = tuple(FIELDS)
MESSAGE = Codec(schema(*ALL)).encode({name: value for name, (_, value) in FIELDS.items()})
# One run of all but the first or the last field, several runs, runs of one, and no field at all.
READERS = [ALL[:1], ALL[-1:], ALL[5:6], ALL[::2], ALL[1::2], ALL[::7], ALL[3:9], ()]


def outcome(codec: Codec, message: bytes) -> Any:
    try:
        return codec.decode(message)
    except DecodeError as error:
        return str(error)


def outcome_in_columns(columns: ColumnCodec, message: bytes) -> Any:
    """The same, of three rows: what is kept of one row must not depend on the others."""
    try:
        batch = columns.decode([MESSAGE, message, MESSAGE])
    except DecodeError as error:
        assert error.row == 1
        return str(error).removeprefix("row 1, ")
    first, row, last = batch.to_pylist()
    assert first == last
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
    for place in range(len(MESSAGE)):
        tried = [MESSAGE[:place]]
        tried += [MESSAGE[:place] + bytes([byte]) + MESSAGE[place + 1 :] for byte in (0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF)]
        for message in tried:
            assert repr(outcome_in_columns(columns, message)) == repr(outcome(codec, message)), message.hex()  # NaN


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
