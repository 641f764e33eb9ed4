"""Union schemas, values that fit several branches, and the branch that was chosen."""

from __future__ import annotations

import enum as py_enum
from typing import Any
from uuid import UUID

from schemas import array, enum, fixed, logical, mapping, record

from streamnative_serdes.codec import Codec

SUIT = enum("Suit", "SPADES", "HEARTS", "CLUBS")
CAT = record("Cat", ("name", "string"), ("lives", "int"))
DOG = record("Dog", ("name", "string"), ("breed", "string"))
STRINGS, INTS, STRING_MAP = array("string"), array("int"), mapping("string")
DATE, STAMP = logical("int", "date"), logical("long", "timestamp-micros")
UUID_TEXT, UUID_FIXED = logical("string", "uuid"), fixed("U", 16, logicalType="uuid")
PRICE = logical("bytes", "decimal", precision=5, scale=2)
LARGE = fixed("Large", 16, logicalType="decimal", precision=30, scale=4)
LAPSE = fixed("Lapse", 12, logicalType="duration")
ONE = UUID(int=1)


def ident(sample: object) -> str:
    return str(sample)[:40] if isinstance(sample, str | int | float) else ""


def branch_of(schema: Any, datum: Any) -> int:
    """Return the branch that the datum was written to; asserts that the bytes can be read."""
    data = Codec(schema).encode(datum)
    Codec(schema).decode(data)
    return data[0] // 2


class Suit(py_enum.StrEnum):
    HEARTS = "hearts"
    OTHER = "CLUBS"
    TEXT = "text"


class Text(str):
    __slots__ = ()
