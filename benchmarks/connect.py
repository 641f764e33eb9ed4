"""Connect's data API: the time to build a schema, and the rates at which messages of the JsonConverter become columns.

python benchmarks/connect.py            tables
python benchmarks/connect.py --check    fail if building a schema of ten fields takes more than 3 times as long as
                                        fastavro.parse_schema of the same record

Contenders alternate within each round; ratios are medians over the rounds. What is read equals what was written, and is
compared before the first round. The clock is the processor time of this process.
"""

from __future__ import annotations

import argparse
import datetime as dt
import statistics
import sys
import time
from collections.abc import Callable
from decimal import Decimal as PythonDecimal
from typing import Any

import fastavro
import pyarrow as pa

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.connect import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Date,
    Decimal,
    JsonConverter,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
)
from streamnative_serdes.spark.connect.decoding import ConnectReader
from streamnative_serdes.testing import LocalRegistry

SCHEMA_GOAL = 3.0
BATCH = 10_000  # rows that Spark passes to a task at once
TOPIC = "customers"

# The same ten fields, three of which have a default.
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "sample",
    "namespace": "org.apache.kafka",
    "fields": [
        {"name": "bool_field", "type": "boolean"},
        {"name": "int_field", "type": "int", "default": 0},
        {"name": "long_field", "type": "long"},
        {"name": "string_field", "type": "string", "default": "x"},
        {"name": "list_field", "type": {"type": "array", "items": "int"}},
        {"name": "map_field", "type": {"type": "map", "values": "string"}},
        {"name": "double_field", "type": "double", "default": 1.5},
        {"name": "bytes_field", "type": "bytes"},
        {"name": "note_field", "type": ["null", "string"]},
        {"name": "float_field", "type": "float"},
    ],
}


def build() -> Schema:
    return (
        SchemaBuilder.struct("sample", namespace="org.apache.kafka")
        .field("bool_field", BOOLEAN)
        .field("int_field", INT32, default=0)
        .field("long_field", INT64)
        .field("string_field", STRING, default="x")
        .field("list_field", SchemaBuilder.array(INT32))
        .field("map_field", SchemaBuilder.map(STRING, STRING))
        .field("double_field", FLOAT64, default=1.5)
        .field("bytes_field", BYTES)
        .field("note_field", OPTIONAL_STRING)
        .field("float_field", FLOAT32)
        .build()
    )


def parse() -> object:
    return fastavro.parse_schema(AVRO)


def seconds(work: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def schema_ratio(rounds: int) -> float:
    """How many times as long as fastavro's parsing the building of a schema takes."""
    ratios = []
    for number in range(rounds):
        pair = [(build, 0), (parse, 1)]
        times = [0.0, 0.0]
        for work, place in pair if number % 2 else reversed(pair):
            times[place] = seconds(work, 300)
        ratios.append(times[0] / times[1])
    return statistics.median(ratios)


# --- messages to columns ----------------------------------------------------------------------------------------------

ROW = (
    SchemaBuilder.struct(f"{TOPIC}.Value")
    .field("id", INT32)
    .field("first_name", STRING)
    .field("last_name", STRING)
    .field("email", OPTIONAL_STRING)
    .field("score", FLOAT64)
    .field("active", BOOLEAN)
    .field("born", Date.schema())
    .field("price", Decimal.schema(2, parameters={"connect.decimal.precision": "12"}))
    .field("seen", Timestamp.schema())
    .field("orders", INT64)
    .build()
)
OPTIONAL_ROW = ROW.replaced(optional=True)
SOURCE = (
    SchemaBuilder.struct("io.debezium.connector.mysql.Source")
    .field("version", STRING)
    .field("connector", STRING)
    .field("name", STRING)
    .field("ts_ms", INT64)
    .field("db", STRING)
    .field("table", OPTIONAL_STRING)
    .build()
)
EVENT = (
    SchemaBuilder.struct(f"{TOPIC}.Envelope")
    .field("before", OPTIONAL_ROW)
    .field("after", OPTIONAL_ROW)
    .field("source", SOURCE)
    .field("op", STRING)
    .field("ts_ms", OPTIONAL_INT64)
    .build()
)
AVRO_ROW = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "first_name", "type": "string"},
        {"name": "last_name", "type": "string"},
        {"name": "email", "type": ["null", "string"]},
        {"name": "score", "type": "double"},
        {"name": "active", "type": "boolean"},
        {"name": "born", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "orders", "type": "long"},
    ],
}


def row(number: int) -> Struct:
    return Struct(
        ROW,
        id=number,
        first_name=f"Ada{number}",
        last_name="Lovelace",
        email=f"ada{number}@example.com",
        score=number / 7,
        active=number % 2 == 0,
        born=dt.date(1815, 12, 10),
        price=PythonDecimal(number).scaleb(-2),
        seen=dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        orders=number * 1000,
    )


def event(number: int) -> Struct:
    source = Struct(SOURCE, version="2.7", connector="mysql", name="s", ts_ms=1_700_000_000_000, db="d", table="t")
    return Struct(EVENT, after=row(number), source=source, op="c", ts_ms=1_700_000_000_001)


def json_batch(schema: Schema, values: list[Struct], **config: str) -> tuple[pa.Array, Callable[[], pa.Array]]:
    converter = JsonConverter({name.replace("_", "."): value for name, value in config.items()})
    messages = pa.array([converter.from_connect_data(TOPIC, schema, value) for value in values], pa.binary())
    reader = ConnectReader(TOPIC, schema, converter.options)
    return messages, lambda: reader.read(messages, None)


def avro_batch(url: str, values: list[Struct]) -> tuple[pa.Array, Callable[[], pa.RecordBatch]]:
    conf = {"schema.registry.url": url}
    serializer, deserializer = KafkaAvroSerializer(conf, AVRO_ROW), KafkaAvroDeserializer(conf)
    messages = pa.array([serializer.serialize(TOPIC, dict(value)) for value in values], pa.binary())
    return messages, lambda: deserializer.deserialize_batch(TOPIC, messages)


def rates(rounds: int) -> list[tuple[str, float, float]]:
    """Name, messages a second and megabytes a second of each contender."""
    rows, events = [row(number) for number in range(BATCH)], [event(number) for number in range(BATCH)]
    with LocalRegistry() as registry:
        contenders = {
            "Avro, ten fields": avro_batch(registry.url, rows),
            "JSON with schema, ten fields": json_batch(ROW, rows),
            "JSON with schema, decimals as numbers": json_batch(ROW, rows, decimal_format="NUMERIC"),
            "JSON payload alone, ten fields": json_batch(ROW, rows, schemas_enable="false"),
            "JSON change event of Debezium, 2.4 KB": json_batch(EVENT, events),
        }
        check(contenders["Avro, ten fields"][1](), contenders["JSON with schema, ten fields"][1]())
        best = {name: min(seconds(work, 1) for _ in range(rounds)) for name, (_, work) in contenders.items()}
    return [
        (name, BATCH / best[name], messages.nbytes / best[name] / 1e6) for name, (messages, _) in contenders.items()
    ]


def check(avro: pa.RecordBatch, json: pa.Array) -> None:
    """Both ways make the same columns."""
    for column, other in zip(avro.columns, json.flatten(), strict=True):
        if column.to_pylist() != other.to_pylist():
            raise SystemExit("JSON and Avro became different columns")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rounds", type=int, default=41)
    options = parser.parse_args(arguments)
    ratio = schema_ratio(options.rounds)
    met = ratio <= SCHEMA_GOAL
    verdict = "met" if met else "MISSED"
    print(f"a schema of ten fields is built in {ratio:.2f}x the time of fastavro.parse_schema (<= 3x: {verdict})")
    if options.check:
        return 0 if met else 1
    print(f"\nmessages to columns, batches of {BATCH:,}, one process\n")
    for name, messages, megabytes in rates(max(options.rounds // 4, 1)):
        print(f"{name:40} {messages:>12,.0f} messages/s {megabytes:>8,.0f} MB/s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
