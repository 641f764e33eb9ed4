"""Topics: their partitions and offsets, how a cluster describes them, how they are created and deleted."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
)

from streamnative_serdes.errors import ConfigError, SchemaRegistryError

from .clients import BrokerRefusedError, ClientErrors, ask, client, kafka_errors, require_options, retry, within

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

logger = logging.getLogger(__name__)

Range: TypeAlias = tuple[int, int]  # the first offset, and the one after the last
Place: TypeAlias = tuple[str, int]  # a topic and the number of one of its partitions
EARLIEST: Final = -2
LATEST: Final = -1

_NEW_SECONDS: Final = 30.0  # until a new topic has leaders
_NEW: Final = ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART")
_NO_LEADER: Final = ("_NOENT", "_UNKNOWN_PARTITION")
_READY_SECONDS: Final = 30.0  # until all partitions of a new topic have a leader
_SIXTEEN_BYTES: Final = re.compile(r"[A-Za-z0-9_-]{21}[AQgw]")
_MISSING: Final = ("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID")
# Settings that a topic inherits from its broker, under the broker's names; of several names, the first that is set.
_INHERITED: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "max.message.bytes": (("message.max.bytes", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "message.timestamp.difference.max.ms": (("log.message.timestamp.difference.max.ms", 1),),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
}


def offsets(
    admin: AdminClient, errors: ClientErrors, wanted: Mapping[Place, int], *, committed: bool
) -> dict[Place, int]:
    """Offsets of any number of partitions: one request to each broker that leads some of them.

    Args:
        admin: the client.
        errors: collects the client's connection errors.
        wanted: by partition, EARLIEST, LATEST, or a time in milliseconds since 1970: the offset of the first message
            from that time on, or -1 without such a message.
        committed: for readers of committed messages only; LATEST is then the first open transaction.
    """
    asked = {TopicPartition(*place): _spec(number) for place, number in wanted.items()}
    from confluent_kafka import IsolationLevel

    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    def question(seconds: float) -> dict[Place, int]:
        answers = admin.list_offsets(asked, isolation_level=level, request_timeout=seconds)
        return {(at.topic, at.partition): int(within(one, seconds).offset) for at, one in answers.items()}

    def known(seconds: float) -> dict[Place, int]:  # the client knows no leader of a partition that was just added
        forget = partial(admin.list_topics, timeout=seconds)  # what the client knew of the leaders
        return retry(partial(question, seconds), _NO_LEADER, seconds, forget)

    return ask(admin, errors, known)


def _spec(number: int) -> Any:
    spec: Any = getattr(confluent_kafka.admin, "OffsetSpec", None)
    if spec is None:
        raise ConfigError("the data source needs confluent-kafka 2.3 or later", hint="pip install -U confluent-kafka")
    if number == EARLIEST:
        return spec.earliest()
    return spec.latest() if number == LATEST else spec.for_timestamp(number)


class PulsarAdmin(Protocol):
    """The requests to Pulsar about a KoP: see SchemaRegistryClient."""

    def clusters(self) -> Collection[str]: ...

    def retention(self, namespace: str, /) -> tuple[int, int] | None: ...

    def delete_topic(self, topic: str, /) -> None: ...


Connect: TypeAlias = Callable[[], AbstractContextManager[PulsarAdmin]]


def metadata(
    asking: Consumer | Producer | AdminClient, errors: ClientErrors, topic: str | None = None, most: float | None = None
) -> Any:
    """The brokers, and all topics, or only ``topic``, which some brokers create at such a request."""
    named = {} if topic is None else {"topic": topic}
    return ask(asking, errors, lambda seconds: asking.list_topics(**named, timeout=seconds), most)


def partitions_of(asking: Consumer | AdminClient, errors: ClientErrors, topic: str) -> Sequence[int]:
    """The numbers of the topic's partitions; empty if the topic does not exist."""
    found = metadata(asking, errors, topic).topics.get(topic)
    if found is None or (found.error is not None and found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART):
        return ()
    if found.error is not None:
        raise for_consumer(topic, KafkaException(found.error))
    return sorted(found.partitions)


def bounds_of(consumer: Consumer, errors: ClientErrors, topic: str, partition: int) -> Range:
    """The first and the next offset of a partition.

    For a consumer of committed messages, the next offset is the offset after the last committed message.
    """
    where = TopicPartition(topic, partition)
    with kafka_errors(partial(for_consumer, topic)):
        found = retry(
            lambda: ask(consumer, errors, lambda seconds: consumer.get_watermark_offsets(where, timeout=seconds)),
            _NEW,
            _NEW_SECONDS,
        )
    return int(found[0]), int(found[1])


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as its cluster describes it."""

    name: str  # the name that Kafka clients use
    partitions: int
    replicas: int  # the number of replicas of each message
    # all settings that the broker tells, such as ``retention.ms``, inherited settings included
    settings: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)  # the part of ``settings`` that was set for this topic
    # differs from the ids of former and later topics of this name; None if the broker does not have ids
    id: str | None = None
    cluster: str = ""  # the id of the topic's cluster


class Cluster:
    """The topics of a Kafka cluster. Each method raises as :func:`.clients.ask` does, and BrokerRefusedError.

    Args:
        kafka: options of the Kafka client.
        topic: the topic of the caller, for errors.
        pulsar: connects to Pulsar's registry, if any, which knows the topics of a KoP, whose cluster is Pulsar's.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str, pulsar: Connect | None = None) -> None:
        require_options(kafka, topic)
        self._pulsar = pulsar
        self._errors = ClientErrors(kafka, topic)
        self._admin = client(AdminClient, dict(kafka), topic, self._errors)

    def topic(self, name: str) -> Topic | None:
        """The topic, or None if it does not exist. Asking does not create it."""
        described = self._described(name)
        if described is None:
            return None
        replicas = max((len(partition.replicas) for partition in described.partitions), default=1)
        if self.is_kop:
            return Topic(name, len(described.partitions), replicas, self.defaults(), {}, _id(described), self._name)
        entries = self._settings(ConfigResource.Type.TOPIC, name)
        return Topic(
            name,
            len(described.partitions),
            replicas,
            {key: entry.value for key, entry in entries.items() if entry.value is not None},
            {key: entry.value for key, entry in entries.items() if _is_own(entry)},
            _id(described),
            self._name,
        )

    def id_of(self, name: str) -> tuple[bool, str | None]:
        """Whether a topic exists, and its id; None if the broker does not have ids."""
        described = self._described(name)
        return described is not None, None if described is None else _id(described)

    def brokers(self) -> int:
        """How many brokers are up."""
        return len(self._cluster.nodes)

    @cached_property
    def is_kop(self) -> bool:
        """Whether the cluster is a KoP: its id is the name of Pulsar's cluster; ids of Kafka's clusters are random.

        A KoP describes settings that are not the topic's (``cleanup.policy=compact``, ``max.message.bytes=1000012``),
        ignores settings of a new topic, and never answers a request to delete a topic. Its answers about its broker are
        true.
        """
        if self._pulsar is None or _is_made_up(self._name):
            return False
        try:
            with self._pulsar() as registry:
                return self._name in registry.clusters()
        except SchemaRegistryError as error:
            logger.warning("topic %s: not known whether its broker is a KoP: %s", self._errors.topic, error)
            return False

    def retention(self, namespace: str) -> tuple[int, int] | None:
        """The retention of a KoP's namespace: see SchemaRegistryClient.retention."""
        assert self._pulsar is not None
        with self._pulsar() as registry:
            return registry.retention(namespace)

    @cached_property
    def _cluster(self) -> Any:
        return self._ask(
            "describe the cluster",
            None,
            lambda seconds: within(self._admin.describe_cluster(request_timeout=seconds), seconds),
        )

    @property
    def _name(self) -> str:
        return self._cluster.cluster_id or ""

    def defaults(self) -> dict[str, str]:
        """The settings that a new topic inherits, as far as a broker tells them; empty without the right to ask."""
        listed = metadata(self._admin, self._errors)
        try:
            entries = self._settings(ConfigResource.Type.BROKER, str(min(listed.brokers)))
        except BrokerRefusedError:
            return {}
        found = {}
        for key, names in _INHERITED.items():
            values = [(entries[name].value, factor) for name, factor in names if name in entries]
            value, factor = next(((value, factor) for value, factor in values if value is not None), (None, 1))
            if value is not None:
                found[key] = value if factor == 1 or int(value) < 0 else str(int(value) * factor)
        return found

    def create(self, name: str, partitions: int, replicas: int, settings: Mapping[str, str]) -> bool:
        """Create a topic, and wait until its partitions can be written. False if it exists already, and is unchanged.

        Args:
            name: the name of the topic.
            partitions: the number of partitions.
            replicas: the number of replicas of each message; -1 for the broker's default.
            settings: the settings that differ from the broker's.
        """
        new = NewTopic(name, partitions, replication_factor=replicas, config=dict(settings))
        try:
            self._ask(
                f"create topic {name}",
                "CREATE on the topic",
                lambda seconds: (within(self._admin.create_topics([new], request_timeout=seconds)[name], seconds),),
            )
        except BrokerRefusedError as error:
            if _cause(error) != "TOPIC_ALREADY_EXISTS":
                raise
            return False
        self._wait_for(name, partitions)
        return True

    def delete(self, name: str, seconds: float) -> None:
        """Delete a topic, within ``seconds``; a topic that does not exist is not an error.

        Raises:
            SchemaRegistryError: Pulsar, which deletes the topics of a KoP, refuses or cannot be asked.
        """
        if self.is_kop and self._pulsar is not None:
            with self._pulsar() as registry:
                return registry.delete_topic(name)
        try:
            asked = self._admin.delete_topics([name], request_timeout=seconds, operation_timeout=seconds)
            within(asked[name], seconds)
        except KafkaException as error:
            if error.args[0].name() not in _MISSING:
                raise refused(f"delete topic {name}", "DELETE on the topic", self._errors.topic, error) from error

    def ensure(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Create a topic unless it exists; an existing topic with fewer partitions gets more."""
        if self.create(name, partitions, -1, settings):
            return
        if len(partitions_of(self._admin, self._errors, name)) < partitions:
            more = NewPartitions(name, partitions)
            self._ask(
                f"add partitions to topic {name}",
                "ALTER on the topic",
                lambda seconds: (
                    within(self._admin.create_partitions([more], request_timeout=seconds)[name], seconds),
                ),
            )

    def operations(self, name: str, seconds: float) -> frozenset[str]:
        """The operations on a topic that the user may do, as ``WRITE``; empty without an answer within ``seconds``."""
        asked = self._admin.describe_topics(
            _collection(name), include_authorized_operations=True, request_timeout=seconds
        )
        try:
            found = within(asked[name], seconds).authorized_operations
        except KafkaException:
            found = None
        return frozenset(operation.name for operation in found or ())

    def _wait_for(self, name: str, partitions: int) -> None:
        """Wait for a new topic: brokers learn of it one after the other, and its leaders are elected a little later."""
        until = time.monotonic() + _READY_SECONDS
        while time.monotonic() < until:
            found = self._described(name)
            if found is not None and sum(_has_leader(partition) for partition in found.partitions) == partitions:
                return
            time.sleep(0.05)
        raise BrokerRefusedError(
            f"topic {name} was created, but not all of its {partitions} partitions had a leader within "
            f"{_READY_SECONDS:.0f} s",
            topic=self._errors.topic,
            hint="run the command again when all brokers are up",
        )

    def _described(self, name: str) -> Any:
        """The description of a topic, or None; unlike a request for metadata, this does not create the topic."""
        try:
            return self._ask(
                f"describe topic {name}",
                "DESCRIBE on the topic",
                lambda seconds: within(
                    self._admin.describe_topics(_collection(name), request_timeout=seconds)[name], seconds
                ),
            )
        except BrokerRefusedError as error:
            if _cause(error) not in _MISSING:
                raise
            return None

    def _settings(self, kind: Any, name: str) -> Mapping[str, Any]:
        resource = ConfigResource(kind, name)
        of = "topic" if kind == ConfigResource.Type.TOPIC else "broker"
        found = self._ask(
            f"read the settings of {of} {name}",
            "DESCRIBE_CONFIGS on the topic" if of == "topic" else None,
            lambda seconds: within(
                self._admin.describe_configs([resource], request_timeout=seconds)[resource], seconds
            ),
        )
        return dict(found)

    def _ask(self, doing: str, right: str | None, question: Callable[[float], Any]) -> Any:
        with kafka_errors(lambda error: refused(doing, right, self._errors.topic, error)):
            return ask(self._admin, self._errors, question)


def _collection(name: str) -> Any:
    from confluent_kafka import TopicCollection  # since 2.3; all else here is older

    return TopicCollection([name])


def _id(described: Any) -> str | None:
    """The id of a described topic; None for zeros, which KoP and brokers before Kafka 2.8 answer."""
    found = described.topic_id
    return str(found) if found.get_most_significant_bits() or found.get_least_significant_bits() else None


def refused(doing: str, right: str | None, topic: str, error: KafkaException) -> BrokerRefusedError:
    """The error of a refused request; the hint names the ``right`` if the user lacks this right."""
    fault: KafkaError = error.args[0]
    rights = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    hint = f"the user needs the right {right}" if right is not None and fault.code() in rights else None
    return BrokerRefusedError(f"cannot {doing}: {fault.str()} ({fault.name()})", topic=topic, hint=hint)


def for_consumer(topic: str, error: KafkaException) -> KafkaException:
    """BrokerRefusedError, with its cause, if the user may not consume from the topic; otherwise ``error`` itself."""
    if error.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
        return error
    refusal = refused("consume", "to consume from the topic", topic, error)
    refusal.__cause__ = error
    return refusal


def _cause(error: BrokerRefusedError) -> str | None:
    cause = error.__cause__
    return cause.args[0].name() if isinstance(cause, KafkaException) else None


def _is_made_up(cluster: str) -> bool:
    """Whether the id is sixteen bytes in base64, as Kafka's tools make ids: 22 letters with four free bits."""
    return _SIXTEEN_BYTES.fullmatch(cluster) is not None


def _has_leader(partition: Any) -> bool:
    return partition.leader is not None and partition.leader.id >= 0


def _is_own(entry: Any) -> bool:
    """Whether a setting was set for the topic; some versions of the client give the source as a number."""
    return entry.value is not None and entry.source in (
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
        ConfigSource.DYNAMIC_TOPIC_CONFIG.value,
    )
