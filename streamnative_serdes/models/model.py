"""One description of a class for all the kinds of classes that there are: its attributes, and how objects are made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import SchemaError
from ..schema import MISSING
from .annotations import ATTRIBUTE, AvroClass, AvroField
from .hints import members, peel

Build = Literal["slots", "tuple", "dict", "call"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a class.

    Args:
        name: of the attribute.
        hint: its type, with annotations.
        owner: the class that declares it: ``cls`` itself or a base of it.
        keyword: how the constructor takes it; None where it does not.
        default: its value where nobody gives one; MISSING where somebody must, or where ``factory`` makes it.
        factory: makes the default anew each time.
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
        """The name of its field in the schema."""
        return self.words.name or self.name

    @property
    def is_optional(self) -> bool:
        """Whether it has a default of any kind."""
        return self.default is not MISSING or self.factory is not None

    def maker(self) -> Callable[[], Any]:
        """What makes its default; only where ``is_optional``. A value is the same one each time, as Python has it."""
        return self.factory or functools.partial(_itself, self.default)


@dataclass(frozen=True, slots=True)
class Model:
    """A class that has a schema.

    Args:
        cls: the class.
        words: the names that it gives itself.
        attributes: in the order of their declaration.
        build: how objects are made: see RecordShape.
        schema: of a class that makes its own, such as ``pulsar.schema.Record``; None for all others.
    """

    cls: type
    words: AvroClass
    attributes: tuple[Attribute, ...]
    build: Build
    schema: Callable[[], Any] | None = None

    @property
    def name(self) -> str:
        """The record's name, without its namespace."""
        return self.words.name or self.cls.__name__

    def by_name(self) -> Sequence[Attribute]:
        """As Java's reflection has them: by name, those of the class itself before those of its base."""
        depth = {base: at for at, base in enumerate(self.cls.__mro__)}
        return sorted(self.attributes, key=lambda one: (depth[one.owner], one.name))


def words_of(cls: type) -> AvroClass:
    """What ``__avro__`` in the body of ``cls`` says.

    Raises:
        SchemaError: it is something else.
    """
    words = vars(cls).get(ATTRIBUTE, AvroClass())
    if not isinstance(words, AvroClass):
        raise SchemaError(f"{cls.__name__}.{ATTRIBUTE} is an AvroClass, got {words!r:.80}")
    return words


def _itself(value: Any) -> Any:
    return value


def depends() -> Any:
    """In place of a factory that takes the object, or other values of it: only the constructor can call that."""
    raise SchemaError("the default depends on the object")
