"""Confluent's strategy functions: only those that configure our default behaviour, to be named in a configuration."""

from __future__ import annotations

from streamnative_serdes.serialization import SerializationContext

from .error import unsupported


def topic_subject_name_strategy(ctx: SerializationContext, record_name: str | None) -> str:  # noqa: ARG001
    """``TOPIC-value``: the only supported strategy, since in Pulsar a schema belongs to its topic."""
    return f"{ctx.topic}-{getattr(ctx.field, 'value', ctx.field)}"


def prefix_schema_id_serializer(*_: object) -> bytes:
    """For configurations only: the schema version is written before the datum."""
    raise unsupported("calling prefix_schema_id_serializer", "the serializer writes the version itself")


def prefix_schema_id_deserializer(*_: object) -> bytes:
    """For configurations only: the schema version is read from before the datum."""
    raise unsupported("calling prefix_schema_id_deserializer", "the deserializer reads the version itself")


def dual_schema_id_deserializer(*_: object) -> bytes:
    """For configurations only: the same as :func:`prefix_schema_id_deserializer`; Kafka headers are not read."""
    raise unsupported("calling dual_schema_id_deserializer", "the deserializer reads the version itself")
