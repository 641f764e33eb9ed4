"""Contract of PROTOBUF_NATIVE: which descriptors the broker accepts; only the root message's name is compared."""

from __future__ import annotations

import json
from typing import Any, Final

from .avro import ONE
from .changes import STRATEGIES
from .descriptor_tables import ACCEPTED, BOTH_NAMES, GOOD, IN_BASE64, MORE, OTHER, REFUSED, M
from .descriptors import STRING, field, file, message, native, one
from .endpoints import TAKEN, shown
from .script import Ask, Case, get, lookup, register, would_take
from .types import GROWN, HALVES, STUCK, V, kept, pair

Json = Any
KIND: Final = "PROTOBUF_NATIVE"
FAILED: Final = "deserialize ProtobufNative Schema failed"
EXISTS: Final = f"Incompatible schema: exists schema type {KIND}, new schema type "


def cases() -> list[Case]:
    return [*_versions(), *_descriptors(), *_evolution(), *_pairs()]


def post(schema: Json, **more: Any) -> Ask:
    return register(schema, KIND, **more)


def _versions() -> list[Case]:
    return [
        Case(
            "a PROTOBUF_NATIVE schema is stored as it is, and compared as text",
            post(GOOD).registers(0),
            get().gives(shown(json.dumps(GOOD), kind=KIND)),
            post(GOOD).registers(0),
            post(json.dumps(GOOD) + " ").registers(1),
            post({**GOOD, "fileDescriptorSet": IN_BASE64[:4] + "\n" + IN_BASE64[4:]}).registers(2),
            post(json.dumps(GOOD) + " what follows is not read").registers(3),
            lookup(json.dumps(GOOD), KIND).finds(0),
            lookup(json.dumps(GOOD) + "  ", KIND).finds(-1),
            post(GOOD).registers(0),
        ),
        Case(
            "PROTOBUF_NATIVE is another type than PROTOBUF",
            post(GOOD).registers(0),
            register(ONE, "PROTOBUF").refused(409, EXISTS + "PROTOBUF"),
            register("", "STRING").refused(409, EXISTS + "STRING"),
        ),
        Case(
            "a file that imports itself exhausts the broker's stack",
            post(native([file(M, dependency=["a.proto"])])).refused(500, "null"),
            post(native([file(M, dependency=["b"]), file(name="b", dependency=["a.proto"])])).refused(500, "null"),
        ),
    ]  # fmt: skip


def _descriptors() -> list[Case]:
    return [
        *[
            Case(
                f"a PROTOBUF_NATIVE schema may have {what}",
                post(schema).registers(0),
                would_take(schema, KIND).gives(TAKEN, 202),
            )
            for what, schema in ACCEPTED.items()
        ],
        *[
            Case(
                f"a PROTOBUF_NATIVE schema cannot have {what}",
                post(schema).refused(422, FAILED),
                would_take(schema, KIND).refused(500, FAILED),
            )
            for what, schema in REFUSED.items()
        ],
    ]


def _evolution() -> list[Case]:
    return [
        *[_strategy_case(strategy) for strategy in STRATEGIES],
        Case(
            "any change of a message is compatible as long as it keeps its name",
            post(GOOD).registers(0),
            post(one()).registers(1),
            post(one(field("x", 1, STRING))).registers(2),
            post(native([file(M, name="b")], name="b")).registers(3),
            post(native([file(M, package="p")], "p.M")).refused(409, _root("FULL", "M", "p.M")),
            post(GOOD).registers(0),
        ),
        Case(
            "the root message's name is the one that was found, and not the one that was given",
            post(BOTH_NAMES).registers(0),
            post(native([file(message("MN"))], "MN")).registers(1),
            post(GOOD).refused(409, _root("FULL", "MN", "M")),
        ),
    ]


def _root(strategy: str, old: str, new: str) -> str:
    return (
        f"Protobuf root message change is not allowed under the '{strategy}' strategy. "
        f"Original message name: '{old}', new message name: '{new}'."
    )


def _strategy_case(strategy: str) -> Case:
    where = {"namespace": f"contract/{strategy}"}
    taken = TAKEN | {"schemaCompatibilityStrategy": strategy}
    first, more, other = (post(schema, **where) for schema in (GOOD, MORE, OTHER))
    asked = would_take(OTHER, KIND, **where)
    if strategy == "ALWAYS_COMPATIBLE":
        rest = (more.registers(1), asked.gives(taken, 202), other.registers(2))
    elif strategy == "ALWAYS_INCOMPATIBLE":
        never = "Unknown SchemaCompatibilityStrategy."
        rest = (more.refused(409, never), asked.refused(500, never), other.refused(409, never))
    else:
        words = _root(strategy, "M", "N")
        rest = (more.registers(1), asked.refused(500, words), other.refused(409, words))
    return Case(f"PROTOBUF_NATIVE evolves under {strategy}", first.registers(0), *rest, first.registers(0))


def _pairs() -> list[Case]:
    key = {"properties": {**HALVES, "key.schema.type": KIND}}
    value = {"properties": {**HALVES, "key.schema.type": "STRING", "value.schema.type": KIND}}
    return [
        Case(
            "a pair with a PROTOBUF_NATIVE key shows it and lets it evolve",
            pair(GOOD, V, **key).registers(0),
            get().gives(kept(GOOD, V, **key)),
            pair(MORE, V, **key).registers(1),
            pair(OTHER, V, **key).refused(409, _root("FULL", "M", "N")),
            pair(OTHER, V, leaf="compatibility", **key).refused(500, _root("FULL", "M", "N")),
            pair(MORE, GROWN, **key).registers(2),
            pair(MORE, STUCK, **key).registers(3),
            pair(GOOD, V, leaf="version", **key).finds(0),
        ),
        Case(
            "a pair with a PROTOBUF_NATIVE value is checked like the type alone",
            pair("", GOOD, **value).registers(0),
            get().gives(kept("", GOOD, **value)),
            pair("", REFUSED["number 0"], **value).refused(422, FAILED),
            pair("", "x", **value).refused(422, FAILED),
            pair("", OTHER, **value).refused(409, _root("FULL", "M", "N")),
        ),
        *[
            Case(
                f"pairs with PROTOBUF_NATIVE evolve under {strategy}",
                pair(GOOD, V, namespace=f"contract/{strategy}", **key).registers(0),
                pair(MORE, GROWN, namespace=f"contract/{strategy}", **key).registers(1),
                pair(OTHER, GROWN, namespace=f"contract/{strategy}", **key).refused(409, _root(strategy, "M", "N")),
                pair(GOOD, V, namespace=f"contract/{strategy}", **key).registers(0),
            )
            for strategy in STRATEGIES[:6]
        ],
    ]
