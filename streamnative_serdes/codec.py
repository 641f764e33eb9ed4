"""The Avro codec: a schema, compiled once, turns data into Avro bytes and back, also as another schema reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, Unpack

from . import config
from ._codec import Codec as _CompiledCodec
from ._codec import Duration
from .schema import Limits, Schema, Shapes, parse, resolve

__all__ = ["Codec", "Duration"]


class Codec(_CompiledCodec):
    """Binary Avro of one schema, without any framing (Avro specification 1.12, "Binary Encoding").

    Args:
        schema: a dict, a list, JSON text, the path of a ``.avsc`` file, or a parsed
            :class:`~streamnative_serdes.schema.Schema`. Data is written by it; data that is read was written by it.
        reader_schema: what data is read as, if by another schema (Avro specification 1.12, "Schema Resolution").
        shapes: what records and enums of the reader's schema are, by full name, where they are no dicts and no text:
            objects of classes are read, and written as well if there is no other reader's schema.
        **options: those of docs/config.md that concern a codec, with underscores for dots: ``validate_strict=True``.

    Raises:
        SchemaError: no valid schema, or one that can read nothing of what ``schema`` writes.
        ConfigError: a bad value of an option.

    A codec never changes, so any number of threads may share it; it pickles as its schemas' texts and its options.
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
        self = super().__new__(cls, writer.root, resolution, checked, known)
        self.schema, self.reader_schema, self._options, self._shapes = writer, reader, options, known
        return self

    def __reduce__(self) -> tuple[Callable[..., Codec], tuple[Any, ...]]:
        return _from_text, (self.schema.text, self.reader_schema.text, self._shapes, self._options)


def _from_text(writer: str, reader: str, shapes: Shapes, options: config.CodecArguments) -> Codec:
    # What was compiled once compiles again: a registry's lenient schema too, and one beyond the usual limits.
    limits = Limits(size=max(len(writer), len(reader)), names=1_000_000, depth=1_000)
    schema, reader_schema = (parse(text, strict=False, limits=limits) for text in (writer, reader))
    return Codec(schema, reader_schema, shapes, **options)
