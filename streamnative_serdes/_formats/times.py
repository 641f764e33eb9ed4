"""DATE, TIME, TIMESTAMP, INSTANT, LOCAL_DATE, LOCAL_TIME and LOCAL_DATE_TIME, as Pulsar's Java client writes them.

    DATE | TIME | TIMESTAMP   int64: milliseconds since 1970-01-01T00:00Z
    INSTANT                   int64: seconds since 1970-01-01T00:00Z   | int32: nanoseconds
    LOCAL_DATE                int64: days since 1970-01-01
    LOCAL_TIME                int64: nanoseconds since midnight
    LOCAL_DATE_TIME           int64: days since 1970-01-01             | int64: nanoseconds since midnight

All are big-endian. In Python, the first three are a datetime in UTC, because Java's Date, Time and Timestamp are all a
moment in milliseconds. Those with nanoseconds are an int of nanoseconds, as the codec has timestamp-nanos, because
datetime ends at microseconds.

Source: DateSchema, TimeSchema, TimestampSchema, InstantSchema, LocalDateSchema, LocalTimeSchema and LocalDateTimeSchema
of Pulsar 4.0.8.
"""

from __future__ import annotations

import datetime as dt
from struct import Struct
from typing import Any, Final

from streamnative_serdes._config import CodecArguments
from streamnative_serdes.errors import DecodeError, EncodeError

from . import moments
from .faults import check_size
from .format import Format, PrimitiveFormat

_INT64: Final = Struct(">q")
_INSTANT: Final = Struct(">qi")
_DAY_AND_TIME: Final = Struct(">qq")
_MILLI: Final = 1_000_000  # nanoseconds

# What java.time can hold.
_INSTANT_SECONDS: Final = (-31_557_014_167_219_200, 31_556_889_864_403_199)
_LOCAL_DAYS: Final = (-365_243_219_162, 365_241_780_471)
_FIRST_MILLI: Final = moments.FIRST_DAY * moments.DAY // _MILLI
_LAST_MILLI: Final = (moments.LAST_DAY + 1) * moments.DAY // _MILLI - 1


def time_format(kind: str, options: CodecArguments) -> Format:
    """The format of one of ``TIMES``."""
    return _MADE[kind](kind, options)


def _millis(kind: str, options: CodecArguments) -> Format:
    lenient, truncates = options.get("confluent_leniency", False), options.get("truncate_times", False)

    def decode(data: bytes) -> dt.datetime:
        check_size(kind, 8, data)
        (number,) = _INT64.unpack(data)
        return moments.to_datetime(number * _MILLI, kind, utc=True)

    def encode(obj: Any) -> bytes:
        if isinstance(obj, dt.time) and kind == "TIME":
            nanos = moments.nanos_of_time(obj, kind)
        elif isinstance(obj, dt.datetime):
            nanos = moments.nanos_of_moment(obj, kind, lenient=lenient)
        else:
            return _INT64.pack(moments.count_of(obj, kind, _FIRST_MILLI, _LAST_MILLI, "a datetime"))
        if nanos % 1000 and not truncates:
            raise EncodeError(
                f"{kind} cannot hold the nanoseconds of {nanos} ns", hint="truncate.times=true drops them"
            )
        millis = nanos // _MILLI  # microseconds are rounded down, as everywhere
        return _INT64.pack(moments.count_of(millis, kind, _FIRST_MILLI, _LAST_MILLI, "a datetime"))

    return PrimitiveFormat(kind, decode, encode)


def _instant(kind: str, options: CodecArguments) -> Format:
    low, high = _INSTANT_SECONDS
    lenient = options.get("confluent_leniency", False)

    def decode(data: bytes) -> int:
        check_size(kind, _INSTANT.size, data)
        seconds, nanos = _INSTANT.unpack(data)
        if not low <= seconds + nanos // moments.SECOND <= high:
            raise DecodeError(f"{kind} is outside of what java.time.Instant can hold: {seconds} s since 1970", offset=0)
        return int(seconds * moments.SECOND + nanos)  # Java, too, accepts nanoseconds beyond the second

    def encode(obj: Any) -> bytes:
        if isinstance(obj, dt.datetime):
            nanos = moments.nanos_of_moment(obj, kind, lenient=lenient)
        else:
            last = (high + 1) * moments.SECOND - 1
            nanos = moments.count_of(obj, kind, low * moments.SECOND, last, "nanoseconds as an int, or a datetime,")
        return _INSTANT.pack(*divmod(nanos, moments.SECOND))

    return PrimitiveFormat(kind, decode, encode)


def _local_date(kind: str, _: CodecArguments) -> Format:
    def decode(data: bytes) -> dt.date:
        check_size(kind, 8, data)
        return moments.to_date(_INT64.unpack(data)[0], kind)

    def encode(obj: Any) -> bytes:
        if isinstance(obj, dt.date):
            return _INT64.pack(moments.days_of(obj, kind))
        return _INT64.pack(moments.count_of(obj, kind, moments.FIRST_DAY, moments.LAST_DAY, "a date"))

    return PrimitiveFormat(kind, decode, encode)


def _local_time(kind: str, _: CodecArguments) -> Format:
    def decode(data: bytes) -> int:
        check_size(kind, 8, data)
        return _time_of_day(kind, _INT64.unpack(data)[0], 0)

    def encode(obj: Any) -> bytes:
        if isinstance(obj, dt.time):
            return _INT64.pack(moments.nanos_of_time(obj, kind))
        last = moments.DAY - 1
        return _INT64.pack(moments.count_of(obj, kind, 0, last, "nanoseconds as an int, or a time,"))

    return PrimitiveFormat(kind, decode, encode)


def _local_date_time(kind: str, _: CodecArguments) -> Format:
    low, high = _LOCAL_DAYS

    def decode(data: bytes) -> int:
        check_size(kind, _DAY_AND_TIME.size, data)
        day, nanos = _DAY_AND_TIME.unpack(data)
        if not low <= day <= high:
            raise DecodeError(f"{kind} is outside of what java.time.LocalDate can hold: day {day}", offset=0)
        return int(day * moments.DAY) + _time_of_day(kind, nanos, 8)

    def encode(obj: Any) -> bytes:
        if isinstance(obj, dt.datetime):
            nanos = moments.nanos_of_local(obj, kind)
        else:
            last = (high + 1) * moments.DAY - 1
            nanos = moments.count_of(obj, kind, low * moments.DAY, last, "nanoseconds as an int, or a datetime,")
        return _DAY_AND_TIME.pack(*divmod(nanos, moments.DAY))

    return PrimitiveFormat(kind, decode, encode)


def _time_of_day(kind: str, nanos: int, offset: int) -> int:
    if not 0 <= nanos < moments.DAY:
        raise DecodeError(f"{kind} is not a time of day: {nanos} ns since midnight", offset=offset)
    return nanos


_MADE: Final = {
    "DATE": _millis,
    "TIME": _millis,
    "TIMESTAMP": _millis,
    "INSTANT": _instant,
    "LOCAL_DATE": _local_date,
    "LOCAL_TIME": _local_time,
    "LOCAL_DATE_TIME": _local_date_time,
}
TIMES: Final = tuple(_MADE)
