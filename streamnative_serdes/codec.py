"""The Avro codec: one schema, compiled once, turns data into Avro bytes and back."""

from __future__ import annotations

from collections.abc import Callable

from ._codec import Codec as _CompiledCodec
from ._codec import Duration
from .errors import SchemaError
from .schema import Schema, parse

__all__ = ["Codec", "Duration"]


class Codec(_CompiledCodec):
    """Binary Avro of one schema, without any framing (Avro specification 1.12, "Binary Encoding").

    Args:
        schema: a dict, a list, JSON text, the path of a ``.avsc`` file, or a parsed
            :class:`~streamnative_serdes.schema.Schema`.
        reader_schema: the schema to read by. It must equal ``schema`` for now: reading by another one (schema
            resolution) is not there yet.

    Raises:
        SchemaError: no valid schema, or a reader's schema that differs.

    A codec never changes, so any number of threads may share it; it pickles as its schema's text.
    """

    schema: Schema

    def __new__(cls, schema: object, reader_schema: object = None) -> Codec:
        parsed = parse(schema)
        if reader_schema is not None and not parse(reader_schema).same_as(parsed):
            raise SchemaError(
                "the reader's schema differs from the writer's, and schema resolution is not there yet",
                hint="leave reader_schema out to read by the writer's schema",
            )
        self = super().__new__(cls, parsed.root)
        self.schema = parsed
        return self

    def __reduce__(self) -> tuple[Callable[[str], Codec], tuple[str]]:
        return _from_text, (self.schema.text,)


def _from_text(text: str) -> Codec:
    # What was compiled once compiles again, a registry's lenient schema too.
    return Codec(parse(text, strict=False))
