"""Print how many Python functions each way through the package calls, and in how many of its files.

    python tools/way_costs.py

A hit runs no Python of ours. Misses are counted, which a newcomer has to follow through the rooms, and what each batch
and each range of a Spark task costs. Functions of other packages are not counted, nor what generated classes do.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import streamnative_serdes
from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import LocalRegistry

ROOT: Final = str(Path(streamnative_serdes.__file__).parent)
OLD: Final[dict[str, Any]] = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
UNSEEN: Final[dict[str, Any]] = {**OLD, "fields": [{"name": "id", "type": "int"}]}  # before the misses
RANGES: Final = 6


class Cost(NamedTuple):
    """Calls and files of one way."""

    calls: int
    files: int


# Way -> the most that it may cost; tests/tools/test_way_costs.py holds them.
MOST: Final[Mapping[str, Cost]] = {
    "write hit": Cost(0, 0),
    "read hit": Cost(0, 0),
    "write miss": Cost(82, 15),
    "read miss": Cost(92, 19),
    "unknown version": Cost(120, 15),
    "next Arrow batch": Cost(19, 8),
    "Spark task's next range": Cost(68, 15),  # with one question for messages
}


def cost(work: Callable[[], object]) -> tuple[Cost, list[str]]:
    """The cost of ``work`` in this thread, and the functions that it calls."""
    called: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            called.append(f"{frame.f_code.co_filename[len(ROOT) + 1 :]}:{frame.f_code.co_qualname}")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Cost(len(called), len({name.partition(":")[0] for name in called})), called


def ways() -> Iterator[tuple[str, Cost, list[str]]]:
    """Each way, in a process that has imported everything and used another topic."""
    with LocalRegistry() as registry, ExitStack() as stack:
        conf = {"schema.registry.url": registry.url}

        def writer(schema: Any) -> KafkaAvroSerializer:
            return stack.enter_context(KafkaAvroSerializer(conf, schema))

        old, new = writer(OLD), writer(UNSEEN)
        reader = stack.enter_context(KafkaAvroDeserializer(conf))
        for topic in ("first", "second"):  # imports, and whatever is done once in a process
            hit = old.serialize(topic, {"id": 1})
            reader.deserialize(topic, hit)
        yield "write hit", *cost(lambda: old.serialize("second", {"id": 1}))
        yield "read hit", *cost(lambda: reader.deserialize("second", hit))
        yield "write miss", *cost(lambda: new.serialize("third", {"id": 1}))
        unseen = new.serialize("third", {"id": 1})
        Binding.forget()  # what writers and readers of a process share
        yield "read miss", *cost(lambda: reader.deserialize("third", unseen))
        unknown = b"\x03\x04" + (999).to_bytes(8, "big") + b"\x02"  # read by the latest schema, with a warning
        yield "unknown version", *cost(lambda: reader.deserialize("third", unknown))
        batch = [old.serialize("second", {"id": number}) for number in range(100)]
        for _ in range(2):
            reader.deserialize_batch("second", batch)
        yield "next Arrow batch", *cost(lambda: reader.deserialize_batch("second", batch))
        yield "Spark task's next range", *next_range(registry, old)


def next_range(registry: LocalRegistry, writer: KafkaAvroSerializer) -> tuple[Cost, list[str]]:
    """The cost of a range for a worker of Spark that has read another range of the topic."""
    from confluent_kafka import Producer

    from streamnative_serdes.spark.datasource.reading import task as tasks
    from streamnative_serdes.spark.datasource.source import Source
    from streamnative_serdes.testing import MockBroker

    with MockBroker({"ranges": RANGES}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for partition in range(RANGES):
            producer.produce("ranges", writer.serialize("ranges", {"id": partition}), partition=partition)
        producer.flush()
        source = Source(
            {
                "kafka.bootstrap.servers": broker.bootstrap_servers,
                "schema.registry.url": registry.url,
                "subscribe": "ranges",
                "decode": "true",
                "startingOffsets": "earliest",
            }
        )
        planned = source.reader(source.schema())
        task = pickle.loads(pickle.dumps((planned, planned.partitions())))  # noqa: S301 (our own)

        def read(number: int) -> list[Any]:
            return list(task[0].read(task[1][number]))

        tasks.WAIT_SECONDS = 10.0  # type: ignore[misc] # how often a task asks for messages does not depend on time
        read(0)
        return min(cost(partial(read, number)) for number in range(1, RANGES))


def main() -> int:
    named = "--calls" in sys.argv
    wrong = 0
    for name, found, called in ways():
        most = MOST[name]
        wrong += found.calls > most.calls or found.files > most.files
        print(f"{name:24} {found.calls:4} calls (at most {most.calls}), {found.files:3} files (at most {most.files})")
        if named:
            print(*(f"    {each}" for each in called), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
