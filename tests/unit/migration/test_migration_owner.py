"""The process that copies: what its consumer says of another one, and that its errors are not passed over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streamnative_serdes._kafka import OffsetsGoneError, consuming
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration.copying.progress import Owner, ProgressTopic

TOPIC = ProgressTopic({}, "to", "from@CLUSTER")


class FakeConsumer:
    """A consumer that is about to give these messages."""

    def __init__(self) -> None:
        self.coming: list[Any] = []

    def assign(self, _: Any) -> None: ...

    def unassign(self) -> None: ...

    def position(self, places: Any) -> Any:
        return places

    def consume(self, *_: Any) -> list[Any]:
        found, self.coming = self.coming, []
        return found

    def close(self) -> None: ...

    def say(self, key: bytes, value: bytes) -> None:
        self.coming.append(
            SimpleNamespace(
                error=lambda: None, key=lambda: key, value=lambda: value, offset=lambda: 0, partition=lambda: 0
            )
        )

    def fail(self, code: int) -> None:
        self.coming.append(SimpleNamespace(error=lambda: KafkaError(code), partition=lambda: 0, offset=lambda: 0))


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> FakeConsumer:
    fake = FakeConsumer()
    monkeypatch.setattr(consuming, "client", lambda *_: fake)
    monkeypatch.setattr(consuming, "bounds_of", lambda *_: (0, 0))
    return fake


def test_another_process_that_copies_since_ends_this_one(consumer: FakeConsumer) -> None:
    consumer.say(*TOPIC.owner_words("earlier"))
    owner = Owner({}, "to", TOPIC, consumer.say)
    owner.require()
    consumer.say(*TOPIC.owner_words("later"))
    with pytest.raises(SerdesError, match="another process copies to topic to now"):
        owner.require()


@pytest.mark.parametrize("code", [KafkaError._PARTITION_EOF, KafkaError.GROUP_AUTHORIZATION_FAILED])
def test_an_end_of_partition_and_a_group_that_nobody_uses_say_nothing(consumer: FakeConsumer, code: int) -> None:
    owner = Owner({}, "to", TOPIC, consumer.say)
    consumer.fail(code)
    consumer.say(*TOPIC.owner_words("later"))
    with pytest.raises(SerdesError, match="another process"):
        owner.require()


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART])
def test_what_the_broker_refuses_is_raised(consumer: FakeConsumer, code: int) -> None:
    owner = Owner({}, "to", TOPIC, consumer.say)
    owner.require()
    consumer.fail(code)
    with pytest.raises(KafkaException) as caught:
        owner.require()
    assert caught.value.args[0].code() == code


def test_a_progress_that_was_deleted_is_an_error(consumer: FakeConsumer) -> None:
    owner = Owner({}, "to", TOPIC, consumer.say)
    owner.require()
    consumer.fail(KafkaError._AUTO_OFFSET_RESET)
    with pytest.raises(OffsetsGoneError):
        owner.require()
