"""What messages are read as: the reader's schema, and the class whose objects they become."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from ..errors import ConfigError
from ..schema import Limits, Schema, Shape, load, parse
from .derive import reading_schema_of, schema_of
from .kinds import is_model
from .matching import shapes_to_read


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A reader's schema, and how its records become objects; without shapes they are dicts."""

    schema: Schema
    shapes: dict[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What to read a topic's messages as.

    Args:
        target: for any writer.
        exact: for a writer of this very schema, which needs no defaults of ours and is read straight; None: there is
            none.
    """

    target: Target
    exact: Target | None = None

    def of(self, writer: Schema) -> Target:
        """What to read messages of that writer as."""
        if self.exact is not None and self.exact.schema.same_as(writer):
            return self.exact
        return self.target


def reading_of(schema: object, cls: type | None, *, allow_null: bool, limits: Limits) -> Reading | None:
    """What a deserializer reads messages as.

    Args:
        schema: what it was given as the reader's schema: a class, a schema, or None. A Schema is taken as it is.
        cls: the class whose objects it returns; None for dicts.
        allow_null: see :func:`schema_of`.
        limits: how large a schema may be.

    Returns:
        None where each message is read by its writer's schema alone.

    Raises:
        ConfigError: ``cls`` is no class with a schema, or another one than ``schema``.
        SchemaError: no valid schema, or one that makes no objects of ``cls``.
    """
    if cls is not None and not is_model(cls):
        raise ConfigError(
            f"value.type takes a class with a schema, got {cls.__name__}",
            hint="a dataclass, a pydantic model, a typed NamedTuple, an attrs class or a pulsar.schema.Record",
        )
    if isinstance(schema, type) and cls is not None and cls is not schema:
        raise ConfigError(f"value.type is {cls.__name__}, and the reader's schema {schema.__name__}")
    if isinstance(schema, Schema):  # parsed already: by the registry's rules, where it comes from there
        return Reading(_target(schema, cls))
    return _reading(schema if schema is None or isinstance(schema, type) else load(schema), cls, allow_null, limits)


@functools.lru_cache(maxsize=64)  # codecs are kept by their shapes: deserializers of one class share them
def _reading(schema: type | str | None, cls: type | None, allow_null: bool, limits: Limits) -> Reading | None:
    own = schema if isinstance(schema, type) else cls if schema is None else None
    if own is None:
        return None if schema is None else Reading(_target(parse(schema, limits=limits), cls))
    exact = parse(schema_of(own, allow_null=allow_null), limits=limits)
    any_writer = parse(reading_schema_of(own, allow_null=allow_null), limits=limits)
    target = _target(any_writer, cls)
    return Reading(target, _target(exact, cls) if _same_fields(exact, any_writer) else None)


def _target(schema: Schema, cls: type | None) -> Target:
    return Target(schema, {} if cls is None else shapes_to_read(cls, schema))


def _same_fields(one: Schema, other: Schema) -> bool:
    """Whether the constructor takes every field of every class."""
    return all(
        [field.name for field in getattr(named, "fields", ())]
        == [field.name for field in getattr(other.names.get(name), "fields", ())]
        for name, named in one.names.items()
    )
