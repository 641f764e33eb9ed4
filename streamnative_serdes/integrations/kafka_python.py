"""Adapters for Kafka clients other than confluent-kafka.

aiokafka takes plain functions of the value, so it needs no adapter::

    AIOKafkaProducer(value_serializer=partial(serializer.serialize, "users"))
    AIOKafkaConsumer("users", value_deserializer=partial(deserializer.deserialize, "users"))

It does not pass them the headers. Where those have a schema id (``framings``), leave ``value_deserializer`` out, and
read the consumer's messages: ``deserializer.deserialize_many("users", messages)``.

The first message of a topic sends a request to the registry, which would block the event loop. To avoid that, warm up
in a thread: ``await asyncio.to_thread(serializer.warm_up, "users")``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.serializer import KafkaAvroSerializer


def for_kafka_python(serdes: KafkaAvroSerializer | KafkaAvroDeserializer) -> Any:
    """Wrap a SerDes for ``value_serializer`` or ``value_deserializer`` of kafka-python 2 or 3.

    A SerDes with ``is_key=True`` is for ``key_serializer`` or ``key_deserializer``. Headers reach the SerDes with
    kafka-python 3 only: version 2 does not pass them.

    Returns:
        a ``kafka.serializer.Serializer`` or ``Deserializer``; closing the client closes ``serdes``.

    Raises:
        ConfigError: ``serdes`` is neither a serializer nor a deserializer, or kafka-python is not installed.
    """
    for face, name in ((KafkaAvroSerializer, "serialize"), (KafkaAvroDeserializer, "deserialize")):
        if isinstance(serdes, face):
            return _adapter(name)(serdes)
    raise ConfigError(f"expected a KafkaAvroSerializer or KafkaAvroDeserializer, got {type(serdes).__name__}")


@cache
def _adapter(name: str) -> type:
    try:
        from kafka import serializer as interface
    except ImportError as error:
        raise ConfigError("kafka-python is not installed", hint="pip install kafka-python") from error

    def convert(self: Any, topic: str, *more: Any) -> Any:
        # kafka-python 2 passes the value; 3 passes the headers and the value.
        headers = more[0] if len(more) == 2 else None
        if name == "serialize":
            return self.serdes.serialize(topic, more[-1], headers)
        return self.serdes.deserialize(topic, more[-1], headers=headers)

    def begin(self: Any, serdes: Any) -> None:
        self.serdes = serdes

    base = interface.Serializer if name == "serialize" else interface.Deserializer
    members = {"__init__": begin, name: convert, "close": lambda self: self.serdes.close()}
    return type(f"KafkaAvro{base.__name__}ForKafkaPython", (base,), members)
