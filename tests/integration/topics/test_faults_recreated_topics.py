"""Recreated topics: versions start at 0 again, while clients still have the old version 0 cached."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pulsar as pulsar_client
import pytest
from schemas import record
from servers import Pulsar
from waiting import HANG_SECONDS, until

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, header
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import DecodeError, IncompatibleSchemaError

BY_AN_ADMIN, BY_PULSAR = "deleted by an admin", "collected by Pulsar"
ATTENTIVE = {"cache.latest.ttl.sec": 0.1}  # in effect a second, the minimum; the default is a minute
SURE = {"cache.latest.ttl.sec": 3600}  # checks only after an unreadable message
THREADS = 8


OLD = record("User", ("name", "string"), ("age", "int"))
ADA = {"name": "Ada", "age": 36}
# OLD cannot read its messages, and the topic's strategy does not allow both.
OTHER = record("User", ("age", "string"), ("name", "string"))
BOB = {"age": "7", "name": "Bob"}
# OLD reads its messages, but with other field names.
ALIKE = record("User", ("city", "string"), ("height", "int"))
ROME = {"city": "Rome", "height": 21}
MISREAD = {"name": "Rome", "age": 21}
# The topic's strategy allows both.
GROWN = OLD | {"fields": [*OLD["fields"], {"name": "note", "type": "string", "default": ""}]}


class Topics:
    """Creates real topics of Pulsar, and removes them with their schemas, in one of two ways."""

    def __init__(self, server: Pulsar, way: str) -> None:
        self._server, self._way = server, way
        log = pulsar_client.FileLogger(pulsar_client.LoggerLevel.Error, str(server.folder / "client.log"))
        self._client = pulsar_client.Client(server.service_url, logger=log)

    def writer(self, schema: dict[str, Any], options: dict[str, Any]) -> KafkaAvroSerializer:
        return KafkaAvroSerializer({"schema.registry.url": self._server.url, **options}, schema)

    def reader(self, options: dict[str, Any], schema: dict[str, Any] | None = None) -> KafkaAvroDeserializer:
        return KafkaAvroDeserializer({"schema.registry.url": self._server.url, **options}, schema)

    def gone(self, use: Callable[[str], object]) -> str:
        """Create a topic, call ``use(topic)``, and remove the topic with its schemas."""
        topic = f"recreated-{uuid.uuid4()}"
        # A connected producer creates the topic, and keeps Pulsar from removing it too early.
        producer = self._client.create_producer(f"persistent://public/default/{topic}")
        use(topic)
        producer.close()
        if self._way == BY_AN_ADMIN:
            self._delete(topic)
        until(lambda: not self.has_schema(topic), "the topic's schemas are gone")
        return topic

    def _delete(self, topic: str) -> None:
        done = self._server.admin("DELETE", f"persistent/public/default/{topic}")
        assert done.ok or done.status_code == 404, done.text  # Pulsar may already have removed it

    def has_schema(self, topic: str) -> bool:
        return self._server.admin("GET", f"schemas/public/default/{topic}/schema").status_code == 200

    def by_another_process(self, topic: str, schema: dict[str, Any], datum: dict[str, Any]) -> bytes:
        """Return a message of a process that does not know the deleted topic."""
        Binding.forget()
        message = self.writer(schema, SURE).serialize(topic, datum)
        Binding.forget()
        assert message is not None
        return message

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def topics(request: pytest.FixtureRequest, careless_pulsar: Pulsar) -> Iterator[Topics]:
    """Topics are removed in the way of the test's parameter; by default, by an admin."""
    topics = Topics(careless_pulsar, getattr(request, "param", BY_AN_ADMIN))
    yield topics
    topics.close()


each_way = pytest.mark.parametrize("topics", [BY_AN_ADMIN, BY_PULSAR], indirect=True)


def comes_right(read: Callable[[], Any], expected: Any) -> bool:
    """Whether the value is correct; an error is allowed for a moment, but never a wrong value."""
    try:
        datum = read()
    except DecodeError:
        return False
    assert datum == expected
    return True


@each_way
def test_a_reader_that_cannot_read_a_message_detects_the_recreated_topic(topics: Topics) -> None:
    reader, before = topics.reader(SURE), []

    def use(topic: str) -> None:
        before.append(topics.writer(OLD, SURE).serialize(topic, ADA))
        assert reader.deserialize(topic, before[0]) == ADA

    topic = topics.gone(use)
    message = topics.by_another_process(topic, OTHER, BOB)
    assert header.read(message) == 0
    # A topic is checked at most once a second, however many of its messages are unreadable.
    until(lambda: comes_right(lambda: reader.deserialize(topic, message), BOB), "the new schema is found")
    assert reader.deserialize(topic, message) == BOB
    # The limit in docs/messages.md: old messages that Kafka still has now refer to another schema.
    with pytest.raises(DecodeError, match="schema version 0"):
        reader.deserialize(topic, before[0])


@each_way
def test_a_reader_with_its_own_schema_also_detects_a_recreated_topic(topics: Topics) -> None:
    reader = topics.reader(SURE, record("User", ("name", "string")))
    topic = topics.gone(lambda topic: reader.deserialize(topic, topics.writer(OLD, SURE).serialize(topic, ADA)))
    message = topics.by_another_process(topic, OTHER, BOB)
    until(lambda: comes_right(lambda: reader.deserialize(topic, message), {"name": "Bob"}), "the new schema is found")


@each_way
def test_messages_that_the_old_schema_can_read_are_wrong_until_the_topic_is_checked(topics: Topics) -> None:
    """The limit in docs/messages.md: within ``cache.latest.ttl.sec``, values are wrong without an error."""
    sure, attentive = topics.reader(SURE), topics.reader(ATTENTIVE)

    def use(topic: str) -> None:
        message = topics.writer(OLD, SURE).serialize(topic, ADA)
        assert sure.deserialize(topic, message) == attentive.deserialize(topic, message) == ADA

    topic = topics.gone(use)
    message = topics.by_another_process(topic, ALIKE, ROME)
    seen: list[Any] = []

    def right() -> bool:
        seen.append(attentive.deserialize(topic, message))
        return bool(seen[-1] == ROME)

    until(right, "the topic is checked")
    assert all(datum == MISREAD for datum in seen[:-1])
    assert attentive.deserialize(topic, message) == ROME
    assert sure.deserialize(topic, message) == MISREAD


def test_threads_that_share_a_reader_all_find_the_new_schema(topics: Topics) -> None:
    reader = topics.reader(SURE)
    topic = topics.gone(lambda topic: reader.deserialize(topic, topics.writer(OLD, SURE).serialize(topic, ADA)))
    message = topics.by_another_process(topic, OTHER, BOB)
    together = threading.Barrier(THREADS, timeout=HANG_SECONDS)

    def read(_: int) -> list[bool]:
        """Return whether each message was read correctly, up to the first correct one and a hundred more."""
        together.wait(HANG_SECONDS)
        until(lambda: comes_right(lambda: reader.deserialize(topic, message), BOB), "the new schema is found")
        return [comes_right(lambda: reader.deserialize(topic, message), BOB) for _ in range(100)]

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(read, range(THREADS))) == [[True] * 100] * THREADS


def test_a_writer_is_refused_if_the_recreated_topic_does_not_accept_its_schema(topics: Topics) -> None:
    writer = topics.writer(OLD, ATTENTIVE)
    topic = topics.gone(lambda topic: writer.serialize(topic, ADA))
    topics.by_another_process(topic, OTHER, BOB)

    def refused() -> bool:
        try:
            message = writer.serialize(topic, ADA)
        except IncompatibleSchemaError as error:
            assert error.topic == topic
            return True
        assert header.read(message or b"") == 0
        return False

    until(refused, "the writer finds out")
    with pytest.raises(IncompatibleSchemaError):
        writer.serialize(topic, ADA)


def test_a_writer_registers_its_schema_again_in_a_recreated_topic(topics: Topics) -> None:
    attentive, sure = topics.writer(OLD, ATTENTIVE), topics.writer(OLD, SURE)
    topic = topics.gone(lambda topic: (attentive.serialize(topic, ADA), sure.serialize(topic, ADA)))
    topics.by_another_process(topic, GROWN, {**ADA, "note": "x"})
    until(lambda: header.read(attentive.serialize(topic, ADA) or b"") == 1, "the writer registers its schema")
    Binding.forget()
    assert topics.reader(SURE).deserialize(topic, attentive.serialize(topic, ADA)) == ADA
    # The limit in docs/messages.md: a writer that has not checked yet uses the old version.
    with pytest.raises(DecodeError):
        topics.reader(SURE).deserialize(topic, sure.serialize(topic, ADA))


def test_a_topic_that_was_not_recreated_gets_its_schema_back_with_the_next_message(topics: Topics) -> None:
    writer, reader = topics.writer(OLD, ATTENTIVE), topics.reader(ATTENTIVE)

    def use(topic: str | None = None) -> None:
        """A reader that knows the version still reads messages in Kafka, even if the registry lost the schema."""
        assert reader.deserialize(topic or gone, writer.serialize(topic or gone, ADA)) == ADA

    gone = topics.gone(use)

    def back() -> bool:
        use()
        return topics.has_schema(gone)

    until(back, "the writer registers its schema again")
    Binding.forget()
    assert topics.reader(SURE).deserialize(gone, writer.serialize(gone, ADA)) == ADA
