# ruff: noqa: E501 - programs as text, one case per line
"""No payload and no schema of any type crashes the process, exhausts its memory or keeps it busy."""

from __future__ import annotations

import importlib.util

import pytest
from child import run_limited

# By name: the schema's text and the payload as Python expressions, and a part of the error.
JSON: dict[str, tuple[str, str, str]] = {
    "arrays in arrays": ("None", "b'[' * 5_000_000", "nested deeper than 256 levels"),
    "closed arrays in arrays": ("None", "b'[' * 300 + b']' * 300", "nested deeper than 256 levels"),
    "objects in objects": ("None", "b'{\"a\":' * 1_000_000", "nested deeper than 256 levels"),
    "closed objects in objects": ("None", "b'{\"a\":' * 257 + b'1' + b'}' * 257", "nested deeper than 256 levels"),
    "a list of the schema": ("LIST", "b'{\"n\":' * 100_000", "nested deeper than 256 levels"),
    "a closed list of the schema": ("LIST", "b'{\"n\":' * 900 + b'{}' + b'}' * 900", "nested deeper than 256 levels"),
    "unknown fields that nest": ("LIST", "b'{\"u\":' + b'[' * 600 + b']' * 600 + b'}'", "nested deeper than 256 levels"),
    "a huge integer": ("None", "b'9' * 5_000_000", "number of at most 4300 characters"),
    "a huge negative integer": ("'long'", "b'-' + b'9' * 5_000_000", "number of at most 4300 characters"),
    "a huge fraction": ("'double'", "b'0.' + b'9' * 5_000_000", "number of at most 4300 characters"),
    "a huge exponent": ("'double'", "b'1e' + b'9' * 5_000_000", "number of at most 4300 characters"),
    "a large exponent": ("None", "b'1e999999999'", "a float can hold"),
    "a decimal of a large exponent": ("DECIMAL", "b'1e999999999'", "a number of at most 4300 digits"),
    "a decimal of a small exponent": ("DECIMAL", "b'1e-999999999'", "a number of at most 4300 digits"),
    "a decimal's text of a large exponent": ("DECIMAL", "b'\"1e999999999\"'", "a number of at most 4300 digits"),
    "a decimal's text of many digits": ("DECIMAL", "b'\"' + b'9' * 5_000_000 + b'\"'", "a number of at most 4300 digits"),
    "a decimal in base64 of many digits": ("CONNECT", "b'\"' + b'fw//' * 1_000_000 + b'\"'", "a number of at most 4300 digits"),
    "a timestamp of a large exponent": ("TIMESTAMP", "b'1e999999999'", "timestamp-millis is out of range"),
    "ticks of many digits": ("TIMESTAMP", "b'9' * 4_300", "timestamp-millis is outside"),
    "days of many digits": ("DATE", "b'9' * 4_300", "date is outside"),
    "a date of many digits": ("DATE", "b'[' + b','.join([b'9' * 4_300] * 3) + b']'", "Python's types can hold"),
    "keys twice": ("None", "b'{' + b','.join([b'\"a\":1'] * 1_000_000) + b'}'", "each key once"),
    "a key twice among many": ("None", "b'{' + b','.join(b'\"%d\":1' % (n % 99_999) for n in range(100_000)) + b'}'", "each key once"),
    "wide records of nothing": ("WIDE", "b'[' + b'{},' * 1_500_000 + b'{}]'", "lacks more fields than may be filled in"),
    "records of defaults": ("DEFAULTS", "b'[' + b'{},' * 1_500_000 + b'{}]'", "lacks more fields than may be filled in"),
    "defaults that double": ("LAUGHS", "b'{\"r\":{}}'", "default"),
    "a branch of none": ("UNIONS", "b'[' + b'1.5,' * 100_000 + b'1.5]'", "expected one of"),
    "unions in unions": ("TWINS", "b'{\"n\":' * 200 + b'{\"v\":true}' + b'}' * 200", "v: expected int"),
    "open text": ("None", "b'\"' + b'a' * 5_000_000", "expected JSON"),
    "escapes cut short": ("None", "b'\"' + b'\\\\u' * 1_000_000", "expected JSON"),
    "no UTF-8": ("None", "b'\"' + b'\\xff' * 5_000_000", "expected JSON in UTF-8"),
    "zeros": ("'int'", "bytes(5_000_000)", "expected JSON"),
}  # fmt: skip

PROGRAM = """
import json
from streamnative_serdes._formats import format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.schema_registry import SchemaInfo
LIST = {{"type": "record", "name": "L", "fields": [{{"name": "n", "type": ["null", "L"]}}]}}
DECIMAL = {{"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}}
CONNECT = {{**DECIMAL, "connect.name": "org.apache.kafka.connect.data.Decimal"}}
TIMESTAMP = {{"type": "long", "logicalType": "timestamp-millis"}}
DATE = {{"type": "int", "logicalType": "date"}}
WIDE = {{"type": "array", "items": {{"type": "record", "name": "W", "fields":
    [{{"name": f"f{{i}}", "type": ["null", "int"]}} for i in range(200)]}}}}
DEFAULTS = {{"type": "array", "items": {{"type": "record", "name": "D", "fields":
    [{{"name": "x", "type": {{"type": "array", "items": "int"}}, "default": list(range(10_000))}}]}}}}
FIELDS = [{{"name": "r", "type": {{"type": "record", "name": "R0", "fields": [{{"name": "a", "type": "int", "default": 1}}]}}}}]
for k in range(1, 40):
    inner = [{{"name": f"f{{i}}", "type": f"R{{k-1}}", "default": {{}}}} for i in range(2)]
    FIELDS.append({{"name": f"r{{k}}", "type": ["null", {{"type": "record", "name": f"R{{k}}", "fields": inner}}]}})
LAUGHS = {{"type": "record", "name": "Top", "fields": FIELDS + [{{"name": "x", "type": "R39", "default": {{}}}}]}}
UNIONS = {{"type": "array", "items": [{{"type": "enum", "name": f"E{{i}}", "symbols": ["A"]}} for i in range(50)] + ["int"]}}
TWINS = {{"type": "record", "name": "A", "fields": [{{"name": "v", "type": "int"}}, {{"name": "n", "type": ["null", "A",
    {{"type": "record", "name": "B", "fields": [{{"name": "v", "type": "string"}}, {{"name": "n", "type": ["null", "A", "B"]}}]}}]}}]}}
for name, schema, data in [{cases}]:
    print(name, end="\t", flush=True)  # names the case if it crashes the process
    text = "" if schema is None else json.dumps(schema)
    format = format_of(SchemaInfo(0, "JSON", text), Limits(), {{}})
    print(*[said for _ in range(2) for said in outcome(format.decode, data())], sep="\t", flush=True)
"""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[str]]:
    """Outcome and text of decoding twice, by case. All cases run in one process, because starting one takes a while."""
    cases = ", ".join(f"({name!r}, {schema}, lambda: {data})" for name, (schema, data, _) in JSON.items())
    lines = run_limited(PROGRAM.format(cases=cases), seconds=120).splitlines()
    return {name: rest for name, *rest in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("name", JSON)
def test_hostile_json_ends_in_a_short_decode_error_each_time(name: str, outcomes: dict[str, list[str]]) -> None:
    first, text, second, again = outcomes[name]
    assert first == second == "DecodeError"
    assert JSON[name][2] in text
    assert again == text
    assert len(text) < 1_000


def test_a_message_as_deep_as_the_limit_is_read_and_written() -> None:
    assert "read" in run_limited(
        """
        import json
        from streamnative_serdes._formats import format_of
        from streamnative_serdes._schema import Limits
        from streamnative_serdes.schema_registry import SchemaInfo
        LIST = {"type": "record", "name": "L", "fields": [{"name": "n", "type": ["null", "L"]}]}
        format = format_of(SchemaInfo(0, "JSON", json.dumps(LIST)), Limits(), {})
        data = b'{"n":' * 255 + b'{}' + b'}' * 255
        assert format.encode(format.decode(data)) == data
        deep = format_of(SchemaInfo(0, "JSON", json.dumps(LIST)), Limits(), {"max_depth": 1000})
        kind, text = outcome(deep.decode, b'{"n":' * 999 + b'{}' + b'}' * 999)  # more than Python's stack may hold
        assert kind == "value" or "nested" in text, text
        print("read")
        """
    )


def test_deep_and_wide_schemas_are_compiled_or_refused() -> None:
    said = run_limited(
        """
        import json
        from streamnative_serdes._formats import format_of
        from streamnative_serdes._schema import Limits
        from streamnative_serdes.schema_registry import SchemaInfo
        deep = "int"
        for level in range(190):
            deep = {"type": "array", "items": deep} if level % 2 else {"type": "map", "values": deep}
        wide = {"type": "record", "name": "W", "fields": [{"name": f"f{i}", "type": ["null", "string"]} for i in range(20_000)]}
        chain = {"type": "record", "name": "R0", "fields": []}
        for k in range(1, 60):
            chain = {"type": "record", "name": f"R{k}", "fields": [{"name": "a", "type": chain}, {"name": "b", "type": f"R{k-1}"}]}
        for schema in (deep, wide, chain):
            kind, got = outcome(lambda: format_of(SchemaInfo(0, "JSON", json.dumps(schema)), Limits(), {}).type)
            assert kind in ("value", "SchemaError", "NestedTooDeeplyError"), got
        print("compiled")
        """
    )
    assert "compiled" in said


@pytest.mark.skipif(importlib.util.find_spec("google") is None, reason="the extra protobuf is not installed")
def test_descriptor_bombs_end_in_a_schema_error() -> None:
    said = run_limited(
        """
        import base64, json
        from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
        from streamnative_serdes._formats import format_of
        from streamnative_serdes._schema import Limits
        from streamnative_serdes.schema_registry import SchemaInfo

        def text(data):
            return json.dumps({"fileDescriptorSet": base64.b64encode(data).decode(), "rootMessageTypeName": "M",
                               "rootFileDescriptorName": "m.proto"})

        def of(data):
            return outcome(lambda: format_of(SchemaInfo(0, "PROTOBUF_NATIVE", text(data)), Limits(), {}))

        def sized(data):
            size, length = len(data), b""
            while size > 127:
                length, size = length + bytes([size & 127 | 128]), size >> 7
            return length + bytes([size]) + data

        def file(message, name=b"m.proto"):
            return b"\\x0a" + sized(b"\\x0a" + sized(name) + b"\\x22" + sized(message))

        deep = b"\\x0a\\x01M"
        for _ in range(2_000):
            deep = b"\\x0a\\x01M\\x1a" + sized(deep)
        many = FileDescriptorProto(name="m.proto")
        for number in range(20_000):
            many.message_type.add(name=f"M{number}")
        chain = FileDescriptorSet()
        for number in range(5_000):
            chain.file.add(name=f"{number}.proto", dependency=[f"{number + 1}.proto"])
        chain.file.add(name="5000.proto", dependency=["m.proto"])
        chain.file.add(name="m.proto", dependency=["0.proto"])
        print(*of(file(deep)), sep="\\t")
        print(*of(FileDescriptorSet(file=[many]).SerializeToString()), sep="\\t")
        print(*of(chain.SerializeToString()), sep="\\t")
        print(*of(file(b"\\x0a" + sized(b"x" * 5_000_000))), sep="\\t")
        print(*of(b"\\x0a\\xff\\xff\\xff\\xff\\x07"), sep="\\t")
        # 2 ** 12 fields of a message that has itself as a field: a pool of a few megabytes, and no endless recursion.
        loop = FileDescriptorProto(name="m.proto", syntax="proto3")
        message = loop.message_type.add(name="M")
        for number in range(1, 4_097):
            message.field.add(name=f"f{number}", number=number, type=11, type_name=".M", label=1)
        format = format_of(SchemaInfo(0, "PROTOBUF_NATIVE", text(FileDescriptorSet(file=[loop]).SerializeToString())), Limits(), {})
        print(*outcome(format.decode, b"\\x0b" * 100_000), sep="\\t")
        endless = b""
        for _ in range(2_000):
            endless = b"\\x0a" + sized(endless)
        print(*outcome(format.decode, endless), sep="\\t")
        """
    )
    lines = [line.split("\t") for line in said.splitlines()]
    kinds = [
        "SchemaError",
        "SchemaError",
        "ImportCycleError",
        "SchemaError",
        "SchemaError",
        "DecodeError",
        "DecodeError",
    ]
    assert [kind for kind, _ in lines] == kinds
    for (_, text), expected in zip(
        lines,
        ("FileDescriptorSet", "more than 10000 names", "imports itself", "the limit is", "FileDescriptorSet", "M", "M"),
        strict=True,
    ):
        assert expected in text
        assert len(text) < 700
