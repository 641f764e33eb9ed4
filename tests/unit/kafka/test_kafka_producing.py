"""Sending: a full queue is waited for, a broker that reports nothing is given up, and no refusal is passed over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streamnative_serdes._kafka import (
    BrokerUnavailableError,
    RefusedMessageError,
    Sender,
    delivery_seconds,
    kafka_errors,
    producing,
)
from streamnative_serdes._kafka.transactions import until_done

CONF = {"bootstrap.servers": "x:1"}
REFUSED = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)


class Client:
    """A producer whose queue has room for two messages.

    Args:
        reports: what each poll or flush reports of the first message in the queue; at their end, nothing more.
    """

    def __init__(self, *reports: KafkaError | None) -> None:
        self.reports, self.queue = list(reports), list[Any]()
        self.purged, self.given = False, list[dict[str, Any]]()

    def __len__(self) -> int:
        return len(self.queue)

    def produce(self, topic: str, value: bytes, *_: Any, on_delivery: Any, **more: Any) -> None:
        if value == b"too large":
            raise KafkaException(REFUSED)
        self.given.append(more)
        if len(self.queue) == 2:
            raise BufferError
        message = SimpleNamespace(topic=lambda: topic, partition=lambda: 0, value=lambda: value)
        self.queue.append((on_delivery, message))

    def poll(self, seconds: float) -> None:
        if seconds:
            self.flush(seconds)

    def flush(self, _: float) -> None:
        if self.reports and self.queue:
            note, message = self.queue.pop(0)
            note(self.reports.pop(0), message)

    def purge(self) -> None:
        self.queue, self.purged = [], True


def sender_of(client: Client, monkeypatch: pytest.MonkeyPatch, patience: float = 30.0) -> Sender:
    monkeypatch.setattr(producing, "client", lambda *_: client)
    return Sender(CONF, "t", patience)


def test_a_full_queue_is_waited_for_and_the_last_message_of_a_place_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client(*[None] * 5)
    sender = sender_of(client, monkeypatch)
    for topic, value in (("t", b"1"), ("t", b"2"), ("t", b"3"), ("u", b"4")):
        sender.send(topic, value=value)
    assert len(client) == 2
    sender.flush()
    assert {place: message.value() for place, message in sender.delivered.items()} == {("t", 0): b"3", ("u", 0): b"4"}
    assert sender.counts == {("t", 0): 3, ("u", 0): 1}


def test_a_broker_that_reports_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = sender_of(Client(None), monkeypatch, -1.0)
    sender.send("t", value=b"1")
    sender.send("t", value=b"2")
    sender.send("t", value=b"3")  # one was reported
    with pytest.raises(BrokerUnavailableError):
        sender.send("t", value=b"4")
    with pytest.raises(BrokerUnavailableError):
        sender.flush()


def test_a_refusal_is_an_error_once_of_the_next_message_or_of_the_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = sender_of(Client(REFUSED, None, None, REFUSED), monkeypatch)
    for value in (b"1", b"2"):
        sender.send("t", value=value)
    with pytest.raises(RefusedMessageError, match="the broker refused a message: ") as caught:
        sender.send("t", value=b"3")
    assert (caught.value.fault, caught.value.refused.value()) == (REFUSED, b"1")
    sender.send("t", value=b"4")
    sender.send("t", value=b"5")
    with pytest.raises(RefusedMessageError) as caught:
        sender.flush()
    assert caught.value.refused.value() == b"5"
    assert sender.counts == {("t", 0): 2}


def test_who_may_not_produce_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = sender_of(Client(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)), monkeypatch)
    sender.send("t", value=b"1")
    with pytest.raises(RefusedMessageError) as caught:
        sender.flush()
    assert (caught.value.topic, caught.value.hint) == ("t", "the user needs the right to produce to the topic")


def messages(*values: bytes, headers: Any = None) -> list[tuple[Any, Any, int, int, Any]]:
    return [(value, None, -1, 0, headers) for value in values]


def test_many_messages_are_sent_and_those_that_were_refused_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(REFUSED, None, REFUSED, None)
    sender = sender_of(client, monkeypatch)
    assert sender.send_all("t", []) == 0
    assert sender.send_all("t", messages(b"1", b"2", b"3", b"4", headers=[("h", b"")])) == 4
    assert {"timestamp": 0, "headers": [("h", b"")]} in client.given
    with pytest.raises(RefusedMessageError, match="the broker refused 2 messages, the first: ") as caught:
        sender.flush()
    assert (caught.value.count, caught.value.refused.value()) == (2, b"1")
    assert sender.counts.total() == 2
    sender.flush()  # it was said once


def test_earlier_refusals_are_raised_before_many_messages_and_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sender = sender_of(Client(*[REFUSED] * 5_000), monkeypatch)
    sender.send_all("t", messages(b"1", b"2", b"3"))
    with pytest.raises(RefusedMessageError):
        sender.send_all("t", messages(b"4"))
    with pytest.raises(RefusedMessageError) as caught:
        sender.send_all("t", messages(*[b"5"] * 5_000))
    assert caught.value.count <= 1_000


def test_a_message_that_the_client_does_not_take_has_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    sender = sender_of(client, monkeypatch)
    with pytest.raises(KafkaException) as caught:
        sender.send_all("t", messages(b"1", b"too large", b"3"))
    assert caught.value.__notes__ == ["of message 1 of this call"]
    assert client.given == [{"timestamp": 0}]  # without headers, and nothing after it


@pytest.mark.parametrize(
    ("conf", "seconds"),
    [({}, 300.0), ({"delivery.timeout.ms": 500}, 0.5), ({"message.timeout.ms": "1500"}, 1.5)],
)
def test_the_client_gives_a_message_up_after_its_own_time(conf: dict[str, Any], seconds: float) -> None:
    assert delivery_seconds(conf) == seconds
    assert delivery_seconds({"message.timeout.ms": 0}) > 1e5  # never


def test_what_is_discarded_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    sender = sender_of(client, monkeypatch)
    sender.send("t", value=b"1")
    sender.discard()
    assert client.purged
    sender.flush()


@pytest.mark.parametrize(
    ("cause", "meant"),
    [(KafkaException(REFUSED), KafkaException), (None, KeyboardInterrupt), (ZeroDivisionError(), SystemError)],
    ids=["a fatal error", "Ctrl-C in a callback", "something else"],
)
def test_a_system_error_of_the_client_is_raised_as_what_it_means(
    cause: Exception | None, meant: type[BaseException]
) -> None:
    with pytest.raises(meant), kafka_errors():
        raise SystemError("returned a result with an exception set") from cause


@pytest.mark.parametrize(("over", "steps"), [(False, 3), (True, 1)])
def test_a_step_of_a_transaction_is_repeated_while_it_may_be(over: bool, steps: int) -> None:
    taken: list[int] = []

    def step() -> None:
        taken.append(1)
        fault = SimpleNamespace(retriable=lambda: len(taken) < 3)
        raise KafkaException(fault)

    with pytest.raises(KafkaException):
        until_done(step, lambda: over)
    assert len(taken) == steps
