"""Contract of schema equality: POST compares schemas as parsed, a lookup compares texts."""

from __future__ import annotations

from typing import Any, Final

from .avro import A_OR_0, B_OR_0, A, array, enum, field, fixed, logical, mapping, record
from .script import Case, lookup, register

Json = Any


def a(kind: Json, **more: Json) -> Json:
    return record(field("a", kind, **more))


COMPACT = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'

EQUAL: Final[list[tuple[str, Json, Json]]] = [
    ("white space", record(A), COMPACT),
    ("white space around", COMPACT, f"\n {COMPACT}\t"),
    ("order of keys", record(A), '{"fields":[{"type":"int","name":"a"}],"name":"R","type":"record"}'),
    ("escapes", record(A), COMPACT.replace('"R"', '"\\u0052"')),
    ("doc of a record", record(A), record(A, doc="words")),
    ("doc of a field", record(A), record(field("a", doc="words"))),
    ("aliases of a record", record(A), record(A, aliases=["Q"])),
    ("aliases of a field", record(A), record(field("a", aliases=["z"]))),
    ("doc and aliases of an enum", a(enum("X")), a(enum("X", doc="words", aliases=["G"]))),
    ("doc and aliases of a fixed", a(fixed(2)), a(fixed(2, doc="words", aliases=["G"]))),
    ("default of an enum", a(enum("X", "Y")), a(enum("X", "Y", default="X"))),
    ("order ascending, the default", record(A), record(field("a", order="ascending"))),
    ("a primitive as an object", a("string"), a({"type": "string"})),
    ("full name and namespace", record(A, name="n.R"), record(A, namespace="n")),
    ("the empty namespace", record(A), record(A, namespace="")),
    ("order of custom properties", record(A, x=1, y=2), record(A, y=2, x=1)),
    ("order inside a custom property", record(A, x={"a": 1, "b": 2}), record(A, x={"b": 2, "a": 1})),
    ("a number written as text", a("double", default=1.5), a("double", default="1.5")),
]

DIFFERENT: Final[list[tuple[str, Json, Json]]] = [
    ("name of a record", record(A), record(A, name="Q")),
    ("namespace of a record", record(A), record(A, namespace="n")),
    ("custom property of a record", record(A), record(A, owner="me")),
    ("custom property of a field", record(A), record(field("a", owner="me"))),
    ("custom property of a type", record(A), a({"type": "int", "owner": "me"})),
    ("custom property of an array", a(array("int")), a({**array("int"), "java-class": "java.util.List"})),
    ("custom property of a map", a(mapping("int")), a({**mapping("int"), "owner": "me"})),
    ("custom property of a fixed", a(fixed(2)), a(fixed(2, owner="me"))),
    ("another value of a custom property", record(A, x=1), record(A, x=2)),
    ("order of a list in a custom property", record(A, x=[1, 2]), record(A, x=[2, 1])),
    ("avro.java.string", a("string"), a({"type": "string", "avro.java.string": "String"})),
    ("logicalType", a("long"), a(logical("long", "timestamp-millis"))),
    ("an explicit scale of 0", a(logical("bytes", "decimal", precision=4)),
     a(logical("bytes", "decimal", precision=4, scale=0))),
    ("a default", record(A), record(A_OR_0)),
    ("another default", record(A_OR_0), record(field("a", default=1))),
    ("default null", a(["null", "int"]), a(["null", "int"], default=None)),
    ("another default inside", a(array("int"), default=[1]), a(array("int"), default=[1, 2])),
    ("order descending", record(A), record(field("a", order="descending"))),
    ("order ignore", record(A), record(field("a", order="ignore"))),
    ("order of fields", record(A_OR_0, B_OR_0), record(B_OR_0, A_OR_0)),
    ("order of symbols", a(enum("X", "Y")), a(enum("Y", "X"))),
    ("order of branches", a(["int", "string"]), a(["string", "int"])),
]  # fmt: skip


def cases() -> list[Case]:
    return [
        *[_case(f"{name} makes no new version", one, other, 0) for name, one, other in EQUAL],
        *[_case(f"{name} makes a new version", one, other, 1) for name, one, other in DIFFERENT],
    ]


def _case(promise: str, one: Json, other: Json, version: int) -> Case:
    return Case(
        promise,
        register(one).registers(0),
        lookup(one).finds(0),
        register(other).registers(version),
        lookup(other).finds(version or -1),
        register(one).registers(0),
    )
