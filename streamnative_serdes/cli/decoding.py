"""Decoding for people: the value of a message as JSON, and by which framing and schema version it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes import KafkaAvroDeserializer, header
from streamnative_serdes._call_path import LATEST
from streamnative_serdes._config import DESERIALIZER_OPTIONS, CodecArguments, codec_arguments
from streamnative_serdes._lifecycle import policy_of
from streamnative_serdes._reading.attempts import Attempt
from streamnative_serdes._reading.policy import ReadPolicy
from streamnative_serdes._schema import Schema
from streamnative_serdes.codec import Codec

from .avro_json import JsonWriter
from .options import Connection

_FRAMED, _BARE = "snip42", "headerless"
# How data must look for avro_json, and that each message is shown by the schema it was written with.
_RAW: Final = {
    "avro.logical.types": False,
    "return.record.name": True,
    "use.latest.version": False,
    "reader.schema.policy": None,
    "reader.schema.incompatible": None,
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A message's value and how it was read.

    Args:
        framing: ``snip42``, ``headerless``; None for a tombstone.
        version: of the schema that read it; None for a tombstone.
        value: JSON.
        header_version: the version that the header names, if another schema has read the message.
    """

    framing: str | None
    version: int | None
    value: Any
    header_version: int | None = None

    def members(self) -> dict[str, Any]:
        """The members of a line."""
        more = {} if self.header_version is None else {"header_version": self.header_version}
        return {"framing": self.framing, "version": self.version, **more, "value": self.value}


def apparent(data: bytes | None) -> dict[str, Any]:
    """The framing and version that a message which cannot be read seems to have, as members of a line."""
    version = None if data is None else header.read(data)
    return {"framing": None if version is None else _FRAMED, "version": version}


class _NotingPolicy(ReadPolicy):
    """Notes by which attempt a message was read where its header did not decide."""

    fallback: tuple[int, Attempt] | None = None

    def warn(self, topic: str, in_header: int, why: str, used: int, attempt: Attempt) -> None:
        self.fallback = used, attempt
        super().warn(topic, in_header, why, used, attempt)


class _Deserializer(KafkaAvroDeserializer):
    POLICY = _NotingPolicy


class MessageDecoder:
    """Decodes messages of topics, one after the other; not for several threads.

    Args:
        connection: with the registry.
        schema: the reader's schema, as text; without it each message is shown by its writer's schema.
        version: of messages without a header; without it they are read by the topic's latest schema.

    Raises:
        ConfigError: an option is not valid.
        SchemaError: the schema is not valid.
    """

    def __init__(self, connection: Connection, schema: str | None = None, version: int | None = None) -> None:
        conf = connection.options_of(DESERIALIZER_OPTIONS, **_RAW)
        self._deserializer = _Deserializer(conf, schema)
        self._policy: _NotingPolicy = policy_of(self._deserializer)
        self._options: CodecArguments = codec_arguments(self._policy.conf)
        self._version = version
        self._writers: dict[str, JsonWriter] = {}  # by the text of the schema

    def close(self) -> None:
        self._deserializer.close()

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        """Decode a message's value.

        Raises:
            DecodeError, SchemaError, SchemaNotFoundError: this message cannot be read.
            SchemaRegistryError: the registry cannot be asked.
        """
        if data is None:
            return Decoded(None, None, None)
        self._policy.fallback = None
        datum = self._deserializer.deserialize(topic, data, self._version)
        version, offset = self._read_by(topic, data)
        in_header = header.read(data)
        other = in_header if offset == 0 or in_header != version else None
        return Decoded(
            _FRAMED if offset else _BARE, version, self._as_json(topic, version, data[offset:], datum), other
        )

    def _read_by(self, topic: str, data: bytes) -> tuple[int, int]:
        """The version that has read the message, and where its datum begins."""
        if self._policy.fallback is not None:
            used, attempt = self._policy.fallback
            return used, attempt.offset
        in_header = header.read(data)
        if in_header is not None:
            return in_header, header.SIZE
        if self._version is not None:
            return self._version, 0
        known, _ = self._policy.known(topic, LATEST)
        assert known is not None  # the message was read by it
        return known.version, 0

    def _as_json(self, topic: str, version: int, body: bytes, datum: Any) -> Any:
        reading = self._policy.reading
        if reading is None:
            return self._writer(self._policy.binding.version(topic, version).schema).write(body)
        schema = reading.target.schema
        return self._writer(schema).write(Codec(schema, **self._options).encode(datum))

    def _writer(self, schema: Schema) -> JsonWriter:
        if schema.text not in self._writers:
            self._writers[schema.text] = JsonWriter(schema, self._options)
        return self._writers[schema.text]
