"""Arrow columns: the cost of a batch compared with fastavro and pyruhvro, and the gain from a second thread.

    python benchmarks/arrow.py                  table and goals
    python benchmarks/arrow.py --write-docs     also write the table in docs/arrow.md

Uses bare Avro data of each shape, in batches of 10,000 rows. Every library's columns are compared with ours before it
is timed. Rounds are interleaved in shuffled order. The clock is the processor time of all threads. Ratios are medians
over the rounds. Then, with a registry: some of ten columns by `deserialize_batch`, and a call for an empty batch.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from statistics import median
from typing import Any

import fastavro
import pyarrow as pa
from pages import DOCS, write_docs
from shapes import KINDS, SHAPES, Shape, Source

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

ROWS = 10_000
SLOW_ROWS = 500  # for libraries that are some fifty times slower
THREADED_ROWS = 400_000
PEERS = ("fastavro", "pyruhvro")
# (operation, shape, peer) -> least ratio to our time. pyruhvro has the goal AHEAD for every shape that it supports.
GOALS = {("decode", "flat", "fastavro"): 50.0, ("decode", "nested", "fastavro"): 15.0}
AHEAD, THREADS_GOAL = 1.0, 1.6
CORES_THERE = 1.8  # a second core is free if two hashing threads do at least this many times the work of one
NOISE = bytes(1 << 20)
# Some of the ten fields; the goal is of the first of them: an id and a measure.
FEW: tuple[tuple[str, ...], ...] = (("id", "price"), ("id", "at"), ("at", "referrer"), ("user", "count"))
FEW_GOAL, EMPTY_CALLS = 1.8, 1_000


@dataclass
class Cell:
    """One library's operation on one shape. ``rounds`` has the nanoseconds per row of each round."""

    work: Callable[[], Any]
    rows: int
    rounds: list[float] = field(default_factory=list)

    def time(self) -> None:
        begin = time.process_time()
        self.work()
        self.rounds.append((time.process_time() - begin) / self.rows * 1e9)


def cells_of(shape: Shape) -> Iterator[tuple[str, str, Cell]]:
    """Yield (operation, library, cell) for each library that handles this shape correctly."""
    codec, columns = Codec(shape.schema), ColumnCodec(shape.schema)
    # Each message is a separate bytes object, as in reality: a repeated object would stay in the processor's caches.
    bodies = [codec.encode(record) for _ in range(ROWS // len(shape.records)) for record in shape.records]
    data = pa.array(bodies)
    batch = columns.decode(data)
    assert columns.encode(batch) == data
    yield "decode", "ours", Cell(lambda: columns.decode(data), ROWS)
    yield "encode", "ours", Cell(lambda: columns.encode(batch), ROWS)
    few, rows = bodies[:SLOW_ROWS], batch.slice(0, SLOW_ROWS)
    parsed = fastavro.parse_schema(shape.schema)
    yield "decode", "fastavro", Cell(lambda: fastavro_decode(few, parsed), SLOW_ROWS)
    if shape.name != "nested":  # pyarrow turns a map into a list of pairs, which fastavro refuses
        assert fastavro_encode(rows, parsed).to_pylist() == few
        yield "encode", "fastavro", Cell(lambda: fastavro_encode(rows, parsed), SLOW_ROWS)
    yield from pyruhvro_cells(shape, bodies, batch)


def fastavro_decode(bodies: list[bytes], schema: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([fastavro.schemaless_reader(io.BytesIO(body), schema) for body in bodies])


def fastavro_encode(batch: pa.RecordBatch, schema: Any) -> pa.Array:
    out = []
    for row in batch.to_pylist():
        file = io.BytesIO()
        fastavro.schemaless_writer(file, schema, row)
        out.append(file.getvalue())
    return pa.array(out)


def pyruhvro_cells(shape: Shape, bodies: list[bytes], ours: pa.RecordBatch) -> Iterator[tuple[str, str, Cell]]:
    import pyruhvro

    try:
        with panics_unseen():
            batch = pyruhvro.deserialize_array(bodies, shape.text)
            written = pyruhvro.serialize_record_batch(batch, shape.text, 1)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # raised by Rust; not an Exception
            raise
        return
    assert [pa.array(part).to_pylist() for part in written] == [bodies]
    assert plain(batch) == plain(ours), shape.name
    yield "decode", "pyruhvro", Cell(lambda: pyruhvro.deserialize_array(bodies, shape.text), ROWS)
    yield "encode", "pyruhvro", Cell(lambda: pyruhvro.serialize_record_batch(batch, shape.text, 1), ROWS)


def plain(batch: Any) -> list[Any]:
    """The values of a batch, with all timestamps in microseconds."""
    columns = [pa.array(column) for column in pa.record_batch(batch).columns]
    return [
        column.cast(pa.timestamp("us")).to_pylist() if pa.types.is_timestamp(column.type) else column.to_pylist()
        for column in columns
    ]


@contextmanager
def panics_unseen() -> Iterator[None]:
    """Silence stderr: Rust prints its panics there even if they are caught."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def threads_ratio(rounds: int) -> float | None:
    """How many times the work of one thread two threads do on one codec in the same time.

    Only rounds in which a second core was free count; hashing in two threads shows that. None if no round counts.
    """
    shape = next(shape for shape in SHAPES if shape.name == "flat")
    codec, columns = Codec(shape.schema), ColumnCodec(shape.schema)
    data = pa.array([codec.encode(record) for record in shape.records] * (THREADED_ROWS // len(shape.records)))
    ratios = []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            there = side_by_side(pool, lambda: [sha256(NOISE).digest() for _ in range(20)])
            ratio = side_by_side(pool, lambda: columns.decode(data))
            if there >= CORES_THERE:
                ratios.append(ratio)
    return median(ratios) if ratios else None


def side_by_side(pool: ThreadPoolExecutor, work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    for _ in range(2):
        work()
    middle = time.perf_counter()
    for done in [pool.submit(work), pool.submit(work)]:
        done.result()
    return (middle - begin) / (time.perf_counter() - middle)


def few_columns(rounds: int) -> tuple[dict[tuple[str, ...], float], float]:
    """How many times as fast some columns of ten are read as all of them; and microseconds of an empty batch's call.

    All messages differ, since the processor would learn 16 of them.
    """
    shape, source = next(shape for shape in SHAPES if shape.name == "flat"), Source(0)
    names = tuple(field["name"] for field in shape.schema["fields"])
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        serializer = KafkaAvroSerializer(conf, shape.schema)
        data = pa.array([serializer.serialize("flat", flat_record(source)) for _ in range(ROWS)])
        cells, whole = {}, None
        for some in (names, *FEW):
            fields = [field for field in shape.schema["fields"] if field["name"] in some]
            deserializer = KafkaAvroDeserializer(conf, {**shape.schema, "fields": fields})
            batch = deserializer.deserialize_batch("flat", data)
            whole = whole or batch
            assert batch.equals(whole.select(batch.schema.names)), some
            cells[some] = Cell(lambda read=deserializer: read.deserialize_batch("flat", data), ROWS)  # type: ignore[misc]
        nothing = data.slice(0, 0)
        empty = Cell(lambda: [deserializer.deserialize_batch("flat", nothing) for _ in range(EMPTY_CALLS)], EMPTY_CALLS)
        order = random.Random(0)
        for _ in range(rounds):
            for cell in order.sample([*cells.values(), empty], len(cells) + 1):
                cell.time()
    ratios = {some: median(a / b for a, b in zip(cells[names].rounds, cells[some].rounds, strict=True)) for some in FEW}
    return ratios, median(empty.rounds) / 1000


def flat_record(source: Source) -> dict[str, Any]:
    return {
        "id": source.a_long(), "user": source.a_string(), "url": source.a_string(), "kind": source.choice(KINDS),
        "price": source.a_double(), "ratio": source.a_float(), "count": source.a_int(), "active": source.a_boolean(),
        "at": source.a_timestamp(), "referrer": source.nullable(source.a_string),
    }  # fmt: skip


def measure(rounds: int) -> dict[tuple[str, str, str], Cell]:
    """Time all cells; the keys are (operation, shape, library)."""
    cells = {(operation, shape.name, name): cell for shape in SHAPES for operation, name, cell in cells_of(shape)}
    order = random.Random(0)
    for _ in range(rounds):
        for key in order.sample(list(cells), len(cells)):
            cells[key].time()
    return cells


def ratio(cells: dict[tuple[str, str, str], Cell], operation: str, shape: str, peer: str) -> float | None:
    """Ratio of the peer's time to ours; None if the peer does not support the shape."""
    if (operation, shape, peer) not in cells:
        return None
    pairs = zip(cells[operation, shape, peer].rounds, cells[operation, shape, "ours"].rounds, strict=True)
    return median(theirs / ours for theirs, ours in pairs)


def table(cells: dict[tuple[str, str, str], Cell]) -> str:
    lines = ["| ns per row | " + " | ".join(shape.title for shape in SHAPES) + " |", "|---|" + "---:|" * len(SHAPES)]
    for operation in ("decode", "encode"):
        own = [f"**{median(cells[operation, shape.name, 'ours'].rounds):,.0f}**" for shape in SHAPES]
        lines.append(f"| **{operation}** | " + " | ".join(own) + " |")
        for peer in PEERS:
            shown = [told(cells, operation, shape.name, peer) for shape in SHAPES]
            lines.append(f"| {peer} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def told(cells: dict[tuple[str, str, str], Cell], operation: str, shape: str, peer: str) -> str:
    times = ratio(cells, operation, shape, peer)
    if times is None:
        return "-"
    return f"{median(cells[operation, shape, peer].rounds):,.0f} ({times:.1f}x)"


def goals(
    cells: dict[tuple[str, str, str], Cell], few: dict[tuple[str, ...], float], threads: float | None
) -> list[tuple[str, float, float]]:
    """Return (goal, reached, wanted) for each goal."""
    found = [(f"{o} {s} against {p}", ratio(cells, o, s, p) or 0.0, goal) for (o, s, p), goal in GOALS.items()]
    ruhvro = [key for key in cells if key[2] == "pyruhvro"]
    found += [(f"{o} {s} against {p}", ratio(cells, o, s, p) or 0.0, AHEAD) for o, s, p in ruhvro]
    found.append((f"{' and '.join(FEW[0])} against all ten columns", few[FEW[0]], FEW_GOAL))
    return found if threads is None else [*found, ("two threads against one", threads, THREADS_GOAL)]


def machine() -> str:
    names = ("pyarrow", "fastavro", "pyruhvro")
    libraries = ", ".join(f"{name} {version(name)}" for name in names)
    return f"CPython {platform.python_version()}, {os.cpu_count()} cores; {libraries}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--write-docs", action="store_true")
    given = parser.parse_args()
    cells = measure(given.rounds)
    few, empty = few_columns(given.rounds)
    threads = threads_ratio(given.rounds)
    print(table(cells), "", machine(), "", sep="\n")
    reached = goals(cells, few, threads)
    for what, got, wanted in reached:
        print(f"{'ok    ' if got >= wanted else 'MISSED'} {what}: {got:.2f}x, wanted {wanted:g}x")
    side = "not measured, no second core was free" if threads is None else f"{threads:.2f} times the work of one"
    some = ", ".join(f"{' and '.join(names)} {times:.2f} times" for names, times in few.items())
    others = (
        f"Of the 10 fields, a reader's schema with two of them is read faster than all: {some} as fast, with "
        f"`deserialize_batch` and messages that all differ. A call for an empty batch takes {empty:.1f} us."
    )
    print(f"two threads: {side}", others, sep="\n")
    if given.write_docs:
        text = f"{table(cells)}\n\nTwo threads on one codec: {side}. {others} {machine()}."
        write_docs(DOCS / "arrow.md", text)
    return 0 if all(got >= wanted for _, got, wanted in reached) else 1


if __name__ == "__main__":
    sys.exit(main())
