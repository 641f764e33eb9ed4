"""What a class says of its schema beyond its types: names, aliases, and Avro types that Python has no word for."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from ..errors import SchemaError
from ..schema import load, parse

ATTRIBUTE = "__avro__"


@dataclass(frozen=True, slots=True)
class AvroClass:
    """The names of a class in Avro: ``__avro__ = AvroClass(...)`` in its body, which subclasses do not inherit.

    Args:
        name: instead of the class's own name.
        namespace: of this class, and of the classes in its fields that name none; a Java class's package.
        doc: the schema's ``doc``.
        aliases: other names that a writer may have for it, as in Avro.
    """

    name: str | None = None
    namespace: str | None = None
    doc: str | None = None
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _expect_names(self.aliases)


@dataclass(frozen=True, slots=True)
class AvroField:
    """What a field is in the schema: ``age: Annotated[int, AvroField(aliases=("years",))]``.

    Args:
        name: instead of the attribute's name.
        aliases: other names that a writer may have for it, as in Avro.
        doc: the field's ``doc``.
        nullable: whether the field may be null, whatever ``allow.null`` says; ``False`` for Java's primitive types.
    """

    name: str | None = None
    aliases: tuple[str, ...] = ()
    doc: str | None = None
    nullable: bool | None = None

    def __post_init__(self) -> None:
        _expect_names(self.aliases)


def _expect_names(aliases: object) -> None:
    if not isinstance(aliases, tuple) or not all(isinstance(alias, str) for alias in aliases):
        raise SchemaError(f"aliases are a tuple of names, got {aliases!r:.80}")


@dataclass(frozen=True, slots=True, init=False)
class AvroType:
    """The Avro type of a hint, word for word, as Java's ``@AvroSchema``: ``Annotated[int, AvroType("int")]``.

    Args:
        schema: a schema, but no union.

    Raises:
        SchemaError: it is none, or a union.
    """

    text: str

    def __init__(self, schema: Any) -> None:
        if isinstance(schema, list):
            raise SchemaError("AvroType takes one type", hint="a union is a Union of annotated types")
        object.__setattr__(self, "text", parse(load(schema)).text)


@dataclass(frozen=True, slots=True)
class DecimalMeta:
    """Digits of a Decimal: ``Annotated[Decimal, DecimalMeta(precision=10, scale=2)]``, as in py-avro-schema."""

    precision: int
    scale: int = 0


def _logical(base: str, name: str) -> AvroType:
    return AvroType({"type": base, "logicalType": name})


# What Java calls int, float, LocalTime and LocalDateTime, and other precisions than microseconds.
Int32: TypeAlias = Annotated[int, AvroType("int")]
Float32: TypeAlias = Annotated[float, AvroType("float")]
TimeMillis: TypeAlias = Annotated[datetime.time, _logical("int", "time-millis")]
TimestampMillis: TypeAlias = Annotated[datetime.datetime, _logical("long", "timestamp-millis")]
LocalTimestampMillis: TypeAlias = Annotated[datetime.datetime, _logical("long", "local-timestamp-millis")]
LocalTimestampMicros: TypeAlias = Annotated[datetime.datetime, _logical("long", "local-timestamp-micros")]
