"""Checks of the target's registry: its API, the topic's schemas, and the new versions that it will refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from streamnative_serdes._broker_rules.rehearsal import Rehearsal
from streamnative_serdes.errors import AuthorizationError, SchemaError, SchemaNotFoundError, SchemaRegistryError
from streamnative_serdes.migration.route import Route
from streamnative_serdes.migration.schemas.equality import key, key_of
from streamnative_serdes.migration.schemas.originals import Original, found_names, read_originals
from streamnative_serdes.migration.schemas.strategy import strategy_in_force
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient

from .findings import Tree
from .problems import Problem

DEFAULT: Final = "FULL"  # Pulsar's strategy where nobody has set one
# What is refused by a strategy or level, by its first word: a new version that removes, or adds, a field without a
# default.
_NO_REMOVAL, _NO_ADDITION = ("FULL", "FORWARD"), ("FULL", "BACKWARD")
There: TypeAlias = Sequence[SchemaInfo]


def there_now(route: Route) -> There:
    """The schemas that the target's topic has in Pulsar's registry; on the way back, no schemas are looked up.

    Raises:
        SchemaRegistryError: the registry refuses, does not answer, or has another API.
    """
    try:
        if route.direction == "forward":
            with route.pulsar_registry() as pulsar:
                return pulsar.all_versions(route.topic) or _of_existing(pulsar, route)
        with route.confluent_registry() as confluent:
            confluent.subjects()
        return ()
    except SchemaRegistryError as error:
        error.message = f"the target's registry: {error.message}"
        raise


def _of_existing(pulsar: SchemaRegistryClient, route: Route) -> There:
    """No schemas, after a check that the namespace exists: Pulsar's answer is the same if it does not."""
    try:
        pulsar.topics(_namespace(route))
    except SchemaNotFoundError as error:
        error.hint = "check pulsar.tenant and pulsar.namespace; Pulsar does not create them automatically"
        raise
    except AuthorizationError:
        pass  # not everybody may look at it
    return ()


def _namespace(route: Route) -> str:
    return f"{route.topic.tenant}/{route.topic.namespace}"


def of_registries(route: Route, tree: Tree, there: There) -> Iterator[Problem]:
    """Problems of the source's schemas in Pulsar's registry; adds both ``strategies`` to ``tree``.

    Args:
        route: the migration.
        tree: the findings about messages and schemas.
        there: see :func:`there_now`.
    """
    tree["strategies"] = None
    if route.direction != "forward":
        return
    schemas = [*tree["ids"], *(tree["listed"] or ())]
    if not schemas or any(entry["type"] != "AVRO" or entry["rules"] for entry in schemas):
        return  # which is a problem of its own
    try:
        with route.confluent_registry() as source:
            originals = read_originals(source, route.subject, found_names(tree), ()).schemas
    except SchemaError as error:
        yield Problem("uncopied-schemas", error.message, error.hint)
        return
    level, strategy = _level(route), _strategy(route, originals, there)
    tree["strategies"] = {"source": level, "target": strategy}
    yield from _others(route, originals, there)
    yield from _refusals(route, level, strategy, originals, there)


def _level(route: Route) -> str | None:
    with route.confluent_registry() as source:
        try:
            return source.compatibility(route.subject)
        except SchemaRegistryError:  # some registries do not tell it, or not everybody
            return None


def _strategy(route: Route, originals: Sequence[Original], there: There) -> str | None:
    with route.pulsar_registry() as target:
        try:
            return strategy_in_force(target, route.topic, there[-1].text if there else originals[0].text)
        except SchemaRegistryError:  # only an admin of the tenant may ask
            return None


def _others(route: Route, originals: Sequence[Original], there: There) -> Iterator[Problem]:
    texts = {key(one.text) for one in originals}
    others = [str(info.version) for info in there if key_of(info) not in texts]
    if others:
        yield Problem(
            "target-schemas",
            f"topic {route.topic.given} has schemas in Pulsar's registry that the source does not have: versions "
            f"{', '.join(others[:5])}{f' and {len(others) - 5} more' if len(others) > 5 else ''}",
            "choose another target, or add the source's schemas after them with `migrate schemas --add`",
        )


def _refusals(
    route: Route, level: str | None, strategy: str | None, originals: Sequence[Original], there: There
) -> Iterator[Problem]:
    """The problem of changes that Confluent's level has allowed, or will allow, and that Pulsar's strategy refuses."""
    checked = strategy or DEFAULT
    rehearsal = Rehearsal(checked, there)
    refused = [one for one in originals if rehearsal.register(one.text).refusal is not None]
    later = _later(level, checked)
    if not refused and later is None:
        return
    said = checked if strategy else f"{checked}, its default: only an admin of the tenant may ask for another one"
    parts = [
        f"Confluent's registry checks {route.subject} by {level or 'a level that it does not tell'}, Pulsar by {said}"
    ]
    if refused:
        more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
        parts.append(f"Pulsar refuses {refused[0].origin}{more}")
    if later is not None:
        parts.append(f"after the migration, the first new version that {later} is refused (409)")
    widen = "`migrate schemas --widen` lets the versions in that there are; " if refused else ""
    wanted = level if level and level != "NONE" else "ALWAYS_COMPATIBLE"
    command = f"set-schema-compatibility-strategy --compatibility {wanted} {_namespace(route)}"
    yield Problem(
        "strategy", "; ".join(parts), f"{widen}`pulsar-admin namespaces {command}` keeps to the level of before"
    )


def _later(level: str | None, strategy: str) -> str | None:
    """The change that the level allows and the strategy refuses."""
    if level is None:
        return None
    old, new = level.partition("_")[0], strategy.partition("_")[0]
    if new == "ALWAYS" and strategy != "ALWAYS_COMPATIBLE":
        return "differs"
    changes = [
        change
        for change, refusing in (("removes", _NO_REMOVAL), ("adds", _NO_ADDITION))
        if old not in refusing and new in refusing
    ]
    return f"{' or '.join(changes)} a field without a default" if changes else None
