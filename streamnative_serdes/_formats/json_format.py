"""JSON topics: the payload is JSON text, as Jackson writes it, of the shape that an Avro schema gives.

The text is not Avro's JSON encoding: unions are untagged, and bytes are base64. The Avro codec checks the objects to
write, so it decides which objects are possible, and errors are the codec's. ``jackson/`` has the rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Unpack

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import Limits, Schema, parse, told_apart
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError, NestedTooDeeplyError, SchemaError

from .jackson.java_classes import has_primitives, inner_schema
from .jackson.parsing import parse as parse_json
from .jackson.parsing import plain
from .jackson.shaping import Budget, Shape, Shaper
from .jackson.writing import Write, Writer, plain_text

_MAX_DEPTH: Final = 256  # as the options max.depth and max.items
_MAX_ITEMS: Final = 10_000_000
# For data that we have encoded ourselves.
_NO_LIMITS: Final[CodecArguments] = {
    "max_depth": 1_000,
    "max_items": 1 << 40,
    "max_empty_values": 1 << 40,
    "return_record_name": True,
}
# The kinds of the schemas that Pulsar's Java client wrote before 2.1, by Jackson's module for JSON Schema.
_KINDS_OF_JSON_SCHEMA: Final = ("string", "number", "integer", "boolean", "object", "array", "null", "any")


class JsonFormat:
    """The format of a JSON schema.

    Args:
        schema: the Avro schema that gives the shape; None for plain JSON data.
        text: the schema's text; empty for a topic without a schema.
        properties: the schema's properties, which tell whether Java made the schema.
        **options: the options of a codec.

    Raises:
        SchemaError: the schema cannot be compiled.
    """

    type: Final = "JSON"

    def __init__(
        self,
        schema: Schema | None,
        text: str = "",
        properties: Mapping[str, str] | None = None,
        **options: Unpack[CodecArguments],
    ) -> None:
        self._text = text
        self._max_depth = options.get("max_depth", _MAX_DEPTH)
        self._max_items = options.get("max_items", _MAX_ITEMS)
        self._shaped: _Shaped | None = None
        if schema is not None:
            try:
                self._shaped = _Shaped(schema, properties or {}, options)
            except RecursionError:
                raise NestedTooDeeplyError from None

    @property
    def native(self) -> Any:
        """The parsed JSON of the schema's text, a new object each time, for changes by callers; None without text."""
        return json.loads(self._text) if self._text else None

    def decode(self, data: bytes) -> Any:
        """Return the value; without a schema it is plain JSON data.

        Raises:
            DecodeError: the payload is not JSON or does not have the shape of the schema.
        """
        value = parse_json(data, self._max_depth)
        if value is None:
            return None
        try:
            return plain(value) if self._shaped is None else self._shaped.shape(value, Budget(self._max_items))
        except RecursionError:
            raise DecodeError("nested too deeply for the remaining depth of Python's recursion limit") from None

    def encode(self, obj: Any) -> bytes:
        """Return the payload.

        Raises:
            EncodeError: the object does not fit the schema; without a schema, it is not plain JSON data.
        """
        try:
            text = plain_text(obj, self._max_depth) if self._shaped is None else self._shaped.text(obj)
            return text.encode()
        except RecursionError:
            raise EncodeError("nested too deeply for the remaining depth of Python's recursion limit") from None


class _Shaped:
    """The compiled form of a schema."""

    def __init__(self, schema: Schema, properties: Mapping[str, str], options: CodecArguments) -> None:
        inner = inner_schema(schema)
        self.shape: Shape = Shaper(options).of(schema.root)
        self._check = Codec(inner, **options)
        self._tell = Codec(told_apart(inner), **_NO_LIMITS)
        self._write: Write = Writer(primitives=has_primitives(properties)).of(inner.root)

    def text(self, obj: Any) -> str:
        checked = self._check.encode(obj)
        try:
            told = self._tell.decode(checked)
        except DecodeError as error:  # each union takes another level
            raise EncodeError(error.message, path=error.path, hint=error.hint) from None
        out: list[str] = []
        self._write(told, out)
        return "".join(out)


def json_format(text: str, properties: Mapping[str, str], limits: Limits, options: CodecArguments) -> JsonFormat:
    """The format of a schema of type JSON, by its text and properties; an empty text gives plain JSON data.

    Raises:
        SchemaError: the text is neither an Avro schema nor one of Jackson's, or exceeds the limits.
    """
    if not text.strip():
        return JsonFormat(None, **options)
    try:
        schema = parse(text, strict=False, limits=limits)
    except NestedTooDeeplyError:
        raise
    except SchemaError:
        if not _is_jacksons(text, limits):
            raise
        return JsonFormat(None, text, **options)
    return JsonFormat(schema, schema.text, properties, **options)


def _is_jacksons(text: str, limits: Limits) -> bool:
    """Whether the text is a schema of Jackson's module for JSON Schema, which gives no shape."""
    if len(text) > limits.size:
        return False
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(tree, dict) and tree.get("type") in _KINDS_OF_JSON_SCHEMA
