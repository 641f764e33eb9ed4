"""Contract of KEY_VALUE topics: pairs of every type, their properties, and their evolution under each strategy."""

from __future__ import annotations

import json
from typing import Any, Final

from .avro import ONE, Json, field, record
from .refusals import NO_ENUM
from .script import Ask, Case, get, lookup, register
from .types import GROWN, HALVES, STUCK, K, V, kept, pair

JACKSON: Final = {"type": "object", "properties": {"a": {"type": "string"}}}
NOT_SUPPORTED: Final = "org.apache.avro.SchemaParseException: Type not supported: object"
TEXTLESS: Final = (
    *("STRING", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "DATE", "TIME", "TIMESTAMP"),
    *("INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"),
)
OF_V: Final = (
    "Error during schema compatibility check with strategy BACKWARD_TRANSITIVE: "
    "org.apache.avro.SchemaValidationException: Unable to read schema: \n"
    '{\n  "type" : "record",\n  "name" : "R",\n  "fields" : [ {\n    "name" : "v",\n    "type" : "int"\n  } ]\n}'
)
NO_OBJECT: Final = "java.lang.IllegalStateException: Not a JSON Object: "

# Schemas of keys and values, in the order in which they are registered.
STEPS: Final = (
    (K, V),
    (K, GROWN),
    (K, STUCK),
    (GROWN, V),
    (V, V),
    (K, V),
    (record(field("k"), field("o", default=1)), record(field("v"), field("p", default=2))),
)
# The version of each step; - where it is refused. A half without text never changes.
OUTCOMES: Final[dict[tuple[str, str], dict[str, str]]] = {
    ("AVRO", "AVRO"): {
        "BACKWARD": "0 1 2 - - 0 3",
        "FORWARD": "0 1 2 - - 0 -",
        "FULL": "0 1 2 - - 0 -",
        "BACKWARD_TRANSITIVE": "0 1 - - - 0 2",
        "FORWARD_TRANSITIVE": "0 1 2 - - 0 -",
        "FULL_TRANSITIVE": "0 1 - - - 0 2",
        "ALWAYS_COMPATIBLE": "0 1 2 3 4 0 5",
        "ALWAYS_INCOMPATIBLE": "0 - - - - 0 -",
    },
    ("STRING", "AVRO"): {
        "BACKWARD": "0 1 2 0 0 0 3",
        "FORWARD": "0 1 2 0 0 0 -",
        "FULL": "0 1 2 0 0 0 -",
        "BACKWARD_TRANSITIVE": "0 1 - 0 0 0 2",
        "FORWARD_TRANSITIVE": "0 1 2 0 0 0 -",
        "FULL_TRANSITIVE": "0 1 - 0 0 0 2",
        "ALWAYS_COMPATIBLE": "0 1 2 0 0 0 3",
        "ALWAYS_INCOMPATIBLE": "0 - - 0 0 0 -",
    },
    ("AVRO", "INT32"): {
        "BACKWARD": "0 0 0 - - 0 1",
        "FULL_TRANSITIVE": "0 0 0 - - 0 1",
        "ALWAYS_COMPATIBLE": "0 0 0 1 2 0 3",
        "ALWAYS_INCOMPATIBLE": "0 0 0 - - 0 -",
    },
    ("PROTOBUF", "JSON"): {
        "BACKWARD": "0 1 2 3 4 0 5",
        "FORWARD": "0 1 2 - - 0 -",
        "BACKWARD_TRANSITIVE": "0 1 - 2 3 0 4",
        "FULL_TRANSITIVE": "0 1 - 2 3 0 4",
        "ALWAYS_INCOMPATIBLE": "0 - - - - 0 -",
    },
    ("NONE", "NONE"): {
        "FULL": "0 1 2 3 4 0 5",
        "FORWARD_TRANSITIVE": "0 1 2 3 4 0 5",
        "ALWAYS_INCOMPATIBLE": "0 - - - - 0 -",
    },
}
OUTCOMES["JSON", "JSON"] = OUTCOMES["AVRO", "AVRO"]


def cases() -> list[Case]:
    return [*_types(), *_properties(), *_texts(), *_evolution(), *_refusals()]


def of(key: str, value: str, **more: str) -> dict[str, str]:
    """Return the properties of a pair; ``more`` with underscores for dots."""
    named = {name.replace("_", "."): text for name, text in more.items()}
    return {**HALVES, "key.schema.type": key, "value.schema.type": value, **named}


def whole(text: Json, properties: dict[str, str] = HALVES) -> Ask:
    """POST a KEY_VALUE schema of this text."""
    return register(text, "KEY_VALUE", properties=properties)


def _types() -> list[Case]:
    return [
        *[
            Case(
                f"a pair of two {kind} is stored and found",
                pair(K, V, properties=of(kind, kind)).registers(0),
                get().gives(kept(K, V, properties=of(kind, kind))),
                pair(K, V, properties=of(kind, kind)).registers(0),
                pair(K, V, leaf="version", properties=of(kind, kind)).finds(0),
                pair(K, V, properties=of(kind, "STRING")).refused(422, "Invalid schema definition data for string"),
            )
            for kind in ("AVRO", "JSON", "PROTOBUF")
        ],
        *[
            Case(
                f"a pair with {kind} has no text for it",
                pair("", V, properties=of(kind, "AVRO")).registers(0),
                get().gives(kept("", V, properties=of(kind, "AVRO"))),
                pair("", GROWN, properties=of(kind, "AVRO")).registers(1),
                pair(K, "", properties=of("JSON", kind), at="v").registers(0),
                get(at="v").gives(kept(K, "", properties=of("JSON", kind))),
                pair("x", V, properties=of(kind, "AVRO"), at="x").refused(422, "Invalid schema definition data for "),
            )
            for kind in TEXTLESS
        ],
        *[
            Case(
                f"a pair with {kind} may have any text for it, which GET does not show",
                pair("x", V, properties=of(kind, "AVRO")).registers(0),
                pair("y", V, properties=of(kind, "AVRO")).registers(1),
                pair("x", V, properties=of(kind, "AVRO")).registers(0),
                get("schema/1").gives(kept("", V, 1, properties=of(kind, "AVRO"))),
            )
            for kind in ("NONE", "BYTES")
        ],
        Case(
            "a pair cannot contain EXTERNAL, which Pulsar 4.0 does not have",
            pair("", V, properties=of("EXTERNAL", "AVRO")).refused(500, NO_ENUM + "EXTERNAL"),
            pair(K, "", properties=of("AVRO", "EXTERNAL")).refused(500, NO_ENUM + "EXTERNAL"),
        ),
        Case(
            "a pair of a short text within a pair has no length",
            pair("", V, properties=of("KEY_VALUE", "AVRO")).refused(500, "null"),
            pair(K, "x", properties=of("AVRO", "KEY_VALUE")).refused(500, "null"),
        ),
        Case(
            "JSON in Jackson's format is stored in a pair, and never evolves",
            pair(JACKSON, V, properties=of("JSON", "AVRO")).registers(0),
            get().gives(kept(JACKSON, V, properties=of("JSON", "AVRO"))),
            pair(JACKSON, GROWN, properties=of("JSON", "AVRO")).refused(409, NOT_SUPPORTED),
            pair(K, V, properties=of("JSON", "AVRO")).refused(409, NOT_SUPPORTED),
            pair(K, V, properties=of("JSON", "AVRO"), leaf="compatibility").refused(500, NOT_SUPPORTED),
        ),
    ]


def _properties() -> list[Case]:
    named = of("AVRO", "AVRO", key_schema_name="n", value_schema_name="", key_schema_properties='{"b":"1","a":"2"}')
    inline = of("AVRO", "AVRO", kv_encoding_type="INLINE")
    return [
        Case(
            "another encoding is the same version, and the first one stays",
            pair(K, V, properties=inline).registers(0),
            pair(K, V).registers(0),
            get().gives(kept(K, V, properties=inline)),
            pair(K, GROWN).registers(1),
            get("schema/1").gives(kept(K, GROWN, 1)),
            pair(K, V).registers(0),
        ),
        *[
            Case(
                f"the encoding {text!r} is stored as it is",
                pair(K, V, properties=of("AVRO", "AVRO", kv_encoding_type=text)).registers(0),
                get().gives(kept(K, V, properties=of("AVRO", "AVRO", kv_encoding_type=text))),
            )
            for text in ("", "inline", "X")
        ],
        Case(
            "names and properties of key and value are not compared",
            pair(K, V, properties=named).registers(0),
            pair(K, V).registers(0),
            get().gives(kept(K, V, properties=named)),
            pair(K, GROWN).registers(1),
        ),
        Case(
            "without one type, this half is lost",
            pair(K, V, properties={"key.schema.type": "AVRO"}).registers(0),
            get().gives(kept(K, "", properties={"key.schema.type": "AVRO"})),
            pair(K, V).registers(0),
            pair(K, GROWN).refused(409, "Key schemas or Value schemas are different schema type, "),
        ),
        *[
            Case(
                f"a type {text!r} does not exist",
                pair(K, V, properties=of(text, "AVRO")).refused(500, NO_ENUM + text),
                get().refused(404),
            )
            for text in ("avro", "", "X")
        ],
        *[
            Case(
                f"properties of a key may be {text}",
                pair(K, V, properties=of("AVRO", "AVRO", key_schema_properties=text)).registers(0),
                get().gives(kept(K, V, properties=of("AVRO", "AVRO", key_schema_properties=text))),
                pair(K, GROWN).registers(1),
            )
            for text in ("", " ", "null", "{}", '{"a":1}', '{"a":true}', '{"a":["x"]}', '{"a":"b","a":"c"}')
        ],
        *[
            Case(
                f"properties of a {half} cannot be {text}",
                pair(K, V, properties={**HALVES, f"{half}.schema.properties": text}).refused(500, words),
                get().refused(404),
                pair(K, V, properties={**HALVES, f"{half}.schema.properties": text}, leaf="version").finds(-1),
                pair(K, V, properties={**HALVES, f"{half}.schema.properties": text}, leaf="compatibility").refused(500),
            )
            for half, text, words in (
                ("key", "{", "what Gson says"),
                ("key", "[]", NO_OBJECT + "[]"),
                ("value", "[1]", NO_OBJECT + "[1]"),
                ("key", "1", NO_OBJECT + "1"),
                ("value", '"x"', NO_OBJECT + '"x"'),
                ("key", "true", NO_OBJECT + "true"),
                ("key", '{"a":null}', "JsonNull"),
                ("value", '{"a":{}}', "JsonObject"),
                ("key", '{"a":[]}', "java.lang.IllegalStateException"),
                ("key", '{"a":[1,2]}', "java.lang.IllegalStateException"),
            )
        ],
    ]


def _texts() -> list[Case]:
    strange = {"type": "record", "name": "R", "x": 1.0, "y": 12345678901234567890, "fields": []}
    return [
        Case(
            "white space and the order of the halves make no new version, but every other difference does",
            pair(K, V).registers(0),
            whole(json.dumps({"value": V, "x": 1, "key": K}, indent=3)).registers(0),
            pair(K, {**V, "doc": "words"}).registers(1),
            pair(K, dict(reversed(V.items()))).registers(2),
            pair(K, V, leaf="version").finds(0),
            pair(K, {**V, "doc": "other words"}, leaf="version").finds(-1),
        ),
        Case(
            "numbers and text of a pair keep their form",
            pair({**K, "doc": "\u00e9<>&'=\u20ac\\\"\n"}, strange).registers(0),
            get().gives(kept({**K, "doc": "\u00e9<>&'=\u20ac\\\"\n"}, strange)),
        ),
        Case(
            "a schema as text is no structure",
            pair(json.dumps(K), V).refused(422, "Invalid schema definition data for AVRO schema"),
            pair({"type": "int"}, V).registers(0),
            get().gives(kept({"type": "int"}, V)),
        ),
        Case("a half may be a list", pair(["null", "int"], V, properties=of("JSON", "AVRO")).registers(0)),
        Case(
            "null stands for the text null, which STRING and JSON accept",
            pair(None, V, properties=of("STRING", "AVRO")).registers(0),
            get().gives(kept("", V, properties=of("STRING", "AVRO"))),
            pair("", V, properties=of("STRING", "AVRO")).registers(1),
            pair(None, V, properties=of("JSON", "AVRO"), at="j").registers(0),
            get(at="j").gives(kept(None, V, properties=of("JSON", "AVRO"))),
            pair(None, V, properties=of("INT8", "AVRO"), at="i").refused(
                422, "Invalid schema definition data for prim"
            ),
            pair(None, V, at="a").refused(422, "Invalid schema definition data for AVRO schema"),
        ),
    ]


def _evolution() -> list[Case]:
    return [
        Case(f"pairs of {key} and {value} evolve under {strategy}", *_steps(key, value, strategy, outcomes))
        for (key, value), strategies in OUTCOMES.items()
        for strategy, outcomes in strategies.items()
    ]


def _steps(key: str, value: str, strategy: str, outcomes: str) -> list[Ask]:
    asks = []
    for (one, other), outcome in zip(STEPS, outcomes.split(), strict=True):
        for leaf in ("compatibility", "schema"):
            ask = pair(
                _text(key, one),
                _text(value, other),
                properties=of(key, value),
                namespace=f"contract/{strategy}",
                leaf=leaf,
            )
            asks.append(_expecting(ask, leaf, outcome))
    return asks


def _expecting(ask: Ask, leaf: str, outcome: str) -> Ask:
    if leaf == "compatibility":  # an older schema that is known is compared with the latest all the same
        return ask.anyway()
    return ask.refused(409) if outcome == "-" else ask.registers(int(outcome))


def _text(kind: str, schema: Json) -> Json:
    if kind == "NONE":
        return json.dumps(schema)
    return schema if kind in ("AVRO", "JSON", "PROTOBUF") else ""


def _refusals() -> list[Case]:
    number: dict[str, Any] = {"properties": of("AVRO", "INT32")}
    return [
        Case(
            "a pair after another type is refused, and the reverse",
            register(ONE).registers(0),
            pair(K, V).refused(409, "Incompatible schema: exists schema type AVRO, new schema type KEY_VALUE"),
            pair(K, V, at="p").registers(0),
            register(ONE, at="p").refused(
                409, "Incompatible schema: exists schema type KEY_VALUE, new schema type AVRO"
            ),
            register("", "STRING", at="p").refused(409, "Incompatible schema: exists schema type KEY_VALUE"),
        ),
        Case(
            "a pair of other types is refused even if one half is the same",
            pair(K, V).registers(0),
            pair(K, "", **number).refused(409, "Key schemas or Value schemas are different schema type, "),
            pair(GROWN, V, properties=of("JSON", "AVRO")).refused(409, "Key schemas or Value schemas are different"),
            pair(K, V, properties=of("AVRO", "JSON")).registers(
                0
            ),  # the same text is the same pair, whatever its types
        ),
        Case(
            "under a transitive strategy, a half is compared with its oldest version first",
            pair(K, V, namespace="contract/BACKWARD_TRANSITIVE").registers(0),
            pair(K, GROWN, namespace="contract/BACKWARD_TRANSITIVE").registers(1),
            pair(K, record(field("v", "string")), namespace="contract/BACKWARD_TRANSITIVE").refused(409, OF_V),
        ),
        Case(
            "a look-up compares the texts of both halves",
            pair("", "", properties=of("INT32", "STRING")).registers(0),
            lookup({"key": "", "value": ""}, "KEY_VALUE", properties=of("INT64", "DATE")).finds(0),
            get().gives(kept("", "", properties=of("INT32", "STRING"))),
        ),
    ]
