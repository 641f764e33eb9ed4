"""Outbox: tasks of a worker process share a producer, and each task knows whether its messages were delivered."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from orders import TOPIC, messages_of
from program import printed

from streamnative_serdes.spark import DeliveryError
from streamnative_serdes.spark.datasource.writing.outbox import _LOOK_EVERY, Outbox, outbox


def send(kafka: dict[str, Any], messages: Iterable[tuple[bytes, str | None]]) -> None:
    with outbox(kafka, TOPIC) as out:
        out.send_all(messages)


def test_an_undelivered_message_is_an_error_that_says_why(kafka: dict[str, str]) -> None:
    def send_to_no_partition() -> None:
        with outbox({**kafka, "message.timeout.ms": 500}, TOPIC, most_reasons=2) as out:
            for _ in range(5):
                out.send(b"x", partition=98)

    # The client reports it immediately if it already knows the topic, else on delivery.
    with pytest.raises(
        DeliveryError, match=r"topic flights: . messages not delivered; .*[Uu]nknown partition"
    ) as caught:
        send_to_no_partition()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert 1 <= len(again.reasons) <= 2
    assert (again.failed, again.left) == (caught.value.failed, 0)


@pytest.mark.parametrize("queue", [1, 100, _LOOK_EVERY, _LOOK_EVERY + 1, 100_000])
def test_many_messages_are_sent_like_single_ones(kafka: dict[str, str], queue: int) -> None:
    """The queue is smaller than the number of messages, or not, and than what is sent between two looks: all arrive."""
    numbers = [str(number) for number in range(2_500 if queue > 1 else 50)]
    with outbox({**kafka, "queue.buffering.max.messages": queue, "linger.ms": 0}, TOPIC) as out:
        out.send_all((None if number == "7" else number.encode(), number) for number in numbers)
        out.send_all([(b"keyless", None)])
        out.send_all([])
    messages = messages_of(kafka)
    found = {message.key(): message.value() for message in messages}
    assert found.pop(None) == b"keyless"
    assert found == {number.encode(): None if number == "7" else number.encode() for number in numbers}
    places = [(message.partition(), int(message.key())) for message in messages if message.key()]
    assert places == sorted(places), "the order within a partition is that of the rows"


def test_a_message_that_the_client_refuses_does_not_affect_others(kafka: dict[str, str]) -> None:
    with pytest.raises(DeliveryError, match=r"topic flights: 1 messages not delivered; .*[Mm]essage size too large"):
        send({**kafka, "message.max.bytes": 1_000}, [(b"small", None), (b"x" * 2_000, None)])


def test_a_key_that_utf_8_cannot_write_is_an_error(kafka: dict[str, str]) -> None:
    with pytest.raises(UnicodeEncodeError):
        send(kafka, [(b"first", "k"), (b"second", "\ud800"), (b"third", "k")])


def test_the_method_of_a_producer_that_is_instrumented_is_called(
    kafka: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import confluent_kafka

    seen: list[object] = []

    class Instrumented(confluent_kafka.Producer):
        def produce(self, topic: str, value: object = None, *more: object, **named: object) -> None:
            seen.append(value)
            super().produce(topic, value, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(confluent_kafka, "Producer", Instrumented)
    with outbox({**kafka, "client.id": "instrumented"}, TOPIC) as out:
        out.send_all([(b"1", None), (b"2", None)])
    assert seen == [b"1", b"2"]


def test_a_failure_is_detected_while_more_messages_are_sent() -> None:
    with pytest.raises(DeliveryError, match="timed out"):
        send({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 100, "log_level": "0"}, for_seconds())


def for_seconds() -> Iterator[tuple[bytes, None]]:
    """Yield fewer messages than fill the queue, because a full queue would reveal the failure too."""
    for _ in range(50_000):
        yield b"x", None
        time.sleep(0.0001)
    raise AssertionError("not noticed")


def test_messages_that_are_left_when_time_is_up_are_an_error() -> None:
    """The limit is shorter than the client's own limit, which may be infinite."""

    def send_many(most: int) -> None:
        with outbox({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 0}, TOPIC) as out:
            out._patience = 0.2
            for _ in range(most):
                out.send(b"x")

    for most in (1, 3):
        with pytest.raises(DeliveryError, match=f"topic flights: {most} still in flight .*127.0.0.1:1") as caught:
            send_many(most)
        assert (caught.value.failed, caught.value.left, caught.value.reasons) == (0, most, ())


def test_an_error_counts_messages_in_flight_and_failed_ones() -> None:
    error = DeliveryError.of(TOPIC, 2, 3, ["refused"])
    assert str(error) == "topic flights: 2 messages not delivered, 3 still in flight; refused"
    assert (error.failed, error.left, error.reasons) == (2, 3, ("refused",))


def test_messages_queued_by_a_failed_task_are_not_sent_by_the_next(kafka: dict[str, str]) -> None:
    slow = {**kafka, "linger.ms": 60_000}

    def fail() -> None:
        with outbox(slow, TOPIC) as out:
            out.send(b"queued")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with outbox(slow, TOPIC) as out:
        out.send(b"sent")
    assert [message.value() for message in messages_of(kafka)] == [b"sent"]


def test_the_last_offset_of_each_partition_that_a_task_has_written_is_known(kafka: dict[str, str]) -> None:
    for task in range(2):
        with outbox(kafka, TOPIC, places=True) as out:
            assert out.places() == {}, "the offsets of an earlier task are not this one's"
            for number in range(4):
                out.send(b"x", partition=0 if number < 3 else task + 1)
            out.flush()
            assert out.places() == {(TOPIC, 0): 3 * task + 2, (TOPIC, task + 1): 0}


def test_a_process_has_one_producer_for_all_its_tasks(kafka: dict[str, str]) -> None:
    with outbox(kafka, TOPIC) as one, outbox(kafka, TOPIC) as meanwhile:
        assert meanwhile is not one
    with outbox(dict(kafka), TOPIC) as again:
        assert again in (one, meanwhile)
    with outbox({**kafka, "linger.ms": 1}, TOPIC) as other:
        assert other not in (one, meanwhile)


def test_a_producer_is_used_again_only_if_the_brokers_know_its_topic(
    kafka: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic that was recreated may have fewer partitions, and right after that a broker may not know it yet."""
    import confluent_kafka

    unknown = SimpleNamespace(topics={TOPIC: SimpleNamespace(error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))})
    answers: list[Any] = []

    class Asked(confluent_kafka.Producer):
        def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
            answer = answers.pop()
            if isinstance(answer, Exception):
                raise answer
            return answer or super().list_topics(topic or "", timeout)

    monkeypatch.setattr(confluent_kafka, "Producer", Asked)

    def written(topic: str) -> Outbox:
        with outbox({**kafka, "client.id": "again"}, topic) as out:
            out.send(b"x", topic=TOPIC)
        assert not answers
        return out

    first = written(TOPIC)
    assert written("") is first, "each row has its own topic, so nobody is asked"
    answers.append(None)
    assert written(TOPIC) is first
    answers.append(unknown)
    second = written(TOPIC)
    assert second is not first
    answers.append(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
    third = written(TOPIC)
    assert third is not second
    answers.append(None)
    assert written(TOPIC) is third
    assert len(messages_of(kafka)) == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_makes_its_own_producer(kafka: dict[str, str]) -> None:
    """In a program of its own, which has no threads of other tests: a lock that one of them held would stay locked."""
    program = f"""if True:
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # it forks although it has threads
        from streamnative_serdes.spark.datasource.writing.outbox import outbox
        with outbox({kafka!r}, {TOPIC!r}) as mine:
            mine.send(b"parent")
        child = os.fork()
        if child == 0:
            with outbox({kafka!r}, {TOPIC!r}) as own:
                own.send(b"child")
            os._exit(10 + (own is mine))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10
    """
    assert printed("-c", program) == ""
    assert sorted(message.value() for message in messages_of(kafka)) == [b"child", b"parent"]
