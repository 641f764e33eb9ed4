"""The functions that Confluent's users name in a configuration; those here stand for what happens anyway."""

from __future__ import annotations

from streamnative_serdes.serialization import SerializationContext

from .error import refusal


def topic_subject_name_strategy(ctx: SerializationContext, record_name: str | None) -> str:  # noqa: ARG001
    """``TOPIC-value``: the only strategy there is, for a schema belongs to its topic."""
    return f"{ctx.topic}-{getattr(ctx.field, 'value', ctx.field)}"


def prefix_schema_id_serializer(*_: object) -> bytes:
    """Only to be named: that the schema version goes before the datum."""
    raise refusal("prefix_schema_id_serializer as a function", "the serializer puts the version there itself")


def prefix_schema_id_deserializer(*_: object) -> bytes:
    """Only to be named: that the schema version stands before the datum."""
    raise refusal("prefix_schema_id_deserializer as a function", "the deserializer reads the version itself")


def dual_schema_id_deserializer(*_: object) -> bytes:
    """Only to be named: as :func:`prefix_schema_id_deserializer`, for there are no versions in headers."""
    raise refusal("dual_schema_id_deserializer as a function", "the deserializer reads the version itself")
