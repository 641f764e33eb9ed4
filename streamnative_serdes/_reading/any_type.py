"""Reading topics of any type: each message by the schema that it was written with, as far as that is known (PIP 85).

The policy is the read policy of KafkaAvroDeserializer, signs of Confluent's included, with three differences:

- Schemas of all types read messages. Only AVRO and KEY_VALUE have messages with a header; in all other types, bytes
  that look like a header are data.
- A topic without a schema holds bytes.
- The result is a GenericObject, which names the schema that read the message, and the rule that chose this schema.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._topics.cache import Memo
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes._topics.topic_state import TopicState
from streamnative_serdes.errors import DecodeError, SchemaError, SchemaNotFoundError, SerdesError
from streamnative_serdes.key_value import INLINE, KeyValue, refuse_keys
from streamnative_serdes.schema_registry import SchemaInfo

from .attempts import by_key, headerless, is_sign
from .guess_format import with_hint
from .pairs import inline_keys
from .policy import NO_SCHEMA_YET, ReadPolicy
from .topic_schema import FRAMED, Part, Read, Readers, TopicSchema

logger = logging.getLogger(__name__)

Rule: TypeAlias = Literal["header", "caller", "id", "latest", "fallback", "no schema"]


class DecodedBy(NamedTuple):
    """The schema that read a message, and the rule that chose it.

    ``schema`` is None if the topic has no schema. ``rule`` is one of:

    - ``"header"``: the version in the message's header;
    - ``"caller"``: the version that the caller passed, or that Pulsar's metadata have;
    - ``"id"``: the id of a schema in another registry, in the message, its headers, or beside it (EXTERNAL); the
      ``version`` of that schema is the id, or -1 if the id is no number;
    - ``"latest"``: the topic's latest schema, since nothing names a version;
    - ``"fallback"``: the topic's latest schema, since the registry does not have the version in the header;
    - ``"no schema"``: none, the message is returned as bytes.
    """

    schema: TopicSchema | None
    rule: Rule


@dataclass(frozen=True, slots=True)
class GenericObject:
    """A message of any type.

    Args:
        schema_type: Pulsar's SchemaType, such as ``AVRO`` or ``INT32``; ``BYTES`` for a topic without a schema.
        native_object: the message's data; docs/schema-types.md has the Python type for each SchemaType.
        decoded_by: the schema that read the message, and the rule that chose it.
    """

    schema_type: str
    native_object: Any
    decoded_by: DecodedBy

    @property
    def schema_info(self) -> SchemaInfo | None:
        """The registry's entry for the schema that read the message; None if the topic has no schema."""
        return None if self.decoded_by.schema is None else self.decoded_by.schema.info

    @property
    def schema_version(self) -> int | None:
        """The version of the schema that read the message; None if the topic has no schema."""
        return None if self.decoded_by.schema is None else self.decoded_by.schema.version

    @property
    def reader_schema(self) -> TopicSchema | None:
        """The schema that the message was written with; None if nothing names it, or the topic has no schema."""
        return self.decoded_by.schema if self.decoded_by.rule in ("header", "caller", "id") else None


_MAX_SCHEMAS: Final = 10_000  # that one deserializer keeps
NO_SCHEMA: Final = "BYTES"  # the type of messages of a topic without a schema, and of those of type NONE, as in Java


class _Reading:
    """A schema, and its function that reads messages for each rule; always the same function, for comparisons."""

    def __init__(self, known: SchemaVersion, schema: TopicSchema) -> None:
        self.known, self.schema = known, schema
        self._reads: dict[Rule, Read] = {}

    def by(self, rule: Rule) -> Read:
        """Raises: SchemaError: messages of this type cannot be read."""
        return self._reads.get(rule) or self._reads.setdefault(rule, self._make(rule))

    def _make(self, rule: Rule) -> Read:
        schema = self.schema
        kind = NO_SCHEMA if schema.type == "NONE" else schema.type
        try:
            read = schema.reader(whole=rule != "header")
        except SchemaError as error:
            raise error.at(topic=schema.topic, version=schema.version) from None
        return partial(_object, kind, read, DecodedBy(schema, rule))


def _object(kind: str, read: Read, decoded_by: DecodedBy, data: bytes) -> GenericObject:
    return GenericObject(kind, read(data), decoded_by)


class AnyTypePolicy(ReadPolicy):
    """The choice of the schema that reads a topic's messages, for one KafkaAutoConsumeDeserializer."""

    def __init__(self, conf: dict[str, Any], given: _call_path.ConstructorArguments) -> None:
        super().__init__({**_DEFAULTS, **conf}, _call_path.ConstructorArguments(is_key=given.is_key))
        self._readers = Readers.by(conf)
        self._readings: Memo[tuple[str, int], _Reading] = Memo(_MAX_SCHEMAS)
        self._part: Part | None = "key" if given.is_key else None

    def schema(self, topic: str, version: int | None = None) -> TopicSchema | None:
        """A version of the topic's schema, or else the latest; None if the topic has no schema."""
        if version is not None:
            return self._reading(topic, self.binding.version(topic, version)).schema
        try:
            return self._reading(topic, self.binding.latest(topic)[0]).schema
        except SchemaNotFoundError:
            return None

    def _reading(self, topic: str, known: SchemaVersion, sign: int | None = None) -> _Reading:
        """The readers of a schema; ``sign`` is the key of one of the second registry, which is of no topic."""
        key = topic, known.version if sign is None else sign
        found = self._readings.get(key)
        if found is None or found.known is not known:
            own, part = (known, self._part) if sign is None else (replace(known, topic=topic), None)
            found = self._readings.keep(key, _Reading(known, TopicSchema(own, self._readers, self.binding, part)))
        return found

    # What the call path asks

    def bound(self, state: TopicState, key: int, *, for_key: bool = False) -> _call_path.Bound:
        """The bound reader of messages under ``key``, which makes GenericObjects.

        The reader is empty if the registry does not have the version in a header, or if messages of its type have no
        header.
        """
        if key >= 0:
            return self._bind_header(state, key, for_key=for_key)
        if is_sign(key):
            return self.bind_sign(state, key)
        topic = state.topic.given
        rule: Rule = "latest" if key == _call_path.LATEST else "caller"
        try:
            known, lifetime = self.known(state, key)
        except SchemaNotFoundError:
            if rule == "caller" or for_key:
                raise
            return self._bind_bytes(topic, key)
        if known is None:
            return self._missing(state, key, _call_path.without_header(key))
        return self._bind(topic, key, known, rule, lifetime, for_key=for_key)

    def signed(self, state: TopicState, key: int, known: SchemaVersion | None, lifetime: float) -> _call_path.Bound:
        """As for the base class."""
        topic = state.topic.given
        if known is None:
            return _call_path.Bound(topic, key, 0, None, None, lifetime)
        return self._wrapped(topic, key, 0, self._reading(topic, known, key).by("id"), lifetime)

    def _missing(self, state: TopicState, key: int, version: int) -> _call_path.Bound:
        lifetime = self.binding.missing_seconds(state.topic, version)
        return _call_path.Bound(state.topic.given, key, version, None, None, lifetime)

    def _bind_header(self, state: TopicState, version: int, *, for_key: bool) -> _call_path.Bound:
        topic = state.topic.given
        try:
            known = self.binding.version(state, version)
        except SchemaNotFoundError:
            return self._missing(state, version, version)
        if known.type not in FRAMED:
            return _call_path.Bound(topic, version, version, None, None)
        return self._bind(topic, version, known, "header", math.inf, for_key=for_key)

    def _bind(
        self, topic: str, key: int, known: SchemaVersion, rule: Rule, lifetime: float, *, for_key: bool
    ) -> _call_path.Bound:
        if for_key and known.halves is None:
            refuse_keys(topic, known.type)
        if self.is_key and known.halves is not None and known.halves.encoding == INLINE:
            raise inline_keys(topic)
        return self._wrapped(topic, key, known.version, self._reading(topic, known).by(rule), lifetime)

    def _bind_bytes(self, topic: str, key: int) -> _call_path.Bound:
        """The bound reader of messages of a topic without a schema."""
        if self.is_news(topic, NO_SCHEMA_YET):
            logger.warning("topic %s has no schema, so its messages are returned as bytes", topic)
        return self._wrapped(topic, key, 0, _AS_BYTES, self.conf["cache.missing.ttl.sec"])

    def _wrapped(self, topic: str, key: int, version: int, read: Read, lifetime: float) -> _call_path.Bound:
        pair = _call_path.Pair(None, _call_path.Half(None, None, read), KeyValue)
        return _call_path.Bound(topic, key, version, None, None, lifetime, pair)

    def recover(
        self,
        serdes: _call_path.Deserializer,
        bound: _call_path.Bound,
        data: Any,
        caller: int | None,
        sign: int | None,
        error: DecodeError | None,
    ) -> Any:
        """As for the base class, except that bytes which look like a header may be data."""
        if bound.key < 0 or error is not None:
            return super().recover(serdes, bound, data, caller, sign, error)
        if self._is_header(bound.topic, bound.key, caller):
            found: GenericObject = super().recover(serdes, bound, data, caller, sign, None)
            return found if found.decoded_by.rule == "caller" else _fallen_back(found)
        whole = self.look_up(serdes, bound.topic, headerless(caller))
        try:
            return _call_path.read_by(whole, data, 0)
        except DecodeError as fault:
            self.binding.doubt(bound.topic)
            news = self.bound(self.binding.use(bound.topic), bound.key, for_key=self.is_key)
            if news.missing:
                return super().recover(serdes, whole, data, caller, sign, fault)
        serdes.rebind()  # the topic was recreated, and its messages have headers now
        try:
            return _call_path.read_by(news, data, by_key(news.key).offset)
        except DecodeError as still:
            return super().recover(serdes, news, data, caller, sign, still)

    def _is_header(self, topic: str, version: int, caller: int | None) -> bool:
        """Whether ten bytes that look like a header with this version are a header, by the type of the messages.

        Raises:
            SchemaNotFoundError: they are a header, and no schema is to be used in place of this version.
        """
        try:
            return self.binding.version(topic, version).type in FRAMED
        except SchemaNotFoundError:
            instead = self.schema(topic, caller)
            if instead is None:  # bytes are bytes
                return False
            if instead.type in FRAMED and not self.falls_back:
                raise
        return instead.type in FRAMED

    def explained(self, error: SerdesError, bound: _call_path.Bound, data: Any) -> SerdesError:
        """The error, with a hint at the format that the bytes look like if they should have been Avro."""
        reading = self._readings.get((bound.topic, bound.version))
        avro = bound.key == _call_path.UNFRAMED or (reading is not None and reading.schema.type == "AVRO")
        return with_hint(error, data, bound.key if bound.key >= 0 else None, self.signs.names) if avro else error

    def for_keys(self) -> _call_path.Deserializer:
        """The deserializer for the keys of KEY_VALUE topics, if a context asks for keys."""
        serdes = _call_path.Deserializer()
        _call_path.set_up(
            serdes,
            AnyTypePolicy(self.conf, _call_path.ConstructorArguments(is_key=True)),
            None,
            self.conf["cache.capacity"],
        )
        return serdes


def _fallen_back(found: GenericObject) -> GenericObject:
    return replace(found, decoded_by=found.decoded_by._replace(rule="fallback"))


_AS_BYTES: Final = partial(_object, NO_SCHEMA, bytes, DecodedBy(None, "no schema"))
_DEFAULTS: Final = {option.key: option.default for option in config.DESERIALIZER_OPTIONS}
