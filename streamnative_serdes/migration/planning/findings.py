"""Findings of a plan: about the source's messages and schemas, the target's broker, and problems of the migration.

As JSON, for the state file; a place is a partition and an offset, such as ``[0, 17]``:

    messages, whole     the number of messages read, and whether these are all messages
    partitions          {"0": {"first": 0, "next": 812, "read": 100}, ...}: offsets, and messages read
    ids                 schemas that messages name and the registry has: [{"id": 7, "count": 90, "first": PLACE,
                        "type": "AVRO", "name": "shop.Order", "aliases": [], "subjects": ["orders-value"],
                        "versions": [["orders-value", 1]], "rules": false}, ...]; the id is a GUID where messages have
                        one, and Pulsar's version on the way back
    unknown_ids         those that the registry does not have: [{"id": 9, "count": 3, "first": PLACE}, ...]
    more_ids            messages that were not looked up, since too many schemas were named before: {"count", "first"}
    key_ids             schemas that keys name and the registry has, as in ``ids``
    listed              all schemas of the topic, as in ``ids``; null if its subject does not exist
    guids               false if messages have GUIDs, and the registry does not support them
    strategies          {"source": "BACKWARD", "target": "FULL"}: the subject's level and the topic's strategy, or null
                        where a registry does not tell it; null as a whole on the way back, or without schemas
    counts              {"tombstones": {"count": 3, "first": PLACE}, ...}: each kind of message that was met
    largest             {"bytes": 512, "first": PLACE}: with its share of a batch, without compression
    timestamps          {"oldest": MILLISECONDS, "newest": ...}; null if no message has a time
    probe               {"transactions": true, "null_headers": false, ..., "reasons": {"null_headers": TEXT}}; null if
                        it did not run
    source, target      {"topic": NAME, "partitions": 3, "replicas": 1, "settings": {...}, "own": {...}}; the target
                        also has "exists" and "created"
    problems            [{"name", "severity", "text", "hint", "accepted"}, ...], see problems.py
    accepted            the names that the user has accepted
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from streamnative_serdes._kafka import Range
from streamnative_serdes.migration.framing import Name

from .descriptions import Description, Registry
from .problems import Problem
from .tally import Count, Names, Tally

Tree: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a plan.

    Args:
        tree: all findings as JSON.
        problems: all problems, also the accepted ones.
    """

    tree: Tree
    problems: tuple[Problem, ...]

    @property
    def blocked(self) -> bool:
        """Whether something has to be mended or accepted before the migration begins."""
        return any(problem.blocks for problem in self.problems)


def of_messages(tally: Tally, bounds: Mapping[int, Range], *, whole: bool) -> Tree:
    """The findings about the messages themselves."""
    return {
        "messages": tally.messages,
        "whole": whole,
        "partitions": {
            str(partition): {"first": low, "next": high, "read": tally.read[partition]}
            for partition, (low, high) in sorted(bounds.items())
        },
        "counts": dict(tally.counts()),
        "largest": {"bytes": tally.largest, "first": list(tally.largest_at)},
        "timestamps": {"oldest": tally.oldest, "newest": tally.newest},
    }


def of_schemas(tally: Tally, registry: Registry, listed: Sequence[tuple[Name, Description]] | None) -> Tree:
    """The findings about the schemas that messages name; the registry's errors are not caught.

    Args:
        tally: of the messages.
        registry: the source's.
        listed: all schemas of the topic, if there are any.
    """
    known, unknown = _looked_up(tally.names, registry)
    keys, _ = _looked_up(tally.key_names, registry)
    return {
        "ids": known,
        "unknown_ids": unknown,
        "more_ids": tally.names.more.tree(),
        "key_ids": keys,
        "listed": None if listed is None else [{"id": name, **found.tree()} for name, found in listed],
        "guids": registry.guids,
    }


def _looked_up(names: Names, registry: Registry) -> tuple[list[Tree], list[Tree]]:
    known: list[Tree] = []
    unknown: list[Tree] = []
    for name, count in sorted(names.each.items(), key=lambda entry: (str(type(entry[0])), entry[0])):
        found = registry.describe(name)
        (unknown if found is None else known).append(_entry(name, count, found))
    return known, unknown


def _entry(name: Name, count: Count, found: Description | None) -> Tree:
    return {"id": name, **count.tree(), **({} if found is None else found.tree())}
