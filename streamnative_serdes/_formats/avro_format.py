"""AVRO topics: the payload is a binary datum, without a header."""

from __future__ import annotations

import json
from typing import Any, Final, Unpack

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import Limits, Schema, parse
from streamnative_serdes.codec import Codec


class AvroFormat:
    """The format of an Avro schema.

    Raises:
        SchemaError: the schema cannot be compiled.
    """

    type: Final = "AVRO"

    def __init__(self, schema: Schema, **options: Unpack[CodecArguments]) -> None:
        self.schema = schema
        self._codec = Codec(schema, **options)
        self.decode = self._codec.decode
        self.encode = self._codec.encode

    @property
    def native(self) -> Any:
        """The parsed JSON of the schema's text; a new one each time, since it may be changed."""
        return json.loads(self.schema.text)


def avro_format(text: str, limits: Limits, options: CodecArguments) -> AvroFormat:
    """The format of a schema of type AVRO, by its text.

    Raises:
        SchemaError: the text is not an Avro schema, or exceeds the limits.
    """
    return AvroFormat(parse(text, strict=False, limits=limits), **options)
