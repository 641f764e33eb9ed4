"""Hypothesis strategies for Connect's data: schemas of every type, and matching values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal as PythonDecimal
from typing import Any

from hypothesis import strategies as st

from streamnative_serdes.connect import Date, Decimal, Enum, Field, Schema, SchemaBuilder, Struct, Time, Timestamp, Type

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.text("abcdefgh_XYZ", min_size=1, max_size=6)
# Most are not valid in Avro. The oracle is older than what Confluent changed for other first letters and namespaces.
ODD_NAMES = st.builds(str.__add__, st.sampled_from("ab1"), st.text("ab-1é$%~* 😀", max_size=3))
PRIMITIVES: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT8: st.integers(-(2**7), 2**7 - 1),
    Type.INT16: st.integers(-(2**15), 2**15 - 1),
    Type.INT32: st.integers(-(2**31), 2**31 - 1),
    Type.INT64: st.integers(-(2**63), 2**63 - 1),
    Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    Type.FLOAT64: st.floats(allow_nan=False, allow_infinity=False),
    Type.BOOLEAN: st.booleans(),
    Type.STRING: TEXT,
    Type.BYTES: st.binary(max_size=12),
}
LOGICAL: dict[str, st.SearchStrategy[Any]] = {
    "date": st.dates() | st.sampled_from([-(2**31), 2**31 - 1]),
    "time": st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))
    | st.just(86_400_000),
    "timestamp": st.datetimes().map(
        lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=dt.UTC)
    )
    | st.sampled_from([-(2**63), 2**63 - 1]),
}


def dotted(names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Names with up to two more in front of them, as namespaces, of which the oracle replaces no characters yet."""
    return st.tuples(st.lists(NAMES, max_size=2), names).map(lambda both: ".".join([*both[0], both[1]]))


@st.composite
def leaves(draw: st.DrawFn, *, logical: bool = True) -> Schema:
    """A schema of a primitive type, a logical type or an enum, without a default.

    Args:
        draw: hypothesis's.
        logical: whether logical types and enums may be drawn.
    """
    optional = draw(st.booleans())
    kind = draw(st.sampled_from([*PRIMITIVES, *(["date", "time", "timestamp", "decimal", "enum"] if logical else [])]))
    match kind:
        case "date":
            return Date.schema(optional=optional)
        case "time":
            return Time.schema(optional=optional)
        case "timestamp":
            return Timestamp.schema(optional=optional)
        case "decimal":
            return Decimal.schema(draw(st.integers(-3, 12)), optional=optional)
        case "enum":
            symbols = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
            return Enum.schema(draw(dotted(NAMES)), symbols, optional=optional)
    return Schema(kind, optional)


@st.composite
def schemas(
    draw: st.DrawFn,
    *,
    depth: int = 3,
    logical: bool = True,
    defaults: bool = True,
    keys: bool = True,
    meta: bool = True,
    struct: bool = False,
    names: st.SearchStrategy[str] = NAMES,
) -> Schema:
    """A schema of any type.

    Args:
        draw: hypothesis's.
        depth: how many levels of arrays, maps and structs there may be.
        logical: whether logical types and enums may be drawn.
        defaults: whether schemas may have defaults.
        keys: whether keys of maps may be other than required plain strings.
        meta: whether schemas may have names (structs always do), versions, docs and parameters.
        struct: whether the outermost schema is a struct.
        names: of structs and fields.
    """
    inner = schemas(depth=depth - 1, logical=logical, defaults=defaults, keys=keys, meta=meta, names=names)
    kinds = ["leaf", "leaf", "array", "map", "struct", "struct"] if depth > 0 else ["leaf"]
    kind = "struct" if struct else draw(st.sampled_from(kinds))
    if kind == "leaf":
        made = draw(leaves(logical=logical))
    elif kind == "array":
        made = SchemaBuilder.array(draw(inner)).build()
    elif kind == "map":
        key = draw(leaves(logical=False)) if keys else Schema(Type.STRING)
        made = SchemaBuilder.map(key, draw(inner)).build()
    else:
        builder = SchemaBuilder.struct(draw(dotted(names)))
        for name in draw(st.lists(names, max_size=5, unique=True)):
            builder.field(name, draw(inner))
        made = builder.build()
    if kind != "leaf":
        made = made.replaced(optional=draw(st.booleans()))
    if meta:
        made = _with_meta(draw, made)
    if defaults and draw(st.integers(0, 3)) == 0:
        made = made.replaced(default=draw(values(made.replaced(optional=False))))
    return made


def _with_meta(draw: st.DrawFn, schema: Schema) -> Schema:
    changes: dict[str, Any] = {}
    if draw(st.booleans()) and schema.version is None:
        changes["version"] = draw(st.integers(1, 2**31 - 1))
    if draw(st.booleans()) and schema.doc is None:
        changes["doc"] = draw(TEXT)
    if draw(st.integers(0, 3)) == 0:
        more = draw(st.dictionaries(NAMES, TEXT, min_size=1, max_size=2))
        changes["parameters"] = {**more, **(schema.parameters or {})}
    return schema.replaced(**changes)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """A value of ``schema``; None too if it is optional."""
    found = _values(schema)
    return st.none() | found if schema.optional else found


def _values(schema: Schema) -> st.SearchStrategy[Any]:
    match schema.name:
        case Date.LOGICAL_NAME:
            return LOGICAL["date"]
        case Time.LOGICAL_NAME:
            return LOGICAL["time"]
        case Timestamp.LOGICAL_NAME:
            return LOGICAL["timestamp"]
        case Decimal.LOGICAL_NAME:
            scale = Decimal.scale(schema)
            return st.integers(-(10**20), 10**20).map(lambda unscaled: PythonDecimal(unscaled).scaleb(-scale))
    symbols = Enum.symbols(schema)
    if symbols:
        return st.sampled_from(list(symbols))
    if schema.type is Type.ARRAY:
        return st.lists(values(schema.values), max_size=3)
    if schema.type is Type.MAP:
        return st.dictionaries(values(schema.keys), values(schema.values), max_size=3)
    if schema.type is Type.STRUCT:
        return structs(schema)
    return PRIMITIVES[schema.type]


@st.composite
def structs(draw: st.DrawFn, schema: Schema) -> Struct:
    """A valid struct: fields that are optional or have a default may be unset."""
    made = Struct(schema)
    for name, _, kind in schema.fields or ():
        if (kind.optional or kind.default is not None) and draw(st.booleans()):
            continue
        value = draw(values(kind.replaced(optional=False)))
        made.put(name, value)
    return made


def data(**options: Any) -> st.SearchStrategy[tuple[Schema, Any]]:
    """A schema as :func:`schemas` with a value of it."""
    return schemas(**options).flatmap(lambda schema: st.tuples(st.just(schema), values(schema)))


def filled(schema: Schema, value: Any, *, nulls: bool = False) -> Any:
    """The value with defaults in place of None and of fields that are not set, as converters write it.

    With ``nulls``, None stays None but in fields, as in Avro.
    """
    if value is None:
        return None if nulls or schema.default is None else filled(schema, schema.default)
    if schema.type is Type.ARRAY:
        return [filled(schema.values, each, nulls=nulls) for each in value]
    if schema.type is Type.MAP:
        return {key: filled(schema.values, each, nulls=nulls) for key, each in value.items()}
    if schema.type is not Type.STRUCT:
        return value
    fields = {name: filled(kind, value[name], nulls=nulls) for name, _, kind in schema.fields or ()}
    found = {name: each for name, each in fields.items() if each is not None}
    return Struct.of_checked(filled_schema(schema.replaced(default=None), nulls=nulls), found)


def filled_schema(schema: Schema, *, nulls: bool = False) -> Schema:
    """The schema with its defaults filled in, at all depths."""
    changes: dict[str, Any] = {
        name: filled_schema(kind, nulls=nulls)
        for name in ("key_schema", "value_schema")
        if (kind := getattr(schema, name)) is not None
    }
    if schema.fields is not None:
        fields = ((name, at, filled_schema(kind, nulls=nulls)) for name, at, kind in schema.fields)
        changes["fields"] = tuple(map(Field._make, fields))
    return schema.replaced(default=filled(schema, schema.default, nulls=nulls), **changes)


_NUMBERS = [Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64]


@st.composite
def changed(draw: st.DrawFn, schema: Schema) -> Schema:
    """A schema that another version of ``schema`` may have: often compatible with it, not always.

    Numbers have another width; fields are added, removed and in another order; what may be null, defaults, versions and
    docs differ. A default that is a struct is left out where anything inside has changed.
    """
    change = draw(st.sampled_from(["nothing", "width", "width", "optional", "default", "version", "doc", "name"]))
    made = _with_changed_parts(draw, schema)
    if change == "width" and schema.type in _NUMBERS:
        made = made.replaced(type=draw(st.sampled_from(_NUMBERS)), default=None)
    elif change == "optional":
        made = made.replaced(optional=draw(st.booleans()))
    elif change == "default" and schema.type.is_primitive:
        made = made.replaced(default=draw(values(made.replaced(optional=False))))
    elif change == "version" and made.name not in (Date.LOGICAL_NAME, Time.LOGICAL_NAME, Timestamp.LOGICAL_NAME):
        made = made.replaced(version=draw(st.integers(1, 9)))
    elif change == "doc":
        made = made.replaced(doc="another")
    elif change == "name" and schema.type is Type.STRUCT and draw(st.integers(0, 3)) == 0:
        made = made.replaced(name="another", default=None)
    return made


def _with_changed_parts(draw: st.DrawFn, schema: Schema) -> Schema:
    parts: dict[str, Any] = {
        name: draw(changed(kind))
        for name in ("key_schema", "value_schema")
        if (kind := getattr(schema, name)) is not None
    }
    if schema.fields is not None:
        kept = [(name, draw(changed(kind))) for name, _, kind in schema.fields if draw(st.integers(0, 9))]
        if draw(st.booleans()):
            kept.append(("added", draw(schemas(depth=1))))
        shuffled = draw(st.permutations(kept))
        parts["fields"] = tuple(Field(name, at, kind) for at, (name, kind) in enumerate(shuffled))
    same = all(getattr(schema, name) == part for name, part in parts.items())
    return schema if same else schema.replaced(**parts, default=None)


def _edges() -> dict[str, tuple[Schema, list[Any]]]:
    """A required schema of each type, with values at its edges."""
    inner = SchemaBuilder.struct("n.Inner").field("x", Schema(Type.INT32)).field("y", Schema(Type.STRING, True)).build()
    ints = {kind: [0, 7, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1] for kind, bits in zip(_NUMBERS, (8, 16, 32, 64))}  # noqa: B905 - FLOAT32 and FLOAT64 come after them
    plain = {
        **ints,
        Type.FLOAT32: [0.0, -0.0, 1.0, 3.4028234663852886e38, 1.401298464324817e-45],
        Type.FLOAT64: [0.0, -0.0, 1.0, 1.7976931348623157e308, 5e-324],
        Type.BOOLEAN: [True, False],
        Type.STRING: ["", "a", "\0", "\U0001f600", '"\\', "null"],
        Type.BYTES: [b"", b"\0\xff", b"abc"],
    }
    return {kind.value: (Schema(kind), edges) for kind, edges in plain.items()} | {
        "Date": (Date.schema(), [dt.date(1970, 1, 1), dt.date.min, dt.date.max, -(2**31), 2**31 - 1]),
        "Time": (Time.schema(), [dt.time(0), dt.time(23, 59, 59, 999000), 86_400_000]),
        "Timestamp": (
            Timestamp.schema(),
            [
                dt.datetime(1969, 12, 31, 23, 59, 59, 999000, dt.UTC),
                dt.datetime(1, 1, 1, tzinfo=dt.UTC),
                -(2**63),
                2**63 - 1,
            ],
        ),
        "Decimal": (Decimal.schema(2), [PythonDecimal("0.00"), PythonDecimal("-0.01"), PythonDecimal(f"{10**19}.00")]),
        "Decimal of a negative scale": (Decimal.schema(-3), [PythonDecimal("1E+3"), PythonDecimal("-5E+3")]),
        "Enum": (Enum.schema("n.E", ["A", "B"]), ["A", "B"]),
        "array": (SchemaBuilder.array(Schema(Type.INT64)).build(), [[], [1, -(2**63)]]),
        "map": (SchemaBuilder.map(Schema(Type.STRING), Schema(Type.INT8)).build(), [{}, {"a": 1}]),
        "map with int keys": (SchemaBuilder.map(Schema(Type.INT32), Schema(Type.STRING)).build(), [{}, {-5: "b"}]),
        "struct": (inner, [Struct(inner, x=1), Struct(inner, x=1, y="q")]),
    }


EDGES = _edges()


def pairs(name: str) -> Iterator[tuple[Schema, Struct]]:
    """Every pair of ``optional`` and a default, or none, for the type ``name`` of :data:`EDGES`.

    Each is the schema of a field, of the items of a list and of the values of a map. These have all of the values, and
    the field each of them in turn; it is also not set where that is allowed.
    """
    base, edges = EDGES[name]
    for optional in (False, True):
        for default in (None, *edges):
            kind = base.replaced(optional=optional, default=default)
            builder = SchemaBuilder.struct("n.R").field("f", kind).field("items", Schema(Type.ARRAY, value_schema=kind))
            schema = builder.field("map", SchemaBuilder.map(Schema(Type.STRING), kind)).build()
            values = [*edges, None] if optional else edges
            rest = {"items": values, "map": {str(at): value for at, value in enumerate(values)}}
            for value in (*edges, *([None] if optional or default is not None else [])):
                yield schema, Struct(schema, f=value, **rest)
