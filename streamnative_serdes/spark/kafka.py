"""Kafka's clients, made of a configuration that may be wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from streamnative_serdes.errors import ConfigError

_Client = TypeVar("_Client")


def made(kind: Callable[[dict[str, Any]], _Client], conf: dict[str, Any], topic: str) -> _Client:
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
