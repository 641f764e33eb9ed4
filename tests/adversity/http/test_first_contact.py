"""First contact: an address that has never answered fails early; one that has answered is retried longer."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oauth_issuer import Issuer
from scripted_registry import CONF, FOUND, INFO, PATH, TOKEN, Answer, Clock, Connect, ScriptedRegistry, redirect
from waiting import exit_code

from streamnative_serdes import KafkaAvroSerializer, RegistryUnavailableError, compat
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.integrations import kop
from streamnative_serdes.schema_registry import SchemaRegistryClient

FIRST, TOTAL = 5.0, 60.0  # seconds, by default


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """A port that refuses connections, and that no other server gets meanwhile."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        yield found


@pytest.fixture
def gone(taken: socket.socket) -> str:
    """Return an address where nothing listens."""
    return f"http://127.0.0.1:{taken.getsockname()[1]}"


def unknown_hosts(monkeypatch: pytest.MonkeyPatch, *hosts: str) -> None:
    real = socket.getaddrinfo

    def look_up(host: Any, *arguments: Any, **more: Any) -> Any:
        if host in hosts:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def fails_after(clock: Clock, ask: Callable[[], object], seconds: float) -> RegistryUnavailableError:
    """Return the error; asserts that retries lasted the given time, and not longer."""
    began = clock.now
    with pytest.raises(RegistryUnavailableError) as caught:
        ask()
    assert seconds - 1 < clock.now - began <= seconds
    return caught.value


def test_first_contact_fails_within_five_seconds_if_the_connection_is_refused(
    connect: Connect, server: ScriptedRegistry, clock: Clock, gone: str
) -> None:
    error = fails_after(clock, lambda: connect(server, clock, schema_registry_url=gone).latest("t"), FIRST)
    for words in (gone, f"{len(clock.slept) + 1} attempts", " in 4.", "ConnectionRefusedError"):
        assert words in str(error)
    for words in ("is schema.registry.url Pulsar's HTTP address", "retries.first.ms"):
        assert words in (error.hint or "")
    assert (error.retriable, error.topic, error.status) == (True, "t", None)


def test_a_host_that_does_not_resolve_fails_within_five_seconds(
    connect: Connect, server: ScriptedRegistry, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown_hosts(monkeypatch, "pulsar.example")
    url = "http://pulsar.example:8080"
    error = fails_after(clock, lambda: connect(server, clock, schema_registry_url=url).latest("t"), FIRST)
    assert "http://pulsar.example:8080" in str(error)
    assert "gaierror" in str(error)


@pytest.mark.parametrize(("first", "total", "seconds"), [(9_000, 60_000, 9), (90_000, 30_000, 30), (5_000, 3_000, 3)])
def test_first_contact_limit_is_configurable_up_to_the_total_time(
    connect: Connect, server: ScriptedRegistry, clock: Clock, gone: str, first: float, total: float, seconds: float
) -> None:
    asking = connect(server, clock, schema_registry_url=gone, retries_first_ms=first, retries_total_ms=total)
    error = fails_after(clock, lambda: asking.latest("t"), seconds)
    assert ("stopped after retries.first.ms" in (error.hint or "")) == (first < total)


def test_a_registry_that_starts_within_the_first_contact_limit_is_reached(
    connect: Connect, taken: socket.socket, gone: str
) -> None:
    started: list[ScriptedRegistry] = []

    class Starting(Clock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if sum(self.slept) > 3 and not started:
                taken.close()
                started.append(ScriptedRegistry(FOUND, port=int(gone.rpartition(":")[2])).__enter__())

    clock = Starting()
    with ScriptedRegistry(FOUND) as another:
        asking = connect(another, clock, schema_registry_url=gone)
    try:
        assert asking.latest("t") == INFO
    finally:
        started[0].__exit__(None, None, None)
    assert 3 < sum(clock.slept) < FIRST


ANSWERS = [
    FOUND,
    Answer(503),
    Answer(401, {"message": "Authentication required"}),
    Answer(404),
    Answer(500, b"no JSON"),
]


@pytest.mark.parametrize("answer", [*ANSWERS, redirect("/login")])
def test_a_registry_that_has_ever_answered_is_retried_longer(connect: Connect, clock: Clock, answer: Answer) -> None:
    with ScriptedRegistry(answer) as server:
        asking = connect(server, clock, retries_total_ms=1_000.0)
        try:
            asking.latest("t")
        except Exception:  # noqa: BLE001 - it has answered
            assert server.asked
    later = connect(server, clock)
    later.met(asking.answered)
    error = fails_after(clock, lambda: later.latest("t"), TOTAL)
    assert "retries.first.ms" not in (error.hint or "")


@pytest.mark.parametrize("fault", [Answer(503), Answer(cut=-1), Answer(hold=True)])
def test_only_refused_connections_and_unknown_hosts_shorten_the_retries(
    connect: Connect, server: ScriptedRegistry, clock: Clock, fault: Answer
) -> None:
    """A server that answers 503, closes the connection or does not respond exists."""

    server.script(fault)
    asking = connect(server, clock, http_read_timeout_ms=10.0)
    fails_after(clock, lambda: asking.latest("t"), TOTAL)


def test_a_redirect_to_a_dead_broker_is_retried_as_a_failover(
    connect: Connect, server: ScriptedRegistry, clock: Clock, gone: str
) -> None:
    server.script(redirect(gone + PATH))
    fails_after(clock, lambda: connect(server, clock).latest("t"), TOTAL)


# Several addresses


def test_the_error_names_all_unreachable_addresses(
    connect: Connect, server: ScriptedRegistry, clock: Clock, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown_hosts(monkeypatch, "pulsar.example")
    asking = connect(server, clock, schema_registry_url=f"{gone},http://pulsar.example:8080")
    error = fails_after(clock, lambda: asking.latest("t"), FIRST)
    assert f"no usable response from {gone}{PATH} and http://pulsar.example:8080" in str(error)


@pytest.mark.parametrize("order", ["{0},{1}", "{1},{0}"])
def test_an_address_that_has_answered_is_retried_longer_even_if_another_never_answered(
    connect: Connect, clock: Clock, gone: str, order: str
) -> None:
    with ScriptedRegistry(FOUND) as server:
        asking = connect(server, clock, schema_registry_url=order.format(server.url, gone))
        assert asking.latest("t") == INFO
        assert clock.slept == []
    fails_after(clock, lambda: asking.latest("t"), TOTAL)


@pytest.mark.parametrize("order", ["{0},{1}", "{1},{0}"])
def test_an_address_that_fails_is_retried_longer_even_if_another_refuses_connections(
    connect: Connect, server: ScriptedRegistry, clock: Clock, gone: str, order: str
) -> None:
    server.script(Answer(cut=-1))
    asking = connect(server, clock, schema_registry_url=order.format(server.url, gone))
    fails_after(clock, lambda: asking.latest("t"), TOTAL)


# Pickles and forks


def test_a_pickle_carries_the_fact_that_a_registry_has_answered(clock: Clock) -> None:
    Binding.forget()
    with ScriptedRegistry(Answer(body={"version": {"version": 3}})) as server:
        conf = {"schema.registry.url": server.url, "bearer.auth.token": TOKEN}
        serializer = KafkaAvroSerializer(conf, '"int"')
        fresh = pickle.dumps(serializer)
        serializer.serialize("t", 1)
        known = pickle.dumps(pickle.loads(pickle.dumps(serializer)))
    for pickled, seconds in ((fresh, FIRST), (known, TOTAL)):
        Binding.forget()
        worker: Any = pickle.loads(pickled)
        client = policy_of(worker).binding.client
        client.rest.retrier._clock = client.rest._exchange._clock = clock
        client.rest.retrier._sleep = clock.sleep
        fails_after(clock, lambda: worker.serialize("another", 1), seconds)  # noqa: B023
    Binding.forget()


def test_a_pickled_compat_client_keeps_the_addresses_that_have_answered(server: ScriptedRegistry) -> None:
    Binding.forget()
    server.script(Answer(body={"getSchemaResponses": []}))
    registry = compat.SchemaRegistryClient({"url": server.url})
    registry.get_versions("t")
    pickled = pickle.dumps(registry)
    Binding.forget()
    assert pickle.loads(pickled)._pulsar.answered == {server.url}
    Binding.forget()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_knows_that_a_registry_has_answered(connect: Connect, clock: Clock) -> None:
    with ScriptedRegistry(FOUND) as server:
        asking = connect(server, clock)
        asking.latest("t")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            fails_after(clock, lambda: asking.latest("t"), TOTAL)
            code = 0
        finally:
            os._exit(code)
    assert exit_code(child) == 0


# An OAuth issuer


def made(url: str, options: dict[str, str], clock: Clock) -> SchemaRegistryClient:
    conf = {**CONF, "schema.registry.url": url, **options}
    return SchemaRegistryClient(conf, clock=clock, sleep=clock.sleep)


def test_an_unreachable_issuer_fails_soon_even_if_the_registry_has_answered(
    server: ScriptedRegistry, clock: Clock
) -> None:
    with Issuer() as issuer:
        pass
    asking = made(server.url, issuer.options(), clock)
    asking.met({server.url})
    error = fails_after(clock, lambda: asking.latest("t"), FIRST)
    assert issuer.url in str(error)
    assert "is bearer.auth.issuer.url correct" in (error.hint or "")
    assert "retries.first.ms" in (error.hint or "")
    asking.close()


def test_an_issuer_that_has_answered_is_retried_longer_even_if_the_registry_never_answered(
    server: ScriptedRegistry, clock: Clock
) -> None:
    with Issuer(lifetime=1.0) as issuer:
        asking = made(server.url, issuer.options(), clock)
        asking.latest("t")
    asking.rest._answered.discard(server.url)
    clock.now += 10  # the token's time is over
    fails_after(clock, lambda: asking.latest("t"), TOTAL)
    assert issuer.url in asking.answered
    asking.close()


def test_an_unreachable_registry_fails_soon_even_if_the_issuer_has_answered(clock: Clock, gone: str) -> None:
    with Issuer() as issuer:
        asking = made(gone, issuer.options(), clock)
        error = fails_after(clock, lambda: asking.latest("t"), FIRST)
        asking.close()
    assert gone in str(error)
    assert issuer.tokens


def test_oauth_cb_fails_soon_if_the_issuer_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    with Issuer() as issuer:
        pass
    conf = {"schema.registry.url": "http://p", **issuer.options(), "retries.first.ms": 100.0}
    with pytest.raises(RegistryUnavailableError, match=r"in 0\.\d s"):
        kop.sasl_settings(conf)["oauth_cb"]("")
