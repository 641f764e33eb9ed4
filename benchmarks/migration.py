"""`migrate topic` against the plain loop that consumes and produces, on one broker in the same run; and its memory.

python benchmarks/migration.py             table: 500,000 messages, 5 rounds
python benchmarks/migration.py --check     fail if the rewrite has less than 0.8 times the loop's rate, or if ten times
                                           the messages take more than 1.2 times the memory

The plain loop has the same clients' options, batches and transactions, and passes values on unchanged. Both run
interleaved, each in a process of its own, which measures the time from the first chunk of messages to the last commit;
ratios are medians over the rounds. Memory is the largest resident set of the process. A real Kafka is started on free
ports.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "servers"))

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from streamnative_serdes import header
from streamnative_serdes.migration import Report, Route, Side, State, TopicCopy, Wishes
from streamnative_serdes.migration.copying.copy import COMMIT_MESSAGES
from streamnative_serdes.migration.copying.inlet import CHUNK, MEMORY
from streamnative_serdes.migration.copying.outlet import PRODUCER
from streamnative_serdes.migration.topics import CONSUMER

RATE_GOAL, MEMORY_GOAL = 0.8, 1.2
PARTITIONS = 3
IDS = range(1, 5)


def loop(bootstrap: str, source: str, target: str, count: int) -> float:
    """Copy ``count`` messages as they are, and return the seconds that it took."""
    conf: dict[str, Any] = {"bootstrap.servers": bootstrap}
    consumer = Consumer({"group.id": "loop", **MEMORY, **CONSUMER, **conf})
    consumer.assign([TopicPartition(source, partition, 0) for partition in range(PARTITIONS)])
    producer = Producer({**PRODUCER, **conf, "transactional.id": f"loop-{target}"})
    producer.init_transactions(60)
    begin, left, waiting = 0.0, count, 0
    producer.begin_transaction()
    while left:
        if left < count and not begin:
            begin = time.monotonic()
        for message in consumer.consume(CHUNK, 0.2):
            if message.error() is None:
                _, moment = message.timestamp()
                parts: Any = {"timestamp": moment, "headers": message.headers()}
                while True:
                    try:
                        producer.produce(target, message.value(), message.key(), message.partition() or 0, **parts)
                        break
                    except BufferError:
                        producer.poll(0.5)
                left, waiting = left - 1, waiting + 1
        producer.poll(0)
        if waiting >= COMMIT_MESSAGES or not left:
            producer.commit_transaction()
            waiting = 0
            if left:
                producer.begin_transaction()
    seconds = time.monotonic() - begin
    consumer.close()
    return seconds


def rewrite(bootstrap: str, source: str, target: str, count: int) -> float:
    """Copy with ``migrate topic``'s engine, and return the seconds that it took."""
    side = Side({"bootstrap.servers": bootstrap}, {"schema.registry.url": "http://127.0.0.1:1"})
    with TemporaryDirectory() as folder:
        route = Route("forward", source, target, side, side)
        state = State(Path(folder) / "state", route, {number: number - 1 for number in IDS})
        times: list[float] = []

        def observe(report: Report) -> None:
            if report.lag < count:  # the first chunk has come
                times.append(time.monotonic())

        report = TopicCopy(state, Wishes(accept=["message-size"]), observe).run()
    assert (report.copied, report.bad) == (count, 0)
    return times[-1] - times[0]


WORK: dict[str, Callable[[str, str, str, int], float]] = {"loop": loop, "rewrite": rewrite}


def measured(work: str, bootstrap: str, source: str, count: int) -> tuple[float, float]:
    """Messages per second and MB of one run in a process of its own."""
    target = f"{work}-{uuid.uuid4().hex[:8]}"
    create(bootstrap, target)
    command = [sys.executable, __file__, "--child", work, bootstrap, source, target, str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    tree = json.loads(done.stdout.splitlines()[-1])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([target])[target].result()
    return count / tree["seconds"], tree["megabytes"]


def child(work: str, bootstrap: str, source: str, target: str, count: str) -> None:
    """One run; prints its seconds and its memory."""
    seconds = WORK[work](bootstrap, source, target, int(count))
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "megabytes": kilobytes / 1024}), flush=True)
    os._exit(0)  # without waiting for the client's threads


def create(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result()


def fill(bootstrap: str, topic: str, count: int, size: int) -> None:
    """Send ``count`` framed messages of ``size`` bytes with keys and a header."""
    create(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    prefixes = [header.pack_id(number) for number in IDS]
    for number in range(count):
        value = prefixes[number % len(prefixes)] + os.urandom(8) * (size // 8)
        parts: Any = {"headers": [("trace", b"%d" % number)]}
        while True:
            try:
                producer.produce(topic, value, b"key %d" % number, number % PARTITIONS, **parts)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--size", type=int, default=100, help="bytes of a value")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(*given.child)
    from servers import Kafka  # type: ignore[import-not-found] # of tests/servers

    with Kafka() as kafka:
        bootstrap = kafka.bootstrap_servers
        fill(bootstrap, "all", given.messages, given.size)
        rates: dict[str, list[float]] = {work: [] for work in WORK}
        for _ in range(given.rounds):
            for work, found in rates.items():
                found.append(measured(work, bootstrap, "all", given.messages)[0])
        ratio = statistics.median(ours / theirs for ours, theirs in zip(rates["rewrite"], rates["loop"], strict=True))
        sizes = (given.messages // 2, given.messages * 5)
        fill(bootstrap, "few", sizes[0], given.size)
        fill(bootstrap, "many", sizes[1], given.size)
        small, large = (measured("rewrite", bootstrap, *run)[1] for run in zip(("few", "many"), sizes, strict=True))
    for work, found in rates.items():
        print(f"{work:8} {statistics.median(found):10,.0f} messages/s")
    print(f"rewrite / loop: {ratio:.2f} (goal: at least {RATE_GOAL})")
    print(f"memory: {small:.0f} MB for {sizes[0]:,} messages, {large:.0f} MB for {sizes[1]:,}")
    wrong = ratio < RATE_GOAL or large > small * MEMORY_GOAL
    return 1 if given.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
