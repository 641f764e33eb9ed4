"""A stream with transactions on a real Kafka that is restarted with another number of task partitions.

The unfinished batch is what a kill leaves behind between the sink's commit and Spark's log of commits: its tasks have
committed, and the log does not have it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from migrations import create
from orders import messages_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from servers import Kafka
from waiting import HANG_SECONDS

ROWS = 60


class Copying:
    """A stream that copies a topic of one partition, by as many tasks as ``minPartitions`` says."""

    def __init__(self, spark: SparkSession, kafka: Kafka, folder: Path) -> None:
        self._spark, self._checkpoint = spark, folder / "checkpoint"
        self._kafka = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": "0"}
        self._from, self._to = (f"{name}-{uuid4().hex}" for name in ("from", "to"))
        create(kafka.bootstrap_servers, self._from, self._to, partitions=1)
        self._produced = 0

    def produce(self) -> None:
        producer = Producer(self._kafka)
        for number in range(self._produced, self._produced + ROWS):
            producer.produce(self._from, b"%d" % number)
        assert producer.flush(HANG_SECONDS) == 0
        self._produced += ROWS

    def run(self, tasks: int) -> None:
        """Copy all that is there."""
        client = {f"kafka.{name}": value for name, value in self._kafka.items()}
        told = {**client, "subscribe": self._from, "startingOffsets": "earliest", "minPartitions": str(tasks)}
        messages = self._spark.readStream.format("streamnative-kafka").options(**told).load()
        writer = messages.select("value").writeStream.format("streamnative-kafka").options(**client, topic=self._to)
        writer = writer.options(delivery="transactional", dedupHeaders="true", checkpointLocation=str(self._checkpoint))
        query = writer.start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    def forget_the_last_commit(self) -> None:
        commits = self._checkpoint / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        for path in (commits / f"{last}", commits / f".{last}.crc"):
            path.unlink()

    def copied(self) -> Counter[tuple[int, int]]:
        """How often there is each number, and by which task partition it was written; of committed messages."""
        found = messages_of(self._kafka, self._to)
        return Counter((int(message.value()), int(dict(message.headers())["spark.partition.id"])) for message in found)

    def written(self, tasks: int) -> Counter[tuple[int, int]]:
        """What as many tasks write that have equal parts of each batch."""
        return Counter((number, number % ROWS * tasks // ROWS) for number in range(self._produced))


@pytest.fixture
def copying(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> Copying:
    copying = Copying(spark, kafka, tmp_path)
    copying.produce()
    copying.run(tasks=3)
    assert copying.copied() == copying.written(3)
    copying.forget_the_last_commit()
    copying.produce()
    return copying


def test_fewer_partitions_are_an_error_that_sends_nothing_and_the_number_of_before_goes_on(copying: Copying) -> None:
    before = copying.copied()
    with pytest.raises(StreamingQueryException, match=r"OtherRowsError(.|\n)*same number of partitions"):
        copying.run(tasks=2)
    assert copying.copied() == before
    copying.run(tasks=3)
    assert copying.copied() == copying.written(3)


def test_more_partitions_are_an_error_and_only_the_new_ones_may_have_sent_rows(copying: Copying) -> None:
    with pytest.raises(StreamingQueryException, match=r"OtherRowsError(.|\n)*same number of partitions"):
        copying.run(tasks=4)
    copying.run(tasks=3)
    found, once = copying.copied(), copying.written(3)
    assert {place for place in found if place[1] < 3} == set(once)
    assert set(found.values()) == {1}
    assert {number for number, _ in found - once} <= set(range(45, 60)), "the rows of the fourth"


def test_the_same_number_goes_on_and_writes_each_row_once_and_may_change_once_the_batch_is_done(
    copying: Copying,
) -> None:
    copying.run(tasks=3)
    done = copying.copied()
    assert done == copying.written(3)
    copying.produce()
    copying.run(tasks=2)
    assert Counter(number for number, _ in copying.copied()) == Counter(range(3 * ROWS))
    assert copying.copied() - done == Counter(
        (number, (number - 2 * ROWS) // 30) for number in range(2 * ROWS, 3 * ROWS)
    )
