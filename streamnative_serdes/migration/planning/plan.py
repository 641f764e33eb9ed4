"""The plan of a migration: checks of both sides before the first message is copied."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from streamnative_serdes._kafka import Cluster, Topic
from streamnative_serdes.migration.state import State

from .descriptions import source_registry
from .findings import Findings, Tree, of_messages, of_schemas
from .probe import Probed, probe
from .problems import Problem, ProblemsError, judged
from .sampling import Progress, Sample
from .source_problems import of_probe, of_source
from .tally import Tally
from .target import Target, describe, ensure_target, source_of, writing_cluster
from .target_registry import of_registries, there_now

SAMPLE: Final = 1_000  # messages per partition


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
        FileError: the state file cannot be written.
        BrokerUnavailableError: the brokers of a side do not answer.
        BrokerRefusedError: a broker refuses, or the source does not exist.
        SchemaRegistryError: the registry of a side refuses, does not answer, or has the API of the other side's.
    """
    options = options or PlanOptions()
    judged((), options.accept)
    findings, target = _look(state, options, progress)
    if not options.dry_run:
        state.save()
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
        probed = _probed(state, options, cluster, before.topic)
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


def _probed(state: State, options: PlanOptions, cluster: Cluster, target: Topic) -> Probed | None:
    if not options.probe or options.dry_run:
        return None
    return probe(state.route, cluster, target.replicas)


def _read(state: State, options: PlanOptions, source: Topic, progress: Progress | None) -> tuple[Tally, Tree]:
    tally = Tally(state.route.direction)
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
        state.save()
        return found
    found = _recorded(state, findings.tree, target, judged(others, options.accept))
    state.save()
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
