"""Tables, frames, streams and lists of bytes as input for a batch: any number of chunks gives one result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from any_type import PulsarMessage

pa = pytest.importorskip("pyarrow")

from schemas import record  # noqa: E402

from streamnative_serdes import (  # noqa: E402 - requires pyarrow
    BatchTooLargeError,
    DecodeError,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValueSchema,
    SerdesError,
)
from streamnative_serdes.arrow import ColumnCodec, in_parts  # noqa: E402
from streamnative_serdes.codec import Codec  # noqa: E402
from streamnative_serdes.testing import LocalRegistry  # noqa: E402

USER: dict[str, Any] = record("User", ("name", ["null", "string"], None), ("age", "long"))
ROWS = [{"name": "ann" if i % 3 else None, "age": i} for i in range(7)]
DATA = [Codec(USER).encode(row) for row in ROWS]
CODEC = ColumnCodec(USER)


def table(*sizes: int) -> Any:
    """Return ``ROWS`` as a table with chunks of these sizes."""
    whole, start, batches = pa.RecordBatch.from_pylist(ROWS), 0, []
    for size in sizes:
        batches.append(whole.slice(start, size))
        start += size
    return pa.Table.from_batches(batches, whole.schema)


def polars_frame(*sizes: int) -> Any:
    polars = pytest.importorskip("polars")
    return polars.concat([polars.from_arrow(table(7).slice(0, 3)), polars.from_arrow(table(7).slice(3))], rechunk=False)


def pandas_frame(*sizes: int) -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


class Streamed:
    """An object whose only method is the one of the Arrow stream interface."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.data.__arrow_c_stream__(requested_schema)


COLUMNS: dict[str, Callable[[], Any]] = {
    "a batch": lambda: table(7).to_batches()[0],
    "an array of structs": lambda: table(7).to_struct_array().chunk(0),
    "a table of one chunk": lambda: table(7),
    "a table of chunks": lambda: table(2, 0, 4, 1),
    "a chunked array of structs": lambda: table(3, 4).to_struct_array(),
    "a reader": lambda: table(1, 6).to_reader(),
    "a stream": lambda: Streamed(table(1, 1, 5)),
    "polars": polars_frame,
    "a Series of polars": lambda: polars_frame().to_struct("all"),
    "pandas": pandas_frame,
    "pandas, filtered": lambda: pytest.importorskip("pandas").DataFrame([*ROWS, {"age": 99}])[lambda f: f.age < 50],
    "pandas, by name": lambda: pandas_frame().set_index("name"),
    "pandas, of Arrow's types": lambda: table(4, 3).to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype),
    "a Series of pandas": lambda: pytest.importorskip("pandas").Series(ROWS),
}


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_any_kind_become_one_array_of_messages(make: Callable[[], Any]) -> None:
    messages = CODEC.encode(make())
    assert isinstance(messages, pa.BinaryArray)
    assert messages.to_pylist() == DATA


MESSAGES: dict[str, Callable[[], Any]] = {
    "a list": lambda: DATA,
    "a tuple": lambda: tuple(DATA),
    "a list of buffers": lambda: [bytearray(DATA[0]), memoryview(DATA[1]), *DATA[2:]],
    "an array": lambda: pa.array(DATA),
    "a chunked array": lambda: pa.chunked_array([pa.array(DATA[:3]), pa.array([], pa.binary()), pa.array(DATA[3:])]),
    "views in chunks": lambda: pa.chunked_array([pa.array(part, pa.binary_view()) for part in (DATA[:3], DATA[3:])]),
    "a stream": lambda: Streamed(pa.chunked_array([DATA[:1], DATA[1:]])),
    "a column of a table": lambda: pa.table({"value": DATA})["value"],
    "polars": lambda: pytest.importorskip("polars").Series(DATA),
    "polars, in chunks": lambda: pytest.importorskip("polars").Series(DATA[:2]).append(
        pytest.importorskip("polars").Series(DATA[2:])
    ),
    "pandas": lambda: pytest.importorskip("pandas").Series(DATA),
    "a column of pandas": lambda: pytest.importorskip("pandas").DataFrame({"value": DATA}, index=range(7, 14)).value,
}  # fmt: skip


@pytest.mark.parametrize("make", MESSAGES.values(), ids=MESSAGES)
def test_messages_of_any_kind_become_one_batch(make: Callable[[], Any]) -> None:
    batch = CODEC.decode(make())
    assert isinstance(batch, pa.RecordBatch)
    batch.validate(full=True)
    assert batch.to_pylist() == ROWS


@pytest.mark.parametrize(
    "nulls",
    [
        lambda: [None, None],
        lambda: pa.nulls(2),
        lambda: pa.chunked_array([pa.nulls(1), pa.nulls(1)]),
        lambda: pytest.importorskip("polars").Series([None, None]),
        lambda: pytest.importorskip("pandas").Series([None, None]),
    ],
    ids=["a list", "an array", "a chunked array", "polars", "pandas"],
)
def test_messages_and_keys_may_be_null_in_all_rows(nulls: Callable[[], Any]) -> None:
    assert CODEC.decode(nulls()).to_pylist() == [{"name": None, "age": None}] * 2
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        pairs = KafkaAvroSerializer(conf, KeyValueSchema('"string"', USER, "SEPARATED")).serialize_batch(
            "pairs", pa.table({"key": ["k", "k"], "value": ROWS[:2]})
        )
        found = KafkaAvroDeserializer(conf).deserialize_batch("pairs", pairs.column("value"), keys=nulls())
        assert found.to_pylist() == [{"key": None, "value": row} for row in ROWS[:2]]


def test_a_frame_with_a_column_named_dtype_is_no_column_of_messages() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="expected an Arrow array of bytes or text"):
        CODEC.decode(pandas.DataFrame({"dtype": DATA}))


def test_serializer_and_deserializer_accept_tables_lists_and_chunks() -> None:
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        serializer, deserializer = KafkaAvroSerializer(conf, USER), KafkaAvroDeserializer(conf)
        messages = serializer.serialize_batch("users", table(3, 4))
        assert messages.to_pylist() == [serializer.serialize("users", row) for row in ROWS]
        assert deserializer.deserialize_batch("users", messages.to_pylist()).to_pylist() == ROWS
        chunks = pa.chunked_array([messages[:5], messages[5:]])
        assert deserializer.deserialize_batch("users", chunks).to_pylist() == ROWS
        assert (serializer.stats()["messages"], deserializer.stats()["messages"]) == (14, 14)


def test_no_chunks_give_an_empty_result_of_the_right_type() -> None:
    none = table().to_reader()
    assert CODEC.encode(none).equals(pa.array([], pa.binary()))
    assert CODEC.encode(table()).equals(pa.array([], pa.binary()))
    for nothing in (pa.chunked_array([], pa.binary()), [], ()):
        batch = CODEC.decode(nothing, error_column="why")
        batch.validate(full=True)
        assert (batch.num_rows, batch.schema.names) == (0, ["name", "age", "why"])
        assert batch.schema.field("age") == CODEC.arrow_schema.field("age")


def test_a_wrong_column_type_is_an_error_even_without_rows() -> None:
    empty = pa.table({"name": pa.array([], pa.int32()), "age": pa.array([], pa.int64())})
    with pytest.raises(EncodeError, match=r"^field name: expected a column for string"):
        CODEC.encode(empty.to_reader())
    with pytest.raises(TypeError, match="expected an Arrow array of bytes or text, got an array of int64"):
        CODEC.decode(pa.chunked_array([], pa.int64()))


@pytest.mark.parametrize("sizes", [(3, 4), (4, 3), (2, 1, 1, 3), (4, 0, 1, 2)])
def test_row_numbers_in_errors_count_over_all_chunks(sizes: tuple[int, ...]) -> None:
    spoilt = [*DATA[:4], DATA[4] + b"?", *DATA[5:]]
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    chunks = pa.chunked_array([spoilt[end - size : end] for end, size in zip(ends, sizes, strict=True)], pa.binary())

    with pytest.raises(DecodeError, match=r"^row 4, .* got 1 more bytes") as caught:
        CODEC.decode(chunks)
    assert caught.value.row == 4
    batch = CODEC.decode(chunks, error_column="why")
    batch.validate(full=True)
    assert [bool(why) for why in batch.column("why").to_pylist()] == [row == 4 for row in range(7)]
    assert batch.drop_columns("why").to_pylist() == [*ROWS[:4], {"name": None, "age": None}, *ROWS[5:]]

    narrow = ColumnCodec({**USER, "fields": [USER["fields"][0], {"name": "age", "type": "int"}]})
    wide = pa.table({"age": pa.chunked_array([[0, 1], [2, 3], [1 << 40]])})
    with pytest.raises(EncodeError, match=r"^row 4, field age: int out of range") as refused:
        narrow.encode(wide)
    assert refused.value.row == 4


def test_a_batch_that_is_too_large_is_split_over_all_chunks() -> None:
    codec = ColumnCodec({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}, max_items=1 << 10)
    many = Codec("long").encode(1 << 8) + b"\0"
    chunks = pa.chunked_array([[many] * 3, [many] * 3])

    with pytest.raises(BatchTooLargeError, match=r"row 4: the items of the batch") as caught:
        codec.decode(chunks)
    assert caught.value.row == 4
    for data in (chunks, [many] * 6, pytest.importorskip("pandas").Series([many] * 6)):
        assert [batch.num_rows for _, batch in in_parts(data, codec.decode)] == [4, 2]
    with pytest.raises(TypeError, match=r"Streamed does not fit in one batch, .*: read it into a table first"):
        list(in_parts(Streamed(chunks), codec.decode))


def test_chunks_are_read_one_at_a_time() -> None:
    alive = []

    def batches() -> Iterator[Any]:
        for number in range(50):
            alive.append(pa.total_allocated_bytes())
            yield pa.RecordBatch.from_pydict({"age": pa.array([number] * 20_000)})

    before = pa.total_allocated_bytes()
    reader = pa.RecordBatchReader.from_batches(pa.schema([("age", pa.int64())]), batches())
    assert len(CODEC.encode(reader)) == 1_000_000
    assert len(alive) == 50
    assert max(alive) - before < 3 * 160_000  # bytes; all chunks together have 8 MB


def test_an_error_of_the_producer_of_batches_is_passed_on() -> None:
    def batches() -> Iterator[Any]:
        yield pa.RecordBatch.from_pylist(ROWS)
        raise LookupError("the file is gone")

    def reader() -> Any:
        return pa.RecordBatchReader.from_batches(table(7).schema, batches())

    with pytest.raises(LookupError, match="the file is gone"):
        CODEC.encode(reader())
    with pytest.raises(SerdesError, match=r"the Arrow stream failed: .*the file is gone"):
        CODEC.encode(Streamed(reader()))


def test_a_stream_can_be_read_once() -> None:
    class Once:
        def __init__(self) -> None:
            self.capsule = table(7).__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self.capsule

    once = Once()
    assert CODEC.encode(once).to_pylist() == DATA
    assert pa.table(Once()).num_rows == 7
    taken = Once()
    pa.table(taken)
    with pytest.raises(SerdesError, match="the Arrow stream has already been read"):
        CODEC.encode(taken)


NO_COLUMNS: list[tuple[Any, str]] = [
    (ROWS, r"got list .hint: pa.RecordBatch.from_pylist\(rows\)"),
    ([pa.RecordBatch.from_pylist(ROWS)], r"pa.Table.from_batches\(batches\)"),
    ({"age": [1]}, r"got dict .hint: pa.table\(columns\)"),
    (None, "(?m)got NoneType$"),
    (b"x", "(?m)got bytes$"),
]
NO_MESSAGES: list[tuple[Any, str]] = [
    (DATA[0], r"got bytes .hint: \[data\] is a batch of one"),
    (bytearray(b"x"), r"got bytearray .hint: \[data\]"),
    ((one for one in DATA), r"got generator .hint: list\(messages\)"),
    ([1], "expected messages as bytes or None, got int"),
    ([b"x", object()], "expected messages as bytes or None, got object"),
    ([PulsarMessage(b"x")], "deserialize_many reads messages of pulsar-client"),
    (None, "(?m)got NoneType$"),
    (5, "(?m)got int$"),
    (pa.record_batch([DATA], ["value"]), "got an array of struct .hint: pass only the column"),
    (pa.table({"value": DATA}), "got an array of struct .hint: pass only the column"),
    (pa.array([1]), "got an array of int64"),
    (pa.array(DATA).dictionary_encode(), "got an array of dictionary .hint: cast it to binary"),
]


@pytest.mark.parametrize(("data", "said"), NO_COLUMNS, ids=str)
def test_data_without_columns_is_an_error_that_says_what_to_call(data: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        CODEC.encode(data)


@pytest.mark.parametrize(("data", "said"), NO_MESSAGES, ids=str)
def test_data_without_messages_is_an_error_that_says_what_to_call(data: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        CODEC.decode(data)


def test_for_messages_of_a_client_the_error_says_to_pass_their_values() -> None:
    class Message:
        def value(self) -> bytes:
            return DATA[0]

    class Record:
        value = DATA[0]

    with pytest.raises(TypeError, match=r"got Message .hint: \[message.value\(\) for message in messages\]"):
        CODEC.decode([Message()])
    with pytest.raises(TypeError, match=r"got Record .hint: \[message.value for message in messages\]"):
        CODEC.decode([Record()])


def test_lazy_frames_and_frames_with_unusable_columns_are_errors_with_a_hint() -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"got LazyFrame .hint: collect\(\) it"):
        CODEC.encode(polars_frame().lazy())
    with pytest.raises(TypeError, match=r"got LazyFrame .hint: collect\(\) it, and pass only the column"):
        CODEC.decode(polars_frame().lazy())
    with pytest.raises(TypeError, match="got an array of struct"):
        CODEC.decode(polars.DataFrame({"value": DATA}))
    with pytest.raises(TypeError, match="got an array of struct"):
        CODEC.decode(pandas.DataFrame({"value": DATA}))
    with pytest.raises(EncodeError, match=r"cannot convert the DataFrame to Arrow columns: .*column name"):
        CODEC.encode(pandas.DataFrame({"name": ["x", 5], "age": [1, 2]}))


def test_an_index_level_with_the_name_of_a_column_is_an_error_that_says_how_to_drop_it() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS).convert_dtypes()
    twice = frame.set_index(["name", "age"], drop=False)
    with pytest.raises(
        EncodeError, match=r"index level are both named 'name' .hint: df.reset_index\('name', drop=True\)"
    ):
        CODEC.encode(twice)
    kept = twice.reset_index("name", drop=True).reset_index("age", drop=True)
    assert CODEC.encode(kept) == CODEC.encode(frame)


def test_missing_numbers_in_pandas_frames_are_nulls() -> None:
    pandas = pytest.importorskip("pandas")
    optional = ColumnCodec(["null", "double"])
    assert optional.encode(pandas.DataFrame({"value": [1.5, None]})).to_pylist() == [
        Codec(["null", "double"]).encode(value) for value in (1.5, None)
    ]
