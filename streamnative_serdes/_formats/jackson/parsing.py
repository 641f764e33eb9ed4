"""JSON text to Python data, with bounds on its nesting and its numbers.

Numbers with a fraction or an exponent keep their text (:class:`JsonNumber`): decimals have more digits than floats.
Memory is bounded by the size of the message: an item takes at least two of its bytes.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

from streamnative_serdes._schema import MAX_PRECISION, NOT_FINITE
from streamnative_serdes.errors import DecodeError

from ..faults import described
from ..json_number import JsonNumber

_MOST_CHARACTERS: Final = MAX_PRECISION  # of a number
_BOM: Final = b"\xef\xbb\xbf"
_HINT: Final = "the topic's schema is JSON, but this is not JSON text"


def parse(data: bytes, max_depth: int) -> Any:
    """The value in ``data``, UTF-8 text; numbers with a fraction or an exponent are of class JsonNumber.

    Raises:
        DecodeError: the text is not JSON, is nested deeper than ``max_depth`` levels, has a key twice in one object, or
            has a number of too many characters.
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    try:
        text = str(data[start:], "utf-8")
        value = _DECODER.decode(text)
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"expected JSON in UTF-8, got {error.reason}", offset=start + error.start, hint=_HINT
        ) from None
    except json.JSONDecodeError as error:
        offset = start + len(text[: error.pos].encode())
        raise DecodeError(f"expected JSON: {error.msg}", offset=offset, hint=_HINT) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    if data.count(b"[") + data.count(b"{") > max_depth:
        _check_depth(value, max_depth)
    return value


def parse_at(text: str, start: int, max_depth: int) -> tuple[Any, int]:
    """As :func:`parse`, for the value that begins at ``text[start]``; also returns where it ends.

    Raises:
        DecodeError: as :func:`parse`; ``offset`` is in characters.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise DecodeError(f"expected JSON: {error.msg}", offset=error.pos, hint=_HINT) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    if text.count("[", start, end) + text.count("{", start, end) > max_depth:
        _check_depth(value, max_depth)
    return value, end


def _too_deep(max_depth: int) -> DecodeError:
    return DecodeError(f"nested deeper than {max_depth} levels", hint="the option max.depth is the limit")


def _check_depth(value: Any, max_depth: int) -> None:
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        if depth > max_depth:
            raise _too_deep(max_depth)
        level = [item for parent in level for item in (parent.values() if isinstance(parent, dict) else parent)]


def _integer(text: str) -> int:
    _check_length(text)
    return int(text)


def _real(text: str) -> JsonNumber:
    _check_length(text)
    return JsonNumber(text)


def _check_length(text: str) -> None:
    if len(text) > _MOST_CHARACTERS:
        raise DecodeError(f"expected a number of at most {_MOST_CHARACTERS} characters, got {len(text)}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DecodeError(f"expected each key once in an object, got {described(twice)} twice")
    return found


# Python's clients write NaN and the infinities without quotes, which Jackson does not.
_DECODER: Final = json.JSONDecoder(
    parse_int=_integer, parse_float=_real, parse_constant=NOT_FINITE.__getitem__, object_pairs_hook=_object
)


def plain(value: Any) -> Any:
    """The same data with Python's floats. Raises DecodeError: a number is too large for a float."""
    if isinstance(value, JsonNumber):
        return to_float(value)
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = plain(item)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            value[number] = plain(item)
    return value


def to_float(number: int | str) -> float:
    """The float nearest to a number; ``number`` is an int or JSON text. Raises DecodeError if it is too large."""
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if math.isinf(value):
        raise DecodeError(f"expected a number that a float can hold, got {described(number)}")
    return value
