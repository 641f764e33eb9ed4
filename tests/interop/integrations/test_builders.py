"""Builders: confluent-kafka's clients create SerDes from one dict of options."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import DeserializingConsumer, SerializingProducer, serialization

from streamnative_serdes import (
    ConfigError,
    KafkaAutoConsumeDeserializerBuilder,
    KafkaAvroDeserializerBuilder,
    KafkaAvroSerializerBuilder,
    KafkaPulsarSerializerBuilder,
    KeyValue,
    KeyValueSchema,
    TypedSchema,
)
from streamnative_serdes.auto_consume import UNREAD_KEY
from streamnative_serdes.testing import LocalRegistry, MockBroker

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
ID = {"type": "record", "name": "Id", "fields": [{"name": "id", "type": "int"}]}
BOB = {"name": "bob"}

pytestmark = pytest.mark.skipif(
    not hasattr(serialization, "SerializerBuilder"), reason="confluent-kafka supports builders from 2.16 on"
)


def test_one_dict_configures_client_and_serdes(registry: LocalRegistry) -> None:
    with MockBroker({"users": 1}) as broker:
        shared = {"bootstrap.servers": broker.bootstrap_servers, "schema.registry.url": registry.url}
        producer = SerializingProducer(
            {
                **shared,
                "linger.ms": 1,
                "allow.null": "true",
                "value.serializer.builder": KafkaAvroSerializerBuilder(USER),
            }
        )
        producer.produce("users", value=BOB)
        assert producer.flush(30) == 0
        consumer = DeserializingConsumer(
            {
                **shared,
                "group.id": "g",
                "auto.offset.reset": "earliest",
                "fallback.to.latest": "false",
                "value.deserializer.builder": KafkaAvroDeserializerBuilder(
                    from_dict=lambda user, ctx: (ctx.topic, user)
                ),
            }
        )
        consumer.subscribe(["users"])
        try:
            message = consumer.poll(30)
            assert message is not None
            assert message.value() == ("users", BOB)
        finally:
            consumer.close()


@pytest.mark.parametrize(
    ("schema", "key", "value", "found"),
    [
        ("INT64", None, 7, 7),
        (TypedSchema("JSON", USER), None, BOB, BOB),
        (KeyValueSchema(ID, TypedSchema("JSON", USER), "SEPARATED"), {"id": 1}, BOB, KeyValue(UNREAD_KEY, BOB)),
    ],
    ids=["INT64", "JSON", "KEY_VALUE"],
)
def test_clients_write_and_read_topics_of_any_type(
    registry: LocalRegistry, schema: Any, key: Any, value: Any, found: Any
) -> None:
    with MockBroker({"users": 1}) as broker:
        shared = {"bootstrap.servers": broker.bootstrap_servers, "schema.registry.url": registry.url}
        writing: dict[str, Any] = {**shared, "linger.ms": 1}
        reading: dict[str, Any] = {**shared, "group.id": "g", "auto.offset.reset": "earliest", "max.depth": 9}
        for part in ("value",) if key is None else ("key", "value"):
            writing[f"{part}.serializer.builder"] = KafkaPulsarSerializerBuilder(schema)
            reading[f"{part}.deserializer.builder"] = KafkaAutoConsumeDeserializerBuilder()
        producer = SerializingProducer(writing)
        producer.produce("users", key=key, value=value)
        assert producer.flush(30) == 0
        consumer = DeserializingConsumer(reading)
        consumer.subscribe(["users"])
        try:
            message = consumer.poll(30)
            assert message is not None
            assert message.value().native_object == found
            assert key is None or message.key().native_object == key
        finally:
            consumer.close()


def test_builders_make_serdes_for_keys(registry: LocalRegistry) -> None:
    conf, schema = {"schema.registry.url": registry.url}, KeyValueSchema(ID, USER, "SEPARATED")
    serializer, _ = KafkaAvroSerializerBuilder(schema).build(conf, True)
    deserializer, _ = KafkaAvroDeserializerBuilder().build(conf, True)
    assert serializer.serialize("users", {"id": 1}) == b"\x02"
    assert deserializer.deserialize("users", b"\x02") == {"id": 1}


def test_a_key_alone_has_no_schema_to_register() -> None:
    with pytest.raises(ConfigError, match="cannot register the schema of keys alone"):
        KafkaAvroSerializerBuilder(USER).build({"schema.registry.url": "http://localhost:8080"}, True)


def test_a_builder_removes_exactly_its_own_options() -> None:
    conf = {"schema.registry.url": "http://localhost:8080", "cache.capacity": 7, "acks": "all", "client.id": "c"}
    for builder in (
        KafkaAvroSerializerBuilder(USER),
        KafkaAvroDeserializerBuilder(),
        KafkaPulsarSerializerBuilder("INT64"),
        KafkaAutoConsumeDeserializerBuilder(),
    ):
        serdes, left = builder.build(conf, False)
        assert left == {"acks": "all", "client.id": "c"}
        assert isinstance(serdes, serialization.Serializer | serialization.Deserializer)
    assert conf["cache.capacity"] == 7


@pytest.mark.parametrize(
    "builder",
    [
        KafkaAvroSerializerBuilder(USER),
        KafkaAvroDeserializerBuilder(USER),
        KafkaPulsarSerializerBuilder(USER),
        KafkaAutoConsumeDeserializerBuilder(),
    ],
)
def test_unsupported_settings_fail_when_the_client_is_created(builder: Any) -> None:
    url = {"schema.registry.url": "http://localhost:8080"}
    with pytest.raises(ConfigError, match=r"schema\.registry\.url is missing"):
        builder.build({"acks": "all"}, False)
    with pytest.raises(ConfigError, match=r"normalize\.schemas=True is not supported yet"):
        builder.build({**url, "normalize.schemas": True}, False)
