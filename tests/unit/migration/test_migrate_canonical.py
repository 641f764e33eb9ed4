"""The canonical form of data, the fingerprints of schemas, and the schemas of one side."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from schemas import array, enum, fixed, logical, mapping, record
from wire import sized, varint

from streamnative_serdes._schema import parse
from streamnative_serdes.errors import DecodeError, SchemaNotFoundError, SchemaRegistryError
from streamnative_serdes.migration.schemas import canonical
from streamnative_serdes.migration.schemas.canonical import CanonicalForm, SideSchemas, Value
from streamnative_serdes.migration.verifying.contents import NO_SCHEMA, Content, digest, packed

NODE = record("Node", ("value", "int"), ("next", ["null", "Node"], None))


def form(schema: Any) -> CanonicalForm:
    return CanonicalForm(parse(schema, strict=False))


@pytest.mark.parametrize(
    ("schema", "datum"),
    [
        ("null", b""),
        ("boolean", b"\x01"),
        (enum("E", "A", "B"), b"\x02"),
        (fixed("F", 3), b"abc"),
        (logical("bytes", "decimal", precision=4, scale=2), sized(b"\x04\xd2")),
        (logical("long", "timestamp-millis"), varint(2**62)),
        (logical("string", "uuid"), sized(b"no uuid")),
        (NODE, varint(1) + varint(1) + varint(2) + varint(0)),
        (["null", "int", "string", NODE], varint(3) + varint(1) + varint(0)),
        (record("a.R", ("x", record("a.b.S", ("y", "float"))), ("z", "a.b.S"), ("w", "float")), bytes(12)),
        (record("R", ("a", enum("E", "A")), ("b", ["E", "string", "bytes"])), b"\x00\x04\x00"),
    ],
)
def test_most_data_have_one_encoding_only(schema: Any, datum: bytes) -> None:
    assert form(schema).of(datum) == datum
    with pytest.raises(DecodeError):
        form(schema).of(datum + b"\0")
    if datum:
        with pytest.raises(DecodeError):
            form(schema).of(datum[:-1])


@pytest.mark.parametrize("schema", ["bytes", logical("bytes", "decimal", precision=9, scale=2)])
@pytest.mark.parametrize("datum", [b"\x04hi", b"\0", b""])
def test_bytes_at_the_root_have_one_form_behind_both_framings(schema: Any, datum: bytes) -> None:
    text = json.dumps(schema)
    confluents = SideSchemas(lambda _: ("AVRO", text), confluent=True).of(7)
    pulsars = SideSchemas(lambda _: ("AVRO", text)).of(3)
    assert confluents.value(datum) == pulsars.value(sized(datum)) == Value(pulsars.fingerprint, sized(datum), True)
    assert confluents.shown(confluents.value(datum)) == pulsars.shown(pulsars.value(sized(datum))) == repr(datum)
    if datum:
        confluents.check(datum)
        pulsars.check(sized(datum))


def test_an_enum_has_no_symbol_beyond_its_own() -> None:
    with pytest.raises(DecodeError):
        form(enum("E", "A", "B")).of(b"\x04")


def test_maps_inside_arrays_records_and_unions_are_in_order() -> None:
    inner = mapping(mapping("int"))
    schema = record("R", ("a", array(inner)), ("u", ["null", "int", inner]))

    def entries(*keys: bytes) -> bytes:
        return varint(len(keys)) + b"".join(sized(key) + varint(1) + sized(b"x") + b"\x02\x00" for key in keys) + b"\0"

    def datum(*keys: bytes) -> bytes:
        return varint(1) + entries(*keys) + b"\0" + varint(2) + entries(*keys)

    assert datum(b"b", b"a") != datum(b"a", b"b")
    assert form(schema).of(datum(b"b", b"a")) == datum(b"a", b"b")


def test_what_pulsar_takes_for_one_schema_has_one_fingerprint() -> None:
    plain = record("R", ("a", "int"))
    same = [{**plain, "doc": "text"}, {**plain, "aliases": ["S"]}, json.loads(json.dumps(plain))]
    other = [
        record("S", ("a", "int")),
        record("R", ("b", "int")),
        record("R", ("a", "long")),
        record("R", ("a", "int", 1)),
        record("R", ("a", logical("int", "date"))),
    ]
    assert {form(one).fingerprint for one in same} == {form(plain).fingerprint}
    assert len({form(one).fingerprint for one in (plain, *other)}) == 6


def test_nesting_that_no_decoder_permits_is_an_error() -> None:
    chain = b"".join(varint(1) + varint(1) for _ in range(5_000)) + varint(1) + varint(0)
    with pytest.raises(DecodeError):
        form(NODE).of(chain)


# Checksums


def test_contents_that_are_different_have_different_bytes() -> None:
    time = (1, 5)
    value = Value(NO_SCHEMA, b"v", True)
    contents = [
        Content(None, (), time, None),
        Content(b"", (), time, None),
        Content(None, (), time, Value(NO_SCHEMA, b"", True)),
        Content(None, (), (2, 5), None),
        Content(None, (), (1, 6), None),
        Content(b"k", (), time, value),
        Content(b"", (), time, Value(NO_SCHEMA, b"kv", True)),
        Content(None, (("a", None),), time, None),
        Content(None, (("a", b""),), time, None),
        Content(None, (("ab", b""),), time, None),
        Content(None, (("a", b"b"),), time, None),
        Content(None, (("a", b""), ("b", b"")), time, None),
        Content(None, (("b", b""), ("a", b"")), time, None),
        Content(b"k", (), time, Value(bytes(15) + b"1", b"v", True)),
    ]
    assert len({packed(content) for content in contents}) == len(contents)
    assert len({digest(content) for content in contents}) == len(contents)


# The schemas of one side


class Registry:
    """Answers with schemas by name, and counts the questions."""

    def __init__(self, **schemas: Any) -> None:
        self.asked: list[Any] = []
        self._schemas = schemas

    def add(self, **schemas: Any) -> None:
        self._schemas.update(schemas)

    def __call__(self, name: Any) -> tuple[str, str]:
        self.asked.append(name)
        found = self._schemas.get(f"s{name}")
        if found is None:
            raise SchemaNotFoundError("not found", status=404)
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, tuple) else ("AVRO", json.dumps(found))


def test_each_schema_is_asked_for_once_and_so_is_one_that_does_not_exist() -> None:
    registry = Registry(s1="int")
    schemas = SideSchemas(registry)
    assert schemas.of(1) is schemas.of(1)
    for _ in range(3):
        with pytest.raises(SchemaNotFoundError):
            schemas.of(2)
    assert registry.asked == [1, 2]


def test_a_schema_that_did_not_exist_is_found_some_seconds_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(canonical, "time", SimpleNamespace(monotonic=lambda: now))
    registry = Registry()
    schemas = SideSchemas(registry)
    with pytest.raises(SchemaNotFoundError):
        schemas.of(1)
    registry.add(s1="int")
    now += 4.9
    with pytest.raises(SchemaNotFoundError):
        schemas.of(1)
    now += 0.2
    assert schemas.of(1).title == "int"
    assert registry.asked == [1, 1]


def test_no_more_than_some_names_that_do_not_exist_are_remembered() -> None:
    registry = Registry()
    schemas = SideSchemas(registry)
    for name in [*range(10_001), 10_000, 0]:
        with pytest.raises(SchemaNotFoundError):
            schemas.of(name)
    assert registry.asked == [*range(10_001), 0]


def test_a_registry_that_refuses_is_asked_again() -> None:
    registry = Registry(s1=SchemaRegistryError("refused", status=500))
    schemas = SideSchemas(registry)
    for _ in range(2):
        with pytest.raises(SchemaRegistryError, match="refused"):
            schemas.of(1)
    assert registry.asked == [1, 1]


@pytest.mark.parametrize("kept", [("JSON", "{}"), ("AVRO", "no schema"), ("AVRO", '{"type": "record"}')])
def test_values_of_other_schemas_cannot_be_decoded_but_compared(kept: tuple[str, str]) -> None:
    one, other = SideSchemas(Registry(s1=kept)).of(1), SideSchemas(Registry(s9=kept)).of(9)
    assert one.value(b"x") == other.value(b"x")
    assert one.value(b"x") != one.value(b"y")
    assert not one.value(b"x").decoded
    assert one.fault
    different = SideSchemas(Registry(s1=("JSON", "[]"))).of(1)
    assert one.value(b"x") != different.value(b"x")
