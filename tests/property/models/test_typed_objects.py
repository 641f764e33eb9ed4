"""Properties of every class and object: round trip, the bytes of the equal dict, extended classes read old data."""

from __future__ import annotations

import dataclasses
from typing import Any

from class_strategies import as_data, class_and_object
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.models import AvroClass, schema_of, shapes_to_read, shapes_to_write
from streamnative_serdes.models.derive import reading_schema_of


@given(class_and_object(), st.booleans())
@examples(120)
def test_an_object_is_read_back_equal(sample: tuple[type, Any], allow_null: bool) -> None:
    cls, value = sample
    schema = parse(schema_of(cls, allow_null=allow_null))
    data = Codec(schema, shapes=shapes_to_write(cls, schema)).encode(value)

    back = Codec(schema, shapes=shapes_to_read(cls, schema)).decode(data)
    assert type(back) is cls
    assert back == value


@given(class_and_object(), st.booleans())
@examples(80)
def test_an_object_is_encoded_as_the_equal_dict(sample: tuple[type, Any], allow_null: bool) -> None:
    cls, value = sample
    schema = parse(schema_of(cls, allow_null=allow_null))
    by_class = Codec(schema, shapes=shapes_to_write(cls, schema)).encode(value)
    assert by_class == Codec(schema).encode(as_data(value))


@given(class_and_object(), st.booleans(), st.booleans())
@examples(80)
def test_a_class_with_an_added_field_reads_data_without_that_field(
    sample: tuple[type, Any], write_nulls: bool, read_nulls: bool
) -> None:
    cls, value = sample
    later = dataclasses.make_dataclass(
        "Later",
        [("before", cls), ("added", list[str], dataclasses.field(default_factory=lambda: ["new"]))],
        namespace={"__avro__": AvroClass(name="Holder")},
    )
    earlier = dataclasses.make_dataclass("Holder", [("before", cls)])
    writer = parse(schema_of(earlier, allow_null=write_nulls))
    reader = parse(reading_schema_of(later, allow_null=read_nulls))
    data = Codec(writer, shapes=shapes_to_write(earlier, writer)).encode(earlier(value))

    back = Codec(writer, reader, shapes=shapes_to_read(later, reader)).decode(data)
    assert back == later(value, ["new"])
