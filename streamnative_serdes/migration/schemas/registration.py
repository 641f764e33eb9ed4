"""SchemaCopy: the schemas of Confluent's subject beside those of the Pulsar topic, and their registration there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from streamnative_serdes._broker_rules.rehearsal import Rehearsal
from streamnative_serdes.errors import IncompatibleSchemaError, SchemaError, SchemaRegistryError
from streamnative_serdes.migration.state import State
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient, backups

from .equality import RESUME, joined, key, key_of, name_in
from .originals import Original, Originals, found_names, read_originals
from .strategy import strategy_in_force

_DELETED: Final = (
    "the topic or its schemas were deleted meanwhile: restore the schemas (`schemas restore`), or begin with another "
    "topic and state file"
)


@dataclass(frozen=True, slots=True)
class Copied:
    """A schema and its number in the target.

    Args:
        original: the schema.
        number: the version in Pulsar's registry.
        new: whether this run registered the schema, or would register it.
        refusal: of a preview: why the topic's strategy refuses the schema.
    """

    original: Original
    number: int
    new: bool
    refusal: str | None = None


@dataclass(slots=True)
class SchemaCopy:
    """The schemas to copy, and those that the topic has."""

    state: State
    target: SchemaRegistryClient
    originals: Originals
    there: list[SchemaInfo]

    @property
    def missing(self) -> list[Original]:
        """The schemas to copy that the topic does not have."""
        there = {key_of(info) for info in self.there}
        return [one for one in self.originals.schemas if key(one.text) not in there]

    def in_force(self) -> str:
        """See :func:`strategy_in_force`."""
        there = self.target.all_versions(self.state.route.topic)
        text = there[-1].text if there else self.originals.schemas[0].text
        return strategy_in_force(self.target, self.state.route.topic, text)

    def refuse_others(self, *, add: bool) -> None:
        """Raises SchemaError if there are schemas to copy, and the topic has other schemas."""
        if all(name in self.state.mapping for one in self.originals.schemas for name in one.names):
            return  # producers may have registered more since
        copied, texts = set(self.state.mapping.values()), {key(one.text) for one in self.originals.schemas}
        others = [info for info in self.there if info.version not in copied and key_of(info) not in texts]
        typed = [info for info in self.there if info.type != "AVRO"]
        if others and (typed or not add):
            said = ", ".join(f"version {info.version} ({name_in(info)})" for info in others)
            hint = "copy to another topic" if typed else "--add adds the copies after them; or copy to another topic"
            raise SchemaError(
                f"the topic has schemas that are not in the source: {said}",
                topic=self.state.route.topic.given,
                hint=hint,
            )

    def check(self, there: Sequence[SchemaInfo]) -> None:
        """Raises SchemaError if the topic does not have each copied schema with its number."""
        keys = {info.version: key_of(info) for info in there}
        for one in self.originals.schemas:
            for name in one.names:
                number = self.state.mapping.get(name)
                if number is not None and keys.get(number) != key(one.text):
                    raise SchemaError(
                        f"schema {name} was copied as version {number}, but the topic has "
                        f"{'another schema' if number in keys else 'none'} with this number",
                        topic=self.state.route.topic.given,
                        hint=_DELETED,
                    )

    def back_up(self) -> str | None:
        """Save the topic's schemas, if not copied by this migration; the name of the backup is in the state file."""
        if set(self.state.mapping.values()).issuperset(info.version for info in self.there):
            return None
        topic = self.state.route.topic
        path = self.state.path.parent / backups.name_for(topic)
        backups.write(path, self.state.route.pulsar.url, backups.take(self.target, [topic]))
        self.state.backups.append(str(path))
        self.state.save()
        return str(path)

    def register(self) -> Iterator[Copied]:
        """Register all schemas that are not in the mapping yet, and save the mapping after each."""
        mapping, known = self.state.mapping, {info.version for info in self.there}
        for one in self.originals.schemas:
            if not all(name in mapping for name in one.names):
                number = self._register(one)
                self.state.map(one.names, number, one.text)
                self.state.save()
            number = mapping[one.names[0]]
            yield Copied(one, number, number not in known)
            known.add(number)

    def _register(self, one: Original) -> int:
        try:
            return self.target.register(self.state.route.topic, one.text)
        except SchemaRegistryError as error:
            error.message = f"{one.origin}: {error.message}"
            widen = "--dry-run lists all that are refused, and --widen lets them in"
            error.hint = widen if isinstance(error, IncompatibleSchemaError) else joined(error.hint, RESUME)
            raise

    def rehearse(self, strategy: str) -> Iterator[Copied]:
        """As :meth:`register`, but only in this process, without the registry."""
        rehearsal = Rehearsal(strategy, self.there)
        for one in self.originals.schemas:
            found = rehearsal.register(one.text)
            yield Copied(one, found.number, found.new, found.refusal)

    def out_of_order(self, schemas: Sequence[Copied]) -> int | None:
        """The version of the subject's latest schema, if this version is not the topic's latest."""
        number = next((one.number for one in schemas if self.originals.latest in one.original.names), None)
        numbers = [*(one.number for one in schemas), *(info.version for info in self.there)]
        return number if number is not None and number < max(numbers) else None


@contextmanager
def schema_copy(state: State, ids: Sequence[int], *, add: bool) -> Iterator[SchemaCopy]:
    """Read both sides, and refuse schemas that cannot be copied; changes nothing."""
    route = state.route
    found = found_names(state.findings)
    with route.confluent_registry() as source, route.pulsar_registry() as target:
        originals = read_originals(source, route.subject, found, ids)
        work = SchemaCopy(state, target, originals, target.all_versions(route.topic))
        work.check(work.there)
        work.refuse_others(add=add)
        yield work
