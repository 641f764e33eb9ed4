"""The options of the JsonConverter, by Kafka's names (``JsonConverterConfig``), and the limits of this package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes._config import Option, checks
from streamnative_serdes._config.option import checked
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError

from .json_values import Form

BASE64, NUMERIC = "BASE64", "NUMERIC"


def _decimal_format(value: object) -> str:
    if isinstance(value, str) and value.upper() in (BASE64, NUMERIC):
        return value.upper()
    raise ValueError(f"{BASE64} or {NUMERIC}")


def _text(value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError("a schema in JSON, as text")


OPTIONS: Final = (
    Option(
        "schemas.enable",
        True,
        checks.flag,
        'Messages are envelopes, `{"schema": ..., "payload": ...}`. With false, they are the payload only, and data '
        "has no schema.",
    ),
    Option("schemas.cache.size", 1000, checks.between(0, 1_000_000), "How many schemas are kept, at most."),
    Option(
        "decimal.format",
        BASE64,
        _decimal_format,
        "How decimals are written: `BASE64`, the bytes of the unscaled integer, or `NUMERIC`, a number. Both are read.",
    ),
    Option(
        "replace.null.with.default",
        True,
        checks.flag,
        "Write and read the default in place of null, in structs too. With false, null stays null.",
    ),
    Option(
        "schema.content",
        None,
        _text,
        "A schema in JSON for all messages that are read: they are the payload only. Requires `schemas.enable=true`.",
    ),
    Option("max.depth", 256, checks.between(1, 1_000), "How deeply a message may be nested that is read."),
)
_BY_KEY: Final = {option.key: option for option in OPTIONS}


@dataclass(frozen=True, slots=True)
class JsonOptions:
    """The checked options."""

    schemas: bool
    cache_size: int
    form: Form
    schema_content: str | None
    max_depth: int

    @classmethod
    def parse(cls, config: Mapping[str, Any], *, strict: bool) -> JsonOptions:
        """Args: ``strict``: whether an unknown option is an error; a worker passes options of others too.

        Raises:
            ConfigError: an option is unknown, or its value invalid; ``schema.content`` without ``schemas.enable``.
        """
        unknown = [str(key) for key in config if key not in _BY_KEY]
        if strict and unknown:
            hint = did_you_mean(unknown[0], _BY_KEY) or f"the options are {', '.join(_BY_KEY)}"
            raise ConfigError(f"unknown option {unknown[0]}", hint=hint)
        values = {key: checked(option, config.get(key)) for key, option in _BY_KEY.items()}
        if values["schema.content"] is not None and not values["schemas.enable"]:
            raise ConfigError("schema.content has no effect with schemas.enable=false", hint="leave one of them out")
        form = Form(values["decimal.format"] == NUMERIC, values["replace.null.with.default"])
        return cls(
            values["schemas.enable"],
            values["schemas.cache.size"],
            form,
            values["schema.content"],
            values["max.depth"],
        )
