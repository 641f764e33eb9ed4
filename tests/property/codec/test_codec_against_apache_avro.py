"""Our bytes against Apache Avro's own Python library: the same where both know the type.

Not compared, because Apache's avro 1.12 for Python differs:
    uuid                        it refuses UUID objects
    decimal                     it writes 1.5 as 0.15 with a scale of 2, and refuses 1.555
    local-timestamp-*, *-nanos, big-decimal, duration    it does not know them
    encoding of unions          it accepts False as a double, and writes b"x" as bytes where a fixed matches first;
                                for unions, only decoding is compared
    schema resolution           it knows neither aliases nor enum defaults, so only gentle changes are compared; it also
                                refuses changed items of arrays and maps
"""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import pytest
from avro_evolution import parts, writer_reader_datum
from avro_strategies import schema_and_datum, unions
from hypothesis import given

from examples import examples
from streamnative_serdes.codec import Codec

avro_io = pytest.importorskip("avro.io")
avro_schema = pytest.importorskip("avro.schema")
avro_errors = pytest.importorskip("avro.errors")

KNOWN = frozenset({"date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros"})


def parsed(schema: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return avro_schema.parse(json.dumps(schema))


def theirs(schema: Any, datum: Any) -> bytes:
    out = io.BytesIO()
    avro_io.DatumWriter(parsed(schema)).write(datum, avro_io.BinaryEncoder(out))
    return out.getvalue()


def read_by_them(schema: Any, data: bytes, reader: Any = None) -> Any:
    other = None if reader is None else parsed(reader)
    return avro_io.DatumReader(parsed(schema), other).read(avro_io.BinaryDecoder(io.BytesIO(data)))


@given(schema_and_datum(KNOWN))
@examples(500)
def test_apache_avro_writes_the_same_bytes_and_reads_ours(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    codec = Codec(schema)
    data = codec.encode(datum)

    assert any(unions(schema)) or data == theirs(schema, datum)
    assert codec.decode(data) == read_by_them(schema, data)


@given(writer_reader_datum(frozenset({"date"}), gentle=True))
@examples(300)
def test_apache_avro_resolves_a_gently_changed_schema_as_we_do_by_java_rules(sample: tuple[Any, Any, Any]) -> None:
    writer, reader, datum = sample
    data = Codec(writer).encode(datum)
    ours = Codec(writer, reader).decode(data)
    try:
        theirs = read_by_them(writer, data, reader)
    except avro_errors.SchemaResolutionException:
        assert any(isinstance(part, dict) and part["type"] in ("array", "map") for part in parts(writer))
        return
    assert ours == theirs
