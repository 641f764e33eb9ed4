"""AvroSerializer and AvroDeserializer: Confluent's constructors over ours; the call path is the compiled one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.serialization import SerializationContext
from streamnative_serdes.serializer import KafkaAvroSerializer

from . import options
from .client import SchemaRegistryClient
from .schema import Schema

_C = TypeVar("_C")


class AvroSerializer(KafkaAvroSerializer):
    """Confluent's AvroSerializer, with schemas in Pulsar's registry and the framing of SNIP 42.

    Args:
        schema_registry_client: which registry.
        schema_str: JSON text, or a :class:`Schema`, whose references are fetched now and written into it. Without one,
            and with ``use.latest.version``, values are written by the topic's latest schema.
        to_dict: ``to_dict(obj, ctx)`` turns an object into what the schema describes.
        conf: Confluent's keys as docs/migration.md lists them, and the serializer's of docs/config.md.
        rule_conf: refused unless None.
        rule_registry: refused unless None.

    Raises:
        ConfigError: unknown key, bad value, or what Pulsar cannot serve.
        SchemaError: no valid schema.
        SchemaRegistryError: a reference cannot be fetched.
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
        client = checked(schema_registry_client, SchemaRegistryClient, schema_str)
        given = options.for_serdes(conf)
        super().__init__({**client.options, **options.leniency(given), **given}, _text(client, schema_str), to_dict)


class AvroDeserializer(KafkaAvroDeserializer):
    """Confluent's AvroDeserializer for values with the framing of SNIP 42, and those of Pulsar's own producers.

    Args:
        schema_registry_client: which registry.
        schema_str: the reader's schema; JSON text, or a :class:`Schema`, whose references are fetched now. Without
            one, each value is read by its writer's schema.
        from_dict: ``from_dict(data, ctx)`` turns what was read into an object.
        return_record_name: read a record in a union as a tuple of its full name and the dict.
        conf: Confluent's keys as docs/migration.md lists them, and the deserializer's of docs/config.md. Bytes behind
            the value are ignored, as Confluent's does, unless ``ignore.trailing.bytes`` is false; but not in a message
            without the header of a known version.
        rule_conf: refused unless None.
        rule_registry: refused unless None.

    Raises:
        ConfigError: unknown key, bad value, or what Pulsar cannot serve.
        SchemaError: no valid schema.
        SchemaRegistryError: a reference cannot be fetched.
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
        client = checked(schema_registry_client, SchemaRegistryClient, schema_str)
        if not isinstance(return_record_name, bool):
            raise ConfigError(f"return_record_name takes True or False, got {return_record_name!r:.80}")
        lenient = {"ignore.trailing.bytes": True, "return.record.name": return_record_name}
        given = {**client.options, **lenient, **options.for_serdes(conf)}
        super().__init__(given, _text(client, schema_str), from_dict)


def checked(client: object, kind: type[_C], schema: object) -> _C:
    """``client``, which stands before ``schema`` among the arguments, if it is of this kind.

    Raises:
        ConfigError: it is not, with what was likely meant.
    """
    if isinstance(client, kind):
        return client
    got = f"{type(client).__module__}.{type(client).__qualname__}"
    article = "an" if kind.__name__.startswith("A") else "a"
    if isinstance(schema, kind):
        hint = "the client goes first, and then the schema"
    elif isinstance(client, Mapping):
        hint = f"{kind.__name__}(conf) of streamnative_serdes.compat makes one"
    else:
        hint = "import it from streamnative_serdes.compat too"
    raise ConfigError(f"expected {article} {kind.__name__}, got {got}", hint=hint)


def _text(client: SchemaRegistryClient, schema: str | Schema | None) -> str | None:
    return None if schema is None else client.self_contained(schema)
