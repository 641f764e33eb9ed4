"""`migrate topic` against the plain loop that consumes and produces, on one broker in the same run; and its memory.

python benchmarks/migration.py             table: 500,000 messages, 5 rounds
python benchmarks/migration.py --check     fail if a goal is missed

The plain loop has the same clients' options, batches and transactions, and passes values on unchanged. Both run
interleaved, each in a process of its own, and measure the time from the first chunk of messages to the last commit.
Memory is the largest resident set of the process. A real Kafka is started.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from harness import ROOT, Goal, Told, judged, measure, options

from streamnative_serdes import header
from streamnative_serdes._kafka.consuming import COMMITTED
from streamnative_serdes.migration import Report, Route, Side, State, TopicCopy, Wishes
from streamnative_serdes.migration.copying.copy import COMMIT_MESSAGES
from streamnative_serdes.migration.copying.inlet_outlet import CHUNK, MEMORY, PRODUCER

RATE_GOAL, MEMORY_GOAL, PARTITIONS, IDS = 0.8, 1.2, 3, range(1, 5)


def sent(producer: Producer, topic: str, value: Any, key: Any, partition: int, **parts: Any) -> None:
    while True:
        try:
            return producer.produce(topic, value, key, partition, **parts)
        except BufferError:
            producer.poll(0.1)


def loop(bootstrap: str, source: str, target: str, count: int) -> float:
    """Copy the messages as they are, and return the seconds that it took."""
    consumer = Consumer({"group.id": "loop", **MEMORY, **COMMITTED, "bootstrap.servers": bootstrap})
    consumer.assign([TopicPartition(source, partition, 0) for partition in range(PARTITIONS)])
    producer = Producer({**PRODUCER, "bootstrap.servers": bootstrap, "transactional.id": f"loop-{target}"})
    producer.init_transactions(60)
    begin, ended, left, waiting = 0.0, 0.0, count, 0
    producer.begin_transaction()
    while left:
        begin = begin or (time.monotonic() if left < count else 0.0)
        for message in consumer.consume(CHUNK, 0.2):
            if message.error() is None:
                parts = {"timestamp": message.timestamp()[1], "headers": message.headers()}
                sent(producer, target, message.value(), message.key(), message.partition() or 0, **parts)
                left, waiting = left - 1, waiting + 1
        producer.poll(0)
        if waiting >= COMMIT_MESSAGES or not left:
            producer.commit_transaction()
            waiting, ended = 0, time.monotonic()
            if left:
                producer.begin_transaction()
    consumer.close()
    return ended - begin


def rewrite(bootstrap: str, source: str, target: str, count: int) -> float:
    """Copy with ``migrate topic``'s engine, and return the seconds that it took."""
    side, times = Side({"bootstrap.servers": bootstrap}, {"schema.registry.url": "http://127.0.0.1:1"}), list[float]()

    def observe(report: Report) -> None:
        if report.lag < count:  # the first chunk has come
            times.append(time.monotonic())

    with TemporaryDirectory() as folder:
        route = Route("forward", source, target, side, side)
        state = State(Path(folder) / "state", route, {number: number - 1 for number in IDS})
        report = TopicCopy(state, Wishes(accept=["message-size"]), observe).run()
    assert (report.copied, report.bad) == (count, 0)
    return times[-1] - times[0]


WORK: dict[str, Callable[[str, str, str, int], float]] = {"loop": loop, "rewrite": rewrite}


def create(bootstrap: str, topic: str) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result()
    return admin


def child(work: str, bootstrap: str, source: str, count: int, what: int = 0) -> float:
    """Seconds (0) or MB (1) of one run in a process of its own."""
    target = f"{work}-{uuid.uuid4().hex[:8]}"
    admin = create(bootstrap, target)
    command = (sys.executable, __file__, "--child", work, bootstrap, source, target, str(count))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=600)
    admin.delete_topics([target])[target].result()
    return float(done.stdout.split()[what - 2])


def fill(bootstrap: str, topic: str, count: int, size: int) -> None:
    create(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number in range(count):
        value = header.pack_id(IDS[number % len(IDS)]) + os.urandom(8) * (size // 8)
        sent(producer, topic, value, b"key %d" % number, number % PARTITIONS, headers=[("trace", b"%d" % number)])
    assert producer.flush(60) == 0


def main() -> int:
    parser = options(__doc__, 5, "--check")
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--size", type=int, default=100, help="bytes of a value")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        work, brokers, source, target, number = given.child
        seconds = WORK[work](brokers, source, target, int(number))
        print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, flush=True)
        os._exit(0)  # without waiting for the client's threads
    sys.path.insert(0, str(ROOT / "tests" / "servers"))
    from servers import Kafka  # type: ignore[import-not-found]

    with Kafka() as kafka:
        sizes = {"all": given.messages, "few": given.messages // 2, "many": given.messages * 5}
        for topic, count in sizes.items():
            fill(kafka.bootstrap_servers, topic, count, given.size)
        copies = {work: partial(child, work, kafka.bootstrap_servers) for work in WORK}
        jobs = (Told(("copy", name), partial(copy, "all", sizes["all"]), sizes["all"]) for name, copy in copies.items())
        cells = measure(jobs, given.rounds)
        small, large = (copies["rewrite"](topic, sizes[topic], 1) for topic in ("few", "many"))
    for work in WORK:
        print(f"{work:8} {1e9 / cells['copy', work].ns:10,.0f} messages/s")
    print(f"memory: {small:.0f} MB for {sizes['few']:,} messages, {large:.0f} MB for {sizes['many']:,}")
    rate = cells.times(("copy", "loop"), ("copy", "rewrite"))
    goals = [Goal(f"rewrite >= {RATE_GOAL}x the rate of the loop", rate, RATE_GOAL)]
    goals += [Goal(f"memory of ten times the messages: <= {MEMORY_GOAL}x", large / small, MEMORY_GOAL, most=True)]
    return judged(goals, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
