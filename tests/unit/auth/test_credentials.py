"""Credentials: which options authenticate, which contradict each other, and which header they send."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from scripted_registry import CONF, Answer, ScriptedRegistry

from streamnative_serdes import (
    KafkaAvroDeserializer,
    KafkaAvroDeserializerBuilder,
    KafkaAvroSerializer,
    KafkaAvroSerializerBuilder,
)
from streamnative_serdes import _config as config
from streamnative_serdes._auth.credentials import Basic, credentials
from streamnative_serdes._call_path import policy_of
from streamnative_serdes.errors import AuthenticationError, ConfigError
from streamnative_serdes.schema_registry import SchemaRegistryClient

URL = {"schema.registry.url": "https://localhost:8443"}
SASL = {"sasl.username": "public/default", "sasl.password": "token:abc.def.ghi"}
INHERIT = {"basic.auth.credentials.source": "SASL_INHERIT"}
BEARER_INHERIT = {"bearer.auth.credentials.source": "SASL_INHERIT"}
CLIENT = {"bearer.auth.client.id": "c", "bearer.auth.client.secret": "s"}
ISSUER = {"bearer.auth.issuer.url": "https://issuer"}
EMPTY = Answer(body={"getSchemaResponses": []})


def parse(**options: Any) -> dict[str, Any]:
    return config.parse(config.REGISTRY_OPTIONS, {**URL, **options}, strict=True)


def basic(user_info: str) -> str:
    return f"Basic {base64.b64encode(user_info.encode()).decode()}"


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, None),
        ({"bearer.auth.token": "abc"}, "Bearer abc"),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "token:abc"}, "Bearer abc"),
        ({"basic.auth.user.info": "me:pass:word"}, basic("me:pass:word")),
        ({"basic.auth.user.info": "m\N{LATIN SMALL LETTER E WITH ACUTE}:\N{EURO SIGN}"}, basic("mé:€")),
        ({"basic.auth.user.info": "me:"}, basic("me:")),
        ({"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:x"}, basic("me:x")),
        ({"basic.auth.user.info": "public/default:token:abc"}, "Bearer abc"),
        ({**INHERIT, **SASL}, "Bearer abc.def.ghi"),
        ({**INHERIT, "sasl.username": "me", "sasl.password": "pass:word"}, basic("me:pass:word")),
        ({**BEARER_INHERIT, "sasl.password": "token:abc"}, "Bearer abc"),
    ],
)
def test_each_way_to_sign_in_sends_its_header(options: dict[str, str], sent: str | None) -> None:
    with ScriptedRegistry(EMPTY) as server:
        client = SchemaRegistryClient(parse(**options, **{"schema.registry.url": server.url}))
        client.all_versions("t")
        client.close()
    assert server.asked[0].headers["Authorization"] == sent


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"basic.auth.user.info": "a:b", "bearer.auth.token": "t"},
            "cannot sign in with both basic.auth.user.info and bearer.auth.token",
        ),
        ({"bearer.auth.token": "t", **CLIENT}, "cannot sign in with both bearer.auth.token and bearer.auth.client.id"),
        ({**BEARER_INHERIT, **SASL, "bearer.auth.token": "t"}, "cannot sign in with both"),
        ({**INHERIT, **BEARER_INHERIT, **SASL}, "cannot sign in with both"),
        ({**INHERIT, **SASL, "basic.auth.user.info": "a:b"}, "cannot sign in with both"),
        ({**INHERIT, **SASL, **CLIENT, **ISSUER}, "both .*SASL_INHERIT and bearer.auth.issuer.url"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER", "bearer.auth.token": "t"}, "cannot sign in with both"),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN", **CLIENT, **ISSUER}, "cannot sign in with both"),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN"}, "STATIC_TOKEN needs bearer.auth.token"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "OAuth needs bearer.auth.client.id and"),
        ({"basic.auth.credentials.source": "USER_INFO"}, "USER_INFO needs basic.auth.user.info"),
        (INHERIT, "SASL_INHERIT needs sasl.username and sasl.password"),
        (BEARER_INHERIT, "SASL_INHERIT needs sasl.password"),
        ({"basic.auth.credentials.source": "URL"}, "expected USER_INFO or SASL_INHERIT"),
        ({"bearer.auth.credentials.source": "CUSTOM"}, "expected STATIC_TOKEN or OAUTHBEARER or SASL_INHERIT"),
        ({"basic.auth.user.info": "password"}, "basic.auth.user.info: expected USER:PASSWORD"),
        ({"basic.auth.user.info": ":password"}, "basic.auth.user.info: expected USER:PASSWORD"),
        ({"basic.auth.user.info": ":pass:word"}, "basic.auth.user.info: expected USER:PASSWORD"),
        ({"basic.auth.user.info": "me:pass\nword"}, "basic.auth.user.info: expected USER:PASSWORD"),
        (
            SASL,
            "sasl.username has no effect without SASL_INHERIT .hint: set basic.auth.credentials.source=SASL_INHERIT or",
        ),
        (CLIENT, "OAuth needs bearer.auth.issuer.url or bearer.auth.issuer.endpoint.url"),
        (ISSUER, "OAuth needs bearer.auth.client.id and"),
        ({**ISSUER, "bearer.auth.client.id": "c"}, "OAuth needs bearer.auth.client.id and bearer.auth.client.secret"),
        ({**ISSUER, **CLIENT, "bearer.auth.issuer.endpoint.url": "https://x"}, "each determines the token endpoint"),
        (
            {**ISSUER, **CLIENT, "bearer.auth.private.key": "/k"},
            "private.key and bearer.auth.client.id: each identifies",
        ),
        ({**CLIENT, "bearer.auth.issuer.url": "issuer"}, "issuer.url: expected an http.s. address"),
        ({**CLIENT, "bearer.auth.issuer.url": "https://me:password@x"}, "issuer.url: expected an http.s. address"),
        ({**CLIENT, "bearer.auth.issuer.url": "https://x:port"}, "issuer.url: expected an http.s. address"),
        ({**CLIENT, "bearer.auth.issuer.url": "https://x?a=b"}, "issuer.url: expected an http.s. address"),
        ({"bearer.auth.audience": "a"}, "OAuth needs"),
        ({"schema.registry.ssl.key.location": "k"}, "key.location needs schema.registry.ssl.certificate.location"),
        ({"schema.registry.ssl.key.password": "password"}, "key.password needs schema.registry.ssl.certificate"),
        ({"schema.registry.url": "http://a, http://b", "schema.registry.ssl.ca.location": "c"}, "not an https address"),
        ({"proxy": "http://me:password@host:port"}, "proxy: expected the address of a proxy"),
        ({"schema.registry.url": "https://me:password@x"}, "contains a user name or password .hint: use basic.auth"),
        ({"schema.registry.url": ["https://me:password@x"]}, "expected a non-empty string, got a value of type list"),
    ],
)
def test_contradictory_credentials_are_refused_when_configured(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        KafkaAvroDeserializer({**URL, **options})
    assert "password@" not in str(caught.value)
    assert "pass\n" not in str(caught.value)


@pytest.mark.parametrize("password", ["abc", "token:", "token:a b", "token:a\n"])
def test_a_kafka_password_without_token_prefix_is_not_a_token(password: str) -> None:
    with pytest.raises(ConfigError, match="not a token"):
        SchemaRegistryClient(parse(**BEARER_INHERIT, **{"sasl.password": password}))


def test_mock_and_several_addresses_may_have_tls_options() -> None:
    parse(**{"schema.registry.url": "mock://x", "schema.registry.ssl.ca.location": "c"})
    parse(**{"schema.registry.url": "http://a, https://b", "schema.registry.ssl.ca.location": "c"})


# Options of the Kafka client


@pytest.mark.parametrize("builder", [KafkaAvroSerializerBuilder('"int"'), KafkaAvroDeserializerBuilder()])
def test_a_builder_reads_the_clients_credentials_if_asked_and_leaves_them_there(builder: Any) -> None:
    client = {**SASL, "security.protocol": "SASL_SSL", "ssl.ca.location": "of-kafka.pem"}
    for asked in (INHERIT, BEARER_INHERIT):
        serdes, left = builder.build({**URL, **client, **asked}, False)
        assert left == client
        assert policy_of(serdes).conf["sasl.password"] == SASL["sasl.password"]
    serdes, left = builder.build({**URL, **client}, False)
    assert left == client
    assert policy_of(serdes).conf["sasl.password"] is None


def test_configure_takes_the_clients_whole_configuration_and_keeps_its_secrets_only_if_asked() -> None:
    serializer = KafkaAvroSerializer(None, '"int"').configure({**URL, **SASL, "acks": "all"})
    assert policy_of(serializer).conf["sasl.password"] is None
    # Not used then, so not checked either.
    KafkaAvroSerializer(None, '"int"').configure({**URL, "sasl.password": 12345})
    serializer.configure({**URL, **SASL, **INHERIT})
    assert policy_of(serializer).conf["sasl.password"] == SASL["sasl.password"]


def test_a_rejected_password_gets_a_hint_about_tokens() -> None:
    unknown = Answer(401, {"message": "Authentication required", "status": "401"})
    with ScriptedRegistry(unknown) as server:
        client = SchemaRegistryClient(parse(**{"schema.registry.url": server.url, "basic.auth.user.info": "a:b"}))
        with pytest.raises(AuthenticationError, match=r"the user or password is wrong.*put token: before it"):
            client.all_versions("t")
        client.close()
    assert len(server.asked) == 1


@pytest.mark.parametrize("repeated", ["secret-of-mine", basic("me:secret-of-mine").partition(" ")[2]])
def test_credentials_echoed_by_the_registry_are_masked(repeated: str) -> None:
    with ScriptedRegistry(Answer(401, {"reason": f"bad {repeated}!"}), Answer(400, b"", phrase=repeated)) as server:
        options = {"schema.registry.url": server.url, "basic.auth.user.info": "me:secret-of-mine"}
        client = SchemaRegistryClient(parse(**options))
        for _ in range(2):
            with pytest.raises(Exception, match=r"\[hidden\]") as caught:
                client.all_versions("t")
            assert repeated not in repr(vars(caught.value))
        client.close()


PASSWORD = "sécret-of-mine"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(400, PASSWORD.encode("latin-1"), {"Content-Type": "text/plain"}),
        Answer(400, PASSWORD.encode("latin-1"), {"Content-Type": "text/html; charset=iso-8859-1"}),
        Answer(400, b"\xff " + PASSWORD.encode()),
        Answer(200, PASSWORD.encode("latin-1")),
        Answer(400, phrase=PASSWORD),
        Answer(400, phrase=PASSWORD.encode().decode("latin-1")),
    ],
)
def test_echoed_credentials_are_masked_in_either_encoding(answer: Answer) -> None:
    with ScriptedRegistry(answer) as server:
        options = {"schema.registry.url": server.url, "basic.auth.user.info": f"me:{PASSWORD}"}
        client = SchemaRegistryClient(parse(**options))
        with pytest.raises(Exception, match=r"\[hidden\]") as caught:
            client.all_versions("t")
        assert "cret-of-mine" not in repr(vars(caught.value))
        client.close()


def test_no_credentials_show_in_a_repr() -> None:
    for options in (INHERIT | SASL, {"basic.auth.user.info": "me:abc.def"}):
        found = credentials({**CONF, **options}, lambda: 0.0)
        assert "abc" not in repr(found)
    assert isinstance(found, Basic)
