"""JSON of the command line: any data becomes JSON and, from that, the same bytes again."""

from __future__ import annotations

import json
from typing import Any

from avro_strategies import ALL_LOGICAL, Maker, schema_and_datum
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes._schema import parse
from streamnative_serdes.cli.avro_json import JsonWriter, reader_of
from streamnative_serdes.cli.output import json_text
from streamnative_serdes.codec import Codec


@st.composite
def with_mixed_unions(draw: Any) -> tuple[Any, Any]:
    """Unions of types whose data look alike, such as int and long: the codec itself picks the branch when it writes."""
    maker = Maker(draw, ALL_LOGICAL, True)
    maker.mixed = True
    schema, data = maker.type(3)
    return schema, draw(data)


def there_and_back(schema: Any, body: bytes) -> bytes:
    parsed = parse(schema)
    line = json_text(JsonWriter(parsed, {}).write(body))
    datum = reader_of(parsed)(json.loads(line))
    return Codec(parsed, avro_logical_types=False, validate_strict=True).encode(datum)


@examples(300)
@given(schema_and_datum(any_floats=True))
def test_data_becomes_json_and_the_same_bytes_again(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    body = Codec(schema).encode(datum)
    assert there_and_back(schema, body) == body


@examples(300)
@given(with_mixed_unions())
def test_the_branch_of_a_union_is_kept(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    body = Codec(schema).encode(datum)
    assert there_and_back(schema, body) == body
