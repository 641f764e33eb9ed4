"""The Avro codec: compiles a schema once, then encodes and decodes data, with schema resolution if asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, Unpack

from . import _config as config
from ._codec import Codec as _CompiledCodec
from ._codec import Duration
from ._codec import weight as weight  # noqa: PLC0414 - for arrow/, not for users
from ._schema import Schema, Shapes, parse, resolve

__all__ = ["Codec", "Duration"]


class Codec(_CompiledCodec):
    """Encodes and decodes binary Avro of one schema, without framing (Avro specification 1.12, "Binary Encoding").

    Args:
        schema: a dict, a list, JSON text, the path of a ``.avsc`` file, or a parsed
            :class:`~streamnative_serdes._schema.Schema`. It is the writer's schema, for encoding
            and for decoding.
        reader_schema: the reader's schema, if it differs (Avro specification 1.12, "Schema Resolution").
        shapes: classes for records and enums of the reader's schema, by full name; others are dicts and text. Without
            ``reader_schema`` they are used for writing as well.
        **options: the codec options of docs/config.md, with underscores for dots: ``validate_strict=True``.

    Raises:
        SchemaError: a schema is invalid, or ``reader_schema`` cannot read anything that ``schema`` writes.
        ConfigError: an option has an invalid value.

    A codec is immutable, so threads may share it. It pickles as the texts of its schemas and its options.
    """

    schema: Schema
    reader_schema: Schema
    _options: config.CodecArguments
    _shapes: Shapes

    def __new__(
        cls,
        schema: object,
        reader_schema: object = None,
        shapes: Shapes | None = None,
        **options: Unpack[config.CodecArguments],
    ) -> Self:
        checked = config.codec_options(options)
        writer = parse(schema)
        reader = writer if reader_schema is None else parse(reader_schema)
        resolution = None
        if not reader.same_as(writer):
            java = checked["schema.resolution"] == "java"
            resolution = resolve(writer, reader, java=java, logical=checked["avro.logical.types"])
        known = {} if shapes is None else dict(shapes)
        self = super().__new__(cls, writer.root, resolution, checked, known, writer.unsized)
        self.schema, self.reader_schema, self._options, self._shapes = writer, reader, options, known
        return self

    def __reduce__(self) -> tuple[Callable[..., Codec], tuple[Any, ...]]:
        return _of_schemas, (self.schema, self.reader_schema, self._shapes, self._options)


def made_with(codec: Codec) -> tuple[Shapes, dict[str, Any]]:
    """Return the classes and all options that a codec was made with; for policies, not for users."""
    return codec._shapes, config.codec_options(codec._options)  # noqa: SLF001 - in the file of its class


def _of_schemas(writer: Schema, reader: Schema, shapes: Shapes, options: config.CodecArguments) -> Codec:
    return Codec(writer, reader, shapes, **options)
