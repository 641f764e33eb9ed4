"""Parts of messages in Arrow columns, as a client's producer takes them: keys, headers, partitions and timestamps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from streamnative_serdes.errors import EncodeError

from . import kafka_columns

Headers: TypeAlias = list[tuple[str, bytes | None]]
ANY_PARTITION: Final = -1  # librdkafka's partitioner decides, by the key if there is one
NOW: Final = 0  # as a timestamp
_MICROSECONDS: Final = 1_000  # in a millisecond


def bytes_of(array: pa.Array) -> Iterable[bytes | None]:
    """The values of a binary, string or null array as bytes."""
    return repeat(None, len(array)) if pa.types.is_null(array.type) else kafka_columns.bytes_of(array)


def headers_of(array: pa.Array) -> Iterator[Headers | None]:
    """The headers of each row, from a column of lists of structs of key and value."""
    for row in array.to_pylist():
        yield row and [(header["key"], header["value"]) for header in row if header is not None]


def named_headers_of(array: pa.Array) -> Iterator[Headers | None]:
    """As :func:`headers_of`. Raises EncodeError for a header without a name."""
    for number, headers in enumerate(headers_of(array)):
        if headers and any(name is None for name, _ in headers):
            raise row_error("expected a header's key of type string, got null", number)
        yield headers


def partitions_of(array: pa.Array) -> list[int]:
    """The partition of each row; a null leaves it to the client. Raises EncodeError for a negative number."""
    numbers: list[int] = pc.fill_null(array, ANY_PARTITION).to_pylist()
    if array.null_count < len(array) and pc.min(array).as_py() < 0:
        number = next(number for number, partition in enumerate(array.to_pylist()) if (partition or 0) < 0)
        raise row_error(f"expected a partition from 0 on, got {array[number].as_py()}", number)
    return numbers


def moments_of(array: pa.Array) -> list[int]:
    """The milliseconds since 1970 of each row; a null is the present time. Raises EncodeError for a time before."""
    micros = array.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    if len(micros) > micros.null_count and pc.min(micros).as_py() < _MICROSECONDS:
        number = next(n for n, each in enumerate(micros.to_pylist()) if each is not None and each < _MICROSECONDS)
        raise row_error(
            f"expected a timestamp after 1970-01-01 00:00:00 UTC, got {micros[number].as_py()} microseconds",
            number,
            "the Kafka client takes 0 for the present time",
        )
    milliseconds: list[int] = pc.fill_null(pc.divide(micros, _MICROSECONDS), NOW).to_pylist()
    return milliseconds


def row_error(text: str, row: int, hint: str | None = None) -> EncodeError:
    """The error of a row of the batch."""
    error = EncodeError(text, hint=hint)
    error.row = row
    return error
