"""Producing for ``produce``: JSON values to framed messages, and their delivery."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streamnative_serdes import KafkaAvroSerializer, header
from streamnative_serdes._config import REGISTRY_OPTIONS, SERIALIZER_OPTIONS, CodecArguments, parse, schema_limits
from streamnative_serdes._kafka import ClientErrors, ask, client
from streamnative_serdes._schema import Schema
from streamnative_serdes._schema import parse as parse_schema
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import SchemaError

from .avro_json import reader_of
from .failures import REFUSED, FailureError
from .lines import Line
from .options import Connection

_PATIENCE: Final = 30.0  # seconds without any delivery
# How avro_json gives data. Fields that the schema does not have are errors: they would be lost.
_RAW: Final = {"avro.logical.types": False, "validate.strict.allow.default": True}
_RAW_CODEC: Final[CodecArguments] = {"avro_logical_types": False, "validate_strict_allow_default": True}


class Framer:
    """Turns JSON values into messages of a topic.

    Args:
        connection: with the registry.
        topic: whose messages they are.
        text: of the schema to write with, which is registered unless ``dry_run``; None for one that the topic has.
        version: of the topic's schemas, to write with; None for the latest.
        dry_run: encode, but register nothing.

    Raises:
        SchemaError: the schema is not valid, or not of type AVRO.
        SchemaRegistryError: the registry refuses, or the topic does not have the schema.
    """

    def __init__(
        self, connection: Connection, topic: str, text: str | None, version: int | None, *, dry_run: bool
    ) -> None:
        self._topic, self.version = topic, version
        if text is None:
            self._schema, self.version = _of_topic(connection, topic, version)
            chosen = {"auto.register.schemas": False, "use.latest.version": False, "use.schema.version": self.version}
        else:
            self._schema, chosen = parse_schema(text, to_register=True), {}
        self._read = reader_of(self._schema)
        self._serializer: KafkaAvroSerializer | None = None
        self._codec = Codec(self._schema, **_RAW_CODEC)
        if not dry_run:
            conf = connection.options_of(SERIALIZER_OPTIONS, **_RAW, **chosen)
            self._serializer = KafkaAvroSerializer(conf, text)
            self._serializer.warm_up(topic)

    def close(self) -> None:
        if self._serializer is not None:
            self._serializer.close()

    def frame(self, value: Any) -> bytes | None:
        """The message for a JSON value; None for null, which is a tombstone. In a dry run it has no header.

        Raises:
            EncodeError: the value does not fit the schema.
        """
        if value is None:
            return None
        datum = self._read(value)
        if self._serializer is None:
            return self._codec.encode(datum)
        message = self._serializer.serialize(self._topic, datum)
        assert message is not None
        self.version = header.read(message)
        return message


def _of_topic(connection: Connection, topic: str, version: int | None) -> tuple[Schema, int]:
    with connection.client() as client_:
        info = client_.latest(topic) if version is None else client_.by_version(topic, version)
    if info.type != "AVRO":
        raise SchemaError(f"expected a schema of type AVRO, got {info.type}", topic=topic, version=info.version)
    limits = schema_limits(parse(REGISTRY_OPTIONS, connection.options_of(REGISTRY_OPTIONS), strict=True))
    return parse_schema(info.text, strict=False, limits=limits), info.version


class Outbox:
    """Sends messages to a topic, and counts what the broker has confirmed.

    Raises:
        ConfigError: the client refuses its options.
    """

    def __init__(self, kafka: dict[str, Any], topic: str) -> None:
        self._topic, self._errors = topic, ClientErrors(kafka, topic)
        self._producer = client(Producer, kafka, topic, self._errors)
        self.delivered: Counter[int] = Counter()  # by partition
        self._refused: list[str] = []

    def require_topic(self) -> None:
        """Raise FailureError if the broker does not have the topic: it would make one with settings nobody chose."""
        listed = ask(self._producer, self._errors, lambda seconds: self._producer.list_topics(timeout=seconds))
        found = listed.topics.get(self._topic)
        if found is None or found.error is not None:
            raise FailureError(
                f"the broker does not have topic {self._topic}", REFUSED, hint="--create lets it make one"
            )

    def send(self, line: Line, value: bytes | None) -> None:
        """Send a message; it is confirmed later.

        Raises:
            FailureError: the broker refused an earlier message, or does not confirm any.
        """
        where = {name: part for name in ("partition", "timestamp") if (part := getattr(line, name)) is not None}
        more: dict[str, Any] = {**where, "headers": list(line.headers), "on_delivery": self._note}
        while True:
            self._raise_refused()
            try:
                self._producer.produce(self._topic, value, line.key, **more)
            except BufferError:  # the queue is full
                self._wait(lambda: self._producer.poll(1.0))
            except KafkaException as error:
                hint = "--any-partition lets keys choose the partition" if line.partition is not None else None
                raise FailureError(f"Kafka: {error.args[0].str()}", REFUSED, topic=self._topic, hint=hint) from error
            else:
                self._producer.poll(0)
                return

    def finish(self) -> None:
        """Wait until all messages are confirmed.

        Raises:
            FailureError: some are not.
        """
        while len(self._producer):
            self._wait(lambda: self._producer.flush(1.0))
        self._raise_refused()

    def _wait(self, step: Callable[[], object]) -> None:
        """Take steps until one message more is answered."""
        before, begun = self._answered(), time.monotonic()
        while self._answered() == before and len(self._producer):
            step()
            if time.monotonic() - begun > _PATIENCE:
                raise self._errors.error(_PATIENCE)

    def _answered(self) -> int:
        return self.delivered.total() + len(self._refused)

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refused.append(error.str())
        else:
            self.delivered[message.partition() or 0] += 1

    def _raise_refused(self) -> None:
        if self._refused:
            raise FailureError(f"the broker refused a message: {self._refused[0]}", REFUSED, topic=self._topic)
