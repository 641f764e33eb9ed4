"""Confluent's data classes for schemas: a schema, its references, and its registration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from streamnative_serdes._schema import SchemaReference
from streamnative_serdes.errors import SchemaError

__all__ = ["RegisteredSchema", "Schema", "SchemaReference", "require_avro"]


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema, possibly with references. Pulsar stores neither ``metadata`` nor ``rule_set``: they are refused."""

    schema_str: str
    schema_type: str = "AVRO"
    references: list[SchemaReference] = field(default_factory=list, hash=False)
    metadata: object = None
    rule_set: object = None

    def to_dict(self) -> dict[str, Any]:
        references = [reference.to_dict() for reference in self.references or ()]
        return {"schema": self.schema_str, "schemaType": self.schema_type, "references": references}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        references = [SchemaReference.from_dict(one) for one in given.get("references") or ()]
        kind = given.get("schemaType", "AVRO")
        return cls(given["schema"], kind, references, given.get("metadata"), given.get("ruleSet"))


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema registered in a topic.

    Args:
        subject: as the caller named it.
        version: Confluent's number, from 1 within its topic: Pulsar's + 1.
        schema_id: Pulsar's version, which messages contain. The same id in two topics means two schemas.
        guid: always None.
        schema: self-contained, without references.
    """

    subject: str
    version: int
    schema_id: int
    guid: str | None
    schema: Schema

    def to_dict(self) -> dict[str, Any]:
        named = {"id": self.schema_id, "guid": self.guid, "subject": self.subject, "version": self.version}
        return self.schema.to_dict() | {key: value for key, value in named.items() if value is not None}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        part: Any = given.get  # what is missing is None, as in Confluent's
        return cls(part("subject"), part("version"), part("id"), part("guid"), Schema.from_dict(given))


def require_avro(schema: Schema) -> Schema:
    """Return ``schema`` if Pulsar can store all of it.

    Raises:
        SchemaError: its type is not Avro, it has metadata or rules, or a reference is not a SchemaReference.
    """
    if schema.schema_type not in (None, "AVRO"):
        raise SchemaError(f"schema_type: expected 'AVRO', the only supported type, got {schema.schema_type!r:.40}")
    for name in ("metadata", "rule_set"):
        if getattr(schema, name, None) is not None:
            raise SchemaError(f"{name} is not supported: Pulsar's registry does not store it", hint="leave it out")
    for reference in schema.references or ():
        if not hasattr(reference, "subject"):
            raise SchemaError(f"references: expected a SchemaReference, got {type(reference).__name__}")
    return schema
