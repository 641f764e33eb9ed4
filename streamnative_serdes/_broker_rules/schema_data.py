"""Schemas as the broker stores them: the two halves of KEY_VALUE, and the answers to GET.

Source: Pulsar's SchemaUtils and KeyValueSchemaInfo; each rule was observed on 4.0.8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .java_text import compact
from .refusals import BrokerError

AVRO_TYPES: Final = frozenset({"AVRO", "JSON", "PROTOBUF"})  # their text is an Avro schema
STRUCTURES: Final = AVRO_TYPES | {"PROTOBUF_NATIVE"}  # their text is JSON
CLIENT_SIDE: Final = frozenset({"AUTO", "AUTO_CONSUME", "AUTO_PUBLISH"})
TEXTLESS: Final = frozenset(
    {"BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "DATE", "TIME", "TIMESTAMP"}
    | {"INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"}
)
_TYPES: Final = STRUCTURES | CLIENT_SIDE | TEXTLESS | {"NONE", "BYTES", "STRING", "KEY_VALUE"}
_GSON: Final = "com.google.gson"


@dataclass(frozen=True, slots=True)
class SchemaData:
    """A schema as the broker stores it; the text of KEY_VALUE is compact JSON with the two halves."""

    type: str
    text: str
    properties: Mapping[str, str]

    def halves(self) -> tuple[SchemaData, SchemaData]:
        """Key and value of a KEY_VALUE schema; a half without a type is BYTES, as in the broker.

        Raises:
            BrokerError: a property names a type that does not exist, or has no properties in it.
        """
        tree = json.loads(self.text)
        return self._half("key", tree), self._half("value", tree)

    def _half(self, name: str, tree: Mapping[str, Any]) -> SchemaData:
        kind = _known_type(self.properties.get(f"{name}.schema.type", "BYTES"))
        _check_properties(self.properties.get(f"{name}.schema.properties", ""))
        return SchemaData(kind, "" if tree[name] == "" else compact(tree[name]), {})

    def shown(self) -> str:
        """The text in the response to a GET.

        A KEY_VALUE half that is not a structure is shown empty, so a half without a type in ``properties`` is lost.
        """
        if self.type != "KEY_VALUE":
            return self.text
        key, value = (json.loads(half.text) if half.type in STRUCTURES else "" for half in self.halves())
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


def _gson(text: str) -> Any:
    try:
        return json.loads(text) if text.strip() else None
    except ValueError as error:
        raise BrokerError(
            f"{_GSON}.stream.MalformedJsonException: {error} path $", f"{_GSON}.JsonSyntaxException"
        ) from None


def _check_properties(text: str) -> None:
    """Check the property with the properties of a half, an object of scalars.

    Raises:
        BrokerError: the property is something else.
    """
    tree = _gson(text)
    if not isinstance(tree, dict | None):
        found = f"java.lang.IllegalStateException: Not a JSON Object: {compact(tree)}"
        raise BrokerError(found, f"{_GSON}.JsonSyntaxException")
    for value in (tree or {}).values():
        while isinstance(value, list) and len(value) == 1:  # Gson takes the element for the list
            (value,) = value  # noqa: PLW2901
        if isinstance(value, list):
            raise BrokerError("java.lang.IllegalStateException", f"{_GSON}.JsonSyntaxException")
        if isinstance(value, dict | None):
            raise BrokerError("JsonNull" if value is None else "JsonObject", "UnsupportedOperationException")


def _two_halves(text: str) -> dict[str, Any]:
    tree = _gson(text)
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
