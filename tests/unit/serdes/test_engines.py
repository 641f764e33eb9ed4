"""``avro.engine=fastavro``: what it does, what it refuses, and with which errors."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from schemas import record

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValue,
    KeyValueSchema,
)
from streamnative_serdes.connect.avro import AvroConverter
from streamnative_serdes.serialization import MessageField, SerializationContext

USER = record("User", ("id", "int"), ("name", ["null", "string"], None))
ADA = {"id": 1, "name": "Ada"}
NODE = record("Node", ("next", ["null", "Node"]))


@dataclass
class User:
    id: int


@pytest.fixture
def fast(conf: dict[str, str]) -> dict[str, str]:
    return {**conf, "avro.engine": "fastavro"}


class Both(NamedTuple):
    serializer: KafkaAvroSerializer
    deserializer: KafkaAvroDeserializer


@pytest.fixture
def both(fast: dict[str, str]) -> Both:
    return Both(KafkaAvroSerializer(fast, USER), KafkaAvroDeserializer(fast))


def test_messages_have_our_header_and_are_counted(both: Both, conf: dict[str, str]) -> None:
    for _ in range(3):
        message = both.serializer.serialize("users", ADA)
        assert message == KafkaAvroSerializer(conf, USER).serialize("users", ADA)
        assert both.deserializer.deserialize("users", message) == ADA
    assert both.deserializer.deserialize("users", memoryview(message)[10:]) == ADA  # without a header
    stats = both.serializer.stats()
    assert (stats["messages"], stats["hits"], stats["misses"], stats["errors"]) == (3, 2, 1, 0)
    assert both.deserializer.stats()["headerless"] == 1


def test_an_object_that_does_not_fit_is_our_error_with_fastavros_reason(both: Both) -> None:
    with pytest.raises(
        EncodeError, match=r"schema version 0: fastavro: .*without it, the error names the field"
    ) as caught:
        both.serializer.serialize("users", {"id": "x", "name": None})
    assert (caught.value.topic, caught.value.version) == ("users", 0)
    assert isinstance(caught.value.__cause__, TypeError)


class Failing(dict[str, Any]):
    """An object whose own code fails."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("user code")


def test_an_error_of_the_object_is_ours_and_counts(both: Both) -> None:
    with pytest.raises(EncodeError, match="user code"):
        both.serializer.serialize("users", Failing(ADA))
    assert both.serializer.stats()["errors"] == 1


def test_bytes_that_do_not_fit_are_our_error(both: Both) -> None:
    message = both.serializer.serialize("users", ADA)
    assert message is not None
    for damaged, byte in ((message[:-1], 13), (message + b"x", len(message))):
        with pytest.raises(DecodeError) as caught:
            both.deserializer.deserialize("users", damaged)
        assert (caught.value.topic, caught.value.version, caught.value.offset) == ("users", 0, byte)
    assert both.deserializer.stats()["errors"] == 2


def test_text_that_is_not_utf8_is_our_error_with_fastavros_reason(both: Both) -> None:
    message = both.serializer.serialize("users", {"id": 1, "name": "a"})
    assert message is not None
    with pytest.raises(DecodeError, match=r"topic users, schema version 0: fastavro: UnicodeDecodeError") as caught:
        both.deserializer.deserialize("users", message[:-1] + b"\xff")
    assert caught.value.hint is not None


def test_data_that_would_crash_fastavro_is_refused(fast: dict[str, str]) -> None:
    serializer, deserializer = KafkaAvroSerializer(fast, NODE), KafkaAvroDeserializer(fast)
    circle: dict[str, Any] = {}
    circle["next"] = circle
    with pytest.raises(EncodeError, match="expected at most 256 levels"):
        serializer.serialize("nodes", circle)
    header = serializer.serialize("nodes", {"next": None})
    assert header is not None
    with pytest.raises(DecodeError, match="nested"):
        deserializer.deserialize("nodes", header[:10] + b"\x02" * 100_000)


def test_options_of_fastavros_own_work(fast: dict[str, str], conf: dict[str, str]) -> None:
    with pytest.raises(EncodeError, match="record contains more fields"):
        KafkaAvroSerializer({**fast, "validate.strict": True}, USER).serialize("users", {**ADA, "more": 1})
    choice = record("Choice", ("of", ["null", record("A", ("x", "int"))]))
    message = KafkaAvroSerializer(fast, choice).serialize("choices", {"of": ("A", {"x": 1})})
    assert message is not None
    read = KafkaAvroDeserializer({**fast, "return.record.name": True}).deserialize("choices", message)
    assert read == {"of": ("A", {"x": 1})}
    lenient = KafkaAvroDeserializer({**fast, "ignore.trailing.bytes": True})
    assert lenient.deserialize("choices", message + b"more") == {"of": {"x": 1}}


def test_a_readers_schema_fills_in_defaults(fast: dict[str, str], both: Both) -> None:
    reader = record("User", ("id", "long"), ("age", "int", 7))
    message = both.serializer.serialize("users", ADA)
    assert KafkaAvroDeserializer(fast, reader).deserialize("users", message) == {"id": 1, "age": 7}
    assert KafkaAvroDeserializer(fast, User).deserialize("users", message) == {"id": 1}


@pytest.mark.parametrize("encoding", ["INLINE", "SEPARATED"])
def test_pairs_are_written_and_read(fast: dict[str, str], conf: dict[str, str], encoding: str) -> None:
    pair, key = KeyValueSchema("string", USER, encoding), SerializationContext("pairs", MessageField.KEY)
    for writing, reading in ((fast, fast), (fast, conf), (conf, fast)):
        serializer, deserializer = KafkaAvroSerializer(writing, pair), KafkaAvroDeserializer(reading)
        if encoding == "INLINE":
            message = serializer.serialize("pairs", KeyValue("a", ADA))
            assert deserializer.deserialize("pairs", message) == KeyValue("a", ADA)
        else:
            assert deserializer.deserialize("pairs", serializer.serialize("pairs", ADA)) == ADA
            assert deserializer(serializer("a", key), key) == "a"


def test_bare_keys_are_written_and_read_beside_values(fast: dict[str, str]) -> None:
    conf = {**fast, "key.schema": '"string"'}
    serializer, deserializer = KafkaAvroSerializer(conf, USER), KafkaAvroDeserializer(conf)
    key = SerializationContext("users", MessageField.KEY)
    assert deserializer.deserialize("users", serializer.serialize("users", ADA)) == ADA
    assert serializer("a", key) == b"\x02a"
    assert deserializer(b"\x02a", key) == "a"
    alone = KafkaAvroSerializer(conf, is_key=True)
    assert alone.serialize("users", "a") == b"\x02a"


def test_a_pickle_keeps_the_engine(both: Both) -> None:
    message = both.serializer.serialize("users", ADA)
    serializer, deserializer = pickle.loads(pickle.dumps(both))
    assert serializer.serialize("users", ADA) == message
    with pytest.raises(EncodeError, match="fastavro"):
        serializer.serialize("users", {"id": "x"})
    assert deserializer.deserialize("users", message) == ADA


@pytest.mark.parametrize(
    ("more", "clash"),
    [
        ({"value.type": User}, "value.type"),
        ({"avro.logical.types": False}, "avro.logical.types=false"),
        ({"framings": "snip42,confluent,headerless", "confluent.schema.registry.url": "http://localhost"}, "framings="),
    ],
)
def test_what_the_engine_cannot_read_is_refused_at_once(fast: dict[str, str], more: dict[str, Any], clash: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot enable both avro.engine=fastavro and {clash}"):
        KafkaAvroDeserializer({**fast, **more})


def test_what_the_engine_cannot_write_is_refused(fast: dict[str, str]) -> None:
    second = {"framing": "confluent", "confluent.schema.registry.url": "http://localhost"}
    with pytest.raises(ConfigError, match=r"cannot enable both avro\.engine=fastavro and framing=confluent"):
        KafkaAvroSerializer({**fast, **second}, USER)
    knows_no = pytest.raises(ConfigError, match="knows no classes, and User is to be an object of one")
    with knows_no:
        KafkaAvroSerializer(fast, User)
    with knows_no:
        KafkaAvroSerializer(fast, KeyValueSchema("string", User, "INLINE"))
    with knows_no:
        KafkaAvroDeserializer(fast, KeyValueSchema("string", User, "INLINE"))
    with pytest.raises(ConfigError, match=r"topic users, schema version 0: .* knows no classes"):
        KafkaAvroSerializer(fast, USER).serialize("users", User(1))
    with pytest.raises(ConfigError, match=r"AvroConverter reads data without logical types"):
        AvroConverter(fast)


def test_columns_are_refused(both: Both) -> None:
    pytest.importorskip("pyarrow")
    message = both.serializer.serialize("users", ADA)
    for call in (
        lambda: both.serializer.serialize_batch("users", []),
        lambda: both.deserializer.deserialize_batch("users", [message]),
        lambda: both.deserializer.columns("users"),
    ):
        with pytest.raises(ConfigError, match=r"avro\.engine=fastavro has no columns, only objects"):
            call()


def test_writing_from_a_dataframe_is_refused(fast: dict[str, str]) -> None:
    pytest.importorskip("pyspark")
    from streamnative_serdes.spark.frames.encoding import TopicWriter

    with pytest.raises(ConfigError, match=r"topic users: avro\.engine=fastavro has no columns"):
        TopicWriter("users", fast, USER)


def test_without_fastavro_the_error_says_what_to_install(fast: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    for make in (KafkaAvroSerializer, KafkaAvroDeserializer):
        with pytest.raises(ConfigError, match=r"fastavro cannot be imported.*pip install fastavro"):
            make(fast)
