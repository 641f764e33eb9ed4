"""Batches of Arrow columns as one topic's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamnative_serdes import _call_path, header
from streamnative_serdes import _config as config
from streamnative_serdes._lifecycle import refuse_no_topic
from streamnative_serdes.errors import BatchTooLargeError, EncodeError, SchemaError, SerdesError

from .policy import WritePolicy

if TYPE_CHECKING:
    import pyarrow as pa

    from streamnative_serdes._schema import Schema
    from streamnative_serdes.arrow import ColumnWriter

_MAX_WRITERS = 64  # schemas whose writers are kept


def write_batch(
    serdes: _call_path.Serializer, policy: WritePolicy, topic: str, batch: Any, *, large_types: bool
) -> pa.Array:
    """As :meth:`KafkaAvroSerializer.serialize_batch`."""
    # First of all: without pyarrow, which only batches need, nothing is registered.
    from streamnative_serdes.arrow import ColumnWriter

    try:
        refuse_no_topic(topic, EncodeError)
        bound = policy.bind(serdes, topic, None, None)
        if bound.codec is None:
            raise SchemaError("batches are written by one Avro schema, and the topic is of type KEY_VALUE", topic=topic)
    except SerdesError:
        _call_path.count_written(serdes, 0, 1)
        raise
    policy.topics.add(topic)
    assert bound.header is not None
    version = bound.version if len(bound.header) == header.SIZE else None  # an id is not a version
    try:
        messages = _writer(policy, bound.codec.schema, ColumnWriter).encode(
            batch, bound.header, large_types=large_types
        )
    except (EncodeError, BatchTooLargeError) as error:
        _call_path.count_written(serdes, 0, isinstance(error, EncodeError))
        raise error.at(topic=topic, version=version) from None
    _call_path.count_written(serdes, len(messages), 0)
    return messages


def _writer(policy: WritePolicy, schema: Schema, make: type[ColumnWriter]) -> ColumnWriter:
    kept = policy.writers
    writer = kept.get(schema.text)
    if writer is None:
        if len(kept) >= _MAX_WRITERS:
            kept.clear()
        writer = kept[schema.text] = make(schema, config.codec_arguments(policy.conf))
    return writer
