"""Schemas as the broker stores them: validation by type, the stored form, equality and compatibility.

Source: Pulsar's SchemaDataValidator, SchemaRegistryServiceImpl and SchemaUtils; each rule was observed on 4.0.8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes._schema import Schema, Union
from streamnative_serdes.errors import SchemaError

from .compatibility import check
from .java_avro import OutsideOfParserError, check_defaults, java_parse
from .java_text import compact
from .refusals import BrokerError, IncompatibleError, InvalidDataError

AVRO_TYPES: Final = frozenset({"AVRO", "JSON", "PROTOBUF"})  # their text is an Avro schema
_CHECKED: Final = frozenset({"AVRO", "JSON"})  # the broker does not check PROTOBUF for compatibility
_CLIENT_SIDE: Final = frozenset({"AUTO", "AUTO_CONSUME", "AUTO_PUBLISH"})
_TEXTLESS: Final = frozenset(
    {"BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "DATE", "TIME", "TIMESTAMP"}
    | {"INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"}
)
_TYPES: Final = AVRO_TYPES | _CLIENT_SIDE | _TEXTLESS | {"NONE", "BYTES", "STRING", "KEY_VALUE", "PROTOBUF_NATIVE"}
_GSON: Final = "com.google.gson"
_PARSE: Final = "org.apache.avro.SchemaParseException"
_JACKSON: Final = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "OBJECT", "ARRAY", "NULL", "ANY")


@dataclass(frozen=True, slots=True)
class SchemaData:
    """A schema as the broker stores it; the text of KEY_VALUE is compact JSON with the two halves."""

    type: str
    text: str
    properties: Mapping[str, str]

    def halves(self) -> tuple[SchemaData, SchemaData]:
        """Key and value of a KEY_VALUE schema; a half without a type is BYTES, as in the broker.

        Raises:
            BrokerError: a property names a type that does not exist.
        """
        tree = json.loads(self.text)
        return self._half("key", tree), self._half("value", tree)

    def _half(self, name: str, tree: Mapping[str, Any]) -> SchemaData:
        kind = self.properties.get(f"{name}.schema.type", "BYTES")
        return SchemaData(_known_type(kind), "" if tree[name] == "" else compact(tree[name]), {})

    def shown(self) -> str:
        """The text in the response to a GET.

        A KEY_VALUE half that is not a structure is shown empty, so a half without a type in ``properties`` is lost.
        """
        if self.type != "KEY_VALUE":
            return self.text
        key, value = (json.loads(half.text) if half.type in AVRO_TYPES else "" for half in self.halves())
        return compact({"key": key, "value": value})


def from_post(kind: str | None, text: str, properties: Mapping[str, str | None]) -> SchemaData:
    """The posted schema in the broker's form, not yet validated.

    Raises:
        BrokerError: the type is unknown, or a KEY_VALUE text lacks one of its halves.
    """
    if kind == "KEY_VALUE":
        text = compact(_two_halves(text))
    if kind is None:
        raise BrokerError("Name is null", "NullPointerException")
    given = {key: value for key, value in properties.items() if value is not None}
    if len(given) != len(properties):
        raise BrokerError("", "NullPointerException")  # protobuf's setValue(null)
    return SchemaData(_known_type(kind), text, given)


def _known_type(kind: str) -> str:
    if kind not in _TYPES:
        raise BrokerError(
            f"No enum constant org.apache.pulsar.common.schema.SchemaType.{kind}", "IllegalArgumentException"
        )
    return kind


def _two_halves(text: str) -> dict[str, Any]:
    try:
        tree = json.loads(text) if text.strip() else None
    except ValueError as error:
        raise BrokerError(
            f"{_GSON}.stream.MalformedJsonException: {error} path $", f"{_GSON}.JsonSyntaxException"
        ) from None
    if not isinstance(tree, dict):
        raise BrokerError(
            f"class {_GSON}.JsonPrimitive cannot be cast to class {_GSON}.JsonObject "
            f"({_GSON}.JsonPrimitive and {_GSON}.JsonObject are in unnamed module of loader 'app')",
            "ClassCastException",
        )
    if "key" not in tree or "value" not in tree:
        raise BrokerError(
            f'Cannot invoke "{_GSON}.JsonElement.toString()" because "jsonElement" is null', "NullPointerException"
        )
    return {"key": tree["key"], "value": tree["value"]}


def validate(data: SchemaData) -> None:
    """Pulsar's SchemaDataValidator.

    Raises:
        InvalidDataError: as above.
    """
    if data.type in AVRO_TYPES:
        if jackson_kind(data):
            return
        root = avro(data).root
        if data.type == "AVRO" and isinstance(root, Union):
            raise InvalidDataError("Avro schema typed [UNION] is not supported")
    elif data.type == "KEY_VALUE":
        for half in data.halves():
            if half.type == "KEY_VALUE":  # the broker reads four bytes of the text as a length
                raise BrokerError("Java heap space", "OutOfMemoryError")
            validate(half)
    elif data.type in _CLIENT_SIDE:
        raise InvalidDataError(f"Schema {data.type} is a client-side schema type")
    elif data.type == "STRING" and data.text:
        raise InvalidDataError(f"Invalid schema definition data for string schema : '{data.text}'")
    elif data.type in _TEXTLESS and data.text:
        raise InvalidDataError(
            "Invalid schema definition data for primitive schemas :length of schema data should be zero, "
            f"but {len(data.text.encode())} bytes is found"
        )
    elif data.type == "PROTOBUF_NATIVE" and '"fileDescriptorSet"' not in data.text:
        raise InvalidDataError("deserialize ProtobufNative Schema failed")


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
        if old == "array":
            raise BrokerError(f"Array has no items type: {data.text}", _PARSE) from None
        if old:
            raise BrokerError(f"Type not supported: {old}", _PARSE) from None
        raise InvalidDataError(f"Invalid schema definition data for {data.type} schema") from None


def jackson_kind(data: SchemaData) -> str | None:
    """The type of a JSON schema in the format of Jackson's JsonSchema, which Pulsar used before 2.1; None for Avro.

    Raises:
        BrokerError: Jackson does not know the type.
    """
    try:
        tree = json.loads(data.text) if data.type == "JSON" else None
    except ValueError:
        return None
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


def find(data: SchemaData, existing: Sequence[SchemaData]) -> int | None:
    """Index in ``existing`` of the schema that POST considers identical, or None.

    Schemas are compared as parsed, or as text if the type has no parser. Properties are not compared.

    Raises:
        BrokerError: a default does not fit its field. The broker accepts such a schema as a topic's first one, and then
            fails at each comparison.
    """
    if data.type in AVRO_TYPES and existing:
        ours = _checked(data)
        for position, other in enumerate(existing):
            if other.type in AVRO_TYPES and ours.same_as(_checked(other)) and other.type == data.type:
                return position
        return None
    return find_exact(data, existing)


def find_exact(data: SchemaData, existing: Sequence[SchemaData]) -> int | None:
    """Index in ``existing`` of the same text and type, or None."""
    wanted = (data.type, data.text)
    return next((position for position, other in enumerate(existing) if (other.type, other.text) == wanted), None)


def _checked(data: SchemaData) -> Schema:
    schema = avro(data)
    check_defaults(schema)
    return schema


def check_compatible(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    """Check whether the strategy accepts ``new`` after ``existing``, oldest first.

    Raises:
        IncompatibleError: it does not.
        BrokerError: Java's Avro fails on one of the schemas.
    """
    if strategy == "ALWAYS_COMPATIBLE" or not existing:
        return
    for old in existing if strategy.endswith("_TRANSITIVE") else existing[-1:]:
        if old.type != new.type:
            raise IncompatibleError(f"Incompatible schema: exists schema type {old.type}, new schema type {new.type}")
    if strategy.endswith("_TRANSITIVE"):
        try:
            _check_type(strategy, new, existing)
        except BrokerError as error:
            raise IncompatibleError(f"{error.kind}: {error}") from error  # the broker catches it only here
    elif find_exact(new, existing[-1:]) is None:
        _check_type(strategy, new, existing)


def _check_type(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    if new.type in _CHECKED:
        if not all(map(is_avro, (new, *existing[-1:]))):
            return  # the broker compares Jackson's schemas only by their id
        check(strategy, avro(new), [avro(old) for old in existing])
    elif new.type == "KEY_VALUE":
        _check_halves(strategy, new, existing)
    elif strategy == "ALWAYS_INCOMPATIBLE":
        raise IncompatibleError("Schema compatibility strategy is ALWAYS_INCOMPATIBLE")


def _check_halves(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    key, value = new.halves()
    olds = [old.halves() for old in (existing if strategy.endswith("_TRANSITIVE") else existing[-1:])]
    for old_key, old_value in olds:
        if (old_key.type, old_value.type) != (key.type, value.type):
            raise IncompatibleError(
                "Key schemas or Value schemas are different schema type, "
                f"from key schema type is {old_key.type} and to key schema is {key.type}, "
                f"from value schema is {old_value.type} and to value schema is {value.type}"
            )
    _check_type(strategy, key, [old for old, _ in olds])
    _check_type(strategy, value, [old for _, old in olds])
