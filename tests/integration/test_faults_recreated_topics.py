"""A topic that is deleted and made anew: its versions begin at 0 again, while others still hold the old version 0."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pulsar as pulsar_client
import pytest
from servers import Pulsar
from waiting import until

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, header
from streamnative_serdes.binding import Binding
from streamnative_serdes.errors import IncompatibleSchemaError, SchemaRegistryError

TTL_SECONDS = 0.5  # cache.latest.ttl.sec of those who look


def record(*fields: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "User", "fields": [{"name": name, "type": kind} for name, kind in fields]}


OLD = record(("name", "string"), ("age", "int"))
ADA = {"name": "Ada", "age": 36}
# Its messages are no messages of OLD.
OTHER = record(("age", "int"), ("name", "string"))
BOB = {"age": 7, "name": "Bob"}
# Its messages are messages of OLD too, with other names.
ALIKE = record(("city", "string"), ("height", "int"))
ROME = {"city": "Rome", "height": 21}


class Topics:
    """Makes real topics of Pulsar, and has them go, with their schemas, in one of two ways."""

    def __init__(self, server: Pulsar, way: str) -> None:
        self.server, self._way = server, way
        self._client = pulsar_client.Client(
            server.service_url,
            logger=pulsar_client.FileLogger(pulsar_client.LoggerLevel.Error, str(server.folder / "client.log")),
        )

    def made(self, use: Callable[[str], None]) -> str:
        """A new topic, on which ``use(topic)`` registers schemas before it may go."""
        topic = f"recreated-{uuid.uuid4()}"
        # A connected producer makes the topic, and keeps Pulsar from collecting it too early.
        producer = self._client.create_producer(f"persistent://public/default/{topic}")
        use(topic)
        producer.close()
        return topic

    def go(self, topic: str) -> None:
        """Wait until the topic and its schemas are gone."""
        if self._way == "deleted by an admin":
            done = self.server.admin("DELETE", f"persistent/public/default/{topic}")
            assert done.ok or done.status_code == 404, done.text
        path = f"schemas/public/default/{topic}/schema"
        until(lambda: self.server.admin("GET", path).status_code == 404, "the topic's schemas are gone")

    def close(self) -> None:
        self._client.close()


@pytest.fixture(params=["deleted by an admin", "collected by Pulsar"])
def topics(request: pytest.FixtureRequest, careless_pulsar: Pulsar) -> Iterator[Topics]:
    topics = Topics(careless_pulsar, request.param)
    yield topics
    topics.close()


def writer(topics: Topics, schema: dict[str, Any], **options: Any) -> KafkaAvroSerializer:
    return KafkaAvroSerializer(conf_of(topics, **options), schema)


def conf_of(topics: Topics, **options: Any) -> dict[str, Any]:
    return {"schema.registry.url": topics.server.url} | {key.replace("_", "."): value for key, value in options.items()}


def elsewhere(topics: Topics, topic: str, schema: dict[str, Any], datum: dict[str, Any]) -> bytes:
    """A message of another process, which knows nothing of the topic's past."""
    Binding.forget()
    message = writer(topics, schema).serialize(topic, datum)
    assert message is not None
    Binding.forget()
    return message
