"""The contenders of arrow.py: our columns of a shape, those of fastavro, and those of Rust's pyruhvro."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import fastavro
import pyarrow as pa
from harness import Job
from shapes import Shape

from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.codec import Codec

ROWS, SLOW_ROWS = 10_000, 500  # slow: for libraries that are some fifty times slower
PEERS, OURS = ("fastavro", "pyruhvro"), "ours"


def job(operation: str, shape: str, name: str, work: Callable[[], object], rows: int = ROWS) -> Job:
    return Job((operation, shape, name), work, rows, clock=time.process_time)


def jobs_of(shape: Shape) -> Iterator[Job]:
    """The operations of each library that handles this shape correctly."""
    codec, columns = Codec(shape.schema), ColumnCodec(shape.schema)
    # Each message is a separate bytes object, as in reality: a repeated object would stay in the processor's caches.
    bodies = [codec.encode(record) for _ in range(ROWS // len(shape.records)) for record in shape.records]
    data = pa.array(bodies)
    batch = columns.decode(data)
    assert columns.encode(batch) == data
    yield job("decode", shape.name, OURS, lambda: columns.decode(data))
    yield job("encode", shape.name, OURS, lambda: columns.encode(batch))
    few, rows = bodies[:SLOW_ROWS], batch.slice(0, SLOW_ROWS)
    parsed = fastavro.parse_schema(shape.schema)
    yield job("decode", shape.name, "fastavro", lambda: fastavro_decode(few, parsed), SLOW_ROWS)
    if shape.name != "nested":  # pyarrow turns a map into a list of pairs, which fastavro refuses
        assert fastavro_encode(rows, parsed).to_pylist() == few
        yield job("encode", shape.name, "fastavro", lambda: fastavro_encode(rows, parsed), SLOW_ROWS)
    yield from pyruhvro_jobs(shape, bodies, batch)


def fastavro_decode(bodies: list[bytes], schema: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([fastavro.schemaless_reader(io.BytesIO(body), schema) for body in bodies])


def fastavro_encode(batch: pa.RecordBatch, schema: Any) -> pa.Array:
    files = []
    for row in batch.to_pylist():
        files.append(io.BytesIO())
        fastavro.schemaless_writer(files[-1], schema, row)
    return pa.array([file.getvalue() for file in files])


def pyruhvro_jobs(shape: Shape, bodies: list[bytes], ours: pa.RecordBatch) -> Iterator[Job]:
    import pyruhvro

    try:
        with panics_unseen():
            batch = pyruhvro.deserialize_array(bodies, shape.text)
            written = pyruhvro.serialize_record_batch(batch, shape.text, 1)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # raised by Rust; not an Exception
            raise
        return
    assert [pa.array(part).to_pylist() for part in written] == [bodies]
    assert plain(batch) == plain(ours), shape.name
    yield job("decode", shape.name, "pyruhvro", lambda: pyruhvro.deserialize_array(bodies, shape.text))
    yield job("encode", shape.name, "pyruhvro", lambda: pyruhvro.serialize_record_batch(batch, shape.text, 1))


def plain(batch: Any) -> list[Any]:
    """The values of a batch, with all timestamps in microseconds."""
    columns = [pa.array(column) for column in pa.record_batch(batch).columns]
    moments = [pa.types.is_timestamp(column.type) for column in columns]
    pairs = zip(columns, moments, strict=True)
    return [(column.cast(pa.timestamp("us")) if moment else column).to_pylist() for column, moment in pairs]


@contextmanager
def panics_unseen() -> Iterator[None]:
    """Silence stderr: Rust prints its panics there even if they are caught."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)
