"""reader.schema.policy: as which version of its topic a message comes out, and what counts as seen."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import pickle
import threading
from typing import Any

import pytest
from any_type import delete
from confluent_kafka.serialization import MessageField, SerializationContext
from confluent_stand_in import ConfluentStandIn
from travelled import unpickled
from versions import SEEN, as_version, bare, damaged, datum, framed, register, schema, shown
from waiting import busy_switching, together, until

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._reading.reader_schema import Mark, ReaderSchemaPolicy
from streamnative_serdes._topics import binding as binding_module
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.codec import Codec
from streamnative_serdes.compat import AsyncSchemaRegistryClient
from streamnative_serdes.compat.avro import AsyncAvroDeserializer
from streamnative_serdes.schema_registry import SchemaInfo
from streamnative_serdes.testing import Fault, LocalRegistry

HISTORY = [1, 1, 2, 1, 2]
WRITER = {"reader.schema.incompatible": "writer"}


@pytest.fixture
def conf(registry: LocalRegistry) -> dict[str, Any]:
    """Topic "t" has the versions 0 to 3."""
    register(registry, "t", range(4))
    registry.reset_calls()
    return {"schema.registry.url": registry.url, "retries.total.ms": 1_500, "cache.missing.ttl.sec": 0}


def reader(conf: dict[str, Any], *arguments: Any, **more: Any) -> KafkaAvroDeserializer:
    return KafkaAvroDeserializer({**conf, **more}, *arguments)


def seeing(conf: dict[str, Any], **more: Any) -> KafkaAvroDeserializer:
    return reader(conf, **SEEN, **more)


def read(deserializer: KafkaAvroDeserializer, *versions: int, topic: str = "t") -> list[int]:
    """As which versions messages of these versions come out; checks their values too."""
    found = []
    for version in versions:
        datum = deserializer.deserialize(topic, framed(version))
        assert datum == as_version(version, shown(datum))
        found.append(shown(datum))
    return found


# The policies


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 1, 2, 1, 2]),
        ({"reader.schema.policy": None}, [1, 1, 2, 1, 2]),
        ({"reader.schema.policy": "writer"}, [1, 1, 2, 1, 2]),
        ({"reader.schema.policy": "latest.seen"}, [1, 1, 2, 2, 2]),
        ({"reader.schema.policy": "latest"}, [3, 3, 3, 3, 3]),
        ({"use.latest.version": True}, [3, 3, 3, 3, 3]),
        ({"reader.schema.policy": "latest", "use.latest.version": True}, [3, 3, 3, 3, 3]),
    ],
)
def test_the_policy_says_as_which_version_messages_come_out(
    conf: dict[str, Any], options: dict[str, Any], expected: list[int]
) -> None:
    assert read(reader(conf, **options), *HISTORY) == expected


@pytest.mark.parametrize("policy", [{}, {"reader.schema.policy": "fixed"}])
def test_a_schema_that_is_given_is_fixed(conf: dict[str, Any], policy: dict[str, str]) -> None:
    assert read(reader(conf, schema(0), **policy), *HISTORY) == [0] * 5
    assert read(reader(conf, schema(3), **policy), *HISTORY) == [3] * 5


def test_the_schema_of_a_class_is_fixed(conf: dict[str, Any]) -> None:
    from dataclasses import dataclass

    @dataclass
    class User:
        name: str

    typed = reader(conf, **{"value.type": User, "reader.schema.policy": "fixed", "allow.null": False})
    assert typed.deserialize("t", framed(2)) == User("v2")


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        ({"reader.schema.policy": "newest"}, None, "expected writer or latest.seen or latest or fixed, got 'newest'"),
        ({"reader.schema.policy": "fixed"}, None, "reader.schema.policy=fixed requires a schema"),
        ({"reader.schema.policy": "writer"}, "string", "both a reader's schema and reader.schema.policy=writer"),
        (
            {"reader.schema.policy": "latest.seen"},
            "string",
            "both a reader's schema and .*=latest.seen",
        ),
        ({"reader.schema.policy": "latest"}, "string", "both a reader's schema and reader.schema.policy=latest"),
        ({"reader.schema.policy": "writer", "use.latest.version": True}, None, "both use.latest.version and .*=writer"),
        ({"reader.schema.policy": "latest.seen", "use.latest.version": "true"}, None, "both .* and .*=latest.seen"),
        (
            {"reader.schema.policy": "fixed", "use.latest.version": True},
            "string",
            "both use.latest.version and .*=fixed",
        ),
        ({"reader.schema.policy": "latest.seen", "value.type": int}, None, "both value.type and .*=latest.seen"),
        (
            {"reader.schema.incompatible": "writer", "value.type": int},
            None,
            "both value.type and .*=writer",
        ),
        ({"reader.schema.incompatible": "skip"}, None, "reader.schema.incompatible: expected error or writer"),
    ],
)
def test_contradicting_options_are_refused(
    conf: dict[str, Any], options: dict[str, Any], given: Any, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        reader(conf, given, **options)


def test_a_schema_still_takes_precedence_over_use_latest_version(conf: dict[str, Any]) -> None:
    assert read(reader(conf, schema(1), **{"use.latest.version": True}), 0, 2) == [1, 1]


# latest.seen: what counts


def test_a_version_that_was_seen_is_never_left_again(conf: dict[str, Any]) -> None:
    assert read(seeing(conf), 0, 2, 0, 1, 2, 3, 0, 2, 1, 3) == [0, 2, 2, 2, 2, 3, 3, 3, 3, 3]


def test_messages_are_hits_again_once_their_version_was_seen(conf: dict[str, Any], registry: LocalRegistry) -> None:
    deserializer = seeing(conf)
    read(deserializer, 1, 2, 1, 2)
    before, calls = deserializer.stats()["misses"], registry.calls.total()
    assert calls == 2
    assert read(deserializer, *[1] * 50) == [2] * 50
    assert deserializer.stats()["misses"] == before + 0
    read(deserializer, *[2] * 50)
    assert deserializer.stats() | {"misses": before, "registry_calls": 0} == deserializer.stats() | {
        "messages": 104,
        "misses": before,
        "registry_calls": 0,
        "errors": 0,
    }
    assert registry.calls.total() == calls


def test_topics_do_not_mix(conf: dict[str, Any], registry: LocalRegistry) -> None:
    register(registry, "u", range(3))
    deserializer = seeing(conf)
    assert read(deserializer, 3, 0) == [3, 3]
    assert read(deserializer, 0, 1, 0, topic="u") == [0, 1, 1]
    assert read(deserializer, 0) == [3]
    assert read(deserializer, 2, 0, topic="u") == [2, 2]


def test_the_names_of_one_topic_are_one_topic(conf: dict[str, Any]) -> None:
    deserializer, full = seeing(conf), "persistent://public/default/t"
    assert read(deserializer, 0, topic=full) == [0]
    assert read(deserializer, 1) == [1]
    assert read(deserializer, 0, topic=full) == [1]


def test_deserializers_do_not_mix(conf: dict[str, Any]) -> None:
    first, second = seeing(conf), seeing(conf)
    assert (read(first, 3, 0), read(second, 0, 1, 0), read(first, 1)) == ([3, 3], [0, 1, 1], [3])


def test_configuring_a_deserializer_again_starts_from_the_beginning(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 3, 0) == [3, 3]
    assert read(deserializer.configure({**conf, **SEEN}), 0) == [0]


def test_a_message_without_a_header_counts_as_the_version_that_reads_it(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert shown(deserializer.deserialize("t", bare(1), version=1)) == 1
    assert read(deserializer, 0) == [1]
    assert deserializer.deserialize("t", bare(0), version=0) == as_version(0, 1)
    assert deserializer.deserialize("t", bare(3)) == datum(3)  # by the topic's latest
    assert read(deserializer, 0, 1, 2) == [3, 3, 3]
    assert deserializer.deserialize("t", bare(1), version=1) == as_version(1, 3)


def test_a_message_of_an_unknown_version_counts_as_the_version_that_reads_it(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 1) == [1]
    unknown = framed(3)[:2] + (99).to_bytes(8, "big") + bare(3)
    assert deserializer.deserialize("t", unknown) == datum(3)
    assert deserializer.stats()["fallbacks"] == 1
    assert read(deserializer, 0) == [3]


def test_the_callers_version_counts_where_the_headers_does_not_read_the_message(registry: LocalRegistry) -> None:
    # -2 and 2 as longs begin like a header.
    longs = {"type": "record", "name": "User", "fields": [{"name": n, "type": "long"} for n in "abcdefghij"]}
    more = {**longs, "fields": [*longs["fields"], {"name": "k", "type": "long", "default": 7}]}
    url = {"schema.registry.url": registry.url}
    for each in (longs, more):
        KafkaAvroSerializer(url, each).serialize("t", dict.fromkeys("abcdefghijk", 1))
    deserializer = KafkaAvroDeserializer({**url, **SEEN})
    values = dict(zip("abcdefghij", [-2, 2, *[0] * 7, 5], strict=True))
    message = Codec(longs).encode(values)
    assert message.startswith(b"\3\4" + bytes(7))
    assert deserializer.deserialize("t", message, version=0) == values
    assert deserializer.deserialize("t", Codec(more).encode({**values, "k": 9}), version=1) == {**values, "k": 9}
    assert deserializer.deserialize("t", message, version=0) == {**values, "k": 7}


# Failures


@pytest.mark.parametrize("message", [damaged(3), framed(3)[:-1], framed(3) + b"more", b"\3\4" + (3).to_bytes(8, "big")])
def test_a_message_that_cannot_be_read_does_not_count(conf: dict[str, Any], message: bytes) -> None:
    deserializer = seeing(conf)
    for seen in (1, 1, 2):  # also after other messages, and a second time
        assert read(deserializer, seen) == [seen]
        with pytest.raises(DecodeError, match="topic t, schema version 3"):
            deserializer.deserialize("t", message)
        assert read(deserializer, 0) == [seen]
    assert read(deserializer, 3, 0) == [3, 3]
    with pytest.raises(DecodeError, match="topic t, schema version 3"):
        deserializer.deserialize("t", message)
    assert deserializer.stats()["errors"] == 4


def test_a_skipped_message_does_not_count(conf: dict[str, Any]) -> None:
    messages = [framed(0), damaged(2), framed(1), None, damaged(3), framed(0), framed(2), framed(0)]
    found = list(seeing(conf).deserialize_many("t", messages, "skip"))
    assert [None if one is None else shown(one) for one in found] == [0, 1, None, 1, 2, 2]


def test_a_function_that_fails_does_not_take_back_what_was_read(conf: dict[str, Any]) -> None:
    def convert(datum: dict[str, Any], _: Any) -> Any:
        if shown(datum) == 3:
            raise KeyError("f3")
        return datum

    deserializer = KafkaAvroDeserializer({**conf, **SEEN}, from_dict=convert)
    assert read(deserializer, 1) == [1]
    for version in (3, 1):  # the message was read
        with pytest.raises(KeyError):
            deserializer.deserialize("t", framed(version))


def test_a_new_version_that_the_registry_cannot_be_asked_for_does_not_count(
    conf: dict[str, Any], registry: LocalRegistry
) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 0, 1) == [0, 1]
    registry.fail(Fault.status(503), times=None)
    for _ in range(2):
        with pytest.raises(RegistryUnavailableError):
            deserializer.deserialize("t", framed(2))
        assert read(deserializer, 0, 1) == [1, 1]
    registry.heal()
    assert read(deserializer, 2, 0) == [2, 2]


def test_a_version_without_a_valid_schema_does_not_count(conf: dict[str, Any], registry: LocalRegistry) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 0, 1) == [0, 1]
    delete(registry, force=False)  # is version 4, of type DELETE
    with pytest.raises((SchemaError, SchemaNotFoundError)):
        deserializer.deserialize("t", framed(4))
    assert read(deserializer, 0, 1) == [1, 1]


_others = itertools.count(201)


def elsewhere() -> dict[str, Any]:
    """Options that share no cache with others, as in another process."""
    return {"retries.wait.ms": next(_others)}


def recreate(registry: LocalRegistry, versions: range, topic: str = "t") -> None:
    """As another process does."""
    delete(registry, topic)
    register(registry, topic, versions, **elsewhere())


def test_a_recreated_topic_starts_from_the_beginning(
    conf: dict[str, Any], registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.02)
    deserializer = seeing(conf, **{"cache.latest.ttl.sec": 0.05})
    assert read(deserializer, 2, 0) == [2, 2]
    recreate(registry, range(2))
    until(lambda: read(deserializer, 0) == [0])
    assert read(deserializer, 0, 1, 0) == [0, 1, 1]
    register(registry, "t", range(2, 4), **elsewhere())
    recreate(registry, range(4))  # now it has the versions that were seen, too
    until(lambda: read(deserializer, 0) == [0])
    assert read(deserializer, 1, 0) == [1, 1]


def test_a_recreated_topic_is_noticed_by_a_message_that_cannot_be_read(
    conf: dict[str, Any], registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    deserializer = seeing(conf, **{"cache.latest.ttl.sec": 3600})
    assert read(deserializer, 0, 1, 0) == [0, 1, 1]
    delete(registry)
    count = {"type": "record", "name": "Count", "fields": [{"name": "n", "type": "double"}]}
    with KafkaAvroSerializer({**conf, **elsewhere()}, count) as other:
        message = other.serialize("t", {"n": 7.0})
    assert message is not None
    assert deserializer.deserialize("t", message) == {"n": 7.0}
    assert deserializer.deserialize("t", message) == {"n": 7.0}


def test_a_recreated_topic_starts_from_the_beginning_in_a_pickle(conf: dict[str, Any], registry: LocalRegistry) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 2) == [2]
    data = pickle.dumps(deserializer)
    recreate(registry, range(3))
    Binding.forget()
    fresh = KafkaAvroDeserializer(conf)  # knows the new topic
    assert read(fresh, 0, 1, 2) == [0, 1, 2]
    assert read(pickle.loads(data), 0, 1, 0) == [0, 1, 1]


@pytest.mark.parametrize(("text", "expected"), [(schema(2), 2), (schema(1), 0)])
def test_a_topic_whose_time_of_registration_is_unknown_is_known_by_its_schema(
    conf: dict[str, Any], text: Any, expected: int
) -> None:
    deserializer = seeing(conf)
    info = SchemaInfo(2, "AVRO", json.dumps(text))
    policy_of(deserializer).seen.learn([Mark("public/default/t", info, settled=True)])
    assert read(deserializer, 0) == [expected]


def test_a_thread_that_read_a_lower_version_takes_nothing_back(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 1, 3) == [1, 3]
    policy = policy_of(deserializer)
    policy.seen.advance(deserializer, "t", policy.binding.version("t", 1))
    assert read(deserializer, 0, 1) == [3, 3]


def test_a_topic_that_was_forgotten_and_is_the_same_goes_on(conf: dict[str, Any], registry: LocalRegistry) -> None:
    deserializer = seeing(conf, **{"cache.capacity": 1})
    assert read(deserializer, 2) == [2]
    register(registry, "u", range(1))
    assert read(deserializer, 0, topic="u") == [0]  # takes the only place
    assert read(deserializer, 0, 1) == [2, 2]
    assert read(deserializer, 0, topic="u") == [0]


# Copies


@pytest.mark.parametrize("clone", [copy.deepcopy, copy.copy, unpickled, lambda one: unpickled(unpickled(one))])
def test_a_copy_goes_on_from_what_was_seen(conf: dict[str, Any], registry: LocalRegistry, clone: Any) -> None:
    register(registry, "u", range(2))
    deserializer = seeing(conf)
    assert read(deserializer, 0, 2) == [0, 2]
    assert read(deserializer, 1, topic="u") == [1]
    deserializer.rebind()  # a pickle between two messages carries it, too
    copied = clone(deserializer)
    assert read(copied, 0, 1, 3, 0) == [2, 2, 3, 3]
    assert read(copied, 0, topic="u") == [1]
    assert read(deserializer, 0) == [2]  # it does not see what the copy reads


def test_a_copy_does_not_ask_the_registry_again(conf: dict[str, Any], registry: LocalRegistry) -> None:
    deserializer = seeing(conf)
    read(deserializer, 0, 2, 0)
    registry.reset_calls()
    assert read(unpickled(deserializer), 0, 2) == [2, 2]
    assert not registry.calls


# Threads


def test_no_message_that_is_begun_later_goes_back_in_any_thread(conf: dict[str, Any]) -> None:
    deserializer, failed = seeing(conf), []
    highest = [0]  # as which version a message came out so far; only ever grows

    def work(number: int) -> None:
        for step in range(400):
            version = min(3, (step + number * 37) // 120 + (step % 3) - 1) if step > 3 else 0
            before = highest[0]
            found = shown(deserializer.deserialize("t", framed(max(version, 0))))
            if found < before:
                failed.append((number, step, found, before))
            while found > highest[0]:
                highest[0] = found

    with busy_switching():
        together(4, work)
    assert not failed
    assert highest == [3]


def test_a_thread_that_was_late_does_not_bring_back_an_older_version(
    conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has asked what reads version 1 before another thread reads version 2, and keeps the answer afterwards."""
    deserializer = seeing(conf)
    assert read(deserializer, 1) == [1]
    deserializer.rebind()
    held, go_on = threading.Event(), threading.Event()
    real = Binding.version

    def version(self: Binding, topic: str, number: int, *more: Any) -> Any:
        found = real(self, topic, number, *more)
        if threading.current_thread() is late:
            held.set()
            go_on.wait(30)
        return found

    monkeypatch.setattr(Binding, "version", version)
    results: list[list[int]] = []
    late = threading.Thread(target=lambda: results.append(read(deserializer, 1)))
    late.start()
    assert held.wait(30)
    assert read(deserializer, 2) == [2]
    go_on.set()
    late.join(30)
    assert results in ([[1]], [[2]])  # begun before version 2 was read
    assert read(deserializer, 1, 1) == [2, 2]


def test_a_message_that_waits_to_be_the_first_of_its_version_may_be_overtaken(
    conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    deserializer, overtaken = seeing(conf), []
    real = ReaderSchemaPolicy.admitted

    def admitted(self: ReaderSchemaPolicy, bound: Any) -> Any:
        found = real(self, bound)
        if bound.version == 1 and not overtaken:
            overtaken.append(bound)
            assert read(deserializer, 2) == [2]
        return found

    monkeypatch.setattr(ReaderSchemaPolicy, "admitted", admitted)
    assert read(deserializer, 1, 1) == [2, 2]
    assert overtaken
    assert deserializer.stats()["fallbacks"] == 0


def test_a_version_is_settled_before_any_thread_returns_it(
    conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread has read version 2 and is about to drop what was bound; another one reads version 2 meanwhile."""
    deserializer = seeing(conf)
    assert read(deserializer, 1, 1) == [1, 1]  # bound
    held, go_on = threading.Event(), threading.Event()
    real = KafkaAvroDeserializer.rebind

    def rebind(self: KafkaAvroDeserializer) -> None:
        if threading.current_thread() is first:
            held.set()
            go_on.wait(30)
        real(self)

    monkeypatch.setattr(KafkaAvroDeserializer, "rebind", rebind)
    first = threading.Thread(target=lambda: read(deserializer, 2))
    first.start()
    assert held.wait(30)
    assert read(deserializer, 2) == [2]
    assert read(deserializer, 1) == [2]
    go_on.set()
    first.join(30)
    assert read(deserializer, 1) == [2]


def test_asyncio_goes_by_the_same_policy(conf: dict[str, Any], registry: LocalRegistry) -> None:
    async def run() -> list[int]:
        client = AsyncSchemaRegistryClient({"url": registry.url})
        deserializer = await AsyncAvroDeserializer(client, conf=dict(SEEN))
        context = SerializationContext("t", MessageField.VALUE)
        return [shown(await deserializer(framed(version), context)) for version in (*HISTORY, 0, 3, 0)]

    assert asyncio.run(run()) == [1, 1, 2, 2, 2, 2, 3, 3]


# A message that cannot be converted

AGE: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "age", "type": "int"}]}
TEXT: dict[str, Any] = {**AGE, "fields": [{"name": "age", "type": "string"}]}


@pytest.fixture
def incompatible(registry: LocalRegistry) -> list[bytes]:
    """Messages of the versions 0 and 1 of "t", of which neither is readable as the other; and 2, which is as 1."""
    url = {"schema.registry.url": registry.url}
    registry.set_strategy("ALWAYS_COMPATIBLE")
    third = {**TEXT, "fields": [*TEXT["fields"], {"name": "note", "type": "string", "default": "-"}]}
    made = [
        KafkaAvroSerializer(url, each).serialize("t", value)
        for each, value in ((AGE, {"age": 7}), (TEXT, {"age": "x"}), (third, {"age": "y", "note": "n"}))
    ]
    assert [message and message[9] for message in made] == [0, 1, 2]
    return [message for message in made if message is not None]


@pytest.mark.parametrize("policy", ["latest.seen", "latest", "fixed"])
def test_a_message_that_cannot_be_converted_is_an_error_that_names_the_field(
    registry: LocalRegistry, incompatible: list[bytes], policy: str
) -> None:
    deserializer = KafkaAvroDeserializer(
        {"schema.registry.url": registry.url, "reader.schema.policy": policy}, TEXT if policy == "fixed" else None
    )
    if policy == "latest.seen":
        assert deserializer.deserialize("t", incompatible[0]) == {"age": 7}
    assert deserializer.deserialize("t", incompatible[1])["age"] == "x"
    for _ in range(2):
        with pytest.raises(SchemaError, match=r"topic t, schema version 0, field age: .*string.*int"):
            deserializer.deserialize("t", incompatible[0])
    assert deserializer.deserialize("t", incompatible[2])["age"] == "y"


@pytest.mark.parametrize("policy", ["latest.seen", "latest", "fixed"])
def test_or_it_comes_out_as_it_was_written(registry: LocalRegistry, incompatible: list[bytes], policy: str) -> None:
    deserializer = KafkaAvroDeserializer(
        {"schema.registry.url": registry.url, "reader.schema.policy": policy, **WRITER},
        TEXT if policy == "fixed" else None,
    )
    assert deserializer.deserialize("t", incompatible[1])["age"] == "x"
    for _ in range(3):
        assert deserializer.deserialize("t", incompatible[0]) == {"age": 7}
        assert deserializer.deserialize("t", incompatible[1])["age"] == "x"
        assert deserializer.deserialize("t", incompatible[2])["age"] == "y"
    expected = {"latest.seen": 2, "latest": 2, "fixed": 1}[policy]
    assert len(deserializer.deserialize("t", incompatible[1])) == expected


EITHER = {**AGE, "fields": [{"name": "age", "type": ["int", "string"]}]}
NUMBER = {**AGE, "fields": [{"name": "age", "type": "int"}]}


def test_a_message_whose_value_has_no_place_is_an_error_or_comes_out_as_it_was_written(registry: LocalRegistry) -> None:
    url = {"schema.registry.url": registry.url}
    writer = KafkaAvroSerializer(url, EITHER)
    number, text = writer.serialize("t", {"age": 7}), writer.serialize("t", {"age": "x"})
    assert number is not None
    assert text is not None
    strict, lenient = KafkaAvroDeserializer(url, NUMBER), KafkaAvroDeserializer({**url, **WRITER}, NUMBER)
    for _ in range(2):
        assert strict.deserialize("t", number) == lenient.deserialize("t", number) == {"age": 7}
        with pytest.raises(DecodeError, match="topic t, schema version 0, field age"):
            strict.deserialize("t", text)
        assert lenient.deserialize("t", text) == {"age": "x"}
        assert lenient.deserialize("t", text[10:], version=0) == {"age": "x"}
        with pytest.raises(DecodeError, match="topic t, schema version 0, field age"):
            lenient.deserialize("t", text[:-1])
    assert lenient.stats()["errors"] == 2


def test_a_version_that_is_not_there_is_no_matter_of_converting(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf, **WRITER, **{"fallback.to.latest": False})
    assert read(deserializer, 1) == [1]
    with pytest.raises(SchemaNotFoundError):
        deserializer.deserialize("t", framed(9))
    assert read(deserializer, 0) == [1]


# Confluent's framings: their schemas are no versions of the topic


def test_messages_of_another_registry_become_what_was_seen_and_do_not_count(
    conf: dict[str, Any], registry: LocalRegistry
) -> None:
    with ConfluentStandIn() as second:
        old, new = (second.register("t-value", schema(version)) for version in (0, 3))
        prefixed = {
            version: b"\0" + number.to_bytes(4, "big") + bare(version) for version, number in ((0, old), (3, new))
        }
        both = {"confluent.schema.registry.url": second.url, "framings": "snip42,confluent,headerless"}
        deserializer = seeing(conf, **both)
        assert [shown(deserializer.deserialize("t", prefixed[version])) for version in (0, 3, 0)] == [0, 3, 0]
        assert read(deserializer, 1) == [1]
        assert deserializer.deserialize("t", prefixed[0]) == as_version(0, 1)
        assert shown(deserializer.deserialize("t", prefixed[3])) == 1
        assert read(deserializer, 2, 0) == [2, 2]
        assert deserializer.deserialize("t", prefixed[0]) == as_version(0, 2)
