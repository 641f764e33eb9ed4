"""Our bytes against Java's Avro: it reads what we write, writes the same, and refuses what we refuse.

Java's writer needs Java objects, so it gets those that Java read from our bytes. If their values equal ours, and Java
writes the same bytes again, then both directions agree.

STRICTER and refused_for_width() list the known differences; docs/avro-conformance.md gives the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from avro_strategies import EDITS, edited, schema_and_datum, without_logical_types
from hypothesis import given
from hypothesis import strategies as st
from java_oracle import JavaAvro, RefusedError
from java_values import same

from examples import examples
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError


@given(sample=schema_and_datum(any_floats=True))
@examples(500)
def test_java_reads_what_we_write_and_writes_the_same_bytes(java: JavaAvro, sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = codec.encode(datum)
    raw = Codec(without_logical_types(schema)).decode(data)

    for flags in ([], ["fast"]):
        theirs = java.read(schema, data, None, *flags)
        assert theirs.left == 0
        assert same(raw, theirs.value, ordered=not flags)
        assert theirs.written == data or flags  # the fast reader does not keep the order of maps
    assert same(codec.decode(data), java.read(schema, data, None, "logical").value)


@given(sample=schema_and_datum())
@examples(300)
def test_we_read_what_java_writes_in_blocks(java: JavaAvro, sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = codec.encode(datum)
    blocks = java.read(schema, data, None, "blocks").written

    assert codec.decode(blocks) == codec.decode(data)
    assert codec.skip(blocks) == len(blocks)


@given(unscaled=st.integers(-(10**60), 10**60), precision=st.integers(2, 9), extra=st.integers(0, 3))
@examples(300)
def test_a_decimal_of_more_digits_than_its_precision_is_read_and_not_written_as_by_java(
    java: JavaAvro, unscaled: int, precision: int, extra: int
) -> None:
    decimal = {"logicalType": "decimal", "precision": precision, "scale": 2}
    raw = unscaled.to_bytes(unscaled.bit_length() // 8 + 1 + extra, "big", signed=True)
    fixed = {"type": "fixed", "name": "F", "size": len(raw), **decimal}
    samples = [({"type": "bytes", **decimal}, Codec("bytes").encode(raw))]
    samples += [(fixed, raw)] if len(raw) >= 4 else []  # the precision fits its size

    for schema, data in samples:
        found = Codec(schema).decode(data)
        assert same(found, java.read(schema, data, None, "logical", "unwritten").value)
        try:
            written = java.read(schema, data, None, "logical").written
        except RefusedError as error:
            assert "Cannot encode decimal with precision" in error.message
            with pytest.raises(EncodeError, match="it has more than"):
                Codec(schema).encode(found)
        else:
            assert Codec(schema).encode(found) == written


# Our errors for bytes that Java reads. Java reads a boolean of 2 as false, drops the bits of a number beyond its width,
# does not check UTF-8 before the text is used, ignores the declared size of a block, leaves bytes after a datum to the
# caller, and has its own limits.
STRICTER = re.compile(
    "expected byte 0 or 1 for a boolean|got a larger one|expected text in UTF-8|expected a block of at most"
    "|do not end at the block's declared size|zero-byte values|nested deeper"
)


@given(sample=schema_and_datum(any_floats=True), damage=st.lists(EDITS, min_size=1, max_size=10))
@examples(300)
def test_damaged_bytes_are_read_alike_or_refused_alike(java: JavaAvro, sample: tuple[Any, Any], damage: Any) -> None:
    data = Codec(sample[0]).encode(sample[1])
    schema = without_logical_types(sample[0])
    codec = Codec(schema)
    for edits in damage:
        message = edited(data, edits)
        try:
            ours = codec.decode(message)
        except DecodeError as error:
            assert stricter(java, schema, message, str(error)) or refused(java, schema, message), (message, error)
        else:
            assert refused_for_width(java, schema, message) or same(ours, java.read(schema, message).value), message


def stricter(java: JavaAvro, schema: Any, message: bytes, error: str) -> bool:
    if "expected the end of the message" in error:
        return java.read(schema, message).left > 0
    return STRICTER.search(error) is not None


def refused(java: JavaAvro, schema: Any, message: bytes, kind: str = "") -> bool:
    """Whether Java does not read the message, because of this exception if it is given."""
    try:
        java.read(schema, message)
    except RefusedError as error:
        return error.kind == kind if kind else error.stage == "read"
    return False


def refused_for_width(java: JavaAvro, schema: Any, message: bytes) -> bool:
    """We accept an int in up to 10 bytes if its value fits 32 bits, Java in up to 5."""
    return refused(java, schema, message, "InvalidNumberEncodingException")


@pytest.mark.parametrize("inner", [{"type": "int"}, ["null", "int"], {"type": "array", "items": "int"}], ids=str)
@pytest.mark.parametrize(
    "around",
    [
        lambda kind: kind,
        lambda kind: {"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]},
        lambda kind: {"type": "array", "items": kind},
        lambda kind: {"type": "map", "values": kind},
        lambda kind: ["string", kind],
    ],
    ids=["root", "field", "items", "values", "branch"],
)
def test_a_type_in_an_object_that_is_an_object_or_a_list_is_refused_as_by_java(
    java: JavaAvro, around: Callable[[Any], Any], inner: Any
) -> None:
    with pytest.raises(RefusedError, match="No type"):
        java.canonical(around({"type": inner}))
    with pytest.raises(SchemaError, match='expected "type" to name a type'):
        parse(around({"type": inner}))


@given(sample=schema_and_datum())
@examples(200)
def test_canonical_forms_equal_those_of_java(java: JavaAvro, sample: tuple[Any, Any]) -> None:
    assert parse(sample[0]).canonical_form() == java.canonical(sample[0], strict=True)
