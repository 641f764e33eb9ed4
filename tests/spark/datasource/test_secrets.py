"""Secret references: resolved where a client is created, and never in what Spark stores or sends as it is."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from pyspark.sql import types as T

from streamnative_serdes import ConfigError, KafkaAvroDeserializer
from streamnative_serdes import _config as config
from streamnative_serdes._call_path import policy_of
from streamnative_serdes.spark.datasource.source import Source
from streamnative_serdes.spark.datasource.user_options.client_config import client_config
from streamnative_serdes.spark.datasource.user_options.options import CarriedWithSecrets, Options
from streamnative_serdes.spark.datasource.user_options.secrets import (
    is_reference,
    is_secret,
    literal_secrets,
    resolved,
    warn_of_literal_secrets,
)
from streamnative_serdes.spark.types.arrow import KAFKA_COLUMNS

SECRET = "c4n4ryInTheCoalMine"
PASSWORD = "kafka.sasl.password"


def test_a_reference_to_a_file_is_its_text_without_the_last_line_break(tmp_path: Path) -> None:
    for text, expected in ((f"{SECRET}\n", SECRET), (f"{SECRET}\r\n", SECRET), (f" {SECRET}\n\n", f" {SECRET}\n")):
        file = tmp_path / "pass word"
        file.write_bytes(text.encode())
        assert resolved(PASSWORD, file.as_uri()) == expected


def test_a_reference_to_the_environment_is_resolved_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options.parse({"kafka.bootstrap.servers": "b", PASSWORD: "env:KAFKA_PASSWORD"}, "read")
    with pytest.raises(ConfigError, match=r"kafka\.sasl\.password: the environment variable of 'env:KAFKA_PASSWORD'"):
        client_config(options)
    for value in ("one", "two"):
        monkeypatch.setenv("KAFKA_PASSWORD", value)
        assert client_config(options)["sasl.password"] == value


@pytest.mark.parametrize("reference", ["file:///no/such/file", "file://host/path", "file://"])
def test_a_file_that_cannot_be_read_is_an_error_that_names_option_and_reference(reference: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved("basic.auth.user.info", reference)
    assert "basic.auth.user.info: " in str(caught.value)
    assert reference in str(caught.value)


def test_an_empty_file_and_one_that_is_not_text_are_errors(tmp_path: Path) -> None:
    for data, said in ((b"", "is empty"), (b"\n", "is empty"), (b"\xff" + SECRET.encode(), "not UTF-8")):
        (tmp_path / "f").write_bytes(data)
        with pytest.raises(ConfigError, match=said) as caught:
            resolved(PASSWORD, (tmp_path / "f").as_uri())
        assert SECRET not in str(caught.value)


def test_each_secret_of_the_option_table_takes_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", SECRET)
    urls = {
        "schema.registry.url",
        "confluent.schema.registry.url",
        "azure.schema.registry.url",
        "apicurio.registry.url",
    }  # they are marked since they may be malformed
    secret = {option.key for option in config.DESERIALIZER_OPTIONS if option.secret} - urls
    assert secret
    for name in secret:
        assert is_secret(name)
        assert resolved(name, "env:HERE") == SECRET
    assert resolved("schema.registry.url", "env:HERE") == "env:HERE"
    assert resolved("kafka.client.id", "env:HERE") == "env:HERE"


@pytest.mark.parametrize("name", ["bearer.auth.token", "bearer.auth.private.key"])
def test_the_files_of_tokens_and_keys_are_left_to_the_serdes_which_read_them_again(name: str) -> None:
    for registry in ("", "confluent.", "apicurio.", "azure."):
        assert resolved(f"{registry}{name}", "file:///secret") == "file:///secret"


def test_the_serdes_take_the_reference_to_an_oauth_key_file(tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text(f'{{"client_id": "me", "client_secret": "{SECRET}"}}')
    key = {
        "bearer.auth.private.key": (tmp_path / "key.json").as_uri(),
        "bearer.auth.issuer.url": "http://127.0.0.1:1",
    }
    given = {"kafka.bootstrap.servers": "b", "subscribe": "t", "schema.registry.url": "http://127.0.0.1:1", **key}
    KafkaAvroDeserializer(Options.parse({**given, "decode": "true"}, "read").conf())


@pytest.mark.parametrize(
    "name",
    [
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.assertion.private.key.passphrase",
    ],
)
def test_secrets_of_newer_kafka_clients_take_references_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", SECRET)
    assert resolved(f"kafka.{name}", "env:HERE") == SECRET
    assert literal_secrets({f"kafka.{name}": SECRET}) == [f"kafka.{name}"]


def test_a_url_is_a_literal_secret_only_if_it_names_a_user() -> None:
    name = "schema.registry.url"
    assert literal_secrets({name: f"http://a:1,http://me:{SECRET}@b:1/path"}) == [name]
    assert literal_secrets({name: "http://a:1/path@2,b:1"}) == []


def test_literal_secrets_are_found_by_name() -> None:
    given = {"kafka.SASL.password": SECRET, "kafka.ssl.key.password": "env:X", "bearer.auth.token": "t", "topic": "t"}
    assert literal_secrets(given) == ["bearer.auth.token", "kafka.SASL.password"]
    assert is_reference("file:///x")
    assert not is_reference("environment")


@pytest.mark.promise("secrets-hidden", "secrets-by-reference")
def test_what_goes_to_tasks_has_references_and_each_process_resolves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "kafka.bootstrap.servers": "b",
        "kafka.sasl.username": "me",
        PASSWORD: "env:KREAD_PASSWORD",
        "schema.registry.url": "http://localhost:1",
        "basic.auth.user.info": "env:KREAD_USER",
    }
    monkeypatch.setenv("KREAD_USER", f"me:{SECRET}")
    monkeypatch.setenv("KREAD_PASSWORD", SECRET)
    options = Options.parse(given, "read")
    packed = pickle.dumps(CarriedWithSecrets(KafkaAvroDeserializer(options.conf()), options))
    assert SECRET.encode() not in packed
    monkeypatch.setenv("KREAD_USER", "me:other")
    conf = policy_of(pickle.loads(packed).get()).conf
    assert conf["basic.auth.user.info"] == "me:other"


def test_the_serdes_sign_in_as_the_client_does_if_they_inherit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREAD_PASSWORD", SECRET)
    jaas = 'x.PlainLoginModule required username="me" password="literal";'
    base = {"kafka.bootstrap.servers": "b", "basic.auth.credentials.source": "SASL_INHERIT"}
    by_jaas = Options.parse({**base, "kafka.sasl.jaas.config": jaas}, "read").conf()
    assert (by_jaas["sasl.username"], by_jaas["sasl.password"]) == ("me", "literal")
    options = Options.parse({**base, "kafka.sasl.username": "me", PASSWORD: "env:KREAD_PASSWORD"}, "read")
    assert options.conf()["sasl.password"] == SECRET
    assert "sasl.password" in options.referred()
    assert SECRET not in repr(options)
    assert os.environ["KREAD_PASSWORD"] == SECRET


KAFKA = {"kafka.bootstrap.servers": "b", "subscribe": "t"}


@pytest.fixture
def no_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_LOCAL_REMOTE", "SPARK_CONNECT_AUTHENTICATE_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def processes(folder: Path, command: str) -> Path:
    """What Linux tells of this process's parent and of that one's parent, which runs ``command``."""
    parent = os.getppid()
    for number, line, above in ((parent, "python -m pyspark.daemon", 77), (77, command, 1)):
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "cmdline").write_bytes(line.replace(" ", "\0").encode())
        (folder / str(number) / "stat").write_text(f"{number} (a (b) c) S {above} 1 1")
    return folder


def test_a_literal_secret_in_a_connect_session_is_a_warning_that_names_the_option(
    no_connect: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = processes(tmp_path / "a", "java -cp x org.apache.spark.sql.connect.service.SparkConnectServer --port 1")
    classic = processes(tmp_path / "b", "java -cp x org.apache.spark.deploy.SparkSubmit pyspark-shell")
    given = {**KAFKA, PASSWORD: SECRET}
    for options, folder in ((given, classic), (KAFKA, server), ({**KAFKA, PASSWORD: "env:P"}, server)):
        warn_of_literal_secrets(options, folder)
    warn_of_literal_secrets(given, tmp_path / "no such system")
    assert caplog.messages == []
    warn_of_literal_secrets(given, server)
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    warn_of_literal_secrets(given, classic)
    assert len(caplog.messages) == 2
    for line in caplog.messages:
        assert "the option kafka.sasl.password to its event log" in line
        assert SECRET not in line


def test_a_table_that_lost_its_options_in_spark_is_an_error_that_names_the_view() -> None:
    for given in ({}, {"path": "file:/warehouse/t"}):
        source = Source(given)
        assert source.schema().names  # Spark asks when the table is made
        with pytest.raises(ConfigError, match=r"CREATE TABLE \.\.\. USING.*CREATE TEMPORARY VIEW"):
            source.reader(KAFKA_COLUMNS)
        with pytest.raises(ConfigError, match="CREATE TEMPORARY VIEW"):
            source.stream_reader(KAFKA_COLUMNS).initialOffset()


def test_the_options_of_create_table_are_recognized_by_their_second_names() -> None:
    """As PySpark 4.3 passes them."""
    twice = {name: value for key, value in KAFKA.items() for name, value in ((key, value), (f"option.{key}", value))}
    for given in (twice, {**twice, "topic": "t", "option.topic": "t"}):
        with pytest.raises(ConfigError, match=r"CREATE TABLE \.\.\. USING.*CREATE TEMPORARY VIEW"):
            Source({**given, "provider": "streamnative-kafka", "owner": "ada"}).schema()


def test_a_schema_of_the_users_own_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"cannot be chosen with schema\(\.\.\.\)"):
        Source(KAFKA).reader(T.StructType([T.StructField("id", T.IntegerType())]))
    Source(KAFKA).reader(KAFKA_COLUMNS)
