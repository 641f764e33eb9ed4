"""Java classes (Shapes.java), their Python counterparts, and the schemas that Pulsar's Java client derives."""

from __future__ import annotations

import datetime
import enum
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Optional, Union

from streamnative_serdes.models import (
    AvroClass,
    AvroField,
    AvroType,
    DecimalMeta,
    Float32,
    Int32,
    LocalTimestampMillis,
    TimeMillis,
    TimestampMillis,
)

FOLDER: Final = Path(__file__).parent
PROGRAM: Final = FOLDER / "Shapes.java"
PACKAGE: Final = AvroClass(namespace="org.example")


@dataclass
class Leaves:
    __avro__ = PACKAGE
    text: str
    flag: bool
    count: int
    small: Int32
    ratio: float
    half: Float32
    raw: bytes
    buffer: Annotated[bytes, AvroType("bytes")]
    id: uuid.UUID


@dataclass
class Primitives:
    __avro__ = PACKAGE
    flag: Annotated[bool, AvroField(nullable=False)]
    count: Annotated[int, AvroField(nullable=False)]
    small: Annotated[Int32, AvroField(nullable=False)]
    ratio: Annotated[float, AvroField(nullable=False)]
    half: Annotated[Float32, AvroField(nullable=False)]
    text: str


@dataclass
class Times:
    __avro__ = PACKAGE
    at: datetime.datetime
    day: datetime.date
    local: LocalTimestampMillis
    coarse: TimeMillis
    fine: datetime.time
    millis: TimestampMillis
    amount: Annotated[Decimal, DecimalMeta(precision=10, scale=2)]


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


@dataclass
class Address:
    street: str
    city: str


@dataclass
class Person:
    __avro__ = PACKAGE
    name: str
    home: Address
    work: Optional[Address]
    eyes: Colour
    hair: Colour | None = None


@dataclass
class Collections:
    __avro__ = PACKAGE
    tags: list[str]
    numbers: list[int]
    blobs: list[bytes]
    matrix: list[list[float]]
    colours: list[Colour]
    addresses: list[Address]
    counts: dict[str, int]
    byCity: dict[str, list[Address]]
    seen: dict[str, datetime.datetime]


@dataclass
class Node:
    __avro__ = PACKAGE
    value: int
    next: Node | None
    children: list[Node]


@dataclass
class Base:
    name: str
    created: int


@dataclass
class Derived(Base):
    __avro__ = PACKAGE
    zone: str
    address: Address


@dataclass
class Cat:
    purr: str


@dataclass
class Dog:
    bark: str


@dataclass
class Zoo:
    __avro__ = PACKAGE
    pet: Union[Cat, Dog]
    label: str | int


@dataclass
class Inner:
    __avro__ = AvroClass(namespace="org.example.Outer")
    depth: int


@dataclass
class Outer:
    __avro__ = PACKAGE
    inner: Inner
    colour: Colour
    others: list[Inner]


@dataclass
class Described:
    __avro__ = AvroClass(namespace="org.example", doc="Said twice", aliases=("Earlier",))
    original: Annotated[str, AvroField(name="renamed")]
    age: Annotated[int, AvroField(doc="In years")]
    nickname: Annotated[str, AvroField(aliases=("nick",))]


CLASSES: Final[tuple[type, ...]] = (
    Leaves, Primitives, Times, Person, Collections, Node, Derived, Zoo, Outer, Described,
)  # fmt: skip


def golden(cls: type) -> str:
    """Return the text of Java's schema for the class of that name."""
    return (FOLDER / f"{cls.__name__}.avsc").read_text().strip()
