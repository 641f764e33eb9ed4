"""The target topic: created with the partitions and settings of the source, or checked against them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from streamnative_serdes._kafka import BrokerRefusedError, Cluster, Topic, bounds, no_producer_ids
from streamnative_serdes.errors import SchemaRegistryError
from streamnative_serdes.migration.route import Route
from streamnative_serdes.schema_registry import TopicName

from .problems import Problem, judged, require_none
from .settings import LENGTH_GROWTH, PREFIX_GROWTH, SourceMessages, for_new_topic, problems_of

PLACE_GROWTH: Final = (
    64  # bytes, at most, of the header with the source's place, which copies have without transactions
)
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Target:
    """The target topic.

    Args:
        topic: the existing topic, or the topic that would be created.
        source: the topic that is copied.
        exists: whether the topic exists.
        created: whether this call created the topic.
        problems: all problems, accepted or not.
    """

    topic: Topic
    source: Topic
    exists: bool
    created: bool = False
    problems: tuple[Problem, ...] = ()


def ensure_target(
    route: Route,
    findings: Mapping[str, Any] | None = None,
    *,
    create: bool = False,
    accept: Collection[str] = (),
    settings: Mapping[str, str] = _NOTHING,
    resuming: bool = False,
    dry_run: bool = False,
) -> Target:
    """Create the target if it is missing and ``create`` is set, and check it against the source.

    Calling it again changes nothing.

    Args:
        route: the migration.
        findings: of ``migrate plan``; without findings, only settings are compared, not the messages. Problems accepted
            there are accepted here too.
        create: create the topic if it is missing.
        accept: names of accepted problems, see ``problems.NAMES``.
        settings: of a new topic, in addition to the source's; an empty value leaves a setting to the broker.
        resuming: the target has copies of an earlier run, so it need not be empty.
        dry_run: create nothing; the answer describes the topic that would be created.

    Raises:
        ProblemsError: a problem has to be mended or accepted first. No topic was created, unless the broker has given
            a new topic other settings than requested; then the topic exists, and is empty.
        ConfigError: an option is not valid, or a name in ``accept``.
        BrokerUnavailableError: the brokers of a side do not answer.
        BrokerRefusedError: a broker refuses, the source does not exist, or the target does not and ``create`` is unset.
    """
    accept = {*accept, *(findings or {}).get("accepted", ())}
    source, found = source_of(route), writing_cluster(route)
    target = describe(route, found, source, findings, settings, accept)
    if not target.exists and not create and not dry_run:
        raise BrokerRefusedError(
            f"topic {route.target} does not exist",
            topic=route.target,
            hint="add --create, or create it with the partitions of the source; `migrate plan` says what it would be",
        )
    require_none(
        [problem for problem in target.problems if not (resuming and problem.name == "not-empty")], route.target
    )
    if target.exists or dry_run:
        return target
    new = target.topic
    created = found.create(route.target, new.partitions, new.replicas, new.own)
    made = describe(route, found, source, findings, settings, accept)
    require_none(made.problems, route.target)  # a broker may ignore settings, and somebody may have been faster
    return Target(made.topic, source, exists=True, created=created, problems=made.problems)


def source_of(route: Route) -> Topic:
    """The topic that is read.

    Raises:
        BrokerRefusedError: the topic does not exist, or the broker refuses.
        BrokerUnavailableError: no broker answers.
    """
    cluster = Cluster(route.reading.kafka, route.source, route.pulsar_registry)
    found = cluster.topic(route.source)
    if found is None:
        raise BrokerRefusedError(
            f"topic {route.source} does not exist",
            topic=route.source,
            hint="check the name and the address of the broker; some brokers answer this for a missing right too",
        )
    # All that a KoP says is what its broker takes, not a setting of the topic.
    return replace(found, settings={}) if cluster.is_kop else found


def transactions_by_default(route: Route) -> bool:
    """Whether messages are copied with transactions if neither the user nor a plan says so: not to a KoP.

    Raises:
        BrokerUnavailableError: no broker answers.
    """
    return not writing_cluster(route).is_kop and no_producer_ids(route.writing.kafka, route.target) is None


def writing_cluster(route: Route) -> Cluster:
    """The cluster of the target."""
    return Cluster(route.writing.kafka, route.target, route.pulsar_registry)


def describe(
    route: Route,
    cluster: Cluster,
    source: Topic,
    findings: Mapping[str, Any] | None,
    settings: Mapping[str, str],
    accept: Collection[str],
) -> Target:
    """The existing target, or the target that would be created, with its problems."""
    growth = growth_of(route, findings)
    topic = cluster.topic(route.target)
    exists, problems = topic is not None, []
    if topic is None:
        topic, left = _planned(route, cluster, source, growth, settings)
        problems.append(Problem("missing-target", f"topic {route.target} does not exist; --create creates it"))
        if left:
            problems.append(Problem("settings-not-copied", _not_copied(cluster, left)))
    problems += problems_of(source, topic, SourceMessages.of(findings), int(time.time() * 1000), growth)
    if exists:
        problems += [*_one_topic(route, source, topic), *_content(route, topic)]
    if cluster.is_kop:
        problems += _retention_of_pulsar(route, cluster)
    return Target(topic, source, exists, problems=tuple(judged(problems, accept)))


def growth_of(route: Route, findings: Mapping[str, Any] | None) -> int:
    """By how many bytes copies are larger than their messages, at most."""
    found = findings or {}
    transactions = (found.get("probe") or {}).get("transactions", True)
    bytes_roots = any(entry["name"] == "bytes" for entry in [*found.get("ids", ()), *(found.get("listed") or ())])
    prefix = PREFIX_GROWTH + (LENGTH_GROWTH if bytes_roots else 0)
    return (prefix if route.direction == "forward" else 0) + (0 if transactions else PLACE_GROWTH)


def _planned(
    route: Route, cluster: Cluster, source: Topic, growth: int, settings: Mapping[str, str]
) -> tuple[Topic, list[str]]:
    """The topic that would be created, with the settings inherited from its broker, as far as known."""
    defaults, replicas = cluster.defaults(), min(source.replicas, cluster.brokers())
    if cluster.is_kop:  # it ignores them
        return Topic(route.target, source.partitions, replicas, defaults), sorted({**source.own, **settings})
    own, left = for_new_topic(source, defaults, growth, replicas, settings)
    return Topic(route.target, source.partitions, replicas, {**defaults, **own}, own), left


def _not_copied(cluster: Cluster, names: Sequence[str]) -> str:
    of = "that a KoP ignores, since Pulsar's policies apply" if cluster.is_kop else "of the source's cluster"
    return f"settings {of}: {', '.join(names)}"


def _retention_of_pulsar(route: Route, cluster: Cluster) -> Iterator[Problem]:
    """The problem of Pulsar's retention: Kafka's consumers are not subscriptions, so unread messages may be deleted."""
    name = TopicName.parse(route.target, route.topic.tenant, route.topic.namespace)
    namespace = f"{name.tenant}/{name.namespace}"
    try:
        found = cluster.retention(namespace)
    except SchemaRegistryError as error:
        yield Problem("pulsar-retention", f"Pulsar does not tell the retention of {namespace}: {error}")
        return
    if found is None or 0 in found:
        kept = "no retention of its own" if found is None else f"a retention of {found[0]} minutes and {found[1]} MB"
        yield Problem(
            "pulsar-retention",
            f"the namespace {namespace} has {kept}: by Pulsar's default, messages are deleted once no subscription "
            "needs them, and Kafka's consumers have none",
            f"pulsar-admin namespaces set-retention {namespace} --time TIME --size SIZE",
        )


def _one_topic(route: Route, source: Topic, target: Topic) -> Iterator[Problem]:
    """The problem of source and target being one topic; KoP takes a topic's full name too."""
    of_one_cluster = source.cluster and (source.cluster, source.id) == (target.cluster, target.id)
    if of_one_cluster and route.has_one_name:
        yield Problem("same-topic", "source and target are one topic", "choose another target")


def _content(route: Route, topic: Topic) -> Iterator[Problem]:
    count = sum(high - low for low, high in bounds(route.writing.kafka, topic.name).values())
    if count:
        yield Problem(
            "not-empty",
            f"the target has up to {count} messages already",
            "choose a topic without messages; if these are copies of an earlier run, accept it",
        )
