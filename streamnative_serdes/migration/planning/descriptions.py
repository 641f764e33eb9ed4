"""Descriptions of the schemas that the source's messages name, from the source's registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from streamnative_serdes.errors import MissingEndpointError, SchemaNotFoundError
from streamnative_serdes.migration.framing import Name
from streamnative_serdes.migration.route import Route
from streamnative_serdes.schema_registry import ConfluentRegistryClient, SchemaInfo, SchemaRegistryClient, TopicName
from streamnative_serdes.schema_registry.confluent_info import ConfluentSchema


@dataclass(frozen=True, slots=True)
class Description:
    """A schema of the source's registry.

    Args:
        type: ``AVRO``, ``JSON``, ``PROTOBUF`` or another type of the registry.
        name: the full name of the record, or the name of another Avro type; None if the schema is not Avro.
        aliases: full names that the record had before.
        versions: the subjects that have the schema, each with the version; empty in Pulsar's registry.
        rules: whether the schema has rules, such as for field encryption.
    """

    type: str
    name: str | None
    aliases: tuple[str, ...] = ()
    versions: tuple[tuple[str, int], ...] = ()
    rules: bool = False

    def tree(self) -> dict[str, Any]:
        """The description as JSON."""
        return {
            "type": self.type,
            "name": self.name,
            "aliases": list(self.aliases),
            "subjects": list(dict.fromkeys(subject for subject, _ in self.versions)),
            "versions": [list(pair) for pair in self.versions],
            "rules": self.rules,
        }


class Registry(Protocol):
    """The source's registry; the registry's errors are not caught."""

    guids: bool  # False if a GUID was asked for, and the registry does not have the endpoint

    def describe(self, name: Name) -> Description | None:
        """The schema with this name in messages; None if the registry does not have it."""

    def listed(self) -> list[tuple[Name, Description]] | None:
        """All schemas of the topic's values; None if the topic has no subject."""


@contextmanager
def source_registry(route: Route) -> Iterator[Registry]:
    """The registry of the schemas that the source's messages name."""
    if route.direction == "forward":
        with route.confluent_registry() as confluent:
            yield ConfluentNames(confluent, route.subject)
    else:
        with route.pulsar_registry() as pulsar:
            yield PulsarNames(pulsar, route.topic)


class ConfluentNames:
    """Schemas by id or GUID in a registry with Confluent's API."""

    def __init__(self, client: ConfluentRegistryClient, subject: str) -> None:
        self._client, self._subject = client, subject
        self.guids = True

    def describe(self, name: Name) -> Description | None:
        """See :class:`Registry`."""
        try:
            if isinstance(name, int):
                return _of(self._client.by_id(name), self._versions(name))
            if not self.guids:
                return None
            found = self._client.by_guid(name)
        except SchemaNotFoundError:
            return None
        except MissingEndpointError:
            if isinstance(name, int):
                raise
            self.guids = False
            return None
        return _of(found, self._holding(found))

    def listed(self) -> list[tuple[Name, Description]] | None:
        """See :class:`Registry`."""
        try:
            numbers = self._client.versions(self._subject)
        except SchemaNotFoundError:
            return None
        found = [(number, self._client.version(self._subject, number)) for number in numbers]
        return [
            (schema.id if schema.id is not None else f"version {number}", _of(schema, ((self._subject, number),)))
            for number, schema in found
        ]

    def _versions(self, number: int) -> tuple[tuple[str, int], ...]:
        try:
            return tuple(self._client.subject_versions(number))
        except MissingEndpointError:  # of registries that do not tell; the topic's own subject can be asked
            return self._holding(self._client.by_id(number))

    def _holding(self, schema: ConfluentSchema) -> tuple[tuple[str, int], ...]:
        """The topic's own subject, if this subject has the schema."""
        try:
            return ((self._subject, self._client.lookup(self._subject, schema)[1]),)
        except SchemaNotFoundError:
            return ()


class PulsarNames:
    """Schemas by version in Pulsar's registry."""

    guids = True

    def __init__(self, client: SchemaRegistryClient, topic: TopicName) -> None:
        self._client, self._topic = client, topic

    def describe(self, name: Name) -> Description | None:
        """See :class:`Registry`."""
        assert isinstance(name, int)
        try:
            return _of_pulsar(self._client.by_version(self._topic, name))
        except SchemaNotFoundError:
            return None

    def listed(self) -> list[tuple[Name, Description]] | None:
        """See :class:`Registry`."""
        return [(info.version, _of_pulsar(info)) for info in self._client.all_versions(self._topic)] or None


def _of(schema: ConfluentSchema, versions: tuple[tuple[str, int], ...]) -> Description:
    name, aliases = names_in(schema.schema_str) if schema.schema_type == "AVRO" else (None, ())
    return Description(schema.schema_type, name, aliases, versions, schema.rules)


def _of_pulsar(info: SchemaInfo) -> Description:
    name, aliases = names_in(info.text) if info.type == "AVRO" else (None, ())
    return Description(info.type, name, aliases)


def names_in(text: str) -> tuple[str | None, tuple[str, ...]]:
    """The full name of the type in an Avro schema, and its aliases; None if the text is not such a schema.

    The text is not parsed as an Avro schema, since types that it refers to may be in other subjects.
    """
    try:
        return _named(json.loads(text))
    except (ValueError, RecursionError):
        return None, ()


def _named(tree: Any) -> tuple[str | None, tuple[str, ...]]:
    if isinstance(tree, list):
        return f"union of {', '.join(_named(branch)[0] or '?' for branch in tree)}", ()
    if isinstance(tree, str):
        return tree, ()
    if not isinstance(tree, dict):
        return None, ()
    name, aliases = tree.get("name"), tree.get("aliases")
    if not isinstance(name, str):
        return _named(tree.get("type")) if not isinstance(tree.get("type"), list) else (None, ())
    space = tree.get("namespace")
    own = _full(name, space if isinstance(space, str) else "")
    within = own.rpartition(".")[0]
    return own, tuple(_full(alias, within) for alias in (aliases if isinstance(aliases, list) else ()) if alias)


def _full(name: Any, space: str) -> str:
    return f"{space}.{name}" if space and "." not in str(name) else str(name)
