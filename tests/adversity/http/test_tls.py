"""TLS against local servers with a private CA: which certificates are accepted, and what the errors say."""

from __future__ import annotations

import datetime
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from scripted_registry import Answer, ScriptedRegistry
from servers.certificates import Certificates
from waiting import HANG_SECONDS, join, until

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes import _config as config
from streamnative_serdes.errors import ConfigError, RegistryUnavailableError, SchemaRegistryError
from streamnative_serdes.schema_registry import SchemaRegistryClient

FOUND = Answer(body={"getSchemaResponses": []})
CA, CERTIFICATE, KEY, KEY_PASSWORD = (
    f"schema.registry.ssl.{name}" for name in ("ca.location", "certificate.location", "key.location", "key.password")
)


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@pytest.fixture
def server(certificates: Certificates) -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry(FOUND, tls=certificates.server()) as server:
        yield server


@pytest.fixture
def strict_server(certificates: Certificates) -> Iterator[ScriptedRegistry]:
    """A server that requires a client certificate of its own CA."""
    with ScriptedRegistry(FOUND, tls=certificates.server(client=certificates)) as server:
        yield server


def ask(server: ScriptedRegistry, **options: Any) -> None:
    given = {"schema.registry.url": server.url, "retries.total.ms": 10_000.0, **options}
    client = SchemaRegistryClient(config.parse(config.REGISTRY_OPTIONS, given, strict=True))
    try:
        assert client.all_versions("t") == []
    finally:
        client.close()


def test_the_configured_ca_is_trusted(server: ScriptedRegistry, certificates: Certificates) -> None:
    ask(server, **{CA: str(certificates.ca), "bearer.auth.token": "t"})
    assert server.asked[0].headers["Authorization"] == "Bearer t"


@pytest.mark.promise("certificates")
def test_a_certificate_of_an_unknown_ca_is_refused_with_a_hint(server: ScriptedRegistry, tmp_path: Path) -> None:
    for more in ({}, {CA: str(Certificates(tmp_path, "other").ca)}):
        with pytest.raises(SchemaRegistryError) as caught:
            ask(server, **more, **{"bearer.auth.token": "t"})
        assert type(caught.value) is SchemaRegistryError  # not retried, because it is permanent
        assert "CERTIFICATE_VERIFY_FAILED" in str(caught.value)
        assert f"hint: set {CA} to the file of the CA" in str(caught.value)
    assert server.asked == []


def test_no_ca_but_the_configured_one_is_trusted(
    server: ScriptedRegistry, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.ca))
    ask(server)
    with pytest.raises(SchemaRegistryError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(server, **{CA: str(Certificates(tmp_path, "other").ca)})


@pytest.mark.promise("certificates")
def test_a_certificate_of_another_host_name_is_refused(certificates: Certificates) -> None:
    for name, host in (("localhost", "127.0.0.1"), ("pulsar.example.org", "localhost")):
        with ScriptedRegistry(FOUND, tls=certificates.server(name), host=host) as server:
            with pytest.raises(SchemaRegistryError, match=f"not valid for '{host}'|'{host}' doesn't match") as caught:
                ask(server, **{CA: str(certificates.ca)})
            assert "one of the names in the certificate" in str(caught.value)
            assert server.asked == []


@pytest.mark.promise("certificates")
def test_an_expired_certificate_is_refused(certificates: Certificates) -> None:
    context = certificates.server()
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    certificates._ca.issue_cert(
        "127.0.0.1", not_before=yesterday - datetime.timedelta(days=1), not_after=yesterday
    ).configure_cert(context)
    with ScriptedRegistry(FOUND, tls=context) as server, pytest.raises(SchemaRegistryError, match="has expired"):
        ask(server, **{CA: str(certificates.ca)})


# Our own certificate


def test_a_server_that_requests_our_certificate_gets_it(
    strict_server: ScriptedRegistry, certificates: Certificates
) -> None:
    ask(strict_server, **{CA: str(certificates.ca)}, **certificates.client())


def test_certificate_and_key_may_be_in_one_file(
    strict_server: ScriptedRegistry, certificates: Certificates, tmp_path: Path
) -> None:
    options = certificates.client()
    both = tmp_path / "both.pem"
    both.write_text(Path(options[CERTIFICATE]).read_text() + Path(options[KEY]).read_text())
    ask(strict_server, **{CA: str(certificates.ca), CERTIFICATE: str(both)})


def test_an_encrypted_key_needs_its_password_and_does_not_prompt_for_it(
    strict_server: ScriptedRegistry, certificates: Certificates
) -> None:
    options = {CA: str(certificates.ca), **certificates.client(password="opens the key")}
    ask(strict_server, **options, **{KEY_PASSWORD: "opens the key"})
    for more in ({}, {KEY_PASSWORD: "another"}):
        with pytest.raises(ConfigError, match=r"ssl\.key\.location: .* cannot be used: .*is the password correct"):
            ask(strict_server, **options, **more)
    assert len(strict_server.asked) == 1


def test_if_the_server_rejects_our_certificate_the_error_names_the_option(
    strict_server: ScriptedRegistry, certificates: Certificates, tmp_path: Path
) -> None:
    for own in ({}, Certificates(tmp_path, "other").client()):
        # If the alert arrives too late for our request, the connection is just closed.
        with pytest.raises(SchemaRegistryError) as caught:
            ask(strict_server, **{CA: str(certificates.ca), "retries.total.ms": 1_000.0}, **own)
        assert CERTIFICATE in str(caught.value) or isinstance(caught.value, RegistryUnavailableError)
    assert strict_server.asked == []


@pytest.mark.parametrize("key", [CA, CERTIFICATE, KEY])
@pytest.mark.parametrize("content", [None, b"", b"no PEM", b"\x00\xff"])
def test_the_error_for_an_unusable_file_names_the_file_and_its_option(
    server: ScriptedRegistry, certificates: Certificates, tmp_path: Path, key: str, content: bytes | None
) -> None:
    file = tmp_path / "bad"
    if content is not None:
        file.write_bytes(content)
    options = {CA: str(certificates.ca), **certificates.client(), key: str(file)}
    with pytest.raises(ConfigError, match=r"schema\.registry\.ssl\..*: .* cannot be used: ") as caught:
        ask(server, **options)
    assert ("No such file" in str(caught.value)) == (content is None)
    assert caught.value.__context__ is None


def test_a_key_that_belongs_to_another_certificate_is_refused(
    server: ScriptedRegistry, certificates: Certificates
) -> None:
    options = {**certificates.client("me"), KEY: certificates.client("you")[KEY]}
    with pytest.raises(ConfigError, match="certificate and key match"):
        ask(server, **{CA: str(certificates.ca)}, **options)


def test_a_replaced_certificate_is_reloaded_after_a_failure(
    strict_server: ScriptedRegistry, certificates: Certificates, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = Certificates(tmp_path, "other").client()
    given = {"schema.registry.url": strict_server.url, "retries.total.ms": 100.0, CA: str(certificates.ca), **options}
    client = SchemaRegistryClient(config.parse(config.REGISTRY_OPTIONS, given, strict=True))
    key = Path(options[KEY])
    before = key.read_bytes()
    for content in (before, b"half of a k", before):
        key.write_bytes(content)
        with pytest.raises(SchemaRegistryError):
            client.all_versions("t")
    assert "keeping the previous certificates" in caplog.text
    certificates.client()  # written into the same files
    with pytest.raises(SchemaRegistryError):
        client.all_versions("t")
    until(lambda: asked_at_last(client), "the new certificate is taken")
    client.close()


@pytest.mark.parametrize("content", [None, b"-----BEGIN CERTIFICATE-----\nhalf of a"])
def test_a_ca_file_that_is_missing_or_half_written_for_a_moment_is_waited_for(
    server: ScriptedRegistry, certificates: Certificates, content: bytes | None
) -> None:
    whole = certificates.ca.read_bytes()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        certificates.ca.write_bytes(whole)

    given = {"schema.registry.url": server.url, CA: str(certificates.ca)}
    conf = config.parse(config.REGISTRY_OPTIONS, given, strict=True)
    with closing(SchemaRegistryClient(conf, sleep=sleep)) as client:
        client.all_versions("t")
        client.close()  # so that the next request reads the file, of whatever release requests is
        if content is None:
            certificates.ca.unlink()
        else:
            certificates.ca.write_bytes(content)
        assert client.all_versions("t") == []
    assert len(slept) == 1


def test_a_replaced_certificate_is_used_through_a_proxy_too(
    strict_server: ScriptedRegistry, certificates: Certificates, tmp_path: Path
) -> None:
    options = Certificates(tmp_path, "other").client()
    with tunnel() as (proxy, asked):
        given = {
            "schema.registry.url": strict_server.url,
            "retries.total.ms": 300.0,
            CA: str(certificates.ca),
            **options,
        }
        client = SchemaRegistryClient(config.parse(config.REGISTRY_OPTIONS, {**given, "proxy": proxy}, strict=True))
        for _ in range(2):
            with pytest.raises(SchemaRegistryError):
                client.all_versions("t")
        certificates.client()  # written into the same files
        with suppress(SchemaRegistryError):  # with the old certificate, at first
            client.all_versions("t")
        until(lambda: asked_at_last(client), "the new certificate is taken")
        client.close()
    assert len(asked) > 2
    assert len(strict_server.asked) == 1


def asked_at_last(client: SchemaRegistryClient) -> bool:
    """Retry for a while, because a tenth of a second is little on a busy machine."""
    with suppress(RegistryUnavailableError):
        return client.all_versions("t") == []
    return False


def test_files_are_read_when_a_process_first_connects(server: ScriptedRegistry, tmp_path: Path) -> None:
    """They need not exist where a SerDes is created, because its pickle may be used on another machine."""
    KafkaAvroSerializer({"schema.registry.url": server.url, CA: str(tmp_path / "of-executors.pem")}, '"int"').close()


# Through a proxy


def _both_ways(one: socket.socket, other: socket.socket) -> None:
    def pump(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # either side may have closed its connection
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=pump, args=(other, one))
    back.start()
    pump(one, other)
    join(back)


@contextmanager
def tunnel() -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a proxy that opens tunnels, and the requests that it received."""
    asked: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            line = self.rfile.readline().decode()
            head = list(iter(self.rfile.readline, b"\r\n"))
            asked.append(line + b"".join(head).decode())
            host, _, port = line.split()[1].partition(":")
            with socket.create_connection((host, int(port)), HANG_SECONDS) as target:
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                _both_ways(self.connection, target)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as proxy:
        serving = threading.Thread(target=proxy.serve_forever, args=(0.02,))
        serving.start()
        yield f"http://user:password@127.0.0.1:{proxy.server_address[1]}", asked
        proxy.shutdown()
        join(serving)


def test_our_certificate_and_the_ca_go_through_a_proxy_as_well(
    strict_server: ScriptedRegistry, certificates: Certificates
) -> None:
    with tunnel() as (proxy, asked):
        ask(strict_server, proxy=proxy, **{CA: str(certificates.ca), "bearer.auth.token": "t"}, **certificates.client())
    assert asked[0].startswith("CONNECT 127.0.0.1:")
    assert "Bearer" not in asked[0]  # the registry's credentials are not sent to the proxy


# Redirects


SIGNED: dict[str, dict[str, Any]] = {
    "token": {"bearer.auth.token": "canary"},
    "basic": {"basic.auth.user.info": "me:canary"},
    "sasl": {"basic.auth.credentials.source": "SASL_INHERIT", "sasl.username": "me", "sasl.password": "token:canary"},
}


@pytest.mark.promise("no-downgrade")
@pytest.mark.parametrize("kind", SIGNED)
def test_credentials_do_not_follow_a_redirect_from_https_to_http(
    server: ScriptedRegistry, certificates: Certificates, kind: str
) -> None:
    with ScriptedRegistry(FOUND) as plain:
        path = "/admin/v2/schemas/public/default/t/schemas"
        server.script(Answer(307, headers={"Location": f"{plain.url}{path}"}))
        with pytest.raises(SchemaRegistryError, match="from https to http"):
            ask(server, **SIGNED[kind], **{CA: str(certificates.ca)})
    assert plain.asked == []


@pytest.mark.parametrize("kind", SIGNED)
@pytest.mark.parametrize("path", ["/login?then=/admin/v2/schemas/public/default/t/schemas", "/", "//x/admin/v2"])
def test_credentials_do_not_follow_a_redirect_to_another_host_with_a_different_path(
    server: ScriptedRegistry, certificates: Certificates, kind: str, path: str
) -> None:
    with ScriptedRegistry(FOUND, tls=certificates.server()) as login:
        server.script(Answer(302, headers={"Location": login.url + path}))
        with pytest.raises(SchemaRegistryError, match=r"with a different path: expected another broker"):
            ask(server, **SIGNED[kind], **{CA: str(certificates.ca)})
    assert login.asked == []


@pytest.mark.parametrize("kind", SIGNED)
def test_credentials_follow_a_redirect_to_the_broker_that_owns_the_topic(
    server: ScriptedRegistry, certificates: Certificates, kind: str
) -> None:
    with ScriptedRegistry(FOUND, tls=certificates.server()) as owner:
        path = "/admin/v2/schemas/public/default/t/schemas?authoritative=true"
        server.script(Answer(307, headers={"Location": owner.url + path}))
        ask(server, **SIGNED[kind], **{CA: str(certificates.ca)})
    assert owner.asked[0].headers["Authorization"] == server.asked[0].headers["Authorization"] != ""
