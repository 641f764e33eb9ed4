"""Model: a uniform description of a class, whatever its kind: its attributes, and how its objects are created."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from streamnative_serdes._schema import MISSING
from streamnative_serdes.errors import SchemaError

from .type_hints import ATTRIBUTE, AvroClass, AvroField, members, peel

Build = Literal["slots", "tuple", "dict", "model", "call"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a class.

    Args:
        name: of the attribute.
        hint: the attribute's type, with annotations.
        owner: the class that declares the attribute: ``cls`` itself or one of its bases.
        keyword: the keyword argument of the constructor; None if the constructor has no such argument.
        default: the default value; MISSING if the attribute is required, or has a ``factory``.
        factory: returns a new default value on each call.
    """

    name: str
    hint: Any
    owner: type
    keyword: str | None
    default: Any = MISSING
    factory: Callable[[], Any] | None = None

    @property
    def words(self) -> AvroField:
        hint = peel(self.hint)
        return next((words for one in (hint, *members(hint)) if (words := one.note(AvroField))), AvroField())

    @property
    def field(self) -> str:
        """The name of the attribute's field in the schema."""
        return self.words.name or self.name

    @property
    def is_optional(self) -> bool:
        """Whether the attribute has a default of any kind."""
        return self.default is not MISSING or self.factory is not None

    def maker(self) -> Callable[[], Any]:
        """A function that returns the default; only if ``is_optional``. A plain default is shared, as in Python."""
        return self.factory or functools.partial(_itself, self.default)


@dataclass(frozen=True, slots=True)
class Model:
    """A class that has a schema.

    Args:
        cls: the class.
        words: the Avro names that it declares.
        attributes: in the order of their declaration.
        build: how objects are created: see RecordShape.
        schema: the schema of a class that defines its own, such as ``pulsar.schema.Record``; None for all others.
    """

    cls: type
    words: AvroClass
    attributes: tuple[Attribute, ...]
    build: Build
    schema: Callable[[], Any] | None = None

    def by_name(self) -> Sequence[Attribute]:
        """The attributes in the order of Java's reflection: by name, those of the class before those of its base."""
        depth = {base: at for at, base in enumerate(self.cls.__mro__)}
        return sorted(self.attributes, key=lambda one: (depth[one.owner], one.name))


def words_of(cls: type) -> AvroClass:
    """Return the AvroClass in ``__avro__`` of ``cls``. Raises SchemaError: ``__avro__`` is not an AvroClass."""
    words = vars(cls).get(ATTRIBUTE, AvroClass())
    if not isinstance(words, AvroClass):
        raise SchemaError(f"expected {cls.__name__}.{ATTRIBUTE} to be an AvroClass, got {words!r:.80}")
    return words


def _itself(value: Any) -> Any:
    return value


def depends() -> Any:
    """Stands for a factory that depends on the object or its other values: only the constructor can call it."""
    raise SchemaError("the default depends on the object")
