"""LocalRegistry with the responses of Pulsar 2.8 to 2.10 and of 4.2, and our SerDes and client against it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import requests
from conf import conf
from confluent_kafka.serialization import MessageField, SerializationContext

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._config import REGISTRY_OPTIONS, parse
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import (
    AuthenticationError,
    ConfigError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes.schema_registry import SchemaRegistryClient
from streamnative_serdes.testing import Fault, LocalRegistry

USER = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
WIDER: dict[str, Any] = {**USER, "fields": [*USER["fields"], {"name": "city", "type": "string", "default": "Rome"}]}
OTHER = {**USER, "fields": [{"name": "age", "type": "int"}]}
BOB = {"name": "bob"}
VALUE = SerializationContext("users", MessageField.VALUE)
SCHEMAS = "/admin/v2/schemas/public/default/users"


@pytest.fixture
def registry() -> Iterator[LocalRegistry]:
    Binding.forget()
    with LocalRegistry(flavour="2.8") as registry:
        yield registry
    Binding.forget()


@pytest.fixture
def client(registry: LocalRegistry) -> Iterator[SchemaRegistryClient]:
    client = client_of(registry)
    yield client
    client.close()


def client_of(registry: LocalRegistry, **more: Any) -> SchemaRegistryClient:
    return SchemaRegistryClient(parse(REGISTRY_OPTIONS, {"schema.registry.url": registry.url, **more}, strict=True))


def ask(registry: LocalRegistry, method: str, leaf: str, **options: Any) -> requests.Response:
    headers = {"Accept": "application/json"}
    return requests.request(method, f"{registry.url}{SCHEMAS}/{leaf}", headers=headers, timeout=20, **options)


def test_registering_and_looking_up_are_202(registry: LocalRegistry) -> None:
    payload = {"type": "AVRO", "schema": json.dumps(USER)}
    answers = [ask(registry, "POST", leaf, json=payload) for leaf in ("schema", "version", "compatibility")]
    assert [answer.status_code for answer in answers] == [202, 202, 202]
    assert answers[0].json() == {"version": {"version": 0}}
    assert ask(registry, "GET", "schema").status_code == 200
    assert ask(registry, "POST", "schema", json={"type": "AVRO", "schema": "{"}).status_code == 422


@pytest.mark.parametrize("leaf", ["schema", "schema/7"])
def test_a_schema_that_is_not_found_is_jettys_page_without_a_reason(registry: LocalRegistry, leaf: str) -> None:
    answer = ask(registry, "GET", leaf)
    assert (answer.status_code, answer.reason, answer.json()["message"]) == (404, "Not Found", "Not Found")
    assert "reason" not in answer.json()
    html = requests.get(f"{registry.url}{SCHEMAS}/{leaf}", timeout=20)
    assert "HTTP ERROR 404 Not Found" in html.text


def test_a_missing_right_is_a_404_and_bad_credentials_are_not(registry: LocalRegistry) -> None:
    registry.fail(Fault.status(401, "Unauthorized to validateTopicOperation"))
    assert (ask(registry, "GET", "schema").json(), ask(registry, "GET", "schema/0").status_code) == (
        {"reason": "Not Found"},
        404,
    )
    registry.fail(Fault.status(401))
    assert ask(registry, "GET", "schema").status_code == 401


@pytest.mark.parametrize("flavour", ["3.0", "", "2.80"])
def test_another_flavour_is_refused_with_the_known_ones(flavour: str) -> None:
    with pytest.raises(ConfigError, match=rf"flavour: expected one of '4.0', '4.2', '2.8', got '{flavour}'"):
        LocalRegistry(flavour=flavour)


def test_messages_round_trip_across_schema_versions(registry: LocalRegistry) -> None:
    old = KafkaAvroSerializer(conf(registry), USER)(BOB, VALUE)
    new = KafkaAvroSerializer(conf(registry), WIDER)({**BOB, "city": "Oslo"}, VALUE)
    assert (old[:10], new[:10]) == (b"\x03\x04" + bytes(8), b"\x03\x04" + bytes(7) + b"\x01")
    read = KafkaAvroDeserializer(conf(registry), WIDER)
    assert [read(data, VALUE) for data in (old, new)] == [{**BOB, "city": "Rome"}, {**BOB, "city": "Oslo"}]
    assert KafkaAvroDeserializer(conf(registry))(old, VALUE) == BOB


def test_a_schema_that_the_topic_has_is_looked_up(registry: LocalRegistry) -> None:
    data = KafkaAvroSerializer(conf(registry), USER)(BOB, VALUE)
    Binding.forget()
    assert KafkaAvroSerializer(conf(registry, **{"auto.register.schemas": False}), USER)(BOB, VALUE) == data


def test_an_incompatible_schema_is_refused(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER)(BOB, VALUE)
    with pytest.raises(IncompatibleSchemaError, match="Unable to read schema"):
        KafkaAvroSerializer(conf(registry), OTHER)({"age": 1}, VALUE)


def test_an_unknown_version_falls_back_to_the_latest_schema(registry: LocalRegistry) -> None:
    data = KafkaAvroSerializer(conf(registry), USER)(BOB, VALUE)
    unknown = data[:9] + b"\x07" + data[10:]
    assert KafkaAvroDeserializer(conf(registry))(unknown, VALUE) == BOB
    strict = KafkaAvroDeserializer(conf(registry, **{"fallback.to.latest": False}))
    with pytest.raises(SchemaNotFoundError) as caught:
        strict(unknown, VALUE)
    assert (caught.value.topic, caught.value.version) == ("users", 7)


def test_the_client_understands_every_response(client: SchemaRegistryClient) -> None:
    text = json.dumps(USER)
    assert client.register("users", text) == 0
    assert client.compatibility("users", json.dumps(WIDER)).compatible
    assert not client.compatibility("users", json.dumps(OTHER)).compatible
    assert (client.latest("users").version, client.by_version("users", 0).text) == (0, text)
    with pytest.raises(InvalidSchemaError, match="Invalid schema definition data for AVRO schema"):
        client.register("users", "{")
    assert client.delete("users") == 1
    assert client.all_versions("users") == []


def test_a_missing_schema_or_namespace_is_reported(client: SchemaRegistryClient) -> None:
    with pytest.raises(SchemaNotFoundError, match="Not Found") as caught:
        client.latest("users")
    assert "2.8 to 2.10 answers this for a missing schema" in str(caught.value)
    with pytest.raises(SchemaNotFoundError, match="Namespace does not exist") as caught:
        client.register("public/nope/users", json.dumps(USER))
    assert "check pulsar.tenant and pulsar.namespace" in str(caught.value)


@pytest.mark.parametrize("write", [False, True])
def test_a_missing_permission_that_looks_like_a_missing_schema_is_explained(
    registry: LocalRegistry, client: SchemaRegistryClient, write: bool
) -> None:
    registry.fail(Fault.status(401, "Unauthorized to validateTopicOperation"), times=None)
    with pytest.raises(SchemaNotFoundError, match="for a missing permission: they require an admin of the tenant"):
        client.register("users", json.dumps(USER)) if write else client.latest("users")


def test_a_bad_token_is_an_authentication_error() -> None:
    with LocalRegistry(token="right", flavour="2.8") as registry:
        with pytest.raises(AuthenticationError, match="Authentication required"):
            client_of(registry, **{"bearer.auth.token": "wrong"}).latest("users")
        assert client_of(registry, **{"bearer.auth.token": "right"}).register("users", json.dumps(USER)) == 0


def test_the_cause_of_a_refusal_is_shown_though_the_web_server_of_4_2_writes_line_breaks_into_its_json() -> None:
    with LocalRegistry(flavour="4.2") as registry, closing(client_of(registry)) as asking:
        asking.register("users", json.dumps(USER))
        answer = ask(registry, "POST", "schema", json={"type": "AVRO", "schema": json.dumps(OTHER), "properties": {}})
        assert (answer.status_code, answer.reason) == (409, "Conflict")
        with pytest.raises(ValueError, match="control character"):
            json.loads(answer.text)
        with pytest.raises(IncompatibleSchemaError, match="Unable to read schema") as caught:
            asking.register("users", json.dumps(OTHER))
        assert caught.value.reason == asking.compatibility("users", json.dumps(OTHER)).reason
        assert '\n  "name" : "User",\n' in caught.value.reason


@pytest.mark.parametrize(("flavour", "version"), [("4.0", "4.0.8"), ("4.2", "4.2.4"), ("2.8", "2.8.4")])
def test_each_flavour_says_which_release_it_is(flavour: str, version: str) -> None:
    with LocalRegistry(flavour=flavour) as registry:
        assert requests.get(f"{registry.url}/admin/v2/brokers/version", timeout=20).text == version
        assert registry.calls == {"GET version of Pulsar": 1}
