"""Registry faults: the client retries transient failures, and reports the others."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import requests
from raw_server import RawServer
from scripted_registry import CONF, FOUND, INFO, PATH, Answer, Clock, Connect, ScriptedRegistry, redirect
from urllib3.util import connection
from waiting import exit_code, together

from streamnative_serdes._http import exchange
from streamnative_serdes.errors import (
    AuthenticationError,
    IncompatibleSchemaError,
    RegistryUnavailableError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes.schema_registry import SchemaRegistryClient


@pytest.mark.parametrize(
    "fault",
    [
        Answer(429),
        Answer(502),
        Answer(503, b"<html></html>", {"Content-Type": "text/html"}),
        Answer(504),
        Answer(412, {"reason": "Can't find owner for topic persistent://public/default/t"}),
        Answer(500, {"reason": "\n --- x\n\nMessage: o.a.p.metadata.api.MetadataStoreException: x\n\nStacktrace:\n"}),
        Answer(500, b"Message: KeeperErrorCode = ConnectionLoss\n\nStacktrace:\n", {"Content-Type": "text/plain"}),
        Answer(500, {"reason": "Message: Not enough non-faulty bookies available - ledger=3 - operation=create"}),
        Answer(200, {"version": 0, "type": "AVRO"}, cut=10),
        Answer(200, cut=-1),
        Answer(200, b"not chunks", {"Transfer-Encoding": "chunked", "Content-Length": "10"}, cut=10),
    ],
)
def test_a_transient_fault_is_retried(connect: Connect, server: ScriptedRegistry, clock: Clock, fault: Answer) -> None:
    server.script(fault, fault, FOUND)
    assert connect(server, clock).latest("t") == INFO
    assert len(server.asked) == 3
    assert 0.1 <= clock.slept[0] <= 0.2 <= clock.slept[1] <= 0.4


@pytest.mark.parametrize(
    "fault",
    [
        Answer(500, {"reason": "Message: No such ledger exists on Metadata Server - ledger=3 - operation=open"}),
        Answer(500, {"reason": "Message: SchemaValidationException: {metadata store}\n\nStacktrace:\n"}),
        Answer(412, {"reason": "Topic name is not valid"}),
        Answer(501),
        Answer(400, {"reason": "zookeeper"}),
    ],
)
def test_a_permanent_fault_is_not_retried(
    connect: Connect, server: ScriptedRegistry, clock: Clock, fault: Answer
) -> None:
    server.script(fault)
    with pytest.raises(SchemaRegistryError) as caught:
        connect(server, clock).latest("t")
    assert type(caught.value) is SchemaRegistryError
    assert clock.slept == []


_STARTING = Answer(500, {"reason": "Topic policies cache have not init."})
_COLLECTED = Answer(500, {"reason": "Message: No such ledger exists on Metadata Server - ledger=3 - operation=open"})


@pytest.mark.parametrize("fault", [_STARTING, _COLLECTED])
def test_what_a_broker_answers_while_it_starts_or_collects_a_topic_is_retried(
    connect: Connect, server: ScriptedRegistry, clock: Clock, fault: Answer
) -> None:
    server.script(fault, fault, Answer(200, {"version": {"version": 2}}))
    assert connect(server, clock).register("t", '"int"') == 2
    assert len(server.asked) == 3


def test_a_broker_that_never_starts_or_a_missing_namespace_are_both_named(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    server.script(_STARTING)
    for call in (lambda client: client.register("t", '"int"'), lambda client: client.latest("t")):
        with pytest.raises(RegistryUnavailableError, match="Topic policies cache have not init") as caught:
            call(connect(server, clock))
        assert "has the broker just started?" in str(caught.value.hint)
        assert "check pulsar.tenant and pulsar.namespace" in str(caught.value.hint)


def test_registering_may_be_retried(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    server.script(Answer(200, {"version": {"version": 2}}, cut=5), Answer(200, {"version": {"version": 2}}))
    client = connect(server, clock)
    assert client.register("t", '"int"') == 2
    assert client.calls == {"POST": 2}


def test_a_dead_redirect_target_is_retried_from_the_original_address(
    connect: Connect, server: ScriptedRegistry, other: ScriptedRegistry, clock: Clock
) -> None:
    """Other brokers redirect to a killed broker for up to 31 s, because of ZooKeeper's session timeout."""

    class Failover(Clock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.now - 1000 > 31:
                server.script(redirect(other.url + PATH + "?authoritative=true"))

    failover = Failover()
    with ScriptedRegistry(FOUND) as dead:
        dead_url = dead.url
    server.script(redirect(dead_url + PATH))
    assert connect(server, failover).latest("t") == INFO
    assert 31 < sum(failover.slept) < 60
    assert len(other.asked) == 1


def test_a_dead_redirect_target_is_named(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    with ScriptedRegistry(FOUND) as dead:
        pass
    server.script(redirect(dead.url + PATH))
    with pytest.raises(RegistryUnavailableError, match=f"redirected to {dead.url}.*ConnectionRefusedError") as caught:
        connect(server, clock).latest("t")
    assert caught.value.url == server.url + PATH


def test_waits_grow_to_their_limit_and_end_with_the_budget(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    server.script(Answer(503))
    with pytest.raises(RegistryUnavailableError) as caught:
        connect(server, clock).latest("t")
    for number, waited in enumerate(clock.slept[:-1]):
        full = min(0.2 * 2**number, 5.0)
        assert full / 2 <= waited <= full
    assert 59.7 <= sum(clock.slept) <= 60
    error = caught.value
    assert (error.status, error.retriable, error.topic) == (503, True, "t")
    assert error.url == server.url + PATH
    for part in (server.url, f"{len(server.asked)} attempts", "HTTP 503: Service Unavailable", "in 59."):
        assert part in str(error)


def test_an_unreachable_registry_is_named_with_the_cause(connect: Connect, clock: Clock) -> None:
    with ScriptedRegistry(FOUND) as gone:
        pass
    try:
        raise KeyError("what the caller was busy with")
    except KeyError:
        with pytest.raises(RegistryUnavailableError) as caught:
            connect(gone, clock).latest("t")
    assert gone.url in str(caught.value)
    assert "ConnectionRefusedError" in str(caught.value)
    assert caught.value.status is None


def test_no_error_carries_the_request_with_its_credentials(connect: Connect, clock: Clock) -> None:
    with ScriptedRegistry(FOUND) as gone:
        pass
    with pytest.raises(RegistryUnavailableError) as caught:
        connect(gone, clock).latest("t")
    error: BaseException | None = caught.value
    while error is not None:
        assert not isinstance(error, requests.RequestException)
        error = error.__cause__ or error.__context__


def test_retry_after_is_obeyed(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    server.script(Answer(429, headers={"Retry-After": "17"}), FOUND)
    assert connect(server, clock).latest("t") == INFO
    assert clock.slept == [17.0]


@pytest.mark.parametrize("after", ["Wed, 21 Oct 2015 07:28:00 GMT", "-5", "soon", "", "0", "\xb2"])
def test_an_unusable_retry_after_is_ignored(
    connect: Connect, server: ScriptedRegistry, clock: Clock, after: str
) -> None:
    server.script(Answer(503, headers={"Retry-After": after}), FOUND)
    assert connect(server, clock).latest("t") == INFO
    assert 0.1 <= clock.slept[0] <= 0.2


@pytest.mark.parametrize("after", ["60", "3600", "9" * 400])
def test_a_retry_after_beyond_the_budget_ends_it(
    connect: Connect, server: ScriptedRegistry, clock: Clock, after: str
) -> None:
    server.script(Answer(429, headers={"Retry-After": after}))
    with pytest.raises(
        RegistryUnavailableError, match=r"1 attempts in .* failure: HTTP 429.*; its Retry-After of .* exceeds"
    ):
        connect(server, clock).latest("t")
    assert clock.slept == []


def test_a_silent_registry_is_given_up_after_the_read_timeout(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    server.script(Answer(hold=True), FOUND)
    assert connect(server, clock, http_read_timeout_ms=100.0).latest("t") == INFO


def test_no_attempt_waits_past_the_deadline(
    connect: Connect, server: ScriptedRegistry, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: list[tuple[float, float]] = []

    def send(_: object, request: requests.PreparedRequest, *, timeout: Any, **options: object) -> requests.Response:
        timeouts.append(timeout)
        clock.now += 20
        raise requests.ReadTimeout("nothing came")

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    with pytest.raises(RegistryUnavailableError, match="nothing came"):
        connect(server, clock).latest("t")
    assert timeouts[0] == timeouts[1] == (5.0, 20.0)
    assert len(timeouts) == 3
    assert 19 < timeouts[2][1] < 20


def test_all_ip_addresses_of_a_host_share_the_time(
    connect: Connect, server: ScriptedRegistry, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a share, the first that drops packets takes the time of the others."""
    asked: list[tuple[str, float]] = []
    port = int(server.url.rpartition(":")[2])
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{i}", port)) for i in (2, 3, 4, 1)]
    look_up, open_one = socket.getaddrinfo, connection.create_connection

    def opened(address: tuple[str, int], timeout: float, **options: Any) -> socket.socket:
        asked.append((address[0], timeout))
        if address[0] == "127.0.0.1":
            return open_one(address, timeout, **options)
        clock.now += timeout
        raise TimeoutError("nothing came")

    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *a: found if host == "pulsar.example" else look_up(host, *a)
    )
    monkeypatch.setattr(connection, "create_connection", opened)
    url = f"http://pulsar.example:{port}"
    assert connect(server, clock, schema_registry_url=url, retries_total_ms=2_000.0).latest("t") == INFO
    assert asked == [(f"127.0.0.{i}", pytest.approx(0.5)) for i in (2, 3, 4, 1)]


# The beginning of a response, and the bytes that follow it repeatedly.
TRICKLES = {
    "status line": (b"", b"H"),
    "header": (b"HTTP/1.1 200 OK\r\nA: ", b"a"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
    "body without an end": (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}


@pytest.mark.parametrize("where", TRICKLES)
@pytest.mark.parametrize("proxy", [False, True])
def test_a_response_that_trickles_in_is_given_up_at_the_time_limit(where: str, proxy: bool) -> None:
    begin, again = TRICKLES[where]
    ends = []

    def answer(_headers: object, _body: bytes) -> Iterator[bytes]:
        yield begin
        for _ in range(500):  # ten seconds in all, but never long between two bytes
            yield again
            time.sleep(0.02)
        ends.append("the client waited for all of it")

    with RawServer(answer) as server:
        conf = {**CONF, "schema.registry.url": server.url, "retries.total.ms": 100.0}
        if proxy:
            conf |= {"schema.registry.url": "http://registry", "proxy": server.url}
        with (
            closing(SchemaRegistryClient(conf)) as client,
            pytest.raises(RegistryUnavailableError, match="TimeoutError"),
        ):
            client.latest("t")
    assert ends == []


def test_a_response_of_exactly_the_maximum_size_is_read(
    connect: Connect, server: ScriptedRegistry, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"version": 3, "type": "AVRO", "timestamp": 1, "data": "\\"int\\"", "properties": {}}'
    monkeypatch.setattr(exchange, "MAX_BODY", len(body))
    server.script(Answer(200, body))
    assert connect(server, clock).latest("t").version == 3


def test_an_endless_response_is_refused(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    server.script(Answer(200, b" " * (16 * 1024 * 1024 + 1)))
    with pytest.raises(SchemaRegistryError, match="larger than 16777216 bytes"):
        connect(server, clock).latest("t")
    assert len(server.asked) == 1


def test_https_spoken_to_an_http_port_is_an_error_at_once(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    client = connect(server, clock, schema_registry_url=server.url.replace("http:", "https:"))
    with pytest.raises(SchemaRegistryError, match="SSL") as caught:
        client.latest("t")
    assert type(caught.value) is SchemaRegistryError
    assert clock.slept == []


@pytest.mark.parametrize("host", ["a" * 64, "a..b"])
def test_an_invalid_host_name_is_one_of_our_errors(
    connect: Connect, server: ScriptedRegistry, clock: Clock, host: str
) -> None:
    server.script(redirect(f"http://{host}/x"))
    with pytest.raises(SchemaRegistryError):
        connect(server, clock, retries_total_ms=1.0).latest("t")


def test_an_attempt_that_timed_out_does_not_hide_the_error_of_the_previous_one(
    connect: Connect, server: ScriptedRegistry, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script(Answer(503, {"reason": "bookie is away"}), redirect(PATH))
    send = requests.adapters.HTTPAdapter.send

    def slow(self: Any, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        clock.now += 25
        return send(self, request, **options)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", slow)
    client = connect(server, clock)
    with pytest.raises(
        RegistryUnavailableError, match=r"2 attempts in .* last failure: HTTP 503: bookie is away"
    ) as caught:
        client.latest("t")
    assert caught.value.status == 503
    assert client.calls == {"GET": 3}  # the last one runs out of time


def test_a_refusal_after_retries_is_still_that_refusal(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    server.script(Answer(503), Answer(409, b"", phrase="Incompatible schema"))
    with pytest.raises(IncompatibleSchemaError):
        connect(server, clock).register("t", '"int"')
    server.script(Answer(503), Answer(404, {"reason": "Schema not found"}))
    with pytest.raises(SchemaNotFoundError):
        connect(server, clock).latest("t")


def test_a_token_that_expires_midway_is_an_authentication_error(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    client = connect(server, clock)
    assert client.latest("t") == INFO
    server.script(Answer(401, {"message": "Authentication required", "status": "401"}))
    with pytest.raises(AuthenticationError, match="expired"):
        client.latest("t")


# Threads and processes.


def test_threads_share_a_client(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    client = connect(server, clock)
    threads = 8
    found = together(threads, lambda _: [client.latest("t") for _ in range(20)])
    assert [info for infos in found for info in infos] == [INFO] * 160
    assert client.calls == {"GET": 160}
    assert len({asked.port for asked in server.asked}) <= threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the server's threads are idle here
def test_a_forked_child_never_uses_its_parents_connection(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    client = connect(server, clock)
    client.latest("t")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            fine = client.latest("t") == INFO and client.calls == {"GET": 1}
            client.close()
            code = 0 if fine else 2
        finally:
            os._exit(code)
    assert exit_code(child) == 0
    assert client.latest("t") == INFO
    parent, forked, again = [asked.port for asked in server.asked]
    assert parent == again != forked


def test_a_connection_closed_while_idle_is_reopened(connect: Connect, clock: Clock) -> None:
    with ScriptedRegistry(FOUND) as server, closing(connect(server, clock)) as client:
        server.script(Answer(200, FOUND.body, {"Connection": "close"}), FOUND)
        assert client.latest("t") == client.latest("t") == INFO
