"""Dead letters: process the good messages, and keep those that cannot be read together with the error and the offset.

    python examples/spark_dead_letters.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
from contextlib import ExitStack

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.spark import split_errors
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "payments"
PAYMENT = {
    "type": "record",
    "name": "Payment",
    "fields": [{"name": "id", "type": "long"}, {"name": "cents", "type": "int"}],
}


def produce(brokers: str, conf: dict[str, str]) -> None:
    """Send a hundred payments. Every tenth message lacks its last byte."""
    serializer, producer = KafkaAvroSerializer(conf, PAYMENT), Producer({"bootstrap.servers": brokers})
    for number in range(100):
        value = serializer.serialize(TOPIC, {"id": number, "cents": 1000 + number}) or b""
        producer.produce(TOPIC, value[:-1] if number % 10 == 9 else value, key=str(number))
    producer.flush(30)


def run(spark: SparkSession, brokers: str, registry: str) -> None:
    conf = {"schema.registry.url": registry}
    produce(brokers, conf)

    options = {"kafka.bootstrap.servers": brokers, "subscribe": TOPIC, "decode": "true", "errorColumn": "error"}
    decoded = spark.read.format("streamnative-kafka").options(**options, **conf).load().persist()
    payments, dead = split_errors(decoded, "error")
    # Store them anywhere. Here they go to another topic, unchanged: they are not valid Avro, so do not encode them.
    letters = Producer({"bootstrap.servers": brokers})
    for letter in dead.toLocalIterator():
        headers = [("error", letter.error.encode()), ("offset", str(letter.offset).encode())]
        letters.produce("payments-dead", bytes(letter.value), bytes(letter.key), headers=headers)
    letters.flush(30)
    cents = payments.agg({"cents": "sum"}).collect()[0][0]
    first = dead.orderBy("key").select("error").collect()[0][0]
    print(f"{payments.count()} payments of {cents} cents, {dead.count()} dead letters, the first: {first}")


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        spark = stack.enter_context(local_session("dead letters"))
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({TOPIC: 4, "payments-dead": 1})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        run(spark, brokers, registry)
        spark.stop()  # must come before the broker is closed


if __name__ == "__main__":
    main(sys.argv[1:])
