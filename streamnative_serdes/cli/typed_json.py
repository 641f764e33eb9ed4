"""Messages of any of Pulsar's types as JSON, and back: :mod:`.avro_json` for Avro, and similar forms for other types.

| Pulsar | JSON |
|---|---|
| AVRO | see :mod:`.avro_json` |
| JSON | as in the message |
| BOOLEAN, INT8 to INT64, STRING | true or false, a number, text |
| FLOAT, DOUBLE | a number; ``"NaN"``, ``"Infinity"`` and ``"-Infinity"`` |
| BYTES | text, a character from U+0000 to U+00FF for each byte |
| DATE, TIME, TIMESTAMP, INSTANT | text in UTC: ``"2026-11-23T13:45:00.123Z"`` |
| LOCAL_DATE, LOCAL_TIME, LOCAL_DATE_TIME | text: ``"2026-11-23"``, ``"13:45:00.123456789"`` |
| PROTOBUF_NATIVE | ProtoJSON, with the names of fields as in the descriptor |
"""

from __future__ import annotations

import json
from collections.abc import Callable
from struct import Struct
from typing import Any, Final, NamedTuple, TypeVar

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._formats import Format, ProtobufNativeFormat
from streamnative_serdes._schema import NOT_FINITE, Limits, Logical, Primitive, json_float
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError

from .avro_json import Form, JsonWriter, form_of, reader_of

_Done = TypeVar("_Done")
_NULL: Final = b"\xff\xff\xff\xff"  # the length of a half that is null
_SIZE: Final = 4  # bytes of a length


def split(data: bytes) -> tuple[bytes | None, bytes | None]:
    """The halves of a message without a header. The message was read before, so it is complete."""
    key, rest = _first(data)
    return key, _first(rest)[0]


def _first(data: bytes) -> tuple[bytes | None, bytes]:
    size = int.from_bytes(data[:_SIZE], signed=True)
    return (None, data[_SIZE:]) if size < 0 else (data[_SIZE : _SIZE + size], data[_SIZE + size :])


def join(key: bytes | None, value: bytes | None) -> bytes:
    return b"".join(_NULL if half is None else len(half).to_bytes(_SIZE) + half for half in (key, value))


def within(name: str | None, work: Callable[[Any], _Done], data: Any) -> _Done | None:
    """The result of ``work`` for one half; None for None. The paths of errors begin with ``name``."""
    if data is None:
        return None
    try:
        return work(data)
    except (DecodeError, EncodeError) as error:
        raise error.inside(name) if name else error from None


_INT64: Final = Struct(">q")
_INSTANT: Final = Struct(">qi")
_DAY_AND_TIME: Final = Struct(">qq")
_SECOND: Final = 1_000_000_000  # nanoseconds
_DAY: Final = 86_400 * _SECOND
_MILLIS: Final = Logical("timestamp-millis")
_RAW: Final[CodecArguments] = {"avro_logical_types": False, "validate_strict_allow_default": True}


class _Count(NamedTuple):
    """A type that is a count since some moment: its layout, the unit of its first number, and its text."""

    layout: Struct
    unit: int  # of the first of two numbers, in that of the second
    logical: Logical


_COUNTS: Final = {
    "DATE": _Count(_INT64, 1, _MILLIS),
    "TIME": _Count(_INT64, 1, _MILLIS),
    "TIMESTAMP": _Count(_INT64, 1, _MILLIS),
    "INSTANT": _Count(_INSTANT, _SECOND, Logical("timestamp-nanos")),
    "LOCAL_DATE": _Count(_INT64, 1, Logical("date")),
    "LOCAL_TIME": _Count(_INT64, 1, Logical("time-nanos")),
    "LOCAL_DATE_TIME": _Count(_DAY_AND_TIME, _DAY, Logical("local-timestamp-nanos")),
}


class TypedJson(NamedTuple):
    """Functions that show data of one schema as JSON, or raise DecodeError, and read them, or raise EncodeError."""

    show: Callable[[bytes], Any]
    read: Callable[[Any], bytes]


def json_of(known: SchemaVersion, options: CodecArguments, limits: Limits) -> TypedJson:
    """The functions for data of a schema that is not of type KEY_VALUE. Raises SchemaError or ConfigError."""
    if known.avro is not None:
        return _avro(known, options)
    # Missing and unknown fields are errors: they would be lost.
    strict: CodecArguments = {"validate_strict_allow_default": True, "avro_logical_types": True}
    form = known.format({**options, **strict, "return_record_name": False}, limits)
    if known.type == "JSON":
        return _json(form)
    if known.type in _COUNTS:
        return _count(form, _COUNTS[known.type])
    if isinstance(form, ProtobufNativeFormat):
        return TypedJson(form.to_json, form.from_json)
    return _primitive(form)


def _avro(known: SchemaVersion, options: CodecArguments) -> TypedJson:
    writer, read = JsonWriter(known.schema, options), reader_of(known.schema)
    codec = Codec(known.schema, **_RAW)
    return TypedJson(writer.write, lambda value: codec.encode(read(value)))


def _json(form: Format) -> TypedJson:
    def show(data: bytes) -> Any:
        form.decode(data)  # says what is wrong, and where
        return json.loads(data, parse_constant=str)

    def read(value: Any) -> bytes:
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            form.encode(form.decode(data))
        except DecodeError as error:
            raise EncodeError(error.message, path=error.path, hint=error.hint) from None
        return data

    return TypedJson(show, read)


def _count(form: Format, count: _Count) -> TypedJson:
    shown = form_of(Primitive("long", count.logical))
    assert shown is not None
    text: Form = shown

    def show(data: bytes) -> Any:
        if len(data) != count.layout.size:
            form.decode(data)
        first, *rest = count.layout.unpack(data)
        return text.show(first * count.unit + sum(rest))

    def read(value: Any) -> bytes:
        try:
            number = text.read(value)
        except ValueError as expected:
            raise EncodeError(f"expected {expected}, got {value!r:.60}") from None
        return form.encode(number)

    return TypedJson(show, read)


def _primitive(form: Format) -> TypedJson:
    def show(data: bytes) -> Any:
        value = form.decode(data)
        if isinstance(value, bytes):
            return value.decode("latin-1")
        return json_float(value) if isinstance(value, float) else value

    def read(value: Any) -> bytes:
        if isinstance(value, str) and form.type in ("FLOAT", "DOUBLE"):
            return form.encode(NOT_FINITE.get(value, value))
        if isinstance(value, str) and form.type in ("BYTES", "NONE"):
            return form.encode(_latin(value))
        return form.encode(value)

    return TypedJson(show, read)


def _latin(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise EncodeError(
            f"expected text with characters from U+0000 to U+00FF, one for each byte, got {text!r:.60}"
        ) from None
