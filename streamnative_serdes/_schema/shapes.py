"""Shapes: tell the codec which Python classes the records and enums of a schema are read as and written from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, eq=False)
class RecordShape:
    """Maps a record to a class: how its objects are created when reading, and where values are found when writing.

    Args:
        cls: the class.
        attributes: Avro field name -> attribute (and keyword) name. For reading, it has every field of the record.
            For writing, a field may be missing: then the object has no value for it.
        build: how an object is created.

            - ``"slots"``: ``object.__new__(cls)``; every attribute is a member descriptor of ``__slots__``, stored by
              its offset. Only for classes without their own ``__init__``, ``__new__``, ``__post_init__``, converter
              or validator.
            - ``"dict"``: as ``"slots"``, but values are stored in ``__dict__``.
            - ``"tuple"``: a named tuple that does not override ``__new__``, its items in the order of ``cls._fields``.
            - ``"model"``: a pydantic model without code of its own, whose values are valid by their types: its
              ``__dict__`` is set. ``attributes`` are in the order of the class, and have each field.
            - ``"call"``: ``cls(**{attribute: value})``, for all other classes.
        defaults: attributes that the schema lacks -> function that returns their value.
        required: attributes of a model that are not valid if they are None; with None in one of them it is called.

    Shapes compare by identity, so they and tuples of them can be dict keys.
    """

    cls: type
    attributes: Mapping[str, str]
    build: Literal["slots", "tuple", "dict", "model", "call"]
    defaults: Mapping[str, Callable[[], object]]
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class EnumShape:
    """Maps the symbols of an enum to the members of an enum class.

    Args:
        cls: the class.
        members: Avro symbol -> member; for writing, it may lack symbols. A member with two symbols is written as its
            name.
    """

    cls: type
    members: Mapping[str, object]


Shape = RecordShape | EnumShape
Shapes = Mapping[str, Shape]  # by full name of the record or enum in the schema


class FieldNames(tuple[str, ...]):
    """The names of a record's fields, as a key: it is compared by identity, since it is looked up for each object."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def _no_class(_cls: type, _fields: FieldNames) -> dict[str, str] | None:
    return None


# For objects that no shape was made for, such as those in a dict: the attribute for each field of a record, and for the
# own name of each other attribute; None if the codec finds the values itself. `models`, which knows classes, sets it.
attributes_by_field: Callable[[type, FieldNames], dict[str, str] | None] = _no_class
