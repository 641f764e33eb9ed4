"""Options of the SerDes, as tables of dotted keys; defaults, checks and docs/config.md come from them."""

from .codec import CODEC_OPTIONS, READ_OPTIONS, WRITE_OPTIONS, CodecArguments, codec_arguments, codec_options
from .credentials import inherits
from .kafka_user import refuse_other_tenant
from .option import Option, markdown
from .parsing import NOT_THERE, parse
from .registry import REGISTRY_OPTIONS, schema_limits
from .serdes import DESERIALIZER_OPTIONS, SERIALIZER_OPTIONS

__all__ = [
    "CODEC_OPTIONS",
    "DESERIALIZER_OPTIONS",
    "NOT_THERE",
    "READ_OPTIONS",
    "REGISTRY_OPTIONS",
    "SERIALIZER_OPTIONS",
    "WRITE_OPTIONS",
    "CodecArguments",
    "Option",
    "codec_arguments",
    "codec_options",
    "inherits",
    "markdown",
    "parse",
    "refuse_other_tenant",
    "schema_limits",
]
