"""Reading by another schema, against Java: equal values and equal refusals, whatever became of the schema."""

from __future__ import annotations

from typing import Any

from avro_evolution import writer_reader_datum
from hypothesis import given, settings
from java_oracle import JavaAvro, Read, RefusedError
from java_values import same

from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, SchemaError


def read_by_java(java: JavaAvro, writer: Any, data: bytes, reader: Any, *flags: str) -> Read | None:
    """None: Java refuses to read it. That it refuses a schema or to write again fails the test."""
    try:
        return java.read(writer, data, reader, *flags)
    except RefusedError as error:
        assert error.stage == "read", error
        return None


@given(sample=writer_reader_datum(any_floats=True))
@settings(max_examples=1000)
def test_what_java_reads_we_read_alike_and_what_it_refuses_we_refuse(
    java: JavaAvro, sample: tuple[Any, Any, Any]
) -> None:
    writer, reader, datum = sample
    data = Codec(writer).encode(datum)
    theirs = read_by_java(java, writer, data, reader)
    try:
        ours = Codec(writer, reader, avro_logical_types=False).decode(data)
    except (SchemaError, DecodeError) as error:
        assert theirs is None, error
        return

    assert theirs is not None, ours
    assert same(ours, theirs.value)
    # The branches of unions, too: with the names of records, and in what is written again.
    names = {"avro_logical_types": False, "return_record_name": True}
    named = Codec(writer, reader, **names)
    assert same(named.decode(data), Codec(reader, **names).decode(theirs.written))
