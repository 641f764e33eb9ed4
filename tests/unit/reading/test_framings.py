"""Confluent's framings, read beside SNIP 42: by prefix and by header, in objects, in batches, and what is ambiguous."""

from __future__ import annotations

import json
import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from confluent_stand_in import ConfluentStandIn
from each_way import Reader
from scripted_registry import Answer
from waiting import exit_code, join

from streamnative_serdes import Codec, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._reading.framings import Signs
from streamnative_serdes.compat import SchemaRegistryClient
from streamnative_serdes.compat.avro import AvroDeserializer
from streamnative_serdes.errors import (
    ConfigError,
    DecodeError,
    EncodeError,
    RegistryUnavailableError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

SHOP = {"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "note", "type": "string"}]}  # fmt: skip
WITH_PRICE = {**SHOP, "fields": [*SHOP["fields"], {"name": "price", "type": "double", "default": 0.5}]}  # type: ignore[misc]
ONE = {"type": "record", "name": "Numbers", "fields": [{"name": "z", "type": "long"}]}
SIX = {**ONE, "fields": [*({"name": n, "type": "long", "default": 0} for n in "abcde"), *ONE["fields"]]}  # type: ignore[misc]
AS_ONE = {**dict.fromkeys("abcde", 0), "z": 7}
AS_SIX = {**AS_ONE, "e": -1}  # the prefix is five numbers
# Any eight bytes are a datum of it, so a prefix and three bytes are too.
BYTES = {
    "type": "record",
    "name": "Any",
    "fields": [{"name": "raw", "type": {"type": "fixed", "name": "F", "size": 8}}],
}
THREE = {
    "type": "record",
    "name": "Any",
    "fields": [{"name": "raw", "type": {"type": "fixed", "name": "F", "size": 3}}],
}
ORDER = {"id": 7, "note": "hello"}
HEADER = "__value_schema_id"
ALL = "snip42,confluent,confluent-header,headerless"
BARE_FIRST = "snip42,headerless,confluent,confluent-header"


def avro(schema: Any, datum: Any) -> bytes:
    return Codec(json.dumps(schema)).encode(datum)


def prefixed(number: int, body: bytes) -> bytes:
    return b"\0" + number.to_bytes(4) + body


def by_id(number: int) -> list[tuple[str, bytes]]:
    return [("other", b"x"), (HEADER, prefixed(number, b""))]


def by_guid(guid: bytes) -> list[tuple[str, bytes]]:
    return [(HEADER, b"\x01" + guid)]


@pytest.fixture
def conf(registry: LocalRegistry, second: ConfluentStandIn) -> dict[str, Any]:
    return {
        "schema.registry.url": registry.url,
        "confluent.schema.registry.url": second.url,
        "framings": ALL,
        "cache.missing.ttl.sec": 60,
    }


@pytest.fixture
def writing(conf: dict[str, Any]) -> dict[str, Any]:
    """Options of a serializer."""
    return {key: value for key, value in conf.items() if key != "framings"} | {"framing": "confluent"}


@pytest.fixture
def registered(conf: dict[str, Any]) -> bytes:
    """Makes SHOP the topic's schema, and returns a message."""
    with KafkaAvroSerializer({"schema.registry.url": conf["schema.registry.url"]}, SHOP) as serializer:
        message = serializer.serialize("orders", ORDER)
    assert message is not None
    return message


@pytest.fixture
def reader(conf: dict[str, Any], registered: bytes) -> Iterator[Reader]:
    made = Reader(conf)
    yield made
    for each in (made.rows, made.calls, made.batches):
        each.close()


# Connections and requests


def test_close_closes_the_connections_to_both_registries(
    conf: dict[str, Any], registered: bytes, second: ConfluentStandIn
) -> None:
    first, other = second.register("orders-value", SHOP), second.register("orders-value", WITH_PRICE)
    deserializer = KafkaAvroDeserializer(conf)
    assert deserializer.deserialize("orders", prefixed(first, avro(SHOP, ORDER))) == ORDER
    deserializer.close()
    assert deserializer.deserialize("orders", prefixed(other, avro(WITH_PRICE, {**ORDER, "price": 1.5})))
    deserializer.close()
    before, after = (
        {asked.port for asked in second.asked if f"/ids/{number}" in asked.path} for number in (first, other)
    )
    assert len(before) == len(after) == 1
    assert before != after


def test_registry_calls_are_those_to_both_registries(
    conf: dict[str, Any], registered: bytes, registry: LocalRegistry, second: ConfluentStandIn
) -> None:
    number = second.register("orders-value", SHOP)
    with KafkaAvroDeserializer(conf) as deserializer:
        before, asked = deserializer.registry_calls(), (len(registry.requests), len(second.asked))
        assert deserializer.deserialize("orders", registered) == ORDER
        assert deserializer.deserialize("orders", prefixed(number, avro(SHOP, ORDER))) == ORDER
        sent = len(registry.requests) - asked[0], len(second.asked) - asked[1]
        assert min(sent) > 0
        assert deserializer.registry_calls() - before == sum(sent)
        assert deserializer.stats()["registry_calls"] == deserializer.registry_calls()


def test_registry_calls_of_a_serializer_are_those_to_both_registries(
    writing: dict[str, Any], second: ConfluentStandIn
) -> None:
    with KafkaAvroSerializer(writing, SHOP) as serializer:
        before = serializer.registry_calls()
        assert serializer.serialize("orders", ORDER) is not None
        assert serializer.registry_calls() - before == len(second.asked) > 0


# Each framing


def test_each_framing_is_read(reader: Reader, registered: bytes, second: ConfluentStandIn) -> None:
    number, body = second.register("orders-value", SHOP), avro(SHOP, ORDER)
    for message, headers in [
        (registered, None),
        (prefixed(number, body), None),
        (body, by_id(number)),
        (body, by_guid(second.guid(number))),
        (body, dict(by_guid(second.guid(number)))),
        (body, None),
    ]:
        assert reader.read(message, headers) == ORDER
    for serdes, times in ((reader.calls, 1), (reader.batches, 2)):
        found = serdes.stats()
        counts = [found[name] for name in ("messages", "headerless", "confluent", "confluent_header")]
        assert counts == [6 * times, times, times, 3 * times]


def test_writers_schemas_of_both_registries_meet_one_readers_schema(
    conf: dict[str, Any], registered: bytes, second: ConfluentStandIn
) -> None:
    old, new = second.register("orders-value", SHOP), second.register("orders-value", WITH_PRICE)
    reader = Reader(conf, WITH_PRICE)
    assert reader.read(registered) == {**ORDER, "price": 0.5}
    assert reader.read(prefixed(old, avro(SHOP, ORDER))) == {**ORDER, "price": 0.5}
    assert reader.read(prefixed(new, avro(WITH_PRICE, {**ORDER, "price": 2.0}))) == {**ORDER, "price": 2.0}


def test_an_id_is_asked_for_once(reader: Reader, second: ConfluentStandIn) -> None:
    number, body = second.register("orders-value", SHOP), avro(SHOP, ORDER)
    for _ in range(3):
        reader.read(prefixed(number, body))
        reader.read(body, by_id(number))
    assert second.calls == {f"GET /schemas/ids/{number}": 1}


def test_ids_whose_low_bits_coincide_are_read_side_by_side(conf: dict[str, Any], second: ConfluentStandIn) -> None:
    ids = [second.register("orders-value", SHOP), *range(65, 700, 64)]  # more than a batch has places for
    for number in ids[1:]:
        second.alias(number, 1)
    data = [{"id": number, "note": str(round)} for round in range(5) for number in ids]
    messages = [prefixed(datum["id"], avro(SHOP, datum)) for datum in data]
    deserializer = KafkaAvroDeserializer(conf, SHOP)
    batch = deserializer.deserialize_batch("orders", messages, headers=[None] * len(messages))
    assert batch.to_pylist() == data
    assert second.calls.total() == len(ids)
    assert deserializer.stats()["confluent"] == len(messages)


def test_the_first_of_several_headers_counts(reader: Reader, second: ConfluentStandIn) -> None:
    first, other = second.register("orders-value", SHOP), second.register("orders-value", THREE)
    assert reader.read(avro(SHOP, ORDER), [*by_id(first), *by_id(other)]) == ORDER


def test_the_first_of_several_headers_counts_where_objects_are_read_one_by_one() -> None:
    one, two = b"\x00\x00\x00\x00\x01", b"\x00\x00\x00\x00\x02"
    signs = Signs({"framings": ("snip42", "confluent-header")})
    assert signs.named_in([("other", two), (HEADER, one), (HEADER, two)]) == ("confluent-header", 1)


@pytest.mark.parametrize(
    ("framings", "prefix_second", "header_second"),
    [
        ("confluent,headerless,confluent-header", False, True),
        ("confluent-header,headerless,confluent", True, False),
        ("headerless,confluent,confluent-header", True, True),
        ("confluent,confluent-header,headerless", False, False),
        ("confluent,confluent-header", False, False),
    ],
)
def test_each_sign_is_tried_before_or_after_bare_avro_as_the_option_orders_them(
    framings: str, prefix_second: bool, header_second: bool
) -> None:
    signs = Signs({"framings": ("snip42", *framings.split(","))})
    assert (signs.prefix_second, signs.second("confluent-header")) == (prefix_second, header_second)


def test_a_schema_id_in_a_header_takes_precedence_over_a_prefix(conf: dict[str, Any], second: ConfluentStandIn) -> None:
    three, wide = second.register("orders-value", THREE), second.register("orders-value", BYTES)
    reader, message = Reader({**conf, "framings": "snip42,confluent,confluent-header"}), prefixed(three, b"abc")
    assert KafkaAvroDeserializer(conf).deserialize("orders", message) == {"raw": b"abc"}
    assert reader.rows.deserialize("orders", message, headers=by_id(wide)) == {"raw": message}
    (row,) = (
        KafkaAvroDeserializer(conf, BYTES).deserialize_batch("orders", [message], headers=[by_id(wide)]).to_pylist()
    )
    assert row == {"raw": message}


def test_our_header_takes_precedence_over_both(reader: Reader, registered: bytes, second: ConfluentStandIn) -> None:
    other = second.register("orders-value", THREE)
    assert reader.read(registered, by_id(other)) == ORDER
    assert not second.calls


def test_a_message_of_a_client_brings_its_headers(conf: dict[str, Any], second: ConfluentStandIn) -> None:
    class Message:
        def __init__(self, value: bytes, headers: Any) -> None:
            self.parts = {"value": value, "headers": headers, "topic": "orders", "partition": 0, "offset": 1}

        def __getattr__(self, name: str) -> Any:
            return lambda: self.parts.get(name)

    number, body = second.register("orders-value", SHOP), avro(SHOP, ORDER)
    messages = [Message(body, by_id(number)), Message(prefixed(number, body), None)]
    assert list(KafkaAvroDeserializer(conf).deserialize_many(None, messages)) == [ORDER, ORDER]


def test_from_dict_is_called_with_the_headers(conf: dict[str, Any], second: ConfluentStandIn) -> None:
    number, seen = second.register("orders-value", SHOP), []
    deserializer = KafkaAvroDeserializer(conf, from_dict=lambda datum, ctx: seen.append(ctx.headers) or datum)
    deserializer.deserialize("orders", avro(SHOP, ORDER), headers=by_id(number))
    assert seen == [by_id(number)]


# Signs that prove nothing


@pytest.mark.parametrize("framings", [ALL, BARE_FIRST])
def test_bare_avro_that_begins_with_a_zero_byte_is_read_as_before(
    framings: str, conf: dict[str, Any], registered: bytes
) -> None:
    reader = Reader({**conf, "framings": framings})
    for note in ("", "a", "x" * 40, "\0\0\0\0"):
        assert reader.read(avro(SHOP, {"id": 0, "note": note})) == {"id": 0, "note": note}
    assert reader.rows.stats()["headerless"] == reader.batches.stats()["headerless"] == 8
    assert reader.batches.stats()["confluent"] == reader.rows.stats()["confluent"] == 0


def test_a_known_id_that_does_not_read_the_message_whole_is_ignored(reader: Reader, second: ConfluentStandIn) -> None:
    datum = {"id": 0, "note": "\0" * 8}
    message = avro(SHOP, datum)  # 00 10 00 00 00 ...: schema id 0x10000000
    stored = second.register("orders-value", THREE)
    second.alias(0x10000000, stored)
    assert reader.read(message) == datum
    assert second.calls["GET /schemas/ids/268435456"] == 1
    assert reader.rows.stats()["ambiguous"] == 0


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\0\0\0", b"\1" + b"g" * 15, b"\2\0\0\0\1", b"\0\0\0\0\1\0", None])
def test_a_header_with_another_value_is_no_sign(value: bytes | None, reader: Reader, second: ConfluentStandIn) -> None:
    assert reader.read(avro(SHOP, ORDER), [(HEADER, value)]) == ORDER
    assert not second.calls


@pytest.mark.parametrize("size", [0, 1, 4])
def test_a_message_shorter_than_a_prefix_shows_no_sign(
    size: int, conf: dict[str, Any], second: ConfluentStandIn
) -> None:
    with pytest.raises(DecodeError):
        Reader({**conf, "framings": "snip42,confluent"}, SHOP).read(bytes(size))
    assert not second.calls


def test_five_bytes_are_a_prefix_of_an_empty_datum(conf: dict[str, Any], second: ConfluentStandIn) -> None:
    number = second.register("orders-value", {"type": "record", "name": "Nothing", "fields": []})
    assert KafkaAvroDeserializer(conf).deserialize("orders", prefixed(number, b"")) == {}


def test_an_id_above_the_range_of_int32_is_no_sign(reader: Reader, second: ConfluentStandIn) -> None:
    with pytest.raises(DecodeError):
        reader.read(b"\0\xff\xff\xff\xffabc")
    assert not second.calls


# The order where both readings are possible


@pytest.fixture
def ambiguous(conf: dict[str, Any], second: ConfluentStandIn) -> bytes:
    """A message that ONE, by its id 1, and SIX, the topic's latest, both read whole."""
    with KafkaAvroSerializer({"schema.registry.url": conf["schema.registry.url"]}, SIX) as serializer:
        serializer.warm_up("orders")
    assert second.register("orders-value", ONE) == 1
    return prefixed(1, avro(ONE, {"z": 7}))


def test_the_prefix_first(conf: dict[str, Any], ambiguous: bytes, caplog: pytest.LogCaptureFixture) -> None:
    deserializer = KafkaAvroDeserializer(conf, SIX)
    for _ in range(3):
        assert deserializer.deserialize("orders", ambiguous) == AS_ONE
    rows = deserializer.deserialize_batch("orders", [ambiguous] * 4, headers=[None] * 4).to_pylist()
    assert rows == [AS_ONE] * 4
    stats = deserializer.stats()
    assert (stats["confluent"], stats["headerless"], stats["ambiguous"]) == (7, 0, 7)
    warnings = [record.message for record in caplog.records if "can be read both" in record.message]
    assert len(warnings) == 1
    assert "schema id 1" in warnings[0]
    assert ALL in warnings[0]


def test_without_a_header_first(conf: dict[str, Any], ambiguous: bytes, caplog: pytest.LogCaptureFixture) -> None:
    deserializer = KafkaAvroDeserializer({**conf, "framings": BARE_FIRST}, SIX)

    def read_batch(*messages: bytes) -> list[Any]:
        return deserializer.deserialize_batch("orders", messages, headers=[None] * len(messages)).to_pylist()

    for _ in range(3):
        assert deserializer.deserialize("orders", ambiguous) == AS_SIX
    assert read_batch(ambiguous, ambiguous) == [AS_SIX] * 2
    stats = deserializer.stats()
    assert (stats["confluent"], stats["headerless"], stats["ambiguous"]) == (0, 5, 0)  # the id was never asked for
    assert "can be read both" not in caplog.text
    with pytest.raises(DecodeError):  # too long for both: now it is
        deserializer.deserialize("orders", ambiguous + b"d")
    assert deserializer.deserialize("orders", ambiguous) == AS_SIX
    assert deserializer.stats()["ambiguous"] == 1
    assert "can be read both" in caplog.text


def test_a_message_that_has_one_reading_is_not_ambiguous(reader: Reader, second: ConfluentStandIn) -> None:
    number = second.register("orders-value", SHOP)
    reader.read(prefixed(number, avro(SHOP, ORDER)))
    assert reader.rows.stats()["ambiguous"] == reader.batches.stats()["ambiguous"] == 0


def test_a_topic_without_a_schema_of_its_own_is_read_by_ids(conf: dict[str, Any], second: ConfluentStandIn) -> None:
    number = second.register("orders-value", SHOP)
    reader = Reader(conf, SHOP)
    for _ in range(3):
        assert reader.read(prefixed(number, avro(SHOP, ORDER))) == ORDER
    assert reader.batches.stats()["confluent"] == 6


# Ids that the registry does not have


def test_an_unknown_id_is_an_error_with_both_reasons(reader: Reader) -> None:
    with pytest.raises(DecodeError) as caught:
        reader.read(prefixed(5, avro(SHOP, ORDER)))
    text = str(caught.value)
    assert "expected Confluent's framing with schema id 5, or Avro without a header" in text
    assert "the second registry does not have schema id 5" in text
    assert "schema version 0, byte 2: expected the end of the message" in text


def test_an_unknown_guid_is_named(reader: Reader) -> None:
    with pytest.raises(DecodeError, match="GUID 01010101-0101-0101-0101-010101010101"):
        reader.read(b"\xff", by_guid(b"\1" * 16))


def test_without_headerless_an_unknown_id_is_not_found(conf: dict[str, Any], registered: bytes) -> None:
    reader = Reader({**conf, "framings": "snip42,confluent"})
    assert reader.read(registered) == ORDER
    with pytest.raises(SchemaNotFoundError, match="does not have schema id 5"):
        reader.read(prefixed(5, b""))
    with pytest.raises(DecodeError, match="one of the framings snip42, confluent") as caught:
        reader.read(avro(SHOP, ORDER))
    assert caught.value.hint == "add headerless to framings to read bare Avro"


@pytest.mark.parametrize("batch", [False, True])
def test_bare_messages_with_ever_new_ids_cost_sixteen_requests(
    batch: bool, conf: dict[str, Any], registered: bytes, second: ConfluentStandIn
) -> None:
    # 00, then the length of the text and its first three bytes: another id in each message.
    data = [{"id": 0, "note": f"{number:03}" + "x" * 5} for number in range(300)]
    messages = [avro(SHOP, datum) for datum in data]
    deserializer = KafkaAvroDeserializer(conf)
    if batch:
        assert deserializer.deserialize_batch("orders", messages, headers=[None] * 300).to_pylist() == data
    else:
        assert [deserializer.deserialize("orders", message) for message in messages] == data
    assert second.calls.total() == 16
    assert deserializer.stats()["headerless"] == 300
    # A message that only its id can read is asked for all the same.
    number = second.register("orders-value", WITH_PRICE)
    for _ in range(2):
        late = prefixed(number, avro(WITH_PRICE, {**ORDER, "price": 1.0}))
        if batch:
            (row,) = deserializer.deserialize_batch("orders", [late], headers=[None]).to_pylist()
        else:
            row = deserializer.deserialize("orders", late)
        assert row["note"] == "hello"
    assert second.calls[f"GET /schemas/ids/{number}"] == 1
    assert deserializer.stats()["confluent"] == 2
    # One that nothing can read, by an id that was not asked for so far, has both reasons.
    counted = {**SHOP, "fields": [*SHOP["fields"], {"name": "count", "type": "int"}]}  # type: ignore[misc]
    damaged = prefixed(second.register("orders-value", counted), b"\xff")
    with pytest.raises(DecodeError, match=r"as the former: field id, byte .*; as the latter: .*, got 4 more bytes"):
        _ = (
            deserializer.deserialize_batch("orders", [damaged], headers=[None])
            if batch
            else deserializer.deserialize("orders", damaged)
        )


def test_in_one_batch_a_new_id_is_asked_for_after_many_unknown_ones(
    conf: dict[str, Any], registered: bytes, second: ConfluentStandIn
) -> None:
    number = second.register("orders-value", SHOP)
    bare = [{"id": 0, "note": f"{index:03}" + "x" * 5} for index in range(40)]
    messages = [*(avro(SHOP, datum) for datum in bare), prefixed(number, avro(SHOP, ORDER)), avro(SHOP, bare[0])]
    batch = KafkaAvroDeserializer(conf).deserialize_batch("orders", messages, headers=[None] * 42)
    assert batch.to_pylist() == [*bare, ORDER, bare[0]]


def test_an_unknown_id_is_found_once_it_is_registered(
    conf: dict[str, Any], registered: bytes, second: ConfluentStandIn
) -> None:
    deserializer = KafkaAvroDeserializer({**conf, "cache.missing.ttl.sec": 0})
    message = prefixed(1, avro(SHOP, ORDER))
    with pytest.raises(DecodeError):
        deserializer.deserialize("orders", message)
    second.register("orders-value", SHOP)
    assert deserializer.deserialize("orders", message) == ORDER


# A registry that is away, or that has something else


def test_a_registry_that_is_away_is_raised_whatever_on_error_says(conf: dict[str, Any], registered: bytes) -> None:
    conf = {**conf, "confluent.schema.registry.url": "http://127.0.0.1:1", "retries.first.ms": 1}
    deserializer = KafkaAvroDeserializer(conf)
    message = prefixed(1, avro(SHOP, ORDER))
    with pytest.raises(RegistryUnavailableError):
        deserializer.deserialize("orders", message)
    with pytest.raises(RegistryUnavailableError):
        list(deserializer.deserialize_many("orders", [message], on_error="skip"))
    with pytest.raises(RegistryUnavailableError):
        deserializer.deserialize_batch("orders", [message], headers=[None], error_column="e")
    assert deserializer.deserialize("orders", registered) == ORDER


def test_a_pulsar_registry_that_is_away_does_not_stop_what_ids_can_read(
    conf: dict[str, Any], second: ConfluentStandIn
) -> None:
    conf = {**conf, "schema.registry.url": "http://127.0.0.1:1", "retries.first.ms": 1}
    number = second.register("orders-value", SHOP)
    deserializer = KafkaAvroDeserializer(conf)
    assert deserializer.deserialize("orders", prefixed(number, avro(SHOP, ORDER))) == ORDER


@pytest.mark.parametrize("kind", ["JSON", "PROTOBUF"])
def test_a_schema_of_another_type_is_named(kind: str, reader: Reader, second: ConfluentStandIn) -> None:
    number = second.register("orders-value", '{"type": "object"}', kind)
    with pytest.raises(DecodeError, match=f"schema id {number}.*{kind}"):
        reader.read(prefixed(number, b"\xff\xff"))


def test_a_refusal_of_the_second_registry_is_raised(
    conf: dict[str, Any], registered: bytes, second: ConfluentStandIn
) -> None:
    second.faults.append(Answer(403, {"error_code": 40301, "message": "no"}))
    with pytest.raises(SchemaRegistryError, match="403"):
        KafkaAvroDeserializer(conf).deserialize("orders", prefixed(1, b""))


# Hints


def test_the_hint_of_a_message_in_confluents_framing_names_the_option(conf: dict[str, Any], registered: bytes) -> None:
    deserializer = KafkaAvroDeserializer({"schema.registry.url": conf["schema.registry.url"]})
    with pytest.raises(DecodeError, match=r"schema id 5\); framings=snip42,confluent,headerless"):
        deserializer.deserialize("orders", prefixed(5, avro(SHOP, ORDER)))


@pytest.mark.parametrize("framings", ["snip42,headerless", ALL, BARE_FIRST])
def test_apicurios_own_framing_is_recognized(framings: str, conf: dict[str, Any], registered: bytes) -> None:
    if framings == "snip42,headerless":
        del conf["confluent.schema.registry.url"]
    reader = Reader({**conf, "framings": framings})
    with pytest.raises(DecodeError) as caught:
        reader.read(b"\0" + (300).to_bytes(8) + avro(SHOP, ORDER))
    assert "Apicurio's serializer (globalId 300)" in str(caught.value.hint)


# Writing


def test_confluents_framing_is_written(
    conf: dict[str, Any], writing: dict[str, Any], second: ConfluentStandIn, registry: LocalRegistry
) -> None:
    serializer = KafkaAvroSerializer(writing, SHOP)
    body = avro(SHOP, ORDER)
    for _ in range(3):
        assert serializer.serialize("orders", ORDER) == prefixed(1, body)
    assert serializer.serialize_batch("orders", pa_batch(ORDER)).to_pylist() == [prefixed(1, body)]
    assert second.calls == {"POST /subjects/orders-value/versions": 1}
    assert not registry.calls
    assert KafkaAvroDeserializer(conf, SHOP).deserialize("orders", prefixed(1, body)) == ORDER


def pa_batch(datum: dict[str, Any]) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.RecordBatch.from_pylist([datum])


def test_each_topic_has_an_id_of_its_own(writing: dict[str, Any], second: ConfluentStandIn) -> None:
    second.register("users-value", THREE)
    serializer = KafkaAvroSerializer(writing, SHOP)
    assert serializer.serialize("orders", ORDER) == prefixed(2, avro(SHOP, ORDER))
    copy = pickle.loads(pickle.dumps(serializer))
    before = second.calls.total()
    assert copy.serialize("orders", ORDER) == prefixed(2, avro(SHOP, ORDER))
    assert second.calls.total() == before


def test_without_auto_register_an_id_is_only_looked_up(writing: dict[str, Any], second: ConfluentStandIn) -> None:
    asking = {**writing, "auto.register.schemas": False, "cache.missing.ttl.sec": 0}
    serializer = KafkaAvroSerializer(asking, SHOP)
    with pytest.raises(SchemaNotFoundError):
        serializer.serialize("orders", ORDER)
    assert not second.subjects
    second.register("orders-value", SHOP)
    assert serializer.serialize("orders", ORDER) == prefixed(1, avro(SHOP, ORDER))


def test_an_error_in_a_datum_names_no_version(writing: dict[str, Any]) -> None:
    serializer = KafkaAvroSerializer(writing, SHOP)
    with pytest.raises(EncodeError) as caught:
        serializer.serialize("orders", {"id": "x", "note": ""})
    assert str(caught.value).startswith("topic orders, field id: ")
    with pytest.raises(EncodeError) as caught:
        serializer.serialize_batch("orders", pa_batch({"id": "x", "note": ""}))
    assert str(caught.value).startswith("topic orders, field id: ")


def test_confluents_framing_needs_a_schema_and_the_second_registry(writing: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="was given none"):
        KafkaAvroSerializer(writing).serialize("orders", ORDER)
    with pytest.raises(ConfigError, match="no effect with framing=snip42"):
        KafkaAvroSerializer({**writing, "framing": "snip42"}, SHOP)
    for key, value in (("use.latest.version", True), ("use.schema.version", 1)):
        given = {**writing, key: value, "auto.register.schemas": False}
        with pytest.raises(ConfigError, match=f"both {key} and framing=confluent"):
            KafkaAvroSerializer(given, SHOP)
    del writing["confluent.schema.registry.url"]
    with pytest.raises(ConfigError, match=r"framing has confluent, and confluent\.schema\.registry\.url is missing"):
        KafkaAvroSerializer(writing, SHOP)


# Options


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("confluent,snip42", "snip42 first"),
        ("headerless", "snip42 first"),
        ("snip42,snip42", "at most once"),
        ("snip42,avro", "a list of snip42, confluent, confluent-header, apicurio, .*, headerless"),
        ([], "snip42 first"),
        (["snip42", 1], "a list of"),
        (7, "a list of"),
    ],
)
def test_bad_framings_are_refused(given: Any, expected: str, conf: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=expected):
        KafkaAvroDeserializer({**conf, "framings": given})


def test_framings_may_be_a_list_or_text(conf: dict[str, Any], registered: bytes) -> None:
    for given in ("snip42, headerless,confluent", ["snip42", "headerless", "confluent"], ("snip42", "confluent")):
        assert KafkaAvroDeserializer({**conf, "framings": given}).deserialize("orders", registered) == ORDER


def test_framings_and_the_second_registry_need_each_other(conf: dict[str, Any]) -> None:
    url = {"schema.registry.url": conf["schema.registry.url"]}
    with pytest.raises(ConfigError, match=r"framings has confluent-header, and confluent\.schema\.registry\.url is"):
        KafkaAvroDeserializer({**url, "framings": "snip42,confluent-header"})
    with pytest.raises(ConfigError, match="no effect with framings=snip42,headerless"):
        KafkaAvroDeserializer({**conf, "framings": "snip42,headerless"})


def test_headers_that_are_missing_are_asked_for(conf: dict[str, Any], registered: bytes) -> None:
    with pytest.raises(ConfigError, match="includeHeaders"):
        KafkaAvroDeserializer(conf).deserialize_batch("orders", [registered])
    without = {**conf, "framings": "snip42,confluent,headerless"}
    assert KafkaAvroDeserializer(without).deserialize_batch("orders", [registered]).to_pylist() == [ORDER]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_as_many_headers_as_messages_are_expected(count: int, conf: dict[str, Any], registered: bytes) -> None:
    with pytest.raises(DecodeError, match=f"headers for {count}"):
        KafkaAvroDeserializer(conf).deserialize_batch("orders", [registered] * 2, headers=[None] * count)


def test_headers_may_be_arrow_arrays_in_chunks(conf: dict[str, Any], second: ConfluentStandIn) -> None:
    pa = pytest.importorskip("pyarrow")
    number, body = second.register("orders-value", SHOP), avro(SHOP, ORDER)
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = [[{"key": "x", "value": b"y"}], None, [], [{"key": HEADER, "value": prefixed(number, b"")}]]
    deserializer = KafkaAvroDeserializer(conf, SHOP)
    column = pa.chunked_array([pa.array(rows, kind)[1:], pa.array(rows, kind)[3:]])
    messages = [prefixed(number, body), prefixed(number, body), body, body]
    assert deserializer.deserialize_batch("orders", messages, headers=column).to_pylist() == [ORDER] * 4
    with pytest.raises(DecodeError, match=r"expected an array with a list of \(key, value\) structs"):
        deserializer.deserialize_batch("orders", messages, headers=pa.array([1, 2, 3, 4]))
    with pytest.raises(DecodeError, match=r"expected an array with a list of \(key, value\) structs"):
        deserializer.deserialize_batch("orders", messages, headers=7)


def test_headers_belong_to_rows_of_all_chunks_of_messages(conf: dict[str, Any], second: ConfluentStandIn) -> None:
    pa = pytest.importorskip("pyarrow")
    swapped = {**SHOP, "fields": SHOP["fields"][::-1]}  # type: ignore[index]
    numbers = [second.register(f"{name}-value", schema) for name, schema in (("one", SHOP), ("two", swapped))]
    data = pa.chunked_array([[avro(SHOP, ORDER)], [avro(swapped, ORDER), avro(SHOP, ORDER)]])
    headers = [by_id(numbers[0]), by_id(numbers[1]), by_id(numbers[0])]
    deserializer = KafkaAvroDeserializer(conf, SHOP)
    assert deserializer.deserialize_batch("orders", data, headers=headers).to_pylist() == [ORDER] * 3


def test_a_first_reading_that_fails_leaves_nothing_in_the_columns(
    conf: dict[str, Any], registered: bytes, second: ConfluentStandIn
) -> None:
    """Without a header first: the prefix and the id are both of the fields, and what follows is too much."""
    number, body = second.register("orders-value", SHOP), avro(SHOP, ORDER)
    deserializer = KafkaAvroDeserializer({**conf, "framings": BARE_FIRST})
    messages = [prefixed(number, body), body, prefixed(number, body), registered]
    rows = deserializer.deserialize_batch("orders", messages, headers=[None] * 4).to_pylist()
    assert rows == [ORDER] * 4


def test_the_first_error_of_a_batch_has_its_row(conf: dict[str, Any], registered: bytes) -> None:
    deserializer = KafkaAvroDeserializer(conf)
    messages = [registered, prefixed(9, b"\xff"), registered]
    with pytest.raises(DecodeError, match="row 1: expected Confluent's framing with schema id 9"):
        deserializer.deserialize_batch("orders", messages, headers=[None] * 3)
    rows = deserializer.deserialize_batch("orders", messages, headers=[None] * 3, error_column="e").to_pylist()
    assert [row["id"] for row in rows] == [7, None, 7]
    assert "schema id 9" in rows[1]["e"]


# compat


def test_compat_reads_what_confluents_deserializer_would(
    conf: dict[str, Any], registered: bytes, second: ConfluentStandIn
) -> None:
    client = SchemaRegistryClient({"url": conf["schema.registry.url"]})
    given = {"confluent.schema.registry.url": second.url}
    number, body = second.register("orders-value", SHOP), avro(SHOP, ORDER)
    headers = SerializationContext("orders", MessageField.VALUE, by_id(number))
    plain = SerializationContext("orders", MessageField.VALUE)
    dual, wide = AvroDeserializer(client, conf=given), second.register("wide-value", BYTES)

    def prefix_schema_id_deserializer() -> None:
        """Confluent's function is known by its name."""

    prefix = AvroDeserializer(client, conf={**given, "schema.id.deserializer": prefix_schema_id_deserializer})
    for deserializer in (dual, prefix):
        assert deserializer(prefixed(number, body), plain) == ORDER
        assert deserializer(registered, plain) == ORDER
        assert deserializer(body, plain) == ORDER
    assert dual(body, headers) == ORDER
    wide_headers = SerializationContext("orders", MessageField.VALUE, by_id(wide))
    assert dual(body[:7] + b"!", wide_headers) == {"raw": body[:7] + b"!"}
    with pytest.raises(DecodeError):
        prefix(body[:7] + b"!", wide_headers)
    chosen = AvroDeserializer(client, conf={**given, "framings": "snip42,confluent"})
    with pytest.raises(DecodeError, match="one of the framings snip42, confluent"):
        chosen(body, headers)


# Travel, asyncio


def test_a_pickle_carries_the_known_ids(reader: Reader, second: ConfluentStandIn) -> None:
    number, body = second.register("orders-value", SHOP), avro(SHOP, ORDER)
    reader.rows.deserialize("orders", prefixed(number, body))
    packed = pickle.dumps(reader.rows)
    forget()
    before = second.calls.total()
    copy = pickle.loads(packed)
    assert copy.deserialize("orders", prefixed(number, body)) == ORDER
    assert second.calls.total() == before


def forget() -> None:
    from streamnative_serdes._topics.binding import Binding
    from streamnative_serdes._topics.confluent_ids import ConfluentSchemas

    Binding.forget()
    ConfluentSchemas.forget()


def test_a_hit_takes_no_answer_of_the_policy(conf: dict[str, Any], registered: bytes, second: ConfluentStandIn) -> None:
    from streamnative_serdes import _call_path

    number, body = second.register("orders-value", SHOP), avro(SHOP, ORDER)
    deserializer = KafkaAvroDeserializer(conf)
    ctx = SerializationContext("orders", MessageField.VALUE, by_id(number))
    plain = SerializationContext("orders", MessageField.VALUE)
    for message, context in [(body, ctx), (prefixed(number, body), plain), (body, plain), (registered, plain)]:
        assert _call_path.deserialize_bound(deserializer, message, context) is _call_path.MISS
        assert deserializer(message, context) == ORDER
        before = deserializer.stats()
        assert _call_path.deserialize_bound(deserializer, message, context) == ORDER
        after = deserializer.stats()
        changed = {key for key in after if after[key] != before[key]}
        assert {"messages", "bytes", "hits"} <= changed
        assert changed <= {"messages", "bytes", "hits", "headerless", "confluent", "confluent_header"}


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_child_forked_while_a_new_sign_gets_its_key_reads_on() -> None:
    inside, forked = threading.Event(), threading.Event()

    class Slow(dict[Any, Any]):
        def __len__(self) -> int:
            if threading.current_thread() is giving:
                inside.set()
                assert forked.wait(60)
            return super().__len__()

    signs = Signs({"framings": ("snip42", "confluent-header")})
    signs._keys = Slow()
    giving = threading.Thread(target=signs.header_key, args=(prefixed(1, b""),))
    giving.start()
    assert inside.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0 if signs.schema_of(signs.header_key(prefixed(1, b""))) == 1 else 1)
    forked.set()
    join(giving)
    assert exit_code(child) == 0


def test_latest_reads_confluents_messages_as_written_until_the_topic_has_a_schema(
    conf: dict[str, Any], second: ConfluentStandIn
) -> None:
    message = prefixed(second.register("orders-value", SHOP), avro(SHOP, ORDER))
    with KafkaAvroDeserializer({**conf, "use.latest.version": True, "cache.missing.ttl.sec": 0}) as deserializer:
        assert deserializer.deserialize("orders", message) == ORDER
        with KafkaAvroSerializer({"schema.registry.url": conf["schema.registry.url"]}, WITH_PRICE) as serializer:
            serializer.serialize("orders", {**ORDER, "price": 1.5})
        assert deserializer.deserialize("orders", message) == {**ORDER, "price": 0.5}
