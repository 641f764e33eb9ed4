"""Messages as JSON: the lines that ``decode`` writes and ``produce`` reads, and data of any of Pulsar's types.

::

    {"topic": "users", "partition": 0, "offset": 7, "timestamp": "2026-11-23T13:45:00.123Z", "key": "ada",
     "headers": [["trace", "a1"]], "framing": "snip42", "version": 3, "value": {"name": "Ada"}}

Keys and values of headers are text where they are UTF-8, otherwise ``{"base64": "..."}``. In KEY_VALUE topics the key
is data, as the value is; with the encoding INLINE, ``message_key`` is that of the message, if it has one.

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

import base64
import binascii
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._formats import Format, ProtobufNativeFormat
from streamnative_serdes._schema import Limits, Logical, Primitive
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError
from streamnative_serdes.key_value import INLINE

from .avro_json import read_moment, reader_of, show_moment, shower_of, writer_of
from .json_numbers import dumps, parse

if TYPE_CHECKING:
    from confluent_kafka import Message

_BASE64: Final = "base64"
# Members of decode's lines for the place of a message; they do not matter for writing the message again.
_ORIGIN: Final = frozenset({"topic", "offset", "line", "framing", "version", "header_version", "schema_id"})
_WRITTEN: Final = frozenset({"key", "headers", "partition", "timestamp", "value"})
_MESSAGE_KEY: Final = "message_key"  # of encoding INLINE, whose key is the half of the value
ABSENT: Final = object()  # in the place of a member that a line does not have
_MOST_PARTITION: Final = 2**31 - 1
_MOST_TIME: Final = 2**63 - 1
_Done = TypeVar("_Done")
_NULL: Final = b"\xff\xff\xff\xff"  # the length of a half that is null
_SIZE: Final = 4  # bytes of a length
_INT64: Final = struct.Struct(">q")
_MILLIS: Final = Logical("timestamp-millis")
RAW: Final[CodecArguments] = {"avro_logical_types": False, "validate_strict_allow_default": True}


def place_of(message: Message) -> dict[str, Any]:
    kind, millis = message.timestamp()
    key: Any = message.key()
    headers: Any = message.headers() or []  # the stubs allow str and a dict, which the client takes but never gives
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": show_moment(millis, 3, True) if kind else None,
        "key": show_bytes(key),
        "headers": [[name, show_bytes(value)] for name, value in headers],
    }


def show_bytes(data: bytes | None) -> Any:
    """Bytes as text if they are UTF-8, otherwise as base64 in an object, which is never text."""
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {_BASE64: base64.b64encode(data).decode("ascii")}


def read_bytes(name: str, value: Any) -> bytes | None:
    """The bytes of a JSON value, as :func:`show_bytes` writes it. Raises EncodeError if the value has another form."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return value.encode("utf-8")
        if isinstance(value, dict) and set(value) == {_BASE64}:
            return base64.b64decode(value[_BASE64], validate=True)
    except (UnicodeEncodeError, binascii.Error, TypeError, ValueError):
        pass
    raise EncodeError(f'{name}: expected text, null or {{"base64": "..."}}, got {value!r:.60}')


@dataclass(frozen=True, slots=True)
class Line:
    """A message to write; ``value`` is JSON, not yet data."""

    value: Any
    key: bytes | None = None  # of the message
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp: int | None = None  # milliseconds since 1970, UTC
    half: Any = ABSENT  # of KEY_VALUE topics: the key, as JSON


def parse_line(text: str | bytes, *, values: bool = False, halves: str | None = None) -> Line:
    """Read a line; with ``values``, a line is the value alone. ``halves``: the encoding of a KEY_VALUE topic."""
    try:
        tree = parse(text, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise EncodeError(f"not a line of JSON: {error or 'nested too deeply'}") from None
    if not values:
        return _line(tree, halves)
    if halves != INLINE or tree is None:
        return Line(tree)
    if not isinstance(tree, dict) or tree.keys() != {"key", "value"}:
        raise EncodeError(f'expected {{"key": ..., "value": ...}}, since the encoding is INLINE, got {tree!r:.60}')
    return Line(tree["value"], half=tree["key"])


def _line(tree: Any, halves: str | None) -> Line:
    if not isinstance(tree, dict):
        raise EncodeError(f'expected {{"value": ...}}, got {tree!r:.60}', hint="--values takes lines of values alone")
    if "error" in tree:
        raise EncodeError(f"decode could not read this message: {tree['error']!s:.200}", hint="leave the line out")
    written = _WRITTEN | {_MESSAGE_KEY} if halves == INLINE else _WRITTEN
    unknown = sorted(set(tree) - _ORIGIN - written)
    if unknown or "value" not in tree:
        fault = f"it has {unknown[0]!r}" if unknown else "it has no value"
        hint = "--values takes lines of values alone; a value of null is a tombstone"
        if unknown == [_MESSAGE_KEY]:
            hint = "only KEY_VALUE topics with the encoding INLINE have a message_key beside their key: leave one out"
        raise EncodeError(
            f"expected a line with value and perhaps {', '.join(sorted(written - {'value'}))}; {fault}", hint=hint
        )
    name = "key" if halves is None else _MESSAGE_KEY
    return Line(
        tree["value"],
        read_bytes(name, tree.get(name)),
        _headers(tree.get("headers")),
        _number("partition", tree.get("partition"), _MOST_PARTITION),
        _number("timestamp", _time(tree.get("timestamp")), _MOST_TIME),
        ABSENT if halves is None else tree.get("key", ABSENT),
    )


def _headers(value: Any) -> tuple[tuple[str, bytes | None], ...]:
    if value is None:
        return ()
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs
    ):
        raise EncodeError(f'headers: expected [["name", "value"], ...], got {value!r:.60}')
    return tuple((name, read_bytes(f"header {name}", item)) for name, item in pairs)


def _time(value: Any) -> Any:
    try:
        return read_moment(value, 3, True)
    except ValueError as expected:
        raise EncodeError(f"timestamp: expected {expected} or milliseconds, got {value!r:.60}") from None


def _number(name: str, value: Any, most: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise EncodeError(f"{name}: expected a whole number from 0 to {most}, got {value!r:.60}")
    return int(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f'{name} is not JSON: write "{name}"')


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r:.60} occurs twice in an object")
    return tree


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


# Types that are a count since some moment.
_COUNTS: Final = {
    "DATE": _MILLIS,
    "TIME": _MILLIS,
    "TIMESTAMP": _MILLIS,
    "INSTANT": Logical("timestamp-nanos"),
    "LOCAL_DATE": Logical("date"),
    "LOCAL_TIME": Logical("time-nanos"),
    "LOCAL_DATE_TIME": Logical("local-timestamp-nanos"),
}
# Those of them whose formats give Python's dates, which end at the year 9999.
_DATES: Final = ("DATE", "TIME", "TIMESTAMP", "LOCAL_DATE")
# Types whose JSON is that of an Avro type.
_AVRO_KINDS: Final = {"FLOAT": "float", "DOUBLE": "double", "BYTES": "bytes", "NONE": "bytes"}


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
    codec, read = Codec(known.schema, **RAW), reader_of(known.schema.root)
    return TypedJson(writer_of(known.schema, options), lambda value: codec.encode(read(value)))


def _json(form: Format) -> TypedJson:
    def show(data: bytes) -> Any:
        form.decode(data)  # says what is wrong, and where
        return parse(data, parse_constant=str)

    def read(value: Any) -> bytes:
        data = dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            form.encode(form.decode(data))
        except DecodeError as error:
            raise EncodeError(error.message, path=error.path, hint=error.hint) from None
        return data

    return TypedJson(show, read)


def _count(form: Format, logical: Logical) -> TypedJson:
    node = Primitive("long", logical)
    to_text, from_text = shower_of(node), reader_of(node)
    beyond = form.type in _DATES

    def show(data: bytes) -> Any:
        return to_text(_INT64.unpack(data)[0] if beyond and len(data) == _INT64.size else form.decode(data))

    def read(value: Any) -> bytes:
        number = from_text(value)
        if not beyond or isinstance(number, bool) or not isinstance(number, int):
            return form.encode(number)
        try:
            return _INT64.pack(number)
        except struct.error:
            raise EncodeError(f"expected a number of 64 bits for {form.type}, got {number!r:.60}") from None

    return TypedJson(show, read)


def _primitive(form: Format) -> TypedJson:
    node = Primitive(_AVRO_KINDS.get(form.type, "null"))  # null stands for all that are shown as they are
    show, read = shower_of(node), reader_of(node)
    return TypedJson(lambda data: show(form.decode(data)), lambda value: form.encode(read(value)))
