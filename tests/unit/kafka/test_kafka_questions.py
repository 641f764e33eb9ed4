"""Questions to Kafka's brokers: repeated while a leader is elected, and otherwise refused at once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Future
from copy import copy
from types import SimpleNamespace
from typing import Any

import confluent_kafka.admin
import pytest
from confluent_kafka import KafkaError, KafkaException

from streamnative_serdes._kafka import (
    EARLIEST,
    LATEST,
    BrokerUnavailableError,
    ClientErrors,
    OffsetsGoneError,
    StalledError,
    ask,
    is_waiting,
    offsets,
    patient,
)
from streamnative_serdes._kafka import clients as module

ELECTING = [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_CONTROLLER]


class Client:
    def poll(self, _: float) -> int:
        return 0


def answers(*given: Any) -> Callable[[float], Any]:
    """Answers or error codes, one after the other; the last one forever."""
    left = list(given)

    def question(_: float) -> Any:
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, int):
            raise KafkaException(KafkaError(found))
        return found

    return question


def asked(question: Callable[[float], Any]) -> Any:
    return ask(Client(), ClientErrors({"bootstrap.servers": "questions:1"}, "t"), question)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ELECTION_SECONDS", 0.0)
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.1)


@pytest.mark.parametrize("code", ELECTING)
def test_a_question_is_repeated_while_a_leader_is_elected(code: int) -> None:
    assert asked(answers(code, code, code, "answer")) == "answer"


@pytest.mark.parametrize("code", ELECTING)
def test_an_election_without_end_is_the_brokers_error(code: int) -> None:
    with pytest.raises(KafkaException) as caught:
        asked(answers(code))
    assert caught.value.args[0].code() == code


def test_a_run_waits_for_a_broker_that_has_answered_before_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_answered", set())
    away = [KafkaError._TRANSPORT] * 5
    with patient(60), pytest.raises(BrokerUnavailableError, match="within 0 s") as caught:
        asked(answers(*away, "too late"))  # it has not answered yet
    assert "is bootstrap.servers correct" in str(caught.value.hint)
    assert asked(answers("answer")) == "answer"
    with pytest.raises(BrokerUnavailableError) as caught:  # nobody said that there is time
        asked(answers(*away, "too late"))
    assert "it has answered before" in str(caught.value.hint)
    assert not caplog.records
    with patient(60):
        assert not is_waiting()
        assert asked(answers(*away, "answer")) == "answer"
        assert asked(answers(None, None, "answer")) == "answer"
        assert is_waiting()
    assert [record.getMessage().partition(", for")[0] for record in caplog.records] == [
        "Waiting for a Kafka broker at questions:1"
    ]
    with patient(0.01), pytest.raises(BrokerUnavailableError):
        asked(answers(KafkaError._TRANSPORT))
    assert not is_waiting()


def test_a_reader_gives_up_after_its_time_or_that_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "ANSWER_SECONDS", 20.0)
    errors = ClientErrors({"bootstrap.servers": "questions:2"}, "t")
    errors.answer()
    with patient(300):
        for_60 = [errors.gives_up(now[0] - silent, 60) for silent in (59, 60, 61)]
        assert for_60 == [False, False, True]  # nothing says it is away
        errors(KafkaError(KafkaError._TRANSPORT))
        assert not is_waiting()
        assert [errors.gives_up(now[0] - silent, 60) for silent in (21, 61, 299, 301)] == [False, False, False, True]
        assert is_waiting()
    with patient(30):
        assert [errors.gives_up(now[0] - silent, 60) for silent in (29, 31)] == [False, True]
    assert [errors.gives_up(now[0] - silent, 60) for silent in (59, 61)] == [False, True]


def test_the_ten_latest_distinct_errors_are_kept() -> None:
    errors = ClientErrors({"bootstrap.servers": "questions:3"}, "t")
    for number in range(10):
        errors(KafkaError(KafkaError._TRANSPORT, f"error {number}"))
    assert str(errors) == "; ".join(f"error {number}" for number in range(10))
    errors(KafkaError(KafkaError._TRANSPORT, "error 10"))
    assert str(errors) == "; ".join(f"error {number}" for number in range(1, 11))


class Admin(Client):
    """Knows no leader of a partition until it is asked for the topics."""

    def __init__(self, code: int) -> None:
        self.code: int | None = code

    def list_topics(self, **_: Any) -> None:
        self.code = None

    def list_offsets(self, asked: Any, **_: Any) -> Any:
        found: Future[Any] = Future()
        if self.code is None:
            found.set_result(SimpleNamespace(offset=7))
        else:
            found.set_exception(KafkaException(KafkaError(self.code)))
        return dict.fromkeys(asked, found)


@pytest.mark.skipif(not hasattr(confluent_kafka.admin, "OffsetSpec"), reason="confluent-kafka 2.3")
def test_offsets_of_a_partition_that_was_just_added_are_asked_for_again() -> None:
    errors: Any = ClientErrors({"bootstrap.servers": "questions:4"}, "t")
    wanted = {("t", 0): LATEST, ("t", 1): EARLIEST, ("u", 0): 1_700_000_000_000}
    for code in (KafkaError._NOENT, KafkaError._UNKNOWN_PARTITION):
        admin: Any = Admin(code)
        assert offsets(admin, errors, wanted, committed=True) == dict.fromkeys(wanted, 7)
    refusing: Any = Admin(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        offsets(refusing, errors, wanted, committed=False)


def test_other_refusals_are_not_repeated() -> None:
    with pytest.raises(KafkaException):
        asked(answers(KafkaError.TOPIC_AUTHORIZATION_FAILED, "too late"))


def test_brokers_that_do_not_answer_are_away() -> None:
    with pytest.raises(BrokerUnavailableError):
        asked(answers(None))


def test_errors_whose_class_has_arguments_of_its_own_are_copied_and_pickled_whole() -> None:
    error = StalledError("orders", 1, 3, 5, 30.0)
    gone = OffsetsGoneError("orders", 1, 3, (4, 9), "out of range")
    for each in (copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(each), str(each), each.topic) == (StalledError, str(error), "orders")
    again = pickle.loads(pickle.dumps(gone))
    assert (again.place, again.bounds, str(again)) == (3, (4, 9), str(gone))
