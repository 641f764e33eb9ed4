"""Compatibility errors: their wording, and Java's exceptions; contract/changes.py has what each strategy allows."""

from __future__ import annotations

import json

import pytest
from contract.avro import A_OR_0, A, B, enum, field, record

from streamnative_serdes._broker_rules.compatibility import can_read, check
from streamnative_serdes._broker_rules.java_text import java_text
from streamnative_serdes._broker_rules.refusals import BrokerError, IncompatibleError
from streamnative_serdes._schema import parse


@pytest.mark.parametrize("strategy", ["FULL", "BACKWARD_TRANSITIVE", "ALWAYS_INCOMPATIBLE"])
def test_a_first_schema_is_never_refused(strategy: str) -> None:
    check(strategy, parse(json.dumps(record(A)), strict=False), [])


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


def test_java_prints_only_what_it_has_read() -> None:
    text = java_text('{"type": "enum", "name": "E", "symbols": ["A"], "default": 1, "size": 3, "n": 1}')
    assert json.loads(text) == {"type": "enum", "name": "E", "symbols": ["A"], "n": 1}


@pytest.mark.parametrize(
    ("writer", "reader", "words", "kind"),
    [
        (
            record(A, B),
            record(field("a", default=1, aliases=["b"])),
            "Duplicate field a in record R: a type:INT pos:1 and a type:INT pos:0.",
            "org.apache.avro.AvroRuntimeException",
        ),
        (
            record(field("u", [record(name="X"), record(name="Y")])),
            record(field("u", record(name="Y", aliases=["X"]))),
            "Duplicate in union:Y",
            "org.apache.avro.AvroRuntimeException",
        ),
        (record(), record(field("e", enum("X"), default="Y")), "Cannot invoke", "java.lang.NullPointerException"),
        (
            record(),
            record(field("s", "string", default=1)),
            "Non-string default value for string: 1",
            "org.apache.avro",
        ),
        (
            record(A),
            record(A_OR_0, field("r", record(A, name="I"), default={})),
            "No default value for: a",
            "org.apache",
        ),
    ],
)
def test_a_java_exception_is_an_error_of_the_broker(writer: object, reader: object, words: str, kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        can_read(parse(json.dumps(writer), strict=False), parse(json.dumps(reader), strict=False))
    assert str(caught.value).startswith(words)
    assert caught.value.kind.startswith(kind)
