"""How records and enums of a schema become objects of Python classes, and are read from them: words for the codec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, eq=False)
class RecordShape:
    """How a record of the reader's schema becomes an object of a class, and how the writer's is read from one.

    Args:
        cls: the class.
        attributes: Avro field name -> attribute (and keyword) name. To read, every field of the record stands in it. To
            write, a field may be missing: to the codec, the object has no such field then.
        build: how an object is made.

            - ``"slots"``: ``object.__new__(cls)``, every attribute a member descriptor of ``__slots__``, stored by its
              offset; only for classes without an ``__init__``, ``__new__``, ``__post_init__``, converter or validator
              of their own.
            - ``"dict"``: as ``"slots"``, but the class keeps its values in ``__dict__``.
            - ``"tuple"``: a named tuple without a ``__new__`` of its own, its items in the order of ``cls._fields``.
            - ``"call"``: ``cls(**{attribute: value})``, for all other classes.
        defaults: attributes of the class that the schema lacks -> what makes their value.

    Shapes are equal only to themselves, so they and tuples of them are keys.
    """

    cls: type
    attributes: Mapping[str, str]
    build: Literal["slots", "tuple", "dict", "call"]
    defaults: Mapping[str, Callable[[], object]]


@dataclass(frozen=True, slots=True, eq=False)
class EnumShape:
    """Which member of an enum class each symbol is.

    Args:
        cls: the class.
        members: Avro symbol -> member; to write, it may lack symbols. A member of two symbols is written by its name.
    """

    cls: type
    members: Mapping[str, object]


Shape = RecordShape | EnumShape
Shapes = Mapping[str, Shape]  # by full name of the record or enum in the schema
