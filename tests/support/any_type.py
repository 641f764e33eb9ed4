"""Schemas of any type on topics of a LocalRegistry, and messages of clients as their attributes show them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import requests
from consumed import Message

from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry


def register(
    registry: LocalRegistry, topic: str, kind: str, schema: Any = "", properties: dict[str, str] | None = None
) -> int:
    """Register a schema, and return its version. ``schema`` is text, or an Avro schema."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    url = f"{registry.url}/admin/v2/schemas/public/default/{topic}/schema"
    answer = requests.post(url, json={"type": kind, "schema": text, "properties": properties or {}}, timeout=10)
    answer.raise_for_status()
    version: int = answer.json()["version"]["version"]
    return version


def delete(registry: LocalRegistry, topic: str = "t", *, force: bool = True) -> None:
    """Delete a topic's schemas: ``force`` as if there had never been any, else by a version of its own."""
    url = f"{registry.url}/admin/v2/schemas/public/default/{topic}/schema"
    requests.delete(url, params={"force": str(force).lower()}, timeout=10).raise_for_status()


def header(version: int) -> bytes:
    return b"\x03\x04" + version.to_bytes(8, "big")


def framed(version: int, schema: Any, datum: Any) -> bytes:
    return header(version) + Codec(schema).encode(datum)


@dataclass
class KafkaMessage:
    """As kafka-python's and aiokafka's."""

    value: bytes | None
    topic: str = "users"
    key: bytes | None = None
    headers: Any = None
    partition: int = 0
    offset: int = 7


def confluent_message(message: KafkaMessage, error: Any = None) -> Message:
    """As confluent-kafka's, whose parts are methods."""
    return Message(**vars(message), error=error)


class PulsarMessage:
    """As pulsar-client's: it decodes the bytes of key and version as UTF-8, and a null is empty."""

    def __init__(
        self,
        data: bytes | None,
        topic: str = "users",
        version: int | None = None,
        partition_key: str = "",
        producer: str = "standalone-0-1",
        time: int = 0,
    ) -> None:
        self._data, self._topic, self._version, self._key = data, topic, version, partition_key
        self._producer, self._time = producer, time

    def data(self) -> bytes:
        return self._data or b""

    def value(self) -> Any:
        raise AssertionError("this would read it by pulsar-client's own schema")

    def has_null_value(self) -> bool:
        return self._data is None

    def topic_name(self) -> str:
        return f"persistent://public/default/{self._topic}"

    def properties(self) -> dict[str, str]:
        return {"a": "b"}

    def partition_key(self) -> str:
        return self._key

    def ordering_key(self) -> str:
        return ""

    def producer_name(self) -> str:
        return self._producer

    def event_timestamp(self) -> int:
        return self._time

    def schema_version(self) -> str:
        return "" if self._version is None else self._version.to_bytes(8, "big").decode()
