"""Witnesses: the known versions that a check compares, so that no schema of a deleted topic stays unnoticed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from any_type import delete, register
from conf import conf
from recreated import BOB, ORDER, TTL, USER, WIDER, elsewhere
from waiting import until

from streamnative_serdes import (
    IncompatibleSchemaError,
    KafkaAutoConsumeDeserializer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    _call_path,
)
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import LocalRegistry

LONGER = {**ORDER, "fields": [*ORDER["fields"], {"name": "n", "type": "int", "default": 0}]}


@pytest.mark.parametrize("way", ["a message", "a batch", "auto consume", "a registration", "none"])
def test_an_old_version_does_not_stay_because_a_higher_one_of_the_recreated_topic_was_met_first(
    registry: LocalRegistry, recreate: Callable[..., bytes], way: str
) -> None:
    """Version 0 of both topics reads the same bytes; nobody has met version 1 before the topic was recreated."""
    often = conf(registry, **{"cache.latest.ttl.sec": 0.05})
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(often)
    assert reader.deserialize("t", old) == BOB
    new = recreate(ORDER)
    if way == "a registration":
        KafkaAvroSerializer(often, LONGER).serialize("t", {"id": "o-2", "n": 3})
    elif way != "none":
        newer = KafkaAvroSerializer(elsewhere(registry), LONGER).serialize("t", {"id": "o-2", "n": 3})
        assert newer is not None
        assert newer[9] == 1
        if way == "a message":
            assert reader.deserialize("t", newer) == {"id": "o-2", "n": 3}
        elif way == "a batch":
            assert reader.deserialize_batch("t", [newer])["n"].to_pylist() == [3]
        else:
            KafkaAutoConsumeDeserializer(often).deserialize("t", newer)
    until(lambda: reader.deserialize("t", new) == {"id": "o-1"})


def binding_of(serdes: object) -> Binding:
    return _call_path.policy_of(serdes).binding


@pytest.mark.parametrize("knew_the_new_one", [False, True])
def test_a_pickle_of_a_process_that_knew_both_topics_is_found_out(
    registry: LocalRegistry, recreate: Callable[..., bytes], knew_the_new_one: bool
) -> None:
    there = KafkaAvroDeserializer(conf(registry, **TTL))
    there.deserialize("t", KafkaAvroSerializer(elsewhere(registry), USER).serialize("t", BOB))
    new = recreate(ORDER)
    newer = KafkaAvroSerializer(elsewhere(registry), LONGER).serialize("t", {"id": "o-2", "n": 3})
    there.deserialize("t", newer)
    pickled = pickle.dumps(there)  # before its next check
    Binding.forget()
    here = KafkaAvroDeserializer(conf(registry, **TTL))
    if knew_the_new_one:
        here.deserialize("t", newer)
        binding_of(here).confirm("t")
    travelled = pickle.loads(pickled)
    binding_of(here).confirm("t")
    assert travelled.deserialize("t", new) == here.deserialize("t", new) == {"id": "o-1"}


def test_a_reader_of_the_new_topic_notices_it_for_the_writer_of_the_process(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    writer, reader = KafkaAvroSerializer(conf(registry, **TTL), USER), KafkaAvroDeserializer(conf(registry, **TTL))
    writer.serialize("t", BOB)
    new = recreate(ORDER)
    assert reader.deserialize("t", new) == {"id": "o-1"}
    with pytest.raises(IncompatibleSchemaError):
        writer.serialize("t", BOB)


def test_the_same_first_schema_does_not_confirm_the_others_if_its_time_is_unknown(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    """After a restart of all producers, the first schema is often the same."""
    writers = [KafkaAvroSerializer(conf(registry, **TTL), schema) for schema in (USER, WIDER)]
    old = [writer.serialize("t", {**BOB, "age": 1}) for writer in writers]
    assert [message and message[9] for message in old] == [0, 1]
    recreate(USER, BOB)
    sized = {**USER, "fields": [*USER["fields"], {"name": "size", "type": ["null", "int"], "default": None}]}
    last = {**sized, "fields": [*sized["fields"], {"name": "z", "type": "int", "default": 0}]}
    for version, schema in enumerate((sized, last), 1):
        message = KafkaAvroSerializer(elsewhere(registry), schema).serialize("t", {**BOB, "size": 5, "z": 1})
        assert message is not None
        assert message[9] == version
    binding_of(writers[0]).confirm("t")
    again = writers[1].serialize("t", {**BOB, "age": 1})
    assert again is not None
    assert again[9] == 3


def test_schemas_that_were_deleted_are_told_once_although_the_latest_cannot_be_read(
    registry: LocalRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    small = conf(registry, **TTL, **{"max.schema.size": 1000})
    reader, writer = KafkaAvroDeserializer(small), KafkaAvroSerializer(small, WIDER)
    reader.deserialize("t", KafkaAvroSerializer(elsewhere(registry), USER).serialize("t", BOB))
    delete(registry, force=False)
    reader.deserialize("t", writer.serialize("t", BOB))
    large = {"name": "n", "type": "int", "default": 0, "doc": "x" * 1000}
    register(registry, "t", "AVRO", {**WIDER, "fields": [*WIDER["fields"], large]})
    for _ in range(3):
        binding_of(reader).confirm("t")
    assert caplog.text.count("the schemas of topic t were deleted") == 1
    assert caplog.text.count("the limit is 1000") == 3


def test_an_answer_that_was_awaited_while_the_topic_was_recreated_is_checked(
    registry: LocalRegistry, recreate: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    Binding.forget()
    reader, other = KafkaAvroDeserializer(conf(registry, **TTL)), KafkaAvroDeserializer(conf(registry, **TTL))
    binding = binding_of(reader)
    real, new = binding.client.by_version, []

    def late(topic: Any, version: int, **more: Any) -> Any:
        info = real(topic, version, **more)
        if not new:  # another thread meets the recreated topic meanwhile
            new.append(recreate(ORDER))
            other.deserialize("t", KafkaAvroSerializer(elsewhere(registry), LONGER).serialize("t", {"id": "o", "n": 3}))
            binding.confirm("t")
        return info

    monkeypatch.setattr(binding.client, "by_version", late)
    assert reader.deserialize("t", old) == BOB
    binding.confirm("t")
    assert reader.deserialize("t", new[0]) == {"id": "o-1"}


def test_schemas_that_stay_deleted_are_told_once(registry: LocalRegistry, caplog: pytest.LogCaptureFixture) -> None:
    writer = KafkaAvroSerializer(conf(registry, **TTL), USER)
    writer.serialize("t", BOB)
    delete(registry, force=False)
    for _ in range(3):
        binding_of(writer).confirm("t")
    assert caplog.text.count("the schemas of topic t were deleted") == 1
    writer.serialize("t", BOB)
    delete(registry, force=False)
    binding_of(writer).confirm("t")
    assert caplog.text.count("the schemas of topic t were deleted") == 2


def test_many_witnesses_are_compared_by_one_question(registry: LocalRegistry) -> None:
    pickles = []
    for number in range(5):
        more = [{"name": f"f{n}", "type": "int", "default": 0} for n in range(number)]
        Binding.forget()
        writer = KafkaAvroSerializer(conf(registry, **TTL), {**USER, "fields": [*USER["fields"], *more]})
        writer.serialize("t", BOB)
        pickles.append(pickle.dumps(writer))
    Binding.forget()
    travelled = [pickle.loads(each) for each in pickles]
    for calls in ({"GET schema": 1, "GET schemas": 1}, {"GET schema": 1}):
        registry.reset_calls()
        binding_of(travelled[0]).confirm("t")
        assert registry.calls == calls


def test_a_list_of_all_versions_is_compared_with_all_that_are_known(
    registry: LocalRegistry, recreate: Callable[..., bytes]
) -> None:
    old = KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(conf(registry, **TTL))
    assert reader.deserialize("t", old) == BOB
    new = recreate(ORDER)
    newer = KafkaAvroSerializer(elsewhere(registry), LONGER).serialize("t", {"id": "o-2", "n": 3})
    assert reader.deserialize("t", newer) == {"id": "o-2", "n": 3}
    assert reader.deserialize("t", new) == {"name": "o-1"}, "the documented limit"
    reader.warm_up("t")
    assert reader.deserialize("t", new) == {"id": "o-1"}


def test_a_check_asks_for_an_older_version_once_after_a_new_one_was_met(registry: LocalRegistry) -> None:
    reader = KafkaAvroDeserializer(conf(registry, **TTL))
    for number, (schema, value) in enumerate(((USER, BOB), (WIDER, {**BOB, "age": 1}))):
        message = KafkaAvroSerializer(elsewhere(registry), schema).serialize("t", value)
        assert message is not None
        assert message[9] == number
        assert reader.deserialize("t", message) == value
    binding = _call_path.policy_of(reader).binding
    for calls in ({"GET schema": 1, "GET version": 1}, {"GET schema": 1}, {"GET schema": 1}):
        registry.reset_calls()
        binding.confirm("t")
        assert registry.calls == calls


@pytest.mark.parametrize("old_first", [False, True])
def test_a_version_of_an_old_pickle_does_not_stay_in_a_process_that_knows_another_version(
    registry: LocalRegistry, recreate: Callable[..., bytes], old_first: bool
) -> None:
    often = conf(registry, **{"cache.latest.ttl.sec": 0.05})
    there = KafkaAvroDeserializer(often)
    there.deserialize("t", KafkaAvroSerializer(conf(registry, **TTL), USER).serialize("t", BOB))
    pickled = pickle.dumps(there)
    new = recreate(ORDER)
    newer = KafkaAvroSerializer(elsewhere(registry), LONGER).serialize("t", {"id": "o-2", "n": 3})
    Binding.forget()
    reader = pickle.loads(pickled) if old_first else KafkaAvroDeserializer(often)
    assert reader.deserialize("t", newer) == {"id": "o-2", "n": 3}
    travelled = pickle.loads(pickled)
    for each in (travelled, reader):
        until(lambda each=each: each.deserialize("t", new) == {"id": "o-1"})  # type: ignore[misc]
        assert each.deserialize("t", newer) == {"id": "o-2", "n": 3}
