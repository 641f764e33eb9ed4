"""One option: its key, its default, its check, and its line in docs/config.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamnative_serdes.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its dotted key, the value when it is not given, its check, and what it does.

    ``secret``: no error shows its value. ``shared``: it is the Kafka client's own, of which we read a copy when asked.
    """

    key: str
    default: Any
    check: Callable[[object], Any]
    doc: str
    secret: bool = False
    shared: bool = False


def checked(option: Option, given: object) -> Any:
    """The value of an option that was given, or its default for None. Raises ConfigError."""
    try:
        return option.default if given is None else option.check(given)
    except ValueError as error:
        expected = str(error)
    # Out here: the error of a check may hold the value, and would be this one's context.
    shown = "a value" if option.secret else repr(given)[:100]
    raise ConfigError(f"{option.key} takes {expected}, got {shown} of type {type(given).__name__}")


def _shown(default: object) -> str:
    if default is None:
        return "-"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def markdown(options: tuple[Option, ...]) -> str:
    """The table as it stands in docs/config.md."""
    rows = [f"| `{o.key}` | {_shown(o.default)} | {o.doc} |" for o in options]
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])
