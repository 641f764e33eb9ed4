"""The command ``schemas diff``: two schemas, their differences, and whether each reads data of the other."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from streamnative_serdes._broker_rules.compatibility import can_read
from streamnative_serdes._broker_rules.refusals import BrokerError
from streamnative_serdes._schema import Schema, parse
from streamnative_serdes.errors import SchemaError, SchemaNotFoundError
from streamnative_serdes.schema_registry import SchemaInfo

from .failures import CHECK_FAILED, Command
from .options import Connection, connected, topic_name
from .output import json_text, say, show_json, visible

_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_LATEST: Final = "latest"


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two schemas; ``schema`` is None if not Avro, ``kind`` is None for a file."""

    name: str
    text: str
    schema: Schema | None
    kind: str | None = None

    def same_as(self, other: _Side) -> bool:
        """Whether Pulsar treats both as the same schema, as far as known here."""
        if None not in (self.kind, other.kind) and self.kind != other.kind:
            return False
        if self.schema is None or other.schema is None:
            return self.text == other.text
        return self.schema.same_as(other.schema)

    def lines(self) -> list[str]:
        """The text, laid out if it is JSON."""
        try:
            return json_text(json.loads(self.text), indent=2).split("\n")
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
    one = _chosen(there, topic, old) if old is not None else _before_latest(there, topic)
    other = _chosen(there, topic, new)
    lines = list(difflib.unified_diff(one.lines(), other.lines(), one.name, other.name, lineterm=""))
    same = one.same_as(other)
    reads = {"new_reads_old": _reads(one, other), "old_reads_new": _reads(other, one)}
    if connection.json:
        show_json({"topic": topic, "same": same, **reads, "diff": lines})
    else:
        for line in lines:
            click.secho(line, fg=_COLOURS.get(line[:1]))
        say(_verdict(same, **reads), err=True)
    if exit_code and not same:
        click.get_current_context().exit(CHECK_FAILED)


def _chosen(there: Sequence[SchemaInfo], topic: str, which: str) -> _Side:
    """A version, or the schema in a file.

    Raises:
        SchemaNotFoundError: the topic does not have the version.
        SchemaError: the file cannot be read.
    """
    if which == _LATEST and there:
        return _side(there[-1])
    if which.isdecimal() or which == _LATEST:
        for info in there:
            if str(info.version) == which:
                return _side(info)
        numbers = ", ".join(str(info.version) for info in there) or "none"
        raise SchemaNotFoundError(f"the topic has no schema {which}; its versions: {numbers}", topic=topic)
    try:
        text = Path(which).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"{which} is neither a version nor a file that can be read: {error}") from None
    return _Side(which, text, _parsed(text))


def _before_latest(there: Sequence[SchemaInfo], topic: str) -> _Side:
    if len(there) < 2:
        raise SchemaNotFoundError(f"expected two versions to compare, the topic has {len(there)}", topic=topic)
    return _side(there[-2])


def _side(info: SchemaInfo) -> _Side:
    schema = _parsed(info.text) if info.type in ("AVRO", "JSON") else None
    return _Side(f"version {info.version}", info.text, schema, info.type)


def _parsed(text: str) -> Schema | None:
    try:
        return parse(text, strict=False)
    except SchemaError:
        return None


def _reads(writer: _Side, reader: _Side) -> bool | None:
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
