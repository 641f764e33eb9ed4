"""Converts users' Arrow data (arrays, batches, tables, data frames, streams) to the arrays that it consists of."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from ._arrow import Stream
from .errors import DecodeError, EncodeError

# (schema capsule, array capsules)
Pieces: TypeAlias = tuple[object, Iterable[object]]
_Rows = TypeVar("_Rows")

_KNOWN = (pa.RecordBatch, pa.Table, pa.Array, pa.ChunkedArray)  # pyarrow can validate the size of their buffers
_Damaged: TypeAlias = type[DecodeError | EncodeError]
_OF_SEVERAL = "pa.RecordBatch.from_pylist(rows) makes columns of dicts, pa.Table.from_batches(batches) of batches"
_INSTEAD_OF_COLUMNS = {
    "list": _OF_SEVERAL,
    "tuple": _OF_SEVERAL,
    "dict": "pa.table(columns) converts a dict of lists to columns; serialize() takes one object",
    "DataFrame": "for Spark DataFrames use encode_df or KafkaAvroSink of streamnative_serdes.spark",
    "LazyFrame": "collect() it",
    "ndarray": 'pa.record_batch({"name": array}) makes columns of arrays',
}
_INSTEAD_OF_MESSAGES = {
    "bytes": "[data] is a batch of one message; deserialize() takes it as it is",
    "bytearray": "[data] is a batch of one message; deserialize() takes it as it is",
    "str": "messages are bytes",
    "DataFrame": "for Spark DataFrames use decode_df of streamnative_serdes.spark",
    "LazyFrame": "collect() it, and pass only the column of messages",
    "ndarray": "list(array) is a batch",
    "generator": "list(messages) is a batch",
}


def pieces_of_columns(data: Any) -> Pieces:
    """Return ``data`` as batches of columns.

    Raises:
        EncodeError: pyarrow cannot convert the pandas object, or pyarrow data is damaged.
        TypeError: ``data`` has no Arrow columns.
    """
    found = _pieces(_columns_of_pandas(data) if _is_pandas(data) else data, EncodeError)
    if found is None:
        raise _not_taken("columns", data, _INSTEAD_OF_COLUMNS)
    return found


def pieces_of_messages(data: Any) -> Pieces:
    """Return ``data`` as arrays of messages. The caller checks that they are arrays of bytes or text.

    Raises:
        DecodeError: pyarrow data is damaged.
        TypeError: ``data`` is neither Arrow data nor a list of bytes.
    """
    found = _pieces(_array_of_messages(data) if _is_list(data) else data, DecodeError)
    if found is None:
        raise _not_taken("messages", data, _INSTEAD_OF_MESSAGES)
    return found


def part_of(rows: _Rows, start: int, stop: int | None) -> _Rows:
    """Return rows ``start`` to ``stop`` (excluded) of ``found``, without a copy.

    Raises:
        TypeError: ``found`` cannot be sliced.
    """
    found: Any = rows
    if isinstance(found, list | tuple):
        return found[start:stop]  # type: ignore[return-value]
    if _is_pandas(found):
        return found.iloc[start:stop]  # type: ignore[no-any-return]
    if not hasattr(found, "slice"):
        raise TypeError(
            f"{type(found).__name__} does not fit in one batch, and cannot be sliced: read it into a table first"
        )
    return found.slice(start) if stop is None else found.slice(start, stop - start)  # type: ignore[no-any-return]


def _pieces(data: Any, damaged: _Damaged) -> Pieces | None:
    if isinstance(data, pa.RecordBatchReader):  # iterated here, to raise its producer's exceptions unchanged
        batches = (_sound(batch, damaged) for batch in data)
        return data.schema.__arrow_c_schema__(), (batch.__arrow_c_array__()[1] for batch in batches)
    if isinstance(data, _KNOWN):
        _sound(data, damaged)
    export = getattr(data, "__arrow_c_array__", None)
    if export is not None:
        schema, array = export()
        return schema, (array,)
    export = getattr(data, "__arrow_c_stream__", None)
    if export is None:
        return None
    stream = Stream(export())
    return stream.schema, stream


def _sound(data: Any, damaged: _Damaged) -> Any:
    """Check that the buffers of pyarrow ``data`` have the sizes that its lengths and offsets need. Reads no rows."""
    try:
        data.validate()
    except (pa.ArrowException, UnicodeDecodeError) as error:  # UnicodeDecodeError: a column name is not UTF-8
        raise damaged(f"the Arrow data is damaged: {error}"[:1000]) from error
    return data


def _is_pandas(data: object) -> bool:
    """Whether ``data`` is a pandas object. Does not import pandas: if it is not loaded, it cannot be."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, (pandas.DataFrame, pandas.Series))


def _is_list(data: object) -> bool:
    """Whether ``data`` is a list, tuple or pandas Series of messages."""
    return isinstance(data, list | tuple) or (_is_pandas(data) and data.ndim == 1)  # type: ignore[attr-defined]


def _columns_of_pandas(data: Any) -> Any:
    """Convert a pandas object. Named index levels become columns; unnamed ones are row numbers, and are dropped."""
    doubles = [name for name in data.index.names if name is not None and name in data] if data.ndim == 2 else []
    if doubles:
        raise EncodeError(
            f"a column and an index level are both named {doubles[0]!r:.80}",
            hint=f"df.reset_index({doubles[0]!r:.80}, drop=True) drops the level",
        )
    try:
        if data.ndim == 1:
            return pa.array(data, from_pandas=True)
        named = [name for name in data.index.names if name is not None]
        return pa.Table.from_pandas(data.reset_index(level=named) if named else data, preserve_index=False)
    except (pa.ArrowException, ValueError) as error:
        raise EncodeError(f"cannot convert the {type(data).__name__} to Arrow columns: {error}"[:1000]) from error


def _array_of_messages(data: Any) -> Any:
    """Return an array of bytes; chunked beyond 2 GB."""
    try:
        return pa.array(data, pa.binary(), from_pandas=True)
    except (pa.ArrowException, TypeError) as error:
        odd = next((one for one in data if not isinstance(one, bytes | bytearray | memoryview | None)), None)
        value = "message.value()" if callable(getattr(odd, "value", None)) else "message.value"
        hint = f" (hint: [{value} for message in messages])" if hasattr(odd, "value") else ""
        raise TypeError(
            f"expected messages as bytes or None, got {type(odd).__name__}{hint}: {error}"[:1000]
        ) from error


def _not_taken(expected: str, data: object, instead: dict[str, str]) -> TypeError:
    name = type(data).__name__
    hint = f" (hint: {instead[name]})" if name in instead else ""
    return TypeError(f"expected Arrow data of {expected} (docs/arrow.md lists the types), got {name}{hint}")
