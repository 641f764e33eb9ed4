"""The Kafka client's configuration: Java's names and defaults, as Spark's options have them, to those of librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

from .jaas import from_jaas
from .options import Options, Use
from .secrets import resolved
from .stores import from_stores

# Java's names for what librdkafka calls otherwise.
_RENAMED: Final[Mapping[str, str]] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_RENAMED_FOR: Final[Mapping[Use, Mapping[str, str]]] = {
    "read": {**_RENAMED, "request.timeout.ms": "socket.timeout.ms"},
    "write": {**_RENAMED, "buffer.memory": "queue.buffering.max.kbytes"},
}
# Java's options that librdkafka has nothing for, and what to do instead.
_JAVAS: Final[Mapping[str, str]] = {
    "default.api.timeout.ms": "use kafka.socket.timeout.ms",
    "exclude.internal.topics": "librdkafka has no such option",
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
# Where librdkafka's defaults differ from those of Java's clients, as Spark's own Kafka source has them.
_DEFAULTS: Final[Mapping[Use, Mapping[str, str]]] = {
    "read": {"isolation.level": "read_uncommitted", "check.crcs": "true"},
    "write": {"partitioner": "murmur2_random"},
}


def client_config(options: Options) -> dict[str, Any]:
    """The configuration of a Kafka client for these options, with references resolved in this process.

    Raises:
        ConfigError: an option of Java's client that librdkafka has nothing for, a store that cannot be read, or a
            reference that cannot be resolved. No error shows a secret.
    """
    names = _RENAMED_FOR[options.use]
    given: dict[str, str] = dict(_DEFAULTS[options.use])
    for name, value in options.kafka.items():
        if name in _JAVAS:
            raise ConfigError(f"the option kafka.{name} of Java's client has no effect here", hint=_JAVAS[name])
        given[names.get(name, name)] = _converted(name, resolved(f"kafka.{name}", value))
    jaas = given.pop("sasl.jaas.config", None)
    return from_stores(given if jaas is None else given | from_jaas(jaas))


def _converted(name: str, value: str) -> str:
    if name == "ssl.endpoint.identification.algorithm":
        return value.strip() or "none"  # Java's way to turn it off is an empty text
    if name in ("receive.buffer.bytes", "send.buffer.bytes") and value.strip() == "-1":
        return "0"  # the default of the operating system
    if name == "buffer.memory":
        if not value.strip().isdigit():
            raise ConfigError(f"kafka.buffer.memory: expected a number of bytes, got {value!r:.80}")
        return str(max(int(value) // 1024, 1))
    return value
