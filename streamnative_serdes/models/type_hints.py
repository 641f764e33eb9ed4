"""Type hints taken apart, down to one hint per Avro type, and annotations for facts that hints cannot express."""

from __future__ import annotations

import datetime
import decimal
import enum
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NewType, TypeAlias, TypeVar

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


_T = TypeVar("_T")

NoneType = type(None)
_UNIONS = (typing.Union, types.UnionType)
_LISTS = (list, Sequence)
_DICTS = (dict, Mapping)


@dataclass(frozen=True, slots=True)
class TypeHint:
    """A bare hint and its annotations: first those of the union around it, then its own from the innermost out."""

    bare: Any
    notes: tuple[Any, ...] = ()

    def note(self, kind: type[_T]) -> _T | None:
        """Return the last annotation of a class: it overrides earlier ones, as in ``Annotated[Int32, ...]``."""
        return next((note for note in reversed(self.notes) if isinstance(note, kind)), None)

    @property
    def avro_type(self) -> AvroType | None:
        return self.note(AvroType)

    @property
    def item(self) -> Any:
        """T of ``list[T]``, ``Sequence[T]`` or ``tuple[T, ...]``; None for other hints."""
        origin, arguments = typing.get_origin(self.bare), typing.get_args(self.bare)
        if origin is tuple:
            return arguments[0] if len(arguments) == 2 and arguments[1] is Ellipsis else None
        return arguments[0] if origin in _LISTS and len(arguments) == 1 else None

    @property
    def is_tuple(self) -> bool:
        return typing.get_origin(self.bare) is tuple

    @property
    def value(self) -> Any:
        """T of ``dict[str, T]`` or ``Mapping[str, T]``; None for other hints."""
        origin, arguments = typing.get_origin(self.bare), typing.get_args(self.bare)
        return arguments[1] if origin in _DICTS and len(arguments) == 2 and arguments[0] is str else None

    @property
    def is_literal(self) -> bool:
        """Whether the hint is a Literal of strings."""
        return typing.get_origin(self.bare) is Literal and all(type(one) is str for one in typing.get_args(self.bare))

    @property
    def is_enum(self) -> bool:
        return isinstance(self.bare, type) and issubclass(self.bare, enum.Enum) and not issubclass(self.bare, enum.Flag)

    def digits(self) -> DecimalMeta | None:
        """Precision and scale from our annotation, py-avro-schema's, dataclasses-avroschema's or pydantic's."""
        if self.bare is not decimal.Decimal:
            return None
        return next((found for note in reversed(self.notes) if (found := _digits(note))), None)


def peel(hint: Any, notes: tuple[Any, ...] = ()) -> TypeHint:
    """Strip Annotated, Final, NewType and aliases from ``hint``; ``notes`` are annotations of the union around it."""
    own: tuple[Any, ...] = ()
    while True:
        if typing.get_origin(hint) is Annotated:
            own = (*_flat(hint.__metadata__), *own)
            hint = hint.__origin__
        elif typing.get_origin(hint) is Final:
            (hint,) = typing.get_args(hint)
        elif isinstance(hint, NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":  # ``type X = ...``, since Python 3.12
            hint = hint.__value__
        else:
            return TypeHint(hint, (*notes, *own))


def members(hint: TypeHint) -> Iterator[TypeHint]:
    """Yield the members of a union, including NoneType, each with the annotations of the union too."""
    if typing.get_origin(hint.bare) in _UNIONS:
        for argument in typing.get_args(hint.bare):
            yield from members(peel(argument, hint.notes))
    elif typing.get_origin(hint.bare) is Literal and None in typing.get_args(hint.bare):
        yield TypeHint(NoneType)
        others = tuple(one for one in typing.get_args(hint.bare) if one is not None)
        if others:
            yield TypeHint(Literal[others], hint.notes)
    else:
        yield TypeHint(NoneType if hint.bare is None else hint.bare, hint.notes)


def hints_of(cls: type) -> dict[str, Any]:
    """Return the resolved type hints of a class, including Annotated.

    Raises:
        SchemaError: a name in them cannot be resolved.
    """
    try:
        return _resolved(cls)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise SchemaError(
            f"the types of {cls.__name__} cannot be resolved: {error}",
            path=cls.__name__,
            hint="define the classes that they name at the top level of a module",
        ) from error


def _resolved(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError:
        # A class inside a function may refer to itself, but its name is not in its module.
        return typing.get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)


def _flat(notes: Iterable[Any]) -> Iterator[Any]:
    """Return the annotations, and the metadata of a pydantic Field() among them."""
    for note in notes:
        inner = getattr(note, "metadata", None)
        yield from (note, *inner) if isinstance(inner, list) else (note,)


def _digits(note: Any) -> DecimalMeta | None:
    if isinstance(note, tuple):
        found = note if len(note) == 2 else ()
    else:
        found = (
            getattr(note, "precision", None) or getattr(note, "max_digits", None),
            getattr(note, "scale", None) or getattr(note, "decimal_places", None) or 0,
        )
    return DecimalMeta(*found) if found and all(type(number) is int for number in found) else None
