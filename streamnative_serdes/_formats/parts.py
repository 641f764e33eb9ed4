"""KEY_VALUE schemas as the registry holds them, and schemas of any type as parts that columns are made from.

The text is JSON, ``{"key": ..., "value": ...}``: an Avro schema for AVRO and JSON, an empty text for a primitive
type. The types and the encoding are in the properties. Source: Pulsar's SchemaUtils and KeyValueSchemaInfo.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from streamnative_serdes._schema import Schema
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.key_value import INLINE, SEPARATED
from streamnative_serdes.schema_registry import SchemaInfo

from .format import Format

ENCODING: Final = "kv.encoding.type"


class HalvesInfo(NamedTuple):
    """The content of one KEY_VALUE schema."""

    encoding: str
    key: SchemaInfo
    value: SchemaInfo


def halves_of(info: SchemaInfo) -> HalvesInfo:
    """Split the registry's answer; both halves have the version and the time of the whole.

    A half without a type is BYTES, and a pair without an encoding is INLINE, as for Pulsar's Java client.

    Raises:
        SchemaError: the text or a property is damaged.
    """
    try:
        tree = json.loads(info.text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"the KEY_VALUE schema is not JSON: {error or 'nested too deeply'}") from None
    if not isinstance(tree, dict) or not {"key", "value"} <= tree.keys():
        raise SchemaError('expected a KEY_VALUE schema with "key" and "value"')
    encoding = info.properties.get(ENCODING, INLINE)
    if encoding not in (INLINE, SEPARATED):
        raise SchemaError(f"expected the encoding INLINE or SEPARATED in {ENCODING}, got {encoding!r:.80}")
    return HalvesInfo(encoding, _half(info, tree, "key"), _half(info, tree, "value"))


def _half(info: SchemaInfo, tree: Mapping[str, Any], name: str) -> SchemaInfo:
    kind = info.properties.get(f"{name}.schema.type", "BYTES")
    if kind == "KEY_VALUE":
        raise SchemaError(f"the {name} of a KEY_VALUE schema is of type KEY_VALUE itself")
    text = "" if tree[name] == "" else json.dumps(tree[name])
    return SchemaInfo(info.version, kind, text, info.timestamp, _properties(info, f"{name}.schema.properties"))


def _properties(info: SchemaInfo, name: str) -> dict[str, str]:
    try:
        found = json.loads(info.properties.get(name) or "{}", parse_int=str, parse_float=str)  # as Gson reads texts
    except (ValueError, RecursionError):
        raise SchemaError(f"the property {name} is not JSON") from None
    if not isinstance(found, dict) or not all(isinstance(value, str | bool) for value in found.values()):
        raise SchemaError(f"expected a JSON object with text values in the property {name}")
    return {key: str(value).lower() if isinstance(value, bool) else value for key, value in found.items()}


def info_of(encoding: str, key: SchemaInfo, value: SchemaInfo) -> SchemaInfo:
    """The pair as it is registered; without the properties, Pulsar would lose both schemas without an error."""
    text = json.dumps({"key": _tree(key), "value": _tree(value)})
    properties = {ENCODING: encoding}
    for name, half in (("key", key), ("value", value)):
        properties[f"{name}.schema.name"] = ""
        properties[f"{name}.schema.type"] = half.type
        properties[f"{name}.schema.properties"] = json.dumps(dict(sorted(half.properties.items())))
    return SchemaInfo(0, "KEY_VALUE", text, properties=properties)


def _tree(half: SchemaInfo) -> Any:
    return json.loads(half.text) if half.text else ""


def described(info: SchemaInfo) -> str:
    """The type of a schema, for errors: ``KEY_VALUE of AVRO and STRING, INLINE``."""
    if info.type != "KEY_VALUE":
        return f"a schema of type {info.type}"
    both = halves_of(info)
    return f"KEY_VALUE of {both.key.type} and {both.value.type}, {both.encoding}"


HalfName: TypeAlias = Literal["key", "value"]


@dataclass(frozen=True, slots=True)
class Plain:
    """A node in the place of an Avro type, for one of Pulsar's primitive types.

    Args:
        kind: Pulsar's SchemaType.
        logical: an attribute that Avro types have, too.
    """

    kind: str
    logical: None = None


@dataclass(frozen=True, slots=True)
class PairNode:
    """A node for KEY_VALUE messages: ``kind`` is how both halves are stored; ``key`` and ``value`` are for writing."""

    kind: str
    key: Any = None
    value: Any = None


@dataclass(frozen=True, slots=True)
class HalfNode:
    """A node for one half, written from the column ``name``."""

    name: str
    schema: Any
    kind: str = "HALF"


@dataclass(frozen=True, slots=True)
class Part:
    """How one schema is read into columns and written from them.

    Args:
        type: Pulsar's SchemaType.
        schema: the Avro schema of AVRO, and of the columns that ``form`` needs; None for primitive types.
        form: reads and writes messages one by one, as data of ``schema``; None if compiled loops do so.
        topic: the topic of the schema, for errors.
        version: the version of the schema, for errors.
    """

    type: str
    schema: Schema | None = None
    form: Format | None = None
    topic: str = ""
    version: int | None = None

    @property
    def node(self) -> Any:
        """The node that compiled loops read and write: with a ``form``, the bytes that the form takes."""
        if self.form is not None:
            return Plain("BYTES")
        return Plain(self.type) if self.schema is None else self.schema.root

    @property
    def name(self) -> tuple[str, ...]:
        """Equal for equal parts, whatever their topics."""
        return self.type, "" if self.schema is None else self.schema.text

    @property
    def place(self) -> tuple[str, int | None]:
        return self.topic, self.version


@dataclass(frozen=True, slots=True)
class PairParts:
    """Both halves of a KEY_VALUE schema.

    Args:
        kind: how the halves are stored.
        key: the schema of keys.
        value: the schema of values.
    """

    kind: str
    key: Part
    value: Part

    @property
    def name(self) -> tuple[str, ...]:
        """Equal for equal parts, whatever their topics."""
        return self.kind, *self.key.name, *self.value.name

    @property
    def place(self) -> tuple[str, int | None]:
        return self.value.place

    def items(self) -> tuple[tuple[HalfName, Part], ...]:
        return ("key", self.key), ("value", self.value)


Parts: TypeAlias = Part | PairParts


def named(parts: Parts) -> tuple[tuple[HalfName, Part], ...]:
    """The parts with the names of their columns."""
    return parts.items() if isinstance(parts, PairParts) else (("value", parts),)
