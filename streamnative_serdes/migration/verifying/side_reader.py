"""The reading of both sides: committed messages from one offset to another, and the dead letters of a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from streamnative_serdes._closing import Closing
from streamnative_serdes._kafka import (
    BrokerRefusedError,
    OffsetsGoneError,
    Range,
    TopicConsumer,
    bounds,
    committed_messages,
)
from streamnative_serdes.errors import FileError, SerdesError
from streamnative_serdes.migration.copying.dead_letters import TOPIC, DeadLetter, read_file
from streamnative_serdes.migration.schemas.canonical import Value

from .contents import NO_SCHEMA, Content, digest

_CHUNK: Final = 2_000  # messages
_PATIENCE: Final = 60.0  # seconds without any progress before the end
_MEMORY: Final[Mapping[str, Any]] = {"queued.max.messages.kbytes": 32_768}  # messages fetched ahead
_HINT: Final = "its retention is shorter than reading takes: raise retention.ms and retention.bytes, then run again"
_MOST: Final = 1_000_000  # dead letters; each takes about 250 bytes of memory


class DeletedMessagesError(SerdesError):
    """The broker deleted messages while they were to be read."""


class SideReader(Closing):
    """Consumes one topic; use it as a context manager. Raises ConfigError or BrokerRefusedError."""

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        self._topic = topic
        self._consumer = TopicConsumer(kafka, topic, _PATIENCE, options=_MEMORY)
        self.bounds: dict[int, Range] = {}  # up to the last committed message as of now; later ones are not read
        try:
            self.look()
        except BaseException:
            self._consumer.close()
            raise

    def look(self) -> None:
        """Set ``bounds``, or update them. Raises as the class does."""
        self.bounds = self._consumer.bounds()
        if not self.bounds:
            hint = "check the name; if the topic is there, ask for the right to describe and to read it"
            raise BrokerRefusedError(f"the broker does not have topic {self._topic}", topic=self._topic, hint=hint)
        self.cluster = self._consumer.cluster()

    def settle(self) -> dict[int, int]:
        """Set ``bounds`` once transactions have ended, or after a moment.

        Returns:
            by partition, how many offsets are behind these bounds, since a transaction is open.
        """
        self.bounds, ends = self._consumer.settled_bounds()
        return {number: end - self.bounds[number][1] for number, end in ends.items()}

    def close(self) -> None:
        self._consumer.close()

    def messages(self, partition: int, place: int, end: int | None = None, *, chunk: int = _CHUNK) -> Iterator[Message]:
        """Yield a partition's messages up to ``end``; only one such iteration at a time is possible."""
        end = min(self.bounds[partition][1], self.bounds[partition][1] if end is None else end)
        if place >= end:
            return
        try:
            yield from self._consumer.messages({partition: [(place, end)]}, chunk)
        except OffsetsGoneError as error:
            if error.place >= error.bounds[0]:  # such as in a topic that was recreated meanwhile
                raise
            text = f"partition {partition}: the broker has deleted offset {error.place} before it was read"
            raise DeletedMessagesError(text, topic=self._topic, hint=_HINT) from error


class LetterCheck:
    """Knows a copy's dead letters, by their place in the source, and how many are ``repeated``. Raises SerdesError."""

    def __init__(self, letters: Iterable[DeadLetter]) -> None:
        self.repeated = 0
        self._known: dict[int, dict[int, tuple[bytes, int | None]]] = {}
        count = 0
        for letter in letters:
            of_partition = self._known.setdefault(letter.partition, {})
            if letter.offset in of_partition:
                self.repeated += 1
                continue
            of_partition[letter.offset] = _digest(letter), letter.timestamp
            count += 1
            if count > _MOST:
                raise SerdesError(
                    f"there are more than {_MOST} dead letters", hint="--dead-letters unchecked leaves them out"
                )

    def take(self, message: Message) -> tuple[str, str] | None:
        """Check the dead letter of a message that cannot be copied; returns expected and got if they differ."""
        own = DeadLetter.of(message, "")
        found = self._known.get(own.partition, {}).pop(own.offset, None)
        if found is None:
            return "a dead letter", "none"
        mark, moment = found
        if mark != _digest(own):
            return "key, headers and value of the message", "others"
        if moment != own.timestamp and (own.timestamp or 0) > 0:  # the client cannot write another time
            return f"timestamp {own.timestamp}", f"timestamp {moment}"
        return None

    def left(self, partition: int, begin: int, end: int) -> list[int]:
        return sorted(offset for offset in self._known.get(partition, {}) if begin <= offset < end)


def letters_in_topic(kafka: Mapping[str, Any], topic: str, source: str) -> Iterator[DeadLetter]:
    if not bounds(kafka, topic):
        hint = "--dead-letters names another place, or leaves them out: unchecked"
        raise SerdesError("the broker does not have this topic of dead letters", topic=topic, hint=hint)
    for message in committed_messages(kafka, topic):
        headers: Any = message.headers() or ()
        letter = DeadLetter.read(message)
        if letter is not None and dict(headers).get(TOPIC) == source.encode():
            yield letter


def letters_in_file(path: Path, source: str) -> Iterator[DeadLetter]:
    if not path.exists():
        raise FileError(f"{path} does not exist", hint="--dead-letters names the file that migrate topic wrote")
    yield from read_file(path, source)


def _digest(letter: DeadLetter) -> bytes:
    headers = tuple((name, data) for name, data in letter.headers or ())
    value = None if letter.value is None else Value(NO_SCHEMA, letter.value, False)
    return digest(Content(letter.key, headers, (TIMESTAMP_CREATE_TIME, 0), value))
