"""The first large batch that a process encodes: run by arrow_avro.py, each time in a new process.

    python benchmarks/arrow_avro_first.py COLUMNS.arrow SCHEMA.avsc
    python benchmarks/arrow_avro_first.py COLUMNS.arrow SCHEMA.avsc LIBRARY ROW_BYTES

Prints the nanoseconds of processor time that it took, and the SHA-256 of the messages. One row is encoded before, so
the encoder exists and its code is loaded, but memory for the batch is not. Each process imports one side only: what
streamnative_serdes does with malloc's settings must not help Rust's, and the other way round.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

Encode = tuple[Callable[[], object], Callable[[], pa.Array]]  # to be timed; and with the messages as result


def by_ours(batch: pa.RecordBatch, schema: str) -> Encode:
    from streamnative_serdes.arrow import ColumnCodec

    codec = ColumnCodec(schema)
    codec.encode(batch.slice(0, 1))
    return lambda: codec.encode(batch), lambda: codec.encode(batch)


def by_rust(batch: pa.RecordBatch, schema: str, library: str, row_bytes: str) -> Encode:
    from arrow_avro_crate import Rust

    rust = Rust(Path(library))
    rust.write(rust.writer(batch.slice(0, 1), schema, framed=False, row_bytes=int(row_bytes)))
    writer = rust.writer(batch, schema, framed=False, row_bytes=int(row_bytes))
    return lambda: rust.write(writer), lambda: rust.written(writer)


def main() -> None:
    columns, schema, *more = sys.argv[1:]
    batch = pa.ipc.open_file(columns).read_all().combine_chunks().to_batches()[0]
    text = Path(schema).read_text()
    work, messages = by_rust(batch, text, *more) if more else by_ours(batch, text)
    begin = time.process_time_ns()
    work()
    taken = time.process_time_ns() - begin
    print(taken, sha256(b"".join(messages().to_pylist())).hexdigest())


if __name__ == "__main__":
    main()
