"""Text equal to a version that the registry holds is taken as that version, wherever a user hands it in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from any_type import register

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KafkaPulsarSerializer
from streamnative_serdes.codec import Codec
from streamnative_serdes.compat import Schema
from streamnative_serdes.compat import SchemaRegistryClient as CompatClient
from streamnative_serdes.errors import InvalidSchemaError, SchemaError
from streamnative_serdes.key_value import INLINE, KeyValue, KeyValueSchema, TypedSchema
from streamnative_serdes.testing import Fault, LocalRegistry

# Pulsar takes both: a default that does not fit its type, and digits behind the point that the precision does not have.
BAD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": "x"}]}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}
ODD = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "p", "type": PRICE}]}
)
FAULT = "needs a scale from 0 to 2"
DATUM: dict[str, Any] = {"a": 1, "p": b"\x01"}
MESSAGE = b"\x03\x04" + bytes(8) + b"\x02\x02\x01"


@pytest.fixture
def registry() -> Iterator[LocalRegistry]:
    with LocalRegistry() as started:
        yield started


@pytest.fixture
def conf(registry: LocalRegistry) -> dict[str, Any]:
    """Of a registry whose topic ``t`` has such a schema."""
    put(registry, "t", ODD)
    return {"schema.registry.url": registry.url}


def put(registry: LocalRegistry, topic: str, schema: Any, kind: str = "AVRO", **properties: str) -> None:
    register(registry, topic, kind, schema, properties)


@pytest.mark.parametrize("text", [ODD, json.dumps(json.loads(ODD), indent=1)], ids=["as it is", "spaced"])
@pytest.mark.parametrize("register", [True, False])
def test_a_serializer_writes_by_it(conf: dict[str, Any], text: str, register: bool) -> None:
    serializer = KafkaAvroSerializer({**conf, "auto.register.schemas": register}, text)
    assert serializer.serialize("t", DATUM) == MESSAGE
    with pytest.raises(SchemaError, match=FAULT) as caught:
        serializer.serialize("other", DATUM)
    assert (caught.value.path, caught.value.topic) == ("p", "other")


def test_nothing_is_registered_that_the_topic_does_not_hold(registry: LocalRegistry, conf: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=FAULT):
        KafkaAvroSerializer(conf, ODD).serialize("other", DATUM)
    assert [line for line in registry.requests if line.method == "POST"] == [registry.requests[0]]


def test_a_default_with_which_the_registry_refuses_every_post_is_no_obstacle(registry: LocalRegistry) -> None:
    put(registry, "t", BAD)
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url}, BAD)
    assert serializer.serialize("t", {"a": 1}) == MESSAGE[:11]


def test_a_serializer_that_writes_by_the_topics_schema_tells_the_fault_of_its_own(conf: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=FAULT):
        KafkaAvroSerializer({**conf, "auto.register.schemas": False, "use.latest.version": True}, ODD)


def test_a_deserializer_reads_by_it(conf: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer(conf, ODD)
    assert deserializer.deserialize("t", MESSAGE) == DATUM


def test_a_deserializer_reads_older_messages_by_it(registry: LocalRegistry) -> None:
    first = {"type": "record", "name": "R", "fields": [{"name": "b", "type": "int"}]}
    newer = json.loads(ODD)
    newer["fields"][0]["default"], newer["fields"][1]["default"] = 7, "\u0001"
    put(registry, "t", first)
    registry.set_strategy("ALWAYS_COMPATIBLE")
    put(registry, "t", newer)
    conf = {"schema.registry.url": registry.url}
    message = KafkaAvroSerializer(conf, first).serialize("t", {"b": 1})
    assert KafkaAvroDeserializer(conf, newer).deserialize("t", message) == {"a": 7, "p": b"\x01"}
    put(registry, "u", first)
    with pytest.raises(SchemaError, match=FAULT) as caught:
        KafkaAvroDeserializer(conf, newer).deserialize("u", message)
    assert caught.value.topic == "u"


def test_batches_are_read_and_written_by_it(conf: dict[str, Any]) -> None:
    pytest.importorskip("pyarrow")
    batch = KafkaAvroDeserializer(conf, ODD).deserialize_batch("t", [MESSAGE, MESSAGE])
    assert batch.to_pylist() == [DATUM, DATUM]
    assert KafkaAvroSerializer(conf, ODD).serialize_batch("t", batch).to_pylist() == [MESSAGE, MESSAGE]
    with pytest.raises(SchemaError, match=FAULT):
        KafkaAvroDeserializer(conf, ODD).deserialize_batch("other", [MESSAGE[10:]])


def test_a_pair_writes_and_reads_by_it(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    pair = KeyValueSchema("string", ODD, INLINE)
    plain = KeyValueSchema("string", json.dumps({**json.loads(ODD), "fields": []}), INLINE)
    KafkaAvroSerializer(conf, plain).serialize("other", KeyValue("k", {}))
    text = registry_text(ODD)
    put(
        registry,
        "t",
        text,
        "KEY_VALUE",
        **{
            "key.schema.type": "AVRO",
            "value.schema.type": "AVRO",
            "kv.encoding.type": "INLINE",
        },
    )
    message = KafkaAvroSerializer(conf, pair).serialize("t", KeyValue("k", DATUM))
    assert message is not None
    assert KafkaAvroDeserializer(conf, pair).deserialize("t", message) == KeyValue("k", DATUM)
    for topic in ("other", "none"):
        with pytest.raises(SchemaError, match=FAULT):
            KafkaAvroSerializer(conf, pair).serialize(topic, KeyValue("k", DATUM))
    with pytest.raises(SchemaError, match=FAULT):
        KafkaAvroDeserializer(conf, pair).deserialize("other", message)


@pytest.mark.parametrize("register", [True, False])
def test_primitive_types_have_no_text(registry: LocalRegistry, register: bool) -> None:
    """pulsar-client registers STRING with the text "null"."""
    put(registry, "t", "null", "STRING")
    registry.set_strategy("ALWAYS_INCOMPATIBLE")
    conf = {"schema.registry.url": registry.url, "auto.register.schemas": register}
    assert KafkaPulsarSerializer(conf, "STRING").serialize("t", "Ada") == b"Ada"
    assert registry.calls["POST schema"] == 1, "that of this test"


def test_a_primitive_type_is_registered_also_by_a_user_who_may_not_read(registry: LocalRegistry) -> None:
    registry.fail(Fault.status(403), times=9, match="^GET ")
    conf = {"schema.registry.url": registry.url}
    assert KafkaPulsarSerializer(conf, "STRING").serialize("t", "Ada") == b"Ada"
    assert registry.calls["POST schema"] == 1


def registry_text(value: str) -> str:
    return json.dumps({"key": "string", "value": json.loads(value)})


def test_a_json_topic_is_written_by_it(registry: LocalRegistry) -> None:
    put(registry, "t", ODD, "JSON")
    serializer = KafkaPulsarSerializer({"schema.registry.url": registry.url}, TypedSchema("JSON", ODD))
    assert serializer.serialize("t", DATUM) is not None
    with pytest.raises(SchemaError, match=FAULT):
        serializer.serialize("other", DATUM)


def test_confluents_client_registers_and_finds_it(conf: dict[str, Any]) -> None:
    client = CompatClient({"url": conf["schema.registry.url"]})
    assert client.register_schema("t-value", Schema(ODD)) == 0
    assert client.lookup_schema("t-value", Schema(ODD)).version == 1
    assert client.test_compatibility("t-value", Schema(ODD))
    for ask in (client.register_schema, client.lookup_schema, client.test_compatibility):
        with pytest.raises(SchemaError, match=FAULT):
            ask("other-value", Schema(ODD))


def test_a_broker_that_no_longer_takes_a_schema_that_it_holds_is_asked_for_its_versions(
    registry: LocalRegistry, conf: dict[str, Any]
) -> None:
    """As Pulsar 4.2 does, with a namespace that 4.0 has taken."""
    text = json.dumps({"type": "record", "name": "my-server.R", "fields": [{"name": "a", "type": "int"}]})
    put(registry, "shop", text)
    for topic in ("shop", "other"):
        registry.fail(Fault.status(422), times=2, match=f"^POST .*/{topic}/schema")
    with pytest.warns(Warning, match="refused by Avro 1.12"):
        serializer = KafkaAvroSerializer(conf, text)
    assert serializer.serialize("shop", {"a": 1}) == MESSAGE[:11]
    with pytest.raises(InvalidSchemaError):
        serializer.serialize("other", {"a": 1})
    client = CompatClient({"url": conf["schema.registry.url"]})
    with pytest.warns(Warning, match="refused by Avro 1.12"):
        assert client.register_schema("shop", Schema(text)) == 0


def test_a_codec_has_no_registry(conf: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=FAULT):
        Codec(ODD)
