"""LocalRegistry: keeps Pulsar's contract, and adds fault injection, request counts, threads and ports."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from contract import GROUPS, Case, Player, get, register, said_differently
from contract.topics import of_topic_strategies
from waiting import elsewhere

from streamnative_serdes._broker_rules.rehearsal import Rehearsal
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.testing import Fault, LocalRegistry, RequestLine, local_registry

JSON = {"Accept": "application/json"}
SCHEMAS = "/admin/v2/schemas/public/default"


def record(*names: str, record_name: str = "R", **extra: Any) -> str:
    fields = [{"name": name, "type": "string"} for name in names]
    return json.dumps({"type": "record", "name": record_name, "fields": fields, **extra})


def optional(*names: str) -> str:
    fields = [{"name": name, "type": "string", "default": ""} for name in names]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


class Client:
    """Sends plain requests, like a user's script."""

    def __init__(self, registry: LocalRegistry, session: requests.Session) -> None:
        self.url = registry.url
        self.session = session
        session.headers.update(JSON)

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        return self.session.request(method, self.url + path, timeout=20, allow_redirects=False, **options)

    def post(
        self, topic: str, schema: str, kind: str = "AVRO", leaf: str = "schema", **properties: str
    ) -> requests.Response:
        return self.send({"type": kind, "schema": schema, "properties": properties}, topic, leaf)

    def send(self, payload: Any, topic: str = "t", leaf: str = "schema") -> requests.Response:
        return self.call("POST", f"{SCHEMAS}/{topic}/{leaf}", json=payload)

    def get(self, topic: str, leaf: str = "schema") -> requests.Response:
        return self.call("GET", f"{SCHEMAS}/{topic}/{leaf}")

    def registered(self, topic: str, schema: str, kind: str = "AVRO", **properties: str) -> int:
        answer = self.post(topic, schema, kind, **properties)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["version"]["version"])


@pytest.fixture
def registry() -> Iterator[LocalRegistry]:
    with LocalRegistry() as running:
        yield running


@pytest.fixture
def client(registry: LocalRegistry) -> Iterator[Client]:
    with requests.Session() as session:
        yield Client(registry, session)


def cases_of(group: str) -> list[Case]:
    """Those that need no library which is not installed."""
    try:
        import google.protobuf.descriptor_pool  # noqa: F401
    except ModuleNotFoundError:
        return [case for case in GROUPS[group] if "PROTOBUF_NATIVE" not in repr(case)]
    return GROUPS[group]


@pytest.mark.parametrize("group", GROUPS)
def test_the_contract_is_kept(group: str) -> None:
    """tests/integration/contract plays the same cases on Pulsar itself."""
    cases = cases_of(group)
    if not cases:
        pytest.skip("the extra protobuf is not installed")
    with LocalRegistry() as registry:
        player = Player(registry.url).prepare()
        found = [complaint for case in cases for complaint in case.complaints(player.play(case))]
    assert not found, "\n".join(found)


def test_without_protobuf_a_descriptor_is_refused_with_what_to_install(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf.descriptor_pool", None)
    why = "topics of type PROTOBUF_NATIVE need the library protobuf (hint: pip install protobuf)"
    case = Case("a descriptor", register("{}", "PROTOBUF_NATIVE").refused(500, why))
    assert case.complaints(Player(client.url).play(case)) == []
    with pytest.raises(ConfigError, match="pip install protobuf"):
        Rehearsal("FULL").check("{}", "PROTOBUF_NATIVE")


def test_the_contract_of_topic_strategies_is_kept() -> None:
    with LocalRegistry() as registry:
        player = Player(registry.url)
        found = [complaint for case in of_topic_strategies() for complaint in case.complaints(player.play(case))]
    assert not found, "\n".join(found)


def test_a_contract_player_detects_unexpected_responses(registry: LocalRegistry) -> None:
    wrong = Case("wrong", get().gives({}), get("schemas").refused(404, "x"), get("schemas").as_a("text/html"))
    found = wrong.complaints(Player(registry.url).play(wrong))
    assert [complaint.split(": ")[1] for complaint in found] == ["status", "body", "status", "words", "content type"]
    assert said_differently(wrong, *[Player(registry.url).play(wrong)] * 2) == []


def test_a_timestamp_is_that_of_the_registration(client: Client) -> None:
    before = time.time_ns() // 1_000_000
    client.registered("t", record("a"))
    assert before <= client.get("t").json()["timestamp"] <= time.time_ns() // 1_000_000 + 1


def test_schemas_of_the_maximum_depth_can_be_compared(client: Client) -> None:
    def nested(innermost: str) -> str:
        tree: Any = innermost
        for level in range(190):
            fields = [{"name": "f", "type": tree, "aliases": ["g"]}]
            tree = {"type": "record", "name": f"R{level}", "fields": fields}
        return json.dumps(tree)

    client.registered("t", nested("int"))
    assert client.post("t", nested("string")).status_code == 409


def test_after_a_forced_delete_versions_start_at_0_with_another_timestamp(client: Client) -> None:
    client.registered("t", record("a"))
    before = client.get("t").json()["timestamp"]
    assert client.call("DELETE", f"{SCHEMAS}/t/schema?force=true").json() == {"version": -1}
    assert client.registered("t", record("b")) == 0
    assert client.get("t").json()["timestamp"] > before


def test_timestamps_also_increase_within_one_millisecond(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timestamp distinguishes a recreated topic from the deleted one."""
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    stamps = []
    for name in "abc":
        client.registered("t", record(name))
        stamps.append(client.get("t").json()["timestamp"])
        client.call("DELETE", f"{SCHEMAS}/t/schema?force=true")
    assert stamps == [now // 1_000_000 + late for late in range(3)]


def test_a_key_value_inside_a_key_value_is_refused_because_brokers_run_out_of_memory(client: Client) -> None:
    halves = {"key.schema.type": "KEY_VALUE", "value.schema.type": "STRING"}
    answer = client.post("t", '{"key":{"key":"","value":""},"value":""}', "KEY_VALUE", **halves)
    assert (answer.status_code, answer.reason) == (500, "Java heap space")


def test_strategies_are_set_by_name(registry: LocalRegistry, client: Client) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    assert [client.registered("t", record(name)) for name in "ab"] == [0, 1]
    registry.set_strategy("FULL", "public/default/t")
    assert client.post("t", record("d")).status_code == 409
    assert [client.registered("u", record(name)) for name in "ab"] == [0, 1]
    with pytest.raises(ConfigError, match=r"expected one of .*, got 'SIDEWAYS'"):
        registry.set_strategy("SIDEWAYS")


def test_concurrent_identical_posts_give_one_version_and_different_ones_consecutive_versions(client: Client) -> None:
    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(lambda _: client.registered("same", record("a")), range(32))) == {0}
        different = [optional("a", f"b{number}") for number in range(16)]
        assert sorted(pool.map(lambda text: client.registered("other", text), different)) == list(range(16))


def test_64_threads_with_a_connection_each_are_served_at_once(registry: LocalRegistry, client: Client) -> None:
    client.registered("t", record("a"))
    gate = threading.Barrier(64, timeout=30)

    def read(_: int) -> int:
        gate.wait()
        return requests.get(f"{registry.url}{SCHEMAS}/t/schema/0", timeout=30).status_code

    with ThreadPoolExecutor(64) as pool:
        assert set(pool.map(read, range(64))) == {200}


@pytest.mark.parametrize(
    "sent", [None, "Bearer wrong", "bearer secret", "secret", "Basic c2VjcmV0", "Bearer token:secret"]
)
def test_without_the_right_token_every_request_is_401_in_jettys_format(sent: str | None) -> None:
    with LocalRegistry(token="secret") as registry, requests.Session() as session:
        client = Client(registry, session)
        headers = {"Authorization": sent} if sent else {}
        answer = client.call("GET", f"{SCHEMAS}/t/schema", headers=headers)
        assert (answer.status_code, answer.reason) == (401, "Authentication required")
        assert answer.json()["message"] == "Authentication required"
        assert "WWW-Authenticate" not in answer.headers
        assert client.call("DELETE", f"{SCHEMAS}/t/schema", headers=headers).content == b""
        good = client.call("GET", f"{SCHEMAS}/t/schemas", headers={"Authorization": "Bearer secret"})
        assert good.status_code == 200


def test_requests_are_counted_by_kind_and_kept_in_order(registry: LocalRegistry, client: Client) -> None:
    client.registered("t", record("a"))
    for leaf in ("schema", "schema/0", "schema/7", "schemas"):
        client.get("t", leaf)
    client.post("t", record("a"), leaf="version")
    expected = ["POST schema", "GET schema", "GET version", "GET version", "GET schemas", "POST version"]
    assert registry.calls == Counter(expected)
    assert registry.calls["DELETE schema"] == 0
    assert registry.requests[2] == RequestLine("GET", f"{SCHEMAS}/t/schema/0")
    registry.reset_calls()
    assert (registry.calls, registry.requests) == (Counter(), [])


def page(message: str) -> Callable[[requests.Response], bool]:
    return lambda answer: bool(answer.json()["message"] == message)


def reason(text: str) -> Callable[[requests.Response], bool]:
    return lambda answer: bool(answer.json() == {"reason": text})


@pytest.mark.parametrize(
    ("fault", "status", "right"),
    [
        (Fault.status(401), 401, page("Authentication required")),
        (
            Fault.status(401, "Unauthorized to validateTopicOperation"),
            401,
            reason("Unauthorized to validateTopicOperation"),
        ),
        (Fault.status(403), 403, reason("Need to authenticate to perform the request")),
        (Fault.status(404), 404, reason("Schema not found")),
        (Fault.status(404, "Namespace does not exist"), 404, reason("Namespace does not exist")),
        (Fault.status(412), 412, lambda answer: "Can't find owner" in answer.json()["reason"]),
        (Fault.status(429, retry_after=3), 429, lambda answer: answer.headers["Retry-After"] == "3"),
        (Fault.status(429), 429, page("Too Many Requests")),
        (Fault.status(500), 500, lambda answer: "Metadata store" in answer.json()["reason"]),
        (Fault.status(503), 503, page("Service Unavailable")),
        (Fault.garbage(), 200, lambda answer: answer.content == b'{"version": '),
        (Fault.garbage(b"<html>", "text/html"), 200, lambda answer: answer.text == "<html>"),
    ],
)
def test_a_fault_replaces_one_response_of_the_registry(
    registry: LocalRegistry, client: Client, fault: Fault, status: int, right: Callable[[requests.Response], bool]
) -> None:
    registry.fail(fault)
    answer = client.post("t", record("a"))
    assert answer.status_code == status
    assert right(answer)
    assert client.get("t").status_code == 404, "a request that failed has no effect"
    assert client.registered("t", record("a")) == 0
    assert registry.calls["POST schema"] == 2


def test_faults_are_queued_for_matching_requests(registry: LocalRegistry, client: Client) -> None:
    registry.fail(Fault.status(503), times=2, match="POST .*/schema$")
    registry.fail(Fault.status(429), match="POST")
    registry.fail(Fault.status(500), times=None, match="/schemas$")
    assert client.get("t").status_code == 404
    assert [client.post("t", record("a")).status_code for _ in range(4)] == [503, 503, 429, 200]
    assert [client.get("t", "schemas").status_code for _ in range(3)] == [500, 500, 500]
    registry.heal()
    assert client.get("t", "schemas").status_code == 200


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"times": 0}, "times: expected an integer from 1 on, or None, got 0"),
        ({"times": "2"}, "times: expected an integer from 1 on, or None, got '2'"),
        ({"match": "("}, r"match: expected a regular expression, got '\('"),
        ({"match": 5}, "match: expected a regular expression, got 5"),
        ({"match": b"x"}, "match: expected a regular expression, got b'x'"),
        ({"fault": 503}, r"fault: expected a Fault, such as Fault.status\(503\), got 503"),
    ],
)
def test_a_fault_for_no_request_is_refused(registry: LocalRegistry, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        registry.fail(**{"fault": Fault.status(500), **wrong})


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e300, "1", None])
def test_a_fault_of_another_delay_is_refused(seconds: Any) -> None:
    for make in (Fault.delay, Fault.cut().after):
        with pytest.raises(ConfigError, match=f"^seconds: expected a number from 0 on, got {re.escape(repr(seconds))}"):
            make(seconds)


@pytest.mark.parametrize("code", ["503", 100, 600, None, True])
def test_a_fault_of_another_status_is_refused(code: Any) -> None:
    with pytest.raises(ConfigError, match=f"^code: expected an HTTP status from 200 to 599, got {code!r}"):
        Fault.status(code)


def test_a_fault_that_would_do_nothing_or_something_else_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^at: expected answer or body, got 'whole'"):
        Fault.cut("whole")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^body: expected bytes, got 'text'"):
        Fault.garbage("text")  # type: ignore[arg-type]


@pytest.mark.parametrize("port", [-1, 65536, "8080", None, 80.5])
def test_what_is_not_a_port_is_refused(port: Any) -> None:
    with pytest.raises(ConfigError, match=f"^cannot listen on 127.0.0.1:{port}: "):
        LocalRegistry(port).start()


@pytest.mark.parametrize("at", ["answer", "body"])
def test_a_cut_connection_loses_the_response_but_not_the_registration(
    registry: LocalRegistry, client: Client, at: Any
) -> None:
    registry.fail(Fault.cut(at))
    with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        client.post("t", record("a"))
    assert client.get("t").json()["version"] == 0


def test_a_delay_outlasts_the_clients_timeout_and_does_not_delay_closing() -> None:
    before = set(threading.enumerate())  # other tests may keep a registry during the whole run
    with LocalRegistry() as registry:
        registry.fail(Fault.delay(600))
        registry.fail(Fault.status(503).after(600))
        for _ in range(2):
            with pytest.raises(requests.ReadTimeout):
                requests.get(registry.url + "/admin/v2/clusters", timeout=0.05)
        assert requests.get(registry.url + "/admin/v2/clusters", timeout=20).status_code == 200
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "LocalRegistry"]


def test_307_names_the_other_broker_with_path_and_query(registry: LocalRegistry, client: Client) -> None:
    with LocalRegistry() as other:
        registry.fail(Fault.redirect(other.url))
        answer = client.post("t", record("a"))
        assert (answer.status_code, answer.content) == (307, b"")
        assert answer.headers["Location"] == f"{other.url}{SCHEMAS}/t/schema?authoritative=true"
        followed = requests.post(answer.headers["Location"], json={"type": "AVRO", "schema": record("a")}, timeout=20)
        assert followed.json() == {"version": {"version": 0}}
        assert (registry.calls["POST schema"], other.calls["POST schema"]) == (1, 1)


def test_307_to_itself_is_a_loop(registry: LocalRegistry, client: Client) -> None:
    registry.fail(Fault.redirect(authoritative=False), times=None)
    assert client.get("t").headers["Location"] == f"{registry.url}{SCHEMAS}/t/schema?authoritative=false"
    with requests.Session() as session, pytest.raises(requests.TooManyRedirects):
        session.get(f"{registry.url}{SCHEMAS}/t/schema", timeout=20)


def test_307_to_a_complete_url_is_sent_unchanged(registry: LocalRegistry, client: Client) -> None:
    registry.fail(Fault.redirect("ftp://elsewhere/x?y=z"))
    assert client.get("t").headers["Location"] == "ftp://elsewhere/x?y=z"


def test_one_connection_serves_many_requests_with_one_packet_each(registry: LocalRegistry) -> None:
    host, port = registry.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        for _ in range(3):
            connection.sendall(b"GET /admin/v2/clusters HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = connection.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert answer.endswith(b'\r\n\r\n["standalone"]')


def test_closing_ends_connections_and_frees_the_port() -> None:
    registry = LocalRegistry()
    with pytest.raises(ConfigError, match="not running"):
        _ = registry.url
    with registry:
        port = int(registry.url.rpartition(":")[2])
        with requests.Session() as session:
            session.get(registry.url + "/admin/v2/clusters", timeout=20)
            registry.close()
            with pytest.raises(requests.ConnectionError):
                session.get(f"http://127.0.0.1:{port}/admin/v2/clusters", timeout=20)
    with LocalRegistry(port) as again:
        assert again.url == f"http://127.0.0.1:{port}"
        with pytest.raises(ConfigError, match="cannot listen"):
            LocalRegistry(port).start()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to one process on Windows")
def test_serve_runs_until_ctrl_c() -> None:
    script = "from streamnative_serdes.testing import serve; serve(0, ready=lambda url: print(url, flush=True))"
    command = [sys.executable, "-W", "error", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = elsewhere(process.stdout.readline).strip()
            assert requests.get(url + "/admin/v2/clusters", timeout=20).json() == ["standalone"]
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()


def test_it_is_served_at_pulsars_port_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    @contextmanager
    def started(*given: Any) -> Iterator[Any]:
        asked.append(given)
        yield SimpleNamespace(url="")

    def ctrl_c(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(local_registry, "LocalRegistry", started)
    local_registry.serve(ready=ctrl_c)
    local_registry.serve(9, "token", ready=ctrl_c)
    assert asked == [(8080, None), (9, "token")]
