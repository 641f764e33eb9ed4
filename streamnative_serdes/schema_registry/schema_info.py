"""Response parsing: the registry's JSON as schemas, versions and compatibility results.

Source: Pulsar's GetSchemaResponse, PostSchemaResponse, LongSchemaVersionResponse, IsCompatibilityResponse. Every
function here raises ValueError with the expected form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

MAX_VERSION: Final = 2**63 - 1
UNSET: Final = "UNDEFINED"  # the strategy of a topic or a namespace that has none of its own
_TYPE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,39}")  # bounded, since errors show it


def require_version(version: object, topic: str) -> None:
    """Raises ConfigError if ``version`` is not an int: None, True and 1.0 would cause later errors, or none."""
    if type(version) is not int:
        raise ConfigError(
            f"expected a schema version as int, got {type(version).__name__} {version!r:.80}", topic=topic
        )


@dataclass(frozen=True, slots=True)
class SchemaInfo:
    """A registered schema.

    Args:
        version: counts from 0 within its topic; deletions leave gaps.
        type: Pulsar's SchemaType, such as ``AVRO``, ``JSON``, ``KEY_VALUE``.
        text: the schema as registered; empty for primitive types.
        timestamp: time of registration, in milliseconds since 1970 UTC; 0 if the broker does not know it.
        properties: custom properties.
    """

    version: int
    type: str
    text: str
    timestamp: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Whether a topic accepts a schema, the strategy, and the reason of a refusal; None if the broker does not tell."""

    compatible: bool
    strategy: str | None = None
    reason: str | None = None


def schema_info(tree: Any) -> SchemaInfo:
    """``{"version": 0, "type": "AVRO", "timestamp": 1, "data": "...", "properties": {}}``."""
    kind, text = _member(tree, "type"), _member(tree, "data")
    if not isinstance(kind, str) or not isinstance(text, str):
        raise ValueError('text in "type" and "data"')
    if not _TYPE.fullmatch(kind):
        raise ValueError('a schema type such as "AVRO" in "type"')
    when = tree.get("timestamp") or 0
    if not isinstance(when, int) or isinstance(when, bool) or not -MAX_VERSION <= when <= MAX_VERSION:
        raise ValueError('a number in "timestamp"')
    return SchemaInfo(_known(version(tree)), kind, text, when, _properties(tree.get("properties")))


def schema_infos(tree: Any) -> list[SchemaInfo]:
    """``{"getSchemaResponses": [...]}``, oldest first."""
    entries = _member(tree, "getSchemaResponses")
    if not isinstance(entries, list):
        raise ValueError('a list in "getSchemaResponses"')
    return sorted(map(schema_info, entries), key=lambda info: info.version)


def version(tree: Any) -> int | None:
    """``{"version": {"version": 0}}``, ``{"version": 0}`` or ``0``; None for -1, which means "no version"."""
    value = tree
    while isinstance(value, dict):
        value = value.get("version")
    if not isinstance(value, int) or isinstance(value, bool) or not -1 <= value <= MAX_VERSION:
        raise ValueError('a schema version in "version"')
    return None if value == -1 else value


def registered_version(tree: Any) -> int:
    """As :func:`version`, but -1 is an error."""
    return _known(version(tree))


def compatibility(tree: Any) -> Compatibility:
    """``{"compatibility": true, "schemaCompatibilityStrategy": "FULL"}``."""
    verdict = _member(tree, "compatibility", "isCompatibility")
    strategy = tree.get("schemaCompatibilityStrategy")
    if not isinstance(verdict, bool):
        raise ValueError('true or false in "compatibility"')
    return Compatibility(verdict, strategy if isinstance(strategy, str) else None)


def strategy(tree: Any) -> str | None:
    """``"FULL"``; None for "UNDEFINED" and null."""
    if tree is not None and not (isinstance(tree, str) and _TYPE.fullmatch(tree)):
        raise ValueError('a compatibility strategy such as "FULL"')
    return None if tree == UNSET else tree


def names(tree: Any) -> list[str]:
    """``["standalone", ...]``."""
    if not isinstance(tree, list) or not all(isinstance(name, str) for name in tree):
        raise ValueError("a JSON list of names")
    return tree


def retention(tree: Any) -> tuple[int, int]:
    """``{"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}``."""
    found = (_member(tree, "retentionTimeInMinutes"), _member(tree, "retentionSizeInMB"))
    if not all(isinstance(limit, int) for limit in found):
        raise ValueError("a retention in minutes and MB")
    return found


def _member(tree: Any, *names: str) -> Any:
    if not isinstance(tree, dict):
        raise ValueError("a JSON object")
    return next((tree[name] for name in names if name in tree), None)


def _known(number: int | None) -> int:
    if number is None:
        raise ValueError("a schema version from 0 on")
    return number


def _properties(tree: Any) -> dict[str, str]:
    if not isinstance(tree, dict | None):
        raise ValueError('a JSON object in "properties"')
    # Java maps may contain null, which means the same as a missing property.
    properties = {key: value for key, value in (tree or {}).items() if value is not None}
    if not all(isinstance(value, str) for value in properties.values()):
        raise ValueError('text values in "properties"')
    return properties
