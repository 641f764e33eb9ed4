"""Batches of Arrow columns as one topic's messages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from streamnative_serdes import _call_path, header
from streamnative_serdes import _config as config
from streamnative_serdes._avro_engine import refuse_columns
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._schema import Record
from streamnative_serdes._topics.schema_version import parts_of
from streamnative_serdes.errors import BatchTooLargeError, ConfigError, EncodeError, SerdesError

from .pairs import codec_of_values
from .policy import WritePolicy

if TYPE_CHECKING:
    import pyarrow as pa

    from streamnative_serdes._schema import Schema
    from streamnative_serdes._topics.schema_version import SchemaVersion
    from streamnative_serdes._topics.topic_state import TopicState
    from streamnative_serdes.arrow import ColumnWriter
    from streamnative_serdes.arrow.typed_columns import TypedColumnWriter


def write_batch(
    serdes: _call_path.Serializer, policy: WritePolicy, topic: str, batch: Any, *, large_types: bool
) -> pa.Array | pa.RecordBatch:
    """As :meth:`KafkaAvroSerializer.serialize_batch`."""
    try:
        writer, prefix, version = _bound(serdes, policy, topic)
    except SerdesError as error:
        _call_path.count_error(serdes, topic, error)
        raise
    policy.topics.add(topic)
    try:
        messages = writer.encode(batch, prefix, large_types=large_types)
    except (EncodeError, BatchTooLargeError) as error:
        if isinstance(error, EncodeError):
            _call_path.count_error(serdes, topic, error)
            if error.message.endswith(" a column of type double") and type(batch).__module__.startswith("pandas."):
                error.hint = "pandas makes floats of whole numbers if one is missing: convert_dtypes() keeps them"
        raise error.at(topic=topic, version=version) from None
    columns = getattr(messages, "columns", (messages,))  # of KEY_VALUE topics, a batch of two
    _call_path.count_written(serdes, len(messages), sum([column.total_values_length for column in columns]))
    return messages


def fields_of(serdes: _call_path.Serializer, topic: str) -> tuple[str, ...]:
    """The names of the columns that batches of the topic have: the record's fields, or ``key`` and ``value``."""
    policy: WritePolicy = policy_of(serdes)
    if policy.other_type(serdes, topic) is not None:
        return "key", "value"
    root = codec_of_values(policy.bind(serdes, topic, None, None)).schema.root
    return tuple(field.name for field in root.fields) if isinstance(root, Record) else ("value",)


class BatchWriter(NamedTuple):
    """The writer of a topic's batches, the first bytes of each value, and the version of the topic's schema."""

    writer: ColumnWriter | TypedColumnWriter
    prefix: bytes
    version: int | None


def _bound(serdes: _call_path.Serializer, policy: WritePolicy, topic: str) -> BatchWriter:
    """The writer of the topic: that of the batch before if nothing about the topic has changed, else a new writer."""
    state = policy.binding.enter(serdes, topic, EncodeError)
    bound = policy.batch_writers.get(topic, state)
    if bound is None:
        bound = _bound_first(serdes, policy, topic)
        if policy.conf["auto.register.schemas"] or not policy.has_schema:
            # Else the answer may rest on what the registry refused, which is remembered for a time only.
            policy.batch_writers.keep(topic, state, _until(policy, state), bound)
    return bound


def _until(policy: WritePolicy, state: TopicState) -> float:
    """When the topic's latest schema has to be asked for again, on the monotonic clock; infinity if it is not used."""
    if policy.has_schema or policy.conf["use.schema.version"] is not None:
        return math.inf
    return -math.inf if state.latest is None else state.latest.until


def _bound_first(serdes: _call_path.Serializer, policy: WritePolicy, topic: str) -> BatchWriter:
    """The writer of the topic by its present state."""
    # First of all: without pyarrow, which only batches need, nothing is registered.
    from streamnative_serdes.arrow import ColumnWriter

    refuse_columns(policy.engine, topic)
    other = policy.other_type(serdes, topic)
    if other is not None:
        if policy.is_key:
            hint = "give serialize_batch of a serializer for values the columns key and value"
            raise ConfigError("a batch has both halves of its messages", topic=topic, hint=hint)
        framed = other.halves is not None and policy.conf["key.value.framing"] == config.VALUE
        return BatchWriter(_typed_writer(policy, other), header.pack(other.version) if framed else b"", other.version)
    bound = policy.bind(serdes, topic, None, None)
    assert bound.header is not None
    version = bound.version if len(bound.header) == header.SIZE else None  # an id is not a version
    return BatchWriter(_writer(policy, codec_of_values(bound).schema, ColumnWriter), bound.header, version)


def _writer(policy: WritePolicy, schema: Schema, make: type[ColumnWriter]) -> ColumnWriter | TypedColumnWriter:
    kept, name = policy.writers, schema.text
    return kept.get(name) or kept.keep(name, make(schema, config.codec_arguments(policy.conf)))


def _typed_writer(policy: WritePolicy, known: SchemaVersion) -> ColumnWriter | TypedColumnWriter:
    from streamnative_serdes.arrow.typed_columns import TypedColumnWriter

    options = config.codec_arguments(policy.conf)
    parts = parts_of(known, config.schema_limits(policy.conf), options, to_write=True)
    return policy.writers.get(parts.name) or policy.writers.keep(parts.name, TypedColumnWriter(parts, options))
