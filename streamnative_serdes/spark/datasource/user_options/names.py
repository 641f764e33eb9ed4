"""Names of the data source's and the Kafka client's options: which are refused and why, and what is meant by others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from streamnative_serdes._config import LIBRDKAFKAS, client_knows
from streamnative_serdes._nearest import nearest
from streamnative_serdes.errors import ConfigError

Use: TypeAlias = Literal["read", "write"]
_ALIKE: Final = 0.75  # below it, the nearest name is probably not what was meant

FORMAT: Final = "streamnative-kafka"

STRATEGIES: Final = ("assign", "subscribe", "subscribePattern")
STARTS: Final = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
ENDS: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
TRIGGER: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")

# Options that have a meaning when a topic is read, as users write them; Spark ignores their case.
READING: Final = (
    *STRATEGIES,
    *STARTS,
    "startingOffsetsByTimestampStrategy",
    *ENDS,
    "minPartitions",
    "maxRecordsPerPartition",
    *TRIGGER,
    "failOnDataLoss",
    "includeHeaders",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "decode",
    "columns",
    "keep",
    "mode",
    "errorColumn",
    "schemaEvolution",
    "reader.schema",
    "reader.schemas",
)
# Options that have a meaning when a topic is written.
WRITING: Final = (
    "topic",
    "encode",
    "schema",
    "keep",
    "dedupHeaders",
    "delivery",
)
# Options that Spark itself adds, such as the checkpoint of a stream; they have no effect here.
SPARKS: Final = ("path", "checkpointLocation", "queryName", "provider")

# Options of the Kafka client that Spark's own Kafka source refuses too, and why.
REFUSED: Final[Mapping[str, str]] = {
    "auto.offset.reset": "startingOffsets says where to start, and Spark stores how far a query has read",
    "enable.auto.commit": "offsets are stored in Spark's checkpoint and never committed to Kafka",
    "enable.auto.offset.store": "offsets are stored in Spark's checkpoint and never committed to Kafka",
    "key.deserializer": "keys are read as bytes; convert them with DataFrame operations",
    "value.deserializer": "values are read as bytes, or into columns with decode=true",
    "key.serializer": "keys are written as bytes or strings; convert them with DataFrame operations",
    "value.serializer": "values are written as bytes or strings, or from columns",
    "interceptor.classes": "interceptors are Java classes, and could change messages",
    "enable.partition.eof": "the source sets it itself",
    "partition.assignment.strategy": "the source assigns partitions to tasks itself",
    "group.instance.id": "the source assigns partitions to tasks itself",
    "partitioner.class": "partitioners are Java classes; use the column partition, or kafka.partitioner",
    "transactional.id": "use delivery=transactional, which sets one for each task",
}


_RENAMED: Final[Mapping[str, str]] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
# Java's names for what librdkafka calls otherwise.
RENAMED: Final[Mapping[Use, Mapping[str, str]]] = {
    "read": {**_RENAMED, "request.timeout.ms": "socket.timeout.ms"},
    "write": {
        **_RENAMED,
        "buffer.memory": "queue.buffering.max.kbytes",
        "max.request.size": "message.max.bytes",
    },
}
# Java's names for stores, which become other options of librdkafka.
STORES: Final = frozenset(
    {
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
# Java's options that librdkafka has nothing for, and what to do instead.
JAVAS: Final[Mapping[str, str]] = {
    "default.api.timeout.ms": "use kafka.socket.timeout.ms",
    "exclude.internal.topics": "librdkafka has no such option",
    "max.block.ms": "tasks wait for kafka.delivery.timeout.ms",
    "max.poll.records": "the source takes messages in large batches itself",
    "metric.reporters": "metric reporters are Java classes",
    "sasl.client.callback.handler.class": "callback handlers are Java classes",
    "sasl.login.callback.handler.class": "callback handlers are Java classes; librdkafka has its own OIDC login: "
    "kafka.sasl.oauthbearer.method=oidc",
    "sasl.login.class": "logins are Java classes",
    "security.providers": "security providers are Java classes",
    "ssl.enabled.protocols": "OpenSSL negotiates the newest protocol that both sides have",
    "ssl.engine.factory.class": "engine factories are Java classes",
    "ssl.keymanager.algorithm": "librdkafka uses OpenSSL",
    "ssl.protocol": "OpenSSL negotiates the newest protocol that both sides have",
    "ssl.provider": "librdkafka uses OpenSSL",
    "ssl.secure.random.implementation": "librdkafka uses OpenSSL",
    "ssl.trustmanager.algorithm": "librdkafka uses OpenSSL",
}


def refuse_unknown(given: Iterable[str], others: Mapping[str, str]) -> None:
    """Refuse an option of the client that neither librdkafka nor Java's client has; the hint has the nearest one.

    Args:
        given: names without ``kafka.``.
        others: all other options, as users write them, by lower-case name.
    """
    javas = {name for names in RENAMED.values() for name in names} | STORES | JAVAS.keys() | REFUSED.keys()
    known = LIBRDKAFKAS | javas
    for name in given:
        if name not in known and not client_knows(name):
            raise ConfigError(f"unknown option {f'kafka.{name}'[:100]!r}", hint=_hint(name, known, others))


def _hint(name: str, known: Iterable[str], others: Mapping[str, str]) -> str:
    if name in others:
        return f"{others[name]} is no option of the Kafka client; leave out kafka."
    return suggestion(name, {each: f"kafka.{each}" for each in known}, "librdkafka's CONFIGURATION.md lists them")


def suggestion(name: str, known: Mapping[str, str], lists: str) -> str:
    """The hint about an unknown option: the nearest one of ``known``, as it is shown, and where they are listed."""
    near = nearest(name, known, _ALIKE)
    if near is not None:
        return f"did you mean {known[near]}?"
    return f"the nearest one is {known[nearest(name, known, 0.0) or next(iter(known))]}; {lists}"
