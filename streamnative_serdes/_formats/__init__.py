"""How messages of each of Pulsar's schema types are written and read."""

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

from .format import Format

__all__ = ["Format", "format_of"]


def format_of(info: SchemaInfo, limits: Limits, options: CodecArguments) -> Format:  # noqa: ARG001
    """The format of a schema. Raises SchemaError."""
    raise SchemaError(f"cannot read messages of type {info.type}")
