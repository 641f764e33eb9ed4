"""Originals: the schemas of Confluent's registry that are copied, in order, and when Pulsar takes two for the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from streamnative_serdes._broker_rules.rehearsal import comparison_fault, refusal_of
from streamnative_serdes._rewriting import Name
from streamnative_serdes._schema import comparable, parse
from streamnative_serdes.errors import FileError, MissingEndpointError, SchemaError, SchemaNotFoundError
from streamnative_serdes.migration.foreign import SourceRegistry, named
from streamnative_serdes.schema_registry import ConfluentSchema, SchemaInfo

RESUME: Final = "what was registered is in the state file: run this again, and it continues there"
_ENCRYPTED: Final = "has rules, which are not applied here: its fields may be encrypted"
_ALONE: Final = "Pulsar accepts it as a topic's only schema, and fails when it is compared with another"


@lru_cache(maxsize=4096)
def key(text: str) -> str:
    """Text that is equal for two Avro schemas if Pulsar's registry treats them as the same."""
    try:
        return comparable(parse(text, strict=False).root)
    except SchemaError:
        return text


def key_of(info: SchemaInfo) -> str:
    """As :func:`key`; a schema of another type than AVRO equals no Avro schema."""
    return key(info.text) if info.type == "AVRO" else f"{info.type}: {info.text}"


def name_in(info: SchemaInfo) -> str:
    """The full name of the record in a schema, or the type of another schema."""
    if info.type != "AVRO":
        return info.type
    try:
        root = parse(info.text, strict=False).root
    except SchemaError:
        return "not readable"
    return str(getattr(root, "name", "") or root.kind)


def joined(*hints: str | None) -> str:
    return "; ".join(hint for hint in hints if hint)


@dataclass(frozen=True, slots=True)
class Original:
    names: tuple[Name, ...]  # the schema's names in messages: the id, and the GUID if the registry tells it
    origin: str  # the schema's place, such as "orders-value version 3", for people
    text: str  # the Avro schema, with the types that it refers to written out inside


@dataclass(frozen=True, slots=True)
class Originals:
    schemas: list[Original]  # the subject's versions in order, then the schemas outside of the subject
    latest: Name | None  # the name of the subject's latest version; None if the subject does not exist
    unknown: list[Name]  # names that ``migrate plan`` found in messages, but that the registry does not know


def found_names(findings: Mapping[str, Any] | None) -> list[Name]:
    """The ids and GUIDs that ``migrate plan`` found in messages, ids first; also those that were unknown then."""
    entries = [entry for key in ("ids", "unknown_ids") for entry in (findings or {}).get(key, [])]
    names = [entry["id"] if isinstance(entry, Mapping) and "id" in entry else entry for entry in entries]
    if not all(isinstance(name, int | str) and not isinstance(name, bool) for name in names):
        raise FileError("the state file has an id that is not valid in its findings", hint="run `migrate plan` again")
    return sorted(set(names), key=lambda name: (isinstance(name, str), name))


def read_originals(registry: SourceRegistry, subject: str, found: Sequence[Name], by_hand: Sequence[int]) -> Originals:
    """Read the schemas to copy, also those found, or given by hand. Raises SchemaNotFoundError or SchemaError."""
    reading = _Reading(registry)
    versions = _versions(registry, subject, needed=not found and not by_hand)
    for number in versions:
        reading.add(registry.version(subject, number), f"{subject} version {number}")
    latest = reading.schemas[-1].names[0] if reading.schemas else None
    outside = f"outside of {subject}"
    for number in by_hand:
        reading.add_named(number, outside)
    for name in found:
        try:
            reading.add_named(name, outside)
        except (SchemaNotFoundError, MissingEndpointError):  # the latter of a registry that does not know GUIDs
            reading.unknown.append(name)
    reading.refuse()
    if not reading.schemas:
        raise SchemaError(f"there is nothing to copy: no subject {subject}, and no id that is found there")
    return Originals(reading.schemas, latest, reading.unknown)


@dataclass(slots=True)
class _Reading:
    registry: SourceRegistry
    schemas: list[Original] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    unknown: list[Name] = field(default_factory=list)
    _known: set[Name] = field(default_factory=set)

    def add_named(self, name: Name, origin: str) -> None:
        if name not in self._known:
            self.add(named(self.registry, name), origin, name)

    def add(self, schema: ConfluentSchema, origin: str, name: Name | None = None) -> None:
        names = tuple(dict.fromkeys(one for one in (schema.id, name, schema.guid) if one is not None))
        self._known.update(names)
        try:
            text = self._copyable(schema)
        except SchemaError as error:
            self.faults.append(f"{_said(names)} ({origin}): {error.message}")
        else:
            self.schemas.append(Original(names, origin, text))

    def _copyable(self, schema: ConfluentSchema) -> str:
        if schema.schema_type == "AVRO" and schema.rules:
            raise SchemaError(_ENCRYPTED)
        text = self.registry.self_contained(schema)
        refusal = refusal_of(text)
        if refusal is not None:
            raise SchemaError(f"Pulsar refuses it: {refusal}")
        return text

    def refuse(self) -> None:
        for one in self.schemas if len(self.schemas) > 1 else ():
            fault = comparison_fault(one.text)
            if fault is not None:
                self.faults.append(f"{_said(one.names)} ({one.origin}): {_ALONE}: {fault}")
        if self.faults:
            raise SchemaError(
                f"{len(self.faults)} schemas cannot be copied, so none was: {'; '.join(self.faults)}",
                hint="messages with these schemas cannot be written to one Avro topic of Pulsar's",
            )


def history(registry: SourceRegistry, subject: str) -> list[tuple[int, ConfluentSchema]] | None:
    """The versions of a subject in order, each with its number; None if the subject does not exist."""
    try:
        numbers = registry.versions(subject)
    except SchemaNotFoundError:
        return None
    return [(number, registry.version(subject, number)) for number in numbers]


def _versions(registry: SourceRegistry, subject: str, *, needed: bool) -> Iterable[int]:
    try:
        return registry.versions(subject)
    except SchemaNotFoundError as error:
        if not needed:
            return ()
        error.hint = "is this the right topic? With another name of its subject, `migrate plan` or --id tells the ids"
        raise


def _said(names: Sequence[Name]) -> str:
    return f"GUID {names[0]}" if isinstance(names[0], str) else f"id {names[0]}"
