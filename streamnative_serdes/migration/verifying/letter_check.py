"""The check of dead letters: they have to be exactly the source's messages that cannot be copied, unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from streamnative_serdes._kafka import bounds, committed_messages
from streamnative_serdes.errors import FileError, SerdesError
from streamnative_serdes.migration.copying.dead_letters import TOPIC, DeadLetter, read_file

from .digests import NO_SCHEMA, Content, Value, digest

_MOST: Final = 1_000_000  # dead letters; each takes about 250 bytes of memory


class LetterCheck:
    """Knows the dead letters of a copy, by their place in the source.

    Args:
        letters: all dead letters.

    ``repeated`` is the number of repeated letters, with the same content or another.

    Raises:
        SerdesError: there are too many letters for the memory.
    """

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
        """The source's offsets in this range whose dead letters were not taken."""
        return sorted(offset for offset in self._known.get(partition, {}) if begin <= offset < end)


def letters_in_topic(kafka: Mapping[str, Any], topic: str, source: str) -> Iterator[DeadLetter]:
    """Yield the dead letters of a source in a topic.

    Raises:
        SerdesError: the topic does not exist.
        BrokerUnavailableError: no broker answers.
        KafkaException: the broker refuses.
    """
    if not bounds(kafka, topic):
        hint = "--dead-letters names another place, or leaves them out: unchecked"
        raise SerdesError("the broker does not have this topic of dead letters", topic=topic, hint=hint)
    for message in committed_messages(kafka, topic):
        headers: Any = message.headers() or ()
        letter = DeadLetter.read(message)
        if letter is not None and dict(headers).get(TOPIC) == source.encode():
            yield letter


def letters_in_file(path: Path, source: str) -> Iterator[DeadLetter]:
    """Yield the dead letters in a file.

    Args:
        path: the file.
        source: topic and cluster, which identify the source.

    Raises:
        FileError: the file does not exist, is damaged, or is of another source.
    """
    if not path.exists():
        raise FileError(f"{path} does not exist", hint="--dead-letters names the file that migrate topic wrote")
    yield from read_file(path, source)


def _digest(letter: DeadLetter) -> bytes:
    headers = tuple((name, data) for name, data in letter.headers or ())
    value = None if letter.value is None else Value(NO_SCHEMA, letter.value, False)
    return digest(Content(letter.key, headers, (TIMESTAMP_CREATE_TIME, 0), value))
