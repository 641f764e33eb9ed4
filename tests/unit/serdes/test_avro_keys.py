"""Avro keys in topics that are not of type KEY_VALUE: bare by key.schema, and in Confluent's framings by ids."""

from __future__ import annotations

import asyncio
import json
import pickle
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KeyValueSchema
from streamnative_serdes.compat import AsyncSchemaRegistryClient, SchemaRegistryClient
from streamnative_serdes.compat.avro import AsyncAvroDeserializer, AvroDeserializer, AvroSerializer
from streamnative_serdes.errors import (
    ConfigError,
    DecodeError,
    EncodeError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

TOPIC = "orders"
KEY: Any = {"type": "record", "name": "OrderId", "fields": [{"name": "id", "type": "long"}]}
VALUE: Any = {"type": "record", "name": "Order", "fields": [{"name": "total", "type": "long"}]}
PAIR = KeyValueSchema(KEY, VALUE, "SEPARATED")
AS_KEY, AS_VALUE = (SerializationContext(TOPIC, field) for field in (MessageField.KEY, MessageField.VALUE))
ALL = "snip42,confluent,confluent-header,headerless"
FIRST = b"\x03\x04" + bytes(8)  # the header of version 0


@dataclass
class OrderId:
    id: int


@pytest.fixture
def bare(conf: dict[str, Any]) -> dict[str, Any]:
    return {**conf, "key.schema": KEY}


@pytest.fixture
def old(conf: dict[str, Any], second: ConfluentStandIn) -> dict[str, Any]:
    """Options of a serializer in the old framing."""
    return {**conf, "framing": "confluent", "confluent.schema.registry.url": second.url}


@pytest.fixture
def both(conf: dict[str, Any], second: ConfluentStandIn) -> dict[str, Any]:
    """Options of a deserializer that reads both framings."""
    return {**conf, "framings": ALL, "confluent.schema.registry.url": second.url}


def prefixed(number: int, datum: bytes) -> bytes:
    return b"\0" + number.to_bytes(4) + datum


# Bare keys


@pytest.mark.parametrize("field", [MessageField.KEY, MessageField.VALUE, None])
def test_a_key_of_key_schema_is_bare_whatever_the_context_says(
    bare: dict[str, Any], registry: LocalRegistry, field: MessageField | None
) -> None:
    serializer, deserializer = KafkaAvroSerializer(bare, is_key=True), KafkaAvroDeserializer(bare, is_key=True)
    ctx = SerializationContext(TOPIC, field)
    for number, data in ((1, b"\x02"), (-2, b"\x03"), (1, b"\x02")):
        assert (serializer({"id": number}, ctx), deserializer(data, ctx)) == (data, {"id": number})
    assert (serializer(None, ctx), deserializer(None, ctx)) == (None, None)
    assert registry.calls["POST schema"] == 0
    for serdes in (serializer, deserializer):
        assert {name: serdes.stats()[name] for name in ("messages", "misses", "errors")} == {
            "messages": 3,
            "misses": 1,
            "errors": 0,
        }


@pytest.mark.parametrize("given", [json.dumps(KEY), KEY])
def test_key_schema_is_text_or_a_tree(conf: dict[str, Any], given: Any) -> None:
    assert KafkaAvroSerializer({**conf, "key.schema": given}, is_key=True)({"id": 1}, AS_KEY) == b"\x02"


def test_key_schema_may_be_a_file_which_is_read_once(conf: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "key.avsc"
    path.write_text(json.dumps(KEY))
    serializer = KafkaAvroSerializer({**conf, "key.schema": path}, is_key=True)
    path.unlink()
    assert pickle.loads(pickle.dumps(serializer))({"id": 1}, AS_KEY) == b"\x02"


def test_configure_takes_key_schema_from_the_clients_options(bare: dict[str, Any]) -> None:
    options = {**bare, "bootstrap.servers": "x"}
    assert KafkaAvroSerializer().configure(options, is_key=True).serialize(TOPIC, {"id": 1}) == b"\x02"
    assert KafkaAvroDeserializer().configure(options, is_key=True).deserialize(TOPIC, b"\x02") == {"id": 1}


def test_is_key_of_configure_holds_until_the_next_and_none_is_the_constructors(conf: dict[str, Any]) -> None:
    keys, values = {**conf, "key.schema": json.dumps(KEY)}, {**conf, "auto.register.schemas": True}
    serializer = KafkaAvroSerializer(values, VALUE)
    with pytest.raises(ConfigError):  # the schema of keys is in the options, and there is one of values
        serializer.configure(keys, is_key=True)
    before = serializer.serialize(TOPIC, {"total": 5})
    assert serializer.configure(values).serialize(TOPIC, {"total": 5}) == before
    written = KafkaAvroDeserializer().configure(keys, is_key=True)
    for copy in (written, pickle.loads(pickle.dumps(written))):
        assert copy.deserialize(TOPIC, b"\x02") == {"id": 1}
        assert copy.configure(keys).deserialize(TOPIC, before) == {"total": 5}


def test_one_serdes_writes_and_reads_keys_and_values_of_one_type_in_any_order(bare: dict[str, Any]) -> None:
    messages = [({"id": 1}, AS_KEY, b"\x02"), ({"total": 2}, AS_VALUE, FIRST + b"\x04")]
    for order in (messages, messages[::-1]):
        serializer, deserializer = KafkaAvroSerializer(bare, VALUE), KafkaAvroDeserializer(bare)
        for _ in range(3):
            for data, ctx, message in order:
                assert (serializer(data, ctx), deserializer(message, ctx)) == (message, data)
        for serdes in (serializer, deserializer):
            assert (serdes.stats()["messages"], serdes.stats()["misses"]) == (6, 2)


def test_a_bare_value_is_not_taken_for_the_schema_of_keys(bare: dict[str, Any]) -> None:
    KafkaAvroSerializer(bare, VALUE).warm_up(TOPIC)
    deserializer = KafkaAvroDeserializer(bare)
    for _ in range(2):
        assert (deserializer(b"\x04", AS_VALUE), deserializer(b"\x04", AS_KEY)) == ({"total": 2}, {"id": 2})


TEN: Any = {**KEY, "fields": [{"name": name, "type": "long"} for name in "abcdefghij"]}
LIKE_A_HEADER = {**dict.fromkeys("abcdefghij", 0), "a": -2, "b": 2}  # its data are FIRST


@pytest.mark.parametrize("framings", ["snip42,headerless", ALL])
def test_a_key_that_begins_like_a_header_is_read_as_a_key(
    conf: dict[str, Any], second: ConfluentStandIn, framings: str
) -> None:
    options = {**conf, "key.schema": TEN}
    assert KafkaAvroSerializer(options, is_key=True)(LIKE_A_HEADER, AS_KEY) == FIRST
    KafkaAvroSerializer(options, VALUE).warm_up(TOPIC)
    options |= {"framings": framings}
    if framings == ALL:
        options |= {"confluent.schema.registry.url": second.url}
    shared, values_first = KafkaAvroDeserializer(options), KafkaAvroDeserializer(options)
    for _ in range(2):
        assert values_first(FIRST + b"\x04", AS_VALUE) == {"total": 2}
        for own in (shared, values_first, KafkaAvroDeserializer(options, is_key=True)):
            assert own(FIRST, AS_KEY) == LIKE_A_HEADER


def test_a_key_that_begins_like_a_header_is_read_by_the_schema_that_its_header_names(
    both: dict[str, Any], conf: dict[str, Any], second: ConfluentStandIn
) -> None:
    KafkaAvroSerializer(conf, VALUE).warm_up(TOPIC)
    headers = [("__key_schema_id", prefixed(second.register(f"{TOPIC}-key", TEN), b""))]
    shared = KafkaAvroDeserializer({**both, "framings": "snip42,confluent-header"})
    for _ in range(2):
        assert shared(FIRST, SerializationContext(TOPIC, MessageField.KEY, headers)) == LIKE_A_HEADER
    with pytest.raises(DecodeError, match="expected a key with one of the framings confluent "):
        KafkaAvroDeserializer({**both, "framings": "snip42,confluent"})(FIRST, AS_KEY)


def test_a_readers_schema_and_a_class_hold_for_keys(bare: dict[str, Any]) -> None:
    wider = {**KEY, "fields": [*KEY["fields"], {"name": "shop", "type": "string", "default": "Paris"}]}
    assert KafkaAvroDeserializer(bare, wider, is_key=True)(b"\x02", AS_KEY) == {"id": 1, "shop": "Paris"}
    assert KafkaAvroDeserializer({**bare, "value.type": OrderId}, is_key=True)(b"\x02", AS_KEY) == OrderId(1)
    assert KafkaAvroSerializer(bare, is_key=True)(OrderId(1), AS_KEY) == b"\x02"


@pytest.mark.parametrize("policy", ["latest", "latest.seen"])
def test_the_policy_for_the_readers_schema_is_for_values(bare: dict[str, Any], policy: str) -> None:
    KafkaAvroSerializer(bare, VALUE).warm_up(TOPIC)
    options = {**bare, "reader.schema.policy": policy}
    shared = KafkaAvroDeserializer(options)
    for own in (shared, KafkaAvroDeserializer(options, is_key=True)):
        for _ in range(3):
            assert own(b"\x02", AS_KEY) == {"id": 1}
        assert own.stats()["misses"] == 1
    assert shared(FIRST + b"\x04", AS_VALUE) == {"total": 2}


def test_without_a_fallback_bare_keys_are_read_by_key_schema(bare: dict[str, Any]) -> None:
    options = {**bare, "fallback.to.latest": False}
    assert KafkaAvroDeserializer(options, is_key=True)(b"\x02", AS_KEY) == {"id": 1}
    assert KafkaAvroDeserializer(options)(b"\x02", AS_KEY) == {"id": 1}


def test_errors_of_bare_keys_name_the_topic_and_no_version(bare: dict[str, Any]) -> None:
    KafkaAvroSerializer(bare, VALUE).warm_up(TOPIC)
    with pytest.raises(EncodeError, match=r"^topic orders, field id: ") as failed:
        KafkaAvroSerializer(bare, is_key=True)({"id": "x"}, AS_KEY)
    assert failed.value.version is None
    for own in (KafkaAvroDeserializer(bare), KafkaAvroDeserializer(bare, is_key=True)):
        with pytest.raises(DecodeError, match=r"^topic orders, byte 1: expected the end of the message"):
            own(b"\x02\x02", AS_KEY)
        assert (own.stats()["messages"], own.stats()["errors"]) == (1, 1)


def test_the_error_of_a_value_beside_bare_keys_says_what_its_bytes_look_like(bare: dict[str, Any]) -> None:
    KafkaAvroSerializer(bare, VALUE).warm_up(TOPIC)
    with pytest.raises(
        DecodeError, match=r"hint: the message begins like those of Confluent.s serializer \(0x00, schema id 7\)"
    ):
        KafkaAvroDeserializer(bare)(prefixed(7, b"\x02"), AS_VALUE)


def test_topics_of_type_key_value_keep_their_own_keys(bare: dict[str, Any], registry: LocalRegistry) -> None:
    text = {"type": "record", "name": "Name", "fields": [{"name": "name", "type": "string"}]}
    other = {**bare, "key.schema": text}
    KafkaAvroSerializer({"schema.registry.url": registry.url}, PAIR).warm_up(TOPIC)
    for _ in range(2):
        assert KafkaAvroSerializer(bare, is_key=True)({"id": 1}, AS_KEY) == b"\x02"
        assert KafkaAvroDeserializer(other, is_key=True)(b"\x02", AS_KEY) == {"id": 1}
        assert KafkaAvroDeserializer(other)(b"\x02", AS_KEY) == {"id": 1}
        with pytest.raises(SchemaNotFoundError, match="no version of the topic has this schema as that of its keys"):
            KafkaAvroSerializer(other, is_key=True)({"name": "a"}, AS_KEY)
    assert registry.calls["POST schema"] == 1


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "map", "values": "int"}, ""),
        ({**KEY, "fields": [{"name": "tags", "type": ["null", {"type": "map", "values": "int"}]}]}, "tags"),
        (
            {
                **KEY,
                "fields": [
                    {"name": "next", "type": ["null", "OrderId"]},
                    {"name": "last", "type": {"type": "array", "items": {"type": "map", "values": "int"}}},
                ],
            },
            "last",
        ),
    ],
)
def test_a_key_with_a_map_is_not_written_but_read(conf: dict[str, Any], schema: Any, path: str) -> None:
    options = {**conf, "key.schema": schema}
    for given, is_key in ((None, True), (VALUE, False)):
        with pytest.raises(SchemaError, match="equal keys could be different bytes") as failed:
            KafkaAvroSerializer(options, given, is_key=is_key)
        assert (failed.value.path or "") == path
    KafkaAvroDeserializer(options, is_key=True)


def test_equal_keys_are_equal_bytes(conf: dict[str, Any]) -> None:
    parts = {"type": "record", "name": "Parts", "fields": [
        {"name": "b", "type": ["null", "string", "long"]}, {"name": "a", "type": {"type": "array", "items": "long"}},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}}]}  # fmt: skip
    write = KafkaAvroSerializer({**conf, "key.schema": parts}, is_key=True)
    keys = [
        {"a": [1, 2], "b": "x", "d": Decimal("1.5")},
        {"d": Decimal("1.50"), "b": ("string", "x"), "a": (1, 2)},
        {"b": "x", "d": Decimal("15e-1"), "a": range(1, 3)},
    ]
    assert len({write(key, AS_KEY) for key in keys}) == 1


@pytest.mark.parametrize(
    ("more", "schema", "is_key", "words"),
    [
        ({"key.schema": KEY}, KEY, True, "cannot use both key.schema and a schema that says how keys are written"),
        ({"key.schema": KEY}, PAIR, False, "cannot use both key.schema and a schema that says how keys are written"),
        ({"key.schema": 5}, None, True, "key.schema: expected an Avro schema"),
        ({"key.schema": "no-such-file.avsc"}, None, True, "key.schema: expected an Avro schema"),
        ({"key.schema": "{"}, None, True, "key.schema: the schema is not JSON"),
        (
            {"key.schema": KEY, "framing": "confluent", "confluent.schema.registry.url": "http://127.0.0.1:1"},
            VALUE,
            False,
            "cannot enable both key.schema and framing=confluent",
        ),
    ],
)
def test_options_without_a_meaning_are_refused(
    conf: dict[str, Any], more: dict[str, Any], schema: Any, is_key: bool, words: str
) -> None:
    with pytest.raises((ConfigError, SchemaError), match=words):
        KafkaAvroSerializer({**conf, **more}, schema, is_key=is_key)


def test_the_refusal_of_keys_names_what_reads_them(conf: dict[str, Any]) -> None:
    KafkaAvroSerializer(conf, VALUE).warm_up(TOPIC)
    for use in (
        lambda: KafkaAvroDeserializer(conf, is_key=True)(b"\x02", AS_KEY),
        lambda: KafkaAvroSerializer(conf, VALUE)({"id": 1}, AS_KEY),
        lambda: KafkaAvroSerializer(conf, KEY, is_key=True),
    ):
        with pytest.raises(ConfigError, match=r"key\.schema"):
            use()


# Keys in Confluent's framings


@pytest.mark.parametrize("is_key", [True, False])
def test_keys_in_the_old_framing_are_registered_as_those_of_the_topic(
    old: dict[str, Any], second: ConfluentStandIn, registry: LocalRegistry, is_key: bool
) -> None:
    second.register("other-value", VALUE)
    with KafkaAvroSerializer(old, KEY, is_key=is_key) as serializer:
        for number in (1, 2):
            assert serializer({"id": number}, AS_KEY) == prefixed(2, bytes([2 * number]))
    assert [*second.subjects] == ["other-value", f"{TOPIC}-key"]
    assert not registry.calls


def test_without_auto_register_the_id_of_a_key_is_looked_up_among_keys(
    old: dict[str, Any], second: ConfluentStandIn
) -> None:
    serializer = KafkaAvroSerializer(
        {**old, "auto.register.schemas": False, "cache.missing.ttl.sec": 0}, KEY, is_key=True
    )
    second.register(f"{TOPIC}-value", KEY)
    with pytest.raises(SchemaNotFoundError):
        serializer({"id": 1}, AS_KEY)
    second.register(f"{TOPIC}-key", KEY)
    assert serializer({"id": 1}, AS_KEY) == prefixed(1, b"\x02")


def test_one_serializer_in_the_old_framing_writes_keys_and_values_of_one_schema(
    old: dict[str, Any], second: ConfluentStandIn
) -> None:
    """The id of a schema is the same in both subjects."""
    serializer = KafkaAvroSerializer(old, KEY)
    for _ in range(2):
        for ctx in (AS_KEY, AS_VALUE):
            assert serializer({"id": 1}, ctx) == prefixed(1, b"\x02")
    assert [*second.subjects] == [f"{TOPIC}-key", f"{TOPIC}-value"]


def test_framing_confluent_takes_no_pair(old: dict[str, Any]) -> None:
    for is_key in (True, False):
        with pytest.raises(ConfigError, match="framing=confluent writes by one Avro schema, not by a KeyValueSchema"):
            KafkaAvroSerializer(old, PAIR, is_key=is_key)


@pytest.mark.parametrize("topics", ["avro", "none"])
@pytest.mark.parametrize("is_key", [True, False])
def test_keys_in_the_old_framings_are_read_by_their_ids(
    both: dict[str, Any], conf: dict[str, Any], second: ConfluentStandIn, is_key: bool, topics: str
) -> None:
    if topics == "avro":
        KafkaAvroSerializer(conf, VALUE).warm_up(TOPIC)
    of_value, of_key = second.register(f"{TOPIC}-value", VALUE), second.register(f"{TOPIC}-key", KEY)
    headers = [("__value_schema_id", prefixed(of_value, b"")), ("__key_schema_id", b"\x01" + second.guid(of_key))]
    deserializer = KafkaAvroDeserializer(both, is_key=is_key)
    for _ in range(2):
        assert deserializer(prefixed(of_key, b"\x02"), AS_KEY) == {"id": 1}
        assert deserializer(b"\x04", SerializationContext(TOPIC, MessageField.KEY, headers)) == {"id": 2}
        if not is_key:
            assert deserializer(prefixed(of_value, b"\x02"), AS_VALUE) == {"total": 1}
            assert deserializer(b"\x04", SerializationContext(TOPIC, MessageField.VALUE, headers)) == {"total": 2}
    stats, count = deserializer.stats(), 2 if is_key else 4
    assert [stats[name] for name in ("messages", "confluent", "confluent_header", "headerless", "errors")] == [
        2 * count,
        count,
        count,
        0,
        0,
    ]
    deserializer.configure(both)
    assert (deserializer.stats()["messages"], deserializer.stats()["confluent"]) == (2 * count, count)
    if is_key:
        assert deserializer.deserialize(TOPIC, b"\x06", headers=headers) == {"id": 3}


@pytest.mark.parametrize("is_key", [True, False])
@pytest.mark.parametrize("framings", [ALL, "snip42,headerless,confluent,confluent-header"])
def test_bare_keys_are_read_beside_those_in_the_old_framing(
    both: dict[str, Any], conf: dict[str, Any], second: ConfluentStandIn, is_key: bool, framings: str
) -> None:
    KafkaAvroSerializer(conf, VALUE).warm_up(TOPIC)
    number = second.register(f"{TOPIC}-key", KEY)
    deserializer = KafkaAvroDeserializer({**both, "framings": framings, "key.schema": KEY}, is_key=is_key)
    for _ in range(2):
        assert deserializer(b"\x02", AS_KEY) == {"id": 1}
        assert deserializer(prefixed(number, b"\x04"), AS_KEY) == {"id": 2}
        assert deserializer(b"\x00", AS_KEY) == {"id": 0}
        if not is_key:
            assert deserializer(FIRST + b"\x04", AS_VALUE) == {"total": 2}
            assert deserializer(b"\x06", AS_VALUE) == {"total": 3}
    with pytest.raises(DecodeError, match=r"expected Confluent's framing with schema id 9, or Avro without a header"):
        deserializer(prefixed(9, b"\x02"), AS_KEY)


@pytest.mark.parametrize("is_key", [True, False])
def test_without_key_schema_a_bare_key_is_an_error_that_names_it(
    both: dict[str, Any], conf: dict[str, Any], is_key: bool
) -> None:
    KafkaAvroSerializer(conf, VALUE).warm_up(TOPIC)
    deserializer = KafkaAvroDeserializer(both, is_key=is_key)
    for _ in range(2):
        with pytest.raises(DecodeError) as failed:
            deserializer(b"\x02", AS_KEY)
        assert str(failed.value) == (
            "topic orders: expected a key with one of the framings confluent, confluent-header "
            "(hint: bare keys need key.schema, and headerless in framings)"
        )
        with pytest.raises(SchemaNotFoundError, match="the second registry does not have schema id 7"):
            deserializer(prefixed(7, b"\x02"), AS_KEY)
    by_header = KafkaAvroDeserializer({**both, "framings": "snip42,confluent-header,headerless"}, is_key=is_key)
    with pytest.raises(DecodeError, match=r"framings confluent-header \(hint: bare keys need key\.schema"):
        by_header(b"\x02", AS_KEY)
    strict = KafkaAvroDeserializer({**both, "framings": "snip42,confluent", "key.schema": KEY}, is_key=is_key)
    with pytest.raises(
        DecodeError, match=r"framings confluent \(hint: bare keys need key\.schema, and headerless in framings\)"
    ):
        strict(b"\x02", AS_KEY)
    none = {**conf, "framings": "snip42", "key.schema": KEY}
    with pytest.raises(
        DecodeError, match=r"framings has none for keys \(hint: bare keys need key\.schema, and headerless"
    ):
        KafkaAvroDeserializer(none, is_key=is_key)(b"\x02", AS_KEY)


@pytest.mark.parametrize("is_key", [True, False])
def test_keys_of_key_value_topics_have_no_framing_beside_those_of_other_topics(
    both: dict[str, Any], conf: dict[str, Any], second: ConfluentStandIn, is_key: bool
) -> None:
    five = {**KEY, "fields": [{"name": name, "type": "long"} for name in "abcdef"]}
    KafkaAvroSerializer(conf, KeyValueSchema(five, VALUE, "SEPARATED")).warm_up("pairs")
    number = second.register(f"{TOPIC}-key", KEY)
    deserializer = KafkaAvroDeserializer({**both, "key.schema": KEY}, is_key=is_key)
    in_pairs = SerializationContext("pairs", MessageField.KEY)
    for _ in range(3):
        assert deserializer(prefixed(number, b"\x02"), in_pairs) == {**dict.fromkeys("abcd", 0), "e": -1, "f": 1}
        assert deserializer(prefixed(number, b"\x02"), AS_KEY) == {"id": 1}
        assert deserializer(b"\x02", AS_KEY) == {"id": 1}
    assert deserializer.stats()["confluent"] == 3


def test_a_registry_that_is_away_is_an_error_of_the_key(both: dict[str, Any], registry: LocalRegistry) -> None:
    options = {**both, "retries.total.ms": 1, "retries.first.ms": 1}
    registry.close()
    for is_key in (True, False):
        deserializer = KafkaAvroDeserializer(options, is_key=is_key)
        with pytest.raises(RegistryUnavailableError):
            deserializer(prefixed(1, b"\x02"), AS_KEY)
        assert (deserializer.stats()["messages"], deserializer.stats()["errors"]) == (1, 1)


@pytest.mark.parametrize("policy", ["latest", "latest.seen"])
def test_the_policy_for_the_readers_schema_is_not_for_keys_in_the_old_framing(
    both: dict[str, Any], conf: dict[str, Any], second: ConfluentStandIn, policy: str
) -> None:
    KafkaAvroSerializer(conf, VALUE).warm_up(TOPIC)
    number = second.register(f"{TOPIC}-key", KEY)
    deserializer = KafkaAvroDeserializer({**both, "reader.schema.policy": policy})
    for _ in range(2):
        assert deserializer(FIRST + b"\x04", AS_VALUE) == {"total": 2}
        assert deserializer(prefixed(number, b"\x02"), AS_KEY) == {"id": 1}


def test_bytes_at_the_root_of_keys_have_no_length_in_the_old_framing_and_one_if_they_are_bare(
    old: dict[str, Any], both: dict[str, Any], conf: dict[str, Any], second: ConfluentStandIn
) -> None:
    assert KafkaAvroSerializer(old, "bytes", is_key=True)(b"ab", AS_KEY) == prefixed(1, b"ab")
    deserializer = KafkaAvroDeserializer({**both, "key.schema": "bytes"}, is_key=True)
    assert deserializer(prefixed(1, b"ab"), AS_KEY) == b"ab"
    assert KafkaAvroSerializer({**conf, "key.schema": "bytes"}, is_key=True)(b"ab", AS_KEY) == b"\x04ab"
    assert deserializer(b"\x04ab", AS_KEY) == b"ab"


@pytest.mark.parametrize("is_key", [True, False])
def test_pickles_read_and_write_keys(
    bare: dict[str, Any], both: dict[str, Any], old: dict[str, Any], second: ConfluentStandIn, is_key: bool
) -> None:
    number = second.register(f"{TOPIC}-key", KEY)
    write = KafkaAvroSerializer(bare, None if is_key else VALUE, is_key=is_key)
    read = KafkaAvroDeserializer({**both, "key.schema": KEY}, is_key=is_key)
    write_old = KafkaAvroSerializer(old, KEY, is_key=is_key)
    for _ in range(2):
        assert (write({"id": 1}, AS_KEY), read(b"\x02", AS_KEY)) == (b"\x02", {"id": 1})
        assert (write_old({"id": 1}, AS_KEY), read(prefixed(number, b"\x02"), AS_KEY)) == (
            prefixed(number, b"\x02"),
            {"id": 1},
        )
        write, read, write_old = (pickle.loads(pickle.dumps(one)) for one in (write, read, write_old))


# Confluent's names


def test_a_program_of_confluents_reads_and_writes_keys(
    registry: LocalRegistry, second: ConfluentStandIn, conf: dict[str, Any]
) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    options = {"confluent.schema.registry.url": second.url}
    write = AvroSerializer(client, json.dumps(KEY), conf={**options, "framing": "confluent"})
    message = write({"id": 1}, AS_KEY)
    assert (message, [*second.subjects]) == (prefixed(1, b"\x02"), [f"{TOPIC}-key"])
    assert AvroDeserializer(client, conf=options)(message, AS_KEY) == {"id": 1}
    bare = AvroSerializer(client, conf={"key.schema": json.dumps(KEY)})
    assert bare({"id": 1}, AS_KEY) == b"\x02"
    assert AvroDeserializer(client, conf={**options, "key.schema": json.dumps(KEY)})(b"\x02", AS_KEY) == {"id": 1}


async def read_with_asyncio(registry: LocalRegistry, second: ConfluentStandIn) -> None:
    of_value, of_key = second.register(f"{TOPIC}-value", VALUE), second.register(f"{TOPIC}-key", KEY)
    headers = [("__value_schema_id", prefixed(of_value, b"")), ("__key_schema_id", prefixed(of_key, b""))]
    options = {"confluent.schema.registry.url": second.url, "key.schema": json.dumps(KEY)}
    client = AsyncSchemaRegistryClient({"url": registry.url})
    read = await AsyncAvroDeserializer(client, conf=options)
    for _ in range(3):
        for field, name in ((MessageField.VALUE, "total"), (MessageField.KEY, "id")):
            assert await read(b"\x02", SerializationContext(TOPIC, field, headers)) == {name: 1}
            assert await read(b"\x04", SerializationContext(TOPIC, field)) == {name: 2}
    await read.aclose()


def test_asyncio_tells_keys_from_values(
    conf: dict[str, Any], registry: LocalRegistry, second: ConfluentStandIn
) -> None:
    KafkaAvroSerializer(conf, VALUE).warm_up(TOPIC)
    asyncio.run(read_with_asyncio(registry, second))


# Batches


def test_batches_of_keys_are_written(bare: dict[str, Any], old: dict[str, Any], second: ConfluentStandIn) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = pa.record_batch({"id": [1, 2]})
    second.register("other-value", VALUE)
    assert KafkaAvroSerializer(bare, is_key=True).serialize_batch(TOPIC, rows).to_pylist() == [b"\x02", b"\x04"]
    keys = KafkaAvroSerializer(old, KEY, is_key=True).serialize_batch(TOPIC, rows).to_pylist()
    assert keys == [prefixed(2, b"\x02"), prefixed(2, b"\x04")]
    values = KafkaAvroSerializer(bare, VALUE).serialize_batch(TOPIC, pa.record_batch({"total": [1]})).to_pylist()
    assert values == [FIRST + b"\x02"]
    with pytest.raises(ConfigError, match="one by one"):
        KafkaAvroDeserializer(bare, is_key=True).deserialize_batch(TOPIC, [b"\x02"])


def test_key_schema_changes_nothing_for_columns_of_values(bare: dict[str, Any]) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyspark")
    from streamnative_serdes.spark.frames.encoding import TopicWriter

    rows = pa.record_batch({"total": [1]})
    assert TopicWriter(TOPIC, bare, VALUE).write(rows).to_pylist() == [FIRST + b"\x02"]
    assert KafkaAvroDeserializer(bare).deserialize_batch(TOPIC, [FIRST + b"\x02", b"\x04"]).to_pylist() == [
        {"total": 1},
        {"total": 2},
    ]
