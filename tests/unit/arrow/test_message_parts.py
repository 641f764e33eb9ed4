"""Columns of headers, partitions and timestamps as a client's producer takes them; dead letters of a batch."""

from __future__ import annotations

import pytest

pa = pytest.importorskip("pyarrow")

from streamnative_serdes.arrow.kafka_columns import (  # noqa: E402 - requires pyarrow  # noqa: E402
    ANY_PARTITION,
    DEAD_LETTER,
    NOW,
    bytes_of,
    dead_letters,
    headers_of,
    moments_of,
    named_headers_of,
    partitions_of,
)
from streamnative_serdes.arrow.pieces import table_of  # noqa: E402
from streamnative_serdes.errors import EncodeError  # noqa: E402

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
US = pa.timestamp("us", "UTC")


def test_keys_are_bytes_text_or_nothing() -> None:
    assert list(bytes_of(pa.array(["é", None]))) == ["é".encode(), None]
    assert list(bytes_of(pa.array([b"\0", b""]))) == [b"\0", b""]
    assert list(bytes_of(pa.nulls(2))) == [None, None]
    with pytest.raises(TypeError):
        list(bytes_of(pa.array([1])))


def test_a_partition_from_zero_on_or_none() -> None:
    assert partitions_of(pa.array([None, 0, 7], pa.int32())) == [ANY_PARTITION, 0, 7]
    assert partitions_of(pa.array([None], pa.int32())) == [ANY_PARTITION]
    with pytest.raises(EncodeError, match="expected a partition from 0 to 2147483647, got -2") as caught:
        partitions_of(pa.array([None, 0, -2], pa.int32()))
    assert caught.value.row == 2
    assert partitions_of(pa.array([2**31 - 1])) == [2**31 - 1]
    with pytest.raises(EncodeError, match="got 2147483648") as caught:
        partitions_of(pa.array([0, 2**31]))
    assert caught.value.row == 1


def test_a_moment_from_the_first_millisecond_on_or_none() -> None:
    assert moments_of(pa.array([1_000, None, 2_999], US)) == [1, NOW, 2]
    assert moments_of(pa.nulls(1, US)) == [NOW]
    with pytest.raises(EncodeError, match="got 999 microseconds") as caught:
        moments_of(pa.array([None, 1_000, 999], US))
    assert caught.value.row == 2
    assert moments_of(pa.array([1_999_999, None], pa.timestamp("ns"))) == [1, NOW]
    with pytest.raises(EncodeError, match="got 999 microseconds"):
        moments_of(pa.array([999_999], pa.timestamp("ns", "UTC")))


@pytest.mark.parametrize(("unit", "most"), [("s", 2**63 // 10**6), ("ms", 2**63 // 10**3)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_moment_that_64_bits_cannot_hold_is_an_error_with_its_row(unit: str, most: int, sign: int) -> None:
    kind = pa.timestamp(unit)
    assert moments_of(pa.array([most], kind)) == [most * 1000 if unit == "s" else most]
    with pytest.raises(EncodeError, match=f"64 bits as microseconds, got {sign * (most + 1)} {unit}") as caught:
        moments_of(pa.array([1, None, sign * (most + 1)], kind))
    assert caught.value.row == 2


def test_each_header_that_is_written_is_there_and_has_a_name() -> None:
    rows = pa.array([None, [], [{"key": "a", "value": None}]], HEADERS)
    assert list(headers_of(rows)) == list(named_headers_of(rows)) == [None, [], [("a", None)]]
    for bad, said in (({"value": b""}, "a header's key of type string"), (None, "a header")):
        with pytest.raises(EncodeError, match=f"expected {said}, got null") as caught:
            list(named_headers_of(pa.array([None, [{"key": "a"}, bad]], HEADERS)))
        assert caught.value.row == 1


def test_only_unread_rows_are_dead_letters() -> None:
    errors = pa.array([None, "why", None])
    letters = dead_letters(errors, "t", {"key": pa.array([b"a", b"b", b"c"]), "offset": pa.array([5, 6, 7])})
    assert letters.type == DEAD_LETTER
    here = {"error": "why", "key": b"b", "value": None, "topic": "t", "partition": None, "offset": 6}
    assert letters.to_pylist() == [None, here, None]
    assert dead_letters(errors, "t", {"topic": pa.array(["x", "y", "z"])}).to_pylist()[1]["topic"] == "y"


def test_columns_of_any_kind_are_a_table_or_a_batch() -> None:
    batch = pa.RecordBatch.from_pylist([{"a": 1}])
    table = pa.Table.from_batches([batch])
    assert table_of(batch) is batch
    assert table_of(table) is table
    assert table_of(pa.RecordBatchReader.from_batches(batch.schema, [batch])) == table
    for wrong in ([{"a": 1}], b"", 5, pa.array([1])):
        with pytest.raises(TypeError, match="expected Arrow data of columns"):
            table_of(wrong)
