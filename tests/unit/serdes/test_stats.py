"""stats(): each message counts once, as a hit or a miss, and each failure counts once."""

from __future__ import annotations

from typing import Any

import pytest
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, SerdesError
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

USER = record("User", ("name", "string"))
WIDER = record("User", ("name", "string"), ("age", ["null", "int"], None))
OTHER = record("User", ("name", "int"))
LONGS = record("Longs", *((letter, "long") for letter in "abcdefghij"))
TEN = dict(zip("abcdefghij", [-2, 2, *[0] * 8], strict=True))  # encoded, it equals the header of version 0
ADA = {"name": "Ada"}
BODY = b"\x06Ada"


def header(version: int) -> bytes:
    return b"\x03\x04" + version.to_bytes(8, "big")


def conf(registry: LocalRegistry, **more: Any) -> dict[str, Any]:
    return {"schema.registry.url": registry.url, "retries.total.ms": 1_000, **more}


def register(registry: LocalRegistry, schema: Any, topic: str = "t") -> None:
    KafkaAvroSerializer(conf(registry), schema).warm_up(topic)


def counts(serdes: Any) -> dict[str, int]:
    """Return the counts other than 0, without the registry calls of the whole process."""
    return {name: count for name, count in serdes.stats().items() if count and name != "registry_calls"}


def refused(serdes: KafkaAvroDeserializer, data: bytes, **more: Any) -> None:
    with pytest.raises(SerdesError):
        serdes.deserialize("t", data, **more)


def test_a_message_of_an_unknown_topic_is_one_miss_and_one_error(registry: LocalRegistry) -> None:
    reader = KafkaAvroDeserializer(conf(registry))
    refused(reader, header(0) + BODY)
    assert counts(reader) == {"messages": 1, "misses": 1, "errors": 1}
    refused(reader, header(0) + BODY)  # the missing version is cached now
    assert counts(reader) == {"messages": 2, "hits": 1, "misses": 1, "errors": 2}


def test_a_headerless_message_of_an_unknown_topic_is_one_miss_and_one_error(registry: LocalRegistry) -> None:
    reader = KafkaAvroDeserializer(conf(registry))
    for times in (1, 2):
        refused(reader, BODY)
        assert counts(reader) == {"messages": times, "misses": times, "errors": times, "headerless": times}


@pytest.mark.parametrize("fallback", [True, False])
def test_a_message_while_the_registry_is_unavailable_is_one_miss_and_one_error(
    registry: LocalRegistry, fallback: bool
) -> None:
    reader = KafkaAvroDeserializer(conf(registry, **{"fallback.to.latest": fallback}))
    registry.close()
    for times in (1, 2):
        refused(reader, header(0) + BODY)
        assert counts(reader) == {"messages": times, "misses": times, "errors": times}


def test_a_message_that_falls_back_is_one_miss_and_a_hit_afterwards(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    for hits in range(3):
        assert reader.deserialize("t", header(7) + BODY) == ADA
        assert reader.stats() | {"registry_calls": 0} == {
            "messages": hits + 1,
            "hits": hits,
            "misses": 1,
            "errors": 0,
            "headerless": 0,
            "fallbacks": hits + 1,
            "registry_calls": 0,
        }


def test_a_message_that_no_fallback_reads_is_one_error(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    for version in (None, 0, 5):  # the latest version, an existing one, a missing one
        reader.configure(conf(registry))
        before = reader.stats()
        refused(reader, header(7) + b"\xff", version=version)
        after = reader.stats()
        grown = {name: after[name] - before[name] for name in ("messages", "misses", "errors", "fallbacks")}
        assert grown == {"messages": 1, "misses": 1, "errors": 1, "fallbacks": 0}


def test_a_message_that_cannot_be_read_with_the_callers_version_either_is_one_error(registry: LocalRegistry) -> None:
    register(registry, LONGS)
    reader = KafkaAvroDeserializer(conf(registry))
    data = Codec(LONGS).encode(TEN)
    assert reader.deserialize("t", data, version=0) == TEN
    assert counts(reader) == {"messages": 1, "misses": 1, "fallbacks": 1}
    refused(reader, data + b"x", version=0)
    assert counts(reader) == {"messages": 2, "hits": 1, "misses": 1, "errors": 1, "fallbacks": 1}
    refused(reader, data, version=8)  # a version that the topic lacks
    assert counts(reader) == {"messages": 3, "hits": 2, "misses": 1, "errors": 2, "fallbacks": 1}


def test_deserialize_many_counts_each_message(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer(conf(registry))
    data = [header(0) + BODY, header(7) + b"\xff", header(7) + BODY, BODY, b"\xff", None]
    assert list(reader.deserialize_many("t", data, "skip")) == [ADA, ADA, ADA, None]
    assert counts(reader) == {
        "messages": 5, "hits": 3, "misses": 2, "errors": 2, "headerless": 2, "fallbacks": 1
    }  # fmt: skip


def test_an_object_that_the_registry_refuses_is_one_miss_and_one_error(registry: LocalRegistry) -> None:
    register(registry, USER)
    writer = KafkaAvroSerializer(conf(registry), OTHER)
    for times in (1, 2):
        with pytest.raises(SerdesError):
            writer.serialize("t", {"name": 5})
        assert counts(writer) == {"messages": times, "misses": times, "errors": times}
    for _ in range(3):
        assert writer.serialize("u", {"name": 5})
    assert counts(writer) == {"messages": 5, "hits": 2, "misses": 3, "errors": 2}


def test_a_batch_that_fails_as_a_whole_is_one_error(registry: LocalRegistry) -> None:
    pa = pytest.importorskip("pyarrow")
    strict = conf(registry, **{"fallback.to.latest": False})
    unknown = KafkaAvroDeserializer(strict)
    with pytest.raises(SerdesError):
        unknown.deserialize_batch("t", pa.array([header(0) + BODY]))
    assert counts(unknown) == {"errors": 1}
    register(registry, USER)
    for data in (header(0) + b"\xff", header(7) + BODY, BODY):
        reader = KafkaAvroDeserializer(strict, USER)
        with pytest.raises(SerdesError):
            reader.deserialize_batch("t", pa.array([header(0) + BODY, data]))
        assert counts(reader) == {"errors": 1}
    writer = KafkaAvroSerializer(conf(registry), OTHER)
    with pytest.raises(SerdesError):
        writer.serialize_batch("t", pa.record_batch({"name": [5]}))
    assert counts(writer) == {"errors": 1}
    with pytest.raises(SerdesError):
        writer.serialize_batch("u", pa.record_batch({"name": ["five"]}))
    assert counts(writer) == {"errors": 2}


def test_the_rows_of_a_batch_count_as_messages(registry: LocalRegistry) -> None:
    pa = pytest.importorskip("pyarrow")
    register(registry, USER)
    data = [header(0) + BODY, header(7) + b"\xff", header(7) + BODY, BODY, b"\xff", None]
    reader = KafkaAvroDeserializer(conf(registry))
    reader.deserialize_batch("t", pa.array(data), error_column="why")
    assert counts(reader) == {"messages": 5, "hits": 5, "errors": 2, "headerless": 2, "fallbacks": 1}
