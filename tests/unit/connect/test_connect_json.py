"""JsonConverter: what it writes and reads, byte for byte, and what it refuses, with the path of the field."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
from waiting import exit_code, forked_while_held

from streamnative_serdes._topics.cache import ForkSafeLock
from streamnative_serdes.connect import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    STRING,
    Date,
    Decimal,
    Enum,
    JsonConverter,
    Schema,
    SchemaAndValue,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
    json_converter,
    json_schema,
)
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError

CONVERTER = JsonConverter()
BARE = JsonConverter({"schemas.enable": False})


def written(schema: Schema | None, value: Any, **config: Any) -> str:
    message = JsonConverter({name.replace("_", "."): value for name, value in config.items()}).from_connect_data(
        "t", schema, value
    )
    assert message is not None
    return message.decode()


def read(text: str, **config: Any) -> SchemaAndValue:
    converter = JsonConverter({name.replace("_", "."): value for name, value in config.items()})
    return converter.to_connect_data("t", text.encode())


def envelope(schema: str, payload: str) -> str:
    return f'{{"schema":{schema},"payload":{payload}}}'


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (BOOLEAN, True, '{"type":"boolean","optional":false}|true'),
        (INT8, -128, '{"type":"int8","optional":false}|-128'),
        (INT64, 2**63 - 1, '{"type":"int64","optional":false}|9223372036854775807'),
        (FLOAT32, 12.34, '{"type":"float","optional":false}|12.34'),
        (FLOAT64, 1e10, '{"type":"double","optional":false}|1.0E10'),
        (FLOAT64, 5, '{"type":"double","optional":false}|5.0'),
        (FLOAT64, math.nan, '{"type":"double","optional":false}|"NaN"'),
        (BYTES, b"test-string", '{"type":"bytes","optional":false}|"dGVzdC1zdHJpbmc="'),
        (BYTES, bytearray(b"\xff"), '{"type":"bytes","optional":false}|"/w=="'),
        (STRING, 'a"\n\u20ac\U0001f600', '{"type":"string","optional":false}|"a\\"\\n\u20ac\\uD83D\\uDE00"'),
        (OPTIONAL_STRING, None, '{"type":"string","optional":true}|null'),
        (
            SchemaBuilder.array(INT32).build(),
            [1, 2],
            '{"type":"array","items":{"type":"int32","optional":false},"optional":false}|[1,2]',
        ),
        (
            SchemaBuilder.map(STRING, INT32).build(),
            {"key1": 12},
            '{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"int32","optional":false},'
            '"optional":false}|{"key1":12}',
        ),
        (
            SchemaBuilder.map(INT32, INT32).build(),
            {1: 12},
            '{"type":"map","keys":{"type":"int32","optional":false},"values":{"type":"int32","optional":false},'
            '"optional":false}|[[1,12]]',
        ),
        (
            Decimal.schema(2),
            PythonDecimal("1.56"),
            '{"type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal","version":1,'
            '"parameters":{"scale":"2"}}|"AJw="',
        ),
        (
            Date.schema(),
            dt.date(1970, 4, 11),
            '{"type":"int32","optional":false,"name":"org.apache.kafka.connect.data.Date","version":1}|100',
        ),
        (
            Time.schema(),
            dt.time(4),
            '{"type":"int32","optional":false,"name":"org.apache.kafka.connect.data.Time","version":1}|14400000',
        ),
        (
            Timestamp.schema(),
            dt.datetime(2001, 9, 9, 1, 46, 40, tzinfo=dt.UTC),
            '{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1}'
            "|1000000000000",
        ),
    ],
)  # fmt: skip
def test_a_value_is_written_as_java_writes_it_and_comes_back(schema: Schema, value: Any, text: str) -> None:
    wanted = envelope(*text.split("|"))
    assert written(schema, value) == wanted
    found = read(wanted)
    assert found.schema == schema
    if schema is FLOAT32:
        assert found.value == pytest.approx(value)
    elif value is math.nan:
        assert math.isnan(found.value)
    else:
        assert found.value == value


def test_a_struct_is_written_with_the_names_of_its_fields_last() -> None:
    schema = (
        SchemaBuilder.struct("a.B", version=3, doc="doc")
        .field("f", BOOLEAN, default=True)
        .field("g", OPTIONAL_STRING)
        .build()
    )
    wanted = (
        '{"type":"struct","fields":[{"type":"boolean","optional":false,"default":true,"field":"f"},'
        '{"type":"string","optional":true,"field":"g"}],"optional":false,"name":"a.B","version":3,"doc":"doc"}'
    )
    assert written(schema, Struct(schema)) == envelope(wanted, '{"f":true,"g":null}')
    found = read(envelope(wanted, '{"g":"x","more":1}'))
    assert found == (schema, Struct(schema, f=True, g="x"))


def test_a_tombstone_is_written_and_read_as_none() -> None:
    assert CONVERTER.from_connect_data("t", None, None) is None
    assert CONVERTER.to_connect_data("t", None) == (None, None)
    assert BARE.from_connect_data("t", OPTIONAL_STRING, None) == b"null"
    assert BARE.to_connect_data("t", b"null") == (None, None)
    assert written(OPTIONAL_INT32, None).endswith('"payload":null}')


def test_decimals_are_written_in_one_form_and_read_in_both() -> None:
    schema = Decimal.schema(2)
    text = written(schema, PythonDecimal("1.50"), decimal_format="numeric")
    assert text.endswith('"payload":1.50}')
    for config in ({}, {"decimal_format": "NUMERIC"}):
        for payload in ("1.50", "1.5", '"AJY="', "150e-2"):
            found = read(text.replace('"payload":1.50', f'"payload":{payload}'), **config).value
            assert str(found) == "1.50"
    assert read(text.replace(":1.50", ":3")).value == PythonDecimal(3)
    with pytest.raises(DecodeError, match="at most 2 digits after the point"):
        read(text.replace(":1.50", ":1.505"))


def test_replacing_null_fills_in_defaults_in_structs_too() -> None:
    schema = SchemaBuilder.struct().field("a", INT32, optional=True, default=5).build()
    outer = SchemaBuilder.struct().field("in", schema).field("list", SchemaBuilder.array(schema)).build()
    value = Struct(outer, {"in": Struct(schema), "list": [Struct(schema)]})
    assert written(outer, value).endswith('"payload":{"in":{"a":5},"list":[{"a":5}]}}')
    kept = written(outer, value, replace_null_with_default="false")
    assert kept.endswith('"payload":{"in":{"a":null},"list":[{"a":null}]}}')
    assert read(kept).value["in"] == Struct(schema, a=5)
    found = read(kept, replace_null_with_default=False).value
    assert found["in"].get("a") is None
    assert found["in"]["a"] == 5  # the default, as Java's get


def test_without_replacing_null_a_required_field_that_is_not_set_is_an_error() -> None:
    schema = SchemaBuilder.struct().field("a", INT32, default=5).build()
    with pytest.raises(EncodeError, match="topic t, field a: expected int32, got None"):
        written(schema, Struct(schema), replace_null_with_default=False)


def test_a_schema_for_all_messages_reads_payloads_alone() -> None:
    content = '{"type":"struct","fields":[{"type":"int32","field":"a"}]}'
    found = read('{"a":1}', schema_content=content)
    assert found.schema == SchemaBuilder.struct().field("a", INT32).build()
    assert dict(found.value) == {"a": 1}
    with pytest.raises(DecodeError, match="field a: expected int32, got null"):
        read('{"schema":null,"payload":{"a":1}}', schema_content=content)
    assert written(INT32, 1, schema_content=content) == envelope('{"type":"int32","optional":false}', "1")


@pytest.mark.parametrize("value", [True, 5, -1.5, "x", [1, None, {"a": []}], {"a": {"b": 1}}])
def test_data_without_a_schema_comes_back(value: Any) -> None:
    text = written(None, value)
    assert json.loads(text) == {"schema": None, "payload": value}
    assert read(text) == (None, value)
    assert BARE.to_connect_data("t", BARE.from_connect_data("t", None, value)) == (None, value)


def test_data_without_a_schema_is_written_as_java_does() -> None:
    assert written(None, {1: b"\xff", "a": 2}, schemas_enable=False) == '[[1,"/w=="],["a",2]]'
    for value in (Struct(SchemaBuilder.struct().build()), PythonDecimal(1), dt.date(2020, 1, 1), 2**63):
        with pytest.raises(EncodeError, match=r'field \["a"\]\[0\]: data without a schema cannot have'):
            written(None, {"a": [value]})


# The cases that went wrong in Java


@pytest.mark.parametrize(
    "schema",
    [
        Enum.schema("Suit", ["A", "B"], optional=True),
        Enum.schema("Suit", ["A", "B"], default="B"),
        Decimal.schema(2, default=PythonDecimal("1.50")),
        SchemaBuilder.int64().default(1).build(),
        SchemaBuilder.map(INT32, STRING).default({1: "a"}).build(),
        SchemaBuilder.array(INT32).default([]).build(),
        SchemaBuilder.struct("r").field("x", INT32).build(),
        Timestamp.schema(default=dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
    ],
    ids=str,
)
def test_optional_values_and_defaults_of_all_types_come_back(schema: Schema) -> None:
    if schema.name == "r":
        schema = schema.replaced(default=Struct(schema, x=1))
    outer = SchemaBuilder.struct("outer").field("f", schema).field("again", schema).build()
    for replace in (True, False):
        text = written(outer.replaced(optional=True), None, replace_null_with_default=replace)
        assert read(text).schema == outer.replaced(optional=True)
    found = read(written(outer, Struct(outer))).value
    assert found["f"] == schema.default


# What is refused


STRUCT = '{"type":"struct","fields":[{"type":"array","items":{"type":"%s","optional":false},"field":"a"}]}'


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("int32", '"5"'),  # Java reads 0
        ("int32", "2147483648"),  # Java reads -2147483648
        ("int8", "128"),  # Java reads -128
        ("int32", "1.0"),
        ("int64", "true"),
        ("boolean", "1"),  # Java reads false
        ("boolean", '"true"'),
        ("string", "5"),  # Java reads null
        ("float", '"x"'),  # Java reads 0.0
        ("float", "1e39"),
        ("double", "1e999"),
        ("bytes", '"%"'),
        ("bytes", "5"),
        ("int32", "null"),
        ("int32", "{}"),
    ],
)
def test_a_payload_of_another_type_is_refused_with_its_path(kind: str, payload: str) -> None:
    for _ in range(2):  # the second time, the schema is known
        with pytest.raises(DecodeError) as caught:
            CONVERTER.to_connect_data("t", envelope(STRUCT % kind, f'{{"a":[{payload}]}}').encode())
        assert (caught.value.path, caught.value.topic) == ("a[0]", "t")


@pytest.mark.parametrize(
    ("schema", "path", "message"),
    [
        ("5", "schema", "expected a schema, a JSON object, got int 5"),
        ('{"type":"int"}', "schema.type", "expected one of int8"),
        ('{"type":["int8"]}', "schema.type", "expected one of int8"),
        ('{"type":"array"}', "schema.items", "expected a schema"),
        ('{"type":"map","keys":{"type":"int8"}}', "schema.values", "expected a schema"),
        ('{"type":"map","keys":{"type":"struct","fields":[]},"values":{"type":"int8"}}', "schema", "primitive type"),
        ('{"type":"struct"}', "schema.fields", "expected an array"),
        ('{"type":"struct","fields":[{"type":"int8"}]}', "schema.fields[0].field", "expected a string, got NoneType"),
        ('{"type":"struct","fields":[{"type":"int8","field":"a"},{"type":"int8","field":"a"}]}', "schema.fields[1]",
         "a name that no other field has"),
        ('{"type":"int8","optional":"yes"}', "schema.optional", "expected true or false"),
        ('{"type":"int8","name":1}', "schema.name", "expected a string"),
        ('{"type":"int8","version":1.5}', "schema.version", "expected an integer or a string"),
        ('{"type":"int8","parameters":{"a":1}}', "schema", "expected texts as parameters"),
        ('{"type":"int8","default":"x"}', "schema.default", "expected int8"),
        ('{"type":"int8","default":null}', "schema.default", "got null"),
        ('{"type":"string","name":"org.apache.kafka.connect.data.Date"}', "schema", "expected the type int32"),
        ('{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal"}', "schema", "the parameter scale"),
    ],
)  # fmt: skip
def test_an_invalid_schema_is_refused_with_its_path(schema: str, path: str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read(envelope(schema, "1"))
    assert caught.value.path == path
    assert message in caught.value.message


@pytest.mark.parametrize(
    "text",
    ['{"payload":1}', '{"schema":null}', '{"schema":null,"payload":1,"more":1}', "[]", "1", "", "{", '{"a":1}',
     '{"schema":null,"payload":1}x', '{"schema":null,"payload":1,"payload":2}', '{"schema":null,"payload":}'],
)  # fmt: skip
def test_a_message_that_is_not_an_envelope_is_refused(text: str) -> None:
    CONVERTER.to_connect_data("t", b'{"schema":null,"payload":1}')  # known from now on
    for converter in (CONVERTER, JsonConverter()):
        with pytest.raises(DecodeError):
            converter.to_connect_data("t", text.encode())


def test_members_may_come_in_another_order_and_with_spaces() -> None:
    for text in (
        '{"payload":1,"schema":{"optional":false,"type":"int32"}}',
        ' {\n"schema" : {"type" : "int32"} , "payload" : 1 } ',
    ):
        for _ in range(2):
            assert CONVERTER.to_connect_data("t", text.encode()) == (INT32, 1)


def test_a_value_that_does_not_fit_is_refused_with_its_path() -> None:
    inner = SchemaBuilder.struct("in").field("n", SchemaBuilder.map(STRING, INT8)).build()
    schema = SchemaBuilder.struct("out").field("l", SchemaBuilder.array(inner)).build()
    value = Struct(schema, l=[Struct(inner, n={"k": 1})])
    value["l"][0]["n"]["k"] = 300
    none_as_key = r"field \[None\]: a map with string keys is a JSON object"
    for kind, wrong, said in (
        (schema, value, r'topic t, field l\[0\]\.n\["k"\]: expected int8'),
        (schema, Struct(inner, n={}), r"a Struct with this schema, got Schema\{in:STRUCT\}"),
        (schema, {"l": []}, "a Struct with this schema, got dict"),
        (SchemaBuilder.array(INT8).build(), [1, 2, 300], r"field \[2\]: expected int8"),
        (SchemaBuilder.map(OPTIONAL_STRING, INT8).build(), {None: 1}, none_as_key),
    ):
        with pytest.raises(EncodeError, match=said):
            written(kind, wrong)


def test_a_map_with_other_keys_than_strings_may_have_none_as_a_key() -> None:
    assert written(SchemaBuilder.map(OPTIONAL_INT32, INT8).build(), {None: 1, 5: 2}, schemas_enable=False) == (
        "[[null,1],[5,2]]"
    )


def test_a_decimal_has_at_most_4096_bytes() -> None:
    schema = '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"0"}}'
    largest = read(envelope(schema, f'"{base64.b64encode(b"1" * 4096).decode()}"')).value
    assert largest == int.from_bytes(b"1" * 4096, "big")
    with pytest.raises(DecodeError, match="expected a decimal of 1 to 4096 bytes, got 4097"):
        read(envelope(schema, f'"{base64.b64encode(b"1" * 4097).decode()}"'))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"schema.enable": True}, "unknown option schema.enable (hint: did you mean schemas.enable"),
        ({"decimal.format": "TEXT"}, "decimal.format: expected BASE64 or NUMERIC"),
        ({"schemas.enable": "perhaps"}, "schemas.enable: expected true or false"),
        ({"schema.content": "{"}, "schema.content: "),
        ({"schema.content": '{"type":"int"}'}, "schema.content: field schema.type: expected one of int8"),
        ({"schema.content": '{"type":"int8"}', "schemas.enable": "false"}, "no effect with schemas.enable=false"),
    ],
)
def test_an_invalid_option_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        JsonConverter(config)
    assert message in str(caught.value)


def test_a_pickled_converter_keeps_its_options() -> None:
    content = '{"type":"int32"}'
    for config in ({"decimal.format": "NUMERIC"}, {"schemas.enable": False}, {"schema.content": content}):
        converter = JsonConverter(config)
        converter.from_connect_data("t", INT32, 1)
        again = pickle.loads(pickle.dumps(converter))
        assert again.options == converter.options
        message = again.from_connect_data("t", Decimal.schema(0), PythonDecimal(1))
        assert message == converter.from_connect_data("t", Decimal.schema(0), PythonDecimal(1))
    assert again.to_connect_data("t", b"5") == (INT32, 5)


def test_threads_share_a_converter() -> None:
    converter = JsonConverter({"schemas.cache.size": 3})
    schemas = [INT32.replaced(doc=str(number)) for number in range(8)]

    def work(start: int) -> list[bool]:
        found = []
        for number in range(start, start + 400):
            message = converter.from_connect_data("t", schemas[number % 8], number)
            found.append(converter.to_connect_data("t", message) == (schemas[number % 8], number))
        return found

    with ThreadPoolExecutor(4) as pool:
        assert all(all(found) for found in pool.map(work, range(4)))


def test_configure_takes_the_options_of_a_worker_and_ignores_others() -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false", "bootstrap.servers": "x"}, is_key=True)
    assert converter.from_connect_data("t", INT32, 1) == b"1"


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.parametrize("module", [json_converter, json_schema])
def test_a_child_forked_while_another_thread_holds_the_lock_writes_and_reads(module: Any) -> None:
    def work() -> None:
        converter = JsonConverter()
        message = converter.from_connect_data("t", INT64, 7)
        assert converter.to_connect_data("t", message).value == 7

    assert forked_while_held(module._lock(), work) == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_lock_that_its_own_thread_holds_at_a_fork_is_released_in_the_child() -> None:
    lock, child, code = ForkSafeLock(), -1, 1
    try:
        with lock():
            child = os.fork()
        with lock():
            code = 0
    finally:
        if not child:
            os._exit(code)
    assert exit_code(child) == 0
