"""Hypothesis strategies for classes: random dataclasses and named tuples, and instances of them."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, Union

from avro_strategies import DOUBLES, FLOATS, PRIMITIVES, TEXT, zoned
from hypothesis import strategies as st

from streamnative_serdes.models import AvroField, DecimalMeta, Float32, Int32

_LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (bool, st.booleans()),
    (int, PRIMITIVES["long"]),
    (Int32, PRIMITIVES["int"]),
    (float, DOUBLES),
    (Float32, FLOATS),
    (str, TEXT),
    (bytes, st.binary(max_size=20)),
    (datetime.datetime, st.datetimes().map(zoned)),
    (datetime.date, st.dates()),
    (datetime.time, st.times()),
    (uuid.UUID, st.uuids()),
    (Annotated[Decimal, DecimalMeta(9, 3)], st.integers(1 - 10**9, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-3))),
]
_APART: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Union[int, str], st.one_of(PRIMITIVES["long"], TEXT)),
    (Union[bytes, bool, list[str]], st.one_of(st.binary(), st.booleans(), st.lists(TEXT, max_size=3))),
    (Union[datetime.date, float], st.one_of(st.dates(), DOUBLES)),
]


@dataclass
class Kind:
    """A type hint, and a strategy of its values."""

    hint: Any
    values: st.SearchStrategy[Any]


class _Maker:
    """Draws the classes of one schema: each has a unique name, and may be used several times."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.made: list[Kind] = []

    def kind(self, depth: int) -> Kind:
        ways = [self.leaf, self.leaf, self.apart, self.enum, self.again]
        if depth > 0:
            ways += [self.items, self.table, self.maybe, self.record, self.either]
        return self.draw(st.sampled_from(ways))(depth)  # type: ignore[no-any-return]

    def leaf(self, _depth: int) -> Kind:
        return Kind(*self.draw(st.sampled_from(_LEAVES)))

    def apart(self, _depth: int) -> Kind:
        return Kind(*self.draw(st.sampled_from(_APART)))

    def enum(self, _depth: int) -> Kind:
        names = self.draw(st.lists(st.sampled_from("ABCDEF"), min_size=1, max_size=4, unique=True))
        cls = enum.Enum(f"Enum{len(self.made)}", {name: at for at, name in enumerate(names)})  # type: ignore[misc]
        return self._keep(Kind(cls, st.sampled_from([*cls])))

    def again(self, depth: int) -> Kind:
        return self.draw(st.sampled_from(self.made)) if self.made else self.leaf(depth)

    def items(self, depth: int) -> Kind:
        item = self.kind(depth - 1)
        return Kind(list[item.hint], st.lists(item.values, max_size=3))  # type: ignore[name-defined]

    def table(self, depth: int) -> Kind:
        value = self.kind(depth - 1)
        return Kind(dict[str, value.hint], st.dictionaries(TEXT, value.values, max_size=3))  # type: ignore[name-defined]

    def maybe(self, depth: int) -> Kind:
        kind = self.kind(depth - 1)
        return Kind(Union[kind.hint, None], st.none() | kind.values)

    def either(self, depth: int) -> Kind:
        first, second = self.record(depth), self.record(depth)
        return Kind(Union[first.hint, second.hint], first.values | second.values)

    def record(self, depth: int) -> Kind:
        count = self.draw(st.integers(0, 4))
        kinds = {f"f{at}": self.kind(depth - 1) for at in range(count)}
        name = f"Class{len(self.made)}"
        cls = self._class(name, {field: self._named(field, kind.hint) for field, kind in kinds.items()})
        values = st.fixed_dictionaries({field: kind.values for field, kind in kinds.items()})
        return self._keep(Kind(cls, values.map(lambda given: cls(**given))))

    def _named(self, field: str, hint: Any) -> Any:
        return Annotated[hint, AvroField(name=f"Field_{field}")] if self.draw(st.booleans()) else hint

    def _class(self, name: str, hints: Mapping[str, Any]) -> Any:
        way = self.draw(st.sampled_from(["tuple", "slots", "frozen", "dict", "checked"]))
        if way == "tuple":
            return NamedTuple(name, [*hints.items()])  # type: ignore[misc]
        body = {"__post_init__": lambda self: None} if way == "checked" else {}
        return dataclasses.make_dataclass(
            name, [*hints.items()], namespace=body, slots=way in ("slots", "frozen"), frozen=way == "frozen"
        )

    def _keep(self, kind: Kind) -> Kind:
        self.made.append(kind)
        return kind


@st.composite
def class_and_object(draw: Any) -> tuple[type, Any]:
    """Draw a class with a schema, and an object of it."""
    made = _Maker(draw).record(3)
    return made.hint, draw(made.values)


def as_data(value: Any) -> Any:
    """Convert an object to the dicts, lists and symbols that the codec accepts without the class."""
    if isinstance(value, enum.Enum):
        return value.name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints = {field.name: field.type for field in dataclasses.fields(value)}
        return _record({name: getattr(value, name) for name in hints}, hints, type(value).__name__)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _record(value._asdict(), value.__annotations__, type(value).__name__)
    if isinstance(value, list):
        return [as_data(item) for item in value]
    return {key: as_data(item) for key, item in value.items()} if isinstance(value, dict) else value


def _record(values: Mapping[str, Any], hints: Mapping[str, Any], name: str) -> dict[str, Any]:
    data = {_field(field, hints[field]): as_data(value) for field, value in values.items()}
    return {"-type": name, **data}


def _field(name: str, hint: Any) -> str:
    words = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, AvroField)]
    return words[-1].name or name if words else name
