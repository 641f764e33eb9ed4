"""Our bytes against Apache Avro's own Python library: the same where both know the type.

Not compared, each because Apache's avro 1.12 for Python has it otherwise:
    uuid                                     it refuses UUID objects
    decimal                                  it refuses a number whose exponent is not that of the schema's scale
    local-timestamp-*, *-nanos, big-decimal, duration    unknown to it
    unions as it writes them                 it takes False for a double, and b"x" for bytes where a fixed fits first:
                                             there only what it reads is compared
"""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import pytest
from avro_strategies import schema_and_datum, unions
from hypothesis import given, settings

from streamnative_serdes.codec import Codec

avro_io = pytest.importorskip("avro.io")
avro_schema = pytest.importorskip("avro.schema")

KNOWN = frozenset({"date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros"})


def parsed(schema: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return avro_schema.parse(json.dumps(schema))


def theirs(schema: Any, datum: Any) -> bytes:
    out = io.BytesIO()
    avro_io.DatumWriter(parsed(schema)).write(datum, avro_io.BinaryEncoder(out))
    return out.getvalue()


def read_by_them(schema: Any, data: bytes) -> Any:
    return avro_io.DatumReader(parsed(schema)).read(avro_io.BinaryDecoder(io.BytesIO(data)))


@given(schema_and_datum(KNOWN))
@settings(max_examples=500)
def test_apache_avro_writes_the_same_bytes_and_reads_ours(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = codec.encode(datum)

    assert any(unions(schema)) or data == theirs(schema, datum)
    assert codec.decode(data) == read_by_them(schema, data)
