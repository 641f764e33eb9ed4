"""Hostile messages for the JsonConverter: depth, size, numbers and caches stay within bounds; errors are typed."""

from __future__ import annotations

import contextlib
import json
import tracemalloc

import pytest

from streamnative_serdes.connect import Enum, JsonConverter
from streamnative_serdes.connect.json_schema import MAX_TEXT
from streamnative_serdes.errors import DecodeError

INT = b'{"type":"int32"}'


def read(data: bytes, **config: object) -> object:
    return JsonConverter({key.replace("_", "."): value for key, value in config.items()}).to_connect_data("t", data)


def nested_schema(depth: int) -> bytes:
    return b'{"type":"array","items":' * depth + INT + b"}" * depth


@pytest.mark.parametrize("depth", [300, 5_000, 100_000])
def test_a_deep_payload_or_schema_is_refused(depth: int) -> None:
    for data in (
        b'{"schema":null,"payload":' + b"[" * depth + b"]" * depth + b"}",
        b'{"schema":null,"payload":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}",
        b'{"schema":' + nested_schema(depth) + b',"payload":1}',
        b'{"schema":null,"payload":' + b"[" * depth,
    ):
        with pytest.raises(DecodeError):
            read(data)


def test_a_schema_as_deep_as_allowed_is_read_or_refused_by_a_typed_error() -> None:
    data = b'{"schema":' + nested_schema(900) + b',"payload":' + b"[" * 900 + b"1" + b"]" * 900 + b"}"
    converter = JsonConverter({"max.depth": 1000})
    for _ in range(2):
        try:
            converter.to_connect_data("t", data)
        except DecodeError as error:
            assert "nested" in error.message


def test_the_depth_that_is_allowed_counts_the_envelope_whether_its_schema_is_known_or_not() -> None:
    for depth in (8, 9):
        converter = JsonConverter({"max.depth": 9})
        data = [b'{"schema":null,"payload":' + b"[" * n + b"]" * n + b"}" for n in (0, depth)]
        data[0] = b'{"schema":null,"payload":1}'
        answers = []
        for first in (data[1:], data):
            for message in first:
                try:
                    answers.append(converter.to_connect_data("t", message).schema is None)
                except DecodeError:
                    answers.append(False)
        assert answers == [depth == 8, True, depth == 8]


def test_memory_is_bounded_by_the_message() -> None:
    items = b'{"schema":null,"payload":[' + b"0," * 100_000 + b"0]}"
    fields = b",".join(b'{"type":"int32","field":"%d"}' % number for number in range(3_000))
    schema = b'{"schema":{"type":"struct","fields":[' + fields + b']},"payload":{}}'
    for data in (items, schema):
        tracemalloc.start()
        with contextlib.suppress(DecodeError):
            read(data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 60 * len(data)


def test_a_small_message_does_not_become_large_by_defaults() -> None:
    default = "x" * 100_000
    schema = b'{"type":"struct","fields":[{"type":"array","items":{"type":"string","default":"%s"},"field":"a"}]}'
    data = b'{"schema":' + schema % default.encode() + b',"payload":{"a":[' + b"null," * 10_000 + b"null]}}"
    tracemalloc.start()
    read(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * len(data)


@pytest.mark.parametrize(
    "payload",
    [b"1" * 100_000, b"-" + b"9" * 100_000, b"1e999999999", b"1E-999999999", b"0." + b"1" * 100_000],
)
def test_long_numbers_are_refused_at_once(payload: bytes) -> None:
    decimal = b'{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"%s"}}'
    for schema in (INT, b"null", decimal % b"0", decimal % b"2147483647", decimal % b"-2147483648"):
        try:
            read(b'{"schema":' + schema + b',"payload":' + payload + b"}")
        except DecodeError:
            continue
        assert schema == b"null"
        assert payload == b"1E-999999999"  # a float: 0.0


def test_the_number_of_an_enums_symbol_may_be_any_text() -> None:
    name = "org.apache.kafka.connect.data.Enum"
    parameters = {name: "e", f"{name}.A": "9" * 5000, f"{name}.B": str(2**31), f"{name}.C": "1", f"{name}.D": "x"}
    schema = {"type": "string", "name": "e", "parameters": parameters}
    found = JsonConverter().to_connect_data("t", json.dumps({"schema": schema, "payload": "A"}).encode())
    assert found.value == "A"
    assert found.schema is not None
    assert Enum.symbols(found.schema) == {"A": 0, "B": 1, "C": 1, "D": 3}


def test_a_long_decimal_is_refused() -> None:
    decimal = b'{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"}}'
    with pytest.raises(DecodeError, match="expected a decimal of 1 to 4096 bytes, got 75000"):
        read(b'{"schema":' + decimal + b',"payload":"' + b"/" * 100_000 + b'"}')


def test_the_cache_of_schemas_is_bounded_by_count_and_by_bytes() -> None:
    converter = JsonConverter({"schemas.cache.size": 10})
    envelopes = converter._now._envelopes
    for number in range(30):
        converter.to_connect_data("t", b'{"schema":{"type":"int32","doc":"%d"},"payload":1}' % number)
    assert len(envelopes) == 10
    large = b"x" * (MAX_TEXT // 3)
    for number in range(6):
        converter.to_connect_data("t", b'{"schema":{"type":"int32","doc":"%d%s"},"payload":1}' % (number, large))
        assert sum(map(len, envelopes._known)) <= MAX_TEXT
    assert len(envelopes) == 2
    huge = b"x" * (MAX_TEXT + 1)
    assert read(b'{"schema":{"type":"int32","doc":"%s"},"payload":1}' % huge)


def test_no_schema_is_kept_if_the_cache_has_no_room() -> None:
    converter = JsonConverter({"schemas.cache.size": 0})
    for _ in range(2):
        assert converter.to_connect_data("t", b'{"schema":{"type":"int32"},"payload":1}').value == 1
    assert len(converter._now._envelopes) == 0


@pytest.mark.parametrize(
    "data",
    [b"\x00\x00\x00\x00\x01\x02", b"\x03\x04" + bytes(9), b"\xff\xfe{", b'{"schema":null,"payload":"\xff"}', b"\x00"],
)
def test_other_formats_are_refused(data: bytes) -> None:
    converter = JsonConverter()
    converter.to_connect_data("t", b'{"schema":null,"payload":"x"}')
    with pytest.raises(DecodeError):
        converter.to_connect_data("t", data)
