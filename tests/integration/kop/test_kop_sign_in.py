"""Signing in to a real KoP and its registry: both mechanisms, each role, and tokens that do not do."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from kop_server import Kop
from migrations import new_name

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._kafka import Cluster
from streamnative_serdes.errors import AuthenticationError, AuthorizationError
from streamnative_serdes.integrations.kop import sasl_settings
from streamnative_serdes.migration.route import Route, Side

SECONDS = 30.0
USER: Any = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
MECHANISMS: tuple[Literal["PLAIN", "OAUTHBEARER"], ...] = ("PLAIN", "OAUTHBEARER")

pytestmark = pytest.mark.usefixtures("nothing_is_known")


def conf(kop: Kop, role: str) -> dict[str, Any]:
    return {"schema.registry.url": kop.url, "bearer.auth.token": kop.token(role)}


def clients(kop: Kop, role: str, mechanism: Literal["PLAIN", "OAUTHBEARER"]) -> dict[str, Any]:
    settings = sasl_settings(conf(kop, role), mechanism, tls=False)
    return {"bootstrap.servers": kop.kafka, "log_level": 2, "error_cb": lambda _: None, **settings}


def outcome(kafka: dict[str, Any], topic: str, value: bytes) -> KafkaError | None:
    found: list[KafkaError | None] = []
    producer = Producer({**kafka, "message.timeout.ms": 20_000})
    producer.produce(topic, value, on_delivery=lambda error, _: found.append(error))
    assert producer.flush(SECONDS) == 0
    return found[0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_role_with_both_rights_writes_and_reads(
    kop_with_tokens: Kop, mechanism: Literal["PLAIN", "OAUTHBEARER"]
) -> None:
    topic, kop = new_name("both"), kop_with_tokens
    kafka = clients(kop, "both", mechanism)
    with KafkaAvroSerializer(conf(kop, "both"), USER) as write, KafkaAvroDeserializer(conf(kop, "consume")) as read:
        assert outcome(kafka, topic, write.serialize(topic, {"name": "ada"})) is None
        consumer = Consumer({**clients(kop, "consume", mechanism), "group.id": topic, "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        message = consumer.poll(SECONDS)
        consumer.close()
        assert message is not None
        assert message.error() is None
        assert read.deserialize(topic, message.value()) == {"name": "ada"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("role", ["consume", "nobody"])
def test_a_role_without_the_right_is_refused_by_both(
    kop_with_tokens: Kop, mechanism: Literal["PLAIN", "OAUTHBEARER"], role: str
) -> None:
    topic = new_name(role)
    assert outcome(clients(kop_with_tokens, "both", mechanism), topic, b"first") is None  # so the topic is there
    error = outcome(clients(kop_with_tokens, role, mechanism), topic, b"x")
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    with KafkaAvroSerializer(conf(kop_with_tokens, role), USER) as write, pytest.raises(AuthorizationError):
        write.serialize(topic, {"name": "ada"})


def test_a_token_that_has_ended_is_an_error_before_there_is_a_client(kop_with_tokens: Kop) -> None:
    with pytest.raises(AuthenticationError, match="the token for Kafka has expired"):
        clients(kop_with_tokens, "expired", "OAUTHBEARER")
    with KafkaAvroSerializer(conf(kop_with_tokens, "expired"), USER) as write, pytest.raises(AuthenticationError):
        write.serialize("any", {"name": "ada"})


def test_a_broker_refuses_another_keys_token(kop_with_tokens: Kop) -> None:
    kafka = clients(kop_with_tokens, "both", "PLAIN")
    kafka["sasl.password"] = kafka["sasl.password"][:-8] + "AAAAAAAA"
    heard: list[str] = []
    admin = AdminClient({**kafka, "error_cb": lambda error: heard.append(error.name())})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=10)
    admin.poll(1)
    assert "_AUTHENTICATION" in heard


@pytest.mark.parametrize("role", ["both", "nobody"])
def test_everybody_who_signs_in_is_told_that_it_is_a_kop(kop_with_tokens: Kop, role: str) -> None:
    kafka = clients(kop_with_tokens, role, "PLAIN")
    side = Side(kafka, conf(kop_with_tokens, role))
    assert Cluster(kafka, "t", Route("forward", "a", "b", side, side).pulsar_registry).is_kop
