"""Converts users' Arrow data (arrays, batches, tables, data frames, streams) to the arrays that it consists of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from streamnative_serdes._arrow import Stream, Values, address_of, new_array
from streamnative_serdes.errors import BatchTooLargeError, DecodeError, EncodeError

# (schema capsule, array capsules), or (None, [Values])
Pieces: TypeAlias = tuple[object, Iterable[object]]


class Messages(NamedTuple):
    """Messages that can be read several times, whatever they were given as."""

    kind: object
    arrays: list[object]


_Rows = TypeVar("_Rows")

# Methods that tell confluent-kafka's messages from other objects.
_PARTS_OF_CLIENT = attrgetter("value", "key", "headers", "offset", "error")
_KNOWN = (pa.RecordBatch, pa.Table, pa.Array, pa.ChunkedArray)  # pyarrow can validate the size of their buffers
_NULL = pa.null()  # the type of an array in which all rows are null
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


def array_of_batch(batch: pa.RecordBatch) -> object:
    """Return the array of a batch, without its schema, which a protocol of Arrow would export with each batch."""
    array = new_array()
    _sound(batch, EncodeError)._export_to_c(address_of(array))  # noqa: SLF001 (tools/private_members.toml)
    return array


def table_of(data: Any) -> pa.Table | pa.RecordBatch:
    """Return columns as a table or a batch, which can be sliced by rows and taken apart by columns.

    Raises:
        EncodeError: pyarrow cannot convert the pandas object.
        TypeError: ``data`` has no Arrow columns.
    """
    if isinstance(data, pa.Table | pa.RecordBatch):
        return data
    found = _columns_of_pandas(data) if _is_pandas(data) else data
    try:
        return pa.table(found)
    except (TypeError, ValueError, pa.ArrowException):
        raise _not_taken("columns", data, _INSTEAD_OF_COLUMNS) from None


def pieces_of_messages(data: Any) -> Pieces:
    """Return ``data`` as arrays of messages. The caller checks that they are arrays of bytes or text.

    Raises:
        DecodeError: pyarrow data is damaged.
        TypeError: ``data`` is neither Arrow data nor a list of bytes.
    """
    if isinstance(data, pa.Array):  # first, since most batches are such
        if data.type.id == _NULL.id:
            data = data.cast(pa.binary())
        _sound(data, DecodeError)
        schema, array = data.__arrow_c_array__()
        return schema, (array,)
    if isinstance(data, Messages):
        return data
    values = _values(data, "value")
    if values is not None:
        return None, [values]
    if "null" in [str(getattr(data, name, "")).lower() for name in ("dtype", "type")]:  # of polars; of chunks
        return pieces_of_messages(pa.nulls(len(data)))
    found = _pieces(_array_of_messages(data) if _is_list(data) else data, DecodeError)
    if found is None:
        raise _not_taken("messages", data, _INSTEAD_OF_MESSAGES)
    return found


def has_client_messages(data: object) -> bool:
    """Whether ``data`` is a list of messages as confluent-kafka returns them."""
    if not isinstance(data, list | tuple):
        return False
    kind = type(next(iter(data), b""))  # one step: another thread may empty the list, as sort() does for a while
    if kind is bytes:
        return False
    try:
        return all(map(callable, _PARTS_OF_CLIENT(kind)))
    except AttributeError:
        return False


def _values(data: Any, part: str) -> Values | None:
    """The bytes of a list or of a client's messages, without a copy; None if ``data`` is something else."""
    if has_client_messages(data):
        return Values(data, part)
    if not isinstance(data, list | tuple):
        return None
    try:
        return Values(data)
    except TypeError:  # pyarrow converts some, and says what is wrong with the others
        return None


def messages_of(data: Any) -> Messages:
    """Return ``data`` as messages that can be read several times; raises as :func:`pieces_of_messages` does."""
    kind, arrays = pieces_of_messages(data)
    return Messages(kind, list(arrays))


def replaced(data: Any, beginning: bytes, change: Callable[[bytes], bytes | None]) -> tuple[Any, int]:
    """Return messages, those that begin with ``beginning`` as ``change`` returns them; unchanged where that is None.

    The number says how many bytes longer they all are together.

    Raises:
        BatchTooLargeError: the changed messages have more than 1 GB together.
    """
    if has_client_messages(data):
        if any(message.error() is not None for message in data):  # whoever reads them says what is wrong
            return data, 0
        data = [message.value() for message in data]
    changes = _Changes(beginning, change)
    if isinstance(data, list | tuple):
        return [changes.of(row, one) for row, one in enumerate(data)], changes.grown
    if _is_pandas(data):
        data = _array_of_messages(data)
    elif not isinstance(data, pa.Array | pa.ChunkedArray):
        if hasattr(data, "__arrow_c_stream__"):
            data = pa.chunked_array(data)
        elif hasattr(data, "__arrow_c_array__"):
            data = pa.array(data)
        else:  # whoever reads it says what is wrong
            return data, 0
    if isinstance(data, pa.Array):
        return changes.of_array(data), changes.grown
    chunks = [changes.of_array(chunk) for chunk in data.chunks]
    return (pa.chunked_array(chunks) if chunks else data), changes.grown


_MOST_CHANGED = 2**30  # bytes of a batch, of which pyarrow makes copies


class _Changes:
    """Changes the messages of a batch, one array after the other, as long as they do not get too large together."""

    def __init__(self, beginning: bytes, change: Callable[[bytes], bytes | None]) -> None:
        self._beginning, self._change = beginning, change
        self._rows = self._size = 0  # of the arrays before, and in bytes
        self.grown = 0  # bytes

    def of_array(self, data: pa.Array) -> pa.Array:
        kind = data.type
        views = pa.types.is_binary_view(kind) or pa.types.is_string_view(kind)
        large = pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)
        bytes_ = pa.types.is_binary(kind) or pa.types.is_string(kind) or pa.types.is_fixed_size_binary(kind)
        if not (views or large or bytes_):  # whoever reads it says what is wrong
            return data
        # pyarrow trusts offsets and views, so they are checked first. As binary, text need not be UTF-8; large, since
        # 32-bit offsets may count the messages, but not the changed ones.
        messages = _sound(data, DecodeError, full=views).cast(pa.large_binary())
        there = pc.starts_with(_sound(messages, DecodeError, full=True), self._beginning).fill_null(False)
        rows, found = pc.indices_nonzero(there).to_pylist(), messages.filter(there)
        new = [self.of(self._rows + row, one.as_py()) for row, one in zip(rows, found, strict=True)]
        self._rows += len(data)
        return pc.replace_with_mask(messages, there, pa.array(new, pa.large_binary())) if new else messages

    def of(self, row: int, message: Any) -> Any:
        if not isinstance(message, bytes | bytearray | memoryview):
            return message
        new = self._change(bytes(message)) if bytes(message[: len(self._beginning)]) == self._beginning else None
        if new is None:
            return message
        self._size += len(new)
        self.grown += len(new) - len(message)
        if self._size > _MOST_CHANGED and row:
            error = BatchTooLargeError(
                "the batch's messages are larger than 1 GB together when they are unpacked",
                hint="split the batch with streamnative_serdes.arrow.in_parts",
            )
            error.row = row
            raise error
        return new


def array_of_keys(data: Any) -> tuple[object, object]:
    """Return the keys of messages as one array: (schema capsule, array capsule). The caller checks its type.

    Args:
        data: the keys in any form of messages, or a client's messages, whose keys are taken.

    Raises:
        DecodeError: pyarrow data is damaged, or a message is an error of the client.
        TypeError: ``data`` is neither Arrow data nor a list of bytes.
    """
    if has_client_messages(data):
        return None, Values(data, "key")
    kind, arrays = pieces_of_messages(data)
    found = list(arrays)
    if len(found) == 1:
        return kind, found[0]
    whole = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array(data)
    # With offsets of 64 bits, chunks of any size become one.
    chunks = [chunk.cast(pa.binary()).cast(pa.large_binary()) for chunk in whole.chunks]
    exported: tuple[object, object] = pa.concat_arrays(chunks or [pa.array([], pa.large_binary())]).__arrow_c_array__()
    return exported


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


def _sound(data: Any, damaged: _Damaged, *, full: bool = False) -> Any:
    """Check that the buffers of pyarrow ``data`` have the sizes that its lengths and offsets need.

    Without ``full``, no rows are read.
    """
    try:
        data.validate(full=full)
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
        if hasattr(odd, "topic_name"):
            hint = " (hint: deserialize_many reads messages of pulsar-client)"
        raise TypeError(
            f"expected messages as bytes or None, got {type(odd).__name__}{hint}: {error}"[:1000]
        ) from error


def _not_taken(expected: str, data: object, instead: dict[str, str]) -> TypeError:
    name = type(data).__name__
    hint = f" (hint: {instead[name]})" if name in instead else ""
    return TypeError(f"expected Arrow data of {expected} (docs/arrow-types.md lists the types), got {name}{hint}")


# The headers of messages

_EXPECTED = "expected an array with a list of (key, value) structs for each message"


def keys_of(headers: Any, names: Iterable[tuple[str, Callable[[bytes], int]]]) -> pa.Buffer:
    """Return an int64 for each message: ``key_of(value)`` of the first of ``names`` where that is not 0, else 0.

    Args:
        headers: an Arrow array, chunked or not, of lists of structs (key, value), as Spark's Kafka source has them; or
            a list with the headers of each message as a client returns them; or a client's messages.
        names: names of headers, each with its ``key_of``, which is called once for each distinct value. Of several
            headers of one name, a message's first one counts.

    Raises:
        DecodeError: ``headers`` is something else.
    """
    column = _chunk([message.headers() for message in headers] if has_client_messages(headers) else headers)
    lists = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    if not lists or not pa.types.is_struct(column.type.value_type) or column.type.value_type.num_fields != 2:
        raise DecodeError(f"{_EXPECTED}, got {column.type}")
    rows, entries = pc.list_parent_indices(column), pc.list_flatten(column)
    keys = pa.nulls(len(column), pa.int64())
    for name, key_of in names:
        keys = pc.coalesce(keys, _keys_of(name, key_of, rows, entries, len(column)))
    keys = keys.fill_null(0)
    return keys.buffers()[1].slice(8 * keys.offset, 8 * len(keys))


def _keys_of(name: str, key_of: Callable[[bytes], int], rows: pa.Array, entries: pa.Array, count: int) -> pa.Array:
    names, values = entries.field(0), entries.field(1)
    there = pc.and_kleene(pc.equal(names.cast(pa.string()), name), pc.is_valid(values))
    values = values.filter(there).cast(pa.binary()).dictionary_encode()
    of_value = pa.array([key_of(value) or None for value in values.dictionary.to_pylist()], pa.int64())
    # Per message, the place of its first such header among all of them.
    place = pc.index_in(pa.array(range(count), rows.type), value_set=rows.filter(there))
    return of_value.take(values.indices.take(place))


def _chunk(headers: Any) -> pa.Array:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    if isinstance(headers, pa.Array):
        return headers
    if isinstance(headers, pa.ChunkedArray):
        return pa.concat_arrays(headers.chunks) if headers.num_chunks else pa.array([], headers.type)
    try:
        if hasattr(headers, "__arrow_c_stream__") or hasattr(headers, "__arrow_c_array__"):
            return _chunk(pa.chunked_array(headers) if hasattr(headers, "__arrow_c_stream__") else pa.array(headers))
        return pa.array(
            [None if each is None else [{"key": k, "value": v} for k, v in _pairs(each)] for each in headers], kind
        )
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise DecodeError(f"{_EXPECTED}, got {type(headers).__name__}: {error}") from None


def _pairs(headers: Any) -> Any:
    return headers.items() if hasattr(headers, "items") else headers
