"""Two threads against one on a free-threaded Python: the work that they do in the same time.

    PYTHON_GIL=0 python3.14t benchmarks/threads.py                  table and goals
    PYTHON_GIL=0 python3.14t benchmarks/threads.py --write-docs     also write the table in docs/performance.md
    python3.14 benchmarks/threads.py --one                          only one thread against json, with a GIL or not

Both threads use one serializer or deserializer and records of 10 fields, thousands of them, all different; each has its
own records. ``json.loads`` shows what the interpreter allows: two threads, and what one thread costs without a GIL.
Two ratios: to one thread, which needs a machine with two cores of its own, and to two processes, which share nothing:
a shared machine lends its second core to both alike. Ratios are medians over the rounds; goals are for the one to two
processes.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

from harness import DOCS, Goal, judged, machine, options, table, write_docs
from shapes import FLAT, Source

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

RECORDS, ROWS = 4_000, 100_000
FORK = multiprocessing.get_context("fork")
CEILING, WRITING, OBJECTS, COLUMNS = "json.loads", "json.dumps", 1.85, 1.9
MARKER = "<!-- threads -->\n"
Work = Callable[[], object]
Begin = Callable[[], Work]  # called by the thread that works, before the clock starts


class Job(NamedTuple):
    name: str
    works: tuple[Begin, Begin]  # of the two threads
    messages: int  # of each
    goal: float | None


def each(owner: Any, method: str, topic: str, items: list[Any]) -> Begin:
    """As a thread would do it that takes the method once: each look-up counts a reference of the shared object.

    Its items are its own: counting references of another thread's objects costs several times as much.
    """

    def begin() -> Work:
        own = pickle.loads(pickle.dumps(items))

        def work() -> None:
            function = getattr(owner, method)
            for item in own:
                function(topic, item)

        return work

    return begin


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
    yield Job(CEILING, two(Json(), "loads", ("", ""), texts), RECORDS, None)
    values = [[json.loads(text) for text in some] for some in texts]
    yield Job(WRITING, two(Json(), "dumps", ("", ""), values), RECORDS, None)
    serializer, deserializer = KafkaAvroSerializer(conf, FLAT), KafkaAvroDeserializer(conf)
    for title, topics in (("each its topic", ("one", "two")), ("one topic", ("one", "one"))):
        data = [[serializer.serialize(topic, one) for one in some] for topic, some in zip(topics, records, strict=True)]
        for topic, some, read in zip(topics, records, data, strict=True):
            assert [deserializer.deserialize(topic, one) for one in read] == some
        yield Job(f"serialize, {title}", two(serializer, "serialize", topics, records), RECORDS, OBJECTS)
        yield Job(f"deserialize, {title}", two(deserializer, "deserialize", topics, data), RECORDS, OBJECTS)
    yield columns()


def two(owner: Any, method: str, topics: tuple[str, str], items: list[list[Any]]) -> tuple[Begin, Begin]:
    return each(owner, method, topics[0], items[0]), each(owner, method, topics[1], items[1])


def columns() -> Job:
    import pyarrow as pa

    from streamnative_serdes.arrow import ColumnCodec

    source, codec, read = Source(2), Codec(FLAT), ColumnCodec(FLAT)
    data = pa.array([codec.encode(source.a_record(FLAT)) for _ in range(ROWS)])
    return Job("columns, decode", (lambda: lambda: read.decode(data),) * 2, ROWS, COLUMNS)


class Kind(NamedTuple):
    """Threads of this process, or processes of their own, which share nothing."""

    worker: Any
    barrier: Any


THREADS, PROCESSES = Kind(threading.Thread, threading.Barrier), Kind(FORK.Process, FORK.Barrier)


def seconds(works: tuple[Begin, ...], loops: int, kind: Kind = THREADS) -> float:
    """From the begin of the first to the end of the last; each works once before the clock starts.

    Threads of consumers live long. In its first milliseconds a new one makes its replica and gets its memory.
    """
    ready, begun, ended = (
        kind.barrier(len(works), timeout=60),
        FORK.RawArray("d", len(works)),
        FORK.RawArray("d", len(works)),
    )

    def run(number: int) -> None:
        work = works[number]()
        work()
        ready.wait()
        begun[number] = time.perf_counter()  # the same clock in all processes
        for _ in range(loops):
            work()
        ended[number] = time.perf_counter()

    workers = [kind.worker(target=run, args=(number,)) for number in range(len(works))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(ended), "a worker has failed"
    return float(max(ended) - min(begun))


class Gain(NamedTuple):
    """The work of two threads: where two processes do 2, where one thread does 1; nanoseconds per message of one."""

    processes: float
    thread: float
    nanoseconds: float


def measured(made: list[Job], rounds: int) -> dict[Job, Gain]:
    """Medians over the rounds. Jobs take turns."""
    loops = {job: max(1, round(0.08 / seconds(job.works[:1], 1))) for job in made}
    found: dict[Job, list[Gain]] = {job: [] for job in made}
    for _ in range(rounds):
        for job in made:
            times = loops[job]
            one, both = seconds(job.works[:1], times), seconds(job.works, times)
            apart = seconds(job.works, times, PROCESSES)
            found[job].append(Gain(2 * apart / both, 2 * one / both, one / times / job.messages * 1e9))
    return {job: Gain(*map(median, zip(*some, strict=True))) for job, some in found.items()}


def against_json(made: list[Job], rounds: int) -> dict[str, float]:
    """Time per message of one thread, as a multiple of json.dumps's or json.loads's in the same round; medians."""
    found: dict[str, list[float]] = {job.name: [] for job in made}
    for _ in range(rounds):
        once = {job.name: seconds(job.works[:1], 1) / job.messages for job in made}
        for name, each_message in once.items():
            found[name].append(each_message / once[WRITING if name.startswith("serialize") else CEILING])
    return {name: median(ratios) for name, ratios in found.items()}


def main() -> int:
    given = options(__doc__, 45, "--write-docs", "--check", "--one").parse_args()
    if given.one:
        with LocalRegistry() as registry:
            ratios = against_json(list(jobs(registry.url)), given.rounds)
        print(table([["one thread", "times json"], *([name, f"{ratio:.3f}"] for name, ratio in ratios.items())]))
        return 0
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        raise SystemExit("this Python has a GIL, or a module has switched it on; try PYTHON_GIL=0")
    with LocalRegistry() as registry:
        made = list(jobs(registry.url))
    gc.collect()
    gc.freeze()
    gc.disable()  # as in all other benchmarks; a collection stops all threads
    found = measured(made, given.rounds)
    rows = [["10 fields", "ns per message, one thread", "two threads to one", "to two processes, which do 2"]]
    rows += [
        [job.name, f"{gain.nanoseconds:,.0f}", f"{gain.thread:.2f}x", f"{gain.processes:.2f}x"]
        for job, gain in found.items()
    ]
    where = f"{machine('pyarrow')}, without GIL."
    print(table(rows), "", where, "", sep="\n")
    if given.write_docs:
        write_docs(DOCS / "performance.md", f"{table(rows, padded=False)}\n\n{where}", MARKER)
    goals = [
        Goal(f"{job.name} >= {job.goal:g}x, to two processes", gain.processes, job.goal)
        for job, gain in found.items()
        if job.goal
    ]
    return judged(goals, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
