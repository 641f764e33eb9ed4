"""AvroSerializer and AvroDeserializer with Confluent's constructors; calls go through the compiled SerDes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.serialization import SerializationContext
from streamnative_serdes.serializer import KafkaAvroSerializer

from . import options
from .client import SchemaRegistryClient
from .error import unsupported
from .schema import Schema


def topic_subject_name_strategy(ctx: SerializationContext, record_name: str | None) -> str:  # noqa: ARG001
    """``TOPIC-value``: the only supported strategy, since in Pulsar a schema belongs to its topic."""
    return f"{ctx.topic}-{getattr(ctx.field, 'value', ctx.field)}"


def prefix_schema_id_serializer(*_: object) -> bytes:
    """For configurations only: the schema version is written before the datum."""
    raise unsupported("calling prefix_schema_id_serializer", "the serializer writes the version itself")


def prefix_schema_id_deserializer(*_: object) -> bytes:
    """For configurations only: the schema version is read from before the datum, as are ids of a second registry."""
    raise unsupported("calling prefix_schema_id_deserializer", "the deserializer reads the version itself")


def dual_schema_id_deserializer(*_: object) -> bytes:
    """For configurations only: ids of a second registry are read from Kafka's headers, else from before the datum."""
    raise unsupported("calling dual_schema_id_deserializer", "the deserializer reads the version itself")


_C = TypeVar("_C")


class AvroSerializer(KafkaAvroSerializer):
    """Confluent's AvroSerializer, with schemas in Pulsar's registry and the framing of SNIP 42.

    Args:
        schema_registry_client: the client of the registry.
        schema_str: JSON text, or a :class:`Schema`, whose references are resolved in the constructor. Without a schema
            and with ``use.latest.version``, values are written with the topic's latest schema.
        to_dict: ``to_dict(obj, ctx)`` converts an object to a value that matches the schema.
        conf: Confluent's keys listed in docs/from-confluent.md, and the serializer's options in docs/config.md.
        rule_conf: must be None.
        rule_registry: must be None.

    Raises:
        ConfigError: an unknown key, an invalid value, or a feature that Pulsar cannot support.
        SchemaError: the schema is not valid.
        SchemaRegistryError: a referenced schema cannot be fetched.
    """

    def __init__(
        self,
        schema_registry_client: SchemaRegistryClient,
        schema_str: str | Schema | None = None,
        to_dict: Callable[[Any, SerializationContext], Any] | None = None,
        conf: Mapping[str, Any] | None = None,
        rule_conf: object = None,
        rule_registry: object = None,
    ) -> None:
        options.refuse_rules(rule_conf, rule_registry)
        client = checked_client(schema_registry_client, SchemaRegistryClient, schema_str)
        given = options.for_serdes(conf)
        super().__init__({**client.options, **options.leniency(given), **given}, _text(client, schema_str), to_dict)


class AvroDeserializer(KafkaAvroDeserializer):
    """Confluent's AvroDeserializer for values with the framing of SNIP 42, and those of Pulsar's own producers.

    Args:
        schema_registry_client: the client of the registry.
        schema_str: the reader's schema: JSON text, or a :class:`Schema`, whose references are resolved in the
            constructor. Without one, each value is read with its writer's schema. ``use.latest.version`` takes
            precedence, as in Confluent's; while the topic has no schema, values are read with their writer's schema.
        from_dict: ``from_dict(data, ctx)`` converts a decoded value to an object.
        return_record_name: decode a record in a union to a tuple of its full name and the dict.
        conf: Confluent's keys listed in docs/from-confluent.md, and the options in docs/config.md. Trailing
            bytes after the value are ignored, as Confluent's deserializer does, unless ``ignore.trailing.bytes`` is
            false or the message has no header with a known version. With ``confluent.schema.registry.url``, values that
            Confluent's serializer wrote are read too, as ``schema.id.deserializer`` says, or as ``framings`` does.
        rule_conf: must be None.
        rule_registry: must be None.

    Raises:
        ConfigError: an unknown key, an invalid value, or a feature that Pulsar cannot support.
        SchemaError: the schema is not valid.
        SchemaRegistryError: a referenced schema cannot be fetched.
    """

    def __init__(
        self,
        schema_registry_client: SchemaRegistryClient,
        schema_str: str | Schema | None = None,
        from_dict: Callable[[Any, SerializationContext], Any] | None = None,
        return_record_name: bool = False,
        conf: Mapping[str, Any] | None = None,
        rule_conf: object = None,
        rule_registry: object = None,
    ) -> None:
        options.refuse_rules(rule_conf, rule_registry)
        client = checked_client(schema_registry_client, SchemaRegistryClient, schema_str)
        if not isinstance(return_record_name, bool):
            raise ConfigError(f"return_record_name: expected True or False, got {return_record_name!r:.80}")
        lenient = {"ignore.trailing.bytes": True, "return.record.name": return_record_name}
        given = {**client.options, **lenient, **options.framings(conf), **options.for_serdes(conf)}
        text = _text(client, schema_str)
        by_latest = str(given.get("use.latest.version")).lower() == "true"  # takes precedence, as in Confluent's
        super().__init__(given, None if by_latest else text, from_dict)


def checked_client(client: object, kind: type[_C], schema: object) -> _C:
    """Return ``client`` if it is of this type.

    Raises:
        ConfigError: ``client`` is not; the hint covers likely mistakes, such as an exchange with ``schema``.
    """
    if isinstance(client, kind):
        return client
    got = f"{type(client).__module__}.{type(client).__qualname__}"
    article = "an" if kind.__name__.startswith("A") else "a"
    if isinstance(schema, kind):
        hint = "pass the client first, then the schema"
    elif isinstance(client, Mapping):
        hint = f"create one with streamnative_serdes.compat.{kind.__name__}(conf)"
    else:
        hint = "import it from streamnative_serdes.compat too"
    raise ConfigError(f"expected {article} {kind.__name__}, got {got}", hint=hint)


def _text(client: SchemaRegistryClient, schema: str | Schema | None) -> str | None:
    return None if schema is None else client.self_contained(schema)
