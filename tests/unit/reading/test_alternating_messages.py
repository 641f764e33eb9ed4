"""Messages whose versions, topics or framings alternate: a deserializer finds the reader of each one again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn

from streamnative_serdes import Codec, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._reading import framings
from streamnative_serdes.errors import DecodeError, SchemaNotFoundError
from streamnative_serdes.testing import LocalRegistry

FIRST: dict[str, Any] = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
SECOND = {**FIRST, "fields": [*FIRST["fields"], {"name": "note", "type": "string", "default": "-"}]}
THIRD = {**FIRST, "fields": [*SECOND["fields"], {"name": "paid", "type": "boolean", "default": False}]}
VALUE, OTHER = "__value_schema_id", "apicurio.value.globalId"


@pytest.fixture
def second() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn() as found:
        yield found


def written(registry: LocalRegistry, topic: str, number: int, *schemas: dict[str, Any]) -> list[bytes]:
    """One message of each version, with the id ``number``."""
    found = []
    for schema in schemas:
        with KafkaAvroSerializer({"schema.registry.url": registry.url}, schema) as serializer:
            order = {"id": number, "note": "n", "paid": True}
            message = serializer.serialize(topic, {field["name"]: order[field["name"]] for field in schema["fields"]})
        assert message is not None
        found.append(message)
    return found


def test_versions_and_topics_alternate(registry: LocalRegistry) -> None:
    one = written(registry, "one", 1, FIRST, SECOND, THIRD)
    two = written(registry, "two", 2, THIRD)  # the same version as that of FIRST
    reader = KafkaAvroDeserializer({"schema.registry.url": registry.url})
    for _ in range(3):
        assert reader.deserialize("one", one[0]) == {"id": 1}
        assert reader.deserialize("two", two[0]) == {"id": 2, "note": "n", "paid": True}
        assert reader.deserialize("one", one[1]) == {"id": 1, "note": "n"}
        assert reader.deserialize("one", one[0]) == {"id": 1}
        assert reader.deserialize("one", one[2]) == {"id": 1, "note": "n", "paid": True}
    found = reader.stats()
    assert (found["misses"], found["messages"], found["hits"]) == (4, 15, 11)


def test_more_versions_than_are_remembered_alternate(registry: LocalRegistry) -> None:
    schemas = [{**FIRST, "fields": [{"name": f"id{number}", "type": "long"}]} for number in range(300)]
    messages = []
    registry.set_strategy("ALWAYS_COMPATIBLE")
    for number, schema in enumerate(schemas):
        with KafkaAvroSerializer({"schema.registry.url": registry.url}, schema) as serializer:
            messages.append(serializer.serialize("orders", {f"id{number}": number}))
    reader = KafkaAvroDeserializer({"schema.registry.url": registry.url, "cache.capacity": 1000})
    for _ in range(3):
        for number, message in enumerate(messages):
            assert reader.deserialize("orders", message) == {f"id{number}": number}
    assert reader.stats()["misses"] == len(schemas)


def test_what_was_met_last_is_forgotten_when_it_is_configured_again(registry: LocalRegistry) -> None:
    messages = written(registry, "orders", 1, FIRST, SECOND)
    reader = KafkaAvroDeserializer({"schema.registry.url": registry.url})
    for message in messages * 2:
        reader.deserialize("orders", message)
    with LocalRegistry() as other:
        newer = written(other, "orders", 1, SECOND, THIRD)  # the same versions, of other schemas
        reader.configure({"schema.registry.url": other.url})
        for _ in range(2):
            assert reader.deserialize("orders", newer[0]) == {"id": 1, "note": "n"}
            assert reader.deserialize("orders", newer[1]) == {"id": 1, "note": "n", "paid": True}


def test_what_was_met_last_expires(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url, "framings": ["snip42", "headerless"], "cache.latest.ttl.sec": 0.2}
    (first,) = written(registry, "orders", 1, FIRST)
    reader = KafkaAvroDeserializer(conf)
    for _ in range(2):
        assert reader.deserialize("orders", first[10:]) == {"id": 1}
        assert reader.deserialize("orders", first) == {"id": 1}
    second_version = written(registry, "orders", 1, SECOND)[0]
    time.sleep(0.3)
    assert reader.deserialize("orders", first) == {"id": 1}
    assert reader.deserialize("orders", second_version[10:]) == {"id": 1, "note": "n"}


def read_as(second: ConfluentStandIn, registry: LocalRegistry, **more: Any) -> KafkaAvroDeserializer:
    conf = {"schema.registry.url": registry.url, "confluent.schema.registry.url": second.url}
    return KafkaAvroDeserializer({**conf, "framings": ["snip42", "confluent-header", "headerless"], **more})


def test_headers_are_found_in_each_form_the_second_time_too(registry: LocalRegistry, second: ConfluentStandIn) -> None:
    written(registry, "orders", 1, FIRST)
    number = second.register("orders-value", SECOND)
    sign, datum = b"\0" + number.to_bytes(4), Codec(SECOND).encode({"id": 7, "note": "n"})
    by_sign, bare = {"id": 7, "note": "n"}, {"id": 7}
    reader = read_as(second, registry)
    forms: list[tuple[Any, Any]] = [
        ([(VALUE, sign)], by_sign),
        ([("trace", b"x"), (VALUE, sign), ("trace", None)], by_sign),
        ([(VALUE, bytearray(sign))], by_sign),
        ([(VALUE, sign), (VALUE, b"\0\0")], by_sign),  # the first of one name counts
        ({VALUE: sign}, by_sign),
        (((VALUE, sign),), by_sign),
    ]
    for _ in range(3):
        for headers, expected in forms:
            assert reader.deserialize("orders", datum, headers=headers) == expected, headers
        for headers in ([], [("trace", sign)], [(VALUE, b"\0\0")], [(VALUE, b"\0\0"), (VALUE, sign)], [(VALUE, None)]):
            assert reader.deserialize("orders", datum[:1], headers=headers) == bare, headers
    assert reader.stats()["confluent_header"] == 3 * len(forms)
    assert reader.stats()["headerless"] == 3 * 5


def test_of_two_headers_that_count_the_first_framing_wins_the_second_time_too(
    registry: LocalRegistry, second: ConfluentStandIn
) -> None:
    written(registry, "orders", 1, FIRST)
    number = second.register("orders-value", SECOND)
    datum = Codec(SECOND).encode({"id": 7, "note": "n"})
    more = {"apicurio.registry.url": "http://127.0.0.1:1/apis/registry/v2"}  # is never asked
    framing = ["snip42", "confluent-header", "apicurio-header", "headerless"]
    reader = read_as(second, registry, framings=framing, **more)
    sign = (VALUE, b"\0" + number.to_bytes(4))
    for headers in ([sign], [sign], [(OTHER, bytes(7) + b"\1"), sign], [sign, (OTHER, bytes(7) + b"\1")]) * 2:
        assert reader.deserialize("orders", datum, headers=headers) == {"id": 7, "note": "n"}


def test_more_ids_in_headers_than_are_remembered(registry: LocalRegistry, second: ConfluentStandIn) -> None:
    written(registry, "orders", 1, FIRST)
    schemas = [{**FIRST, "fields": [{"name": f"id{number}", "type": "long"}]} for number in range(1_200)]
    ids = [second.register("orders-value", schema) for schema in schemas]
    reader = read_as(second, registry, **{"cache.capacity": 2_000})
    for _ in range(3):
        for number, one in enumerate(ids):
            found = reader.deserialize("orders", b"\x0e", headers=[(VALUE, b"\0" + one.to_bytes(4))])
            assert found == {f"id{number}": 7}


def test_an_unknown_id_is_not_kept(
    registry: LocalRegistry, second: ConfluentStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number is forgotten among others, and the same id gets a new one: it is no error later."""
    monkeypatch.setattr(framings, "_MAX_HEADERS", 8)
    written(registry, "orders", 1, FIRST)
    reader = read_as(second, registry, framings=["snip42", "confluent-header"])
    signs = policy_of(reader).signs
    headers = [(VALUE, b"\0" + (99).to_bytes(4))]
    for _ in range(3):
        with pytest.raises(SchemaNotFoundError, match="schema id 99"):
            reader.deserialize("orders", b"\x0e", headers=headers)
        for number in range(100, 150):
            signs.header_key(b"\0" + number.to_bytes(4), VALUE)


@pytest.mark.parametrize("headers", [[1], [(VALUE,)], [(VALUE, b"", b"")], [(1, b"")], [[VALUE, b""]], 5, "text"])
def test_headers_of_another_form_cannot_crash(registry: LocalRegistry, second: ConfluentStandIn, headers: Any) -> None:
    written(registry, "orders", 1, FIRST)
    reader = read_as(second, registry)
    for _ in range(3):
        try:
            assert reader.deserialize("orders", b"\x0e", headers=headers) == {"id": 7}
        except DecodeError as error:
            assert "expected headers as (name, value) pairs" in str(error)


def test_a_key_names_no_schema_of_other_framings_after_it_is_configured_again(
    registry: LocalRegistry, second: ConfluentStandIn
) -> None:
    """Another thread may do so while the headers of a message are looked at; here the headers do."""
    written(registry, "orders", 1, FIRST)
    one, other = (b"\0" + second.register("orders-value", schema).to_bytes(4) for schema in (SECOND, THIRD))
    datum = Codec(THIRD).encode({"id": 7, "note": "n", "paid": True})
    reader = read_as(second, registry, framings=["snip42", "confluent-header"])

    class Headers(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            conf = {"schema.registry.url": registry.url, "confluent.schema.registry.url": second.url}
            reader.configure({**conf, "framings": ["snip42", "confluent-header"]})
            assert reader.deserialize("orders", datum, headers=[(VALUE, other)])["paid"]
            return super().__iter__()

    with pytest.raises(DecodeError, match="read it again"):
        reader.deserialize("orders", Codec(SECOND).encode({"id": 7, "note": "n"}), headers=Headers([(VALUE, one)]))
    assert reader.deserialize("orders", datum, headers=[(VALUE, other)])["paid"]
