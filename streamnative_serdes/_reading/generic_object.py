"""GenericObject: a message of any type, with the schema that read it (Pulsar's GenericObject, PIP 85)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from streamnative_serdes.schema_registry import SchemaInfo

from .topic_schema import TopicSchema

Rule: TypeAlias = Literal["header", "caller", "latest", "fallback", "no schema"]


class DecodedBy(NamedTuple):
    """Which schema read a message, and by which rule.

    ``schema`` is None if the topic has no schema. ``rule`` is one of:

    - ``"header"``: the version in the message's header;
    - ``"caller"``: the version that the caller passed, or that Pulsar's metadata have;
    - ``"latest"``: the topic's latest schema, since nothing names a version;
    - ``"fallback"``: the topic's latest schema, since the registry does not have the version in the header;
    - ``"no schema"``: none, the message is returned as bytes.
    """

    schema: TopicSchema | None
    rule: Rule


@dataclass(frozen=True, slots=True)
class GenericObject:
    """A message of any type.

    Args:
        schema_type: Pulsar's SchemaType, such as ``AVRO`` or ``INT32``; ``BYTES`` for a topic without a schema.
        native_object: what the message holds; docs/schema-types.md has the Python type for each SchemaType.
        decoded_by: which schema read it, and by which rule.
    """

    schema_type: str
    native_object: Any
    decoded_by: DecodedBy

    @property
    def schema_info(self) -> SchemaInfo | None:
        """What the registry holds of the schema that read the message; None if the topic has no schema."""
        return None if self.decoded_by.schema is None else self.decoded_by.schema.info

    @property
    def schema_version(self) -> int | None:
        """The version of the schema that read the message; None if the topic has no schema."""
        return None if self.decoded_by.schema is None else self.decoded_by.schema.version

    @property
    def reader_schema(self) -> TopicSchema | None:
        """The schema that the message was written with; None if nothing names it, or the topic has no schema."""
        return self.decoded_by.schema if self.decoded_by.rule in ("header", "caller") else None
