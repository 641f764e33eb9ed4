"""Quix Streams: our SerDes as the serializer and deserializer of its topics.

pip install quixstreams
BOOTSTRAP_SERVERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8080 python examples/quix_streams.py
"""

import os
from typing import Any

from quixstreams import Application
from quixstreams.models import Deserializer, SerializationContext, Serializer

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer

CONF = {"schema.registry.url": os.environ.get("SCHEMA_REGISTRY_URL", "http://localhost:8080")}
TOPIC = os.environ.get("TOPIC", "users")
SCHEMA = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": "int"}],
}


class Writing(Serializer):
    """Quix Streams wants an object of its own class, and calls it as confluent-kafka does."""

    def __init__(self, serializer: KafkaAvroSerializer) -> None:
        super().__init__()
        self._serializer = serializer

    def __call__(self, value: Any, ctx: SerializationContext) -> Any:
        return self._serializer(value, ctx)


class Reading(Deserializer):
    """The same for reading."""

    def __init__(self, deserializer: KafkaAvroDeserializer) -> None:
        super().__init__()
        self._deserializer = deserializer

    def __call__(self, value: bytes, ctx: SerializationContext) -> Any:
        return self._deserializer(value, ctx)


def main() -> None:
    """Send three users, and read them back by a pipeline."""
    app = Application(
        broker_address=os.environ.get("BOOTSTRAP_SERVERS", "localhost:9092"),
        consumer_group="example",
        auto_offset_reset="earliest",
        loglevel="WARNING",
    )
    writing, reading = Writing(KafkaAvroSerializer(CONF, SCHEMA)), Reading(KafkaAvroDeserializer(CONF))
    users = app.topic(TOPIC, value_serializer=writing, value_deserializer=reading)
    with app.get_producer() as producer:
        for name, age in (("Ada", 36), ("Grace", 85), ("Edsger", 72)):
            message = users.serialize(key=name, value={"name": name, "age": age})
            producer.produce(users.name, key=message.key, value=message.value)
    frame = app.dataframe(users)
    frame = frame.update(print)
    app.run(count=3, timeout=30)


if __name__ == "__main__":
    main()
