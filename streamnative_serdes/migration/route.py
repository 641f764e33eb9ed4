"""The route of a migration: servers and topics of both sides."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from typing import Any

from streamnative_serdes import _config as config
from streamnative_serdes._rewriting import Direction, Name, Rewriter
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.schema_registry import ConfluentRegistryClient, SchemaRegistryClient, TopicName

from .foreign import ForeignFramings, SourceRegistry

_URL = "schema.registry.url"


@dataclass(frozen=True, slots=True)
class Side:
    """The servers of one side.

    Args:
        kafka: options of confluent-kafka's clients.
        registry: options of registry clients, by the names of docs/config.md, not yet checked. With ``framings``, those
            of a deserializer, the source is in these framings (:class:`ForeignFramings`).
    """

    kafka: Mapping[str, Any] = field(repr=False)  # may contain passwords
    registry: Mapping[str, Any] = field(repr=False)

    @property
    def url(self) -> str:
        """The registry's address.

        Raises:
            ConfigError: the address is missing.
        """
        if not self.registry.get(_URL):
            raise ConfigError(f"the registry's address is missing: {_URL}")
        return ",".join(url.strip().rstrip("/") for url in str(self.registry[_URL]).split(","))

    def options(self) -> dict[str, Any]:
        """The registry's options, checked.

        Raises:
            ConfigError: an option is not valid, the address is missing, or the Kafka user belongs to another tenant.
        """
        given = config.chosen(config.REGISTRY_OPTIONS, self.kafka, {**self.registry, _URL: self.url})
        return config.parse(config.REGISTRY_OPTIONS, given, strict=True)


@dataclass(frozen=True, slots=True)
class Route:
    """The direction, topics and servers of a migration.

    Args:
        direction: ``forward`` from Confluent's framing to SNIP 42, ``back`` the other way round.
        source: the topic that is read, by its name for Kafka clients.
        target: the topic that is written.
        confluent: the side with Confluent's registry: read if ``forward``, written if ``back``.
        pulsar: the side with Pulsar's registry.
    """

    direction: Direction
    source: str
    target: str
    confluent: Side
    pulsar: Side

    @property
    def reading(self) -> Side:
        """The side of ``source``."""
        return self.confluent if self.direction == "forward" else self.pulsar

    @property
    def writing(self) -> Side:
        """The side of ``target``."""
        return self.pulsar if self.direction == "forward" else self.confluent

    @property
    def subject(self) -> str:
        """The subject of values in Confluent's registry (its TopicNameStrategy)."""
        return f"{self.source if self.direction == 'forward' else self.target}-value"

    @property
    def topic(self) -> TopicName:
        """The topic on Pulsar's side, with its tenant and namespace. Raises ConfigError if their options are bad."""
        return self._full(self.target if self.direction == "forward" else self.source)

    @property
    def has_one_name(self) -> bool:
        """Whether source and target have the same name, which may be written with tenant and namespace."""
        return self.source == self.target or self._full(self.source) == self._full(self.target)

    def _full(self, name: str) -> TopicName:
        table = {option.key: option.default for option in config.REGISTRY_OPTIONS}
        names = ("pulsar.tenant", "pulsar.namespace")
        tenant, namespace = (str(self.pulsar.registry.get(name, table.get(name, ""))) for name in names)
        return TopicName.parse(name, tenant, namespace)

    @property
    def identity(self) -> str:
        """The text that identifies this migration in files."""
        sides = (f"{self.source} of {self.reading.url}", f"{self.target} of {self.writing.url}")
        return f"{self.direction}: {' -> '.join(sides)}"

    @property
    def framings(self) -> ForeignFramings | None:
        """The framings of the source, if they are not Confluent's. Raises ConfigError if its options are not valid."""
        if self.confluent.registry.get("framings") is None:
            return None
        if self.direction == "back":
            raise ConfigError("the way back leads to Confluent's framing alone", hint="leave out framings")
        return ForeignFramings(self.confluent.registry)

    def rewriter(self, mapping: Mapping[Name, int], bytes_roots: Collection[Name] = frozenset()) -> Rewriter:
        """The rewriter of values of this direction."""
        return Rewriter(self.direction, mapping, bytes_roots, self.framings)

    def confluent_registry(self) -> AbstractContextManager[SourceRegistry]:
        """A client of the registry that is not Pulsar's. Raises ConfigError if its options are not valid."""
        framings = self.framings
        if framings is not None:
            return closing(framings.registry())
        return closing(ConfluentRegistryClient(self.confluent.options()))

    def pulsar_registry(self) -> AbstractContextManager[SchemaRegistryClient]:
        """A client of Pulsar's registry. Raises ConfigError if its options are not valid."""
        return closing(SchemaRegistryClient(self.pulsar.options()))
