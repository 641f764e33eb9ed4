"""A Kafka producer inside a task: it waits while its queue is full, and what it sent counts once it is delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from streamnative_serdes.errors import ConfigError, SerdesError

from .kafka import Faults, ask, client, require_options
from .workers import kept, key_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

Headers: TypeAlias = Sequence[tuple[str, bytes]]

ANY_PARTITION: Final = -1  # librdkafka's partitioner chooses, by the key if there is one
_LOOK_EVERY: Final = 1_000  # messages between two looks at what became of those before
_QUEUE_SECONDS: Final = 0.1  # of waiting for room in the queue at a time
_DELIVERY_MS: Final = 300_000  # librdkafka's own default of message.timeout.ms
_DELIVERY_KEYS: Final = ("message.timeout.ms", "delivery.timeout.ms")

_FOREVER: Final = 1e6  # seconds

_DEFAULTS: Final[Mapping[str, Any]] = {
    "linger.ms": 50,  # larger requests; a task waits for its deliveries only once
    "enable.idempotence": True,  # a retry inside the client does not become a second message
}
_ALWAYS: Final[Mapping[str, Any]] = {"delivery.report.only.error": True}
# Option -> why it cannot be had.
_REFUSED: Final[Mapping[str, str]] = {
    "on_delivery": "tasks look at deliveries themselves",
    "dr_cb": "tasks look at deliveries themselves",
    "transactional.id": "a task that fails is run again, so delivery is at least once; dedup_headers tells copies",
}


def refuse_options(kafka: Mapping[str, Any], topic: str) -> None:
    """Raises: ConfigError: an option of the producer cannot be had."""
    require_options(kafka, topic)
    for name in kafka.keys() & _REFUSED.keys():
        raise ConfigError(f"a sink has no {name}: {_REFUSED[name]}", topic=topic)
    for name in ("acks", "request.required.acks"):
        if str(kafka.get(name)) == "0":
            raise ConfigError(f"a sink has no {name}=0: nobody would know what is delivered", topic=topic)


class DeliveryError(SerdesError):
    """Messages of a task were not delivered. Spark runs the task again, as often as ``spark.task.maxFailures`` says.

    Attributes:
        failed: how many the broker refused or the client gave up on.
        left: how many were still under way when time was up.
        reasons: of the first that failed, in the broker's or the client's words.
    """

    failed: int = 0
    left: int = 0
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, topic: str, failed: int, left: int, reasons: Sequence[str], hint: str | None = None) -> DeliveryError:
        parts = [f"{failed} messages not delivered" if failed else "", f"{left} still under way" if left else ""]
        text = ", ".join(part for part in parts if part)
        error = cls("; ".join([text, *reasons]), topic=topic, hint=hint)
        error.failed, error.left, error.reasons = failed, left, tuple(reasons)
        return error


class Outbox:
    """One producer, for one task at a time; :func:`outbox` gives it.

    Args:
        kafka: the client's configuration.
        topic: where it is sent to at first.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        from confluent_kafka import KafkaException, Producer

        conf = {**_DEFAULTS, **kafka, **_ALWAYS}
        self._faults = Faults(kafka, topic)
        self._failed: list[KafkaError] = []
        failed = self._failed  # the callback must not hold this object, which holds the producer
        told = {**conf, "on_delivery": lambda error, _: failed.append(error)}
        self._producer = client(Producer, told, topic, self._faults)
        self._patience = _delivery_seconds(conf) + 5.0
        self._refused = KafkaException
        self._most_reasons = 0
        self._topic = ""
        self._until_look = _LOOK_EVERY

    def begin(self, topic: str, most_reasons: int) -> None:
        """A task begins."""
        self._topic, self._most_reasons = topic, most_reasons
        self._faults.topic = topic
        self._faults.clear()

    def send(
        self,
        value: bytes | None,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        partition: int = ANY_PARTITION,
    ) -> None:
        """Hand a message to the client; waits while its queue is full.

        Raises:
            DeliveryError: this one, or one before, cannot be delivered.
        """
        while True:
            try:
                if headers is None:
                    self._producer.produce(self._topic, value, key, partition)
                else:
                    self._producer.produce(self._topic, value, key, partition, headers=headers)  # type: ignore[arg-type]
                break
            except BufferError:
                # Ends at the latest when the client gives up on what is in its queue.
                self._producer.poll(_QUEUE_SECONDS)
                self._raise_failed()
            except self._refused as error:
                raise DeliveryError.of(self._topic, 1, 0, [str(error)]) from error
        self._until_look -= 1
        if self._until_look <= 0:
            self._until_look = _LOOK_EVERY
            self._look()

    def send_all(self, messages: Iterable[tuple[bytes | None, str | bytes | None]]) -> None:
        """Send values and their keys, as :meth:`send` does one, in little more time than the client itself takes.

        Raises:
            DeliveryError: one of them, or one before, cannot be delivered.
        """
        produce, topic, refused = self._producer.produce, self._topic, (BufferError, self._refused)
        for number, (value, key) in enumerate(messages, 1):
            try:
                produce(topic, value, key)
            except refused:
                self.send(value, key)  # which waits, or tells why not
            if not number % _LOOK_EVERY:
                self._look()
        self._look()

    def flush(self) -> None:
        """Wait until all is delivered.

        Raises:
            DeliveryError: some is not, or not in time.
        """
        left = self._producer.flush(self._patience)  # by then the client itself has given up on each message
        self._raise_failed(left)

    def discard(self) -> None:
        """Give up on what is under way, so that closing does not wait for it."""
        self._producer.purge()
        self._producer.poll(0)

    def _look(self) -> None:
        self._producer.poll(0)
        self._raise_failed()

    def _raise_failed(self, left: int = 0) -> None:
        if self._failed or left:
            reasons = [error.str() for error in self._failed[: self._most_reasons]]
            raise DeliveryError.of(self._topic, len(self._failed), left, reasons, self._hint(left))

    def _hint(self, left: int) -> str | None:
        met = str(self._faults)
        if not met and not left:
            return None
        return f"the brokers are {self._faults.addresses}" + (f", and the client met {met}" if met else "")


def require_broker(kafka: Mapping[str, Any], topic: str) -> None:
    """On the driver, and once: have a broker answer. Tasks would wait for it for minutes.

    Raises:
        BrokerUnavailableError: none answers.
        ConfigError: the client refuses its configuration.
    """
    from confluent_kafka import Producer

    faults = Faults(kafka, topic)
    if not faults.answered:
        asking = client(Producer, {**_DEFAULTS, **kafka, **_ALWAYS}, topic, faults)
        ask(asking, faults, lambda seconds: asking.list_topics(timeout=seconds))


@contextmanager
def outbox(kafka: Mapping[str, Any], topic: str, most_reasons: int = 5) -> Iterator[Outbox]:
    """The producer of this process for this configuration. Leaving the block waits until all is delivered.

    A producer of a task that failed is not used again.

    Raises:
        ConfigError: the client refuses its configuration.
        DeliveryError: something is not delivered; it has ``most_reasons`` reasons at most.
    """
    idle: list[Outbox] = kept(key_of("outbox", dict(kafka)), list)
    box = idle.pop() if idle else Outbox(kafka, topic)
    box.begin(topic, most_reasons)
    try:
        yield box
        box.flush()
    except BaseException:
        box.discard()
        raise
    idle.append(box)


def _delivery_seconds(conf: Mapping[str, Any]) -> float:
    given = [conf[key] for key in _DELIVERY_KEYS if key in conf]
    milliseconds = float(given[0] if given else _DELIVERY_MS)
    return milliseconds / 1000 if milliseconds else _FOREVER  # 0: the client never gives up
