"""The write policy: the choice of the schema that writes a topic's messages, and how it is found or registered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from streamnative_serdes import _call_path, header
from streamnative_serdes import _config as config
from streamnative_serdes._avro_engine import engine_of
from streamnative_serdes._schema import AvroType, Map, Record, Schema, children
from streamnative_serdes._topics.binding import Binding, Topic
from streamnative_serdes._topics.cache import Memo
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes._topics.schema_version import Posted, SchemaVersion
from streamnative_serdes._topics.topic_state import KeptWhileUnchanged, TopicState
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, EncodeError, SchemaError, SchemaNotFoundError
from streamnative_serdes.key_value import KeyValue, KeyValueSchema, TypedSchema, refuse_keys
from streamnative_serdes.models import is_model
from streamnative_serdes.serialization import MessageField, SerializationContext

from .pairs import WrittenPair, bound_pair, codec_of, given_pair, shapes_of, topics_pair

if TYPE_CHECKING:
    from streamnative_serdes.arrow import ColumnWriter
    from streamnative_serdes.arrow.typed_columns import TypedColumnWriter


def schema_to_write(conf: dict[str, Any], given: object, *, is_key: bool) -> Schema | None:
    """The schema of bare keys; None if a serializer is not to write bare keys.

    Raises:
        ConfigError: ``given``, the schema that the serializer was given, says how keys are written, too.
        SchemaError: the schema is not valid, or has a map.
    """
    schema = config.key_schema(conf)
    if schema is None:
        return None
    if isinstance(given, KeyValueSchema) or (is_key and given is not None):
        raise ConfigError(
            "cannot use both key.schema and a schema that says how keys are written",
            hint="key.schema is for bare keys, a KeyValueSchema is for topics of type KEY_VALUE",
        )
    path = _path_of_map(schema.root, "", set())
    if path is not None:
        raise SchemaError(
            "key.schema has a map, whose entries have no order, so equal keys could be different bytes",
            path=path,
            hint="take an array of records, in an order of your own",
        )
    return schema


def _path_of_map(node: AvroType, path: str, seen: set[int]) -> str | None:
    """Return the path of the first map in the schema; None without a map. ``seen`` ends recursive records."""
    if isinstance(node, Map):
        return path
    if id(node) in seen:
        return None
    seen.add(id(node))
    names = [part.name for part in node.fields] if isinstance(node, Record) else [""] * len(children(node))
    inner = (
        _path_of_map(child, ".".join(filter(None, (path, name))), seen)
        for name, child in zip(names, children(node), strict=True)
    )
    return next((found for found in inner if found is not None), None)


class WritePolicy:
    """The choice of the schema version that an object is written by, for one serializer; configured once."""

    seen: ClassVar[None] = None  # nothing is read

    def __init__(self, conf: dict[str, Any], given: _call_path.ConstructorArguments) -> None:
        schema, self._properties = _of_avro(given.schema)
        self.conf, self.binding, self.is_key = conf, Binding.shared(conf), given.is_key
        keys = schema_to_write(conf, schema, is_key=given.is_key)
        self._bare_keys = keys is not None and given.is_key  # the serializer writes keys only, by key.schema
        self._keys_beside = keys is not None and not given.is_key  # the serializer writes bare keys, too
        second = config.confluent_conf(conf)
        self.confluent = None if second is None else ConfluentSchemas.shared(second)
        self.registries = {} if self.confluent is None else {"confluent.": self.confluent}
        self.engine = engine_of(conf)
        self.topics: set[str] = set()  # that are written in batches, or were asked for ahead of their first message
        self.writers: Memo[object, ColumnWriter | TypedColumnWriter] = Memo(64)  # of batches, by schema
        self.batch_writers: KeptWhileUnchanged[Any] = KeptWhileUnchanged(conf["cache.capacity"])  # by topic
        self._given = given
        schema = keys if self._bare_keys else schema
        self._pair = given_pair(schema, conf) if isinstance(schema, KeyValueSchema) else None
        self._class = schema if isinstance(schema, type) else None
        self._codec = None if schema is None or self._pair is not None else self.own_codec(schema, self._class)
        if self._codec is not None:
            self.engine.half(self._codec)  # a schema that the engine refuses is refused now
        self._by_class: Memo[type, Codec] = Memo(1_000)  # of objects whose class has a schema; one for all topics
        self._refuse_unused_fault()
        self._refuse_lone_key()

    def own_codec(self, schema: object, cls: type | None) -> Codec:
        """The codec that writes by the schema that the serializer was given; objects of ``cls`` too."""
        return codec_of(schema, cls, self.conf)

    def _refuse_unused_fault(self) -> None:
        """Refuse a given schema with a fault if the options say to write by the topic's: no call would report it."""
        fault = None if self._codec is None else self._codec.schema.fault
        if self._pair is not None:
            fault = self._pair.known.fault
        if fault is not None and self.by_topic():
            raise fault

    def _refuse_lone_key(self) -> None:
        """Refuse the schema of keys alone: if it were registered, it would become the schema of the topic's values."""
        if self.confluent is not None:
            if self._pair is not None:
                hint = "give keys a serializer of their own, with is_key=True and the key's schema"
                raise ConfigError("framing=confluent writes by one Avro schema, not by a KeyValueSchema", hint=hint)
        elif self.is_key and self._codec is not None and not self._bare_keys and self.conf["auto.register.schemas"]:
            raise ConfigError(
                "cannot register the schema of keys alone: Pulsar has one schema per topic",
                hint="key.schema writes bare keys by a schema that is not registered; for a KEY_VALUE topic, give both "
                "serializers the same KeyValueSchema(key, value, encoding), or set auto.register.schemas=false; for "
                "keys without a schema use another serializer, such as confluent_kafka's StringSerializer",
            )

    @property
    def has_schema(self) -> bool:
        """Whether the serializer writes by the schema that it was given, and not by a schema of the topic."""
        return (self._codec is not None or self._pair is not None) and not self.by_topic()

    def bind(
        self, serdes: _call_path.Serializer, topic: str, key: type | None, ctx: SerializationContext | None
    ) -> _call_path.Bound:
        """The bound writer of ``topic``; ``key`` is the type of the object, or None if no object is known yet."""
        state = self.binding.enter(serdes, topic, EncodeError)
        if self._pair is not None and not self.by_topic():
            version = self._registered(state, self._pair.known)
            return self._bind_pair(topic, key, self._pair, version)
        if ctx is not None and ctx.field == MessageField.KEY and not self.is_key:  # has_keys() has denied it
            refuse_keys(topic, self._type_of(state))
        if self._bare_keys and self.binding.type_of(state) != "KEY_VALUE":
            return self.engine.bound(topic, key, -1, b"", self.codec_for(key))
        codec = None if self.by_topic() else self.codec_for(key)
        if self.confluent is not None:
            return self._bind_to_id(self.confluent, topic, key, codec)
        if codec is not None:
            return self._bind_own_key(state, key, codec) if self.is_key else self._bind_own(state, key, codec)
        known, lifetime = self._chosen(state)
        if known.halves is not None:
            pair = topics_pair(known, self.conf, key, is_key=self.is_key)
            return self._bind_pair(topic, key, pair, known.version, lifetime)
        if self.is_key:
            refuse_keys(topic, known.type)
        if key is not None and issubclass(key, KeyValue):  # else a record whose fields all have defaults would take it
            hint = "a KeyValue is for topics of type KEY_VALUE with the encoding INLINE"
            raise EncodeError(
                f"expected data of type {known.type}, got a KeyValue", topic=topic, version=known.version, hint=hint
            )
        return self.bind_topics(topic, key, known, lifetime)

    def bind_topics(self, topic: str, key: type | None, known: SchemaVersion, lifetime: float) -> _call_path.Bound:
        """The bound writer by a schema of the topic, which is not of type KEY_VALUE."""
        codec = known.compiled.codec(config.codec_arguments(self.conf), shapes=shapes_of(key, known.schema))
        return self._bind_value(topic, key, known.version, codec, lifetime)

    def _bind_value(
        self, topic: str, key: type | None, version: int, codec: Codec, lifetime: float = math.inf
    ) -> _call_path.Bound:
        """The bound writer of values; if keys are written too, a pair, which the call path never uses for keys."""
        prefix = header.pack(version)
        if not self._keys_beside:
            return self.engine.bound(topic, key, version, prefix, codec, lifetime)
        pair = _call_path.Pair(None, self.engine.half(codec), KeyValue)
        return _call_path.Bound(topic, key, version, prefix, None, lifetime, pair)

    def _registered(self, topic: Topic, known: SchemaVersion) -> int:
        return self.binding.registered(topic, known, new=self.conf["auto.register.schemas"])

    def _bind_own(self, state: TopicState, key: type | None, codec: Codec) -> _call_path.Bound:
        """The bound writer by a schema of the serializer or the object: the topic's schema, or that of its values."""
        try:
            version = self._registered(state, SchemaVersion.of_schema(codec.schema, self._properties))
        except SchemaNotFoundError:
            known = None if self.conf["auto.register.schemas"] else self._with_half(state, codec.schema)
            if known is None:
                raise
            return self._bind_pair(state.topic.given, key, self._with_own(known, codec), known.version)
        return self._bind_value(state.topic.given, key, version, codec)

    def _bind_own_key(self, state: TopicState, key: type | None, codec: Codec) -> _call_path.Bound:
        """The bound writer by a key's schema, which is never registered: a pair of the topic already has it."""
        topic = state.topic.given
        known = self._with_half(state, codec.schema)
        if known is None:
            self.binding.versions(state)
            known = self._with_half(state, codec.schema)
        if known is not None:
            return self._bind_pair(topic, key, self._with_own(known, codec), known.version)
        kind = self._type_of(state)
        if kind != "KEY_VALUE":
            refuse_keys(topic, kind)
        raise SchemaNotFoundError(
            "no version of the topic has this schema as that of its keys",
            topic=topic,
            hint="register it together with the value's: give both serializers KeyValueSchema(key, value, encoding)",
        )

    def _with_half(self, topic: Topic, schema: Schema) -> SchemaVersion | None:
        """The newest pair of the topic that has this schema as the half to write."""
        for known in self.binding.pairs(topic):
            assert known.halves is not None
            half = known.halves.key if self.is_key else known.halves.value
            if half.avro is not None and half.schema.same_as(schema):
                return known
        return None

    def _with_own(self, known: SchemaVersion, codec: Codec) -> WrittenPair:
        """The topic's pair, with ``codec`` for the half that this serializer writes."""
        pair, own = topics_pair(known, self.conf, None, is_key=self.is_key), self.engine.half(codec)
        return replace(pair, key=own) if self.is_key else replace(pair, value=own)

    def _bind_pair(
        self, topic: str, key: type | None, pair: WrittenPair, version: int, lifetime: float = math.inf
    ) -> _call_path.Bound:
        return bound_pair(topic, key, pair, version, self.conf, is_key=self.is_key, lifetime=lifetime)

    def has_keys(self, topic: str) -> bool:
        """Whether :meth:`for_keys` writes the keys of this topic: as options say, or because its type is KEY_VALUE."""
        self.binding.checked(topic, EncodeError)
        return self.confluent is not None or self._keys_beside or self._type_of(topic) == "KEY_VALUE"

    def _type_of(self, topic: Topic) -> str:
        """The type of the topic's schema, or of the one that this serializer registers."""
        if self._pair is not None:
            return "KEY_VALUE"
        own = self._codec is not None and not self._bare_keys and not self.by_topic()
        registers = own and self.conf["auto.register.schemas"]
        if registers or self.confluent is not None:
            return "AVRO"
        return self.binding.type_of(topic) or "AVRO"

    def other_type(self, serdes: _call_path.Serializer, topic: str) -> SchemaVersion | None:
        """The schema version that batches of the topic are written by, if it is not of type AVRO."""
        state = self.binding.enter(serdes, topic, EncodeError)
        if self._pair is not None and not self.by_topic():
            known = self._pair.known
            info = Posted.of(known.info).info(self._registered(state, known))
            return replace(known, info=info, topic=topic)
        if self.confluent is not None:
            return None
        if self._codec is None or self.by_topic():
            known, _ = self._chosen(state)
            return known if known.avro is None else None
        if self.conf["auto.register.schemas"]:
            return None
        try:
            self._registered(state, SchemaVersion.of_schema(self._codec.schema))
        except SchemaNotFoundError:
            return self._with_half(state, self._codec.schema)
        return None

    def for_keys(self) -> _call_path.Serializer:
        """The serializer for keys, if a context asks for keys: by the given schema, key.schema, or the topic's."""
        schema = self._given.schema if self._pair is not None or self.confluent is not None else None
        serdes = _call_path.Serializer()
        policy = WritePolicy(self.conf, _call_path.ConstructorArguments(schema, None, is_key=True))
        _call_path.set_up(serdes, policy, None, self.conf["cache.capacity"])
        return serdes

    def _bind_to_id(
        self, confluent: ConfluentSchemas, topic: str, key: type | None, codec: Codec | None
    ) -> _call_path.Bound:
        """The bound writer with the id of the schema in the second registry, under Confluent's name for the topic."""
        if codec is None:
            raise ConfigError(
                "framing=confluent writes by the serializer's own schema, and it was given none",
                topic=topic,
                hint="give it a schema, or objects of a class that has one",
            )
        subject = f"{topic}-{'key' if self.is_key else 'value'}"
        number = confluent.writing(subject, codec.schema, register=self.conf["auto.register.schemas"])
        return _call_path.Bound(topic, key, number, header.pack_id(number), codec)

    def by_topic(self) -> bool:
        """Whether the options say to write by a schema of the topic, whatever the serializer was given."""
        return bool(self.conf["use.latest.version"]) or self.conf["use.schema.version"] is not None

    def codec_for(self, key: type | None) -> Codec | None:
        """The codec of the schema that was given, or that the object's class brings; None to write by the topic's."""
        own = self._codec
        if key is None or key is self._class or issubclass(key, KeyValue) or not is_model(key):
            return own
        codec = self._by_class.get(key)
        if codec is None:
            codec = self._by_class.keep(key, codec_of(key if own is None else own.schema, key, self.conf))
        return codec

    def _chosen(self, topic: Topic) -> tuple[SchemaVersion, float]:
        """The version of the topic to write by, and for how many seconds that holds."""
        number = self.conf["use.schema.version"]
        if number is not None:
            return self.binding.version(topic, number), math.inf
        try:
            return self.binding.latest(topic)
        except SchemaNotFoundError as error:
            if not self.conf["use.latest.version"]:
                error.hint = (
                    "neither the serializer nor the topic has a schema: pass one to the serializer, for pairs a "
                    "KeyValueSchema"
                )
            raise

    def context(self, topic: str, headers: Any) -> SerializationContext:
        """The context that ``to_dict`` gets."""
        return SerializationContext(topic, MessageField.KEY if self.is_key else MessageField.VALUE, headers)


def _of_avro(schema: Any) -> tuple[Any, Mapping[str, str]]:
    """An Avro schema or a KeyValueSchema, and the properties that are registered with it."""
    if not isinstance(schema, TypedSchema):
        return schema, {}
    if schema.type != "AVRO":
        raise SchemaError(
            f"expected a schema of type AVRO, got type {schema.type}",
            hint="KafkaPulsarSerializer writes messages of any type",
        )
    return schema.schema, schema.properties
