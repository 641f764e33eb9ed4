"""The schemas of the source by their names in messages, each looked up once in the source's registry."""

from __future__ import annotations

from typing import Final

from streamnative_serdes._config import schema_limits
from streamnative_serdes._schema import Schema, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import SchemaError, SchemaNotFoundError
from streamnative_serdes.migration.framing import BadMessageError, Name
from streamnative_serdes.migration.route import Route
from streamnative_serdes.schema_registry import ConfluentRegistryClient, SchemaRegistryClient

_MOST_UNKNOWN: Final = 10_000  # names that the registry does not have


class NamedSchemas:
    """Looks up the schemas that messages of the source name; use it as a context manager.

    Args:
        route: the migration.

    Raises:
        ConfigError: the options of the source's registry are not valid.
    """

    def __init__(self, route: Route) -> None:
        self._topic, options = route.topic, route.reading.options()
        self._limits = schema_limits(options)
        self._confluent = ConfluentRegistryClient(options) if route.direction == "forward" else None
        self._pulsar = SchemaRegistryClient(options) if self._confluent is None else None
        self._found: dict[Name, Schema] = {}
        self._codecs: dict[Name, Codec] = {}
        self._bytes: dict[Name, bool] = {}
        self._unknown: set[Name] = set()

    def __enter__(self) -> NamedSchemas:
        return self

    def __exit__(self, *_: object) -> None:
        for client in (self._confluent, self._pulsar):
            if client is not None:
                client.close()

    def known(self, name: Name) -> bool:
        """Whether the registry has this schema.

        Raises:
            SchemaError: the schema is not an Avro schema.
            SchemaRegistryError: the registry refuses.
        """
        return self._schema(name) is not None

    def is_bytes(self, name: Name) -> bool:
        """Whether the root of this schema is ``bytes``; False for a schema that is not Avro.

        Raises:
            BadMessageError: the registry does not have the schema.
            SchemaRegistryError: the registry refuses.
        """
        found = self._bytes.get(name)
        if found is None:
            try:
                schema = self._schema(name)
            except SchemaError:
                found = False
            else:
                if schema is None:
                    raise BadMessageError(f"the source's registry has no schema {name}, which the key names")
                found = schema.root.kind == "bytes"
            self._bytes[name] = found
        return found

    def codec(self, name: Name) -> Codec:
        """A codec of this schema.

        Raises:
            SchemaNotFoundError: the registry does not have the schema.
            SchemaError: the schema is not an Avro schema.
            SchemaRegistryError: the registry refuses.
        """
        codec = self._codecs.get(name)
        if codec is None:
            schema = self._schema(name)
            if schema is None:
                raise SchemaNotFoundError(f"the source's registry has no schema {name}")
            codec = self._codecs[name] = Codec(schema)
        return codec

    def _schema(self, name: Name) -> Schema | None:
        found = self._found.get(name)
        if found is not None or name in self._unknown:
            return found
        try:
            text = self._text(name)
        except SchemaNotFoundError:
            if len(self._unknown) >= _MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown.add(name)
            return None
        schema = parse(text, strict=False, limits=self._limits)
        found = self._found[name] = schema if self._confluent is None else schema.in_confluents_framing()
        return found

    def _text(self, name: Name) -> str:
        if self._confluent is not None:
            found = self._confluent.by_guid(name) if isinstance(name, str) else self._confluent.by_id(name)
            return self._confluent.self_contained(found)
        assert self._pulsar is not None
        assert isinstance(name, int)
        info = self._pulsar.by_version(self._topic, name)
        if info.type != "AVRO":
            raise SchemaError(f"expected a schema of type AVRO, got type {info.type}", version=name)
        return info.text
