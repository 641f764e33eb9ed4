"""What a broker makes of a posted schema: the checks of its type, the form that is kept, and when two are the same.

Source: Pulsar's SchemaDataValidator, SchemaRegistryServiceImpl and SchemaUtils; each rule was seen live on 4.0.8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ..errors import SchemaError
from ..schema import MISSING, PRIMITIVES, AvroType, Enum, Field, Fixed, Record, Schema, Union, default_fault, parse
from ..schema.aliases import DuplicateFieldError
from .compatibility import IncompatibleError, check

AVRO_TYPES: Final = frozenset({"AVRO", "JSON", "PROTOBUF"})  # their text is an Avro schema
_CLIENT_SIDE: Final = frozenset({"AUTO", "AUTO_CONSUME", "AUTO_PUBLISH"})
_TEXTLESS: Final = frozenset(
    {"BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "DATE", "TIME", "TIMESTAMP"}
    | {"INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"}
)
_TYPES: Final = AVRO_TYPES | _CLIENT_SIDE | _TEXTLESS | {"NONE", "BYTES", "STRING", "KEY_VALUE", "PROTOBUF_NATIVE"}
_NAME = re.compile(r"(?!\d)\w+")  # as Java's Character.isLetterOrDigit: letters of any alphabet


class InvalidDataError(Exception):
    """The schema is not what its type asks for: status 422, the text is the broker's own."""


class BrokerError(Exception):
    """The broker stumbles over the request: status 500, the text is Java's own; empty where Java has none."""


@dataclass(frozen=True, slots=True)
class SchemaData:
    """A schema as the broker keeps it; the text of KEY_VALUE is compact JSON with the two halves."""

    type: str
    text: str
    properties: Mapping[str, str]

    def halves(self) -> tuple[SchemaData, SchemaData]:
        """Key and value of a KEY_VALUE schema; a half of unnamed type is BYTES, as in the broker.

        Raises:
            BrokerError: a property names a type that does not exist.
        """
        tree = json.loads(self.text)
        return self._half("key", tree), self._half("value", tree)

    def _half(self, name: str, tree: Mapping[str, Any]) -> SchemaData:
        kind = self.properties.get(f"{name}.schema.type", "BYTES")
        return SchemaData(_known_type(kind), "" if tree[name] == "" else _compact(tree[name]), {})

    def shown(self) -> str:
        """The text of a GET answer.

        A KEY_VALUE half that is no structure is shown empty, so a half without a type in ``properties`` is lost.
        """
        if self.type != "KEY_VALUE":
            return self.text
        key, value = (json.loads(half.text) if half.type in AVRO_TYPES else "" for half in self.halves())
        return _compact({"key": key, "value": value})


def from_post(kind: str | None, text: str, properties: Mapping[str, str | None]) -> SchemaData:
    """The posted parts in the broker's form, not yet validated.

    Raises:
        BrokerError: an unknown type, or a KEY_VALUE text without its two halves.
    """
    if kind == "KEY_VALUE":
        text = _compact(_two_halves(text))
    if kind is None:
        raise BrokerError("Name is null")
    given = {key: value for key, value in properties.items() if value is not None}
    if len(given) != len(properties):
        raise BrokerError("")  # protobuf's setValue(null)
    return SchemaData(_known_type(kind), text, given)


def _known_type(kind: str) -> str:
    if kind not in _TYPES:
        raise BrokerError(f"No enum constant org.apache.pulsar.common.schema.SchemaType.{kind}")
    return kind


def _two_halves(text: str) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except ValueError as error:
        raise BrokerError(f"com.google.gson.stream.MalformedJsonException: {error}") from None
    if not isinstance(tree, dict):
        raise BrokerError("class com.google.gson.JsonPrimitive cannot be cast to class com.google.gson.JsonObject")
    if "key" not in tree or "value" not in tree:
        raise BrokerError('Cannot invoke "com.google.gson.JsonElement.toString()" because "jsonElement" is null')
    return {"key": tree["key"], "value": tree["value"]}


def _compact(tree: Any) -> str:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def validate(data: SchemaData) -> None:
    """Pulsar's SchemaDataValidator.

    Raises:
        InvalidDataError: as above.
    """
    if data.type in AVRO_TYPES:
        root = avro(data).root
        if data.type == "AVRO" and isinstance(root, Union):
            raise InvalidDataError("Avro schema typed [UNION] is not supported")
    elif data.type == "KEY_VALUE":
        for half in data.halves():
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
        InvalidDataError: Java Avro does not parse the text. (JSON topics of old hold Jackson's JsonSchema, which the
            broker takes too; this one does not.)
    """
    try:
        return _parse(data.text)
    except SchemaError:
        raise InvalidDataError(f"Invalid schema definition data for {data.type} schema") from None


@lru_cache(maxsize=1024)
def _parse(text: str) -> Schema:
    if text.strip() in PRIMITIVES or text.endswith(".avsc"):  # which parse() takes for a type and for a file
        raise SchemaError("the schema is not JSON")
    schema = parse(text, strict=False)
    for named in schema.names.values():
        inner = [part.name for part in named.fields] if isinstance(named, Record) else []
        inner += named.symbols if isinstance(named, Enum) else []
        for name in (named.name.rpartition(".")[2], *inner):  # Java does not check the namespace
            if not _NAME.fullmatch(name):
                raise SchemaError(f"Illegal character in: {name}")
    if _has_stray_enum_default(json.loads(text)):
        raise SchemaError("The Enum Default is not in the enum symbol set")
    return schema


def _has_stray_enum_default(tree: Any) -> bool:
    """The lenient parser drops such a default; Java refuses it."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            symbols = node.get("symbols") if node.get("type") == "enum" and "default" in node else None
            if isinstance(symbols, list) and node["default"] not in symbols:
                return True
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    return False


def find(data: SchemaData, existing: Sequence[SchemaData]) -> int | None:
    """Position in ``existing`` of the schema that POST takes for the same.

    Equal when parsed, or equal text where the type has no parser. Properties are not compared.

    Raises:
        BrokerError: a default does not fit its field. The broker takes such a schema as a topic's first, and then
            stumbles at each comparison.
    """
    if data.type in AVRO_TYPES and existing:
        ours = _checked(data)
        for position, other in enumerate(existing):
            if other.type in AVRO_TYPES and ours.same_as(_checked(other)) and other.type == data.type:
                return position
        return None
    return find_exact(data, existing)


def find_exact(data: SchemaData, existing: Sequence[SchemaData]) -> int | None:
    """Position in ``existing`` of the very same text and type."""
    wanted = (data.type, data.text)
    return next((position for position, other in enumerate(existing) if (other.type, other.text) == wanted), None)


def _checked(data: SchemaData) -> Schema:
    schema = avro(data)
    for named in schema.names.values():
        for part in named.fields if isinstance(named, Record) else ():
            if part.default is not MISSING and not _java_default(part.type, part.default):
                raise BrokerError(
                    f"Invalid default for field {part.name}: {_compact(part.default)} not a {_label(part)}"
                )
    return schema


def _java_default(kind: AvroType, value: Any) -> bool:
    """``Schema.isValidDefault`` of Java Avro 1.11: any text for enum, fixed and bytes; a union's first branch only."""
    if isinstance(kind, Union):
        return bool(kind.branches) and _java_default(kind.branches[0], value)
    if isinstance(kind, Enum | Fixed) or kind.kind == "bytes":
        return isinstance(value, str)
    return default_fault(kind, value) is None


def _label(part: Field) -> str:
    kind = part.type
    return _compact([branch.kind for branch in kind.branches] if isinstance(kind, Union) else kind.kind)


def check_compatible(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    """Whether the strategy lets ``new`` follow ``existing``, oldest first.

    Raises:
        IncompatibleError: it does not.
        DuplicateFieldError: see :func:`compatibility.check`.
    """
    if strategy == "ALWAYS_COMPATIBLE" or not existing:
        return
    for old in existing if strategy.endswith("_TRANSITIVE") else existing[-1:]:
        if old.type != new.type:
            raise IncompatibleError(f"Incompatible schema: exists schema type {old.type}, new schema type {new.type}")
    if strategy.endswith("_TRANSITIVE"):
        try:
            _check_type(strategy, new, existing)
        except DuplicateFieldError as error:  # which the broker expects here alone
            raise IncompatibleError(f"org.apache.avro.AvroRuntimeException: {error}") from error
    elif find_exact(new, existing[-1:]) is None:
        _check_type(strategy, new, existing)


def _check_type(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    if new.type in AVRO_TYPES:
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
