"""Settings of the command line: one file for both clients, and no secret where others see it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from command import CommandLine

from streamnative_serdes._config import DESERIALIZER_OPTIONS
from streamnative_serdes.cli.options import Connection, Settings, connection_of, is_secret, load
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.testing import LocalRegistry

URL = "http://localhost:8080"


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("prefix", ["", "target."])
@pytest.mark.parametrize("quote", ['"', ""])
def test_options_are_those_of_python_with_or_without_quotes(tmp_path: Path, prefix: str, quote: str) -> None:
    path = written(
        tmp_path,
        f"""
        [{prefix}registry]
        {quote}schema.registry.url{quote} = "{URL}"
        {quote}cache.capacity{quote} = 5
        [{prefix}kafka]
        {quote}bootstrap.servers{quote} = "localhost:9092"
        {quote}enable.idempotence{quote} = true
        """,
    )
    registry = {"schema.registry.url": URL, "cache.capacity": 5}
    assert load(path) == Settings(registry, {"bootstrap.servers": "localhost:9092", "enable.idempotence": True})
    assert load(path, "source") == Settings()


def test_the_source_has_tables_of_its_own(tmp_path: Path) -> None:
    path = written(
        tmp_path, '[registry]\nproxy = "http://p:1"\n[source.registry]\n"schema.registry.url" = "http://s:1"'
    )
    assert load(path, "source").registry == {"schema.registry.url": "http://s:1"}
    assert load(path).registry == {"proxy": "http://p:1"}


def test_two_names_of_one_table_contradict(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[kafka\] and \[target\.kafka\] are two names of one table"):
        load(written(tmp_path, "[kafka]\na = 1\n[target.kafka]\nb = 1"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[registry", "is not TOML"),
        ("[regsitry]", "regsitry is not a table of this file"),
        ("registry = 1", "registry is not a table of this file"),
        ("[target.spark]", r"target\.spark is not a table.*its tables are \[registry\], \[kafka\], \[source"),
        ("[sorce.registry]", r"sorce is not a table.*did you mean source\?"),
        ("[source.regstry]", r"source\.regstry is not a table.*did you mean source\.registry\?"),
        (
            '[target.registry]\n"schema.registry.ulr" = "x"',
            r"\[target\.registry\] has no option schema\.registry\.ulr.*did you mean schema\.registry\.url\?",
        ),
        (
            '[target.registry]\n"bootstrap.servers" = "x"',
            r"\[target\.registry\] has no option bootstrap\.servers.*those of the client go in \[target\.kafka\]",
        ),
        (
            '[kafka]\n"schema.registry.url" = "x"',
            r"\[kafka\] has no option schema\.registry\.url .hint: it is one of the registry: move it to \[registry\]",
        ),
        ("[target.kafka]\nretries = [1]", r"\[target\.kafka\] retries: expected text, a number"),
        (
            '[registry]\n"schema.regsitry.url" = "x"',
            r"has no option schema\.regsitry\.url.*did you mean schema\.registry",
        ),
        ('[registry]\n"bootstrap.servers" = "x"', r"has no option bootstrap\.servers"),
        ("[registry]\nproxy = [1]", "proxy: expected text, a number or true or false, got list"),
        (
            '[kafka]\n"sasl.password" = {env = "NOT_SET_ANYWHERE"}',
            "the environment variable NOT_SET_ANYWHERE is not set",
        ),
        ('[kafka]\n"sasl.password" = {file = "nowhere"}', "the file nowhere cannot be read: No such file"),
        (
            '[source.registry]\n"schema.regsitry.url" = "x"',
            r"\[source\.registry\] has no option schema\.regsitry\.url.*did you mean schema\.registry\.url\?",
        ),
        (
            '[source.registry]\n"sasl.mechanism" = "x"',
            r"\[source\.registry\] has no option sasl\.mechanism.*those of the client go in \[source\.kafka\]",
        ),
        (
            '[source.kafka]\n"schema.registry.url" = "x"',
            r"\[source\.kafka\] has no option schema\.registry\.url.*move it to \[source\.registry\]",
        ),
        (
            '[kafka]\n"pulsar.tennant" = "a"',
            r"\[kafka\]: unknown option 'pulsar\.tennant'.*did you mean pulsar\.tenant\?",
        ),
        ('[kafka]\nbootstrap.server = "a"', r"unknown option 'bootstrap\.server'.*did you mean bootstrap\.servers\?"),
        (
            '[source.kafka]\n"ssl.key.pem" = {env = "NOT_SET"}',
            r"\[source\.kafka\] ssl\.key\.pem: the environment variable NOT_SET",
        ),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        load(written(tmp_path, text), "source" if "[source" in text else "target")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml cannot be read"):
        load(tmp_path / "nowhere.toml")


@pytest.mark.promise("secrets-by-reference")
def test_secrets_are_read_from_the_environment_and_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "eyJ")
    (tmp_path / "password").write_text("two words \n")
    path = written(
        tmp_path,
        '[registry]\nbearer.auth.token = {env = "A_TOKEN"}\n[kafka]\nsasl.password = {file = "password"}\n',
    )
    assert load(path) == Settings({"bearer.auth.token": "eyJ"}, {"sasl.password": "two words "})


def test_files_of_tokens_and_keys_are_read_when_they_are_needed(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("token")
    (tmp_path / "token").symlink_to("new")
    (tmp_path / "key").write_text('{"client_id": "me", "client_secret": "p4ss"}')
    (tmp_path / "url").write_text("data:application/json;base64,e30=\n")
    text = """[registry]
        bearer.auth = {token = {file = "token"}, private.key = {file = "key"}}
        confluent.bearer.auth.private.key = {file = "url"}"""
    assert load(written(tmp_path, text)).registry == {
        "bearer.auth.token": (tmp_path / "token").as_uri(),
        "bearer.auth.private.key": (tmp_path / "key").as_uri(),
        "confluent.bearer.auth.private.key": "data:application/json;base64,e30=",
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipe")
def test_a_token_in_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit((tmp_path / "pipe").write_text, "token\n")
        found = load(written(tmp_path, '[registry]\nbearer.auth.token = {file = "pipe"}'))
        writing.result(30)
    assert found.registry == {"bearer.auth.token": "token"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such mode")
@pytest.mark.parametrize(("mode", "doubts"), [(0o600, 0), (0o640, 1), (0o604, 1)])
def test_a_password_in_a_file_that_others_may_read_is_pointed_out(tmp_path: Path, mode: int, doubts: int) -> None:
    path = written(tmp_path, '[kafka]\n"sasl.password" = "p4ss"\n"client.id" = "me"')
    path.chmod(mode)
    found = load(path).doubts
    assert len(found) == doubts
    assert "p4ss" not in str(found)
    ended = CommandLine()("ping", "--config", str(path), code=2)
    assert ended.err.count("Warning: ") == doubts


SECRETS = [
    "bearer.auth.token",
    "bearer.auth.client.secret",
    "basic.auth.user.info",
    "schema.registry.ssl.key.password",
    "sasl.password",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.password",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
]
NO_SECRETS = [
    "schema.registry.url",
    "bearer.auth.issuer.url",
    "bearer.auth.private.key",
    "bearer.auth.credentials.source",
    "sasl.username",
    "ssl.key.location",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.mechanism",
]


@pytest.mark.promise("secrets-hidden")
@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_on_the_command_line_is_refused_and_not_shown(key: str) -> None:
    ended = CommandLine(URL)("schemas", "get", "users", "--set", f"{key}=p4ssw0rd", code=2)
    assert f"{key} is a secret" in ended.err
    assert f"--secret {key}=env:VARIABLE" in ended.err
    assert "p4ssw0rd" not in ended.out + ended.err


@pytest.mark.parametrize("key", NO_SECRETS)
def test_other_options_may_be_on_the_command_line(key: str) -> None:
    assert not is_secret(key, "http://localhost:1/path")


@pytest.mark.parametrize("option", ["--registry", "--bootstrap"])
def test_an_address_with_a_password_is_refused_and_not_shown(option: str) -> None:
    ended = CommandLine()("ping", option, "http://me:p4ssw0rd@localhost:1", code=2)
    assert "is a secret" in ended.err
    assert "p4ssw0rd" not in ended.out + ended.err


def test_the_name_of_a_secret_file_is_not_a_secret() -> None:
    assert not is_secret("bearer.auth.token", "file:///run/token")
    assert not is_secret("bearer.auth.private.key", "/run/key.json")
    for scheme in ("data", "DATA", "Data"):
        assert is_secret("bearer.auth.private.key", f"{scheme}:application/json;base64,e30=")


def test_a_secret_is_taken_from_where_the_command_line_says(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    with LocalRegistry(token="t0ken") as registry:
        run = CommandLine(registry.url, more={"MY_TOKEN": "t0ken"})
        run("schemas", "list", "public/default", code=3)
        run("schemas", "list", "public/default", "--secret", "bearer.auth.token=env:MY_TOKEN")
        run("schemas", "list", "public/default", "--secret", f"bearer.auth.token=file:{tmp_path / 'token'}")
        ended = run("schemas", "list", "public/default", "--secret", "bearer.auth.token=t0ken", code=2)
    assert "expected env:VARIABLE or file:PATH" in ended.err
    assert "t0ken" not in ended.err


@pytest.mark.parametrize("given", ["key", "=value", "p4ssw0rd"])
def test_a_pair_without_key_or_value_is_a_usage_error_that_does_not_show_it(given: str) -> None:
    ended = CommandLine(URL)("ping", "--set", given, code=2)
    assert "expected KEY=VALUE" in ended.err
    assert "p4ssw0rd" not in ended.err


def test_the_command_line_takes_precedence_over_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path, '[registry]\n"schema.registry.url" = "http://file:1"\n[kafka]\n"bootstrap.servers" = "file:1"'
    )
    pairs = (("client.id", "me"), ("cache.capacity", "7"))
    found = connection_of(path, "http://line:1/", None, pairs, ())
    assert found.registry == {"schema.registry.url": "http://line:1/", "cache.capacity": "7"}
    assert found.kafka == {"bootstrap.servers": "file:1", "client.id": "me"}
    assert found.url == "http://line:1"


def test_kafkas_user_signs_in_to_the_registry_where_that_is_asked_for() -> None:
    user = {"sasl.username": "public/default", "sasl.password": "token:abc"}
    inherits = {"schema.registry.url": URL, "basic.auth.credentials.source": "SASL_INHERIT"}
    assert Connection(inherits, user).options_of(DESERIALIZER_OPTIONS) == {**inherits, **user}
    plain: dict[str, Any] = {"schema.registry.url": URL}
    assert Connection(plain, user).options_of(DESERIALIZER_OPTIONS) == plain


def test_a_kafka_user_of_another_tenant_is_refused() -> None:
    user = {"sasl.username": "acme/x", "sasl.password": "token:abc"}
    with pytest.raises(ConfigError, match="belongs to tenant acme"):
        Connection({"schema.registry.url": URL}, user).options_of(DESERIALIZER_OPTIONS)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("schemas", "get", "users"), "the registry's address is missing"),
        (("decode", "users", "--registry", URL), "the broker's address is missing"),
        (("ping",), "name a server"),
    ],
)
def test_a_missing_address_is_a_usage_error(arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in CommandLine()(*arguments, code=2).err


@pytest.mark.parametrize(
    ("given", "complaint", "hint"),
    [
        ("--set pulsar.tennant=acme", "unknown option 'pulsar.tennant'", "did you mean pulsar.tenant?"),
        ("--set retries.totl.ms=5", "unknown option 'retries.totl.ms'", "did you mean retries.total.ms?"),
        ("--set bootstrap.server=b:1", "unknown option 'bootstrap.server'", "did you mean bootstrap.servers?"),
        ("--secret bearer.auth.tokn=env:HOME", "unknown option 'bearer.auth.tokn'", "did you mean bearer.auth.token?"),
        ("--set zzzzzzzzzz=1", "unknown option 'zzzzzzzzzz'", "docs/config.md and librdkafka's CONFIGURATION.md"),
    ],
)
def test_a_misspelt_option_is_refused_by_commands_that_need_no_kafka_client(
    given: str, complaint: str, hint: str
) -> None:
    ended = CommandLine(URL)("schemas", "delete", "users", "--yes", *given.split(), code=2)
    assert complaint in ended.err
    assert hint in ended.err


@pytest.mark.parametrize(
    ("command", "key", "hint"),
    [
        ("decode", "framing", "did you mean framings?"),
        ("produce", "fallback.to.latest", ""),
        ("schemas get", "framings", ""),
    ],
)
def test_an_option_of_another_commands_is_refused_on_the_command_line_and_may_be_in_a_file(
    tmp_path: Path, command: str, key: str, hint: str
) -> None:
    ended = CommandLine(URL)(*command.split(), "users", "--set", f"{key}=snip42", code=2)
    assert f"{key} has no effect on this command" in ended.err
    assert hint in ended.err
    assert load(written(tmp_path, f'[registry]\n"{key}" = "snip42"')).registry == {key: "snip42"}
