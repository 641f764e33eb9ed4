"""A question is repeated while its error passes by itself, and no longer."""

from __future__ import annotations

import pytest

pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")

from confluent_kafka import KafkaError, KafkaException

from streamnative_serdes._kafka.clients import retry
from streamnative_serdes.errors import SerdesError

PASSING = ("_UNKNOWN_PARTITION", "_NOENT")


class Broker:
    """Gives these errors, one after the other; then the answer."""

    def __init__(self, *errors: int | SerdesError) -> None:
        self.errors, self.asked, self.between = list(errors), 0, 0

    def __call__(self) -> str:
        self.asked += 1
        if self.errors:
            error = self.errors.pop(0)
            raise KafkaException(KafkaError(error)) if isinstance(error, int) else error
        return "answer"

    def wait(self) -> None:
        self.between += 1


def test_a_question_is_repeated_while_its_errors_pass() -> None:
    broker = Broker(KafkaError._UNKNOWN_PARTITION, KafkaError._NOENT)
    assert retry(broker, PASSING, 60.0, broker.wait) == "answer"
    assert (broker.asked, broker.between) == (3, 2)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [(KafkaError._TIMED_OUT, 60.0), (KafkaError._UNKNOWN_PARTITION, 0.0), (SerdesError("ours"), 60.0)],
)
def test_another_error_and_one_after_the_time_limit_end_the_question(error: int | SerdesError, seconds: float) -> None:
    broker = Broker(error)
    with pytest.raises((KafkaException, SerdesError)):
        retry(broker, PASSING, seconds, broker.wait)
    assert (broker.asked, broker.between) == (1, 0)
