"""Signs of other framings in a message: a prefix or a header that names a schema of a registry beside Pulsar's.

::

    value   0x00 | schema id, int32 BE | datum                      confluent
            0x00 | global or content id, int64 BE | datum           apicurio (the first four bytes of the id are zero)
            0x00 | content id, int32 BE | datum                     apicurio-v3
            0x03 | 0x00 or 0x05 | UUID, 16 bytes | datum            glue (0x05: the datum is compressed with zlib)
            0x00 0x00 0x00 0x00 | id, 32 hexadecimal digits | datum azure
            0x2C | "avro/binary+" and such an id | datum            azure-content-type

    header  __value_schema_id      | 0x00 | schema id, int32 BE |    or    | 0x01 | GUID, 16 bytes |
            apicurio.value.globalId    | id, int64 BE |              or    apicurio.value.contentId
            content-type           "avro/binary+" and 32 hexadecimal digits
            and the value is bare Avro

Keys look the same, and their headers are ``__key_schema_id``, ``apicurio.key.globalId`` and ``.contentId``.

A first byte 0x00 proves nothing: many records without a header begin with it. A message can be read
in at most two ways: in the framing that it shows a sign of, and without a header. The option ``framings`` decides which
way is tried first. A header wins over a prefix, and of several headers the one whose framing comes first.

Compiled code looks for the prefixes (``prefix_size`` in _header.pxd), and asks :class:`Signs` for the key of each once.
"""

from __future__ import annotations

import itertools
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from streamnative_serdes import _call_path, header
from streamnative_serdes import _config as config
from streamnative_serdes._topics.cache import ForkSafeLock, LruMap
from streamnative_serdes.errors import DecodeError

HEADER: Final = "__value_schema_id"
_ID, _GUID = b"\x00", b"\x01"
_MAX_HEADERS = 10_000  # signs that have a number
_MOST_UNKNOWN = 16  # ids of one topic that the registry does not have, and that are asked for within the time below
_SIZE_BIT, _SECOND_BIT, _FOREIGN_BIT = 52, 51, 50  # of a key, see _header.pxd
# No two signs of a process have the same: a thread may read while another one gives the deserializer other framings.
_numbers = itertools.count()
_lock = ForkSafeLock()  # of all Signs
_GLUE_SIZE: Final = 18  # bytes
PACKED: Final = b"\x03\x05"
_AVRO_TYPE: Final = b"avro/binary+"
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")


class ForeignId(NamedTuple):
    """The name of a schema in a registry that is neither Pulsar's nor of Confluent's API.

    ``registry`` is what the options of the registry begin with, ``kind`` is what the id counts, as errors call it.
    """

    registry: str
    kind: str
    value: int | str

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


SchemaName = int | bytes | ForeignId  # an id (int) or GUID of Confluent's, or the id of another registry
_Sign = tuple[str, bytes]  # a header's name and value; "" and a prefix


CONFLUENTS: Final = "confluent."
VENDORS: Final = {  # by what the options of a registry begin with
    CONFLUENTS: "Confluent's",
    "apicurio.": "Apicurio's",
    "glue.": "AWS Glue's",
    "azure.": "Azure's",
}


def prefix_size(key: int) -> int:
    """The size of the prefix in front of the datum, in bytes, of messages without our header."""
    if key < _call_path.BY_HEADER:
        return 5
    return 0 if key >= _call_path.UNFRAMED else (key - _call_path.BY_HEADER) >> _SIZE_BIT


class Signs:
    """The signs that count, and numbers for prefixes and values of headers: keys of the call path are numbers.

    Threads share it: a lock guards the giving out of numbers, and a look-up is one step.

    Args:
        conf: checked options of a deserializer.
        is_key: whether keys are read; without a header, they are only read by the schema ``key.schema``.
    """

    def __init__(self, conf: Mapping[str, Any], *, is_key: bool = False) -> None:
        framings = conf["framings"]
        self.declared = [config.BY_NAME[name] for name in framings if name in config.BY_NAME]
        if is_key and self.declared and conf["key.schema"] is None:
            framings = tuple(framing for framing in framings if framing != config.HEADERLESS)
        self.expected = ", ".join(framings[1:] if is_key else framings)
        self.prefix = config.CONFLUENT in framings
        # The name of the first declared framing whose sign is a header; "" if no framing has one.
        self.by_header = next((framing.name for framing in self.declared if not framing.size), "")
        self.header = bool(self.by_header)
        self.headerless = config.HEADERLESS in framings
        self.in_use = bool(self.declared) or not self.headerless
        # One message may be read in two ways.
        self.compares = self.headerless and any(framing.size for framing in self.declared)
        self.names = frozenset(framing.name for framing in self.declared)
        self._place = {framing: place for place, framing in enumerate(framings)}
        self.prefix_second = self.second(config.CONFLUENT)
        self.which = sum(framing.bit for framing in self.declared)  # prefixes that compiled code looks for
        if self.which and {config.CONFLUENT, config.APICURIO_V3} & set(framings):
            self.which |= config.SHORT_IDS
        self.unpacks = config.GLUE in framings
        self._most_unpacked: int = conf.get("glue.max.unpacked.size") or 0
        self._use_id: str | None = conf.get("apicurio.registry.use-id")
        part = "key" if is_key else "value"
        self._headers = {
            name: framing for framing in self.declared if not framing.size for name in _header_names(framing, part)
        }
        self._keys: dict[_Sign, int] = {}
        self._signs: dict[int, _Sign] = {}
        self._known: dict[int, _Sign] = {}  # of schemas that were found: compiled code may keep these keys for long

    def second(self, framing: str) -> bool:
        """Whether a message with the sign of this framing is read without a header first."""
        last = len(self._place)
        return self._place.get(config.HEADERLESS, last) < self._place.get(framing, -1)

    # Keys

    def key_in(self, headers: Any) -> int | None:
        """The key of the schema that headers (pairs of name and value, or a dict; or None) name, or None."""
        return (self._first(headers)[0] or None) if headers else None

    def named_in(self, headers: Any) -> tuple[str, SchemaName] | None:
        """The framing and the schema that headers name, or None."""
        key, name = self._first(headers)
        return (self._headers[name].name, self.schema_of(key)) if key else None

    def named_by(self, message: bytes) -> tuple[str, SchemaName] | None:
        """The framing and the schema that a prefix names, or None."""
        prefix = header.foreign_prefix(message, self.which)
        if prefix is not None:
            return self.framing_of(prefix).name, self.id_in(prefix)
        number = header.confluent_id(message) if self.prefix else None
        return None if number is None else (config.CONFLUENT, number)

    def _first(self, headers: Any) -> tuple[int, str]:
        found: dict[str, Any] = {}  # the first of several headers of one name counts
        ours = self._headers
        try:
            for name, value in headers if type(headers) is list else _pairs(headers):
                if name in ours:
                    found.setdefault(name, value)
        except (TypeError, ValueError):
            got = f"{type(headers).__name__}: {headers!r:.100}"
            hint = "as confluent-kafka's message.headers() returns them"
            raise DecodeError(f"expected headers as (name, value) pairs or a dict, got {got}", hint=hint) from None
        for name in ours if len(found) > 1 else found:
            if name in found and (key := self.header_key(found[name], name)):
                return key, name
        return 0, ""

    @property
    def header_names(self) -> Iterable[str]:
        """The names of the headers that count, the first that counts first."""
        return self._headers.keys()

    @property
    def header_keys(self) -> Iterable[tuple[str, Callable[[bytes], int]]]:
        """The names of these headers, each with the function that makes keys of their values."""
        return [(name, partial(self.header_key, name=name)) for name in self._headers]

    def header_key(self, value: Any, name: str = HEADER) -> int:
        """The key of this value of the header; 0 if the value is no sign."""
        if type(value) is not bytes:
            if not isinstance(value, (bytes, bytearray, memoryview)):
                return 0
            value = bytes(value)
        sign = name, value
        return self._keys.get(sign) or (self._give(sign, self._headers[name]) if is_sign_of(*sign) else 0)

    def prefix_key(self, prefix: bytes) -> int:
        """The key of a prefix, other than Confluent's, that a message begins with."""
        sign = "", prefix
        return self._keys.get(sign) or self._give(sign, self.framing_of(prefix))

    def framing_of(self, prefix: bytes) -> config.Framing:
        """The framing of a prefix that compiled code has found: each has a size of its own."""
        return next(each for each in self.declared if each.bit and each.size == len(prefix))

    def _give(self, sign: _Sign, framing: config.Framing) -> int:
        foreign = framing.registry != CONFLUENTS
        flags = self.second(framing.name) << _SECOND_BIT | foreign << _FOREIGN_BIT
        with _lock():
            if len(self._keys) >= _MAX_HEADERS:
                self._keys = {sign: key for key, sign in self._known.items()}
                # The other keys given out before keep their values for a while.
                self._signs = self._known | dict(list(self._signs.items())[-_MAX_HEADERS:])
            number = (framing.size << _SIZE_BIT | flags) + next(_numbers)
            key = _call_path.BY_HEADER + number
            self._signs[key] = sign  # first: a child may be forked between the two steps
            return self._keys.setdefault(sign, key)

    def found(self, key: int) -> None:
        """Note that the registry has the schema of a key, so that floods of unknown ids do not make it forgotten."""
        with _lock():
            if key in self._signs and len(self._known) < _MAX_HEADERS // 2:
                self._known[key] = self._signs[key]

    def known(self, key: int) -> _Sign | None:
        """The sign of a key that is never forgotten, since its schema was found; or None."""
        return self._known.get(key)

    def schema_of(self, key: int) -> SchemaName:
        """The schema that a key stands for.

        Raises:
            DecodeError: it was forgotten, among ever more ids that no registry has.
        """
        if key < _call_path.BY_HEADER:
            return key - _call_path.PREFIXED
        sign = self._signs.get(key)
        if sign is None:
            raise DecodeError(
                "the id of its schema was forgotten, since messages name ever new ids", hint="read it again"
            )
        name, value = sign
        return self._of_header(name, value) if name else self.id_in(value)

    def _of_header(self, name: str, value: bytes) -> SchemaName:
        framing = self._headers[name].name
        if framing == config.CONFLUENT_HEADER:
            return int.from_bytes(value[1:]) if value[:1] == _ID else value[1:]
        if framing == config.APICURIO_HEADER:
            return ForeignId("apicurio.", name.rpartition(".")[2], int.from_bytes(value))
        return ForeignId("azure.", "schema id", value[len(_AVRO_TYPE) :].decode())

    def id_in(self, prefix: bytes) -> ForeignId:
        """The id in a prefix that compiled code has found."""
        return foreign_id(self.framing_of(prefix), prefix, self._use_id)

    # AWS Glue's compressed messages

    def is_packed(self, key: int) -> bool:
        """Whether a key is that of a compressed message, as only one is that cannot be unpacked."""
        name, value = self._signs.get(key, ("", b""))
        return not name and value.startswith(PACKED)

    def unpacked(self, message: bytes) -> bytes | None:
        """A compressed message as one that is not; None if it cannot be unpacked, or is too large then."""
        unpack = zlib.decompressobj()
        try:
            datum = unpack.decompress(message[_GLUE_SIZE:], self._most_unpacked + 1)
        except zlib.error:
            return None
        if not unpack.eof or unpack.unused_data or len(datum) > self._most_unpacked:
            return None
        return b"\x03\x00" + message[2:_GLUE_SIZE] + datum


def foreign_id(framing: config.Framing, prefix: bytes, use_id: str | None = None) -> ForeignId:
    """The id in the prefix of a framing that is not Confluent's."""
    if framing.registry == "glue.":
        return ForeignId("glue.", "schema version", str(UUID(bytes=prefix[2:])))
    if framing.registry == "azure.":
        return ForeignId("azure.", "schema id", prefix[-32:].decode())
    kind = use_id or ("globalId" if framing.name == config.APICURIO else "contentId")
    return ForeignId("apicurio.", kind, int.from_bytes(prefix[1:]))


def _pairs(headers: Any) -> Iterable[tuple[str, Any]]:
    return (headers.items() if isinstance(headers, Mapping) else headers) or ()


def _header_names(framing: config.Framing, part: str) -> tuple[str, ...]:
    if framing.name == config.CONFLUENT_HEADER:
        return (f"__{part}_schema_id",)
    if framing.name == config.APICURIO_HEADER:
        return f"apicurio.{part}.globalId", f"apicurio.{part}.contentId"
    return ("content-type",) if part == "value" else ()


def is_sign_of(name: str, value: bytes) -> bool:
    """Whether the value of a header has the form that its framing gives it; other values are not a sign."""
    if name.startswith("__"):
        return (len(value), value[:1]) in ((5, _ID), (17, _GUID))
    if name.startswith("apicurio."):
        return len(value) == 8 and value[0] < 0x80
    return value.startswith(_AVRO_TYPE) and len(value) == len(_AVRO_TYPE) + 32 and _HEX.issuperset(value[-32:])


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
