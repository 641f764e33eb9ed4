# ruff: noqa: E501 - a table
"""Values that few or no schemas expect, and objects whose code changes the data being encoded."""

from __future__ import annotations

import array
import datetime as dt
import uuid
from collections import OrderedDict, UserDict, UserList, deque, namedtuple
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from random import Random
from types import MappingProxyType
from typing import Any

Pair = namedtuple("Pair", ["a", "b"])


class Colour(Enum):
    RED = "RED"
    one = 1


class Word(str):
    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


class Items(list):
    pass


class Table(dict):
    pass


class Row(tuple):
    """Has the attributes of a pyspark.sql.Row: a tuple with field names."""

    __fields__: list[Any]


@dataclass
class Model:
    value: Any = None
    name: Any = ""


class Failing:
    """Raises an error however it is read."""

    def _fail(self, *_: object) -> Any:
        raise KeyError("no")

    __index__ = __float__ = __len__ = __iter__ = __getitem__ = __bool__ = __hash__ = __eq__ = __str__ = __repr__ = _fail


class Zone(dt.tzinfo):
    """A time zone with a given offset, which may be invalid."""

    def __init__(self, offset: Any) -> None:
        self.offset = offset

    def utcoffset(self, _when: dt.datetime | None) -> Any:
        return self.offset

    def dst(self, _when: dt.datetime | None) -> Any:
        return None


class Moment(dt.datetime):
    """A datetime with a given offset, which may be invalid."""

    said: Any = None

    def utcoffset(self) -> Any:
        return self.said


def moment(said: Any) -> Moment:
    made = Moment(2020, 1, 2, 3, 4, 5, 6)
    made.said = said
    return made


class Acting:
    """Changes its own container when it is read, for a limited number of times."""

    def __init__(self, box: Any, key: Any, rng: Random) -> None:
        self.box, self.key, self.rng, self.left = box, key, rng, 3

    def _act(self) -> None:
        if self.left:
            self.left -= 1
            self.rng.choice(ACTS)(self.box, self.key)

    def __index__(self) -> int:
        self._act()
        return 1

    def __float__(self) -> float:
        self._act()
        return 1.0


class ActingTable(Acting, Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        self._act()
        return 1

    def __iter__(self) -> Iterator[str]:
        self._act()
        return iter(("a", "value", "name"))

    def __len__(self) -> int:
        self._act()
        return 3


class ActingItems(Acting):
    def __getitem__(self, at: int) -> Any:
        self._act()
        return [1, "x"][at]

    def __len__(self) -> int:
        self._act()
        return 2


class ActingWord(str):
    """A dict key whose hash and equality run code."""

    acting: Acting

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        if self is not other:
            self.acting._act()
        return str.__eq__(self, other)


def _clear(box: Any, key: Any) -> None:
    box.clear()


def _grow(box: Any, key: Any) -> None:
    if isinstance(box, dict):
        box.update({f"new{len(box) + i}": i for i in range(40)})
    else:
        box.extend(range(40))


def _shrink(box: Any, key: Any) -> None:
    if box:
        box.pop() if isinstance(box, list) else box.popitem()


def _replace(box: Any, key: Any) -> None:
    """Drop the only reference to the value being encoded."""
    if isinstance(box, dict) or key < len(box):
        box[key] = 5


def _replace_all(box: Any, key: Any) -> None:
    for other in box if isinstance(box, dict) else range(len(box)):
        box[other] = object()


ACTS: tuple[Callable[[Any, Any], None], ...] = (_clear, _grow, _shrink, _replace, _replace_all)

# Values of each kind that users may pass, almost right and completely wrong.
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 2**64, 10**400, 1 << 100_000,
    0.0, 0.5, -0.0, 1e39, float("nan"), float("inf"), 1j, "", "x", "RED", "\ud800", "a\udfffb", "ÿ", "日本", "🎺", "x" * 5000,
    b"", b"four", b"x" * 16, b"\xff" * 12, bytearray(b"four"), memoryview(b"four"), memoryview(b"four")[::2],
    array.array("b"), array.array("d", [1.0]), (), (1,), ("x", 1), (1, 2, 3), ("Circle", {"radius": 1.0}), [], [None], {},
    {"a": 1}, {1: 2}, {None: None}, {"value": 1, "next": None}, set(), frozenset({1}), range(3), object(), int, len, ...,
    Pair(1, 2), Colour.RED, Colour.one, Word("RED"), Word("\ud800"), Whole(7), Whole(2**70), Real(1.5), Items([1, 2]), Items(),
    Table(a=1), OrderedDict(a=1), UserDict(a=1), UserList([1]), deque([1]), MappingProxyType({"value": 1}), Model(1, "x"), Model(),
    Failing(), dt.date(2020, 2, 29), dt.date.min, dt.date.max, dt.time(1, 2, 3, 4), dt.time(1, tzinfo=dt.UTC),
    dt.datetime(2020, 1, 2), dt.datetime.min.replace(tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=dt.UTC),
    dt.datetime(2020, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
    dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=23))), dt.datetime.max.replace(tzinfo=dt.timezone.min),
    dt.datetime(2020, 1, 2, tzinfo=Zone(None)), dt.datetime(2020, 1, 2, tzinfo=Zone(5)), moment(None), moment("x"),
    dt.datetime(2020, 1, 2, tzinfo=Zone(dt.timedelta(days=2))), moment(dt.timedelta.max), moment(dt.timedelta.min),
    dt.timedelta(1), uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), str(uuid.UUID(int=5)),
    Decimal(0), Decimal("-0.00"), Decimal("1.23"), Decimal("1E+5"), Decimal("1E-5"), Decimal("9" * 50), Decimal("1E+999999"),
    Decimal("1E-999999"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("0E-4000"), Decimal("1." + "0" * 5000),
)  # fmt: skip


def tame(datum: Any) -> bool:
    """Whether no object in ``datum`` changes its container, so that each encoding gives the same bytes."""
    try:
        return "Acting" not in repr(datum)
    except Exception:  # noqa: BLE001 - one that fails does so each time
        return True
