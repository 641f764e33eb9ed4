"""Apicurio's framings, by its own API of a real server: what is registered and written there is read by id."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
import requests
from servers import ConfluentRegistry

from streamnative_serdes import Codec, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.errors import DecodeError, MissingEndpointError, SchemaError, SchemaNotFoundError
from streamnative_serdes.testing import LocalRegistry

ITEM = {"type": "record", "name": "Item", "namespace": "org.example", "fields": [{"name": "n", "type": "int"}]}
BASKET = {"type": "record", "name": "Basket", "fields": [{"name": "item", "type": "org.example.Item"}]}
ALONE = {**BASKET, "fields": [{"name": "item", "type": ITEM}]}
DATUM = {"item": {"n": 2}}
BODY = Codec(json.dumps(ALONE)).encode(DATUM)


@pytest.fixture
def api(confluent_registry: ConfluentRegistry) -> str:
    return confluent_registry.url.replace("/apis/ccompat/v7", "/apis/registry/v2")


def register(api: str, group: str, name: str, schema: Any, *references: dict[str, Any], kind: str = "AVRO") -> Any:
    """Register a schema by Apicurio's own API, and return its ids."""
    content = schema if isinstance(schema, str) else json.dumps(schema)
    answer = requests.post(
        f"{api}/groups/{group}/artifacts",
        data=json.dumps({"content": content, "references": references}),
        headers={
            "X-Registry-ArtifactId": name,
            "X-Registry-ArtifactType": kind,
            "Content-Type": "application/create.extended+json",
        },
        timeout=30,
    )
    answer.raise_for_status()
    return answer.json()


@pytest.fixture
def conf(registry: LocalRegistry, api: str) -> dict[str, Any]:
    framings = "snip42,apicurio-header,apicurio,apicurio-v3"
    return {"schema.registry.url": registry.url, "apicurio.registry.url": api, "framings": framings}


def test_what_is_registered_by_its_own_api_is_read_by_each_kind_of_id(conf: dict[str, Any], api: str) -> None:
    group, item = f"group {uuid.uuid4()}", f"an item {uuid.uuid4()}"
    register(api, group, item, ITEM)
    refers = {"groupId": group, "artifactId": item, "version": "1", "name": "org.example.Item"}
    ids = register(api, group, f"basket-{uuid.uuid4()}", BASKET, refers)
    again = register(api, group, f"basket-{uuid.uuid4()}", BASKET, refers)
    assert again["contentId"] == ids["contentId"]
    assert again["globalId"] != ids["globalId"]
    number, content = again["globalId"].to_bytes(8), again["contentId"].to_bytes(8)
    reader = KafkaAvroDeserializer(conf)
    for message, headers in [
        (b"\0" + number + BODY, []),
        (b"\0" + content[4:] + BODY, []),
        (BODY, [("apicurio.value.globalId", number)]),
        (BODY, [("apicurio.value.contentId", content)]),
    ]:
        assert reader.deserialize("baskets", message, headers=headers) == DATUM
    by_content = KafkaAvroDeserializer({**conf, "apicurio.registry.use-id": "contentId"})
    assert by_content.deserialize("baskets", b"\0" + content + BODY) == DATUM


def test_what_we_write_through_its_compatible_api_is_read_through_its_own(
    conf: dict[str, Any], confluent_registry: ConfluentRegistry
) -> None:
    writing = {
        "schema.registry.url": conf["schema.registry.url"],
        "confluent.schema.registry.url": confluent_registry.url,
        "framing": "confluent",
    }
    message = KafkaAvroSerializer(writing, ALONE).serialize(f"t-{uuid.uuid4()}", DATUM)
    assert message is not None
    # The ids of /apis/ccompat are global ids, unless the server is set up otherwise.
    reader = KafkaAvroDeserializer({**conf, "apicurio.registry.use-id": "globalId"})
    assert reader.deserialize("baskets", message) == DATUM


def test_what_it_does_not_have_or_is_not_avro_is_a_typed_error(conf: dict[str, Any], api: str) -> None:
    reader = KafkaAvroDeserializer(conf)
    for message in (b"\0" + (1 << 30).to_bytes(8) + BODY, b"\0" + (1 << 30).to_bytes(4) + BODY):
        with pytest.raises(SchemaNotFoundError, match="registry does not have"):
            reader.deserialize("baskets", message)
    ids = register(api, "default", f"proto-{uuid.uuid4()}", 'syntax = "proto3";\nmessage M {}', kind="PROTOBUF")
    with pytest.raises(SchemaError, match=f"globalId {ids['globalId']}"):
        reader.deserialize("baskets", b"\0" + ids["globalId"].to_bytes(8) + BODY)
    version_3 = {**conf, "apicurio.registry.url": api.replace("/v2", "/v3")}  # which this server does not have
    with pytest.raises(MissingEndpointError, match="cannot read the schema with globalId 1"):
        KafkaAvroDeserializer(version_3).deserialize("baskets", b"\0" + (1).to_bytes(8) + BODY)
    with pytest.raises(DecodeError):
        reader.deserialize("baskets", b"\0" + (1).to_bytes(8)[:7])
