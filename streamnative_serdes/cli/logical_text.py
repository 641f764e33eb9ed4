"""Logical types as people write them: a timestamp as ISO 8601, a decimal as its digits; each can be read back.

Values that such a text cannot show, such as the year 10000, stay numbers, as in Avro.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID

from streamnative_serdes._schema import Fixed, Primitive
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import DecodeError, EncodeError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS: Final = {"millis": 3, "micros": 6, "nanos": 9}  # of a second's fraction
_DAY: Final = 86_400  # seconds
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,5000}(\.[0-9]{1,5000})?([eE][+-]?[0-9]{1,10})?", re.ASCII)
_PARTS: Final = ("months", "days", "millis")


class Form(NamedTuple):
    """How a logical type is shown and read back; both raise ValueError with what was expected."""

    show: Callable[[Any], Any]
    read: Callable[[Any], Any]


def form_of(node: Primitive | Fixed) -> Form | None:
    """The form of a type; None if it has no logical type, or one whose values are shown as they are."""
    if node.logical is None:
        return None
    name = node.logical.name
    if name in ("decimal", "big-decimal"):
        return _converted(node, lambda value: f"{value:f}" if name == "decimal" else str(value), _number)
    if isinstance(node, Fixed):
        return _converted(node, *((str, _uuid) if name == "uuid" else (Duration._asdict, _duration)))
    if name == "date":
        return Form(_show_date, _read_date)
    family, _, unit = name.rpartition("-")
    if unit not in _DIGITS:
        return None
    digits, zone = _DIGITS[unit], family == "timestamp"
    if family == "time":
        return Form(lambda value: _show_time(value, digits), lambda text: _read_time(text, digits))
    return Form(lambda value: show_moment(value, digits, zone), lambda text: read_moment(text, digits, zone))


# Dates and times


def _show_date(days: int) -> str | int:
    try:
        return (_EPOCH + timedelta(days=days)).date().isoformat()
    except OverflowError:
        return days


def _read_date(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return (date.fromisoformat(text) - _EPOCH.date()).days
    except ValueError:
        raise ValueError("a date such as 2026-11-23") from None


def _show_time(value: int, digits: int) -> str | int:
    seconds, fraction = divmod(value, 10**digits)
    if not 0 <= seconds < _DAY:
        return value
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:0{digits}}"


def _read_time(text: Any, digits: int) -> Any:
    if not isinstance(text, str):
        return text
    found = _TIME.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[:3]) if found else (24, 0, 0)
    if found is None or hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("a time such as 13:45:00.123")
    return (hours * 3600 + minutes * 60 + seconds) * 10**digits + _fraction(found[4], digits)


def show_moment(value: int, digits: int, zone: bool) -> str | int:
    """A time since 1970 as ISO 8601, or unchanged if ISO 8601 cannot show the time.

    The unit has ``digits`` digits of a second's fraction; with ``zone``, the time is shown in UTC, otherwise as local.
    """
    seconds, fraction = divmod(value, 10**digits)
    try:
        moment = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None)
    except OverflowError:
        return value
    return f"{moment.isoformat()}.{fraction:0{digits}}{'Z' if zone else ''}"


def read_moment(text: Any, digits: int, zone: bool) -> Any:
    """The time of a text from :func:`show_moment`. Raises ValueError with the expected form; only text is checked."""
    if not isinstance(text, str):
        return text
    found = _MOMENT.fullmatch(text)
    expected = f"a time such as 2026-11-23T13:45:00.123{'Z, with its zone' if zone else ', without a zone'}"
    if found is None or (found[4] is not None) != zone:
        raise ValueError(expected)
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[4] or ''}")
    except ValueError:
        raise ValueError(expected) from None
    past = moment - (_EPOCH if zone else _EPOCH.replace(tzinfo=None))
    return (past.days * _DAY + past.seconds) * 10**digits + _fraction(found[3], digits)


def _fraction(text: str | None, digits: int) -> int:
    if text is not None and len(text) > digits:
        raise ValueError(f"at most {digits} digits of a second")
    return int((text or "").ljust(digits, "0"))


# What the codec converts


def _converted(node: Primitive | Fixed, show: Callable[[Any], Any], read: Callable[[Any], Any]) -> Form:
    """A form of two steps: the codec converts Avro's bytes to a Python type and back, ``show`` and ``read`` to JSON."""
    schema = _alone(node)
    plain, typed = Codec(schema, avro_logical_types=False), Codec(schema)

    def shown(data: Any) -> Any:
        try:
            return show(typed.decode(plain.encode(data)))
        except DecodeError as error:
            raise ValueError(f"a valid {schema['logicalType']}: {error.message}") from None

    def back(value: Any) -> Any:
        datum = read(value)
        try:
            return plain.decode(typed.encode(datum))
        except EncodeError as error:
            raise ValueError(f"a valid {schema['logicalType']}: {error.message}") from None

    return Form(shown, back)


def _alone(node: Primitive | Fixed) -> dict[str, Any]:
    """The schema of this type alone."""
    assert node.logical is not None
    schema: dict[str, Any] = {"type": node.kind, "logicalType": node.logical.name}
    if node.logical.name == "decimal":
        schema |= {"precision": node.logical.precision, "scale": node.logical.scale}
    return schema | ({"name": "Alone", "size": node.size} if isinstance(node, Fixed) else {})


def _number(text: Any) -> Decimal:
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise ValueError('a decimal as text, such as "12.50"')
    return Decimal(text)


def _uuid(text: Any) -> UUID:
    try:
        return UUID(text)
    except (ValueError, TypeError, AttributeError):
        raise ValueError("a UUID as text") from None


def _duration(tree: Any) -> tuple[int, ...]:
    if not isinstance(tree, dict) or set(tree) != set(_PARTS) or not all(type(part) is int for part in tree.values()):
        raise ValueError('a duration such as {"months": 1, "days": 2, "millis": 3}')
    return tuple(tree[part] for part in _PARTS)
