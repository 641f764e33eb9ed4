"""The version -1 means that a message has none, as pulsar-client says it: each face reads it as without a version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from any_type import framed, header, register
from conf import conf
from schemas import record

from streamnative_serdes import (
    DecodeError,
    KafkaAutoConsumeDeserializer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaNotFoundError,
    TypedSchema,
)
from streamnative_serdes.codec import Codec
from streamnative_serdes.compat import SchemaRegistryClient
from streamnative_serdes.compat.avro import AvroDeserializer
from streamnative_serdes.testing import LocalRegistry

OLD = record("User", ("name", "string"))
NEW = record("User", ("name", "string"), ("age", "int", 0))
ADA = {"name": "Ada", "age": 36}
BARE = Codec(NEW).encode(ADA)
NO_VERSION = [None, -1]


@pytest.fixture
def users(registry: LocalRegistry) -> LocalRegistry:
    """The topic users with two versions, of which only the latest reads BARE."""
    for schema in (OLD, NEW):
        register(registry, "users", "AVRO", schema)
    return registry


@pytest.fixture
def pairs(registry: LocalRegistry) -> LocalRegistry:
    """The topics INLINE and SEPARATED with two versions each, of which only the latest reads BARE as a value."""
    for encoding in ("INLINE", "SEPARATED"):
        for schema in (OLD, NEW):
            both = KeyValueSchema("string", schema, encoding)  # type: ignore[arg-type]
            KafkaAvroSerializer(conf(registry), both).warm_up(encoding)
    return registry


@pytest.mark.parametrize("version", NO_VERSION)
def test_an_avro_message_is_read_by_the_latest_schema(users: LocalRegistry, version: int | None) -> None:
    compat = AvroDeserializer(SchemaRegistryClient({"url": users.url}), json.dumps(NEW))
    for policy in ("writer", "latest", "latest.seen"):
        reader = KafkaAvroDeserializer(conf(users, **{"reader.schema.policy": policy}))
        assert reader.deserialize("users", BARE, version) == ADA
        assert reader.stats()["headerless"] == 1
    assert compat.deserialize("users", BARE, version) == ADA
    with pytest.raises(DecodeError):
        compat.deserialize("users", BARE, 0)


@pytest.mark.parametrize("version", NO_VERSION)
def test_the_version_in_a_header_counts_anyway(users: LocalRegistry, version: int | None) -> None:
    message = framed(0, OLD, {"name": "Ada"})
    assert KafkaAvroDeserializer(conf(users)).deserialize("users", message, version) == {"name": "Ada"}
    found = KafkaAutoConsumeDeserializer(conf(users)).deserialize("users", message, version)
    assert found is not None
    assert (found.native_object, found.decoded_by.rule, found.schema_version) == ({"name": "Ada"}, "header", 0)


@pytest.mark.parametrize("version", NO_VERSION)
def test_without_a_fallback_it_is_an_error(users: LocalRegistry, version: int | None) -> None:
    for face in (KafkaAvroDeserializer, KafkaAutoConsumeDeserializer):
        reader = face(conf(users, **{"fallback.to.latest": False}))
        with pytest.raises(DecodeError, match="no schema version header"):
            reader.deserialize("users", BARE, version)


@pytest.mark.parametrize("version", NO_VERSION)
def test_halves_of_pairs_are_read_by_the_latest_schema(pairs: LocalRegistry, version: int | None) -> None:
    inline = b"\0\0\0\2\x02k" + len(BARE).to_bytes(4, "big") + BARE
    keys = KafkaAvroDeserializer(conf(pairs), is_key=True)
    values = KafkaAvroDeserializer(conf(pairs))
    assert keys.deserialize("SEPARATED", b"\x02k", version) == "k"
    assert values.deserialize("SEPARATED", BARE, version) == ADA
    assert values.deserialize("INLINE", inline, version) == KeyValue("k", ADA)
    any_type = KafkaAutoConsumeDeserializer(conf(pairs))
    for topic, value, key in (("SEPARATED", BARE, b"\x02k"), ("INLINE", inline, None)):
        found = any_type.deserialize(topic, value, version, key=key)
        assert found is not None
        assert (found.native_object, found.decoded_by.rule) == (KeyValue("k", ADA), "latest")
        assert found.reader_schema is None
    with pytest.raises(SchemaNotFoundError) as caught:
        values.deserialize("INLINE", b"\0\0\0\2\x02k", 99)  # a length, not an id of Confluent's
    assert "Confluent" not in str(caught.value)
    with pytest.raises(SchemaNotFoundError, match="begins like those of Confluent's serializer"):
        values.deserialize("SEPARATED", b"\0\0\0\0\2\x02k", 99)
    alone = any_type.deserialize("SEPARATED", None, version, key=b"\x02k")
    assert alone is not None
    assert (alone.native_object, alone.decoded_by.rule) == (KeyValue("k", None), "latest")


@pytest.mark.parametrize("version", NO_VERSION)
@pytest.mark.parametrize(
    ("schema", "datum"),
    [("INT32", 7), ("STRING", "x"), (TypedSchema("JSON", record("User", ("name", "string"))), {"name": "Ada"})],
    ids=["INT32", "STRING", "JSON"],
)
def test_other_types_are_read_by_the_latest_schema(
    registry: LocalRegistry, schema: Any, datum: Any, version: int | None
) -> None:
    message = KafkaPulsarSerializer(conf(registry), schema).serialize("t", datum)
    found = KafkaAutoConsumeDeserializer(conf(registry)).deserialize("t", message, version)
    assert found is not None
    assert (found.native_object, found.decoded_by.rule, found.reader_schema) == (datum, "latest", None)


@pytest.mark.parametrize("version", NO_VERSION)
def test_a_topic_without_a_schema_has_none(registry: LocalRegistry, version: int | None) -> None:
    reader = KafkaAutoConsumeDeserializer(conf(registry))
    found = reader.deserialize("raw", b"x", version)
    assert found is not None
    assert (found.native_object, found.decoded_by.rule) == (b"x", "no schema")
    assert reader.schema("raw", version) is None


def test_its_eight_bytes_in_a_header_are_no_version(users: LocalRegistry) -> None:
    message = header(-1 & (1 << 64) - 1) + BARE
    assert KafkaAvroDeserializer(conf(users)).deserialize("users", BARE, -1) == ADA
    with pytest.raises(DecodeError):
        KafkaAvroDeserializer(conf(users)).deserialize("users", message)
