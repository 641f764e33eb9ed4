"""What looks like a logical type in a user's schema and is none: Avro ignores it, so it is told as a SchemaWarning.

Source: Avro specification 1.12, "Logical Types": an unknown one is ignored. So a word that is near none is no doubt.
"""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Mapping
from typing import Any, Final

from ..errors import SchemaWarning
from .rules import LOGICAL_BASES

_KEY: Final = "logicalType"
_LIKE_THE_KEY: Final = 0.85  # of 1; "logicType" is 0.9
_LIKE_A_NAME: Final = 0.75  # "timestamp" is 0.78, "guid" 0.75, "datetime" 0.67
_LONGEST: Final = 40  # comparing takes time by the square of it
_PACKAGE: Final = __name__.partition(".")[0]


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")


_NAMES: Final = {_plain(name): name for name in LOGICAL_BASES}
# Letters alone would have nanoseconds for all of these.
_SHORT: Final = {
    f"{family}{short}": f"{family}{unit}"
    for family in ("timestamp", "localtimestamp")
    for short, unit in (("", "millis"), ("ms", "millis"), ("us", "micros"), ("ns", "nanos"))
}


class Doubts:
    """Those of one schema, each word once, with the first place where it stands."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str] = {}

    def unknown(self, tree: Mapping[str, Any], base: str, path: str) -> None:
        """A type whose ``logicalType`` is missing or no known one."""
        for key, word in tree.items():
            near = _nearest(word) if key == _KEY or _is_like_the_key(key) else None
            if near:
                meant = f'"{_KEY}": "{near}"'
                self._add(path, key, word, f"means nothing to Avro, so the type is a plain {base}: is {meant} meant?")

    def misplaced(self, tree: Mapping[str, Any], path: str) -> None:
        """A field, or a type around another, which have no logical type of their own."""
        inner = tree["type"]
        if isinstance(inner, dict) and _KEY in inner:
            return
        word = tree.get(_KEY)
        near = _nearest(word)
        if near:
            base = inner if isinstance(inner, str) else "..."
            meant = f'{{"type": "{base}", "{_KEY}": "{near}"}}'
            self._add(path, _KEY, word, f"stands beside the type, where Avro ignores it: is it to be {meant}?")

    def _add(self, path: str, key: str, word: object, text: str) -> None:
        where = f"field {path[:200]}: " if path else ""
        self._found.setdefault((key, str(word)), f'{where}"{key}": "{word}" {text}')

    def warn(self) -> None:
        """Raises: SchemaWarning: where the user's filters make errors of warnings."""
        for text in self._found.values():
            warnings.warn(text, SchemaWarning, stacklevel=_users_level())


def _is_like_the_key(key: str) -> bool:
    if not 8 <= len(key) <= 14:
        return False
    return difflib.SequenceMatcher(None, _plain(key), _plain(_KEY)).ratio() >= _LIKE_THE_KEY


def _nearest(word: object) -> str | None:
    """The logical type that ``word`` is, or is like."""
    if not isinstance(word, str) or len(word) > _LONGEST:
        return None
    plain = _plain(word)
    near = difflib.get_close_matches(_SHORT.get(plain, plain), _NAMES, n=1, cutoff=_LIKE_A_NAME)
    return _NAMES[near[0]] if near else None


def _users_level() -> int:
    """For ``warnings.warn`` in the function that asks: the first caller outside of this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    return level
