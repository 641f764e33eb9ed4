"""Part: a schema of any type as columns have it, that of a topic or of one half of a KEY_VALUE topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from streamnative_serdes._schema import Schema

from .format import Format

HalfName: TypeAlias = Literal["key", "value"]


@dataclass(frozen=True, slots=True)
class Plain:
    """A node in the place of an Avro type, for one of Pulsar's primitive types.

    Args:
        kind: Pulsar's SchemaType.
        logical: what Avro types have, too.
    """

    kind: str
    logical: None = None


@dataclass(frozen=True, slots=True)
class PairNode:
    """A node for KEY_VALUE messages. ``kind`` is how both halves are stored; the others are their nodes, to write."""

    kind: str
    key: Any = None
    value: Any = None


@dataclass(frozen=True, slots=True)
class HalfNode:
    """A node for one half, written from the column ``name``."""

    name: str
    schema: Any
    kind: str = "HALF"


@dataclass(frozen=True, slots=True)
class Part:
    """How one schema is read into columns and written from them.

    Args:
        type: Pulsar's SchemaType.
        schema: the Avro schema of AVRO, and of the columns that ``form`` needs; None for primitive types.
        form: reads and writes messages one by one, as data of ``schema``; None where compiled loops do it.
        topic: whose schema it is, for errors.
        version: of the topic's schema, for errors.
    """

    type: str
    schema: Schema | None = None
    form: Format | None = None
    topic: str = ""
    version: int | None = None

    @property
    def node(self) -> Any:
        """What compiled loops read and write: with a ``form``, the bytes that it takes."""
        if self.form is not None:
            return Plain("BYTES")
        return Plain(self.type) if self.schema is None else self.schema.root

    @property
    def name(self) -> tuple[str, ...]:
        """Equal for equal parts, whatever their topics."""
        return self.type, "" if self.schema is None else self.schema.text

    @property
    def place(self) -> tuple[str, int | None]:
        return self.topic, self.version


@dataclass(frozen=True, slots=True)
class PairParts:
    """Both halves of a KEY_VALUE schema.

    Args:
        kind: how they are stored.
        key: the schema of keys.
        value: the schema of values.
    """

    kind: str
    key: Part
    value: Part

    @property
    def name(self) -> tuple[str, ...]:
        """Equal for equal parts, whatever their topics."""
        return self.kind, *self.key.name, *self.value.name

    @property
    def place(self) -> tuple[str, int | None]:
        return self.value.place

    def items(self) -> tuple[tuple[HalfName, Part], ...]:
        return ("key", self.key), ("value", self.value)


Parts: TypeAlias = Part | PairParts


def named(parts: Parts) -> tuple[tuple[HalfName, Part], ...]:
    """The parts with the names of their columns."""
    return parts.items() if isinstance(parts, PairParts) else (("value", parts),)
