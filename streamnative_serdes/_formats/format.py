"""The contract of a format: how values of one schema become the payload of a message, and payloads become values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Unpack

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import Schema
from streamnative_serdes.codec import Codec


class Format(Protocol):
    """The payload format of one schema, without framing. Immutable, so threads may share it."""

    @property
    def type(self) -> str:
        """Pulsar's SchemaType, such as ``INT32`` or ``JSON``."""

    @property
    def native(self) -> Any:
        """The schema in the form of its own library.

        The parsed JSON of an Avro schema for AVRO and JSON, a protobuf Descriptor for PROTOBUF_NATIVE, else None.
        """

    def decode(self, data: bytes) -> Any:
        """Return the value in ``data``; every byte has to be part of the value.

        Raises:
            DecodeError: the bytes do not fit; ``path`` names the field, and ``offset`` the byte, if the byte is known.
        """

    def encode(self, obj: Any) -> bytes:
        """Return the payload for ``obj``. Raises EncodeError: the object does not fit; ``path`` names the field."""


@dataclass(frozen=True, slots=True)
class PrimitiveFormat:
    """A format without a schema: two functions."""

    type: str
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    native: None = field(default=None, init=False)


class AvroFormat:
    """The format of an Avro schema.

    Raises:
        SchemaError: the schema cannot be compiled.
    """

    type: Final = "AVRO"

    def __init__(self, schema: Schema, **options: Unpack[CodecArguments]) -> None:
        self.schema = schema
        self._codec = Codec(schema, **options)
        self.decode = self._codec.decode
        self.encode = self._codec.encode

    @property
    def native(self) -> Any:
        """The parsed JSON of the schema's text; a new object each time, since callers may change it."""
        return json.loads(self.schema.text)
