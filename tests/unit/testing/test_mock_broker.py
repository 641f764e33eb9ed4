"""MockBroker: partition counts, other processes, several brokers, and clear errors if it cannot start."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.testing import MockBroker, mock_broker


def partitions(bootstrap_servers: str) -> dict[str, int]:
    metadata = Producer({"bootstrap.servers": bootstrap_servers}).list_topics(timeout=10)
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def test_topics_have_the_chosen_number_of_partitions() -> None:
    with MockBroker({"flights": 16, "one": 1}) as broker:
        broker.create_topic("later", 3)
        assert partitions(broker.bootstrap_servers) == {"flights": 16, "one": 1, "later": 3}


def test_two_brokers_in_one_process_share_nothing() -> None:
    with MockBroker({"a": 2}) as first, MockBroker({"b": 5}, brokers=2) as second:
        assert partitions(first.bootstrap_servers) == {"a": 2}
        assert partitions(second.bootstrap_servers) == {"b": 5}
        assert len(second.bootstrap_servers.split(",")) == 2


def test_messages_are_consumed_by_a_group() -> None:
    with MockBroker({"t": 4}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        sent = {f"value {number}".encode() for number in range(40)}
        for number, value in enumerate(sorted(sent)):
            producer.produce("t", value, partition=number % 4)
        assert producer.flush(10) == 0
        config = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
        consumer = Consumer(config)
        consumer.subscribe(["t"])
        messages = consumer.consume(40, timeout=20)
        consumer.close()
        assert {message.value() for message in messages} == sent


def test_another_process_reaches_the_broker() -> None:
    script = (
        "import sys; from confluent_kafka import Producer; p = Producer({'bootstrap.servers': sys.argv[1]}); "
        "p.produce('t', b'from afar'); sys.exit(p.flush(10))"
    )
    with MockBroker({"t": 1}) as broker:
        subprocess.run([sys.executable, "-c", script, broker.bootstrap_servers], check=True, timeout=60)
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["t"])
        (message,) = consumer.consume(1, timeout=20)
        consumer.close()
        assert message.value() == b"from afar"


@pytest.mark.parametrize(
    ("name", "count", "why"),
    [
        ("t", 2, "already exists"),
        ("new", 0, "topic 'new': expected 1 to 10000 partitions, got 0"),
        ("new", -1, "got -1"),
        ("new", 2**32 + 3, "got 4294967299"),
        ("new", "4", "got '4'"),
        ("new", True, "got True"),
        ("a\0b", 1, "expected a topic's name"),
        (5, 1, "expected a topic's name, got 5"),
    ],
)
def test_a_topic_that_cannot_be_created_is_an_error(name: Any, count: Any, why: str) -> None:
    with MockBroker({"t": 1}) as broker, pytest.raises(ConfigError, match=why):
        broker.create_topic(name, count)


@pytest.mark.parametrize("brokers", [0, -1, "3", 1.0, None])
def test_a_number_of_brokers_that_would_end_the_process_is_an_error(brokers: Any) -> None:
    with pytest.raises(ConfigError, match="expected a number of brokers from 1 to 10000, got "):
        MockBroker(brokers=brokers)


def test_a_refused_topic_stops_the_broker() -> None:
    broker = MockBroker({"t": 0})
    with pytest.raises(ConfigError, match="expected 1 to 10000 partitions"):
        broker.start()
    with pytest.raises(ConfigError, match="not running"):
        _ = broker.bootstrap_servers


def test_before_start_and_after_close_the_error_says_that_it_is_not_running() -> None:
    broker = MockBroker({"t": 1})
    with pytest.raises(ConfigError, match="not running"):
        _ = broker.bootstrap_servers
    broker.start()
    broker.close()
    broker.close()
    with pytest.raises(ConfigError, match="not running"):
        broker.create_topic("u", 1)


def test_without_a_bundled_library_the_error_lists_where_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mock_broker, "_LIBRARIES", {sys.platform: ("confluent_kafka.libs/nothing-*.so",)})
    with pytest.raises(ConfigError, match=r"looked for: .*nothing-\*\.so.*hint: "):
        MockBroker({"t": 1}).start()


def test_the_error_on_an_unknown_platform_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mock_broker, "_LIBRARIES", {})
    with pytest.raises(ConfigError, match=f"platform {sys.platform}"):
        MockBroker({"t": 1}).start()


def test_the_error_for_a_missing_function_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mock_broker, "_FUNCTIONS", {"rd_kafka_mock_nothing": (None, [])})
    with pytest.raises(ConfigError, match="rd_kafka_mock_nothing"):
        MockBroker({"t": 1}).start()
