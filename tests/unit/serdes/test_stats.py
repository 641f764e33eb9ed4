"""stats(): each message counts once, as a hit or a miss, and each failure counts once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from any_type import header
from schemas import record

from streamnative_serdes import ConfigError, KafkaAvroDeserializer, KafkaAvroSerializer, KeyValueSchema, SerdesError
from streamnative_serdes._call_path import count_error
from streamnative_serdes.codec import Codec
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

USER = record("User", ("name", "string"))
WIDER = record("User", ("name", "string"), ("age", ["null", "int"], None))
OTHER = record("User", ("name", "int"))
LONGS = record("Longs", *((letter, "long") for letter in "abcdefghij"))
TEN = dict(zip("abcdefghij", [-2, 2, *[0] * 8], strict=True))  # encoded, it equals the header of version 0
ADA = {"name": "Ada"}
BODY = b"\x06Ada"


def conf(registry: LocalRegistry, **more: Any) -> dict[str, Any]:
    return {"schema.registry.url": registry.url, "retries.total.ms": 1_000, **more}


def register(registry: LocalRegistry, schema: Any, topic: str = "t") -> None:
    KafkaAvroSerializer(conf(registry), schema).warm_up(topic)


def counts(serdes: Any) -> dict[str, int]:
    """Return the counts other than 0, without bytes and registry calls; those by topic have to agree."""
    total, topics = serdes.stats(), serdes.stats(by="topic").values()
    for name in {"misses", "errors", "fallbacks", "ambiguous"} & total.keys():
        assert sum(of_topic[name] for of_topic in topics) == total[name], name
    assert sum(sum(found.values()) for found in serdes.stats(by="error.type").values()) == total["errors"]
    return {name: count for name, count in total.items() if count and name not in ("bytes", "registry_calls")}


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
            "bytes": (hits + 1) * len(header(7) + BODY),
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


# Bytes


def test_all_bytes_that_are_passed_in_or_written_are_counted(registry: LocalRegistry) -> None:
    writer, reader = KafkaAvroSerializer(conf(registry), USER), KafkaAvroDeserializer(conf(registry))
    expected = 0
    for name in ("", "Ada", "x" * 10_000):
        message = writer.serialize("t", {"name": name}) or b""
        for data in (message, bytearray(message), message[10:]):
            assert reader.deserialize("t", data) == {"name": name}
        expected += len(message)
    assert writer.stats()["bytes"] == expected
    assert reader.stats()["bytes"] == 3 * expected - 30
    refused(reader, b"\xff")
    with pytest.raises(SerdesError):
        writer.serialize("t", {"name": 5})
    assert (writer.stats()["bytes"], reader.stats()["bytes"]) == (expected, 3 * expected - 30 + 1)


def test_the_bytes_of_keys_are_counted(registry: LocalRegistry) -> None:
    for encoding in ("SEPARATED", "INLINE"):
        writer = KafkaAvroSerializer(conf(registry), KeyValueSchema('"string"', USER, encoding))
        reader = KafkaAvroDeserializer(conf(registry))
        size = 0
        fields = (MessageField.KEY, MessageField.VALUE) if encoding == "SEPARATED" else (MessageField.VALUE,)
        for _ in range(2):
            for field in fields:
                obj: Any = "k" if field == MessageField.KEY else ADA
                context = SerializationContext(encoding, field)
                message = writer(obj if encoding == "SEPARATED" else ("k", ADA), context) or b""
                assert reader(message, context)
                size += len(message)
        assert writer.stats()["bytes"] == reader.stats()["bytes"] == size


def test_the_bytes_of_batches_are_counted(registry: LocalRegistry) -> None:
    pa = pytest.importorskip("pyarrow")
    writer, reader = KafkaAvroSerializer(conf(registry), USER), KafkaAvroDeserializer(conf(registry))
    messages = writer.serialize_batch("t", pa.record_batch({"name": ["", "Ada", "x" * 5_000]}))
    size = sum(len(message) for message in messages.to_pylist())
    assert writer.stats()["bytes"] == size
    forms = messages, messages.to_pylist(), messages.cast(pa.large_binary()), pa.chunked_array([messages, messages])
    for times, form in enumerate(forms, 1):
        reader.deserialize_batch("t", form)
        assert reader.stats()["bytes"] == size * (times + (times == len(forms)))
    reader.deserialize_batch("t", messages[1:2])
    assert reader.stats()["bytes"] == 5 * size + len(messages[1].as_py())


def test_the_bytes_of_both_halves_of_batches_are_counted(registry: LocalRegistry) -> None:
    pa = pytest.importorskip("pyarrow")
    writer = KafkaAvroSerializer(conf(registry), KeyValueSchema('"string"', '"string"', "SEPARATED"))
    reader = KafkaAvroDeserializer(conf(registry))
    pairs = writer.serialize_batch("t", pa.record_batch({"key": ["a", "bcd"], "value": ["x", None]}))
    size = sum(len(data or b"") for column in pairs.columns for data in column.to_pylist())
    assert writer.stats()["bytes"] == size
    reader.deserialize_batch("t", pairs.column("value"), keys=pairs.column("key"))
    assert reader.stats()["bytes"] == size


# By topic, and by the class of errors


def test_all_but_hits_is_counted_by_topic(registry: LocalRegistry) -> None:
    register(registry, USER)
    register(registry, USER, "u")
    reader = KafkaAvroDeserializer(conf(registry))
    assert reader.stats(by="topic") == reader.stats(by="error.type") == {}
    for data in (header(0) + BODY, header(0) + BODY, header(7) + BODY, header(0)):
        list(reader.deserialize_many("t", [data], "skip"))
    reader.deserialize("u", BODY)
    assert reader.stats(by="topic") == {
        "t": {"misses": 2, "errors": 1, "fallbacks": 1},
        "u": {"misses": 1, "errors": 0, "fallbacks": 0},
    }
    assert reader.stats(by="error.type") == {"DecodeError": {"t": 1}}


def test_errors_are_counted_by_their_class(registry: LocalRegistry) -> None:
    register(registry, USER)
    writer = KafkaAvroSerializer(conf(registry), USER)
    for obj in ({"name": 5}, {"name": 5}, {}):
        with pytest.raises(SerdesError):
            writer.serialize("t", obj)
    assert writer.stats(by="error.type") == {"EncodeError": {"t": 3}}
    assert writer.stats(by="topic") == {"t": {"misses": 1, "errors": 3}}
    refusing = KafkaAvroSerializer(conf(registry), OTHER)
    with pytest.raises(SerdesError):
        refusing.serialize("t", {"name": 5})
    assert refusing.stats(by="error.type") == {"IncompatibleSchemaError": {"t": 1}}


def test_errors_of_several_classes_are_all_of_their_topic(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader = KafkaAvroDeserializer({**conf(registry), "fallback.to.latest": False})
    list(reader.deserialize_many("t", [header(0), header(7) + BODY, header(0)], "skip"))
    assert reader.stats(by="error.type") == {"DecodeError": {"t": 2}, "SchemaNotFoundError": {"t": 1}}
    assert reader.stats(by="topic")["t"]["errors"] == reader.stats()["errors"] == 3


def test_the_rows_of_a_batch_are_counted_by_the_class_of_their_errors(registry: LocalRegistry) -> None:
    pa = pytest.importorskip("pyarrow")
    register(registry, USER)
    data = [header(0) + BODY, header(0) + b"\xff", header(7) + BODY, header(7) + BODY, BODY]
    reader = KafkaAvroDeserializer(conf(registry, **{"fallback.to.latest": False}))
    for times in (1, 2):
        reader.deserialize_batch("t", pa.array(data), error_column="why")
        assert reader.stats(by="error.type") == {
            "DecodeError": {"t": 2 * times},
            "SchemaNotFoundError": {"t": 2 * times},
        }
    lenient = KafkaAvroDeserializer(conf(registry))
    lenient.deserialize_batch("t", pa.array(data), error_column="why")
    assert lenient.stats(by="topic") == {"t": {"misses": 0, "errors": 1, "fallbacks": 2}}


def test_counts_of_keys_are_part_of_it_and_stay_after_configure(registry: LocalRegistry) -> None:
    pair = KeyValueSchema('"string"', '"string"', "SEPARATED")
    writer = KafkaAvroSerializer(conf(registry), pair)
    for field in (MessageField.KEY, MessageField.VALUE):
        with pytest.raises(SerdesError):
            writer(5, SerializationContext("pairs", field))
    expected = {"EncodeError": {"pairs": 2}}
    assert writer.stats(by="error.type") == expected
    writer.configure(conf(registry))
    assert writer.stats(by="error.type") == expected
    assert counts(writer)["errors"] == 2


def test_threads_lose_no_count(registry: LocalRegistry) -> None:
    register(registry, USER)
    reader, times, threads = KafkaAvroDeserializer(conf(registry)), 500, 4

    def work(_: int) -> None:
        for _ in range(times):
            list(reader.deserialize_many("t", [header(0) + BODY, header(0) + b"\xff", header(7) + BODY], "skip"))
            reader.stats(by="topic")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert reader.stats(by="error.type") == {"DecodeError": {"t": times * threads}}
    assert reader.stats(by="topic")["t"]["fallbacks"] == times * threads
    assert counts(reader)["messages"] == 3 * times * threads


def test_further_topics_share_one_name(registry: LocalRegistry) -> None:
    reader, number = KafkaAvroDeserializer(conf(registry)), 10_000
    for place in [*range(number + 3), 0, number]:
        count_error(reader, f"t{place}", SerdesError("unread"))
    found = reader.stats(by="error.type")["SerdesError"]
    assert (len(found), found[""], found["t0"], found["t9999"]) == (number + 1, 4, 2, 1)
    assert reader.stats()["errors"] == number + 5


def test_counts_by_something_else_are_refused(registry: LocalRegistry) -> None:
    with pytest.raises(ConfigError, match="by: expected"):
        KafkaAvroDeserializer(conf(registry)).stats(by="offset")  # type: ignore[call-overload]
