"""The envelope of a message, ``{"schema": ..., "payload": ...}``; its schema is parsed once, then known by its bytes.

    offset 0                                        n
           | {"schema":{"type":...},"payload":      | payload | }

Most messages of a topic begin with the same n bytes, and most of their bytes are these. A message that begins with the
bytes of a known envelope has its schema; only the payload is parsed. Others are parsed whole.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Any, Final, NamedTuple

from streamnative_serdes._formats.faults import described
from streamnative_serdes._formats.jackson.parsing import parse, parse_at
from streamnative_serdes.errors import DecodeError

from .json_schema import from_json
from .json_values import Form, Read, read_schemaless, reader
from .schema import Schema

MAX_TEXT: Final = 1 << 23  # bytes of schemas that are kept, in sum; parsed, they take some thirty times as much
_PAYLOAD: Final = b'"payload":'
_START: Final = re.compile(r'[ \t\r\n]*\{[ \t\r\n]*"schema"[ \t\r\n]*:[ \t\r\n]*')
_MIDDLE: Final = re.compile(r'[ \t\r\n]*,[ \t\r\n]*"payload"[ \t\r\n]*:')
_END: Final = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*\Z")
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_HINT: Final = "for messages without schemas, set schemas.enable=false"


class KnownSchema(NamedTuple):
    """A schema, None for null; and the function that reads payloads of it."""

    schema: Schema | None
    read: Read


class Envelopes:
    """Splits messages into schema and payload. May be used by several threads.

    Args:
        form: how values are read.
        most: how many schemas are kept.
        max_depth: how deeply messages may be nested.
    """

    def __init__(self, form: Form, most: int, max_depth: int) -> None:
        self._form, self._most, self._max_depth = form, most, max_depth
        self._last: tuple[bytes, KnownSchema] | None = None
        self._known: OrderedDict[bytes, KnownSchema] = OrderedDict()  # by the bytes in front of the payload
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def split(self, data: bytes) -> tuple[KnownSchema, Any]:
        """The schema and the parsed payload. Raises DecodeError: the bytes are no envelope, or its schema no schema."""
        found = self.known(data)
        if found is not None:
            payload = self._payload(data, len(found[0]))
            if payload is not None:
                return found[1], payload[0]
        return self._parsed(data)

    def known(self, data: bytes) -> tuple[bytes, KnownSchema] | None:
        """The bytes that the message begins with and their schema, if a message that began so has been read."""
        last = self._last
        if last is not None and data.startswith(last[0]):
            return last
        prefix = data[: data.find(_PAYLOAD) + len(_PAYLOAD)]
        with self._lock:
            found = self._known.get(prefix)
            if found is None:
                return None
            self._known.move_to_end(prefix)
        self._last = (prefix, found)
        return self._last

    def _payload(self, data: bytes, start: int) -> tuple[Any] | None:
        """The parsed payload of a known envelope; None if what follows is not a payload and a brace.

        The whole is then parsed, so that errors are the same.
        """
        try:
            text = str(data[start:], "utf-8")
            value, end = parse_at(text, _after_space(text, 0), self._max_depth - 1)
        except (UnicodeDecodeError, DecodeError):
            return None
        return (value,) if _END.match(text, end) else None

    def _parsed(self, data: bytes) -> tuple[KnownSchema, Any]:
        envelope = parse(data, self._max_depth)
        if type(envelope) is not dict or envelope.keys() != {"schema", "payload"}:
            keys = ", ".join(map(repr, list(envelope)[:5])) if type(envelope) is dict else described(envelope)
            raise DecodeError(f'expected an envelope, {{"schema": ..., "payload": ...}}, got {keys:.200}', hint=_HINT)
        known = self.schema_of(envelope["schema"])
        self._keep(data, known)
        return known, envelope["payload"]

    def schema_of(self, node: Any) -> KnownSchema:
        """The schema of parsed JSON. Raises DecodeError: it is no schema; ``path`` begins with ``schema``."""
        if node is None:
            return KnownSchema(None, read_schemaless)
        try:
            schema = from_json(node, self._form)
            return KnownSchema(schema, reader(schema, self._form))
        except DecodeError as error:
            error.inside("schema")
            raise

    def _keep(self, data: bytes, known: KnownSchema) -> None:
        """Keep a schema by the bytes in front of the payload; the least recently used ones make room."""
        prefix = self._prefix(data)
        if prefix is None or not self._most or len(prefix) > MAX_TEXT:
            return
        with self._lock:
            if prefix not in self._known:
                self._known[prefix] = known
                self._size += len(prefix)
            while len(self._known) > self._most or self._size > MAX_TEXT:
                self._size -= len(self._known.popitem(last=False)[0])
        self._last = (prefix, known)

    def _prefix(self, data: bytes) -> bytes | None:
        """The bytes in front of the payload; None if the payload comes first."""
        text = str(data, "utf-8")
        start = _START.match(text)
        if start is None:
            return None
        _, end = parse_at(text, start.end(), self._max_depth)
        middle = _MIDDLE.match(text, end)
        return None if middle is None else text[: middle.end()].encode()


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
