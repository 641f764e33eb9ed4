"""Messages that Pulsar's Java client wrote are read value for value, and written byte for byte."""

from __future__ import annotations

import math
from typing import Any

import pytest
from schema_types import Row, golden, same, written

from streamnative_serdes._formats import Format, format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

ROWS = {row.name: row for row in written() if not row.type.startswith("PROTOBUF")}
OBJECTS = [name.removeprefix("JSON ") for name in ROWS if name.startswith("JSON ")]

# Moments that Java's types hold, but Python's do not.
OUT_OF_RANGE = {
    *(f"{kind} {millis}" for kind in ("DATE", "TIME", "TIMESTAMP")
      for millis in (-62135596800001, 253402300800000, -(2**63), 2**63 - 1)),
    *(f"LOCAL_DATE {date}" for date in ("0000-12-31", "-999999999-01-01", "+999999999-12-31")),
    "JSON Times -1000000000-01-01T00:00:00Z", "JSON Times +1000000000-12-31T23:59:59.999999999Z",
}  # fmt: skip

# What is written differs from Java's bytes, and why.
WRITTEN_OTHERWISE = {
    "JSON Times 1970-01-01T00:00:00.000000001Z": "nanoseconds",
    "JSON Times 1969-12-31T23:59:59.999999999Z": "nanoseconds",
    "JSON Times 2013-01-01T05:00:00.123456789Z": "nanoseconds",
    "JSON Times with jsr310": "nanoseconds",
    "JSON Unsorted": "the order of the fields is that of the schema, not that of the class",
    "JSON Renamed": "a field that the schema does not have is left out",
}
# Java writes what the schema does not allow, or does not describe.
NOT_WRITTEN = {
    "JSON Texts with half a surrogate pair": "UTF-8",
    "JSON Spans": "java.time.Duration",
    "JSON Optionals": "java.util.Optional",
    "JSON Collections with null items": "expected string, got NoneType",
    "JSON Person, null not allowed": "expected a mapping for record org.example.Address, got NoneType",
}


def format_for(row: Row) -> Format:
    return format_of(SchemaInfo(0, row.type, row.schema, 0, row.properties), Limits(), {})


@pytest.mark.parametrize("name", ROWS.keys() - OUT_OF_RANGE)
def test_javas_message_is_read_value_for_value(name: str) -> None:
    row = ROWS[name]
    value = format_for(row).decode(row.data)
    expected = row.value
    if name in ("JSON Spans", "JSON Optionals", "JSON Renamed"):
        expected = BESIDE_THE_SCHEMA[name]
    elif name == "STRING half a surrogate pair":
        expected = "a?"  # Java replaced it
    elif name == "JSON Collections with null items":
        expected["counts"].pop("a", None)  # Java leaves out a null value of a map
    elif row.type == "AVRO" and name.startswith(("AVRO OldTimes", "AVRO Spans", "AVRO Optionals")):
        expected = {field: {} for field in expected}  # Java's Avro writes objects of Java's own classes as nothing
    millis = name == "AVRO Times with jsr310" or row.type in ("DATE", "TIME", "TIMESTAMP")
    assert same(value, expected, 1_000_000 if millis else 1_000), value


# Fields of which the schema does not say what they are, and those that it does not have, are plain JSON.
BESIDE_THE_SCHEMA: dict[str, Any] = {
    "JSON Spans": {"duration": 90.000000005, "offset": 1357012800.000000001},
    "JSON Optionals": {"empty": None, "full": "x"},
    "JSON Renamed": {"age": 36, "name": None, "full_name": "Ada"},
}


@pytest.mark.parametrize("name", sorted(OUT_OF_RANGE))
def test_a_moment_that_python_cannot_hold_is_an_error_that_says_so(name: str) -> None:
    with pytest.raises(DecodeError, match="outside of the years 1 to 9999"):
        format_for(ROWS[name]).decode(ROWS[name].data)


@pytest.mark.parametrize("name", ROWS.keys() - OUT_OF_RANGE - NOT_WRITTEN.keys() - WRITTEN_OTHERWISE.keys())
def test_what_was_read_is_written_byte_for_byte_as_java_wrote_it(name: str) -> None:
    format = format_for(ROWS[name])
    assert format.encode(format.decode(ROWS[name].data)) == ROWS[name].data


@pytest.mark.parametrize("name", WRITTEN_OTHERWISE)
def test_what_is_written_otherwise_is_read_back_as_the_schema_has_it(name: str) -> None:
    format = format_for(ROWS[name])
    value = format.decode(ROWS[name].data)
    again = format.encode(value)
    assert again != ROWS[name].data
    micros = {"at"} if name != "JSON Times with jsr310" else set()
    expected = {field: item if field in micros else rounded(item) for field, item in value.items()}
    expected.pop("full_name", None)
    assert same(format.decode(again), expected, 1)
    assert format.encode(format.decode(again)) == again


def rounded(value: Any) -> Any:
    """The value in milliseconds, to which all fields but ``at`` are rounded down on writing."""
    return value.replace(microsecond=value.microsecond // 1000 * 1000) if hasattr(value, "microsecond") else value


@pytest.mark.parametrize("name", NOT_WRITTEN)
def test_what_the_schema_does_not_allow_or_describe_is_not_written(name: str) -> None:
    format = format_for(ROWS[name])
    with pytest.raises(EncodeError, match=NOT_WRITTEN[name]):
        format.encode(format.decode(ROWS[name].data))


def test_an_object_reads_the_same_from_json_and_from_avro() -> None:
    compared = 0
    for name in OBJECTS:
        if f"AVRO {name}" in ROWS and name not in ("Times with jsr310", "OldTimes", "Spans", "Optionals", "Renamed"):
            json, avro = (
                format_for(ROWS[f"{kind} {name}"]).decode(ROWS[f"{kind} {name}"].data) for kind in ("JSON", "AVRO")
            )
            assert same(json, avro, 1), name
            assert list(json) == list(avro)
            compared += 1
    assert compared > 20


def test_java_reads_as_many_messages_of_each_type_as_there_are() -> None:
    assert {row.type for row in written()} == {
        "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "STRING", "BYTES", "NONE", "DATE", "TIME",
        "TIMESTAMP", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME", "JSON", "AVRO", "PROTOBUF",
        "PROTOBUF_NATIVE",
    }  # fmt: skip
    assert math.isnan(golden()["FLOAT NaN"].value)
    refused = {row.name: row.refused for row in golden().values() if row.refused}
    assert all(name.startswith("AVRO ") for name in refused)  # Schema.JSON writes everything


def test_a_protobuf_schema_is_refused_with_a_way_out() -> None:
    row = next(row for row in written() if row.type == "PROTOBUF")
    with pytest.raises(SchemaError, match=r"schema type PROTOBUF cannot be read .*hint: .*PROTOBUF_NATIVE"):
        format_for(row)
