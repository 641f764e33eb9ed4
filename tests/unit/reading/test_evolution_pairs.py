"""reader.schema.policy for KEY_VALUE topics: both halves of a message come out as the same version of the pair."""

from __future__ import annotations

import pickle
from typing import Any, Literal

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext
from versions import SEEN, as_version, bare, datum, schema, shown

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaError,
)
from streamnative_serdes._call_path import Bound, policy_of
from streamnative_serdes._reading import pairs
from streamnative_serdes._reading.pairs import PairReading
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import LocalRegistry

Encoding = Literal["INLINE", "SEPARATED"]
AS_KEY, AS_VALUE = (SerializationContext("t", field) for field in (MessageField.KEY, MessageField.VALUE))
WRITER = {"reader.schema.incompatible": "writer"}


def registered(registry: LocalRegistry, encoding: Encoding, *pairs: tuple[Any, Any]) -> dict[str, Any]:
    """Register the pairs as the versions of "t", whatever they are."""
    registry.set_strategy("ALWAYS_COMPATIBLE")
    conf = {"schema.registry.url": registry.url}
    for number, pair in enumerate(pairs):
        with KafkaAvroSerializer({**conf, "key.value.framing": "value"}, KeyValueSchema(*pair, encoding)) as serializer:
            value = None if encoding == "SEPARATED" else (None, None)
            if value is not None:
                written = serializer.serialize("t", value)
                assert written is not None
                assert written[9] == number
            else:
                serializer.warm_up("t")
    return conf


@pytest.fixture
def inline(registry: LocalRegistry) -> dict[str, Any]:
    return registered(registry, "INLINE", *((schema(version), schema(version)) for version in range(4)))


@pytest.fixture
def separated(registry: LocalRegistry) -> dict[str, Any]:
    return registered(registry, "SEPARATED", *((schema(version), schema(version)) for version in range(4)))


def whole(version: int, key: bytes | None = None, value: bytes | None = None) -> bytes:
    """An INLINE message with our header."""
    halves = (bare(version) if key is None else key, bare(version) if value is None else value)
    return b"\3\4" + version.to_bytes(8) + b"".join(len(half).to_bytes(4) + half for half in halves)


def read(deserializer: KafkaAvroDeserializer, *versions: int) -> list[int]:
    found = []
    for version in versions:
        pair = deserializer(whole(version), AS_VALUE)
        assert type(pair) is KeyValue
        assert pair == (as_version(version, shown(pair.value)), as_version(version, shown(pair.value)))
        found.append(shown(pair.value))
    return found


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(None, [1, 1, 2, 1, 2]), ("writer", [1, 1, 2, 1, 2]), ("latest.seen", [1, 1, 2, 2, 2]), ("latest", [3] * 5)],
)
def test_both_halves_come_out_as_the_policy_says(
    inline: dict[str, Any], policy: str | None, expected: list[int]
) -> None:
    deserializer = KafkaAvroDeserializer({**inline, "reader.schema.policy": policy})
    assert read(deserializer, 1, 1, 2, 1, 2) == expected


def test_a_pair_that_is_given_is_fixed(inline: dict[str, Any]) -> None:
    pair = KeyValueSchema(schema(2), schema(2), "INLINE")
    for policy in (None, "fixed"):
        assert read(KafkaAvroDeserializer({**inline, "reader.schema.policy": policy}, pair), 1, 3) == [2, 2]
    with pytest.raises(ConfigError, match=r"both a reader's schema and reader.schema.policy=latest.seen"):
        KafkaAvroDeserializer({**inline, **SEEN}, pair)


@pytest.mark.parametrize("bad", [whole(3)[:-1], whole(3, key=b"\x7f"), whole(3, value=b"\x7f"), whole(3) + b"x"])
def test_a_message_that_cannot_be_read_does_not_count(inline: dict[str, Any], bad: bytes) -> None:
    deserializer = KafkaAvroDeserializer({**inline, **SEEN})
    for _ in range(2):
        assert read(deserializer, 1) == [1]
        with pytest.raises(DecodeError, match="topic t, schema version 3"):
            deserializer(bad, AS_VALUE)
        assert read(deserializer, 0) == [1]
    assert read(deserializer, 3, 0) == [3, 3]


def test_keys_are_seen_apart_from_values(separated: dict[str, Any]) -> None:
    def key(version: int) -> int:
        return shown(keys.deserialize("t", bare(version), version))

    keys, values = (
        KafkaAvroDeserializer({**separated, **SEEN}, is_key=True),
        KafkaAvroDeserializer({**separated, **SEEN}),
    )
    assert [key(version) for version in (1, 1, 2, 1, 2)] == [1, 1, 2, 2, 2]
    framed = b"\3\4" + bytes(8) + bare(0)
    assert values(framed, AS_VALUE) == datum(0)
    keys = pickle.loads(pickle.dumps(keys))
    assert key(0) == 2


def test_one_deserializer_for_both_carries_both_in_a_pickle(separated: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer({**separated, **SEEN})
    framed = [b"\3\4" + version.to_bytes(8) + bare(version) for version in range(4)]
    assert shown(deserializer(framed[1], AS_VALUE)) == 1
    assert deserializer(bare(3), AS_KEY) == datum(3)  # has no version: read by the latest
    assert shown(deserializer(framed[0], AS_VALUE)) == 1
    data = pickle.dumps(deserializer)
    Binding.forget()
    copied = pickle.loads(data)
    assert {mark.version for mark in policy_of(copied).seen.learnt()} == {1, 3}
    assert policy_of(copied).for_keys().deserialize("t", bare(0), 0) == as_version(0, 3)
    assert shown(copied(framed[0], AS_VALUE)) == 1
    assert shown(copied(framed[2], AS_VALUE)) == 2
    assert copied(bare(3), AS_KEY) == datum(3)


def test_a_fixed_value_leaves_keys_as_they_were_written(separated: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer({**separated, "reader.schema.policy": "fixed"}, schema(1))
    assert shown(deserializer(b"\3\4" + bytes(8) + bare(0), AS_VALUE)) == 1
    assert deserializer(bare(3), AS_KEY) == datum(3)


NUMBER, TEXT, EITHER = (
    {"type": "record", "name": "User", "fields": [{"name": "age", "type": kind}]}
    for kind in ("int", "string", ["int", "string"])
)


def test_a_half_that_cannot_be_converted_is_an_error_or_comes_out_as_it_was_written(registry: LocalRegistry) -> None:
    conf = registered(registry, "INLINE", (NUMBER, NUMBER), (NUMBER, TEXT))
    old, new = whole(0, b"\x0e", b"\x0e"), whole(1, b"\x0e", b"\x02x")
    strict, lenient = (KafkaAvroDeserializer({**conf, **SEEN, **more}) for more in ({}, WRITER))
    for deserializer in (strict, lenient):
        assert deserializer.deserialize("t", old) == ({"age": 7}, {"age": 7})
        assert deserializer.deserialize("t", new) == ({"age": 7}, {"age": "x"})
    for _ in range(2):
        with pytest.raises(SchemaError, match="topic t, schema version 0, field age"):
            strict.deserialize("t", old)
        assert lenient.deserialize("t", old) == ({"age": 7}, {"age": 7})


def test_a_half_whose_value_has_no_place_comes_out_as_it_was_written(registry: LocalRegistry) -> None:
    conf = registered(registry, "INLINE", (EITHER, EITHER))
    pair = KeyValueSchema(NUMBER, NUMBER, "INLINE")
    strict, lenient = (KafkaAvroDeserializer({**conf, **more}, pair) for more in ({}, WRITER))
    number, text = b"\0\x0e", b"\x02\x02x"
    for deserializer in (strict, lenient):
        assert deserializer.deserialize("t", whole(0, number, number)) == ({"age": 7}, {"age": 7})
    with pytest.raises(DecodeError):
        strict.deserialize("t", whole(0, number, text))
    assert lenient.deserialize("t", whole(0, number, text)) == ({"age": 7}, {"age": "x"})
    with pytest.raises(DecodeError):
        lenient.deserialize("t", whole(0, number, text)[:-1])


@pytest.mark.parametrize("times", [(1.0, 2.0, 3.0), (2.0, 1.0, 3.0), (3.0, 2.0, 1.0)])
def test_what_reads_an_inline_pair_holds_for_the_shortest_of_three_times(
    inline: dict[str, Any], monkeypatch: pytest.MonkeyPatch, times: tuple[float, float, float]
) -> None:
    """That of the binding, that of the value's reader, and that of the key's."""
    lifetime, of_value, of_key = times
    own, held = PairReading._half, list[float]()

    def half(self: PairReading, topic: str, known: Any, name: str, *more: Any, **options: Any) -> Any:
        return own(self, topic, known, name, *more, **options)[0], of_key if name == "key" else of_value

    def bound(*parts: Any) -> Any:
        held.append(parts[5])
        return Bound(*parts)

    binds = PairReading.bound
    monkeypatch.setattr(PairReading, "_half", half)
    monkeypatch.setattr(PairReading, "bound", lambda self, *a, **k: binds(self, *a[:3], lifetime, *a[4:], **k))
    monkeypatch.setattr(pairs._call_path, "Bound", bound)
    KafkaAvroDeserializer(inline)(whole(0), AS_VALUE)
    assert held[0] == 1.0
