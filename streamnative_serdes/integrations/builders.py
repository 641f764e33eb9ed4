"""Builders: a Kafka client (confluent-kafka 2.16) creates its SerDes from the options in its own configuration.

::

    producer = SerializingProducer({
        "bootstrap.servers": "localhost:9092",
        "schema.registry.url": "http://localhost:8080",
        "value.serializer.builder": KafkaAvroSerializerBuilder(schema),
    })

For topics of any type, there are :class:`KafkaPulsarSerializerBuilder` and
:class:`KafkaAutoConsumeDeserializerBuilder`.

With ``"basic.auth.credentials.source": "SASL_INHERIT"``, the SerDes sign in to the registry with the Kafka client's
``sasl.username`` and ``sasl.password``. Closing the client closes its SerDes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from streamnative_serdes import _config as config
from streamnative_serdes.auto_consume import KafkaAutoConsumeDeserializer
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.pulsar_serializer import KafkaPulsarSerializer
from streamnative_serdes.serialization import DeserializerBuilder, SerializationContext, Serializer, SerializerBuilder
from streamnative_serdes.serializer import KafkaAvroSerializer

_S = TypeVar("_S")


class KafkaAvroSerializerBuilder(SerializerBuilder):
    """Value of the property ``value.serializer.builder``; takes the arguments of :class:`KafkaAvroSerializer`."""

    def __init__(
        self, schema: object = None, to_dict: Callable[[Any, SerializationContext], Any] | None = None
    ) -> None:
        self._schema, self._to_dict = schema, to_dict

    def build(self, conf: Mapping[str, Any], is_key: bool) -> tuple[KafkaAvroSerializer, dict[str, Any]]:
        """Create the serializer, and return it with the rest of ``conf``, which is for the Kafka client.

        Raises:
            ConfigError: an invalid value, no ``schema.registry.url``, or a Kafka user whose tenant is not
                ``pulsar.tenant``.
        """
        own, others = _shared_out(config.SERIALIZER_OPTIONS, conf)
        return KafkaAvroSerializer(own, self._schema, self._to_dict, is_key=is_key), others


class KafkaAvroDeserializerBuilder(DeserializerBuilder):
    """Value of the property ``value.deserializer.builder``; takes the arguments of :class:`KafkaAvroDeserializer`."""

    def __init__(
        self, schema: object = None, from_dict: Callable[[Any, SerializationContext], Any] | None = None
    ) -> None:
        self._schema, self._from_dict = schema, from_dict

    def build(self, conf: Mapping[str, Any], is_key: bool) -> tuple[KafkaAvroDeserializer, dict[str, Any]]:
        """Create the deserializer, and return it with the rest of ``conf``, which is for the Kafka client.

        Raises:
            ConfigError: an invalid value, no ``schema.registry.url``, or a Kafka user whose tenant is not
                ``pulsar.tenant``.
        """
        own, others = _shared_out(config.DESERIALIZER_OPTIONS, conf)
        return KafkaAvroDeserializer(own, self._schema, self._from_dict, is_key=is_key), others


class KafkaPulsarSerializerBuilder(SerializerBuilder):
    """Value of the property ``value.serializer.builder``; takes the arguments of :class:`KafkaPulsarSerializer`."""

    def __init__(
        self, schema: object = None, to_dict: Callable[[Any, SerializationContext], Any] | None = None
    ) -> None:
        self._schema, self._to_dict = schema, to_dict

    def build(self, conf: Mapping[str, Any], is_key: bool) -> tuple[KafkaPulsarSerializer, dict[str, Any]]:
        """As :meth:`KafkaAvroSerializerBuilder.build`.

        Raises:
            ConfigError: as there; or a library that the type needs is not installed.
        """
        own, others = _shared_out(config.PULSAR_SERIALIZER_OPTIONS, conf)
        return KafkaPulsarSerializer(own, self._schema, self._to_dict, is_key=is_key), others


class KafkaAutoConsumeDeserializerBuilder(DeserializerBuilder):
    """Value of the property ``value.deserializer.builder``: each value is a :class:`GenericObject`.

    A consumer passes the value alone, so the key of a KEY_VALUE message with the encoding SEPARATED is ``UNREAD_KEY``
    there; as ``key.deserializer.builder``, it reads these keys.
    """

    def build(self, conf: Mapping[str, Any], is_key: bool) -> tuple[KafkaAutoConsumeDeserializer, dict[str, Any]]:
        """As :meth:`KafkaAvroDeserializerBuilder.build`.

        Raises:
            ConfigError: as there.
        """
        own, others = _shared_out(config.AUTO_CONSUME_OPTIONS, conf)
        return KafkaAutoConsumeDeserializer(own, is_key=is_key), others


def serdes_of(
    conf: Mapping[str, Any], cls: type[_S], builder: Callable[[object], Any], schema: object
) -> tuple[_S, bool, dict[str, Any]]:
    """Return the SerDes for values that a client's configuration has, whether it is new, and the client's options.

    Args:
        conf: has the SerDes as ``value.serializer`` or ``value.deserializer``, a builder of it, or its options.
        cls: the class that the SerDes must have.
        builder: makes a builder for ``schema``, for a configuration with options.
        schema: as for the SerDes; None if ``conf`` has the SerDes or its builder.

    Raises:
        ConfigError: a SerDes of another class, a SerDes and a builder, two schemas, or an invalid option.
    """
    kind = "serializer" if issubclass(cls, Serializer) else "deserializer"
    left = dict(conf)
    given, own_builder = left.pop(f"value.{kind}", None), left.pop(f"value.{kind}.builder", None)
    if given is not None and own_builder is not None:
        raise ConfigError(f"value.{kind} and value.{kind}.builder are both set", hint="leave one of them out")
    if schema is not None and not (given is own_builder is None):
        raise ConfigError(f"schema: the {kind} in the configuration has its own", hint="give it the schema")
    found = given
    if given is None:
        found, left = (own_builder or builder(schema)).build(left, False)
    if not isinstance(found, cls):
        raise ConfigError(f"value.{kind}: expected a {cls.__name__}, got {type(found).__name__}")
    return found, given is None, left


def _shared_out(options: tuple[config.Option, ...], conf: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split ``conf`` into our options and the Kafka client's. Planned options count as ours, so that they are refused.

    ``sasl.username`` and ``sasl.password`` belong to both if our options inherit them.
    """
    shared = {option.key for option in options if option.shared}
    config.refuse_other_tenant(conf, conf)  # the client signs in with its user, whether or not we inherit it
    ours = {option.key for option in options} - shared | set(config.NOT_THERE)
    read = ours | shared if config.inherits(conf) else ours
    own = {key: value for key, value in conf.items() if key in read}
    return own, {key: value for key, value in conf.items() if key not in ours}
