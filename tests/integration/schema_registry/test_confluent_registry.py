"""A real registry with Confluent's API (Apicurio): our client, what is kept of ids, and the tests' own stand-in."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from confluent_stand_in import ConfluentStandIn, conf_of
from schemas import record
from servers import ConfluentRegistry

from streamnative_serdes import errors
from streamnative_serdes._schema import SchemaReference, parse
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes.schema_registry import ConfluentRegistryClient, ConfluentSchema

MONEY = json.dumps(record("Money", ("cents", "long"), namespace="shop"))
EUROS = json.dumps(record("Money", ("cents", "long"), ("currency", "string", "EUR"), namespace="shop"))
TEXT = json.dumps(record("Money", ("cents", "string"), namespace="shop"))
SALE = json.dumps(record("Sale", ("price", "shop.Money"), namespace="shop"))
PROTO = 'syntax = "proto3"; message M { int32 a = 1; }'
GUID = "89791762-2336-186f-9674-180ca802d4d1"
UNKNOWN = 2_000_000_000


@pytest.fixture
def client(confluent_registry: ConfluentRegistry) -> Iterator[ConfluentRegistryClient]:
    client = ConfluentRegistryClient(conf_of(confluent_registry.url))
    yield client
    client.close()


@pytest.fixture
def subject() -> str:
    return f"subject-{uuid.uuid4()}-value"


def referring(subject: str) -> ConfluentSchema:
    return ConfluentSchema(SALE, references=(SchemaReference("shop.Money", subject, 1),))


def test_what_is_registered_is_found_by_id_subject_and_text(client: ConfluentRegistryClient, subject: str) -> None:
    first, second = client.register(subject, MONEY), client.register(subject, EUROS)
    assert client.register(subject, MONEY) == first
    assert client.by_id(first) == ConfluentSchema(MONEY)
    assert client.versions(subject) == [1, 2]
    assert client.version(subject, 2) == ConfluentSchema(EUROS, id=second, subject=subject, version=2)
    assert client.version(subject, "latest") == client.version(subject, 2)
    assert client.lookup(subject, EUROS) == (second, 2)
    assert (subject, 1) in client.subject_versions(first)
    assert subject in client.subjects()


def test_references_are_resolved(client: ConfluentRegistryClient, subject: str) -> None:
    client.register(f"money-{subject}", MONEY)
    sale = referring(f"money-{subject}")
    id = client.register(subject, sale)
    assert client.by_id(id) == sale
    assert client.lookup(subject, sale) == (id, 1)
    assert parse(client.schema(id)).names.keys() == {"shop.Sale", "shop.Money"}


def test_a_subject_may_have_any_name(client: ConfluentRegistryClient, subject: str) -> None:
    odd = f"{subject} a/b?c=d"
    id = client.register(odd, MONEY)
    assert client.version(odd, 1).id == id
    assert odd in client.subjects()


def test_the_registry_has_no_guids(client: ConfluentRegistryClient) -> None:
    with pytest.raises(errors.MissingEndpointError, match="does not support GUIDs"):
        client.by_guid(GUID)


def test_the_address_without_its_path_is_no_registry_without_schemas(confluent_registry: ConfluentRegistry) -> None:
    asking = ConfluentRegistryClient(conf_of(confluent_registry.url.partition("/apis")[0]))
    for ask in (lambda: asking.by_id(1), lambda: asking.versions("s")):
        with pytest.raises(errors.MissingEndpointError, match="with all of its path"):
            ask()
    asking.close()


def test_a_schema_of_another_type_is_refused_by_name(client: ConfluentRegistryClient, subject: str) -> None:
    id = client.register(subject, ConfluentSchema(PROTO, "PROTOBUF"))
    assert client.by_id(id) == ConfluentSchema(PROTO, "PROTOBUF")
    with pytest.raises(errors.SchemaError, match="got type PROTOBUF"):
        client.schema(id)


def test_the_level_of_a_subject_refuses_an_incompatible_schema(
    client: ConfluentRegistryClient, confluent_registry: ConfluentRegistry, subject: str
) -> None:
    client.register(subject, MONEY)
    assert client.compatibility(subject) == "NONE"
    put = requests.put(f"{confluent_registry.url}/config/{subject}", json={"compatibility": "FULL"}, timeout=30)
    put.raise_for_status()
    assert client.compatibility(subject) == "FULL"
    with pytest.raises(errors.IncompatibleSchemaError, match="cannot register a schema in subject"):
        client.register(subject, TEXT)


def test_the_id_in_a_message_of_confluents_serializer_leads_to_its_schema(
    confluent_registry: ConfluentRegistry, subject: str
) -> None:
    topic = subject.removesuffix("-value")
    with SchemaRegistryClient({"url": confluent_registry.url}) as theirs:
        message = AvroSerializer(theirs, MONEY)({"cents": 5}, SerializationContext(topic, MessageField.VALUE))
    assert message is not None
    schemas = ConfluentSchemas(conf_of(confluent_registry.url))
    known = schemas.by_id(int.from_bytes(message[1:5], "big"))
    assert known.compiled.codec({}).decode(message[5:]) == {"cents": 5}
    assert schemas.writing(subject, parse(MONEY), register=False) == known.version
    schemas.client.close()


# What the stand-in of the unit tests claims


def outcome(ask: Callable[[], Any], ids: dict[int, str]) -> Any:
    """What came back, with ids by the order in which they were met; of an error, its type and Confluent's code."""
    try:
        return named(ask(), ids)
    except errors.SchemaRegistryError as error:
        return type(error).__name__, error.status, error.error_code if error.status == 404 else None


def named(found: Any, ids: dict[int, str]) -> Any:
    if isinstance(found, ConfluentSchema):
        return found.schema_str, found.schema_type, found.references, ids.get(found.id or 0), found.version
    return (ids.get(found[0]), found[1]) if isinstance(found, tuple) else found


def story(client: ConfluentRegistryClient, subject: str) -> list[Any]:
    """The same questions to any registry."""
    ids: dict[int, str] = {}
    found: list[Any] = []

    def ask(question: Callable[[], Any]) -> None:
        found.append(outcome(question, ids))

    for _ in range(2):
        ask(lambda: client.versions(subject))
        ask(lambda: client.version(subject, 1))
        ask(lambda: client.lookup(subject, MONEY))
        ids[client.register(subject, MONEY)] = "first"
    for name, schema in (("same", MONEY), ("second", EUROS), ("sale", referring(subject))):
        ids.setdefault(client.register(subject, schema), name)
    for number, name in list(ids.items()):
        ask(lambda number=number: client.by_id(number))  # type: ignore[misc]
        found.append((name, [pair for pair in client.subject_versions(number) if pair[0] == subject]))
    for version in (1, 2, 3, 4, "latest"):
        ask(lambda version=version: client.version(subject, version))  # type: ignore[misc]
    for schema in (MONEY, EUROS, TEXT, referring(subject)):
        ask(lambda schema=schema: client.lookup(subject, schema))  # type: ignore[misc]
    ask(lambda: client.by_id(UNKNOWN))
    ask(lambda: client.subject_versions(UNKNOWN))
    ask(lambda: client.by_guid(GUID))
    ask(lambda: client.register(subject, "no schema"))
    return found


def test_the_stand_in_answers_as_the_registry_does(client: ConfluentRegistryClient, subject: str) -> None:
    with ConfluentStandIn(guids=False) as stand_in:
        standing_in = ConfluentRegistryClient(conf_of(stand_in.url))
        claimed = story(standing_in, subject)
        standing_in.close()
    assert claimed == story(client, subject)
