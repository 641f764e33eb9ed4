"""The command ``migrate verify`` on stand-ins for the servers: what it counts, what it reports, and how it ends."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import CommandLine, Ended
from confluent_kafka import Producer
from confluent_stand_in import ConfluentStandIn
from migrations import Sides
from schema_migrations import put
from schemas import record
from wire import sized, varint

from streamnative_serdes import header
from streamnative_serdes._kafka import Cluster, OffsetsGoneError, consuming
from streamnative_serdes.migration import State
from streamnative_serdes.migration.copying.dead_letters import DeadLetter, DeadLetterFile
from streamnative_serdes.migration.copying.progress import Kept, Progress, ProgressTopic
from streamnative_serdes.migration.verifying import verification as verify
from streamnative_serdes.migration.verifying.side_reader import DeletedMessagesError, SideReader
from streamnative_serdes.testing import LocalRegistry, MockBroker

USER = record("User", ("name", "string"), ("age", "int"))
SECOND = record("User", ("name", "string"), ("years", "int"))
PARTITIONS = 2
TIME = 1_700_000_000_000
QUIET = {"log_level": "0"}


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    with MockBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def confluent() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn() as confluent:
        confluent.register("users-value", USER)
        confluent.register("users-value", SECOND)
        yield confluent


def body(number: int) -> bytes:
    return sized(b"user %d" % number) + varint(number)


class Migration:
    """A source, a target with its schemas, and the command that compares them."""

    def __init__(self, broker: MockBroker, confluent: ConfluentStandIn, pulsar: LocalRegistry, folder: Path) -> None:
        self.broker, self.bootstrap = broker, broker.bootstrap_servers
        self._producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, **QUIET})
        word = uuid.uuid4().hex[:8]
        self.source, self.target = f"source-{word}", f"target-{word}"
        for name in (self.source, self.target, f"{self.target}.migration-state"):
            broker.create_topic(name, PARTITIONS)
        self.confluent, self.pulsar, self.folder = confluent, pulsar, folder
        self._run = CommandLine()
        pulsar.set_strategy("ALWAYS_COMPATIBLE")
        self.register(self.target, USER, SECOND)
        self.state = self.saved(self.source, self.target, {1: 0, 2: 1})
        self.letters = ("--dead-letters", f"topic:{self.target}.dead-letters")

    def register(self, topic: str, *schemas: Any) -> None:
        put(self.pulsar, f"public/default/{topic}", *schemas)

    def saved(self, source: str, target: str, mapping: dict[Any, int], direction: Any = "forward") -> State:
        state = State(self.folder / "state.json", self.sides().route(source, target, direction))
        state.mapping = mapping
        state.save()
        return state

    def send(self, topic: str, value: bytes | None, *, partition: int = 0, **more: Any) -> None:
        self._producer.produce(topic, value, partition=partition, **{"timestamp": TIME, **more})

    def copy(self, numbers: Iterable[int], *, wrong: Iterable[int] = (), left_out: Iterable[int] = ()) -> None:
        """Send messages to both topics, where some copies are not right or not there."""
        for number in numbers:
            more: Any = {"key": b"%d" % number, "partition": number % PARTITIONS, "timestamp": TIME + number}
            self.send(self.source, header.pack_id(1) + body(number), **more)
            if number not in left_out:
                self.send(self.target, header.pack(0) + body(number + (number in wrong)), **more)

    def __call__(self, *more: str, code: int | None = 0, names: tuple[str, ...] = ()) -> Ended:
        assert self._producer.flush(60) == 0
        names = names or (self.source, self.target)
        return self._run(*self.sides("--state", str(self.state.path))("verify", *names, *more), code=code)

    def sides(self, *more: str) -> Sides:
        return Sides(self.confluent.url, self.pulsar.url, self.bootstrap, more)

    def json(self, *more: str, code: int = 0) -> Any:
        """Its JSON, and its error if there is one."""
        ended = self(*more, "--json", code=code)
        return ended.json

    def places(self, *more: str) -> list[tuple[str, int, int | None, int | None]]:
        """Part, partition and both offsets of each difference."""
        found = self.json(*more, code=1)
        assert found["same"] is False
        return [
            (one["part"], one["partition"], one["source_offset"], one["target_offset"]) for one in found["differences"]
        ]

    def progress(self, partition: int, progress: Progress) -> None:
        """Write progress, with its anchors, as the copy does."""
        topic = ProgressTopic({}, self.target, self.name)
        words = [topic.words(partition, progress)]
        words += [topic.anchor_words(partition, *pair) for pair in progress.anchors]
        for key, value in words:
            self._producer.produce(topic.name, value, key, 0)

    @property
    def name(self) -> str:
        """What tells the source from others."""
        with SideReader({"bootstrap.servers": self.bootstrap}, self.source) as reader:
            return f"{self.source}@{reader.cluster}"


@pytest.fixture
def migration(broker: MockBroker, confluent: ConfluentStandIn, registry: LocalRegistry, tmp_path: Path) -> Migration:
    return Migration(broker, confluent, registry, tmp_path)


# What is found


def test_a_copy_is_the_same(migration: Migration) -> None:
    migration.copy(range(50))
    ended = migration()
    assert "all messages are the same" in ended.out
    found = migration.json()
    assert (found["same"], found["whole"], found["differences"]) == (True, True, [])
    for counts in found["partitions"]:
        assert (counts["source"], counts["copied"], counts["bad"], counts["newer"]) == (25, 25, 0, 0)
        assert counts["source_checksum"] == counts["target_checksum"]
        assert counts["stopped"] is None
    first, second = found["partitions"]
    assert first["source_checksum"] != second["source_checksum"]
    assert migration.json() == found


def test_one_changed_value_is_found_at_its_place(migration: Migration) -> None:
    migration.copy(range(50), wrong={23})
    assert migration.places() == [("value", 1, 11, 11)]
    ended = migration(code=1)
    assert "partition 1, source offset 11, target offset 11: value" in ended.out
    assert "'user 23'" in ended.out
    assert "'user 24'" in ended.out
    assert ended.err.splitlines()[0].startswith("Error: 1 differences between")
    one, other = migration.json(code=1)["partitions"]
    assert one["source_checksum"] == one["target_checksum"]
    assert other["source_checksum"] != other["target_checksum"]


def test_partitions_can_be_chosen(migration: Migration) -> None:
    migration.copy(range(50), wrong={23})
    assert [counts["partition"] for counts in migration.json("--partition", "0")["partitions"]] == [0]
    assert migration.places("--partition", "1", "--partition", "0") == [("value", 1, 11, 11)]
    ended = migration("--partition", "2", code=2)
    assert "no partition 2" in ended.err


def test_the_number_of_differences_that_are_shown_can_be_chosen(migration: Migration) -> None:
    migration.copy(range(50), wrong={1, 3, 5, 7})
    assert len(migration.places("--differences", "2")) == 2
    ended = migration("--differences", "2", code=1)
    assert "2 more differences" in ended.out


def test_newer_messages_are_counted_unless_it_has_to_be_exact(migration: Migration) -> None:
    migration.copy(range(20))
    migration.send(migration.target, header.pack(0) + body(99), partition=1)
    assert [counts["newer"] for counts in migration.json()["partitions"]] == [0, 1]
    assert migration.places("--exact") == [("unexpected", 1, None, 10)]


def test_guess_format_messages_may_be_allowed(migration: Migration) -> None:
    migration.copy(range(20))
    migration.send(migration.target, header.pack(0) + body(99), partition=1)
    migration.copy(range(20, 40))
    assert migration.places() == [("unexpected", 1, None, 10)]
    found = migration.json("--allow-foreign")
    assert [counts["foreign"] for counts in found["partitions"]] == [0, 1]


def test_a_schema_that_was_not_copied_is_named(migration: Migration) -> None:
    migration.saved(migration.source, migration.target, {1: 0})
    migration.copy(range(20))
    migration.send(migration.source, header.pack_id(2) + body(1))
    found = migration.json(code=1)
    assert found["schemas_not_copied"] == [2]
    assert "schemas 2; run `migrate schemas`" in migration(code=1).out


def test_bodies_that_cannot_be_decoded_are_counted_and_named(migration: Migration) -> None:
    migration.copy(range(20))
    migration.send(migration.source, header.pack_id(1) + b"\x7f")
    migration.send(migration.target, header.pack(0) + b"\x7f")
    migration.copy(range(20, 40))
    counts = migration.json()["partitions"][0]
    assert (counts["undecodable"], counts["undecodable_at"]) == (1, [10])
    assert "1 messages cannot be decoded on either side" in migration().out
    # With --check they belong to the dead letters.
    assert migration.places("--check") == [("unexpected", 0, None, 10)]


# Dead letters


@pytest.fixture
def letters(migration: Migration) -> list[DeadLetter]:
    """Those of messages that cannot be copied, which were sent among others."""
    found, headers = [], [("a", None), ("b", b"\xff")]
    for place, value in enumerate((b"", header.pack_id(99) + body(1), b"\x01corrupt")):
        migration.copy(range(place * 10, place * 10 + 10))
        migration.send(migration.source, value, key=b"bad", headers=headers, timestamp=TIME + 7)
        found.append(DeadLetter(0, place * 6 + 5, TIME + 7, b"bad", value, headers, "reason"))
    return found


def send_letters(migration: Migration, found: Iterable[DeadLetter]) -> None:
    for letter in found:
        message = letter.produced(migration.source)
        migration.send(f"{migration.target}.dead-letters", message.pop("value"), partition=letter.partition, **message)


@pytest.mark.usefixtures("letters")
def test_bad_messages_are_not_in_the_target_and_counted(migration: Migration) -> None:
    counts = migration.json()["partitions"][0]
    assert (counts["source"], counts["copied"], counts["bad"]) == (18, 15, 3)
    assert "dead letters were not checked" in migration().out


@pytest.mark.promise("dead-letters")
def test_the_dead_letters_in_a_topic_are_checked(migration: Migration, letters: list[DeadLetter]) -> None:
    send_letters(migration, letters[:2])
    assert migration.places(*migration.letters) == [("dead letter", 0, 17, None)]
    send_letters(migration, letters[2:])
    assert migration.json(*migration.letters)["dead_letters_repeated"] == 0
    send_letters(migration, letters[2:])
    assert migration.json(*migration.letters, code=1)["dead_letters_repeated"] == 1
    assert "1 dead letters are there more than once" in migration(*migration.letters, code=1).err


def test_dead_letters_are_looked_for_where_the_copy_has_put_them(
    migration: Migration, letters: list[DeadLetter]
) -> None:
    path = migration.folder / "letters"
    places = (f"topic:{migration.target}.dead-letters", f"file:{path}")
    migration.progress(0, Progress(18, 15, 3, letters=places[:1]))
    send_letters(migration, letters[:2])
    assert migration.places() == [("dead letter", 0, 17, None)]
    assert migration.json("--dead-letters", "unchecked")["dead_letters_checked"] is False
    migration.progress(0, Progress(18, 15, 3, letters=places))
    assert "does not exist" in migration(code=1).err
    file = DeadLetterFile(path, migration.name, {})
    file.add(letters[2])
    file.secure()
    assert migration.json()["dead_letters_checked"] is True
    file.add(letters[0])
    file.secure()
    file.close()
    assert migration.json(code=1)["dead_letters_repeated"] == 1


def test_without_a_progress_to_go_by_dead_letters_are_looked_for_in_their_usual_topic(
    migration: Migration, letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert migration.json()["dead_letters_checked"] is False  # there is no such topic
    send_letters(migration, letters[:2])
    assert migration.places() == [("dead letter", 0, 17, None)]
    monkeypatch.setattr(Cluster, "id_of", lambda *_: (True, None))  # the mock broker does not describe topics
    progress = Progress(15, 15, last=(14, 14), read=Kept(14, 1, "other"), letters=("file:/not/believed",))
    migration.progress(0, progress)
    assert migration.places() == [("dead letter", 0, 17, None)]
    send_letters(migration, letters[2:])
    assert migration.json()["dead_letters_checked"] is True


def test_progress_of_other_topics_is_not_gone_by(migration: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "id_of", lambda *_: (True, None))  # the mock broker does not describe topics
    migration.copy(range(40))
    assert migration()  # sends all
    progress = Progress(15, 15, last=(14, 14), read=Kept(14, 1, "other"), anchors=[(0, 0)])
    migration.progress(0, progress)
    assert migration.json()["same"]
    for option in (("--until", "copied"), ("--sample", "1")):
        assert "the source is not the topic that the copy was begun with" in migration(*option, code=1).err


@pytest.mark.parametrize(
    "change", [{"value": b"other"}, {"key": None}, {"headers": None}, {"timestamp": TIME}, {"value": None}]
)
def test_a_dead_letter_has_to_be_the_message_as_it_was(
    migration: Migration, letters: list[DeadLetter], change: dict[str, Any]
) -> None:
    changed = DeadLetter(**{**{name: getattr(letters[1], name) for name in DeadLetter.__slots__}, **change})
    send_letters(migration, [letters[0], changed, letters[2]])
    assert migration.places(*migration.letters) == [("dead letter", 0, 11, None)]


def test_a_dead_letter_of_a_message_that_can_be_copied_is_a_difference(migration: Migration) -> None:
    migration.copy(range(20))
    send_letters(migration, [DeadLetter(0, 4, TIME, b"k", b"v", None, "reason")])
    other = DeadLetter(0, 3, TIME, b"k", b"v", None, "reason").produced("another")
    migration.send(f"{migration.target}.dead-letters", other.pop("value"), **other)
    assert migration.places(*migration.letters) == [("dead letter", 0, 4, None)]


@pytest.mark.promise("dead-letters")
def test_the_dead_letters_in_a_file_are_checked(migration: Migration, letters: list[DeadLetter]) -> None:
    path = migration.folder / "letters"
    option = ("--dead-letters", f"file:{path}")
    assert migration()  # sends all
    file = DeadLetterFile(path, migration.name, {})
    for letter in letters[1:]:
        file.add(letter)
    file.secure()
    assert migration.places(*option) == [("dead letter", 0, 5, None)]
    file.add(letters[0])
    file.secure()
    file.close()
    assert migration.json(*option)["same"]
    path.write_text(path.read_text().replace('"offset": 11', '"offset": 12'))
    assert "damaged" in migration(*option, code=1).err


def test_dead_letters_that_are_not_there_are_an_error(migration: Migration) -> None:
    assert "expected topic:NAME, file:PATH or unchecked" in migration("--dead-letters", "letters", code=2).err
    assert "does not exist" in migration("--dead-letters", f"file:{migration.folder}/none", code=1).err


def test_dead_letters_of_what_was_not_compared_do_not_matter(migration: Migration) -> None:
    migration.copy(range(200), left_out=range(20, 100))
    send_letters(migration, [DeadLetter(0, 90, TIME, b"k", b"v", None, "reason")])
    found = migration.json(*migration.letters, code=1)
    assert [one["stopped"] is None for one in found["partitions"]] == [False, False]
    assert [one["source_offset"] for one in found["differences"]] == [10, 10]


# Samples, and how far copying has come


def test_samples_are_taken_at_places_that_copying_has_noted(migration: Migration) -> None:
    migration.copy(range(2000), wrong={1300})
    for partition in range(PARTITIONS):
        anchors = [(place, place) for place in (0, 200, 400, 600, 800)]
        migration.progress(partition, Progress(1000, 1000, last=(999, 999), anchors=anchors))
    found = migration.json("--sample", "3", "--seed", "0")
    assert (found["whole"], found["samples"], found["seed"]) == (False, 3, 0)
    assert sum(counts["source"] for counts in found["partitions"]) in (300, 201)
    assert "other messages may be missing or different" in migration("--sample", "3").out
    assert migration.json("--sample", "3") == found
    # All of the places, and so the one before the wrong message too.
    assert migration.places("--sample", "100") == [("value", 0, 650, 650)]
    assert migration.json("--sample", "100", "--partition", "1")["samples"] == 6
    sums = []
    for seed in range(4):
        ended = migration("--sample", "2", "--seed", str(seed), "--json", code=None)
        sums.append([counts["source_checksum"] for counts in ended.json["partitions"]])
    assert any(one != sums[0] for one in sums)


def test_a_sample_needs_the_progress_of_a_copy(migration: Migration) -> None:
    migration.copy(range(20))
    assert "no progress of a copy" in migration("--sample", "1", code=2).err


def test_no_samples_are_taken_where_the_target_has_deleted_copies(
    migration: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    migration.copy(range(1000))
    migration.progress(0, Progress(500, 500, last=(499, 499), anchors=[(0, 0), (299, 299), (300, 300)]))
    look = SideReader.look
    readers: list[SideReader] = []

    def looking(reader: SideReader) -> None:
        readers.append(reader)
        look(reader)
        if len(readers) % 2 == 0:  # the target's
            reader.bounds[0] = 300, 500

    monkeypatch.setattr(SideReader, "look", looking)
    found = migration.json("--sample", "9")
    assert (found["same"], found["samples"]) == (True, 2)


def test_copying_that_began_later_is_compared_from_there(migration: Migration) -> None:
    migration.copy(range(100))
    migration.progress(0, Progress(50, 50, last=(49, 49), anchors=[(20, 20), (40, 40)]))
    migration()
    outcome = verify.Verification(migration.state, verify.Scope(start={0: 30, 1: 30})).run()
    assert outcome.same
    # Copies before it are looked for from the last anchor before it, if there is one.
    assert [(counts.source, counts.copied, counts.older) for counts in outcome.partitions] == [
        (20, 20, 10),
        (20, 20, 30),
    ]


def test_comparing_may_end_where_copying_has_come(migration: Migration) -> None:
    migration.copy(range(40), left_out=range(30, 40))
    for partition in range(PARTITIONS):
        migration.progress(partition, Progress(15, 15, last=(14, 14)))
    assert len(migration.places("--differences", "100")) == 10
    found = migration.json("--until", "copied")
    assert [counts["source"] for counts in found["partitions"]] == [15, 15]


def test_copies_that_are_about_to_come_are_waited_for(migration: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    migration.copy(range(20), left_out={19})
    migration.progress(1, Progress(10, 10, last=(9, 9)))
    look = SideReader.look
    looked: list[SideReader] = []

    def looking(reader: SideReader) -> None:
        looked.append(reader)
        if looked.count(looked[-1]) == 3:
            migration.send(migration.target, header.pack(0) + body(19), partition=1, key=b"19", timestamp=TIME + 19)
            assert migration._producer.flush(60) == 0
        look(reader)

    monkeypatch.setattr(SideReader, "look", looking)
    assert migration.json()["same"]
    assert looked.count(looked[-1]) == 3  # the target's


def test_dead_letters_that_cannot_be_read_yet_are_waited_for(
    migration: Migration, letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
) -> None:
    send_letters(migration, letters[:2])
    assert migration._producer.flush(60) == 0
    bounds, asked = verify.bounds, []

    def bounds_so_far(kafka: Any, topic: str, *, committed: bool = True) -> dict[int, tuple[int, int]]:
        """As if there was one more in a transaction that is about to end."""
        found = bounds(kafka, topic, committed=committed)
        if not committed:
            return {number: (low, high + (number == 0)) for number, (low, high) in found.items()}
        asked.append(topic)
        if len(asked) == 3:
            send_letters(migration, letters[2:])
            assert migration._producer.flush(60) == 0
        return found

    monkeypatch.setattr(verify, "bounds", bounds_so_far)
    assert migration.json(*migration.letters)["same"]
    assert asked == [f"{migration.target}.dead-letters"] * 4


def test_copies_that_never_come_are_missing(migration: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_SETTLING_SECONDS", 0.3)
    migration.copy(range(20), left_out={19})
    migration.progress(1, Progress(10, 10, last=(9, 9)))
    assert migration.places() == [("missing", 1, 9, None)]


def test_the_progress_of_another_source_is_an_error(migration: Migration) -> None:
    migration.copy(range(10))
    topic = ProgressTopic({}, migration.target, "other@cluster")
    key, value = topic.words(0, Progress(1))
    migration.send(topic.name, value, key=key)
    assert "other@cluster" in migration(code=1).err


# The way back


def test_the_way_back_is_compared(migration: Migration) -> None:
    migration.saved(migration.source, migration.target, {0: 1, 1: 2}, "back")
    migration.register(migration.source, USER)
    for number in range(20):
        migration.send(migration.source, header.pack(0) + body(number))
        migration.send(migration.target, header.pack_id(1) + body(number + (number == 13)))
    migration.send(migration.source, b"no framing")
    assert migration.places("--back") == [("value", 0, 13, 13)]
    assert migration.json("--back", code=1)["partitions"][0]["bad"] == 1


def test_the_way_back_begins_behind_what_the_way_forth_has_copied(migration: Migration) -> None:
    migration.saved(migration.source, migration.target, {0: 1}, "back")
    migration.register(migration.source, USER)
    copied = ProgressTopic({}, migration.source, "first@cluster")
    migration.broker.create_topic(copied.name, 1)
    for partition in range(PARTITIONS):
        for number in range(10):
            migration.send(migration.source, header.pack(0) + body(number), partition=partition)
            migration.send(migration.target, header.pack_id(1) + body(100 + number), partition=partition)
        key, value = copied.words(partition, Progress(9, 5, last=(8, 4)))
        migration.send(copied.name, value, key=key)
        for number in range(5, 10):
            migration.send(migration.target, header.pack_id(1) + body(number), partition=partition)
    found = migration.json("--back", "--from", "copied")
    assert [(one["source"], one["copied"], one["older"]) for one in found["partitions"]] == [(5, 5, 10)] * 2


def test_only_the_way_back_begins_behind_copies(migration: Migration) -> None:
    assert "--from copied is for --back" in migration("--from", "copied", code=2).err


# Failures


def test_a_state_file_without_schemas_is_an_error(migration: Migration) -> None:
    migration.state.path.unlink()
    ended = migration(code=1)
    assert "has no schemas" in ended.err
    assert "migrate schemas" in ended.err


def test_a_topic_with_other_partitions_is_an_error(migration: Migration, broker: MockBroker) -> None:
    broker.create_topic(f"{migration.target}-3", 3)
    migration.saved(migration.source, f"{migration.target}-3", {1: 0})
    ended = migration(names=(migration.source, f"{migration.target}-3"), code=1)
    assert "expected 2 partitions as in the source, got 3" in ended.err


def test_a_lost_schema_of_the_source_is_an_error_of_the_server(migration: Migration) -> None:
    migration.saved(migration.source, migration.target, {1: 0, 77: 1})
    migration.send(migration.source, header.pack_id(77) + body(1))
    assert "has lost schema 77" in migration(code=3).err


def test_without_guids_in_the_registry_a_guid_is_bad_unless_it_was_copied(
    broker: MockBroker, registry: LocalRegistry, tmp_path: Path
) -> None:
    with ConfluentStandIn(guids=False) as confluent:
        confluent.register("users-value", USER)
        migration = Migration(broker, confluent, registry, tmp_path)
        in_header: Any = [("__value_schema_id", b"\x01" + confluent.guid(1))]
        migration.send(migration.source, body(1), headers=in_header)
        assert migration.json()["partitions"][0]["bad"] == 1
        guid = str(uuid.UUID(bytes=confluent.guid(1)))
        migration.saved(migration.source, migration.target, {guid: 0})
        assert f"has lost schema {guid}" in migration(code=3).err


def test_schemas_in_headers_are_compared_by_guid(migration: Migration) -> None:
    guid = migration.confluent.guid(1)
    migration.saved(migration.source, migration.target, {str(uuid.UUID(bytes=guid)): 0})
    in_header: Any = [("trace", b"1"), ("__value_schema_id", b"\x01" + guid)]
    for number in range(10):
        migration.send(migration.source, body(number), headers=in_header)
        migration.send(migration.target, header.pack(int(number == 7)) + body(number), headers=in_header[:1])
    assert migration.places() == [("schema", 0, 7, 7)]


@pytest.mark.parametrize(("low", "expected"), [(501, DeletedMessagesError), (500, OffsetsGoneError)])
def test_messages_that_are_deleted_while_they_are_read_are_an_error(
    migration: Migration, monkeypatch: pytest.MonkeyPatch, low: int, expected: type[Exception]
) -> None:
    migration.copy(range(10))
    migration()
    with SideReader({"bootstrap.servers": migration.bootstrap}, migration.source) as reader:
        reader.bounds[0] = (0, 900)
        monkeypatch.setattr(consuming, "bounds_of", lambda *_: (low, 900))
        with pytest.raises(expected) as caught:
            list(reader.messages(0, 500))
    if low > 500:
        assert "partition 0: the broker has deleted offset 500" in str(caught.value)


def test_only_the_messages_that_are_asked_for_are_read(migration: Migration) -> None:
    migration.copy(range(20))
    migration()
    with SideReader({"bootstrap.servers": migration.bootstrap}, migration.source) as reader:
        assert [message.offset() for message in reader.messages(1, 3, 7)] == [3, 4, 5, 6]
        assert [message.offset() for message in reader.messages(0, 8)] == [8, 9]
        assert list(reader.messages(0, 10)) == []
