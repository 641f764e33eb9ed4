"""Change events of Debezium, written by Kafka Connect's JsonConverter, become a DataFrame by one call.

    python examples/spark_debezium.py

Each message carries its schema: the row before and after the change, its source, and the operation. This program writes
such messages itself, by the schema that Debezium's connector for MySQL uses.
"""

from pyspark.sql import SparkSession

from streamnative_serdes.connect import (
    INT32,
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    JsonConverter,
    Schema,
    SchemaBuilder,
    Struct,
)
from streamnative_serdes.spark import decode_df
from streamnative_serdes.spark.session import local_session

TOPIC = "dbserver1.inventory.customers"
COLUMNS = "key binary, value binary, topic string, partition int, offset bigint"  # as Spark's Kafka source has them

ROW = (
    SchemaBuilder.struct(f"{TOPIC}.Value")
    .field("id", INT32)
    .field("first_name", STRING)
    .field("email", OPTIONAL_STRING)
    .optional()
    .build()
)
SOURCE = (
    SchemaBuilder.struct("io.debezium.connector.mysql.Source")
    .field("version", STRING)
    .field("connector", STRING)
    .field("name", STRING)
    .field("ts_ms", INT64)
    .field("snapshot", SchemaBuilder.string().name("io.debezium.data.Enum").version(1)
           .parameter("allowed", "true,last,false").default("false").optional())
    .field("db", STRING)
    .field("table", OPTIONAL_STRING)
    .build()
)  # fmt: skip


def envelope(row: Schema) -> Schema:
    return (
        SchemaBuilder.struct(f"{TOPIC}.Envelope", version=1)
        .field("before", row)
        .field("after", row)
        .field("source", SOURCE)
        .field("op", STRING)
        .field("ts_ms", OPTIONAL_INT64)
        .build()
    )


def change(schema: Schema, op: str, before: dict[str, object] | None, after: dict[str, object] | None) -> Struct:
    """An event: ``c``, ``u`` or ``d`` for a row that was created, updated or deleted."""
    rows = schema.fields_by_name["before"].schema
    source = Struct(SOURCE, version="2.7.3.Final", connector="mysql", name="dbserver1", ts_ms=1_700_000_000_000)
    source.put("db", "inventory").put("table", "customers")
    event = Struct(schema, source=source, op=op, ts_ms=1_700_000_000_123)
    event.put("before", before and Struct(rows, before))
    return event.put("after", after and Struct(rows, after))


def events() -> list[bytes | None]:
    """A customer comes, is renamed, the table gets a column, another one comes, and the first one is deleted."""
    wider = SchemaBuilder.struct(ROW.name)
    for field in ROW.fields or ():
        wider.field(field.name, field.schema)
    wider.field("city", OPTIONAL_STRING).optional()
    first, second = envelope(ROW), envelope(wider.build())
    anne, ann = {"id": 1004, "first_name": "Anne"}, {"id": 1004, "first_name": "Ann", "email": "annek@noanswer.org"}
    changes = [
        change(first, "c", None, anne),
        change(first, "u", anne, ann),
        change(second, "c", None, {"id": 1005, "first_name": "Sally", "city": "Oslo"}),
        change(second, "d", ann, None),
    ]
    converter = JsonConverter()  # with Kafka Connect: value.converter=org.apache.kafka.connect.json.JsonConverter
    tombstone = None  # after a deletion, for topics that are compacted
    return [*(converter.from_connect_data(TOPIC, event.schema, event) for event in changes), tombstone]


def run(spark: SparkSession, *_: str) -> None:
    """With Spark's Kafka source: ``messages = spark.readStream.format("kafka").options(...).load()``."""
    rows = [(b"key", value, TOPIC, 0, offset) for offset, value in enumerate(events())]
    messages = spark.createDataFrame(rows, COLUMNS)

    changes = decode_df(messages, {}, topic=TOPIC, converter="connect-json", keep=["offset"])

    print(changes.select("before", "after", "op").schema.simpleString())
    for row in changes.where("op is not null").orderBy("offset").collect():
        print(row.op, row.source.db, row.before and row.before.asDict(), "->", row.after and row.after.asDict())


def main() -> None:
    with local_session("debezium") as spark:
        run(spark)


if __name__ == "__main__":
    main()
