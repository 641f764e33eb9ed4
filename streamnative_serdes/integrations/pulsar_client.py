"""A schema and helpers for Pulsar's own Python client (pulsar-client 3.13), on topics that Kafka clients write to, too.

::

    schema = pulsar_schema({"schema.registry.url": "http://localhost:8080"}, User)
    consumer = client.subscribe("users", "readers", schema=schema)
    user = consumer.receive().value()  # a User, whether a Kafka or a Pulsar producer wrote it

A message of a Kafka producer has its schema version in its first ten bytes (docs/messages.md), a message of a Pulsar
producer in Pulsar's metadata. :func:`key_of`, :func:`schema_version_of` and :func:`is_tombstone` return parts that the
client does not show, or shows in another form than Pulsar's Java client.

Source: pulsar/__init__.py and pulsar/schema of pulsar-client 3.13.0, and the client's answers with Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from streamnative_serdes import _config as config
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._formats import OUTSIDE
from streamnative_serdes._reading.messages import (
    PulsarMessage,
    data_of,
    headers_of,
    is_tombstone,
    key_of,
    schema_version_of,
    topic_with_schemas,
)
from streamnative_serdes._writing.policy import WritePolicy
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError, SchemaError
from streamnative_serdes.key_value import KeyValueSchema
from streamnative_serdes.serialization import SerializationContext
from streamnative_serdes.serializer import KafkaAvroSerializer

__all__ = ["PulsarMessage", "PulsarSchema", "is_tombstone", "key_of", "pulsar_schema", "schema_version_of"]


def pulsar_schema(
    conf: Mapping[str, Any],
    schema: object = None,
    from_dict: Callable[[Any, SerializationContext], Any] | None = None,
    *,
    topic: str | None = None,
    announce: bool = True,
) -> PulsarSchema:
    """Return a ``pulsar.schema.Schema`` for consumers, readers, table views and producers of pulsar-client.

    Args:
        conf: options of KafkaAvroDeserializer and KafkaAvroSerializer, see docs/config.md; ``schema.registry.url`` is
            required: Pulsar's HTTP address, while the client has its ``service_url``.
        schema: the schema that producers write and that each message is converted to, in any form that the two
            classes accept. If it is a class, values are its objects, unless there is a ``from_dict``. Without a
            schema, each message is read by its writer's schema, and producers cannot write.
        from_dict: ``from_dict(data, ctx)`` converts the decoded data to an object.
        topic: the topic of a table view, which passes bytes without their topic; not needed otherwise.
        announce: whether the client attaches with ``schema``, as with pulsar-client's AvroSchema. Then the broker
            registers it if the topic has no schema, and refuses the client if it is not compatible. With False, the
            client attaches without a schema, and can only read.

    Raises:
        ConfigError: pulsar-client is not installed, or is too old; an option is unknown or has a bad value; or it
            cannot be followed here: ``framing=confluent``, or ``auto.register.schemas=false`` with ``announce``. Or a
            KeyValueSchema is announced, which this client cannot do.
        SchemaError: the schema is not valid.
    """
    made: PulsarSchema = _class()(conf, schema, from_dict, topic, announce=announce)
    return made


class PulsarSchema:
    """The result of :func:`pulsar_schema`. It is a ``pulsar.schema.Schema`` as well, and the client calls its methods.

    ``deserializer`` is the KafkaAvroDeserializer that reads, for ``warm_up``, ``stats`` and ``close``.
    """

    deserializer: KafkaAvroDeserializer

    def __init__(
        self,
        conf: Mapping[str, Any],
        schema: object,
        from_dict: Callable[[Any, SerializationContext], Any] | None,
        topic: str | None,
        *,
        announce: bool,
    ) -> None:
        reading, writing = _shared_out(conf)
        if isinstance(schema, type) and from_dict is None:
            reading.setdefault("value.type", schema)
        self.deserializer = KafkaAvroDeserializer(reading, schema, from_dict)
        self._topic = topic
        self._writer: WritePolicy | None = None
        if schema is not None and announce:
            self._writer = _writer(writing, schema)
        self._info = _schema_info(self._writer)

    def schema_info(self) -> Any:
        """The schema that the client attaches with: the text that our serializer registers, or a mark of no schema."""
        return self._info

    def encode(self, obj: Any) -> bytes:
        """Return ``obj`` as Avro without a header; the client writes the schema version into Pulsar's metadata.

        Raises:
            ConfigError: there is no schema to write by.
            EncodeError: ``obj`` does not fit the schema.
        """
        codec = None if self._writer is None else self._writer.codec_for(type(obj))
        if codec is None or self._writer is None:
            raise ConfigError(
                "there is no schema to write by",
                hint="give pulsar_schema the schema of what you send, and leave announce as it is",
            )
        encode = self._writer.engine.half(codec).encode or codec.encode
        data: bytes = encode(obj)
        return data

    def decode_message(self, msg: PulsarMessage) -> Any:
        """Return the content of a message; None for a tombstone.

        Raises:
            SerdesError: as :meth:`KafkaAvroDeserializer.deserialize`.
        """
        data, version = data_of(msg), schema_version_of(msg)
        if data is None:
            return None
        try:
            topic = topic_with_schemas(msg.topic_name())
            return self.deserializer.deserialize(topic, data, version, headers_of(msg))
        except SchemaError as error:
            if error.hint == OUTSIDE and not hasattr(msg, "schema_id"):
                error.hint = f"this pulsar-client does not show the id of a message's schema; {OUTSIDE}"
            raise

    def decode(self, data: bytes) -> Any:
        """Return the content of a table view's message; without a header, it is read by the topic's latest schema.

        Raises:
            ConfigError: ``pulsar_schema`` was given no ``topic``.
            SerdesError: as :meth:`KafkaAvroDeserializer.deserialize`.
        """
        if self._topic is None:
            raise ConfigError(
                "expected a topic, since schema versions are numbered per topic, and the client passes bytes alone",
                hint="for a table view, pass topic= to pulsar_schema",
            )
        return self.deserializer.deserialize(self._topic, data)


@cache
def _class() -> Any:
    """PulsarSchema with pulsar-client's own class as second base, since the client requires this class."""
    try:
        from pulsar import Message
        from pulsar.schema import Schema
    except ImportError as error:
        raise ConfigError("pulsar-client is not installed", hint="pip install pulsar-client") from error
    if not hasattr(Message, "has_null_value"):
        raise ConfigError("pulsar-client is too old to tell tombstones", hint="pip install 'pulsar-client>=3.13'")
    return type("PulsarSchema", (PulsarSchema, Schema), {"__module__": __name__, "__doc__": PulsarSchema.__doc__})


def _schema_info(writer: WritePolicy | None) -> Any:
    from pulsar.schema import BytesSchema

    codec = None if writer is None else writer.codec_for(dict)
    if codec is None:
        return BytesSchema().schema_info()
    import _pulsar  # its AvroSchema would need fastavro, and write the text in a layout of its own

    return _pulsar.SchemaInfo(_pulsar.SchemaType.AVRO, "AVRO", codec.schema.text)


def _shared_out(conf: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split ``conf`` into the options for reading, with unknown ones, which reading refuses, and those for writing."""
    if conf.get("framing", config.SNIP_42) != config.SNIP_42:
        raise ConfigError(
            "framing is an option for Kafka producers: Pulsar's producers write the version into the metadata"
        )
    reads = {option.key for option in config.DESERIALIZER_OPTIONS}
    writes = {option.key for option in config.SERIALIZER_OPTIONS}
    second = {option.key for option in config.CONFLUENT_OPTIONS}  # a registry that only readers ask
    reading = {key: value for key, value in conf.items() if key in reads or key not in writes}
    return reading, {key: value for key, value in conf.items() if key in writes - second}


def _writer(conf: Mapping[str, Any], schema: object) -> WritePolicy:
    """The policy that writes by ``schema``, unless the client cannot attach with it."""
    if isinstance(schema, KeyValueSchema):  # it does not send their properties, so the broker would lose both schemas
        raise ConfigError(
            "pulsar-client for Python cannot attach with a KEY_VALUE schema",
            hint="to read, pass announce=False; to write, use KafkaAvroSerializer with a Kafka client",
        )
    found: WritePolicy = policy_of(KafkaAvroSerializer(conf, schema))
    if not found.conf["auto.register.schemas"]:
        raise ConfigError(
            "auto.register.schemas=false has no effect: the broker registers the schema that a client attaches with",
            hint="to read, pass announce=False; for producers, set isAllowAutoUpdateSchema=false in the namespace "
            "(registrations over REST are still possible)",
        )
    return found
