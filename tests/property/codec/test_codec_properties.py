"""Properties of every schema and datum: round trip, the end of a datum, and bad bytes only raise DecodeError."""

from __future__ import annotations

import json
from typing import Any

from avro_strategies import schema_and_data, schema_and_datum
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError


@given(schema_and_datum())
@examples(500)
def test_a_datum_is_read_back_equal(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = codec.encode(datum)

    back = codec.decode(data)
    assert back == datum
    assert codec.encode(back) == data
    assert codec.skip(data) == len(data)
    assert codec.skip(b"\x80" + data + b"\x80", 1) == len(data) + 1
    assert codec.is_datum(data)
    assert not codec.is_datum(data + b"\0")


@given(schema_and_datum())
@examples(200)
def test_every_strict_prefix_is_a_decode_error(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = codec.encode(datum)

    for end in range(min(len(data), 200)):
        for read in (codec.decode, codec.skip):
            try:
                got = read(data[:end])
            except DecodeError as error:
                assert error.offset is not None
                assert error.offset <= end
            else:
                raise AssertionError(f"{read.__name__} of {data[:end]!r} gave {got!r}")
        assert not codec.is_datum(data[:end])


@given(schema_and_datum(), st.data())
@examples(300)
def test_every_changed_byte_gives_a_value_or_a_decode_error(sample: tuple[Any, Any], draw: st.DataObject) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = bytearray(codec.encode(datum))

    for place in range(min(len(data), 60)):
        before = data[place]
        for byte in {0, 1, 0x7F, 0x80, 0xFF, before ^ 1, before ^ 0x80, draw.draw(st.integers(0, 255))}:
            data[place] = byte
            assert codec.is_datum(data) == skips_whole(codec, data)
            try:
                value = codec.decode(data)
            except DecodeError:
                continue
            # skip jumps over blocks, so it may accept more than decode; if both accept, they must end at the same byte.
            assert codec.skip(data) == len(data)
            assert codec.decode(data) == value or value != value or "nan" in repr(value)
        data[place] = before


@given(schema_and_data(), st.binary(max_size=60))
@examples(500)
def test_garbage_gives_a_value_or_a_decode_error(sample: tuple[Any, Any], data: bytes) -> None:
    codec = Codec(sample[0])
    assert codec.is_datum(data) == skips_whole(codec, data)
    try:
        value = codec.decode(data)
    except DecodeError:
        return
    assert codec.skip(data) == len(data)
    try:
        again = codec.encode(value)
    except EncodeError as error:  # a decimal may have more digits than its precision when it is read
        assert "cannot hold" in error.message
        assert "digits" in error.message
        return
    assert codec.decode(again) == value or "nan" in repr(value)


@given(schema_and_data(), schema_and_datum())
@examples(300)
def test_a_datum_of_another_schema_gives_bytes_or_an_encode_error(
    sample: tuple[Any, Any], other: tuple[Any, Any]
) -> None:
    codec = Codec(sample[0])
    try:
        data = codec.encode(other[1])
    except EncodeError as error:
        assert error.path is not None
        return
    codec.decode(data)  # the encoded bytes can be read


@given(schema_and_data())
@examples(300)
def test_a_schema_means_the_same_as_text_as_dict_and_in_canonical_form(sample: tuple[Any, Any]) -> None:
    parsed = parse(sample[0])

    assert parse(json.dumps(sample[0])).same_as(parsed)
    assert parse(parsed).root is parsed.root
    assert parse(parsed.text, strict=False).same_as(parsed)
    assert parse(parsed.canonical_form()).canonical_form() == parsed.canonical_form()


def skips_whole(codec: Codec, data: bytes | bytearray) -> bool:
    try:
        return codec.skip(data) == len(data)
    except DecodeError:
        return False
