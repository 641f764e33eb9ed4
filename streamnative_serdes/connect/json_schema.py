"""Schemas in JSON, as Kafka's JsonConverter writes them into the envelope of each message.

The envelope of a message, ``{"schema": ..., "payload": ...}``; its schema is parsed once, then known by its bytes.

    offset 0                                        n
           | {"schema":{"type":...},"payload":      | payload | }

Most messages of a topic begin with the same n bytes, and most of their bytes are these. A message that begins with
the bytes of a known envelope has its schema; only the payload is parsed. Others are parsed whole.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any, Final, NamedTuple

from streamnative_serdes._formats.faults import described
from streamnative_serdes._formats.jackson.notation import quoted
from streamnative_serdes._formats.jackson.parsing import parse, parse_at
from streamnative_serdes._topics.cache import ForkSafeLock
from streamnative_serdes.errors import DecodeError, SchemaError

from .builder import SchemaBuilder
from .json_values import Form, Read, read_schemaless, reader, writer
from .schema import Schema, Type

_NAMES: Final = {kind: kind.value for kind in Type} | {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPES: Final = {name: kind for kind, name in _NAMES.items()}
_lock = ForkSafeLock()  # of all Envelopes


def to_json(schema: Schema, form: Form) -> str:
    """The JSON text of a schema, with the members in Java's order."""
    return f"{{{','.join(_members(schema, form))}}}"


def _members(schema: Schema, form: Form) -> list[str]:
    members = [f'"type":"{_NAMES[schema.type]}"']
    if schema.type is Type.ARRAY:
        members.append(f'"items":{to_json(schema.values, form)}')
    elif schema.type is Type.MAP:
        members.append(f'"keys":{to_json(schema.keys, form)}')
        members.append(f'"values":{to_json(schema.values, form)}')
    elif schema.type is Type.STRUCT:
        fields = [[*_members(field.schema, form), f'"field":{quoted(field.name)}'] for field in schema.fields or ()]
        inner = ",".join(f"{{{','.join(each)}}}" for each in fields)
        members.append(f'"fields":[{inner}]')
    members.append('"optional":true' if schema.optional else '"optional":false')
    return members + _properties(schema, form)


def _properties(schema: Schema, form: Form) -> list[str]:
    found = []
    if schema.name is not None:
        found.append(f'"name":{quoted(schema.name)}')
    if schema.version is not None:
        found.append(f'"version":{quoted(schema.version) if isinstance(schema.version, str) else schema.version}')
    if schema.doc is not None:
        found.append(f'"doc":{quoted(schema.doc)}')
    if schema.parameters is not None:
        inner = ",".join(f"{quoted(name)}:{quoted(value)}" for name, value in schema.parameters.items())
        found.append(f'"parameters":{{{inner}}}')
    if schema.default is not None:
        found.append(f'"default":{writer(schema, form)(schema.default)}')
    return found


def from_json(node: Any, form: Form) -> Schema:
    """The schema of parsed JSON.

    Raises:
        DecodeError: the JSON is not such a schema; ``path`` names the place in the JSON.
    """
    try:
        return _read(node, form)
    except SchemaError as error:
        raise DecodeError(error.message, path=error.path, hint=error.hint) from None


def _read(node: Any, form: Form) -> Schema:
    if type(node) is not dict:
        raise DecodeError(f"expected a schema, a JSON object, got {described(node)}")
    kind = _TYPES.get(node["type"]) if type(node.get("type")) is str else None
    if kind is None:
        raise DecodeError(f"expected one of {', '.join(_TYPES)}, got {described(node.get('type'))}", path="type")
    builder = _builder(kind, node, form)
    if _member(node, "optional", (bool,), "true or false"):
        builder.optional()
    for name, method in (("name", builder.name), ("doc", builder.doc)):
        if (text := _member(node, name, (str,), "a string")) is not None:
            method(text)
    if (version := _member(node, "version", (int, str), "an integer or a string")) is not None:
        builder.version(version)
    if (parameters := _member(node, "parameters", (dict,), "an object")) is not None:
        builder.parameters(parameters)
    return _with_default(builder.build(), node, form)


def _builder(kind: Type, node: dict[str, Any], form: Form) -> SchemaBuilder:
    if kind is Type.ARRAY:
        return SchemaBuilder.array(_inner(node, "items", form))
    if kind is Type.MAP:
        return SchemaBuilder.map(_inner(node, "keys", form), _inner(node, "values", form))
    builder = SchemaBuilder(kind)
    if kind is Type.STRUCT:
        fields = node.get("fields")
        if type(fields) is not list:
            raise DecodeError(f"expected an array, got {described(fields)}", path="fields")
        for at, field in enumerate(fields):
            _add_field(builder, field, f"fields[{at}]", form)
    return builder


def _add_field(builder: SchemaBuilder, field: Any, path: str, form: Form) -> None:
    try:
        schema = _read(field, form)
        if type(field.get("field")) is not str:
            raise DecodeError(f"expected a string, got {described(field.get('field'))}", path="field")
        builder.field(field["field"], schema)
    except (DecodeError, SchemaError) as error:
        raise error.inside(path) from None


def _inner(node: dict[str, Any], name: str, form: Form) -> Schema:
    try:
        return _read(node.get(name), form)
    except (DecodeError, SchemaError) as error:
        raise error.inside(name) from None


def _member(node: dict[str, Any], name: str, kinds: tuple[type, ...], expected: str) -> Any:
    value = node.get(name)
    if value is not None and type(value) not in kinds:
        raise DecodeError(f"expected {expected}, got {described(value)}", path=name)
    return value


def _with_default(schema: Schema, node: dict[str, Any], form: Form) -> Schema:
    if "default" not in node or (node["default"] is None and schema.optional):
        return schema
    try:
        return schema.replaced(default=reader(schema, form)(node["default"]))
    except DecodeError as error:
        raise error.inside("default") from None


MAX_TEXT: Final = 1 << 23  # bytes of schemas that are kept, in sum; parsed, they take some thirty times as much
_PAYLOAD: Final = b'"payload":'
_START: Final = re.compile(r'[ \t\r\n]*\{[ \t\r\n]*"schema"[ \t\r\n]*:[ \t\r\n]*')
_MIDDLE: Final = re.compile(r'[ \t\r\n]*,[ \t\r\n]*"payload"[ \t\r\n]*:')
_END: Final = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*\Z")
_HINT: Final = "for messages without schemas, set schemas.enable=false"


class KnownSchema(NamedTuple):
    """A schema, None for null, and the function that reads payloads of this schema."""

    schema: Schema | None
    read: Read


class Envelopes:
    """Splits messages into schema and payload. Threads share it: ``_lock`` guards the map, and the last is one tuple.

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
        """The bytes that the message begins with, and their schema, if an earlier message began with the same bytes."""
        last = self._last
        if last is not None and data.startswith(last[0]):
            return last
        prefix = data[: data.find(_PAYLOAD) + len(_PAYLOAD)]
        with _lock():
            found = self._known.get(prefix)
            if found is None:
                return None
            self._known.move_to_end(prefix)
        self._last = last = (prefix, found)
        return last  # not what is kept: another thread may have replaced it

    def _payload(self, data: bytes, start: int) -> tuple[Any] | None:
        """The parsed payload of a known envelope; None if the rest is not a payload and a brace.

        The whole message is then parsed, so that errors are the same.
        """
        try:
            text = str(data[start:], "utf-8").lstrip(" \t\r\n")
            value, end = parse_at(text, 0, self._max_depth - 1)
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
        """The schema of parsed JSON. Raises DecodeError for other JSON; ``path`` begins with ``schema``."""
        if node is None:
            return KnownSchema(None, read_schemaless)
        try:
            schema = from_json(node, self._form)
            return KnownSchema(schema, reader(schema, self._form))
        except DecodeError as error:
            raise error.inside("schema") from None

    def _keep(self, data: bytes, known: KnownSchema) -> None:
        """Keep a schema by the bytes in front of the payload; drops the least recently used schemas."""
        prefix = self._prefix(data)
        if prefix is None or not self._most or len(prefix) > MAX_TEXT:
            return
        with _lock():
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
