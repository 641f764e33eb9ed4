"""The canonical form of data: equal values have equal bytes, which any codec of the schema reads as the same value."""

from __future__ import annotations

from typing import Any

from avro_strategies import schema_and_datum, without_logical_types
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError
from streamnative_serdes.migration.schemas.canonical import CanonicalForm


@given(schema_and_datum())
@examples(500)
def test_the_canonical_bytes_are_a_datum_with_the_same_value(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = codec.encode(datum)
    form = CanonicalForm(parse(schema))

    canonical = form.of(data)
    assert codec.decode(canonical) == codec.decode(data)
    assert form.of(canonical) == canonical
    assert len(canonical) == len(data)
    if '"map"' not in parse(schema).text:  # entries of maps are sorted; all else is encoded in one way by ours
        assert canonical == data


@given(schema_and_datum())
@examples(200)
def test_logical_types_do_not_change_the_canonical_bytes(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    data = Codec(schema).encode(datum)
    plain = CanonicalForm(parse(without_logical_types(schema), strict=False))
    assert plain.of(data) == CanonicalForm(parse(schema)).of(data)


@given(schema_and_datum(), st.data())
@examples(300)
def test_a_changed_byte_is_another_canonical_form_unless_the_value_is_equal(
    sample: tuple[Any, Any], draw: st.DataObject
) -> None:
    schema, datum = sample
    codec = Codec(schema, avro_logical_types=False, return_record_name=True)
    data = bytearray(Codec(schema).encode(datum))
    if not data:
        return
    before = bytes(data)
    data[draw.draw(st.integers(0, len(data) - 1))] ^= draw.draw(st.integers(1, 255))
    form = CanonicalForm(parse(schema))
    try:
        changed = form.of(bytes(data))
    except DecodeError:
        return
    if form.of(before) == changed:
        assert repr(codec.decode(before)) == repr(codec.decode(changed))
        assert repr(codec.decode(before)) == repr(codec.decode(bytes(data))) or '"map"' in parse(schema).text
