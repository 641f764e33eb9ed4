"""Descriptors of protocol buffers in their own binary form, read without the protobuf library.

A message is a sequence of fields: a varint ``number << 3 | wire type``, and a value::

    wire type 0   varint                 2   varint length, bytes       4   end of the group
              1   eight bytes            3   a group begins             5   four bytes

Source: descriptor.proto, and CodedInputStream of protobuf-java 3.25.5, which the broker uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Node: TypeAlias = dict[str, Any]  # a message: text, int, a Node, or a list of these; fields without a value are missing
_Table: TypeAlias = Mapping[int, tuple[str, Any]]  # number -> name, and TEXT, INT or a table; a list means repeated

_TEXT: Final = "text"
_INT: Final = "int"
_VARINT, _EIGHT, _BYTES, _GROUP, _END, _FOUR = range(6)
_MAX_DEPTH: Final = 100

_FIELD: Final[_Table] = {
    1: ("name", _TEXT),
    2: ("extendee", _TEXT),
    3: ("number", _INT),
    4: ("label", _INT),
    5: ("type", _INT),
    6: ("type_name", _TEXT),
    7: ("default_value", _TEXT),
    8: ("options", {2: ("packed", _INT)}),
    9: ("oneof_index", _INT),
}
_ANY: Final[_Table] = {}  # a message of which no field matters
_ENUM: Final[_Table] = {
    1: ("name", _TEXT),
    2: ("value", [{1: ("name", _TEXT), 3: ("options", _ANY)}]),
    3: ("options", _ANY),
    4: ("reserved_range", [_ANY]),
}
_MESSAGE: Final[dict[int, tuple[str, Any]]] = {
    1: ("name", _TEXT),
    2: ("field", [_FIELD]),
    4: ("enum_type", [_ENUM]),
    5: ("extension_range", [{1: ("start", _INT), 2: ("end", _INT), 3: ("options", _ANY)}]),
    6: ("extension", [_FIELD]),
    7: ("options", {1: ("message_set_wire_format", _INT)}),
    8: ("oneof_decl", [{2: ("options", _ANY)}]),
    9: ("reserved_range", [_ANY]),
}
_MESSAGE[3] = ("nested_type", [_MESSAGE])
_METHOD: Final[_Table] = {
    1: ("name", _TEXT),
    2: ("input_type", _TEXT),
    3: ("output_type", _TEXT),
    4: ("options", _ANY),
}
_FILE: Final[_Table] = {
    1: ("name", _TEXT),
    2: ("package", _TEXT),
    3: ("dependency", [_TEXT]),
    4: ("message_type", [_MESSAGE]),
    5: ("enum_type", [_ENUM]),
    6: ("service", [{1: ("name", _TEXT), 2: ("method", [_METHOD]), 3: ("options", _ANY)}]),
    7: ("extension", [_FIELD]),
    8: ("options", _ANY),
    9: ("source_code_info", _ANY),
    10: ("public_dependency", [_INT]),
}
_SET: Final[_Table] = {1: ("file", [_FILE])}


class WireError(ValueError):
    """The bytes are not a message."""


def file_descriptors(data: bytes) -> list[Node]:
    """Return the files of a FileDescriptorSet; of each, what decides whether the broker accepts it.

    Raises:
        WireError: as above.
    """
    files: list[Node] = _Reader(data).message(_SET, {}, 0).get("file", [])
    return files


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def message(self, table: _Table, found: Node, depth: int) -> Node:
        """Read to the end, and add to ``found``: a field that occurs again replaces or extends the first."""
        if depth > _MAX_DEPTH:
            raise WireError("nested too deeply")
        while self._at < len(self._data):
            number, wire_type = self._tag()
            name, kind = table.get(number, ("", None))
            repeated = isinstance(kind, list)
            if repeated and kind[0] == _INT and wire_type == _BYTES:
                found.setdefault(name, []).extend(self._packed())
                continue
            value = self._value(
                wire_type, kind[0] if repeated else kind, {} if repeated else found.get(name, {}), depth
            )
            if value is None:
                self._skip(number, wire_type, depth)
            elif repeated:
                found.setdefault(name, []).append(value)
            else:
                found[name] = value
        return found

    def _value(self, wire_type: int, kind: Any, before: Any, depth: int) -> Any:
        """The value of one occurrence; None where the type on the wire is not that of the field."""
        if kind == _INT:
            return self._int() if wire_type == _VARINT else None
        if kind is None or wire_type != _BYTES:
            return None
        data = self._bytes(self._varint())
        return data.decode(errors="replace") if kind == _TEXT else _Reader(data).message(kind, before, depth + 1)

    def _packed(self) -> list[int]:
        part, numbers = _Reader(self._bytes(self._varint())), []
        while part._at < len(part._data):
            numbers.append(part._int())
        return numbers

    def _tag(self) -> tuple[int, int]:
        tag = self._varint() & 0xFFFFFFFF
        if tag < 8:
            raise WireError("field 0")
        return tag >> 3, tag & 7

    def _skip(self, number: int, wire_type: int, depth: int) -> None:
        if wire_type == _VARINT:
            self._varint()
        elif wire_type in (_EIGHT, _FOUR):
            self._bytes(8 if wire_type == _EIGHT else 4)
        elif wire_type == _BYTES:
            self._bytes(self._varint())
        elif wire_type == _GROUP and depth < _MAX_DEPTH:
            inner = self._tag()
            while inner != (number, _END):
                self._skip(*inner, depth + 1)
                inner = self._tag()
        else:
            raise WireError(f"wire type {wire_type}")

    def _int(self) -> int:
        """An int32, whose varint may have ten bytes."""
        number = self._varint() & 0xFFFFFFFF
        return number - 2**32 if number >= 2**31 else number

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._bytes(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise WireError("a varint of more than ten bytes")

    def _bytes(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise WireError("the message ends too early")
        data, self._at = self._data[self._at : end], end
        return data
