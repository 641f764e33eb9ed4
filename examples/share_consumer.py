"""A queue of jobs on Kafka 4.2 or newer: the consumers of a share group take messages, and acknowledge each of them.

BOOTSTRAP_SERVERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8080 python examples/share_consumer.py

Needs confluent-kafka 2.15 or newer, where share consumers are a preview.
"""

import os
import time
from typing import Any

from confluent_kafka import AcknowledgeType, DeserializingShareConsumer, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer

KAFKA: dict[str, Any] = {"bootstrap.servers": os.environ.get("BOOTSTRAP_SERVERS", "localhost:9092")}
CONF = {"schema.registry.url": os.environ.get("SCHEMA_REGISTRY_URL", "http://localhost:8080")}
TOPIC = os.environ.get("TOPIC", "jobs")
SCHEMA = {"type": "record", "name": "Job", "fields": [{"name": "number", "type": "long"}]}


def read_from_the_start(group: str) -> None:
    """A share group begins at the end of its topics, unless its own configuration, on the broker, says otherwise."""
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[earliest])
    client = AdminClient(KAFKA)
    client.incremental_alter_configs([resource])[resource].result()


def main() -> None:
    """Send five jobs, and a message that cannot be read; accept the jobs, and reject the other."""
    serializer = KafkaAvroSerializer(CONF, SCHEMA)
    producer = Producer(KAFKA)
    for data in [*(serializer.serialize(TOPIC, {"number": number}) for number in range(5)), b"no job"]:
        producer.produce(TOPIC, data)
    producer.flush(30)

    group = f"{TOPIC}-workers"
    read_from_the_start(group)
    reading = {**KAFKA, "group.id": group, "share.acknowledgement.mode": "explicit"}
    consumer = DeserializingShareConsumer({**reading, "value.deserializer": KafkaAvroDeserializer(CONF)})
    consumer.subscribe([TOPIC])
    until, done = time.monotonic() + 60, 0
    while done < 6 and time.monotonic() < until:
        for message in consumer.poll(1):
            error = message.error()
            if error is None:
                print("done", message.value())
                consumer.acknowledge(message, AcknowledgeType.ACCEPT)
            else:  # its value is bytes
                print("rejected", message.value(), error.name())
                consumer.acknowledge(message, AcknowledgeType.REJECT)
            done += 1
        consumer.commit_sync()
    consumer.close()


if __name__ == "__main__":
    main()
