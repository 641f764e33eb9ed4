"""A schema version of a topic, of any type: its codecs and formats for objects, and its parts for columns."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple
from weakref import WeakValueDictionary

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._formats import EXTERNAL, OUTSIDE, Format, format_of
from streamnative_serdes._formats.jackson.java_classes import inner_schema
from streamnative_serdes._formats.parts import PairParts, Part, Parts, halves_of
from streamnative_serdes._schema import Limits, Schema, Shapes, nullable, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import NestedTooDeeplyError, SchemaError
from streamnative_serdes.key_value import PRIMITIVE_TYPES
from streamnative_serdes.schema_registry import SchemaInfo, TopicName

_ANY_TYPE: Final = "KafkaAutoConsumeDeserializer reads topics of any type, and KafkaPulsarSerializer writes them"
_MAX_CODECS = 16  # codecs kept per schema: one for each reader's schema and set of options


class Compiled:
    """A schema and the codecs compiled from it; topics and versions with the same text share an object.

    Two threads that parse a text at the same time may have an object each: the later one is shared from then on. No
    lock guards the maps: each step on them is atomic, and of equal codecs the first is kept.
    """

    __slots__ = ("__weakref__", "_codecs", "schema")

    _all: ClassVar[WeakValueDictionary[tuple[str, Limits, bool], Compiled]] = WeakValueDictionary()

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._codecs: dict[Hashable, Codec | SchemaError] = {}

    @classmethod
    def of(cls, text: str, limits: Limits, *, confluent: bool = False) -> Compiled:
        """The schema with this text; ``confluent``: of data behind Confluent's framing.

        Raises:
            SchemaError: the text is not an Avro schema, or exceeds the limits.
        """
        key = text, limits, confluent
        found = cls._all.get(key)
        if found is None:
            schema = parse(text, strict=False, limits=limits)
            found = cls._all.setdefault(key, cls(schema.in_confluents_framing() if confluent else schema))
        return found

    def codec(self, options: CodecArguments, reader: Schema | None = None, shapes: Shapes | None = None) -> Codec:
        """The codec that reads this schema, as ``reader`` if given; calls with equal arguments share one codec.

        With ``shapes``, records and enums are objects of classes.

        Raises:
            SchemaError: ``reader`` cannot read this schema.
        """
        key = (None if reader is None else reader.text, tuple((shapes or {}).values()), *sorted(options.items()))
        found = self._codecs.get(key)
        if found is None:
            if len(self._codecs) >= _MAX_CODECS:
                self._codecs.clear()
            try:
                found = Codec(self.schema, reader, shapes=shapes, **options)
            except NestedTooDeeplyError:  # depends on the caller's stack, so the next call may succeed
                raise
            except SchemaError as error:
                found = error.with_traceback(None)
            found = self._codecs.setdefault(key, found)
        if isinstance(found, SchemaError):
            raise copy(found)  # compiling again for each message would be far slower
        return found


class Posted(NamedTuple):
    """A schema as it is registered: the content of a POST, in a form that can be a key."""

    type: str
    text: str
    properties: tuple[tuple[str, str], ...] = ()

    @classmethod
    def avro(cls, schema: Schema) -> Posted:
        return cls("AVRO", schema.text)

    @classmethod
    def of(cls, info: SchemaInfo) -> Posted:
        """The schema as the registry holds it. Properties of AVRO are not used, and POST does not compare them."""
        return cls(info.type, info.text, () if info.type == "AVRO" else tuple(sorted(info.properties.items())))

    def info(self, version: int, timestamp: int = 0) -> SchemaInfo:
        """The registry's answer, if it holds this schema under ``version``."""
        return SchemaInfo(version, self.type, self.text, timestamp, dict(self.properties))


@dataclass(frozen=True, slots=True, eq=False)
class SchemaVersion:
    """A schema version of a topic, of any type."""

    info: SchemaInfo  # the registry's entry. Its timestamp is 0 if the time of registration is unknown.
    topic: str = ""  # the topic as its user named it, for errors
    avro: Compiled | None = None  # the parsed schema with its codecs, for type AVRO only
    halves: Halves | None = None  # both halves, for type KEY_VALUE only
    fault: SchemaError | None = None  # why a user's schema is refused unless the registry holds it; or None
    _formats: dict[Hashable, Format] = field(default_factory=dict)

    @classmethod
    def of_schema(cls, schema: Schema, properties: Mapping[str, str] = MappingProxyType({})) -> SchemaVersion:
        """An Avro schema to be registered: its version has no meaning yet."""
        info = SchemaInfo(0, "AVRO", schema.text, properties=properties)
        return cls(info, avro=Compiled(schema), fault=schema.fault)

    @classmethod
    def without_version(cls, schema: Schema) -> SchemaVersion:
        """An Avro schema that no registry has."""
        return cls(SchemaInfo(-1, "AVRO", schema.text), avro=Compiled(schema))

    @property
    def version(self) -> int:
        return self.info.version

    @property
    def type(self) -> str:
        return self.info.type

    def half(self, name: str) -> SchemaVersion:
        """The half "key" or "value". Raises SchemaError: the type is not KEY_VALUE."""
        if self.halves is None:
            text = f"expected a schema of type KEY_VALUE, got type {self.type}"
            raise SchemaError(text, topic=self.topic, version=self.version)
        return self.halves.key if name == "key" else self.halves.value

    @property
    def outside(self) -> bool:
        """Whether the schemas of values are in a registry outside of Pulsar: only ids beside the messages name them."""
        return (self if self.halves is None else self.halves.value).type == EXTERNAL

    @property
    def compiled(self) -> Compiled:
        """The schema and its codecs. Raises SchemaError: the type is not AVRO."""
        if self.avro is None:
            raise SchemaError(
                f"expected a schema of type AVRO, got type {self.info.type}",
                topic=self.topic,
                version=self.version,
                hint=OUTSIDE if self.type == EXTERNAL else _ANY_TYPE,
            )
        return self.avro

    @property
    def schema(self) -> Schema:
        """Raises: SchemaError: the type is not AVRO."""
        return self.compiled.schema

    def format(self, options: CodecArguments, limits: Limits) -> Format:
        """The reader and writer of data of this schema; created once. For KEY_VALUE, each half has its own format.

        Raises:
            SchemaError: the schema is invalid, or messages of its type cannot be read.
        """
        key = tuple(sorted(options.items()))
        found = self._formats.get(key)
        if found is None:
            try:
                found = self._formats.setdefault(key, format_of(self.info, limits, options))
            except SchemaError as error:
                raise error.at(topic=self.topic, version=self.version) from None
        return found

    def agrees(self, info: SchemaInfo, limits: Limits) -> bool:
        """Whether ``info`` is the same schema, as POST compares schemas; an invalid or too large schema never is."""
        if info.type != self.info.type:
            return False
        if self.avro is not None:
            return holds(info, self.avro.schema, limits)
        if self.halves is not None:
            return self.halves.agree(info, limits)
        return same_text(self.info, info, limits)

    def has(self, schema: Schema) -> bool:
        """Whether this version, of type AVRO or JSON, or a half of this version, has the given Avro schema."""
        if self.halves is not None:
            return self.halves.key.has(schema) or self.halves.value.has(schema)
        if self.avro is not None:
            return self.avro.schema.same_as(schema)
        return self.type == "JSON" and self.info.text == schema.text


class Halves(NamedTuple):
    """A KEY_VALUE schema: how key and value are stored, and the schema of each."""

    encoding: str
    key: SchemaVersion
    value: SchemaVersion

    def agree(self, info: SchemaInfo, limits: Limits) -> bool:
        """Whether ``info`` is the same pair, whatever it says about names and properties of its halves."""
        try:
            other = halves_of(info)
        except SchemaError:
            return False
        return (
            other.encoding == self.encoding
            and self.key.agrees(other.key, limits)
            and self.value.agrees(other.value, limits)
        )


def known_from(topic: TopicName, info: SchemaInfo, limits: Limits) -> SchemaVersion:
    """Parse the registry's answer.

    Raises:
        SchemaError: the schema is not valid Avro, not a valid pair of schemas, or exceeds the limits.
    """
    try:
        if info.type == "AVRO":
            return SchemaVersion(info, topic.given, Compiled.of(info.text, limits))
        if info.type == "KEY_VALUE":
            both = halves_of(info)
            return SchemaVersion(
                info,
                topic.given,
                halves=Halves(
                    both.encoding, known_from(topic, both.key, limits), known_from(topic, both.value, limits)
                ),
            )
        return SchemaVersion(info, topic.given)
    except SchemaError as error:
        error.at(topic=topic.given, version=info.version)
        raise


def holds(info: SchemaInfo, schema: Schema, limits: Limits) -> bool:
    """Whether the registry's answer is this schema; an invalid or too large schema never is."""
    if info.type != "AVRO" or info.text == schema.text:
        return info.type == "AVRO"
    try:
        return Compiled.of(info.text, limits).schema.same_as(schema)
    except SchemaError:
        return False


def same_text(one: SchemaInfo, other: SchemaInfo, limits: Limits) -> bool:
    """Whether two schemas of one type are equal as text, as JSON, or as the Avro schemas that JSON topics have.

    Texts of primitive types mean nothing: pulsar-client registers "null", for one.
    """
    if one.text == other.text or one.type in PRIMITIVE_TYPES:
        return True
    if one.type == "PROTOBUF_NATIVE":
        return _same_json(one.text, other.text)
    try:
        return Compiled.of(one.text, limits).schema.same_as(Compiled.of(other.text, limits).schema)
    except SchemaError:
        return False


def _same_json(one: str, other: str) -> bool:
    """Whether two texts are equal as JSON: the registry spaces a schema's text differently inside a pair."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return False


_CHARSET: Final = "__charset"  # property of a STRING schema
_BYTES: Final = ("BYTES", "NONE")
_COLUMNS_OUTSIDE: Final = f"give the deserializer the schema of the columns; {OUTSIDE}"
_ONE_BY_ONE: Final = "read the messages one by one, with KafkaAutoConsumeDeserializer"


def parts_of(known: SchemaVersion, limits: Limits, options: CodecArguments, *, to_write: bool = False) -> Parts:
    """The parts of a schema version. ``to_write``: fields of JSON that have to be there must not be null.

    Raises:
        SchemaError: the schema's type, or that of a half, has no columns, or the schema is not valid.
    """
    if known.halves is None:
        return part_of(known, limits, options, to_write=to_write)
    key, value = (part_of(half, limits, options, to_write=to_write) for half in (known.halves.key, known.halves.value))
    return PairParts(known.halves.encoding, key, value)


def part_of(known: SchemaVersion, limits: Limits, options: CodecArguments, *, to_write: bool = False) -> Part:
    """The part of a schema that is not of type KEY_VALUE."""
    try:
        return _part_of(known, limits, options, to_write)
    except SchemaError as error:
        raise error.at(topic=known.topic, version=known.version) from None


def _part_of(known: SchemaVersion, limits: Limits, options: CodecArguments, to_write: bool) -> Part:
    kind, place = known.type, (known.topic, known.version)
    if known.avro is not None:
        return Part(kind, known.schema, None, *place)
    if kind in _BYTES:
        return Part("BYTES", None, None, *place)
    if kind == "STRING" and known.info.properties.get(_CHARSET, "UTF-8").upper() != "UTF-8":
        return Part(kind, parse("string"), known.format(options, limits), *place)
    if kind in PRIMITIVE_TYPES:
        return Part(kind, None, None, *place)
    if kind == "JSON":
        schema = _columns_of_json(known.info.text, limits)
        return Part(kind, schema if to_write else nullable(schema), known.format(options, limits), *place)
    hint = _COLUMNS_OUTSIDE if kind == EXTERNAL else _ONE_BY_ONE
    raise SchemaError(f"there are no columns for messages of type {kind}", hint=hint)


def _columns_of_json(text: str, limits: Limits) -> Schema:
    try:
        return inner_schema(Compiled.of(text, limits).schema)
    except SchemaError as error:
        raise SchemaError(
            f"there are no columns for JSON messages whose schema is not a valid Avro schema: {error.message}",
            path=error.path,
            hint=_ONE_BY_ONE,
        ) from None
