"""Reading KEY_VALUE topics: the reader of each half, with the reader's schemas if they were given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from streamnative_serdes import _call_path
from streamnative_serdes._avro_engine import engine_of
from streamnative_serdes._config import WRITER, CodecArguments, schema_limits
from streamnative_serdes._formats import EXTERNAL, OUTSIDE
from streamnative_serdes._schema import parse_given
from streamnative_serdes._topics.binding import Binding, Topic
from streamnative_serdes._topics.schema_version import Compiled, SchemaVersion
from streamnative_serdes._topics.topic_state import TopicState
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, SchemaError
from streamnative_serdes.key_value import INLINE, KeyValue, KeyValueSchema, TypedSchema
from streamnative_serdes.models import Reading, reading_of, schema_of
from streamnative_serdes.schema_registry import SchemaInfo

# As ReaderSchemaPolicy.reader.
ReaderOf = Callable[[Topic, int | None], tuple[SchemaVersion | None, float]]


class PairReading:
    """How a deserializer reads KEY_VALUE messages.

    Args:
        conf: checked options.
        schema: the reader's schemas of both halves, if they were given.
        reading: the reader's schema of the half that this deserializer reads, if it was given alone.
        binding: the schemas of topics.
        reader: finds the version that messages are returned as if no schema was given.
        is_key: whether keys are read.
    """

    def __init__(
        self,
        conf: dict[str, Any],
        schema: KeyValueSchema | None,
        reading: Reading | None,
        binding: Binding,
        reader: ReaderOf,
        is_key: bool,
    ) -> None:
        self._conf, self._binding, self._reader, self.is_key = conf, binding, reader, is_key
        self._given, self._engine = schema, engine_of(conf)
        self.alone = schema is not None  # messages without a version are read by it first, as by Pulsar's Java client
        own = "key" if is_key else "value"
        self._readings: dict[str, Reading | None] = {"key": None, "value": None, own: reading}
        if schema is not None:
            objects = {own: conf["value.type"]}
            self._readings = {name: self._reading(getattr(schema, name), objects.get(name)) for name in self._readings}

    def _reading(self, typed: TypedSchema, objects: type | None) -> Reading | None:
        """How one half is read; as ``objects`` of a class, if one is asked for."""
        if typed.type != "AVRO":
            if objects is not None:
                raise ConfigError(f"value.type is for halves of type AVRO, and this one has type {typed.type}")
            return None
        cls = typed.schema if isinstance(typed.schema, type) else None
        allow_null, limits = self._conf["allow.null"], schema_limits(self._conf)
        validate = self._conf["value.validate"]
        reading = reading_of(typed.schema, objects or cls, allow_null=allow_null, limits=limits, validate=validate)
        if reading is not None and reading.target.shapes:  # what the engine cannot make is refused now
            self._engine.half(Codec(reading.target.schema, shapes=reading.target.shapes))
        return reading

    def targets(self, latest: SchemaVersion) -> tuple[SchemaVersion, SchemaVersion]:
        """The schemas that a batch's keys and values are read as: the given schemas, or else the topic's latest."""
        return self._target(latest, "key"), self._target(latest, "value")

    def _target(self, latest: SchemaVersion, name: str) -> SchemaVersion:
        half, reading = latest.half(name), self._readings[name]
        if half.avro is None or reading is None:
            self._refuse_other_type(half, name, reading)
        if reading is not None:
            schema = reading.target.schema
            self._binding.require(latest.topic, schema)
            return SchemaVersion(SchemaInfo(latest.version, "AVRO", schema.text), latest.topic, Compiled(schema))
        given = None if self._given is None else getattr(self._given, name)
        if given is None or given.type != "JSON":
            return half
        own = given.schema
        text = schema_of(own, allow_null=self._conf["allow.null"]) if isinstance(own, type) else own
        shape = parse_given(text, limits=schema_limits(self._conf))
        self._binding.require(latest.topic, shape)
        return SchemaVersion(
            SchemaInfo(latest.version, given.type, shape.text, properties=half.info.properties), latest.topic
        )

    def bound(
        self,
        state: TopicState,
        key: int,
        known: SchemaVersion,
        lifetime: float,
        options: CodecArguments,
        *,
        alone: bool,
    ) -> _call_path.Bound:
        """The bound reader of messages that were written by ``known``, of type KEY_VALUE; ``lifetime`` is its longest.

        With ``alone``, messages were written by the given schemas, whatever ``known`` says.

        Raises:
            ConfigError: keys are to be read, but they are part of the values.
            SchemaError: a given schema cannot read the written data, or messages of a type cannot be read.
        """
        halves, topic = known.halves, state.topic.given
        assert halves is not None
        if self._given is not None and self._given.encoding != halves.encoding:
            raise SchemaError(
                f"expected the encoding {self._given.encoding}, but the topic has {halves.encoding}",
                topic=topic,
                version=known.version,
            )
        inline = halves.encoding == INLINE
        if self.is_key and inline:
            raise inline_keys(topic)
        if self.is_key:
            half, holds = self._half(state, known, "key", options, alone=alone)
            lifetime = min(lifetime, holds)
            if half.codec is not None:
                return _call_path.Bound(topic, key, known.version, None, half.codec, lifetime)
            pair = _call_path.Pair(None, half, KeyValue)
            return _call_path.Bound(topic, key, known.version, None, None, lifetime, pair)
        value, holds = self._half(state, known, "value", options, alone=alone)
        of_key, key_holds = self._half(state, known, "key", options, alone=alone) if inline else (None, math.inf)
        pair = _call_path.Pair(of_key, value, KeyValue)
        return _call_path.Bound(topic, key, known.version, None, None, min(lifetime, holds, key_holds), pair)

    def _half(
        self, state: TopicState, known: SchemaVersion, name: str, options: CodecArguments, *, alone: bool
    ) -> tuple[_call_path.Half, float]:
        """The reader of one half, and its lifetime in seconds."""
        half, reading = known.half(name), self._readings[name]
        if half.avro is None:
            self._refuse_other_type(half, name, reading)
            form = half.format(options, schema_limits(self._conf))
            return _call_path.Half(None, form.encode, form.decode), math.inf
        reader, shapes, lifetime = None, None, math.inf
        if reading is not None:
            target = reading.of(half.schema)
            reader, shapes = target.schema, target.shapes
            self._binding.require(state, reader)
        else:
            version, lifetime = self._reader(state, known.version)
            reader = None if version is None else version.half(name).schema
        try:
            if alone and reader is not None:
                return self._engine.half(Compiled(reader).codec(options, None, shapes)), lifetime
            return self._engine.half(half.compiled.codec(options, reader, shapes)), lifetime
        except SchemaError as error:
            if reader is not None and self._conf["reader.schema.incompatible"] == WRITER:
                return self._engine.half(half.compiled.codec(options)), lifetime
            raise error.at(topic=state.topic.given, version=known.version) from None

    def _refuse_other_type(self, half: SchemaVersion, name: str, reading: Reading | None) -> None:
        given = None if self._given is None else getattr(self._given, name).type
        if reading is not None:
            given = "AVRO"
        if given is not None and given != half.type:
            raise SchemaError(
                f"expected a {name} of type {given}, but the topic has type {half.type}",
                topic=half.topic,
                version=half.version,
                hint=OUTSIDE if half.type == EXTERNAL else None,
            )


def inline_keys(topic: str) -> ConfigError:
    """The error of reading keys of a topic whose keys are part of the values."""
    return ConfigError(
        "the topic's keys are part of its values: its encoding is INLINE",
        topic=topic,
        hint="read the values; each is a KeyValue",
    )
