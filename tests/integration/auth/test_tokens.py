"""Tokens at a real Pulsar with authentication: one that has expired, and the permissions of each role."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from servers import Pulsar, Tokens

from streamnative_serdes import (
    AuthorizationError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
)
from streamnative_serdes._topics.binding import Binding

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB = {"name": "bob"}

pytestmark = pytest.mark.usefixtures("nothing_is_known")


@pytest.fixture
def topic() -> str:
    return f"tokens-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def conf(pulsar_with_tokens: Pulsar) -> Callable[..., dict[str, Any]]:
    def make(token: object, **more: Any) -> dict[str, Any]:
        return {"schema.registry.url": pulsar_with_tokens.url, "bearer.auth.token": token, **more}

    return make


Conf = Callable[..., dict[str, Any]]


def expired(tokens: Tokens) -> str:
    return tokens.of("produce", exp=int(time.time()) - 60)


def test_a_token_function_is_called_again_when_its_token_has_expired(conf: Conf, tokens: Tokens, topic: str) -> None:
    given = [expired(tokens), tokens.of("produce")]
    serializer = KafkaAvroSerializer(conf(lambda: given.pop(0) if len(given) > 1 else given[0]), USER)
    assert serializer.serialize(topic, BOB) is not None
    assert serializer.registry_calls() == 2  # the second with the second token


def test_the_error_for_a_missing_right_names_it_and_no_other_token_is_requested(
    conf: Conf, tokens: Tokens, topic: str
) -> None:
    asked: list[str] = []
    serializer = KafkaAvroSerializer(conf(lambda: asked.append("once") or tokens.of("consume")), USER)
    with pytest.raises(AuthorizationError) as caught:
        serializer.serialize(topic, BOB)
    for words in (
        f"topic {topic}: cannot register a schema",
        "[PRODUCE]",
        f"[persistent://public/default/{topic}]",
        "the role needs the right to produce",
    ):
        assert words in str(caught.value)
    assert asked == ["once"]


def test_a_role_without_permissions_cannot_read(conf: Conf, tokens: Tokens, topic: str) -> None:
    with pytest.raises(AuthorizationError, match=r"GET_METADATA.*the role needs the right to produce or consume"):
        KafkaAvroDeserializer(conf(tokens.of("nobody"))).deserialize(topic, b"\x03\x04" + bytes(8) + b"\x06bob")


def test_the_right_to_consume_is_enough_to_read_and_to_write_known_schemas(
    conf: Conf, tokens: Tokens, topic: str
) -> None:
    framed = KafkaAvroSerializer(conf(tokens.of("produce")), USER).serialize(topic, BOB)
    Binding.forget()
    consuming = conf(tokens.of("consume"), **{"auto.register.schemas": False})
    assert KafkaAvroDeserializer(consuming).deserialize(topic, framed) == BOB
    assert KafkaAvroSerializer(consuming, USER).serialize(topic, BOB) == framed
