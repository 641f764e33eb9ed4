"""Wrong addresses: the error says what listens at the address, and which address to use instead.

The servers behave as Kafka 4.1, Pulsar 4.0 and Apicurio's registry were observed to do on each of their ports.
"""

from __future__ import annotations

import pytest
from raw_server import RawServer
from scripted_registry import FOUND, INFO, PATH, Answer, Clock, Connect, ScriptedRegistry, redirect

from streamnative_serdes import KafkaAvroDeserializer
from streamnative_serdes._http.api_request import ApiRequest
from streamnative_serdes._http.reply import Reply
from streamnative_serdes.errors import (
    MissingEndpointError,
    RegistryUnavailableError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes.schema_registry.pulsar_api import hint_for

ALERT = b"\x15\x03\x03\x00\x02\x02\x50"  # sent by Jetty's TLS port


def test_a_port_that_closes_the_connection_gets_a_hint_about_kafka_and_pulsar_ports(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    """Both read "GET " as the length of a request of over a gigabyte, and close the connection."""
    with RawServer(lambda *_: []) as broker:
        asking = connect(server, clock, schema_registry_url=broker.url, retries_total_ms=1_000.0)
        with pytest.raises(RegistryUnavailableError, match="the connection was closed without a response") as caught:
            asking.latest("t")
    assert "Kafka clients or for Pulsar's binary protocol" in (caught.value.hint or "")
    assert "http://HOST:8080 or https://HOST:8443" in (caught.value.hint or "")


def test_a_port_that_closes_an_https_connection_gets_the_same_hint(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    import socketserver
    import threading

    class HangUp(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1024)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), HangUp) as broker:
        threading.Thread(target=broker.serve_forever, args=(0.02,), daemon=True).start()
        url = f"https://127.0.0.1:{broker.server_address[1]}"
        asking = connect(server, clock, schema_registry_url=url, retries_total_ms=1_000.0)
        with pytest.raises(RegistryUnavailableError, match="Kafka clients or for Pulsar's binary protocol"):
            asking.latest("t")
        broker.shutdown()


def test_http_to_an_https_port_fails_without_retries_and_says_so(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    with RawServer(lambda *_: [ALERT]) as secure:
        with pytest.raises(SchemaRegistryError, match="the address is http, but the server speaks TLS") as caught:
            connect(server, clock, schema_registry_url=secure.url).latest("t")
        assert caught.value.hint == f"the port speaks TLS: use {secure.url.replace('http:', 'https:')}"
    assert clock.slept == []
    assert str(caught.value).isprintable()


def test_a_proxy_that_reports_http_on_an_https_port_gets_the_same_hint(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    page = b"<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>"
    server.script(
        Answer(400, page, {"Content-Type": "text/html"}, phrase="The plain HTTP request was sent to HTTPS port")
    )
    with pytest.raises(SchemaRegistryError, match="use https://127"):
        connect(server, clock).latest("t")


def test_https_to_an_http_port_fails_and_says_so(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    url = server.url.replace("http:", "https:")
    with pytest.raises(
        SchemaRegistryError, match="the address is https, but the server does not speak TLS: SSLError"
    ) as caught:
        connect(server, clock, schema_registry_url=url).latest("t")
    assert caught.value.hint == f"the port does not speak TLS: use {server.url}, or the https port, such as 8443"
    assert clock.slept == []


@pytest.mark.parametrize("line", [b"SSH-2.0-OpenSSH_9.6\r\n", b"-ERR unknown command\r\n", b"\x00\x00\x00\x19\r\n"])
def test_another_protocol_is_an_error_at_once(
    connect: Connect, server: ScriptedRegistry, clock: Clock, line: bytes
) -> None:
    words = r"the server does not speak HTTP.*http://HOST:8080"
    with RawServer(lambda *_: [line]) as other, pytest.raises(SchemaRegistryError, match=words):
        connect(server, clock, schema_registry_url=other.url).latest("t")
    assert clock.slept == []


@pytest.mark.parametrize("line", [ALERT, b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_an_address_that_has_answered_before_is_retried(
    connect: Connect, server: ScriptedRegistry, clock: Clock, line: bytes
) -> None:
    """A proxy may fail for a moment; the address is known to be right."""
    answers = iter([line])
    with RawServer(
        lambda *_: [next(answers, b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")]
    ) as other:
        asking = connect(server, clock, schema_registry_url=other.url, retries_total_ms=2_000.0)
        asking.met({other.url})
        with pytest.raises(RegistryUnavailableError, match="HTTP 503") as caught:
            asking.latest("t")
    assert caught.value.hint is None
    assert len(clock.slept) > 1


# A path


JETTY = Answer(404, {"servlet": "s", "message": "Not Found", "url": "/", "status": "404"})
PAGES = [
    Answer(404, b"<html><h1>404 Not Found</h1>nginx</html>", {"Content-Type": "text/html"}),
    Answer(404, b"default backend - 404", {"Content-Type": "text/plain"}),
]
APICURIO = Answer(404, {"message": "RESTEASY003210: Could not find resource", "error_code": 404})


@pytest.mark.parametrize("answer", [JETTY, Answer(405, b""), Answer(200, b"<html>"), Answer(200, b'{"a": 1}')])
def test_a_hint_suspects_the_path_in_the_address(
    connect: Connect, server: ScriptedRegistry, clock: Clock, answer: Answer
) -> None:
    server.script(answer)
    asking = connect(server, clock, schema_registry_url=f"{server.url}/apis/ccompat/v7/")
    for ask in (lambda: asking.latest("t"), lambda: asking.register("t", '"int"')):
        with pytest.raises(SchemaRegistryError) as caught:
            ask()
        assert caught.value.hint is not None
        assert "has the path /apis/ccompat/v7, but Pulsar's own address has none" in caught.value.hint
        assert f"use {server.url} unless a proxy" in caught.value.hint


@pytest.mark.parametrize("path", ["", "/apis/ccompat/v7/"])
def test_a_registry_of_confluents_kind_is_named_whatever_its_path(
    connect: Connect, server: ScriptedRegistry, clock: Clock, path: str
) -> None:
    server.script(APICURIO)
    with pytest.raises(SchemaRegistryError) as caught:
        connect(server, clock, schema_registry_url=f"{server.url}{path}").latest("t")
    assert str(caught.value.hint).startswith("this is a Confluent-style registry: use Pulsar's HTTP address")


@pytest.mark.parametrize("path", ["/admin", "/admin/v2", "/admin/v2/schemas"])
def test_a_hint_suspects_a_path_that_begins_like_the_api(
    connect: Connect, server: ScriptedRegistry, clock: Clock, path: str
) -> None:
    """Pulsar's documentation writes its REST API with this path."""
    server.script(JETTY)
    with pytest.raises(SchemaRegistryError, match=f"has the path {path}, .* use {server.url} unless a proxy"):
        connect(server, clock, schema_registry_url=server.url + path).register("t", '"int"')


def test_a_hint_keeps_the_host_if_the_path_has_the_same_name() -> None:
    path = "/admin/v2/schemas/public/default/t/schema"
    request = ApiRequest("GET", (f"http://pulsar:8080/pulsar{path}",), "read", "", "t", path=path)
    assert "use http://pulsar:8080 unless a proxy" in (hint_for(request, Reply(404, "", {}, b"", request.url)) or "")


def test_a_path_that_leads_to_pulsar_is_not_suspected(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    server.script(Answer(404, {"reason": "Schema not found"}), FOUND)
    asking = connect(server, clock, schema_registry_url=f"{server.url}/proxy")
    with pytest.raises(SchemaNotFoundError) as caught:
        asking.latest("t")
    assert caught.value.hint is None
    assert asking.latest("t") == INFO


def test_a_confluent_style_registry_is_recognized_by_its_errors(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    server.script(Answer(404, {"error_code": 404, "message": "HTTP 404 Not Found"}))
    with pytest.raises(MissingEndpointError, match=r"Confluent-style registry: use Pulsar's HTTP address"):
        connect(server, clock).latest("t")


@pytest.mark.parametrize(
    ("answer", "path"),
    [(APICURIO, ""), (JETTY, "/ccompat/v7"), (Answer(404, b"no"), "/x"), *((page, "") for page in PAGES)],
)
def test_no_message_is_skipped_because_of_a_wrong_address(server: ScriptedRegistry, answer: Answer, path: str) -> None:
    server.script(answer)
    with (
        KafkaAvroDeserializer({"schema.registry.url": server.url + path}) as reading,
        pytest.raises(MissingEndpointError),
    ):
        list(reading.deserialize_many("t", [b"\3\4" + bytes(8) + b"\2"], on_error="skip"))


def test_a_page_of_pulsar_2_8_behind_a_proxys_path_is_a_missing_schema(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    """The proxy takes its path away, so that the page names the path in Pulsar's API."""
    url = "/admin/v2/schemas/public/default/t/schema"
    server.script(Answer(404, {"servlet": "s", "message": "Not Found", "url": url, "status": "404"}))
    with pytest.raises(SchemaNotFoundError):
        connect(server, clock, schema_registry_url=f"{server.url}/proxy").latest("t")


# A proxy that does not know Pulsar for a moment, as while it reads its own configuration again


@pytest.mark.parametrize("path", ["", "/proxy"])
@pytest.mark.parametrize("page", PAGES)
def test_a_proxys_page_at_an_address_that_has_answered_is_retried(
    connect: Connect, server: ScriptedRegistry, clock: Clock, page: Answer, path: str
) -> None:
    server.script(FOUND, page, page, FOUND, page)
    asking = connect(server, clock, schema_registry_url=f"{server.url}{path}", retries_total_ms=2_000.0)
    assert asking.latest("t") == asking.latest("t") == INFO
    assert len(clock.slept) == 2
    with pytest.raises(RegistryUnavailableError, match="last failure: HTTP 404") as caught:
        asking.latest("t")
    assert "this response is not Pulsar's: check schema.registry.url" in (caught.value.hint or "")


@pytest.mark.parametrize("page", PAGES)
def test_a_proxys_page_is_no_answer_of_the_registry(
    connect: Connect, server: ScriptedRegistry, clock: Clock, page: Answer
) -> None:
    server.script(page)
    asking = connect(server, clock)
    for ask in (lambda: asking.latest("t"), lambda: asking.register("t", '"int"')):
        with pytest.raises(MissingEndpointError) as caught:
            ask()
        assert "this response is not Pulsar's: check schema.registry.url" in (caught.value.hint or "")
    assert (asking.answered, clock.slept) == (set(), [])


def test_a_page_at_the_end_of_a_redirect_is_retried(
    connect: Connect, server: ScriptedRegistry, other: ScriptedRegistry, clock: Clock
) -> None:
    server.script(redirect(other.url + PATH))
    other.script(PAGES[0], FOUND)
    assert connect(server, clock).latest("t") == INFO
    assert len(clock.slept) == 1


@pytest.mark.parametrize("own", [JETTY, Answer(404, b"", {"Content-Type": "text/html"}), Answer(404, {"reason": "no"})])
def test_pulsars_own_404_is_not_retried(connect: Connect, server: ScriptedRegistry, clock: Clock, own: Answer) -> None:
    server.script(FOUND, own)
    asking = connect(server, clock)
    asking.latest("t")
    with pytest.raises(SchemaNotFoundError):
        asking.latest("t")
    assert clock.slept == []


def test_a_page_for_a_path_beside_the_schemas_is_not_retried(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    """A proxy may let nothing else through."""
    server.script(FOUND, PAGES[0])
    asking = connect(server, clock)
    asking.latest("t")
    with pytest.raises(SchemaNotFoundError):
        asking.topic_strategy("t")
    assert clock.slept == []
