"""The next batches of a topic are read and written as the one before, until something about the topic has changed."""

from __future__ import annotations

import ctypes
import gc
import math
import mmap
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from any_type import delete
from any_type import register as register_any
from conf import conf

pa = pytest.importorskip("pyarrow")

from confluent_stand_in import ConfluentStandIn  # noqa: E402 - requires pyarrow
from schemas import record  # noqa: E402
from waiting import exit_code  # noqa: E402

from streamnative_serdes import (  # noqa: E402
    ConfigError,
    DecodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValueSchema,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes._call_path import policy_of  # noqa: E402
from streamnative_serdes._reading import batches  # noqa: E402
from streamnative_serdes._reading.reader_schema import ReadAgainError  # noqa: E402
from streamnative_serdes._topics import binding as binding_module  # noqa: E402
from streamnative_serdes._topics.binding import Binding  # noqa: E402
from streamnative_serdes._topics.topic_state import KeptWhileUnchanged, TopicState  # noqa: E402
from streamnative_serdes._topics.watch import Watch  # noqa: E402
from streamnative_serdes.schema_registry import TopicName  # noqa: E402
from streamnative_serdes.testing import LocalRegistry  # noqa: E402

PATIENCE = 30.0  # seconds
USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
WIDER = {**USER, "fields": [*USER["fields"], {"name": "age", "type": ["null", "int"], "default": None}]}
ORDER: dict[str, Any] = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
COUNT: dict[str, Any] = {"type": "record", "name": "Count", "fields": [{"name": "n", "type": "double"}]}
BOB = {"name": "bob"}
FRAMED, BARE = b"\x03\x04" + bytes(8) + b"\x06bob", b"\x06bob"
FRAMED_1 = b"\x03\x04" + bytes(7) + b"\x01" + b"\x06bob\x02\x0e"


def register(registry: LocalRegistry, schema: dict[str, Any], topic: str = "t") -> None:
    """As another process does."""
    with KafkaAvroSerializer(conf(registry, **{"retries.wait.ms": 201}), schema) as other:
        other.warm_up(topic)


def recreate(registry: LocalRegistry, schema: dict[str, Any]) -> None:
    delete(registry)
    register(registry, schema)


def binding_of(serdes: KafkaAvroSerializer | KafkaAvroDeserializer) -> Binding:
    found: Binding = policy_of(serdes).binding
    return found


class Once:
    """Messages that can be read once."""

    def __init__(self, messages: list[bytes]) -> None:
        self._messages = [pa.chunked_array([messages])]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._messages.pop().__arrow_c_stream__(requested_schema)


def columns(**values: Any) -> pa.RecordBatch:
    return pa.record_batch({name: [value] for name, value in values.items()})


def test_later_batches_ask_nothing_and_count_as_the_first(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    assert reader.deserialize_batch("t", [FRAMED]).to_pylist() == [BOB]
    registry.reset_calls()
    for times in (2, 3, 4):
        assert reader.deserialize_batch("t", [FRAMED, None]).to_pylist() == [BOB, {"name": None}]
        assert reader.stats()["messages"] == times
    assert not registry.calls
    assert reader.stats()["errors"] == reader.stats()["fallbacks"] == reader.stats()["headerless"] == 0


def test_a_batch_may_have_versions_that_the_one_before_had_not(registry: LocalRegistry) -> None:
    register(registry, USER)
    register(registry, WIDER)
    reader = KafkaAvroDeserializer(conf(registry))
    for _ in range(3):
        assert reader.deserialize_batch("t", [FRAMED]).to_pylist() == [{"name": "bob", "age": None}]
    for _ in range(3):
        assert reader.deserialize_batch("t", [FRAMED_1, FRAMED]).column("age").to_pylist() == [7, None]


@pytest.mark.parametrize("data", [FRAMED, BARE])
def test_the_latest_schema_is_asked_for_again_after_its_time(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.setattr(Watch, "allowed", False)  # as in a Spark worker
    register(registry, USER)
    with KafkaAvroDeserializer(conf(registry, **{"cache.latest.ttl.sec": 0.5})) as reader:
        for _ in range(3):
            assert reader.deserialize_batch("t", [data]).schema.names == ["name"]
        register(registry, WIDER)
        deadline = time.monotonic() + PATIENCE
        while reader.deserialize_batch("t", [FRAMED]).schema.names == ["name"]:
            assert time.monotonic() < deadline, "the newer version was never asked for"
            time.sleep(0.02)
        assert reader.deserialize_batch("t", [FRAMED]).schema.names == ["name", "age"]


def test_bare_messages_are_read_by_a_newer_latest_schema_also_with_a_schema_of_ones_own(
    registry: LocalRegistry,
) -> None:
    register(registry, USER)
    with KafkaAvroDeserializer(conf(registry, **{"cache.latest.ttl.sec": 0.5}), USER) as reader:
        for _ in range(3):
            assert reader.deserialize_batch("t", [BARE]).to_pylist() == [BOB]
        register(registry, WIDER)
        time.sleep(0.5)
        with pytest.raises(DecodeError, match="field age"):  # of the latest schema, by which it was not written
            reader.deserialize_batch("t", [BARE])


def test_a_recreated_topic_is_noticed_by_a_batch_that_cannot_be_read(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry), USER)
    for _ in range(3):
        assert reader.deserialize_batch("t", [FRAMED]).to_pylist() == [BOB]
    recreate(registry, COUNT)
    with pytest.raises(SchemaError, match="the writer's record Count cannot be read as the reader's record User"):
        reader.deserialize_batch("t", [FRAMED[:-1]])
    recreate(registry, USER)
    binding_of(reader)._look()
    assert reader.deserialize_batch("t", [FRAMED]).to_pylist() == [BOB]


def test_each_message_of_a_recreated_topic_that_does_not_fit_the_columns_has_this_error(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry), USER)
    for _ in range(2):
        reader.deserialize_batch("t", [FRAMED])
    recreate(registry, COUNT)
    batch = reader.deserialize_batch("t", [FRAMED[:-1], FRAMED[:-1]], error_column="why")
    why = "the writer's record Count cannot be read as the reader's record User"
    assert [why in row for row in batch["why"].to_pylist()] == [True, True]


@pytest.mark.parametrize("policy", [None, "latest", "latest.seen"])
@pytest.mark.parametrize("batches_before", [1, 2])
def test_messages_of_a_recreated_topic_are_read_into_its_new_columns(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, policy: str | None, batches_before: int
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry, **({} if policy is None else {"reader.schema.policy": policy})))
    for _ in range(batches_before):
        assert reader.deserialize_batch("t", [FRAMED]).to_pylist() == [BOB]
    recreate(registry, COUNT)
    new, bad = FRAMED[:10] + b"\0" * 6 + b"\xf8\x3f", FRAMED[:10]
    batch = reader.deserialize_batch("t", [new, None, bad, new], error_column="why")
    assert batch["n"].to_pylist() == [1.5, None, None, 1.5]
    assert [why is None for why in batch["why"].to_pylist()] == [True, True, False, True]
    assert reader.stats()["messages"] == batches_before + 3


@pytest.mark.parametrize("policy", [None, "latest.seen", "fixed"])
@pytest.mark.parametrize("batches_before", [1, 2])
@pytest.mark.parametrize("as_given", [list, Once])
def test_a_topic_that_is_recreated_as_another_type_is_read_as_that_type(
    registry: LocalRegistry,
    monkeypatch: pytest.MonkeyPatch,
    policy: str | None,
    batches_before: int,
    as_given: Any,
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    register(registry, USER)
    options = {} if policy is None else {"reader.schema.policy": policy}
    reader = KafkaAvroDeserializer(conf(registry, **options), USER if policy == "fixed" else None)
    for _ in range(batches_before):
        assert reader.deserialize_batch("t", [FRAMED]).to_pylist() == [BOB]
    delete(registry)
    register_any(registry, "t", "JSON", USER)
    assert reader.deserialize_batch("t", as_given([b'{"name":"bob"}'] * 2)).to_pylist() == [BOB, BOB]


@pytest.mark.parametrize(
    ("policy", "kind", "schema", "message", "row"),
    [
        (None, "AVRO", USER, FRAMED, BOB),
        ("latest.seen", "AVRO", USER, FRAMED, BOB),
        ("fixed", "AVRO", USER, FRAMED, BOB),
        (None, "INT32", "", b"\0\0\0\5", {"value": 5}),
        ("latest.seen", "INT32", "", b"\0\0\0\5", {"value": 5}),
    ],
)
def test_a_recreated_topic_of_type_json_is_noticed_by_a_batch_that_cannot_be_read(
    registry: LocalRegistry,
    monkeypatch: pytest.MonkeyPatch,
    policy: str | None,
    kind: str,
    schema: Any,
    message: bytes,
    row: dict[str, Any],
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    register_any(registry, "t", "JSON", USER)
    options = {} if policy is None else {"reader.schema.policy": policy}
    reader = KafkaAvroDeserializer(conf(registry, **options), USER if policy == "fixed" else None)
    assert reader.deserialize_batch("t", [b'{"name":"bob"}']).to_pylist() == [BOB]
    delete(registry)
    register_any(registry, "t", kind, schema)
    assert reader.deserialize_batch("t", [message, message]).to_pylist() == [row, row]


def test_batches_of_type_json_doubt_their_topic_at_most_once_a_second(registry: LocalRegistry) -> None:
    register_any(registry, "t", "JSON", USER)
    reader = KafkaAvroDeserializer(conf(registry))
    reader.deserialize_batch("t", [b'{"name":"bob"}'])
    before = len(registry.requests)
    batch = reader.deserialize_batch("t", [b"{"] * 9, error_column="why")
    assert all("expected JSON" in why for why in batch["why"].to_pylist())
    assert len(registry.requests) <= before + 1


def test_without_a_time_for_the_latest_schema_damaged_rows_ask_once(registry: LocalRegistry) -> None:
    register_any(registry, "t", "INT32", "")
    reader = KafkaAvroDeserializer(conf(registry, **{"cache.latest.ttl.sec": 0}))
    before = len(registry.requests)
    batch = reader.deserialize_batch("t", [b"\0"] * 50, error_column="why")
    assert all("expected 4 bytes" in why for why in batch["why"].to_pylist())
    assert len(registry.requests) <= before + 5


@pytest.mark.parametrize(
    ("kind", "schema", "good", "bad"), [("JSON", USER, b'{"name":"bob"}', b"{"), ("INT32", "", b"\0\0\0\5", b"\0")]
)
def test_a_damaged_row_of_a_deleted_topic_leaves_the_others(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, kind: str, schema: Any, good: bytes, bad: bytes
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    register_any(registry, "t", kind, schema)
    reader = KafkaAvroDeserializer(conf(registry))
    reader.deserialize_batch("t", [good])
    delete(registry)
    batch = reader.deserialize_batch("t", [good, bad, good], error_column="why")
    assert [why is None for why in batch["why"].to_pylist()] == [True, False, True]


@pytest.mark.parametrize("policy", ["latest", "latest.seen"])
def test_schemas_that_change_in_each_round_are_an_error(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry, **{"reader.schema.policy": policy}))

    def again(*_: Any) -> None:
        raise ReadAgainError

    monkeypatch.setattr(batches, "_read", again)
    with pytest.raises(SchemaError, match=r"topic t: .* changed 1000 times while a batch was read"):
        reader.deserialize_batch("t", [FRAMED])


def test_a_version_of_another_type_than_the_latest_is_an_error_of_its_messages(registry: LocalRegistry) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    register_any(registry, "t", "JSON", USER)
    register(registry, WIDER)
    reader = KafkaAvroDeserializer(conf(registry))
    for _ in range(2):
        batch = reader.deserialize_batch("t", [FRAMED, FRAMED_1], error_column="why")
        assert batch["name"].to_pylist() == [None, "bob"]
        assert batch["why"].to_pylist() == [
            "topic t, schema version 0: expected a schema of type AVRO, got type JSON",
            None,
        ]


def test_a_topic_that_the_watch_has_found_to_be_recreated_is_read_by_its_new_schema(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    for _ in range(3):
        reader.deserialize_batch("t", [FRAMED])
    recreate(registry, ORDER)
    assert reader.deserialize_batch("t", [FRAMED]).schema.names == ["name"]  # within the TTL nothing tells
    binding_of(reader)._look()
    for _ in range(3):
        assert reader.deserialize_batch("t", [FRAMED]).schema.names == ["id"]


def test_a_version_that_was_missing_is_asked_for_in_a_later_batch(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry, **{"cache.missing.ttl.sec": 0.0}), WIDER)
    for _ in range(3):  # by the latest, which does not read the whole
        with pytest.raises(DecodeError, match="version 1"):
            reader.deserialize_batch("t", [FRAMED_1])
    register(registry, WIDER)
    assert reader.deserialize_batch("t", [FRAMED_1]).column("age").to_pylist() == [7]


def test_versions_that_were_missing_are_asked_for_after_batches_that_fell_back(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry, **{"cache.missing.ttl.sec": 0.0}))
    unknown = [FRAMED_1[:9] + bytes([version]) + BARE for version in (1, 2, 3)]  # after the first, all are asked for
    for _ in range(3):
        assert reader.deserialize_batch("t", unknown).to_pylist() == [BOB, BOB, BOB]
    register(registry, WIDER)
    assert reader.deserialize_batch("t", [FRAMED_1]).to_pylist() == [BOB]
    assert reader.stats()["fallbacks"] == 9


def test_fallbacks_are_counted_in_each_batch(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    for times in (1, 2, 3):
        assert reader.deserialize_batch("t", [FRAMED_1[:10] + BARE]).to_pylist() == [BOB]
        assert reader.stats()["fallbacks"] == times


def test_a_bad_message_is_an_error_in_each_batch_and_leaves_nothing_behind(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    for times in (1, 2, 3):
        with pytest.raises(DecodeError, match="topic t, row 1, schema version 0, field name"):
            reader.deserialize_batch("t", [FRAMED, FRAMED[:-1]])
        both = reader.deserialize_batch("t", [FRAMED[:-1], FRAMED], error_column="why")
        assert both.column("name").to_pylist() == [None, "bob"]
        assert "topic t, schema version 0, field name" in both.column("why")[0].as_py()
        assert reader.deserialize_batch("t", [FRAMED]).to_pylist() == [BOB]
        assert reader.stats()["errors"] == 2 * times


def test_messages_with_and_without_a_header_take_turns(registry: LocalRegistry) -> None:
    register(registry, USER)
    register(registry, WIDER)
    reader, bare = KafkaAvroDeserializer(conf(registry)), FRAMED_1[10:]
    expected = [None, 7, None, 7, 7, None, 7]
    for _ in range(3):
        batch = reader.deserialize_batch("t", [FRAMED, bare, FRAMED, FRAMED_1, bare, FRAMED, FRAMED_1])
        assert batch.column("age").to_pylist() == expected
        assert set(batch.column("name").to_pylist()) == {"bob"}
    assert reader.stats()["headerless"] == 6


def test_a_batch_without_the_headers_that_framings_need_is_an_error_after_one_with_them(
    registry: LocalRegistry,
) -> None:
    register(registry, USER)
    framings = {"framings": "snip42,confluent-header,headerless", "confluent.schema.registry.url": registry.url}
    reader = KafkaAvroDeserializer(conf(registry, **framings))
    for _ in range(3):
        assert reader.deserialize_batch("t", [FRAMED], headers=[[]]).to_pylist() == [BOB]
        with pytest.raises(ConfigError, match="the messages' headers are needed"):
            reader.deserialize_batch("t", [FRAMED])


@pytest.mark.parametrize("topic", [None, 7, ["t"], "", "persistent://a/b"])
def test_a_bad_topic_is_an_error_after_other_batches(registry: LocalRegistry, topic: Any) -> None:
    register(registry, USER)
    reader, writer = KafkaAvroDeserializer(conf(registry)), KafkaAvroSerializer(conf(registry), USER)
    for _ in range(2):
        reader.deserialize_batch("t", [FRAMED])
        writer.serialize_batch("t", columns(name="bob"))
    with pytest.raises(DecodeError):
        reader.deserialize_batch(topic, [FRAMED])
    with pytest.raises(Exception, match="topic"):
        writer.serialize_batch(topic, columns(name="bob"))


def test_dialects_and_large_types_have_columns_of_their_own(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    for _ in range(3):
        assert reader.deserialize_batch("t", [FRAMED]).schema.field("name").type == pa.string()
        assert reader.deserialize_batch("t", [FRAMED], large_types=True).schema.field("name").type == pa.large_string()


def test_messages_of_a_batch_are_not_kept(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    messages = [FRAMED + b""]
    for _ in range(3):
        reader.deserialize_batch("t", messages)
    gc.collect()
    assert not [one for one in gc.get_referrers(messages) if isinstance(one, tuple)]


def test_threads_read_batches_of_one_topic_at_once(registry: LocalRegistry) -> None:
    register(registry, USER)
    register(registry, WIDER)
    reader = KafkaAvroDeserializer(conf(registry))
    ready = threading.Barrier(8)

    def read(number: int) -> None:
        ready.wait(PATIENCE)
        for each in range(200):
            bad = (number + each) % 3 == 0
            batch = reader.deserialize_batch("t", [FRAMED, FRAMED_1[:-1] if bad else FRAMED_1], error_column="why")
            assert batch.column("age").to_pylist() == [None, None if bad else 7]

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(read, number) for number in range(8)]:
            done.result(PATIENCE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_after_a_fork_the_next_batch_starts_the_watch(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    for _ in range(3):
        reader.deserialize_batch("t", [FRAMED])

    def watched() -> bool:
        return any("watch" in thread.name for thread in threading.enumerate())

    assert Watch.allowed
    assert watched()
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        before = watched()
        reader.deserialize_batch("t", [FRAMED])
        os._exit(0 if not before and watched() else 1)
    assert exit_code(child) == 0


def test_a_batch_is_written_by_a_newer_version_after_its_time(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "allowed", False)  # as in a Spark worker
    register(registry, USER)
    with KafkaAvroSerializer(
        conf(registry, **{"use.latest.version": True, "auto.register.schemas": False, "cache.latest.ttl.sec": 0.5})
    ) as writer:
        for _ in range(3):
            assert writer.serialize_batch("t", columns(name="bob")).to_pylist() == [FRAMED]
        register(registry, WIDER)
        deadline = time.monotonic() + PATIENCE
        while writer.serialize_batch("t", columns(name="bob")).to_pylist() == [FRAMED]:
            assert time.monotonic() < deadline, "the newer version was never asked for"
            time.sleep(0.02)
        assert writer.serialize_batch("t", columns(name="bob")).to_pylist() == [FRAMED_1[:-2] + b"\0"]


@pytest.mark.parametrize("more", [{}, {"use.schema.version": 0, "auto.register.schemas": False}])
def test_later_batches_are_written_without_a_request(registry: LocalRegistry, more: dict[str, Any]) -> None:
    register(registry, USER)
    writer = KafkaAvroSerializer(conf(registry, **more), USER)
    assert writer.serialize_batch("t", columns(name="bob")).to_pylist() == [FRAMED]
    registry.reset_calls()
    for times in (2, 3, 4):
        assert writer.serialize_batch("t", columns(name="bob")).to_pylist() == [FRAMED]
        assert writer.stats()["messages"] == times
    assert not registry.calls


def test_a_topic_that_was_recreated_is_written_by_its_new_version(registry: LocalRegistry) -> None:
    options = conf(registry)
    writer = KafkaAvroSerializer(options, USER)
    for _ in range(3):
        assert writer.serialize_batch("t", columns(name="bob")).to_pylist() == [FRAMED]
    recreate(registry, WIDER)
    binding_of(writer)._look()
    for _ in range(3):
        assert writer.serialize_batch("t", columns(name="bob")).to_pylist() == [FRAMED_1[:10] + BARE]


# A header that is equal to the one before has the same route; what shows a sign of Confluent's is looked at each time


LEFT: dict[str, Any] = record("R", ("a", "string"), ("b", "string", ""))
RIGHT = {**LEFT, "fields": [LEFT["fields"][1], LEFT["fields"][0]]}


def framed_by(registry: LocalRegistry, second: ConfluentStandIn, framings: str, schema: Any = None) -> Any:
    options = {"confluent.schema.registry.url": second.url, "framings": framings}
    return KafkaAvroDeserializer(conf(registry, **options), schema)


@pytest.mark.parametrize("framings", ["snip42,confluent,confluent-header,headerless", "snip42,confluent-header"])
def test_equal_messages_are_read_by_the_schemas_that_their_headers_name(registry: LocalRegistry, framings: str) -> None:
    with ConfluentStandIn() as second:
        ids = [second.register("t-value", schema) for schema in (LEFT, RIGHT)]
        headers = [[("__value_schema_id", b"\0" + number.to_bytes(4, "big"))] for number in ids]
        body = b"\x14xxxxxxxxxx\x02y"
        reader = framed_by(registry, second, framings, LEFT)
        expected = [{"a": "x" * 10, "b": "y"}, {"a": "y", "b": "x" * 10}]
        assert reader.deserialize_batch("t", [body, body], headers=headers).to_pylist() == expected
        assert [reader.deserialize("t", body, headers=each) for each in headers] == expected


def test_messages_with_equal_beginnings_are_each_tried_without_a_header_first(registry: LocalRegistry) -> None:
    def of(size: int, name: str) -> dict[str, Any]:
        fixed = {"type": "fixed", "name": f"F{size}", "size": size}
        fields = [{"name": name, "type": fixed}, {"name": "t", "type": "string"}]
        return {"type": "record", "name": "R", "fields": fields}

    register(registry, of(9, "raw"))
    with ConfluentStandIn() as second:
        number = second.register("t-value", of(5, "q"))
        target = {"type": "record", "name": "R", "fields": [{"name": "t", "type": "string"}]}
        reader = framed_by(registry, second, "snip42,headerless,confluent", target)
        head = b"\0" + number.to_bytes(4, "big") + b"aaaa\x04"
        messages = [head + b"\x06abc", head + b"\x02b"]  # the first is too long without a header
        assert reader.deserialize_batch("t", messages).column("t").to_pylist() == ["abc", "\x02b"]
        assert [reader.deserialize("t", each)["t"] for each in messages] == ["abc", "\x02b"]


def test_a_bad_message_behind_a_bare_one_is_refused_under_its_own_version(registry: LocalRegistry) -> None:
    order = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, *LEFT["fields"][:1]]}
    register(registry, order)
    good = FRAMED[:10] + b"\0\x0ahello"
    with ConfluentStandIn() as second:
        reader = framed_by(registry, second, "snip42,headerless,confluent,confluent-header")
        messages = [good[10:], good, good[10:], good[:-1]]
        batch = reader.deserialize_batch("t", messages, headers=[None] * 4, error_column="why")
        assert batch.column("a").to_pylist() == ["hello", "hello", "hello", None]
        assert "schema version 0, field a" in batch.column("why")[3].as_py()
        assert reader.stats()["headerless"] == 2


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect is a function of Unix")
def test_short_messages_with_confluents_prefix_are_not_read_beyond_their_end(registry: LocalRegistry) -> None:
    number_of: dict[str, Any] = {"type": "record", "name": "N", "fields": [{"name": "n", "type": "long"}]}
    with ConfluentStandIn() as second:
        number = second.register("t-value", number_of)
        message = b"\0" + number.to_bytes(4, "big") + b"\x0e"
        reader = framed_by(registry, second, "snip42,confluent", number_of)
        libc = ctypes.CDLL(None)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        end = start + mmap.PAGESIZE
        assert libc.mprotect(end, mmap.PAGESIZE, 0) == 0  # what is behind the message cannot be read
        ctypes.memmove(end - len(message), message, len(message))
        data = pa.foreign_buffer(end - len(message), len(message))
        offsets = pa.array([0, len(message)], pa.int32()).buffers()[1]
        array = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, data])
        assert reader.deserialize_batch("t", array).to_pylist() == [{"n": 7}]


def test_a_topic_without_a_schema_may_turn_out_to_be_of_another_type(registry: LocalRegistry) -> None:
    reader = KafkaAvroDeserializer(conf(registry, **{"cache.missing.ttl.sec": 60}), USER)
    for _ in range(3):
        batch = reader.deserialize_batch("t", [BARE], error_column="why")
        assert "Schema not found" in batch.column("why")[0].as_py()
    pair = KeyValueSchema(USER, USER, encoding="INLINE")
    with KafkaAvroSerializer(conf(registry, **{"key.value.framing": "value", "retries.wait.ms": 201}), pair) as writer:
        message = writer.serialize("t", ({"name": "k"}, {"name": "v"}))
    with pytest.raises(SchemaNotFoundError):  # the registry's answer about the latest is remembered
        reader.deserialize_batch("t", [message])
    policy_of(reader).binding.expire()
    for _ in range(3):
        assert reader.deserialize_batch("t", [message]).to_pylist() == [{"key": {"name": "k"}, "value": {"name": "v"}}]


# What is kept


def state(name: str = "t") -> TopicState:
    return TopicState(TopicName.parse(name))


def test_a_thing_is_there_while_the_topic_has_the_same_state() -> None:
    kept, same = KeptWhileUnchanged[str](2), state()
    kept.keep("k", same, math.inf, "thing")
    assert kept.get("k", same) == kept.get("k", same) == "thing"
    assert kept.get("other", same) is None
    assert kept.get("k", state()) is None  # equal, but another object


def test_a_thing_that_is_taken_is_gone_until_it_is_put_back() -> None:
    kept, same = KeptWhileUnchanged[str](2), state()
    kept.keep("k", same, math.inf, "thing")
    entry = kept.take("k", same)
    assert entry == (same, math.inf, "thing")
    assert kept.take("k", same) is None
    kept.put_back("k", entry)
    assert kept.get("k", same) == "thing"
    assert kept.take("k", state()) is None  # and is dropped, since it will never be valid again
    assert kept.take("k", same) is None


def test_a_thing_is_valid_until_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, same, now = KeptWhileUnchanged[str](2), state(), 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    kept.keep("k", same, 101.0, "thing")
    now = 100.9
    assert kept.get("k", same) == "thing"
    now = 101.0
    assert kept.get("k", same) is None


def test_no_more_things_are_kept_than_the_capacity() -> None:
    kept, same = KeptWhileUnchanged[int](3), state()
    for key in range(10):
        kept.keep(key, same, math.inf, key)
        assert kept.get(key, same) == key
        assert sum(kept.get(each, same) is not None for each in range(10)) <= 3
