"""Arrow columns: the cost of a batch compared with fastavro and pyruhvro, and the gain from a second thread.

    python benchmarks/arrow.py                  table and goals
    python benchmarks/arrow.py --write-docs     also write the table in docs/arrow-performance.md

Uses bare Avro data of each shape, in batches of 10,000 rows. Every library's columns are compared with ours before it
is timed. Rounds are interleaved in shuffled order. The clock is the processor time of all threads. Ratios are medians
over the rounds. Then, with a registry: some of ten columns by `deserialize_batch`, and a call for an empty batch.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from statistics import median

import pyarrow as pa
from arrow_peers import OURS, PEERS, ROWS, job, jobs_of
from harness import DOCS, Goal, Job, Results, judged, machine, measure, options, table, write_docs
from shapes import BY_NAME, FLAT, SHAPES, Source

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

THREADED_ROWS = 400_000
# Least ratio to our time; pyruhvro has the goal AHEAD for every shape that it supports.
GOALS = {("decode", "flat", "fastavro"): 50.0, ("decode", "nested", "fastavro"): 15.0}
AHEAD, THREADS_GOAL = 1.0, 1.6
CORES_THERE = 1.8  # a second core is free if two hashing threads do at least this many times the work of one
NOISE = bytes(1 << 20)
# Some of the ten fields; the goal is of the first of them: an id and a measure.
FEW, FEW_GOAL = (("id", "price"), ("id", "at"), ("at", "referrer"), ("user", "count")), 1.8
EMPTY, EMPTY_CALLS, ALL = "an empty batch", 1_000, "all ten columns"


def threads_ratio(rounds: int) -> float | None:
    """How many times the work of one thread two threads do on one codec in the same time.

    Only rounds in which a second core was free count; hashing in two threads shows that. None if no round counts.
    """
    shape = BY_NAME["flat"]
    codec, columns, ratios = Codec(shape.schema), ColumnCodec(shape.schema), []
    data = pa.array([codec.encode(record) for record in shape.records] * (THREADED_ROWS // len(shape.records)))
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            there = side_by_side(pool, lambda: [sha256(NOISE).digest() for _ in range(20)])
            ratio = side_by_side(pool, lambda: columns.decode(data))
            ratios += [ratio] if there >= CORES_THERE else []
    return median(ratios) if ratios else None


def side_by_side(pool: ThreadPoolExecutor, work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    for _ in range(2):
        work()
    middle = time.perf_counter()
    for done in [pool.submit(work), pool.submit(work)]:
        done.result()
    return (middle - begin) / (time.perf_counter() - middle)


def few_columns(rounds: int) -> Results:
    """Some columns of ten, all of them, and an empty batch. All messages differ, since the processor would learn 16."""
    source, jobs, whole = Source(0), list[Job](), None
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        serializer = KafkaAvroSerializer(conf, FLAT)
        data = pa.array([serializer.serialize("flat", source.a_record(FLAT)) for _ in range(ROWS)])
        nothing = data.slice(0, 0)
        for some in (tuple(field["name"] for field in FLAT["fields"]), *FEW):
            fields = [field for field in FLAT["fields"] if field["name"] in some]
            read = KafkaAvroDeserializer(conf, {**FLAT, "fields": fields}).deserialize_batch
            batch = read("flat", data)
            whole = whole or batch
            assert batch.equals(whole.select(batch.schema.names)), some
            name = " and ".join(some) if len(some) == 2 else ALL
            jobs.append(job("read", "flat", name, lambda read=read: read("flat", data)))  # type: ignore[misc]
        calls = range(EMPTY_CALLS)
        jobs.append(job("read", "flat", EMPTY, lambda: [read("flat", nothing) for _ in calls], EMPTY_CALLS))
        return measure(jobs, rounds)


def told(cells: Results, operation: str, shape: str, peer: str) -> str:
    times = cells.times((operation, shape, peer), (operation, shape, OURS))
    return "-" if times is None else f"{cells[operation, shape, peer].ns:,.0f} ({times:.1f}x)"


def speed(cells: Results) -> str:
    rows = [["ns per row", *(shape.title for shape in SHAPES)]]
    for operation in ("decode", "encode"):
        rows.append([f"**{operation}**", *(f"**{cells[operation, shape.name, OURS].ns:,.0f}**" for shape in SHAPES)])
        rows += [[peer, *(told(cells, operation, shape.name, peer) for shape in SHAPES)] for peer in PEERS]
    return table(rows, padded=False)


def goals(cells: Results, few: dict[str, float], threads: float | None) -> Iterator[Goal]:
    wanted = GOALS | {key: AHEAD for key in cells if key[2] == "pyruhvro"}
    for (operation, shape, peer), goal in wanted.items():
        times = cells.times((operation, shape, peer), (operation, shape, OURS))
        yield Goal(f"{operation} {shape} >= {goal:g}x {peer}", times, goal)
    name, times = next(iter(few.items()))
    yield Goal(f"{name} >= {FEW_GOAL:g}x {ALL}", times, FEW_GOAL)
    if threads is not None:
        yield Goal(f"two threads >= {THREADS_GOAL:g}x one", threads, THREADS_GOAL)


def main() -> int:
    given = options(__doc__, 21, "--write-docs").parse_args()
    cells = measure((job for shape in SHAPES for job in jobs_of(shape)), given.rounds, grouped=False)
    read = few_columns(given.rounds)
    few = {name: read.times(("read", "flat", ALL), ("read", "flat", name)) or 0.0 for name in map(" and ".join, FEW)}
    threads = threads_ratio(given.rounds)
    where = machine("pyarrow", "fastavro", "pyruhvro")
    print(speed(cells), "", where, "", sep="\n")
    status = judged(goals(cells, few, threads))
    side = "not measured, no second core was free" if threads is None else f"{threads:.2f} times the work of one"
    some = ", ".join(f"{name} {times:.2f} times" for name, times in few.items())
    others = (
        f"Of the 10 fields, a reader's schema with two of them is read faster than all: {some} as fast, with "
        f"`deserialize_batch` and messages that all differ. A call for an empty batch takes "
        f"{read['read', 'flat', EMPTY].ns / 1000:.1f} us."
    )
    print(f"two threads: {side}", others, sep="\n")
    if given.write_docs:
        text = f"{speed(cells)}\n\nTwo threads on one codec: {side}. {others} {where}."
        write_docs(DOCS / "arrow-performance.md", text)
    return status


if __name__ == "__main__":
    sys.exit(main())
