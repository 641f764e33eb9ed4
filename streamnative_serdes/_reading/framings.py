"""Signs of Confluent's framings in a message: a prefix or a header that names a schema of the second registry.

::

    value   offset 0      1                     5
                  | 0x00 | schema id, int32 BE | Avro binary datum ...

    header  __value_schema_id   | 0x00 | schema id, int32 BE |    or    | 0x01 | GUID, 16 bytes |
            and the value is bare Avro

Keys look the same, and their header is ``__key_schema_id``.

A first byte 0x00 proves nothing: many records without a header begin with it. A message can be read
in at most two ways: in the framing that it shows a sign of, and without a header. The option ``framings`` decides which
way is tried first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._topics.cache import LruMap

HEADER: Final = "__value_schema_id"
_KEY_HEADER: Final = "__key_schema_id"
_ID, _GUID = b"\x00", b"\x01"
_MAX_HEADERS = 10_000  # values of headers that have a number
_MOST_UNKNOWN = 16  # ids of one topic that the registry does not have, and that are asked for within the time below


class ConfluentFramings:
    """The signs that count, and numbers for the values of headers: keys of the call path are numbers.

    Threads share it: a lock guards the giving out of numbers, and a look-up is one step.

    Args:
        conf: checked options of a deserializer.
        is_key: whether keys are read; without a header, they are only read by the schema ``key.schema``.
    """

    def __init__(self, conf: Mapping[str, Any], *, is_key: bool = False) -> None:
        framings = conf["framings"]
        if is_key and conf["key.schema"] is None and {config.CONFLUENT, config.CONFLUENT_HEADER} & set(framings):
            framings = tuple(framing for framing in framings if framing != config.HEADERLESS)
        self.expected = ", ".join(framings[1:] if is_key else framings)
        self._header = _KEY_HEADER if is_key else HEADER
        self.prefix, self.header = config.CONFLUENT in framings, config.CONFLUENT_HEADER in framings
        self.headerless = config.HEADERLESS in framings
        self.in_use = self.prefix or self.header or not self.headerless
        self.compares = self.prefix and self.headerless  # one message may be read in two ways
        place = {framing: place for place, framing in enumerate(framings)}
        last = len(framings)
        # Whether a message with this sign is read without a header first.
        self.prefix_second = place.get(config.HEADERLESS, last) < place.get(config.CONFLUENT, -1)
        self.header_second = place.get(config.HEADERLESS, last) < place.get(config.CONFLUENT_HEADER, -1)
        self._keys: dict[bytes, int] = {}
        self._values: dict[int, bytes] = {}
        self._next = 0
        self._lock = threading.RLock()  # a finalizer may read a message meanwhile

    def key_in(self, headers: Any) -> int | None:
        """The key of the schema that headers name, or None."""
        value = schema_id_header(headers, self._header)
        return None if value is None else self.header_key(value)

    def header_key(self, value: bytes) -> int:
        """The key of this value of the header; 0 if the value is not Confluent's."""
        if not is_schema_id(value):
            return 0
        key = self._keys.get(value)
        if key is None:
            with self._lock:
                if len(self._keys) >= _MAX_HEADERS:
                    self._keys.clear()  # the keys given out before keep their values for a while
                    self._values = dict(list(self._values.items())[-_MAX_HEADERS:])
                key = self._keys.setdefault(value, _call_path.BY_HEADER + self._next)
                self._values.setdefault(key, value)
                self._next += 1
        return key

    def schema_of(self, key: int) -> int | bytes:
        """The schema id (int) or GUID (16 bytes) that a key stands for."""
        if key < _call_path.BY_HEADER:
            return key - _call_path.PREFIXED
        value = self._values[key]
        return int.from_bytes(value[1:]) if value[:1] == _ID else value[1:]


def schema_id_header(headers: Any, header: str = HEADER) -> bytes | None:
    """The value of the first header that names a schema; None if no header does.

    Args:
        headers: a list of (name, value) tuples, or a dict, as clients return them; or None.
        header: the name of the header.
    """
    if not headers:
        return None
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    value = next((value for name, value in pairs if name == header), None)
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) and is_schema_id(value) else None


def is_schema_id(value: Any) -> bool:
    """Whether the header's value has Confluent's form; other values are not a sign."""
    return (len(value), bytes(value[:1])) in ((5, _ID), (17, _GUID))


class UnknownIds:
    """Counts ids that the registry does not have: bare Avro that begins with 0x00 has a new id in each message.

    After 16 such ids of one topic within ``seconds``, messages with unknown ids are tried without a header first, and
    ids are asked for only if that fails. The map guards the counts of threads.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._by_topic: LruMap[tuple[int, float]] = LruMap(_MAX_HEADERS)

    def note(self, topic: str) -> None:
        now = time.monotonic()

        def step(before: tuple[int, float] | None) -> tuple[int, float]:
            count, until = before or (0, 0.0)
            return (count + 1, until) if now < until else (1, now + self._seconds)

        self._by_topic.change(topic, step)

    def too_many(self, topic: str) -> bool:
        count, until = self._by_topic.get(topic) or (0, 0.0)
        return count >= _MOST_UNKNOWN and time.monotonic() < until
