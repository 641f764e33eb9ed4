"""The write policy: by which schema version of its topic an object is written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streamnative_serdes import _call_path, header
from streamnative_serdes import _config as config
from streamnative_serdes._config import schema_limits
from streamnative_serdes._lifecycle import Given, refuse_keys
from streamnative_serdes._schema import Schema, Shapes, parse
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes._topics.known import Known
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, SchemaNotFoundError
from streamnative_serdes.models import is_model, schema_of, shapes_to_write
from streamnative_serdes.serialization import MessageField, SerializationContext

if TYPE_CHECKING:
    from streamnative_serdes.arrow import ColumnWriter

_MAX_CLASSES = 1_000  # whose codecs one serializer keeps


class WritePolicy:
    """Which schema version an object is written by; for one serializer, configured once.

    Args:
        conf: checked options.
        given: what the serializer was given.

    Raises:
        SchemaError: no valid schema.
    """

    def __init__(self, conf: dict[str, Any], given: Given) -> None:
        schema = given.schema
        self.conf, self.binding = conf, Binding.shared(conf)
        second = config.confluent_conf(conf)
        self.confluent = None if second is None else ConfluentSchemas.shared(second)
        self.topics: set[str] = set()  # that are written in batches, or were asked for ahead of their first message
        self.writers: dict[str, ColumnWriter] = {}  # of batches, by schema
        self._class = schema if isinstance(schema, type) else None
        self._codec = None if schema is None else _codec(schema, self._class, conf)
        self._by_class: dict[type, Codec] = {}  # of objects whose class has a schema; one for all topics

    @property
    def has_schema(self) -> bool:
        """Whether it writes by the schema that it was given, and not by one of the topic's."""
        return self._codec is not None and not self._by_topic()

    def bind(
        self, serdes: _call_path.Serializer, topic: str, key: type | None, ctx: SerializationContext | None
    ) -> _call_path.Bound:
        """What to write ``topic`` with; ``key`` is the type of the object, or None where none is at hand yet."""
        self.binding.attach(serdes)
        refuse_keys(ctx is not None and ctx.field == MessageField.KEY)
        codec = None if self._by_topic() else self._own_codec(key)
        if self.confluent is not None:
            return self._bind_to_id(self.confluent, topic, key, codec)
        if codec is not None:
            version = self.binding.registered(topic, codec.schema, new=self.conf["auto.register.schemas"])
            return _call_path.Bound(topic, key, version, header.pack(version), codec)
        known, lifetime = self._chosen(topic)
        codec = known.compiled.codec(config.codec_arguments(self.conf), shapes=_shapes(key, known.schema))
        return _call_path.Bound(topic, key, known.version, header.pack(known.version), codec, lifetime)

    def _bind_to_id(
        self, confluent: ConfluentSchemas, topic: str, key: type | None, codec: Codec | None
    ) -> _call_path.Bound:
        """As :meth:`bind`, with the id of the schema in the second registry, under Confluent's name for the topic."""
        if codec is None:
            raise ConfigError(
                "framing=confluent writes by the serializer's own schema, and it was given none",
                topic=topic,
                hint="give it a schema, or objects of a class that has one",
            )
        number = confluent.writing(f"{topic}-value", codec.schema, register=self.conf["auto.register.schemas"])
        return _call_path.Bound(topic, key, number, header.pack_id(number), codec)

    def _by_topic(self) -> bool:
        """Whether the options say to write by a schema of the topic, whatever the serializer was given."""
        return bool(self.conf["use.latest.version"]) or self.conf["use.schema.version"] is not None

    def _own_codec(self, key: type | None) -> Codec | None:
        """The codec of the schema that was given, or that the object's class brings; None to write by the topic's."""
        own = self._codec
        if key is None or key is self._class or not is_model(key):
            return own
        codec = self._by_class.get(key)
        if codec is None:
            codec = _codec(key if own is None else own.schema, key, self.conf)
            if len(self._by_class) >= _MAX_CLASSES:
                self._by_class.clear()
            self._by_class[key] = codec
        return codec

    def _chosen(self, topic: str) -> tuple[Known, float]:
        """The version of the topic to write by, and for how many seconds that holds."""
        number = self.conf["use.schema.version"]
        if number is not None:
            return self.binding.version(topic, number), math.inf
        try:
            return self.binding.latest(topic)
        except SchemaNotFoundError as error:
            if not self.conf["use.latest.version"]:
                error.hint = "neither the serializer nor the topic has a schema: pass one to the serializer"
            raise

    @staticmethod
    def context(topic: str, headers: Any) -> SerializationContext:
        """What ``to_dict`` is called with."""
        return SerializationContext(topic, MessageField.VALUE, headers)


def _codec(schema: object, cls: type | None, conf: dict[str, Any]) -> Codec:
    """What writes by ``schema``, which may be a class's; objects of ``cls`` too."""
    given = schema_of(schema, allow_null=conf["allow.null"]) if isinstance(schema, type) else schema
    parsed = parse(given, limits=schema_limits(conf), to_register=conf["auto.register.schemas"])
    return Codec(parsed, shapes=_shapes(cls, parsed), **config.codec_arguments(conf))


def _shapes(cls: type | None, schema: Schema) -> Shapes | None:
    """How objects of ``cls`` are written; None if no schema can be derived from ``cls``, as from dict."""
    return shapes_to_write(cls, schema) if cls is not None and is_model(cls) else None
