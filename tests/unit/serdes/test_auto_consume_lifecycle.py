"""KafkaAutoConsumeDeserializer: pickles, threads, closing, counts and recreated topics."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from any_type import delete, framed, header, register
from conf import conf
from schemas import record
from waiting import together

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    EncodeError,
    KafkaAutoConsumeDeserializer,
    KafkaPulsarSerializer,
    KeyValue,
    KeyValueSchema,
    SerdesError,
    TopicSchema,
    TypedSchema,
)
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.auto_consume import UNREAD_KEY
from streamnative_serdes.codec import Codec
from streamnative_serdes.serializer import KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry

USER = record("User", ("name", "string"), ("age", "int"))
WIDER = record("User", ("name", "string"), ("age", "int"), ("city", ["null", "string"], None))
BOB = {"name": "bob", "age": 7}
ID = record("Id", ("id", "int"))


class Native(KafkaAutoConsumeDeserializer):
    """A user's subclass."""

    def deserialize(self, *args: Any, **more: Any) -> Any:
        found = super().deserialize(*args, **more)
        return found and found.native_object


@pytest.fixture
def topics(registry: LocalRegistry) -> LocalRegistry:
    """ "users" (AVRO), "texts" (JSON), "numbers" (INT64) and "pairs" (KEY_VALUE of AVRO and JSON)."""
    register(registry, "users", "AVRO", USER)
    register(registry, "texts", "JSON", USER)
    register(registry, "numbers", "INT64")
    pair = KeyValueSchema(ID, TypedSchema("JSON", USER), "SEPARATED")
    KafkaAvroSerializer(conf(registry), pair).warm_up("pairs")
    registry.reset_calls()
    return registry


def read_all(reader: KafkaAutoConsumeDeserializer) -> list[Any]:
    found = [
        reader.deserialize("users", framed(0, USER, BOB)),
        reader.deserialize("texts", b'{"name":"bob","age":7}'),
        reader.deserialize("numbers", bytes(7) + b"\x05"),
        reader.deserialize("pairs", b'{"name":"bob","age":7}', key=b"\x02"),
    ]
    return [None if one is None else one.native_object for one in found]


EXPECTED = [BOB, BOB, 5, KeyValue({"id": 1}, BOB)]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy])
def test_a_pickle_carries_the_known_schemas_of_all_types(topics: LocalRegistry, times: int, copied: Any) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(topics))
    assert read_all(reader) == EXPECTED
    for _ in range(times):
        packed = copied(reader)
        Binding.forget()  # simulates another process
        reader = copied(packed)
    topics.reset_calls()
    assert read_all(reader) == EXPECTED
    assert topics.calls == {}


def test_warmed_up_topics_need_no_registry(topics: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(topics))
    for topic in ("users", "texts", "numbers", "pairs"):
        reader.warm_up(topic)
    assert topics.calls == {"GET schemas": 4}
    packed = pickle.dumps(reader)
    assert read_all(reader) == EXPECTED
    Binding.forget()  # simulates another process
    assert read_all(pickle.loads(packed)) == EXPECTED
    assert topics.calls == {"GET schemas": 4}


def test_a_deserializer_of_keys_stays_one_in_a_pickle(topics: LocalRegistry) -> None:
    keys = pickle.loads(pickle.dumps(KafkaAutoConsumeDeserializer(conf(topics), is_key=True)))
    assert keys.deserialize("pairs", b"\x02").native_object == {"id": 1}


@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy])
def test_what_was_read_can_be_copied_and_its_schema_reads_on_without_the_registry(
    topics: LocalRegistry, copied: Any
) -> None:
    secret = conf(topics, **{"bearer.auth.token": "a-secret-token"})
    reader = KafkaAutoConsumeDeserializer(secret)
    found = reader.deserialize("pairs", b'{"name":"bob","age":7}', key=b"\x02")
    again = copied(found)
    assert again == found
    assert b"a-secret-token" not in pickle.dumps(found)
    topics.close()
    schema = again.decoded_by.schema
    assert schema == reader.schema("pairs")
    assert (schema.info, schema.native, schema.topic) == (found.schema_info, KeyValue(ID, USER), "pairs")
    assert schema.decode(b'{"name":"bob","age":7}', key=b"\x02") == KeyValue({"id": 1}, BOB)
    assert schema.key.decode(b"\x02") == copied(schema.key).decode(b"\x02") == {"id": 1}


def test_a_schema_from_a_pickle_does_not_ask_the_registry(topics: LocalRegistry) -> None:
    schema: TopicSchema = pickle.loads(pickle.dumps(KafkaAutoConsumeDeserializer(conf(topics)).schema("users")))
    with pytest.raises(ConfigError, match=r"topic users: .*pickle.*KafkaAutoConsumeDeserializer"):
        schema.at_version(0)


def test_an_unread_key_is_the_same_object_in_each_process() -> None:
    assert pickle.loads(pickle.dumps(UNREAD_KEY)) is copy.deepcopy(UNREAD_KEY) is UNREAD_KEY


def test_the_error_for_an_unread_key_that_is_written_shows_it_by_its_public_name(registry: LocalRegistry) -> None:
    write = KafkaPulsarSerializer(conf(registry), KeyValueSchema(ID, USER, "INLINE"))
    with pytest.raises(EncodeError, match=r"got UNREAD_KEY\b"):
        write.serialize("pairs", KeyValue(UNREAD_KEY, BOB))


def test_threads_share_one_deserializer_and_each_schema_is_asked_for_once(topics: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(topics))
    results = together(8, lambda _: [read_all(reader) for _ in range(50)])
    assert all(one == EXPECTED for found in results for one in found)
    assert topics.calls == {"GET version": 1, "GET schema": 3}
    assert reader.stats()["messages"] == 8 * 50 * 4
    assert reader.stats()["errors"] == 0


def test_threads_get_the_same_schema(topics: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(topics))
    found = together(8, lambda _: reader.schema("users"))
    assert {schema.version for schema in found if schema} == {0}
    assert len({schema for schema in found if schema}) == 1


def test_a_closed_deserializer_stays_usable(topics: LocalRegistry) -> None:
    with KafkaAutoConsumeDeserializer(conf(topics)) as reader:
        assert read_all(reader) == EXPECTED
    for _ in range(2):
        assert read_all(reader) == EXPECTED
        reader.close()


def test_each_message_counts_once(topics: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(topics))
    read_all(reader)
    before = reader.stats()["registry_calls"]
    read_all(reader)
    with pytest.raises(DecodeError):
        reader.deserialize("numbers", b"x")
    with pytest.raises(DecodeError):
        reader.deserialize("pairs", b'{"name":"bob","age":7}', key=b"")
    counts = reader.stats()
    assert counts["registry_calls"] - before <= 2  # two topics were checked after their failures
    del counts["registry_calls"], counts["bytes"]
    assert counts == {"messages": 10, "hits": 6, "misses": 4, "errors": 2, "headerless": 8, "fallbacks": 0}


def test_a_recreated_topic_of_another_type_is_noticed_at_the_first_failure(registry: LocalRegistry) -> None:
    register(registry, "t", "INT64")
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    found = reader.deserialize("t", bytes(8))
    assert found is not None
    assert found.native_object == 0
    delete(registry)
    register(registry, "t", "JSON", USER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamnative_serdes._topics.binding._LEAST_SECONDS", 0.0)
        after = reader.deserialize("t", b'{"name":"bob","age":7}')
    assert after is not None
    assert (after.schema_type, after.native_object) == ("JSON", BOB)
    assert reader.stats()["errors"] == 0


@pytest.mark.parametrize("kind", ["JSON", "INT32"])
def test_a_header_is_read_if_the_topic_was_recreated_as_avro(registry: LocalRegistry, kind: str) -> None:
    register(registry, "t", kind, USER if kind == "JSON" else "")
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    reader.deserialize("t", b'{"name":"bob","age":7}' if kind == "JSON" else bytes(4))
    delete(registry)
    register(registry, "t", "AVRO", USER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamnative_serdes._topics.binding._LEAST_SECONDS", 0.0)
        for _ in range(2):
            after = reader.deserialize("t", framed(0, USER, BOB))
            assert after is not None
            assert (after.schema_type, after.native_object, after.decoded_by.rule) == ("AVRO", BOB, "header")
        with pytest.raises(DecodeError, match="schema version 0"):
            reader.deserialize("t", framed(0, USER, BOB)[:-1])
    assert reader.stats()["errors"] == 1


def test_a_failure_leaves_nothing_behind(topics: LocalRegistry) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(topics))
    for _ in range(3):
        for topic, data in (
            ("users", framed(0, USER, BOB)[:-1]),
            ("texts", b"{"),
            ("numbers", b""),
            ("users", header(9) + b"x"),
        ):
            with pytest.raises(SerdesError):
                reader.deserialize(topic, data)
        assert read_all(reader) == EXPECTED


def test_a_users_subclass_is_asked(topics: LocalRegistry) -> None:
    reader = Native(conf(topics))
    assert read_all(KafkaAutoConsumeDeserializer(conf(topics))) == EXPECTED
    assert reader.deserialize("users", Codec(USER).encode(BOB)) == BOB
    assert list(reader.deserialize_many("numbers", [bytes(8), None])) == [0, None]
    assert pickle.loads(pickle.dumps(reader)).deserialize("numbers", bytes(8)) == 0
