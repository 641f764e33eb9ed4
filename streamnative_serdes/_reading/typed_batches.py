"""How batches of topics of other types than AVRO are read: the rules for these types only."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from streamnative_serdes import _call_path
from streamnative_serdes._formats.parts import PairParts, Part
from streamnative_serdes._topics.topic_state import TopicState
from streamnative_serdes.errors import ConfigError, DecodeError, SerdesError
from streamnative_serdes.key_value import SEPARATED

from .attempts import ITS_OWN_FAULT
from .batch_reader import BatchMessages, BatchReader, Wanted
from .columns import AnyColumns
from .reader_schema import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamnative_serdes._topics.schema_version import SchemaVersion
    from streamnative_serdes.arrow import Routes
    from streamnative_serdes.arrow.columns import RowCounts
    from streamnative_serdes.arrow.typed_columns import TypedColumns


class PairReader:
    """How KEY_VALUE messages are read: by the pair of schemas of their version, as by :class:`BatchReader`."""

    def __init__(self, given: BatchMessages, columns: TypedColumns, target: Target | None) -> None:
        if given.wanted.policy.signs.in_use:
            raise ConfigError(
                "messages of type KEY_VALUE have no framings of other registries",
                topic=given.wanted.topic,
                hint="leave out framings",
            )
        self._given, self._columns = given, columns
        self._by_version = BatchReader(given.wanted, columns, target)
        self.has_read, self.counted = self._by_version.has_read, self._by_version.counted

    def find(self, key: int) -> Routes | SerdesError:
        """As :meth:`BatchReader.find`. Raises ConfigError: the messages' keys are needed, and were not passed."""
        found = self._by_version.find(key)
        encoding = self._encoding(key)
        given = self._given
        if encoding == SEPARATED and given.message_keys is None and given.client_keys is None:
            raise ConfigError(
                "the topic's keys are the messages' keys: its encoding is SEPARATED",
                topic=given.wanted.topic,
                hint="pass keys=..., the keys of the messages; in Spark, the name of their column",
            )
        if key != _call_path.LATEST or encoding is None or not given.wanted.policy.pairs.alone:
            return found
        # As for objects: without a version, messages are read by the given schemas first.
        both = self._columns.target
        assert isinstance(both, PairParts)
        alone = self._columns.plan_of(replace(both, kind=encoding)), 0, True
        return (alone, *(way for way in found if way[0] is not None)) if isinstance(found, tuple) else (alone,)

    def _encoding(self, key: int) -> str | None:
        """How both halves of messages under this key are stored; None if the schema is not a pair."""
        policy, topic = self._given.wanted.policy, self._given.wanted.topic
        with suppress(*ITS_OWN_FAULT):
            known = policy.known(topic, key)[0] or policy.known(topic, _call_path.LATEST)[0]
            return None if known is None or known.halves is None else known.halves.encoding
        return None

    def failed(self, key: int, errors: list[DecodeError], message: bytes) -> Routes | SerdesError:
        """As :meth:`BatchReader.failed`."""
        # What a message looks like says something about a value that is all of it, and nothing about a key.
        is_value = self._encoding(key) == SEPARATED and not (errors[0].path or "").startswith("key")
        return self._by_version.failed(key, errors, message if is_value else b"")


class OneTypeReader:
    """How messages of a primitive type, or of type JSON, are read: they have no header, and need no version."""

    def __init__(self, wanted: Wanted, columns: TypedColumns, part: Part, target: Target | None) -> None:
        self._routes = ((columns.plan_of(part), 0, True),)
        self._wanted, self._columns, self._target, self._version = wanted, columns, target, part.version
        self._confirmed: TopicState | None = None  # the topic's state when its columns were last compared

    def find(self, _key: int) -> Routes:
        return self._routes

    def failed(self, _key: int, errors: Sequence[DecodeError], _message: bytes) -> DecodeError:
        """As :meth:`BatchReader.failed`. Raises: ReadAgainError: the topic was recreated."""
        wanted, topic, binding = self._wanted, self._wanted.topic, self._wanted.policy.binding
        binding.doubt(topic)
        if self._confirmed is not binding.state(topic):
            if binding.type_of(topic) is not None:  # else it was deleted, and its messages are read as before
                wanted.confirm(self._columns, self._target)
            self._confirmed = binding.state(topic)
        return copy(errors[0]).at(topic=topic, version=self._version)

    def has_read(self, _known: SchemaVersion, counts: RowCounts) -> bool:
        return any(isinstance(way, int) for _, way in counts)

    def counted(self, counts: RowCounts) -> tuple[dict[int, int], int, int, dict[str, int]]:
        """As :meth:`BatchReader.counted`."""
        errors = {way: rows for (_, way), rows in counts.items() if isinstance(way, str)}
        return {_call_path.LATEST: sum(counts.values())}, 0, 0, errors


def reader_of(
    given: BatchMessages, columns: AnyColumns, target: Target | None
) -> BatchReader | PairReader | OneTypeReader:
    """The reader that finds out how the messages of a batch are read into ``columns``."""
    from streamnative_serdes.arrow import Columns  # pyarrow is not needed otherwise

    if isinstance(columns, Columns):
        return BatchReader(given.wanted, columns, target)
    if isinstance(columns.target, Part):
        return OneTypeReader(given.wanted, columns, columns.target, target)
    return PairReader(given, columns, target)
