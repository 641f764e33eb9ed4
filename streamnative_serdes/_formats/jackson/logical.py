"""Logical types in JSON, as Jackson writes the classes of java.time, BigDecimal and UUID, and as other writers do.

| Avro | Jackson | also read |
|---|---|---|
| timestamp-* | Instant: 1357016400.123456789, seconds | an integer: ticks of the schema; ISO 8601 text with a zone |
| local-timestamp-* | LocalDateTime: [2013,1,1,5,0], then seconds and nanoseconds if needed | ticks; text without zone |
| date | LocalDate: [2013,1,1] | days since 1970; text |
| time-* | LocalTime: [5,0], then seconds and nanoseconds if needed | ticks since midnight; text |
| decimal, big-decimal | BigDecimal: 1.50 | text "1.50"; base64 if Kafka Connect made the schema |
| uuid | "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" | base64 on fixed |
| duration | base64 | |

A class of Java with a field ``long`` and an annotation writes ticks; so do Debezium and most writers outside Java.
datetime, date and time hold microseconds, so further digits are dropped, but not those beyond the unit of the schema.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from struct import Struct
from typing import Any, Final
from uuid import UUID

from streamnative_serdes._schema import MAX_PRECISION, Fixed, Primitive, Schema
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import DecodeError, EncodeError

from .. import moments
from ..faults import not_decodable
from ..json_number import JsonNumber
from .java_classes import is_of_connect
from .notation import from_base64
from .numbers import from_unscaled, seconds_to_nanos, to_decimal

Leaf = Primitive | Fixed
Convert = Callable[[Any], Any]

UNITS: Final[Mapping[str, int]] = {"millis": 1_000_000, "micros": 1_000, "nanos": 1}  # nanoseconds
_BEYOND_MICROS: Final = re.compile(r"[.,]\d{6}(\d{1,3})", re.ASCII)  # the fraction of seconds
_DURATION: Final = Struct("<III")
_BYTES: Final = Codec("bytes")


def reader_of(node: Leaf, *, logical: bool) -> Convert | None:
    """The function that converts JSON of a logical type to the Python type or, without ``logical``, to the base type.

    None if the type has no rule of its own.
    """
    if node.logical is None:
        return None
    name = node.logical.name
    if name in ("decimal", "big-decimal"):
        return _decimal(node, logical)
    if name == "uuid":
        return _uuid(node, logical)
    if name == "duration":
        return _duration if logical else None
    return _moment(name, logical)


def _duration(value: Any) -> Duration:
    return Duration(*_DURATION.unpack(from_base64(value, 12)))


# --- moments ----------------------------------------------------------------------------------------------------------


def _moment(name: str, logical: bool) -> Convert:
    kind, _, unit = name.rpartition("-")
    if name == "date":
        return _date if logical else _days
    ticks = UNITS[unit]
    to_nanos = _TO_NANOS[kind]

    def read(value: Any) -> Any:
        nanos = value * ticks if _is_int(value) else to_nanos(value, name)
        if not logical:
            return nanos // ticks
        if kind == "time":
            return moments.to_time(nanos, name)
        return nanos if unit == "nanos" else moments.to_datetime(nanos, name, utc=kind == "timestamp")

    return read


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _days(value: Any) -> int:
    return moments.days_of(_date(value), "date")


def _date(value: Any) -> dt.date:
    if _is_int(value):
        return moments.to_date(value, "date")
    found: dt.date
    if _is_ints(value, 3, 3):
        found = _made(dt.date, value, value)
    elif type(value) is str:
        found = _made(dt.date.fromisoformat, value, (value,))
    else:
        raise not_decodable("a date such as [2013,1,1]", value)
    return found


def _timestamp_nanos(value: Any, name: str) -> int:
    if isinstance(value, JsonNumber):
        return seconds_to_nanos(value, name)
    if isinstance(value, str):
        found = _made(dt.datetime.fromisoformat, value, (value,))
        if found.utcoffset() is not None:
            return moments.nanos_of_moment(found, name, lenient=False) + _below_micro(value)
    raise not_decodable(f"seconds, ticks or text with a time zone for {name}", value)


def _local_nanos(value: Any, name: str) -> int:
    if _is_ints(value, 5, 7):
        *fields, nanos = (*value, 0, 0)[:7]
        return moments.nanos_of_local(_made(dt.datetime, value, fields), name) + _below_second(nanos, value)
    if type(value) is str:
        found = _made(dt.datetime.fromisoformat, value, (value,))
        if found.tzinfo is None:
            return moments.nanos_of_local(found, name) + _below_micro(value)
    raise not_decodable(f"a date and a time such as [2013,1,1,5,0] for {name}", value)


def _time_nanos(value: Any, name: str) -> int:
    if _is_ints(value, 2, 4):
        *fields, nanos = (*value, 0, 0)[:4]
        return moments.nanos_of_time(_made(dt.time, value, fields), name) + _below_second(nanos, value)
    if type(value) is str:
        found = _made(dt.time.fromisoformat, value, (value,))
        if found.tzinfo is None:
            return moments.nanos_of_time(found, name)
    raise not_decodable(f"a time such as [5,0] for {name}", value)


_TO_NANOS: Final = {"timestamp": _timestamp_nanos, "local-timestamp": _local_nanos, "time": _time_nanos}


def _is_ints(value: Any, least: int, most: int) -> bool:
    return isinstance(value, list) and least <= len(value) <= most and all(map(_is_int, value))


def _below_second(nanos: int, value: Any) -> int:
    if not 0 <= nanos < moments.SECOND:
        raise _no_moment(value)
    return nanos


def _below_micro(text: str) -> int:
    """The nanoseconds beyond the microseconds, which fromisoformat drops."""
    found = _BEYOND_MICROS.search(text)
    return int(found[1].ljust(3, "0")) if found else 0


def _made(make: Callable[..., Any], value: Any, fields: Any) -> Any:
    try:
        return make(*fields)
    except (ValueError, OverflowError):
        raise _no_moment(value) from None


def _no_moment(value: Any) -> DecodeError:
    return DecodeError(f"{value!r:.60} is not a date or time that Python's types can hold")


# --- others -----------------------------------------------------------------------------------------------------------


def _decimal(node: Leaf, logical: bool) -> Convert:
    assert node.logical
    connect = is_of_connect(node)
    scale = node.logical.scale
    raw = None if logical else _raw_decimal(node)

    def read(value: Any) -> Any:
        if connect and type(value) is str:
            number = from_unscaled(from_base64(value), scale)
        else:
            number = to_decimal(value)
        if number is None:
            raise not_decodable(f"a number of at most {MAX_PRECISION} digits for decimal", value)
        return number if raw is None else raw(number)

    return read


def _raw_decimal(node: Leaf) -> Callable[[Decimal], bytes]:
    """The function that converts a decimal to the value of Avro's base type."""
    codec = Codec(Schema("", node))

    def raw(number: Decimal) -> bytes:
        try:
            data = codec.encode(number)
        except EncodeError as error:
            raise DecodeError(error.message) from None
        return data if isinstance(node, Fixed) else _BYTES.decode(data)

    return raw


def _uuid(node: Leaf, logical: bool) -> Convert:
    def read(value: Any) -> Any:
        if type(value) is not str:
            raise not_decodable("text for uuid", value)
        if not logical and isinstance(node, Primitive):
            return value
        try:
            found = UUID(value) if "-" in value or isinstance(node, Primitive) else UUID(bytes=from_base64(value, 16))
        except ValueError:
            raise not_decodable("uuid", value) from None
        return found if logical else found.bytes

    return read
