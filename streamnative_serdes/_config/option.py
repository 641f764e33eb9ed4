"""Option: one configuration option, with its key, default, check, and line in docs/config.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

# In the options of one registry: what the user writes before their names. Those of Pulsar's registry lack it.
PREFIX: Final = "options.prefix"


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
    if isinstance(given, str):
        given = str.__str__(given)  # the text of a member of an Enum with texts, whose str() is its name
    try:
        return option.default if given is None else option.check(given)
    except ValueError as error:
        expected = str(error)
    # Raised outside the except block: the check's error may contain a secret value, and would become the context.
    shown = "a value" if option.secret else repr(given)[:100]
    raise ConfigError(f"{option.key}: expected {expected}, got {shown} of type {type(given).__name__}")


def named(conf: Mapping[str, Any], key: str) -> str:
    """Return ``key`` as the user writes it, for errors about the options ``conf`` of one registry."""
    return key if key.startswith("sasl.") else prefixed(conf.get(PREFIX, ""), key)  # sasl.* belongs to the client


def prefixed(prefix: str, key: str) -> str:
    """Return the option ``key`` of the registry whose options begin with ``prefix``."""
    return f"{prefix}{key.removeprefix('schema.') if prefix == 'apicurio.' else key}"


def _shown(default: object) -> str:
    if default is None:
        return "-"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple):
        return f"`{','.join(default)}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def markdown(options: tuple[Option, ...]) -> str:
    """Return the table for docs/config.md."""
    rows = [f"| `{o.key}` | {_shown(o.default)} | {o.doc} |" for o in options]
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])
