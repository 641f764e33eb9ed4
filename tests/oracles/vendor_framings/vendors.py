"""Messages that the vendors' own Python packages write, as lines of JSON.

Run in an environment of its own that has one of the packages; registries are stand-ins that give out fixed ids::

    python vendors.py azure-header   # azure-schemaregistry-avroencoder 1.0.0
    python vendors.py azure          # azure-schemaregistry-avroserializer 1.0.0b4.post1
    python vendors.py glue           # aws-glue-schema-registry 1.1.3
    python vendors.py by-hand        # none
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any
from uuid import UUID

SCHEMA = {"type": "record", "name": "Order", "namespace": "org.example", "fields": [
    {"name": "id", "type": "long"}, {"name": "note", "type": "string"}]}  # fmt: skip
ORDERS = [{"id": 7, "note": "hello"}, {"id": 0, "note": ""}, {"id": -(2**62), "note": "é" * 90}]
AZURE_ID = "a0b1c2d3e4f5061728394a5b6c7d8e9f"
GLUE_ID = UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")


def line(writer: str, framing: str, order: Any, message: bytes, headers: Any = ()) -> str:
    named = [[name, value.hex()] for name, value in headers]
    found = {"writer": writer, "framing": framing, "datum": order, "message": message.hex()}
    return json.dumps({**found, "headers": named}, ensure_ascii=False)


class AzureStandIn:
    """The client of azure-schemaregistry, as far as its encoders call it."""

    def register_schema(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(id=AZURE_ID, schema_id=AZURE_ID)

    get_schema_properties = get_schema_id = register_schema


def azure_header() -> list[str]:
    from azure.schemaregistry.encoder.avroencoder import AvroEncoder

    encoder = AvroEncoder(client=AzureStandIn(), group_name="g", auto_register=True)
    found = []
    for order in ORDERS:
        made = encoder.encode(order, schema=json.dumps(SCHEMA))
        headers = [("content-type", made["content_type"].encode())]
        found.append(line("azure-schemaregistry-avroencoder 1.0.0", "azure-header", order, made["content"], headers))
    return found


def azure() -> list[str]:
    from azure.schemaregistry.serializer.avroserializer import AvroSerializer

    serializer = AvroSerializer(client=AzureStandIn(), group_name="g", auto_register_schemas=True)
    writer = "azure-schemaregistry-avroserializer 1.0.0b4.post1"
    return [line(writer, "azure", o, serializer.serialize(o, schema=json.dumps(SCHEMA))) for o in ORDERS]


def glue() -> list[str]:
    from aws_schema_registry import DataAndSchema
    from aws_schema_registry.avro import AvroSchema
    from aws_schema_registry.codec import encode
    from aws_schema_registry.serde import KafkaSerializer

    version = SimpleNamespace(version_id=GLUE_ID)
    client = SimpleNamespace(get_or_register_schema_version=lambda **_: version)
    serializer, schema = KafkaSerializer(client), AvroSchema(json.dumps(SCHEMA))
    found = []
    for order in ORDERS:
        found.append((order, serializer.serialize("orders", DataAndSchema(order, schema))))
        found.append((order, encode(schema.write(order), GLUE_ID, compression=True)))
    return [line("aws-glue-schema-registry 1.1.3", "glue", order, made) for order, made in found]


def by_hand() -> list[str]:
    """Azure's serializer for Kafka Streams is not served: its layout is that of its KafkaAvroSerializer's source.

    Where a record has no headers, that writes a byte with the length of the content type, the content type, the datum.
    """
    kind = f"avro/binary+{AZURE_ID}".encode()
    datum = bytes.fromhex("0e0a68656c6c6f")
    writer = "by hand, from azure-schemaregistry-kafka-avro"
    return [line(writer, "azure-content-type", ORDERS[0], bytes([len(kind)]) + kind + datum)]


if __name__ == "__main__":
    print("\n".join({"azure-header": azure_header, "azure": azure, "glue": glue, "by-hand": by_hand}[sys.argv[1]]()))
