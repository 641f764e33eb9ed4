# ruff: noqa: E501 - programs as text, one case per line
"""No message and no schema crashes the process, exhausts its memory or keeps it busy: each ends in a value or an error."""

from __future__ import annotations

import pytest
from child import run_limited

from streamnative_serdes.codec import Codec

# By name: schema and bytes as Python expressions, and a part of decode's error. They run in a process with 1 GB of memory.
HOSTILE: dict[str, tuple[str, str, str]] = {
    "endless list": ("LIST", "b'\\2' * 100_000", "nested deeper than 256 levels"),
    "endless arrays": ("{'type': 'record', 'name': 'T', 'fields': [{'name': 'c', 'type': {'type': 'array', 'items': 'T'}}]}",
                       "b'\\2' * 100_000", "nested deeper than 256 levels"),
    "endless maps": ("{'type': 'record', 'name': 'T', 'fields': [{'name': 'c', 'type': {'type': 'map', 'values': 'T'}}]}",
                     "b'\\2\\0' * 100_000", "nested deeper than 256 levels"),
    "nulls": ("NULLS", "varint(10**9) + b'\\0'", "zero-byte values"),
    "nulls in many blocks": ("NULLS", "varint(10**6) * 1000 + b'\\0'", "zero-byte values"),
    "nulls in negative blocks": ("NULLS", "(varint(-10**6) + b'\\0') * 1000 + b'\\0'", "zero-byte values"),
    "nulls in nested arrays": ("{'type': 'array', 'items': NULLS}", "varint(1000) + (varint(10**6) + b'\\0') * 1000 + b'\\0'",
                               "zero-byte values"),
    "empty records": ("{'type': 'array', 'items': {'type': 'record', 'name': 'E', 'fields': []}}", "varint(10**9) + b'\\0'",
                      "zero-byte values"),
    "fixed of no bytes": ("{'type': 'array', 'items': {'type': 'fixed', 'name': 'F', 'size': 0}}", "varint(10**9) + b'\\0'",
                          "zero-byte values"),
    "wide records of nulls": ("{'type': 'array', 'items': {'type': 'record', 'name': 'W', 'fields':"
                              " [{'name': f'f{i}', 'type': 'null'} for i in range(200)]}}",
                              "varint(10**6) + b'\\0'", "zero-byte values"),
    "records that double": ("LAUGHS", "b'\\0' * 7 + b'\\2'", "zero-byte values"),
    "array count": ("{'type': 'array', 'items': 'int'}", "varint(2**40) + b'\\2'", "but only 1 bytes remain"),
    "array count wraps": ("{'type': 'array', 'items': 'double'}", "varint(2**61 + 1) + bytes(8)", "but only 8 bytes remain"),
    "least count": ("{'type': 'array', 'items': 'int'}", "varint(-2**63) + b'\\2\\2\\0'", "expected a block"),
    "least count of nulls": ("NULLS", "varint(-2**63) + b'\\0\\0'", "expected a block"),
    "block size": ("{'type': 'array', 'items': 'int'}", "varint(-1) + varint(2**62) + b'\\2\\0'", "expected a block"),
    "negative block size": ("{'type': 'array', 'items': 'int'}", "varint(-1) + varint(-1) + b'\\2\\0'", "expected a block"),
    "least block size": ("{'type': 'map', 'values': 'int'}", "varint(-1) + varint(-2**63) + b'\\2\\0'", "expected a block"),
    "string length": ("'string'", "varint(2**40)", "expected a length"),
    "negative length": ("'bytes'", "varint(-1) + bytes(9)", "expected a length"),
    "least length": ("'bytes'", "varint(-2**63) + bytes(9)", "expected a length"),
    "greatest length": ("'string'", "varint(2**63 - 1) + bytes(9)", "expected a length"),
    "key length": ("{'type': 'map', 'values': 'int'}", "b'\\2' + varint(2**40) + bytes(9)", "expected a length"),
    "large fixed": ("{'type': 'fixed', 'name': 'F', 'size': 2**31 - 1}", "b'x'", "expected 2147483647 bytes, got 1"),
    "overlong number": ("'long'", "b'\\xff' * 10 + b'\\1'", "integer of at most 64 bits"),
    "number of 65 bits": ("'long'", "b'\\xff' * 9 + b'\\2'", "integer of at most 64 bits"),
    "number of 33 bits": ("'int'", "varint(2**31)", "integer of at most 32 bits"),
    "endless number": ("'long'", "b'\\x80' * 1_000_000", "integer of at most 64 bits"),
    "branch": ("['null', 'int', 'string']", "varint(2**40)", "expected a union branch"),
    "negative branch": ("['null', 'int', 'string']", "varint(-1)", "expected a union branch"),
    "least branch": ("['null', 'int']", "varint(-2**63)", "expected a union branch"),
    "symbol": ("{'type': 'enum', 'name': 'E', 'symbols': ['A']}", "varint(1)", "expected a symbol"),
    "negative symbol": ("{'type': 'enum', 'name': 'E', 'symbols': ['A']}", "varint(-2**31)", "expected a symbol"),
    "enum without symbols": ("{'type': 'enum', 'name': 'E', 'symbols': []}", "b'\\0'", "expected a symbol"),
    "huge decimal": ("{'type': 'bytes', 'logicalType': 'decimal', 'precision': 4300}", "sized(b'\\x7f' * 50_000_000)", "digits"),
    "huge big-decimal": ("{'type': 'bytes', 'logicalType': 'big-decimal'}", "sized(sized(b'\\x7f' * 50_000_000) + b'\\0')",
                         "expected a big-decimal of 1 to"),
    "bad text": ("'string'", "sized(b'ok\\xff' * 10_000_000)", "expected text in UTF-8"),
    "surrogate": ("'string'", "sized(b'\\xed\\xa0\\x80')", "expected text in UTF-8"),
    "overlong text": ("'string'", "sized(b'\\xc0\\x80')", "expected text in UTF-8"),
}  # fmt: skip

DECODE = """
LIST = {{"type": "record", "name": "L", "fields": [{{"name": "n", "type": ["null", "L"]}}]}}
NULLS = {{"type": "array", "items": "null"}}
LAUGHS = {{"type": "record", "name": "Top", "fields": [{{"name": "z", "type": {{"type": "record", "name": "R0", "fields": []}}}}] + [
    {{"name": f"r{{k}}", "type": ["null", {{"type": "record", "name": f"R{{k}}", "fields": [
        {{"name": f"f{{i}}", "type": f"R{{k-1}}"}} for i in range(10)]}}]}} for k in range(1, 9)]}}
def around(schema, **more):
    return {{"type": "record", "name": "Around", "fields": [{{"name": "x", "type": schema}}], **more}}
NOTHING = {{"type": "record", "name": "Around", "fields": [{{"name": "y", "type": "int", "default": 1}}]}}
for name, schema, data in [{cases}]:
    print(name, end="\t", flush=True)  # names the case if it crashes the process
    writer, data = around(schema()), data()
    codec, resolving, dropping = Codec(schema()), Codec(writer, around(schema(), unknown=1)), Codec(writer, NOTHING)
    works = (codec.decode, codec.skip, resolving.decode, dropping.decode)
    print(*[said for work in works for said in outcome(work, data)], sep="\t", flush=True)
"""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[str]]:
    """Return, by case, outcome and text of decode, skip, decode with a reader's schema, and with one that skips all.

    All cases run in one process, because starting one takes a while.
    """
    cases = ", ".join(f"({name!r}, lambda: {schema}, lambda: {data})" for name, (schema, data, _) in HOSTILE.items())
    lines = run_limited(DECODE.format(cases=cases)).splitlines()
    return {name: rest for name, *rest in (line.split("\t") for line in lines)}


@pytest.mark.promise("bounded-reads")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_end_in_a_decode_error(name: str, outcomes: dict[str, list[str]]) -> None:
    decoded, text, skipped, skip_text, resolved, resolved_text, dropped, dropped_text = outcomes[name]

    assert decoded == resolved == "DecodeError"
    assert HOSTILE[name][2] in text
    assert HOSTILE[name][2] in resolved_text
    # Skipping does not check text and decimals.
    assert skipped == dropped
    assert skipped == "DecodeError" or name in (
        "huge decimal",
        "huge big-decimal",
        "bad text",
        "surrogate",
        "overlong text",
    )
    assert max(map(len, (text, skip_text, resolved_text, dropped_text))) < 3000


HOSTILE_SCHEMAS = {
    "defaults that double, strict": ("""
        fields = [{"name": "z", "type": {"type": "record", "name": "R0", "fields": [{"name": "a", "type": "null", "default": None}]}}]
        for k in range(1, 40):
            inner = [{"name": f"f{i}", "type": f"R{k-1}", "default": {}} for i in range(2)]
            fields.append({"name": f"r{k}", "type": ["null", {"type": "record", "name": f"R{k}", "fields": inner}]})
        fields.append({"name": "x", "type": "R39", "default": {}})
        print(*outcome(Codec, {"type": "record", "name": "Top", "fields": fields}))
        """, "SchemaError", "too large"),
    "defaults that double, of the registry": ("""
        fields = [{"name": "z", "type": {"type": "record", "name": "R0", "fields": [{"name": "a", "type": "int", "default": 1}]}}]
        for k in range(1, 40):
            inner = [{"name": f"f{i}", "type": f"R{k-1}", "default": {}} for i in range(2)]
            fields.append({"name": f"r{k}", "type": ["null", {"type": "record", "name": f"R{k}", "fields": inner}]})
        fields += [{"name": f"x{i}", "type": "R39", "default": {}} for i in range(2000)]
        codec = Codec(parse({"type": "record", "name": "Top", "fields": fields}, strict=False))
        print(*outcome(codec.encode, {"z": {}}))
        """, "EncodeError", "the field is missing and its default"),
    "defaults through unions": ("""
        fields = [{"name": "z", "type": {"type": "record", "name": "A0", "fields": [{"name": "v", "type": "int"}]}},
                  {"name": "y", "type": {"type": "record", "name": "B0", "fields": [{"name": "v", "type": "int"}]}}]
        for k in range(1, 40):
            for name in "AB":
                inner = [{"name": "f", "type": [f"A{k-1}", f"B{k-1}"], "default": {}}]
                fields.append({"name": f"{name}{k}".lower(), "type": ["null", {"type": "record", "name": f"{name}{k}", "fields": inner}]})
        fields.append({"name": "x", "type": "A39", "default": {}})
        schema = {"type": "record", "name": "Top", "fields": fields}
        print(*outcome(Codec, schema))
        outcome(Codec, parse(schema, strict=False))
        """, "SchemaError", "bad default"),
    "defaults of gigabytes": ("""
        inner = {"type": "record", "name": "I", "fields": [{"name": "s", "type": "string", "default": "x" * 1_000_000}]}
        fields = [{"name": "i", "type": inner}, {"name": "a", "type": {"type": "array", "items": "I"}, "default": [{}] * 50_000}]
        codec = Codec(parse({"type": "record", "name": "Top", "fields": fields}, strict=False))
        print(*outcome(codec.encode, {"i": {}}))
        """, "EncodeError", "too large"),
    "an endless default": ("""
        schema = {"type": "record", "name": "L", "fields": [{"name": "n", "type": ["L", "null"], "default": {}}]}
        print(*outcome(Codec, schema))
        print(*outcome(Codec(parse(schema, strict=False)).encode, {"n": None}))
        """, "SchemaError", "matches no branch"),
    "deep text": ("print(*outcome(parse, '[' * 1_000_000))", "SchemaError", "not JSON"),
    "deep arrays": ("""
        schema = "int"
        for _ in range(250): schema = {"type": "array", "items": schema}
        print(*outcome(parse, schema))
        """, "SchemaError", "nested deeper"),
    "deep types of types": ("""
        schema = "int"
        for _ in range(250): schema = {"type": schema}
        print(*outcome(parse, schema))
        """, "SchemaError", 'expected "type" to name a type'),
    "a long chain of names": ("""
        fields = [{"name": "z", "type": {"type": "record", "name": "R0", "fields": []}}]
        fields += [{"name": f"r{k}", "type": {"type": "record", "name": f"R{k}", "fields": [{"name": "f", "type": f"R{k-1}"}]}}
                   for k in range(1, 9000)]
        codec = Codec({"type": "record", "name": "Top", "fields": fields})
        print(*outcome(codec.decode, b""))
        """, "DecodeError", "nested deeper"),
    "many names": ("""
        fields = [{"name": f"f{i}", "type": {"type": "fixed", "name": f"F{i}", "size": 1}} for i in range(10_001)]
        print(*outcome(parse, {"type": "record", "name": "R", "fields": fields}))
        """, "SchemaError", "more than 10000 names"),
    "huge text": ("print(*outcome(parse, '\"' + ' ' * 5_000_000))", "SchemaError", "the limit is"),
    "huge precision": ("print(*outcome(parse, {'type': 'bytes', 'logicalType': 'decimal', 'precision': 10**4000}))",
                       "SchemaError", "precision from 1 to 4300"),
    "huge size": ("print(*outcome(parse, {'type': 'fixed', 'name': 'F', 'size': 10**4000}))", "SchemaError", "needs a size"),
    "huge number": ("print(*outcome(parse, '{\"type\": \"fixed\", \"name\": \"F\", \"size\": ' + '1' * 100_000 + '}'))",
                    "SchemaError", "not JSON"),
}  # fmt: skip


@pytest.mark.promise("limits")
@pytest.mark.parametrize("name", HOSTILE_SCHEMAS)
def test_hostile_schemas_end_in_an_error(name: str) -> None:
    code, kind, text = HOSTILE_SCHEMAS[name]

    first = run_limited(code, seconds=30).splitlines()[0]

    assert first.startswith(kind)
    assert text in first
    assert len(first) < 3000


def test_every_random_message_ends_in_a_value_or_a_decode_error() -> None:
    done = run_limited(
        """
        import random
        L = {"type": "record", "name": "L", "fields": [{"name": "n", "type": ["null", "L", {"type": "array", "items": "L"}]}]}
        schemas = [L, {"type": "array", "items": "null"}, {"type": "map", "values": ["null", "bytes", "string"]},
                   {"type": "array", "items": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 3}},
                   {"type": "array", "items": {"type": "long", "logicalType": "timestamp-micros"}},
                   {"type": "array", "items": ["null", {"type": "bytes", "logicalType": "big-decimal"}, "double"]}]
        rng, values = random.Random(7), 0
        for codec in map(Codec, schemas):
            for _ in range(4000):
                data = bytes(rng.choice((0, 1, 2, 3, 4, 6, 16, 127, 128, 255, rng.randrange(256))) for _ in range(rng.randrange(40)))
                kind, value = outcome(codec.decode, data)
                values += kind == "value"
                if kind == "value":
                    assert codec.skip(data) == len(data), (data, value)
        print(values)
        """
    )
    assert int(done) > 40  # not all of them are errors


@pytest.mark.promise("names-choose-nothing")
def test_names_and_properties_of_a_schema_choose_no_class() -> None:
    """As Java's Avro would do, by the name of the record and by java-class."""
    text = {"type": "string", "java-class": "java.net.URL", "avro.java.string": "String"}
    fields = [{"name": "args", "type": text}, {"name": "__class__", "type": "string"}]
    codec = Codec({"type": "record", "name": "Popen", "namespace": "subprocess", "fields": fields})
    value = codec.decode(b"\x04id\x0ash.py")
    assert value == {"args": "id", "__class__": "sh.py"}
    assert [type(part) for part in (value, *value.values())] == [dict, str, str]
