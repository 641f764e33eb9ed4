"""What Java Avro's SchemaValidator allows and refuses, strategy by strategy; each row was seen on Pulsar 4.0.8."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamnative_serdes.schema import parse
from streamnative_serdes.schema.aliases import DuplicateFieldError
from streamnative_serdes.testing.compatibility import IncompatibleError, can_read, check

Json = Any


def field(name: str, kind: Json = "int", **extra: Json) -> Json:
    return {"name": name, "type": kind, **extra}


def record(*fields: Json, name: str = "R", **extra: Json) -> Json:
    return {"type": "record", "name": name, "fields": list(fields), **extra}


def enum(*symbols: str, name: str = "E") -> Json:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def fixed(size: int, name: str = "F") -> Json:
    return {"type": "fixed", "name": name, "size": size}


A, B = field("a"), field("b")
B_OR_1 = field("b", default=1)

# What changes, the old schema, the new one, whether the new one reads the old one's data, and the reverse.
CHANGES = [
    ("nothing", record(A), record(A), True, True),
    ("field added with default", record(A), record(A, B_OR_1), True, True),
    ("field added without default", record(A), record(A, B), False, True),
    ("field removed that has a default", record(A, B_OR_1), record(A), True, True),
    ("field removed that has none", record(A, B), record(A), True, False),
    ("fields in another order", record(A, B), record(B, A), True, True),
    ("record renamed", record(A), record(A, name="Q"), True, True),
    ("record in another namespace", record(A), record(A, name="n.R"), True, True),
    ("int to long", record(A), record(field("a", "long")), True, False),
    ("int to float", record(A), record(field("a", "float")), True, False),
    ("long to double", record(field("a", "long")), record(field("a", "double")), True, False),
    ("double to float", record(field("a", "double")), record(field("a", "float")), False, True),
    ("long to int", record(field("a", "long")), record(A), False, True),
    ("int to string", record(A), record(field("a", "string")), False, False),
    ("int to boolean", record(A), record(field("a", "boolean")), False, False),
    ("string to bytes", record(field("a", "string")), record(field("a", "bytes")), True, True),
    ("bytes to fixed", record(field("a", "bytes")), record(field("a", fixed(2))), False, False),
    ("made nullable", record(A), record(field("a", ["null", "int"])), True, False),
    ("no longer nullable", record(field("a", ["null", "int"])), record(A), False, True),
    ("union widened", record(field("a", ["null", "int"])), record(field("a", ["null", "int", "string"])), True, False),
    (
        "union in another order",
        record(field("a", ["int", "string"])),
        record(field("a", ["string", "int"])),
        True,
        True,
    ),
    ("field renamed by alias", record(A), record(field("b", aliases=["a"])), True, False),
    ("enum symbol added", record(field("a", enum("X"))), record(field("a", enum("X", "Y"))), True, True),
    ("enum symbol removed", record(field("a", enum("X", "Y"))), record(field("a", enum("X"))), True, True),
    ("enum renamed", record(field("a", enum("X"))), record(field("a", enum("X", name="E2"))), False, False),
    ("enum in another namespace", record(field("a", enum("X"))), record(field("a", enum("X", name="n.E"))), True, True),
    ("fixed of another size", record(field("a", fixed(2))), record(field("a", fixed(3))), False, False),
    ("fixed renamed", record(field("a", fixed(2))), record(field("a", fixed(2, "G"))), False, False),
    ("items promoted", {"type": "array", "items": "int"}, {"type": "array", "items": "long"}, True, False),
    ("map values changed", {"type": "map", "values": "int"}, {"type": "map", "values": "string"}, False, False),
    ("array to map", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}, False, False),
    (
        "field added with default in a nested record",
        record(field("r", record(A, name="I"))),
        record(field("r", record(A, B_OR_1, name="I"))),
        True,
        True,
    ),
    (
        "field added without default in a nested record",
        record(field("r", record(A, name="I"))),
        record(field("r", record(A, B, name="I"))),
        False,
        True,
    ),
    (
        "record in a union renamed, same structure",
        record(field("u", ["null", record(A, name="I")])),
        record(field("u", ["null", record(A, name="J")])),
        True,
        True,
    ),
    (
        "record in a union renamed, other structure",
        record(field("u", ["null", record(A, name="I")])),
        record(field("u", ["null", record(B, name="J")])),
        False,
        False,
    ),
    (
        "recursive record with one more field",
        record(A, field("next", ["null", "R"])),
        record(A, B_OR_1, field("next", ["null", "R"])),
        True,
        True,
    ),
    (
        "recursive record that loses a field without default",
        record(A, field("next", ["null", "R"])),
        record(field("next", ["null", "R"])),
        True,
        False,
    ),
]
rows = pytest.mark.parametrize(
    ("old", "new", "backward", "forward"), [row[1:] for row in CHANGES], ids=[r[0] for r in CHANGES]
)


def allowed(strategy: str, *schemas: Json) -> bool:
    """Whether the last schema may follow the others."""
    *existing, new = [parse(json.dumps(schema), strict=False) for schema in schemas]
    try:
        check(strategy, new, existing)
    except IncompatibleError:
        return False
    return True


@rows
def test_reading_is_decided_as_java_avro_decides_it(old: Json, new: Json, backward: bool, forward: bool) -> None:
    before, after = parse(json.dumps(old), strict=False), parse(json.dumps(new), strict=False)
    assert (can_read(before, after), can_read(after, before)) == (backward, forward)


@rows
def test_each_strategy_asks_for_its_directions(old: Json, new: Json, backward: bool, forward: bool) -> None:
    expected = {"BACKWARD": backward, "FORWARD": forward, "FULL": backward and forward}
    expected |= {f"{strategy}_TRANSITIVE": answer for strategy, answer in expected.items()}
    expected |= {"ALWAYS_COMPATIBLE": True, "ALWAYS_INCOMPATIBLE": False}
    assert {strategy: allowed(strategy, old, new) for strategy in expected} == expected


@pytest.mark.parametrize("strategy", ["FULL", "BACKWARD", "FORWARD"])
def test_only_transitive_strategies_look_past_the_latest(strategy: str) -> None:
    chain = {
        "FULL": (record(A, field("b", "string", default="")), record(A), record(A, B_OR_1)),
        "BACKWARD": (record(A, field("b", "string")), record(A), record(A, B_OR_1)),
        "FORWARD": (record(A, field("b", "string", default="")), record(A), record(A, B)),
    }[strategy]
    assert allowed(strategy, *chain)
    assert not allowed(f"{strategy}_TRANSITIVE", *chain)


@pytest.mark.parametrize("strategy", ["FULL", "BACKWARD_TRANSITIVE", "ALWAYS_INCOMPATIBLE"])
def test_a_first_schema_is_never_refused(strategy: str) -> None:
    assert allowed(strategy, record(A))


def test_a_refusal_shows_both_schemas_as_java_prints_them() -> None:
    old, new = parse(json.dumps(record(A)), strict=False), parse(json.dumps(record(A, B)), strict=False)
    with pytest.raises(IncompatibleError) as caught:
        check("FULL", new, [old])
    assert str(caught.value) == (
        "Error during schema compatibility check with strategy FULL: "
        "org.apache.avro.SchemaValidationException: Unable to read schema: \n"
        '{\n  "type" : "record",\n  "name" : "R",\n  "fields" : [ {\n    "name" : "a",\n    "type" : "int"\n  } ]\n}\n'
        "using schema:\n"
        '{\n  "type" : "record",\n  "name" : "R",\n  "fields" : [ {\n    "name" : "a",\n    "type" : "int"\n  }, {\n'
        '    "name" : "b",\n    "type" : "int"\n  } ]\n}'
    )


def test_aliases_that_give_two_fields_one_name_are_javas_own_error() -> None:
    writer = parse(json.dumps(record(A, B)), strict=False)
    reader = parse(json.dumps(record(field("a", default=1, aliases=["b"]))), strict=False)
    with pytest.raises(DuplicateFieldError, match="Duplicate field in record R"):
        can_read(writer, reader)
