"""Policies for Connect's Avro: those of the serializer and the deserializer inside AvroConverter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes import _schema as avro
from streamnative_serdes._reading.policy import ReadPolicy
from streamnative_serdes._writing.policy import WritePolicy
from streamnative_serdes.codec import Codec
from streamnative_serdes.connect.values import SchemaAndValue
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError, SchemaError
from streamnative_serdes.key_value import KeyValue
from streamnative_serdes.serializer import KafkaAvroSerializer

from .options import AVRO_DATA_OPTIONS, AvroOptions
from .reading import has_connects_logical_types, reader_of, with_branches

Read = Callable[[bytes], SchemaAndValue]


class LenientWritePolicy(WritePolicy):
    """Writes by a schema that only brokers accept, since its decimals do not follow Avro's rules."""

    def own_codec(self, schema: object, cls: type | None) -> Codec:  # noqa: ARG002
        parsed = avro.parse(schema, strict=False)
        framed = parsed if self.confluent is None else parsed.in_confluents_framing()
        return Codec(framed, **config.codec_arguments(self.conf))


class LenientSerializer(KafkaAvroSerializer):
    """Serializer for one Avro schema that was made of a Connect schema."""

    POLICY = LenientWritePolicy


class ConnectReadPolicy(ReadPolicy):
    """Reads messages as :class:`SchemaAndValue`, by the schemas that ReadPolicy chooses."""

    def __init__(self, conf: dict[str, Any], given: _call_path.ConstructorArguments) -> None:
        # Without logical types, dates that Python does not have can be read too.
        super().__init__({**conf, "avro.logical.types": False}, given)
        if self.signs.declared:
            raise ConfigError(
                "framings: expected snip42 and headerless, since AvroConverter does not read other framings",
                hint="KafkaAvroDeserializer reads such messages",
            )
        if conf["avro.engine"] == config.FASTAVRO:
            raise ConfigError("avro.engine: expected compiled, since AvroConverter reads data without logical types")
        self._connect = AvroOptions.of(conf)
        self._reads: dict[tuple[str, str, int | None, bool], Read] = {}

    def bound_to(
        self, topic: str, key: int, version: int, codec: Codec | None, lifetime: float = math.inf
    ) -> _call_path.Bound:
        """The bound reader of messages by ``codec``, which returns Connect's data."""
        if codec is None:
            return super().bound_to(topic, key, version, codec, lifetime)
        shown = self._version_of(topic, version, codec)
        name = codec.schema.text, codec.reader_schema.text, shown, key >= 0
        read = self._reads.get(name)
        if read is None:
            if len(self._reads) >= self._connect.cache_size:
                self._reads.clear()
            try:
                read = self._reads.setdefault(name, self._reader(codec, shown, key))
            except SchemaError as error:
                raise error.at(topic=topic, version=version) from None
        pair = _call_path.Pair(None, _call_path.Half(None, None, read), KeyValue)
        return _call_path.Bound(topic, key, version, None, None, lifetime, pair)

    def _version_of(self, topic: str, version: int, codec: Codec) -> int | None:
        """The version of the schema of the decoded data; None if this schema is not a version of the topic."""
        if version < 0:
            return None
        if codec.reader_schema.same_as(codec.schema):
            return version
        known, _ = self.evolution.reader(topic, version)
        return known.version if known is not None and known.schema.same_as(codec.reader_schema) else None

    def _reader(self, codec: Codec, version: int | None, key: int) -> Read:
        schema = codec.reader_schema
        written, wanted = with_branches(codec.schema), with_branches(schema)
        reader = None if schema.same_as(codec.schema) else wanted
        options = self.codec_options(key) | {"return_record_name": True}
        raw = Codec(written, reader, **options)
        if not has_connects_logical_types(schema):
            return reader_of(schema, raw.decode, self._connect, version)
        logical = Codec(written, reader, **options | {"avro_logical_types": True})
        return reader_of(schema, raw.decode, self._connect, version, logical.decode)


class ConnectDeserializer(KafkaAvroDeserializer):
    """Deserializes to :class:`SchemaAndValue`; has the options of KafkaAvroDeserializer and of the converter."""

    OPTIONS = (*config.DESERIALIZER_OPTIONS, *AVRO_DATA_OPTIONS)
    POLICY = ConnectReadPolicy
