"""Connect's data API: the time to build a schema, and the rates at which messages of the JsonConverter become columns.

python benchmarks/connect.py            tables
python benchmarks/connect.py --check    fail if building a schema of ten fields takes more than 3 times as long as
                                        fastavro.parse_schema of the same record

What is read equals what was written, and is compared before the first round; ratios are medians over the rounds.
"""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal as PythonDecimal
from functools import partial
from typing import Any

import fastavro
import pyarrow as pa
from harness import Goal, Job, judged, measure, options
from shapes import DATE, TIMESTAMP, array, logical, record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes import connect as api
from streamnative_serdes.spark.connect.decoding import ConnectReader
from streamnative_serdes.testing import LocalRegistry

SCHEMA_GOAL = 3.0
BATCH, TOPIC = 10_000, "customers"  # rows that Spark passes to a task at once
MAP = {"type": "map", "values": "string"}
# The same ten fields twice, three of which have a default.
AVRO = record(
    "sample", bool_field="boolean", int_field="int", long_field="long", string_field="string", list_field=array("int"),
    map_field=MAP, double_field="double", bytes_field="bytes", note_field=["null", "string"], float_field="float",
) | {"namespace": "org.apache.kafka"}  # fmt: skip
DEFAULTS = {"int_field": {"default": 0}, "string_field": {"default": "x"}, "double_field": {"default": 1.5}}
AVRO["fields"] = [each | DEFAULTS.get(each["name"], {}) for each in AVRO["fields"]]


def build() -> api.Schema:
    return (
        api.SchemaBuilder.struct("sample", namespace="org.apache.kafka")
        .field("bool_field", api.BOOLEAN).field("int_field", api.INT32, default=0).field("long_field", api.INT64)
        .field("string_field", api.STRING, default="x").field("list_field", api.SchemaBuilder.array(api.INT32))
        .field("map_field", api.SchemaBuilder.map(api.STRING, api.STRING))
        .field("double_field", api.FLOAT64, default=1.5)
        .field("bytes_field", api.BYTES).field("note_field", api.OPTIONAL_STRING).field("float_field", api.FLOAT32)
        .build()
    )  # fmt: skip


def struct(name: str, /, **fields: api.Schema | api.SchemaBuilder) -> api.Schema:
    builder = api.SchemaBuilder.struct(name)
    for field, kind in fields.items():
        builder.field(field, kind)
    return builder.build()


ROW = struct(
    f"{TOPIC}.Value", id=api.INT32, first_name=api.STRING, last_name=api.STRING, email=api.OPTIONAL_STRING,
    score=api.FLOAT64, active=api.BOOLEAN, born=api.Date.schema(), seen=api.Timestamp.schema(), orders=api.INT64,
    price=api.Decimal.schema(2, parameters={"connect.decimal.precision": "12"}),
)  # fmt: skip
AVRO_ROW = record(
    "Value", id="int", first_name="string", last_name="string", email=["null", "string"], score="double",
    active="boolean", born=DATE, seen=TIMESTAMP, orders="long",
    price=logical("bytes", "decimal", precision=12, scale=2),
)  # fmt: skip
SOURCE = struct(
    "io.debezium.connector.mysql.Source", version=api.STRING, connector=api.STRING, name=api.STRING, ts_ms=api.INT64,
    db=api.STRING, table=api.OPTIONAL_STRING,
)  # fmt: skip
MAYBE = ROW.replaced(optional=True)
EVENT = struct(f"{TOPIC}.Envelope", before=MAYBE, after=MAYBE, source=SOURCE, op=api.STRING, ts_ms=api.OPTIONAL_INT64)
MOMENT, DAY, CENTS = dt.datetime(2026, 11, 24, tzinfo=dt.UTC), dt.date(2026, 11, 24), PythonDecimal("12.50")


def row(number: int) -> api.Struct:
    return api.Struct(
        ROW, id=number, first_name=f"Ada{number}", last_name="Lovelace", email=f"ada{number}@example.com",
        score=number / 7, active=number % 2 == 0, born=DAY, price=PythonDecimal(number).scaleb(-2), seen=MOMENT,
        orders=number * 1000,
    )  # fmt: skip


def event(number: int) -> api.Struct:
    source = api.Struct(SOURCE, version="2.7", connector="mysql", name="s", ts_ms=1_700_000_000_000, db="d", table="t")
    return api.Struct(EVENT, after=row(number), source=source, op="c", ts_ms=1_700_000_000_001)


def json_batch(name: str, schema: api.Schema, values: list[api.Struct], **config: str) -> tuple[Job, pa.Array]:
    converter = api.JsonConverter({key.replace("_", "."): value for key, value in config.items()})
    messages = pa.array([converter.from_connect_data(TOPIC, schema, value) for value in values], pa.binary())
    reader = ConnectReader(TOPIC, schema, converter.options)
    return Job(("columns", name), partial(reader.read, messages, None), BATCH), messages


def column_jobs(conf: dict[str, Any]) -> list[tuple[Job, pa.Array]]:
    rows = list(map(row, range(BATCH)))
    serializer, read = KafkaAvroSerializer(conf, AVRO_ROW), KafkaAvroDeserializer(conf).deserialize_batch
    data = pa.array([serializer.serialize(TOPIC, dict(value)) for value in rows], pa.binary())
    json, messages = json_batch("JSON with schema, ten fields", ROW, rows)
    columns: Any = json.work()
    if [column.to_pylist() for column in read(TOPIC, data).columns] != [each.to_pylist() for each in columns.flatten()]:
        raise SystemExit("JSON and Avro became different columns")
    return [
        (Job(("columns", "Avro, ten fields"), partial(read, TOPIC, data), BATCH), data),
        (json, messages),
        json_batch("JSON with schema, decimals as numbers", ROW, rows, decimal_format="NUMERIC"),
        json_batch("JSON payload alone, ten fields", ROW, rows, schemas_enable="false"),
        json_batch("JSON change event of Debezium, 2.4 KB", EVENT, list(map(event, range(BATCH)))),
    ]


def main() -> int:
    given = options(__doc__, 31, "--check").parse_args()
    jobs = [
        Job(("schema", "ours"), build, loops=300),
        Job(("schema", "fastavro"), partial(fastavro.parse_schema, AVRO), loops=300),
    ]
    built = measure(jobs, given.rounds).times(("schema", "ours"), ("schema", "fastavro"))
    with LocalRegistry() as registry:
        columns = column_jobs({"schema.registry.url": registry.url})
        rates = measure((job for job, _ in columns), max(given.rounds // 4, 1))
    print(f"messages to columns, batches of {BATCH:,}, one process\n")
    for job, messages in columns:
        least = min(rates[job.key].rounds)
        print(f"{job.key[1]:40} {1e9 / least:>12,.0f} messages/s {messages.nbytes / BATCH / least * 1e3:>8,.0f} MB/s")
    print()
    goal = Goal(f"a schema of ten fields: <= {SCHEMA_GOAL:g}x fastavro.parse_schema", built, SCHEMA_GOAL, most=True)
    return judged([goal], check=given.check)


if __name__ == "__main__":
    sys.exit(main())
