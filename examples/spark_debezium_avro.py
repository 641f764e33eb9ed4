"""Change events of Debezium, written by the AvroConverter, become a DataFrame by one call.

    python examples/spark_debezium_avro.py

Their schemas are in Pulsar's registry, here an embedded one. The events are made of schemas that this program builds at
run time, as a connector does; spark_debezium.py shows the same for the JsonConverter.
"""

import datetime as dt
import sys
from contextlib import ExitStack
from decimal import Decimal as PythonDecimal

from pyspark.sql import SparkSession

from streamnative_serdes.connect import (
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    AvroConverter,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
)
from streamnative_serdes.spark import decode_df
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry

TOPIC = "shop.public.orders"
COLUMNS = "key binary, value binary, topic string, partition int, offset bigint"  # as Spark's Kafka source has them

ROW = (
    SchemaBuilder.struct(f"{TOPIC}.Value")
    .field("id", INT64)
    .field("total", Decimal.schema(2, parameters={"connect.decimal.precision": "10"}))
    .field("paid", Timestamp.schema(optional=True))
    .optional()
    .build()
)
SOURCE = (
    SchemaBuilder.struct("io.debezium.connector.postgresql.Source").field("table", STRING).field("lsn", INT32).build()
)
EVENT = (
    SchemaBuilder.struct(f"{TOPIC}.Envelope", version=1)
    .field("before", ROW)
    .field("after", ROW)
    .field("source", SOURCE)
    .field("op", OPTIONAL_STRING)
    .build()
)


def events(registry: str) -> list[bytes | None]:
    """An order is made, paid and deleted."""
    source = Struct(SOURCE, table="orders", lsn=1)
    made = Struct(ROW, id=1, total=PythonDecimal("12.50"))
    paid = Struct(ROW, made, paid=dt.datetime(2026, 11, 24, 9, 30, tzinfo=dt.UTC))
    changes = [
        Struct(EVENT, op="c", after=made, source=source),
        Struct(EVENT, op="u", before=made, after=paid, source=source),
        Struct(EVENT, op="d", before=paid, source=source),
    ]
    converter = AvroConverter({"schema.registry.url": registry})
    return [converter.from_connect_data(TOPIC, EVENT, change) for change in changes]


def schema_as_connect_has_it(registry: str, message: bytes | None) -> Schema | None:
    return AvroConverter({"schema.registry.url": registry}).to_connect_data(TOPIC, message).schema


def run(spark: SparkSession, _: str, registry: str) -> None:
    messages = events(registry)
    print("read back with its schema:", schema_as_connect_has_it(registry, messages[0]) == EVENT)
    # With Spark's Kafka source: rows = spark.readStream.format("kafka").options(...).load()
    rows = spark.createDataFrame([(b"key", value, TOPIC, 0, at) for at, value in enumerate(messages)], COLUMNS)

    changes = decode_df(rows, {"schema.registry.url": registry}, topic=TOPIC, keep=["offset"])

    print(changes.schema["after"].dataType.simpleString())
    for row in changes.orderBy("offset").collect():
        print(row.op, row.source.table, row.before and row.before.total, "->", row.after and row.after.total)


def main() -> None:
    with ExitStack() as stack:
        registry = sys.argv[1] if len(sys.argv) > 1 else stack.enter_context(LocalRegistry()).url
        run(stack.enter_context(local_session("debezium")), "", registry)


if __name__ == "__main__":
    main()
