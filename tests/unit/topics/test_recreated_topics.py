"""A topic that was deleted and recreated counts its versions from 0 again; readers and writers notice it."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from any_type import delete, header, register
from conf import conf
from recreated import BOB, ORDER, TTL, USER, WIDER, elsewhere
from waiting import exit_code, until

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    KafkaAutoConsumeDeserializer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaError,
    SchemaNotFoundError,
    TypedSchema,
    _call_path,
)
from streamnative_serdes._topics import binding as binding_module
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import LocalRegistry

PATIENCE = 30.0  # seconds until a hanging test fails
COUNT: dict[str, Any] = {"type": "record", "name": "Count", "fields": [{"name": "n", "type": "double"}]}
SEVEN = {"n": 7.0}


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.02)


@pytest.mark.parametrize(("kind", "start"), [("AVRO", header(0)), ("JSON", b"{")])
def test_comments_in_the_topics_schema_are_no_sign_of_another_topic(
    registry: LocalRegistry, caplog: pytest.LogCaptureFixture, kind: str, start: bytes
) -> None:
    register(registry, "t", kind, f"/* v1 */ {json.dumps(USER)}")
    with KafkaPulsarSerializer(conf(registry), TypedSchema(kind, USER)) as serializer:
        framed = serializer.serialize("t", BOB)
    assert framed is not None
    assert framed.startswith(start)
    with KafkaAutoConsumeDeserializer(conf(registry)) as reader:
        read = reader.deserialize("t", framed)
    assert read is not None
    assert read.native_object == BOB
    assert read.reader_schema is None or read.reader_schema.native == USER
    assert not caplog.records


def test_an_unreadable_message_makes_the_reader_check_its_topic(
    registry: LocalRegistry, recreate: Callable[..., bytes], caplog: pytest.LogCaptureFixture
) -> None:
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(conf(registry, **TTL))
    assert reader.deserialize("t", old) == BOB
    new = recreate(COUNT, SEVEN)
    assert new[:10] == old[:10]
    until(lambda: reads(reader, new) == SEVEN)
    assert "topic t was deleted and recreated" in caplog.text
    assert "version 0" in caplog.text


def reads(reader: KafkaAvroDeserializer, message: bytes) -> Any:
    """Return the datum, or None while it cannot be read: a reader checks again only after a moment."""
    try:
        return reader.deserialize("t", message)
    except DecodeError:
        return None


def test_a_reader_uses_the_result_of_another_readers_recent_check(
    registry: LocalRegistry, recreate: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    first, second = (KafkaAvroDeserializer(conf(registry, **TTL)) for _ in range(2))
    assert first.deserialize("t", old) == second.deserialize("t", old) == BOB
    at_work, _ = _call_path.at_hand(second, "t", 0)
    assert at_work is not None
    new = recreate(COUNT, SEVEN)
    until(lambda: reads(first, new) == SEVEN)
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 3600.0)  # so there is no second check
    policy = _call_path.policy_of(second)
    assert policy.recover(second, at_work, new, None, None, DecodeError("by the old schema")) == SEVEN


@pytest.mark.parametrize("schema", ["STRING", TypedSchema("JSON", USER), KeyValueSchema("STRING", USER, "INLINE")])
def test_a_topic_that_had_another_type_is_read_when_it_is_recreated_as_avro(
    registry: LocalRegistry, recreate: Callable[..., bytes], schema: Any
) -> None:
    KafkaPulsarSerializer(elsewhere(registry), schema).warm_up("t")
    reader, keys = (KafkaAvroDeserializer(conf(registry, **TTL), is_key=is_key) for is_key in (False, True))
    for refused, error in ((b"x", (SchemaError, DecodeError)), (header(0) + b"x", (SchemaError, DecodeError))):
        with pytest.raises(error):
            reader.deserialize("t", refused)
    with pytest.raises((ConfigError, SchemaError)):
        keys.deserialize("t", b"\x02")
    new = recreate(COUNT, SEVEN)
    time.sleep(0.03)
    assert reader.deserialize("t", new) == SEVEN
    assert reader.deserialize("t", new[10:]) == SEVEN
    pair = KeyValueSchema(ORDER, COUNT, "SEPARATED")
    delete(registry, "t", force=True)
    key = KafkaAvroSerializer(elsewhere(registry), pair, is_key=True).serialize("t", {"id": "o"})
    time.sleep(0.03)
    assert keys.deserialize("t", key) == {"id": "o"}


def test_a_key_half_that_evolves_alone_is_noticed_by_auto_consume(registry: LocalRegistry) -> None:
    def written(key_schema: dict[str, Any], key: Any) -> tuple[Any, Any]:
        pair = KeyValueSchema(key_schema, COUNT, "SEPARATED")
        value = KafkaAvroSerializer(elsewhere(registry), pair).serialize("t", SEVEN)
        return value, KafkaAvroSerializer(elsewhere(registry), pair, is_key=True).serialize("t", key)

    reader = KafkaAutoConsumeDeserializer(conf(registry, **TTL))
    value, key = written(USER, BOB)
    assert auto_read(reader, value, key) == KeyValue(BOB, SEVEN)
    for pairs, new in enumerate(({"name": "eve", "age": 3}, {"name": "ann", "age": None})):
        value, key = written(WIDER, new)
        time.sleep(0.03)
        data = None if pairs else value
        assert auto_read(reader, data, key) == KeyValue(new, SEVEN if data else None)
    time.sleep(0.03)
    with pytest.raises(DecodeError, match="field key"):
        reader.deserialize("t", value, key=b"\x80")
    assert reader.stats()["errors"] == 1


def auto_read(reader: KafkaAutoConsumeDeserializer, value: bytes | None, key: bytes) -> Any:
    found = reader.deserialize("t", value, key=key)
    assert found is not None
    return found.native_object


def test_a_message_of_the_deleted_topic_is_an_error(registry: LocalRegistry, recreate: Callable[..., bytes]) -> None:
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(conf(registry, **TTL))
    assert reader.deserialize("t", old) == BOB
    new = recreate(COUNT, SEVEN)
    until(lambda: reads(reader, new) == SEVEN)
    with pytest.raises(DecodeError, match="topic t, schema version 0"):
        reader.deserialize("t", old)


def test_a_recreated_topic_with_a_wire_compatible_schema_is_noticed_after_the_ttl(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    old = KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    short = KafkaAvroDeserializer(conf(registry, **{"cache.latest.ttl.sec": 0.05}))
    long = KafkaAvroDeserializer(conf(registry, **TTL))
    assert short.deserialize("t", old) == long.deserialize("t", old) == BOB
    new = recreate(ORDER)
    until(lambda: short.deserialize("t", new) == {"id": "o-1"})
    # The documented limit: until then, the old schema decodes it without an error.
    assert long.deserialize("t", new) == {"name": "o-1"}


def test_a_writer_registers_its_schema_again_after_the_ttl(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    writer = KafkaAvroSerializer(conf(registry, **{"cache.latest.ttl.sec": 0.05}), USER)
    KafkaAvroSerializer(conf(registry), WIDER).serialize("t", {**BOB, "age": 1})
    assert writer.serialize("t", BOB)[9] == 1
    delete(registry, force=True)
    until(lambda: writer.serialize("t", BOB)[9] == 0)
    fresh = KafkaAvroDeserializer(conf(registry, **TTL))
    assert fresh.deserialize("t", writer.serialize("t", BOB)) == BOB


def test_messages_of_soft_deleted_schemas_are_read_and_the_writer_registers_again(registry: LocalRegistry) -> None:
    often = conf(registry, **{"cache.latest.ttl.sec": 0.05})
    writer, reader = KafkaAvroSerializer(often, USER), KafkaAvroDeserializer(often)
    old = writer.serialize("t", BOB)
    assert reader.deserialize("t", old) == BOB
    delete(registry, force=False)
    until(lambda: writer.serialize("t", BOB)[9] == 2)  # the deletion has version 1
    assert reader.deserialize("t", old) == BOB


def test_a_registered_version_that_belonged_to_another_schema_is_noticed_at_once(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(conf(registry, **TTL))
    assert reader.deserialize("t", old) == BOB
    delete(registry, force=True)
    new = KafkaAvroSerializer(conf(registry, **TTL), ORDER).serialize("t", {"id": "o-1"})
    assert reader.deserialize("t", new) == {"id": "o-1"}


def test_a_headerless_message_of_a_newer_schema_is_read_before_the_ttl_ends(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(conf(registry, **TTL))
    bare = b"\x06bob"
    assert reader.deserialize("t", bare) == BOB
    KafkaAvroSerializer(conf(registry, **{"retries.wait.ms": 201}), WIDER).serialize("t", BOB)
    until(lambda: reads(reader, bare + b"\x02\x0e") == {**BOB, "age": 7})


def test_unreadable_messages_ask_the_registry_at_most_once_per_interval(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 3600.0)
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(conf(registry, **TTL))
    reader.deserialize("t", old)
    registry.reset_calls()
    for _ in range(100):
        with pytest.raises(DecodeError):
            reader.deserialize("t", old + b"garbage")
    assert registry.calls == {}


def test_idle_topics_are_not_checked(registry: LocalRegistry) -> None:
    often = conf(registry, **{"cache.latest.ttl.sec": 0.05})
    writer = KafkaAvroSerializer(often, USER)
    writer.serialize("t", BOB)
    writer.serialize("idle", BOB)
    registry.reset_calls()

    def seen() -> bool:
        writer.serialize("t", BOB)
        return len(registry.requests) >= 10

    until(seen)
    assert sum("/idle/" in call.path for call in registry.requests) <= 1  # from the round that was running at the reset


def test_many_topics_are_checked_in_turn_some_in_each_round(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_MOST_LOOKS", 2)
    often = conf(registry, **{"cache.latest.ttl.sec": 0.05})
    writer, topics = KafkaAvroSerializer(often, USER), [f"t{number}" for number in range(5)]
    for topic in topics:
        writer.serialize(topic, BOB)
    registry.reset_calls()

    def seen() -> bool:
        for topic in topics:
            writer.serialize(topic, BOB)
        return len(registry.requests) >= 20

    until(seen)
    assert {call.path.split("/")[-2] for call in registry.requests} == set(topics)


def test_reading_and_writing_continue_while_the_registry_is_unreachable(
    registry: LocalRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    often = conf(registry, **{"cache.latest.ttl.sec": 0.05, "retries.total.ms": 2000})
    writer, reader = KafkaAvroSerializer(often, USER), KafkaAvroDeserializer(often)
    old = writer.serialize("t", BOB)
    assert reader.deserialize("t", old) == BOB
    registry.close()
    until(lambda: "topic t: cannot check its schemas" in caplog.text)
    assert writer.serialize("t", BOB) == old
    assert reader.deserialize("t", old) == BOB


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_child_notices_a_recreated_topic_by_itself(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    often = conf(registry, **{"cache.latest.ttl.sec": 0.05})
    old = KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(often)
    assert reader.deserialize("t", old) == BOB
    new = recreate(ORDER)
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        while reader.deserialize("t", new) != {"id": "o-1"}:  # {"name": "o-1"} until it has checked
            time.sleep(0.01)
        os._exit(0)
    assert exit_code(child) == 0


def watches() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "streamnative_serdes watch"}


def test_the_watch_thread_ends_with_the_last_serdes(registry: LocalRegistry) -> None:
    before = watches()  # threads of other tests may still be ending
    first, second = KafkaAvroSerializer(conf(registry), USER), KafkaAvroDeserializer(conf(registry))
    second.deserialize("t", first.serialize("t", BOB))
    (watch,) = watches() - before
    first.close()
    assert not watch.ending.is_set()  # type: ignore[attr-defined] # a thread that should end still runs for a moment
    second.close()
    until(lambda: not watch.is_alive())
    first.serialize("other", BOB)  # a closed serializer can still be used, and its topics are checked
    (again,) = watches() - before
    del first, second
    Binding.forget()
    until(lambda: not again.is_alive())


def test_a_pickle_carries_the_registration_time_of_a_version(
    registry: LocalRegistry, recreate: Callable[..., bytes], caplog: pytest.LogCaptureFixture
) -> None:
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(conf(registry, **TTL))
    reader.deserialize("t", old)
    data = pickle.dumps(reader)
    Binding.forget()
    recreate(USER, BOB)  # the same schema again; only the timestamp differs
    travelled = pickle.loads(data)
    travelled.deserialize("t", old)
    until(lambda: reads(travelled, old + b"x") is None and "different registration time" in caplog.text)


def test_without_auto_register_a_known_schema_is_looked_up(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    KafkaAvroSerializer(conf(registry), WIDER).serialize("t", BOB)
    Binding.forget()
    registry.reset_calls()
    spaced = {"name": "User", "type": "record", "doc": "other words", "fields": USER["fields"]}
    reading = KafkaAvroSerializer(conf(registry, **{"auto.register.schemas": "false"}), spaced)
    assert reading.serialize("t", BOB) == b"\x03\x04" + bytes(8) + b"\x06bob"
    assert registry.calls == {"GET schemas": 1}


def test_without_auto_register_a_new_schema_is_an_error_and_is_not_registered(registry: LocalRegistry) -> None:
    reading = KafkaAvroSerializer(conf(registry, **{"auto.register.schemas": False}), USER)
    with pytest.raises(
        SchemaNotFoundError,
        match=r"topic t: the topic does not have the serializer's schema .*auto\.register\.schemas=true",
    ):
        reading.serialize("t", BOB)
    assert registry.calls == {"GET schemas": 1}
    KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    assert reading.serialize("t", BOB) is not None


def test_an_older_version_that_returns_with_another_schema_is_noticed(registry: LocalRegistry) -> None:
    reader, writer = KafkaAvroDeserializer(conf(registry, **TTL)), KafkaAvroSerializer(conf(registry, **TTL), USER)
    newer = KafkaAvroSerializer(conf(registry, **TTL), WIDER)
    first, second = writer.serialize("t", BOB), newer.serialize("t", {**BOB, "age": 3})
    assert reader.deserialize("t", first) == BOB
    assert reader.deserialize("t", second) == {**BOB, "age": 3}
    delete(registry, force=True)

    again = KafkaAvroSerializer(conf(registry, **TTL), COUNT).serialize("t", SEVEN)

    assert again is not None
    assert again[:10] == first[:10]
    assert reader.deserialize("t", again) == SEVEN


def test_recreated_topics_are_noticed_when_readers_and_writers_use_more_topics_than_the_capacity(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    few = conf(registry, **{"cache.capacity": 10, "cache.latest.ttl.sec": 0.05})
    writer, reader = KafkaAvroSerializer(few, USER), KafkaAvroDeserializer(few)
    read, written = [f"read-{number}" for number in range(6)], [f"written-{number}" for number in range(6)]
    for topic in read:
        assert reader.deserialize(topic, recreate(USER, BOB, topic)) == BOB
    for topic in written:
        recreate(WIDER, {**BOB, "age": 1}, topic)
        assert writer.serialize(topic, BOB)[9] == 1
    messages = {topic: recreate(ORDER, topic=topic) for topic in read}
    for topic in written:
        delete(registry, topic, force=True)

    # Until a reader notices, it decodes the new message with the old schema, which is wire-compatible.
    until(lambda: [reader.deserialize(topic, messages[topic]) for topic in read] == [{"id": "o-1"}] * 6)
    until(lambda: [writer.serialize(topic, BOB)[9] for topic in written] == [0] * 6)


def test_a_reader_and_a_writer_can_each_use_as_many_topics_as_the_capacity(registry: LocalRegistry) -> None:
    few = conf(registry, **{"cache.capacity": 10, **TTL})
    writer, reader = KafkaAvroSerializer(few, USER), KafkaAvroDeserializer(few)
    read, written = [f"read-{number}" for number in range(10)], [f"written-{number}" for number in range(10)]
    messages = {topic: KafkaAvroSerializer(elsewhere(registry), USER).serialize(topic, BOB) for topic in read}

    def use_all() -> None:
        for topic in read:
            assert reader.deserialize(topic, messages[topic]) == BOB
        for topic in written:
            writer.serialize(topic, BOB)

    use_all()
    registry.reset_calls()
    reader.rebind()
    writer.rebind()
    use_all()
    assert registry.calls == {}


def test_a_closed_serializer_that_is_used_again_notices_recreated_topics(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    serializer = KafkaAvroSerializer(conf(registry, **{"cache.latest.ttl.sec": 1}), WIDER)
    recreate(USER, BOB)
    assert version_of(serializer.serialize("t", BOB)) == 1
    serializer.close()
    assert version_of(serializer.serialize("t", BOB)) == 1
    delete(registry, force=True)
    until(lambda: version_of(serializer.serialize("t", BOB)) == 0)


def version_of(message: bytes | None) -> int:
    assert message is not None
    return int.from_bytes(message[2:10], "big")


@pytest.mark.parametrize("hash_of", [None, lambda _: 1])
def test_serializers_that_are_equal_or_have_no_hash_are_all_told(registry: LocalRegistry, hash_of: Any) -> None:
    equal: Any = type("Equal", (KafkaAvroSerializer,), {"__eq__": lambda *_: True, "__hash__": hash_of})
    serializers = [equal(conf(registry), USER) for _ in range(2)]
    for each in serializers:
        each.serialize("t", BOB)
    for each in serializers:
        _call_path.policy_of(each).binding.forget_topics()
        registry.reset_calls()
        each.serialize("t", BOB)
        assert registry.calls == {"POST schema": 1}
        each.close()
