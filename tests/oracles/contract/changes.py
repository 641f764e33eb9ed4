"""Contract of compatibility strategies: one row for each kind of schema change, and one for each chain of three.

The broker uses Java's Avro. ``reads_old``: data of the old schema can be read with the new one, as BACKWARD requires;
``is_read``: data of the new schema can be read with the old one, as FORWARD requires; FULL requires both.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from .avro import A_OR_0, B_OR_0, A, B, array, enum, field, fixed, logical, mapping, record
from .script import Case, register

Json = Any

STRATEGIES: Final = (
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
    "ALWAYS_COMPATIBLE",
    "ALWAYS_INCOMPATIBLE",
)


class Change(NamedTuple):
    """A change of a schema from ``old`` to ``new``."""

    name: str
    old: Json
    new: Json
    reads_old: bool
    is_read: bool

    def allowed_by(self, strategy: str) -> bool:
        return {
            "BACKWARD": self.reads_old,
            "FORWARD": self.is_read,
            "FULL": self.reads_old and self.is_read,
            "ALWAYS_COMPATIBLE": True,
            "ALWAYS_INCOMPATIBLE": False,
        }[strategy.removesuffix("_TRANSITIVE")]


def a(kind: Json, **more: Json) -> Json:
    """Return a record with one field of this type."""
    return record(field("a", kind, **more))


def inner(*fields: Json) -> Json:
    """Return a record in a record."""
    return record(field("r", record(*fields, name="I")))


def node(*fields: Json) -> Json:
    """Return a recursive record."""
    return record(*fields, field("next", ["null", "R"]))


YES, NO = True, False
PIECE, SAME_PIECE, OTHER_PIECE = record(A, name="I"), record(A, name="J"), record(B, name="J")
CENTS, MILLS = (logical("bytes", "decimal", precision=9, scale=scale) for scale in (2, 3))

CHANGES: Final = [
    Change(*row)
    for row in [
        # (the change, old schema, new schema, reads_old, is_read)
        ("field added with default", record(A), record(A, B_OR_0), YES, YES),
        ("field added without default", record(A), record(A, B), NO, YES),
        ("field removed that has a default", record(A, B_OR_0), record(A), YES, YES),
        ("field removed that has no default", record(A, B), record(A), YES, NO),
        ("fields in another order", record(A, B), record(B, A), YES, YES),
        ("all fields replaced, none with default", record(A), record(B), NO, NO),
        ("all fields replaced, all with defaults", record(A_OR_0), record(B_OR_0), YES, YES),
        ("default changed", record(A_OR_0), record(field("a", default=1)), YES, YES),
        ("default taken away", record(A_OR_0), record(A), YES, YES),
        ("default given", record(A), record(A_OR_0), YES, YES),
        ("int to long", a("int"), a("long"), YES, NO),
        ("int to float", a("int"), a("float"), YES, NO),
        ("int to double", a("int"), a("double"), YES, NO),
        ("long to float", a("long"), a("float"), YES, NO),
        ("long to double", a("long"), a("double"), YES, NO),
        ("float to double", a("float"), a("double"), YES, NO),
        ("long to int", a("long"), a("int"), NO, YES),
        ("double to float", a("double"), a("float"), NO, YES),
        ("string to bytes", a("string"), a("bytes"), YES, YES),
        ("bytes to string", a("bytes"), a("string"), YES, YES),
        ("int to string", a("int"), a("string"), NO, NO),
        ("int to boolean", a("int"), a("boolean"), NO, NO),
        ("bytes to fixed", a("bytes"), a(fixed(2)), NO, NO),
        ("string to enum", a("string"), a(enum("X")), NO, NO),
        ("made nullable", a("int"), a(["null", "int"]), YES, NO),
        ("made nullable with default null", a("int"), a(["null", "int"], default=None), YES, NO),
        ("no longer nullable", a(["null", "int"]), a("int"), NO, YES),
        ("union widened", a(["null", "int"]), a(["null", "int", "string"]), YES, NO),
        ("union narrowed", a(["null", "int", "string"]), a(["null", "int"]), NO, YES),
        ("union in another order", a(["int", "string"]), a(["string", "int"]), YES, YES),
        ("branch of a union promoted", a(["null", "int"]), a(["null", "long"]), YES, NO),
        ("branch of a union changed", a(["null", "int"]), a(["null", "string"]), NO, NO),
        ("record of a union renamed", a(["null", PIECE]), a(["null", SAME_PIECE]), YES, YES),
        ("record of a union replaced", a(["null", PIECE]), a(["null", OTHER_PIECE]), NO, NO),
        ("enum symbol added", a(enum("X")), a(enum("X", "Y")), YES, YES),
        ("enum symbol added, with a default", a(enum("X", default="X")), a(enum("X", "Y", default="X")), YES, YES),
        ("enum symbol removed", a(enum("X", "Y")), a(enum("X")), YES, YES),
        ("enum symbol removed, with a default", a(enum("X", "Y", default="X")), a(enum("X", default="X")), YES, YES),
        ("enum renamed", a(enum("X")), a(enum("X", name="E2")), NO, NO),
        ("enum renamed with alias", a(enum("X")), a(enum("X", name="E2", aliases=["E"])), YES, NO),
        ("enum in another namespace", a(enum("X")), a(enum("X", name="n.E")), YES, YES),
        ("record renamed", record(A), record(A, name="Q"), YES, YES),
        ("record in another namespace", record(A), record(A, name="n.R"), YES, YES),
        ("field renamed", record(A), record(B), NO, NO),
        ("field renamed with alias", record(A), record(field("b", aliases=["a"])), YES, NO),
        ("field renamed with alias and default", record(A_OR_0), record({**B_OR_0, "aliases": ["a"]}), YES, YES),
        ("fixed of another size", a(fixed(2)), a(fixed(3)), NO, NO),
        ("fixed renamed", a(fixed(2)), a(fixed(2, "G")), NO, NO),
        ("fixed renamed with alias", a(fixed(2)), a(fixed(2, "G", aliases=["F"])), YES, NO),
        ("field with default added in a record inside", inner(A), inner(A, B_OR_0), YES, YES),
        ("field without default added in a record inside", inner(A), inner(A, B), NO, YES),
        ("type changed in a record inside", inner(A), inner(field("a", "string")), NO, NO),
        ("items promoted", a(array("int")), a(array("long")), YES, NO),
        ("items changed", a(array("int")), a(array("string")), NO, NO),
        ("items made nullable", a(array("int")), a(array(["null", "int"])), YES, NO),
        ("map values promoted", a(mapping("int")), a(mapping("long")), YES, NO),
        ("map values changed", a(mapping("int")), a(mapping("string")), NO, NO),
        ("array to map", a(array("int")), a(mapping("int")), NO, NO),
        ("field with default added to a recursive record", node(A), node(A, B_OR_0), YES, YES),
        ("field without default removed from a recursive record", node(A), node(), YES, NO),
        ("logical type given", a("long"), a(logical("long", "timestamp-millis")), YES, YES),
        ("logical type changed", a(logical("int", "date")), a(logical("int", "time-millis")), YES, YES),
        ("decimal of another scale", a(CENTS), a(MILLS), YES, YES),
        ("record replaced by a primitive", record(A), {"type": "int"}, NO, NO),
    ]
]  # fmt: skip


class Chain(NamedTuple):
    """Three schemas whose last two are compatible; ``transitive``: whether a transitive strategy accepts the third."""

    name: str
    strategy: str
    schemas: tuple[Json, Json, Json]
    transitive: bool


TEXT = field("b", "string")
TEXT_OR_NONE = field("b", "string", default="")

CHAINS: Final = [
    Chain(*row)
    for row in [
        ("field returns with another type", "FULL", (record(A, TEXT_OR_NONE), record(A), record(A, B_OR_0)), NO),
        (
            "field returns unchanged",
            "FULL",
            (record(A, B_OR_0), record(A), record(A, B_OR_0, field("c", default=0))),
            YES,
        ),
        ("field returns with another type", "BACKWARD", (record(A, TEXT), record(A), record(A, B_OR_0)), NO),
        ("default removed later", "BACKWARD", (record(A), record(A, B_OR_0), record(A, B)), NO),
        ("promoted step by step", "BACKWARD", (a("int"), a("long"), a("double")), YES),
        ("field returns with another type", "FORWARD", (record(A, TEXT_OR_NONE), record(A), record(A, B)), NO),
        ("field removed after it got a default", "FORWARD", (record(A, B), record(A, B_OR_0), record(A)), NO),
        ("narrowed step by step", "FORWARD", (a("double"), a("long"), a("int")), YES),
    ]
]


def cases() -> list[Case]:
    return [
        *[_case(change, strategy) for change in CHANGES for strategy in STRATEGIES],
        *[_chain_case(chain, suffix) for chain in CHAINS for suffix in ("", "_TRANSITIVE")],
    ]


def _case(change: Change, strategy: str) -> Case:
    namespace = f"contract/{strategy}"
    new = register(change.new, namespace=namespace)
    allowed = change.allowed_by(strategy)
    return Case(
        f"{change.name} under {strategy}",
        register(change.old, namespace=namespace).registers(0),
        new.registers(1) if allowed else new.refused(409, _refusal(strategy)),
    )


def _chain_case(chain: Chain, suffix: str) -> Case:
    strategy = chain.strategy + suffix
    first, second, third = (register(schema, namespace=f"contract/{strategy}") for schema in chain.schemas)
    fine = not suffix or chain.transitive
    return Case(
        f"chain of three, {chain.name}, under {strategy}",
        first.registers(0),
        second.registers(1),
        third.registers(2) if fine else third.refused(409, _refusal(strategy)),
        first.registers(0),
    )


def _refusal(strategy: str) -> str:
    return (
        f"Error during schema compatibility check with strategy {strategy}: "
        "org.apache.avro.SchemaValidationException: Unable to read schema: \n"
    )
