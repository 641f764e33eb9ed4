"""Writing topics of any type: by a schema with its type, or by the topic's own.

For AVRO and KEY_VALUE, the policy is the write policy of KafkaAvroSerializer. Messages of all other types are their
data alone, without a header.
"""

from __future__ import annotations

import math
from typing import Any, Final

from streamnative_serdes import _call_path
from streamnative_serdes._topics.cache import Memo
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes._topics.topic_state import TopicState
from streamnative_serdes.errors import ConfigError, EncodeError, SchemaError, SchemaNotFoundError
from streamnative_serdes.key_value import KeyValue, KeyValueSchema, refuse_keys, typed
from streamnative_serdes.models import is_model
from streamnative_serdes.serialization import MessageField, SerializationContext

from .pairs import half_of, known_of
from .policy import WritePolicy

_SCHEMALESS: Final = frozenset({"BYTES", "NONE"})


class AnyTypeWritePolicy(WritePolicy):
    """The choice of the schema that an object is written by, for one KafkaPulsarSerializer."""

    def __init__(self, conf: dict[str, Any], given: _call_path.ConstructorArguments) -> None:
        pair = given.schema if isinstance(given.schema, KeyValueSchema) else None
        schema = typed(given.schema) if pair is None and given.schema is not None else None
        other = schema is not None and schema.type != "AVRO"
        super().__init__(conf, given._replace(schema=pair if other else pair or schema))
        self._without = given.schema is None
        self._own: SchemaVersion | None = None
        self._halves: Memo[type, _call_path.Half] = Memo(1_000)  # by the class of the objects
        if schema is not None and other:
            self._refuse_key()
            self._own = known_of(schema, conf)
            self._half = half_of(self._own, conf)  # a schema that cannot be used is refused now

    def _refuse_key(self) -> None:
        if self.is_key:
            raise ConfigError(
                "cannot write keys by a schema of their own: Pulsar has one schema per topic",
                hint="give both serializers the same KeyValueSchema(key, value, encoding), or none, to write by the "
                "topic's",
            )

    def by_topic(self) -> bool:
        """Whether to write by a schema of the topic: if no schema was given, or if the options say so."""
        return self._without or super().by_topic()

    def bind(
        self, serdes: _call_path.Serializer, topic: str, key: type | None, ctx: SerializationContext | None
    ) -> _call_path.Bound:
        """The bound writer of ``topic``; ``key`` is the type of the object, or None if no object is known yet."""
        if self._own is None or self.by_topic():
            return super().bind(serdes, topic, key, ctx)
        state = self.binding.enter(serdes, topic, EncodeError)
        if ctx is not None and ctx.field == MessageField.KEY:
            refuse_keys(topic, self._own.type)
        if self._own.type == "BYTES":
            self._refuse_schema(state)
            return self._bare(topic, key, 0, self._half, self.conf["cache.latest.ttl.sec"])
        version = self.binding.registered(state, self._own, new=self.conf["auto.register.schemas"])
        return self._bare(topic, key, version, self._half_for(self._own, key), math.inf)

    def _half_for(self, own: SchemaVersion, key: type | None) -> _call_path.Half:
        """The writer of objects of this class by the serializer's own schema."""
        if key is None or own.type != "JSON" or not is_model(key):
            return self._half
        found = self._halves.get(key)
        if found is None:
            found = self._halves.keep(key, half_of(own, self.conf, key))
        return found

    def _refuse_schema(self, topic: TopicState) -> None:
        """Refuse a topic with a schema: BYTES is for topics without a schema, and is never registered."""
        try:
            known, _ = self.binding.latest(topic)
        except SchemaNotFoundError:
            return
        if known.type not in _SCHEMALESS:
            raise SchemaError(
                f"expected a topic without a schema, but it has one of type {known.type}",
                topic=str(topic),
                version=known.version,
                hint="without a schema, KafkaPulsarSerializer writes by the topic's",
            )

    def bind_topics(self, topic: str, key: type | None, known: SchemaVersion, lifetime: float) -> _call_path.Bound:
        """The bound writer by a schema of the topic."""
        if known.avro is not None:
            return super().bind_topics(topic, key, known, lifetime)
        return self._bare(topic, key, known.version, half_of(known, self.conf, key), lifetime)

    def _bare(
        self, topic: str, key: type | None, version: int, half: _call_path.Half, lifetime: float
    ) -> _call_path.Bound:
        pair = _call_path.Pair(None, half, KeyValue)
        return _call_path.Bound(topic, key, version, b"", None, lifetime, pair)
