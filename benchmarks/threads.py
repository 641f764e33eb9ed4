"""Two threads against one on a free-threaded Python: the work that they do in the same time.

    PYTHON_GIL=0 python3.14t benchmarks/threads.py                  table and goals
    PYTHON_GIL=0 python3.14t benchmarks/threads.py --write-docs     also write the table in docs/performance.md
    python3.14 benchmarks/threads.py --one                          only one thread against json, with a GIL or not

Both threads use one serializer or deserializer, and each has thousands of different records of 10 fields of its own.
``json`` shows what the interpreter allows: two threads, and what one thread costs without a GIL. Two threads with a
SerDes each, of different schemas, show what sharing costs: nothing of ours is shared there but code.
Threads live as long as the benchmark, as those of consumers do: a new one first makes its replica and gets its memory.
Ratios are medians over the rounds, in each of which jobs take turns.
"""

from __future__ import annotations

import gc
import json
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from statistics import median
from typing import Any, NamedTuple

from harness import DOCS, Goal, judged, machine, options, table, write_docs
from shapes import FLAT, Source

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

RECORDS, PIECE, ROWS = 4_000, 500, 100_000
SECONDS = 0.2  # of one turn
CEILING, WRITING, OBJECTS, COLUMNS = "json.loads", "json.dumps", 1.85, 1.9
MARKER = "<!-- threads -->\n"
Work = Callable[[], int]  # returns the number of messages
Begin = Callable[[], Work]  # called by the thread that works, before the clock starts


class Worker(threading.Thread):
    """Works until the moment that it is told, again and again."""

    def __init__(self, begin: Begin) -> None:
        super().__init__(daemon=True)
        self._begin = begin
        self.until: queue.SimpleQueue[float] = queue.SimpleQueue()
        self.rate: queue.SimpleQueue[float] = queue.SimpleQueue()  # messages per second
        self.start()

    def run(self) -> None:
        work = self._begin()
        while True:
            until = self.until.get()
            messages, began = 0, time.perf_counter()
            while (now := time.perf_counter()) < until:
                messages += work()
            self.rate.put(messages / (now - began))


def rate(workers: list[Worker]) -> float:
    """Messages per second of all of them together."""
    until = time.perf_counter() + SECONDS
    for worker in workers:
        worker.until.put(until)
    return sum(worker.rate.get(timeout=60) for worker in workers)


class Job:
    """The work of two threads: ``shared`` of both with one SerDes, ``apart`` of each with its own."""

    def __init__(self, name: str, shared: list[Begin], apart: list[Begin] | None = None, goal: float | None = None):
        self.name, self.goal = name, goal
        self.shared = list(map(Worker, shared))
        self.apart = list(map(Worker, apart or ()))


def each(owner: Any, method: str, topic: str, items: list[Any]) -> Begin:
    """As a thread would do it that takes the method once: each look-up counts a reference of the shared object.

    Its items are its own: counting references of another thread's objects costs several times as much.
    """

    def begin() -> Work:
        function = getattr(owner, method)
        mine = pickle.loads(pickle.dumps(items))
        pieces = [mine[at : at + PIECE] for at in range(0, RECORDS, PIECE)]
        turns = cycle(pieces)

        def work() -> int:
            for item in next(turns):
                function(topic, item)
            return PIECE

        for _ in pieces:
            work()
        return work

    return begin


def two(owners: list[Any], method: str, topics: tuple[str, str], items: list[list[Any]]) -> list[Begin]:
    return [each(*one) for one in zip(owners, (method, method), topics, items, strict=True)]


class Json:
    def loads(self, _topic: str, text: str) -> object:
        return json.loads(text)

    def dumps(self, _topic: str, value: object) -> str:
        return json.dumps(value)


def jobs(url: str) -> Iterator[Job]:
    # Nothing is asked again: the registry is away then, and a question would disturb the measurement.
    conf = {"schema.registry.url": url, "cache.latest.ttl.sec": 86_400}
    source = Source(1)
    records = [[source.a_record(FLAT) for _ in range(RECORDS)] for _ in range(2)]
    texts = [[json.dumps(record, default=str) for record in some] for some in records]
    values = [[json.loads(text) for text in some] for some in texts]
    yield Job(CEILING, two([Json(), Json()], "loads", ("", ""), texts))
    yield Job(WRITING, two([Json(), Json()], "dumps", ("", ""), values))
    writers = [KafkaAvroSerializer(conf, {**FLAT, "name": f"Flat{number}"}) for number in range(2)]
    readers = [KafkaAvroDeserializer(conf) for _ in range(2)]
    own = "own-0", "own-1"
    serialize = two(writers, "serialize", own, records)
    deserialize = two(readers, "deserialize", own, messages(writers, readers, own, records))
    writer, reader = KafkaAvroSerializer(conf, FLAT), KafkaAvroDeserializer(conf)
    for title, topics in (("each its topic", ("one", "two")), ("one topic", ("one", "one"))):
        data = messages([writer] * 2, [reader] * 2, topics, records)
        yield Job(f"serialize, {title}", two([writer] * 2, "serialize", topics, records), serialize, OBJECTS)
        yield Job(f"deserialize, {title}", two([reader] * 2, "deserialize", topics, data), deserialize, OBJECTS)
    yield columns()


def messages(
    writers: list[KafkaAvroSerializer], readers: list[KafkaAvroDeserializer], topics: tuple[str, str], records: Any
) -> list[list[Any]]:
    data = [
        [writer.serialize(topic, one) for one in some]
        for writer, topic, some in zip(writers, topics, records, strict=True)
    ]
    for reader, topic, some, written in zip(readers, topics, records, data, strict=True):
        assert [reader.deserialize(topic, one) for one in written] == some
    return data


def columns() -> Job:
    import pyarrow as pa

    source, codec = Source(2), Codec(FLAT)
    data = pa.array([codec.encode(source.a_record(FLAT)) for _ in range(ROWS)])

    def decode(read: ColumnCodec) -> Begin:
        def work() -> int:
            read.decode(data)
            return ROWS

        return lambda: work

    shared = ColumnCodec(FLAT)
    apart = [decode(ColumnCodec({**FLAT, "name": name})) for name in ("One", "Two")]
    return Job("columns, decode", [decode(shared)] * 2, apart, COLUMNS)


class Gain(NamedTuple):
    """Messages per second of one thread; the work of two, with one SerDes and with a SerDes each, where one does 1."""

    one: float
    shared: float
    apart: float


def measured(made: list[Job], rounds: int) -> dict[Job, Gain]:
    """Medians over the rounds."""
    found: dict[Job, list[Gain]] = {job: [] for job in made}
    for _ in range(rounds):
        for job in made:
            one = rate(job.shared[:1])
            found[job].append(Gain(one, rate(job.shared) / one, rate(job.apart or job.shared) / one))
    return {job: Gain(*map(median, zip(*some, strict=True))) for job, some in found.items()}


def against_json(made: list[Job], rounds: int) -> dict[str, float]:
    """Time per message of one thread, as a multiple of json.dumps's or json.loads's in the same round; medians."""
    found: dict[str, list[float]] = {job.name: [] for job in made}
    for _ in range(rounds):
        once = {job.name: rate(job.shared[:1]) for job in made}
        for name, messages in once.items():
            found[name].append(once[WRITING if name.startswith("serialize") else CEILING] / messages)
    return {name: median(ratios) for name, ratios in found.items()}


def main() -> int:
    given = options(__doc__, 45, "--write-docs", "--check", "--one").parse_args()
    if not given.one and getattr(sys, "_is_gil_enabled", lambda: True)():
        raise SystemExit("this Python has a GIL, or a module has switched it on; try PYTHON_GIL=0")
    with LocalRegistry() as registry:
        made = list(jobs(registry.url))
    gc.collect()
    gc.freeze()
    gc.disable()  # as in all other benchmarks; a collection stops all threads
    if given.one:
        ratios = against_json(made, given.rounds)
        print(table([["one thread", "times json"], *([name, f"{ratio:.3f}"] for name, ratio in ratios.items())]))
        return 0
    found = measured(made, given.rounds)
    rows = [["10 fields", "ns per message, one thread", "two threads, one SerDes", "two threads, a SerDes each"]]
    rows += [
        [job.name, f"{1e9 / gain.one:,.0f}", f"{gain.shared:.2f}x", f"{gain.apart:.2f}x" if job.apart else ""]
        for job, gain in found.items()
    ]
    where = f"{machine('pyarrow')}, without GIL."
    print(table(rows), "", where, "", sep="\n")
    if given.write_docs:
        write_docs(DOCS / "performance.md", f"{table(rows, padded=False)}\n\n{where}", MARKER)
    goals = [Goal(f"{job.name} >= {job.goal:g}x", gain.shared, job.goal) for job, gain in found.items() if job.goal]
    return judged(goals, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
