"""kafka-python and aiokafka on a real Kafka, pulsar-client on a real Pulsar, with schemas in Pulsar: runs the examples
as a user would.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_stand_in import ConfluentStandIn
from kop_entries import Record, kop_entry, send_entries
from program import output_of
from pulsar_topic import PulsarTopic
from schemas import record
from servers import Kafka, Pulsar

from streamnative_serdes import Codec, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.integrations.aio import awaited
from streamnative_serdes.integrations.kafka_python import for_kafka_python
from streamnative_serdes.serialization import MessageField, SerializationContext

USERS = "{'name': 'Ada', 'age': 36}\n{'name': 'Grace', 'age': 85}\n{'name': 'Edsger', 'age': 72}\n"
# The schema that Pulsar's Java client derives from the class in the example.
USER = record("User", ("age", ["null", "long"], None), ("name", ["null", "string"], None))
PULSAR_USERS = """\
b'Edsger' None User(name='Edsger', age=72)
b'Edsger' None None
b'Ada' 0 User(name='Ada', age=36)
b'Grace' 0 User(name='Grace', age=85)
b'Ada' 0 None
"""


# By the client that each needs.
EXAMPLES = {
    "kafka_python_client.py": "kafka",
    "aiokafka_client.py": "aiokafka",
    "confluent_asyncio.py": "confluent_kafka.aio._AsyncSerializingProducer",
    "faststream_client.py": "faststream.confluent",
    "quix_streams.py": "quixstreams",
}


@pytest.mark.promise("other-clients")
@pytest.mark.parametrize("example", EXAMPLES)
def test_users_are_read_back_equal(kafka: Kafka, pulsar: Pulsar, example: str) -> None:
    pytest.importorskip(EXAMPLES[example])
    place = {
        "BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "SCHEMA_REGISTRY_URL": pulsar.url,
        "TOPIC": f"clients-{uuid.uuid4()}",
    }
    assert output_of(example, place) == USERS


def test_asyncio_clients_of_bytes_are_given_what_was_awaited(kafka: Kafka, pulsar: Pulsar) -> None:
    aio = pytest.importorskip("confluent_kafka.aio")
    topic, users = f"clients-{uuid.uuid4()}", [{"name": name, "age": 7} for name in "abc"]
    place, conf = {"bootstrap.servers": kafka.bootstrap_servers}, {"schema.registry.url": pulsar.url}
    serializer, deserializer = KafkaAvroSerializer(conf, USER), KafkaAvroDeserializer(conf)

    async def main() -> list[Any]:
        write, context = awaited(serializer), SerializationContext(topic, MessageField.VALUE)
        async with aio.AIOProducer(place) as producer:
            reports = [await producer.produce(topic, await write(user, context)) for user in users]
            await producer.flush()
            for report in reports:
                assert (await report).error() is None
        reading = {**place, "group.id": topic, "auto.offset.reset": "earliest"}
        found: list[Any] = []
        async with aio.AIOConsumer(reading) as consumer:
            await consumer.subscribe([topic])
            while len(found) < len(users):
                found += await consumer.consume(3, 30)
        return found

    messages = asyncio.run(main())
    assert list(deserializer.deserialize_many(None, messages)) == users
    assert (serializer.stats()["messages"], deserializer.stats()["messages"]) == (3, 3)


def test_a_pulsar_client_reads_what_kafka_and_pulsar_clients_wrote(pulsar: Pulsar, pulsar_topic: PulsarTopic) -> None:
    name = pulsar_topic.name
    message = KafkaAvroSerializer(pulsar_topic.conf, USER).serialize(name, {"name": "Edsger", "age": 72})
    send_entries(pulsar, name, kop_entry(Record(message, b"Edsger"), Record(None, b"Edsger")))
    place = {"SERVICE_URL": pulsar.service_url, "SCHEMA_REGISTRY_URL": pulsar.url, "TOPIC": name}
    assert output_of("pulsar_schema.py", place) == PULSAR_USERS


@pytest.mark.filterwarnings("ignore:.* is deprecated. Use files:DeprecationWarning")  # by the import of kafka-python
def test_schema_ids_in_headers_are_read_with_both_clients(
    kafka: Kafka, pulsar: Pulsar, stand_in: ConfluentStandIn
) -> None:
    from kafka import KafkaConsumer

    topic = f"clients-{uuid.uuid4()}"
    guid = stand_in.guid(stand_in.register(f"{topic}-value", USER))
    datum = {"age": 36, "name": "Ada"}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, Codec(USER).encode(datum), headers=[("__value_schema_id", b"\1" + guid)])
    assert producer.flush(60) == 0
    more = {"framings": "snip42,confluent-header", "confluent.schema.registry.url": stand_in.url}
    deserializer = KafkaAvroDeserializer({"schema.registry.url": pulsar.url, **more})
    place: Any = {"bootstrap_servers": kafka.bootstrap_servers, "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer(
        topic, value_deserializer=for_kafka_python(deserializer), consumer_timeout_ms=60_000, **place
    )
    assert next(consumer).value == datum
    consumer.close()

    async def consume() -> Any:
        from aiokafka import AIOKafkaConsumer

        async with AIOKafkaConsumer(topic, **place) as consumer:
            return [await consumer.getone()]

    assert list(deserializer.deserialize_many(None, asyncio.run(consume()))) == [datum]
