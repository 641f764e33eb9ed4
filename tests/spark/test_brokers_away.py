"""Unavailable Kafka brokers: the error comes early, names the addresses, and fits on one line."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import KafkaError, KafkaException
from demo.__main__ import demo
from demo.job import Job
from orders import SCHEMA
from pyspark.sql import DataFrame, Row, SparkSession

from streamnative_serdes import ConfigError, KafkaAvroSerializer
from streamnative_serdes._kafka import clients
from streamnative_serdes.spark import (
    BrokerUnavailableError,
    DeliveryError,
    KafkaAvroSink,
    KafkaAvroSource,
    OffsetRange,
)
from streamnative_serdes.spark.partitions import source as sources
from streamnative_serdes.testing import MockBroker

TOPIC = "flights"
REFUSED = {"bootstrap.servers": "127.0.0.1:1"}
CLIENTS_OWN = "|FAIL|"  # occurs in such lines of librdkafka's log


@pytest.fixture(autouse=True)
def nothing_answered_yet(monkeypatch: pytest.MonkeyPatch, conf: dict[str, str]) -> None:
    monkeypatch.setattr(clients, "_answered", set())
    KafkaAvroSerializer(conf, "long").serialize(TOPIC, 1)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "FIRST_SECONDS", 1.0)
    monkeypatch.setattr(clients, "ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(sources, "PATIENCE", replace(sources.PATIENCE, seconds=1.0))


@pytest.fixture
def silent() -> Iterator[str]:
    """Yield the address of a server that accepts connections and does not respond."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings of this test; serializers of other tests may still check topics of a closed registry."""
    records = [record for record in caplog.records if record.threadName != "streamnative_serdes watch"]
    return [record.getMessage() for record in records if record.levelno >= logging.WARNING]


def test_a_refused_first_contact_fails_after_five_seconds(
    conf: dict[str, str], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    with pytest.raises(
        BrokerUnavailableError,
        match=r"topic flights: no response .* at 127\.0\.0\.1:1 within 5 s: .*:1 failed: Connection refused",
    ):
        KafkaAvroSource(TOPIC, REFUSED, conf).ranges()
    assert time.monotonic() - began < clients.ANSWER_SECONDS
    (line,) = warnings(caplog)
    assert "topic flights" in line
    assert "Connection refused" in line
    assert CLIENTS_OWN not in capfd.readouterr().err


@pytest.mark.usefixtures("hurried")
def test_each_kind_of_unreachable_broker_is_reported(conf: dict[str, str], kafka: dict[str, str]) -> None:
    plain = kafka["bootstrap.servers"]
    for given, expected in (
        ({"bootstrap.servers": "no..where:9092"}, "at no..where:9092 within 1 s: .*Failed to resolve"),
        ({"bootstrap.servers": "no..where"}, "at no..where within 1 s: .*Failed to resolve"),
        ({"metadata.broker.list": "127.0.0.1:1"}, "at 127.0.0.1:1 within 1 s: .*Connection refused"),
        ({"bootstrap.servers": plain, "security.protocol": "ssl"}, f"at {plain} within 1 s: .*SSL.* .hint: .*security"),
        (
            {"bootstrap.servers": "127.0.0.1:1, PLAINTEXT://127.0.0.1:2"},
            r"within 1 s: (?=.*127\.0\.0\.1:1 failed)(?=.*127\.0\.0\.1:2 failed)",
        ),
    ):
        with pytest.raises(BrokerUnavailableError, match=expected):
            KafkaAvroSource(TOPIC, given, conf).ranges()


@pytest.mark.usefixtures("hurried")
def test_a_silent_broker_gets_the_longer_timeout(conf: dict[str, str], silent: str) -> None:
    for addresses in (silent, f"{silent},127.0.0.1:1"):
        with pytest.raises(BrokerUnavailableError, match=f"at {addresses} within 2 s"):
            KafkaAvroSource(TOPIC, {"bootstrap.servers": addresses}, conf).ranges()


@pytest.mark.usefixtures("hurried")
def test_a_broker_that_has_answered_before_gets_the_longer_timeout(conf: dict[str, str]) -> None:
    """It may be restarting."""
    with MockBroker({TOPIC: 1}) as broker:
        kafka = {"bootstrap.servers": broker.bootstrap_servers}
        source = KafkaAvroSource(TOPIC, kafka, conf)
        assert source.ranges() == []
    with pytest.raises(BrokerUnavailableError, match=r"within 2 s: .*Connection refused"):
        source.ranges()


@pytest.mark.usefixtures("hurried")
def test_a_task_names_the_broker_that_it_could_not_reach(conf: dict[str, str], silent: str) -> None:
    read = KafkaAvroSource(TOPIC, REFUSED, conf).read([OffsetRange(0, 0, 1)])
    with pytest.raises(BrokerUnavailableError, match=r"at 127\.0\.0\.1:1 within 1 s: .*Connection refused"):
        list(read)
    read = KafkaAvroSource(TOPIC, {"bootstrap.servers": silent}, conf).read([OffsetRange(3, 0, 1)])
    with pytest.raises(BrokerUnavailableError, match=f"topic flights: no response from a Kafka broker at {silent}"):
        list(read)


@pytest.mark.usefixtures("hurried")
def test_the_clients_own_log_can_be_turned_on(conf: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[KafkaError] = []
    kafka = {**REFUSED, "log_level": 3, "error_cb": heard.append}
    with pytest.raises(BrokerUnavailableError):
        KafkaAvroSource(TOPIC, kafka, conf).ranges()
    assert CLIENTS_OWN in capfd.readouterr().err
    assert "_TRANSPORT" in {error.name() for error in heard}


def test_options_without_a_broker_are_refused(conf: dict[str, str]) -> None:
    for kind in (KafkaAvroSink, KafkaAvroSource):
        for none in ({}, {"bootstrap.servers": ""}, {"client.id": "me"}):
            with pytest.raises(
                ConfigError, match=r"topic flights: the Kafka client's options have no bootstrap\.servers"
            ):
                kind(TOPIC, none, conf, SCHEMA)


# --- the sink


@pytest.mark.usefixtures("hurried")
def test_a_sink_looks_for_a_broker_before_any_task(
    spark: SparkSession, orders: DataFrame, conf: dict[str, str]
) -> None:
    columns = KafkaAvroSink("orders", REFUSED, conf, SCHEMA)
    rows = KafkaAvroSink("orders", REFUSED, conf, SCHEMA, key=lambda row: str(row.id))
    spark.sparkContext.setJobGroup("away", "")
    try:
        for write in (columns.write, lambda df: columns.foreach_batch(df, 0), rows.write):
            with pytest.raises(BrokerUnavailableError, match=r"topic orders: .* at 127\.0\.0\.1:1 within 1 s"):
                write(orders)
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("away") == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_a_sink_checks_the_columns_before_it_looks_for_a_broker(orders: DataFrame, conf: dict[str, str]) -> None:
    for key in ("nmae", lambda row: row.id):
        sink = KafkaAvroSink("orders", REFUSED, conf, SCHEMA, key=key)
        with pytest.raises(ConfigError):
            sink.write(orders.select("*", orders["note"]) if callable(key) else orders)


def test_a_delivery_error_names_the_brokers(conf: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    row = Row(id=1, state="PAID", note=None)
    sink = KafkaAvroSink("orders", {**REFUSED, "message.timeout.ms": 1_000}, conf, SCHEMA)
    expected = r"1 messages not delivered; .*hint: the brokers are 127\.0\.0\.1:1; the client reported .*refused"
    with pytest.raises(DeliveryError, match=expected):
        sink.foreach_partition([row])
    assert CLIENTS_OWN not in capfd.readouterr().err


# --- the command line


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (BrokerUnavailableError("no response from a Kafka broker at x:1"), "no response from a Kafka broker at x:1"),
        (KafkaException(KafkaError(KafkaError.INVALID_PARTITIONS)), "Kafka: "),
    ],
    ids=["ours", "the client's"],
)
def test_the_command_reports_a_kafka_error_in_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, expected: str
) -> None:
    def run(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(Job, "__init__", lambda job, *_: setattr(job, "registry", None))
    monkeypatch.setattr(Job, "run", run)
    arguments = ["--bootstrap-servers", "x:1", "--schema-registry-url", "http://nowhere"]
    ended = CliRunner().invoke(demo, arguments)
    assert ended.exit_code == 1
    assert f"Error: {expected}" in ended.stderr
