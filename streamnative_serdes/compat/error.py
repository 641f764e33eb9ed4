"""Errors under the names of ``confluent_kafka.schema_registry.error``."""

from __future__ import annotations

from streamnative_serdes.errors import InvalidSchemaError, SchemaError, SchemaNotFoundError, SchemaRegistryError

__all__ = ["BadSchemaError", "BadVersionError", "SchemaRegistryError", "UnknownSchemaError"]


class BadSchemaError(InvalidSchemaError, SchemaError):
    """The schema to send is not valid Avro: Confluent's error code 42201, detected before any request."""


class BadVersionError(SchemaRegistryError):
    """A version or id is not a number of its range: Confluent's error code 42202, detected before any request."""

    @property
    def error_code(self) -> int:
        return 42202


class UnknownSchemaError(SchemaNotFoundError):
    """The topic has schemas, but not this one."""

    @property
    def error_code(self) -> int:
        return 40403


def unsupported(what: str, reason: str, hint: str | None = None) -> SchemaRegistryError:
    """The error for a feature of Confluent's client that Pulsar cannot support."""
    return SchemaRegistryError(f"{what} is not supported: {reason}", hint=hint)
