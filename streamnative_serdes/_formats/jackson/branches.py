"""The branch of a union for an untagged JSON value: the branch with the value's form, without a deep look into it.

| JSON | branches, in this order |
|---|---|
| true, false | boolean |
| an integer | int, long, by its size; date, time and timestamp; decimal; double, float |
| another number | double, float; decimal; timestamp |
| text | enum with this symbol; string, uuid; base64; NaN and the infinities; date, time and timestamp; decimal |
| an array | array; date, time and local timestamp |
| an object | the record with the fewest fields of another form, then of unknown, then of missing fields; map |

A record that knows all keys comes before records that do not, whatever the forms of its fields. Of an array or a map,
the first item counts, too. A map is preferred to a record that would not know two of the keys. Of equal branches, the
first counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from streamnative_serdes._schema import Array, AvroType, Enum, Fixed, Map, Primitive, Record, Union, name_of
from streamnative_serdes.errors import DecodeError

from ..faults import described
from ..json_number import JsonNumber
from .java_classes import CHARACTER, DATES, NUMBERS, is_of_java, is_pairs, java_class

Rank = tuple[int, int, int]  # lower is better
Ranker = Callable[[Any], Rank | None]  # None: the value cannot be of this branch

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


def choose(rankers: Sequence[Ranker], nodes: Sequence[AvroType], value: Any) -> int:
    """The number of the branch of ``value``. Raises DecodeError if no branch has its form."""
    ranks = [rank(value) for rank in rankers]
    found = [rank for rank in ranks if rank is not None]
    if any(unknown == 0 for _, unknown, _ in found):  # a map takes any keys
        found = [rank for rank in found if rank[1] == 0 or rank is _OF_MAP]
    if not found:
        raise DecodeError(f"expected one of {', '.join(map(name_of, nodes)):.300}, got {described(value)}")
    best = min(found)
    return next(number for number, rank in enumerate(ranks) if rank is best)


def ranker_of(node: AvroType, shape: Callable[[Any, Any], Any]) -> Ranker:
    """The function that ranks values as data of this branch, which ``shape`` reads."""
    kinds = _kinds(node)
    fields = {part.name: _forms(part.type) for part in node.fields} if isinstance(node, Record) else None
    is_leaf = isinstance(node, Primitive | Fixed | Enum)
    inner = _forms_inside(node)

    def rank(value: Any) -> Rank | None:
        form = _FORMS[type(value)]
        places = [_RANKS[form][kind] for kind in kinds if kind in _RANKS[form]]
        if not places or (is_leaf and not _can_be_read(shape, value)):
            return None
        if inner is not None and not _begins_with(inner, value):
            return None
        if form != "object":
            return min(places), 0, 0
        return _OF_MAP if fields is None else _rank_of_record(fields, value)

    return rank


def _can_be_read(shape: Callable[[Any, Any], Any], value: Any) -> bool:
    try:
        shape(value, None)  # a leaf fills in nothing
    except DecodeError:
        return False
    return True


def _forms_inside(node: AvroType) -> frozenset[str] | None:
    """The forms of the items of an array or a map; None for other types."""
    if isinstance(node, Array) and not is_pairs(node):
        return _forms(node.items)
    return _forms(node.values) if isinstance(node, Map) else None


def _begins_with(forms: frozenset[str], value: Any) -> bool:
    """Whether the first item has one of the forms."""
    items = value.values() if isinstance(value, dict) else value
    first = next((item for item in items if item is not None), None)
    return first is None or _FORMS[type(first)] in forms


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
