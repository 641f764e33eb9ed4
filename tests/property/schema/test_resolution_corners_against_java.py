"""Corner cases of schema resolution, one by one against Java: where both agree, and where we differ on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from avro_names import NAMES, Named
from java_oracle import JavaAvro, RefusedError
from java_values import same
from schemas import array, fixed, mapping

from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, SchemaError


def rec(name: str, *fields: Any, aliases: Any = ()) -> Any:
    """Return a record of fields (name, type, default, *aliases); Ellipsis means no default."""
    parts = []
    for field in fields:
        part = {"name": field[0], "type": field[1], "aliases": list(field[3:])}
        parts.append(part | ({} if field[2:3] in ((), (...,)) else {"default": field[2]}))
    return {"type": "record", "name": name, "fields": parts, "aliases": list(aliases)}


def enum(name: str, *symbols: str, **more: Any) -> Any:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def decimal(scale: int) -> Any:
    return {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": scale}


X = ("x", "int")
A, B = rec("A", X), rec("B", X)
EMPTY = rec("A")
ABC = enum("E", "a", "b", "c")
NODE = rec("L", ("v", "int"), ("next", ["null", "L"]))
TWO_TO_53 = 2**53 + 1

# (writer, reader, datum of the writer's schema)
CORNERS: list[tuple[Any, Any, Any]] = [
    # Promotions: a union's exact branch is preferred, then its first branch that is wide enough.
    ("int", ["double", "int"], 3),
    ("int", ["double", "long"], 3),
    ("int", ["null", "float", "long"], 16777217),
    ("int", ["bytes", "string"], 3),
    ("long", ["float", "double"], TWO_TO_53),
    ("long", ["int", "double"], TWO_TO_53),
    ("long", "float", TWO_TO_53),
    ("long", "float", 2**63 - 1),
    ("long", "double", 2**63 - 1),
    ("long", "int", 3),
    ("float", "double", 0.1),
    ("float", ["int", "long"], 1.5),
    ("double", "float", 3.0),
    ("string", ["null", "bytes"], "é"),
    ("string", ["bytes", "string"], "é"),
    ("bytes", ["string"], b"\xc3\xa9"),
    ("null", ["int", "null"], None),
    # The writer's union: branches are resolved one by one; a mismatch is an error only if a datum has that branch.
    (["int", "string"], "long", 3),
    (["int", "string"], "long", "x"),
    (["int", "string"], ["double", "string"], 3),
    (["null", "int"], "int", None),
    (["boolean", "string"], ["int", "null"], True),
    # Records match by their fields, not by name; in a union by full name, then short name, then the first match.
    (A, B, {"x": 1}),
    (["null", A], ["null", B], {"x": 1}),
    (A, [rec("C", X, ("y", "int", 7)), B], {"x": 1}),
    (rec("n.A", X), [B, rec("m.A", X)], {"x": 1}),
    (rec("n.A", X), [rec("m.A", X), rec("o.A", X, ("y", "int", 7))], {"x": 1}),
    (rec("n.A", X), [rec("m.A", X), rec("n.A", ("z", "int"))], {"x": 1}),
    (A, [rec("B", ("x", "string")), rec("C", X)], {"x": 1}),
    (rec("A", ("x", array("int"))), [rec("B", ("x", array("string"))), rec("C", ("x", array("int")))], {"x": [1]}),
    (rec("A", ("x", ["int", "string"])), [rec("B", ("x", "string")), rec("C", ("x", ["int", "string"]))], {"x": 1}),
    (A, mapping("int"), {"x": 1}),
    # Aliases rename the writer's types of any kind; aliases of fields apply to the record of that full name.
    (A, [rec("C", X), rec("B", X, aliases=["A"])], {"x": 1}),
    (A, [rec("B", X, aliases=["A"]), A], {"x": 1}),
    (rec("n.A", X), [rec("C", X), rec("n.B", X, ("y", "int", 7), aliases=["A"])], {"x": 1}),
    (rec("n.A", X), [rec("C", X), rec("m.B", X, ("y", "int", 7), aliases=["A"])], {"x": 1}),
    (rec("n.A", X), rec("m.C", ("y", "int", ..., "x"), aliases=["n.A"]), {"x": 1}),
    (A, rec("A", ("y", "int", ..., "x")), {"x": 1}),
    (A, rec("B", ("y", "int", ..., "x")), {"x": 1}),
    (A, rec("B", ("y", "int", 9, "x")), {"x": 1}),
    (rec("n.A", X), rec("m.A", ("y", "int", 9, "x")), {"x": 1}),
    (A, rec("A", X, ("y", "int", ..., "x")), {"x": 1}),
    (A, rec("A", ("x", "int", 5), ("y", "int", 6, "x")), {"x": 1}),
    (A, rec("A", ("y", "int", 6, "x"), ("z", "int", 5, "x")), {"x": 1}),
    (rec("A", X, ("y", "int")), rec("A", ("y", "int", ..., "x")), {"x": 1, "y": 2}),
    (["null", rec("A", X, ("y", "int"))], ["null", rec("A", ("z", "int", 5, "x", "y"))], None),
    (rec("A", ("e", ABC)), rec("A", ("e", ABC), ("b", rec("B", ("q", "int", 1), aliases=["E"]), {})), {"e": "a"}),
    ([A, B], [A, rec("B", X, aliases=["A"])], {"x": 1}),
    # Missing fields: an error only when a datum needs them.
    (A, rec("A", X, ("n", "int")), {"x": 1}),
    (["null", A], ["null", rec("A", X, ("n", "int"))], None),
    (["null", A], ["null", rec("A", X, ("n", "int"))], {"x": 1}),
    (A, rec("A", ("x", "int", "bad")), {"x": 1}),
    (A, rec("A", X, ("n", "int", "bad")), {"x": 1}),
    # Defaults.
    (EMPTY, rec("A", ("f", "bytes", "ÿ\0é")), {}),
    (EMPTY, rec("A", ("f", fixed("F", 2), "ÿ\1")), {}),
    (EMPTY, rec("A", ("f", mapping(array("bytes")), {"k𝄞": ["ÿ"]})), {}),
    (EMPTY, rec("A", ("f", rec("I", ("p", "int"), ("q", enum("E", "a", "b"), "b")), {"p": 1})), {}),
    (EMPTY, rec("A", ("f", rec("I", ("p", "int")), {"p": 1, "other": 2})), {}),
    (EMPTY, rec("A", ("f", ["null", "int"], 5)), {}),
    (EMPTY, rec("A", ("f", ["double", "int"], 1)), {}),
    (EMPTY, rec("A", ("f", ["bytes", "string"], "x")), {}),
    (EMPTY, rec("A", ("f", "float", 0.1)), {}),
    (EMPTY, rec("A", ("f", "string", None)), {}),
    (EMPTY, rec("A", ("f", enum("E", "a"), "zz")), {}),
    (EMPTY, rec("A", ("f", rec("I", ("p", "int")), {})), {}),
    (EMPTY, rec("A", ("f", ["null", "int"], "x")), {}),
    # Enums and fixed match by short name; in a union by full name, unless the unions match branch by branch.
    (ABC, enum("E", "c", "b", "a"), "a"),
    (ABC, enum("E", "a"), "b"),
    (ABC, enum("E", "a", "z", default="z"), "b"),
    (enum("E", "a", "b", default="a"), enum("E", "b"), "a"),
    (ABC, enum("F", "a", "b", "c"), "a"),
    (ABC, enum("F", "a", "b", "c", aliases=["E"]), "a"),
    (enum("n.E", "a"), enum("m.E", "a"), "a"),
    (enum("n.E", "a"), ["null", enum("m.E", "a")], "a"),
    (["null", enum("n.E", "a")], ["null", enum("m.E", "a")], "a"),
    (["null", enum("n.E", "a")], ["null", enum("m.E", "a", "b")], "a"),
    (enum("n.E", "a"), [enum("m.E", "a"), enum("n.E", "a")], "a"),
    (ABC, ["string"], "a"),
    (fixed("F", 2), fixed("F", 3), b"ab"),
    (fixed("F", 2), fixed("G", 2, aliases=["F"]), b"ab"),
    (fixed("n.F", 2), ["null", fixed("m.F", 2)], b"ab"),
    (["null", fixed("n.F", 2)], ["null", fixed("m.F", 2)], b"ab"),
    (fixed("F", 2), ["bytes"], b"ab"),
    (["null", rec("n.A", X), rec("n.B", X)], ["null", rec("m.A", X), rec("m.B", X)], {"x": 1}),
    # Items of an empty array are not resolved; a branch is chosen as array or map, whatever its items.
    (array("int"), array("string"), []),
    (array("int"), array("string"), [1]),
    (mapping("int"), mapping("double"), {"k": 1}),
    (array("int"), [array("string"), mapping("int")], []),
    (array("int"), ["null", array(["null", "long"])], [1]),
    (array(["null", "int"]), ["null", array("int")], [None]),
    # Recursive types.
    (
        NODE,
        rec("M", ("v", "long"), ("next", ["null", "M"]), ("more", "int", 9)),
        {"v": 1, "next": {"v": 2, "next": None}},
    ),
    (NODE, rec("L", ("next", ["null", "L"])), {"v": 1, "next": {"v": 2, "next": None}}),
    (NODE, rec("L", ("v", "int")), {"v": 1, "next": {"v": 2, "next": None}}),
    (NODE, rec("L", ("v", "int"), ("next", ["null", "L"]), ("gone", "int")), {"v": 1, "next": None}),
    (
        NODE,
        rec("M", ("v", "int"), ("next", ["null", rec("N", ("v", "int"), ("next", ["null", "M"]))])),
        {"v": 1, "next": {"v": 2, "next": {"v": 3, "next": None}}},
    ),
]

# (reason, writer, reader, bytes, what Java reads, what we read); REFUSED stands for an error.
REFUSED = object()
NOT_UTF8 = "text is checked when it is decoded, not when it is used"
EXACT_BYTES = "the decoder does not guess what bytes mean that no encoder writes"
EXACT_DEFAULT = "a default that does not fit its type is an error; it is not converted, cut or padded"
BRANCH = "a union's default belongs to the first branch that it fits (Avro 1.12), not to the first of a similar type"
LAZY = "a bad default is an error only when it is needed"
SKIPPED = "skipped fields are checked like all others"

DIFFERENCES: list[tuple[str, Any, Any, bytes, Any, Any]] = [
    ("a change of scale would change the value", decimal(2), decimal(0), b"\4\4\xd2", b"\4\xd2", REFUSED),
    (EXACT_BYTES, "boolean", "boolean", b"\2", False, REFUSED),
    (EXACT_BYTES, "int", "int", b"\xff\xff\xff\xff\x7f", -(2**31), REFUSED),
    (EXACT_BYTES, "long", "long", b"\x80" * 9 + b"\2", 0, REFUSED),
    (EXACT_BYTES, array("int"), array("int"), b"\1\x7e\4\0", [2], REFUSED),
    (EXACT_BYTES, array("int"), array("int"), b"\xff" * 9 + b"\1\0", [], REFUSED),
    ("an int may be padded to ten bytes, as a long", "int", "int", b"\x80\x80\x80\x80\x80\0", REFUSED, 0),
    (SKIPPED, rec("A", ("a", "boolean"), X), A, b"\5\2", {"x": 1}, REFUSED),
    (SKIPPED, rec("A", ("a", ABC), X), A, b"\x0e\2", {"x": 1}, REFUSED),
    (SKIPPED, rec("A", ("a", "string"), X), A, b"\1\2", {"x": 1}, REFUSED),
    (EXACT_DEFAULT, EMPTY, rec("A", ("f", "int", 1.0)), b"", {"f": 1}, REFUSED),
    (EXACT_DEFAULT, EMPTY, rec("A", ("f", "int", 2**40)), b"", {"f": 0}, REFUSED),
    (EXACT_DEFAULT, EMPTY, rec("A", ("f", "double", "1")), b"", {"f": 1.0}, REFUSED),
    (EXACT_DEFAULT, EMPTY, rec("A", ("f", "bytes", "Ā")), b"", {"f": b"?"}, REFUSED),
    (EXACT_DEFAULT, EMPTY, rec("A", ("f", fixed("F", 2), "abc")), b"", {"f": b"ab"}, REFUSED),
    (EXACT_DEFAULT, EMPTY, rec("A", ("f", array("int"), {})), b"", {"f": []}, REFUSED),
    (BRANCH, EMPTY, rec("A", ("f", ["int", "double"], 1.5)), b"", {"f": 1}, {"f": 1.5}),
    (BRANCH, EMPTY, rec("A", ("f", ["int", "long"], 2**40)), b"", {"f": 0}, {"f": 2**40}),
    (BRANCH, EMPTY, rec("A", ("f", ["null", ABC, "string"], "zz")), b"", REFUSED, {"f": "zz"}),
    (BRANCH, EMPTY, rec("A", ("f", [array("int"), "boolean"], True)), b"", {"f": []}, {"f": True}),
    (LAZY, ["null", A], ["null", rec("A", X, ("y", "int", "bad"))], b"\0", REFUSED, None),
    (LAZY, array(A), array(rec("A", X, ("y", "int", "bad"))), b"\0", REFUSED, []),
    (
        "both branches keep their types, whatever they are called",
        [A, B],
        [A, rec("B", X, ("y", "int", 2), aliases=["A"])],
        b"\0\2",
        REFUSED,
        {"x": 1, "y": 2},
    ),
]


def read_by_us(writer: Any, reader: Any, data: bytes, **options: Any) -> Any:
    # Lenient, as for schemas from the registry: Java does not validate defaults either, as in Pulsar.
    try:
        return Codec(parse(writer, strict=False), parse(reader, strict=False), **options).decode(data)
    except (SchemaError, DecodeError):
        return REFUSED


def read_by_java(java: JavaAvro, writer: Any, reader: Any, data: bytes, *flags: str) -> Any:
    try:
        return java.read(writer, data, reader, *flags).value
    except RefusedError as error:
        assert error.stage == "read", error
        return REFUSED


@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: f"{corner[0]} as {corner[1]} of {corner[2]}"[:300])
def test_corners_resolve_as_in_java(java: JavaAvro, corner: tuple[Any, Any, Any]) -> None:
    writer, reader, datum = corner
    data = Codec(writer).encode(datum)
    ours = read_by_us(writer, reader, data)

    for flags in ([], ["fast"]):
        theirs = read_by_java(java, writer, reader, data, *flags)
        assert ours is theirs if REFUSED in (ours, theirs) else same(ours, theirs)


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda case: f"{case[0]}: {case[1]} as {case[2]}"[:300])
def test_differences_from_java_are_as_documented(java: JavaAvro, difference: Any) -> None:
    _, writer, reader, data, theirs, ours = difference

    assert read_by_java(java, writer, reader, data) == theirs
    assert read_by_us(writer, reader, data) == ours


def test_each_difference_from_java_is_documented() -> None:
    page = " ".join((Path(__file__).parents[3] / "docs" / "avro-conformance.md").read_text().split())

    for reason in {NOT_UTF8, *(difference[0] for difference in DIFFERENCES)}:
        assert reason in page


def test_text_that_is_not_utf8_is_kept_by_java_and_refused_by_us(java: JavaAvro) -> None:
    for writer, reader in (("string", "string"), ("bytes", "string"), ("bytes", ["null", "string"])):
        assert java.read(writer, b"\2\xff", reader).written[-2:] == b"\2\xff"
        assert read_by_us(writer, reader, b"\2\xff") is REFUSED


def test_a_timestamp_is_converted_between_units_where_java_keeps_the_number(java: JavaAvro) -> None:
    millis, micros = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros"))
    data = Codec("long").encode(1_500)

    assert java.read(millis, data, micros, "logical").value.text == "0 1500000"  # 1.5 ms
    assert read_by_us(millis, micros, data).timestamp() == 1.5
    assert read_by_us(millis, micros, data, avro_logical_types=False) == 1_500


@pytest.mark.parametrize("named", NAMES, ids=lambda named: named.what)
def test_java_takes_the_names_that_are_recorded_of_avro_1_12(java: JavaAvro, named: Named) -> None:
    if named.by_1_12:
        java.canonical(named.schema)
    else:
        with pytest.raises(RefusedError, match="parse"):
            java.canonical(named.schema)
