"""The Kafka client's configuration: Java's names and defaults, as in Spark's options, become those of librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

from .client_names import JAVAS, RENAMED
from .jaas import from_jaas
from .names import Use
from .options import Options
from .secrets import is_reference, resolved
from .stores import from_stores

# Where librdkafka's defaults differ from those of Java's clients, as Spark's own Kafka source has them.
_DEFAULTS: Final[Mapping[Use, Mapping[str, str]]] = {
    "read": {"isolation.level": "read_uncommitted", "check.crcs": "true"},
    "write": {"partitioner": "murmur2_random"},
}


def is_fixed(options: Options) -> bool:
    """Whether :func:`client_config` is the same in all processes: it reads no environment variable and no file."""
    return not any(
        is_reference(value) or name.startswith(("ssl.keystore.", "ssl.truststore."))
        for name, value in options.kafka.items()
    )


def client_config(options: Options) -> dict[str, Any]:
    """The configuration of a Kafka client for these options, with references resolved in this process.

    Raises:
        ConfigError: an option of Java's client that librdkafka does not have, a store that cannot be read, or a
            reference that cannot be resolved. Errors do not show secrets.
    """
    names = RENAMED[options.use]
    given: dict[str, str] = dict(_DEFAULTS[options.use])
    for name, value in options.kafka.items():
        if name in JAVAS:
            raise ConfigError(f"the option kafka.{name} of Java's client has no effect here", hint=JAVAS[name])
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
