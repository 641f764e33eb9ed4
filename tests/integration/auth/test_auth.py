"""Authentication at a real Pulsar, and with the same key at a real Kafka: token, OAuth, user and password, TLS."""

from __future__ import annotations

import base64
import json
import math
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import DeserializingConsumer, SerializingProducer, serialization
from oauth_issuer import Issuer
from servers import Kafka, Pulsar, Tokens
from servers.certificates import Certificates
from servers.pulsar import PASSWORD
from waiting import until

from streamnative_serdes import (
    AuthenticationError,
    AuthorizationError,
    KafkaAvroDeserializer,
    KafkaAvroDeserializerBuilder,
    KafkaAvroSerializer,
    KafkaAvroSerializerBuilder,
    SchemaRegistryError,
)
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.integrations import kop

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB = {"name": "bob"}

pytestmark = pytest.mark.usefixtures("nothing_is_known")


@pytest.fixture
def topic() -> str:
    return f"auth-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="module")
def sasl_kafka(tokens: Tokens) -> Iterator[Kafka]:
    """A Kafka in place of KoP, which accepts the API key of Pulsar's role ``produce``."""
    with Kafka(users={"public/default": f"token:{tokens.of('produce')}"}) as kafka:
        yield kafka


def round_trip(client: dict[str, Any], serializer: dict[str, Any], deserializer: dict[str, Any], topic: str) -> object:
    """Send a value to Kafka, and return it as read back."""
    producer = SerializingProducer({**client, **serializer})
    producer.produce(topic, value=BOB)
    assert producer.flush(60) == 0
    Binding.forget()
    reading = {"group.id": topic, "auto.offset.reset": "earliest"}
    consumer = DeserializingConsumer({**client, **reading, **deserializer})
    consumer.subscribe([topic])
    try:
        message = consumer.poll(60)
        assert message is not None, "nothing came"
        return message.value()
    finally:
        consumer.close()


@pytest.mark.skipif(
    not hasattr(serialization, "SerializerBuilder"), reason="confluent-kafka supports builders from 2.16 on"
)
@pytest.mark.parametrize("source", ["basic.auth.credentials.source", "bearer.auth.credentials.source"])
def test_an_api_key_of_the_kafka_client_also_signs_in_to_the_registry(
    pulsar_with_tokens: Pulsar, sasl_kafka: Kafka, tokens: Tokens, topic: str, source: str
) -> None:
    client = {
        "bootstrap.servers": sasl_kafka.sasl_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "public/default",
        "sasl.password": f"token:{tokens.of('produce')}",
        "schema.registry.url": pulsar_with_tokens.url,
        source: "SASL_INHERIT",
    }
    writing = {"value.serializer.builder": KafkaAvroSerializerBuilder(USER)}
    reading = {"value.deserializer.builder": KafkaAvroDeserializerBuilder()}
    assert round_trip(client, writing, reading, topic) == BOB


def test_an_api_key_of_the_serdes_also_signs_in_the_kafka_client(
    pulsar_with_tokens: Pulsar, sasl_kafka: Kafka, tokens: Tokens, topic: str
) -> None:
    conf = {"schema.registry.url": pulsar_with_tokens.url, "bearer.auth.token": tokens.of("produce")}
    client = {"bootstrap.servers": sasl_kafka.sasl_servers, **kop.sasl_settings(conf, tls=False)}
    writing = {"value.serializer": KafkaAvroSerializer(conf, USER)}
    assert round_trip(client, writing, {"value.deserializer": KafkaAvroDeserializer(conf)}, topic) == BOB


def test_oauth_tokens_sign_in_to_pulsar_and_are_renewed(pulsar_with_tokens: Pulsar, tokens: Tokens, topic: str) -> None:
    def signed(until: float) -> str:
        return tokens.of("produce", exp=math.ceil(until))

    with Issuer(lifetime=1.0, make=signed) as issuer:
        conf = {"schema.registry.url": pulsar_with_tokens.url, **issuer.options()}
        serializer, deserializer = KafkaAvroSerializer(conf, USER), KafkaAvroDeserializer(conf)
        count = 0
        while len(issuer.forms) < 4:  # each new topic causes a new request to Pulsar
            framed = serializer.serialize(f"{topic}-{count}", BOB)
            assert deserializer.deserialize(f"{topic}-{count}", framed) == BOB
            count += 1
    assert count > 4


def test_an_oauth_role_without_permission_gets_an_authorization_error(
    pulsar_with_tokens: Pulsar, tokens: Tokens, topic: str
) -> None:
    with Issuer(make=lambda _: tokens.of("consume")) as issuer:
        conf = {"schema.registry.url": pulsar_with_tokens.url, **issuer.options()}
        with pytest.raises(AuthorizationError, match="the role needs the right to produce"):
            KafkaAvroSerializer(conf, USER).serialize(topic, BOB)
        assert len(issuer.tokens) == 1


def test_a_kafka_client_signs_in_with_oauth_tokens_and_gets_new_ones(sasl_kafka: Kafka, topic: str) -> None:
    """A Kafka broker only checks claims of unsigned tokens; KoP would let Pulsar validate them."""

    def unsigned(until: float) -> str:
        parts = ({"alg": "none"}, {"sub": "me", "iat": time.time(), "exp": until})
        return "".join(f"{base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip('=')}." for part in parts)

    with Issuer(lifetime=3.0, make=unsigned) as issuer:
        settings = kop.sasl_settings({"schema.registry.url": "http://p", **issuer.options()}, tls=False)
        producer = SerializingProducer({"bootstrap.servers": sasl_kafka.sasl_servers, **settings, "log_level": 0})
        producer.produce(topic, value=b"1")
        assert producer.flush(60) == 0

        def asked_again() -> bool:
            producer.poll(0.1)
            return len(issuer.tokens) == 2

        until(asked_again, "the client asks for another token")
        producer.produce(topic, value=b"2")
        assert producer.flush(60) == 0


# Over TLS, with a certificate or a password


@pytest.fixture
def secure(pulsar_with_tokens: Pulsar, certificates: Certificates) -> dict[str, Any]:
    url = pulsar_with_tokens.secure_url
    return {"schema.registry.url": url, "schema.registry.ssl.ca.location": str(certificates.ca)}


def test_a_certificate_signs_in_as_the_role_of_its_name(
    secure: dict[str, Any], certificates: Certificates, topic: str
) -> None:
    framed = KafkaAvroSerializer({**secure, **certificates.client("produce")}, USER).serialize(topic, BOB)
    assert KafkaAvroDeserializer({**secure, **certificates.client("consume")}).deserialize(topic, framed) == BOB
    with pytest.raises(AuthorizationError, match="the role needs the right to produce"):
        KafkaAvroSerializer({**secure, **certificates.client("nobody")}, USER).serialize(f"{topic}-2", BOB)


def test_user_and_password_sign_in(secure: dict[str, Any], topic: str) -> None:
    conf = {**secure, "basic.auth.user.info": f"produce:{PASSWORD}"}
    assert KafkaAvroSerializer(conf, USER).serialize(topic, BOB) is not None
    with pytest.raises(AuthenticationError, match="the user or password is wrong"):
        KafkaAvroSerializer({**conf, "basic.auth.user.info": "produce:another"}, USER).serialize(topic, BOB)


def test_without_credentials_the_error_says_how_to_sign_in(secure: dict[str, Any], topic: str) -> None:
    with pytest.raises(AuthenticationError, match=r"hint: set bearer\.auth\.token, or see"):
        KafkaAvroSerializer(secure, USER).serialize(topic, BOB)


@pytest.mark.promise("certificates")
def test_pulsars_certificate_is_checked(secure: dict[str, Any], topic: str, tmp_path: Path) -> None:
    del secure["schema.registry.ssl.ca.location"]
    other = {"schema.registry.ssl.ca.location": str(Certificates(tmp_path).ca)}
    for conf in (secure, {**secure, **other}):
        with pytest.raises(SchemaRegistryError, match=r"VERIFY_FAILED.*"):
            KafkaAvroSerializer({**conf, "bearer.auth.token": "t"}, USER).serialize(topic, BOB)
