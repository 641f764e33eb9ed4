"""Avro data as plain JSON and back, by its schema: as people write it, and with nothing lost on the way.

| Avro | JSON |
|---|---|
| null, boolean, int, long, string, enum, array, map, record | the corresponding JSON type |
| float, double | a number; ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which JSON does not have |
| bytes, fixed | text, a character from U+0000 to U+00FF for each byte, as in Avro's JSON encoding |
| logical types | text: see :mod:`.logical_text` |
| a union of null and one other type | null, or the value itself |
| any other union | null, or ``{"name of the type": value}``, as in Avro's JSON encoding |

Decoded data does not tell which branch of a union it is of: 5 may be an int or a long. So :class:`JsonWriter` decodes
by a schema of its own, in which each branch of such a union is a record with one field. Its bytes are the same.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import (
    ONLY_FIELD,
    Array,
    AvroType,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Schema,
    Union,
    branch_number,
    name_of,
    only_branch,
    told_apart,
)
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError

if TYPE_CHECKING:
    from typing_extensions import Buffer

from .logical_text import form_of

Conversion: TypeAlias = Callable[[Any], Any]

_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MOST_DEPTH: Final = 1_000  # the most that max.depth may be


class _FaultError(Exception):
    """A value that does not fit; ``path`` grows on the way out."""

    def __init__(self, expected: str, got: Any) -> None:
        super().__init__(f"expected {expected}, got {got!r:.60}")
        self.path: list[str] = []

    @property
    def where(self) -> str:
        return "".join(reversed(self.path)).removeprefix(".")


class JsonWriter:
    """Decodes data of a writer's schema to JSON values; options for logical types and names are not used."""

    def __init__(self, schema: Schema, options: CodecArguments) -> None:
        own: CodecArguments = {**options, "max_depth": _MOST_DEPTH, "return_record_name": True}
        self._codec = Codec(told_apart(schema), **own)
        self._convert = _Writer().of(schema.root)

    def write(self, body: Buffer) -> Any:
        """The datum in ``body``, bytes without a header, as JSON. Raises DecodeError."""
        try:
            return self._convert(self._codec.decode(body))
        except _FaultError as fault:
            raise DecodeError(str(fault), path=fault.where) from None


def reader_of(schema: Schema) -> Conversion:
    """A function from JSON as of :class:`JsonWriter` to data for the encoder. It raises EncodeError for other forms."""
    convert = _Reader().of(schema.root)

    def read(value: Any) -> Any:
        try:
            return convert(value)
        except _FaultError as fault:
            raise EncodeError(str(fault), path=fault.where) from None

    return read


class _Compiler(ABC):
    """Makes a conversion for each type; for a named type only once, since the type may contain itself."""

    def __init__(self) -> None:
        self._named: dict[int, Conversion] = {}

    def of(self, node: AvroType) -> Conversion:
        if not isinstance(node, Record):
            return self._made(node)
        if id(node) not in self._named:
            made: list[Conversion] = []

            def itself(value: Any) -> Any:
                return made[0](value)

            self._named[id(node)] = itself  # for the record inside itself
            made.append(self._made(node))
            self._named[id(node)] = made[0]
        return self._named[id(node)]

    def _made(self, node: AvroType) -> Conversion:
        if isinstance(node, Record):
            return self.record(node, {part.name: self.of(part.type) for part in node.fields})
        if isinstance(node, Array):
            return _each_item(self.of(node.items))
        if isinstance(node, Map):
            return _each_value(self.of(node.values))
        if isinstance(node, Union):
            return self.union(node, [self.of(branch) for branch in node.branches])
        if isinstance(node, Enum):
            return _same
        return self.leaf(node)

    @abstractmethod
    def record(self, node: Record, fields: Mapping[str, Conversion]) -> Conversion: ...

    @abstractmethod
    def union(self, node: Union, branches: list[Conversion]) -> Conversion: ...

    @abstractmethod
    def leaf(self, node: Primitive | Fixed) -> Conversion: ...


class _Writer(_Compiler):
    def record(self, node: Record, fields: Mapping[str, Conversion]) -> Conversion:  # noqa: ARG002
        def write(datum: Any) -> Any:
            return {name: _at(f".{name}", convert, datum[name]) for name, convert in fields.items()}

        return write

    def union(self, node: Union, branches: list[Conversion]) -> Conversion:
        names = [name_of(branch) for branch in node.branches]
        only = only_branch(node)

        def write_only(datum: Any) -> Any:
            assert only is not None
            return None if datum is None else branches[only](datum[1] if isinstance(datum, tuple) else datum)

        def write(datum: Any) -> Any:
            if datum is None:
                return None
            name, fields = datum
            number = branch_number(name)
            return {names[number]: branches[number](fields[ONLY_FIELD])}

        return write if only is None else write_only

    def leaf(self, node: Primitive | Fixed) -> Conversion:
        form = form_of(node)
        if form is not None:
            return _checked(form.show)
        if node.kind in ("float", "double"):
            return _shown_float
        if node.kind in ("bytes", "fixed"):
            return lambda value: value.decode("latin-1")
        return _same


class _Reader(_Compiler):
    def record(self, node: Record, fields: Mapping[str, Conversion]) -> Conversion:
        def read(value: Any) -> Any:
            if not isinstance(value, dict):
                raise _FaultError(f"an object for record {node.name}", value)
            # The encoder says which fields are missing, and which ones the record does not have.
            return {
                name: _at(f".{name}", fields[name], item) if name in fields else item for name, item in value.items()
            }

        return read

    def union(self, node: Union, branches: list[Conversion]) -> Conversion:
        by_name = dict(zip(map(name_of, node.branches), branches, strict=True))
        only = only_branch(node)

        def read(value: Any) -> Any:
            if value is None:
                return None
            if only is not None:
                return branches[only](value)
            name = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else None
            if name not in by_name or name == "null":
                forms = " or ".join(f'{{"{name}": ...}}' for name in by_name if name != "null")
                raise _FaultError(forms, value)
            return name, _at(f".{name}", by_name[name], value[name])

        return read

    def leaf(self, node: Primitive | Fixed) -> Conversion:
        form = form_of(node)
        if form is not None:
            return _checked(form.read)
        if node.kind in ("float", "double"):
            return lambda value: _SPECIAL.get(value, value) if isinstance(value, str) else value
        if node.kind in ("bytes", "fixed"):
            return _bytes
        return _same


def _shown_float(value: float) -> float | str:
    return value if math.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")


def _same(value: Any) -> Any:
    return value


def _bytes(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise _FaultError("text with characters from U+0000 to U+00FF, one for each byte", text) from None


def _each_item(convert: Conversion) -> Conversion:
    def each(items: Any) -> Any:
        if not isinstance(items, list):
            return items
        return [_at(f"[{number}]", convert, item) for number, item in enumerate(items)]

    return _same if convert is _same else each


def _each_value(convert: Conversion) -> Conversion:
    def each(items: Any) -> Any:
        if not isinstance(items, dict):
            return items
        return {key: _at(f'["{key}"]', convert, item) for key, item in items.items()}

    return _same if convert is _same else each


def _checked(convert: Conversion) -> Conversion:
    """``convert`` with _FaultError in place of ValueError, whose text names the expected form."""

    def checked(value: Any) -> Any:
        try:
            return convert(value)
        except ValueError as expected:
            fault = _FaultError(str(expected), value)
        raise fault

    return checked


def _at(step: str, convert: Conversion, value: Any) -> Any:
    try:
        return convert(value)
    except _FaultError as fault:
        fault.path.append(step)
        raise
