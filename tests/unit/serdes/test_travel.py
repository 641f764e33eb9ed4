"""Pickles of serializers and deserializers carry their cached schemas to other processes."""

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
@pytest.mark.parametrize("writes", [True, False])
def test_a_pickle_carries_each_warmed_up_topic(registry: LocalRegistry, writes: bool, times: int) -> None:
    conf = {"schema.registry.url": registry.url}
    topics = ["first", "second", "third"]
    messages = [KafkaAvroSerializer(conf, "int").serialize(topic, 7) for topic in topics]
    face = KafkaAvroSerializer(conf, "int") if writes else KafkaAvroDeserializer(conf)
    for topic in topics:
        face.warm_up(topic)
    for _ in range(times):
        packed = pickle.dumps(face)
        Binding.forget()  # simulates another process
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
    """Return a pickled reader of another process, a message of its topic's latest schema, and the writer."""
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


def test_if_two_pickles_contradict_each_other_the_registry_is_asked(
    registry: LocalRegistry, unwatched: None, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as when a Spark worker runs jobs that were planned before and after the topic was recreated."""
    old, old_message, _ = made(registry, FIRST)
    delete(registry)
    new, new_message, _ = made(registry, LAST)
    assert (old_message[:10], old_message[10:]) == (new_message[:10], b"\x06Ada\x10Lovelace")
    for first, second in ((old, new), (new, old)):
        Binding.forget()
        readers = [pickle.loads(first)]
        readers[0].deserialize("names", old_message)  # compiles a plan with its known schemas
        caplog.clear()
        readers.append(pickle.loads(second))
        assert "topic names was recreated: a pickle and this process know different schemas" in caplog.text
        before = registry.calls.copy()
        assert [reader.deserialize("names", new_message) for reader in readers] == [ADA, ADA]
        assert registry.calls - before == {"GET version": 1}


def test_if_a_schema_has_another_version_in_a_pickle_the_registry_is_asked(
    registry: LocalRegistry, unwatched: None
) -> None:
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


def test_a_newer_latest_schema_of_a_pickle_replaces_the_known_one(registry: LocalRegistry, unwatched: None) -> None:
    """Messages without a header are read with the latest schema."""
    registry.set_strategy("ALWAYS_COMPATIBLE")
    old, _, _ = made(registry, FIRST)
    new, message, _ = made(registry, LAST)
    bare = message[10:]
    Binding.forget()
    assert pickle.loads(old).deserialize("names", b"\x06Ada\x10Lovelace") == ADA
    before = registry.calls.copy()
    assert pickle.loads(new).deserialize("names", bare) == ADA
    assert pickle.loads(old).deserialize("names", bare) == ADA  # an older pickle does not replace the newer schema
    assert registry.calls == before


class Looker:
    def look(self) -> None:
        pass


@pytest.fixture
def unwatched() -> Iterator[None]:
    Watch.allowed = False
    yield
    Watch.allowed = True


def test_the_check_for_recreated_topics_can_be_turned_off_in_a_process(unwatched: None) -> None:
    looker = Looker()
    watch = Watch(60.0, looker.look)
    watch.ensure()
    assert watch._running is None
    Watch.allowed = True
    watch.ensure()
    assert watch._running is not None
    watch.stop()
