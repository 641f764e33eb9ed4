"""What a serializer or a deserializer knows goes with it into another process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes import _config as config
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.watch import Watch
from streamnative_serdes.schema_registry import SchemaRegistryClient
from streamnative_serdes.testing import LocalRegistry


@pytest.mark.parametrize("times", [1, 2])
def test_what_was_warmed_up_needs_no_registry_elsewhere(registry: LocalRegistry, times: int) -> None:
    conf = {"schema.registry.url": registry.url}
    serializer, deserializer = KafkaAvroSerializer(conf, "int"), KafkaAvroDeserializer(conf)
    serializer.warm_up("numbers")
    deserializer.warm_up("numbers")
    for _ in range(times):
        packed = pickle.dumps((serializer, deserializer))
        Binding.forget()  # as in another process
        serializer, deserializer = pickle.loads(packed)
    before = registry.calls.copy()
    message = serializer.serialize("numbers", 7)
    assert deserializer.deserialize("numbers", message) == 7
    assert registry.calls == before


@pytest.mark.parametrize("writes", [True, False])
def test_each_topic_that_was_warmed_up_travels(registry: LocalRegistry, writes: bool) -> None:
    conf = {"schema.registry.url": registry.url}
    topics = ["first", "second", "third"]
    messages = [KafkaAvroSerializer(conf, "int").serialize(topic, 7) for topic in topics]
    face = KafkaAvroSerializer(conf, "int") if writes else KafkaAvroDeserializer(conf)
    for topic in topics:
        face.warm_up(topic)
    packed = pickle.dumps(face)
    Binding.forget()  # as in another process
    face = pickle.loads(packed)
    before = registry.calls.copy()
    if isinstance(face, KafkaAvroSerializer):
        assert [face.serialize(topic, 7) for topic in topics] == messages
    else:
        assert list(map(face.deserialize, topics, messages)) == [7, 7, 7]
    assert registry.calls == before


NAMES = [{"name": "first", "type": "string"}, {"name": "last", "type": "string"}]
FIRST, LAST = ({"type": "record", "name": "Name", "fields": fields} for fields in (NAMES, NAMES[::-1]))
ADA = {"first": "Ada", "last": "Lovelace"}


def made(registry: LocalRegistry, schema: dict[str, Any]) -> tuple[bytes, bytes, KafkaAvroSerializer]:
    """A reader of another process, pickled, a message of its topic's latest schema, and what wrote it."""
    Binding.forget()
    conf = {"schema.registry.url": registry.url}
    serializer, reader = KafkaAvroSerializer(conf, schema), KafkaAvroDeserializer(conf)
    message = serializer.serialize("names", ADA)
    assert message is not None
    reader.warm_up("names")
    return pickle.dumps(reader), message, serializer


def delete(registry: LocalRegistry) -> None:
    conf = config.parse(config.REGISTRY_OPTIONS, {"schema.registry.url": registry.url}, strict=True)
    with closing(SchemaRegistryClient(conf)) as client:
        client.delete("names", force=True)


def test_two_processes_that_know_different_topics_of_one_name_make_a_third_ask(
    registry: LocalRegistry, unwatched: None, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker of Spark is reused by jobs that were planned before and after the topic was recreated."""
    old, old_message, _ = made(registry, FIRST)
    delete(registry)
    new, new_message, _ = made(registry, LAST)
    assert (old_message[:10], old_message[10:]) == (new_message[:10], b"\x06Ada\x10Lovelace")
    for first, second in ((old, new), (new, old)):
        Binding.forget()
        readers = [pickle.loads(first)]
        readers[0].deserialize("names", old_message)  # it has a plan by what it knows
        caplog.clear()
        readers.append(pickle.loads(second))
        assert "topic names was recreated between what two processes know of it" in caplog.text
        before = registry.calls.copy()
        assert [reader.deserialize("names", new_message) for reader in readers] == [ADA, ADA]
        assert registry.calls - before == {"GET version": 1}


def test_a_schema_that_has_another_version_elsewhere_is_asked_for(registry: LocalRegistry, unwatched: None) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    _, _, serializer = made(registry, FIRST)
    old = pickle.dumps(serializer)
    delete(registry)
    made(registry, LAST)
    _, message, serializer = made(registry, FIRST)
    assert message[:10] == b"\x03\x04" + bytes(7) + b"\x01"
    new = pickle.dumps(serializer)
    for first, second in ((old, new), (new, old)):
        Binding.forget()
        writers = [pickle.loads(first)]
        writers[0].serialize("names", ADA)
        writers.append(pickle.loads(second))
        assert [writer.serialize("names", ADA) for writer in writers] == [message, message]


def test_a_later_latest_schema_takes_the_place_of_one_before(registry: LocalRegistry, unwatched: None) -> None:
    """It is the one that messages without a header are read by."""
    registry.set_strategy("ALWAYS_COMPATIBLE")
    old, _, _ = made(registry, FIRST)
    new, message, _ = made(registry, LAST)
    bare = message[10:]
    Binding.forget()
    assert pickle.loads(old).deserialize("names", b"\x06Ada\x10Lovelace") == ADA
    before = registry.calls.copy()
    assert pickle.loads(new).deserialize("names", bare) == ADA
    assert pickle.loads(old).deserialize("names", bare) == ADA  # what is known does not go back
    assert registry.calls == before


class Looker:
    def look(self) -> None:
        pass


@pytest.fixture
def unwatched() -> Iterator[None]:
    Watch.allowed = False
    yield
    Watch.allowed = True


def test_a_process_may_be_told_not_to_watch(unwatched: None) -> None:
    looker = Looker()
    watch = Watch(60.0, looker.look)
    watch.ensure()
    assert watch._running is None
    Watch.allowed = True
    watch.ensure()
    assert watch._running is not None
    watch.stop()
