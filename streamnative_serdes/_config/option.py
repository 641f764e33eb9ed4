"""Option: one configuration option, with its key, default, check, and line in docs/config.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamnative_serdes.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its dotted key, default value, check, and help text.

    ``secret``: errors do not show its value. ``shared``: it belongs to the Kafka client, and is read only if asked for.
    """

    key: str
    default: Any
    check: Callable[[object], Any]
    doc: str
    secret: bool = False
    shared: bool = False


def checked(option: Option, given: object) -> Any:
    """Return the checked value of an option, or its default if ``given`` is None. Raises ConfigError."""
    try:
        return option.default if given is None else option.check(given)
    except ValueError as error:
        expected = str(error)
    # Raised outside the except block: the check's error may contain a secret value, and would become the context.
    shown = "a value" if option.secret else repr(given)[:100]
    raise ConfigError(f"{option.key} takes {expected}, got {shown} of type {type(given).__name__}")


def _shown(default: object) -> str:
    if default is None:
        return "-"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def markdown(options: tuple[Option, ...]) -> str:
    """Return the table for docs/config.md."""
    rows = [f"| `{o.key}` | {_shown(o.default)} | {o.doc} |" for o in options]
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])
