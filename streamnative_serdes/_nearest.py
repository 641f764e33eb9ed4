"""The nearest name, for hints about misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that is most like ``word``, if their likeness, from 0 to 1, is at least ``alike``."""
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=alike)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The hint of an error about ``word``."""
    near = nearest(word, known)
    return near and f"did you mean {near}?"
