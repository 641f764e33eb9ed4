"""What the jobs of spark.py that are not ours do inside a task: nothing, or the same with fastavro.

They are sent by value, for workers cannot import this: what they use is imported in them, or stands here.
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
    """The ceiling: batches of the right size, of what was made before."""

    prepared: bytes  # an Arrow stream of one batch, as large as Spark's

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        ready = pa.ipc.open_stream(self.prepared).read_all().combine_chunks().to_batches()[0]
        for batch in batches:
            rows = batch.num_rows
            yield ready if rows == ready.num_rows else ready.slice(0, rows)


def fastavro_decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The best of the ways to decode with fastavro: in Arrow's batches, rows to columns by pyarrow."""
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
    """Likewise for encoding."""
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
    """Sends a message for each row; the same one again and again is the ceiling of a sink."""

    brokers: str
    message: bytes

    def rows(self, rows: Iterable[Any]) -> None:
        """What Spark takes to hand rows to Python, and the client to send."""
        self._send(self.message for _ in rows)

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Likewise for Arrow's batches."""
        self._send(chain.from_iterable(repeat(self.message, batch.num_rows) for batch in batches))
        return iter(())

    def fastavro(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What one would write with fastavro."""
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
