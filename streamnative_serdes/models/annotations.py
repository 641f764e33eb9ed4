"""Annotations that add to a class what type hints cannot say: names, aliases, and Avro types without a Python type."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from streamnative_serdes._schema import load, parse
from streamnative_serdes.errors import SchemaError

ATTRIBUTE = "__avro__"


@dataclass(frozen=True, slots=True)
class AvroClass:
    """The Avro names of a class: ``__avro__ = AvroClass(...)`` in its body. Subclasses do not inherit it.

    Args:
        name: the record's name, if not the class's own.
        namespace: of this class, and of classes in its fields without one of their own; a Java class's package.
        doc: the schema's ``doc``.
        aliases: other names that a writer may use for it, as in Avro.
    """

    name: str | None = None
    namespace: str | None = None
    doc: str | None = None
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _expect_names(self.aliases)


@dataclass(frozen=True, slots=True)
class AvroField:
    """Describes a field of the schema: ``age: Annotated[int, AvroField(aliases=("years",))]``.

    Args:
        name: the field's name, if not the attribute's.
        aliases: other names that a writer may use for it, as in Avro.
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
        raise SchemaError(f"expected aliases to be a tuple of names, got {aliases!r:.80}")


@dataclass(frozen=True, slots=True, init=False)
class AvroType:
    """Sets the exact Avro type of a hint, like Java's ``@AvroSchema``: ``Annotated[int, AvroType("int")]``.

    Args:
        schema: a schema other than a union.

    Raises:
        SchemaError: ``schema`` is not a valid schema, or is a union.
    """

    text: str

    def __init__(self, schema: Any) -> None:
        if isinstance(schema, list):
            raise SchemaError(
                "AvroType: expected one type, got a union", hint="annotate the members of a Union instead"
            )
        object.__setattr__(self, "text", parse(load(schema)).text)


@dataclass(frozen=True, slots=True)
class DecimalMeta:
    """The digits of a Decimal: ``Annotated[Decimal, DecimalMeta(precision=10, scale=2)]``, as in py-avro-schema."""

    precision: int
    scale: int = 0


def _logical(base: str, name: str) -> AvroType:
    return AvroType({"type": base, "logicalType": name})


# Java's int, float, LocalTime and LocalDateTime, and precisions other than microseconds.
Int32: TypeAlias = Annotated[int, AvroType("int")]
Float32: TypeAlias = Annotated[float, AvroType("float")]
TimeMillis: TypeAlias = Annotated[datetime.time, _logical("int", "time-millis")]
TimestampMillis: TypeAlias = Annotated[datetime.datetime, _logical("long", "timestamp-millis")]
LocalTimestampMillis: TypeAlias = Annotated[datetime.datetime, _logical("long", "local-timestamp-millis")]
LocalTimestampMicros: TypeAlias = Annotated[datetime.datetime, _logical("long", "local-timestamp-micros")]
