"""How records and enums of a schema become objects of Python classes, and are read from them: words for the codec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class RecordShape:
    """How a record of the reader's schema becomes an object, and an object a record of the writer's.

    Args:
        cls: the class.
        attributes: Avro field name -> attribute (and keyword) name; every field of the record stands in it.
        build: how an object is made.

            - ``"slots"``: ``object.__new__(cls)``, every attribute a member descriptor of ``__slots__``, stored by its
              offset; only for classes without an ``__init__``, ``__new__``, ``__post_init__``, converter or validator
              of their own.
            - ``"dict"``: as ``"slots"``, but the class keeps its values in ``__dict__``.
            - ``"tuple"``: a named tuple without a ``__new__`` of its own, its items in the order of ``cls._fields``.
            - ``"call"``: ``cls(**{attribute: value})``, for all other classes.
        defaults: attributes of the class that the schema lacks -> what makes their value.
    """

    cls: type
    attributes: Mapping[str, str]
    build: Literal["slots", "tuple", "dict", "call"]
    defaults: Mapping[str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class EnumShape:
    """Which member of an enum class each symbol is.

    Args:
        cls: the class.
        members: Avro symbol -> member.
    """

    cls: type
    members: Mapping[str, object]


Shape = RecordShape | EnumShape
