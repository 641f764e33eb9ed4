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

MESSAGES = 200  # through each stream before, during and after the outage
BUDGET_SECONDS = 5.0  # retries.total.ms of the hasty stream, instead of the usual 60 s
SLACK_SECONDS = 15.0  # additional time for a busy machine
# Names of unknown topics.
DATUM, MESSAGE = numbered(4), header.pack(0) + b"\x08"


@dataclass(slots=True)
class Outage:
    """The events while the registry was dead, and afterwards.

    Args:
        usual: a stream with the default options, except that it does not request newer schemas after a minute.
        hasty: a stream that requests newer schemas all the time, and has a limit of BUDGET_SECONDS.
    """

    usual: Stream
    hasty: Stream
    calls_of_usual: int = -1  # registry calls during the outage
    failures: dict[str, tuple[BaseException, float]] = field(default_factory=dict)  # operation -> error, seconds
    afterwards: list[object] = field(default_factory=list)

    def unknown_topics(self) -> dict[str, Callable[[], object]]:
        """Return operations that need the registry."""
        serializer, deserializer = self.hasty.serializers[0], self.hasty.deserializer
        return {
            "serialize": lambda: serializer.serialize("unknown-serialize", DATUM),
            "deserialize": lambda: deserializer.deserialize("unknown-deserialize", MESSAGE),
            "produce": lambda: self.hasty.producer.produce("unknown-produce", value=DATUM),
        }

    def fail(self) -> None:
        """Try all of them at once; none must succeed."""
        operations = self.unknown_topics()
        with ThreadPoolExecutor(len(operations)) as pool:
            self.failures = dict(zip(operations, pool.map(failure, operations.values()), strict=True))


def failure(call: Callable[[], object]) -> tuple[BaseException, float]:
    """Return the error of a call, and after how many seconds it was raised."""
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
            seen.fail()  # while the streams continue
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
    """The stream itself checks that every message arrived unchanged, and that no call failed."""
    assert outage.calls_of_usual == 0
    assert outage.usual.read >= 3 * MESSAGES
    assert outage.usual.slowest < SLACK_SECONDS


def test_if_newer_schemas_cannot_be_requested_the_known_ones_are_kept(outage: Outage) -> None:
    assert outage.hasty.read >= 3 * MESSAGES
    assert outage.hasty.slowest < BUDGET_SECONDS + SLACK_SECONDS


@pytest.mark.parametrize("operation", ["serialize", "deserialize", "produce"])
def test_the_error_for_an_unknown_topic_comes_in_time_and_names_it(outage: Outage, operation: str) -> None:
    error, seconds = outage.failures[operation]
    assert seconds < BUDGET_SECONDS + SLACK_SECONDS
    assert f"topic unknown-{operation}" in str(error)
    assert "no usable response from" in str(error)
    assert "ConnectionRefusedError" in str(error)


def test_the_same_objects_serve_unknown_topics_once_the_registry_is_back(outage: Outage) -> None:
    assert outage.afterwards == [MESSAGE, DATUM, None]
