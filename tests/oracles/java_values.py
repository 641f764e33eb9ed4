"""Java values in Python: parses the output of Oracle.java, and compares it with our values."""

from __future__ import annotations

import datetime as dt
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

FIXED_WIDTH = {b"I": ">i", b"J": ">q", b"f": ">f", b"d": ">d"}
CONSTANTS = {b"N": None, b"T": True, b"F": False}
EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class BadText:
    """A string or map key whose bytes are not UTF-8: Java keeps the bytes until the text is used."""

    raw: bytes


@dataclass(frozen=True)
class Converted:
    """A converted logical type: simple name of the Java class, and its content (Oracle.converted)."""

    kind: str
    text: str


class Shown:
    """Parses the tagged value that Oracle.value() wrote."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.branches: list[int] = []

    def value(self) -> Any:
        tag = self.take(1)
        if tag == b"U":
            self.branches.append(self.number(">i"))
            return self.value()
        if tag in CONSTANTS:
            return CONSTANTS[tag]
        if tag in FIXED_WIDTH:
            return self.number(FIXED_WIDTH[tag])
        if tag in (b"B", b"X"):
            return self.sized()
        if tag in (b"S", b"E"):
            return self.text()
        if tag == b"A":
            return [self.value() for _ in range(self.number(">i"))]
        if tag == b"L":
            return Converted(self.text(), self.text())
        assert tag in (b"M", b"R"), tag
        return {self.text(): self.value() for _ in range(self.number(">i"))}

    def take(self, size: int) -> bytes:
        self.at += size
        assert self.at <= len(self.data)
        return self.data[self.at - size : self.at]

    def number(self, layout: str) -> Any:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def sized(self) -> bytes:
        return self.take(self.number(">i"))

    def text(self) -> Any:
        raw = self.sized()
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return BadText(raw)


def same(ours: Any, theirs: Any, *, ordered: bool = True) -> bool:
    """Whether values and their types are equal: 1, 1.0 and True differ, as do 0.0 and -0.0; NaN equals NaN.

    With ``ordered``, keys must be in the same order too.
    """
    if isinstance(theirs, Converted):
        return as_java(ours, theirs.kind) == theirs.text
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, dict):
        keys = list(ours) == list(theirs) if ordered else ours.keys() == theirs.keys()
        return keys and all(same(ours[key], theirs[key], ordered=ordered) for key in ours)
    if isinstance(ours, list | tuple):
        pairs = zip(ours, theirs, strict=False)
        return len(ours) == len(theirs) and all(same(one, other, ordered=ordered) for one, other in pairs)
    if isinstance(ours, float):
        return struct.pack(">d", ours) == struct.pack(">d", theirs) or (math.isnan(ours) and math.isnan(theirs))
    return bool(ours == theirs)


def as_java(value: Any, kind: str) -> str:
    """Return a value of a logical type in the form of Oracle.converted()."""
    if kind in ("Instant", "LocalDateTime"):
        seconds, nanos = divmod(value if isinstance(value, int) else nanos_of(value), 10**9)
        return f"{seconds} {nanos}"
    if kind == "LocalDate":
        return str((value - EPOCH.date()).days)
    if kind == "LocalTime":
        return str(nanos_of(dt.datetime.combine(EPOCH, value)))
    if kind == "BigDecimal":
        sign, digits, exponent = Decimal(value).as_tuple()
        number = int("".join(map(str, digits)))
        return f"{-number if sign else number}E{exponent}"
    if kind == "TimePeriod":
        return " ".join(map(str, value))
    assert kind == "UUID"
    return str(value)


def nanos_of(value: dt.datetime) -> int:
    return (value.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1) * 1000
