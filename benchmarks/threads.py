"""Two threads against one on a free-threaded Python: the work that they do in the same time.

    PYTHON_GIL=0 python3.14t benchmarks/threads.py                  table and goals
    PYTHON_GIL=0 python3.14t benchmarks/threads.py --write-docs     also write the table in docs/performance.md
    python3.14 benchmarks/threads.py --one                          only one thread against json, with a GIL or not

Both threads use one serializer or deserializer, and each has thousands of different records of 10 fields of its own.
``json`` shows what the interpreter and the machine allow. Two threads with a SerDes, a schema and a topic each share
nothing of ours but code; comparing with them shows what sharing costs.
Threads live as long as the benchmark, as those of consumers do: a new one first makes its replica and gets its memory.
Two threads begin and end at the same moments, and their rates are added. The sum is compared with the mean rate of each
of them alone. Ratios are medians over the rounds; each round measures all pairs of threads in another order.
"""

from __future__ import annotations

import gc
import json
import pickle
import queue
import random
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
SECONDS = 0.15  # of one measurement
AHEAD = 0.003  # seconds until threads that wait are awake
CEILING, WRITING, OBJECTS, COLUMNS = "json.loads", "json.dumps", 1.85, 1.9
MARKER = "<!-- threads -->\n"
Work = Callable[[], int]  # returns the number of messages
Begin = Callable[[], Work]  # called by the thread that works, before the clock starts


class Worker(threading.Thread):
    """Works from one moment to another, again and again."""

    def __init__(self, begin: Begin) -> None:
        super().__init__(daemon=True)
        self._begin = begin
        self.begins: queue.SimpleQueue[float] = queue.SimpleQueue()
        self.rate: queue.SimpleQueue[float] = queue.SimpleQueue()  # messages per second; the first, when it is ready
        self.start()
        self.rate.get(timeout=60)

    def run(self) -> None:
        work = self._begin()
        work()
        self.rate.put(0.0)
        while True:
            began = self.begins.get()
            messages, until = 0, began + SECONDS
            while time.perf_counter() < began:
                pass  # not asleep: threads would wake at different moments
            while (now := time.perf_counter()) < until:
                messages += work()
            self.rate.put(messages / (now - began))


class Gain(NamedTuple):
    """Messages per second of one thread and of two, and the work of two where one does 1."""

    one: float
    both: float
    times: float


class Pair:
    """Two threads with the same job."""

    def __init__(self, begins: list[Begin]) -> None:
        self._workers = list(map(Worker, begins))

    def rate(self, workers: list[Worker]) -> float:
        begin = time.perf_counter() + AHEAD
        for worker in workers:
            worker.begins.put(begin)
        return sum(worker.rate.get(timeout=60) for worker in workers)

    def alone(self) -> float:
        return sum(self.rate([worker]) for worker in self._workers) / len(self._workers)

    def gain(self) -> Gain:
        one, both = self.alone(), self.rate(self._workers)
        return Gain(one, both, both / one)


class Job:
    """The work of two threads: ``shared`` of both with one SerDes, ``apart`` of each with its own."""

    def __init__(self, name: str, shared: list[Begin], apart: list[Begin] | None = None, goal: float | None = None):
        self.name, self.goal = name, goal
        self.pairs = [Pair(each) for each in (shared, apart) if each]


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

        for _ in pieces[1:]:
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
    data = [pa.array([codec.encode(source.a_record(FLAT)) for _ in range(ROWS)]) for _ in range(2)]

    def decode(read: ColumnCodec, messages: pa.Array) -> Begin:
        def work() -> int:
            read.decode(messages)
            return ROWS

        return lambda: work

    def both(codecs: list[ColumnCodec]) -> list[Begin]:
        return list(map(decode, codecs, data))

    apart = [ColumnCodec({**FLAT, "name": name}) for name in ("One", "Two")]
    return Job("columns, decode", both([ColumnCodec(FLAT)] * 2), both(apart), COLUMNS)


def measured(made: list[Job], rounds: int) -> dict[Job, list[Gain]]:
    """The gain of each pair of threads of a job: medians over the rounds."""
    pairs = [pair for job in made for pair in job.pairs]
    found: dict[Pair, list[Gain]] = {pair: [] for pair in pairs}
    for _ in range(rounds):
        for pair in random.sample(pairs, len(pairs)):
            found[pair].append(pair.gain())
    return {job: [Gain(*map(median, zip(*found[pair], strict=True))) for pair in job.pairs] for job in made}


def against_json(made: list[Job], rounds: int) -> dict[str, float]:
    """Time per message of one thread, as a multiple of json.dumps's or json.loads's in the same round; medians."""
    found: dict[str, list[float]] = {job.name: [] for job in made}
    for _ in range(rounds):
        once = {job.name: job.pairs[0].alone() for job in made}
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
    rows = [["10 fields", "ns, one thread", "ns, two threads", "two threads, one SerDes", "two threads, a SerDes each"]]
    for job, (shared, *apart) in found.items():
        ns = (f"{1e9 / shared.one:,.0f}", f"{1e9 / shared.both:,.0f}")
        rows.append([job.name, *ns, f"{shared.times:.2f}x", f"{apart[0].times:.2f}x" if apart else ""])
    where = f"{machine('pyarrow')}, without GIL."
    print(table(rows), "", where, "", sep="\n")
    if given.write_docs:
        write_docs(DOCS / "performance.md", f"{table(rows, padded=False)}\n\n{where}", MARKER)
    goals = [Goal(f"{job.name} >= {job.goal:g}x", gain[0].times, job.goal) for job, gain in found.items() if job.goal]
    return judged(goals, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
