"""The commands ``schemas``: read, register, check, compare and list schemas of topics, and their strategies."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import click

from streamnative_serdes._broker_rules.compatibility import STRATEGIES, can_read
from streamnative_serdes._broker_rules.refusals import BrokerError
from streamnative_serdes._broker_rules.rehearsal import Rehearsal
from streamnative_serdes._schema import Schema, parse, parse_given
from streamnative_serdes.errors import AuthorizationError, MissingEndpointError, SchemaError, SchemaNotFoundError
from streamnative_serdes.schema_registry import Compatibility, SchemaInfo, SchemaRegistryClient, TopicName
from streamnative_serdes.schema_registry.backups import as_tree

from .keeping import backup, delete, restore
from .options import Connection, connected, namespace_name, pairs_option, topic_name
from .output import (
    CHECK_FAILED,
    Command,
    FailureError,
    as_json,
    json_text,
    moment,
    say,
    show,
    show_json,
    show_raw,
    show_schema,
    show_table,
    visible,
)

_NAMESPACE: Final = re.compile(r"[^/:]+/[^/:]+")
_UNSET: Final = "UNDEFINED"
_PLACE: Final = click.argument("place", metavar="TOPIC|TENANT/NAMESPACE")


@click.group()
def strategy() -> None:
    """Read and set the compatibility strategy of a topic, or of a namespace."""


@strategy.command("get", cls=Command)
@_PLACE
@connected
def get_strategy(connection: Connection, place: str) -> None:
    """Show the strategy of a topic or a namespace.

    A topic without its own has its namespace's, and that without its own the broker's: FULL, unless it is configured.
    """
    with connection.client() as client:
        try:
            own = _own(client, place)
        except MissingEndpointError:  # the broker has topic policies switched off, so a topic has none of its own
            own = None
        inherited = None
        if own is None and not _NAMESPACE.fullmatch(place):
            name = connection.full_name(place)
            inherited = client.namespace_strategy(f"{name.tenant}/{name.namespace}")
    text = own or (inherited and f"{inherited}, of its namespace") or "none of its own; the broker's, by default FULL"
    show({"place": place, "own": own, "namespace": inherited}, f"{place}: {text}")


@strategy.command("set", cls=Command)
@_PLACE
@click.argument("chosen", metavar="STRATEGY", type=click.Choice(STRATEGIES, case_sensitive=False))
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@connected
def set_strategy(connection: Connection, place: str, chosen: str, dry_run: bool) -> None:
    """Set the strategy of a topic or a namespace; UNDEFINED unsets it. Pulsar wants an admin of the tenant."""
    with connection.client() as client:
        before = _own(client, place)
        change = client.set_namespace_strategy if _NAMESPACE.fullmatch(place) else client.set_topic_strategy
        if not dry_run:
            change(place, None if chosen == _UNSET else chosen)
    tree = {"place": place, "before": before, "after": None if chosen == _UNSET else chosen, "dry_run": dry_run}
    show(tree, f"{place}: {'would change' if dry_run else 'changed'} from {before or _UNSET} to {chosen}")


def _own(client: SchemaRegistryClient, place: str) -> str | None:
    if _NAMESPACE.fullmatch(place):
        return client.namespace_strategy(place)
    try:
        return client.topic_strategy(place)
    except SchemaNotFoundError as error:
        error.hint = error.hint or "if the topic has a schema only, it does not exist yet: create it first"
        raise


_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_LATEST: Final = "latest"
_NOT_SEEN: Final = (
    "schemas of topics that do not exist, since Pulsar lists topics only: a schema may be registered before its topic",
    "topics that are not persistent: each has the schemas of the persistent topic of the same name",
)
_FILE: Final = click.argument("file", type=click.File("rb"))
_TYPE: Final = click.option("--type", "kind", default="AVRO", show_default=True, help="Pulsar's schema type.")
_PROPERTY: Final = pairs_option("--property", "properties", help="A property of the schema.")


@dataclass(frozen=True, slots=True)
class _Compared:
    """One of the two schemas; ``schema`` is None if not Avro, ``kind`` is None for a file."""

    name: str
    text: str
    schema: Schema | None
    kind: str | None = None

    def same_as(self, other: _Compared) -> bool:
        """Whether Pulsar treats both as the same schema, as far as known here."""
        if None not in (self.kind, other.kind) and self.kind != other.kind:
            return False
        if self.schema is None or other.schema is None:
            return self.text == other.text
        return self.schema.same_as(other.schema)

    def lines(self) -> list[str]:
        try:
            return json_text(json.loads(self.text if self.schema is None else self.schema.text), indent=2).split("\n")
        except (ValueError, RecursionError):
            return visible(self.text, lines=True).split("\n")


@click.command(cls=Command)
@click.argument("topic", callback=topic_name)
@click.argument("old", required=False)
@click.argument("new", default=_LATEST)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if the schemas differ.")
@connected
def diff(connection: Connection, topic: str, old: str | None, new: str, exit_code: bool) -> None:
    """Compare two schemas of TOPIC: OLD and NEW are versions, "latest" or files.

    Without NEW, the latest schema is compared with OLD; without both, the latest with the one before.
    """
    with connection.client() as client:
        there = client.all_versions(topic)
    if old is None and len(there) < 2:
        raise FailureError(f"topic {topic}: expected two versions to compare, the topic has {len(there)}", topic=topic)
    one = _version(there[-2]) if old is None else _chosen(there, topic, old)
    other = _chosen(there, topic, new)
    lines = list(difflib.unified_diff(one.lines(), other.lines(), one.name, other.name, lineterm=""))
    same = one.same_as(other)
    reads = {"new_reads_old": _reads(one, other), "old_reads_new": _reads(other, one)}
    if as_json():
        show_json({"topic": topic, "same": same, **reads, "diff": lines})
    else:
        for line in lines:
            click.secho(line, fg=_COLOURS.get(line[:1]))
        say(_verdict(same, **reads), err=True)
    if exit_code and not same:
        click.get_current_context().exit(CHECK_FAILED)


def _chosen(there: Sequence[SchemaInfo], topic: str, which: str) -> _Compared:
    if which == _LATEST and there:
        return _version(there[-1])
    if which.isdecimal() or which == _LATEST:
        for info in there:
            if str(info.version) == which:
                return _version(info)
        numbers = ", ".join(str(info.version) for info in there) or "none"
        raise FailureError(f"topic {topic}: it has no schema {which}; its versions: {numbers}", topic=topic)
    try:
        text = Path(which).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"{which} is neither a version nor a file that can be read: {error}") from None
    return _Compared(which, text, _parsed(text))


def _version(info: SchemaInfo) -> _Compared:
    schema = _parsed(info.text) if info.type in ("AVRO", "JSON") else None
    return _Compared(f"version {info.version}", info.text, schema, info.type)


def _parsed(text: str) -> Schema | None:
    try:
        return parse(text, strict=False)
    except SchemaError:
        return None


def _reads(writer: _Compared, reader: _Compared) -> bool | None:
    """Whether the reader can read all data of the writer, by the rules of Java's Avro; None if one is not Avro."""
    if writer.schema is None or reader.schema is None:
        return None
    try:
        return can_read(writer.schema, reader.schema)
    except BrokerError:
        return False


def _verdict(same: bool, new_reads_old: bool | None, old_reads_new: bool | None) -> str:
    first = "Pulsar takes both for the same schema." if same else "The schemas differ."
    if new_reads_old is None:
        return first
    backward, forward = ("yes" if reads else "no" for reads in (new_reads_old, old_reads_new))
    return f"{first} New reads old (BACKWARD): {backward}; old reads new (FORWARD): {forward}"


@click.group()
def schemas() -> None:
    """Read and change the schemas of topics in Pulsar's registry."""


for _command in (backup, delete, diff, restore, strategy):
    schemas.add_command(_command)


@schemas.command(cls=Command)
@click.argument("topic", callback=topic_name)
@click.option("--version", "number", type=click.IntRange(0), help="This version instead of the latest.")
@click.option("--all", "every", is_flag=True, help="All versions, oldest first.")
@click.option("--raw", is_flag=True, help="The text exactly as registered.")
@connected
def get(connection: Connection, topic: str, number: int | None, every: bool, raw: bool) -> None:
    """Show a schema of TOPIC: the latest, unless --version or --all says otherwise."""
    if every and number is not None:
        raise click.UsageError("--all and --version exclude each other")
    with connection.client() as client:
        if every:
            found = client.all_versions(topic) or [client.latest(topic)]  # raises, with the reason
        else:
            found = [client.latest(topic) if number is None else client.by_version(topic, number)]
    if as_json():
        trees = [{"topic": topic, **as_tree(info)} for info in found]
        show_json(trees if every else trees[0])
        return
    for info in found:
        say(f"{topic}: version {info.version}, {info.type}, registered {_time(info)}", err=True)
        if raw:
            show_raw(info.text)
        else:
            show_schema(info.text)


def _time(info: SchemaInfo) -> str:
    if not info.timestamp:
        return "at an unknown time"
    return moment(info.timestamp, f"at {info.timestamp} ms")


@click.command(cls=Command)
@click.argument("namespace", metavar="TENANT/NAMESPACE", callback=namespace_name)
@connected
def topics(connection: Connection, namespace: str) -> None:
    """List the topics of TENANT/NAMESPACE with the type and the versions of their schemas."""
    with connection.client() as client:
        rows = [_listed(client, name) for name in client.topics(namespace)]
    if as_json():
        show_json({"namespace": namespace, "topics": rows, "not_seen": _NOT_SEEN})
        return
    columns = ("type", "versions", "version")
    table = [
        (row["topic"], *(str(row.get(name, "-")) for name in columns), row.get("registered") or row["note"])
        for row in rows
    ]
    show_table(("TOPIC", "TYPE", "VERSIONS", "LATEST", "REGISTERED"), table)
    say("Not listed: " + "; ".join(_NOT_SEEN), err=True)


def _listed(client: SchemaRegistryClient, name: TopicName) -> dict[str, Any]:
    try:
        there = client.all_versions(name)
    except AuthorizationError as error:
        return {"topic": str(name), "note": f"not permitted: {error.reason}"}
    if not there:
        return {"topic": str(name), "note": "no schema"}
    last = there[-1]
    about = {"type": last.type, "versions": len(there), "version": last.version, "registered": _time(last)}
    return {"topic": str(name), **about}


schemas.add_command(topics, "list")


@schemas.command(cls=Command)
@click.argument("topic", callback=topic_name)
@_FILE
@_TYPE
@_PROPERTY
@click.option("--dry-run", is_flag=True, help="Only say what would happen; needs the rights of check.")
@connected
def register(
    connection: Connection,
    topic: str,
    file: IO[bytes],
    kind: str,
    properties: tuple[tuple[str, str], ...],
    dry_run: bool,
) -> None:
    """Register the schema in FILE (- for standard input) for TOPIC, and show its version."""
    text, fault = _checked_text(file, kind, dict(properties))
    schema: Any = {"type": kind, "properties": dict(properties)}
    with connection.client() as client:
        there, known = _found(client, topic, text, kind, fault)
        if dry_run and known is None:
            _refuse_incompatible(client.compatibility(topic, text, **schema), topic)
        if not dry_run:
            number = client.register(topic, text, **schema) if known is None else known
            # Pulsar decides which schemas are the same: a new one has a number that was not there.
            known = number if number in {info.version for info in there} else None
    version = known if dry_run else number
    if not dry_run:
        done = f"version {version}, {'new' if known is None else 'registered before'}"
    else:
        done = "the schema would be registered" if known is None else f"registered already, version {known}"
    show({"topic": topic, "version": version, "new": known is None, "dry_run": dry_run}, f"{topic}: {done}")


@schemas.command(cls=Command)
@click.argument("topic", callback=topic_name)
@_FILE
@_TYPE
@_PROPERTY
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES, case_sensitive=False),
    help="Check here by this strategy, for which the right to read is enough. Pulsar itself wants an admin to ask.",
)
@connected
def check(
    connection: Connection,
    topic: str,
    file: IO[bytes],
    kind: str,
    properties: tuple[tuple[str, str], ...],
    strategy: str | None,
) -> None:
    """Check whether TOPIC would accept the schema in FILE (- for standard input). Changes nothing."""
    text, fault = _checked_text(file, kind, dict(properties))
    schema: Any = {"type": kind, "properties": dict(properties)}
    with connection.client() as client:
        there, known = _found(client, topic, text, kind, fault)
        if known is not None:
            verdict = Compatibility(True)
        elif strategy is not None:
            verdict = Rehearsal(strategy, there).check(text, kind, dict(properties))
        else:
            verdict = client.compatibility(topic, text, **schema)
    if not as_json():
        _refuse_incompatible(verdict, topic)
    by = f" by {verdict.strategy}" if verdict.strategy else ""
    about = {"strategy": verdict.strategy, "reason": verdict.reason, "version": known}
    done = f"compatible{by}" if known is None else f"registered already, version {known}"
    show({"topic": topic, "compatible": verdict.compatible, **about}, f"{topic}: {done}")
    if not verdict.compatible:
        click.get_current_context().exit(CHECK_FAILED)


def _refuse_incompatible(verdict: Compatibility, topic: str) -> None:
    if not verdict.compatible:
        reason = " ".join((verdict.reason or "the registry does not say why").split())  # Java's schemas take many lines
        raise FailureError(f"topic {topic}: incompatible: {reason}", topic=topic, reason=verdict.reason)


def _found(
    client: SchemaRegistryClient, topic: str, text: str, kind: str, fault: SchemaError | None
) -> tuple[Sequence[SchemaInfo], int | None]:
    """The topic's schemas, and the version of this one. Raises ``fault``, if there is one, unless the topic has it."""
    there = client.all_versions(topic)
    given = _Compared("given", text, _parsed(text) if kind == "AVRO" else None, kind)
    for info in there:
        if _version(info).same_as(given):
            return there, info.version
    if fault is not None:
        raise fault
    return there, None


def _checked_text(file: IO[bytes], kind: str, properties: dict[str, str]) -> tuple[str, SchemaError | None]:
    """The text in the file, and the error for which this schema is refused unless the topic already has it."""
    fault = None
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SchemaError(f"the schema is not UTF-8 text: {error}") from None
    if kind == "AVRO":
        fault = parse_given(text.strip(), to_register=True).fault
    if kind == "KEY_VALUE" and not {"key.schema.type", "value.schema.type"} <= properties.keys():
        hint = "give --property key.schema.type=... and value.schema.type=...: without them Pulsar loses both schemas"
        raise SchemaError("a KEY_VALUE schema needs the types of its halves", hint=hint)
    return text, fault
