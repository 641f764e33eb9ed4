"""JSON of the command line: any data becomes JSON and, from that, the same bytes again.

Only the payload of a NaN is lost, since JSON has no notation for it.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

from avro_strategies import ALL_LOGICAL, Maker, schema_and_datum
from hypothesis import example, given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes._schema import parse
from streamnative_serdes.cli.avro_json import reader_of, writer_of
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
    line = json_text(writer_of(parsed, {})(body))
    datum = reader_of(parsed.root)(json.loads(line))
    return Codec(parsed, avro_logical_types=False, validate_strict=True).encode(datum)


def with_plain_nan(datum: Any) -> Any:
    """The datum, with the plain NaN in place of each NaN that has a payload or a sign."""
    if isinstance(datum, dict):
        return {key: with_plain_nan(value) for key, value in datum.items()}
    if type(datum) in (list, tuple):
        return type(datum)(map(with_plain_nan, datum))
    return math.nan if isinstance(datum, float) and math.isnan(datum) else datum


def check(schema: Any, datum: Any) -> None:
    codec = Codec(schema)
    assert there_and_back(schema, codec.encode(datum)) == codec.encode(with_plain_nan(datum))


NAN_WITH_PAYLOAD, NEGATIVE_NAN = struct.unpack(">dd", bytes.fromhex("7ff8000000000001fff8000000000000"))


@examples(300)
@given(schema_and_datum(any_floats=True))
@example(("double", NAN_WITH_PAYLOAD))
@example((["null", {"type": "array", "items": "float"}], [NEGATIVE_NAN, 1.5]))
def test_data_becomes_json_and_the_same_bytes_again(sample: tuple[Any, Any]) -> None:
    check(*sample)


@examples(300)
@given(with_mixed_unions())
@example((["float", "double"], NAN_WITH_PAYLOAD))
def test_the_branch_of_a_union_is_kept(sample: tuple[Any, Any]) -> None:
    check(*sample)
