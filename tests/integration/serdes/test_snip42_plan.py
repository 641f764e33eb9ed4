"""SNIP 42's test plan by strategy, for AVRO and KEY_VALUE topics: on a real Kafka and two Pulsars, and embedded.

Bare messages of KEY_VALUE topics have no version, so the plan holds with key.value.framing=value. What happens without
it, and what helps, is here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import pytest
from snip42_plan import (
    ALLOWED,
    CHANGES,
    FIELD_WITH_DEFAULT,
    FIRST,
    FIRST_USERS,
    KEY,
    REFUSED,
    Json,
    PairStage,
    Stage,
    a_refused_schema_says_why_and_the_old_producer_still_works,
    old_and_new_producers_share_a_topic,
    user,
)

from streamnative_serdes import KafkaAvroDeserializer, KeyValue, KeyValueSchema
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import DecodeError
from streamnative_serdes.key_value import KeyValueEncodingType
from streamnative_serdes.testing import LocalRegistry, MockBroker

AVRO, INLINE, SEPARATED = "AVRO", "INLINE", "SEPARATED"
KINDS: Final = (AVRO, INLINE, SEPARATED)
S = TypeVar("S", bound=Stage)
PAIRS: Final[tuple[KeyValueEncodingType, ...]] = (INLINE, SEPARATED)


@dataclass(frozen=True)
class Place:
    """A Kafka and a registry.

    Args:
        bootstrap_servers: of the Kafka.
        create: creates a topic with one partition, unless the Kafka does so by itself.
        conf_of: returns the options for a namespace with a strategy.
    """

    bootstrap_servers: str
    create: Callable[[str], object]
    conf_of: Callable[[str], Json]

    def stage(self, strategy: str, kind: str) -> Stage:
        if kind != AVRO:
            return self.pairs(strategy, kind)
        return self._created(Stage(self.bootstrap_servers, self.conf_of(strategy)))

    def pairs(self, strategy: str, encoding: Any, framing: str = "value") -> PairStage:
        return self._created(PairStage(self.bootstrap_servers, self.conf_of(strategy), encoding, framing))

    def _created(self, stage: S) -> S:
        self.create(stage.topic)
        return stage


@pytest.fixture(scope="module", params=["pulsar", "pulsar_4_2", "embedded"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param != "embedded":
        kafka, pulsar = request.getfixturevalue("kafka"), request.getfixturevalue(request.param)
        yield Place(kafka.bootstrap_servers, lambda _: None, lambda strategy: of_pulsar(pulsar, strategy))
        return
    with LocalRegistry() as registry, MockBroker() as broker:
        create = partial(broker.create_topic, partitions=1)
        yield Place(broker.bootstrap_servers, create, lambda strategy: of_registry(registry, strategy))


def of_pulsar(pulsar: Any, strategy: str) -> Json:
    namespace = strategy.lower().replace("_", "-")
    assert pulsar.admin("PUT", f"namespaces/public/{namespace}").status_code in (204, 409)  # 409: already exists
    path = f"namespaces/public/{namespace}/schemaCompatibilityStrategy"
    assert pulsar.admin("PUT", path, json=strategy).status_code == 204
    assert pulsar.admin("GET", path).json() == strategy
    return {"schema.registry.url": pulsar.url, "pulsar.namespace": namespace}


def of_registry(registry: LocalRegistry, strategy: str) -> Json:
    registry.set_strategy(strategy)
    return {"schema.registry.url": registry.url}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", sorted(ALLOWED))
def test_old_and_new_producers_share_a_topic(place: Place, strategy: str, kind: str) -> None:
    old_and_new_producers_share_a_topic(place.stage(strategy, kind), CHANGES[ALLOWED[strategy]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("strategy", "change"), REFUSED)
def test_a_refused_schema_quotes_the_brokers_reason_and_the_old_producer_still_works(
    place: Place, strategy: str, change: str, kind: str
) -> None:
    stage = place.stage(strategy, kind)
    a_refused_schema_says_why_and_the_old_producer_still_works(stage, strategy, CHANGES[change])


# ReaderSchemaPolicy policies


@pytest.mark.parametrize("kind", KINDS)
def test_each_policy_reads_a_history_of_two_versions_as_its_schema(place: Place, kind: str) -> None:
    """In rows, and in a batch, which has one schema: with latest.seen, the newest version in it."""
    stage, change, history = place.stage("FULL", kind), FIELD_WITH_DEFAULT, (0, 0, 1, 0, 1)
    schemas, (old, new) = (FIRST, change.schema), (FIRST_USERS[0], change.users[0])
    for version in history:
        stage.send(stage.producer(schemas[version]), [(old, new)[version]])
    assert change.by_first
    assert change.by_second
    as_second = change.by_second(old)
    expected = {
        "writer": [old, old, new, old, new],
        "latest.seen": [old, old, new, as_second, new],
        "latest": [as_second, as_second, new, as_second, new],
        "fixed": [old, old, change.by_first(new), old, change.by_first(new)],
    }
    messages = stage.raw(len(history))
    for policy, users in expected.items():
        Binding.forget()
        conf = {**stage.conf, "reader.schema.policy": policy}
        schema: Any = FIRST if kind == AVRO else KeyValueSchema(KEY, FIRST, kind)  # type: ignore[arg-type]
        reader, of_batches = (KafkaAvroDeserializer(conf, schema if policy == "fixed" else None) for _ in range(2))
        read = [reader.deserialize(stage.topic, message.value()) for message in messages]
        assert [one.value if isinstance(one, KeyValue) else one for one in read] == users, policy
        if policy != "writer":
            keys = [message.key() for message in messages] if kind == SEPARATED else None
            rows = of_batches.deserialize_batch(stage.topic, [one.value() for one in messages], keys=keys).to_pylist()
            in_batch = expected["latest" if policy == "latest.seen" else policy]
            assert [row if kind == AVRO else row["value"] for row in rows] == in_batch, policy


# Bare messages


@pytest.mark.parametrize("encoding", PAIRS)
def test_bare_messages_from_before_an_evolution_need_the_version_or_the_schemas_that_wrote_them(
    place: Place, encoding: KeyValueEncodingType
) -> None:
    stage, change = place.pairs("FULL", encoding, "bare"), FIELD_WITH_DEFAULT
    stage.send(stage.producer(FIRST), FIRST_USERS)
    with stage.consumer() as received:
        assert received(10) == FIRST_USERS
    stage.send(stage.producer(change.schema), change.users)
    with stage.consumer() as received:
        assert [type(error) for error in received(10)] == [DecodeError] * 10
        assert received(10) == change.users
    assert change.by_first
    as_first = [change.by_first(one) for one in change.users]
    with stage.consumer(FIRST) as received:  # both deserializers have the pair that the first producer has
        assert received(20) == FIRST_USERS + as_first
    reader = KafkaAvroDeserializer(stage.conf)
    read = [
        reader.deserialize(stage.topic, message.value(), version=number // 10)
        for number, message in enumerate(stage.raw(20))
    ]
    assert [one.value if isinstance(one, KeyValue) else one for one in read] == FIRST_USERS + change.users


@pytest.mark.parametrize("encoding", PAIRS)
def test_bare_messages_read_by_a_wrong_schema_of_the_same_shape_are_wrong_data_without_an_error(
    place: Place, encoding: KeyValueEncodingType
) -> None:
    name, nick = ({"name": name, "type": "string", "default": ""} for name in ("name", "nick"))
    ada = {"name": "ada 1", "nick": "lady 1"}
    for framing, read in (("bare", {"nick": ada["name"], "name": ada["nick"]}), ("value", ada)):
        stage = place.pairs("FULL", encoding, framing)
        stage.send(stage.producer(user(name, nick)), [ada])
        stage.send(stage.producer(user(nick, name)), [ada])
        with stage.consumer() as received:
            assert received(2) == [read, ada]


@pytest.mark.parametrize("encoding", PAIRS)
def test_keys_beside_framed_values_have_no_version_and_keys_inside_them_have(
    place: Place, encoding: KeyValueEncodingType
) -> None:
    stage = place.pairs("FULL", encoding)
    wider_key = {**KEY, "fields": [*KEY["fields"], {"name": "shard", "type": "int", "default": 0}]}
    old, new = (KeyValueSchema(key, FIRST, encoding) for key in (KEY, wider_key))
    stage.send(stage.producer(old), FIRST_USERS)
    stage.send(stage.producer(new), FIRST_USERS)
    with stage.consumer(old) as received:  # given schemas read keys of both versions
        assert received(20) == FIRST_USERS * 2
    reader = KafkaAvroDeserializer(stage.conf, is_key=encoding == SEPARATED)
    messages = stage.raw(20)
    if encoding == INLINE:
        keys = [reader.deserialize(stage.topic, message.value()).key for message in messages]
    else:
        with pytest.raises(DecodeError, match="schema version 1, field shard"):
            reader.deserialize(stage.topic, messages[0].key())
        keys = [reader.deserialize(stage.topic, each.key(), number // 10) for number, each in enumerate(messages)]
    assert keys == [{"id": number} for number in range(10)] + [{"id": number, "shard": 0} for number in range(10)]
