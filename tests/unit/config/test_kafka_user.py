"""The Kafka user's tenant must equal ours, since KoP puts topics with short names into the user's tenant."""

from __future__ import annotations

from typing import Any

import pytest

from streamnative_serdes import (
    ConfigError,
    KafkaAvroDeserializer,
    KafkaAvroDeserializerBuilder,
    KafkaAvroSerializer,
    KafkaAvroSerializerBuilder,
)
from streamnative_serdes import _config as config

URL = {"schema.registry.url": "http://localhost:8080"}
INHERIT = {"bearer.auth.credentials.source": "SASL_INHERIT"}
TOKEN = {"sasl.password": "token:secret-text"}


def user(name: object, **more: Any) -> dict[str, Any]:
    return {**URL, **TOKEN, "sasl.username": name, **more}


BUILDERS = [KafkaAvroSerializerBuilder("string"), KafkaAvroDeserializerBuilder()]
CONTRADICTIONS = [
    (user("t2/default"), "t2", "public"),
    (user("t2/default", **{"pulsar.tenant": "public"}), "t2", "public"),
    (user("public/default", **{"pulsar.tenant": "t2"}), "public", "t2"),
    (user("t2/", **{"pulsar.tenant": "t3"}), "t2", "t3"),
    (user("t2/ns/more", **{"pulsar.tenant": "t3"}), "t2", "t3"),
]
# KoP ignores the namespace in the user's name; names and passwords of other forms may belong to any Kafka.
FINE = [
    user("public/default"),
    user("public/other", **{"pulsar.namespace": "third"}),
    user("t2/default", **{"pulsar.tenant": "t2"}),
    user("alice"),
    user("t2"),
    user("/default"),
    user(""),
    user(None),
    {**user("t2/default"), "sasl.password": "secret"},
    {**user("t2/default"), "sasl.password": None},
    {**URL, "sasl.username": "t2/default"},
    {**URL, **TOKEN},
]


@pytest.mark.parametrize(("conf", "theirs", "ours"), CONTRADICTIONS)
@pytest.mark.parametrize("inherited", [False, True])
@pytest.mark.parametrize("builder", BUILDERS, ids=["serializer", "deserializer"])
def test_a_builder_refuses_a_kafka_user_of_another_tenant(
    builder: Any, inherited: bool, conf: dict[str, Any], theirs: str, ours: str
) -> None:
    with pytest.raises(ConfigError, match=rf"belongs to tenant {theirs}, but pulsar\.tenant is {ours}") as caught:
        builder.build({**conf, **(INHERIT if inherited else {})}, False)
    assert f"set pulsar.tenant={theirs}, or sign in as a user {ours}/NAMESPACE" in str(caught.value)
    assert "secret-text" not in str(caught.value)


@pytest.mark.parametrize(("conf", "theirs", "ours"), CONTRADICTIONS)
@pytest.mark.parametrize("face", [KafkaAvroSerializer, KafkaAvroDeserializer])
def test_a_serdes_with_the_clients_options_refuses_a_kafka_user_of_another_tenant(
    face: Any, conf: dict[str, Any], theirs: str, ours: str
) -> None:
    for make in (lambda: face({**conf, **INHERIT}), lambda: face().configure(conf)):
        with pytest.raises(ConfigError, match=rf"belongs to tenant {theirs}, but pulsar\.tenant is {ours}"):
            make()


@pytest.mark.parametrize("conf", FINE)
def test_a_user_without_another_tenant_is_accepted(conf: dict[str, Any]) -> None:
    for builder in BUILDERS:
        assert builder.build(conf, False)[1].items() >= {key: conf[key] for key in conf if key[:4] == "sasl"}.items()
    KafkaAvroSerializer().configure(conf)
    config.refuse_other_tenant(conf, conf)
