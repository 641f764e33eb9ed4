"""Transactions of the data source's tasks on a real Kafka: whole or not at all, and once, however attempts end."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from orders import messages_of
from pyspark.sql import types as T
from servers import Kafka
from waiting import HANG_SECONDS, until

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.writing import writers
from streamnative_serdes.spark.datasource.writing.transactions import (
    FencedError,
    Identity,
    OtherRowsError,
    Rows,
    StaleBatchError,
    TransactionError,
    transaction,
)
from streamnative_serdes.spark.datasource.writing.writers import BatchWriter, Task
from streamnative_serdes.spark.datasource.writing.writes import Sent, Write

PARTITIONS = 2
KILLS = pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
SIGNED_IN = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "me",
    "sasl.password": "secret",
}
COLUMNS = T.StructType([T.StructField("key", T.StringType()), T.StructField("value", T.StringType())])


class Topic:
    """A topic, and tasks that write to it for one query."""

    def __init__(self, kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kafka = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": "0"}
        self.name, self.query = uuid4().hex, uuid4().hex
        self._admin = AdminClient(self.kafka)
        self._admin.create_topics([NewTopic(self.name, PARTITIONS)])[self.name].result(HANG_SECONDS)
        self._monkeypatch = monkeypatch

    def permit(self, kind: ResourceType, prefix: str, *operations: str) -> None:
        """Give the user ``me`` rights on all names that begin with ``prefix``."""
        who = (ResourcePatternType.PREFIXED, "User:me", "*")
        bindings = [AclBinding(kind, prefix, *who, AclOperation[name], AclPermissionType.ALLOW) for name in operations]
        for answer in self._admin.create_acls(bindings).values():
            answer.result(HANG_SECONDS)

    def run(self, numbers: range, batch: int = 0, partition: int = 0, **options: str) -> Sent:
        """Run a task of a stream that writes these numbers, as Spark does."""
        return self.task(batch, partition, **options).run(iter([rows(numbers)]))

    def task(self, batch: int = 0, partition: int = 0, **options: str) -> Task:
        given = {"kafka.bootstrap.servers": self.kafka["bootstrap.servers"], "topic": self.name, **options}
        writer = writers.stream_writer({"delivery": "transactional", **given}, COLUMNS, overwrite=False)
        self._monkeypatch.setattr(Write, "of_task", lambda: Write(self.query, batch))
        self._monkeypatch.setattr(writers, "partition_of_task", lambda: partition)
        task: Task = writer._task  # type: ignore[attr-defined]
        return task

    def identity(self, batch: int = 0, partition: int = 0) -> Identity:
        return Identity(self.query, batch, partition)

    def read(self, isolation: str = "read_committed") -> list[int]:
        """The numbers in the topic, in ascending order."""
        kafka = {**self.kafka, "isolation.level": isolation}
        return sorted(int(message.value()) for message in messages_of(kafka, self.name))


def rows(numbers: range) -> pa.RecordBatch:
    texts = [str(number) for number in numbers]
    return pa.RecordBatch.from_pydict({"key": texts, "value": texts})


@pytest.fixture
def topic(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> Topic:
    return Topic(kafka, monkeypatch)


class Dying(Exception):
    """Stands for the death of a process: nothing is cleaned up."""


def dying(topic: Topic, monkeypatch: pytest.MonkeyPatch, where: Callable[..., None]) -> None:
    """An attempt that ends in its commit as if it were killed: ``where`` is called in place of Transaction.commit."""
    with monkeypatch.context() as patch:
        patch.setattr("streamnative_serdes.spark.datasource.writing.transactions.Transaction.abort", lambda _: None)
        patch.setattr("streamnative_serdes.spark.datasource.writing.transactions.Transaction.commit", where)
        with pytest.raises(Dying):
            topic.run(range(10))


def test_an_attempt_that_is_killed_before_its_commit_leaves_nothing(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    def before(transaction: Any, *_: Any) -> None:
        transaction.out.flush()
        left.append(transaction)  # as long as it is referred to, its client is not closed, which would abort
        raise Dying

    left: list[Any] = []
    dying(topic, monkeypatch, before)
    assert topic.read("read_uncommitted") == list(range(10)), "the rows were sent"
    sent = topic.run(range(10))
    assert (sent.messages, sent.again) == (10, False)
    assert topic.read() == list(range(10))
    assert topic.read("read_uncommitted") == sorted([*range(10), *range(10)])


def test_an_attempt_that_is_killed_after_its_commit_is_not_repeated(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamnative_serdes.spark.datasource.writing.transactions import Transaction

    commit = Transaction.commit

    def after(transaction: Any, *given: Any) -> None:
        commit(transaction, *given)
        raise Dying

    dying(topic, monkeypatch, after)
    for _ in range(2):
        sent = topic.run(range(10))
        assert (sent.messages, sent.again) == (10, True)
    assert topic.read("read_uncommitted") == list(range(10)), "nothing was sent again"


def test_a_zombie_attempt_cannot_commit_beside_a_newer_one(topic: Topic) -> None:
    def slow() -> None:
        with transaction(topic.kafka, topic.name, topic.identity()) as (zombie, its_consumer):
            assert zombie.begin(its_consumer) is None
            zombie.out.send(b"100", b"zombie")
            zombie.out.flush()
            assert topic.run(range(5)).messages == 5
            zombie.commit(its_consumer, Rows(1, "", ""))

    with pytest.raises(FencedError, match="a newer attempt of the task has begun"):
        slow()
    assert topic.read() == list(range(5))


def test_a_zombie_attempt_that_begins_after_the_commit_sends_nothing(topic: Topic) -> None:
    topic.run(range(5))
    topic.run(range(5, 9), batch=1)
    with pytest.raises(StaleBatchError, match="has committed batch 1 in task partition 0"):
        topic.run(range(5))
    assert topic.run(range(5, 9), batch=1).again
    assert topic.read("read_uncommitted") == list(range(9))


def test_batches_and_partitions_have_transactions_of_their_own(topic: Topic) -> None:
    for batch in range(3):
        for partition in range(2):
            begin = 10 * (2 * batch + partition)
            sent = topic.run(range(begin, begin + 10), batch, partition)
            assert (sent.partition, sent.messages, sent.again) == (partition, 10, False)
    assert topic.read() == list(range(60))
    assert topic.run(range(50, 60), 2, 1).again


@pytest.mark.parametrize("other", [range(20), range(5), range(10, 20), range(-1, 9), range(0)])
def test_another_number_of_partitions_after_a_commit_is_an_error_and_nothing_is_lost_in_silence(
    topic: Topic, other: range
) -> None:
    topic.run(range(10))
    with pytest.raises(OtherRowsError, match="with 10 rows, and gives") as raised:
        topic.run(other)
    assert "same number of partitions" in str(raised.value)
    assert topic.read("read_uncommitted") == list(range(10))


def test_a_task_without_rows_sends_nothing_unless_rows_were_committed_in_its_place(topic: Topic) -> None:
    assert topic.run(range(0)) == Sent(0)
    assert topic.run(range(10)).messages == 10
    assert topic.run(range(0), 0, 1) == Sent(1)
    assert topic.run(range(0), 1) == Sent(0)
    with pytest.raises(
        OtherRowsError, match="batch 0 was committed in task partition 0 with 10 rows, and gives 0 rows"
    ):
        topic.run(range(0))
    topic.run(range(10, 20), 1)
    topic.run(range(20, 30), 2)
    with pytest.raises(StaleBatchError):
        topic.run(range(0), 1)
    assert topic.read() == list(range(30))


def test_a_task_that_fails_aborts_its_transaction(topic: Topic) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield rows(range(10))
        raise Dying

    with pytest.raises(Dying):
        topic.task().run(batches())
    assert topic.read() == []
    assert topic.run(range(10)).messages == 10
    assert topic.read() == list(range(10))


def test_the_retry_of_a_task_of_a_batch_write_sends_nothing_again(topic: Topic) -> None:
    given = {"kafka.bootstrap.servers": topic.kafka["bootstrap.servers"], "topic": topic.name}
    writer = writers.writer({**given, "delivery": "transactional"}, COLUMNS, overwrite=False)
    assert isinstance(writer, BatchWriter)
    first, again = (writer.write(iter([rows(range(10))])) for _ in range(2))
    assert isinstance(first, Sent)
    assert isinstance(again, Sent)
    assert (first.again, again.again) == (False, True)
    assert topic.read("read_uncommitted") == list(range(10))


def test_an_offset_that_no_task_has_committed_is_an_error(topic: Topic) -> None:
    consumer = Consumer({**topic.kafka, "group.id": topic.identity().name})
    consumer.commit(offsets=[TopicPartition(topic.name, 0, 1)], asynchronous=False)
    consumer.close()
    with pytest.raises(TransactionError, match="has an offset that no task has committed"):
        topic.run(range(10))
    assert topic.read("read_uncommitted") == []


TOO_LONG = {"transaction.timeout.ms": "900001"}  # by a millisecond


def test_a_timeout_that_the_broker_refuses_is_an_error_before_a_task_runs(topic: Topic) -> None:
    given = {"kafka.bootstrap.servers": topic.kafka["bootstrap.servers"], "topic": topic.name}
    told = {**given, "delivery": "transactional", **{f"kafka.{name}": value for name, value in TOO_LONG.items()}}
    for make in (writers.writer, writers.stream_writer):
        with pytest.raises(ConfigError, match=r"kafka.transaction.timeout.ms: the broker refuses 900001"):
            make(told, COLUMNS, overwrite=False)
        make({**told, "kafka.transaction.timeout.ms": "900000"}, COLUMNS, overwrite=False)


def test_a_task_says_the_same_if_the_broker_was_told_otherwise_meanwhile(topic: Topic) -> None:
    with (
        pytest.raises(ConfigError, match=r"kafka.transaction.timeout.ms: the broker refuses 900001"),
        transaction({**topic.kafka, **TOO_LONG}, topic.name, topic.identity()) as (mine, consumer),
    ):
        mine.begin(consumer)


@pytest.fixture
def strict(servers_at_hand: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Topic]:
    """A topic of a Kafka where a user may do what ACLs permit: to write the topic, and nothing else."""
    with Kafka(users={"me": "secret"}, rights=True) as server:
        topic = Topic(server, monkeypatch)
        topic.permit(ResourceType.TOPIC, topic.name, "WRITE", "DESCRIBE", "READ")
        topic.kafka |= {"bootstrap.servers": server.sasl_servers, **SIGNED_IN}
        yield topic


def test_a_user_needs_rights_for_the_ids_and_groups_of_a_query_alone_and_errors_say_so(strict: Topic) -> None:
    told = {f"kafka.{name}": value for name, value in SIGNED_IN.items()}
    needs = r"WRITE and DESCRIBE on transactional ids, and READ on groups, that begin with streamnative-serdes.spark\."
    task = strict.task(**told)  # the driver does not know what the tasks may do
    with pytest.raises(TransactionError, match=needs) as raised:
        task.run(iter([rows(range(10))]))
    assert not isinstance(raised.value, FencedError)
    mine = f"streamnative-serdes.spark.{strict.query}."
    strict.permit(ResourceType.TRANSACTIONAL_ID, mine, "WRITE", "DESCRIBE")
    with pytest.raises(TransactionError, match=needs):
        task.run(iter([rows(range(10))]))
    strict.permit(ResourceType.GROUP, mine, "READ")
    assert task.run(iter([rows(range(10))])).messages == 10
    assert task.run(iter([rows(range(10))])).again


def begun(process: Any, step: Path) -> Any:
    """The process, once it has noted a step."""
    before = step.stat().st_mtime_ns if step.exists() else 0
    until(lambda: process.exitcode is not None or (step.exists() and step.stat().st_mtime_ns != before), "it runs")
    return process


@KILLS
def test_tasks_that_are_killed_at_any_moment_write_each_row_once(topic: Topic, tmp_path: Path, kills: int) -> None:
    import killed_tasks

    batches, rows, chance = 4 * kills, 500, random.Random(3)
    told = {"kafka.bootstrap.servers": topic.kafka["bootstrap.servers"], "kafka.log_level": "0", "topic": topic.name}
    given = ({**told, "delivery": "transactional"}, topic.query, tmp_path, batches, rows)
    step, hits = tmp_path / "step", []
    for _ in range(kills):
        process = begun(killed_tasks.start(*given), step)
        time.sleep(chance.random())
        process.kill()
        process.join(HANG_SECONDS)
        hits.append(step.read_text())
    print(*hits, sep="\n")
    assert any(hit.startswith("batch") for hit in hits), "no kill hit a running batch"
    process = killed_tasks.start(*given)
    process.join(3 * HANG_SECONDS)
    assert process.exitcode == 0
    assert topic.read() == list(range(2 * batches * rows))
