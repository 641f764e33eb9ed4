"""The schemas that the messages of one side name; that side's registry is asked for each schema once."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from streamnative_serdes._schema import name_of, parse
from streamnative_serdes.errors import DecodeError, SchemaError, SchemaNotFoundError
from streamnative_serdes.migration.framing import Name
from streamnative_serdes.schema_registry import ConfluentRegistryClient, SchemaRegistryClient, TopicName

from .canonical import FINGERPRINT, CanonicalForm
from .digests import Value

_MOST_MISSING: Final = 10_000  # corrupt messages may name any number of schemas that do not exist


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """A schema of a registry.

    Args:
        name: the schema's name in messages.
        fingerprint: equal for schemas that Pulsar's registry treats as the same.
        form: of the schema's data; None if the schema is not valid Avro.
        fault: why the schema is not valid.
    """

    name: Name
    fingerprint: bytes
    form: CanonicalForm | None
    fault: str | None = None

    def __str__(self) -> str:
        return f"schema {self.name} ({self.title})"

    @property
    def title(self) -> str:
        """The name of the schema's type, or the schema's fault."""
        return self.fault or "" if self.form is None else name_of(self.form.schema.root)

    def check(self, datum: bytes) -> None:
        """Decode a datum as consumers do. Raises DecodeError, and SchemaError if the schema is not valid."""
        if self.form is None:
            raise SchemaError(f"schema {self.name}: {self.fault}")
        self.form.check(datum)

    def shown(self, value: Value) -> str:
        """A value of this schema for people."""
        return self.form.shown(value.data) if self.form is not None and value.decoded else value.data.hex(" ")

    def value(self, datum: bytes) -> Value:
        """The value of a message with this schema."""
        if self.form is not None:
            try:
                return Value(self.fingerprint, self.form.of(datum), True)
            except DecodeError:
                pass  # what cannot be decoded is compared as bytes, and counted
        return Value(self.fingerprint, datum, False)


class SideSchemas:
    """The schemas of one side.

    Args:
        fetch: asks the registry for the schema with a name, and returns type and text. It raises
            SchemaNotFoundError if there is no such schema, and SchemaError if the text cannot be put together.
        confluent: whether messages have Confluent's framing.
    """

    def __init__(self, fetch: Callable[[Name], tuple[str, str]], *, confluent: bool = False) -> None:
        self._fetch, self._confluents = fetch, confluent
        self._known: dict[Name, KnownSchema] = {}
        self._missing: dict[Name, SchemaNotFoundError] = {}

    def of(self, name: Name) -> KnownSchema:
        """The schema that messages call ``name``.

        Raises:
            SchemaNotFoundError: the registry does not have it.
            SchemaRegistryError: the registry cannot be asked.
        """
        found = self._known.get(name)
        if found is not None:
            return found
        if name in self._missing:
            raise copy(self._missing[name])
        try:
            found = self._known[name] = self._ask(name)
        except SchemaNotFoundError as error:
            if len(self._missing) >= _MOST_MISSING:
                self._missing.clear()
            self._missing[name] = error.with_traceback(None)
            raise
        return found

    def _ask(self, name: Name) -> KnownSchema:
        try:
            kind, text = self._fetch(name)
        except SchemaError as error:
            return _unreadable(name, f"{name} {error.message}", str(error))
        if kind != "AVRO":
            return _unreadable(name, f"{kind} {text}", f"expected a schema of type AVRO, got type {kind}")
        try:
            schema = parse(text, strict=False)
            form = CanonicalForm(schema.in_confluents_framing() if self._confluents else schema)
        except SchemaError as error:
            return _unreadable(name, text, str(error))
        return KnownSchema(name, form.fingerprint, form)


def _unreadable(name: Name, text: str, fault: str) -> KnownSchema:
    return KnownSchema(name, blake2b(text.encode(), digest_size=FINGERPRINT).digest(), None, fault)


def of_confluent(registry: ConfluentRegistryClient) -> SideSchemas:
    """The schemas of Confluent's side, by id or GUID."""

    def fetch(name: Name) -> tuple[str, str]:
        found = registry.by_id(name) if isinstance(name, int) else registry.by_guid(name)
        if found.schema_type != "AVRO":
            return found.schema_type, found.schema_str
        try:
            return found.schema_type, registry.self_contained(found)
        except SchemaNotFoundError as error:  # of a schema that it refers to
            raise SchemaError(f"schema {name} refers to one that does not exist: {error.message}") from error

    return SideSchemas(fetch, confluent=True)


def of_pulsar(registry: SchemaRegistryClient, topic: TopicName) -> SideSchemas:
    """The schemas of a topic of Pulsar's side, by version."""

    def fetch(name: Name) -> tuple[str, str]:
        assert isinstance(name, int)
        found = registry.by_version(topic, name)
        return found.type, found.text

    return SideSchemas(fetch)
