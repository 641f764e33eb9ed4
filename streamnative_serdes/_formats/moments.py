"""Dates, times of day and moments as counts since 1970 and midnight, and back, exact where Python's types allow it."""

from __future__ import annotations

import datetime as dt
from operator import index
from typing import Any, Final

from streamnative_serdes.errors import DecodeError, EncodeError

from .faults import described, not_encodable

UTC: Final = dt.UTC
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=UTC)
LOCAL_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of no zone
_DAY_0: Final = dt.date(1970, 1, 1)
FIRST_DAY: Final = (dt.date.min - _DAY_0).days
LAST_DAY: Final = (dt.date.max - _DAY_0).days
DAY: Final = 86_400_000_000_000  # nanoseconds
SECOND: Final = 1_000_000_000
_YEARS: Final = "the years 1 to 9999"


# --- reading ----------------------------------------------------------------------------------------------------------


def to_datetime(nanos: int, label: str, *, utc: bool) -> dt.datetime:
    """The moment ``nanos`` after 1970, to the microsecond, rounded down. Raises DecodeError."""
    try:
        return (EPOCH if utc else LOCAL_EPOCH) + dt.timedelta(microseconds=nanos // 1000)
    except OverflowError:
        shown = described(nanos)
        raise DecodeError(f"{label} is outside of {_YEARS} that datetime can hold: got {shown} ns since 1970") from None


def to_date(days: int, label: str) -> dt.date:
    if not FIRST_DAY <= days <= LAST_DAY:
        raise DecodeError(f"{label} is outside of {_YEARS} that date can hold: got {described(days)} days since 1970")
    return _DAY_0 + dt.timedelta(days)


def to_time(nanos: int, label: str) -> dt.time:
    """The time of day, to the microsecond, rounded down. Raises DecodeError."""
    if not 0 <= nanos < DAY:
        raise DecodeError(f"{label} is not a time of day: got {described(nanos)} ns since midnight")
    return (LOCAL_EPOCH + dt.timedelta(microseconds=nanos // 1000)).time()


# --- writing ----------------------------------------------------------------------------------------------------------


def nanos_of_moment(value: dt.datetime, label: str, *, lenient: bool) -> int:
    """Nanoseconds since 1970 of a datetime with a time zone; one without is local time if ``lenient``."""
    _check_not_nat(value, label)
    if value.utcoffset() is None:
        if not lenient:
            hint = (
                "value.replace(tzinfo=timezone.utc), or value.astimezone() if it is local time; "
                "LOCAL_DATE_TIME is the type of datetimes without a time zone"
            )
            raise not_encodable(f"a datetime with a time zone for {label}", value, hint)
        try:
            value = value.astimezone(UTC)
        except (OverflowError, ValueError):
            raise not_encodable(f"a datetime of {_YEARS} in UTC for {label}", value) from None
    return _exact_nanos(value, EPOCH)


def nanos_of_local(value: dt.datetime, label: str) -> int:
    """Nanoseconds since 1970-01-01T00:00 of a datetime without a time zone."""
    _check_not_nat(value, label)
    if value.tzinfo is not None:
        hint = "value.replace(tzinfo=None); TIMESTAMP and INSTANT are types of datetimes with a time zone"
        raise not_encodable(f"a datetime without a time zone for {label}", value, hint)
    return _exact_nanos(value, LOCAL_EPOCH)


def _check_not_nat(value: dt.datetime, label: str) -> None:
    if value != value:
        raise not_encodable(f"a datetime for {label}", value)


def _exact_nanos(value: dt.datetime, epoch: dt.datetime) -> int:
    # The nanoseconds beyond the microseconds are pandas'.
    return (value - epoch) // dt.timedelta(microseconds=1) * 1000 + int(getattr(value, "nanosecond", 0))


def nanos_of_time(value: dt.time, label: str) -> int:
    """Nanoseconds since midnight."""
    if value.tzinfo is not None:
        raise not_encodable(f"a time without a time zone for {label}", value, "value.replace(tzinfo=None)")
    return ((value.hour * 60 + value.minute) * 60 + value.second) * SECOND + value.microsecond * 1000


def days_of(value: dt.date, label: str) -> int:
    if isinstance(value, dt.datetime):
        raise not_encodable(f"a date for {label}", value, "pass value.date() for the date of a datetime")
    return (value - _DAY_0).days


def _other_type(value: object) -> str | None:
    """The hint about a date or a time that is given for a type of something else."""
    if isinstance(value, dt.datetime):
        return "pass value.time() for the time of day of a datetime"  # the only part of one that is another type
    if isinstance(value, dt.date):
        return "LOCAL_DATE is the type of dates"
    return "LOCAL_TIME is the type of times of day" if isinstance(value, dt.time) else None


def count_of(value: Any, label: str, low: int, high: int, expected: str) -> int:
    """An int, or another type with ``__index__`` but bool, from ``low`` to ``high``."""
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None:
        raise not_encodable(f"{expected} for {label}", value, _other_type(value))
    if not low <= number <= high:
        raise EncodeError(f"{label} out of range: expected {low} to {high}, got {described(number)}")
    return number
