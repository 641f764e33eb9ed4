"""SerDes with the interfaces of kafka-python. tests/integration runs its clients in examples/."""

from __future__ import annotations

from typing import Any

import pytest

from streamnative_serdes import ConfigError, KafkaAvroDeserializer, KafkaAvroSerializer, KeyValueSchema
from streamnative_serdes.integrations.kafka_python import for_kafka_python
from streamnative_serdes.serialization import SerializationContext
from streamnative_serdes.testing import LocalRegistry

HEADERS = [("unit", b"mm")]

# raised by the import of kafka-python on Python 3.11
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated. Use files:DeprecationWarning")


@pytest.fixture
def kafka() -> Any:
    return pytest.importorskip("kafka.serializer", reason="kafka-python is not installed")


def in_unit(length: int, ctx: SerializationContext) -> str:
    headers: Any = ctx.headers
    return f"{length} {dict(headers or {}).get('unit', b'm').decode()} to {ctx.topic}"


def test_both_versions_of_the_interface_are_supported(kafka: Any, registry: LocalRegistry) -> None:
    """Version 2 passes only the value, version 3 passes the headers before it."""
    conf = {"schema.registry.url": registry.url}
    writing = for_kafka_python(KafkaAvroSerializer(conf, "string", in_unit))
    reading = for_kafka_python(KafkaAvroDeserializer(conf))
    assert isinstance(writing, kafka.Serializer)
    assert isinstance(reading, kafka.Deserializer)
    for arguments, expected in [((7,), "7 m to t"), ((None, 7), "7 m to t"), ((HEADERS, 7), "7 mm to t")]:
        message = writing.serialize("t", *arguments)
        assert reading.deserialize("t", message) == expected
        assert reading.deserialize("t", HEADERS, message) == expected
    for one in (writing, reading):
        one.close()


@pytest.mark.usefixtures("kafka")
def test_keys_of_key_value_topics_have_a_serdes_of_their_own(registry: LocalRegistry) -> None:
    conf, pair = {"schema.registry.url": registry.url}, KeyValueSchema("INT32", "string", "SEPARATED")
    writing = [for_kafka_python(KafkaAvroSerializer(conf, pair, is_key=is_key)) for is_key in (True, False)]
    reading = [for_kafka_python(KafkaAvroDeserializer(conf, is_key=is_key)) for is_key in (True, False)]
    messages = [writer.serialize("t", HEADERS, datum) for writer, datum in zip(writing, (7, "seven"), strict=True)]
    assert messages == [b"\0\0\0\7", b"\x0aseven"]
    assert [reader.deserialize("t", None, data) for reader, data in zip(reading, messages, strict=True)] == [7, "seven"]


def test_anything_but_a_serdes_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected a KafkaAvroSerializer or KafkaAvroDeserializer, got str"):
        for_kafka_python("serializer")  # type: ignore[arg-type]
