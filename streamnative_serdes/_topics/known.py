"""A schema version as this process knows it: the schema, parsed once, and the codecs compiled from it; no I/O."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass
from typing import ClassVar
from weakref import WeakValueDictionary

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import Limits, Schema, Shapes, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import NestedTooDeeplyError, SchemaError
from streamnative_serdes.schema_registry import SchemaInfo, TopicName

_MAX_CODECS = 16  # codecs kept per schema: one for each reader's schema and set of options


class Compiled:
    """A schema and the codecs compiled from it; topics and versions with the same text share one."""

    __slots__ = ("__weakref__", "_codecs", "schema")

    _all: ClassVar[WeakValueDictionary[tuple[str, Limits], Compiled]] = WeakValueDictionary()

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._codecs: dict[Hashable, Codec | SchemaError] = {}

    @classmethod
    def of(cls, text: str, limits: Limits) -> Compiled:
        """Raises: SchemaError: the text is not an Avro schema, or exceeds the limits."""
        found = cls._all.get((text, limits))
        return found or cls._all.setdefault((text, limits), cls(parse(text, strict=False, limits=limits)))

    def codec(self, options: CodecArguments, reader: Schema | None = None, shapes: Shapes | None = None) -> Codec:
        """The codec that reads this schema, as ``reader`` if one is given; the same arguments share one codec.

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
            self._codecs[key] = found
        if isinstance(found, SchemaError):
            raise copy(found)  # compiling again for each message would be far slower
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A schema version of a topic; ``timestamp`` is its time of registration as in SchemaInfo, 0 if unknown."""

    version: int
    compiled: Compiled
    timestamp: int = 0

    @property
    def schema(self) -> Schema:
        return self.compiled.schema


def known_from(topic: TopicName, info: SchemaInfo, limits: Limits) -> Known:
    """Parse what the registry answered.

    Raises:
        SchemaError: the topic's schema is not of type AVRO, not valid Avro, or exceeds the limits.
    """
    if info.type != "AVRO":
        raise SchemaError(
            f"expected a schema of type AVRO, got type {info.type}", topic=topic.given, version=info.version
        )
    try:
        return Known(info.version, Compiled.of(info.text, limits), info.timestamp)
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
