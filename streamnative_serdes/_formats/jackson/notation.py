"""Text, numbers and bytes in the notation of Java's Jackson, character for character.

Source: Jackson 2.17, UTF8JsonGenerator; java.lang.Double.toString of JDK 19 and later, which always has the shortest
digits (earlier ones have a digit too many for a few numbers).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from decimal import Decimal
from struct import Struct
from typing import Any, Final

from streamnative_serdes._formats.faults import described, not_decodable
from streamnative_serdes._schema import json_float
from streamnative_serdes.errors import DecodeError


def from_base64(value: Any, size: int | None = None) -> bytes:
    """The bytes; exactly ``size``, if given. Raises DecodeError: the value is no text, or the text no base64."""
    if type(value) is not str:
        raise not_decodable("bytes as base64 text", value)
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        hint = "pulsar-client's JsonSchema for Python writes bytes as plain text"
        raise not_decodable("bytes as base64 text", value, hint) from None
    if size is not None and len(data) != size:
        raise DecodeError(f"expected {size} bytes as base64 text, got {len(data)}: {described(value)}")
    return data


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_FLOAT: Final = Struct("<f")  # with a byte order, it refuses a number that is too large


def quoted(text: str) -> str:
    """A JSON string: escapes are upper case, and characters beyond U+FFFF are two escapes."""
    return f'"{_ESCAPED.sub(_escape, text)}"' if _ESCAPED.search(text) else f'"{text}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    units = character.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def double_text(value: float) -> str:
    """A double as ``Double.toString`` shows it; NaN and the infinities as JSON strings."""
    return _finite(value, repr(value)) if math.isfinite(value) else _special(value)


def float_text(value: float) -> str:
    """The same for a 32-bit float, with the fewest digits that only this float has."""
    return _finite(value, shortest(value)) if math.isfinite(value) else _special(value)


def shortest(value: float) -> str:
    """The fewest digits that only this 32-bit float has."""
    texts = (f"{value:.{digits}e}" for digits in range(9))
    return next((text for text in texts if _is_float(float(text), value)), str(value))


def to_float(value: float) -> float:
    """The nearest 32-bit float. Raises OverflowError if the number is too large for one."""
    nearest: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return nearest


def _is_float(number: float, value: float) -> bool:
    try:
        return to_float(number) == value
    except OverflowError:
        return False


def decimal_text(value: Decimal) -> str:
    """A decimal as ``BigDecimal.toString`` shows it, which is a JSON number."""
    return str(value)


def _special(value: float) -> str:
    return f'"{json_float(value)}"'


def _finite(value: float, shortest: str) -> str:
    number = Decimal(shortest).normalize()
    if len(number.as_tuple().digits) == 1:  # Java then takes the nearest of two digits, which may be another number
        number = Decimal(f"{value:.1e}").normalize()
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        plain = f"{number:f}"
        return plain if "." in plain else f"{plain}.0"
    sign = "-" if value < 0 else ""
    first, *others = map(str, number.as_tuple().digits)
    return f"{sign}{first}.{''.join(others) or '0'}E{number.adjusted()}"
