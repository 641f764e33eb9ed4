"""Entries that Pulsar's and Kafka's own classes have composed, stored by a real broker, and read by its admin API."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from command import CommandLine
from java_entries import GOLDEN, Topic, golden, sent, topic_of
from java_entries.java import lines_of_java
from java_program import jdk
from kop_entries import EntryProducer, _number, _text, keep_entries, sealed, send_entries
from servers import Pulsar, Tokens

from streamnative_serdes import AuthenticationError, AuthorizationError, SchemaRegistryError
from streamnative_serdes.converters import AdminEntryReader, EntryReader, Message, StoredEntry, read_dump
from streamnative_serdes.errors import ConfigError, DecodeError

METADATA = _text(1, b"p") + _number(2, 0) + _number(3, 1_600_000_000_000)
TOPICS = golden()


def test_java_composes_the_golden_entries(servers_at_hand: None) -> None:
    """Byte for byte where no library's version decides; the others hold the same messages."""
    if jdk() is None:
        pytest.skip("no JDK")
    made = lines_of_java()
    assert len(made) == len(TOPICS)
    for ours, javas in zip(GOLDEN.read_text().splitlines(), made, strict=True):
        recorded, topic = topic_of(ours), topic_of(javas)
        if recorded.plain:
            assert ours == javas
        assert (topic.messages, topic.committed) == (recorded.messages, recorded.committed)
        reader = EntryReader(schema_header=False)
        assert [m for entry in topic.entries for m in reader.entry(entry)] == list(recorded.messages)


class Place:
    """A topic of a broker with tokens, whose entries stay."""

    def __init__(self, server: Pulsar, tokens: Tokens) -> None:
        self.server, self._tokens, self.stack = server, tokens, ExitStack()
        self.topic = f"entries-{uuid.uuid4().hex[:12]}"
        keep_entries(server, self.topic)

    def admin(self, role: str = "consume", **options: bool) -> AdminEntryReader:
        """A reader with the token of a role."""
        conf = {"schema.registry.url": self.server.url, "bearer.auth.token": self._tokens.of(role)}
        return self.stack.enter_context(AdminEntryReader(conf, **options))

    def entries(self, role: str = "consume", **options: bool) -> list[StoredEntry]:
        return list(self.admin(role, **options).entries(self.topic))

    def send(self, topic: Topic) -> None:
        with EntryProducer(self.server, self.topic) as producer:
            for entry, count in zip(topic.entries, topic.counts, strict=True):
                producer.send(sent(entry), count)

    def send_single(self, fields: bytes, payload: bytes = b"v") -> None:
        """Send a single message, with more metadata."""
        send_entries(self.server, self.topic, sealed(METADATA + fields, payload))


@pytest.fixture
def place(pulsar_with_tokens: Pulsar, tokens: Tokens) -> Iterator[Place]:
    made = Place(pulsar_with_tokens, tokens)
    with made.stack:
        yield made


@pytest.mark.parametrize("stored", TOPICS.values(), ids=TOPICS)
def test_golden_entries_come_back_from_a_broker(place: Place, stored: Topic) -> None:
    place.send(stored)
    entries = place.entries()
    reader = EntryReader(schema_header=False)
    assert [m for entry in entries for m in reader.entry(entry.data)] == list(stored.messages)
    if stored.kafka or stored.plain:  # the admin API decompresses what a producer of Pulsar has compressed
        assert [entry.data for entry in entries] == list(stored.entries)
    if stored.kafka:
        committed = EntryReader(isolation="read_committed")
        found = {m.offset for entry in entries for m in committed.entry(entry.data)}
        assert found == stored.committed


def test_partitions_and_ledgers_are_read_in_order_and_from_any_place(place: Place) -> None:
    server, name = place.server, f"entries-{uuid.uuid4().hex[:12]}"
    server.admin("PUT", f"persistent/public/default/{name}/partitions", json=2).raise_for_status()
    first, second = f"{name}-partition-0", f"{name}-partition-1"
    keep_entries(server, first)
    data = [sent(entry) for entry in TOPICS["none"].entries]
    send_entries(server, first, data[0], data[0])
    server.admin("PUT", f"persistent/public/default/{first}/unload").raise_for_status()  # a new ledger
    send_entries(server, first, data[0])
    send_entries(server, second, data[0])
    reader = place.admin()
    entries = list(reader.entries(name))
    assert [entry.partition for entry in entries] == [0, 0, 0, 1]
    assert [entry.entry for entry in entries] == [0, 1, 0, 0]
    assert entries[0].ledger == entries[1].ledger < entries[2].ledger
    assert list(reader.entries(first)) == list(reader.entries(name, partition=0)) == entries[:3]
    assert list(reader.entries(first, start=(entries[1].ledger, 1))) == entries[1:3]
    assert list(reader.entries(first, start=(entries[1].ledger, 2))) == entries[2:3]
    assert list(reader.entries(first, start=(entries[2].ledger + 1, 0))) == []
    assert reader.entry(name, entries[2].ledger, 0, partition=0) == entries[2]
    assert entries[2].place == f"partition 0, entry {entries[2].ledger}:0"
    with pytest.raises(ConfigError, match=r"start: expected one partition .* got 2"):
        next(reader.entries(name, start=(1, 0)))


def test_a_topic_without_entries_has_none(place: Place) -> None:
    assert place.entries() == []


def test_the_right_to_consume_is_needed(place: Place) -> None:
    place.send(TOPICS["none"])
    assert len(place.entries("consume")) == 2
    for role, operation in (("produce", "read entry"), ("nobody", "list the partitions")):
        said = rf"cannot {operation}.*the role needs the right to consume"
        with pytest.raises(AuthorizationError, match=said) as caught:
            place.entries(role)
        assert caught.value.topic == place.topic
    with AdminEntryReader({"schema.registry.url": place.server.url}) as reader, pytest.raises(AuthenticationError):
        list(reader.entries(place.topic))


def test_what_is_not_there_is_said(place: Place) -> None:
    reader = place.admin()
    with pytest.raises(SchemaRegistryError, match=r"no-such not found \(HTTP 404\).*check the name") as caught:
        list(reader.entries("no-such"))
    assert caught.value.status == 404
    place.send(TOPICS["none"])
    (first, _) = reader.entries(place.topic)
    with pytest.raises(SchemaRegistryError, match=r"cannot read entry 123456789:0: .*retention") as caught:
        reader.entry(place.topic, 123456789, 0)
    assert caught.value.status == 404
    with pytest.raises(SchemaRegistryError, match=f"cannot read entry {first.ledger}:2: LastConfirmedEntry"):
        reader.entry(place.topic, first.ledger, 2)


PROPERTY = _text(4, _text(1, b"name") + _text(2, b"v"))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (_text(6, b"plain") + PROPERTY, Message(b"v", key=b"plain", headers=[("name", b"v")])),
        (_text(6, "\u00fc\u00ff".encode()), Message(b"v", key="\u00fc\u00ff".encode())),
        (_text(4, _text(1, "\u00e9".encode()) + _text(2, b'"\n\\')), Message(b"v", headers=[("\u00e9", b'"\n\\')])),
        (_number(12, 2**62), Message(b"v", timestamp=2**62)),
        (_number(12, 1), Message(b"v", timestamp=1)),
        (_number(25, 1), Message(None)),
        (_text(16, (2**63 - 1).to_bytes(8)), Message(b"v", schema_version=2**63 - 1)),
        (_text(18, b"\x00\xff"), Message(b"v", key=b"\x00\xff")),
        (_number(20, 21), None),
    ],
    ids=["text", "key", "property", "year", "time", "null", "version", "ordering key", "marker"],
)
def test_metadata_of_single_messages_are_told_by_headers(place: Place, fields: bytes, expected: Message | None) -> None:
    place.send_single(fields, b"" if expected and expected.value is None else b"v")
    (entry,) = place.entries()
    found = list(EntryReader().entry(entry.data))
    if expected is None:
        assert found == []
        return
    (message,) = found
    timestamp = 1_600_000_000_000 if expected.timestamp < 0 else expected.timestamp
    assert (message.value, message.key, message.headers, message.schema_version, message.timestamp, message.offset) == (
        expected.value, expected.key, expected.headers, expected.schema_version, timestamp, 0,
    )  # fmt: skip


def chunk(number: int) -> bytes:
    return _number(8, 2) + _number(9, 100) + _text(26, b"u") + _number(27, 2) + _number(28, 9) + _number(29, number)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (_text(6, b"a key"), "expected partition key without blanks"),
        (_text(6, "k\N{EURO SIGN}".encode()), "expected partition key without blanks"),
        (_text(6, "\N{EURO SIGN}".encode()), "expected partition key without blanks"),
        (_text(4, _text(1, b"n") + _text(2, "\N{EURO SIGN}".encode())), "expected properties without blanks"),
        (_text(4, _text(1, b"\xff") + _text(2, b"v")), "expected properties without blanks"),
        (chunk(0), "got one of 2 chunks of a compressed one"),
    ],
    ids=["blank", "end of the key", "all of the key", "value", "name", "chunk"],
)
def test_what_the_admin_api_cannot_show_is_an_error(place: Place, fields: bytes, said: str) -> None:
    place.send_single(fields, zlib.compress(b"0" * 100)[:7] if "chunks" in said else b"v")
    with pytest.raises(DecodeError, match=f"entry [0-9]+:0: .*{said}") as caught:
        place.entries()
    assert caught.value.topic == place.topic
    if "blanks" in said:
        assert len(place.entries(blanks=True)) == 1


def test_metadata_that_are_too_long_for_headers_are_named(place: Place) -> None:
    place.send_single(_text(4, _text(1, b"n") + _text(2, b"x" * 9000)))
    with pytest.raises(SchemaRegistryError, match=r"HTTP 500.*longer than the 8 KiB") as caught:
        place.entries()
    assert caught.value.status == 500


def test_encrypted_payloads_are_refused_by_name(place: Place) -> None:
    place.send_single(_text(13, _text(1, b"key") + _text(2, b"data")), b"secret")
    (entry,) = place.entries()
    with pytest.raises(DecodeError, match="got an encrypted one"):
        list(EntryReader().entry(entry.data))


def test_the_command_line_saves_and_shows_a_topic(place: Place, tokens: Tokens, tmp_path: Path) -> None:
    stored = TOPICS["transactions"]
    place.send(stored)
    run = CommandLine(place.server.url, more={"TOKEN": tokens.of("consume")})
    source = "convert", "--secret", "bearer.auth.token=env:TOKEN", "--topic", place.topic
    saved = tmp_path / "saved.dump"
    assert run(*source, "--to", "entries", "-o", str(saved)).out == f"{saved}: 9 entries converted\n"
    with saved.open("rb") as file:
        entries = list(read_dump(file))
    assert [entry.data for entry in entries] == list(stored.entries)
    lines = run(*source, "--isolation", "read_committed").lines
    assert [line["offset"] for line in lines] == sorted(stored.committed)
    assert {line["topic"] for line in lines} == {place.topic}
    start = f"{entries[0].ledger}:8"
    after = run(*source, "--start", start).lines
    assert [line["offset"] for line in after] == [line["offset"] for line in lines[-6:]]
    assert {line["entry"] for line in after} == {start}
    with_other_role = CommandLine(place.server.url, more={"TOKEN": tokens.of("produce")})
    assert "the role needs the right to consume" in with_other_role(*source, code=3).err
