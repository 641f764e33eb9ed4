"""The data source on a real Kafka while queries are killed, at each place of a batch, and Kafka dies too."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]
from migrations import create
from orders import VERSIONS, latest, messages_of, produce, schema_of
from servers import Kafka
from waiting import HANG_SECONDS, until

import streamnative_serdes
from streamnative_serdes import KafkaAvroDeserializer
from streamnative_serdes.testing import LocalRegistry

pytestmark = pytest.mark.long  # each kill takes a start of Spark with three queries, and the death of Kafka minutes
KILLS = pytest.mark.parametrize("kills", [20])
PER_KILL, MOST = 1_000, 500  # messages for each kill; in a batch
LEFT = 4  # batches that the streams have to do yet, at least, when they are started for the death of Kafka
PARTITIONS, GROWN = 4, 6
SOURCE, AT_LEAST_ONCE, TRANSACTIONAL = "kills-from", "kills-at-least-once", "kills-transactional"
SINKS = {"at-least-once": AT_LEAST_ONCE, "transactional": TRANSACTIONAL}  # by delivery, the topic
SUPPORT = Path(__file__).parents[2] / "support"
STARTS = 6
# Why Spark itself fails at its start: a busy machine; and queries that start together share a map of environment
# variables, which one may change while another serializes it.
SPARKS_OWN = ("Python worker failed to connect back", "java.io.OptionalDataException")
SECONDS = 6 * HANG_SECONDS  # for a run of the program


class Program:
    """The program with both streams, and the plan for its next death."""

    def __init__(self, kafka: Kafka, registry: LocalRegistry, folder: Path) -> None:
        self.folder = folder
        given = {"servers": kafka.bootstrap_servers, "registry": registry.url, "topic": SOURCE, "targets": SINKS}
        self._given = json.dumps({**given, "most": str(MOST), "schema": json.dumps(schema_of(VERSIONS - 1))})
        self._home = Path(streamnative_serdes.__file__).parents[1]

    def start(self, place: str | None = None, times: int = 1) -> subprocess.Popen[bytes]:
        """Start it; at ``place``, when that is reached for so many times, it is killed."""
        for name in ("plan", "reached", "done"):
            (self.folder / name).unlink(missing_ok=True)
        if place is not None:
            (self.folder / "plan").write_text(f"{place}\n{times}")
        paths = os.pathsep.join([str(SUPPORT), str(self._home), os.environ.get("PYTHONPATH", "")])
        with (self.folder / "log").open("ab") as log:
            started = subprocess.Popen(
                [sys.executable, str(SUPPORT / "killed_queries.py"), self._given],
                env={**os.environ, "PYTHONPATH": paths, "KILLED_QUERIES": str(self.folder)},
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        (self.folder / "group").write_text(str(started.pid))
        return started

    def end(self, started: subprocess.Popen[bytes]) -> int:
        """Wait until it has ended; returns its exit code."""
        try:
            return started.wait(SECONDS)
        finally:
            self.kill(started)

    def killed(self, place: str, times: int) -> int:
        """Run it until it is killed; again, if Spark itself failed."""
        for _ in range(STARTS):
            log = self.folder / "log"
            log.unlink(missing_ok=True)
            code = self.end(self.start(place, times))
            if code == -signal.SIGKILL or not self.failed_to_start():
                break
        return code

    def running(self) -> subprocess.Popen[bytes]:
        """Start it, and wait until a sink has committed one batch more; again, if Spark itself failed."""
        for _ in range(STARTS):
            (self.folder / "log").unlink(missing_ok=True)
            before, started = self.commits(), self.start()
            until(lambda: self.commits() > before or started.poll() is not None, "a batch is committed", SECONDS)  # noqa: B023
            if started.poll() is None:
                return started
            self.kill(started)
            if not self.failed_to_start():
                break
        pytest.fail(f"the streams ended before Kafka was killed\n{self.log()}")

    def failed_to_start(self) -> bool:
        """Whether Spark itself failed."""
        return any(why in (self.folder / "log").read_text(errors="replace") for why in SPARKS_OWN)

    def commits(self) -> int:
        """How many batches the sinks have committed."""
        return sum(len(_numbers(self.folder / name / "commits")) for name in SINKS)

    def written(self, name: str) -> int:
        """How many messages the committed batches of a sink have read."""
        last = max(_numbers(self.folder / name / "commits"), default=None)
        if last is None:
            return 0
        offsets = json.loads((self.folder / name / "offsets" / str(last)).read_text().splitlines()[-1])
        return sum(offsets["topics"][SOURCE].values())

    def kill(self, started: subprocess.Popen[bytes]) -> None:
        """Kill it with its JVM, if it still runs."""
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait(HANG_SECONDS)

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-5000:]

    def kills(self) -> list[str]:
        """Where it was killed."""
        path = self.folder / "kills"
        return path.read_text().splitlines() if path.exists() else []


def _numbers(log: Path) -> list[int]:
    """The batches in one of the logs of a checkpoint."""
    return [int(path.name) for path in log.glob("*") if path.name.isdigit()]


def place(message: Message) -> tuple[int, ...]:
    """Batch, task partition and row by the message's headers."""
    headers: Any = dict(message.headers() or ())
    return tuple(int(headers[f"spark.{name}"]) for name in ("batch.id", "partition.id", "row"))


@KILLS
def test_no_row_is_lost_and_readers_and_transactions_give_none_twice_although_queries_and_kafka_are_killed(
    kafka_to_kill: Kafka, tmp_path: Path, kills: int
) -> None:
    from killed_queries import BEFORE_COMMITS, BEFORE_OFFSETS, PLACES

    chance = random.Random(5)
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        servers = kafka_to_kill.bootstrap_servers
        kafka, admin = {"bootstrap.servers": servers}, AdminClient({"bootstrap.servers": servers, "log_level": 0})
        create(servers, SOURCE, AT_LEAST_ONCE, TRANSACTIONAL, partitions=PARTITIONS)
        program = Program(kafka_to_kill, registry, tmp_path)
        half = kills // 2 * PER_KILL
        produce(kafka, conf, SOURCE, range(half), PARTITIONS)
        for number in range(kills):
            if number == kills // 2:
                admin.create_partitions([NewPartitions(SOURCE, GROWN)])[SOURCE].result(HANG_SECONDS)
                produce(kafka, conf, SOURCE, range(half, kills * PER_KILL), GROWN)
            where = PLACES[number % len(PLACES)]
            code = program.killed(where, chance.randint(1, 3))
            assert code == -signal.SIGKILL, f"it was not killed {where}: {program.kills()}\n{program.log()}"
        more = kill_kafka(kafka_to_kill, program, conf, kills * PER_KILL)
        for _ in range(3):
            if program.end(program.start()) == 0:
                break
        else:
            pytest.fail(program.log())

        done = program.kills()
        print("killed", *Counter(done).items(), sep="\n")
        assert len(done) == kills
        running = [kill for kill in done if not kill.startswith(BEFORE_OFFSETS)]
        assert running, "no kill hit a running batch"
        assert any(kill.startswith(BEFORE_COMMITS) for kill in done)
        if kills >= 20:
            places = Counter("inside a task" if kill.startswith("inside") else kill.partition(":")[0] for kill in done)
            assert len(places) == 4, places
            assert min(places.values()) >= 5, places
        read = KafkaAvroDeserializer(conf)
        expected = range(kills * PER_KILL + more)
        check(messages_of(kafka, AT_LEAST_ONCE), read, expected, copies=True)
        check(messages_of(kafka, TRANSACTIONAL), read, expected, copies=False)
        check_batches(tmp_path / "batches", len(expected))


def kill_kafka(kafka: Kafka, program: Program, conf: dict[str, str], first: int) -> int:
    """Kill the broker while the streams run, and start it again; returns how many messages were produced for it."""
    more = range(first, first + LEFT * MOST)
    client = {"bootstrap.servers": kafka.bootstrap_servers}
    produce(client, conf, SOURCE, more, GROWN)
    started = program.running()
    kafka.kill()
    running, written = started.poll() is None, {name: program.written(name) for name in SINKS}
    time.sleep(1)
    kafka.start()
    last = range(more.stop, more.stop + MOST)
    produce(client, conf, SOURCE, last, GROWN)
    program.end(started)  # a task may have failed as often as it may
    assert running, "the program had ended when Kafka was killed"
    assert min(written.values()) < more.stop, f"nothing was left to write when Kafka was killed: {written}"
    print("Kafka was killed after", written, "of", more.stop, "messages")
    return len(more) + len(last)


def check_batches(folder: Path, count: int) -> None:
    """The reader gave each offset exactly once to a sink that knows batches, none of which is too large."""
    batches = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    assert max(map(len, batches)) <= MOST
    found = [tuple(place) for batch in batches for place in batch]
    assert len(found) == len(set(found)) == count
    ends = Counter((topic, partition) for topic, partition, _ in found)
    assert set(found) == {(*place, offset) for place, end in ends.items() for offset in range(end)}
    assert ends.keys() == {(SOURCE, partition) for partition in range(GROWN)}
    # The checkpoint has the offsets of the last batch.
    logs = folder.parent / "reading" / "offsets"
    last = max((path for path in logs.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    stored = json.loads(last.read_text().splitlines()[-1])
    assert (stored["format"], stored["source"]) == (1, "streamnative-kafka")
    assert stored["topics"][SOURCE] == {str(partition): ends[SOURCE, partition] for partition in range(GROWN)}


def check(found: list[Message], read: KafkaAvroDeserializer, expected: range, *, copies: bool) -> None:
    """All rows are there; copies, if there may be any, have equal headers; each task's rows are complete."""
    by_place: dict[tuple[int, ...], bytes] = {}
    for message in found:
        assert by_place.setdefault(place(message), message.value() or b"") == message.value()
    assert copies or len(by_place) == len(found), "transactions: some rows are there twice"
    values: list[Any] = [read.deserialize(AT_LEAST_ONCE, value) for value in by_place.values()]
    assert sorted(value["id"] for value in values) == list(expected)
    for value in values:
        assert value == latest(value["id"])
    rows: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for batch, partition, row in by_place:
        rows[batch, partition].add(row)
    assert all(numbers == set(range(len(numbers))) for numbers in rows.values()), "a part of a task is missing"
