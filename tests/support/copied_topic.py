"""A source topic with its schemas, a target, and the command that copies one to the other, on real servers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from command import CommandLine
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient  # type: ignore[attr-defined]
from consumed import Message
from migrations import VERSIONS, Gauge, Sent, Sides, create, expected, new_name, read, register, send
from servers import ConfluentRegistry, Kafka, Pulsar

from streamnative_serdes.migration import State
from streamnative_serdes.migration.copying.dead_letters import DeadLetter
from streamnative_serdes.migration.copying.messages import PLACE

LIMIT = 120.0  # seconds for a run


class Migration:
    """A source topic with its schemas, a target, and the command that copies one to the other."""

    def __init__(self, kafka: Kafka, confluent: ConfluentRegistry, pulsar: Pulsar, folder: Path) -> None:
        self.kafka, self.folder = kafka.bootstrap_servers, folder
        self.source, self.target = new_name("source"), new_name("target")
        self.sides = Sides(confluent.url, pulsar.url, self.kafka)
        self.ids = register(confluent.url, f"{self.source}-value", VERSIONS)
        create(self.kafka, self.source)
        create(self.kafka, self.target, max_message_bytes="2000000")
        self.state = self.saved(self.source, self.target)
        self.sent: list[Sent] = []
        self.run = CommandLine()

    def saved(self, source: str, target: str) -> State:
        state = State(self.folder / f"{target}.json", self.sides.route(source, target))
        state.mapping = dict(zip(self.ids, range(len(VERSIONS)), strict=True))
        state.save()
        return state

    def send(self, sent: list[Sent]) -> None:
        send(self.kafka, self.source, sent)
        self.sent += sent

    def copy_schemas(self, target: str) -> Path:
        """Register the schemas with Pulsar, too: they get the versions that tests without it only suppose."""
        path = self.folder / f"{target}-with-schemas.json"
        self.run(*self.sides("schemas", self.source, target, "--state", str(path)))
        copied = State.load(path, self.saved(self.source, target).route).mapping
        assert {name: copied[name] for name in self.ids} == self.state.mapping
        return path

    def command(self, *more: str) -> list[str]:
        return self.sides("topic", self.source, self.target, "--state", str(self.state.path), *more)

    def __call__(self, *more: str, code: int = 0) -> Any:
        """Run it to the end in this process; returns its JSON, or its error."""
        ended = self.run(*self.command(*more), "--json", "--debug", code=code)
        return json.loads(ended.out.splitlines()[-1]) if code == 0 else ended.error["error"]

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Run it in a process of its own."""
        command = [sys.executable, "-m", "streamnative_serdes", *self.command(*more), "--json", "--debug"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def wait_for(self, process: subprocess.Popen[bytes], growth: int) -> None:
        """Return when the target has so many offsets more, or the process has ended."""
        with Gauge(self.kafka, self.target) as used:
            begin, until = used(), time.monotonic() + LIMIT
            while process.poll() is None and used() < begin + growth:
                assert time.monotonic() < until

    def kill_after(self, growth: int, *more: str) -> bool:
        """Run it and kill it when the target has so many offsets more; whether it was killed before its end."""
        process = self.start(*more)
        self.wait_for(process, growth)
        killed = process.poll() is None
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate(timeout=LIMIT)
        assert killed or process.returncode == 0, said.decode()
        return killed

    def dead_letters(self) -> list[DeadLetter | None]:
        topic = read(self.kafka, f"{self.target}.dead-letters")
        return [_letter(parts) for parts in (one for found in topic.values() for one in found)]

    def verify(self, *more: str, code: int = 0) -> Any:
        """The JSON of ``migrate verify``."""
        path = self.copy_schemas(self.target)
        arguments = self.sides("verify", self.source, self.target, "--state", str(path), "--json")
        return json.loads(self.run(*arguments, *more, code=code).out.splitlines()[-1])

    def check_everywhere(self) -> None:
        """The target and the dead letters are what they have to be, by a count of our own, and verify agrees."""
        assert without_places(read(self.kafka, self.target)) == expected(self.sent)
        self.check_letters(self.dead_letters())
        found = self.verify()
        assert (found["same"], found["dead_letters_checked"]) == (True, True)
        assert sum(one["copied"] for one in found["partitions"]) == sum(not one.bad for one in self.sent)

    def check_target(self) -> None:
        assert read(self.kafka, self.target) == expected(self.sent)

    def check_letters(self, letters: list[Any]) -> None:
        """Exactly the corrupt messages, with their bytes and places."""
        places: dict[int, int] = {}
        wanted = []
        for one in self.sent:
            offset = places[one.partition] = places.get(one.partition, -1) + 1
            if one.bad:
                wanted.append((one.partition, offset, one.timestamp, one.key, one.value, one.headers))
        found = [(one.partition, one.offset, one.timestamp, one.key, one.value, one.headers) for one in letters]
        assert sorted(found, key=lambda one: one[:2]) == sorted(wanted, key=lambda one: one[:2])
        assert all(one.reason for one in letters)


def _letter(parts: Any) -> DeadLetter | None:
    key, value, headers, timestamp = parts
    message: Any = Message(value, key, headers, timestamp=timestamp)
    return DeadLetter.read(message)


def without_places(found: Any) -> Any:
    """Messages of a topic without the header that copies without transactions have."""
    return {
        partition: [(key, value, [one for one in headers or () if one[0] != PLACE] or None, when)
                    for key, value, headers, when in copies]
        for partition, copies in found.items()
    }  # fmt: skip


def check_places(found: dict[int, list[Any]]) -> None:
    """The headers with the place in the source go up, without repetition."""
    for partition, copies in found.items():
        places = [next(data for name, data in headers if name == PLACE) for _, _, headers, _ in copies]
        assert {place.split(b":")[0] for place in places} <= {b"%d" % partition}
        offsets = [int(place.split(b":")[1]) for place in places]
        assert offsets == sorted(set(offsets))


def delete(bootstrap: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_topics(list(topics)).values():
        future.result(LIMIT)


def create_again(migration: Migration, topic: str) -> None:
    """Delete a topic if it is there and create it again, which takes a moment until the broker has done the first."""
    with suppress(KafkaException):
        delete(migration.kafka, topic)
    until = time.monotonic() + LIMIT
    while True:
        try:
            size = {"max_message_bytes": "2000000"} if topic == migration.target else {}
            create(migration.kafka, topic, **size)
            return
        except KafkaException:
            assert time.monotonic() < until
            time.sleep(0.1)
