"""Arrow data as users have it (arrays and batches, tables, frames, streams), as the arrays that it consists of."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from ._arrow import Stream
from .errors import DecodeError, EncodeError

# The capsule of a schema, and those of its arrays, one after the other.
Pieces: TypeAlias = tuple[object, Iterable[object]]
_Rows = TypeVar("_Rows")

_KNOWN = (pa.RecordBatch, pa.Table, pa.Array, pa.ChunkedArray)  # pyarrow knows how long their buffers are
_Damaged: TypeAlias = type[DecodeError | EncodeError]
_OF_SEVERAL = "pa.RecordBatch.from_pylist(rows) makes columns of dicts, pa.Table.from_batches(batches) of batches"
_INSTEAD_OF_COLUMNS = {
    "list": _OF_SEVERAL,
    "tuple": _OF_SEVERAL,
    "dict": "pa.table(columns) makes columns of a dict of lists; serialize() takes one object",
    "DataFrame": "streamnative_serdes.spark has encode_df and KafkaAvroSink for DataFrames of Spark",
    "LazyFrame": "collect() it",
    "ndarray": 'pa.record_batch({"name": array}) makes columns of arrays',
}
_INSTEAD_OF_MESSAGES = {
    "bytes": "[data] is a batch of one message; deserialize() takes it as it is",
    "bytearray": "[data] is a batch of one message; deserialize() takes it as it is",
    "str": "messages are bytes",
    "DataFrame": "streamnative_serdes.spark has decode_df for DataFrames of Spark",
    "LazyFrame": "collect() it, and take the one column that has the messages",
    "ndarray": "list(array) is a batch",
    "generator": "list(messages) is a batch",
}


def pieces_of_columns(data: Any) -> Pieces:
    """Batches of columns.

    Raises:
        EncodeError: pyarrow makes no Arrow columns of the pandas object, or its own data is damaged.
        TypeError: it has no Arrow columns.
    """
    found = _pieces(_columns_of_pandas(data) if _is_pandas(data) else data, EncodeError)
    if found is None:
        raise _not_taken("columns", data, _INSTEAD_OF_COLUMNS)
    return found


def pieces_of_messages(data: Any) -> Pieces:
    """Arrays of messages. That they are arrays of bytes or text is for others to see.

    Raises:
        DecodeError: data of pyarrow is damaged.
        TypeError: it is no Arrow data, and no list of bytes.
    """
    found = _pieces(_array_of_messages(data) if _is_list(data) else data, DecodeError)
    if found is None:
        raise _not_taken("messages", data, _INSTEAD_OF_MESSAGES)
    return found


def part_of(rows: _Rows, start: int, stop: int | None) -> _Rows:
    """Rows ``start`` to ``stop``, the latter not included, of what can be cut without a copy.

    Raises:
        TypeError: it cannot be.
    """
    found: Any = rows
    if isinstance(found, list | tuple):
        return found[start:stop]  # type: ignore[return-value]
    if _is_pandas(found):
        return found.iloc[start:stop]  # type: ignore[no-any-return]
    if not hasattr(found, "slice"):
        raise TypeError(
            f"{type(found).__name__} cannot be cut, and takes more than a batch holds: read it into a table before"
        )
    return found.slice(start) if stop is None else found.slice(start, stop - start)  # type: ignore[no-any-return]


def _pieces(data: Any, damaged: _Damaged) -> Pieces | None:
    if isinstance(data, pa.RecordBatchReader):  # iterated, so that an error of who makes its batches stays as it is
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
    """``data`` of pyarrow, whose buffers are as long as its lengths and offsets say. It takes no look at a row."""
    try:
        data.validate()
    except (pa.ArrowException, UnicodeDecodeError) as error:  # the latter of a column's name
        raise damaged(f"the Arrow data is damaged: {error}"[:1000]) from error
    return data


def _is_pandas(data: object) -> bool:
    """Who has an object of pandas has imported it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, (pandas.DataFrame, pandas.Series))


def _is_list(data: object) -> bool:
    """Whether it has messages one by one."""
    return isinstance(data, list | tuple) or (_is_pandas(data) and data.ndim == 1)  # type: ignore[attr-defined]


def _columns_of_pandas(data: Any) -> Any:
    """Levels of the index that have a name are columns; others are row numbers and the like, and left out."""
    doubles = [name for name in data.index.names if name is not None and name in data] if data.ndim == 2 else []
    if doubles:
        raise EncodeError(
            f"a column and a level of the index are both called {doubles[0]!r:.80}",
            hint=f"df.reset_index({doubles[0]!r:.80}, drop=True) leaves the level out",
        )
    try:
        if data.ndim == 1:
            return pa.array(data, from_pandas=True)
        named = [name for name in data.index.names if name is not None]
        return pa.Table.from_pandas(data.reset_index(level=named) if named else data, preserve_index=False)
    except (pa.ArrowException, ValueError) as error:
        raise EncodeError(f"no Arrow columns can be made of the {type(data).__name__}: {error}"[:1000]) from error


def _array_of_messages(data: Any) -> Any:
    """An array of bytes; in several chunks beyond 2 GB."""
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
    return TypeError(f"expected Arrow data of {expected} (docs/arrow.md tells what has it), got {name}{hint}")
