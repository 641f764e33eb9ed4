"""reader.schema.policy for columns: a batch comes out as one version, which is never lower than before."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from any_type import delete  # noqa: E402 - requires pyarrow
from confluent_stand_in import ConfluentStandIn  # noqa: E402
from versions import SEEN, as_version, bare, damaged, datum, framed, register, schema, shown  # noqa: E402

from streamnative_serdes import (  # noqa: E402
    ConfigError,
    DecodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes._topics import binding as binding_module  # noqa: E402
from streamnative_serdes._topics.binding import Binding  # noqa: E402
from streamnative_serdes.arrow import arrow_schema_of, in_parts  # noqa: E402
from streamnative_serdes.testing import Fault, LocalRegistry  # noqa: E402

WHY = "why"


@pytest.fixture
def conf(registry: LocalRegistry) -> dict[str, Any]:
    """Topic "t" has the versions 0 to 3."""
    register(registry, "t", range(4))
    registry.reset_calls()
    return {"schema.registry.url": registry.url, "retries.total.ms": 1_500, "cache.missing.ttl.sec": 0}


def seeing(conf: dict[str, Any], **more: Any) -> KafkaAvroDeserializer:
    return KafkaAvroDeserializer({**conf, **SEEN, **more})


def read(deserializer: KafkaAvroDeserializer, *versions: int | None, topic: str = "t") -> int:
    """As which version a batch of messages of these versions comes out; checks its rows and types too."""
    batch = deserializer.deserialize_batch(topic, [None if one is None else framed(one) for one in versions])
    found = batch.num_columns - 1
    assert batch.schema == arrow_schema_of(schema(found))
    nothing = dict.fromkeys(batch.schema.names)
    assert batch.to_pylist() == [nothing if one is None else as_version(one, found) for one in versions]
    return found


def kept(deserializer: KafkaAvroDeserializer, messages: list[Any], topic: str = "t") -> tuple[int, list[str | None]]:
    """As which version the batch comes out, and why rows could not be read."""
    batch = deserializer.deserialize_batch(topic, messages, error_column=WHY)
    found = batch.num_columns - 2
    for message, row in zip(messages, batch.drop_columns([WHY]).to_pylist(), strict=True):
        if row["name"] is not None:
            assert row == as_version(int(row["name"][1:]), found)
            assert message.endswith(bare(int(row["name"][1:])))
    return found, batch.column(WHY).to_pylist()


def row_of(deserializer: KafkaAvroDeserializer, version: int, topic: str = "t") -> int:
    return shown(deserializer.deserialize(topic, framed(version)))


# The policies


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [3, 3, 3]),
        ({"reader.schema.policy": None}, [3, 3, 3]),
        ({"reader.schema.policy": "latest"}, [3, 3, 3]),
        ({"use.latest.version": True}, [3, 3, 3]),
        ({"reader.schema.policy": "latest.seen"}, [1, 2, 2]),
    ],
)
def test_the_policy_says_as_which_version_a_batch_comes_out(
    conf: dict[str, Any], options: dict[str, Any], expected: list[int]
) -> None:
    deserializer = KafkaAvroDeserializer({**conf, **options})
    assert [read(deserializer, *batch) for batch in ((0, 1, 1), (0, 2, 1), (1, 0))] == expected


@pytest.mark.parametrize("policy", [{}, {"reader.schema.policy": "fixed"}])
def test_a_schema_that_is_given_is_fixed(conf: dict[str, Any], policy: dict[str, str]) -> None:
    deserializer = KafkaAvroDeserializer({**conf, **policy}, schema(2))
    assert [read(deserializer, *batch) for batch in ((0, 1), (3,), ())] == [2, 2, 2]


def test_columns_cannot_be_what_each_writer_wrote(conf: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer({**conf, "reader.schema.policy": "writer"})
    for ask in (lambda: read(deserializer, 0), lambda: deserializer.columns("t"), lambda: read(deserializer)):
        with pytest.raises(ConfigError, match=r"columns need one schema, .* out, or set it to latest or fixed"):
            ask()
    assert row_of(deserializer, 1) == 1


# latest.seen


def test_a_batch_is_the_highest_of_what_was_seen_and_of_what_it_holds(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    batches = [(0, 1, 0), (0,), (None, 2, 0, None), (1,), (1, 0), (0, 3, 1, 2), (2,)]
    assert [read(deserializer, *batch) for batch in batches] == [1, 1, 2, 2, 2, 3, 3]


def test_rows_and_batches_see_the_same(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert row_of(deserializer, 1) == 1
    assert read(deserializer, 0) == 1
    assert read(deserializer, 0, 2) == 2
    assert [row_of(deserializer, one) for one in (0, 1, 2, 3, 0)] == [2, 2, 2, 3, 3]
    assert read(deserializer, 1) == 3


def test_rows_that_were_bound_before_a_batch_do_not_go_back(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert [row_of(deserializer, 0) for _ in range(3)] == [0, 0, 0]
    assert read(deserializer, 2) == 2
    assert row_of(deserializer, 0) == 2


def test_a_version_is_asked_for_once(conf: dict[str, Any], registry: LocalRegistry) -> None:
    deserializer = seeing(conf)
    read(deserializer, 0, 1, 2, 1)
    read(deserializer, 0, 1)
    assert registry.calls == {"GET version": 3}


def test_a_batch_is_counted_once_though_it_is_read_again(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    read(deserializer, 0, 1, 2, 3)
    kept(deserializer, [framed(0), damaged(1)])
    found = deserializer.stats()
    assert (found["messages"], found["errors"], found["fallbacks"]) == (6, 1, 0)


@pytest.mark.parametrize("large_types", [False, True])
def test_messages_may_come_in_chunks_and_from_a_stream_that_is_read_once(
    conf: dict[str, Any], large_types: bool
) -> None:
    chunks = [[framed(0), None], [], [framed(2), framed(0)], [framed(1)]]
    kind = pa.large_binary() if large_types else pa.binary()
    expected = [as_version(0, 2), dict.fromkeys(as_version(0, 2)), *(as_version(one, 2) for one in (2, 0, 1))]

    class Stream:
        def __init__(self) -> None:
            self.chunks = pa.chunked_array(chunks, kind)

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            found, self.chunks = self.chunks, None
            return found.__arrow_c_stream__(requested_schema)

    for data in (pa.chunked_array(chunks, kind), Stream()):
        batch = seeing(conf).deserialize_batch("t", data, large_types=large_types)
        assert batch.to_pylist() == expected


def test_parts_of_a_batch_are_batches(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    messages = pa.array([framed(0), framed(1)])
    (found,) = in_parts(messages, lambda part: deserializer.deserialize_batch("t", part))
    assert found[1].num_columns == 2


# Before a version was seen


@pytest.mark.parametrize("messages", [[], [None], [None, None]])
def test_a_batch_without_messages_begins_with_the_latest(conf: dict[str, Any], messages: list[None]) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, *messages) == 3
    assert read(deserializer, 0) == 3  # columns that were returned count
    assert row_of(deserializer, 1) == 3


def test_columns_that_were_asked_for_count(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert deserializer.columns("t").arrow_schema == arrow_schema_of(schema(3))
    assert read(deserializer, 0) == 3
    later = seeing(conf)
    assert read(later, 1) == 1
    assert later.columns("t").arrow_schema == arrow_schema_of(schema(1))
    assert row_of(later, 2) == 2
    assert later.columns("t").arrow_schema == arrow_schema_of(schema(2))


def test_a_topic_without_a_schema_has_no_columns(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    for messages in ([], [framed(0)]):
        with pytest.raises(SchemaNotFoundError):
            deserializer.deserialize_batch("nowhere", messages)


# Messages without a known version


def test_a_message_without_a_header_counts_as_the_latest(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 1) == 1
    assert kept(deserializer, [framed(1), bare(3), framed(0)]) == (3, [None] * 3)
    assert read(deserializer, 0) == 3
    assert deserializer.stats()["headerless"] == 1


def test_a_message_of_an_unknown_version_counts_as_the_latest(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    unknown = b"\3\4" + (99).to_bytes(8, "big") + bare(3)
    assert kept(deserializer, [framed(1), unknown, framed(0)]) == (3, [None] * 3)
    assert deserializer.stats()["fallbacks"] == 1
    assert read(deserializer, 0) == 3


@pytest.mark.parametrize("start", [[], [framed(1)]])
def test_messages_of_no_version_that_cannot_be_read_do_not_count(conf: dict[str, Any], start: list[bytes]) -> None:
    deserializer = seeing(conf)
    unknown = b"\3\4" + (99).to_bytes(8, "big") + b"\x7f"
    found, why = kept(deserializer, [*start, b"\x7f", unknown, framed(1)])
    assert (found, why[-1]) == (1, None)
    bad, framed_bad = why[-3:-1]
    assert bad is not None
    assert bad.startswith("topic t, schema version 3, field name, byte 1: expected a length")
    assert framed_bad is not None
    assert framed_bad.startswith("topic t, schema version 99: the registry does not have this version")
    assert "after the header: field name, byte 11" in framed_bad
    assert "as a whole: field name, byte 1" in framed_bad
    assert read(deserializer, 0) == 1


# Failures


@pytest.mark.parametrize("bad", [damaged(3), framed(3)[:-1], framed(3) + b"more"])
def test_a_version_of_which_no_message_can_be_read_does_not_count(conf: dict[str, Any], bad: bytes) -> None:
    deserializer = seeing(conf)
    for _ in range(2):
        found, why = kept(deserializer, [framed(0), bad, framed(1), bad])
        assert (found, why[0], why[2]) == (1, None, None)
        with pytest.raises(DecodeError) as caught:
            deserializer.deserialize("t", bad)
        assert why[1] == why[3] == str(caught.value)
    assert kept(deserializer, [bad, framed(3), framed(0)])[0] == 3
    assert kept(deserializer, [bad, framed(0)])[0] == 3


def test_the_highest_version_that_can_be_read_counts(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    found, why = kept(deserializer, [damaged(3), framed(0), damaged(2), framed(1), damaged(1), None])
    assert found == 1
    assert [error is None for error in why] == [False, True, False, True, False, True]
    for error, version in zip([why[0], why[2], why[4]], [3, 2, 1], strict=True):
        assert error is not None
        assert error.startswith(f"topic t, schema version {version}, field name, byte 11")
    assert read(deserializer, 0) == 1


def test_a_message_that_only_an_older_schema_would_read_is_an_error(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    name, note = ({"name": each, "type": "string", "default": ""} for each in ("name", "note"))
    old, new = ({"type": "record", "name": "User", "fields": fields} for fields in ([name], [name, note]))
    good = KafkaAvroSerializer(conf, old).serialize("t", {"name": "x"})
    message = KafkaAvroSerializer(conf, new).serialize("t", {"name": "y", "note": "z"})
    assert message is not None
    bad = message[:-1] + b"\xff"  # no UTF-8, which does not matter where the field is skipped
    assert KafkaAvroDeserializer(conf, old).deserialize("t", bad) == {"name": "y"}
    batch = seeing(conf).deserialize_batch("t", [good, bad], error_column=WHY)
    assert batch.column_names == ["name", WHY]
    assert batch.column("name").to_pylist() == ["x", None]
    assert "schema version 1, field note" in batch.column(WHY)[1].as_py()


def test_a_batch_of_damaged_messages_has_the_latest_columns(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    found, why = kept(deserializer, [damaged(1), damaged(0)])
    assert found == 3
    assert all(error is not None for error in why)


def test_a_batch_that_fails_does_not_count(conf: dict[str, Any], registry: LocalRegistry) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 1) == 1
    for messages in ([framed(2), damaged(0)], [damaged(3), framed(2)], [framed(3), b"\x7f"]):
        with pytest.raises(DecodeError) as caught:
            deserializer.deserialize_batch("t", messages)
        assert caught.value.row == messages.index(min(messages, key=len))
    registry.fail(Fault.status(503), times=None)
    fresh = seeing({**conf, "retries.wait.ms": 7})
    with pytest.raises(RegistryUnavailableError):
        fresh.deserialize_batch("t", [framed(0)], error_column=WHY)
    registry.heal()
    assert read(deserializer, 0) == 1
    assert read(fresh, 0) == 0


def test_a_new_version_that_the_registry_cannot_be_asked_for_fails_the_batch(
    conf: dict[str, Any], registry: LocalRegistry
) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 0, 1) == 1
    registry.fail(Fault.status(503), times=None)
    for _ in range(2):
        with pytest.raises(RegistryUnavailableError):
            deserializer.deserialize_batch("t", [framed(0), framed(2)], error_column=WHY)
        assert read(deserializer, 0, 1) == 1
    registry.heal()
    assert read(deserializer, 0, 2) == 2


def test_a_message_that_cannot_be_converted_is_an_error_of_its_row(registry: LocalRegistry) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    conf = {"schema.registry.url": registry.url}
    number, text = (
        {"type": "record", "name": "User", "fields": [{"name": "age", "type": kind}]} for kind in ("int", "string")
    )
    old = KafkaAvroSerializer(conf, number).serialize("t", {"age": 7})
    new = KafkaAvroSerializer(conf, text).serialize("t", {"age": "x"})
    for incompatible in ("error", "writer"):  # columns need one schema
        deserializer = seeing({**conf, "reader.schema.incompatible": incompatible})
        assert deserializer.deserialize_batch("t", [old]).to_pylist() == [{"age": 7}]
        batch = deserializer.deserialize_batch("t", [old, new], error_column=WHY)
        assert batch.column("age").to_pylist() == [None, "x"]
        assert "topic t, schema version 0, field age" in batch.column(WHY)[0].as_py()
        with pytest.raises(SchemaError, match="topic t, row 0, schema version 0, field age"):
            deserializer.deserialize_batch("t", [old])


# Recreated topics, copies


_others = itertools.count(201)


def recreate(registry: LocalRegistry, *schemas: Any) -> None:
    """As another process does, which shares no cache with this one."""
    delete(registry)
    conf = {"schema.registry.url": registry.url, "retries.wait.ms": next(_others)}
    for each in schemas:
        with KafkaAvroSerializer(conf, each) as serializer:
            serializer.serialize("t", {"name": "x", "n": 7.0})


COUNT = {"type": "record", "name": "Count", "fields": [{"name": "n", "type": "double"}]}


def test_a_topic_that_is_recreated_meanwhile_starts_from_the_beginning_within_the_batch(
    conf: dict[str, Any], registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    deserializer = seeing(conf, **{"cache.latest.ttl.sec": 3600})
    assert read(deserializer, 0, 2) == 2
    recreate(registry, COUNT)
    message = b"\3\4" + bytes(8) + b"\0\0\0\0\0\0\x1c\x40"
    assert deserializer.deserialize_batch("t", [message] * 2).to_pylist() == [{"n": 7.0}] * 2
    assert deserializer.deserialize("t", message) == {"n": 7.0}


def test_a_recreated_topic_starts_from_the_beginning_in_a_pickle(conf: dict[str, Any], registry: LocalRegistry) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 2) == 2
    data = pickle.dumps(deserializer)
    recreate(registry, *map(schema, range(4)))
    Binding.forget()
    assert read(KafkaAvroDeserializer(conf), 0, 1, 2) == 3  # knows the new topic
    assert read(pickle.loads(data), 0, 1) == 1


def test_a_copy_goes_on_from_what_was_seen(conf: dict[str, Any]) -> None:
    deserializer = seeing(conf)
    assert read(deserializer, 0, 2) == 2
    data = pickle.dumps(deserializer)
    Binding.forget()
    copied = pickle.loads(data)
    assert read(copied, 0) == 2
    assert [read(copied, 3), row_of(copied, 0)] == [3, 3]
    assert read(deserializer, 0) == 2


# Confluent's framings


@pytest.mark.parametrize("framings", ["snip42,confluent,headerless", "snip42,headerless,confluent", "snip42,confluent"])
def test_messages_of_another_registry_become_what_was_seen_and_do_not_count(
    conf: dict[str, Any], framings: str
) -> None:
    with ConfluentStandIn() as second:
        ids = {version: second.register("t-value", schema(version)) for version in (0, 3)}
        prefixed = {version: b"\0" + ids[version].to_bytes(4, "big") + bare(version) for version in ids}
        more = {"confluent.schema.registry.url": second.url, "framings": framings}
        deserializer = seeing(conf, **more)
        assert kept(deserializer, [prefixed[3], framed(1), prefixed[0]]) == (1, [None] * 3)
        assert kept(deserializer, [prefixed[3]]) == (1, [None])
        assert kept(deserializer, [framed(2), prefixed[0]]) == (2, [None] * 2)
        assert kept(seeing(conf, **more), [prefixed[0]]) == (3, [None])  # no version: the latest
        assert deserializer.stats()["confluent"] == 4


def test_messages_that_show_a_sign_count_if_they_are_read_without_a_header(conf: dict[str, Any]) -> None:
    with ConfluentStandIn() as second:
        number = second.register("t-value", '"int"')
        more = {"confluent.schema.registry.url": second.url, "framings": "snip42,confluent,headerless"}
        deserializer = seeing(conf, **more)
        assert kept(deserializer, [framed(0)]) == (0, [None])
        found, why = kept(deserializer, [b"\0" + number.to_bytes(4, "big") + b"\x7f\x7f", framed(0)])
        assert (found, why[1]) == (0, None)
        assert why[0] is not None
        assert f"schema id {number}" in why[0]
        empty_name = b"\0" + bare(3)[3:]  # shows an id that is unknown
        batch = deserializer.deserialize_batch("t", [empty_name, framed(0)])
        assert batch.to_pylist() == [{**datum(3), "name": ""}, as_version(0, 3)]
        assert read(deserializer, 0) == 3
