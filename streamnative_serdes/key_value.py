"""Key/value topics: a message whose key and value both have a schema (Pulsar's type KEY_VALUE).

The registry holds both schemas as one, with one version. With the encoding SEPARATED the key is the message's key, and
the value its value; with INLINE both are in the value::

    offset 0            4           4+K          8+K
           | K, int32 BE | key, K bytes | V, int32 BE | value, V bytes |        a length of -1: null

Source: Pulsar's ``org.apache.pulsar.common.schema.KeyValue`` and ``KeyValueSchemaInfo``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

from .errors import ConfigError, SchemaError

__all__ = ["INLINE", "SEPARATED", "KeyValue", "KeyValueEncodingType", "KeyValueSchema", "TypedSchema"]

KeyValueEncodingType: TypeAlias = Literal["INLINE", "SEPARATED"]
INLINE: Final = "INLINE"
SEPARATED: Final = "SEPARATED"

# Pulsar's types whose schema is their name alone.
PRIMITIVE_TYPES: Final = frozenset(
    {"BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP"}
    | {"INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"}
)


class KeyValue(NamedTuple):
    """The data of one message with the encoding INLINE; a tuple of two is accepted in its place."""

    key: Any
    value: Any


@dataclass(frozen=True, slots=True)
class TypedSchema:
    """A schema with its type in Pulsar's registry.

    Args:
        type: ``AVRO``, ``JSON``, ``PROTOBUF_NATIVE``, or a primitive type such as ``STRING`` or ``INT64``.
        schema: for AVRO and JSON an Avro schema: a dict, JSON text, the path of an ``.avsc`` file, or a class; for
            PROTOBUF_NATIVE a message class or its descriptor; nothing for primitive types.
        properties: custom properties, which the registry keeps and does not compare.

    Raises:
        SchemaError: the type has no such schema, or properties are no dict of texts.
    """

    type: str
    schema: Any = None
    properties: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        structured = self.type in ("AVRO", "JSON", "PROTOBUF_NATIVE")
        if not structured and self.type not in PRIMITIVE_TYPES:
            known = ", ".join(["AVRO", "JSON", "PROTOBUF_NATIVE", *sorted(PRIMITIVE_TYPES)])
            raise SchemaError(f"expected one of the types {known}, got {self.type!r:.80}")
        if structured != (self.schema is not None):
            need = "needs a schema" if structured else "has no schema besides its name"
            raise SchemaError(f"the type {self.type} {need}")
        given: Any = self.properties
        if not isinstance(given, dict) or not all(isinstance(part, str) for pair in given.items() for part in pair):
            raise SchemaError(f"expected properties as a dict of texts, got {given!r:.80}")


@dataclass(frozen=True, slots=True)
class KeyValueSchema:
    """The schemas of key and value, for both serializers and both deserializers of a topic.

    Args:
        key: the key's schema: a :class:`TypedSchema`, the name of a primitive type such as ``"STRING"``, or an Avro
            schema: a dict, JSON text, the path of an ``.avsc`` file, or a class.
        value: the value's schema, in the same forms.
        encoding: ``"SEPARATED"`` (the key is the message's key) or ``"INLINE"`` (both are in the value).

    Raises:
        SchemaError: an unknown encoding, or a half without a schema.
    """

    key: Any
    value: Any
    encoding: KeyValueEncodingType

    def __post_init__(self) -> None:
        if self.encoding not in (INLINE, SEPARATED):
            raise SchemaError(f"expected the encoding INLINE or SEPARATED, got {self.encoding!r:.80}")
        if self.key is None or self.value is None:
            raise SchemaError("a key/value schema needs a schema for the key and one for the value")
        for name in ("key", "value"):
            object.__setattr__(self, name, typed(getattr(self, name)))


def typed(schema: object) -> TypedSchema:
    """``schema`` with its type: a primitive type's name, or an Avro schema.

    Raises:
        SchemaError: ``schema`` is a key/value schema.
    """
    if isinstance(schema, KeyValueSchema):
        raise SchemaError("a half of a key/value schema cannot be a key/value schema")
    if isinstance(schema, TypedSchema):
        return schema
    if isinstance(schema, str) and (schema in PRIMITIVE_TYPES or (schema.isupper() and schema.isidentifier())):
        return TypedSchema(schema)  # no Avro schema is written like the name of a type, which may not exist
    return TypedSchema("AVRO", schema)


def refuse_keys(topic: str, kind: str) -> NoReturn:
    """Refuse keys of a topic that is not of type KEY_VALUE, and so has no schema of keys.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        f"keys have a schema in topics of type KEY_VALUE only, and this topic's schema is of type {kind}",
        topic=topic,
        hint="for bare keys, set key.schema to their schema; for those in Confluent's framing, set "
        "confluent.schema.registry.url, and framing=confluent or framings; for others, use another serializer, such as "
        "confluent_kafka's StringSerializer",
    )
