"""SerDes with the interfaces of kafka-python. tests/integration runs its clients in examples/."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn

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
def test_headers_reach_the_deserializer(registry: LocalRegistry) -> None:
    """With kafka-python 3; the messages of version 2 and of aiokafka have them, as for deserialize_many."""
    structs = pytest.importorskip("aiokafka.structs", reason="aiokafka is not installed")
    with ConfluentStandIn() as confluent:
        number = confluent.register("t-value", '"string"')
        more = {"framings": "snip42,confluent-header", "confluent.schema.registry.url": confluent.url}
        deserializer = KafkaAvroDeserializer({"schema.registry.url": registry.url, **more})
        headers = [("other", None), ("__value_schema_id", b"\1" + confluent.guid(number))]
        assert for_kafka_python(deserializer).deserialize("t", headers, b"\x04hi") == "hi"
        record = structs.ConsumerRecord("t", 0, 0, 1, 0, None, b"\x04hi", None, -1, 2, tuple(headers))
        assert list(deserializer.deserialize_many("t", [record])) == ["hi"]


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
