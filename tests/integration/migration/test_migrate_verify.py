"""``migrate verify`` on real servers: it says yes to what copying gives, and no to one changed byte, with the place."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from command import CommandLine, Ended
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from confluent_stand_in import ConfluentStandIn
from schemas import record
from servers import ConfluentRegistry, Kafka, Pulsar

from streamnative_serdes.migration import Rewriter, Route, Side, State
from streamnative_serdes.migration.verifying.side_reader import DeletedMessagesError, SideReader
from streamnative_serdes.schema_registry import SchemaRegistryClient as PulsarRegistry

PARTITIONS = 3
SECONDS = 60.0
BEGIN = 1_700_000_000_000
POINT = record("Point", ("x", "double"), ("y", "float"))
ID = ("id", ["null", "int", "long"], None)
FIRST = record("User", ("name", "string"), ID)
MORE = (("at", ["null", POINT], None), ("tags", {"type": "map", "values": "string"}, {}))
SECOND = record("User", ("name", "string"), ID, *MORE)
GOOD = 400  # messages that can be copied

Ready: TypeAlias = tuple["Migration", list[dict[str, Any]], State]

pytestmark = pytest.mark.usefixtures("nothing_is_known")


class Migration:
    """A source that Confluent's serializer wrote, a target that is written by hand, and the commands."""

    def __init__(self, kafka: Kafka, confluent: str, pulsar: Pulsar, folder: Path) -> None:
        self.bootstrap, self.confluent, self.pulsar = kafka.bootstrap_servers, confluent, pulsar.url
        word = uuid.uuid4().hex[:10]
        self.source, self.target = f"source-{word}", f"target-{word}"
        self.create(self.source, self.target)
        self.folder, self._run = folder, CommandLine()
        self.ids: list[Any] = []
        self.bad = 0

    def create(self, *names: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        forever = {"retention.ms": "-1"}  # the timestamps of the messages are long ago
        for future in admin.create_topics([NewTopic(name, PARTITIONS, config=forever) for name in names]).values():
            future.result(SECONDS)

    def producer(self, **more: Any) -> Producer:
        return Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, **more})

    def register(self, topic: str) -> None:
        """Register both schemas for a topic of Pulsar's."""
        with self.route(topic, topic).pulsar_registry() as registry:
            assert isinstance(registry, PulsarRegistry)
            for number, schema in enumerate((FIRST, SECOND)):
                assert registry.register(topic, json.dumps(schema)) == number

    def route(self, source: str, target: str, direction: Any = "forward") -> Route:
        conf = {"bootstrap.servers": self.bootstrap}
        sides = (Side(conf, {"schema.registry.url": url}) for url in (self.confluent, self.pulsar))
        return Route(direction, source, target, *sides)

    def save(self, source: str, target: str, mapping: Any, direction: Any = "forward") -> State:
        route = self.route(source, target, direction)
        state = State(self.folder / f"{direction}-{target}.json", route, dict(mapping))
        state.save()
        return state

    def messages(self, **conf: Any) -> list[dict[str, Any]]:
        """What the source gets, by Confluent's serializer: two versions, tombstones, all kinds of keys and headers."""
        registry = SchemaRegistryClient({"url": self.confluent})
        serializers = [AvroSerializer(registry, json.dumps(schema), conf=conf) for schema in (FIRST, SECOND)]
        found: list[dict[str, Any]] = []
        for number in range(GOOD):
            headers = [("trace", b"%d" % number), ("null", None), ("raw", b"\xff")] if number % 3 else []
            context = SerializationContext(self.source, MessageField.VALUE, headers)
            value = serializers[number % 2](self.user(number), context) if number % 20 != 19 else None
            key = (None, b"", b"key %d" % number)[number % 3]
            found.append({"value": value, "key": key, "headers": headers, "partition": number % PARTITIONS})
        registry.__exit__()
        return found

    @staticmethod
    def user(number: int) -> dict[str, Any]:
        user: dict[str, Any] = {"name": f"user {number}", "id": (None, number, 2**40 + number)[number % 3]}
        if number % 2:
            user |= {"at": {"x": float("nan"), "y": -0.0}, "tags": {"b": "2", "a": "1"}}
        return user

    def fill(self, messages: list[dict[str, Any]], rewriter: Rewriter, change: Any = None, target: str = "") -> None:
        """Write the source with an aborted transaction and bad messages in between, and the target."""
        producer = self.producer(**{"transactional.id": self.source})
        producer.init_transactions(SECONDS)
        for begin in range(0, GOOD, 100):
            for commits in (False, True):
                producer.begin_transaction()
                for number, message in enumerate(messages[begin : begin + 100], begin):
                    producer.produce(self.source, timestamp=BEGIN + number, **message)
                assert producer.flush(SECONDS) == 0
                if commits:
                    producer.produce(self.source, b"\x00corrupt %d" % begin, b"bad", 0, timestamp=BEGIN)
                    producer.commit_transaction(SECONDS)
                    self.bad += 1
                else:
                    producer.abort_transaction(SECONDS)
        self.copy(messages, rewriter, change, target or self.target)

    def copy(self, messages: list[dict[str, Any]], rewriter: Rewriter, change: Any, target: str) -> None:
        producer = self.producer()
        for number, message in enumerate(messages):
            value, headers = message["value"], message["headers"] or None
            if value is not None:
                value, headers = rewriter.rewrite(value, headers)
            parts = {"value": value, "headers": headers, "key": message["key"], "timestamp": BEGIN + number}
            if change is not None:
                change(number, parts)
            producer.produce(target, partition=message["partition"], **parts)
        assert producer.flush(SECONDS) == 0

    def command(self, step: str, state: State, *more: str, code: int = 0) -> Ended:
        addresses = ["--source-registry", self.confluent, "--target-registry", self.pulsar]
        addresses += ["--source-bootstrap", self.bootstrap, "--target-bootstrap", self.bootstrap]
        back = ["--back"] if state.route.direction == "back" else []
        names = (state.route.source, state.route.target)
        return self._run("migrate", step, *names, "--state", str(state.path), *addresses, *back, *more, code=code)

    def verify(self, state: State, *more: str, code: int = 0) -> Any:
        """The JSON of ``migrate verify``."""
        ended = self.command("verify", state, "--json", *more, code=code)
        return ended.json


@pytest.fixture
def migration(kafka: Kafka, confluent_registry: ConfluentRegistry, pulsar: Pulsar, tmp_path: Path) -> Migration:
    return Migration(kafka, confluent_registry.url, pulsar, tmp_path)


@pytest.fixture
def ready(migration: Migration) -> Ready:
    """With schemas on both sides, and messages that are not sent yet."""
    messages = migration.messages()
    with SchemaRegistryClient({"url": migration.confluent}) as registry:
        versions = [registry.get_version(f"{migration.source}-value", number) for number in (1, 2)]
    migration.register(migration.target)
    mapping = {version.schema_id: number for number, version in enumerate(versions)}
    return migration, messages, migration.save(migration.source, migration.target, mapping)


@pytest.mark.promise("dead-letters")
def test_it_says_yes_to_what_copying_gives(ready: Ready) -> None:
    migration, messages, state = ready
    migration.fill(messages, state.rewriter())
    found = migration.verify(state)
    assert found["same"]
    totals = {name: sum(one[name] for one in found["partitions"]) for name in ("source", "copied", "bad", "tombstones")}
    assert totals == {"source": GOOD + 4, "copied": GOOD, "bad": 4, "tombstones": GOOD // 20}
    assert all(one["source_checksum"] == one["target_checksum"] for one in found["partitions"])
    ended = migration.command("verify", state)
    assert "all messages are the same" in ended.out


@pytest.mark.promise("every-part")
@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("value", lambda parts: parts.update(value=parts["value"][:-1] + bytes([parts["value"][-1] ^ 2]))),
        ("timestamp", lambda parts: parts.update(timestamp=parts["timestamp"] + 1)),
        ("key", lambda parts: parts.update(key=b"")),
        ("headers", lambda parts: parts.update(headers=[("trace", b"200"), ("null", b""), ("raw", b"\xff")])),
    ],
)
def test_it_says_no_to_one_changed_part_with_its_place(ready: Ready, part: str, change: Any) -> None:
    migration, messages, state = ready
    migration.fill(messages, state.rewriter(), lambda number, parts: change(parts) if number == 200 + 1 else None)
    found = migration.verify(state, code=1)
    (difference,) = found["differences"]
    assert (difference["part"], difference["partition"], difference["target_offset"]) == (part, 0, 67)
    # Before it are 67 messages that were aborted, and two markers and a bad message for each 100 messages.
    assert difference["source_offset"] > difference["target_offset"]
    ended = migration.command("verify", state, code=1)
    assert f"partition 0, source offset {difference['source_offset']}, target offset 67: {part}" in ended.out
    only = migration.verify(state, "--partition", "1")
    assert only["same"]


def test_a_missing_topic_is_an_error_of_the_server(ready: Ready) -> None:
    migration, _, state = ready
    gone = migration.save(state.route.source, "missing", state.mapping)
    ended = migration.command("verify", gone, code=3)
    assert "the broker does not have topic missing" in ended.err


def test_messages_that_are_deleted_while_they_are_read_are_an_error(ready: Ready) -> None:
    migration, messages, state = ready
    migration.fill(messages, state.rewriter())
    admin = AdminClient({"bootstrap.servers": migration.bootstrap})
    with SideReader({"bootstrap.servers": migration.bootstrap}, migration.source) as reader:
        where = TopicPartition(migration.source, 1, 20)
        admin.delete_records([where])[where].result(SECONDS)
        with pytest.raises(DeletedMessagesError, match="partition 1: the broker has deleted offset 0"):
            list(reader.messages(1, 0))
    # From then on, the target begins with copies of what the source has deleted.
    first, second, third = migration.verify(state)["partitions"]
    assert (first["older"], second["older"], third["older"]) == (0, 0, 0)
    with SideReader({"bootstrap.servers": migration.bootstrap}, migration.source) as reader:
        where = TopicPartition(migration.source, 1, reader.bounds[1][1] // 2)
    admin.delete_records([where])[where].result(SECONDS)
    found = migration.verify(state)["partitions"][1]
    assert found["older"] > 0
    assert found["older"] + found["copied"] == GOOD // PARTITIONS


def test_it_agrees_with_migrate_topic(ready: Ready) -> None:
    migration, messages, state = ready
    migration.fill(messages, state.rewriter(), target=migration.source + "-unused")
    migration.command("topic", state, "--accept", "message-size", "--json")
    letters = ("--dead-letters", f"topic:{migration.target}.dead-letters")
    found = migration.verify(state, *letters)
    assert (found["same"], found["dead_letters_checked"]) == (True, True)
    sample = migration.verify(state, "--sample", "5", "--seed", "3")
    assert (sample["same"], sample["whole"]) == (True, False)
    assert sample["samples"] == PARTITIONS
    assert migration.verify(state, "--until", "copied", *letters)["same"]


def test_it_compares_the_way_back(ready: Ready) -> None:
    migration, messages, state = ready
    forward = state.rewriter()
    migration.fill(messages, forward)
    final = f"final-{migration.source}"
    migration.create(final)
    back = migration.save(migration.target, final, {number: name for name, number in state.mapping.items()}, "back")
    copied = [
        {**message, "value": None if message["value"] is None else forward.rewrite(message["value"], None)[0]}
        for message in messages
    ]
    migration.copy(copied, back.rewriter(), None, final)
    found = migration.verify(back)
    assert (found["same"], sum(one["copied"] for one in found["partitions"])) == (True, GOOD)
    producer = migration.producer()
    producer.produce(migration.target, forward.rewrite(messages[1]["value"], None)[0], partition=0)
    assert producer.flush(SECONDS) == 0
    assert [one["part"] for one in migration.verify(back, code=1)["differences"]] == ["missing"]


def test_schemas_in_headers_are_compared_by_guid(kafka: Kafka, pulsar: Pulsar, tmp_path: Path) -> None:
    with ConfluentStandIn() as confluent:
        migration = Migration(kafka, confluent.url, pulsar, tmp_path)
        messages = migration.messages(**{"schema.id.serializer": header_schema_id_serializer})
        migration.register(migration.target)
        mapping = {str(uuid.UUID(bytes=confluent.guid(number + 1))): number for number in range(2)}
        state = migration.save(migration.source, migration.target, mapping)
        migration.fill(messages, state.rewriter())
        found = migration.verify(state)
        assert found["same"]
        assert sum(one["copied"] for one in found["partitions"]) == GOOD
