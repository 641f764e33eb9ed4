"""Connect's logical types, known by the schema's name: Date, Time, Timestamp and Decimal; and enums.

Each has ``from_logical``, from Python's value to the stored value (an int, or a decimal's bytes), and ``to_logical``,
the way back. If Python has no such value (a Date or Timestamp outside of the years 1 to 9999, or the Time 24:00 that
Java allows), the value is the stored int itself.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamnative_serdes.errors import EncodeError, SchemaError

from .schema import Schema, Type

_PREFIX: Final = "org.apache.kafka.connect.data."
_DAY, _MILLI = dt.timedelta(days=1), dt.timedelta(milliseconds=1)
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()
_DAY_MILLIS: Final = 86_400_000
_FIRST_DAY, _LAST_DAY = dt.date.min.toordinal() - _EPOCH_DAY, dt.date.max.toordinal() - _EPOCH_DAY
_FIRST_MILLI, _LAST_MILLI = _FIRST_DAY * _DAY_MILLIS, (_LAST_DAY + 1) * _DAY_MILLIS - 1
MAX_DECIMAL_BYTES: Final = 4096  # about 9,800 digits; converting digits takes time that grows with their square
_EXACT: Final = decimal.Context(prec=20_000, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[decimal.Inexact])


def _outside(stored: object, first: int, last: int, least: int, most: int) -> int | None:
    """``stored`` if it is an int that Python's own type has no value for; else None."""
    if type(stored) is int and least <= stored <= most and not first <= stored <= last:
        return stored
    return None


class Date:
    """Days since 1970-01-01 in an INT32; :class:`datetime.date` in Python."""

    LOGICAL_NAME: Final = f"{_PREFIX}Date"

    @staticmethod
    def schema(*, optional: bool = False, default: dt.date | int | None = None) -> Schema:
        return _checked(Schema(Type.INT32, optional, default, Date.LOGICAL_NAME, 1))

    @staticmethod
    def from_logical(_schema: Schema, value: Any) -> int:
        if type(value) is dt.date:
            return value.toordinal() - _EPOCH_DAY
        found = _outside(value, _FIRST_DAY, _LAST_DAY, -(2**31), 2**31 - 1)
        if found is None:
            raise _expected("a datetime.date (an int of days only outside of the years 1 to 9999)", value)
        return found

    @staticmethod
    def to_logical(_schema: Schema, stored: int) -> dt.date | int:
        return dt.date.fromordinal(stored + _EPOCH_DAY) if _FIRST_DAY <= stored <= _LAST_DAY else stored


class Time:
    """Milliseconds of a day in an INT32, from 0 to 86,400,000; :class:`datetime.time` without a time zone in Python."""

    LOGICAL_NAME: Final = f"{_PREFIX}Time"

    @staticmethod
    def schema(*, optional: bool = False, default: dt.time | int | None = None) -> Schema:
        return _checked(Schema(Type.INT32, optional, default, Time.LOGICAL_NAME, 1))

    @staticmethod
    def from_logical(_schema: Schema, value: Any) -> int:
        if isinstance(value, dt.time) and value.tzinfo is None:
            if value.microsecond % 1000:
                raise _expected("a time of whole milliseconds", value)
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
        found = _outside(value, 0, _DAY_MILLIS - 1, _DAY_MILLIS, _DAY_MILLIS)
        if found is None:
            raise _expected(f"a datetime.time without a time zone (or the int {_DAY_MILLIS}, 24:00)", value)
        return found

    @staticmethod
    def to_logical(_schema: Schema, stored: int) -> dt.time | int:
        if not 0 <= stored <= _DAY_MILLIS:
            raise _expected(f"milliseconds of a day, from 0 to {_DAY_MILLIS}", stored)
        if stored == _DAY_MILLIS:
            return stored
        seconds, millis = divmod(stored, 1000)
        return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, millis * 1000)


class Timestamp:
    """Milliseconds since 1970-01-01 UTC in an INT64; :class:`datetime.datetime` in UTC in Python."""

    LOGICAL_NAME: Final = f"{_PREFIX}Timestamp"

    @staticmethod
    def schema(*, optional: bool = False, default: dt.datetime | int | None = None) -> Schema:
        return _checked(Schema(Type.INT64, optional, default, Timestamp.LOGICAL_NAME, 1))

    @staticmethod
    def from_logical(_schema: Schema, value: Any) -> int:
        if isinstance(value, dt.datetime):
            if value.tzinfo is None:
                raise EncodeError(
                    "expected a datetime with a time zone, got one without",
                    hint="add tzinfo=datetime.UTC if it means UTC",
                )
            if value.microsecond % 1000 or getattr(value, "nanosecond", 0):  # the latter is pandas'
                raise _expected("a datetime of whole milliseconds", value)
            return (value - _EPOCH) // _MILLI
        found = _outside(value, _FIRST_MILLI, _LAST_MILLI, -(2**63), 2**63 - 1)
        if found is None:
            raise _expected("a datetime.datetime (an int of milliseconds only outside of the years 1 to 9999)", value)
        return found

    @staticmethod
    def to_logical(_schema: Schema, stored: int) -> dt.datetime | int:
        if not _FIRST_MILLI <= stored <= _LAST_MILLI:
            return stored
        days, millis = divmod(stored, _DAY_MILLIS)
        return _EPOCH + dt.timedelta(days, 0, 0, millis)


class Decimal:
    """An unscaled integer in BYTES, big-endian two's complement; :class:`decimal.Decimal` in Python.

    The parameter ``scale`` is the number of digits after the point, which each value has, as in Java.
    """

    LOGICAL_NAME: Final = f"{_PREFIX}Decimal"
    SCALE: Final = "scale"

    @staticmethod
    def schema(
        scale: int,
        *,
        optional: bool = False,
        default: decimal.Decimal | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Schema:
        """Args: ``parameters``: others, such as ``connect.decimal.precision``."""
        given = {Decimal.SCALE: str(scale), **(parameters or {})}
        return _checked(Schema(Type.BYTES, optional, default, Decimal.LOGICAL_NAME, 1, None, given))

    @staticmethod
    def scale(schema: Schema) -> int:
        """The digits after the point. Raises SchemaError if the parameter is missing, or not an int of 32 bits."""
        text = (schema.parameters or {}).get(Decimal.SCALE)
        try:
            scale = int(text) if text is not None and len(text) <= 11 else None
        except ValueError:
            scale = None
        if scale is None or not -(2**31) <= scale < 2**31:
            raise SchemaError(
                f"{Decimal.LOGICAL_NAME}: expected an int of 32 bits as the parameter {Decimal.SCALE}, got {text!r:.80}"
            )
        return scale

    @staticmethod
    def unscaled(scale: int, value: Any) -> int:
        """The integer that stands for ``value``. Raises EncodeError unless it has exactly this scale, as in Java."""
        if isinstance(value, decimal.Decimal) and value.is_finite() and not value.same_quantum(_quantum(scale)):
            error = _expected(f"a decimal of scale {scale}", value)
            error.hint = f'value.quantize(Decimal("1e{-scale}")) has that scale'
            raise error
        return rescaled(scale, value)

    @staticmethod
    def from_logical(schema: Schema, value: Any) -> bytes:
        return to_bytes(Decimal.unscaled(Decimal.scale(schema), value))

    @staticmethod
    def to_logical(schema: Schema, stored: bytes) -> decimal.Decimal:
        return decimal_of(Decimal.scale(schema), stored)


@functools.lru_cache(maxsize=64)
def _quantum(scale: int) -> decimal.Decimal:
    return decimal.Decimal((0, (1,), -scale))


def rescaled(scale: int, value: Any) -> int:
    """The integer that stands for a decimal of any scale. Raises EncodeError if it has more digits after the point."""
    if not isinstance(value, decimal.Decimal) or not value.is_finite():
        raise _expected("a finite decimal.Decimal", value)
    if not value:
        return 0
    # Before anything is computed: a large exponent would make a huge int.
    if value.adjusted() + scale >= MAX_DECIMAL_BYTES * 2.4:
        raise _expected(f"a decimal of at most {MAX_DECIMAL_BYTES} bytes", value)
    try:
        return int(value.scaleb(scale, _EXACT).to_integral_exact(context=_EXACT))
    except decimal.Inexact:
        raise _expected(f"a decimal with at most {scale} digits after the point", value) from None


def decimal_of(scale: int, stored: bytes) -> decimal.Decimal:
    """The decimal whose unscaled integer is ``stored``, as Java's ``BigInteger.toByteArray``."""
    if not 0 < len(stored) <= MAX_DECIMAL_BYTES:
        raise EncodeError(f"expected a decimal of 1 to {MAX_DECIMAL_BYTES} bytes, got {len(stored)}")
    return decimal.Decimal(int.from_bytes(stored, "big", signed=True)).scaleb(-scale, _EXACT)


def to_bytes(unscaled: int) -> bytes:
    """The bytes of an integer as from Java's ``BigInteger.toByteArray``: big-endian two's complement, fewest bytes."""
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return unscaled.to_bytes(size, "big", signed=True)


# The types by name, with the type of what is stored.
LOGICAL: Final[Mapping[str, tuple[Type, Any]]] = {
    Date.LOGICAL_NAME: (Type.INT32, Date),
    Time.LOGICAL_NAME: (Type.INT32, Time),
    Timestamp.LOGICAL_NAME: (Type.INT64, Timestamp),
    Decimal.LOGICAL_NAME: (Type.BYTES, Decimal),
}


def logical_of(schema: Schema) -> Any:
    """:class:`Date`, :class:`Time`, :class:`Timestamp` or :class:`Decimal`, by the schema's name; else None."""
    found = LOGICAL.get(schema.name) if schema.name is not None else None
    return None if found is None else found[1]


def require_base(schema: Schema) -> None:
    """Raise SchemaError if a logical type stands on another type than Connect's."""
    found = LOGICAL.get(schema.name) if schema.name is not None else None
    if found is None:
        return
    if schema.type is not found[0]:
        raise SchemaError(f"{schema.name}: expected the type {found[0].value}, got {schema.type.value}")
    if found[1] is Decimal:
        Decimal.scale(schema)


class Enum:
    """An enum: a STRING whose parameters list the symbols with their numbers.

    The parameters begin with ``org.apache.kafka.connect.data.Enum``, or, as Confluent's AvroConverter writes them, with
    ``io.confluent.connect.avro.Enum``. Debezium's ``io.debezium.data.Enum`` lists the symbols in ``allowed``, with
    commas, and its values need not be among them.
    """

    LOGICAL_NAME: Final = f"{_PREFIX}Enum"
    AVRO_NAME: Final = "io.confluent.connect.avro.Enum"
    DEBEZIUM_NAME: Final = "io.debezium.data.Enum"
    ALLOWED: Final = "allowed"

    @staticmethod
    def schema(
        name: str, symbols: Sequence[str], *, optional: bool = False, default: str | None = None, doc: str | None = None
    ) -> Schema:
        """An enum's schema; symbols count from 0. Raises SchemaError for an empty name, or missing or equal symbols."""
        if not name or not symbols or len(set(symbols)) != len(symbols):
            raise SchemaError(f"expected a name and symbols that differ, got {name!r:.80} and {list(symbols)!r:.80}")
        numbers = {f"{Enum.LOGICAL_NAME}.{symbol}": str(number) for number, symbol in enumerate(symbols)}
        parameters = {Enum.LOGICAL_NAME: name, **numbers}
        return _checked(Schema(Type.STRING, optional, default, name, None, doc, parameters))

    @staticmethod
    def symbols(schema: Schema) -> dict[str, int] | None:
        """The symbols with their numbers; None if the schema is not an enum."""
        if schema.type is not Type.STRING or not schema.parameters:
            return None
        for key in (Enum.LOGICAL_NAME, Enum.AVRO_NAME):
            if key in schema.parameters:
                return _numbered(schema.parameters, f"{key}.")
        if schema.name == Enum.DEBEZIUM_NAME and Enum.ALLOWED in schema.parameters:
            return {symbol: at for at, symbol in enumerate(schema.parameters[Enum.ALLOWED].split(","))}
        return None


def _numbered(parameters: Mapping[str, str], prefix: str) -> dict[str, int]:
    """Symbols in the order of their numbers; symbols without numbers (Confluent's older form) in their own order."""
    found = [(key[len(prefix) :], text) for key, text in parameters.items() if key.startswith(prefix)]
    numbered = {symbol: int(text) if _is_int32(text) else at for at, (symbol, text) in enumerate(found)}
    return dict(sorted(numbered.items(), key=lambda each: each[1]))


def _is_int32(text: str) -> bool:
    return text.isdecimal() and len(text) <= 10 and int(text) < 2**31


def _expected(what: str, got: object) -> EncodeError:
    return EncodeError(f"expected {what}, got {got!r:.80} of type {type(got).__name__}")


def _checked(schema: Schema) -> Schema:
    from .values import checked_schema  # values.py stands on this module

    return checked_schema(schema)
