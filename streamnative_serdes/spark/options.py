"""Options of decode_df and from_avro: what to do with messages that cannot be decoded, and with new schema versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError

FAILFAST: Final = "FAILFAST"
PERMISSIVE: Final = "PERMISSIVE"
DROPMALFORMED: Final = "DROPMALFORMED"

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "mode": (FAILFAST, PERMISSIVE, DROPMALFORMED),
    "schemaEvolution": ("none", "restart"),
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Validated options.

    Args:
        mode: a message that cannot be decoded fails the job (``FAILFAST``), becomes nulls (``PERMISSIVE``), or is
            dropped (``DROPMALFORMED``).
        error_column: the column for errors; only with ``PERMISSIVE``.
        restart: a schema version newer than the plan fails the job, so that it can restart with the new schema.
    """

    mode: str = FAILFAST
    error_column: str | None = None
    restart: bool = False

    @classmethod
    def parse(cls, options: Mapping[str, Any] | None) -> ReadOptions:
        """Parse ``mode``, ``errorColumn`` and ``schemaEvolution``; values ignore case.

        Raises:
            ConfigError: an unknown option, or an invalid value.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ConfigError(f"expected the options as a dict, got {type(options).__name__}")
        given: dict[str, Any] = dict(options or {})
        column = given.pop("errorColumn", None)
        mode = _choice("mode", given.pop("mode", FAILFAST if column is None else PERMISSIVE))
        evolution = _choice("schemaEvolution", given.pop("schemaEvolution", "none"))
        _refuse_unknown(given)
        if column is not None and (not isinstance(column, str) or not column):
            raise ConfigError(f"errorColumn: expected a column name, got {column!r:.80}")
        if column is not None and mode != PERMISSIVE:
            raise ConfigError(f"errorColumn requires mode PERMISSIVE, got {mode}")
        return cls(mode, column, evolution == "restart")


def _choice(name: str, given: object) -> str:
    for word in _CHOICES[name]:
        if isinstance(given, str) and given.lower() == word.lower():
            return word
    raise ConfigError(f"{name}: expected {' or '.join(_CHOICES[name])}, got {given!r:.80}")


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    known = (*_CHOICES, "errorColumn")
    for name in given:
        hint = did_you_mean(str(name), known) or f"the options are {', '.join(known)}"
        raise ConfigError(f"unknown option {name!r:.80}", hint=hint)
