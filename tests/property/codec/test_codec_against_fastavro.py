"""Our bytes against fastavro's: the same, except where fastavro is wrong.

Not compared, because fastavro 1.13 differs from the specification or lacks the type:
    big-decimal, timestamp-nanos, local-timestamp-nanos   it does not know them
    uuid on fixed(16)                                     it reads bytes
    duration                                              it does not know it; compared as fixed, which may be written
                                                          as bytes in a union
    bytes in a union of bytes or fixed and array          it writes bytes as an array if that branch is first
    text in a union of date and string or enum            it writes text as a date
    unions of several numbers                             it chooses the first that fits, we and Java the exact one
    1.5 or True as int, ints beyond 32 bits, 1e39 as float: it writes them
    defaults: its reader returns bytes as str, and shares one list between records; its writer does not use them
    schema resolution: it follows the specification to the letter, so gentle changes are compared by those rules; it
        fails with a TypeError if moved fields put the name of a type before its definition
"""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest
from avro_evolution import writer_reader_datum
from avro_strategies import ALL_LOGICAL, bare, schema_and_datum, unions
from fastavro.read import SchemaResolutionError
from hypothesis import example, given
from schemas import record

from examples import examples
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import DecodeError

UNKNOWN = {"big-decimal", "timestamp-nanos", "local-timestamp-nanos", "fixed-uuid"}

OLDER = tuple(map(int, fastavro.__version__.split(".")[:2])) < (1, 13)


def theirs(schema: Any, datum: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), datum)
    return out.getvalue()


def read_by_them(schema: Any, data: bytes) -> Any:
    parsed = fastavro.parse_schema(schema)
    return fastavro.schemaless_reader(io.BytesIO(data), parsed, None)


def written_otherwise(branches: list[Any]) -> bool:
    names = [branch if isinstance(branch, str) else branch["type"] for branch in branches]
    logical = [branch.get("logicalType") for branch in branches if isinstance(branch, dict)]
    dates, durations = "date" in logical, "duration" in logical
    texts = any(name.startswith(("string", "enum", "Enum")) for name in names)
    raw = any(name.startswith(("bytes", "fixed", "Fixed")) for name in names)
    return (dates and texts) or ("array" in names and raw) or (durations and "bytes" in names)


@given(schema_and_datum(ALL_LOGICAL - UNKNOWN))
@examples(500)
def test_fastavro_writes_the_same_bytes_and_reads_ours(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = codec.encode(datum)

    assert any(map(written_otherwise, unions(schema))) or data == theirs(schema, bare(datum))
    assert bare(codec.decode(data)) == read_by_them(schema, data)


def test_a_duration_is_written_as_fastavro_writes_its_twelve_bytes() -> None:
    schema = {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}

    assert Codec(schema).encode(Duration(1, 2, 3)) == theirs(schema, bare(Duration(1, 2, 3)))


def same_union(branches: tuple[str, str], value: str | bytes) -> tuple[Any, Any, Any]:
    """A union of the writer's that the reader's schema spells otherwise, and a datum."""
    schemas = [
        record("R", {"name": "field", "type": union}) for union in ([{"type": each} for each in branches], [*branches])
    ]
    return *schemas, {"field": value}


@given(writer_reader_datum(frozenset({"date"}), gentle=True))
@example(same_union(("string", "bytes"), b"\x80"))
@example(same_union(("bytes", "string"), ""))
@examples(300)
def test_fastavro_resolves_a_gently_changed_schema_as_we_do_by_the_specification(sample: tuple[Any, Any, Any]) -> None:
    writer, reader, datum = sample
    data = Codec(writer).encode(datum)
    try:
        ours = Codec(writer, reader, schema_resolution="spec").decode(data)
    except DecodeError as error:
        assert "expected text in UTF-8" in str(
            error
        )  # by the specification, bytes are read as a preceding string branch
        with pytest.raises(UnicodeDecodeError):
            read_as(writer, reader, data)
        return
    try:
        theirs = read_as(writer, reader, data)
    except TypeError:
        return
    except SchemaResolutionError:
        assert OLDER  # it does not find a type whose name the reader's schema has in another place
        return
    assert ours == theirs


def read_as(writer: Any, reader: Any, data: bytes) -> Any:
    """By fastavro, which takes a union for another one if a type is spelled otherwise in it, and resolves it then."""
    written, read = (fastavro.parse_schema(spelled_alike(schema)) for schema in (writer, reader))
    return fastavro.schemaless_reader(io.BytesIO(data), written, read)


def spelled_alike(schema: Any) -> Any:
    """The schema with ``"string"`` in place of ``{"type": "string"}``."""
    if isinstance(schema, list):
        return [spelled_alike(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if set(schema) == {"type"}:
        return spelled_alike(schema["type"])
    inner = ("type", "items", "values", "fields")
    return {name: spelled_alike(part) if name in inner else part for name, part in schema.items()}
