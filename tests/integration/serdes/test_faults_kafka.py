"""Kafka dies (SIGKILL) and restarts while an idempotent producer writes with our serializer."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import DeserializingConsumer, KafkaError, SerializingProducer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from schemas import record
from servers import Kafka, Pulsar
from waiting import HANG_SECONDS, until

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer

MESSAGES = 200_000
PARTITIONS = 4
DELIVERED_AT_DEATH = MESSAGES // 8
QUIET = {"log_level": 0}  # otherwise librdkafka logs each refused connection to stderr
PLACE = record("Place", ("partition", "int"), ("sequence", "long"))


class Writer:
    """Writes all messages, and kills the broker in the middle, between two delivery reports."""

    def __init__(self, kafka: Kafka, pulsar: Pulsar, topic: str) -> None:
        self._kafka, self._topic = kafka, topic
        self.errors: list[KafkaError] = []
        self.delivered = 0
        self.unreported = 0  # messages written, but not reported as delivered, when the broker died
        self._dead = False
        self._producer = SerializingProducer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 50,
                "message.timeout.ms": 1000 * 4 * HANG_SECONDS,
                "queue.buffering.max.messages": MESSAGES,
                "reconnect.backoff.max.ms": 500,
                "value.serializer": KafkaAvroSerializer({"schema.registry.url": pulsar.url}, PLACE),
                **QUIET,
            }
        )

    def write(self, restart: Callable[[], object]) -> None:
        """Write all messages; calls ``restart`` after the broker was killed, with half of them still to be written."""
        for number in range(MESSAGES):
            sequence, partition = divmod(number, PARTITIONS)
            value = {"partition": partition, "sequence": sequence}
            self._producer.produce(self._topic, value=value, partition=partition, on_delivery=self._on_delivery)
            if number == MESSAGES // 2:
                self._await_death()
                restart()
            if number % 1000 == 0:
                self._producer.poll(0)
        assert self._producer.flush(4 * HANG_SECONDS) == 0

    def _await_death(self) -> None:
        until(lambda: self._dead or self._producer.poll(0.1) < 0, "messages are delivered")
        while self._producer.poll(0.1):  # reports that arrived before the broker died
            pass
        self.unreported = MESSAGES // 2 - self.delivered

    def _on_delivery(self, error: KafkaError | None, _message: Any) -> None:
        if error is not None:
            self.errors.append(error)
            return
        self.delivered += 1
        if self.delivered == DELIVERED_AT_DEATH:
            self._kafka.kill()
            self._dead = True


def read_all(kafka: Kafka, pulsar: Pulsar, topic: str) -> list[list[int]]:
    """Return the sequence numbers of each partition, in the order of its log."""
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "all",
            "value.deserializer": KafkaAvroDeserializer({"schema.registry.url": pulsar.url}),
            **QUIET,
        }
    )
    places = [TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)]
    expected = sum(consumer.get_watermark_offsets(place, timeout=HANG_SECONDS)[1] for place in places)
    consumer.assign(places)
    found: list[list[int]] = [[] for _ in places]
    for _ in range(expected):
        message = consumer.poll(HANG_SECONDS)
        assert message is not None, "nothing came"
        value = message.value()
        assert value["partition"] == message.partition()
        found[message.partition()].append(value["sequence"])
    consumer.close()
    return found


def test_200_000_messages_arrive_once_and_in_order_although_kafka_dies_midway(
    kafka_to_kill: Kafka, pulsar: Pulsar
) -> None:
    topic = "survives-kafka"
    admin = AdminClient({"bootstrap.servers": kafka_to_kill.bootstrap_servers, **QUIET})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(HANG_SECONDS)
    writer = Writer(kafka_to_kill, pulsar, topic)
    with ThreadPoolExecutor(1) as pool:
        restarted: list[Future[Kafka]] = []
        writer.write(lambda: restarted.append(pool.submit(kafka_to_kill.start)))
        restarted[0].result(HANG_SECONDS)
    assert writer.unreported > 0, "no message was in flight when the broker died, so the test shows little"
    assert (writer.errors, writer.delivered) == ([], MESSAGES)
    assert read_all(kafka_to_kill, pulsar, topic) == [list(range(MESSAGES // PARTITIONS))] * PARTITIONS


def test_a_fenced_task_ends_with_an_error_of_ours(kafka: Kafka) -> None:
    """Another process has taken over its transactional id, while messages are on their way."""
    from streamnative_serdes.spark.datasource.writing.outbox import DeliveryError, Outbox

    topic = f"fenced-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(HANG_SECONDS)
    conf = {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic, **QUIET}
    first = Outbox(conf, topic)
    first.begin(topic, 5)
    first.producer.init_transactions(HANG_SECONDS)
    first.producer.begin_transaction()
    first.send(b"before")
    first.flush()
    second = Outbox(conf, topic)
    second.producer.init_transactions(HANG_SECONDS)
    for _ in range(10):
        first.send(b"after")
    with pytest.raises(DeliveryError, match=r"fenced|old epoch"):
        first.flush()
    first.discard()
