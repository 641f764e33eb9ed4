"""Which branch of a union an untagged JSON value is of: the one whose form it has, without looking into it deeply.

| JSON | branches, in this order |
|---|---|
| true, false | boolean |
| an integer | int, long, by its size; date, time and timestamp; decimal; double, float |
| another number | double, float; decimal; timestamp |
| text | enum with this symbol; string, uuid; base64; NaN and the infinities; date, time and timestamp; decimal |
| an array | array; date, time and local timestamp |
| an object | the record with the fewest fields of another form, then of unknown ones, then of missing ones; map |

A map is preferred to a record that would not know two of the keys. Of equal ones, the first branch counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from streamnative_serdes._schema import AvroType, Enum, Record, Union, name_of
from streamnative_serdes.errors import DecodeError

from ..faults import described
from .base64_text import is_base64
from .java_classes import CHARACTER, DATES, NUMBERS, is_of_java, is_pairs, java_class
from .parsing import JsonNumber

Rank = tuple[int, int, int]  # lower is better
Ranker = Callable[[Any], Rank | None]  # None: it cannot be of this branch

_FORMS: Final = {
    bool: "boolean",
    int: "integer",
    float: "real",
    JsonNumber: "real",
    str: "text",
    list: "array",
    dict: "object",
}
_OF_TIME: Final = ("date", "timestamp", "local-timestamp", "time")  # "timestamp" begins with "time"
_REALS: Final = {"double": 4, "float": 5}
_TIMES: Final = dict.fromkeys(_OF_TIME, 6)
_DECIMALS: Final = {"decimal": 7, "big-decimal": 7}
_JAVA: Final = {"java": 9}  # an object of a class of Java's own may be anything
# Form of the JSON value -> type -> rank. Of two types, the one that Java writes in this form is first.
_RANKS: Final[Mapping[str, Mapping[str, int]]] = {
    "boolean": {"boolean": 0, **_JAVA},
    "integer": {"int": 0, "long": 1, "big number": 1, "java date": 1, **dict.fromkeys(_OF_TIME, 2), "decimal": 3,
                "big-decimal": 3, **_REALS, **_JAVA},
    "real": {"double": 0, "float": 1, "big number": 2, "decimal": 3, "big-decimal": 3, "timestamp": 4, **_JAVA},
    "text": {"enum": 0, "string": 1, "uuid": 1, "character": 2, "bytes": 3, "fixed": 3, "duration": 3, **_REALS,
             **_TIMES, **_DECIMALS, **_JAVA},
    "array": {"array": 0, "pairs": 0, **_TIMES, **_JAVA},
    "object": {"record": 0, "java": 0, "java date": 0, "map": 0, "pairs": 1},
}  # fmt: skip
_OF_MAP: Final = (0, 1, 1)
_SPECIAL: Final = ("NaN", "Infinity", "-Infinity")


def choose(rankers: Sequence[Ranker], nodes: Sequence[AvroType], value: Any) -> int:
    """The number of the branch of ``value``. Raises DecodeError if it has the form of none."""
    ranks = [rank(value) for rank in rankers]
    found = [rank for rank in ranks if rank is not None]
    if not found:
        raise DecodeError(f"expected one of {', '.join(map(name_of, nodes)):.300}, got {described(value)}")
    return ranks.index(min(found))


def ranker_of(node: AvroType) -> Ranker:
    """What ranks values as being of this branch."""
    kinds = _kinds(node)
    fields = {part.name: _forms(part.type) for part in node.fields} if isinstance(node, Record) else None

    def rank(value: Any) -> Rank | None:
        form = _FORMS[type(value)]
        places = [_RANKS[form][kind] for kind in kinds if kind in _RANKS[form]]
        if not places or not _is_possible(node, value):
            return None
        if form != "object":
            return min(places), 0, 0
        return _OF_MAP if fields is None else _rank_of_record(fields, value)

    return rank


def _rank_of_record(fields: Mapping[str, frozenset[str]], value: dict[str, Any]) -> Rank:
    known = [(fields[key], item) for key, item in value.items() if key in fields]
    misfits = sum(item is not None and _FORMS[type(item)] not in forms for forms, item in known)
    return misfits, len(value) - len(known), len(fields) - len(known)


def _kinds(node: AvroType) -> tuple[str, ...]:
    """The names of a type in ``_RANKS``."""
    logical = getattr(node, "logical", None)
    if logical is not None:
        name: str = logical.name
        return (name if name in _DECIMALS else next((kind for kind in _OF_TIME if name.startswith(kind)), name),)
    if isinstance(node, Record):
        return ("java date",) if node.name in DATES else ("java",) if is_of_java(node) else ("record",)
    if java_class(node) == CHARACTER:
        return "int", "character"
    if java_class(node) in NUMBERS:
        return "string", "big number"
    return ("pairs",) if node.kind == "array" and is_pairs(node) else (node.kind,)


def _forms(node: AvroType) -> frozenset[str]:
    """The forms that values of a type have in JSON, null aside."""
    branches = node.branches if isinstance(node, Union) else (node,)
    kinds = {kind for branch in branches for kind in _kinds(branch)}
    return frozenset(form for form, ranks in _RANKS.items() if kinds & ranks.keys())


def _is_possible(node: AvroType, value: Any) -> bool:
    """Whether a value that has the form of a type can be of it."""
    if isinstance(node, Enum):
        return value in node.symbols
    if type(value) is int and getattr(node, "logical", None) is None and node.kind in ("int", "long"):
        limit = 1 << (31 if node.kind == "int" else 63)
        return -limit <= value < limit
    if type(value) is str and node.kind in ("double", "float"):
        return value in _SPECIAL
    if type(value) is str and node.kind in ("bytes", "fixed") and _kinds(node)[0] in ("bytes", "fixed", "duration"):
        return is_base64(value, getattr(node, "size", None))
    return True
