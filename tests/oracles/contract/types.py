"""Contract of schema types other than AVRO: primitives, JSON, PROTOBUF and KEY_VALUE."""

from __future__ import annotations

import json
from typing import Any, Final

from .avro import ONE, OTHER, A, field, record
from .endpoints import shown
from .script import Ask, Case, get, lookup, register, would_take

Json = Any
PRIMITIVES: Final = (
    *("STRING", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "DATE", "TIME", "TIMESTAMP"),
    *("INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME", "NONE"),
)
HALVES: Final = {"key.schema.type": "AVRO", "value.schema.type": "AVRO", "kv.encoding.type": "SEPARATED"}
NAMED_KEY: Final = {**HALVES, "key.schema.name": "n", "key.schema.properties": '{"a":"b"}'}
TAKEN: Final = {"schemaCompatibilityStrategy": "FULL", "compatibility": True}
OTHER_HALVES: Final = "Key schemas or Value schemas are different schema type, from key schema type is "
K, V = record(field("k")), record(field("v"))
GROWN = record(field("v"), field("w", default=1))
STUCK = record(field("v"), field("w"))


def cases() -> list[Case]:
    return [*_primitives(), *_json_and_protobuf(), *_pairs()]


def _primitives() -> list[Case]:
    return [
        *[
            Case(
                f"{kind} has no text, and one version",
                register("", kind).registers(0),
                register("", kind).registers(0),
                get().gives(shown("", kind=kind)),
                lookup("", kind).finds(0),
                would_take("", kind).gives(TAKEN, 202),
                register(ONE).refused(409, f"Incompatible schema: exists schema type {kind}, new schema type AVRO"),
            )
            for kind in PRIMITIVES
        ],
        Case(
            "BYTES is stored as NONE, so a lookup does not find it",
            register("", "BYTES").registers(0),
            get().gives(shown("", kind="NONE")),
            register("", "BYTES").refused(409, "Incompatible schema: exists schema type NONE, new schema type BYTES"),
            register("", "NONE").registers(0),
        ),
        Case(
            "NONE may have any text",
            register("x", "NONE").registers(0),
            register("y", "NONE").registers(1),
            get("schema/0").gives(shown("x", kind="NONE")),
        ),
        Case(
            "STRING may have the text null, as registered by Pulsar's Python client, and that is another version",
            register("null", "STRING").registers(0),
            get().gives(shown("null", kind="STRING")),
            register("", "STRING").registers(1),
            register("null", "STRING").registers(0),
            lookup("", "STRING").finds(1),
            would_take("null", "STRING").gives(TAKEN, 202),
            *[register(text, "STRING").refused(422) for text in ("nul", "null ", "NULL", '"null"')],
            register("null", "INT8", at="8").refused(422, "Invalid schema definition data for primitive schemas"),
        ),
        Case(
            "another primitive is refused",
            register("", "INT32").registers(0),
            register("", "INT64").refused(409, "Incompatible schema: exists schema type INT32, new schema type INT64"),
        ),
        Case(
            "a primitive is compatible only with itself under ALWAYS_INCOMPATIBLE",
            register("x", "NONE", namespace="contract/ALWAYS_INCOMPATIBLE").registers(0),
            register("x", "NONE", namespace="contract/ALWAYS_INCOMPATIBLE").registers(0),
            register("y", "NONE", namespace="contract/ALWAYS_INCOMPATIBLE").refused(409),
        ),
    ]


def _json_and_protobuf() -> list[Case]:
    return [
        Case(
            "a JSON topic's schema is an Avro schema and evolves like one",
            register(ONE, "JSON").registers(0),
            register(json.dumps(ONE) + " ", "JSON").registers(0),
            register(OTHER, "JSON").refused(409, "Error during schema compatibility check with strategy FULL: "),
            register(record(A, field("b", default=0)), "JSON").registers(1),
            get("schema/1").gives(shown(json.dumps(record(A, field("b", default=0))), 1, "JSON")),
        ),
        *_jackson(),
        Case("a JSON topic's schema may be a union", register('["null","string"]', "JSON").registers(0)),
        Case(
            "a PROTOBUF schema is an Avro schema, and every change is accepted",
            register(ONE, "PROTOBUF").registers(0),
            register(json.dumps(ONE) + " ", "PROTOBUF").registers(0),
            would_take(OTHER, "PROTOBUF").gives(TAKEN, 202),
            register(OTHER, "PROTOBUF").registers(1),
            register(OTHER, "JSON").refused(409, "Incompatible schema: exists schema type PROTOBUF"),
        ),
    ]


def _jackson() -> list[Case]:
    """Before 2.1, Pulsar wrote JSON schemas in the format of Jackson's JsonSchema. Of these, it compares the ids."""
    a, other_a, b, none = (
        json.dumps({"type": "object", **more}) for more in ({"id": "a"}, {"id": "a", "x": 1}, {"id": "b"}, {})
    )
    nameless = (
        'Cannot invoke "String.equals(Object)" because the return value of "com.fasterxml.jackson.module.jsonSchema'
    )
    null = 'Cannot invoke "com.fasterxml.jackson.module.jsonSchema.JsonSchema.getId()" because "'
    parse, all_parse = "Type not supported: object", "org.apache.avro.SchemaParseException: Type not supported: object"
    where = {"namespace": "contract/FULL_TRANSITIVE"}
    return [
        Case(
            "two JSON schemas in Jackson's format are compared by id",
            register(a, "JSON").registers(0),
            would_take(other_a, "JSON").gives(TAKEN, 202),
            would_take(b, "JSON").refused(500, f"Incompatible Schema from {a} + to {b}"),
            would_take(none, "JSON").refused(500, "Incompatible Schema from "),
            would_take(ONE, "JSON").gives(TAKEN, 202),
            register(b, "JSON").refused(500, parse),
            register(none, "JSON", at="n").registers(0),
            would_take(a, "JSON", at="n").refused(500, nameless),
            would_take("null", "JSON", at="n").refused(500, f'{null}toSchema" is null'),
        ),
        Case(
            "a JSON schema may be null",
            register("null", "JSON").registers(0),
            get().gives(shown("null", kind="JSON")),
            register(ONE, "JSON").refused(500, "Schema not yet supported: null"),
            register("null", "JSON").refused(500, "Schema not yet supported: null"),
            would_take(a, "JSON").refused(500, f'{null}fromSchema" is null'),
            would_take(ONE, "JSON").gives(TAKEN, 202),
            lookup("null", "JSON").finds(0),
        ),
        Case(
            "a transitive strategy parses all JSON schemas as Avro",
            register(a, "JSON", **where).registers(0),
            would_take(a, "JSON", **where).refused(500, all_parse),
            would_take(ONE, "JSON", **where).refused(500, all_parse),
            register(ONE, "JSON", at="o", **where).registers(0),
            would_take(a, "JSON", at="o", **where).refused(500, all_parse),
        ),
    ]


def pair(key: Json, value: Json, **more: Any) -> Ask:
    """POST a KEY_VALUE schema of two schemas, by default Avro and encoded separately."""
    return register({"key": key, "value": value}, "KEY_VALUE", **{"properties": HALVES, **more})


def kept(key: Json, value: Json, version: int = 0, *, properties: dict[str, str] = HALVES) -> dict[str, Any]:
    """Return a pair as GET returns it: compact."""
    text = json.dumps({"key": key, "value": value}, separators=(",", ":"), ensure_ascii=False)
    return shown(text, version, "KEY_VALUE") | {"properties": properties}


def _pairs() -> list[Case]:
    text_key = {**HALVES, "key.schema.type": "STRING"}
    numbers = {"key.schema.type": "INT32", "value.schema.type": "STRING"}
    return [
        Case(
            "KEY_VALUE is stored compactly, and a lookup finds it",
            pair(K, V).registers(0),
            get().gives(kept(K, V)),
            pair(K, V, leaf="version").finds(0),
            register(json.dumps({"value": V, "key": K}, indent=2), "KEY_VALUE", properties=HALVES).registers(0),
            pair(V, K, leaf="version").finds(-1),
        ),
        Case(
            "key and value of KEY_VALUE evolve separately",
            pair(K, V).registers(0),
            pair(K, STUCK).refused(409, "Error during schema compatibility check with strategy FULL: "),
            pair(V, V).refused(409, "Error during schema compatibility check with strategy FULL: "),
            pair(K, STUCK, leaf="compatibility").refused(500, "Error during schema compatibility check"),
            pair(K, GROWN).registers(1),
            pair(K, V).registers(0),
            get("schema/1").gives(kept(K, GROWN, 1)),
        ),
        *[
            Case(
                f"key and value of KEY_VALUE evolve separately under {strategy}",
                pair(K, V, namespace=f"contract/{strategy}").registers(0),
                pair(K, STUCK, namespace=f"contract/{strategy}").refused(409)
                if backward
                else pair(K, STUCK, namespace=f"contract/{strategy}").registers(1),
            )
            for strategy, backward in (("BACKWARD", True), ("FORWARD", False), ("FORWARD_TRANSITIVE", False))
        ],
        Case(
            "KEY_VALUE inline and separated are the same schema",
            pair(K, V).registers(0),
            pair(K, V, properties={**HALVES, "kv.encoding.type": "INLINE"}).registers(0),
            get().gives(kept(K, V)),
        ),
        Case(
            "a key or value of another type is refused",
            pair(K, V).registers(0),
            pair("", V, properties=text_key).refused(409, f"{OTHER_HALVES}AVRO and to key schema is STRING"),
        ),
        Case(
            "a primitive key or value has empty text",
            pair("", V, properties=text_key).registers(0),
            get().gives(kept("", V, properties=text_key)),
            pair("x", V, properties=text_key, at="2").refused(422, "Invalid schema definition data for string schema"),
        ),
        Case(
            "key and value may both be primitives",
            pair("", "", properties=numbers).registers(0),
            get().gives(kept("", "", properties=numbers)),
            pair("", "", properties={**numbers, "value.schema.type": "INT64"}).registers(0),
        ),
        Case(
            "a key or value without a type is lost",
            pair(K, V, properties={}).registers(0),
            get().gives(shown('{"key":"","value":""}', kind="KEY_VALUE")),
        ),
        Case(
            "the properties of key and value are stored",
            pair(K, V, properties=NAMED_KEY).registers(0),
            get().gives(kept(K, V, properties=NAMED_KEY)),
        ),
        Case(
            "key and value are checked by the rules of their types",
            pair(K, {"type": "zz"}).refused(422, "Invalid schema definition data for AVRO schema"),
            pair(K, V, properties={**HALVES, "key.schema.type": "AUTO"}).refused(422, "Schema AUTO is a client-side"),
            pair(K, V, properties={**HALVES, "key.schema.type": "z"}).refused(500, "No enum constant"),
        ),
    ]  # fmt: skip
