"""Errors under the names of ``confluent_kafka.schema_registry.error``."""

from __future__ import annotations

from streamnative_serdes.errors import InvalidSchemaError, SchemaError, SchemaNotFoundError, SchemaRegistryError

__all__ = ["BadSchemaError", "SchemaRegistryError", "UnknownSchemaError", "refusal"]


class BadSchemaError(InvalidSchemaError, SchemaError):
    """What was to be sent to the registry is no Avro schema: Confluent's 42201, found out before it was asked."""


class UnknownSchemaError(SchemaNotFoundError):
    """The topic has schemas, but not this one."""

    @property
    def error_code(self) -> int:
        return 40403


def refusal(what: str, reason: str, hint: str | None = None) -> SchemaRegistryError:
    """What Confluent's client can do, and Pulsar cannot serve."""
    return SchemaRegistryError(f"{what} is not supported: {reason}", hint=hint)
