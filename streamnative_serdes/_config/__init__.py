"""Options of the SerDes, as tables of dotted keys; defaults, checks and docs/config.md come from them."""

from .codec import CODEC_OPTIONS, READ_OPTIONS, WRITE_OPTIONS, CodecArguments, codec_arguments, codec_options
from .confluent import CONFLUENT_OPTIONS, confluent_conf, inherits
from .option import Option, markdown, named
from .parsing import NOT_THERE, parse, refuse_idle_registry
from .registry import REGISTRY_OPTIONS, key_schema, refuse_other_tenant, schema_limits
from .serdes import (
    AUTO_CONSUME_OPTIONS,
    CONFLUENT,
    CONFLUENT_HEADER,
    DESERIALIZER_OPTIONS,
    FASTAVRO,
    FIXED,
    HEADERLESS,
    LATEST,
    LATEST_SEEN,
    PULSAR_SERIALIZER_OPTIONS,
    SERIALIZER_OPTIONS,
    SNIP_42,
    VALUE,
    WRITER,
)

__all__ = [
    "AUTO_CONSUME_OPTIONS",
    "CODEC_OPTIONS",
    "CONFLUENT",
    "CONFLUENT_HEADER",
    "CONFLUENT_OPTIONS",
    "DESERIALIZER_OPTIONS",
    "FASTAVRO",
    "FIXED",
    "HEADERLESS",
    "LATEST",
    "LATEST_SEEN",
    "NOT_THERE",
    "PULSAR_SERIALIZER_OPTIONS",
    "READ_OPTIONS",
    "REGISTRY_OPTIONS",
    "SERIALIZER_OPTIONS",
    "SNIP_42",
    "VALUE",
    "WRITER",
    "WRITE_OPTIONS",
    "CodecArguments",
    "Option",
    "codec_arguments",
    "codec_options",
    "confluent_conf",
    "inherits",
    "key_schema",
    "markdown",
    "named",
    "parse",
    "refuse_idle_registry",
    "refuse_other_tenant",
    "schema_limits",
]
