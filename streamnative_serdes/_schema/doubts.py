"""Warns about a user's schema: words like a misspelt logical type, which Avro ignores, and names that 1.12 refuses.

Source: Avro specification 1.12, "Logical Types": unknown logical types are ignored. So a word that resembles no known
one is not reported. Names: Java's Avro 1.12, which is in Pulsar 4.2.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from streamnative_serdes._nearest import nearest
from streamnative_serdes.errors import SchemaWarning

from .rules import LOGICAL_BASES, is_namespace

_KEY: Final = "logicalType"
_LIKE_THE_KEY: Final = 0.85  # of 1; "logicType" is 0.9
_LIKE_A_NAME: Final = 0.75  # "timestamp" is 0.78, "guid" 0.75, "datetime" 0.67
_LONGEST: Final = 40  # comparison takes quadratic time
_PACKAGE: Final = __name__.partition(".")[0]


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")


_NAMES: Final = {_plain(name): name for name in LOGICAL_BASES}
# By spelling alone, the nearest match for all of these would be nanoseconds.
_SHORT: Final = {
    f"{family}{short}": f"{family}{unit}"
    for family in ("timestamp", "localtimestamp")
    for short, unit in (("", "millis"), ("ms", "millis"), ("us", "micros"), ("ns", "nanos"))
}


class Doubts:
    """The suspicious words of one schema: each word once, at the first place where it occurs."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str] = {}

    def unknown(self, tree: Mapping[str, Any], base: str, path: str) -> None:
        """Check a type whose ``logicalType`` is missing or unknown."""
        for key, word in tree.items():
            near = _meant(word) if key == _KEY or _is_like_the_key(key) else None
            if near:
                meant = f'"{_KEY}": "{near}"'
                self._add(path, key, word, f"is unknown to Avro, so the type is a plain {base}: did you mean {meant}?")

    def misplaced(self, tree: Mapping[str, Any], path: str) -> None:
        """Check a field, which has no logical type of its own."""
        inner = tree["type"]
        if isinstance(inner, dict) and _KEY in inner:
            return
        word = tree.get(_KEY)
        near = _meant(word)
        if near:
            base = inner if isinstance(inner, str) else "..."
            meant = f'{{"type": "{base}", "{_KEY}": "{near}"}}'
            self._add(path, _KEY, word, f"is outside the type, where Avro ignores it: did you mean {meant}?")

    def namespace(self, namespace: str, path: str) -> None:
        """Check the namespace of a definition."""
        if not is_namespace(namespace):
            self._refused(path, f"the namespace {namespace!r:.120}", "letters, digits and _ are allowed between dots")

    def reference(self, name: str, path: str) -> None:
        """Check a name that refers to a type."""
        if name.startswith("."):
            self._refused(path, f"the reference {name!r:.120}", f"write {name[1:]!r:.120}")

    def _refused(self, path: str, what: str, instead: str) -> None:
        where = f"field {path[:200]}: " if path else ""
        self._found.setdefault(("", what), f"{where}{what} is refused by Avro 1.12, so by Pulsar 4.2: {instead}")

    def _add(self, path: str, key: str, word: object, text: str) -> None:
        where = f"field {path[:200]}: " if path else ""
        self._found.setdefault((key, str(word)), f'{where}"{key}": "{word}" {text}')

    def warn(self) -> None:
        """Issue the warnings. Raises SchemaWarning if the user's filters turn warnings into errors."""
        for text in self._found.values():
            warnings.warn(text, SchemaWarning, stacklevel=_users_level())


def _is_like_the_key(key: str) -> bool:
    if not 8 <= len(key) <= 14:
        return False
    return SequenceMatcher(None, _plain(key), _plain(_KEY)).ratio() >= _LIKE_THE_KEY


def _meant(word: object) -> str | None:
    """Return the logical type that ``word`` equals or resembles."""
    if not isinstance(word, str) or len(word) > _LONGEST:
        return None
    plain = _plain(word)
    near = nearest(_SHORT.get(plain, plain), _NAMES, _LIKE_A_NAME)
    return near and _NAMES[near]


def _users_level() -> int:
    """Return the ``stacklevel`` for ``warnings.warn`` of the first caller outside this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    return level
