"""Which names are valid, as Java's Avro has it up to 1.11: letters of all scripts, and any namespace.

Source: ``Schema.validateName`` of Avro 1.11.4, which Pulsar 4.0's brokers use. Avro 1.12, which is in Pulsar 4.2, looks
at the parts of namespaces too. The specification has the letters of ASCII alone.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category

_ASCII: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo"})  # Java's Character.isLetter
_LAST: Final = "\uffff"  # Java looks at each half of a surrogate pair, and none is a letter


def is_name(text: str) -> bool:
    """Whether the name of a field or symbol, or the last part of a full name, is valid."""
    if _ASCII.fullmatch(text):
        return True
    return bool(text) and _begins(text[0]) and all(_begins(char) or _is_digit(char) for char in text[1:])


def _begins(char: str) -> bool:
    return char == "_" or (char <= _LAST and category(char) in _LETTERS)


def _is_digit(char: str) -> bool:
    return char <= _LAST and category(char) == "Nd"


def is_namespace(text: str) -> bool:
    """Whether Pulsar 4.2 takes it, which allows $ beside what Avro 1.12 allows."""
    return not text or all(is_name(part.replace("$", "_")) for part in text.split("."))
