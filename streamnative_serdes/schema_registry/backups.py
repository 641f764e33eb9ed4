"""Backups of schemas: all versions of some topics in a file, and restoring them with their old numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from streamnative_serdes._files import Document, load, save
from streamnative_serdes.errors import FileError, SchemaError, SchemaRegistryError

from .client import SchemaRegistryClient
from .pulsar_api import SchemaInfo
from .topic_name import TopicName, topic_names

KIND: Final = "schema backup"
_MOST_ROUNDS: Final = 3  # to reach a version number; each lost response may cost a round


@dataclass(frozen=True, slots=True)
class Saved:
    """The schemas of a topic in a backup, oldest first."""

    topic: TopicName
    schemas: tuple[SchemaInfo, ...]

    @property
    def numbers(self) -> str:
        """The numbers as text, such as "versions 2 to 5"."""
        first, last = self.schemas[0].version, self.schemas[-1].version
        return f"version {first}" if first == last else f"versions {first} to {last}"


def name_for(topic: TopicName) -> Path:
    """A name for a backup of this topic, made now, in the current folder."""
    safe = "".join(char if char.isalnum() or char in "-_." else "_" for char in topic.path.replace("/", "."))
    return Path(f"{safe[:150]}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.schemas.json")


def take(client: SchemaRegistryClient, topics: Iterable[TopicName]) -> list[Saved]:
    """Read all schemas of the topics; topics without schemas are left out.

    Raises:
        SchemaRegistryError: the registry refuses.
    """
    found = ((topic, tuple(client.all_versions(topic))) for topic in topics)
    return [Saved(topic, schemas) for topic, schemas in found if schemas]


def write(path: Path, registry: str, backup: Sequence[Saved]) -> None:
    """Write a backup of schemas from ``registry`` to a new file.

    Raises:
        FileError: the file cannot be written, or exists.
    """
    body = [{"topic": str(saved.topic), "schemas": [as_tree(info) for info in saved.schemas]} for saved in backup]
    save(path, Document(KIND, registry, body), overwrite=False)


def read(path: Path, registry: str | None) -> list[Saved]:
    """Read a backup of schemas from ``registry``; None for any registry.

    Raises:
        FileError: the file cannot be read, is damaged, or is of another registry.
    """
    document = load(path, KIND)
    if registry is not None and document.source != registry:
        raise FileError(
            f"{path} is a backup of the registry {document.source}, and this one is {registry}",
            hint="--other-registry accepts it",
        )
    try:
        topics = topic_names([entry["topic"] for entry in document.body])
        found = [tuple(SchemaInfo(**tree) for tree in entry["schemas"]) for entry in document.body]
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path} is not a backup of schemas: {error}") from error
    return [Saved(topic, schemas) for topic, schemas in zip(topics, found, strict=True) if schemas]


def as_tree(info: SchemaInfo) -> dict[str, Any]:
    """A schema as JSON, in backups and in output."""
    return {
        "version": info.version,
        "type": info.type,
        "text": info.text,
        "timestamp": info.timestamp,
        "properties": dict(info.properties),
    }


@dataclass(slots=True)
class Restoration:
    """Gives the schemas of a backup to a topic without schemas, each with its old number.

    Pulsar counts versions by topic and never goes back: a deletion of all schemas takes a number, and so does each
    registration. So deletions bring the count to the first old number. If the count is beyond this number, a forced
    deletion first sets the count to 0. Then the schemas are registered in order.

    If a former run was killed, the topic has the first of the schemas, and the others are added.
    """

    client: SchemaRegistryClient
    topic: TopicName
    schemas: tuple[SchemaInfo, ...]
    _count: int | None = field(default=None, init=False)  # the topic's next number before anything was done, if known
    _changed: bool = field(default=False, init=False)
    _begun: int = field(default=0, init=False)  # schemas that were there before

    def look(self) -> int:
        """The number of schemas that the topic has already, with the right numbers. Changes nothing.

        Raises:
            SchemaError: the topic has other schemas.
        """
        there = self.client.all_versions(self.topic)
        if not _begins_with(self.schemas, there):
            numbers = ", ".join(str(info.version) for info in there)
            raise SchemaError(
                f"the topic has schemas that are not those of the backup (versions {numbers})",
                topic=self.topic.given,
                hint="schemas are restored only where there are no others: delete them first",
            )
        self._begun = len(there)
        return self._begun

    def run(self) -> None:
        """Restore the schemas, and read all of them back. After an error, call :meth:`undo`.

        Raises:
            SerdesError: the registry refuses, or another client registers schemas meanwhile.
        """
        self.look()
        if not self._begun:
            self._advance(self.schemas[0].version)
        for info in self.schemas[self._begun :]:
            self._register(info)
        there = self.client.all_versions(self.topic)
        if len(there) != len(self.schemas) or not _begins_with(self.schemas, there):
            raise self._disturbed("what was read back is not what was registered")

    def undo(self) -> str | None:
        """Bring the topic back to its state before.

        Returns:
            a description of schemas that stay, if a former run had begun: they cannot be told from earlier schemas.

        Raises:
            SerdesError: the registry refuses.
        """
        if self._changed and self._begun:
            return f"topic {self.topic} keeps what was restored, since a former run had begun to"
        if not self._changed:
            return None
        there = self.client.all_versions(self.topic)
        if self._count is None and not there:
            return None
        self._count = there[0].version if self._count is None else self._count
        self._start_at_zero()
        for _ in range(self._count):
            self.client.delete(self.topic)
        return None

    def _advance(self, first: int) -> None:
        """Let the topic's next number be ``first``."""
        if first == 0:  # probably it is: a deletion, to find out, would take the number
            return
        for _ in range(_MOST_ROUNDS):
            following = self._take_number() + 1
            if following > first:
                self._start_at_zero()
                following = 0
            while following < first:
                following = self._take_number() + 1
            if following == first:
                return
        raise self._disturbed(f"its numbers cannot be brought to {first}")

    def _take_number(self) -> int:
        self._changed = True
        taken = self.client.delete(self.topic)
        if taken is None:
            raise self._disturbed("the registry does not say which number a deletion took")
        self._count = taken if self._count is None else self._count
        return taken

    def _register(self, info: SchemaInfo) -> None:
        number = self._post(info)
        if number > 0 and info is self.schemas[0] and info.version == 0:  # deletions have taken numbers before
            self._count = number
            self._start_at_zero()
            number = self._post(info)
        if number != info.version:
            raise self._disturbed(f"version {info.version} was registered with number {number}")

    def _post(self, info: SchemaInfo) -> int:
        self._changed = True
        try:
            return self.client.register(self.topic, info.text, type=info.type, properties=info.properties)
        except SchemaRegistryError as error:
            error.at(version=info.version)  # of the backup
            raise

    def _start_at_zero(self) -> None:
        """Set the count to 0 by a forced deletion. Raises SchemaError if the topic has schemas that are not ours."""
        there = self.client.all_versions(self.topic)
        if any(not any(_same_schema(info, known) for known in self.schemas) for info in there):
            raise self._disturbed("it has other schemas now, which are not deleted")
        self.client.delete(self.topic, force=True)

    def _disturbed(self, what: str) -> SchemaError:
        hint = "another client seems to register schemas at the same time: stop it, and run this again"
        return SchemaError(f"the topic cannot be restored: {what}", topic=self.topic.given, hint=hint)


def _begins_with(schemas: Sequence[SchemaInfo], there: Sequence[SchemaInfo]) -> bool:
    if len(there) > len(schemas):
        return False
    return all(
        one.version == other.version and _same_schema(one, other) for one, other in zip(schemas, there, strict=False)
    )


def _same_schema(one: SchemaInfo, other: SchemaInfo) -> bool:
    """Whether type, text and properties are equal; Pulsar changes the layout of some types' text."""
    if (one.type, dict(one.properties)) != (other.type, dict(other.properties)):
        return False
    return one.text == other.text or _tree(one.text) == _tree(other.text)


def _tree(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
