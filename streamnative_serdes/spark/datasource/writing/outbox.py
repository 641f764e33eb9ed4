"""Outbox: a Kafka producer inside a Spark task, which blocks while its queue is full and waits for all deliveries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from streamnative_serdes._kafka import (
    ClientErrors,
    ask,
    client,
    delivery_seconds,
    hint_for,
    idempotence,
    require_options,
)
from streamnative_serdes.arrow.kafka_columns import ANY_PARTITION, NOW
from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.spark.session.workers import kept, key_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

Headers: TypeAlias = Sequence[tuple[str, bytes]]

ValueAndKey: TypeAlias = tuple[bytes | None, str | bytes | None]  # value and key

_LOOK_EVERY: Final = 1_000  # messages between two checks for failed deliveries
_LOOK_SECONDS: Final = 5.0  # for the topic's partitions
_QUEUE_SECONDS: Final = 0.1  # per wait for space in the queue
_DEFAULTS: Final[Mapping[str, Any]] = {
    "linger.ms": 50,  # larger batches; a task waits for its deliveries only once, at its end
    "enable.idempotence": True,  # a retry inside the client does not create a duplicate
}
# Option -> why it is not supported.
_REFUSED: Final[Mapping[str, str]] = {
    "on_delivery": "the sink's tasks handle delivery reports themselves",
    "dr_cb": "the sink's tasks handle delivery reports themselves",
    "transactional.id": "Spark retries failed tasks, so delivery is at least once; dedup_headers identifies duplicates",
}


def refuse_options(kafka: Mapping[str, Any], topic: str) -> None:
    """Raises ConfigError if the producer's configuration has an option that a sink does not support."""
    require_options(kafka, topic)
    for name in kafka.keys() & _REFUSED.keys():
        raise ConfigError(f"{name} is not supported in a sink: {_REFUSED[name]}", topic=topic)
    for name in ("acks", "request.required.acks"):
        if str(kafka.get(name)) == "0":
            raise ConfigError(f"{name}=0 is not supported in a sink: lost messages would go unnoticed", topic=topic)


class DeliveryError(SerdesError):
    """Messages of a task were not delivered. Spark retries the task, up to ``spark.task.maxFailures`` times.

    Attributes:
        failed: how many messages the broker refused or the client gave up on.
        left: how many messages were still in flight at the timeout.
        reasons: the broker's or client's errors for the first failed messages.
    """

    help = "docs/troubleshooting.md#spark-messages-were-not-delivered"

    failed: int = 0
    left: int = 0
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, topic: str, failed: int, left: int, reasons: Sequence[str], hint: str | None = None) -> DeliveryError:
        parts = [f"{failed} messages not delivered" if failed else "", f"{left} still in flight" if left else ""]
        text = ", ".join(part for part in parts if part)
        error = cls("; ".join([text, *reasons]), topic=topic, hint=hint)
        error.failed, error.left, error.reasons = failed, left, tuple(reasons)
        return error


class Outbox:
    """One producer, used by one task at a time; :func:`outbox` provides it.

    With ``places``, it notes the offsets of messages, which takes a call for each message; see :meth:`places`.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str, *, places: bool = False) -> None:
        from confluent_kafka import KafkaException, Producer

        conf = {**_DEFAULTS, **kafka, "delivery.report.only.error": not places}
        self._errors = ClientErrors(kafka, topic)
        failed: list[KafkaError] = []
        ends: dict[tuple[str, int], int] = {}

        # Not a method: that would form a reference cycle with the producer.
        def note(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failed.append(error)
            else:
                ends[message.topic(), message.partition()] = message.offset()  # type: ignore[index, assignment]

        self._failed, self._ends = failed, ends
        told = {**conf, "on_delivery": note}
        self.producer = client(Producer, told, topic, self._errors)
        self._patience = delivery_seconds(conf) + 5.0
        self._refused = KafkaException
        self._most_reasons = 0
        self._topic = ""
        self._until_look = _LOOK_EVERY

    def begin(self, topic: str, most_reasons: int) -> None:
        """Prepare for a new task."""
        self._topic, self._most_reasons = topic, most_reasons
        self._errors.topic = topic
        self._errors.clear()
        self._ends.clear()

    def look_again(self, topic: str) -> bool:
        """Ask for the topic's partitions, since it may have been recreated with fewer; not if each row has its own.

        Returns:
            whether the brokers know the topic. If not, the producer goes on with the partitions that it knew.
        """
        if not topic:
            return True
        with suppress(self._refused):
            found = self.producer.list_topics(topic, timeout=_LOOK_SECONDS).topics.get(topic)
            return found is not None and found.error is None
        return False

    def send(
        self,
        value: bytes | None,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        partition: int = ANY_PARTITION,
        moment: int = NOW,
        topic: str | None = None,
    ) -> None:
        """Hand a message to the client; blocks while its queue is full.

        By default, the client's partitioner chooses the partition, and the topic is the task's. ``moment`` is the
        message's timestamp in milliseconds since 1970; by default, the present time.

        Raises:
            DeliveryError: this message, or an earlier one, cannot be delivered.
        """
        to, given = topic or self._topic, {} if headers is None else {"headers": headers}
        while True:
            try:
                self.producer.produce(to, value, key, partition, timestamp=moment, **given)  # type: ignore[arg-type]
                break
            except BufferError:
                # The loop ends at the latest when the client gives up on the messages in its queue.
                self._serve(lambda: self.producer.poll(_QUEUE_SECONDS))
                self._raise_failed()
            except self._refused as error:
                raise DeliveryError.of(self._topic, 1, 0, [str(error)]) from error
        self._until_look -= 1
        if self._until_look <= 0:
            self._until_look = _LOOK_EVERY
            self._look()

    def send_all(self, messages: Iterable[ValueAndKey]) -> None:
        """Send pairs of value and key like :meth:`send`, with less time in between."""
        produce, topic = self.producer.produce, self._topic
        for number, (value, key) in enumerate(messages, 1):
            try:
                produce(topic, value, key)  # faster than produce_batch, which looks for six options of each message
            except (BufferError, self._refused):
                self.send(value, key)  # waits for space in the queue, or raises the error
            if not number % _LOOK_EVERY:
                self._look()
        self._look()

    def flush(self) -> None:
        """Wait until all messages are delivered. Raises DeliveryError: a message was not delivered in time."""
        left = self._serve(lambda: self.producer.flush(self._patience))  # longer than the client's for each message
        self._raise_failed(left)

    def discard(self) -> None:
        """Drop all messages in flight, so that closing does not wait for them."""
        self.producer.purge()
        with suppress(DeliveryError):  # of messages that are dropped
            self._serve(lambda: self.producer.poll(0))

    def places(self) -> Mapping[tuple[str, int], int]:
        """The offset of the last message in each topic and partition that the task has written, as far as reported."""
        return dict(self._ends)

    def _serve(self, serve: Callable[[], int]) -> int:
        """Let the client report. A fenced client raises an error and still calls its callbacks: a SystemError."""
        try:
            return serve()
        except (self._refused, SystemError) as error:
            cause = error if isinstance(error, self._refused) else error.__cause__
            if not isinstance(cause, self._refused):
                raise
            raise DeliveryError.of(self._topic, 1, 0, [str(cause)]) from cause

    def _look(self) -> None:
        self._serve(lambda: self.producer.poll(0))
        self._raise_failed()

    def _raise_failed(self, left: int = 0) -> None:
        if self._failed or left:
            reasons = [error.str() for error in self._failed[: self._most_reasons]]
            raise DeliveryError.of(self._topic, len(self._failed), left, reasons, self._hint(left))

    def _hint(self, left: int) -> str | None:
        unsaid = next(filter(None, map(hint_for, self._failed)), None)
        if unsaid is not None:
            return unsaid
        met = str(self._errors)
        if not met and not left:
            return None
        return f"the brokers are {self._errors.addresses}" + (f"; the client reported {met}" if met else "")


def require_broker(kafka: Mapping[str, Any], topic: str) -> Mapping[str, Any]:
    """Check once, on the driver, that a broker answers: tasks would wait for minutes.

    Returns:
        The configuration that tasks have to add: none or, if the brokers give no producer ids, that producers are not
        idempotent.
    """
    from confluent_kafka import Producer

    # First of all: a KoP that gives no producer ids closes the connection that asks for one.
    more = idempotence(kafka, topic)
    errors = ClientErrors(kafka, topic)
    asking = client(Producer, {**_DEFAULTS, **kafka, **more}, topic, errors)
    if not errors.answered:
        ask(asking, errors, lambda seconds: asking.list_topics(timeout=seconds))
    return more


@contextmanager
def outbox(kafka: Mapping[str, Any], topic: str, most_reasons: int = 5, *, places: bool = False) -> Iterator[Outbox]:
    """This process's producer for this configuration. Leaving the block waits until all messages are delivered.

    The producer of a failed task is not reused. With ``places``, :meth:`Outbox.places` has the offsets of messages.
    """
    idle: list[Outbox] = kept(key_of("outbox", dict(kafka), places), list)
    box = idle.pop() if idle else None
    if box is None or not box.look_again(topic):
        box = Outbox(kafka, topic, places=places)  # knows no partitions yet, so it waits for the topic
    box.begin(topic, most_reasons)
    try:
        yield box
        box.flush()
    except BaseException:
        box.discard()
        raise
    idle.append(box)
