"""Options of the second registry: the first one's behind ``confluent.``, checked alike."""

from __future__ import annotations

import re
from typing import Any

import pytest

from streamnative_serdes import (
    KafkaAvroDeserializer,
    KafkaAvroDeserializerBuilder,
    KafkaAvroSerializer,
    KafkaAvroSerializerBuilder,
)
from streamnative_serdes import _config as config
from streamnative_serdes._call_path import policy_of
from streamnative_serdes.errors import ConfigError

PULSAR = {"schema.registry.url": "https://pulsar:8443"}
URL = {"confluent.schema.registry.url": "https://registry:8081"}
SASL = {"sasl.username": "me", "sasl.password": "secret"}
CLIENT = {"confluent.bearer.auth.client.id": "c", "confluent.bearer.auth.client.secret": "s"}
ISSUER = {"confluent.bearer.auth.issuer.url": "https://issuer"}
INHERIT = {"confluent.basic.auth.credentials.source": "SASL_INHERIT"}
TABLES = (config.SERIALIZER_OPTIONS, config.DESERIALIZER_OPTIONS)


def parse(conf: dict[str, Any]) -> dict[str, Any]:
    return config.parse(config.DESERIALIZER_OPTIONS, {**PULSAR, **conf}, strict=True)


def second(**conf: Any) -> dict[str, Any]:
    found = config.confluent_conf(parse({**URL, **conf}))
    assert found is not None
    return found


def test_each_option_for_address_signing_in_tls_and_proxy_exists_behind_the_prefix() -> None:
    first = {option.key: option for option in config.REGISTRY_OPTIONS}
    own = [key for key in first if re.match(r"schema\.registry|basic\.auth|bearer\.auth|proxy", key)]
    assert [option.key for option in config.CONFLUENT_OPTIONS] == [f"confluent.{key}" for key in own]
    for option in config.CONFLUENT_OPTIONS:
        same = first[option.key.removeprefix("confluent.")]
        assert (option.check, option.default, option.secret) == (same.check, same.default, same.secret)
    for table in TABLES:
        assert set(config.CONFLUENT_OPTIONS) <= set(table)


def test_without_its_address_there_is_no_second_registry() -> None:
    assert config.confluent_conf(parse({})) is None
    assert config.confluent_conf(config.parse(config.REGISTRY_OPTIONS, PULSAR, strict=True)) is None


def test_the_second_registry_has_its_own_credentials_and_shares_limits_with_the_first() -> None:
    given = {
        "bearer.auth.token": "of-pulsar",
        "proxy": "http://of-pulsar:1",
        "confluent.basic.auth.user.info": "me:x",
        "retries.total.ms": 7,
        "cache.capacity": 3,
        "max.schema.size": 99,
    }
    found = second(**given)
    assert found["schema.registry.url"] == "https://registry:8081"
    assert (found["basic.auth.user.info"], found["bearer.auth.token"], found["proxy"]) == ("me:x", None, None)
    assert (found["retries.total.ms"], found["cache.capacity"], found["max.schema.size"]) == (7, 3, 99)
    assert parse({**URL, **given})["basic.auth.user.info"] is None


def test_an_option_is_named_in_errors_as_its_user_wrote_it() -> None:
    both = parse({**URL, **INHERIT, **SASL})
    conf = config.confluent_conf(both)
    assert conf is not None
    for key in ("schema.registry.url", "bearer.auth.token", "proxy"):
        assert config.named(both, key) == key
        assert config.named(conf, key) == f"confluent.{key}"
    assert config.named(conf, "sasl.username") == "sasl.username"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"confluent.basic.auth.user.info": "a:b", "confluent.bearer.auth.token": "t"},
            "cannot sign in with both confluent.basic.auth.user.info and confluent.bearer.auth.token",
        ),
        (INHERIT, "confluent.basic.auth.credentials.source=SASL_INHERIT needs sasl.username and sasl.password"),
        (
            {"confluent.basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "a:b"},
            "confluent.basic.auth.credentials.source=USER_INFO needs confluent.basic.auth.user.info",
        ),
        (CLIENT, "OAuth needs confluent.bearer.auth.issuer.url or confluent.bearer.auth.issuer.endpoint.url"),
        (
            ISSUER,
            "OAuth needs confluent.bearer.auth.client.id and confluent.bearer.auth.client.secret, "
            "or confluent.bearer.auth.private.key",
        ),
        (
            {**ISSUER, **CLIENT, "confluent.bearer.auth.issuer.endpoint.url": "https://x"},
            "confluent.bearer.auth.issuer.endpoint.url: each determines the token endpoint",
        ),
        (
            {**ISSUER, **CLIENT, "confluent.bearer.auth.private.key": "/k"},
            "cannot use both confluent.bearer.auth.private.key and confluent.bearer.auth.client.id: each identifies",
        ),
        (
            {"confluent.schema.registry.ssl.key.location": "k"},
            "confluent.schema.registry.ssl.key.location needs confluent.schema.registry.ssl.certificate.location",
        ),
        (
            {"confluent.schema.registry.url": "http://r", "confluent.schema.registry.ssl.ca.location": "c"},
            "confluent.schema.registry.ssl.ca.location has no effect: confluent.schema.registry.url is not an https",
        ),
        ({"confluent.basic.auth.user.info": "password"}, "confluent.basic.auth.user.info: expected USER:PASSWORD"),
    ],
)
def test_contradictions_are_refused_by_the_names_with_the_prefix(options: dict[str, Any], words: str) -> None:
    for make in (lambda conf: KafkaAvroDeserializer(conf), lambda conf: KafkaAvroSerializer(conf, '"int"')):
        with pytest.raises(ConfigError, match=re.escape(words)):
            make({**PULSAR, **URL, **options})


@pytest.mark.parametrize("option", [option for option in config.CONFLUENT_OPTIONS if "url" not in option.key])
def test_an_option_without_the_address_is_refused_also_by_configure(option: config.Option) -> None:
    value = {"confluent.basic.auth.user.info": "a:b", "confluent.proxy": "http://p"}.get(option.key, "SASL_INHERIT")
    value = "STATIC_TOKEN" if option.key == "confluent.bearer.auth.credentials.source" else value
    conf = {**PULSAR, option.key: value}
    for make in (KafkaAvroDeserializer, lambda conf: KafkaAvroDeserializer().configure(conf)):
        with pytest.raises(ConfigError, match=re.escape(f"{option.key} has no effect without confluent.schema")):
            make(conf)


def test_sasl_inherit_of_the_second_registry_takes_the_clients_own_user() -> None:
    found = second(**INHERIT, **SASL)
    assert (found["sasl.username"], found["sasl.password"]) == ("me", "secret")
    for conf in (URL, {}):
        with pytest.raises(ConfigError, match=r"sasl\.username has no effect without SASL_INHERIT"):
            parse({**conf, **SASL})


@pytest.mark.parametrize(
    ("builder", "framing"),
    [
        (KafkaAvroSerializerBuilder('"int"'), {"framing": "confluent"}),
        (KafkaAvroDeserializerBuilder(), {"framings": "snip42,confluent"}),
    ],
)
def test_a_builder_takes_the_options_and_leaves_the_client_its_own(builder: Any, framing: dict[str, str]) -> None:
    serdes, left = builder.build(
        {**PULSAR, **URL, **framing, **INHERIT, **SASL, "security.protocol": "SASL_SSL"}, False
    )
    assert left == {**SASL, "security.protocol": "SASL_SSL"}
    assert policy_of(serdes).conf["sasl.password"] == "secret"
    serdes, left = builder.build({**PULSAR, **URL, **framing, **SASL}, False)
    assert left == SASL
    assert policy_of(serdes).conf["sasl.password"] is None
