"""The reader's schema of a deserializer, and the class of the objects that it returns."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from streamnative_serdes._schema import Limits, Schema, Shape, load, parse, parse_given
from streamnative_serdes.errors import ConfigError

from .derive import reading_schema_of, schema_of
from .kinds import is_model
from .matching import shapes_to_read


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema from a registry, which is parsed leniently, while schemas of users are checked strictly."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A reader's schema, and the shapes of its records; records without shapes are dicts."""

    schema: Schema
    shapes: dict[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The reader's schemas for a topic's messages.

    Args:
        target: for any writer.
        exact: for a writer with exactly this schema, which needs none of the class's defaults and no resolution; or
            None.
    """

    target: Target
    exact: Target | None = None

    def of(self, writer: Schema) -> Target:
        """Return the reader's schema for messages of that writer."""
        if self.exact is not None and self.exact.schema.same_as(writer):
            return self.exact
        return self.target


def reading_of(
    schema: object, cls: type | None, *, allow_null: bool, limits: Limits, validate: bool = False
) -> Reading | None:
    """Return the reader's schemas of a deserializer.

    Args:
        schema: the reader's schema that the user passed: a class, a schema, or None; or a Registered schema.
        cls: the class of the returned objects; None for dicts.
        allow_null: see :func:`schema_of`.
        limits: how large a schema may be.
        validate: see :func:`shapes_to_read`.

    Returns:
        None if each message is read with its writer's schema only.

    Raises:
        ConfigError: ``cls`` has no schema, or is a different class than ``schema``.
        SchemaError: the schema is invalid, or its data cannot be read as objects of ``cls``.
    """
    if cls is not None and not is_model(cls):
        raise ConfigError(
            f"value.type: expected a class with a schema, got {cls.__name__}",
            hint="pass a dataclass, a pydantic model, a typed NamedTuple, an attrs class or a pulsar.schema.Record",
        )
    if isinstance(schema, type) and cls is not None and cls is not schema:
        raise ConfigError(f"value.type is {cls.__name__}, but the reader's schema is {schema.__name__}")
    if isinstance(schema, Registered):
        return Reading(_target(parse(schema.text, strict=False, limits=limits), cls, validate))
    given = schema if schema is None or isinstance(schema, type) else load(schema)
    return _reading(given, cls, allow_null, limits, validate)


@functools.lru_cache(maxsize=64)  # codecs are cached by shapes, so deserializers of one class share them
def _reading(
    schema: type | str | None, cls: type | None, allow_null: bool, limits: Limits, validate: bool
) -> Reading | None:
    own = schema if isinstance(schema, type) else cls if schema is None else None
    if own is None:
        return None if schema is None else Reading(_target(parse_given(schema, limits=limits), cls, validate))
    exact = parse(schema_of(own, allow_null=allow_null), limits=limits)
    any_writer = parse(reading_schema_of(own, allow_null=allow_null), limits=limits)
    target = _target(any_writer, cls, validate)
    return Reading(target, _target(exact, cls, validate) if _same_fields(exact, any_writer) else None)


def _target(schema: Schema, cls: type | None, validate: bool) -> Target:
    return Target(schema, {} if cls is None else shapes_to_read(cls, schema, validate=validate))


def _same_fields(one: Schema, other: Schema) -> bool:
    """Whether the constructors accept every field of every class."""
    return all(
        [field.name for field in getattr(named, "fields", ())]
        == [field.name for field in getattr(other.names.get(name), "fields", ())]
        for name, named in one.names.items()
    )
