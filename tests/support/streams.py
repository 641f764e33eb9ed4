"""A stream of numbered messages through a Kafka topic, with two alternating schema versions, verified on reading."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from confluent_kafka import DeserializingConsumer, SerializingProducer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from waiting import HANG_SECONDS, until

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer

_AHEAD = 4  # messages that the writer may be ahead of the reader: few, to leave the processors to the servers
_NUMBER = {"name": "number", "type": "long"}
_COLOUR = {"name": "colour", "type": "string", "default": "none"}


def numbered(number: int) -> dict[str, Any]:
    """Return message ``number``: even ones have the first schema, odd ones the second."""
    return {"number": number, "colour": f"colour {number}"} if number % 2 else {"number": number}


class Stream:
    """While running, one thread writes and one reads with confluent-kafka's clients; ``conf`` is for the SerDes."""

    schemas: ClassVar = [
        {"type": "record", "name": "Numbered", "fields": fields} for fields in ([_NUMBER], [_NUMBER, _COLOUR])
    ]

    def __init__(self, bootstrap_servers: str, topic: str, conf: dict[str, Any]) -> None:
        self.topic = topic
        self.serializers = [KafkaAvroSerializer(conf, schema) for schema in self.schemas]
        self.deserializer = KafkaAvroDeserializer(conf)
        self.slowest = 0.0  # longest call of a serializer or deserializer, in seconds
        self.written = self.read = 0
        self._room = threading.Semaphore(_AHEAD)
        self._stopped, self._complete = threading.Event(), threading.Event()
        self._failures: list[BaseException] = []
        clients = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        admin = AdminClient(clients)
        admin.create_topics([NewTopic(topic, 1)])[topic].result(HANG_SECONDS)
        self.producer = SerializingProducer({**clients, "linger.ms": 5, "value.serializer": self._serialize})
        self._consumer = DeserializingConsumer(
            {**clients, "group.id": topic, "value.deserializer": self._timed(self.deserializer)}
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])

    def more(self, messages: int) -> None:
        """Wait until that many more messages were written and read."""
        goal = self.written + messages
        until(lambda: self.read >= goal or self._failures, f"{messages} messages of {self.topic}")
        self._check()

    @contextmanager
    def running(self) -> Iterator[Stream]:
        """Write and read; at the end, all written messages were read."""
        threads = [threading.Thread(target=self._guarded, args=(work,)) for work in (self._write, self._read)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join(HANG_SECONDS)
            self._consumer.close()
        self._check()
        assert self.read == self.written, f"{self.written} messages were written, {self.read} came"

    def _check(self) -> None:
        if self._failures:
            raise self._failures[0]

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            self._failures.append(error)
            self._stopped.set()

    def _write(self) -> None:
        while not self._stopped.is_set():
            if self._room.acquire(timeout=0.1):
                self.producer.produce(self.topic, value=numbered(self.written))
                self.written += 1
                self.producer.poll(0)
        assert self.producer.flush(HANG_SECONDS) == 0, "Kafka did not accept all messages"
        self._complete.set()

    def _read(self) -> None:
        while not self._failures and (not self._complete.is_set() or self.read < self.written):
            message = self._consumer.poll(0.1)
            if message is not None:
                got, expected = (message.offset(), message.value()), (self.read, numbered(self.read))
                assert got == expected, f"expected {expected}, got {got}"
                self.read += 1
                self._room.release()

    def _serialize(self, obj: dict[str, Any], ctx: Any) -> bytes | None:
        return self._timed(self.serializers[obj["number"] % 2])(obj, ctx)

    def _timed(self, serdes: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def call(obj: Any, ctx: Any) -> Any:
            began = time.monotonic()
            try:
                return serdes(obj, ctx)
            finally:
                self.slowest = max(self.slowest, time.monotonic() - began)

        return call
