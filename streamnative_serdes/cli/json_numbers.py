"""JSON whose numbers keep their text: decimals have more digits than floats, and ``1.50`` is not the text ``1.5``."""

from __future__ import annotations

import json
import re
from typing import Any, Final
from uuid import uuid4

_MARK: Final = uuid4().hex  # in front of a number's text; data of others cannot contain it
_MARKED: Final = re.compile(f'"{_MARK}([^"]*)"')


class _Real(float):
    """A number with a fraction or an exponent."""

    text: str


class _Whole(int):
    """``-0``, whose int is 0."""

    text: str


def _real(text: str) -> _Real:
    number = _Real(text)
    number.text = text
    return number


def _whole(text: str) -> int:
    if text != "-0":
        return int(text)
    number = _Whole()
    number.text = text
    return number


def parse(text: str | bytes, **hooks: Any) -> Any:
    """As ``json.loads``, but the numbers keep their text for :func:`dumps`."""
    return json.loads(text, parse_float=_real, parse_int=_whole, **hooks)


def dumps(value: Any, **layout: Any) -> str:
    """As ``json.dumps``, with the numbers of :func:`parse` as they were written."""
    return _MARKED.sub(r"\1", json.dumps(_marked(value), **layout))


def _marked(value: Any) -> Any:
    if isinstance(value, _Real | _Whole):
        return _MARK + value.text
    if isinstance(value, dict):
        return {key: _marked(item) for key, item in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list | tuple) else value
