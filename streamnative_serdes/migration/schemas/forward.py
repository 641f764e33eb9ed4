"""Copying the schemas of a topic from Confluent's registry to Pulsar's: each schema becomes a version.

Each registration is saved to the state file before the next one begins, so the next run completes a killed run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from streamnative_serdes.errors import AuthorizationError
from streamnative_serdes.migration.framing import Name
from streamnative_serdes.migration.state import State

from .equality import joined
from .registration import Copied, SchemaCopy, schema_copy
from .strategy import Restored, Scope, Widening, restore_strategies, widened, widening


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
    state: State,
    *,
    ids: Sequence[int] = (),
    add: bool = False,
    widen: Scope | None = None,
    strategy: str | None = None,
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
