"""What Pulsar 4.2.4 answers otherwise than 4.0.8: the cases of the contract, and the requests in them, by number.

Its Avro is 1.12: defaults may be of any branch of a union, and names have only the letters of the specification.
JSON schemas are Avro alone, no longer Jackson's. It has the type EXTERNAL. Its web server, Jetty 12, refuses ``%2F``
in names, has another page for bad paths, and sends larger pages; ``LocalRegistry(flavour="4.2")`` has its other ways.

Recorded from a Pulsar 4.2.4, without topic-level policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from avro_names import NAMES, Named

from .script import ANYTHING, Ask, Case

AVRO_422: Final = "Invalid schema definition data for AVRO schema"
JSON_422: Final = "Invalid schema definition data for JSON schema"
NO_SYMBOL: Final = "enum value 'Y' is not in the enum symbol set: [X]"
UNREADABLE: Final = (
    "Error during schema compatibility check with strategy FULL: org.apache.avro.SchemaValidationException: "
    "Unable to read schema: \n{\n"
)


def registered(version: int) -> dict[str, Any]:
    return {"version": {"version": version}}


def _of_name(named: Named) -> dict[int, tuple[int, Any]]:
    return {0: (200, registered(0))} if named.by_4_2 else {0: (422, AVRO_422), 1: (422, AVRO_422)}


# Promise -> number of the request -> status, and the JSON of a success or the beginning of the error text.
ANSWERS: Final[Mapping[str, Mapping[int, tuple[int, Any]]]] = {
    "refused: a type of Pulsar 4.1": {
        0: (200, registered(0)),
        1: (200, {"version": 0, "type": "EXTERNAL", "timestamp": "a time", "data": "", "properties": {}}),
    },
    "refused: a property that is null": {
        0: (500, 'Cannot invoke "java.lang.CharSequence.length()" because "seq" is null'),
    },
    "names may have letters of any alphabet, and namespaces are not checked": {
        1: (422, AVRO_422),
    },
    "a reference without a namespace is the type without one": {
        0: (422, AVRO_422),
        3: (422, AVRO_422),
    },
    **{f"names: {named.what}": _of_name(named) for named in NAMES if named.by_1_11 != named.by_4_2},
    "a bad default is accepted once, and then refuses every schema: the second branch of a union": {
        1: (200, registered(0)),
        4: (200, registered(1)),
    },
    "a bad default is accepted once, and then refuses every schema: anything for a union without branches": {
        1: (500, "Invalid default for field a: 0 not a []"),
        4: (500, "Invalid default for field a: 0 not a []"),
    },
    "a default that is needed and is not a symbol is a NullPointerException": {
        1: (500, NO_SYMBOL),
        2: (500, NO_SYMBOL),
    },
    "a default that is needed and is not a symbol is a 409 of a transitive strategy": {
        1: (409, "org.apache.avro.path.TracingAvroTypeException: enum value 'Y' is not in the enum symbol set: [X]"),
    },
    "a refusal with 170 fields is sent only as a reason phrase": {
        1: (409, UNREADABLE),
    },
    "a refusal with 1500 fields is sent only as a reason phrase": {
        1: (409, "Conflict"),
    },
    "an old schema of a JSON topic is accepted once, and then refuses every schema": {
        0: (422, JSON_422),
        1: (422, JSON_422),
        2: (200, registered(0)),
    },
    "an old schema of a JSON topic is refused after an Avro schema": {
        1: (422, JSON_422),
        2: (500, JSON_422),
    },
    "an old schema of a JSON topic with a type unknown to Jackson is a 500": {
        0: (422, JSON_422),
        1: (422, JSON_422),
    },
    "two JSON schemas in Jackson's format are compared by id": {
        0: (422, JSON_422),
        1: (500, JSON_422),
        2: (500, JSON_422),
        3: (500, JSON_422),
        5: (422, JSON_422),
        6: (422, JSON_422),
        7: (500, JSON_422),
        8: (500, JSON_422),
    },
    "a JSON schema may be null": {
        0: (422, JSON_422),
        1: (404, "Schema not found"),
        2: (200, registered(0)),
        3: (422, JSON_422),
        4: (500, JSON_422),
        6: (200, {"version": -1}),
    },
    "a transitive strategy parses all JSON schemas as Avro": {
        0: (422, JSON_422),
        1: (500, JSON_422),
        2: (202, {"schemaCompatibilityStrategy": "FULL_TRANSITIVE", "compatibility": True}),
        4: (500, JSON_422),
    },
    "a pair cannot contain EXTERNAL, which Pulsar 4.0 does not have": {
        0: (200, registered(0)),
        1: (
            409,
            "Key schemas or Value schemas are different schema type, from key schema type is EXTERNAL",
        ),
    },
    "JSON in Jackson's format is stored in a pair, and never evolves": {
        0: (422, JSON_422),
        1: (404, "Schema not found"),
        2: (422, JSON_422),
        3: (200, registered(0)),
        4: (202, {"schemaCompatibilityStrategy": "FULL", "compatibility": True}),
    },
    'properties of a key cannot be {"a":[]}': {
        0: (500, "java.lang.IllegalStateException: Array must have size 1, but has size 0"),
        3: (500, "java.lang.IllegalStateException: Array must have size 1, but has size 0"),
    },
    'properties of a key cannot be {"a":[1,2]}': {
        0: (500, "java.lang.IllegalStateException: Array must have size 1, but has size 2"),
        3: (500, "java.lang.IllegalStateException: Array must have size 1, but has size 2"),
    },
    "numbers and text of a pair keep their form": {
        0: (422, AVRO_422),
        1: (404, "Schema not found"),
    },
    "null stands for the text null, which STRING and JSON accept": {
        3: (422, JSON_422),
        4: (404, "Schema not found"),
    },
    "a topic whose name is that of a partition has no partitions": {
        3: (
            409,
            "Partition metadata not found for the partitioned topic: persistent://public/default/{case}",
        ),
    },
    "%2Fb in a name is the same as %252Fb": {
        0: (412, "Topic name is not valid"),
        1: (412, "Topic name is not valid"),
    },
    "a path with % is invalid": {
        0: (400, "<html>"),
    },
    "a path with %zz is invalid": {
        0: (400, "<html>"),
    },
    "a path with %00 is invalid": {
        0: (400, "<html>"),
    },
}


def on_4_2(case: Case) -> Case:
    """The case with what 4.2.4 answers."""
    answers = ANSWERS.get(case.promise, {})
    asks = [_with(ask, *answers[number]) if number in answers else ask for number, ask in enumerate(case.asks)]
    changed = Case(case.promise, *asks)
    assert changed.name == case.name
    return changed


def _with(ask: Ask, status: int, expected: Any) -> Ask:
    if status < 300:
        return replace(ask, refusal=None).gives(expected, status)
    return replace(ask, expected=ANYTHING, content_type=ANYTHING).refused(status, expected)
