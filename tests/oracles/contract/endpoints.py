"""Contract of the schema endpoints: successful responses, versions, and both kinds of deletion."""

from __future__ import annotations

import json
from typing import Any

from .avro import B_OR_0, EVOLVED, ONE, OTHER, A, field, record
from .script import Case, delete, get, lookup, register, send, would_take

TAKEN = {"schemaCompatibilityStrategy": "FULL", "compatibility": True}
JSON = "application/json"
NOT_FOUND = {"reason": "Schema not found"}
TEXT = '{ "type":"record", "name":"Ré\\u0041", "fields":[] }'
LONGER = TEXT.replace("[]", '[{"name":"a","type":"int","default":0}]')
AVRO_422 = "Invalid schema definition data for AVRO schema"


def shown(text: Any, version: int = 0, kind: str = "AVRO", **properties: str) -> dict[str, Any]:
    """Return the schema as GET returns it."""
    return {"version": version, "type": kind, "timestamp": "a time", "data": text, "properties": properties}


def cases() -> list[Case]:
    return [*_reading(), *_writing(), *_versions(), *_asking(), *_deleting()]


def _reading() -> list[Case]:
    return [
        Case(
            "a new topic has no schema",
            get().gives(NOT_FOUND, 404).as_a(JSON),
            get("schema/0").gives(NOT_FOUND, 404),
            get("schemas").gives({"getSchemaResponses": []}).as_a(JSON),
            lookup(ONE).finds(-1).as_a(JSON),
            would_take(ONE).gives(TAKEN, 202).as_a(JSON),
        ),
        Case(
            "a namespace that does not exist has no schemas",
            get(namespace="public/nope").gives(NOT_FOUND, 404),
            get("schema/0", namespace="nope/nope").gives(NOT_FOUND, 404),
            get("schemas", namespace="public/nope").gives({"getSchemaResponses": []}),
            lookup(ONE, namespace="nope/nope").finds(-1),
        ),
        Case(
            "GET returns the text unchanged",
            register(TEXT, properties={"source": "test"}).registers(0),
            get().gives(shown(TEXT, source="test")).as_a(JSON),
            get("schema/0").gives(shown(TEXT, source="test")),
            get("schemas").gives({"getSchemaResponses": [shown(TEXT, source="test")]}),
        ),
        Case(
            "all versions come oldest first",
            register(TEXT).registers(0),
            register(LONGER).registers(1),
            get("schemas").gives({"getSchemaResponses": [shown(TEXT), shown(LONGER, 1)]}),
            get().gives(shown(LONGER, 1)),
            get("schema/0").gives(shown(TEXT)),
        ),
    ]


def _writing() -> list[Case]:
    return [
        Case("the first POST creates the topic's version 0", register(ONE).registers(0).as_a(JSON)),
        Case(
            "properties are neither compared nor updated",
            register(TEXT, properties={"first": "1"}).registers(0),
            register(TEXT, properties={"second": "2"}).registers(0),
            get().gives(shown(TEXT, first="1")),
        ),
        Case(
            "unknown keys are ignored and scalars become text",
            send({"type": "STRING", "schema": "", "x": 1, "properties": {"n": 1, "b": True, "f": 1.5}}).registers(0),
            get().gives(shown("", kind="STRING", n="1", b="true", f="1.5")),
        ),
        Case("properties may be null", send({"type": "STRING", "schema": "", "properties": None}).registers(0)),
        Case(
            "the content type may name a charset",
            register(ONE).with_headers(Content_Type="application/json; charset=utf-8").registers(0),
        ),
        Case(
            "the query parameter that brokers add to redirects changes nothing",
            get("schemas?authoritative=true").gives({"getSchemaResponses": []}),
        ),
        Case("a trailing slash changes nothing", get("schemas/").gives({"getSchemaResponses": []})),
    ]


def _versions() -> list[Case]:
    first, second, third = EVOLVED
    return [
        Case(
            "an older schema keeps its version",
            register(first).registers(0),
            register(second).registers(1),
            register(third).registers(2),
            register(first).registers(0),
            register(second).registers(1),
            get("schema/1").gives(shown(json.dumps(second), 1)),
        ),
        Case(
            "a version is a number that Java can parse",
            register(ONE).registers(0),
            get("schema/007").refused(404, "Schema not found"),
            get("schema/+0"),
            get("schema/-1").refused(404, "Schema not found"),
            get("schema/1").refused(404, "Schema not found"),
            get("schema/abc").refused(500, 'For input string: "abc"').as_a(JSON),
            get("schema/1.0").refused(500, 'For input string: "1.0"'),
            get(f"schema/{2**63}").refused(500, f'For input string: "{2**63}"'),
        ),
        *[
            Case(
                f"a known schema keeps its version, and a new one is refused, under {strategy}",
                register(ONE, namespace=f"contract/{strategy}").registers(0),
                register(ONE, namespace=f"contract/{strategy}").registers(0),
                register(record(B_OR_0, A), namespace=f"contract/{strategy}").refused(409)
                if strategy == "ALWAYS_INCOMPATIBLE"
                else register(record(B_OR_0, A), namespace=f"contract/{strategy}").registers(1),
                register(ONE, namespace=f"contract/{strategy}").registers(0),
            )
            for strategy in ("ALWAYS_INCOMPATIBLE", "ALWAYS_COMPATIBLE", "FULL_TRANSITIVE")
        ],
    ]


def _asking() -> list[Case]:
    return [
        Case(
            "a look-up compares text and type",
            register(ONE).registers(0),
            lookup(ONE).finds(0),
            lookup(json.dumps(ONE) + " ").finds(-1),
            lookup(OTHER).finds(-1),
            lookup(ONE, "JSON").finds(-1),
            lookup("{").finds(-1),
        ),
        Case(
            "a compatibility check does not register the schema",
            register(ONE).registers(0),
            would_take(ONE).gives(TAKEN, 202),
            would_take(record(A, B_OR_0)).gives(TAKEN, 202),
            would_take(OTHER).refused(500, "Error during schema compatibility check with strategy FULL: ").as_a(JSON),
            would_take("{").refused(500, AVRO_422),
            get("schema/1").refused(404),
        ),
        Case(
            "a known schema is compatible under ALWAYS_INCOMPATIBLE if it is the latest",
            register(ONE, namespace="contract/ALWAYS_INCOMPATIBLE").registers(0),
            would_take(ONE, namespace="contract/ALWAYS_INCOMPATIBLE").gives(
                TAKEN | {"schemaCompatibilityStrategy": "ALWAYS_INCOMPATIBLE"}, 202
            ),
            would_take(OTHER, namespace="contract/ALWAYS_INCOMPATIBLE").refused(500),
        ),
    ]


def _deleting() -> list[Case]:
    return [
        Case(
            "a soft delete uses a version and hides all versions before it",
            register(EVOLVED[0]).registers(0),
            register(EVOLVED[1]).registers(1),
            delete().finds(2).as_a(JSON),
            *[get(leaf).gives(NOT_FOUND, 404) for leaf in ("schema", "schema/0", "schema/1", "schema/2")],
            get("schemas").gives({"getSchemaResponses": []}),
            lookup(EVOLVED[0]).finds(-1),
            register(record(field("quite", "string"), name="Other")).registers(3),
        ),
        Case(
            "after a soft delete the same schema gets a new version",
            register(ONE).registers(0),
            delete().finds(1),
            register(ONE).registers(2),
            delete("schema?force=false").finds(3),
            get().gives(NOT_FOUND, 404),
            get("schemas").gives({"getSchemaResponses": []}),
            register(ONE).registers(4),
        ),
        Case("a soft delete of nothing uses a version", delete().finds(0), register(ONE).registers(1)),
        Case(
            "after a forced delete versions start at 0",
            register(ONE).registers(0),
            delete("schema?force=true").finds(-1),
            get().gives(NOT_FOUND, 404),
            register(OTHER).registers(0),
            delete("schema?force=TRUE&authoritative=true").finds(-1),
        ),
        Case("a forced delete of nothing succeeds", delete("schema?force=true").finds(-1)),
        Case(
            "nothing is deleted in a tenant that does not exist",
            delete(namespace="nope/nope").gives({"reason": "Tenant does not exist"}, 404),
            delete("schema?force=true", namespace="nope/nope").gives({"reason": "Tenant does not exist"}, 404),
        ),
    ]
