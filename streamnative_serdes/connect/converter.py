"""Converter: Connect's data to bytes of messages and back, as in Kafka's ``org.apache.kafka.connect.storage``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from .schema import Schema
from .values import SchemaAndValue


class Converter(ABC):
    """Writes data with its schema to bytes, and reads them back."""

    @abstractmethod
    def configure(self, config: Mapping[str, Any], is_key: bool = False) -> None:
        """Set the options; unknown options are ignored, since workers pass all of their own.

        Raises:
            ConfigError: an option has an invalid value.
        """

    @abstractmethod
    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Write a value.

        Args:
            topic: the Kafka topic.
            schema: of the value; None for data without a schema.
            value: None with no schema is a tombstone.

        Returns:
            the message; None for a tombstone.

        Raises:
            EncodeError: the value does not fit the schema; ``path`` names the field.
        """

    @abstractmethod
    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """Read a message.

        Raises:
            DecodeError: the bytes are not such a message; ``path`` names the field.
        """
