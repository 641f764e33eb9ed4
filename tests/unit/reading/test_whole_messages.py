"""A message without the header of a known version must be consumed exactly, however it is read, also in ``compat``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import any_type
import pytest
from any_type import delete, header
from confluent_kafka.serialization import MessageField, SerializationContext
from schemas import record

from streamnative_serdes import DecodeError, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._topics import binding as binding_module
from streamnative_serdes.codec import Codec
from streamnative_serdes.compat import AsyncSchemaRegistryClient, SchemaRegistryClient
from streamnative_serdes.compat.avro import AsyncAvroDeserializer, AvroDeserializer
from streamnative_serdes.testing import LocalRegistry

USER = record("User", ("name", "string"), ("age", ["null", "int"]))
VALUE = record("Value", ("v", "long"))
LONGS = record("Longs", *((letter, "long") for letter in "abcdefghij"))
TEN = dict(zip("abcdefghij", [-2, 2, *[0] * 8], strict=True))  # encoded, it equals the header of version 0
CONFLUENT = b"\x00\x00\x00\x00\x07\x02A\x00"
JSON = b'{"v":5}'
CTX = SerializationContext("t", MessageField.VALUE)
LOOSE = {"ignore.trailing.bytes": True}
Read = Callable[[LocalRegistry, bytes], Any]


def loose(registry: LocalRegistry, schema: Any = None) -> KafkaAvroDeserializer:
    return KafkaAvroDeserializer({"schema.registry.url": registry.url, **LOOSE}, schema)


def in_batch(registry: LocalRegistry, data: bytes) -> Any:
    pa = pytest.importorskip("pyarrow")
    return loose(registry).deserialize_batch("t", pa.array([data])).to_pylist()[0]


def in_batch_with_errors(registry: LocalRegistry, data: bytes) -> Any:
    pa = pytest.importorskip("pyarrow")
    (row,) = loose(registry).deserialize_batch("t", pa.array([data]), error_column="why").to_pylist()
    why = row.pop("why")
    if why is not None:
        raise DecodeError(why)
    return row


def by_asyncio(registry: LocalRegistry, data: bytes) -> Any:
    async def read() -> Any:
        client = AsyncSchemaRegistryClient({"url": registry.url})
        return await (await AsyncAvroDeserializer(client))(data, CTX)

    return asyncio.run(read())


READS: dict[str, Read] = {
    "deserialize": lambda registry, data: loose(registry).deserialize("t", data),
    "call": lambda registry, data: loose(registry)(data, CTX),
    "memoryview": lambda registry, data: loose(registry).deserialize("t", memoryview(data)),
    "deserialize_many": lambda registry, data: next(loose(registry).deserialize_many("t", [data])),
    "deserialize_batch": in_batch,
    "deserialize_batch, error_column": in_batch_with_errors,
    "compat": lambda registry, data: AvroDeserializer(SchemaRegistryClient({"url": registry.url}))(data, CTX),
    "compat, asyncio": by_asyncio,
}
each_way = pytest.mark.parametrize("read", READS.values(), ids=READS.keys())


def register(registry: LocalRegistry, schema: Any) -> None:
    KafkaAvroSerializer({"schema.registry.url": registry.url}, schema).warm_up("t")


@each_way
@pytest.mark.parametrize(
    ("schema", "message", "said"),
    [
        (USER, CONFLUENT, r"topic t, .*Confluent's serializer \(0x00, schema id 7\)"),
        (VALUE, JSON, r"topic t, .*got 6 more bytes \(hint: the message looks like JSON text"),
    ],
    ids=["Confluent's", "JSON"],
)
def test_a_message_of_others_is_not_read_as_one_with_trailing_bytes(
    registry: LocalRegistry, read: Read, schema: Any, message: bytes, said: str
) -> None:
    register(registry, schema)
    with pytest.raises(DecodeError, match=said):
        read(registry, message)


@each_way
def test_trailing_bytes_are_ignored_after_the_header_of_a_known_version(registry: LocalRegistry, read: Read) -> None:
    register(registry, VALUE)
    assert read(registry, header(0) + b"\x0amore") == {"v": 5}
    assert read(registry, b"\x0a") == {"v": 5}


@each_way
def test_trailing_bytes_are_an_error_after_the_header_of_an_unknown_version(
    registry: LocalRegistry, read: Read
) -> None:
    register(registry, VALUE)
    assert read(registry, header(9) + b"\x0a") == {"v": 5}
    with pytest.raises(DecodeError, match=r"after the header: .*got 4 more bytes.*as a whole: .*got 14 more bytes"):
        read(registry, header(9) + b"\x0amore")


@each_way
def test_trailing_bytes_are_an_error_if_a_message_of_an_unknown_version_is_read_as_a_whole(
    registry: LocalRegistry, read: Read
) -> None:
    register(registry, LONGS)
    nine = {**TEN, "j": 9}  # encoded, it equals the header of version 18
    assert read(registry, Codec(LONGS).encode(nine)) == nine
    with pytest.raises(DecodeError, match=r"as a whole: .*got 1 more bytes"):
        read(registry, Codec(LONGS).encode(nine) + b"x")


def test_with_the_callers_version_a_headerless_message_must_be_consumed_exactly(registry: LocalRegistry) -> None:
    register(registry, VALUE)
    reader = loose(registry)
    for _ in range(2):  # the second time, the version is bound
        assert reader.deserialize("t", header(0) + b"\x0amore", version=0) == {"v": 5}
        assert reader.deserialize("t", b"\x0a", version=0) == {"v": 5}
        with pytest.raises(DecodeError, match=r"topic t, schema version 0, byte 1: .*got 6 more bytes.*JSON text"):
            reader.deserialize("t", JSON, version=0)
        with pytest.raises(DecodeError, match=r"topic t, schema version 0, byte 1: .*got 6 more bytes.*JSON text"):
            reader.deserialize("t", JSON, version=-1)


@pytest.mark.parametrize(
    ("last", "said"),
    [
        pytest.param(9, "as a whole: .*got 1 more bytes", id="an unknown version"),  # equals the header of version 18
        pytest.param(
            TEN["j"],
            "topic t, schema version 0: .*after the header: .*as a whole: byte 10: .*got 1 more bytes",
            id="a version that does not read it",
        ),
    ],
)
def test_with_the_callers_version_a_message_that_its_own_does_not_read_must_be_consumed_exactly(
    registry: LocalRegistry, last: int, said: str
) -> None:
    register(registry, LONGS)
    datum = {**TEN, "j": last}
    message = Codec(LONGS).encode(datum)
    assert loose(registry).deserialize("t", message, version=0) == datum
    with pytest.raises(DecodeError, match=said):
        loose(registry).deserialize("t", message + b"x", version=0)


def test_the_rule_applies_with_a_readers_schema_too(registry: LocalRegistry) -> None:
    register(registry, VALUE)
    wider = record("Value", ("v", "double"))
    assert loose(registry, wider).deserialize("t", header(0) + b"\x0amore") == {"v": 5.0}
    with pytest.raises(DecodeError, match="JSON text"):
        loose(registry, wider).deserialize("t", JSON)


@pytest.mark.parametrize("batch", [False, True])
def test_the_rule_applies_after_a_topic_was_recreated(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, batch: bool
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    pa = pytest.importorskip("pyarrow") if batch else None
    reader = loose(registry, record("Value", ("v", "double")))

    def read(data: bytes) -> Any:
        return reader.deserialize_batch("t", pa.array([data])).to_pylist()[0] if pa else reader.deserialize("t", data)

    def recreate(kind: str) -> None:
        delete(registry)
        any_type.register(registry, "t", "AVRO", record("Value", ("v", kind)))

    recreate("double")
    assert read(header(0) + Codec("double").encode(5.0)) == {"v": 5.0}
    recreate("long")
    assert read(header(0) + b"\x0amore") == {"v": 5.0}
    recreate("double")
    assert read(Codec("double").encode(5.0)) == {"v": 5.0}
    recreate("long")
    with pytest.raises(DecodeError, match=r"topic t, .*got 4 more bytes.*looks like text: .nmore"):
        read(b"nmore")
    assert read(b"n") == {"v": 55.0}
