"""Tasks of the jobs in spark.py that we compare with: they do nothing, or do the same with fastavro.

Workers cannot import this module, so the tasks are pickled by value. They import what they use inside functions, or use
definitions from this module.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

TOPIC = "bench"
HEADER = 10  # bytes before each datum
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Trade",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "account", "type": "string"},
        {"name": "symbol", "type": "string"},
        {"name": "side", "type": {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL", "HOLD"]}},
        {"name": "price", "type": "double"},
        {"name": "weight", "type": "float"},
        {"name": "quantity", "type": "int"},
        {"name": "open", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
FIELDS = [(each["name"], each["type"]) for each in SCHEMA["fields"]]


@dataclass(frozen=True)
class Ready:
    """The ceiling: return batches of the right size that were made beforehand."""

    prepared: bytes  # an Arrow stream of one batch, of the size of Spark's batches

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        ready = pa.ipc.open_stream(self.prepared).read_all().combine_chunks().to_batches()[0]
        for batch in batches:
            rows = batch.num_rows
            yield ready if rows == ready.num_rows else ready.slice(0, rows)


def fastavro_decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The fastest way to decode with fastavro: in Arrow batches, with pyarrow turning rows into columns."""
    import fastavro
    import pyarrow as pa

    schema, read = fastavro.parse_schema(SCHEMA), fastavro.schemaless_reader
    plain = {"long": pa.int64(), "string": pa.string(), "double": pa.float64(), "float": pa.float32()}
    plain |= {"int": pa.int32(), "boolean": pa.bool_()}
    kinds = {name: plain.get(str(kind), pa.string()) for name, kind in FIELDS} | {"at": pa.timestamp("us", "UTC")}
    for batch in batches:
        rows = [read(io.BytesIO(message[HEADER:]), schema) for message in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, schema=pa.schema(list(kinds.items())))


def fastavro_encoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The fastest way to encode with fastavro, in Arrow batches."""
    import fastavro
    import pyarrow as pa

    schema, write, head = fastavro.parse_schema(SCHEMA), fastavro.schemaless_writer, b"\x03\x04" + bytes(8)
    for batch in batches:
        messages = []
        for row in batch.to_pylist():
            out = io.BytesIO()
            out.write(head)
            write(out, schema, row)
            messages.append(out.getvalue())
        yield pa.RecordBatch.from_arrays([pa.array(messages, pa.binary())], ["value"])


def loop_only(rows: Iterable[Any]) -> None:
    for _ in rows:
        pass


@dataclass(frozen=True)
class Produce:
    """Send a message for each row. Sending the same message again and again is the ceiling of a sink."""

    brokers: str
    message: bytes

    def rows(self, rows: Iterable[Any]) -> None:
        """The ceiling for rows: Spark passes rows to Python, and the client sends a constant message for each."""
        self._send(self.message for _ in rows)

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The ceiling for Arrow batches."""
        self._send(chain.from_iterable(repeat(self.message, batch.num_rows) for batch in batches))
        return iter(())

    def fastavro(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same with fastavro, as a user would write it."""
        self._send(message for batch in fastavro_encoded(batches) for message in batch.column(0).to_pylist())
        return iter(())

    def _send(self, messages: Iterable[bytes]) -> None:
        from confluent_kafka import Producer

        producer = Producer(
            {
                "bootstrap.servers": self.brokers,
                "linger.ms": 50,
                "enable.idempotence": True,
                "delivery.report.only.error": True,
            }
        )
        produce = producer.produce
        for number, message in enumerate(messages):
            while True:
                try:
                    produce(TOPIC, message)
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
        assert producer.flush(60) == 0
