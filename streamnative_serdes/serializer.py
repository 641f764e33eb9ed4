"""KafkaAvroSerializer: objects to framed Avro messages, their schemas registered on Pulsar's topic (SNIP 42)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from . import _serdes, config, header
from .binding import Binding
from .codec import Codec
from .errors import SchemaNotFoundError
from .lifecycle import Lifecycle, refuse_keys
from .memory import Known, schema_limits
from .models import is_model, schema_of
from .schema import parse
from .serialization import MessageField, SerializationContext, Serializer


class KafkaAvroSerializer(_serdes.Serializer, Lifecycle, Serializer):
    """Serializes with the schema version header of SNIP 42. Swaps for Confluent's AvroSerializer in a client's conf.

    Args:
        conf: options, see docs/config.md; ``schema.registry.url`` is required. Without ``conf``, call
            :meth:`configure` before the first use.
        schema: a dict, a list, JSON text, the path of a ``.avsc`` file, or a dataclass. It is registered as it is on
            each topic written to. Without one, a dataclass instance brings its own schema (see ``allow.null``), and
            anything else is written by the topic's latest schema.
        to_dict: ``to_dict(obj, ctx)`` turns an object into what the schema describes. Mappings, dataclasses, named
            tuples and ``pyspark.sql.Row`` need none.
        is_key: not supported: in Pulsar, a topic's schema is that of its values.

    Raises:
        ConfigError: unknown option, bad value.
        SchemaError: no valid schema.

    ``serializer(obj, ctx)`` and ``serializer.serialize(topic, obj)`` give bytes, or None for None. They raise
    EncodeError for an object that does not fit and SchemaRegistryError when the registry refuses; all errors are
    confluent_kafka's SerializationError. Threads may share one serializer, and it pickles.
    """

    OPTIONS = config.SERIALIZER_OPTIONS

    def __init__(
        self,
        conf: Mapping[str, Any] | None = None,
        schema: object = None,
        to_dict: Callable[[Any, SerializationContext], Any] | None = None,
        *,
        is_key: bool = False,
    ) -> None:
        self._begin(conf, schema, to_dict, is_key)

    def _compiled(self, schema: object, conf: dict[str, Any]) -> Codec | None:
        if schema is None:
            return None
        given = schema_of(schema, allow_null=conf["allow.null"]) if isinstance(schema, type) else schema
        return Codec(parse(given, limits=schema_limits(conf)), **config.codec_arguments(conf))

    def _start(self, conf: dict[str, Any]) -> None:
        self._setup(conf["cache.capacity"], self._arguments[1], self._codec is None)

    def _bind(self, topic: str, key: type | None, ctx: SerializationContext | None) -> _serdes.Bound:
        """What to write ``topic`` with; ``key`` is the type of the object where no schema was given."""
        binding = self._attached()
        assert self._conf is not None
        refuse_keys(ctx is not None and ctx.field == MessageField.KEY)
        codec = self._own_codec(key)
        if codec is not None:
            version = binding.registered(topic, codec.schema, new=self._conf["auto.register.schemas"])
            return _serdes.Bound(topic, key, version, header.pack(version), codec)
        known, lifetime = self._chosen(topic, binding)
        codec = known.compiled.codec(config.codec_arguments(self._conf))
        return _serdes.Bound(topic, key, known.version, header.pack(known.version), codec, lifetime)

    def _own_codec(self, key: type | None) -> Codec | None:
        """The codec of the schema that was given, or that the object's class brings; None to write by the topic's."""
        assert self._conf is not None
        if self._conf["use.latest.version"] or self._conf["use.schema.version"] is not None:
            return None
        return self._compiled(key, self._conf) if is_model(key) else self._codec

    def _chosen(self, topic: str, binding: Binding) -> tuple[Known, float]:
        """The version of the topic to write by, and for how many seconds that holds."""
        assert self._conf is not None
        number = self._conf["use.schema.version"]
        if number is not None:
            return binding.version(topic, number), math.inf
        try:
            return binding.latest(topic)
        except SchemaNotFoundError as error:
            if not self._conf["use.latest.version"]:
                error.hint = "the serializer was given no schema, and the topic has none: give it one"
            raise

    def warm_up(self, topic: str) -> None:
        """Ask the registry now for all that the first message of ``topic`` would ask for.

        Raises:
            SchemaRegistryError: as a message would.
        """
        self._bind(topic, None, None)

    def stats(self) -> dict[str, int]:
        """Counts: ``messages``, ``hits``, ``misses``, ``errors``, ``registry_calls``; see the deserializer's."""
        return {**super().stats(), "registry_calls": self.registry_calls()}
