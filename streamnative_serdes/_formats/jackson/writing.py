"""Writes data that the Avro codec has checked as JSON, character for character as Jackson writes Java's object.

The data is that of :func:`told_apart`: raw values, as Avro has them, with the number of the branch in unions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from streamnative_serdes._schema import (
    ONLY_FIELD,
    Array,
    AvroType,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
    branch_number,
    only_branch,
)
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError

from .. import moments
from ..faults import described, not_encodable, within
from .base64_text import to_base64
from .java_classes import CHARACTER, DATES, NUMBERS, is_of_connect, is_of_java, is_pairs, java_class
from .logical import UNITS
from .notation import decimal_text, double_text, float_text, quoted
from .numbers import NUMBER, seconds_text

Write = Callable[[Any, list[str]], None]  # appends the text of a value, which is not None unless its type is null
Text = Callable[[Any], str]

_QUOTE: Final = '"'
_BYTES: Final = Codec("bytes")
_BIG_DECIMAL: Final = Codec({"type": "bytes", "logicalType": "big-decimal"})


class Writer:
    """Makes the function for each type of a schema; for a record once, since it may contain itself.

    Args:
        primitives: fields that do not allow null are of Java's primitive types; see :func:`has_primitives`.
    """

    def __init__(self, *, primitives: bool) -> None:
        self._primitives = primitives
        self._records: dict[int, Write] = {}

    def of(self, node: AvroType) -> Write:
        if isinstance(node, Record):
            return self._records.get(id(node)) or self._record(node)
        if isinstance(node, Array):
            return self._pairs(node) if is_pairs(node) else self._array(node)
        if isinstance(node, Map):
            return self._map(node)
        if isinstance(node, Union):
            return self._union(node)
        text = quoted if isinstance(node, Enum) else text_of(node)
        return lambda value, out: out.append(text(value))

    def _record(self, node: Record) -> Write:
        fields: list[tuple[str, str, Write]] = []
        opaque = is_of_java(node)

        def write(value: Any, out: list[str]) -> None:
            if opaque:
                raise EncodeError(f"the schema does not say what JSON an object of Java's class {node.name} is")
            separator = "{"
            for name, key, convert in fields:
                item = value[name]
                if item is None:
                    continue
                out.append(separator + key)
                separator = ","
                try:
                    convert(item, out)
                except EncodeError as error:
                    raise within(name, error) from None
            out.append("{}" if separator == "{" else "}")

        self._records[id(node)] = write  # for the record inside itself
        fields += [(part.name, f"{quoted(part.name)}:", self._field(part.type)) for part in node.fields]
        return write

    def _field(self, node: AvroType) -> Write:
        if self._primitives and isinstance(node, Primitive) and node.kind in ("int", "long"):
            node = replace(node, logical=None)  # an int or a long of Java, whatever it means
        return self.of(node)

    def _array(self, node: Array) -> Write:
        convert = self.of(node.items)

        def write(value: Any, out: list[str]) -> None:
            out.append("[")
            for number, item in enumerate(value):
                if number:
                    out.append(",")
                try:
                    convert(item, out)
                except EncodeError as error:
                    raise within(f"[{number}]", error) from None
            out.append("]")

        return write

    def _map(self, node: Map) -> Write:
        convert = self.of(node.values)

        def write(value: Any, out: list[str]) -> None:
            separator = "{"
            for key, item in value.items():
                out.append(f"{separator}{quoted(key)}:")
                separator = ","
                try:
                    convert(item, out)
                except EncodeError as error:
                    raise within(f'["{key:.60}"]', error) from None
            out.append("{}" if separator == "{" else "}")

        return write

    def _pairs(self, node: Array) -> Write:
        """A map of Java whose keys are no text: an array of pairs in the schema, but an object in JSON."""
        assert isinstance(node.items, Record)
        to_key, convert = (self.of(part.type) for part in node.items.fields)

        def write(value: Any, out: list[str]) -> None:
            separator = "{"
            for number, pair in enumerate(value):
                text: list[str] = []
                try:
                    to_key(pair["key"], text)
                    key = "".join(text)
                    out.append(f"{separator}{key if key.startswith(_QUOTE) else quoted(key)}:")
                    convert(pair["value"], out)
                except EncodeError as error:
                    raise within(f"[{number}]", error) from None
                separator = ","
            out.append("{}" if separator == "{" else "}")

        return write

    def _union(self, node: Union) -> Write:
        branches = [self.of(branch) for branch in node.branches]
        only = only_branch(node)

        def write(value: Any, out: list[str]) -> None:
            if value is None:
                out.append("null")
            elif only is not None:
                branches[only](value[1] if isinstance(value, tuple) else value, out)
            else:
                name, fields = value
                branches[branch_number(name)](fields[ONLY_FIELD], out)

        return write


# --- leaves -----------------------------------------------------------------------------------------------------------


def text_of(node: Primitive | Fixed) -> Text:
    """What shows a raw value of the type."""
    if node.logical is None:
        return _string(node) if node.kind == "string" else _integer(node) if node.kind == "int" else _PLAIN[node.kind]
    name = node.logical.name
    if name in ("decimal", "big-decimal"):
        return _decimal(node)
    if name == "uuid":
        return quoted if node.kind == "string" else lambda raw: quoted(str(UUID(bytes=raw)))
    if name == "duration":
        return _base64
    return str if java_class(node) in DATES or is_of_connect(node) else _moment(name)


def _base64(data: bytes) -> str:
    return f'"{to_base64(data)}"'


_PLAIN: Final[Mapping[str, Text]] = {
    "null": lambda _: "null",
    "boolean": lambda value: "true" if value else "false",
    "long": str,
    "float": float_text,
    "double": double_text,
    "bytes": _base64,
    "fixed": _base64,
}


def _string(node: AvroType) -> Text:
    if java_class(node) not in NUMBERS:
        return quoted

    def number(text: str) -> str:
        if not NUMBER.fullmatch(text):
            raise not_encodable(f"the text of a number for {java_class(node)}", text)
        return text

    return number


def _integer(node: AvroType) -> Text:
    if java_class(node) != CHARACTER:
        return str

    def character(number: int) -> str:
        if not 0 <= number <= 0xFFFF:
            raise EncodeError(f"expected the number of a character from 0 to 65535, got {described(number)}")
        return quoted(chr(number))

    return character


def _decimal(node: Primitive | Fixed) -> Text:
    assert node.logical
    scale = node.logical.scale
    if node.logical.name == "big-decimal":
        return lambda raw: decimal_text(_BIG_DECIMAL.decode(_BYTES.encode(raw)))
    if is_of_connect(node):
        return _base64
    return lambda raw: decimal_text(Decimal(f"{int.from_bytes(raw, signed=True)}E-{scale}"))


# --- moments: the forms are listed in logical.py ----------------------------------------------------------------------


def _moment(name: str) -> Text:
    kind, _, unit = name.rpartition("-")
    if name == "date":
        return _date
    ticks, show = UNITS[unit], _SHOW[kind]
    return lambda raw: show(raw * ticks)


def _date(days: int) -> str:
    date = moments.to_date(days, "date")
    return f"[{date.year},{date.month},{date.day}]"


def _local(nanos: int) -> str:
    days, rest = divmod(nanos, moments.DAY)
    return f"{_date(days)[:-1]},{_clock(rest)}]"


def _time(nanos: int) -> str:
    return f"[{_clock(nanos)}]"


def _clock(nanos: int) -> str:
    """Hours and minutes; seconds and nanoseconds if they are not 0."""
    time, below = moments.to_time(nanos, "time"), nanos % moments.SECOND
    numbers = [time.hour, time.minute, *([time.second] if time.second or below else []), *([below] if below else [])]
    return ",".join(map(str, numbers))


_SHOW: Final[Mapping[str, Callable[[int], str]]] = {
    "timestamp": seconds_text,
    "local-timestamp": _local,
    "time": _time,
}
