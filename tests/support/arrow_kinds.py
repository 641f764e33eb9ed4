"""Each kind of field that columns have: what is written, what it is read as, and values of it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

from schemas import array, enum, fixed, logical, mapping, record

from streamnative_serdes.codec import Codec, Duration

SYMBOLS = [f"S{number}" for number in range(60)] + [f"S{number}_{'x' * (number - 32)}" for number in range(60, 70)]
INTS = [0, -1, 1, 63, 64, -64, -65, 8191, 8192, -8193, 2**20, -(2**20), 2**27, 2**31 - 1, -(2**31)]
LONGS = [*INTS, 2**34, 2**34 - 1, -(2**41), 2**48, 2**55 - 1, -(2**55) - 1, 2**62, 2**63 - 1, -(2**63)]
REALS = [0.0, -1.5, 2.0**100, -(2.0**-100), float("inf"), 0.5]
INNER = record("Inner", ("a", "long"), ("b", ["null", "string"]), ("c", "boolean"))
INNERS = [{"a": -(2**40), "b": None, "c": True}, {"a": 0, "b": "text", "c": False}]
TEXTS = ["", "x", "text", "y" * 31, "z" * 32, "a" * 33, "b" * 63, "c" * 64, "é", "é" * 16, "€" * 11, "𝄞" * 20]
BYTES = [text.encode() for text in TEXTS] + [b"\xff" * size for size in (1, 31, 32, 33, 64, 300)]
DAY, MILLIS, MICROS = 86_400, 86_400_000, 86_400_000_000
FIRST_DAY, LAST_DAY = dt.date.min.toordinal() - 719_163, dt.date.max.toordinal() - 719_163  # 1970-01-01 is day 0


def moments(day: int) -> list[int]:
    """The first and the last moment that is read, and some between them."""
    return [FIRST_DAY * day, (LAST_DAY + 1) * day - 1, 0, -1, 1, 1_000, -1_001, day * 365 + 7]


def numbers(base: str, name: str, values: list[int], reader: Any = None) -> tuple[Any, Any, list[Any]]:
    """A kind whose values are encoded as what they are on the wire."""
    kind = logical(base, name)
    return kind, reader or kind, [Codec(base).encode(value) for value in values]


# What is written, what it is read as, and values; bytes are messages.
KINDS: dict[str, tuple[Any, Any, list[Any]]] = {
    "null": ("null", "null", [None]),
    "boolean": ("boolean", "boolean", [True, False, False]),
    "int": ("int", "int", INTS),
    "long": ("long", "long", LONGS),
    "int as long": ("int", "long", INTS),
    "int as float": ("int", "float", INTS),
    "int as double": ("int", "double", INTS),
    "long as float": ("long", "float", LONGS),
    "long as double": ("long", "double", LONGS),
    "int as float in a column of doubles": ("int", ["float", "double"], INTS),
    "int in a union of numbers": ("int", ["int", "long"], INTS),
    "float": ("float", "float", REALS),
    "double": ("double", "double", [*REALS, 1e300]),
    "float as double": ("float", "double", REALS),
    "float in a union of numbers": ("float", ["float", "double"], REALS),
    "date": numbers("int", "date", [FIRST_DAY, LAST_DAY, 0, -1]),
    "time in ms": numbers("int", "time-millis", [0, MILLIS - 1, 1, 1_000]),
    "time in us": numbers("long", "time-micros", [0, MICROS - 1, 1, 10**6]),
    "time in ms as us": numbers("int", "time-millis", [0, MILLIS - 1], logical("long", "time-micros")),
    "moment in ms": numbers("long", "timestamp-millis", moments(MILLIS)),
    "moment in us": numbers("long", "timestamp-micros", moments(MICROS)),
    "moment in ns": numbers("long", "timestamp-nanos", LONGS),
    "local moment in ms": numbers("long", "local-timestamp-millis", moments(MILLIS)),
    "moment in ms as us": numbers("long", "timestamp-millis", moments(MILLIS), logical("long", "timestamp-micros")),
    "moment in us as ms": numbers("long", "timestamp-micros", moments(MICROS), logical("long", "timestamp-millis")),
    "moment in ms as ns": numbers(
        "long", "timestamp-millis", [0, 2**63 // 10**6, -(2**63 // 10**6)], logical("long", "timestamp-nanos")
    ),
    "moment in ns as ms": numbers("long", "timestamp-nanos", LONGS, logical("long", "timestamp-millis")),
    "string": ("string", "string", TEXTS),
    "bytes": ("bytes", "bytes", BYTES),
    "string as bytes": ("string", "bytes", TEXTS),
    "bytes as string": ("bytes", "string", [text.encode() for text in TEXTS]),
    "fixed": (fixed("F", 3), fixed("F", 3), [b"abc", b"\0\xff\0"]),
    "fixed without bytes": (fixed("F", 0), fixed("F", 0), [b""]),
    "enum": (enum("E", "A", "B", "C"), enum("E", "C", "A", "B"), ["A", "B", "C"]),
    "enum with a default": (enum("E", "A", "B", "C"), {**enum("E", "A", "X"), "default": "X"}, ["A", "B", "C"]),
    "enum of 70 symbols": (enum("E", *SYMBOLS), enum("E", *SYMBOLS), SYMBOLS),
    "enum of one long symbol": (enum("E", "x" * 40), enum("E", "x" * 40), ["x" * 40]),
    "decimal": (*[logical("bytes", "decimal", precision=9, scale=2)] * 2, [Decimal("1.25"), Decimal("-9999999.99")]),
    "decimal of fixed": (
        *[fixed("D", 4, logicalType="decimal", precision=5, scale=0)] * 2, [Decimal(99_999), Decimal(-1)],
    ),
    "big-decimal": (*[logical("bytes", "big-decimal")] * 2, [Decimal("1e-20"), Decimal(-(10**30))]),
    "uuid": (*[logical("string", "uuid")] * 2, [UUID(int=7), UUID(int=2**127 + 1)]),
    "duration": (*[fixed("U", 12, logicalType="duration")] * 2, [Duration(0, 1, 2), Duration(*[2**32 - 1] * 3)]),
    "record": (INNER, INNER, INNERS),
    "record of numbers": (*[record("Numbers", ("v", "int"), ("w", "int"))] * 2, [{"v": 1, "w": 7}, {"v": 9, "w": 5}]),
    "record of which a part is read": (INNER, record("Inner", ("c", "boolean"), ("z", "int", 7)), INNERS),
    "record of a record": (
        *[record("Outer", ("r", INNER), ("s", ["Inner", "null"]), ("t", "int"))] * 2,
        [{"r": INNERS[0], "s": None, "t": 1}, {"r": INNERS[1], "s": INNERS[0], "t": -1}],
    ),
    "record of arrays": (
        *[record("Lists", ("p", array("int")), ("q", array("string")))] * 2,
        [{"p": [], "q": ["a"]}, {"p": [1, 2, 3], "q": []}],
    ),
    "record without fields": (record("Empty"), record("Empty"), [{}]),
    "union of several": (["int", "string", INNER], ["int", "string", INNER], [5, "text", INNERS[0], INNERS[1]]),
    "union of several with null": (["int", "null", "string"], ["int", "null", "string"], [5, None, "text"]),
    "union of numbers": (["int", "long"], ["int", "long"], [5, 2**40]),
    "array": (array("long"), array("long"), [[], [1], [2**40, -1, 7], [0] * 50]),
    "array of records": (array(INNER), array(INNER), [[], INNERS, INNERS * 3]),
    "map": (mapping("int"), mapping("int"), [{}, {"key": 1}, {"a": 1, "b": 2, "c" * 40: 3}]),
}  # fmt: skip


def schema(name: str, *kinds: Any) -> Any:
    """A record in which fields of these types stand between others: enough that it is read in blocks."""
    fields = [(f"x{number}", kind) for number, kind in enumerate(kinds)]
    first, last = (("before", "long"), ("text", "string")), (("flag", "boolean"), ("after", ["null", "int"]))
    return record(name, *first, *fields, *last)


LONG, STRING = Codec("long"), Codec("string")


def message(number: int, *values: bytes) -> bytes:
    """A message of such a record, with other values for other numbers."""
    before = LONG.encode(pow(3, number, 2**60)) + STRING.encode("t" * (number % 40))
    return before + b"".join(values) + bytes([number % 3 == 1]) + (b"\0" if number % 5 == 2 else b"\2\x0e")


def encoded(kind: Any, values: list[Any]) -> list[bytes]:
    """The values as bytes; numbers of logical types are bytes already."""
    raw = all(isinstance(value, bytes) for value in values) and logical_type(kind)
    return values if raw else list(map(Codec(kind).encode, values))


def logical_type(kind: Any) -> bool:
    return isinstance(kind, dict) and "logicalType" in kind and kind["type"] in ("int", "long")


def forms(writer: Any, reader: Any) -> list[tuple[Any, Any, bytes, bytes]]:
    """The type as it is, and in unions with null: what is written and read, the bytes of null and before a value."""
    plain = (writer, reader, b"", b"")
    if isinstance(writer, list) or writer == "null":
        return [plain]
    others = reader if isinstance(reader, list) else [reader]
    either = ["null", *others]
    return [
        plain,
        (["null", writer], either, b"\0", b"\2"),
        ([writer, "null"], [*others, "null"], b"\2", b"\0"),
        (["null", writer], [*others, "null"], b"\0", b"\2"),
        (writer, either, b"", b""),
    ]
