"""Checked by mypy --strict, not run: the types of public names in users' programs."""

from typing import Any, assert_type

from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, SerdesError, __version__
from streamnative_serdes.codec import Codec, Duration

context = SerializationContext("users", MessageField.VALUE)

serializer = KafkaAvroSerializer({"schema.registry.url": "http://localhost:8080"}, {"type": "string"})
assert_type(serializer("text", context), bytes | None)
assert_type(serializer.serialize("users", "text"), bytes | None)
assert_type(KafkaAvroSerializer().configure({}), KafkaAvroSerializer)
assert_type(serializer.stats(), dict[str, int])

deserializer = KafkaAvroDeserializer({"schema.registry.url": "http://localhost:8080"}, from_dict=lambda data, ctx: data)
assert_type(deserializer(b"", context), Any)
assert_type(deserializer.deserialize("users", memoryview(b""), version=3), Any)
with deserializer as entered:
    assert_type(entered, KafkaAvroDeserializer)

assert_type(Codec("string").encode("text"), bytes)
assert_type(Codec("string").decode(b"\x00"), Any)
assert_type(Duration(1, 2, 3).millis, int)

assert_type(__version__, str)

error: SerializationError = SerdesError("message", topic="users")
assert_type(SerdesError("message").path, str | None)
