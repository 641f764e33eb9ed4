"""Readers of the messages of a schema of any type, as they were written: functions from bytes to data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self, TypeAlias

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._formats import Format
from streamnative_serdes._schema import Limits
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes.key_value import SEPARATED, KeyValue

Read: TypeAlias = Callable[[bytes], Any]

# Types whose messages may have a schema version header. The messages of all others begin with their data.
FRAMED: Final = frozenset({"AVRO", "KEY_VALUE"})


class _UnreadKey:
    """The type of UNREAD_KEY, its only instance."""

    def __repr__(self) -> str:
        return "UNREAD_KEY"

    def __reduce__(self) -> str:
        return "UNREAD_KEY"


_UnreadKey.__name__ = "UNREAD_KEY"  # errors that say what they got name its type
UNREAD_KEY: Final = _UnreadKey()
"""Stands for the key of a KEY_VALUE message with encoding SEPARATED where the message's key was not passed."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Makes readers of messages, by the options of one deserializer.

    Args:
        framed: options of codecs for messages with a header.
        whole: the same for other messages, of which every byte has to be used.
        limits: how large a schema may be.
    """

    framed: config.CodecArguments
    whole: config.CodecArguments
    limits: Limits

    @classmethod
    def by(cls, conf: Mapping[str, Any]) -> Self:
        """The readers by checked options."""
        whole = config.codec_arguments({**conf, "ignore.trailing.bytes": False})
        return cls(config.codec_arguments(conf), whole, config.schema_limits(conf))

    def format(self, known: SchemaVersion) -> Format:
        """Raises: SchemaError: messages of this type cannot be read."""
        return known.format(self.whole, self.limits)

    def of(self, known: SchemaVersion, *, whole: bool) -> Read:
        """The reader of values, or, with the encoding INLINE, of keys and values.

        Raises:
            SchemaError: messages of this type cannot be read, or the schema is not valid.
        """
        options = self.whole if whole else self.framed
        if known.avro is not None:
            return known.avro.codec(options).decode
        if known.halves is None:
            return known.format(options, self.limits).decode
        if known.halves.encoding == SEPARATED:
            return partial(_separated, self.of(known.halves.value, whole=whole))
        key, value = (self._half(half, options) for half in (known.halves.key, known.halves.value))
        pair = _call_path.Pair(key, value, KeyValue)
        return partial(_inline, _call_path.Bound(known.topic, 0, known.version, None, None, pair=pair))

    def _half(self, known: SchemaVersion, options: config.CodecArguments) -> _call_path.Half:
        if known.avro is not None:
            return _call_path.Half(known.avro.codec(options))
        return _call_path.Half(None, None, known.format(options, self.limits).decode)


def _separated(read: Read, data: bytes) -> KeyValue:
    return KeyValue(UNREAD_KEY, read(data))


def _inline(bound: _call_path.Bound, data: bytes) -> Any:
    return _call_path.read_by(bound, data, 0)
