"""format("streamnative-kafka") on a real Kafka: messages that keep arriving, and times, which the mock broker lacks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyspark
import pytest
from confluent_kafka import Producer
from migrations import create, new_name
from pyspark.sql import DataFrame, SparkSession
from servers import Kafka
from waiting import HANG_SECONDS, join, until

from streamnative_serdes.spark.datasource.reading.stream import HAS_LIMITS

FORMAT, PUSH_DOWN = "streamnative-kafka", "spark.sql.python.filterPushdown.enabled"
PARTITIONS, BEFORE, MOST = 2, 400, 100
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
STAMPED = 60  # messages of each partition, one a second
BEHIND = 5  # so many seconds behind is every third message


@pytest.fixture
def topic(kafka: Kafka) -> str:
    """A topic that keeps messages of 2024."""
    name = new_name("datasource")
    create(kafka.bootstrap_servers, name, partitions=PARTITIONS, retention_ms="-1")
    return name


@pytest.fixture
def options(kafka: Kafka, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": kafka.bootstrap_servers, "kafka.log_level": "0", "subscribe": topic}


class Arrivals:
    """Writes numbered messages, one after another; ``count`` is how many the broker has."""

    def __init__(self, kafka: Kafka, topic: str, transactional_id: str | None) -> None:
        conf = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}
        self._topic, self._transactions = topic, transactional_id is not None
        self._producer = Producer({**conf, **({"transactional.id": transactional_id} if transactional_id else {})})
        if self._transactions:
            self._producer.init_transactions(HANG_SECONDS)
        self.count = 0

    def send(self, messages: int) -> None:
        if self._transactions:
            self._producer.begin_transaction()
        for number in range(self.count, self.count + messages):
            self._producer.produce(self._topic, b"%d" % number, partition=number % PARTITIONS)
        assert self._producer.flush(HANG_SECONDS) == 0
        if self._transactions:
            self._producer.commit_transaction(HANG_SECONDS)
        self.count += messages

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Messages keep arriving during the block."""
        stop = threading.Event()

        def write() -> None:
            while not stop.wait(0.1):  # few: all that arrive until the query has begun are read, in small batches
                self.send(5)

        writer = threading.Thread(target=write, name="the writer")
        writer.start()
        try:
            yield
        finally:
            stop.set()
            join(writer)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_available_now_ends_while_messages_keep_arriving_and_reads_all_that_were_there_in_batches_of_the_limit(
    spark: SparkSession, kafka: Kafka, topic: str, options: dict[str, str], tmp_path: Path, isolation: str
) -> None:
    arrivals = Arrivals(kafka, topic, topic if isolation == "read_committed" else None)
    arrivals.send(BEFORE)
    batches: list[list[int]] = []
    counts: list[int] = []  # of messages that were written when a batch ended

    def note(df: DataFrame, _: int) -> None:
        batches.append([int(row.value) for row in df.collect()])
        arrived = arrivals.count
        until(lambda: arrivals.count > arrived, "more messages arrive before the next batch")
        counts.append(arrivals.count)

    given = {**options, "startingOffsets": "earliest", "kafka.isolation.level": isolation}
    if HAS_LIMITS:
        given["maxOffsetsPerTrigger"] = str(MOST)
    writer = spark.readStream.format(FORMAT).options(**given).load().writeStream.foreachBatch(note)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    with arrivals.going_on():
        query = writer.start()
        ended = query.awaitTermination(int(HANG_SECONDS))
        query.stop()
        last = arrivals.count
        until(lambda: arrivals.count > last, "messages still arrive")
    assert ended, f"it reads what arrives, and does not end: {len(batches)} batches"
    read = [number for batch in batches for number in batch]
    assert len(read) == len(set(read))
    assert set(range(BEFORE)) <= set(read)
    # Where it ends was noted before the first batch.
    assert len(read) < counts[0]
    if HAS_LIMITS:
        assert len(batches) >= BEFORE // MOST
        assert max(map(len, batches)) <= MOST
    else:
        assert len(batches) == 1


@pytest.fixture
def stamped(kafka: Kafka, topic: str) -> None:
    """Messages of 2024 whose times are not in the order of their offsets."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    for number in range(STAMPED):
        seconds = number - BEHIND if number % 3 == 0 else number
        for partition in range(PARTITIONS):
            moment = BEGIN + timedelta(seconds=seconds, milliseconds=partition)
            stamp = round(moment.timestamp() * 1000)
            producer.produce(topic, b"%d" % number, partition=partition, timestamp=stamp)
    assert producer.flush(HANG_SECONDS) == 0


def rows_that_the_source_gave(df: DataFrame) -> int:
    """How many rows Spark got to filter, after the DataFrame was collected."""
    plans: list[Any] = [df._jdf.queryExecution().executedPlan()]
    while plans:
        plan = plans.pop()
        children = plan.children()
        plans += [children.apply(number) for number in range(children.size())]
        if not children.size():
            return int(plan.metrics().apply("numOutputRows").value())
    raise AssertionError("there is no scan")


@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="PySpark pushes filters down from 4.1 on")
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
@pytest.mark.parametrize(
    ("where", "most"),
    [
        # BEHIND seconds and one message: where the first message with such a time is.
        ("timestamp >= timestamp'2024-01-01 00:00:40Z'", 20 * PARTITIONS),
        ("timestamp > timestamp'2024-01-01 00:00:40Z'", 20 * PARTITIONS),
        ("timestamp > timestamp'2024-01-01 00:00:40.0005Z'", 20 * PARTITIONS),
        ("timestamp = timestamp'2024-01-01 00:00:40.001Z'", 20 * PARTITIONS),
        ("timestamp > timestamp'2025-01-01 00:00:00Z'", 0),
        ("timestamp < timestamp'2024-01-01 00:00:10Z'", STAMPED * PARTITIONS),
        ("timestamp >= timestamp'2023-01-01 00:00:00Z'", STAMPED * PARTITIONS),
        ("partition = 1", STAMPED),
        ("offset >= 50 and offset < 55", 5 * PARTITIONS),
        ("partition = 1 and offset > 30 and timestamp >= timestamp'2024-01-01 00:00:40Z'", 20),
        ("partition = 0 and offset < 50 and timestamp >= timestamp'2024-01-01 00:00:40Z'", 10),
    ],
)
def test_filters_that_are_pushed_down_read_fewer_offsets_and_give_the_same_rows(
    spark: SparkSession, options: dict[str, str], stamped: None, where: str, most: int, zone: str
) -> None:
    def read() -> tuple[list[Any], int]:
        df = spark.read.format(FORMAT).options(**options).load().where(where)
        rows = df.collect()
        return sorted((row.partition, row.offset, row.timestamp) for row in rows), rows_that_the_source_gave(df)

    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    try:
        spark.conf.set("spark.sql.session.timeZone", zone)
        expected, all_rows = read()
        spark.conf.set(PUSH_DOWN, "true")
        found, fewer = read()
    finally:
        spark.conf.set(PUSH_DOWN, "false")
        spark.conf.set("spark.sql.session.timeZone", before)
    assert found == expected
    assert (all_rows, fewer) == (STAMPED * PARTITIONS, most)
