"""The commands of docs/migration.md run in order as they stand there, but for the addresses, at real servers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from migrations import VERSIONS, commit, create, messages, new_name, read, register, send, user
from servers import ConfluentRegistry, Kafka, Pulsar

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer

TEXT = (Path(__file__).parents[3] / "docs" / "migration.md").read_text(encoding="utf-8")
PART = TEXT[TEXT.index("## Copy a topic without downtime") : TEXT.index("## Keys")]
# Blocks of commands, and the places where the copy that was left running is to be stopped.
STEPS = re.findall(r"```sh\n(.*?)```|(stop the copy with Ctrl-C)", PART, re.DOTALL | re.IGNORECASE)
LIMIT = 300.0  # seconds

pytestmark = [
    pytest.mark.usefixtures("nothing_is_known"),
    pytest.mark.skipif(os.name == "nt", reason="the page is for a POSIX shell"),
]


class Person:
    """Follows the page in a folder; the names of topic and group are unique in the test."""

    def __init__(self, folder: Path, programs: Path, names: dict[str, str]) -> None:
        self._folder, self._names = folder, names
        self._environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        self._running: subprocess.Popen[bytes] | None = None
        (toml,) = re.findall(r"```toml\n(.*?)```", PART, re.DOTALL)
        (folder / "migration.toml").write_text(self._named(toml))

    def _named(self, text: str) -> str:
        for name, real in self._names.items():
            text = text.replace(name, real)
        return text

    def run(self, commands: str) -> None:
        command = ["bash", "-euo", "pipefail", "-c", self._named(commands)]
        places: dict[str, Any] = {"cwd": self._folder, "env": self._environment, "stdin": subprocess.DEVNULL}
        if "--follow" in commands:
            self._running = subprocess.Popen(["bash", "-c", f"exec {self._named(commands)}"], **places)
            return
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, **places)
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr

    def stop_copying(self) -> None:
        if self._running is not None:
            self._running.send_signal(signal.SIGINT)
            assert self._running.wait(LIMIT) == 0
            self._running = None

    def end(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()


@pytest.fixture
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "streamnative-serdes"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m streamnative_serdes "$@"\n')
    program.chmod(0o700)
    return folder


@pytest.mark.promise("runbook", "way-back")
def test_the_page_leads_to_the_new_topic_and_back(
    kafka: Kafka, confluent_registry: ConfluentRegistry, pulsar: Pulsar, tmp_path: Path, programs: Path
) -> None:
    assert [bool(commands) for commands, _ in STEPS].count(True) == 8
    old, group, bootstrap = new_name("orders"), new_name("billing"), kafka.bootstrap_servers
    new = f"{old}-snip42"
    create(bootstrap, old)
    ids = register(confluent_registry.url, f"{old}-value", VERSIONS, "FULL")
    sent = messages(300, ids, bad=5, damaged=False)
    send(bootstrap, old, sent)
    commit(bootstrap, group, old, {0: 50, 1: 60, 2: 70})
    names = {
        "http://localhost:8081": confluent_registry.url,
        "http://localhost:8080": pulsar.url,
        "localhost:9092": bootstrap,
        "localhost:9093": bootstrap,
        "orders": old,
        "billing": group,
    }
    person = Person(tmp_path, programs, names)
    back = new_messages = 0
    try:
        for commands, stop in STEPS:
            if "--follow" in commands:
                person.run(commands)
                wait_for(bootstrap, new, 295)
            elif stop:
                person.stop_copying()
            else:
                if "--back" in commands:  # producers have changed, and write to the new topic
                    back, new_messages = 1, 30
                    write_new_messages(bootstrap, pulsar.url, new, new_messages)
                    commit(bootstrap, group, new, ends(bootstrap, new))
                person.run(commands)
    finally:
        person.end()
    assert back
    assert_objects_are_equal(bootstrap, old, new, confluent_registry.url, pulsar.url, len(sent) + new_messages)
    assert committed(bootstrap, group, old) == ends(bootstrap, old)


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        found = consumer.committed([TopicPartition(topic, partition) for partition in range(3)], 60)
        return {place.partition: place.offset for place in found}
    finally:
        consumer.close()


def ends(bootstrap: str, topic: str) -> dict[int, int]:
    """The offset behind the last message of each partition; transactions' markers do not count."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "ends", "isolation.level": "read_committed"})
    found = {}
    try:
        for partition in range(3):
            _, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), 60)
            found[partition] = high
            for back in range(1, min(high, 20) + 1):
                consumer.assign([TopicPartition(topic, partition, high - back)])
                message = consumer.poll(1.0)
                if message is not None and message.error() is None:
                    found[partition] = message.offset() + 1  # type: ignore[operator]
                    break
    finally:
        consumer.close()
    return found


def wait_for(bootstrap: str, topic: str, count: int) -> None:
    until = time.monotonic() + LIMIT
    while sum(map(len, read(bootstrap, topic).values())) < count:
        assert time.monotonic() < until
        time.sleep(0.2)


def write_new_messages(bootstrap: str, registry: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    with KafkaAvroSerializer({"schema.registry.url": registry}, VERSIONS[3]) as serializer:
        for number in range(count):
            producer.produce(topic, serializer.serialize(topic, user(number, 3)), b"new", number % 3)
    assert producer.flush(60) == 0


def assert_objects_are_equal(bootstrap: str, old: str, new: str, confluent: str, pulsar: str, count: int) -> None:
    """Confluent's deserializer reads the same objects from the old topic as ours from the new one."""
    context = SerializationContext(old, MessageField.VALUE)
    objects: dict[str, list[Any]] = {old: [], new: []}
    conf = {"schema.registry.url": pulsar}
    with SchemaRegistryClient({"url": confluent}) as registry, KafkaAvroDeserializer(conf) as ours:
        theirs = AvroDeserializer(registry)
        for topic in objects:
            for partition, found in read(bootstrap, topic).items():
                for key, value, headers, (_, moment) in found:
                    if topic == old and not value_is_good(value):
                        continue
                    datum = theirs(value, context) if topic == old else ours.deserialize(new, value)
                    objects[topic].append((partition, key, headers, moment, datum))
    assert objects[old] == objects[new]
    assert len(objects[new]) == count - 5


def value_is_good(value: bytes | None) -> bool:
    return value is None or (value[:1] == b"\0" and len(value) > 5 and value[1:5] != (2_000_000_000).to_bytes(4))
