"""The shapes that columns are measured with besides those of rows, and thousands of different records of any shape.

With few records a processor learns what comes next, and foresees every branch.
"""

from __future__ import annotations

from functools import cache
from itertools import repeat
from typing import Any

from shapes import ITEM, PRICE, SHAPES, TEXT, TIMESTAMP, WIDE, Schema, Shape, Source, array, evolved, logical, record

DIFFERENT = 5_000  # records; fewer than 2,048 could still be learnt
EVENTS, RUN, TEXTS = 12, 50, 1 << 20
CENTS, UUID = logical("bytes", "decimal", precision=18, scale=4), logical("string", "uuid")
KINDS = ("long", "string", "double", "boolean")


class Cut(Source):
    """Long texts are cut from one, since to draw each character would take minutes."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.texts = super().a_string(TEXTS, TEXTS)

    def a_string(self, least: int = 10_240, most: int = 10_240) -> str:
        begin, size = self.randrange(TEXTS - most), self.randint(least, most)
        return self.texts[begin : begin + size]


class One(Source):
    """Events: one of the fields of the outer record is set; a union of records has any of them."""

    def of(self, kind: Any) -> Any:
        if not isinstance(kind, list):
            return super().of(kind)
        others = [branch for branch in kind if branch != "null"]
        return super().of(self.choice(others))

    def a_record(self, kind: Schema) -> dict[str, Any]:
        if kind["name"] != "Sparse":
            return super().a_record(kind)
        names = [field["name"] for field in kind["fields"]]
        chosen = self.choice(kind["fields"])
        return {**dict.fromkeys(names), chosen["name"]: self.of(chosen["type"])}


class Runs(Source):
    """Each field is null, or is not, for ``RUN`` records on average."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.null: dict[str, bool] = {}

    def a_record(self, kind: Schema) -> dict[str, Any]:
        return {field["name"]: self.next(field["name"], field["type"][1]) for field in kind["fields"]}

    def next(self, name: str, kind: Any) -> Any:
        self.null[name] = self.null.get(name, False) ^ (self.random() < 1 / RUN)
        return None if self.null[name] else self.of(kind)


class Uneven(Source):
    """Texts of 0 to some hundred characters, most of them short; lists and maps of 0 to 10 items."""

    def a_string(self, least: int = 0, most: int = 300) -> str:
        size = max(least, min(most, int(self.expovariate(1 / 30))))
        return super().a_string(size, size)

    def a_array(self, kind: Schema) -> list[Any]:
        return [self.of(kind["items"]) for _ in range(self.randrange(11))]

    def a_map(self, kind: Schema) -> dict[str, Any]:
        return {f"key-{number}": self.of(kind["values"]) for number in range(self.randrange(11))}


def fields(prefix: str, kind: Any, count: int) -> dict[str, Any]:
    return dict(zip((f"{prefix}_{number:02}" for number in range(count)), repeat(kind, count), strict=True))


def event(number: int) -> Schema:
    return record(f"Event{number}", **{f"{kind}_{number}": kind for kind in KINDS})


NUMBERS = range(EVENTS)
SPARSE = record("Sparse", **{f"event_{number:02}": ["null", event(number)] for number in NUMBERS})
UNION = record("Envelope", id="long", event=[event(number) for number in NUMBERS])
NULLS = record("Nulls", **{f"field_{number:02}": ["null", KINDS[number % 4]] for number in range(100)})
LISTS = record("Basket", id="long", items=array(ITEM), pages=array("long"))
MAPS = record("Labels", id="long", labels={"type": "map", "values": "string"}, sizes={"type": "map", "values": "long"})
DECIMALS = record("Invoice", id="long", **fields("price", PRICE, 4), **fields("cents", CENTS, 4))
UUIDS = record("Link", id=UUID, parent=["null", UUID], tenant=UUID)
TIMES = record("Log", at=TIMESTAMP, seen=["null", TIMESTAMP], **fields("text", "string", 3), note=["null", "string"])
FEW = record("Wide", **{field["name"]: field["type"] for field in WIDE["fields"] if field["name"][-2:] in "02 51 80"})
# Name, title, schema, records.
ROWS = (
    ("sparse", "1 of 12 records", SPARSE, One),
    ("union", "union of 12 records", UNION, One),
    ("runs", "100 fields, runs of null", NULLS, Runs),
    ("lists", "lists of records", LISTS, Uneven),
    ("maps", "maps", MAPS, Uneven),
    ("decimals", "decimals", DECIMALS, Source),
    ("uuids", "uuids", UUIDS, Source),
    ("times", "times, uneven texts", TIMES, Uneven),
)
SOURCES: dict[str, type[Source]] = {name: source for name, _, _, source in ROWS} | {"text": Cut}
COLUMN_SHAPES = (*SHAPES, *(Shape(name, title, schema, evolved(schema), ()) for name, title, schema, _ in ROWS))
COLUMNS_BY_NAME = {each.name: each for each in COLUMN_SHAPES}


@cache
def different(name: str) -> tuple[dict[str, Any], ...]:
    """``DIFFERENT`` records of the shape of this name; a tenth of the long texts, which would fill the memory."""
    shape, source = COLUMNS_BY_NAME[name], SOURCES.get(name, Source)(42)
    return tuple(source.a_record(shape.schema) for _ in range(DIFFERENT if shape.schema is not TEXT else 500))
