"""Schemas in Avro's JSON, of the types AVRO, JSON and PROTOBUF, and in the older format of JSON topics.

Source: Pulsar's StructSchemaDataValidator and JsonSchemaCompatibilityCheck; each rule was observed on 4.0.8.
"""

from __future__ import annotations

import json
from typing import Any, Final

from streamnative_serdes._schema import Schema
from streamnative_serdes.errors import SchemaError

from .java_avro import OutsideOfParserError, java_parse
from .refusals import BrokerError, IncompatibleError, InvalidDataError
from .schema_data import SchemaData

_PARSE: Final = "org.apache.avro.SchemaParseException"
_JACKSON: Final = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "OBJECT", "ARRAY", "NULL", "ANY")
_GET_ID: Final = "com.fasterxml.jackson.module.jsonSchema.JsonSchema.getId()"


def avro(data: SchemaData) -> Schema:
    """The Avro schema of an AVRO, JSON or PROTOBUF text.

    Raises:
        InvalidDataError: Java's Avro does not parse the text.
        BrokerError: it is an old JSON schema, in Jackson's format.
    """
    try:
        return java_parse(data.text)
    except OutsideOfParserError:
        raise InvalidDataError(f"Invalid schema definition data for {data.type} schema") from None
    except SchemaError:
        old = jackson_kind(data)
        if old == "no schema":
            raise BrokerError("Schema not yet supported: null", _PARSE) from None
        if old == "array":
            raise BrokerError(f"Array has no items type: {data.text}", _PARSE) from None
        if old:
            raise BrokerError(f"Type not supported: {old}", _PARSE) from None
        raise InvalidDataError(f"Invalid schema definition data for {data.type} schema") from None


def jackson_kind(data: SchemaData) -> str | None:
    """The type of a JSON schema in the format of Jackson's JsonSchema, which Pulsar used before 2.1; None for Avro.

    The text ``null`` is accepted too: "no schema".

    Raises:
        BrokerError: Jackson does not know the type.
    """
    try:
        tree = json.loads(data.text) if data.type == "JSON" else None
    except ValueError:
        return None
    if data.type == "JSON" and tree is None:
        return "no schema"
    kind = tree.get("type") if isinstance(tree, dict) else None
    if not isinstance(kind, str) or is_avro(data):
        return None
    if kind.upper() not in _JACKSON:
        raise BrokerError(
            f"Can not resolve JsonSchema 'type' id of \"{kind}\", not recognized as one of standard values: "
            f"[{', '.join(_JACKSON)}]",
            "IllegalArgumentException",
        )
    return kind


def is_avro(data: SchemaData) -> bool:
    """Whether Java's parser accepts it as Avro, or fails with another exception than the parser's own."""
    try:
        java_parse(data.text)
    except OutsideOfParserError:
        return True
    except SchemaError:
        return False
    return True


def check_ids(old: SchemaData, new: SchemaData) -> None:
    """Compare two JSON schemas in Jackson's format, of which the broker looks at the ids alone.

    Raises:
        IncompatibleError: the ids differ.
        BrokerError: the old one has no id, or one is ``null``.
    """
    trees: list[Any] = [json.loads(data.text) for data in (old, new)]
    for name, tree in zip(("fromSchema", "toSchema"), trees, strict=True):
        if tree is None:
            raise BrokerError(f'Cannot invoke "{_GET_ID}" because "{name}" is null', "NullPointerException")
    before, after = (tree.get("id") for tree in trees)
    if before is None:
        raise BrokerError(
            f'Cannot invoke "String.equals(Object)" because the return value of "{_GET_ID}" is null',
            "NullPointerException",
        )
    if before != after:
        raise IncompatibleError(f"Incompatible Schema from {old.text} + to {new.text}")
