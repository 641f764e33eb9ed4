"""The owner of a target: the last process that has claimed the target in the progress topic.

Each process writes a claim at its start, and ends when another process writes a later claim. With transactions, the
broker fences the earlier process too, so it commits no messages any more; but without messages it would not notice.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamnative_serdes._kafka import TopicConsumer
from streamnative_serdes.errors import SerdesError

from .progress import ProgressTopic

_MOST: Final = 500  # messages


def another_process(topic: str) -> SerdesError:
    """The error of a process that has to end, since another process copies now."""
    return SerdesError(
        f"another process copies to topic {topic} now",
        hint="only one process may copy to a topic: let that one go on, or stop it and run this again",
    )


class Owner:
    """Claims the target for this process, and notices a later claim.

    Args:
        kafka: options of the Kafka client of the target's side.
        target: the target topic.
        topic: the progress topic, which exists.
        send: sends key and value to the progress topic, and waits until they are delivered.

    Raises:
        BrokerUnavailableError: no broker answers.
        KafkaException: the broker refuses.
    """

    def __init__(
        self, kafka: Mapping[str, Any], target: str, topic: ProgressTopic, send: Callable[[bytes, bytes], object]
    ) -> None:
        self._target, self._topic, self._run, self._said = target, topic, uuid.uuid4().hex, False
        self._consumer = TopicConsumer(kafka, topic.name)
        try:
            _, end = self._consumer.bounds([0])[0]
            self._reader = self._consumer.reader({0: [(end, end)]}, beyond=True)
            send(*topic.owner_words(self._run))
        except BaseException:
            self._consumer.close()
            raise

    def require(self) -> None:
        """Check that no other process has claimed the target since.

        Raises:
            SerdesError: another process has.
            KafkaException: the broker refuses to tell, or the progress topic does not exist any more.
        """
        for message in self._reader.take(_MOST, 0.0):
            run = self._topic.parsed(message)[1].get("run")
            if run is not None and run != self._run and self._said:
                raise another_process(self._target)
            self._said = self._said or run == self._run

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
