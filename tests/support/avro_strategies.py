"""Hypothesis strategies for Avro: schemas of every type, and matching data."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from streamnative_serdes.codec import Duration

EPOCH = dt.datetime(1970, 1, 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FLOATS = st.floats(width=32, allow_nan=False)
DOUBLES = st.floats(allow_nan=False)


def millis(value: dt.datetime) -> dt.datetime:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def zoned(value: dt.datetime) -> dt.datetime:
    return value.replace(tzinfo=dt.UTC)


DATETIMES = st.datetimes()
# Not for tests that compare with ==, because NaN is not equal to itself.
ANY_FLOATS: dict[str, st.SearchStrategy[Any]] = {"float": st.floats(width=32), "double": st.floats()}
PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": FLOATS,
    "double": DOUBLES,
    "bytes": st.binary(max_size=20),
    "string": TEXT,
}
LOGICAL: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "date": ("int", st.dates()),
    "time-millis": ("int", st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
    "time-micros": ("long", st.times()),
    "timestamp-millis": ("long", DATETIMES.map(millis).map(zoned)),
    "timestamp-micros": ("long", DATETIMES.map(zoned)),
    "timestamp-nanos": ("long", PRIMITIVES["long"]),
    "local-timestamp-millis": ("long", DATETIMES.map(millis)),
    "local-timestamp-micros": ("long", DATETIMES),
    "local-timestamp-nanos": ("long", PRIMITIVES["long"]),
    "uuid": ("string", st.uuids()),
}
ALL_LOGICAL = frozenset({*LOGICAL, "decimal", "fixed-decimal", "big-decimal", "fixed-uuid", "duration"})


@dataclass
class Maker:
    """Builds one schema: draws types, names them uniquely, and keeps the strategies for their data."""

    draw: Any
    allowed: frozenset[str]
    any_floats: bool = False
    data: dict[str, st.SearchStrategy[Any]] = field(default_factory=dict)  # by full name of a named type
    count: int = 0
    mixed: bool = False  # allow unions of types with similar data, which may be written to another branch

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def type(self, depth: int, *, union: bool = True) -> tuple[Any, st.SearchStrategy[Any]]:
        kinds = ["primitive", "primitive", "logical", "enum", "fixed", "again"]
        if depth > 0:
            kinds += ["array", "map", "record", "record"] + ["union", "union"] * union
        kind = self.draw(st.sampled_from(kinds))
        made: tuple[Any, st.SearchStrategy[Any]] = getattr(self, kind)(depth)
        return made

    def primitive(self, depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
        name = self.draw(st.sampled_from(sorted(PRIMITIVES)))
        data = (ANY_FLOATS if self.any_floats else PRIMITIVES).get(name, PRIMITIVES[name])
        return (name if self.draw(st.booleans()) else {"type": name}), data

    def logical(self, depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
        return self.logical_type(self.draw(st.sampled_from(sorted(self.allowed))))

    def logical_type(self, name: str) -> tuple[Any, st.SearchStrategy[Any]]:
        if name in LOGICAL:
            base, data = LOGICAL[name]
            return {"type": base, "logicalType": name}, data
        if name == "fixed-uuid":
            return self._fixed(16, {"logicalType": "uuid"}, st.uuids())
        if name == "duration":
            part = st.integers(0, 2**32 - 1)
            return self._fixed(12, {"logicalType": name}, st.builds(Duration, part, part, part))
        if name == "big-decimal":
            numbers = st.builds(lambda n, e: Decimal(n).scaleb(e), st.integers(-(10**25), 10**25), st.integers(-20, 20))
            return {"type": "bytes", "logicalType": name}, numbers
        precision = self.draw(st.integers(1, 27))
        scale = self.draw(st.integers(0, precision))
        extra = {"logicalType": "decimal", "precision": precision, "scale": scale}
        bound = 10**precision - 1
        numbers = st.integers(-bound, bound).map(lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -scale)))
        if name == "decimal":
            return {"type": "bytes", **extra}, numbers
        return self._fixed(self.draw(st.integers(bound.bit_length() // 8 + 1, 16)), extra, numbers)

    def _fixed(
        self, size: int, extra: dict[str, Any], data: st.SearchStrategy[Any]
    ) -> tuple[Any, st.SearchStrategy[Any]]:
        name = self.name("Fixed")
        self.data[name] = data
        return {"type": "fixed", "name": name, "size": size, **extra}, data

    def fixed(self, depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
        size = self.draw(st.integers(1, 9))
        return self._fixed(size, {}, st.binary(min_size=size, max_size=size))

    def enum(self, depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
        name = self.name("Enum")
        symbols = [f"{name}_{i}" for i in range(self.draw(st.integers(1, 4)))]
        self.data[name] = st.sampled_from(symbols)
        return {"type": "enum", "name": name, "symbols": symbols}, self.data[name]

    def again(self, depth: int = 0) -> tuple[Any, st.SearchStrategy[Any]]:
        if not self.data:
            return self.primitive()
        name = self.draw(st.sampled_from(sorted(self.data)))
        return name, self.data[name]

    def array(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        items, data = self.type(depth - 1)
        return {"type": "array", "items": items}, st.lists(data, max_size=4)

    def map(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        values, data = self.type(depth - 1)
        return {"type": "map", "values": values}, st.dictionaries(TEXT, data, max_size=3)

    def record(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        name = self.name("Record")
        own = [(f"{name}_{i}".lower(), *self.type(depth - 1)) for i in range(self.draw(st.integers(0, 4)))]
        fields = [{"name": field_name, "type": kind} for field_name, kind, _ in own]
        data = st.fixed_dictionaries({field_name: strategy for field_name, _, strategy in own})
        shape = self.draw(st.sampled_from(["plain", "plain", "list", "tree"]))
        if shape == "list":
            fields.append({"name": f"{name}_next".lower(), "type": ["null", name]})
            data = grown(data, f"{name}_next".lower(), lambda inner: st.none() | inner)
        elif shape == "tree":
            fields.append({"name": f"{name}_kids".lower(), "type": {"type": "array", "items": name}})
            data = grown(data, f"{name}_kids".lower(), lambda inner: st.lists(inner, max_size=2))
        self.data[name] = data
        return {"type": "record", "name": name, "fields": fields}, data

    def union(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        """Unless ``mixed``, no two branches accept the same Python type, so all libraries choose the same branch."""
        branches: list[Any] = []
        data: list[st.SearchStrategy[Any]] = []
        seen: set[str] = set()
        for _ in range(self.draw(st.integers(1, 4))):
            known = dict(self.data)
            kind, strategy = self.type(depth - 1, union=False)
            groups = {identity(kind)} if self.mixed else groups_of(kind)
            if groups & seen:
                self.data = known  # also drop the types that the branch defined
            else:
                seen |= groups
                branches.append(kind)
                data.append(strategy)
        return branches, st.one_of(data)


def grown(base: st.SearchStrategy[Any], name: str, around: Any) -> st.SearchStrategy[Any]:
    """Draw records whose field ``name`` holds records of the same type, at most three levels deep."""
    deepest = st.builds(lambda d, last: {**d, name: last}, base, st.none() if name.endswith("next") else st.just([]))
    inner = deepest
    for _ in range(2):
        inner = st.builds(lambda d, nested: {**d, name: nested}, base, around(inner))
    return inner


def identity(kind: Any) -> str:
    """Return what a union may contain only once: a kind of unnamed type, or a name."""
    return kind if isinstance(kind, str) else str(kind.get("name", kind["type"]))


def groups_of(kind: Any) -> set[str]:
    """Return what a union may contain only once because of ``kind``: its Python type, roughly, and its Avro type."""
    name = kind if isinstance(kind, str) else kind["type"]
    logical = isinstance(kind, dict) and "logicalType" in kind
    if name.startswith(("Record", "Enum", "Fixed")):
        name = {"R": "record", "E": "enum", "F": "fixed"}[name[0]]
    groups = {"int": "number", "long": "number", "float": "number", "double": "number", "enum": "string"}
    groups |= {"record": "dict", "map": "dict"}
    return {groups.get(name, name)} | ({"logical or fixed"} if logical or name == "fixed" else set())


@st.composite
def schema_and_data(
    draw: Any, logical: frozenset[str] = ALL_LOGICAL, depth: int = 3, *, any_floats: bool = False
) -> tuple[Any, st.SearchStrategy[Any]]:
    """Draw a schema and a strategy of its data. A correct codec reads such data back equal."""
    maker = Maker(draw, logical, any_floats)
    return maker.type(depth)


@st.composite
def schema_and_datum(
    draw: Any, logical: frozenset[str] = ALL_LOGICAL, depth: int = 3, *, any_floats: bool = False
) -> tuple[Any, Any]:
    schema, data = draw(schema_and_data(logical, depth, any_floats=any_floats))
    return schema, draw(data)


EDITS = st.lists(
    st.tuples(st.sampled_from(["set", "flip", "insert", "delete", "cut"]), st.integers(0, 10**6), st.integers(0, 255)),
    min_size=1,
    max_size=3,
)


def edited(data: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    """Return ``data`` with some damage."""
    out = bytearray(data)
    for kind, place, byte in edits:
        at = place % (len(out) + 1)
        if kind == "cut":
            del out[at:]
        elif kind == "insert" or at == len(out):
            out.insert(at, byte)
        elif kind == "delete":
            del out[at]
        else:
            out[at] = byte if kind == "set" else out[at] ^ 1 << byte % 8
    return bytes(out)


def unions(schema: Any) -> Iterator[list[Any]]:
    """Yield every union in ``schema``, as its list of branches."""
    if isinstance(schema, list):
        yield schema
    inner = schema if isinstance(schema, list) else []
    if isinstance(schema, dict):
        inner = [schema.get("items"), schema.get("values"), *(part["type"] for part in schema.get("fields", ()))]
    for part in inner:
        yield from unions(part)


def bare(datum: Any) -> Any:
    """Return ``datum`` with UUIDs and durations in the form of libraries that lack these types."""
    if isinstance(datum, Duration):
        return b"".join(part.to_bytes(4, "little") for part in datum)
    if isinstance(datum, uuid.UUID):
        return datum
    if isinstance(datum, dict):
        return {key: bare(value) for key, value in datum.items()}
    return [bare(value) for value in datum] if isinstance(datum, list) else datum


LOGICAL_KEYS = ("logicalType", "precision", "scale")


def without_logical_types(schema: Any) -> Any:
    """Return ``schema`` with base types in place of logical types."""
    if isinstance(schema, list):
        return [without_logical_types(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    bare_type = {key: value for key, value in schema.items() if key not in LOGICAL_KEYS}
    inner = {key: without_logical_types(bare_type[key]) for key in ("items", "values") if key in bare_type}
    if "fields" in schema:
        inner["fields"] = [{**part, "type": without_logical_types(part["type"])} for part in schema["fields"]]
    return {**bare_type, **inner}
