"""The plan of a migration: checks of both sides, and the findings, before the first message is copied.

Findings are about the source's messages and schemas, the target's broker, and problems of the migration. As JSON, for
the state file; a place is a partition and an offset, such as ``[0, 17]``:

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

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from streamnative_serdes._kafka import Range, Topic
from streamnative_serdes._rewriting import Name
from streamnative_serdes.migration.state import State

from .probe import probe
from .problems import Problem, ProblemsError, Tree, judged, of_probe, of_source
from .registries import Description, Registry, of_registries, source_registry, there_now
from .source_messages import Names, Progress, Sample, Tally
from .target import Target, describe, ensure_target, source_of, writing_cluster

SAMPLE: Final = 1_000  # messages per partition


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
    """The findings about the schemas that messages name; the registry's errors are not caught."""
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
        entry = {"id": name, **count.tree(), **({} if found is None else found.tree())}
        (unknown if found is None else known).append(entry)
    return known, unknown


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of a plan.

    Args:
        sample: messages to read per partition; None for all.
        probe: find out with a scratch topic how the target's broker alters messages; without it, the findings of an
            earlier probe are kept.
        create: create the target if it is missing and no problem blocks the migration.
        settings: of a new target, in addition to the source's; an empty value leaves a setting to the broker.
        accept: names of accepted problems, see ``problems.NAMES``.
        dry_run: change nothing: no scratch topic, no target, no state file.
    """

    sample: int | None = SAMPLE
    probe: bool = True
    create: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    accept: Collection[str] = ()
    dry_run: bool = False


def plan(state: State, options: PlanOptions | None = None, progress: Progress | None = None) -> Findings:
    """Check both sides of a migration, and write the findings to the state file.

    Args:
        state: the migration; its findings are replaced.
        options: of the plan.
        progress: is called with the number of offsets read, and the number of offsets to read.

    Returns:
        The findings. If they are blocked, the target was not created.

    Raises:
        ConfigError: an option is not valid, or a name in ``accept``.
        FileError: the state file cannot be written, or was damaged meanwhile.
        BrokerUnavailableError: the brokers of a side do not answer.
        BrokerRefusedError: a broker refuses, or the source does not exist.
        SchemaRegistryError: the registry of a side refuses, does not answer, or has the API of the other side's.
    """
    options = options or PlanOptions()
    judged((), options.accept)
    findings, target = _look(state, options, progress)
    if not options.dry_run:
        state.save_findings()
        if options.create and not target.exists and not findings.blocked:
            findings = _created(state, options, findings)
    return findings


def _look(state: State, options: PlanOptions, progress: Progress | None) -> tuple[Findings, Target]:
    """Check both sides; the quick questions come first, so a missing right shows before many messages are read."""
    route = state.route
    source, cluster = source_of(route), writing_cluster(route)
    before = describe(route, cluster, source, None, options.settings, options.accept)
    with ExitStack() as stack:
        registry = stack.enter_context(source_registry(route))
        listed = registry.listed()
        there = there_now(route)
        probed = None if not options.probe or options.dry_run else probe(route, cluster, before.topic.replicas)
        tally, tree = _read(state, options, source, progress)
        tree |= of_schemas(tally, registry, listed)
    tree["probe"] = (state.findings or {}).get("probe") if probed is None else probed.tree()
    target = describe(route, cluster, source, tree, options.settings, options.accept)
    problems = [
        *of_source(tree, route.subject if route.direction == "forward" else None),
        *target.problems,
        *of_registries(route, tree, there),
        *of_probe(tree, None if probed is None else probed.left),
    ]
    tree |= {"source": _topic(source), "accepted": sorted(options.accept)}
    return _recorded(state, tree, target, judged(problems, options.accept)), target


def _read(state: State, options: PlanOptions, source: Topic, progress: Progress | None) -> tuple[Tally, Tree]:
    tally = Tally(state.route.direction, state.route.rewriter({}))
    sample = Sample(state.route.reading.kafka, source.name, source.partitions, options.sample, progress)
    for message in sample:
        tally.add(message)
    whole = options.sample is None or all(high - low <= options.sample for low, high in sample.bounds.values())
    return tally, of_messages(tally, sample.bounds, whole=whole)


def _created(state: State, options: PlanOptions, findings: Findings) -> Findings:
    """The findings after the target was created; its broker may have ignored settings."""
    others = [problem for problem in findings.problems if problem.name not in ("missing-target", "settings-not-copied")]
    try:
        target = ensure_target(
            state.route, findings.tree, create=True, accept=options.accept, settings=options.settings
        )
    except ProblemsError as error:
        found = Findings(findings.tree, tuple(judged(dict.fromkeys((*others, *error.problems)), options.accept)))
        findings.tree["problems"] = [problem.tree() for problem in found.problems]
        state.save_findings()
        return found
    found = _recorded(state, findings.tree, target, judged(others, options.accept))
    state.save_findings()
    return found


def _recorded(state: State, tree: Tree, target: Target, problems: list[Problem]) -> Findings:
    tree |= {
        "target": {**_topic(target.topic), "exists": target.exists, "created": target.created},
        "problems": [problem.tree() for problem in problems],
    }
    state.findings = tree
    return Findings(tree, tuple(problems))


def _topic(topic: Topic) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "partitions": topic.partitions,
        "replicas": topic.replicas,
        "settings": dict(topic.settings),
        "own": dict(topic.own),
    }
