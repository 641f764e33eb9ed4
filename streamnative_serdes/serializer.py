"""KafkaAvroSerializer: objects to framed Avro messages, their schemas registered on Pulsar's topic (SNIP 42)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _serdes, config, header
from .binding import Binding
from .codec import Codec
from .errors import BatchTooLargeError, EncodeError, SchemaNotFoundError, SerdesError
from .known import Known
from .lifecycle import Lifecycle, refuse_keys, refuse_no_topic
from .models import is_model, schema_of, shapes_to_write
from .schema import Schema, Shapes, parse
from .serialization import MessageField, SerializationContext, Serializer

if TYPE_CHECKING:
    import pyarrow as pa

    from .arrow import ColumnWriter

_MAX_CLASSES = 1_000  # whose codecs one serializer keeps
_MAX_WRITERS = 64  # of batches, by schema


class KafkaAvroSerializer(_serdes.Serializer, Lifecycle, Serializer):
    """Serializes with the schema version header of SNIP 42. Swaps for Confluent's AvroSerializer in a client's conf.

    Args:
        conf: options, see docs/config.md; ``schema.registry.url`` is required. Without ``conf``, call
            :meth:`configure` before the first use.
        schema: a dict, a list, JSON text, the path of a ``.avsc`` file, or a class: a dataclass, a pydantic model, a
            typed NamedTuple, an attrs class or a ``pulsar.schema.Record``. It is registered as it is on each topic
            written to. Without one, an object of such a class brings its own schema (see ``allow.null``), and anything
            else is written by the topic's latest schema.
        to_dict: ``to_dict(obj, ctx)`` turns an object into what the schema describes. Mappings, objects of the classes
            named above, and ``pyspark.sql.Row`` need none.
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
        cls = schema if isinstance(schema, type) else None
        return None if schema is None else _codec(schema, cls, conf)

    def _start(self, conf: dict[str, Any]) -> None:
        self._by_class: dict[type, Codec] = {}  # of objects whose class has a schema; one for all topics
        self._writers: dict[str, ColumnWriter] = {}
        self._setup(conf["cache.capacity"], self._arguments[1], True)

    def _bind(self, topic: str, key: type | None, ctx: SerializationContext | None) -> _serdes.Bound:
        """What to write ``topic`` with; ``key`` is the type of the object, or None where none is at hand yet."""
        binding = self._attached()
        assert self._conf is not None
        refuse_keys(ctx is not None and ctx.field == MessageField.KEY)
        codec = self._own_codec(key)
        if codec is not None:
            version = binding.registered(topic, codec.schema, new=self._conf["auto.register.schemas"])
            return _serdes.Bound(topic, key, version, header.pack(version), codec)
        known, lifetime = self._chosen(topic, binding)
        shapes = _shapes(key, known.schema)
        codec = known.compiled.codec(config.codec_arguments(self._conf), shapes=shapes)
        return _serdes.Bound(topic, key, known.version, header.pack(known.version), codec, lifetime)

    def _own_codec(self, key: type | None) -> Codec | None:
        """The codec of the schema that was given, or that the object's class brings; None to write by the topic's."""
        assert self._conf is not None
        if self._conf["use.latest.version"] or self._conf["use.schema.version"] is not None:
            return None
        own: Codec | None = self._codec
        if key is None or key is self._arguments[0] or not is_model(key):
            return own
        made = self._by_class  # before the options are looked at: configure() puts another one there
        codec = made.get(key)
        if codec is None:
            codec = _codec(key if own is None else own.schema, key, self._conf)
            if len(made) >= _MAX_CLASSES:
                made.clear()
            made[key] = codec
        return codec

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

    def serialize_batch(self, topic: str, batch: Any, *, large_types: bool = False) -> pa.Array:
        """A message for each row of Arrow columns; docs/arrow.md. ``to_dict`` is left aside.

        Args:
            topic: what they are for.
            batch: a record batch, a table, a frame of polars or pandas, an array of structs: whatever has
                ``__arrow_c_array__`` or ``__arrow_c_stream__``; of a stream, one piece at a time is in memory. Columns
                go by their names. A row of an array that is null as a whole gives a null.
            large_types: a large_binary array, for batches of more than 2 GB of messages.

        Returns:
            one array (never chunked) of as many messages as there are rows in all pieces; none, where there are none.

        Raises:
            EncodeError: the columns are not those of the schema, or a value does not fit: with the number of the row,
                over all pieces, and the path; or an array is damaged.
            BatchTooLargeError: more than 2 GB of messages; :func:`streamnative_serdes.arrow.in_parts` cuts the batch.
            SchemaRegistryError: as for an object.
            TypeError: ``batch`` has no Arrow columns; the text says what would make some of it.
        """
        from .arrow import ColumnWriter  # pyarrow is not needed otherwise

        bound = self._bind_batch(topic)
        self._batch_topics.add(topic)
        assert bound.codec is not None
        assert bound.header is not None
        schema = bound.codec.schema
        writer = self._writers.get(schema.text)
        if writer is None:
            assert self._conf is not None
            if len(self._writers) >= _MAX_WRITERS:
                self._writers.clear()
            writer = self._writers[schema.text] = ColumnWriter(schema, config.codec_arguments(self._conf))
        try:
            messages = writer.encode(batch, bound.header, large_types=large_types)
        except EncodeError as error:
            self._count_batch(0, 1)
            raise error.at(topic=topic, version=bound.version) from None
        except BatchTooLargeError as error:
            raise error.at(topic=topic, version=bound.version) from None
        self._count_batch(len(messages), 0)
        return messages

    def _bind_batch(self, topic: str) -> _serdes.Bound:
        try:
            refuse_no_topic(topic, EncodeError)
            return self._bind(topic, None, None)
        except SerdesError:
            self._count_batch(0, 1)
            raise

    def warm_up(self, topic: str) -> None:
        """Ask the registry now for all that the first message of ``topic`` would ask for.

        Raises:
            SchemaRegistryError: as a message would.
        """
        self._bind(topic, None, None)
        self._warmed |= {topic}

    def stats(self) -> dict[str, int]:
        """Counts: ``messages``, ``hits``, ``misses``, ``errors``, ``registry_calls``; see the deserializer's."""
        return {**super().stats(), "registry_calls": self.registry_calls()}


def _codec(schema: object, cls: type | None, conf: dict[str, Any]) -> Codec:
    """What writes by ``schema``, which may be a class's; objects of ``cls`` too."""
    given = schema_of(schema, allow_null=conf["allow.null"]) if isinstance(schema, type) else schema
    parsed = parse(given, limits=config.schema_limits(conf), to_register=conf["auto.register.schemas"])
    return Codec(parsed, shapes=_shapes(cls, parsed), **config.codec_arguments(conf))


def _shapes(cls: type | None, schema: Schema) -> Shapes | None:
    """How objects of ``cls`` are written; None for what is no class with a schema, such as dicts."""
    return shapes_to_write(cls, schema) if cls is not None and is_model(cls) else None
