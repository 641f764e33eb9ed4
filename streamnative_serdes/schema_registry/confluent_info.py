"""Response parsing: the JSON of Confluent's API as schemas, ids and subjects.

Source: Confluent's Schema, SchemaString, RegisterSchemaResponse, SubjectVersion and Config. Every function here raises
ValueError with the expected form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes._schema import SchemaReference

from .rest import member

MAX_ID: Final = 2**31 - 1
_MOST_REFERENCES: Final = 1_000
_TYPE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,39}")  # bounded, since errors show it


@dataclass(frozen=True, slots=True)
class ConfluentSchema:
    """A schema of a registry with Confluent's API. Parts that the registry did not tell are None.

    Args:
        schema_str: the text as registered.
        schema_type: ``AVRO``, ``JSON``, ``PROTOBUF``, or a type of the registry's own.
        references: schemas that define types of this one.
        id: from 1; in Confluent's own registry, unique within a context.
        subject: the subject in which the schema is registered.
        version: from 1, within the subject.
        guid: text of the form ``89791762-2336-186f-9674-180ca802d4d1``.
        rules: whether the schema has rules, such as for field encryption, which are not applied here.
    """

    schema_str: str
    schema_type: str = "AVRO"
    references: tuple[SchemaReference, ...] = ()
    id: int | None = None
    subject: str | None = None
    version: int | None = None
    guid: str | None = None
    rules: bool = False


def schema(tree: Any) -> ConfluentSchema:
    """``{"schema": "...", "schemaType": "AVRO", "references": [...], "id": 1, "subject": "...", "version": 1}``."""
    text, kind = member(tree, "schema"), member(tree, "schemaType")
    if not isinstance(text, str):
        raise ValueError('text in "schema"')
    if kind is not None and not (isinstance(kind, str) and _TYPE.fullmatch(kind)):
        raise ValueError('a schema type such as "AVRO" in "schemaType"')
    return ConfluentSchema(
        text,
        kind or "AVRO",
        _references(tree.get("references")),
        _optional(tree, "id"),
        _text_or_none(tree, "subject"),
        _optional(tree, "version"),
        _text_or_none(tree, "guid"),
        _has_rules(tree.get("ruleSet")),
    )


def identified(tree: Any) -> tuple[int, int]:
    """``{"id": 1, "version": 1, ...}``: id and version."""
    return _number(tree, "id"), _number(tree, "version")


def registered_id(tree: Any) -> int:
    """``{"id": 1}``."""
    return _number(tree, "id")


def subjects(tree: Any) -> list[str]:
    """``["a-value", "b-value"]``."""
    if not isinstance(tree, list) or not all(isinstance(name, str) for name in tree):
        raise ValueError("a list of subjects")
    return tree


def versions(tree: Any) -> list[int]:
    """``[1, 2]``."""
    if not isinstance(tree, list) or not all(map(_is_number, tree)):
        raise ValueError("a list of versions")
    return sorted(tree)


def subject_versions(tree: Any) -> list[tuple[str, int]]:
    """``[{"subject": "a-value", "version": 1}]``."""
    if not isinstance(tree, list):
        raise ValueError("a list of subjects and versions")
    return [(_text(one, "subject"), _number(one, "version")) for one in tree]


def level(tree: Any) -> str:
    """``{"compatibilityLevel": "BACKWARD"}``."""
    name = _text(tree, "compatibilityLevel")
    if not _TYPE.fullmatch(name):
        raise ValueError('a compatibility level such as "BACKWARD" in "compatibilityLevel"')
    return name


def _references(tree: Any) -> tuple[SchemaReference, ...]:
    if not isinstance(tree, list | None) or len(tree or ()) > _MOST_REFERENCES:
        raise ValueError(f'a list of at most {_MOST_REFERENCES} in "references"')
    return tuple(
        SchemaReference(_text(one, "name"), _text(one, "subject"), _number(one, "version")) for one in tree or ()
    )


def _has_rules(tree: Any) -> bool:
    """``{"migrationRules": [], "domainRules": [...]}``; a set whose lists are empty has none."""
    return any(tree.values()) if isinstance(tree, dict) else bool(tree)


def _text(tree: Any, name: str) -> str:
    value = member(tree, name)
    if not isinstance(value, str) or not value:
        raise ValueError(f'text in "{name}"')
    return value


def _text_or_none(tree: Any, name: str) -> str | None:
    return None if member(tree, name) is None else _text(tree, name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_ID


def _number(tree: Any, name: str) -> int:
    value = member(tree, name)
    if not _is_number(value):
        raise ValueError(f'a whole number from 0 in "{name}"')
    return int(value)


def _optional(tree: Any, name: str) -> int | None:
    return None if member(tree, name) is None else _number(tree, name)
