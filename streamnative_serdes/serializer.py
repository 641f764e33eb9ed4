"""KafkaAvroSerializer: objects to framed Avro messages, their schemas registered on Pulsar's topic (SNIP 42)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _config as config
from ._call_path import policy_of
from ._lifecycle import WritingFace
from ._writing.batches import write_batch
from ._writing.policy import WritePolicy

if TYPE_CHECKING:
    import pyarrow as pa


class KafkaAvroSerializer(WritingFace):
    """Serializes with the schema version header of SNIP 42. Swaps for Confluent's AvroSerializer in a client's conf.

    Args:
        conf: options, see docs/config.md; ``schema.registry.url`` is required. Without ``conf``, call
            :meth:`configure` before the first use.
        schema: a dict, a list, JSON text, the path of a ``.avsc`` file, or a class: a dataclass, a pydantic model, a
            typed NamedTuple, an attrs class or a ``pulsar.schema.Record``. It is registered unchanged
            for each topic that is written to. Without a schema, an object of such a class is written with the schema of
            its class (see ``allow.null``), and any other object with the topic's latest schema. For topics of type
            KEY_VALUE, a :class:`KeyValueSchema`; give the same one to the serializer of keys and to that of values.
        to_dict: ``to_dict(obj, ctx)`` converts an object to data of the schema. It is not needed for mappings, objects
            of the classes named above, and ``pyspark.sql.Row``.
        is_key: write keys: those of KEY_VALUE topics, bare ones by ``key.schema``, or with ``framing=confluent`` those
            of ``schema``. Without it, the context's field decides for each object where such keys are written;
            elsewhere, a key is refused for certain only as the first object of its topic (docs/keys.md).

    Raises:
        ConfigError: unknown option, bad value.
        SchemaError: no valid schema.

    ``serializer(obj, ctx)`` and ``serializer.serialize(topic, obj)`` give bytes, or None for None. They raise
    EncodeError for an object that does not fit and SchemaRegistryError when the registry refuses; all errors are
    confluent_kafka's SerializationError. Threads may share one serializer, and it pickles.
    """

    OPTIONS = config.SERIALIZER_OPTIONS
    POLICY = WritePolicy

    def serialize_batch(self, topic: str, batch: Any, *, large_types: bool = False) -> pa.Array | pa.RecordBatch:
        """Encode each row of Arrow columns as a message; see docs/arrow.md. ``to_dict`` is ignored.

        Args:
            topic: the messages' topic.
            batch: a record batch, a table, a DataFrame of polars or pandas, an array of structs, or anything else with
                ``__arrow_c_array__`` or ``__arrow_c_stream__``. A stream is read chunk by chunk. Columns match fields
                by name. A struct that is null as a whole becomes a null.
            large_types: return a large_binary array, for batches of more than 2 GB of messages.

        Returns:
            one array, never chunked, with a message for each row of all chunks. For KEY_VALUE topics, whose batches
            have the columns "key" and "value", it is a record batch with the same columns of bytes; with the encoding
            INLINE, keys are null.

        Raises:
            EncodeError: the columns do not match the schema, or a value does not fit; the error has the row number over
                all chunks and the path. Or an array is damaged.
            BatchTooLargeError: more than 2 GB of messages; :func:`streamnative_serdes.arrow.in_parts` splits the batch.
            SchemaRegistryError: as for an object.
            TypeError: ``batch`` has no Arrow columns; the error says how to convert it.
        """
        return write_batch(self, policy_of(self), topic, batch, large_types=large_types)
