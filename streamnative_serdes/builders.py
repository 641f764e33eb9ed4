"""Builders: SerDes made by the Kafka client itself, of the options that stand among its own (confluent-kafka 2.16).

::

    producer = SerializingProducer({
        "bootstrap.servers": "localhost:9092",
        "schema.registry.url": "http://localhost:8080",
        "value.serializer.builder": KafkaAvroSerializerBuilder(schema),
    })

``"basic.auth.credentials.source": "SASL_INHERIT"`` among them signs in to the registry as the client does to Kafka,
with ``sasl.username`` and ``sasl.password``. The client closes what a builder made together with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import config
from .deserializer import KafkaAvroDeserializer
from .lifecycle import refuse_keys
from .serialization import DeserializerBuilder, SerializationContext, SerializerBuilder
from .serializer import KafkaAvroSerializer


class KafkaAvroSerializerBuilder(SerializerBuilder):
    """For the property ``value.serializer.builder``; arguments as of :class:`KafkaAvroSerializer`."""

    def __init__(
        self, schema: object = None, to_dict: Callable[[Any, SerializationContext], Any] | None = None
    ) -> None:
        self._schema, self._to_dict = schema, to_dict

    def build(self, conf: Mapping[str, Any], is_key: bool) -> tuple[KafkaAvroSerializer, dict[str, Any]]:
        """The serializer, and what of ``conf`` is not for it.

        Raises:
            ConfigError: a bad value, no ``schema.registry.url``, a Kafka user of another tenant than ``pulsar.tenant``,
                or ``is_key``.
        """
        refuse_keys(is_key)
        own, others = _shared_out(config.SERIALIZER_OPTIONS, conf)
        return KafkaAvroSerializer(own, self._schema, self._to_dict), others


class KafkaAvroDeserializerBuilder(DeserializerBuilder):
    """For the property ``value.deserializer.builder``; arguments as of :class:`KafkaAvroDeserializer`."""

    def __init__(
        self, schema: object = None, from_dict: Callable[[Any, SerializationContext], Any] | None = None
    ) -> None:
        self._schema, self._from_dict = schema, from_dict

    def build(self, conf: Mapping[str, Any], is_key: bool) -> tuple[KafkaAvroDeserializer, dict[str, Any]]:
        """The deserializer, and what of ``conf`` is not for it.

        Raises:
            ConfigError: a bad value, no ``schema.registry.url``, a Kafka user of another tenant than ``pulsar.tenant``,
                or ``is_key``.
        """
        refuse_keys(is_key)
        own, others = _shared_out(config.DESERIALIZER_OPTIONS, conf)
        return KafkaAvroDeserializer(own, self._schema, self._from_dict), others


def _shared_out(options: tuple[config.Option, ...], conf: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is for us, options that are not there yet included so that they are refused, and what is for the client.

    ``sasl.username`` and ``sasl.password`` are for both, if our options ask for them.
    """
    shared = {option.key for option in options if option.shared}
    config.refuse_other_tenant(conf, conf)  # the client signs in with its user, whether or not we read it
    ours = {option.key for option in options} - shared | set(config.NOT_THERE)
    read = ours | shared if config.inherits(conf) else ours
    own = {key: value for key, value in conf.items() if key in read}
    return own, {key: value for key, value in conf.items() if key not in ours}
