"""Contract of refusals: what the broker refuses, and in which of its four error formats."""

from __future__ import annotations

from typing import Any, Final

from avro_names import NAMES

from .avro import ONE, OTHER, A, array, enum, field, fixed, record
from .script import Ask, Case, delete, get, lookup, post, put, register, schema_path, send, would_take

Json = Any
AVRO_422 = "Invalid schema definition data for AVRO schema"
JSON_422 = "Invalid schema definition data for JSON schema"
NO_ENUM = "No enum constant org.apache.pulsar.common.schema.SchemaType."
NO_SCHEMA = (
    'Cannot invoke "String.getBytes(java.nio.charset.Charset)" because the return value of '
    '"org.apache.pulsar.common.protocol.schema.PostSchemaPayload.getSchema()" is null'
)
NO_PAYLOAD = (
    'Cannot invoke "org.apache.pulsar.common.protocol.schema.PostSchemaPayload.getType()" because "payload" is null'
)
NO_HALF = 'Cannot invoke "com.google.gson.JsonElement.toString()" because "jsonElement" is null'
NO_OBJECT = "class com.google.gson.JsonPrimitive cannot be cast to class com.google.gson.JsonObject"
NO_SYMBOL = (
    'Cannot invoke "java.lang.Integer.intValue()" because the return value of "java.util.Map.get(Object)" is null'
)
INCOMPATIBLE = "Error during schema compatibility check with strategy FULL: org.apache.avro.SchemaValidationException: "
PAGE, TEXT_PAGE = "text/html;charset=iso-8859-1", "text/plain;charset=iso-8859-1"


def a(kind: Json, **more: Json) -> Json:
    return record(field("a", kind, **more))


# (schema text, type, status, beginning of the error text)
SCHEMAS: Final[list[tuple[str, str, Json, int, str]]] = [
    ("an Avro schema that is not JSON", "AVRO", "{", 422, AVRO_422),
    ("an empty Avro schema", "AVRO", "", 422, AVRO_422),
    ("an Avro schema without type", "AVRO", "{}", 422, AVRO_422),
    ("a bare word", "AVRO", "string", 422, AVRO_422),
    ("null as an Avro schema", "AVRO", "null", 422, AVRO_422),
    ("the path of a file", "AVRO", "schemas/user.avsc", 422, AVRO_422),
    ("a union as an Avro schema", "AVRO", ["null", "string"], 422, "Avro schema typed [UNION] is not supported"),
    ("a type inside a type", "AVRO", a({"type": {"type": "int"}}), 422, AVRO_422),
    ("a union inside a type", "AVRO", a({"type": ["null", "int"]}), 422, AVRO_422),
    ("a record without fields", "AVRO", {"type": "record", "name": "R"}, 422, AVRO_422),
    ("a record without name", "AVRO", {"type": "record", "fields": []}, 422, AVRO_422),
    ("a record with an empty name", "AVRO", record(name=""), 422, AVRO_422),
    ("a record's name with a hyphen", "AVRO", record(name="R-1"), 422, AVRO_422),
    ("a field's name with a hyphen", "AVRO", record(field("a-b")), 422, AVRO_422),
    ("a duplicate field", "AVRO", record(A, A), 422, AVRO_422),
    ("a field of an unknown type", "AVRO", a("Unknown"), 422, AVRO_422),
    ("an unknown order", "AVRO", record(field("a", order="sideways")), 422, AVRO_422),
    ("a symbol with a hyphen", "AVRO", enum("A-1"), 422, AVRO_422),
    ("a duplicate symbol", "AVRO", enum("X", "X"), 422, AVRO_422),
    ("an enum's default that is not a symbol", "AVRO", enum("X", default="Y"), 422, AVRO_422),
    ("a fixed without size", "AVRO", {"type": "fixed", "name": "F"}, 422, AVRO_422),
    ("a fixed of size -1", "AVRO", fixed(-1), 422, AVRO_422),
    ("an array without items", "AVRO", {"type": "array"}, 422, AVRO_422),
    ("a union with a type twice", "AVRO", a(["int", "int"]), 422, AVRO_422),
    ("a union in a union", "AVRO", a(["null", ["int"]]), 422, AVRO_422),
    ("a double's default that is not a number", "AVRO", a("double", default="x"), 422, AVRO_422),
    ("a JSON topic's schema that is not JSON", "JSON", "{", 422, JSON_422),
    ("a JSON topic's double whose default is not a number", "JSON", a("double", default="x"), 422, JSON_422),
    ("a PROTOBUF schema that is not JSON", "PROTOBUF", "{", 422, "Invalid schema definition data for PROTOBUF schema"),
    ("a PROTOBUF_NATIVE schema of one letter", "PROTOBUF_NATIVE", "x", 422, "deserialize ProtobufNative Schema failed"),
    ("AUTO", "AUTO", "", 422, "Schema AUTO is a client-side schema type"),
    ("AUTO_CONSUME", "AUTO_CONSUME", "", 422, "Schema AUTO_CONSUME is a client-side schema type"),
    ("AUTO_PUBLISH", "AUTO_PUBLISH", "", 422, "Schema AUTO_PUBLISH is a client-side schema type"),
    ("STRING with a text", "STRING", "x", 422, "Invalid schema definition data for string schema : 'x'"),
    (
        "INT32 with a text", "INT32", "xyz", 422,
        "Invalid schema definition data for primitive schemas :"
        "length of schema data should be zero, but 3 bytes is found",
    ),
    ("a type in small letters", "avro", ONE, 500, NO_ENUM + "avro"),
    ("a type of Pulsar 4.1", "EXTERNAL", "", 500, NO_ENUM + "EXTERNAL"),
    ("an empty type", "", "", 500, NO_ENUM),
    ("a KEY_VALUE that is not JSON", "KEY_VALUE", "{", 500, "what Gson says"),
    ("an empty KEY_VALUE", "KEY_VALUE", "", 500, NO_OBJECT),
    ("a KEY_VALUE that is text", "KEY_VALUE", '"x"', 500, NO_OBJECT),
    ("a KEY_VALUE that is a list", "KEY_VALUE", "[]", 500, NO_OBJECT),
    ("a KEY_VALUE without key", "KEY_VALUE", '{"value":""}', 500, NO_HALF),
    ("a KEY_VALUE without value", "KEY_VALUE", '{"key":""}', 500, NO_HALF),
]  # fmt: skip

# Request bodies that do not describe a schema.
PAYLOADS: Final[list[tuple[str, Json, int, str]]] = [
    ("no type", {"schema": ""}, 500, "Name is null"),
    ("the type null", {"type": None, "schema": ""}, 500, "Name is null"),
    ("the key data, as in responses, in place of schema", {"type": "AVRO", "data": "x"}, 500, NO_SCHEMA),
    ("a property that is null", {"type": "STRING", "schema": "", "properties": {"a": None}}, 500, "null"),
    ("no body", b"", 500, NO_PAYLOAD),
    ("null as the body", b"null", 500, NO_PAYLOAD),
    ("a body that is not JSON", b"{x", 400, "what Jackson says"),
    ("a list as the body", b"[]", 400, "what Jackson says"),
    ("text as the body", b'"x"', 400, "what Jackson says"),
    ("a number as the body", b"7", 400, "what Jackson says"),
    ("a schema that is an object", {"schema": ONE}, 400, "what Jackson says"),
    ("a schema that is a list", {"schema": ["a"]}, 400, "what Jackson says"),
    ("properties that are a list", {"type": "STRING", "schema": "", "properties": []}, 400, "what Jackson says"),
    ("a property that is an object", {"type": "STRING", "schema": "", "properties": {"a": {}}}, 400, "what Jackson"),
]

# Accepted in a first schema; comparing it with another schema fails.
BAD_DEFAULTS: Final[list[tuple[str, Json, str]]] = [
    ("text for an int", a("int", default="x"), 'Invalid default for field a: "x" not a "int"'),
    ("an int that is too large", a("int", default=2**40), 'Invalid default for field a: 1099511627776 not a "int"'),
    ("1.0 for a long", a("long", default=1.0), 'Invalid default for field a: 1.0 not a "long"'),
    ("null for text", a("string", default=None), 'Invalid default for field a: null not a "string"'),
    ("0 for a boolean", a("boolean", default=0), 'Invalid default for field a: 0 not a "boolean"'),
    (
        "the second branch of a union", a(["null", "int"], default=5),
        'Invalid default for field a: 5 not a ["null","int"]',
    ),
    (
        "text in an array of ints", a(array("int"), default=["x"]),
        'Invalid default for field a: ["x"] not a {"type":"array","items":"int"}',
    ),
    (
        "a record that lacks a field", a(record(A, name="I"), default={}),
        'Invalid default for field a: {} not a {"type":"record","name":"I","fields":[{"name":"a","type":"int"}]}',
    ),
    ("anything for a union without branches", a([], default=0), "Index 0 out of bounds for length 0"),
]  # fmt: skip


def cases() -> list[Case]:
    return [*_schemas(), *_defaults(), *_incompatible(), *_requests(), *_accept(), *_old_json()]


def _schemas() -> list[Case]:
    return [
        *[
            Case(f"refused: {name}", register(schema, kind).refused(status, begins), get().refused(404))
            for name, kind, schema, status, begins in SCHEMAS
        ],
        *[
            Case(f"refused: {name}", send(payload).refused(status, begins), get().refused(404))
            for name, payload, status, begins in PAYLOADS
        ],
        Case(
            "names may have letters of any alphabet, and namespaces are not checked",
            register(record(field("größe"), name="Ré")).registers(0),
            register(record(field("größe"), name="a b.Ré")).registers(1),
        ),
        *[
            Case(f"names: {named.what}", register(named.schema).registers(0), register(named.schema).registers(0))
            if named.by_1_11
            else Case(f"names: {named.what}", register(named.schema).refused(422, AVRO_422))
            for named in NAMES
        ],
        Case(
            "a reference without a namespace is the type without one",
            register(record(field("n", ["null", ".R"]))).registers(0),
            register(record(field("n", ["null", "R"]))).registers(0),
            lookup(record(field("n", ["null", "R"]), name=".R")).finds(-1),
            register(record(field("n", ["null", ".R"]), A)).refused(409, INCOMPATIBLE),
        ),
    ]


def _defaults() -> list[Case]:
    needed = record(A, field("e", enum("X"), default="Y"))
    transitive = "contract/FULL_TRANSITIVE"
    return [
        *[
            Case(
                f"a bad default is accepted once, and then refuses every schema: {name}",
                register(schema).registers(0),
                register(schema).refused(500, begins),
                lookup(schema).finds(0),
                would_take(schema).gives({"schemaCompatibilityStrategy": "FULL", "compatibility": True}, 202),
                register(record(field("z", default=0))).refused(500, begins),
            )
            for name, schema, begins in BAD_DEFAULTS
        ],
        Case(
            "any text is accepted as the default of bytes, fixed and enum until it is needed",
            register(record(field("b", "bytes", default="Ā"), field("f", fixed(2), default="abc"))).registers(0),
            register(record(field("b", "bytes", default="Ā"), field("f", fixed(2), default="abc"), A)).refused(409),
            register(record(field("c", default=0))).registers(1),
        ),
        Case(
            "a default that is needed and is not a symbol is a NullPointerException",
            register(record(A)).registers(0),
            register(needed).refused(500, NO_SYMBOL),
            would_take(needed).refused(500, NO_SYMBOL),
        ),
        Case(
            "a default that is not a symbol is harmless if it is not needed",
            register(needed).registers(0),
            register(record(*needed["fields"], field("b", default=0))).registers(1),
        ),
        Case(
            "a default that is needed and is not a symbol is a 409 of a transitive strategy",
            register(record(A), namespace=transitive).registers(0),
            register(needed, namespace=transitive).refused(409, f"java.lang.NullPointerException: {NO_SYMBOL}"),
        ),
    ]


TWO = record(A, field("b", default=0))
TWINS = record(field("a", default=0, aliases=["b"]))
ONE_NAME = "Duplicate field a in record R: a type:INT pos:1 and a type:INT pos:0."
X, Y = record(field("x"), name="X"), record(field("x"), name="Y")
TWIN_BRANCHES = record(field("a", [X, {**Y, "aliases": ["X"]}]), field("b", default=0))
NODE = record(field("b", record(field("a", ["null", "P"]), name="B")), field("p"), name="P")
UNFINISHED = record(
    field("x", [record(field("b", record(field("a", ["null", "P"]), name="B")), field("miss"), name="P"),
                record(field("p", default=0), field("b", "B"), name="P3")]),
    field("y", "B"),
)  # fmt: skip


def _incompatible() -> list[Case]:
    transitive = "contract/BACKWARD_TRANSITIVE"
    return [
        Case("an incompatible schema is a page of Jetty", register(ONE), register(OTHER).refused(409, INCOMPATIBLE)),
        Case(
            "a refusal shows both schemas as Java prints them",
            register(
                '{"fields":[{"type":{"name":"E","type":"enum","symbols":["X"],"x":1,"aliases":["m.F"]},"name":"a",'
                '"order":"ignore","aliases":["u"],"doc":"d","y":[{}],"default":"X"},{"name":"b","type":["null","E"]},'
                '{"type":{"type":"double"},"name":"c","default":1e10}],"x":[],"name":"n.R","type":"record"}'
            ).registers(0),
            register(OTHER).refused(409, INCOMPATIBLE),
        ),
        *[
            Case(
                f"a refusal with {count} fields is sent {'completely' if has_body else 'only as a reason phrase'}",
                register(_wide(count)).registers(0),
                register(_wide(count + 1)).refused(409, INCOMPATIBLE).as_a("application/json" if has_body else None),
                register(_wide(count + 1)).accepting("*/*").refused(409).as_a(PAGE if count == 50 else None),
            )
            for count, has_body in ((50, True), (165, True), (170, False), (1500, False))
        ],
        Case(
            "aliases that give two fields the same name are an error of Java",
            register(TWO).registers(0),
            register(TWINS).refused(500, ONE_NAME),
            would_take(TWINS).refused(500, ONE_NAME),
        ),
        Case(
            "aliases that give two fields the same name are a 409 of a transitive strategy",
            register(TWO, namespace=transitive).registers(0),
            register(TWINS, namespace=transitive).refused(409, f"org.apache.avro.AvroRuntimeException: {ONE_NAME}"),
        ),
        Case(
            "aliases that give two branches of a union the same name are an error of Java",
            register(a([X, Y])).registers(0),
            register(TWIN_BRANCHES).refused(500, "Duplicate in union:Y"),
        ),
        Case(
            "a record that Java parses incompletely and then uses is a NullPointerException",
            register(record(field("x", NODE), field("y", "B"))).registers(0),
            register(UNFINISHED).refused(500, 'Cannot invoke "org.apache.avro.Schema$Field.pos()"'),
        ),
        Case(
            "a schema of another type is incompatible",
            register(ONE).registers(0),
            register(ONE, "JSON").refused(409, "Incompatible schema: exists schema type AVRO, new schema type JSON"),
            register("", "STRING").refused(409, "Incompatible schema: exists schema type AVRO, new schema type STRING"),
            would_take(ONE, "JSON").refused(500, "Incompatible schema: exists schema type AVRO"),
        ),
    ]  # fmt: skip


def _wide(count: int) -> Json:
    return record(*[field(f"f{number:05}", "string") for number in range(count)])


def _requests() -> list[Case]:
    empty = Ask("POST", schema_path())
    return [
        Case(
            "another content type is a 415",
            send({}).with_headers(Content_Type="text/plain").refused(415, "Unsupported Media Type"),
            send({}).with_headers(Content_Type="application/vnd.api+json").refused(415, "Unsupported Media Type"),
            send({}).with_headers(Content_Type=None).refused(415, "Unsupported Media Type"),
            empty.refused(500, NO_PAYLOAD),
            empty.with_headers(Content_Type="text/plain").refused(415),
        ),
        Case(
            "a wrong method is a 405, with a page only for GET and POST",
            get("compatibility").refused(405, "Method Not Allowed").as_a("application/json"),
            get("version").refused(405, "Method Not Allowed"),
            send({}, "schemas").refused(405, "Method Not Allowed").as_a("application/json"),
            delete("schemas").done(405),
            put(schema_path(), {}).done(405),
            Ask("PATCH", schema_path()).done(405),
        ),
        *[
            Case(
                f"an unknown path is Jetty's 404: {name}", get(path).refused(404, "Not Found").as_a("application/json")
            )
            for name, path in [
                ("outside", "/nothing"),
                ("in the API", "/admin/v2/nothing"),
                ("a topic alone", schema_path("")[:-1]),
                ("another leaf", schema_path("else")),
                ("no topic", "/admin/v2/schemas/public/default/schema"),
                ("no namespace", "/admin/v2/schemas/public//t/schema"),
            ]
        ],
        Case(
            "a POST needs tenant and namespace",
            register(ONE, namespace="public/nope").gives({"reason": "Namespace does not exist"}, 404),
            register(ONE, namespace="nope/nope").gives({"reason": "Namespace does not exist"}, 404),
            would_take(ONE, namespace="public/nope").gives({"reason": "Namespace does not exist"}, 404),
            would_take(ONE, namespace="nope/nope").gives({"reason": "Tenant does not exist"}, 404),
            post(schema_path(namespace="public/nope"), b"{x").refused(400),
        ),
    ]


# (Accept header, content type of the error page; None if there is no page)
ACCEPT: Final[list[tuple[str | None, int, str | None]]] = [
    ("application/json", 409, "application/json"),
    (None, 409, PAGE),
    ("*/*", 409, PAGE),
    ("", 409, None),
    ("application/*", 409, None),
    ("text/html, application/json", 409, PAGE),
    ("text/html;q=0.1, application/json", 409, "application/json"),
    ("application/json;q=0.1, */*;q=0.5", 409, PAGE),
    ("application/xml, application/json;q=0.1", 409, "application/json"),
    ("text/html", 406, PAGE),
    ("text/plain", 406, TEXT_PAGE),
    ("text/json", 406, "text/json"),
    ("application/xml", 406, None),
]


def _accept() -> list[Case]:
    return [
        Case(
            f"a client that accepts {accept!r} gets a {status} as {kind}",
            register(ONE).registers(0),
            register(OTHER).accepting(accept).refused(status).as_a(kind),
            register("{").accepting(accept).refused(422 if status == 409 else 406).as_a(kind),
            get("else").accepting(accept).refused(404).as_a(kind),
            get("schema/7").accepting(accept).refused(404 if status == 409 else 406),
            get().accepting(accept).refused(406) if status == 406 else get().accepting(accept).as_a("application/json"),
            delete("schemas").accepting(accept).done(405),
        )
        for accept, status, kind in ACCEPT
    ]


def _old_json() -> list[Case]:
    """In old Pulsar, JSON topics had JSON schemas of Jackson instead of Avro schemas."""
    old, taken = '{"type":"object","id":"urn:x"}', {"schemaCompatibilityStrategy": "FULL", "compatibility": True}
    return [
        Case(
            "an old schema of a JSON topic is accepted once, and then refuses every schema",
            register(old, "JSON").registers(0),
            register(old, "JSON").refused(500, "Type not supported: object"),
            register(ONE, "JSON").refused(500, "Type not supported: object"),
            would_take(ONE, "JSON").gives(taken, 202),
        ),
        Case(
            "an old schema of a JSON topic is refused after an Avro schema",
            register(ONE, "JSON").registers(0),
            register(old, "JSON").refused(500, "Type not supported: object"),
            would_take(old, "JSON").gives(taken, 202),
        ),
        Case(
            "an old schema of a JSON topic with a type unknown to Jackson is a 500",
            register('{"type":"objec"}', "JSON").refused(500, "Can not resolve JsonSchema 'type' id of \"objec\""),
            register(record(field("a-b")), "JSON").refused(500, "Can not resolve JsonSchema 'type' id of \"record\""),
        ),
    ]
