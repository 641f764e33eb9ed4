"""A KEY_VALUE topic in Spark: both halves are struct columns, which are changed and written to another topic.

    python examples/spark_key_value.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
from contextlib import ExitStack

from confluent_kafka import SerializingProducer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamnative_serdes import KafkaAvroSerializer, KeyValueSchema
from streamnative_serdes.spark import decode_df, encode_df
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

USERS, CITIES = "users", "cities"
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}
USER = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "city", "type": ["null", "string"], "default": None}],
}
COUNT = {"type": "record", "name": "Count", "fields": [{"name": "users", "type": "long"}]}


def produce(kafka: dict[str, str], conf: dict[str, str]) -> None:
    """Keys and values by the same pair of schemas, as Pulsar's Java client would write them."""
    schema = KeyValueSchema(KEY, USER, "SEPARATED")
    producer = SerializingProducer(
        {
            **kafka,
            "key.serializer": KafkaAvroSerializer(conf, schema, is_key=True),
            "value.serializer": KafkaAvroSerializer(conf, schema),
        }
    )
    for number in range(100):
        city = ("Rome", "Oslo", None)[number % 3]
        producer.produce(USERS, key={"id": number}, value={"name": f"user {number}", "city": city})
    producer.flush()


def run(spark: SparkSession, brokers: str, registry: str) -> None:
    kafka, conf = {"bootstrap.servers": brokers}, {"schema.registry.url": registry}
    produce(kafka, conf)
    options = {"kafka.bootstrap.servers": brokers, "subscribe": USERS, "decode": "true"}
    users = spark.read.format("streamnative-kafka").options(**options, **conf).load()
    print(users.schema.simpleString())

    cities = users.where("key.id >= 10").groupBy(F.coalesce("value.city", F.lit("?")).alias("key")).count()
    pairs = cities.select("key", F.struct(F.col("count").alias("users")).alias("value"))
    messages = encode_df(pairs, conf, topic=CITIES, schema=KeyValueSchema("STRING", COUNT, "SEPARATED"))
    # Spark's own Kafka sink takes these columns: messages.write.format("kafka"). Here they are read back.
    for row in sorted(decode_df(messages, conf, topic=CITIES).collect()):
        print(f"{row.key}: {row.value.users} users")


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        spark = stack.enter_context(local_session("key-value"))
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({USERS: 4})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        run(spark, brokers, registry)
        spark.stop()  # must come before the broker is closed


if __name__ == "__main__":
    main(sys.argv[1:])
