"""The leaves of JSON data by type, as Jackson and other writers write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from streamnative_serdes._formats import moments
from streamnative_serdes._formats.faults import described, not_decodable, not_encodable
from streamnative_serdes._formats.json_number import JsonNumber
from streamnative_serdes._schema import MAX_PRECISION, NOT_FINITE, AvroType, Fixed, Primitive
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError

from .java_classes import CHARACTER, DATES, NUMBERS, is_of_connect, java_class
from .logical import UNITS
from .notation import decimal_text, double_text, float_text, from_base64, quoted, to_base64
from .numbers import NUMBER, from_unscaled, seconds_text, to_float
from .parsing import to_float as to_double

_BITS: Final = {"int": 32, "long": 64}


def _null(_: AvroType) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        raise not_decodable("null", value)

    return read


def _boolean(_: AvroType) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, bool):
            raise not_decodable("boolean", value)
        return value

    return read


def _integer(node: AvroType) -> Callable[[Any], Any]:
    kind, limit = node.kind, 1 << _BITS[node.kind] - 1
    character = java_class(node) == CHARACTER

    def read(value: Any) -> Any:
        if character and isinstance(value, str) and len(value) == 1:
            return ord(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise not_decodable(kind, value)
        if not -limit <= value < limit:
            raise DecodeError(f"{kind} out of range: {described(value)}")
        return value

    return read


def _real(node: AvroType) -> Callable[[Any], Any]:
    kind = node.kind

    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, JsonNumber | int | float):
            if isinstance(value, str) and value in NOT_FINITE:
                return NOT_FINITE[value]
            raise not_decodable(kind, value)
        if isinstance(value, float):
            return value  # NaN or an infinity without quotes
        return to_double(value) if kind == "double" else to_float(value)

    return read


def _text(node: AvroType) -> Callable[[Any], Any]:
    number = java_class(node) in NUMBERS

    def read(value: Any) -> Any:
        if type(value) is str:
            return value
        if number and isinstance(value, int | JsonNumber) and not isinstance(value, bool):
            return str.__str__(value) if isinstance(value, JsonNumber) else str(value)
        raise not_decodable("string", value)

    return read


def _bytes(_: AvroType) -> Callable[[Any], Any]:
    return from_base64


def _fixed(node: AvroType) -> Callable[[Any], Any]:
    assert isinstance(node, Fixed)
    return lambda value: from_base64(value, node.size)


LEAVES: Final[Mapping[str, Callable[[AvroType], Callable[[Any], Any]]]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _integer,
    "long": _integer,
    "float": _real,
    "double": _real,
    "string": _text,
    "bytes": _bytes,
    "fixed": _fixed,
}


Text = Callable[[Any], str]

_BYTES: Final = Codec("bytes")
_BIG_DECIMAL: Final = Codec({"type": "bytes", "logicalType": "big-decimal"})


def text_of(node: Primitive | Fixed) -> Text:
    """The function that makes the JSON text of a raw value of the type."""
    if node.logical is None:
        special = {"string": _string, "int": _integer_text}.get(node.kind)
        return _PLAIN[node.kind] if special is None else special(node)
    name = node.logical.name
    if name in ("decimal", "big-decimal"):
        return _decimal(node)
    if name == "uuid":
        return quoted if node.kind == "string" else lambda raw: quoted(str(UUID(bytes=raw)))
    if name == "duration":
        return _base64
    return str if java_class(node) in DATES or is_of_connect(node) else _checked(_moment(name))


def _checked(show: Text) -> Text:
    """``show`` for unchecked raw values, with the option avro.logical.types=false."""

    def text(raw: Any) -> str:
        try:
            return show(raw)
        except DecodeError as error:
            raise EncodeError(error.message) from None

    return text


def _base64(data: bytes) -> str:
    return f'"{to_base64(data)}"'


_PLAIN: Final[Mapping[str, Text]] = {
    "null": lambda _: "null",
    "boolean": lambda value: "true" if value else "false",
    "long": str,
    "float": float_text,
    "double": double_text,
    "bytes": _base64,
    "fixed": _base64,
}


def _string(node: AvroType) -> Text:
    if java_class(node) not in NUMBERS:
        return quoted

    def number(text: str) -> str:
        if not NUMBER.fullmatch(text):
            raise not_encodable(f"the text of a number for {java_class(node)}", text)
        return text

    return number


def _integer_text(node: AvroType) -> Text:
    if java_class(node) != CHARACTER:
        return str

    def character(number: int) -> str:
        if not 0 <= number <= 0xFFFF:
            raise EncodeError(f"expected the number of a character from 0 to 65535, got {described(number)}")
        return quoted(chr(number))

    return character


def _decimal(node: Primitive | Fixed) -> Text:
    assert node.logical
    scale = node.logical.scale
    if node.logical.name == "big-decimal":
        return _checked(lambda raw: decimal_text(_BIG_DECIMAL.decode(_BYTES.encode(raw))))
    if is_of_connect(node):
        return _base64

    def text(raw: bytes) -> str:
        number = from_unscaled(raw, scale)
        if number is None:
            raise not_encodable(f"a decimal of at most {MAX_PRECISION} digits", raw)
        return decimal_text(number)

    return text


# --- moments ----------------------------------------------------------------------


def _moment(name: str) -> Text:
    kind, _, unit = name.rpartition("-")
    if name == "date":
        return _date
    ticks, show = UNITS[unit], _SHOW[kind]
    return lambda raw: show(raw * ticks)


def _date(days: int) -> str:
    date = moments.to_date(days, "date")
    return f"[{date.year},{date.month},{date.day}]"


def _local(nanos: int) -> str:
    days, rest = divmod(nanos, moments.DAY)
    return f"{_date(days)[:-1]},{_clock(rest)}]"


def _time(nanos: int) -> str:
    return f"[{_clock(nanos)}]"


def _clock(nanos: int) -> str:
    """Hours and minutes; seconds and nanoseconds if they are not 0."""
    time, below = moments.to_time(nanos, "time"), nanos % moments.SECOND
    numbers = [time.hour, time.minute, *([time.second] if time.second or below else []), *([below] if below else [])]
    return ",".join(map(str, numbers))


_SHOW: Final[Mapping[str, Callable[[int], str]]] = {
    "timestamp": seconds_text,
    "local-timestamp": _local,
    "time": _time,
}
