"""Values of numpy and pandas are written as the equal Python values, or refused if that would lose information."""

from typing import Any

import pytest
from schemas import array, mapping, record

from streamnative_serdes import EncodeError
from streamnative_serdes.codec import Codec

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("schema", "value", "plain"),
    [
        ("boolean", np.True_, True),
        (["null", "boolean", "int"], np.False_, False),
        ("int", np.int8(-5), -5),
        ("long", np.uint64(2**63 - 1), 2**63 - 1),
        ("double", np.float32(1.5), 1.5),
        ("double", np.int64(3), 3),
        ("float", np.float64(0.1), 0.1),
        ({"type": "array", "items": "long"}, np.arange(3), [0, 1, 2]),
        (["null", "double"], np.float64(2.5), 2.5),
        (["string", "long"], np.int32(7), 7),
    ],
)
def test_a_numpy_scalar_is_written_as_the_equal_python_value(schema: Any, value: Any, plain: Any) -> None:
    assert Codec(schema).encode(value) == Codec(schema).encode(plain)


# --- arrays, columns, tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "value", "plain"),
    [
        ("long", np.arange(5), [0, 1, 2, 3, 4]),
        ("int", np.array([-1, 2], dtype="int16"), [-1, 2]),
        ("double", np.array([1.5, 2]), [1.5, 2.0]),
        ("double", np.array([1, 2]), [1.0, 2.0]),
        ("float", np.array([0.1], dtype="f4"), [float(np.float32(0.1))]),
        ("boolean", np.array([True, False]), [True, False]),
        ("string", np.array(["a", "bc"]), ["a", "bc"]),
        ("bytes", np.array([b"a", b"bc"]), [b"a", b"bc"]),
        ("long", np.arange(10)[::-3], [9, 6, 3, 0]),
        (array("long"), np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (["null", "string"], np.array(["a", None], dtype=object), ["a", None]),
        ("long", np.array([]), []),
    ],
)
def test_a_numpy_array_is_written_as_an_array(items: Any, value: Any, plain: Any) -> None:
    for schema in (array(items), ["null", array(items)], ["null", array(items), mapping("int")]):
        assert Codec(schema).encode(value) == Codec(schema).encode(plain)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("int", np.True_),
        ("double", np.True_),
        ("boolean", np.int8(1)),
        ("int", np.int64(2**31)),
        ("long", np.uint64(2**63)),
        ("long", np.float64(1.0)),
        ("double", np.int64(2**53 + 1)),
        ("float", np.float64(1e39)),
        (array("long"), np.array(5)),  # a scalar without items
        (array("long"), np.array([1.5])),
        (array("int"), np.array([2**31])),
        (array("boolean"), np.array([0, 1])),
        (array("long"), np.arange(4).reshape(2, 2)),
        (array("long"), np.array(["2020-01-01"], dtype="datetime64[ns]")),
        ("long", np.datetime64("2020-01-01", "ns")),
        ("double", np.datetime64("2020-01-01", "ns")),  # float() of it would give nanoseconds
        ("double", np.timedelta64(5, "s")),
        (["null", "double", "long"], np.datetime64("2020-01-01", "ns")),
        ("bytes", np.int64(5)),  # its memory is not a value of type bytes
        ("bytes", np.uint8(5)),
        ("bytes", np.float64(0.5)),
        ("bytes", np.array([1, 2])),
        ("bytes", np.datetime64("2020-01-01", "ns")),
        (["null", "bytes", "string"], np.int64(5)),
        ("int", np.array([1])),
        ("string", np.array("a")),
    ],
)
def test_numpy_values_that_would_lose_something_or_are_of_a_wrong_type_are_refused(schema: Any, value: Any) -> None:
    with pytest.raises(EncodeError):
        Codec(schema).encode(value)


@pytest.mark.parametrize("schema", ["bytes", ["null", "bytes"], ["null", "bytes", "string"]])
def test_a_numpy_array_of_bytes_is_written_as_bytes(schema: Any) -> None:
    assert Codec(schema).encode(np.array([97, 98], dtype="u1")) == Codec(schema).encode(b"ab")


@pytest.mark.parametrize(
    ("items", "column", "plain"),
    [
        ("long", [1, 2, 3], [1, 2, 3]),
        ("double", [0.5, 1.0], [0.5, 1.0]),
        ("string", ["a", "b"], ["a", "b"]),
        (["null", "string"], ["a", None], ["a", None]),
        ("boolean", [True, False], [True, False]),
    ],
)
def test_a_pandas_column_is_written_as_an_array(items: Any, column: Any, plain: Any) -> None:
    series = pytest.importorskip("pandas").Series(column)

    for schema in (array(items), ["null", array(items), mapping("int")]):
        for value in (series, series.array, series.iloc[::-1].iloc[::-1]):
            assert Codec(schema).encode(value) == Codec(schema).encode(plain)


def test_a_pandas_column_of_timestamps_is_written_as_an_array_of_timestamps() -> None:
    pandas = pytest.importorskip("pandas")
    stamps = array({"type": "long", "logicalType": "timestamp-micros"})
    column = pandas.Series(pandas.to_datetime(["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"]))

    assert Codec(stamps).encode(column) == Codec(stamps).encode([stamp.to_pydatetime() for stamp in column])


def test_a_pandas_frame_is_refused_and_not_written_as_its_column_names() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
    rows = array(record("R", ("a", "long"), ("b", "long")))

    for schema in (array("string"), rows, mapping("long"), ["null", array("string"), "int"]):
        with pytest.raises(EncodeError):
            Codec(schema).encode(table)
    assert Codec(rows).encode(table.to_dict("records")) == Codec(rows).encode(list(table.itertuples(index=False)))


def test_pandas_na_is_refused_and_not_written_as_null() -> None:
    pandas = pytest.importorskip("pandas")

    for schema in (["null", "long"], ["null", "string"], ["null", "long", "string"]):
        with pytest.raises(EncodeError):
            Codec(schema).encode(pandas.NA)
