"""Format: how the data of one schema is written as bytes and read from them."""

from __future__ import annotations

from typing import Any, Protocol


class Format(Protocol):
    """Writes and reads messages of one schema. Immutable, so threads share it.

    ``type`` is Pulsar's SchemaType. ``native`` is the schema in the form of its own library: for AVRO and JSON the
    parsed JSON of an Avro schema, for PROTOBUF_NATIVE a descriptor, and None for primitive types.
    """

    @property
    def type(self) -> str: ...

    @property
    def native(self) -> Any: ...

    def decode(self, data: bytes) -> Any:
        """What all of ``data`` holds. Raises DecodeError with path and byte."""

    def encode(self, obj: Any) -> bytes:
        """Raises EncodeError with the path of what does not fit."""
