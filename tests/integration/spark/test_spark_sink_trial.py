"""What is tried on a real Kafka before a write of the data source: each topic can be written, or is refused.

The driver tries each write; a worker looks at the topic before it uses a producer again.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient
from copied_topic import delete
from migrations import create
from orders import messages_of
from pyspark.sql import types as T
from servers import Kafka, kafka
from waiting import HANG_SECONDS, until

from streamnative_serdes._kafka import BrokerRefusedError
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.writing import writers
from streamnative_serdes.spark.datasource.writing.outbox import outbox

COLUMNS = T.StructType([T.StructField("value", T.StringType())])
SIGNED_IN = {
    "kafka.security.protocol": "sasl_plaintext",
    "kafka.sasl.mechanism": "PLAIN",
    "kafka.sasl.username": "me",
    "kafka.sasl.password": "secret",
}


def plan(servers: str, topic: str, **options: str) -> None:
    told = {"kafka.bootstrap.servers": servers, "kafka.log_level": "0", "topic": topic, **options}
    writers.writer(told, COLUMNS, overwrite=False)


def topics_of(servers: str) -> Collection[str]:
    return AdminClient({"bootstrap.servers": servers}).list_topics(timeout=HANG_SECONDS).topics


@pytest.mark.parametrize("topic", ["", " ", "a b", ".", "x" * 250])
def test_what_no_topic_can_be_called_is_refused(kafka: Kafka, topic: str) -> None:
    with pytest.raises(ConfigError, match="the option topic: a topic cannot have the name"):
        plan(kafka.bootstrap_servers, topic)


@pytest.mark.parametrize("delivery", ["at-least-once", "transactional"])
def test_a_topic_that_the_brokers_create_may_be_missing(kafka: Kafka, delivery: str) -> None:
    topic = uuid4().hex
    plan(kafka.bootstrap_servers, topic, delivery=delivery)
    assert topic in topics_of(kafka.bootstrap_servers)


def test_a_topic_that_is_missing_or_that_the_user_may_not_write_is_an_error_before_a_task_runs(
    servers_at_hand: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(kafka._CONF, "auto.create.topics.enable", False)
    with Kafka(users={"me": "secret"}, rights=True) as server:
        create(server.bootstrap_servers, "orders", partitions=1)
        plan(server.bootstrap_servers, "orders")
        for delivery in ("at-least-once", "transactional"):
            with pytest.raises(ConfigError, match=r"topic order: the topic does not exist.*did you mean orders"):
                plan(server.bootstrap_servers, "order", delivery=delivery)
        with pytest.raises(BrokerRefusedError, match=r"topic orders: this user may not write the topic.*needs WRITE"):
            plan(server.sasl_servers, "orders", **SIGNED_IN)


def test_a_worker_writes_a_topic_that_was_recreated_with_fewer_partitions(kafka: Kafka) -> None:
    topic, servers = uuid4().hex, kafka.bootstrap_servers
    for partitions in (3, 1):
        create(servers, topic, partitions=partitions)
        with outbox({"bootstrap.servers": servers, "log_level": "0"}, topic) as out:
            out.send_all((b"x", b"%d" % number) for number in range(30))
        assert len(messages_of({"bootstrap.servers": servers}, topic)) == 30
        delete(servers, topic)
        until(lambda: topic not in topics_of(servers))
