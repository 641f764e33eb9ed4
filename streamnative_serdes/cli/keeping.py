"""The commands ``schemas backup``, ``delete`` and ``restore``: deleted schemas can be restored unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from streamnative_serdes._files import require_new
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.schema_registry import SchemaRegistryClient, TopicName
from streamnative_serdes.schema_registry.backups import Restoration, Saved, name_for, read, take, write

from .options import FILE, GIVEN_FILE, Connection, connected, namespace_name, topic_name
from .output import REFUSED, Command, FailureError, as_json, counted, failure_of, say, show

_DRY_RUN: Final = click.option("--dry-run", is_flag=True, help="Only say what would happen.")


@click.command(cls=Command)
@click.argument("topics", nargs=-1, callback=topic_name)
@click.option(
    "--namespace", metavar="TENANT/NAMESPACE", callback=namespace_name, help="All topics of this namespace as well."
)
@click.option("--output", "-o", type=FILE, required=True, help="The file to write; it must not exist.")
@_DRY_RUN
@connected
def backup(connection: Connection, topics: tuple[str, ...], namespace: str | None, output: Path, dry_run: bool) -> None:
    """Save all schemas of TOPICS to a file."""
    if not topics and namespace is None:
        raise click.UsageError("name topics, or --namespace TENANT/NAMESPACE")
    require_new(output)
    with connection.client() as client:
        names = {str(name): name for name in map(connection.full_name, topics)}
        names |= {str(name): name for name in (client.topics(namespace) if namespace is not None else ())}
        saved = take(client, names.values())
    if topics and not saved:
        raise FailureError(f"no schemas: {', '.join(names)}", REFUSED)
    if not dry_run:
        write(output, connection.url, saved)
    _tell(saved)
    numbers = [{"topic": str(one.topic), "versions": [info.version for info in one.schemas]} for one in saved]
    empty = len(names) - len(saved)
    without = f"; {counted(empty, 'topic')} without schemas" if empty else ""
    tree = {"file": str(output), "topics": numbers, "dry_run": dry_run}
    show(tree, f"{'would be saved' if dry_run else 'saved'} in {output}{without}")


@click.command(cls=Command)
@click.argument("topic", callback=topic_name)
@click.option(
    "--force", is_flag=True, help="Let the next schema be version 0. Messages that remain may then be misread."
)
@click.option("--backup", "path", type=FILE, help="The file for the backup.  [default: a new one in this folder]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_DRY_RUN
@connected
def delete(connection: Connection, topic: str, force: bool, path: Path | None, yes: bool, dry_run: bool) -> None:
    """Delete all schemas of TOPIC, after a backup. Its messages cannot be read until the schemas are restored.

    The next schema gets a number above all former ones, unless --force is given.
    """
    if as_json() and not yes and not dry_run:
        raise click.UsageError("--json needs --yes or --dry-run: programs are not asked")
    name = connection.full_name(topic)
    path = path or name_for(name)
    with connection.client() as client:
        saved = take(client, [name])
        if saved:
            require_new(path)
        _tell(saved)
        if not dry_run and not yes and (saved or force):
            click.confirm(f"Delete all schemas of {name}?", abort=True, err=True)
        if not dry_run:
            saved = take(client, [name])  # again: somebody may have registered one while we asked
            _delete(client, connection.url, name, saved, path, force)
    count = len(saved[0].schemas) if saved else 0
    tree = {"topic": str(name), "deleted": count, "backup": str(path) if saved else None, "dry_run": dry_run}
    done = f"{'would be ' if dry_run else ''}deleted, backup in {path}" if saved else "the topic has no schemas"
    show(tree, f"{name}: {done}")


def _delete(
    client: SchemaRegistryClient, url: str, name: TopicName, saved: Sequence[Saved], path: Path, force: bool
) -> None:
    if saved:
        write(path, url, saved)
        say(f"backup: {path}", err=True)
        taken, expected = client.delete(name), saved[0].schemas[-1].version + 1
        # The deletion takes the next number. If that is not the one after the last schema, another one was in between.
        if taken != expected:
            raise FailureError(
                f"all schemas of {name} are deleted, but {path} may lack one that was registered after the backup: "
                f"the deletion took number {taken}, expected {expected}"
            )
    if force:
        client.delete(name, force=True)


@click.command(cls=Command)
@click.argument("file", type=GIVEN_FILE)
@click.option("--topic", callback=topic_name, help="Restore to this topic.")
@click.option("--other-registry", is_flag=True, help="Accept a backup of another registry.")
@_DRY_RUN
@connected
def restore(connection: Connection, file: Path, topic: str | None, other_registry: bool, dry_run: bool) -> None:
    """Give the schemas in FILE, a backup, to their topics again, with their old numbers, and read all back.

    A topic must not have other schemas. If one schema cannot be restored, nothing is changed.
    """
    saved = read(file, None if other_registry else connection.url)
    if topic is not None and len(saved) != 1:
        raise click.UsageError(f"--topic needs a backup of one topic, and this one has {len(saved)}")
    names = [connection.full_name(topic) if topic is not None else one.topic for one in saved]
    with connection.client() as client:
        works = [Restoration(client, name, one.schemas) for name, one in zip(names, saved, strict=True)]
        missing = [len(work.schemas) - work.look() for work in works]
        if not dry_run:
            _restore_all(works)
    done = "would be restored" if dry_run else "restored"
    topics, lines = [], []
    for work, one, count in zip(works, saved, missing, strict=True):
        numbers = [info.version for info in work.schemas]
        topics.append({"topic": str(work.topic), "versions": numbers, "restored": count})
        lines.append(f"{work.topic}: {one.numbers}, {count} of {len(numbers)} {done}")
    show({"topics": topics, "dry_run": dry_run}, *lines)


def _restore_all(works: Sequence[Restoration]) -> None:
    begun: list[Restoration] = []
    try:
        for work in works:
            begun.append(work)
            work.run()
    except (SerdesError, KeyboardInterrupt) as error:
        say("undoing what was restored so far", err=True)
        left = _undo_all(begun)
        failure = failure_of(error)
        outcome = f"not all could be undone: {'; '.join(left)}" if left else "nothing was changed"
        again = "then run the same command again: it continues where a topic has only schemas of the backup"
        hints = [hint for hint in (failure.parts.get("hint"), again if left else None) if hint]
        raise failure.told(after=f"; {outcome}", hint="; ".join(hints) or None, changed=bool(left)) from error


def _undo_all(begun: Sequence[Restoration]) -> list[str]:
    left = []
    for work in reversed(begun):
        try:
            stays = work.undo()
        except SerdesError as error:
            stays = str(error)
        left += [] if stays is None else [stays]
    return left


def _tell(saved: Sequence[Saved]) -> None:
    """Print the topics and versions that a command is about, for people."""
    for one in () if as_json() else saved:
        say(f"{one.topic}: {one.numbers} ({', '.join(sorted({info.type for info in one.schemas}))})")
