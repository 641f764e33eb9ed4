"""Field defaults as users write them, and which of them a Pulsar broker accepts once registered."""

from __future__ import annotations

from typing import Any

from schemas import array, mapping, record

from streamnative_serdes._schema import parse
from streamnative_serdes.errors import SchemaError


def field(kind: Any, default: Any, name: str = "f") -> dict[str, Any]:
    return {"name": name, "type": kind, "default": default}


SUIT = {"type": "enum", "name": "Suit", "symbols": ["CLUBS", "HEARTS"]}
TWO = {"type": "fixed", "name": "Two", "size": 2}
NULLABLE = record("I", ("x", ["null", "int"]))
WITH_DEFAULT = record("I", field("int", 5, "x"))
NOT_A_NUMBER = record("I", field("double", "NaN", "x"))
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}

# Defaults valid in Avro 1.12 that a broker accepts too.
TAKEN: list[tuple[Any, Any]] = [
    ("null", None),
    ("boolean", True),
    ("int", -(2**31)),
    ("long", 2**63 - 1),
    ("float", 1),
    ("float", "NaN"),
    ("double", 2**70),
    ("double", "-Infinity"),
    ("string", ""),
    ("bytes", "\u00ff"),
    (SUIT, "HEARTS"),
    (TWO, "\u0000\u00ff"),
    (DECIMAL, "\u0001"),
    ({"type": "int", "logicalType": "date"}, 5),
    (array("int"), [1, 2]),
    (mapping("string"), {"k": "v"}),
    (WITH_DEFAULT, {}),
    (WITH_DEFAULT, {"x": 1}),
    (NOT_A_NUMBER, {}),
    (["null", "string"], None),
    (["string", "null"], "x"),
    (["double", "int"], 1),
    (["null", WITH_DEFAULT], None),
    ([WITH_DEFAULT, "null"], {}),
    ([SUIT, "null"], "CLUBS"),
    ([TWO, "null"], "ab"),
    ([array("int"), "null"], []),
    ([mapping("int"), "null"], {}),
    (array(["null", "string"]), [None]),
    (mapping(["string", "null"]), {"k": "v"}),
    (NULLABLE, {"x": None}),
]
# Defaults valid in Avro 1.12 with which a broker registers one schema, and then refuses every schema, even this one.
# Those of another branch than the union's first are a fault of Avro 1.11, which Pulsar 4.2 no longer has.
OF_ANOTHER_BRANCH: list[tuple[Any, Any]] = [
    (["null", "string"], "x"),
    (["string", "null"], None),
    (["null", "int", "string"], "x"),
    (["int", "double"], 1.5),
    (["int", "long"], 2**40),
    (["null", SUIT], "CLUBS"),
    (["null", TWO], "ab"),
    (["null", WITH_DEFAULT], {}),
    (["null", array("int")], []),
    (["null", mapping("int")], {}),
    (array(["null", "string"]), [None, "x"]),
    (mapping(["null", "string"]), {"k": "x"}),
    (NULLABLE, {"x": 5}),
    ([array(["null", "int"]), "null"], [5]),
    (record("O", ("inner", NULLABLE)), {"inner": {"x": 5}}),
]
NOT_FINITE: list[tuple[Any, Any]] = [
    (["double", "null"], "NaN"),
    (array("double"), ["NaN"]),
    (mapping("float"), {"k": "Infinity"}),
    (record("I", ("x", "double")), {"x": "NaN"}),
]
STUMBLED_OVER = [*OF_ANOTHER_BRANCH, *NOT_FINITE]


def broken_elsewhere(kind: Any, default: Any) -> list[dict[str, Any]]:
    """Yield schemas with such a field in a record inside a union, an array, a map, and another record."""
    inner = record("Inner", field(kind, default))
    places = (["null", inner], array(inner), mapping(inner), record("Outer", ("deeper", inner)))
    return [record("R", ("at", place)) for place in places]


def taken_by_us(schema: Any) -> bool:
    """Whether our check allows registering the schema."""
    try:
        parse(schema, to_register=True)
    except SchemaError as error:
        assert "bad default: " in str(error), error
        return False
    return True
