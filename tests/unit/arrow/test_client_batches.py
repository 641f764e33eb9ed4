"""Batches of the messages that confluent-kafka returns: as columns of their values, and of Spark's Kafka source."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from consumed import Message  # noqa: E402

from streamnative_serdes import (  # noqa: E402 - requires pyarrow
    ConfigError,
    DecodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValueSchema,
    TypedSchema,
)
from streamnative_serdes._arrow import Values  # noqa: E402
from streamnative_serdes.arrow import in_parts  # noqa: E402
from streamnative_serdes.arrow.kafka_columns import (  # noqa: E402
    KAFKA_COLUMNS,
    bytes_of,
    ends_of,
    kafka_columns,
    kafka_schema,
    without_errors,
)
from streamnative_serdes.serialization import MessageField, SerializationContext  # noqa: E402
from streamnative_serdes.testing import LocalRegistry  # noqa: E402

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}


class Patched(Message):
    """As a message of a test double, whose method is of the object."""

    def __init__(self, value: Any) -> None:
        super().__init__(b"not this")
        self.value = lambda: value  # type: ignore[method-assign]


class Odd(Message):
    """A method that a property returns."""

    value = property(lambda self: lambda: self._parts["value"])


class Slim:
    """Whose objects have no attributes but the class's, as those of confluent-kafka."""

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = value

    def value(self) -> bytes:
        return self._value

    def key(self) -> None:
        return None

    headers = error = offset = key


@pytest.fixture(scope="module")
def registry() -> Iterator[LocalRegistry]:
    with LocalRegistry() as found:
        yield found


@pytest.fixture(scope="module")
def values(registry: LocalRegistry) -> list[bytes]:
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url}, USER)
    return [serializer.serialize("t", {"name": f"n{number}"}) for number in range(20)]


def deserializer(registry: LocalRegistry, **more: Any) -> KafkaAvroDeserializer:
    return KafkaAvroDeserializer({"schema.registry.url": registry.url, **more})


# Values


def test_a_clients_messages_are_read_like_a_list_of_their_values(registry: LocalRegistry, values: list[bytes]) -> None:
    some: list[Any] = [*values, None, values[3], None]
    for data in ([Message(value) for value in some], tuple(map(Message, some))):
        batch = deserializer(registry).deserialize_batch("t", data)
        assert batch == deserializer(registry).deserialize_batch("t", pa.array(some, pa.binary()))
    assert batch.column("name").null_count == 2


def test_the_clients_own_class_is_read(registry: LocalRegistry, values: list[bytes]) -> None:
    own: Any = pytest.importorskip("confluent_kafka").Message
    some: list[Any] = [*values, None]
    try:
        messages = [own(topic="t", value=value, offset=5, partition=2) for value in some]
    except TypeError:
        pytest.skip("this version of the client has no constructor of messages")
    batch = deserializer(registry).deserialize_batch("t", messages)
    assert batch.num_rows == 21
    assert batch.to_pylist()[:2] == [{"name": "n0"}, {"name": "n1"}]
    assert kafka_columns(messages, ["offset", "value"]).to_pylist()[-1] == {"offset": 5, "value": None}


def test_values_that_may_change_are_copied(registry: LocalRegistry, values: list[bytes]) -> None:
    one = bytearray(values[0])
    data = [one, memoryview(values[1]), values[2]]
    held = Values(data)
    one[-1] = 0
    assert len(held) == 3
    assert deserializer(registry).deserialize_batch("t", data).num_rows == 3
    with pytest.raises(TypeError, match="expected bytes or None, got str"):
        Values(["text"])


def test_methods_of_any_kind_are_called(registry: LocalRegistry, values: list[bytes]) -> None:
    class Static(Message):
        value = staticmethod(lambda: values[4])

    class SlimStatic(Slim):
        __slots__ = ()
        value = staticmethod(lambda: values[5])

    messages = [Message(values[0]), Static(), Slim(values[1]), Odd(values[2]), Patched(values[3]), SlimStatic(b"")]
    found = deserializer(registry).deserialize_batch("t", messages).to_pylist()
    assert [row["name"] for row in found] == ["n0", "n4", "n1", "n2", "n3", "n5"]


@pytest.mark.parametrize("place", [0, 1, 19])
def test_the_error_of_a_message_has_its_partition_and_offset(
    registry: LocalRegistry, values: list[bytes], place: int
) -> None:
    messages = [Message(value, offset=number) for number, value in enumerate(values)]
    messages[place] = Message(values[0][:10] + b"\xff", offset=place, partition=4)
    with pytest.raises(DecodeError) as caught:
        deserializer(registry).deserialize_batch("t", messages)
    error = caught.value
    assert (error.row, error.topic, error.path) == (place, "t", "name")
    assert error.raw is not None
    assert (error.raw.partition, error.raw.offset) == (4, place)
    errors = deserializer(registry).deserialize_batch("t", messages, error_column="why").column("why").to_pylist()
    assert [row for row, text in enumerate(errors) if text] == [place]


def test_an_error_of_the_client_is_refused_wherever_it_stands(registry: LocalRegistry, values: list[bytes]) -> None:
    for place in (0, 5):
        messages = [Message(value) for value in values[:5]]
        messages.insert(place, Message(b"the error's text", error="BROKER DOWN", offset=99))
        for read in (
            lambda given: deserializer(registry).deserialize_batch("t", given, error_column="why"),
            kafka_columns,
        ):
            with pytest.raises(DecodeError, match="error in place of a message: BROKER DOWN") as caught:
                read(messages)
            assert caught.value.row == place
        good, bad = without_errors(messages)
        assert [len(good), bad[0].offset()] == [5, 99]
        assert kafka_columns(good).num_rows == 5
        assert deserializer(registry).deserialize_batch("t", good).num_rows == 5
        good.append(bad[0])  # a slice is a list like any other
        with pytest.raises(DecodeError, match="error in place of a message"):
            deserializer(registry).deserialize_batch("t", good[:])
    assert without_errors([]) == ([], [])


def test_the_offset_after_the_last_message_of_each_partition_is_found() -> None:
    places = [(0, 7), (0, 8), (300, 1), (300, 2), (0, 12), (2, 5), (300, 4), (300, 9)]
    messages = [Message(partition=int(str(partition)), offset=offset) for partition, offset in places]
    assert ends_of(messages) == {0: 13, 300: 10, 2: 6}
    assert ends_of(messages[:1]) == {0: 8}
    assert ends_of([]) == {}


def test_objects_without_the_clients_methods_are_no_messages() -> None:
    class Half:
        def value(self) -> bytes:
            return b""

    with LocalRegistry() as registry:
        KafkaAvroSerializer({"schema.registry.url": registry.url}, USER).serialize("t", {"name": ""})
        for data in ([Half()], [Message(b""), b""], [Message("text")]):
            with pytest.raises(TypeError, match=r"expected (messages|bytes).*got (Half|bytes|str)"):
                deserializer(registry).deserialize_batch("t", data)


def test_pairs_take_the_keys_of_their_messages(registry: LocalRegistry) -> None:
    schema = KeyValueSchema(TypedSchema("AVRO", USER), TypedSchema("INT32"), "SEPARATED")
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url}, schema)
    key = serializer({"name": "k"}, SerializationContext("pairs", MessageField.KEY))
    value = serializer(5, SerializationContext("pairs", MessageField.VALUE))
    messages = [Message(value, key=key), Message(None, key=key), Message(value), Message(None)]
    found = deserializer(registry).deserialize_batch("pairs", messages)
    keys = pa.array([key, key, None, None])
    assert found == deserializer(registry).deserialize_batch("pairs", [m.value() for m in messages], keys=keys)
    assert found.to_pylist()[0] == {"key": {"name": "k"}, "value": 5}
    with pytest.raises(DecodeError, match="2 keys for 4 messages"):
        deserializer(registry).deserialize_batch("pairs", messages, keys=[key, key])


def test_batches_too_large_for_one_are_split(registry: LocalRegistry) -> None:
    items = {"type": "array", "items": {"type": "record", "name": "Two", "fields": [
        {"name": "a", "type": "null"}, {"name": "b", "type": "null"}]}}  # fmt: skip
    schema = {"type": "record", "name": "R", "fields": [{"name": "x", "type": items}]}
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url}, schema)
    message = Message(serializer.serialize("wide", {"x": [{"a": None, "b": None}] * 60}))
    small = deserializer(registry, **{"max.items": 200})
    parts = list(in_parts([message] * 6, lambda part: small.deserialize_batch("wide", part)))
    assert sum(batch.num_rows for _, batch in parts) == 6
    assert all(len(part) == batch.num_rows for part, batch in parts)


# Columns of Spark's Kafka source


def test_the_columns_have_the_types_of_sparks_kafka_source() -> None:
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    assert kafka_schema() == pa.schema(
        {
            "key": pa.binary(),
            "value": pa.binary(),
            "topic": pa.string(),
            "partition": pa.int32(),
            "offset": pa.int64(),
            "timestamp": pa.timestamp("us", "UTC"),
            "timestampType": pa.int32(),
            "headers": pa.list_(pa.field("element", header)),
        }
    )
    assert kafka_columns([]).schema == kafka_schema()


def test_each_message_is_a_row_with_all_of_its_parts() -> None:
    headers = [("a", b"1"), ("a", None), ("ä", b"")]
    message = Message(b"v", key=b"k", topic="tö", partition=3, offset=2**40, timestamp=(2, 1_700_000_000_123))
    messages = [message, Message(None, headers=headers), Message(b"", key=b"", headers=[]), message]
    first, second, third, fourth = kafka_columns(messages).to_pylist()
    assert (
        first
        == fourth
        == {
            "key": b"k",
            "value": b"v",
            "topic": "tö",
            "partition": 3,
            "offset": 2**40,
            "timestamp": dt.datetime(2023, 11, 14, 22, 13, 20, 123_000, dt.UTC),
            "timestampType": 1,
            "headers": None,
        }
    )
    assert (second["key"], second["value"], second["timestampType"]) == (None, None, 0)
    assert [tuple(header.values()) for header in second["headers"]] == headers
    assert (third["key"], third["value"], third["headers"]) == (b"", b"", None)
    kafka_columns(messages).validate(full=True)


def test_a_message_without_a_timestamp_has_that_of_sparks_kafka_source() -> None:
    row = kafka_columns([Message(timestamp=(0, 0))], ["timestampType", "timestamp"]).to_pylist()[0]
    assert row == {"timestampType": -1, "timestamp": dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, dt.UTC)}


@pytest.mark.parametrize("names", [("value",), ("timestampType",), ("offset", "headers", "key"), KAFKA_COLUMNS[::-1]])
def test_only_the_columns_that_are_named_are_made(names: tuple[str, ...]) -> None:
    batch = kafka_columns([Message(b"v", key=b"k")] * 100, names)
    assert tuple(batch.schema.names) == names
    assert batch == kafka_columns([Message(b"v", key=b"k")] * 100).select(list(names))


@pytest.mark.parametrize("names", [["valeu"], ["value", "value"]])
def test_a_column_that_is_not_there_or_named_twice_is_an_error(names: list[str]) -> None:
    with pytest.raises(ConfigError, match="use key, value, topic"):
        kafka_columns([], names)


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"value": "text"}, "value"),
        ({"key": 5}, "key"),
        ({"topic": b"t"}, "topic"),
        ({"partition": 2**31}, "partition"),
        ({"partition": "1"}, "partition"),
        ({"offset": 2**63}, "offset"),
        ({"offset": 1.5}, "offset"),
        ({"offset": Decimal("1E+999999")}, "offset"),
        ({"partition": 1.0}, "partition"),
        ({"timestamp": (1, 1.5)}, "timestamp"),
        ({"timestamp": None}, "timestamp"),
        ({"timestamp": (1, 2**62)}, "timestamp"),
        ({"headers": [("a",)]}, "headers"),
        ({"headers": [(b"a", b"")]}, "headers"),
        ({"headers": [("a", "text")]}, "headers"),
        ({"topic": "\ud800"}, "topic"),
    ],
)
def test_a_part_of_another_type_is_an_error_that_names_row_and_column(parts: dict[str, Any], path: str) -> None:
    with pytest.raises(DecodeError, match="expected the parts of a client's message") as caught:
        kafka_columns([Message(b""), Message(b""), Message(**parts)])
    assert (caught.value.row, caught.value.path) == (2, path)


@pytest.mark.parametrize("kind", ["binary", "large_binary", "binary_view", "string", "large_string", "string_view"])
def test_arrays_of_bytes_and_text_become_bytes_objects(kind: str) -> None:
    values = ["", "a", None, "é" * 200, None, ""]
    array = pa.array(values, getattr(pa, kind)())
    expected = [None if value is None else value.encode() for value in values]
    for first, last in itertools.combinations_with_replacement(range(len(values) + 1), 2):
        assert bytes_of(array[first:last]) == expected[first:last]


def test_arrays_of_other_types_and_damaged_ones_are_refused() -> None:
    with pytest.raises(TypeError, match="expected an Arrow array of bytes or text"):
        bytes_of(pa.array([1]))
    offsets = pa.array([0, 5, 2], pa.int32()).buffers()[1]
    with pytest.raises(DecodeError, match="decrease at slot"):
        bytes_of(pa.Array.from_buffers(pa.binary(), 2, [None, offsets, pa.py_buffer(b"hello")]))
