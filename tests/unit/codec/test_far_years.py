"""Dates and times that Python does not have: the error names the option that reads and writes them as numbers."""

from __future__ import annotations

from typing import Any

import pytest

from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError

pa = pytest.importorskip("pyarrow")

from streamnative_serdes.arrow import ColumnCodec  # noqa: E402

HINT = "avro.logical.types=false"
FAR = 2**31 - 1, 2**60
CASES = [("int", "date"), ("int", "time-millis"), ("long", "time-micros")]
CASES += [("long", f"{kind}-{unit}") for kind in ("timestamp", "local-timestamp") for unit in ("millis", "micros")]


def record(kind: Any) -> Any:
    return {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}


@pytest.mark.parametrize(("base", "logical"), CASES)
def test_the_error_names_the_option_and_with_it_they_are_numbers(base: str, logical: str) -> None:
    number = FAR[base == "long"]
    schema, data = record({"type": base, "logicalType": logical}), Codec(record(base)).encode({"a": number})
    column = pa.record_batch({"a": pa.array([number], pa.int64())})
    for read in (lambda: Codec(schema).decode(data), lambda: ColumnCodec(schema).decode([data])):
        with pytest.raises(DecodeError) as caught:
            read()
        assert HINT in str(caught.value.hint)
    for write in (lambda: Codec(schema).encode({"a": number}), lambda: ColumnCodec(schema).encode(column)):
        with pytest.raises(EncodeError) as refused:
            write()
        assert HINT in str(refused.value.hint)

    plain, columns = Codec(schema, avro_logical_types=False), ColumnCodec(schema, avro_logical_types=False)
    assert plain.decode(data) == {"a": number}
    assert columns.decode([data]).to_pylist() == [{"a": number}]
    assert columns.arrow_schema.field("a").type == (pa.int32() if base == "int" else pa.int64())
    assert plain.encode({"a": number}) == columns.encode(column)[0].as_py() == data


def test_a_number_that_does_not_fit_its_type_has_no_such_hint() -> None:
    with pytest.raises(EncodeError, match="out of range") as caught:
        ColumnCodec(record("int")).encode(pa.record_batch({"a": pa.array([2**40])}))
    assert caught.value.hint is None
