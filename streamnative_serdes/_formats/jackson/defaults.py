"""Defaults of fields that a message lacks, within a budget."""

from __future__ import annotations

from typing import Any

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import Field, Record, Schema
from streamnative_serdes.codec import Codec, weight
from streamnative_serdes.errors import DecodeError, SchemaError


class Budget:
    """How many fields, and values of their defaults, may be filled in: a small message must not become large."""

    __slots__ = ("_left",)

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, count: int) -> None:
        """Raises DecodeError if there are not so many left."""
        if count > 0:
            self._left -= count
            if self._left < 0:
                raise DecodeError("the message lacks more fields than may be filled in", hint="max.items is the limit")


class Default:
    """The default of a field, compiled when a message first lacks the field."""

    def __init__(self, record: Record, field: Field, options: CodecArguments) -> None:
        self._record = record
        self._field = field
        self._options = options
        self._codec: Codec | None = None

    def value(self, budget: Budget) -> Any:
        """A new value.

        Raises:
            DecodeError: the default does not fit the type of the field, or is too large.
        """
        try:
            value = self._compiled().decode(b"")[self._field.name]
        except (DecodeError, SchemaError) as error:
            raise DecodeError(
                f"the field is missing, and its default: {error.message}", path=self._field.name
            ) from None
        budget.take(weight(value))
        return value

    def _compiled(self) -> Codec:
        if self._codec is None:
            # A record that was written without fields, read with this one.
            name = self._record.name
            written, read = Schema("written", Record(name)), Schema("read", Record(name, (self._field,)))
            self._codec = Codec(written, read, **self._options)
        return self._codec
