"""Consumers of a worker process are kept for its next tasks: a few, for a while, and never over a fork."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from program import printed
from scripted_consumer import ScriptedConsumer
from waiting import until

from streamnative_serdes import ConfigError
from streamnative_serdes._kafka import ClientErrors, StalledError
from streamnative_serdes.spark import OffsetOutOfRangeError
from streamnative_serdes.spark.datasource.offsets.ranges import Range
from streamnative_serdes.spark.datasource.reading import task
from streamnative_serdes.spark.datasource.reading.task import Leased, Patience, Pool, read_range
from streamnative_serdes.testing import MockBroker


@pytest.fixture(scope="module")
def kafka() -> Iterator[dict[str, Any]]:
    with MockBroker({"t": 2}) as broker:
        conf = {"bootstrap.servers": broker.bootstrap_servers}
        producer = Producer(conf)
        for n in range(1200):
            producer.produce("t", f"v{n:04}".encode(), partition=0)
        assert producer.flush(30) == 0
        yield {**conf, "group.id": "g", "log_level": 0}


def use(pool: Pool, conf: dict[str, Any]) -> Any:
    with pool.lease(conf, "t") as leased:
        return leased.consumer


def test_a_consumer_is_used_again_for_the_same_configuration_alone(kafka: dict[str, Any]) -> None:
    pool = Pool()
    first = use(pool, kafka)
    assert use(pool, kafka) is first
    assert use(pool, {**kafka, "client.id": "other"}) is not first
    assert use(pool, kafka) is first
    assert (pool.opened, pool.idle) == (2, 2)
    pool.close()
    assert pool.idle == 0
    assert use(pool, kafka) is not first


def test_errors_of_a_consumer_that_is_used_again_are_of_its_task(kafka: dict[str, Any]) -> None:
    pool = Pool()
    first = use(pool, kafka)
    with pool.lease(kafka, "t") as leased:
        leased.errors(KafkaError(KafkaError._TRANSPORT, "x:1: Connection refused"))
    with pool.lease(kafka, "other") as leased:
        assert leased.consumer is first
        assert str(leased.errors) == ""
        assert leased.errors.error(1.0).topic == "other"
    pool.close()


def test_two_tasks_never_share_a_consumer(kafka: dict[str, Any]) -> None:
    pool = Pool()
    with pool.lease(kafka, "t") as one, pool.lease(kafka, "t") as two:
        assert one.consumer is not two.consumer
    assert (pool.opened, pool.idle) == (2, 2)
    pool.close()


def test_the_consumer_that_was_not_used_for_longest_is_closed_if_there_are_too_many(kafka: dict[str, Any]) -> None:
    pool = Pool(most=2)
    confs = [{**kafka, "client.id": f"c{n}"} for n in range(3)]
    consumers = [use(pool, conf) for conf in confs]
    assert pool.idle == 2
    with pytest.raises(RuntimeError, match="closed"):
        consumers[0].consume(1, 0)
    assert use(pool, confs[1]) is consumers[1]
    assert use(pool, confs[0]) is not consumers[0]
    with pytest.raises(RuntimeError, match="closed"):
        consumers[2].consume(1, 0)
    pool.close()


def test_a_consumer_is_closed_when_it_is_idle_for_too_long_and_after_an_error(kafka: dict[str, Any]) -> None:
    pool = Pool(idle_seconds=0.05)
    first = use(pool, kafka)
    until(lambda: pool.idle == 0, "the idle consumer is closed")
    assert use(pool, kafka) is not first
    until(lambda: pool.idle == 0, "the next one too")
    with pytest.raises(ValueError, match="mine"), pool.lease(kafka, "t"):
        raise ValueError("mine")
    assert pool.idle == 0
    with pytest.raises(ConfigError, match="No such configuration property"), pool.lease({**kafka, "x": "1"}, "t"):
        pass


def test_no_consumer_is_used_after_a_fork(kafka: dict[str, Any]) -> None:
    """In a program of its own, which has no other threads."""
    program = f"""if True:
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # it forks although it has threads
        from streamnative_serdes.spark.datasource.reading import task
        conf = {kafka!r}
        with task.POOL.own.lease(conf, "t") as leased:
            inherited = leased.consumer
        child = os.fork()
        if child == 0:
            with task.POOL.own.lease(conf, "t") as leased:
                os._exit(10 + (leased.consumer is inherited))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10
        with task.POOL.own.lease(conf, "t") as leased:
            assert leased.consumer is inherited
        task.POOL.own.close()
    """
    assert printed("-c", program) == ""


def test_a_range_is_read_whole_and_no_further(kafka: dict[str, Any]) -> None:
    for start, end in ((0, 1200), (0, 1), (700, 1199), (5, 5)):
        batches = list(read_range(kafka, Range("t", 0, start, end), Patience()))
        assert [message.offset() for batch in batches for message in batch] == list(range(start, end))


def test_batches_grow_and_stay_within_the_limits(kafka: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [len(batch) for batch in read_range(kafka, Range("t", 0, 0, 1200), Patience())]
    assert sizes[0] <= 500
    monkeypatch.setattr(task, "MOST_BYTES", 400)  # five bytes each
    sizes = [len(batch) for batch in read_range(kafka, Range("t", 0, 0, 1200), Patience())]
    assert max(sizes[1:]) == 80


def test_messages_beyond_the_end_of_the_partition_are_lost_or_left_out(kafka: dict[str, Any]) -> None:
    span = Range("t", 0, 1190, 1300)
    with pytest.raises(
        OffsetOutOfRangeError, match="expected messages up to offset 1300, but the partition ends at 1200"
    ):
        list(read_range(kafka, span, Patience()))
    (batch,) = read_range(kafka, span, Patience(fail=False))
    assert [message.offset() for message in batch] == list(range(1190, 1200))
    beyond = Range("t", 0, 5000, 5001)
    with pytest.raises(OffsetOutOfRangeError, match=r"the partition has offsets 0 to 1200.*failOnDataLoss=false"):
        list(read_range(kafka, beyond, Patience()))
    assert list(read_range(kafka, beyond, Patience(fail=False))) == []


def test_a_partition_that_no_longer_exists_is_lost_or_left_out(kafka: dict[str, Any]) -> None:
    span = Range("t", 7, 3, 5)
    with pytest.raises(OffsetOutOfRangeError, match=r"partition 7 from offset 3: the topic or .* no longer exists"):
        list(read_range(kafka, span, Patience(seconds=2.0)))
    assert list(read_range(kafka, span, Patience(fail=False, seconds=2.0))) == []


def test_a_task_does_not_wait_forever(kafka: dict[str, Any]) -> None:
    with pytest.raises(OffsetOutOfRangeError, match="but the partition ends at 0"):
        list(read_range(kafka, Range("t", 1, 0, 5), Patience(seconds=0.01)))


def test_a_range_that_gives_nothing_is_an_error_that_names_the_option(
    kafka: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind an open transaction."""
    consumer = ScriptedConsumer({0: (0, 5, [])})
    monkeypatch.setattr(consumer, "consume", lambda *_: [])
    leased = Leased(consumer, ClientErrors(kafka, "t"))  # type: ignore[arg-type]
    monkeypatch.setattr(task.POOL, "own", SimpleNamespace(lease=lambda *_: nullcontext(leased)))
    with pytest.raises(StalledError, match=r"partition 0: no message from offset 3 on .*kafkaConsumer\.pollTimeoutMs"):
        list(read_range(kafka, Range("t", 0, 3, 5), Patience(seconds=-1.0)))
