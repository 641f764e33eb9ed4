"""Dead letters: messages that cannot be copied, kept unchanged with their place in the source and the reason.

In a topic: key, value, timestamp and headers of the message, and these headers:

    streamnative.migration.topic        the source topic
    streamnative.migration.partition    decimal
    streamnative.migration.offset       decimal
    streamnative.migration.reason       text for people
    streamnative.migration.headers      the message's own headers as JSON, [["NAME", "BASE64" or null], ...], where the
                                        broker would alter or refuse them, or where one has a name like
                                        these; they are not there themselves then

In a file, a line of JSON for each, after a first line that identifies the file:

    {"streamnative-serdes": "dead letters", "format": 1, "source": "..."}
    {"partition": 0, "offset": 17, "timestamp": 1732368000000, "key": "BASE64" or null, "headers": [["NAME", "BASE64"]],
     "value": "BASE64", "reason": "...", "sha256": "..."}

The checksum is that of the other members as JSON with sorted keys and without blanks.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

from confluent_kafka import Message

from streamnative_serdes import _files as files
from streamnative_serdes._rewriting import Headers
from streamnative_serdes.errors import FileError

SUFFIX: Final = ".dead-letters"
LEAST_LARGEST: Final = 1_048_588  # bytes of a batch in the topic: Kafka's default
_LONGEST: Final = str((1 << 63) - 1)
LETTERS: Final[Mapping[str, str]] = {  # settings of the topic, of those that the broker knows: it takes any message
    "cleanup.policy": "delete",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": _LONGEST,
    "message.timestamp.after.max.ms": _LONGEST,
    "message.timestamp.difference.max.ms": _LONGEST,
}
PREFIX: Final = "streamnative.migration."
TOPIC, PARTITION, OFFSET, REASON, HEADERS = (
    f"{PREFIX}{name}" for name in ("topic", "partition", "offset", "reason", "headers")
)
_FORMAT: Final = {"streamnative-serdes": "dead letters", "format": 1}


@dataclass(frozen=True, slots=True)
class DeadLetter:
    partition: int  # of the source
    offset: int  # in the source
    timestamp: int | None  # in milliseconds since 1970 UTC; None if the message has no time
    key: bytes | None  # the bytes of the key
    value: bytes | None  # the bytes of the value
    headers: Headers  # all headers
    reason: str  # for people

    @classmethod
    def of(cls, message: Message, reason: str) -> DeadLetter:
        kind, moment = message.timestamp()
        place = message.partition() or 0, message.offset() or 0
        body: tuple[Any, Any] = message.key(), message.value()
        headers: Any = message.headers()
        return cls(*place, moment if kind else None, *body, headers, reason)

    @classmethod
    def read(cls, message: Message) -> DeadLetter | None:
        """The dead letter in a message of a topic of dead letters; None if the message is something else."""
        headers: Any = message.headers() or []
        ours = {name: data for name, data in headers if name.startswith(PREFIX)}
        own = [pair for pair in headers if not pair[0].startswith(PREFIX)]
        kind, moment = message.timestamp()
        body: tuple[Any, Any] = message.key(), message.value()
        try:
            if HEADERS in ours:
                own = [(name, _bytes(text)) for name, text in json.loads(ours[HEADERS])]
            place = int(ours[PARTITION]), int(ours[OFFSET])
            return cls(*place, moment if kind else None, *body, own or None, ours[REASON].decode())
        except (KeyError, ValueError, TypeError, AttributeError):
            return None

    def produced(self, topic: str, *, hide_headers: bool = False) -> dict[str, Any]:
        """Arguments for the producer of a topic of dead letters; ``topic`` is the source."""
        own: list[tuple[str, bytes | None]] = list(self.headers or ())
        if hide_headers or any(name.startswith(PREFIX) for name, _ in own):  # read() would take them for ours
            own = [(HEADERS, json.dumps([(name, _text(data)) for name, data in own]).encode())]
        where = {TOPIC: topic, PARTITION: self.partition, OFFSET: self.offset, REASON: self.reason[:10_000]}
        headers = [*own, *((name, str(part).encode("utf-8", "replace")) for name, part in where.items())]
        timestamp = {} if self.timestamp is None else {"timestamp": max(self.timestamp, 0)}
        return {"value": self.value, "key": self.key, "headers": headers, **timestamp}

    def tree(self) -> dict[str, Any]:
        tree = {
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            "key": _text(self.key),
            "headers": [[name, _text(data)] for name, data in self.headers or ()],
            "value": _text(self.value),
            "reason": self.reason,
        }
        return {**tree, "sha256": files.checksum(tree)}


class DeadLetterTopic:
    """Dead letters in a topic with the source's partitions; ``safe`` are the offsets that it has already."""

    def __init__(
        self,
        name: str,
        source: str,
        send: Callable[..., object],
        flush: Callable[[], object],
        safe: Mapping[int, Collection[int]],
    ) -> None:
        self._name, self._source, self._send, self._flush, self._safe = name, source, send, flush, safe
        self._sent = False

    def add(self, letter: DeadLetter, *, hide_headers: bool = False) -> None:
        """Keep a dead letter, which is safe after :meth:`secure`; ``hide_headers`` if the broker refuses them."""
        if letter.offset not in self._safe.get(letter.partition, ()):
            message = letter.produced(self._source, hide_headers=hide_headers)
            self._send(self._name, partition=letter.partition, **message)
            self._sent = True

    def secure(self) -> None:
        if self._sent:
            self._flush()
            self._sent = False

    def close(self) -> None:
        """Do nothing: the owner of the outlet closes it."""


class DeadLetterFile:
    """Dead letters in a file, mode 0600; an existing file is continued. Raises FileError.

    Letters of offsets from ``following`` on, by partition, are dropped, since they come again.
    """

    def __init__(self, path: Path, source: str, following: Mapping[int, int]) -> None:
        self._path = path
        kept = (letter for letter in read_file(path, source) if letter.offset < following.get(letter.partition, 0))
        trees = chain([{**_FORMAT, "source": source}], (letter.tree() for letter in kept))
        lines = (f"{json.dumps(tree)}\n" for tree in trees)  # one at a time: there may be millions
        with files.writing(path):
            files.rewrite(path, lines)
            self._file = path.open("a", encoding="utf-8")

    def add(self, letter: DeadLetter, *, hide_headers: bool = False) -> None:  # noqa: ARG002 - a file takes any
        self._write(json.dumps(letter.tree()) + "\n")

    def secure(self) -> None:
        self._write("", sync=True)

    def close(self) -> None:
        """Close the file. Letters that were not secured may be lost; they come again."""
        with contextlib.suppress(OSError):  # secure() has raised it
            self._file.close()

    def _write(self, text: str, *, sync: bool = False) -> None:
        with files.writing(self._path, "free some space; what was copied so far stays, and running again goes on"):
            self._file.write(text)
            if sync:
                self._file.flush()
                os.fsync(self._file.fileno())


DeadLetters: TypeAlias = DeadLetterTopic | DeadLetterFile


def read_file(path: Path, source: str) -> Iterator[DeadLetter]:
    """Yield the dead letters in a file; no letters if the file does not exist. An incomplete last line is left out."""
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            if _tree(next(lines, "")) != {**_FORMAT, "source": source}:
                raise FileError(f"{path} is not a file of dead letters of {source}", hint="choose another file")
            for number, line in enumerate(lines, 2):
                if line.endswith("\n"):  # otherwise it was not written whole
                    yield _letter(path, number, line)
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error


def _letter(path: Path, number: int, line: str) -> DeadLetter:
    tree = _tree(line)
    if not isinstance(tree, dict) or tree.pop("sha256", None) != files.checksum(tree):
        raise FileError(f"{path}, line {number} is damaged: its checksum does not match", hint="choose another file")
    body = {name: _bytes(tree[name]) for name in ("key", "value")}
    headers = [(name, _bytes(text)) for name, text in tree["headers"]] or None
    return DeadLetter(**{**tree, **body, "headers": headers})


def _tree(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
