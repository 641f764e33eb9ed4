"""Read and write a topic with Pulsar's own Python client, whether Pulsar or Kafka clients wrote the messages.

SERVICE_URL=pulsar://localhost:6650 SCHEMA_REGISTRY_URL=http://localhost:8080 python examples/pulsar_schema.py
"""

import os
from dataclasses import dataclass

from pulsar import Client, ConsoleLogger, LoggerLevel, MessageId

from streamnative_serdes.integrations.pulsar_client import key_of, pulsar_schema, schema_version_of

SERVICE_URL = os.environ.get("SERVICE_URL", "pulsar://localhost:6650")
CONF = {"schema.registry.url": os.environ.get("SCHEMA_REGISTRY_URL", "http://localhost:8080")}
TOPIC = os.environ.get("TOPIC", "users")


@dataclass
class User:
    name: str
    age: int


def main() -> None:
    """Send two users and a tombstone, and read all messages of the topic."""
    client = Client(SERVICE_URL, logger=ConsoleLogger(LoggerLevel.Warn))
    schema = pulsar_schema(CONF, User)

    producer = client.create_producer(TOPIC, schema=schema)
    for user in (User("Ada", 36), User("Grace", 85)):
        producer.send(user, partition_key=user.name)
    producer.send(None, partition_key="Ada")  # a tombstone
    producer.close()

    reader = client.create_reader(TOPIC, MessageId.earliest, schema=schema)
    while reader.has_message_available():
        message = reader.read_next(10_000)
        print(key_of(message), schema_version_of(message), message.value())
    reader.close()
    client.close()


if __name__ == "__main__":
    main()
