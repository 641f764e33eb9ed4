"""Random schemas, and data for any schema, from a seeded generator: the same seed gives the same result everywhere.

tests/support/avro_strategies.py does the same with hypothesis, which finds small examples but takes milliseconds for
each. This takes microseconds, and allows unions in which two branches accept the same value.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any

from hand_picked import LOGICAL, PRIMITIVES, array, enum, fixed, map_of, record

from streamnative_serdes.codec import Duration

EPOCH = dt.datetime(1970, 1, 1)
TEXTS = ("", "a", "text", "Zürich", "日本", "🎺", "\0", "x" * 63, "x" * 64, "y" * 300)
DEEP = 5  # levels of a datum below which containers are left empty if possible
TOO_DEEP = 60  # levels that only an endlessly recursive record reaches
TOO_LARGE = 1 << 16  # bytes of a fixed


class NoDatum(Exception):
    """The schema has no datum, or only large ones. A damaged schema may be like that."""


def schema_of(rng: Random, depth: int = 3) -> Any:
    """Return a random valid schema."""
    return _SchemaMaker(rng).type(depth)


class _SchemaMaker:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.names: list[str] = []
        self.count = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def type(self, depth: int, *, union: bool = True) -> Any:
        leaves = [self.primitive, self.primitive, self.logical, self.enum, self.fixed, self.again]
        containers = [self.array, self.map, self.record, self.record] + [self.union, self.union] * union
        return self.rng.choice(leaves + containers if depth > 0 else leaves)(depth)

    def primitive(self, _depth: int) -> Any:
        return self.rng.choice(PRIMITIVES)

    def logical(self, _depth: int) -> Any:
        kind = dict(LOGICAL[self.rng.choice(list(LOGICAL))])
        if "name" in kind:
            kind["name"] = self.name("Logical")
        if kind["logicalType"] == "decimal":
            most = 60 if kind["type"] == "bytes" else int(2.4 * kind["size"]) - 1
            kind["precision"] = self.rng.randint(1, most)
            kind["scale"] = self.rng.randint(0, kind["precision"])
        return kind

    def enum(self, _depth: int) -> Any:
        name = self.name("Enum")
        self.names.append(name)
        return enum(name, [f"{name}_{i}" for i in range(self.rng.randint(1, 5))])

    def fixed(self, _depth: int) -> Any:
        name = self.name("Fixed")
        self.names.append(name)
        return fixed(name, self.rng.choice((0, 1, 2, 5, 16, 40)))

    def again(self, depth: int) -> Any:
        return self.rng.choice(self.names) if self.names else self.primitive(depth)

    def array(self, depth: int) -> Any:
        return array(self.type(depth - 1))

    def map(self, depth: int) -> Any:
        return map_of(self.type(depth - 1))

    def record(self, depth: int) -> Any:
        name, fields = self.name("Record"), {}
        for _ in range(self.rng.choice((0, 1, 2, 3, 6))):
            fields[self.name("f")] = self.type(depth - 1)
        if self.rng.random() < 0.4:
            fields[self.name("f")] = self.rng.choice((["null", name], [name, "null"], array(name), map_of(name)))
        self.names.append(name)
        return record(name, fields)

    def union(self, depth: int) -> Any:
        branches: list[Any] = []
        labels = set()
        for _ in range(self.rng.randint(1, 5)):
            known = len(self.names)
            branch = self.type(depth - 1, union=False)
            label = branch if isinstance(branch, str) else branch.get("name", branch["type"])
            if label in labels:
                del self.names[known:]  # also drop the types that the branch defined
            else:
                labels.add(label)
                branches.append(branch)
        return branches


def datum_of(kind: Any, rng: Random, depth: int = 0) -> Any:
    """Return a random datum of ``kind``, a type of a parsed schema. Raises NoDatum."""
    if depth > TOO_DEEP:
        raise NoDatum
    if kind.kind == "record":
        return {part.name: datum_of(part.type, rng, depth + 1) for part in kind.fields}
    if kind.kind == "array":
        return [datum_of(kind.items, rng, depth + 1) for _ in range(_items(rng, depth))]
    if kind.kind == "map":
        return {rng.choice(TEXTS): datum_of(kind.values, rng, depth + 1) for _ in range(_items(rng, depth))}
    if kind.kind == "union":
        return datum_of(_branch(kind.branches, rng, depth), rng, depth + 1)
    if kind.kind == "enum":
        return _choice(kind.symbols, rng)
    if kind.logical is not None:
        return LOGICAL_DATA[kind.logical.name](rng, kind.logical)
    if kind.kind == "fixed":
        if kind.size > TOO_LARGE:
            raise NoDatum
        return rng.randbytes(kind.size)
    return LEAVES[kind.kind](rng)


def _items(rng: Random, depth: int) -> int:
    return 0 if depth > DEEP else rng.choice((0, 1, 1, 2, 3, 7))


def _branch(branches: Any, rng: Random, depth: int) -> Any:
    if depth > DEEP:  # a recursive datum must end, and empty containers end it soonest
        plain = [branch for branch in branches if branch.kind in PRIMITIVES or branch.kind == "enum"]
        return _choice(plain or branches, rng)
    return _choice(branches, rng)


def _choice(options: Sequence[Any], rng: Random) -> Any:
    if not options:
        raise NoDatum
    return rng.choice(options)


def _int(bits: int) -> Callable[[Random], int]:
    def make(rng: Random) -> int:
        size = rng.choice((0, 1, 5, 6, 7, 13, 14, bits - 2, bits - 1))
        number = rng.getrandbits(size) if size else 0
        return ~number if rng.random() < 0.4 else number

    return make


def _float(rng: Random) -> float:
    special = (0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 2.0**-149, 1e30)
    return rng.choice(special) if rng.random() < 0.5 else float(rng.randrange(-(2**24), 2**24))


LEAVES: dict[str, Callable[[Random], Any]] = {
    "null": lambda rng: None,
    "boolean": lambda rng: rng.random() < 0.5,
    "int": _int(32),
    "long": _int(64),
    "float": _float,
    "double": lambda rng: _float(rng) if rng.random() < 0.5 else rng.uniform(-1e300, 1e300),
    "bytes": lambda rng: rng.randbytes(rng.choice((0, 1, 4, 12, 16, 70))),
    "string": lambda rng: rng.choice(TEXTS) * rng.choice((1, 1, 1, 4)),
}


def _moment(rng: Random, step: int) -> dt.datetime:
    """Return a random naive datetime of the years 1 to 9999, in multiples of ``step`` microseconds."""
    if rng.random() < 0.2:
        return rng.choice((EPOCH, dt.datetime.min, dt.datetime(9999, 12, 31, 23, 59, 59), dt.datetime(2000, 2, 29)))
    micros = rng.randrange(-60_000_000_000_000_000, 250_000_000_000_000_000)
    return EPOCH + dt.timedelta(microseconds=micros // step * step)


def _zoned(step: int) -> Callable[[Random, Any], dt.datetime]:
    return lambda rng, _: _moment(rng, step).replace(tzinfo=dt.UTC)


def _decimal(rng: Random, logical: Any) -> Decimal:
    digits = str(rng.randrange(10 ** rng.randint(1, logical.precision)))
    return Decimal((rng.random() < 0.4, tuple(map(int, digits)), -logical.scale))


def _big_decimal(rng: Random, _: Any) -> Decimal:
    digits = str(rng.getrandbits(rng.choice((1, 20, 64, 200))))
    return Decimal((rng.random() < 0.4, tuple(map(int, digits)), rng.randint(-30, 30)))


LOGICAL_DATA: dict[str, Callable[[Random, Any], Any]] = {
    "date": lambda rng, _: _moment(rng, 1000).date(),
    "time-millis": lambda rng, _: _moment(rng, 1000).time(),
    "time-micros": lambda rng, _: _moment(rng, 1).time(),
    "timestamp-millis": _zoned(1000),
    "timestamp-micros": _zoned(1),
    "timestamp-nanos": lambda rng, _: _int(64)(rng),
    "local-timestamp-millis": lambda rng, _: _moment(rng, 1000),
    "local-timestamp-micros": lambda rng, _: _moment(rng, 1),
    "local-timestamp-nanos": lambda rng, _: _int(64)(rng),
    "uuid": lambda rng, _: uuid.UUID(int=rng.getrandbits(128)),
    "duration": lambda rng, _: Duration(*(rng.getrandbits(rng.choice((1, 8, 32))) for _ in range(3))),
    "decimal": _decimal,
    "big-decimal": _big_decimal,
}
