"""Writes data as JSON, character for character as Jackson writes Java's objects; also plain data without a schema.

The data is that of :func:`told_apart`: raw values, as Avro has them, with the number of the branch in unions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from streamnative_serdes._formats.faults import not_encodable
from streamnative_serdes._paths import entry
from streamnative_serdes._schema import (
    ONLY_FIELD,
    Array,
    AvroType,
    Enum,
    Map,
    Primitive,
    Record,
    Union,
    branch_number,
    only_branch,
)
from streamnative_serdes.errors import EncodeError

from .java_classes import is_of_java, is_pairs
from .leaves import text_of
from .notation import double_text, quoted

Write = Callable[[Any, list[str]], None]  # appends the text of a value, which is not None unless its type is null

_MOST_BITS = 14_000  # of an int, whose text then has at most 4,215 digits


def plain_text(obj: Any, max_depth: int) -> str:
    """The JSON text of None, bool, int, float, str, and lists and dicts of them.

    Raises:
        EncodeError: an object of another type, a key that is not text, or nested deeper than ``max_depth`` levels.
    """
    out: list[str] = []
    _write(obj, out, max_depth)
    return "".join(out)


def _write(obj: Any, out: list[str], depth: int) -> None:
    if isinstance(obj, dict | list | tuple):
        if depth == 0:
            raise EncodeError("nested too deeply", hint="the option max.depth is the limit")
        write = partial(_write, depth=depth - 1)
        _write_object(write, obj, out) if isinstance(obj, dict) else _write_array(write, obj, out)
    else:
        out.append(_leaf(obj))


def _write_object(write: Write, obj: dict[Any, Any], out: list[str]) -> None:
    separator = "{"
    for key, item in obj.items():
        if not isinstance(key, str):
            raise not_encodable("text as key of an object", key)
        out.append(f"{separator}{_quoted(key)}:")
        separator = ","
        try:
            write(item, out)
        except EncodeError as error:
            raise error.inside(entry(key)) from None
    out.append("{}" if separator == "{" else "}")


def _write_array(write: Write, obj: Any, out: list[str]) -> None:
    out.append("[")
    for number, item in enumerate(obj):
        if number:
            out.append(",")
        try:
            write(item, out)
        except EncodeError as error:
            raise error.inside(f"[{number}]") from None
    out.append("]")


def _leaf(obj: Any) -> str:
    if obj is None:
        return "null"
    if isinstance(obj, bool):
        return "true" if obj else "false"
    if isinstance(obj, str):
        return _quoted(obj)
    if isinstance(obj, int):
        if int.bit_length(obj) > _MOST_BITS:
            raise not_encodable("an int of at most 4,200 digits", obj)
        return int.__repr__(obj)
    if isinstance(obj, float):
        return double_text(float(obj))
    raise not_encodable("plain JSON data", obj)


def _quoted(text: str) -> str:
    return quoted(str.__str__(text))


_QUOTE: Final = '"'


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
            return self._pairs(node) if is_pairs(node) else partial(_write_array, self.of(node.items))
        if isinstance(node, Map):
            return partial(_write_object, self.of(node.values))
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
                    raise error.inside(name) from None
            out.append("{}" if separator == "{" else "}")

        self._records[id(node)] = write  # for the record inside itself
        fields += [(part.name, f"{quoted(part.name)}:", self._field(part.type)) for part in node.fields]
        return write

    def _field(self, node: AvroType) -> Write:
        if self._primitives and isinstance(node, Primitive) and node.kind in ("int", "long"):
            node = replace(node, logical=None)  # an int or a long of Java, whatever it means
        return self.of(node)

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
                    raise error.inside(f"[{number}]") from None
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
