"""Kafka's clients, made of a configuration that may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from streamnative_serdes.errors import ConfigError

_Client = TypeVar("_Client")


def require_options(kafka: Any, topic: str) -> None:
    """Raises: ConfigError: it is no dict of options."""
    if not isinstance(kafka, Mapping):
        raise ConfigError(
            f"expected the Kafka client's options as a dict, got {type(kafka).__name__}",
            topic=topic,
            hint='{"bootstrap.servers": "localhost:9092"}',
        )


def client(kind: Callable[[dict[str, Any]], _Client], conf: dict[str, Any], topic: str) -> _Client:
    """A client of this kind.

    Raises:
        ConfigError: it refuses the configuration.
    """
    from confluent_kafka import KafkaException

    try:
        return kind(conf)
    except KafkaException as error:
        reason = error.args[0].str()
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise ConfigError(f"the Kafka client refuses its configuration: {reason}", topic=topic)
