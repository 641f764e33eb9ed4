"""The progress of a copy, and its owner: messages of a compacted topic beside the target.

There is a message for the progress of each partition, one for each anchor, and one for each claim of an owner.

::

    key     {"source": "orders@CLUSTER", "partition": 0}
    value   {"next": 81234, "copied": 81200, "bad": 34, "last": [81233, 81199], "places": false,
             "read": [81233, 1732368000000, "DIGEST"], "written": [81199, 1732368000000, "DIGEST"],
             "ids": ["ID", "ID"], "letters": ["topic:orders-snip42.dead-letters"], "keys": "keep"}

    key     {"source": "orders@CLUSTER", "partition": 0, "anchor": 80000}
    value   {"target": 79966}

    key     {"source": "orders@CLUSTER", "owner": "copy"}
    value   {"run": "UUID"}

``next`` is the source's offset to continue with. With transactions, it is written in the transaction of the messages
before this offset, so both are there or neither. ``last`` is the last copied message: its offset in the source, and
the offset of its copy in the target. An anchor is such a pair too; there is an anchor for every 10,000 messages or
more.

``read`` is the last message of the source that was read, ``written`` is the last copy, and ``ids`` are the ids of
source and target, if their brokers have ids: these three identify the topics. ``letters`` is the place of dead
letters, and ``keys`` is what was done to keys.

The owner of a target is the last process that has claimed it in the progress topic. Each process writes a claim at
its start, and ends when another process writes a later claim. With transactions, the broker fences the earlier
process too, so it commits no messages any more; but without messages it would not notice. A broker fences the owner,
too, whose transaction it has aborted after ``transaction.timeout.ms``: no later claim comes then.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka import Message

from streamnative_serdes._kafka import POLL_SECONDS, TopicConsumer, committed_messages, place_of
from streamnative_serdes.errors import SerdesError

from .messages import Keys

SUFFIX: Final = ".migration-state"
_MOST: Final = 1 << 63
_MOST_CLAIMS: Final = 500  # messages
_CLAIM_SECONDS: Final = 5.0


class Kept(NamedTuple):
    """A message that identifies its topic."""

    offset: int  # the message's offset
    timestamp: int | None  # in milliseconds since 1970 UTC; None if unknown
    digest: str  # of the message's key and value

    @classmethod
    def of(cls, message: Message) -> Kept:
        body: tuple[Any, Any] = message.key(), message.value()
        return cls(place_of(message)[1], message.timestamp()[1], digest(*body))

    def is_of(self, message: Message) -> bool:
        found = Kept.of(message)
        known = self.timestamp is None or self.timestamp == found.timestamp
        return known and (self.offset, self.digest) == (found.offset, found.digest)


def digest(key: bytes | None, value: bytes | None) -> str:
    sizes = [-1 if part is None else len(part) for part in (key, value)]
    return blake2b(f"{sizes}".encode() + (key or b"") + (value or b""), digest_size=16).hexdigest()


@dataclass(slots=True)
class Progress:
    next: int  # the source's offset to continue with
    copied: int = 0  # messages copied so far
    bad: int = 0  # messages that went to the dead letters so far
    # offset of the last message that was copied, and offset of its copy; None before the first
    last: tuple[int, int] | None = None
    # whether the copies have a header with their place in the source, since there are no transactions
    places: bool = False
    # source offset -> target offset of some copies, oldest first
    anchors: list[tuple[int, int]] = field(default_factory=list)
    read: Kept | None = None  # the last message of the source that was read; None before the first
    written: Kept | None = None  # the last copy; None before the first
    ids: tuple[str | None, str | None] = (None, None)  # of source and target; None if the broker has no ids
    letters: tuple[str, ...] = ()  # the place of dead letters: ``topic:NAME`` or ``file:PATH``
    keys: Keys = "keep"  # the rule for keys

    @classmethod
    def of(cls, tree: Mapping[str, Any]) -> Progress:
        made: dict[str, Callable[[Any], Any]] = {
            "last": tuple,
            "ids": tuple,
            "letters": tuple,
            "read": Kept._make,
            "written": Kept._make,
        }
        parts = {name: None if tree[name] is None else make(tree[name]) for name, make in made.items()}
        return cls(**{**tree, **parts})

    def tree(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "anchors"}


class ProgressTopic:
    """Reads and words the progress of the copy of one source (topic and cluster; None for any) to one target."""

    def __init__(self, kafka: Mapping[str, Any], target: str, source: str | None) -> None:
        self.name, self._kafka, self._source = f"{target}{SUFFIX}", dict(kafka), source
        self._target = target

    def read(self) -> dict[int, Progress]:
        """The progress by partition; partitions without progress are missing. Raises SerdesError."""
        found: dict[int, Progress] = {}
        anchors: dict[int, dict[int, int]] = {}
        for message in committed_messages(self._kafka, self.name):
            key, value = self.parsed(message)
            if "anchor" in key:
                anchors.setdefault(key["partition"], {})[key["anchor"]] = value["target"]
            elif "partition" in key:
                found[key["partition"]] = Progress.of(value)
        for partition, progress in found.items():
            progress.anchors = sorted(anchors.get(partition, {}).items())
        return found

    def parsed(self, message: Message) -> tuple[dict[str, Any], dict[str, Any]]:
        """Key and value of one message of the topic, checked. Raises SerdesError."""
        try:
            key, value = json.loads(message.key() or b""), json.loads(message.value() or b"")
            _check(key, value)
        except (ValueError, TypeError, RecursionError) as error:
            raise SerdesError(
                f"topic {self.name}, offset {message.offset()}: expected the progress of a migration: {error}",
                hint="another program, or an earlier version, has written to it: copy to another target, or "
                f"delete this topic, {self._target} and {self._target}.dead-letters, and copy again",
            ) from None
        if self._source is not None and key["source"] != self._source:
            raise SerdesError(
                f"the target already has copies of {key['source']!s:.200}, and this source is {self._source}",
                hint=f"choose another target; or, if these copies are gone, delete the topic {self.name}",
            )
        return key, value

    def words(self, partition: int, progress: Progress) -> tuple[bytes, bytes]:
        return self._key(partition=partition), json.dumps(progress.tree()).encode()

    def all_words(self, advanced: Mapping[int, Progress]) -> Iterator[tuple[bytes, bytes]]:
        """Key and value of the messages for the progress of these partitions, and for the last anchor of each."""
        for partition, progress in advanced.items():
            yield self.words(partition, progress)
            if progress.anchors:
                yield self.anchor_words(partition, *progress.anchors[-1])

    def anchor_words(self, partition: int, source: int, target: int) -> tuple[bytes, bytes]:
        return self._key(partition=partition, anchor=source), json.dumps({"target": target}).encode()

    def owner_words(self, run: str) -> tuple[bytes, bytes]:
        return self._key(owner="copy"), json.dumps({"run": run}).encode()

    def _key(self, **more: Any) -> bytes:
        return json.dumps({"source": self._source, **more}).encode()


class _Form(NamedTuple):
    """A check of a JSON value, and the text that errors expect."""

    words: str
    fits: Callable[[Any], bool]


def _is_offset(part: Any) -> bool:
    return type(part) is int and 0 <= part < _MOST


def _list_of(size: int, part: Any) -> bool:
    return type(part) is list and len(part) == size


_NUMBER: Final = _Form("a number from 0 to 2**63 - 1", _is_offset)
_TEXT: Final = _Form("a text", lambda part: type(part) is str)
_PAIR: Final = _Form(
    "two offsets or null", lambda part: part is None or (_list_of(2, part) and all(map(_is_offset, part)))
)
_KEPT: Final = _Form(
    "an offset, a timestamp or null, and a text, or null in their place",
    lambda part: (
        part is None
        or (_list_of(3, part) and _is_offset(part[0]) and type(part[1]) in (int, type(None)) and type(part[2]) is str)
    ),
)
_Members: TypeAlias = Mapping[str, _Form]
_PLACE: Final[_Members] = {"source": _TEXT, "partition": _NUMBER}
_KINDS: Final[tuple[tuple[_Members, _Members], ...]] = (  # of key and value
    (
        _PLACE,
        {
            **dict.fromkeys(("next", "copied", "bad"), _NUMBER),
            "last": _PAIR,
            "read": _KEPT,
            "written": _KEPT,
            "places": _Form("true or false", lambda part: type(part) is bool),
            "ids": _Form(
                "two texts or nulls",
                lambda part: _list_of(2, part) and all(type(each) in (str, type(None)) for each in part),
            ),
            "letters": _Form(
                "a list of topic:NAME or file:PATH",
                lambda part: (
                    type(part) is list
                    and all(type(each) is str and each.startswith(("topic:", "file:")) for each in part)
                ),
            ),
            "keys": _Form("keep or strip", lambda part: part in ("keep", "strip")),
        },
    ),
    ({**_PLACE, "anchor": _NUMBER}, {"target": _NUMBER}),
    ({"source": _TEXT, "owner": _TEXT}, {"run": _TEXT}),
)


def _check(key: Any, value: Any) -> None:
    found = next((forms for forms in _KINDS if (set(key), set(value)) == tuple(map(set, forms))), None)
    if found is None:
        raise ValueError("members are missing, or there are others")
    for forms, tree in zip(found, (key, value), strict=True):
        for name, form in forms.items():
            if not form.fits(tree[name]):
                raise ValueError(f"member {name!r}: expected {form.words}, got {str(tree[name])!r:.80}")


def another_process(topic: str) -> SerdesError:
    return SerdesError(
        f"another process copies to topic {topic} now",
        hint="only one process may copy to a topic: let that one go on, or stop it and run this again",
    )


class Owner:
    """Claims the target for this process, and notices a later claim; ``send`` waits for the delivery."""

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
        if self._is_followed(0.0):
            raise another_process(self._target)

    def is_last(self) -> bool:
        """Whether no later claim comes within some seconds: a process first fences the others, and then claims."""
        until = time.monotonic() + _CLAIM_SECONDS
        while time.monotonic() < until:
            if self._is_followed(POLL_SECONDS):
                return False
        return True

    def _is_followed(self, seconds: float) -> bool:
        for message in self._reader.take(_MOST_CLAIMS, seconds):
            run = self._topic.parsed(message)[1].get("run")
            if run is not None and run != self._run and self._said:
                return True
            self._said = self._said or run == self._run
        return False

    def close(self) -> None:
        self._consumer.close()
