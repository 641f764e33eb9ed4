"""Schema resolution against Java: for every change of a schema, equal values and equal refusals.

Known differences, each intended and named below; docs/avro-conformance.md gives the reasons:
    not_utf8                bytes that are read as text must be UTF-8; Java checks when the text is used
    two_branches_one_name   aliases give two branches of the writer's union the same name; Java refuses the schemas
    other_units             we convert a time to the reader's unit, Java keeps the number
    no_empty_default        Java's fast reader cannot fill in [] or {} for a union
    padded                  we read an int in more than five bytes if its value fits
    broken                  Java's compatibility check fails for some recursive records that lack a field
"""

from __future__ import annotations

from typing import Any

from avro_evolution import defaulted_record, logical_names, writer_reader_datum
from avro_strategies import EDITS, edited
from defaults import taken_by_us
from hypothesis import given
from hypothesis import strategies as st
from java_oracle import JavaAvro, Read, RefusedError
from java_values import same

from examples import examples
from streamnative_serdes._broker_rules.compatibility import can_read
from streamnative_serdes._broker_rules.java_avro import check_defaults
from streamnative_serdes._broker_rules.refusals import BrokerError
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, SchemaError

Sample = tuple[Any, Any, Any]


def outcome(work: Any, *arguments: Any) -> Any:
    """Return the result of ``work``, or its error."""
    try:
        return work(*arguments)
    except RefusedError as error:
        # If Java does not accept the schema, or cannot write what it read, the test itself is wrong.
        assert error.stage in ("read", "can-read"), error
        return error
    except (SchemaError, DecodeError) as error:
        return error


def read_by_us(writer: Any, reader: Any, data: bytes, **options: Any) -> Any:
    return Codec(writer, reader, **options).decode(data)


def refused(result: Any) -> bool:
    return isinstance(result, RefusedError | SchemaError | DecodeError)


def not_utf8(ours: Any) -> bool:
    return "expected text in UTF-8" in str(ours)


def two_branches_one_name(theirs: Any) -> bool:
    return "Duplicate in union" in str(theirs)


def no_empty_default(theirs: Any) -> bool:
    return "Not an array: [" in str(theirs) or "Not a map: [" in str(theirs)


def padded(theirs: Any) -> bool:
    return "InvalidNumberEncodingException" in str(theirs)


def broken(theirs: Any) -> bool:
    return "NullPointerException" in str(theirs)


def other_units(writer: Any, reader: Any) -> bool:
    times = {name for name in logical_names([writer, reader]) if "time" in name}
    return len({name.rpartition("-")[2] for name in times}) > 1


@given(sample=writer_reader_datum(any_floats=True))
@examples(600)
def test_we_read_and_refuse_the_same_data_as_java(java: JavaAvro, sample: Sample) -> None:
    writer, reader, datum = sample
    data = Codec(writer).encode(datum)
    raw = {"avro_logical_types": False}
    theirs = outcome(java.read, writer, data, reader)
    ours = outcome(lambda: read_by_us(writer, reader, data, **raw))
    fast = outcome(java.read, writer, data, reader, "fast")

    if refused(ours) or refused(theirs):
        assert not_utf8(ours) or two_branches_one_name(theirs) or refused(ours) == refused(theirs), (ours, theirs)
        return
    assert same(ours, theirs.value)
    assert no_empty_default(fast) or same(ours, fast.value, ordered=False)
    # The names of records show which branch of a union was chosen.
    named = read_by_us(writer, reader, data, return_record_name=True, **raw)
    assert same(named, Codec(reader, return_record_name=True, **raw).decode(theirs.written))


@given(sample=writer_reader_datum())
@examples(300)
def test_logical_types_come_from_the_readers_schema_as_in_java(java: JavaAvro, sample: Sample) -> None:
    writer, reader, datum = sample
    data = Codec(writer).encode(datum)
    theirs = outcome(java.read, writer, data, reader)
    if not isinstance(theirs, Read):
        assert refused(outcome(read_by_us, writer, reader, data)) or two_branches_one_name(theirs)
        return

    ours = outcome(read_by_us, writer, reader, data)
    expected = outcome(Codec(reader).decode, theirs.written)
    if refused(ours) or refused(expected):
        assert not_utf8(ours) or other_units(writer, reader) or refused(ours) == refused(expected), ours
    else:
        assert same(ours, expected) or other_units(writer, reader)


@given(sample=writer_reader_datum(), damage=st.lists(EDITS, min_size=1, max_size=6))
@examples(200)
def test_damaged_bytes_that_we_read_give_the_value_that_java_reads(java: JavaAvro, sample: Sample, damage: Any) -> None:
    writer, reader, datum = sample
    data = Codec(writer).encode(datum)
    for edits in damage:
        message = edited(data, edits)
        ours = outcome(lambda message=message: read_by_us(writer, reader, message, avro_logical_types=False))
        if not refused(ours):
            theirs = outcome(java.read, writer, message, reader)
            assert padded(theirs) or two_branches_one_name(theirs) or same(ours, theirs.value)


@given(record=defaulted_record())
@examples(300)
def test_defaults_are_encoded_as_java_encodes_them(java: JavaAvro, record: Any) -> None:
    nothing = {**record, "fields": []}

    assert Codec(record).encode({}) == java.read(nothing, b"", record).written


@given(record=defaulted_record())
@examples(300)
def test_our_check_of_defaults_agrees_with_the_local_registry(java: JavaAvro, record: Any) -> None:
    java.canonical(record, strict=True)  # Avro 1.12 accepts each of them
    try:
        check_defaults(parse(record))
    except BrokerError as error:
        assert "Invalid default for field" in str(error)
        assert not taken_by_us(record)
    else:
        assert taken_by_us(record)


@given(sample=writer_reader_datum())
@examples(300)
def test_the_local_registry_judges_compatibility_as_the_broker_does(java: JavaAvro, sample: Sample) -> None:
    writer, reader, _ = sample
    theirs = outcome(java.can_read, writer, reader)
    try:
        ours = can_read(parse(writer), parse(reader))
    except BrokerError as error:
        # Avro 1.11 in the broker encodes a union's default as its first branch, Avro 1.12 as a branch that fits.
        assert str(error) in str(theirs) or "default" in str(error) or "Integer.intValue" in str(error)
    else:
        assert ours == (False if broken(theirs) else theirs)
