"""Compatibility strategies of topics and namespaces: the requests, what "unset" looks like, and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scripted_registry import Answer, ScriptedRegistry

from streamnative_serdes import errors
from streamnative_serdes._config import REGISTRY_OPTIONS, parse
from streamnative_serdes.schema_registry import SchemaRegistryClient, TopicName
from streamnative_serdes.testing import LocalRegistry

TOPIC_PATH = "/admin/v2/persistent/public/default/t/schemaCompatibilityStrategy"
NAMESPACE_PATH = "/admin/v2/namespaces/public/default/schemaCompatibilityStrategy"
OFF = {"reason": "Topic level policies is disabled, to enable the topic level policy and retry."}
Ask = Callable[[SchemaRegistryClient], Any]


def client_of(url: str) -> SchemaRegistryClient:
    return SchemaRegistryClient(parse(REGISTRY_OPTIONS, {"schema.registry.url": url}, strict=True))


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry(Answer(204)) as server:
        yield server


@pytest.fixture
def client(server: ScriptedRegistry) -> Iterator[SchemaRegistryClient]:
    client = client_of(server.url)
    yield client
    client.close()


@pytest.mark.parametrize(
    ("ask", "method", "path", "body"),
    [
        (lambda client: client.topic_strategy("t"), "GET", TOPIC_PATH, None),
        (lambda client: client.topic_strategy(TopicName("a", "b", "c d")), "GET", TOPIC_PATH.replace(
            "public/default/t", "a/b/c%20d"), None),
        (lambda client: client.set_topic_strategy("t", "FULL"), "PUT", TOPIC_PATH, "FULL"),
        (lambda client: client.set_topic_strategy("t", None), "DELETE", TOPIC_PATH, None),
        (lambda client: client.namespace_strategy("public/default"), "GET", NAMESPACE_PATH, None),
        (lambda client: client.set_namespace_strategy("public/default", "FULL"), "PUT", NAMESPACE_PATH, "FULL"),
        (lambda client: client.set_namespace_strategy("public/default", None), "PUT", NAMESPACE_PATH, "UNDEFINED"),
    ],
)  # fmt: skip
def test_each_is_one_request(
    client: SchemaRegistryClient, server: ScriptedRegistry, ask: Ask, method: str, path: str, body: str | None
) -> None:
    assert ask(client) is None
    (asked,) = server.asked
    assert (asked.method, asked.path, json.loads(asked.body or b"null")) == (method, path, body)


@pytest.mark.parametrize(
    ("answer", "strategy"),
    [
        (Answer(200), None),
        (Answer(204), None),
        (Answer(200, b"null"), None),
        (Answer(200, b'"UNDEFINED"'), None),
        (Answer(200, b'"FULL"'), "FULL"),
        (Answer(200, b'"A_STRATEGY_OF_TOMORROW"'), "A_STRATEGY_OF_TOMORROW"),
    ],
)
def test_what_the_broker_answers_is_the_strategy(
    client: SchemaRegistryClient, server: ScriptedRegistry, answer: Answer, strategy: str | None
) -> None:
    server.script(answer)
    assert client.topic_strategy("t") == strategy
    assert client.namespace_strategy("public/default") == strategy


@pytest.mark.parametrize("body", [b"7", b'["FULL"]', b'"Full"', b"{", b'""'])
def test_an_answer_without_a_strategy_is_an_error(
    client: SchemaRegistryClient, server: ScriptedRegistry, body: bytes
) -> None:
    server.script(Answer(200, body))
    with pytest.raises(errors.SchemaRegistryError, match="the compatibility strategy of the topic: expected"):
        client.topic_strategy("t")


@pytest.mark.parametrize(
    ("answer", "kind", "hint"),
    [
        (Answer(405, OFF), errors.MissingEndpointError, "the broker has topicLevelPoliciesEnabled=false"),
        (Answer(404, {"reason": "Topic persistent://public/default/t not found"}), errors.SchemaNotFoundError, None),
        (
            Answer(403, {"reason": "Unauthorized to validateTopicPolicyOperation for operation [WRITE]"}),
            errors.AuthorizationError,
            "the role needs the right to change policies, which an admin of the tenant has",
        ),
        (Answer(500, {"reason": "boom"}), errors.SchemaRegistryError, None),
    ],
)
@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.topic_strategy("t"),
        lambda client: client.set_topic_strategy("t", "FULL"),
        lambda client: client.set_topic_strategy("t", None),
    ],
    ids=["read", "set", "unset"],
)
def test_a_refusal_is_a_typed_error(
    client: SchemaRegistryClient, server: ScriptedRegistry, ask: Ask, answer: Answer, kind: type, hint: str | None
) -> None:
    server.script(answer)
    with pytest.raises(errors.SchemaRegistryError) as caught:
        ask(client)
    assert (type(caught.value), caught.value.topic, caught.value.hint) == (kind, "t", hint)


def test_a_transient_failure_is_retried(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(Answer(503), Answer(204))
    client.set_topic_strategy("t", "FULL")
    assert len(server.asked) == 2


def test_a_namespace_has_two_parts(client: SchemaRegistryClient) -> None:
    with pytest.raises(errors.SerdesError, match="expected tenant/namespace"):
        client.namespace_strategy("public")


def test_what_is_set_applies(registry: LocalRegistry) -> None:
    registry.store.add_topic("public/default/t")
    client = client_of(registry.url)
    client.set_namespace_strategy("public/default", "BACKWARD")
    assert client.compatibility("t", '"int"').strategy == "BACKWARD"
    client.set_topic_strategy("t", "FORWARD")
    assert client.compatibility("t", '"int"').strategy == "FORWARD"
    client.set_topic_strategy("t", None)
    client.set_namespace_strategy("public/default", None)
    assert client.compatibility("t", '"int"').strategy == "FULL"
    assert (client.topic_strategy("t"), client.namespace_strategy("public/default")) == (None, None)
    client.close()
