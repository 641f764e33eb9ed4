"""Tokens at a real Pulsar with authentication: their sources, the permissions of each role, and that none is shown."""

from __future__ import annotations

import logging
import pickle
import time
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import DeserializingConsumer, SerializingProducer
from servers import Kafka, Pulsar, Tokens

from streamnative_serdes import (
    AuthenticationError,
    AuthorizationError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    SchemaRegistryError,
)
from streamnative_serdes._call_path import policy_of
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


@pytest.mark.parametrize("form", ["literal", "token:", "file", "function"])
def test_a_token_may_be_given_in_each_form(conf: Conf, tokens: Tokens, topic: str, tmp_path: Path, form: str) -> None:
    token, file = tokens.of("produce"), tmp_path / "token"
    file.write_text(token)
    given = {"literal": token, "token:": f"token:{token}", "file": file.as_uri(), "function": lambda: token}[form]
    framed = KafkaAvroSerializer(conf(given), USER).serialize(topic, BOB)
    assert KafkaAvroDeserializer(conf(given)).deserialize(topic, framed) == BOB


def test_a_token_file_can_be_replaced_while_running(conf: Conf, tokens: Tokens, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(expired(tokens))
    serializer = KafkaAvroSerializer(conf(file.as_uri()), USER)
    with pytest.raises(AuthenticationError, match="Authentication required"):
        serializer.serialize(topic, BOB)
    file.write_text(tokens.of("produce"))
    assert serializer.serialize(topic, BOB) is not None


def expired(tokens: Tokens) -> str:
    return tokens.of("produce", exp=int(time.time()) - 60)


def test_a_token_function_is_called_again_when_its_token_has_expired(conf: Conf, tokens: Tokens, topic: str) -> None:
    given = [expired(tokens), tokens.of("produce")]
    serializer = KafkaAvroSerializer(conf(lambda: given.pop(0) if len(given) > 1 else given[0]), USER)
    assert serializer.serialize(topic, BOB) is not None
    assert serializer.registry_calls() == 2  # the second with the second token


def test_credentials_that_are_rejected_again_are_fetched_only_twice(conf: Conf, tokens: Tokens, topic: str) -> None:
    asked: list[str] = []
    serializer = KafkaAvroSerializer(conf(lambda: asked.append("once more") or expired(tokens)), USER)
    with pytest.raises(AuthenticationError, match=f"topic {topic}: cannot register a schema: Authentication required"):
        serializer.serialize(topic, BOB)
    assert len(asked) == 2


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


def test_a_consumer_needs_only_the_right_to_consume(conf: Conf, tokens: Tokens, topic: str, kafka: Kafka) -> None:
    client = {"bootstrap.servers": kafka.bootstrap_servers}
    producer = SerializingProducer(
        {**client, "value.serializer": KafkaAvroSerializer(conf(tokens.of("produce")), USER)}
    )
    for _ in range(10):
        producer.produce(topic, value=BOB)
    producer.flush(60)
    Binding.forget()
    reading = conf(tokens.of("consume"), **{"auto.register.schemas": False})
    consumer = DeserializingConsumer(
        {
            **client,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "value.deserializer": KafkaAvroDeserializer(reading),
        }
    )
    consumer.subscribe([topic])
    try:
        values: list[Any] = []
        while len(values) < 10:
            message = consumer.poll(60)
            assert message is not None, "nothing came"
            values.append(message.value())
    finally:
        consumer.close()
    assert values == [BOB] * 10


def test_the_produce_permission_suffices_for_a_known_schema(conf: Conf, tokens: Tokens, topic: str) -> None:
    framed = KafkaAvroSerializer(conf(tokens.of("produce")), USER).serialize(topic, BOB)
    reading = conf(tokens.of("consume"), **{"auto.register.schemas": False})
    assert KafkaAvroSerializer(reading, USER).serialize(topic, BOB) == framed


@pytest.mark.parametrize("role", ["consume", "nobody", "expired"])
def test_no_token_shows_in_errors_logs_or_reprs(
    conf: Conf, tokens: Tokens, topic: str, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = expired(tokens) if role == "expired" else tokens.of(role)
    serializer = KafkaAvroSerializer(conf(token), USER)
    with pytest.raises(SchemaRegistryError) as caught:
        serializer.serialize(topic, BOB)
    client = policy_of(serializer).binding.client
    shown = [
        str(caught.value),
        repr(caught.value),
        repr(vars(caught.value)),
        "".join(traceback.format_exception(caught.value)),
        pickle.dumps(caught.value).decode("latin-1"),
        caplog.text,
        repr(serializer),
        repr(client),
        repr(client.rest._auth),
    ]
    assert [text for text in shown if token in text or token.rpartition(".")[2] in text] == []
