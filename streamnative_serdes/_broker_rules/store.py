"""The registry's data: tenants, namespaces, topics, their strategies and schema versions; no HTTP.

All changes happen under one lock, so that concurrent registrations of one schema result in one version.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from typing import Final

from .compatibility import STRATEGIES
from .schema_checks import check_compatible, find, find_exact, validate
from .schema_data import SchemaData

DEFAULT_STRATEGY: Final = "FULL"
_PARTITION = re.compile(r"-partition-(0|[1-9]\d*)")


class NotFoundError(Exception):
    """Status 404; the text is the broker's reason."""


class ConflictError(Exception):
    """Status 409 of an endpoint other than those for schemas; the text is the broker's reason."""


class PreconditionError(Exception):
    """Status 412; the text is the broker's reason."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored version; ``data`` is None for the tombstone of a soft delete. ``timestamp`` in ms since 1970, UTC."""

    version: int
    data: SchemaData | None
    timestamp: int


def split_partition(local: str) -> tuple[str, int | None]:
    """A topic's local name without ``-partition-N``, and N: schemas belong to the topic, not to its partitions.

    N must be written as Java writes it: ``x-partition-03`` is a topic, not a partition.
    """
    name, partition, number = local.rpartition("-partition-")
    if not name or not _PARTITION.fullmatch(partition + number):
        return local, None
    return name, int(number)


def namespace_of(topic: str) -> str:
    """``tenant/namespace`` of a topic, whose local name may contain slashes."""
    return "/".join(topic.split("/", 2)[:2])


class Store:
    """Topics are named ``tenant/namespace/topic``, namespaces ``tenant/namespace``."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._namespaces: dict[str, set[str]] = {"public": {"default"}, "pulsar": {"system"}}
        self._topics: dict[str, int] = {}  # how many partitions; 0: not partitioned
        self._partitions: dict[str, set[int]] = {}  # partitions that are not deleted
        self._strategies: dict[str, str] = {}
        self._entries: dict[str, list[Entry]] = {}
        self._last_timestamp = 0

    # Schemas

    def register(self, topic: str, data: SchemaData) -> int:
        """Register a schema and return its version. A known schema keeps its version under any strategy.

        Raises:
            InvalidDataError, IncompatibleError, BrokerError: the broker refuses it.
        """
        validate(data)
        with self._lock:
            live = self._live(topic)
            schemas = [entry.data for entry in live if entry.data]
            known = find(data, schemas)
            if known is not None:
                return live[known].version
            check_compatible(self.strategy_in_force(topic), data, schemas)
            return self._append(topic, data)

    def check(self, topic: str, data: SchemaData) -> str:
        """Check whether ``data`` could be registered, and return the strategy in force.

        Raises:
            InvalidDataError, IncompatibleError, BrokerError: ``data`` would be refused.
        """
        validate(data)
        with self._lock:
            strategy = self.strategy_in_force(topic)
            check_compatible(strategy, data, [entry.data for entry in self._live(topic) if entry.data])
            return strategy

    def find_exact(self, topic: str, data: SchemaData) -> int:
        """The version with exactly this text; -1 without such a version."""
        live = self.versions(topic)
        position = find_exact(data, [entry.data for entry in live if entry.data])
        return -1 if position is None else live[position].version

    def versions(self, topic: str) -> list[Entry]:
        """All versions since the last deletion, oldest first."""
        with self._lock:
            return self._live(topic)

    def get(self, topic: str, version: int | None = None) -> Entry:
        """One version, or the latest.

        Raises:
            NotFoundError: the version does not exist, or was deleted.
        """
        for entry in reversed(self.versions(topic)):
            if version is None or entry.version == version:
                return entry
        raise NotFoundError("Schema not found")

    def delete(self, topic: str) -> int:
        """Soft delete: a tombstone hides all versions and takes a version number, which is returned."""
        with self._lock:
            return self._append(topic, None)

    def delete_forever(self, topic: str) -> None:
        """Delete all schemas; versions start at 0 again."""
        with self._lock:
            self._entries.pop(topic, None)

    def _live(self, topic: str) -> list[Entry]:
        entries = self._entries.get(topic, [])
        tombstones = [position for position, entry in enumerate(entries) if entry.data is None]
        return entries[tombstones[-1] + 1 :] if tombstones else list(entries)

    def _append(self, topic: str, data: SchemaData | None) -> int:
        entries = self._entries.setdefault(topic, [])
        version = entries[-1].version + 1 if entries else 0
        if data and data.type == "BYTES":  # the broker stores BYTES as NONE
            data = SchemaData("NONE", data.text, data.properties)
        # Strictly increasing, so that a topic recreated within one millisecond can be told apart.
        self._last_timestamp = max(self._last_timestamp + 1, time.time_ns() // 1_000_000)
        entries.append(Entry(version, data, self._last_timestamp))
        return version

    # Strategies

    def strategy(self, name: str) -> str | None:
        """The strategy set for a topic or a namespace, or None."""
        with self._lock:
            return self._strategies.get(name)

    def set_strategy(self, name: str, strategy: str | None) -> None:
        """Set the strategy of a topic or a namespace; None and UNDEFINED unset it.

        Raises:
            ValueError: the strategy does not exist.
        """
        if strategy is not None and strategy not in STRATEGIES:
            raise ValueError(f"strategy: expected one of {', '.join(STRATEGIES)}, got {strategy!r}")
        with self._lock:
            self._strategies.pop(name, None)
            if strategy not in (None, "UNDEFINED"):
                self._strategies[name] = str(strategy)

    def strategy_in_force(self, topic: str) -> str:
        """The topic's strategy, else its namespace's, else the broker's default."""
        return self.strategy(topic) or self.strategy(namespace_of(topic)) or DEFAULT_STRATEGY

    # Tenants, namespaces, topics

    def tenants(self) -> list[str]:
        with self._lock:
            return sorted(self._namespaces)

    def add_tenant(self, tenant: str) -> None:
        with self._lock:
            if tenant in self._namespaces:
                raise ConflictError("Tenant already exist")
            self._namespaces[tenant] = set()

    def namespaces(self, tenant: str) -> list[str]:
        with self._lock:
            if tenant not in self._namespaces:
                raise NotFoundError("Tenant not found")
            return sorted(f"{tenant}/{name}" for name in self._namespaces[tenant])

    def add_namespace(self, tenant: str, name: str) -> None:
        with self._lock:
            self.need_tenant(tenant)
            if name in self._namespaces[tenant]:
                raise ConflictError("Namespace already exists")
            self._namespaces[tenant].add(name)

    def delete_namespace(self, namespace: str) -> None:
        """Delete a namespace without topics. Schemas of topics that were never created stay, as in the broker."""
        self.need_namespace(namespace)
        tenant, _, name = namespace.partition("/")
        with self._lock:
            if any(namespace_of(topic) == namespace for topic in self._topics):
                raise ConflictError("Cannot delete non empty namespace")
            self._namespaces[tenant].discard(name)
            self.set_strategy(namespace, None)

    def need_tenant(self, tenant: str) -> None:
        """Raises NotFoundError if the tenant does not exist."""
        with self._lock:
            if tenant not in self._namespaces:
                raise NotFoundError("Tenant does not exist")

    def need_namespace(self, namespace: str, reason: str = "Namespace does not exist") -> None:
        """Raises NotFoundError with ``reason`` if the namespace does not exist."""
        tenant, _, name = namespace.partition("/")
        with self._lock:
            if name not in self._namespaces.get(tenant, ()):
                raise NotFoundError(reason)

    def topics(self, namespace: str) -> list[str]:
        """Full names of the topics without partitions and of all partitions, in order."""
        with self._lock:
            counts = {topic: count for topic, count in self._topics.items() if namespace_of(topic) == namespace}
            partitions = [f"{topic}-partition-{number}" for topic in counts for number in self._partitions[topic]]
        alone = [topic for topic, count in counts.items() if not count]
        return sorted(f"persistent://{name}" for name in alone + partitions)

    def partitioned_topics(self, namespace: str) -> list[str]:
        """Full names of the topics that have partitions, in order."""
        with self._lock:
            own = [topic for topic, count in self._topics.items() if count and namespace_of(topic) == namespace]
        return sorted(f"persistent://{name}" for name in own)

    def need_topic(self, topic: str) -> None:
        """Raises NotFoundError if the topic was never created, or was deleted."""
        with self._lock:
            if topic not in self._topics:
                raise NotFoundError(f"Topic persistent://{topic} not found")

    def add_topic(self, topic: str, partitions: int = 0) -> None:
        self.need_namespace(namespace_of(topic), "Namespace not found")
        with self._lock:
            if topic in self._topics:
                raise ConflictError("This topic already exists")
            self._topics[topic] = partitions
            self._partitions[topic] = set(range(partitions))

    def add_partition(self, topic: str, digits: str) -> None:
        """Recreate a deleted partition.

        Raises:
            PreconditionError: the topic has no such partition.
        """
        self.need_namespace(namespace_of(topic), "Namespace not found")
        local = topic.split("/", 2)[2]
        number = int(digits)
        words = f'Can\'t create topic {local}-partition-{digits} with "-partition-" followed by'
        with self._lock:
            count = self._topics.get(topic, 0)
            if not count:
                raise PreconditionError(f"{words} numeric value if there isn't a partitioned topic {local} created.")
            if number >= count:
                raise PreconditionError(
                    f"{words} a number smaller than number of partition of partitioned topic {local}"
                )
            if number in self._partitions[topic]:
                raise ConflictError("This topic already exists")
            self._partitions[topic].add(number)

    def delete_partition(self, topic: str, number: int) -> None:
        """Delete one partition; the schemas belong to the topic and stay."""
        with self._lock:
            if number not in self._partitions.get(topic, ()):
                raise NotFoundError(f"Topic persistent://{topic}-partition-{number} not found")
            self._partitions[topic].discard(number)

    def delete_topic(self, topic: str) -> None:
        """Delete a non-partitioned topic and its schemas; these are deleted even if the topic was never created."""
        with self._lock:
            partitions = self._topics.get(topic)
            if partitions:
                raise ConflictError(
                    f"persistent://{topic} is a partitioned topic, instead of calling delete topic, "
                    "please call delete-partitioned-topic."
                )
            self._drop(topic)
            if partitions is None:
                raise NotFoundError(f"Topic persistent://{topic} not found")

    def delete_partitioned_topic(self, topic: str) -> None:
        """Delete a partitioned topic and its schemas."""
        with self._lock:
            if self._topics.get(topic) == 0:
                raise ConflictError(
                    f"persistent://{topic} is a non-partitioned topic. "
                    "Instead of calling delete-partitioned-topic please call delete."
                )
            if not self._topics.get(topic):
                raise NotFoundError(f"Topic persistent://{topic} not found.")
            self._drop(topic)

    def _drop(self, topic: str) -> None:
        self._topics.pop(topic, None)
        self._partitions.pop(topic, None)
        self._strategies.pop(topic, None)
        self.delete_forever(topic)
