"""The jobs of arrow_avro.py: batches of messages, bare and framed, by us and by Rust, equal before they are timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from arrow_avro_crate import Pointer, Rust
from column_shapes import different
from harness import Job
from shapes import KINDS, Shape

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.codec import Codec

ROWS_OF_A_ROUND = 20_000
OPERATIONS = ("decode, bare", "decode, framed", "decode, framed, one by one", "encode, bare", "encode, framed")
OURS, PEER, STRUCTS = "ours", "arrow-avro", "serde_avro_fast"


def job(operation: str, column: str, library: str, rows: int, work: Callable[[], object]) -> Job:
    """A job whose round repeats small batches."""
    loops = max(1, ROWS_OF_A_ROUND // rows)
    return Job((f"{operation}, {rows:,} rows", column, library), work, rows, clock=time.process_time, loops=loops)


def bodies_of(shape: Shape, rows: int) -> list[bytes]:
    """Bare data, each in a bytes object of its own."""
    codec, records = Codec(shape.schema), different(shape.name)
    return [codec.encode(records[number % len(records)]) for number in range(rows)]


def confluent(bodies: list[bytes], versions: int = 1) -> pa.Array:
    """Messages with Confluent's header; their ids are 0, 1, ... in turn."""
    return pa.array([b"\0" + (number % versions).to_bytes(4, "big") + body for number, body in enumerate(bodies)])


def check(same: bool, what: str) -> None:
    if not same:
        raise SystemExit(f"{what}: arrow-avro and streamnative_serdes differ, so nothing is timed")


def same_columns(theirs: pa.RecordBatch, ours: pa.RecordBatch) -> bool:
    """Whether the values are the same.

    arrow-avro has milliseconds where we have microseconds, a dictionary for an enum, 16 bytes for a UUID, and a union
    where we have a struct with a member for each branch.
    """
    pairs = zip(theirs.columns, ours.columns, strict=True)
    alike = all(as_type(column, own.type).equals(own) for column, own in pairs)
    return alike and bool(theirs.schema.names == ours.schema.names)


def as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_union(column.type):
        codes = column.type_codes.to_pylist()
        pairs = zip(codes, column.to_pylist(), strict=True)
        return pa.array([{f"member{code}": value} for code, value in pairs], kind)
    if column.type == pa.binary(16):
        return pa.array([None if value is None else str(UUID(bytes=value)) for value in column.to_pylist()], kind)
    return column.cast(kind)


def bare(rust: Rust, shape: Shape, rows: int) -> Iterator[Job]:
    """Data without a header."""
    codec, data = ColumnCodec(shape.schema), pa.array(bodies_of(shape, rows))
    columns = codec.decode(data)
    reader, messages = rust.reader([shape.text], rows, framed=False), rust.messages(data, apart=False)
    theirs = rust.columns(reader, messages)
    check(same_columns(theirs, columns), f"{shape.name}, {rows} rows decoded")
    writer = rust.writer(theirs, shape.text, framed=False, row_bytes=data.nbytes // rows)
    check(codec.encode(columns) == data == rust.written(writer), f"{shape.name}, {rows} rows encoded")
    yield job("decode, bare", shape.title, OURS, rows, lambda: codec.decode(data))
    yield job("decode, bare", shape.title, PEER, rows, lambda: rust.read(reader, messages))
    yield job("encode, bare", shape.title, OURS, rows, lambda: codec.encode(columns))
    yield job("encode, bare", shape.title, PEER, rows, lambda: rust.write(writer))


def framed(rust: Rust, url: str, shape: Shape, rows: int) -> Iterator[Job]:
    """Data with a header: ours is in the registry, theirs in a store of schemas."""
    conf, topic = {"schema.registry.url": url}, f"{shape.name}-{rows}"
    serializer, bodies = KafkaAvroSerializer(conf, shape.schema), bodies_of(shape, rows)
    columns = ColumnCodec(shape.schema).decode(pa.array(bodies))
    data, messages = serializer.serialize_batch(topic, columns), confluent(bodies)
    check([message[10:] for message in data.to_pylist()] == bodies, f"{shape.name}, {rows} rows encoded with a header")
    reader = rust.reader([shape.text], rows, framed=True)
    if shape.name in ("tiny", "flat"):
        yield structs(rust, shape, messages, columns)
    yield from decoding(rust, reader, messages, KafkaAvroDeserializer(conf), topic, shape.title, data)
    theirs = rust.columns(reader, rust.messages(messages, apart=False))
    writer = rust.writer(theirs, shape.text, framed=True, row_bytes=messages.nbytes // rows)
    check(rust.written(writer) == messages, f"{shape.name}, {rows} rows encoded with a header by arrow-avro")
    yield job("encode, framed", shape.title, OURS, rows, lambda: serializer.serialize_batch(topic, columns))
    yield job("encode, framed", shape.title, PEER, rows, lambda: rust.write(writer))


def decoding(
    rust: Rust, reader: Pointer, theirs: pa.Array, read: KafkaAvroDeserializer, topic: str, column: str, data: pa.Array
) -> Iterator[Job]:
    """Both ways to have messages: in one array, and one by one."""
    rows, ours = len(data), read.deserialize_batch(topic, data)
    for operation, mine, apart in (("decode, framed", data, False), (OPERATIONS[2], data.to_pylist(), True)):
        messages = rust.messages(theirs, apart=apart)
        check(same_columns(rust.columns(reader, messages), ours), f"{topic}, {rows} rows decoded with a header")
        check(read.deserialize_batch(topic, mine) == ours, f"{topic}, {operation}")
        yield job(operation, column, OURS, rows, partial(read.deserialize_batch, topic, mine))
        yield job(operation, column, PEER, rows, partial(rust.read, reader, messages))


def structs(rust: Rust, shape: Shape, messages: pa.Array, columns: pa.RecordBatch) -> Job:
    """serde_avro_fast: a struct for each message, whose text points to the message."""
    schema, handed, wide = rust.schema(shape.text), rust.messages(messages, apart=False), shape.name == "flat"
    same = rust.structs(schema, handed, wide=wide) == sum_of(columns)
    check(same, f"{shape.name}, {len(messages)} rows decoded by serde_avro_fast")
    work = partial(rust.structs, schema, handed, wide=wide)
    return job("decode, framed", shape.title, STRUCTS, len(messages), work)


def sum_of(columns: pa.RecordBatch) -> int:
    """As structs.rs sums them up, in 64 bits."""
    found = np.zeros(columns.num_rows, np.int64)
    bits = found.copy()
    for column in columns.columns:
        kind = column.type
        if pa.types.is_floating(kind):
            bits ^= column.to_numpy().view(f"u{kind.bit_width // 8}").astype(np.int64)
        elif pa.types.is_timestamp(kind):
            found += whole(column.cast(pa.timestamp("ms", "UTC")))
        elif pa.types.is_string(kind):
            symbols = column[0].as_py() in KINDS
            found += whole(pc.index_in(column, pa.array(KINDS)) if symbols else pc.binary_length(column))
        else:
            found += whole(column)
    return int((found + bits).sum())


def whole(column: pa.Array) -> Any:
    return column.cast(pa.int64()).fill_null(0).to_numpy()
