"""Names of the data source's and the Kafka client's options: which are refused and why, and what is meant by others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

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


# Those of librdkafka 2.16. They are only suggested: a newer client is asked about names that are not among them.
_LIBRDKAFKA: Final = """
acks allow.auto.create.topics api.version.fallback.ms api.version.request api.version.request.timeout.ms
auto.commit.enable auto.commit.interval.ms auto.offset.reset batch.num.messages batch.size bootstrap.servers
broker.address.family broker.address.ttl broker.version.fallback builtin.features check.crcs client.dns.lookup
client.id client.rack client.software.name client.software.version compression.codec compression.level
compression.type connections.max.idle.ms consume.callback.max.messages coordinator.query.interval.ms debug
delivery.timeout.ms enable.auto.commit enable.auto.offset.store enable.gapless.guarantee enable.idempotence
enable.metrics.push enable.partition.eof enable.random.seed enable.sasl.oauthbearer.unsecure.jwt
enable.sparse.connections enable.ssl.certificate.verification fetch.error.backoff.ms fetch.max.bytes
fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id
group.protocol group.protocol.type group.remote.assignor heartbeat.interval.ms https.ca.location https.ca.pem
isolation.level linger.ms log.connection.close log.queue log.thread.name log_level max.in.flight
max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records
message.copy.max.bytes message.max.bytes message.send.max.retries message.timeout.ms metadata.broker.list
metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metadata.request.timeout.ms
offset.store.method offset.store.path offset.store.sync.interval.ms partition.assignment.strategy partitioner
plugin.library.paths produce.offset.report queue.buffering.backpressure.threshold queue.buffering.max.kbytes
queue.buffering.max.messages queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy
receive.message.max.bytes reconnect.backoff.jitter.ms reconnect.backoff.max.ms reconnect.backoff.ms
request.required.acks request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms sasl.jaas.config
sasl.kerberos.keytab sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.principal
sasl.kerberos.service.name sasl.mechanism sasl.mechanisms sasl.oauthbearer.assertion.algorithm
sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.jwt.template.file
sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.client.credentials.client.id
sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.client.id sasl.oauthbearer.client.secret
sasl.oauthbearer.config sasl.oauthbearer.extensions sasl.oauthbearer.grant.type
sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.method sasl.oauthbearer.scope
sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url sasl.password sasl.username security.protocol
session.timeout.ms share.acknowledgement.mode socket.blocking.max.ms socket.connection.setup.timeout.ms
socket.keepalive.enable socket.max.fails socket.nagle.disable socket.receive.buffer.bytes socket.send.buffer.bytes
socket.timeout.ms ssl.ca.certificate.stores ssl.ca.location ssl.ca.pem ssl.certificate.location ssl.certificate.pem
ssl.cipher.suites ssl.crl.location ssl.curves.list ssl.endpoint.identification.algorithm ssl.engine.id
ssl.engine.location ssl.key.location ssl.key.password ssl.key.pem ssl.keystore.location ssl.keystore.password
ssl.providers ssl.sigalgs.list ssl.truststore.location statistics.interval.ms sticky.partitioning.linger.ms
test.mock.broker.rtt test.mock.num.brokers topic.blacklist topic.metadata.propagation.max.ms
topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms
topic.metadata.refresh.sparse transaction.timeout.ms transactional.id
"""
LIBRDKAFKAS: Final = frozenset(_LIBRDKAFKA.split())
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


def client_knows(name: str) -> bool:
    """Whether the installed client has an option of this name."""
    from confluent_kafka import KafkaException, Producer

    try:
        Producer({name: "", "log_level": 0})
    except KafkaException as error:
        return "No such configuration property" not in error.args[0].str()
    except (TypeError, ValueError):  # an option of Python's client, whose value is no text
        return True
    return True
