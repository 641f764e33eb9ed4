"""AvroConverter: Connect's data as messages of our SerDes, and back."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import threading
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
import requests
from confluent_stand_in import ConfluentStandIn

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._call_path import policy_of
from streamnative_serdes.connect import (
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    AvroConverter,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
    Type,
)
from streamnative_serdes.connect.avro import writing
from streamnative_serdes.errors import (
    ConfigError,
    DecodeError,
    EncodeError,
    IncompatibleSchemaError,
    SchemaError,
    SchemaWarning,
)

USER = SchemaBuilder.struct("org.example.User", version=1).field("id", INT64).field("name", OPTIONAL_STRING).build()
ADA = Struct(USER, id=1, name="Ada")


@pytest.fixture
def converter(conf: dict[str, Any]) -> AvroConverter:
    return AvroConverter(conf)


def struct(name: str = "R", version: int | None = 1, **fields: Schema) -> Schema:
    builder = SchemaBuilder.struct(name, version=version)
    for field, kind in fields.items():
        builder.field(field, kind)
    return builder.build()


# --- one message ------------------------------------------------------------------------------------------------------


def test_a_struct_is_a_message_that_our_other_serdes_write_and_read(conf: dict[str, Any]) -> None:
    converter = AvroConverter(conf)
    message = converter.from_connect_data("users", USER, ADA)
    assert KafkaAvroDeserializer(conf).deserialize("users", message) == {"id": 1, "name": "Ada"}
    assert KafkaAvroSerializer(conf).serialize("users", {"id": 1, "name": "Ada"}) == message
    for _ in range(3):
        assert converter.to_connect_data("users", message) == (USER, ADA)


def test_null_is_a_tombstone(converter: AvroConverter) -> None:
    assert converter.from_connect_data("users", None, None) is None
    assert converter.from_connect_data("users", USER.replaced(optional=True), None) is None
    assert converter.to_connect_data("users", None) == (None, None)
    with pytest.raises(EncodeError, match="got None"):
        converter.from_connect_data("users", USER, None)


@pytest.mark.parametrize(
    "value", [None, True, 5, 2**40, -(2**63), 1.5, "x", b"\0", [1, [None, "x"]], {"a": 1, 2: {"b": None}}]
)
def test_data_without_a_schema_comes_back(converter: AvroConverter, value: Any) -> None:
    message = converter.from_connect_data("any", None, {"value": value})
    assert converter.to_connect_data("any", message) == (None, {"value": value})


@pytest.mark.parametrize(
    ("value", "path"),
    [({"a": object()}, '["a"]'), ({"a": [1, 2**63]}, '["a"][1]'), ([[[]] * 3, PythonDecimal(1)], "[1]")],
    ids=["object", "large int", "decimal"],
)
def test_other_data_without_a_schema_is_an_error_with_its_path(converter: AvroConverter, value: Any, path: str) -> None:
    with pytest.raises(EncodeError) as raised:
        converter.from_connect_data("any", None, value)
    assert (raised.value.path, raised.value.topic) == (path, "any")


def test_data_without_a_schema_may_have_100_levels_and_no_more(converter: AvroConverter) -> None:
    value: Any = 1
    for _ in range(100):
        value = [value]
    assert converter.to_connect_data("any", converter.from_connect_data("any", None, value)).value == value
    with pytest.raises(EncodeError, match="deeper than 100 levels"):
        converter.from_connect_data("any", None, [value])


# --- values that go to the codec as they are, and those that do not ---------------------------------------------------

EDGES = [
    (Date.schema(), dt.date.max),
    (Date.schema(), -(2**31)),
    (Time.schema(), dt.time(23, 59, 59, 999000)),
    (Time.schema(), 86_400_000),
    (Timestamp.schema(), dt.datetime(1, 1, 1, tzinfo=dt.UTC)),
    (Timestamp.schema(), 2**63 - 1),
    (Decimal.schema(2), PythonDecimal("-0.01")),
    (Decimal.schema(0), PythonDecimal(10**70)),
    (Decimal.schema(-2), PythonDecimal("12E+2")),
    (Decimal.schema(70), PythonDecimal("1e-70")),
    (INT8, -128),
    (INT16, 32767),
    (BYTES, b""),
    (SchemaBuilder.map(INT32, STRING).build(), {-1: "a", 2: "b"}),
    (SchemaBuilder.array(Timestamp.schema(optional=True)).build(), [None, 2**62]),
]


@pytest.mark.parametrize(("kind", "value"), EDGES, ids=lambda given: str(given)[:40])
@pytest.mark.parametrize("optional", [False, True])
def test_values_at_the_edges_of_their_types_come_back(
    converter: AvroConverter, kind: Schema, value: Any, optional: bool
) -> None:
    schema = struct(f=kind.replaced(optional=optional), last=STRING)
    given = Struct(schema, f=value, last="x")
    found = converter.to_connect_data("edges", converter.from_connect_data("edges", schema, given))
    assert found.value == given


def test_a_decimal_as_a_fixed_is_filled_up_with_its_sign(converter: AvroConverter) -> None:
    kind = Decimal.schema(2, parameters={"connect.fixed.size": "4"})
    schema = struct(f=kind)
    for text in ("-1.00", "0.00", "1.27", "-21474836.48"):
        given = Struct(schema, f=PythonDecimal(text))
        message = converter.from_connect_data("fixed", schema, given)
        assert message is not None
        assert len(message) == 14
        assert converter.to_connect_data("fixed", message).value == given
    with pytest.raises(EncodeError, match="at most 4 bytes"):
        converter.from_connect_data("fixed", schema, Struct(schema, f=PythonDecimal("21474836.48")))


@pytest.mark.parametrize("size", [{}, {"connect.fixed.size": "8"}], ids=["bytes", "fixed"])
def test_a_decimal_beyond_the_precision_that_it_declares_is_not_written_but_read(
    conf: dict[str, Any], size: dict[str, str]
) -> None:
    price = Decimal.schema(2, parameters={"connect.decimal.precision": "4", **size})
    schema = struct(a=price, list=SchemaBuilder.array(price).build(), map=SchemaBuilder.map(STRING, price).build())
    good, bad = PythonDecimal("99.99"), PythonDecimal("100.00")
    converter = AvroConverter(conf)
    fields = {"a": good, "list": [good], "map": {"k": good}}
    message = converter.from_connect_data("t", schema, Struct(schema, **fields))
    assert converter.to_connect_data("t", message).value == Struct(schema, **fields)

    for name, value, path in (("a", bad, "a"), ("list", [good, -bad], "list[1]"), ("map", {"k": bad}, 'map["k"]')):
        for _ in range(2):
            with pytest.raises(EncodeError, match=r"decimal\(4, 2\) cannot hold -?100.00: .* 4 digits") as caught:
                converter.from_connect_data("t", schema, Struct(schema, **fields | {name: value}))
            assert caught.value.path == path

    beyond = (message or b"").replace((9999).to_bytes(2), (10_000).to_bytes(2), 1)
    assert converter.to_connect_data("t", beyond).value["a"] == bad
    assert KafkaAvroDeserializer(conf).deserialize("t", beyond)["a"] == bad


def test_an_error_deep_in_a_value_costs_no_second_conversion(
    converter: AvroConverter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it costs 2**depth conversions."""
    kind = Decimal.schema(2, parameters={"connect.decimal.precision": "4"})
    value: Any = PythonDecimal("100.00")
    for name in ("Inner", "Outer"):
        kind, value = SchemaBuilder.array(kind).build(), [value]
        kind, value = SchemaBuilder.map(STRING, kind).build(), {"k": value}
        kind, value = SchemaBuilder.map(INT32, kind).build(), {7: value}
        kind = struct(name, good=Decimal.schema(2), bad=kind)
        value = Struct(kind, good=PythonDecimal("1.00"), bad=value)
    written: list[int] = []

    def counted(number: int) -> bytes:
        written.append(number)
        return b"\1"

    monkeypatch.setattr(writing, "to_bytes", counted)
    with pytest.raises(EncodeError, match=r"cannot hold 100\.00") as caught:
        converter.from_connect_data("t", kind, value)
    assert caught.value.path == 'bad[7]["k"][0].bad[7]["k"][0]'
    assert len(written) == 2  # the good one of each struct


def test_unset_fields_are_written_as_their_defaults(converter: AvroConverter) -> None:
    inner = SchemaBuilder.struct("I").field("a", OPTIONAL_STRING).build()
    schema = struct(
        i=INT32.replaced(default=7),
        o=OPTIONAL_INT32.replaced(default=8),
        n=OPTIONAL_INT32,
        m=SchemaBuilder.map(INT32, INT32).default({1: 2}).build(),  # Avro fields cannot have such a default
        s=inner.replaced(default=Struct(inner, a="x")),  # nor this one
    )
    found = converter.to_connect_data("t", converter.from_connect_data("t", schema, Struct(schema))).value
    assert dict(found) == {"i": 7, "o": 8, "m": {1: 2}, "s": found["s"]}
    assert dict(found["s"]) == {"a": "x"}


def test_with_ignored_defaults_an_unset_optional_field_is_null(conf: dict[str, Any]) -> None:
    converter = AvroConverter({**conf, "ignore.default.for.nullables": "true"})
    schema = struct(i=INT32.replaced(default=7), o=OPTIONAL_INT32.replaced(default=8))
    found = converter.to_connect_data("t", converter.from_connect_data("t", schema, Struct(schema)))
    assert dict(found.value) == {"i": 7}


def test_a_list_that_was_changed_after_it_was_set_is_checked_again(converter: AvroConverter) -> None:
    schema = struct(small=SchemaBuilder.array(INT8).build())
    given = Struct(schema, small=[1, 2])
    assert converter.from_connect_data("t", schema, given)
    given["small"].append(128)
    with pytest.raises(EncodeError, match="int8") as raised:
        converter.from_connect_data("t", schema, given)
    assert (raised.value.path, raised.value.topic) == ("small[2]", "t")


def test_errors_name_the_field_in_connects_words_every_time(converter: AvroConverter) -> None:
    schema = struct(a=INT32, inner=struct("I", b=INT32))
    incomplete = Struct(schema, a=1, inner=Struct(struct("I", b=INT32), b=1))
    dict.pop(incomplete["inner"], "b")
    for _ in range(3):
        with pytest.raises(EncodeError, match="expected int32, got None") as raised:
            converter.from_connect_data("t", schema, incomplete)
        assert raised.value.path == "inner.b"
    good = Struct(schema, a=1, inner=Struct(struct("I", b=INT32), b=1))
    assert converter.from_connect_data("t", schema, good)


def test_a_struct_of_another_schema_is_an_error(converter: AvroConverter) -> None:
    other = struct("Other", id=INT64)
    assert converter.from_connect_data("t", USER, ADA)
    for value in (Struct(other, id=1), {"id": 1}):
        with pytest.raises(EncodeError, match=r"org\.example\.User"):
            converter.from_connect_data("t", USER, value)


def test_a_schema_that_is_equal_but_another_object_writes_the_same(converter: AvroConverter) -> None:
    first = converter.from_connect_data("t", USER, ADA)
    again = pickle.loads(pickle.dumps(USER))
    assert again is not USER
    assert converter.from_connect_data("t", again, Struct(again, id=1, name="Ada")) == first
    assert converter.from_connect_data("t", USER, Struct(again, id=1, name="Ada")) == first


# --- unions -----------------------------------------------------------------------------------------------------------

UNION = SchemaBuilder.struct("io.confluent.connect.avro.Union").optional()
for _name, _kind in (("int", OPTIONAL_INT32), ("long", OPTIONAL_INT64), ("string", OPTIONAL_STRING)):
    UNION.field(_name, _kind)
ANY_NUMBER = UNION.build()


@pytest.mark.parametrize("branch", ["int", "long", "string", None])
def test_a_union_keeps_its_branch(converter: AvroConverter, branch: str | None) -> None:
    schema = struct(u=ANY_NUMBER, many=SchemaBuilder.array(ANY_NUMBER).build())
    value = None if branch is None else Struct(ANY_NUMBER, {branch: "x" if branch == "string" else 5})
    given = Struct(schema, u=value, many=[value, None])
    message = converter.from_connect_data("t", schema, given)
    assert converter.to_connect_data("t", message).value == given


def test_a_union_without_a_field_set_is_an_error(converter: AvroConverter) -> None:
    kind = ANY_NUMBER.replaced(optional=False)
    with pytest.raises(EncodeError, match="one field of the union"):
        converter.from_connect_data("t", struct(u=kind), Struct(struct(u=kind), u=Struct(kind)))


def test_bytes_and_fixed_types_of_the_same_size_are_told_apart(conf: dict[str, Any]) -> None:
    """Java takes the first that could be it."""
    fixed = [{"type": "fixed", "name": name, "size": 2} for name in ("A", "B")]
    schema = {"type": "record", "name": "R", "fields": [{"name": "u", "type": ["bytes", *fixed]}]}
    serializer, converter = KafkaAvroSerializer(conf, schema), AvroConverter(conf)
    for name, field in (("bytes", "bytes"), ("A", "A"), ("B", "B")):
        found = converter.to_connect_data("t", serializer.serialize("t", {"u": (name, b"xy")}))
        assert dict(found.value["u"]) == {field: b"xy"}
        assert converter.from_connect_data("t2", *found) is not None


# --- options and the registry -----------------------------------------------------------------------------------------


def test_enums_are_strings_unless_their_support_is_asked_for(conf: dict[str, Any]) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "c", "type": {"type": "enum", "name": "C", "symbols": ["RED", "BLUE"]}}],
    }
    message = KafkaAvroSerializer(conf, schema).serialize("colours", {"c": "BLUE"})
    read = AvroConverter(conf).to_connect_data("colours", message)
    for chosen, size in (("false", 15), ("true", 11)):
        converter = AvroConverter({**conf, "enhanced.avro.schema.support": chosen})
        written = converter.from_connect_data(f"to-{chosen}", *read)
        assert written is not None
        assert len(written) == size
        assert converter.to_connect_data(f"to-{chosen}", written).value["c"] == "BLUE"


@pytest.mark.parametrize("policy", ["writer", "latest.seen", "latest"])
def test_the_policy_for_the_readers_schema_holds(conf: dict[str, Any], policy: str) -> None:
    newer = struct(version=None, a=INT32, b=OPTIONAL_STRING.replaced(default="new"))
    older = struct(version=None, a=INT32)
    writer = AvroConverter(conf)
    messages = [writer.from_connect_data("t", kind, Struct(kind, a=at)) for at, kind in enumerate((older, newer))]
    reader = AvroConverter({**conf, "reader.schema.policy": policy})
    before, after = (reader.to_connect_data("t", message) for message in messages)
    again = reader.to_connect_data("t", messages[0])
    shown = [(list(found.schema.fields_by_name), found.schema.version) for found in (before, after, again)]
    old, new = (["a"], 0), (["a", "b"], 1)
    assert shown == {"writer": [old, new, old], "latest.seen": [old, new, new], "latest": [new] * 3}[policy]
    assert again.value["a"] == 0


def test_what_the_registry_refuses_is_its_error(conf: dict[str, Any]) -> None:
    converter = AvroConverter(conf)
    assert converter.from_connect_data("t", struct(a=INT32), Struct(struct(a=INT32), a=1))
    for _ in range(2):
        with pytest.raises(IncompatibleSchemaError):
            converter.from_connect_data("t", struct(a=STRING), Struct(struct(a=STRING), a="x"))


def test_a_recursive_record_is_an_error_that_names_topic_and_version(conf: dict[str, Any]) -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"], "default": None}]}
    message = KafkaAvroSerializer(conf, node).serialize("t", {"next": None})
    with pytest.raises(SchemaError, match=r"topic t.*contains itself"):
        AvroConverter(conf).to_connect_data("t", message)


@pytest.mark.parametrize("cut", [0, 1, 5])
def test_damaged_messages_are_errors_that_name_topic_and_version(converter: AvroConverter, cut: int) -> None:
    message = converter.from_connect_data("t", USER, ADA)
    assert message is not None
    for damaged in (message[: len(message) - cut] if cut else message + b"x", message[:11] + b"\xff" * 20):
        with pytest.raises(DecodeError, match="topic t"):
            converter.to_connect_data("t", damaged)


def test_a_small_int_out_of_range_is_an_error_with_its_path(conf: dict[str, Any]) -> None:
    kind = {"type": "int", "connect.type": "int8"}
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": {"type": "array", "items": kind}}]}
    message = KafkaAvroSerializer(conf, schema).serialize("t", {"f": [127, -128, 128]})
    with pytest.raises(DecodeError, match="expected int8, got 128") as raised:
        AvroConverter(conf).to_connect_data("t", message)
    assert raised.value.path == "f[2]"


def test_only_so_many_translated_schemas_are_kept(conf: dict[str, Any]) -> None:
    converter = AvroConverter({**conf, "schemas.cache.config": 3})
    for at in range(10):
        schema = struct(f"R{at}", a=INT32)
        message = converter.from_connect_data(f"t{at}", schema, Struct(schema, a=at))
        assert converter.to_connect_data(f"t{at}", message).value == Struct(schema, a=at)
        assert len(converter._now._written) <= 3
        assert len(policy_of(converter._now.reader)._reads) <= 3


def test_options_are_checked_when_the_converter_is_configured(conf: dict[str, Any]) -> None:
    for wrong in ({"connect.meta.data": "perhaps"}, {"schemas.cache.config": 0}, {"cache.capacity": "x"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            AvroConverter({**conf, **wrong})
    with pytest.raises(ConfigError, match=r"schema.registry.url is missing"):
        AvroConverter({})
    for call in (
        lambda: AvroConverter().to_connect_data("t", b""),
        lambda: AvroConverter().from_connect_data("t", USER, ADA),
    ):
        with pytest.raises(ConfigError, match="configure"):
            call()
    AvroConverter({**conf, "key.converter": "ignored"})


def test_confluents_framing_is_refused(conf: dict[str, Any]) -> None:
    second = {"confluent.schema.registry.url": "http://localhost:1", "framings": "snip42,confluent,headerless"}
    with pytest.raises(ConfigError, match="does not read other framings"):
        AvroConverter({**conf, **second})


def test_keys_have_no_schema_of_their_own_in_pulsar(conf: dict[str, Any]) -> None:
    converter = AvroConverter(conf, is_key=True)
    with pytest.raises(ConfigError, match="keys alone"):
        converter.from_connect_data("t", USER, ADA)


def test_keys_are_written_in_confluents_framing(conf: dict[str, Any]) -> None:
    with ConfluentStandIn() as second:
        old = {**conf, "framing": "confluent", "confluent.schema.registry.url": second.url}
        message = AvroConverter(old, is_key=True).from_connect_data("t", USER, ADA)
        assert message is not None
        assert (message[:5], [*second.subjects]) == (b"\0\0\0\0\1", ["t-key"])


def test_bare_keys_are_read_by_key_schema_which_has_no_version(conf: dict[str, Any]) -> None:
    key = {"type": "record", "name": "Id", "fields": [{"name": "id", "type": "int"}]}
    converter = AvroConverter({**conf, "key.schema": key}, is_key=True)
    for _ in range(2):
        schema, value = converter.to_connect_data("t", b"\x02")
        assert schema is not None
        assert (schema.name, schema.version, value["id"]) == ("Id", None, 1)


def test_a_converter_pickles(conf: dict[str, Any]) -> None:
    converter = AvroConverter({**conf, "enhanced.avro.schema.support": True})
    message = converter.from_connect_data("t", USER, ADA)
    with pickle.loads(pickle.dumps(converter)) as copy:
        assert copy.from_connect_data("t", USER, ADA) == message
        assert copy.to_connect_data("t", message) == (USER, ADA)


def test_threads_share_a_converter(converter: AvroConverter) -> None:
    schemas = [struct(f"R{at}", a=INT32, b=Timestamp.schema()) for at in range(4)]
    wrong: list[object] = []

    def work(number: int) -> None:
        for at in range(200):
            schema = schemas[(at + number) % 4]
            given = Struct(schema, a=at, b=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
            found = converter.to_connect_data(schema.name, converter.from_connect_data(schema.name, schema, given))  # type: ignore[arg-type]
            if found.value["a"] != at or found.schema.name != schema.name:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_record_of_any_type_without_fields(converter: AvroConverter) -> None:
    schema = struct("Empty")
    message = converter.from_connect_data("t", schema, Struct(schema))
    assert converter.to_connect_data("t", message).value == Struct(schema)
    assert Schema(Type.STRUCT, fields=()).fields == ()


def test_types_that_a_branch_defines_keep_their_names(conf: dict[str, Any]) -> None:
    enum = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    fields = [{"name": "u", "type": [enum, "int"]}, {"name": "again", "type": "E"}]
    schema = {"type": "record", "name": "org.example.R", "fields": fields}
    message = KafkaAvroSerializer(conf, schema).serialize("t", {"u": ("org.example.E", "B"), "again": "A"})
    found = AvroConverter(conf).to_connect_data("t", message)
    assert dict(found.value["u"]) == {"E": "B"}
    assert found.value["again"] == "A"


def test_a_union_with_a_default_is_filled_in_for_older_messages(conf: dict[str, Any]) -> None:
    older = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    union = {"name": "u", "type": ["string", "int"], "default": "none"}
    newer = {**older, "fields": [*older["fields"], union]}  # type: ignore[misc]
    message = KafkaAvroSerializer(conf, older).serialize("t", {"a": 1})
    KafkaAvroSerializer(conf, newer).serialize("t", {"a": 2, "u": 3})
    found = AvroConverter({**conf, "reader.schema.policy": "latest"}).to_connect_data("t", message)
    assert (found.value["a"], dict(found.value["u"])) == (1, {"string": "none"})


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (SchemaBuilder.struct("shop.Row").field("id", INT32).optional().build(), {"id": 1}),
        (SchemaBuilder.string().optional().build(), "x"),
        (SchemaBuilder.string().optional().default("y").build(), "x"),
        (Date.schema(optional=True), dt.date(2020, 2, 29)),
        (Decimal.schema(2, optional=True), PythonDecimal("1.50")),
        (SchemaBuilder.array(STRING).optional().build(), ["x"]),
        (SchemaBuilder.map(STRING, INT32).optional().build(), {"a": 1}),
        (SchemaBuilder.map(INT32, INT32).optional().build(), {1: 2}),
    ],
    ids=lambda part: part.type.value if isinstance(part, Schema) else "",
)
def test_of_an_optional_schema_the_type_beside_null_is_registered(
    conf: dict[str, Any], schema: Schema, value: Any
) -> None:
    """Pulsar refuses unions at the root; Debezium's unwrapped rows have such schemas."""
    converter = AvroConverter(conf)
    given = Struct(schema, value) if schema.fields else value
    message = converter.from_connect_data("t", schema, given)
    found = converter.to_connect_data("t", message)
    assert found.schema is not None
    assert (found.schema.type, found.schema.optional) == (schema.type, False)
    assert found.value == (Struct(found.schema, value) if schema.fields else value)
    assert converter.from_connect_data("t", schema, None) is None
    assert converter.to_connect_data("t", None) == (None, None)
    required = schema.replaced(optional=False)
    given = Struct(required, value) if schema.fields else value
    assert converter.from_connect_data("t", required, given) == message  # it is the same schema


def test_in_confluents_framing_an_optional_schema_is_javas_union(conf: dict[str, Any]) -> None:
    row = SchemaBuilder.struct("shop.Row").field("id", INT32).optional().build()
    with ConfluentStandIn() as second:
        to_second = {**conf, "framing": "confluent", "confluent.schema.registry.url": second.url}
        message = AvroConverter(to_second).from_connect_data("t", row, Struct(row, id=1))
        (stored,) = second.subjects["t-value"]
        assert message == b"\0" + stored.id.to_bytes(4) + b"\x02\x02"
        assert json.loads(stored.body["schema"])[0] == "null"


@pytest.mark.filterwarnings("ignore:the namespace .* is refused by Avro 1.12")
@pytest.mark.parametrize(
    ("name", "scrubbed"),
    [
        ("my-server.shop.customers.Value", "my_server.shop.customers.Value"),
        ("1.R", "x1.R"),
        ("a..R", "a..R"),
        ("größe.R", "gr_C3_B6_C3_9Fe.R"),
    ],
)
@pytest.mark.parametrize("scrub", [False, True])
def test_a_namespace_is_written_as_it_is_or_scrubbed_as_in_java(
    conf: dict[str, Any], name: str, scrubbed: str, scrub: bool
) -> None:
    """Debezium's schemas begin with the name of the server, which often has a hyphen."""
    schema = SchemaBuilder.struct(name, version=1).field("id", INT64).field("day", Date.schema(optional=True)).build()
    converter = AvroConverter({**conf, "scrub.invalid.names": scrub})
    values = [Struct(schema, id=1), Struct(schema, id=2, day=dt.date(2020, 2, 29))]
    messages = [converter.from_connect_data("t", schema, value) for value in values]
    assert [converter.to_connect_data("t", message) for message in messages] == [(schema, value) for value in values]
    assert KafkaAvroDeserializer(conf).deserialize("t", messages[1]) == {"id": 2, "day": dt.date(2020, 2, 29)}
    stored = requests.get(f"{conf['schema.registry.url']}/admin/v2/schemas/public/default/t/schema", timeout=10).json()
    assert json.loads(stored["data"])["name"] == (scrubbed if scrub else name)


def test_a_namespace_that_pulsar_4_2_refuses_is_a_warning(conf: dict[str, Any]) -> None:
    schema = SchemaBuilder.struct("my-server.shop.Value").field("id", INT32).build()
    with pytest.warns(SchemaWarning, match="namespace 'my-server.shop' is refused by Avro 1.12"):
        AvroConverter(conf).from_connect_data("t", schema, Struct(schema, id=1))


def test_letters_of_all_scripts_are_allowed_in_names(conf: dict[str, Any]) -> None:
    schema = SchemaBuilder.struct("läden.Größe").field("höhe", INT32).build()
    message = AvroConverter(conf).from_connect_data("t", schema, Struct(schema, höhe=1))
    assert KafkaAvroDeserializer(conf).deserialize("t", message) == {"höhe": 1}


def test_one_schema_has_the_version_of_each_topic(conf: dict[str, Any]) -> None:
    converter = AvroConverter(conf)
    first, second = struct(version=None, a=OPTIONAL_INT32), struct(version=None, a=OPTIONAL_INT32, b=OPTIONAL_INT32)
    for topic, kinds in (("t", [first]), ("u", [second, first])):
        messages = [converter.from_connect_data(topic, kind, Struct(kind, a=1)) for kind in kinds]
        found = converter.to_connect_data(topic, messages[-1])
        assert found.schema is not None
        assert (found.schema.version, list(found.schema.fields_by_name)) == (len(kinds) - 1, ["a"])


def test_messages_without_a_header_are_read_unless_framings_leave_them_out(conf: dict[str, Any]) -> None:
    message = AvroConverter(conf).from_connect_data("t", USER, ADA)
    assert message is not None
    assert AvroConverter(conf).to_connect_data("t", message[10:]) == (USER, ADA)
    strict = AvroConverter({**conf, "framings": "snip42"})
    assert strict.to_connect_data("t", message) == (USER, ADA)
    with pytest.raises(DecodeError, match="framings"):
        strict.to_connect_data("t", message[10:])
