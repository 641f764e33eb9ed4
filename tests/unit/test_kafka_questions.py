"""Questions to Kafka's brokers: repeated while a leader is elected, and otherwise refused at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streamnative_serdes._kafka import BrokerUnavailableError, ClientErrors, ask
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


def test_other_refusals_are_not_repeated() -> None:
    with pytest.raises(KafkaException):
        asked(answers(KafkaError.TOPIC_AUTHORIZATION_FAILED, "too late"))


def test_brokers_that_do_not_answer_are_away() -> None:
    with pytest.raises(BrokerUnavailableError):
        asked(answers(None))
