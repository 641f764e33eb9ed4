"""The tables of arrow_avro.py: one of the usual shapes, and one of those of events and of readers' schemas."""

from __future__ import annotations

from collections.abc import Iterator

from arrow_avro_jobs import OPERATIONS, OURS, PEER
from harness import Results, table
from shapes import SHAPES


def speed(cells: Results) -> str:
    titles = list(dict.fromkeys(column for _, column, _ in cells))
    usual = [shape.title for shape in SHAPES]
    parts = [[title for title in titles if (title in usual) == first] for first in (True, False)]
    return "\n\n".join(table(list(lines(cells, part)), padded=False) for part in parts if part)


def lines(cells: Results, titles: list[str]) -> Iterator[list[str]]:
    yield ["ns per row", *titles]
    for name in sorted({name for name, column, _ in cells if column in titles}, key=place):
        yield [name, *(told(cells, name, title) for title in titles)]


def place(name: str) -> tuple[int, int]:
    """Order operations as above, then by rows; those of new processes come last."""
    operation, _, rows = name.removesuffix(" rows").rpartition(", ")
    return OPERATIONS.index(operation) if operation in OPERATIONS else len(OPERATIONS), int(rows.replace(",", ""))


def told(cells: Results, name: str, column: str) -> str:
    times = cells.times((name, column, PEER), (name, column, OURS))
    if times is None:
        return "-"
    return f"**{cells[name, column, OURS].ns:,.0f}** : {cells[name, column, PEER].ns:,.0f} ({times:.2f}x)"
