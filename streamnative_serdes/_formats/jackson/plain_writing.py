"""Writes plain JSON data without a schema, in Jackson's notation."""

from __future__ import annotations

from typing import Any

from streamnative_serdes._paths import entry
from streamnative_serdes.errors import EncodeError

from ..faults import not_encodable
from .notation import double_text, quoted

_MOST_BITS = 14_000  # of an int, whose text then has at most 4,215 digits


def plain_text(obj: Any, max_depth: int) -> str:
    """The JSON text of None, bool, int, float, str, and lists and dicts of them.

    Raises:
        EncodeError: an object of another type, a key that is not text, or nested deeper than ``max_depth`` levels.
    """
    out: list[str] = []
    _write(obj, out, max_depth)
    return "".join(out)


def _write(obj: Any, out: list[str], depth: int) -> None:
    if isinstance(obj, dict | list | tuple):
        if depth == 0:
            raise EncodeError("nested too deeply", hint="the option max.depth is the limit")
        _write_object(obj, out, depth - 1) if isinstance(obj, dict) else _write_array(obj, out, depth - 1)
    else:
        out.append(_leaf(obj))


def _write_object(obj: dict[Any, Any], out: list[str], depth: int) -> None:
    separator = "{"
    for key, item in obj.items():
        if not isinstance(key, str):
            raise not_encodable("text as key of an object", key)
        out.append(f"{separator}{_quoted(key)}:")
        separator = ","
        try:
            _write(item, out, depth)
        except EncodeError as error:
            raise error.inside(entry(key)) from None
    out.append("{}" if separator == "{" else "}")


def _write_array(obj: Any, out: list[str], depth: int) -> None:
    out.append("[")
    for number, item in enumerate(obj):
        if number:
            out.append(",")
        try:
            _write(item, out, depth)
        except EncodeError as error:
            raise error.inside(f"[{number}]") from None
    out.append("]")


def _leaf(obj: Any) -> str:
    if obj is None:
        return "null"
    if isinstance(obj, bool):
        return "true" if obj else "false"
    if isinstance(obj, str):
        return _quoted(obj)
    if isinstance(obj, int):
        if int.bit_length(obj) > _MOST_BITS:
            raise not_encodable("an int of at most 4,200 digits", obj)
        return int.__repr__(obj)
    if isinstance(obj, float):
        return double_text(float(obj))
    raise not_encodable("plain JSON data", obj)


def _quoted(text: str) -> str:
    return quoted(str.__str__(text))
