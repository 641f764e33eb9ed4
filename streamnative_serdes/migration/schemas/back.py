"""The schemas of a topic on the way back: the id in Confluent's registry for each of Pulsar's versions.

The ids of the migration forward are used again, so that messages get their old bytes. Other versions are registered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from streamnative_serdes import _files as files
from streamnative_serdes._broker_rules.compatibility import DIRECTIONS
from streamnative_serdes._broker_rules.rehearsal import Rehearsal
from streamnative_serdes.errors import (
    FileError,
    IncompatibleSchemaError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes.migration.route import Route
from streamnative_serdes.migration.state import KIND, State
from streamnative_serdes.schema_registry import ConfluentRegistryClient, SchemaInfo

from .originals import RESUME, history, joined, key, name_in

_FORWARD: Final = "forward: "
_LEVEL: Final = "set the subject's compatibility level to NONE meanwhile, or register it by hand"


@dataclass(frozen=True, slots=True)
class Returned:
    """A version of the Pulsar topic and its id.

    Args:
        version: in Pulsar's registry.
        name: the record's full name, for people.
        id: in Confluent's registry; None in a preview, if the registry will assign an id.
        origin: ``forward`` if the id is from the migration forward, ``known`` if the subject has the schema,
            ``new`` if this run registered the schema, or would.
        refusal: of a preview: why the subject's compatibility level refuses the schema.
    """

    version: int
    name: str
    id: int | None
    origin: str
    refusal: str | None = None


@dataclass(slots=True)
class BackReport:
    """The result of :func:`copy_schemas_back`, or the result that :func:`preview_schemas_back` expects.

    Args:
        schemas: by version.
        level: of a preview: the compatibility level of the subject in which schemas are registered.
    """

    schemas: list[Returned] = field(default_factory=list)
    level: str | None = None

    @property
    def refused(self) -> bool:
        """Whether a schema would be refused."""
        return any(one.refusal is not None for one in self.schemas)


def copy_schemas_back(state: State, *, ids_of: Path | None) -> BackReport:
    """Find or register an id for every version of the Pulsar topic, and save each in ``state``.

    Args:
        state: of a migration ``back``.
        ids_of: the state file of the migration forward, whose ids are used again; None to register all versions.

    Raises:
        SchemaError: a version is not of type AVRO, or an id has another schema now; nothing was registered.
        IncompatibleSchemaError: the subject's compatibility level refuses a schema.
        FileError: a state file cannot be used.
        SchemaRegistryError: a registry refuses; running again continues.
    """
    state.save()  # a file that cannot be written is an error before anything is registered
    with _work(state, ids_of) as work:
        return BackReport(list(work.register()))


def preview_schemas_back(state: State, *, ids_of: Path | None) -> BackReport:
    """The result that :func:`copy_schemas_back` would have; same arguments and errors. Writes nothing."""
    with _work(state, ids_of) as work:
        level = work.registry.compatibility(state.route.subject)
        return BackReport(list(work.rehearse(level)), level)


def forward_state(path: Path, route: Route) -> State:
    source = files.load(path, KIND).source
    end = f" of {route.confluent.url} -> {route.source} of {route.pulsar.url}"
    if not source.startswith(_FORWARD) or not source.endswith(end):
        raise FileError(
            f"{path} is of another migration: {source}", hint=f"the ids must be of one to {route.source}: ...{end}"
        )
    topic = source.removeprefix(_FORWARD).removesuffix(end)
    return State.load(path, Route("forward", topic, route.source, route.confluent, route.pulsar))


@dataclass(slots=True)
class _Work:
    state: State
    registry: ConfluentRegistryClient
    versions: list[SchemaInfo]
    given: Mapping[int, int]

    def check(self) -> None:
        others = [f"version {info.version} is of type {info.type}" for info in self.versions if info.type != "AVRO"]
        if others:
            raise SchemaError(f"only AVRO can be copied, and {', '.join(others)}", topic=self.state.route.topic.given)
        for info in self.versions:
            number = self._known(info)
            if number is not None:
                self._check_id(info, number)

    def _check_id(self, info: SchemaInfo, number: int) -> None:
        hint = "--new-ids registers all versions, whatever their ids were; it needs a new state file"
        try:
            text = self.registry.schema(number)
        except SchemaNotFoundError as error:
            error.hint = hint
            raise error.at(version=info.version) from None
        if key(text) != key(info.text):
            raise SchemaError(f"id {number} is not the schema of this version", version=info.version, hint=hint)

    def register(self) -> Iterator[Returned]:
        for info in self.versions:
            found = self._found(info)
            number = found.id
            if number is None:
                number = self._register(info)
            if self.state.mapping.get(info.version) != number:
                self.state.map([info.version], number, info.text)
                self.state.save()
            yield Returned(info.version, found.name, number, found.origin)

    def rehearse(self, level: str) -> Iterator[Returned]:
        """As :meth:`register`, but without registering."""
        strategy = level if level in DIRECTIONS else "ALWAYS_COMPATIBLE"  # NONE
        there = history(self.registry, self.state.route.subject) or ()
        infos = [SchemaInfo(number, "AVRO", self.registry.self_contained(schema)) for number, schema in there]
        rehearsal = Rehearsal(strategy, infos)
        for info in self.versions:
            found = self._found(info)
            refusal = rehearsal.register(info.text).refusal if found.id is None else None
            yield Returned(info.version, found.name, found.id, found.origin, refusal)

    def _known(self, info: SchemaInfo) -> int | None:
        return self.state.mapping.get(info.version, self.given.get(info.version))

    def _found(self, info: SchemaInfo) -> Returned:
        number, origin = self._known(info), "forward" if info.version in self.given else "known"
        if number is None:
            try:
                number, _ = self.registry.lookup(self.state.route.subject, info.text)
            except SchemaNotFoundError:
                origin = "new"
        return Returned(info.version, name_in(info), number, origin)

    def _register(self, info: SchemaInfo) -> int:
        try:
            return self.registry.register(self.state.route.subject, info.text)
        except SchemaRegistryError as error:
            error.hint = _LEVEL if isinstance(error, IncompatibleSchemaError) else joined(error.hint, RESUME)
            raise error.at(topic=self.state.route.topic.given, version=info.version) from None


@contextmanager
def _work(state: State, ids_of: Path | None) -> Iterator[_Work]:
    """Read both sides, and refuse schemas that cannot be copied; changes nothing."""
    route = state.route
    with route.confluent_registry() as registry, route.pulsar_registry() as pulsar:
        assert isinstance(registry, ConfluentRegistryClient)  # the way back has no other framings
        versions = pulsar.all_versions(route.topic)
        if not versions:
            raise SchemaError("the topic has no schemas", topic=route.topic.given, hint="is this the right topic?")
        given = _ids(registry, forward_state(ids_of, route)) if ids_of is not None else {}
        work = _Work(state, registry, versions, given)
        work.check()
        yield work


def _ids(registry: ConfluentRegistryClient, forward: State) -> dict[int, int]:
    """The id for each version: if several, the latest in the forward migration's subject, otherwise the highest."""
    by_version: dict[int, list[int]] = {}
    for name, version in forward.mapping.items():
        if isinstance(name, int):
            by_version.setdefault(version, []).append(name)
    several = any(len(ids) > 1 for ids in by_version.values())
    subject = (history(registry, forward.route.subject) if several else None) or ()
    order = {schema.id: number for number, schema in subject}
    return {version: max(ids, key=lambda id_: (order.get(id_, 0), id_)) for version, ids in by_version.items()}
