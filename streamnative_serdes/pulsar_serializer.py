"""KafkaPulsarSerializer: messages of any of Pulsar's schema types, such as JSON and primitives, for Kafka producers."""

from __future__ import annotations

from . import _config as config
from ._lifecycle import WritingFace
from ._writing.any_type import AnyTypeWritePolicy


class KafkaPulsarSerializer(WritingFace):
    """Serializes as Pulsar's own producers write: JSON, PROTOBUF_NATIVE and primitive types are the data alone.

    Args:
        conf: options, see docs/config.md; ``schema.registry.url`` is required. Without ``conf``, call
            :meth:`configure` before the first use.
        schema: a :class:`TypedSchema`, the name of a primitive type such as ``"INT64"``, or a :class:`KeyValueSchema`.
            It is registered for each topic that is written to, unless ``auto.register.schemas=false``. A topic that has
            a schema of another type refuses it. ``"BYTES"`` is written to topics without a schema, and registers none.
            An Avro schema is written as by :class:`KafkaAvroSerializer`, with the schema version header. Without a
            schema, each object is written by its topic's latest schema, whatever type that has.
        to_dict: ``to_dict(obj, ctx)`` converts an object to data of the schema.
        is_key: serialize the keys of KEY_VALUE topics, for which ``schema`` is a :class:`KeyValueSchema` or None.

    Raises:
        ConfigError: unknown option, bad value, or a library that the type needs is not installed.
        SchemaError: no valid schema.

    ``serializer(obj, ctx)`` and ``serializer.serialize(topic, obj)`` give bytes, or None for None. They raise
    EncodeError for an object that does not fit, IncompatibleSchemaError if the topic's schema has another type, and
    SchemaRegistryError when the registry refuses otherwise; all errors are confluent_kafka's SerializationError.
    Threads may share one serializer, and it pickles.
    """

    OPTIONS = config.PULSAR_SERIALIZER_OPTIONS
    POLICY = AnyTypeWritePolicy
