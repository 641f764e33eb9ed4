"""Pulsar dies (SIGKILL) and restarts while Kafka producers and consumers are running."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from confluent_kafka.error import ValueSerializationError
from servers import Kafka, Pulsar
from streams import Stream, numbered

from streamnative_serdes import KafkaAvroSerializer, header
from streamnative_serdes.errors import RegistryUnavailableError

MESSAGES = 200  # through each stream before, in and after the outage
BUDGET_SECONDS = 5.0  # retries.total.ms of who has less patience than the usual 60 s
SLACK_SECONDS = 15.0  # what a busy machine may take on top of a promise
# Of topics that nobody has heard of yet.
DATUM, MESSAGE = numbered(4), header.pack(0) + b"\x08"


@dataclass(slots=True)
class Outage:
    """What happened while the registry was dead, and afterwards.

    Args:
        usual: a stream with the usual options, but that it does not look for newer schemas after a minute.
        hasty: a stream that looks for newer schemas all the time, and has a budget of BUDGET_SECONDS.
    """

    usual: Stream
    hasty: Stream
    calls_of_usual: int = -1  # to the registry, in the outage
    failures: dict[str, tuple[BaseException, float]] = field(default_factory=dict)  # operation -> error, seconds
    afterwards: list[object] = field(default_factory=list)

    def unknown_topics(self) -> dict[str, Callable[[], object]]:
        """Operations that need the registry."""
        serializer, deserializer = self.hasty.serializers[0], self.hasty.deserializer
        return {
            "serialize": lambda: serializer.serialize("unknown-serialize", DATUM),
            "deserialize": lambda: deserializer.deserialize("unknown-deserialize", MESSAGE),
            "produce": lambda: self.hasty.producer.produce("unknown-produce", value=DATUM),
        }

    def fail(self) -> None:
        """Try all of them at once: none succeeds."""
        operations = self.unknown_topics()
        with ThreadPoolExecutor(len(operations)) as pool:
            self.failures = dict(zip(operations, pool.map(failure, operations.values()), strict=True))


def failure(call: Callable[[], object]) -> tuple[BaseException, float]:
    """What a call ends in, and after how many seconds."""
    began = time.monotonic()
    with pytest.raises((RegistryUnavailableError, ValueSerializationError)) as caught:
        call()
    return caught.value, time.monotonic() - began


@pytest.fixture(scope="module")
def outage(kafka: Kafka, careless_pulsar: Pulsar) -> Outage:
    pulsar = careless_pulsar
    conf = {"schema.registry.url": pulsar.url, "cache.latest.ttl.sec": 3600}
    hasty = {"cache.latest.ttl.sec": 0.2, "retries.total.ms": 1000 * BUDGET_SECONDS}
    seen = Outage(
        Stream(kafka.bootstrap_servers, "known-usual", conf),
        Stream(kafka.bootstrap_servers, "known-hasty", conf | hasty),
    )
    with seen.usual.running(), seen.hasty.running():
        seen.usual.more(MESSAGES)
        seen.hasty.more(MESSAGES)
        pulsar.kill()
        before = seen.usual.deserializer.registry_calls()
        try:
            seen.fail()  # while the streams go on
            seen.usual.more(MESSAGES)
            seen.hasty.more(MESSAGES)
            seen.calls_of_usual = seen.usual.deserializer.registry_calls() - before
        finally:
            pulsar.start()
        for topic in ("unknown-deserialize", "unknown-produce"):
            KafkaAvroSerializer(conf, seen.hasty.schemas[0]).serialize(topic, DATUM)
        seen.afterwards = [call() for call in seen.unknown_topics().values()]
        seen.usual.more(MESSAGES)
        seen.hasty.more(MESSAGES)
    return seen


def test_known_topics_and_versions_need_no_registry(outage: Outage) -> None:
    """That every message arrived and was right, and no call failed, the stream has checked."""
    assert outage.calls_of_usual == 0
    assert outage.usual.read >= 3 * MESSAGES
    assert outage.usual.slowest < SLACK_SECONDS


def test_a_failed_lookup_of_newer_schemas_keeps_the_known_ones(outage: Outage) -> None:
    assert outage.hasty.read >= 3 * MESSAGES
    assert outage.hasty.slowest < BUDGET_SECONDS + SLACK_SECONDS


@pytest.mark.parametrize("operation", ["serialize", "deserialize", "produce"])
def test_an_unknown_topic_fails_in_its_time_and_is_named(outage: Outage, operation: str) -> None:
    error, seconds = outage.failures[operation]
    assert seconds < BUDGET_SECONDS + SLACK_SECONDS
    assert f"topic unknown-{operation}" in str(error)
    assert "no usable response from" in str(error)
    assert "ConnectionRefusedError" in str(error)


def test_the_same_objects_serve_unknown_topics_once_the_registry_is_back(outage: Outage) -> None:
    assert outage.afterwards == [MESSAGE, DATUM, None]
