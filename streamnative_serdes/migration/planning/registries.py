"""The registries of both sides: descriptions of the source's schemas, and versions that the target's will refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from streamnative_serdes._broker_rules.rehearsal import Rehearsal
from streamnative_serdes._rewriting import Name
from streamnative_serdes.errors import (
    AuthorizationError,
    MissingEndpointError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes.migration.foreign import SourceRegistry
from streamnative_serdes.migration.route import Route
from streamnative_serdes.migration.schemas.originals import Original, found_names, history, key, key_of, read_originals
from streamnative_serdes.migration.schemas.strategy import strategy_in_force
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient, TopicName
from streamnative_serdes.schema_registry.confluent_info import ConfluentSchema

from .problems import Problem, Tree, listed

DEFAULT: Final = "FULL"  # Pulsar's strategy where nobody has set one
# What is refused by a strategy or level, by its first word: a new version that removes, or adds, a field without a
# default.
_NO_REMOVAL, _NO_ADDITION = ("FULL", "FORWARD"), ("FULL", "BACKWARD")
There: TypeAlias = Sequence[SchemaInfo]


@dataclass(frozen=True, slots=True)
class Description:
    type: str  # ``AVRO``, ``JSON``, ``PROTOBUF`` or another type of the registry
    name: str | None  # the full name of the record, or the name of another Avro type; None if the schema is not Avro
    aliases: tuple[str, ...] = ()  # full names that the record had before
    # the subjects that have the schema, each with the version; empty in Pulsar's registry
    versions: tuple[tuple[str, int], ...] = ()
    rules: bool = False  # whether the schema has rules, such as for field encryption

    def tree(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "name": self.name,
            "aliases": list(self.aliases),
            "subjects": list(dict.fromkeys(subject for subject, _ in self.versions)),
            "versions": [list(pair) for pair in self.versions],
            "rules": self.rules,
        }


class ConfluentNames:
    """Schemas by id or GUID in a registry with Confluent's API."""

    def __init__(self, client: SourceRegistry, subject: str) -> None:
        self._client, self._subject = client, subject
        self.guids = True  # until a GUID is asked for, and the registry does not have the endpoint

    def describe(self, name: Name) -> Description | None:
        try:
            if isinstance(name, int):
                return _of(self._client.by_id(name), self._versions(name))
            if not self.guids:
                return None
            found = self._client.by_guid(name)
        except SchemaNotFoundError:
            return None
        except MissingEndpointError:
            if isinstance(name, int):
                raise
            self.guids = False
            return None
        return _of(found, self._holding(found))

    def listed(self) -> list[tuple[Name, Description]] | None:
        found = history(self._client, self._subject)
        return (
            None
            if found is None
            else [
                (schema.id if schema.id is not None else f"version {number}", _of(schema, ((self._subject, number),)))
                for number, schema in found
            ]
        )

    def _versions(self, number: int) -> tuple[tuple[str, int], ...]:
        try:
            return tuple(self._client.subject_versions(number))
        except MissingEndpointError:  # of registries that do not tell; the topic's own subject can be asked
            return self._holding(self._client.by_id(number))

    def _holding(self, schema: ConfluentSchema) -> tuple[tuple[str, int], ...]:
        """The topic's own subject, if this subject has the schema."""
        try:
            return ((self._subject, self._client.lookup(self._subject, schema)[1]),)
        except SchemaNotFoundError:
            return ()


class PulsarNames:
    guids = True

    def __init__(self, client: SchemaRegistryClient, topic: TopicName) -> None:
        self._client, self._topic = client, topic

    def describe(self, name: Name) -> Description | None:
        assert isinstance(name, int)
        try:
            info = self._client.by_version(self._topic, name)
        except SchemaNotFoundError:
            return None
        return _described(info.type, info.text)

    def listed(self) -> list[tuple[Name, Description]] | None:
        return [
            (info.version, _described(info.type, info.text)) for info in self._client.all_versions(self._topic)
        ] or None


Registry: TypeAlias = ConfluentNames | PulsarNames


@contextmanager
def source_registry(route: Route) -> Iterator[Registry]:
    if route.direction == "forward":
        with route.confluent_registry() as confluent:
            yield ConfluentNames(confluent, route.subject)
    else:
        with route.pulsar_registry() as pulsar:
            yield PulsarNames(pulsar, route.topic)


def _of(schema: ConfluentSchema, versions: tuple[tuple[str, int], ...]) -> Description:
    return _described(schema.schema_type, schema.schema_str, versions, schema.rules)


def _described(kind: str, text: str, versions: tuple[tuple[str, int], ...] = (), rules: bool = False) -> Description:
    name, aliases = names_in(text) if kind == "AVRO" else (None, ())
    return Description(kind, name, aliases, versions, rules)


def names_in(text: str) -> tuple[str | None, tuple[str, ...]]:
    """The full name of the type in an Avro schema, which may refer to others, and its aliases; None in other text."""
    try:
        return _named(json.loads(text))
    except (ValueError, RecursionError):
        return None, ()


def _named(tree: Any) -> tuple[str | None, tuple[str, ...]]:
    if isinstance(tree, list):
        return f"union of {', '.join(_named(branch)[0] or '?' for branch in tree)}", ()
    if isinstance(tree, str):
        return tree, ()
    if not isinstance(tree, dict):
        return None, ()
    name, aliases = tree.get("name"), tree.get("aliases")
    if not isinstance(name, str):
        return _named(tree.get("type")) if not isinstance(tree.get("type"), list) else (None, ())
    space = tree.get("namespace")
    own = _full(name, space if isinstance(space, str) else "")
    within = own.rpartition(".")[0]
    return own, tuple(_full(alias, within) for alias in (aliases if isinstance(aliases, list) else ()) if alias)


def _full(name: Any, space: str) -> str:
    return f"{space}.{name}" if space and "." not in str(name) else str(name)


def there_now(route: Route) -> There:
    """The schemas that the target's topic has in Pulsar's registry; on the way back, no schemas are looked up."""
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


_UNSET: Final = (
    "that, and then nothing is checked at all; a registry at /kafka answers NONE where nobody has set a level, so ask "
    "first what the topic's owners expect"
)


def of_registries(route: Route, tree: Tree, there: There) -> Iterator[Problem]:
    """Problems of the source's schemas in Pulsar's registry; adds both ``strategies`` to ``tree``."""
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
    level, strategy = _checks(route, there[-1].text if there else originals[0].text)
    tree["strategies"] = {"source": level, "target": strategy}
    yield from _others(route, originals, there)
    yield from _refusals(route, level, strategy, originals, there)


def _checks(route: Route, text: str) -> tuple[str | None, str | None]:
    """The subject's level and the topic's strategy, or None: not every registry tells it, or not everybody."""
    level = strategy = None
    with route.confluent_registry() as source, suppress(SchemaRegistryError):
        level = source.compatibility(route.subject)
    with route.pulsar_registry() as target, suppress(SchemaRegistryError):
        strategy = strategy_in_force(target, route.topic, text)
    return level, strategy


def _others(route: Route, originals: Sequence[Original], there: There) -> Iterator[Problem]:
    texts = {key(one.text) for one in originals}
    others = [str(info.version) for info in there if key_of(info) not in texts]
    if others:
        yield Problem(
            "target-schemas",
            f"topic {route.topic.given} has schemas in Pulsar's registry that the source does not have: versions "
            f"{listed(others)}",
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
    before = "the level of before" if level != "NONE" else _UNSET
    yield Problem("strategy", "; ".join(parts), f"{widen}`pulsar-admin namespaces {command}` keeps to {before}")


def _later(level: str | None, strategy: str) -> str | None:
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
