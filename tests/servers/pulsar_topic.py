"""A topic of a real Pulsar, written and read with Pulsar's own Python client."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from pulsar import Client, InitialPosition, Message, MessageId
from pulsar.schema import BytesSchema, Schema
from servers import Pulsar

_PATIENCE_MS = 20_000


class Raw(NamedTuple):
    """A message as stored in the topic."""

    data: bytes
    version: int  # schema version in Pulsar's metadata; -1 if there is none


class PulsarTopic:
    """A new topic of public/default.

    Args:
        server: the Pulsar that has the topic.
        client: a client that is connected to ``server``.
    """

    def __init__(self, server: Pulsar, client: Client) -> None:
        self.name = f"topic-{uuid.uuid4()}"
        self.conf = {"schema.registry.url": server.url}
        self._server, self.client = server, client

    def send(self, schema: Schema, *values: Any) -> None:
        """Send with a producer of that schema."""
        producer = self.client.create_producer(self.name, schema=schema)
        try:
            for value in values:
                producer.send(value)
        finally:
            producer.close()

    def send_raw(self, *values: bytes) -> None:
        """Send bytes unchanged, with a producer without a schema."""
        self.send(BytesSchema(), *values)

    def raw(self) -> list[Raw]:
        """Return all messages so far, read without a schema."""
        reader, found = self.client.create_reader(self.name, MessageId.earliest), []
        try:
            while reader.has_message_available():
                message = reader.read_next(_PATIENCE_MS)
                found.append(Raw(message.data(), version_of(message)))
        finally:
            reader.close()
        return found

    def read(self, schema: Schema, count: int) -> list[Any]:
        """Return the values of the first messages, read by a consumer with that schema; errors in place of values."""
        consumer = self.client.subscribe(
            self.name, str(uuid.uuid4()), schema=schema, initial_position=InitialPosition.Earliest
        )
        try:
            return [_outcome(consumer.receive(_PATIENCE_MS)) for _ in range(count)]
        finally:
            consumer.close()

    def schemas(self) -> list[Any]:
        """Return all schema versions, in their order from 0, as JSON values."""
        return [json.loads(one["data"]) for one in self._versions()]

    def properties(self, version: int) -> dict[str, str]:
        """Return the properties of a schema version."""
        found: dict[str, str] = self._versions()[version]["properties"]
        return found

    def _versions(self) -> list[Any]:
        answer = self._server.admin("GET", f"schemas/public/default/{self.name}/schemas")
        found: list[Any] = answer.json()["getSchemaResponses"]
        assert [one["version"] for one in found] == [*range(len(found))]
        return found

    def register(self, kind: str, text: str, properties: Mapping[str, str] | None = None) -> int:
        """Register a schema of any type."""
        body = {"type": kind, "schema": text, "properties": dict(properties or {})}
        answer = self._server.admin("POST", f"schemas/public/default/{self.name}/schema", json=body)
        assert answer.ok, answer.text
        version: int = answer.json()["version"]["version"]
        return version


def version_of(message: Message) -> int:
    """Return the schema version in a message's metadata, or -1. ``schema_version()`` decodes its bytes as text."""
    version: int = message._message.int_schema_version()
    return version


def _outcome(message: Message) -> Any:
    try:
        return message.value()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
        return error
