"""KafkaAutoConsumeDeserializer: messages of any of Pulsar's schema types, each with the schema it was written with.

It is what ``Schema.AUTO_CONSUME()`` is to Pulsar's Java client (PIP 85), for messages of Kafka clients and
of pulsar-client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import _call_path
from . import _config as config
from ._call_path import policy_of
from ._lifecycle import Lifecycle
from ._reading.any_type import AnyTypePolicy, DecodedBy, GenericObject, Rule
from ._reading.messages import OnError, Received, read_many, read_one
from ._reading.topic_schema import UNREAD_KEY, TopicSchema
from .errors import DecodeError
from .key_value import SEPARATED
from .schema_registry import require_version
from .serialization import Deserializer

__all__ = ["UNREAD_KEY", "DecodedBy", "GenericObject", "KafkaAutoConsumeDeserializer", "TopicSchema"]


class KafkaAutoConsumeDeserializer(_call_path.Deserializer, Lifecycle, Deserializer):
    """Deserializes messages of topics of any type to :class:`GenericObject`, and None to None.

    Args:
        conf: options, see docs/config.md; ``schema.registry.url`` is required. Without ``conf``, call
            :meth:`configure` before the first use.
        is_key: deserialize the keys of KEY_VALUE topics with the encoding SEPARATED.

    A message is read as by :class:`KafkaAvroDeserializer` without a reader's schema: by the version in its header, or
    the version passed to :meth:`deserialize`, or else the topic's latest schema. With ``framings``,
    messages that name a schema of the second registry are read by it, as on topics of type EXTERNAL. Messages of all
    types but AVRO and KEY_VALUE have no header. A topic without a schema holds bytes. ``decoded_by`` of each object
    says which of these it was; its ``reader_schema`` is the schema that the message was written with, if that is known
    for certain.

    With a KEY_VALUE topic of encoding SEPARATED, key and value are read together if the key is passed, too: by
    :meth:`deserialize_message`, :meth:`deserialize_many`, or ``deserialize(topic, value, key=key)``. Calls of the
    deserializer with a context read the value, and have :data:`UNREAD_KEY` in place of the key; or the key, if the
    context says so.

    Raises:
        ConfigError: unknown option, or a bad value.

    Calls raise DecodeError, which names field and byte; SchemaError, if messages of the type cannot be read; or
    SchemaRegistryError. All errors are confluent_kafka's SerializationError. Threads may share one deserializer, and it
    pickles.
    """

    OPTIONS = config.AUTO_CONSUME_OPTIONS
    POLICY = AnyTypePolicy

    def __init__(self, conf: Mapping[str, Any] | None = None, *, is_key: bool = False) -> None:
        super().__init__(conf, None, None, is_key)

    def deserialize(
        self, topic: str, data: Any, version: int | None = None, headers: Any = None, key: Any = UNREAD_KEY
    ) -> GenericObject | None:
        """Return the content of a message; None for None, unless the topic's keys have a schema and ``key`` is passed.

        Args:
            topic: the message's topic.
            data: the message's value, any bytes-like object, or None.
            version: the schema version of a message without a header, where the caller knows it, such as from Pulsar's
                metadata; -1, as pulsar-client says it, and None mean that there is none.
            headers: the message's, needed if ``framings`` has ``confluent-header``.
            key: the message's key as bytes, or None if it has none; used only for KEY_VALUE with encoding SEPARATED.
        """
        found: GenericObject | None = super().deserialize(topic, data, version, headers)
        if key is UNREAD_KEY or (found is not None and found.schema_type != "KEY_VALUE"):
            return found
        policy = policy_of(self)
        known = policy.binding.use(topic)
        try:
            return self._key_alone(topic, key, version) if found is None else _with_key(found, key)
        except DecodeError as error:
            if not policy.has_news(self, known):
                _call_path.count_error(self, topic, error)
                raise
        return self.deserialize(topic, data, version, headers, key)

    def _key_alone(self, topic: str, key: Any, version: int | None) -> GenericObject | None:
        """A message whose value is null, if its key has a schema."""
        schema = self.schema(topic, version)
        if schema is None or schema.encoding != SEPARATED:
            return None
        rule: Rule = "latest" if version is None or version < 0 else "caller"
        return _with_key(GenericObject(schema.type, None, DecodedBy(schema, rule)), key)

    def deserialize_message(self, message: Any, topic: str | None = None) -> GenericObject | None:
        """Return the content of a client's message, with the key if keys have a schema; None for a tombstone.

        Args:
            message: of confluent-kafka, kafka-python, aiokafka or pulsar-client. Those of the latter are read by the
                schema version in Pulsar's metadata.
            topic: the message's topic; None takes its own.

        Raises:
            DecodeError: ``error.raw`` has the message.
        """
        found: GenericObject | None = read_one(self._read, topic, message)
        return found

    def deserialize_many(
        self, topic: str | None, messages: Iterable[Any], on_error: OnError = "raise"
    ) -> Iterator[GenericObject | Any]:
        """Yield the content of each message, in order; as :meth:`KafkaAvroDeserializer.deserialize_many`."""
        if topic is not None:
            policy_of(self).binding.checked(topic, DecodeError)
        return read_many(self._read, topic, messages, on_error)

    def _read(self, message: Received) -> GenericObject | None:
        key = UNREAD_KEY if message.bare else message.key
        return self.deserialize(message.topic, message.raw.data, message.version, message.raw.headers, key)

    def reader_schema(self, message: Any, topic: str | None = None) -> TopicSchema | None:
        """Return the schema that a client's message was written with, as Java's ``Message.getReaderSchema()``.

        This reads the message, since only reading shows whether its first bytes are a header.

        Returns:
            None if neither a header nor Pulsar's metadata name a version that the topic has, or if the topic has no
            schema.

        Raises:
            SchemaNotFoundError: Pulsar's metadata name a version that the topic does not have.
            DecodeError: the message cannot be read.
        """
        schema: TopicSchema | None = read_one(self._written_with, topic, message)
        return schema

    def _written_with(self, message: Received) -> TopicSchema | None:
        if message.raw.data is None:  # it has no header, and needs no schema to be read
            return None if message.version is None else self.schema(message.topic, message.version)
        found = self.deserialize(message.topic, message.raw.data, message.version, message.raw.headers)
        return None if found is None else found.reader_schema

    def schema(self, topic: str, version: int | None = None) -> TopicSchema | None:
        """Return a version of the topic's schema, or else the latest; None if the topic has no schema.

        Args:
            topic: a topic's name.
            version: None, or -1, as pulsar-client says it, for the latest.

        Raises:
            DecodeError: ``topic`` is not a topic's name.
            SchemaNotFoundError: the topic has no such version.
            SchemaError: the schema is not valid.
            SchemaRegistryError: the registry cannot be asked.
            ConfigError: ``version`` is neither an int nor None.
        """
        policy: AnyTypePolicy = policy_of(self)
        policy.binding.enter(self, topic, DecodeError)
        if version is not None:
            require_version(version, topic)
        return policy.schema(topic, None if version is not None and version < 0 else version)

    def warm_up(self, topic: str) -> None:
        """Ask the registry now, in one call, for all schemas that the topic has.

        Raises:
            SchemaRegistryError: as for a single message.
        """
        policy: AnyTypePolicy = policy_of(self)
        policy.binding.warm_up(policy.binding.enter(self, topic, DecodeError))
        policy.topics.add(topic)


def _with_key(found: GenericObject, key: Any) -> GenericObject:
    schema = found.decoded_by.schema
    assert schema is not None
    return GenericObject(found.schema_type, schema.with_key(found.native_object, key), found.decoded_by)
