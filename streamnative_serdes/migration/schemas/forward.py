"""Copying the schemas of a topic from Confluent's registry to Pulsar's: each schema becomes a version.

Each registration is saved to the state file before the next one begins, so the next run completes a killed run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Final

from streamnative_serdes._broker_rules.rehearsal import Rehearsal
from streamnative_serdes._rewriting import Name
from streamnative_serdes.errors import AuthorizationError, IncompatibleSchemaError, SchemaError, SchemaRegistryError
from streamnative_serdes.migration.state import State
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient, backups

from .originals import RESUME, Original, Originals, found_names, joined, key, key_of, name_in, read_originals
from .strategy import Restored, Scope, Widening, restore_strategies, strategy_in_force, widened, widening

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
    state: State
    target: SchemaRegistryClient
    originals: Originals
    there: list[SchemaInfo]

    @property
    def missing(self) -> list[Original]:
        there = {key_of(info) for info in self.there}
        return [one for one in self.originals.schemas if key(one.text) not in there]

    def in_force(self) -> str:
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


@dataclass(slots=True)
class SchemaReport:
    """The result of :func:`copy_schemas`, or the result that :func:`preview_schemas` expects.

    Args:
        schemas: in the order in which they are registered.
        unknown: names that ``migrate plan`` found in messages, but that Confluent's registry does not know.
        restored: strategies that an earlier run had widened and not put back.
        strategy: the strategy by which Pulsar checks the topic's schemas; None if Pulsar was not asked.
        widening: the strategy that was widened meanwhile, or would be.
        backup: the file with the topic's earlier schemas, if there were others and a schema was registered.
        out_of_order: the version of the subject's latest schema, if the topic has a later version.
    """

    schemas: list[Copied] = field(default_factory=list)
    unknown: list[Name] = field(default_factory=list)
    restored: list[Restored] = field(default_factory=list)
    strategy: str | None = None
    widening: Widening | None = None
    backup: str | None = None
    out_of_order: int | None = None

    @property
    def refused(self) -> bool:
        """Whether a schema would be refused, by a strategy that is not to be widened."""
        return self.widening is None and any(one.refusal is not None for one in self.schemas)


def copy_schemas(
    state: State,
    *,
    ids: Sequence[int] = (),
    add: bool = False,
    widen: Scope | None = None,
    on_widening: Callable[[Widening], None] = lambda _: None,
) -> SchemaReport:
    """Register the schemas of the source's messages for the target, and save the version of each in ``state``.

    These are all versions of the source's subject, and the other schemas that ``migrate plan`` found. A second run
    registers nothing new. A strategy that a killed run had widened is put back first.

    Args:
        state: of a migration ``forward``.
        ids: more schemas, by id.
        add: accept that the topic holds other schemas too.
        widen: whose compatibility strategy becomes ALWAYS_COMPATIBLE meanwhile.
        on_widening: called before a strategy is widened.

    Raises:
        SchemaError: a schema cannot be copied, or the topic holds other schemas; nothing was registered.
        IncompatibleSchemaError: the topic's strategy refuses a schema.
        FileError: the state file or the backup cannot be written.
        SchemaRegistryError: a registry refuses; running again continues.
    """
    state.save()  # a file that cannot be written is an error before anything is registered
    restored = put_back_strategies(state) if state.widened else []
    with schema_copy(state, ids, add=add) as work:
        report = SchemaReport(unknown=work.originals.unknown, restored=restored)
        if work.missing:
            report.backup = work.back_up()
            if widen is not None:
                report.strategy = work.in_force()
                report.widening = widening(work.target, state.route.topic, widen, report.strategy)
        with _wide(work, report.widening, on_widening) as put_back:
            report.schemas = list(work.register())
        report.restored += put_back
        work.check(work.target.all_versions(state.route.topic))
        report.out_of_order = work.out_of_order(report.schemas)
    return report


def preview_schemas(
    state: State, *, ids: Sequence[int] = (), add: bool = False, widen: Scope | None = None, strategy: str | None = None
) -> SchemaReport:
    """The result that :func:`copy_schemas` would have, with the strategy's refusals. Writes nothing.

    Args:
        state: as in :func:`copy_schemas`, and so are ``ids``, ``add`` and ``widen``.
        ids: more schemas, by id.
        add: accept other schemas.
        widen: whose strategy would be widened.
        strategy: the strategy to check by; None asks Pulsar for the topic's strategy, which requires an admin.

    Raises:
        SchemaError, SchemaRegistryError: as in :func:`copy_schemas`.
    """
    with schema_copy(state, ids, add=add) as work:
        report = SchemaReport(unknown=work.originals.unknown)
        left = state.widened[0].in_force if state.widened else None  # what will be in force again
        report.strategy = strategy or left or _asked(work)
        if widen is not None and work.missing:
            report.widening = widening(work.target, state.route.topic, widen, report.strategy)
        if report.widening is not None and state.widened:  # that is put back first
            report.widening = replace(report.widening, entry=state.widened[0])
        report.schemas = list(work.rehearse(report.strategy))
        report.out_of_order = work.out_of_order(report.schemas)
    return report


def put_back_strategies(state: State) -> list[Restored]:
    """Put back the strategies that a killed run had widened, and do nothing else.

    Raises:
        SchemaRegistryError: the registry refuses; strategies not put back stay in the state file.
        FileError: the state file cannot be written.
    """
    with state.route.pulsar_registry() as client:
        return restore_strategies(client, state)


def _wide(
    work: SchemaCopy, change: Widening | None, on_widening: Callable[[Widening], None]
) -> AbstractContextManager[list[Restored]]:
    if change is None:
        return nullcontext([])
    on_widening(change)
    return widened(work.target, work.state, change, work.in_force)


def _asked(work: SchemaCopy) -> str:
    try:
        return work.in_force()
    except AuthorizationError as error:
        error.hint = joined(error.hint, "--strategy NAME checks by that strategy, without asking Pulsar for it")
        raise
