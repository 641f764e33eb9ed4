"""Messages as confluent-kafka's consumers give them: only its recent versions let a test create one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def _part(name: str) -> Callable[[Message], Any]:
    return lambda message: message._parts[name]


class Message:
    """Stands in for confluent_kafka.Message, whose parts are methods of the class."""

    def __init__(
        self,
        value: Any = None,
        key: Any = None,
        headers: Any = None,
        *,
        topic: Any = "t",
        partition: Any = 0,
        offset: Any = 0,
        timestamp: Any = (1, 1_000),
        error: Any = None,
    ) -> None:
        self._parts = {"value": value, "key": key, "headers": headers, "topic": topic}
        self._parts |= {"partition": partition, "offset": offset, "timestamp": timestamp, "error": error}

    value, key, headers, topic = _part("value"), _part("key"), _part("headers"), _part("topic")
    partition, offset, timestamp, error = _part("partition"), _part("offset"), _part("timestamp"), _part("error")


def with_serdes(conf: Mapping[str, Any], **serdes: Any) -> dict[str, Any]:
    """A client's options, with ``serializer`` or ``deserializer`` of values in place of the options of its registry."""
    plain = {name: value for name, value in conf.items() if name != "schema.registry.url"}
    return plain | {f"value.{kind}": made for kind, made in serdes.items()}


def delivered(produced: Mapping[str, Any], partition: int = 0, offset: int = 0) -> Message:
    """The message that a producer's arguments become."""
    parts = {name: produced.get(name) for name in ("value", "key", "headers")}
    timestamp = (1, produced["timestamp"]) if "timestamp" in produced else (0, -1)
    return Message(**parts, partition=partition, offset=offset, timestamp=timestamp)
