"""Checked by mypy --strict, not run: the types of compat's names in programs written for Confluent."""

from typing import Any, assert_type

from confluent_kafka.serialization import MessageField, SerializationContext

from streamnative_serdes.compat import (
    AsyncSchemaRegistryClient,
    RegisteredSchema,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
)
from streamnative_serdes.compat.avro import AsyncAvroDeserializer, AsyncAvroSerializer, AvroDeserializer, AvroSerializer
from streamnative_serdes.compat.error import SchemaRegistryError

context = SerializationContext("users", MessageField.VALUE)
schema = Schema('"Top"', "AVRO", [SchemaReference("Top", "tops-value", 1)])

client = SchemaRegistryClient({"url": "http://localhost:8080"})
assert_type(client.register_schema("users-value", schema), int)
assert_type(client.get_latest_version("users-value"), RegisteredSchema)
assert_type(client.get_latest_version("users-value").schema.schema_str, str)

serializer = AvroSerializer(client, schema, lambda user, ctx: {"name": user.name, "topic": ctx.topic})
assert_type(serializer(object(), context), bytes | None)
assert_type(AvroDeserializer(client, '"string"', return_record_name=True)(b"", context), Any)
assert_type(SchemaRegistryError("message").http_status_code, int)


async def asynchronous() -> None:
    async with AsyncSchemaRegistryClient({"url": "mock://here"}) as client:
        assert_type(await client.register_schema("users-value", schema), int)
        assert_type(await client.get_version("users-value", 1), RegisteredSchema)
        serializer = await AsyncAvroSerializer(client, schema)
        assert_type(await serializer({}, context), bytes | None)
        assert_type(await (await AsyncAvroDeserializer(client))(b"", context), Any)
