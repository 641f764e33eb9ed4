"""AvroConverter: Connect's data as Avro messages, their schemas in Pulsar's registry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes import _schema as avro
from streamnative_serdes._closing import Closing
from streamnative_serdes._config import CONFLUENT
from streamnative_serdes._reading.policy import ReadPolicy
from streamnative_serdes._writing.policy import WritePolicy
from streamnative_serdes.codec import Codec
from streamnative_serdes.connect.converter import Converter
from streamnative_serdes.connect.schema import Schema
from streamnative_serdes.connect.struct import Struct
from streamnative_serdes.connect.values import NOTHING, SchemaAndValue
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError, EncodeError, SchemaError
from streamnative_serdes.key_value import KeyValue
from streamnative_serdes.serializer import KafkaAvroSerializer

from .names import is_union
from .options import AVRO_DATA_OPTIONS, AvroOptions
from .reading import has_connects_logical_types, reader_of, with_branches
from .to_schema import avro_schema
from .writing import Convert, converter_of, datum_of, is_direct

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


_NO_SCHEMA: Final = object()


def _beside_null(schema: Schema) -> Schema:
    """The schema to register, without null: Pulsar's registry takes no union at the root, and null is a tombstone."""
    return schema.replaced(optional=False) if schema.optional and not is_union(schema) else schema


class _Written(NamedTuple):
    """The writers of values of one Connect schema."""

    schema: Schema | None
    exact: KafkaAvroSerializer  # takes what ``convert`` makes, without logical types
    convert: Convert | None
    direct: KafkaAvroSerializer | None  # takes structs as they are, if that is possible


class _Configured:
    """A converter's options, and the writers and the reader by them; threads share it.

    No lock guards the writers: each step on the dict is atomic, and of equal writers the first is kept.
    """

    def __init__(self, config: Mapping[str, Any], is_key: bool) -> None:
        self._options = AvroOptions.of(config)
        self.reader = ConnectDeserializer(is_key=is_key).configure(config)
        # Made now so that an option with a bad value is found now.
        KafkaAvroSerializer(is_key=is_key).configure(config)
        self.config, self.is_key = dict(config), is_key
        self._written: dict[Schema | None, _Written] = {}
        # The schema of the last structs that were written as they are, and what writes them; replaced as a whole.
        self.direct: tuple[object, Any] = _NO_SCHEMA, None

    def write(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        written = self._find(schema)
        direct = written.direct
        if direct is not None and schema is not None and type(value) is Struct and value.schema.fits(schema):
            self.direct = schema, direct.serialize
            with suppress(EncodeError):
                return direct.serialize(topic, value)
        try:
            return written.exact.serialize(topic, datum_of(schema, written.convert, value))
        except EncodeError as error:
            raise error.at(topic=topic) from None

    def _find(self, schema: Schema | None) -> _Written:
        found = self._written.get(schema)
        if found is None:
            if len(self._written) >= self._options.cache_size:
                self._written.clear()
            found = self._written.setdefault(schema, self._make(schema))
        return found

    def _make(self, schema: Schema | None) -> _Written:
        root = schema if schema is None or self.config.get("framing") == CONFLUENT else _beside_null(schema)
        translated = avro_schema(root, self._options)
        kind = KafkaAvroSerializer if translated.exact else LenientSerializer

        def serializer(**more: Any) -> KafkaAvroSerializer:
            made = kind(None, translated.text, is_key=self.is_key)
            return made.configure({**self.config, **more})

        exact = serializer(**{"avro.logical.types": False})
        if schema is None or root is None:
            return _Written(schema, exact, None, None)
        convert = converter_of(root, self._options, translated)
        as_it_is = translated.filled and schema.fields is not None and is_direct(schema, self._options)
        direct = serializer(**{"avro.logical.types": True}) if as_it_is else None
        return _Written(schema, exact, convert, direct)


class AvroConverter(Closing, Converter):
    """Writes and reads Avro by the conventions of Confluent's AvroConverter, with Pulsar's schema registry (SNIP 42).

    Each Connect schema is translated to an Avro schema and registered for each topic that it is written to; messages
    are those of :class:`~streamnative_serdes.KafkaAvroSerializer`, so all of its clients can read them.

    Args:
        config: options of KafkaAvroSerializer and KafkaAvroDeserializer (docs/config.md), and those in docs/connect.md:
            ``enhanced.avro.schema.support``, ``connect.meta.data``, ... Others are ignored. Without ``config``, call
            :meth:`configure` before the first use.
        is_key: whether the data are keys, of topics of type KEY_VALUE or written with ``framing=confluent``.

    Raises:
        ConfigError: an option has an invalid value, or ``schema.registry.url`` is missing.

    Threads may share one converter, and it pickles.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, is_key: bool = False) -> None:
        self._now: _Configured | None = None  # replaced as a whole, so that a thread at work keeps to one
        if config is not None:
            self.configure(config, is_key)
        self._is_key = is_key

    def configure(self, config: Mapping[str, Any], is_key: bool = False) -> None:
        """Set the options, in place of earlier ones."""
        self._now = _Configured(config, is_key)

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Write a value.

        Args:
            topic: the Kafka topic.
            schema: the value's schema; None for data without a schema, which are written as the record ``Anything``.
            value: None gives None, a tombstone.

        Raises:
            EncodeError: the value does not fit the schema; ``path`` names the field.
            SchemaError: the schema has no Avro schema: a name is not valid, or stands for two types.
            SchemaRegistryError: the registry cannot be asked, or refuses the schema.
        """
        if value is None and (schema is None or schema.optional):
            return None
        now = self._configured()
        last, write = now.direct
        if last is schema and type(value) is Struct and value.schema is schema:
            try:
                message: bytes | None = write(topic, value)
                return message
            except EncodeError:
                pass  # what is wrong, if anything is, is said below in the words of Connect
        return now.write(topic, schema, value)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """Read a message; None gives a value without a schema, None.

        Args:
            topic: the Kafka topic.
            data: the message.

        Raises:
            DecodeError: the bytes do not fit their schema; ``path`` names the field.
            SchemaError: the schema has no Connect schema: it is recursive, or its properties contradict each other.
            SchemaRegistryError: the registry cannot be asked, or does not have the schema.
        """
        found = self._configured().reader.deserialize(topic, data)
        return NOTHING if found is None else found

    def close(self) -> None:
        """Close idle connections to the registry. A later call opens new ones."""
        if self._now is not None:
            self._now.reader.close()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        now = self._now
        return type(self), (None, self._is_key) if now is None else (now.config, now.is_key)

    def _configured(self) -> _Configured:
        if self._now is None:
            raise ConfigError("schema.registry.url is missing", hint="configure the converter before its first use")
        return self._now
