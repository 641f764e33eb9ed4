"""Two brokers: a topic's owner dies, and the other broker, which redirected to it, takes over."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from servers import PulsarCluster
from servers.pulsar import Broker
from waiting import HANG_SECONDS, until

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes import _config as config
from streamnative_serdes.errors import AuthenticationError, AuthorizationError, RegistryUnavailableError
from streamnative_serdes.schema_registry import SchemaRegistryClient

USER = '{"type":"record","name":"User","fields":[{"name":"name","type":"string"},{"name":"age","type":"int"}]}'
ADA = {"name": "Ada", "age": 36}
FRAMED = bytes.fromhex("0304 0000000000000000 06416461 48")
THREADS = 8
NEW_TOPICS = 9  # per thread
BACKOFF_SECONDS = 5.0  # retries.max.wait.ms
SHORT_SECONDS = 2.0  # a limit shorter than two thirds of the session, after which the failover may begin
SLACK_SECONDS = 15.0  # additional time for a busy machine


def conf_of(cluster: PulsarCluster, broker: Broker, role: str | None = "produce", **options: Any) -> dict[str, Any]:
    """Return the options for a broker of the cluster; ``_`` stands for a dot in a key."""
    conf: dict[str, Any] = {"schema.registry.url": broker.url}
    if role is not None:
        assert cluster.tokens is not None
        conf["bearer.auth.token"] = cluster.tokens.of(role)
    return conf | {key.replace("_", "."): value for key, value in options.items()}


def client_of(cluster: PulsarCluster, broker: Broker, role: str | None = "produce") -> SchemaRegistryClient:
    return SchemaRegistryClient(config.parse(config.REGISTRY_OPTIONS, conf_of(cluster, broker, role), strict=True))


def other_than(cluster: PulsarCluster, owner: Broker) -> Broker:
    (other,) = [broker for broker in cluster.brokers if broker is not owner]
    return other


def topics_of(cluster: PulsarCluster, owner: Broker, prefix: str) -> Iterator[str]:
    """Yield names of new topics that this broker owns: about half of all, because each owns some of 16 bundles.

    A broker that came up long before the other one on a busy machine owns all of them, so they are given away again.
    """
    for number in range(1_000):
        if cluster.owner_of(f"{prefix}-{number}") is owner:
            yield f"{prefix}-{number}"
        if number % 200 == 199:
            cluster.brokers[0].admin("PUT", "namespaces/public/default/unload")
    raise AssertionError(f"{owner.name} owns hardly any topic")


@pytest.fixture(params=["the owner", "the other broker"])
def asked_and_topic(request: pytest.FixtureRequest, pulsar_cluster: PulsarCluster) -> tuple[Broker, str]:
    topic = f"asked-{uuid.uuid4()}"
    owner = pulsar_cluster.owner_of(topic)
    return (owner if request.param == "the owner" else other_than(pulsar_cluster, owner)), topic


def test_every_endpoint_reaches_the_owner_with_credentials(
    pulsar_cluster: PulsarCluster, asked_and_topic: tuple[Broker, str]
) -> None:
    asked, topic = asked_and_topic
    client = client_of(pulsar_cluster, asked, "admin")
    assert client.register(topic, USER) == 0
    assert client.latest(topic).text == client.by_version(topic, 0).text == USER
    assert [info.version for info in client.all_versions(topic)] == [0]
    assert client.compatibility(topic, '"int"').compatible is False
    assert client.delete(topic, force=True) is None
    assert client.all_versions(topic) == []
    hops = 1 if asked is pulsar_cluster.owner_of(topic) else 2
    assert client.calls == {"POST": 2 * hops, "GET": 4 * hops, "DELETE": hops}
    client.close()


def test_the_owner_checks_the_rights_of_redirected_requests(
    pulsar_cluster: PulsarCluster, asked_and_topic: tuple[Broker, str]
) -> None:
    asked, topic = asked_and_topic
    assert client_of(pulsar_cluster, asked).register(topic, USER) == 0
    assert client_of(pulsar_cluster, asked, "consume").latest(topic).text == USER
    with pytest.raises(AuthorizationError, match="the role needs the right to produce"):
        client_of(pulsar_cluster, asked, "consume").register(topic, '"int"')
    with pytest.raises(AuthorizationError, match="GET_METADATA"):
        client_of(pulsar_cluster, asked, "nobody").latest(topic)
    with pytest.raises(AuthenticationError, match=r"set bearer\.auth\.token"):
        client_of(pulsar_cluster, asked, None).latest(topic)


def test_both_kinds_of_redirects_are_followed(pulsar_cluster: PulsarCluster) -> None:
    """The leader redirects with ``authoritative=true``, the other broker with ``authoritative=false``."""
    queries = set()
    for owner in pulsar_cluster.brokers:
        other = other_than(pulsar_cluster, owner)
        topic = next(topics_of(pulsar_cluster, owner, f"words-{owner.name}"))
        answer = other.admin("GET", f"schemas/public/default/{topic}/schema", allow_redirects=False)
        queries.add(answer.headers["Location"].partition("?")[2])
        assert client_of(pulsar_cluster, other).register(topic, USER) == 0
    assert queries == {"authoritative=true", "authoritative=false"}


def test_a_writer_and_a_reader_at_different_brokers_use_the_same_schema(pulsar_cluster: PulsarCluster) -> None:
    writers_broker, readers_broker = pulsar_cluster.brokers
    serializer = KafkaAvroSerializer(conf_of(pulsar_cluster, writers_broker), USER)
    deserializer = KafkaAvroDeserializer(conf_of(pulsar_cluster, readers_broker, "consume"))
    for owner in pulsar_cluster.brokers:
        topic = next(topics_of(pulsar_cluster, owner, f"between-{owner.name}"))
        message = serializer.serialize(topic, ADA)
        assert message == FRAMED
        assert deserializer.deserialize(topic, message) == ADA


def test_each_unowned_topic_is_taken_by_one_broker(pulsar_cluster: PulsarCluster) -> None:
    """Each broker asks the other one first; only ``authoritative=true`` keeps this from being endless."""
    first = pulsar_cluster.brokers[0]
    made = first.admin("PUT", "namespaces/public/unowned", json={"bundles": {"numBundles": 16}})
    assert made.ok, made.text
    clients = [client_of(pulsar_cluster, broker, "admin") for broker in pulsar_cluster.brokers]
    together = threading.Barrier(THREADS, timeout=HANG_SECONDS)

    def register(number: int) -> list[int]:
        together.wait(HANG_SECONDS)
        client = clients[number % 2]  # so that both clients request each topic
        return [client.register(f"public/unowned/{topic}", USER) for topic in range(24)]

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(register, range(THREADS))) == [[0] * 24] * THREADS


# The owner is killed.


class Trip(NamedTuple):
    """A new topic that was written and read; ``when`` is in seconds after the broker's death."""

    topic: str
    message: bytes | None
    datum: Any
    when: float


@dataclass(slots=True)
class Failover:
    """The events around the death of a broker."""

    victim: Broker
    moved: float = 0.0  # seconds until the other broker first owned a topic of the killed one
    trips: list[list[Trip]] = field(default_factory=list)  # per thread
    hits: int = 0  # messages of a known topic, written and read between death and failover
    slowest_hit: float = 0.0
    calls_of_hits: int = 0  # registry calls of those messages
    short: BaseException | None = None  # the error of a request with a limit of SHORT_SECONDS
    short_seconds: float = 0.0


@pytest.fixture(scope="module")
def failover(pulsar_cluster: PulsarCluster) -> Failover:
    """Kill the owner of topics (SIGKILL) while threads write and read its new topics through the other broker."""
    victim = pulsar_cluster.owner_of("whose-owner-dies")
    survivor = other_than(pulsar_cluster, victim)
    names = topics_of(pulsar_cluster, victim, "orphan")
    known = Known(pulsar_cluster, survivor, next(names))
    work = [list(itertools.islice(names, NEW_TOPICS)) for _ in range(THREADS)]
    last, short = next(names), next(names)
    seen, dead, done = Failover(victim), threading.Event(), threading.Semaphore(0)
    with brought_back(victim), ThreadPoolExecutor(THREADS + 1) as pool:
        threads = [pool.submit(round_trips, conf_of(pulsar_cluster, survivor), topics, dead, done) for topics in work]
        for _ in range(THREADS):  # wait until some are in progress
            assert done.acquire(timeout=HANG_SECONDS)
        victim.kill()
        began = time.monotonic()
        dead.set()
        poor = pool.submit(timed_error, pulsar_cluster, survivor, short)
        known.use_until(seen, lambda: owns(survivor, last))
        seen.moved = time.monotonic() - began
        seen.short, seen.short_seconds = poor.result(HANG_SECONDS)
        found = [thread.result(HANG_SECONDS) for thread in threads]
    seen.trips = [[trip._replace(when=trip.when - began) for trip in trips] for trips in found]
    return seen


@contextmanager
def brought_back(broker: Broker) -> Iterator[None]:
    """Restart a killed broker afterwards in any case, because other tests use the cluster too."""
    try:
        yield
    finally:
        if not broker.alive:
            broker.start()


def round_trips(
    conf: dict[str, Any], topics: list[str], dead: threading.Event, done: threading.Semaphore
) -> list[Trip]:
    """Write and read each topic, the second half of them only after the broker was killed."""
    serializer, deserializer = KafkaAvroSerializer(conf, USER), KafkaAvroDeserializer(conf)
    found = []
    for number, topic in enumerate(topics):
        if number == len(topics) // 2:
            assert dead.wait(HANG_SECONDS)
        message = serializer.serialize(topic, ADA)
        found.append(Trip(topic, message, deserializer.deserialize(topic, message), time.monotonic()))
        done.release()
    return found


def owns(broker: Broker, topic: str) -> bool:
    return broker.admin("GET", f"schemas/public/default/{topic}/schema", allow_redirects=False).status_code == 404


def timed_error(cluster: PulsarCluster, broker: Broker, topic: str) -> tuple[BaseException | None, float]:
    """Return the error of a short limit for a new topic, and after how many seconds it was raised."""
    conf = conf_of(cluster, broker, retries_total_ms=1000 * SHORT_SECONDS)
    began = time.monotonic()
    try:
        KafkaAvroSerializer(conf, USER).serialize(topic, ADA)
    except RegistryUnavailableError as error:
        return error, time.monotonic() - began
    return None, time.monotonic() - began


class Known:
    """A topic that a serializer and a deserializer know; they share no cache with others of this process."""

    def __init__(self, cluster: PulsarCluster, broker: Broker, topic: str) -> None:
        conf = conf_of(cluster, broker, cache_capacity=10)
        self._topic = topic
        self._serializer, self._deserializer = KafkaAvroSerializer(conf, USER), KafkaAvroDeserializer(conf)
        self._use()

    def use_until(self, seen: Failover, over: Callable[[], bool]) -> None:
        """Write and read until ``over()``, and count the messages in ``seen``."""
        before = self._serializer.registry_calls()

        def once() -> bool:
            began = time.monotonic()
            self._use()
            seen.hits += 1
            seen.slowest_hit = max(seen.slowest_hit, time.monotonic() - began)
            return over()

        until(once, "the other broker takes the topics")
        seen.calls_of_hits = self._serializer.registry_calls() - before

    def _use(self) -> None:
        assert self._deserializer.deserialize(self._topic, self._serializer.serialize(self._topic, ADA)) == ADA


def test_known_topics_are_usable_while_their_owner_is_dead(failover: Failover) -> None:
    assert failover.hits > 10
    assert failover.calls_of_hits == 0
    assert failover.slowest_hit < SLACK_SECONDS


def test_new_topics_succeed_within_one_backoff_step_after_the_failover(failover: Failover) -> None:
    firsts = [trips[NEW_TOPICS // 2].when for trips in failover.trips]  # the first of each thread after the death
    assert max(firsts) < failover.moved + BACKOFF_SECONDS + SLACK_SECONDS


def test_no_new_topic_is_lost_in_the_failover(failover: Failover, pulsar_cluster: PulsarCluster) -> None:
    trips = list(itertools.chain.from_iterable(failover.trips))
    assert len({trip.topic for trip in trips}) == THREADS * NEW_TOPICS
    assert {trip.message for trip in trips} == {FRAMED}
    assert all(trip.datum == ADA for trip in trips)
    client = client_of(pulsar_cluster, other_than(pulsar_cluster, failover.victim))
    assert all([info.text for info in client.all_versions(trip.topic)] == [USER] for trip in trips)


def test_a_shorter_limit_ends_in_a_clear_error_in_time(failover: Failover) -> None:
    error = failover.short
    assert isinstance(error, RegistryUnavailableError)
    assert failover.short_seconds < SHORT_SECONDS + SLACK_SECONDS
    assert failover.short_seconds < failover.moved
    assert error.retriable
    assert str(error).startswith("topic orphan-")
    assert f"redirected to {failover.victim.url}" in str(error)
    assert "ConnectionRefusedError" in str(error)


def test_a_restarted_broker_serves_requests_again(failover: Failover, pulsar_cluster: PulsarCluster) -> None:
    client = client_of(pulsar_cluster, failover.victim)
    assert client.register("after-its-return", USER) == 0
    assert client.latest(failover.trips[0][0].topic).text == USER
