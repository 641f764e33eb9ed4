"""The Kafka client's configuration: Java's names, defaults, logins and stores become librdkafka's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Consumer
from servers.certificates import Certificates

from streamnative_serdes import ConfigError
from streamnative_serdes.spark.datasource.user_options import names, secrets
from streamnative_serdes.spark.datasource.user_options.client_config import client_config
from streamnative_serdes.spark.datasource.user_options.options import Options

SECRET = "c4n4ryInTheCoalMine"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def made(use: Any = "read", **kafka: str) -> dict[str, Any]:
    given = {"kafka.bootstrap.servers": "b:1", **{f"kafka.{name}": value for name, value in kafka.items()}}
    conf = client_config(Options.parse(given, use))
    assert conf.pop("bootstrap.servers") == "b:1"
    return conf


def only(**kafka: str) -> dict[str, Any]:
    defaults = made()
    return {name: value for name, value in made(**kafka).items() if defaults.get(name) != value}


def test_defaults_are_those_of_javas_clients() -> None:
    assert made() == {"isolation.level": "read_uncommitted", "check.crcs": "true"}
    assert made("write") == {"partitioner": "murmur2_random"}
    assert made(**{"isolation.level": "read_committed"})["isolation.level"] == "read_committed"


def test_javas_names_become_librdkafkas() -> None:
    given = {
        "fetch.max.wait.ms": "7",
        "receive.buffer.bytes": "-1",
        "send.buffer.bytes": "9",
        "request.timeout.ms": "8",
    }
    expected = {
        "fetch.wait.max.ms": "7",
        "socket.receive.buffer.bytes": "0",
        "socket.send.buffer.bytes": "9",
        "socket.timeout.ms": "8",
    }
    assert only(**given) == expected
    assert made("write", **{"buffer.memory": "4096"})["queue.buffering.max.kbytes"] == "4"
    assert made("write", **{"max.request.size": "2000000"})["message.max.bytes"] == "2000000"


@pytest.mark.parametrize(("size", "kilobytes"), [("33554432", "32768"), ("2047", "1"), ("1000", "1"), ("0", "1")])
def test_a_buffer_has_a_kilobyte_at_least(size: str, kilobytes: str) -> None:
    assert made("write", **{"buffer.memory": size})["queue.buffering.max.kbytes"] == kilobytes


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bootstrap.server", "did you mean kafka.bootstrap.servers?"),
        ("security.protcol", "did you mean kafka.security.protocol?"),
        ("acls", "did you mean kafka.acks?"),
        ("ssl.truststore.locatoin", "did you mean kafka.ssl.truststore.location?"),
        ("ssl.keystore.typ", "did you mean kafka.ssl.keystore.type?"),
        ("max.poll.record", "did you mean kafka.max.poll.records?"),
        ("buffer.memry", "did you mean kafka.buffer.memory?"),
        ("xyz", "the nearest one is kafka."),
        ("startingOffsets", "startingOffsets is no option of the Kafka client; leave out kafka."),
        ("dedupheaders", "dedupHeaders is no option of the Kafka client; leave out kafka."),
        ("schema.registry.url", "schema.registry.url is no option of the Kafka client; leave out kafka."),
    ],
)
@pytest.mark.parametrize("use", ["read", "write"])
def test_a_misspelt_option_of_the_client_is_answered_with_the_nearest_name(use: Any, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown option 'kafka.{name.lower()}'") as caught:
        Options.parse({"kafka.bootstrap.servers": "b:1", f"kafka.{name}": "1"}, use)
    assert said in str(caught.value)
    if name == "bootstrap.server":
        with pytest.raises(ConfigError, match=r"did you mean kafka\.bootstrap\.servers"):
            Options.parse({f"kafka.{name}": "b:1"}, use)


def test_each_name_that_is_suggested_is_known_to_the_installed_client() -> None:
    if confluent_kafka.libversion()[1] >= 0x02100000:
        unknown = [name for name in names.LIBRDKAFKAS if not names.client_knows(name)]
        assert unknown == []
    assert not names.client_knows("security.protcol")
    every = {name for known in names.RENAMED.values() for name in known.values()}
    assert names.LIBRDKAFKAS >= every
    options = {each.removeprefix("kafka.") for each in secrets._CLIENTS | secrets._MAY_REFER}
    assert names.LIBRDKAFKAS | names.STORES >= options


def test_a_newer_client_may_have_more_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "LIBRDKAFKAS", names.LIBRDKAFKAS - {"linger.ms", "batch.size"})
    assert made("write", **{"linger.ms": "7", "batch.size": "9"})["linger.ms"] == "7"


@pytest.mark.parametrize("name", names.JAVAS)
def test_an_option_that_only_javas_client_has_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        made(**{name: "1"})
    assert f"kafka.{name} of Java's client has no effect here (hint: {names.JAVAS[name]})" in str(caught.value)


@pytest.mark.parametrize(("value", "expected"), [("", "none"), (" ", "none"), ("https", "https")])
def test_javas_empty_text_turns_the_check_of_host_names_off(value: str, expected: str) -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert only(**{name: value}) == {name: expected}


@pytest.mark.parametrize(
    ("jaas", "expected"),
    [
        (
            f'{PLAIN} required username="al;ice" password="{SECRET}\\"=";',
            {"sasl.username": "al;ice", "sasl.password": f'{SECRET}"='},
        ),
        (
            f'{PLAIN} required username="a" password="\\"{SECRET}\\\\\\"";',
            {"sasl.username": "a", "sasl.password": f'"{SECRET}\\"'},
        ),
        (
            "org.apache.kafka.common.security.scram.ScramLoginModule\n  required\n username=a\n password = b ;",
            {"sasl.username": "a", "sasl.password": "b"},
        ),
        (
            'x.OAuthBearerLoginModule required clientId=\'me\' clientSecret="s" scope="a b";'.replace("'", '"'),
            {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "me",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "a b",
            },
        ),
        (
            'x.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";',
            {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=alice"},
        ),
        (
            'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="p@R" '
            'serviceName="kafka";',
            {
                "sasl.kerberos.keytab": "/k",
                "sasl.kerberos.principal": "p@R",
                "sasl.kerberos.service.name": "kafka",
            },
        ),
    ],
)
def test_javas_login_modules_sign_in(jaas: str, expected: dict[str, str]) -> None:
    assert only(**{"sasl.jaas.config": jaas}) == expected


@pytest.mark.parametrize(
    "jaas",
    [
        f'{PLAIN} required username="a" password="{SECRET}"',  # no semicolon
        f'{PLAIN} username="a" password="{SECRET}";',
        f'{PLAIN} required username="a" password="{SECRET}"; x;',
        f'{PLAIN} required password="{SECRET}";',
        f'com.example.Mine required username="a" password="{SECRET}";',
        f'x.OAuthBearerLoginModule required clientSecret="{SECRET}";',
        SECRET,
        "",
    ],
)
def test_another_login_is_refused_and_the_error_shows_no_secret(jaas: str) -> None:
    with pytest.raises(ConfigError, match=r"kafka\.sasl\.jaas\.config") as caught:
        made(**{"sasl.jaas.config": jaas})
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_pem_texts_and_files_are_given_to_librdkafka(tmp_path: Path) -> None:
    (tmp_path / "both.pem").write_text("Bag Attributes\n-----BEGIN CERTIFICATE-----")
    path = str(tmp_path / "both.pem")
    texts = {"ssl.keystore.key": "K", "ssl.keystore.certificate.chain": "C", "ssl.truststore.certificates": "T"}
    assert only(**texts, **{"ssl.key.password": "p"}) == {
        "ssl.key.pem": "K",
        "ssl.certificate.pem": "C",
        "ssl.ca.pem": "T",
        "ssl.key.password": "p",
    }
    for kind in ({}, {"ssl.keystore.type": "PEM", "ssl.truststore.type": "pem"}):
        assert only(**{"ssl.keystore.location": path, "ssl.truststore.location": path}, **kind) == {
            "ssl.key.location": path,
            "ssl.certificate.location": path,
            "ssl.ca.location": path,
        }
    with pytest.raises(ConfigError, match=r"kafka\.ssl\.keystore\.certificate\.chain is missing"):
        made(**{"ssl.keystore.key": "K"})


def test_a_pkcs12_key_store_is_read_by_librdkafka(pkcs12: Path) -> None:
    conf = only(**{"ssl.keystore.location": str(pkcs12), "ssl.keystore.password": SECRET, "ssl.key.password": SECRET})
    assert conf == {"ssl.keystore.location": str(pkcs12), "ssl.keystore.password": SECRET}
    Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "security.protocol": "ssl", **conf, "log_level": 0})


def test_a_pkcs12_trust_store_becomes_pem_in_memory(pkcs12: Path, certificates: Certificates) -> None:
    before = sorted(pkcs12.parent.iterdir())
    conf = only(**{"ssl.truststore.location": str(pkcs12), "ssl.truststore.password": SECRET})
    assert list(conf) == ["ssl.ca.pem"]
    assert certificates.ca.read_text().strip() in conf["ssl.ca.pem"]
    assert conf["ssl.ca.pem"].count("-----BEGIN CERTIFICATE-----") == 3, "all that are in the store"
    assert sorted(pkcs12.parent.iterdir()) == before
    for password in ({}, {"ssl.truststore.password": "wrong"}):
        with pytest.raises(ConfigError, match=r"cannot open .*password is wrong") as caught:
            made(**{"ssl.truststore.location": str(pkcs12), **password})
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("store", ["ssl.keystore", "ssl.truststore"])
def test_a_jks_store_is_refused_with_the_command_that_converts_it(store: str, tmp_path: Path) -> None:
    path = tmp_path / "store.jks"
    path.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    with pytest.raises(ConfigError, match="is a JKS store") as caught:
        made(**{f"{store}.location": str(path), f"{store}.type": "JKS"})
    command = f"keytool -importkeystore -srckeystore {path} -destkeystore {path}.p12 -deststoretype PKCS12"
    assert command in str(caught.value)


@pytest.mark.parametrize("store", ["ssl.keystore", "ssl.truststore"])
def test_a_store_that_is_not_there_is_an_error_that_names_its_option(store: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"kafka\.{store}\.location: cannot read .*No such file"):
        made(**{f"{store}.location": str(tmp_path / "none")})
    with pytest.raises(ConfigError, match=rf"kafka\.{store}\.type: expected PEM or PKCS12"):
        made(**{f"{store}.location": str(tmp_path / "none"), f"{store}.type": "BKS"})


@pytest.fixture
def pkcs12(tmp_path: Path, certificates: Certificates) -> Path:
    """A store with a key, its certificate and the CA's."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

    files = certificates.files("me@example.org")
    key: Any = load_pem_private_key(files.key.read_bytes(), None)
    certificate = x509.load_pem_x509_certificates(files.certificate.read_bytes())[0]
    ca = x509.load_pem_x509_certificate(certificates.ca.read_bytes())
    other = x509.load_pem_x509_certificates(certificates.files("other@example.org").certificate.read_bytes())[0]
    path = tmp_path / "store.p12"
    encryption = BestAvailableEncryption(SECRET.encode())
    path.write_bytes(serialize_key_and_certificates(b"me", key, certificate, [other, ca], encryption))
    return path
