"""Schemas as Confluent's client has them: a text, what it refers to, and where it is registered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streamnative_serdes.errors import SchemaError


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """That a schema uses the type ``name``, which version ``version`` of ``subject`` defines."""

    name: str
    subject: str
    version: int

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "subject": self.subject, "version": self.version}


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema that may refer to others. Pulsar keeps neither ``metadata`` nor ``rule_set``: they are refused."""

    schema_str: str
    schema_type: str = "AVRO"
    references: list[SchemaReference] = field(default_factory=list, hash=False)
    metadata: object = None
    rule_set: object = None

    def to_dict(self) -> dict[str, Any]:
        references = [reference.to_dict() for reference in self.references or ()]
        return {"schema": self.schema_str, "schemaType": self.schema_type, "references": references}


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema on a topic.

    Args:
        subject: as the caller named it.
        version: Pulsar's: counts from 0 within its topic.
        schema_id: the same number. Pulsar has no ids beyond a topic: one id on two topics is two schemas.
        guid: always None.
        schema: self-contained, without references.
    """

    subject: str
    version: int
    schema_id: int
    guid: str | None
    schema: Schema


def require_avro(schema: Schema) -> Schema:
    """``schema``, if Pulsar can keep all of it.

    Raises:
        SchemaError: it is of another type than Avro, or has metadata or rules.
    """
    if schema.schema_type not in (None, "AVRO"):
        raise SchemaError(f"only Avro schemas are supported, got schema_type {schema.schema_type!r:.40}")
    for name in ("metadata", "rule_set"):
        if getattr(schema, name, None) is not None:
            raise SchemaError(f"a schema's {name} is not supported: Pulsar's registry keeps none", hint="leave it out")
    return schema
