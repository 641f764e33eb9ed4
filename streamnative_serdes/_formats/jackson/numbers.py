"""Exact numbers from JSON: decimals, and the seconds by which Jackson writes an Instant, with bounds on exponents."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from struct import Struct
from typing import Any, Final

from streamnative_serdes._schema import MAX_PRECISION
from streamnative_serdes.errors import DecodeError

from ..faults import not_decodable
from ..json_number import JsonNumber
from ..moments import SECOND
from .notation import to_float as nearest_float
from .parsing import to_float as to_double

NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")  # the grammar of JSON
_TOO_LARGE: Final = 10**MAX_PRECISION
_MOST_BYTES: Final = _TOO_LARGE.bit_length() // 8 + 1
_LARGEST: Final = 20  # power of ten of seconds that no moment reaches
_LEAST: Final = -9  # power of ten of a nanosecond
_DOUBLE: Final = Struct("<d")
_BITS: Final = Struct("<Q")
_TIE: Final = (1 << 28) - 1  # bits that are 0 in a double that is a 32-bit float, or halfway between two


def to_decimal(value: Any) -> Decimal | None:
    """A JSON number, or the text of a number, as a decimal with the same digits; None for anything else.

    Raises:
        DecodeError: the number has more than 4,300 digits when written out.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, str) and (len(value) > MAX_PRECISION or not NUMBER.fullmatch(value)):
        return None
    number = _exact(value)
    if number is None or number.adjusted() >= MAX_PRECISION or _exponent(number) <= -MAX_PRECISION:
        raise not_decodable(f"a number of at most {MAX_PRECISION} digits", value)
    return number


def _exact(number: int | str) -> Decimal | None:
    """The number; None if its exponent has more digits than a decimal's may have, which is 18."""
    try:
        return Decimal(number)
    except InvalidOperation:
        return None


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def to_float(number: int | str) -> float:
    """The 32-bit float nearest to a number, an int or JSON text, which is rounded once, as Java does.

    The nearest double may be halfway between two floats where the number is not: then the next double on the number's
    side is rounded.

    Raises:
        DecodeError: no float is that large.
    """
    wide = to_double(number)
    if not _BITS.unpack(_DOUBLE.pack(wide))[0] & _TIE:
        exact = _exact(number)
        if exact is not None and exact != wide:
            wide = math.nextafter(wide, math.inf if exact > wide else -math.inf)
    try:
        return nearest_float(wide)
    except OverflowError:
        raise not_decodable("a number that a 32-bit float can hold", number) from None


def from_unscaled(data: bytes, scale: int) -> Decimal | None:
    """The decimal of Avro's bytes: a number in two's complement, big-endian; None if it has more than 4,300 digits."""
    number = int.from_bytes(data, signed=True) if len(data) <= _MOST_BYTES else _TOO_LARGE
    return Decimal(f"{number}E-{scale}") if -_TOO_LARGE < number < _TOO_LARGE else None


def seconds_to_nanos(seconds: JsonNumber, label: str) -> int:
    """Nanoseconds of ``SECONDS.NANOSECONDS``, further digits are dropped.

    Before 1970, Jackson writes the second below and the nanoseconds after it: -1.999999999 is -1 ns. It reads them so,
    too (DecimalUtils of jackson-datatype-jsr310 2.17).
    """
    number = _exact(seconds)
    if number is None or (number and number.adjusted() > _LARGEST):
        raise DecodeError(f"{label} is out of range: {seconds:.40}")
    if not number or number.adjusted() < _LEAST:
        return 0
    sign, digits, _ = number.as_tuple()
    magnitude, power = int("".join(map(str, digits))), _exponent(number) - _LEAST
    nanos: int = magnitude * 10**power if power >= 0 else magnitude // 10**-power
    if not sign:
        return nanos
    whole, rest = divmod(nanos, SECOND)
    return rest - whole * SECOND if whole else -rest


def seconds_text(nanos: int) -> str:
    """Nanoseconds since 1970 as Jackson writes an Instant; the reverse of :func:`seconds_to_nanos`."""
    seconds, rest = divmod(nanos, SECOND)
    if rest == 0:
        return f"{seconds}.000000000" if seconds else "0.0"
    return str(Decimal(f"{seconds}.{rest:09}"))
