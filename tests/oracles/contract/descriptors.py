"""Short constructors for protocol buffers descriptors, in their binary form, for tables of cases.

Source: descriptor.proto. The protobuf library is not needed, and would refuse what the tables need.
"""

from __future__ import annotations

import base64
from typing import Any, Final

_FIELD: Final = {
    "name": 1,
    "extendee": 2,
    "number": 3,
    "label": 4,
    "type": 5,
    "type_name": 6,
    "default_value": 7,
    "options": 8,
    "oneof_index": 9,
    "proto3_optional": 17,
}
_MESSAGE: Final = {
    "name": 1,
    "field": 2,
    "nested_type": 3,
    "enum_type": 4,
    "extension_range": 5,
    "extension": 6,
    "options": 7,
    "oneof_decl": 8,
    "reserved_name": 10,
}
_FILE: Final = {
    "name": 1,
    "package": 2,
    "dependency": 3,
    "message_type": 4,
    "enum_type": 5,
    "service": 6,
    "extension": 7,
    "public_dependency": 10,
    "syntax": 12,
}
INT32, STRING, GROUP, MESSAGE, BYTES, UINT32, ENUM = 5, 9, 10, 11, 12, 13, 14  # types of fields
DOUBLE, FLOAT, BOOL = 1, 2, 8
REPEATED: Final = 3  # label


def node(_numbers: dict[str, int], **values: Any) -> bytes:
    """Encode a message; values are text, numbers, encoded messages, or lists of these."""
    encoded = b""
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            encoded += _number(_numbers[name], one) if isinstance(one, int) else _bytes(_numbers[name], one)
    return encoded


def field(name: str, number: int, kind: int | None = INT32, **more: Any) -> bytes:
    return node(_FIELD, name=name, number=number, **({} if kind is None else {"type": kind}), **more)


def packed(value: int = 1) -> bytes:
    """Options of a field."""
    return _number(2, value)


def message(name: str, *fields: bytes, **more: Any) -> bytes:
    return node(_MESSAGE, name=name, field=list(fields), **more)


def enum(name: str, *values: str) -> bytes:
    return node({"name": 1, "value": 2}, name=name, value=[node({"name": 1}, name=value) for value in values])


def oneof(name: str) -> bytes:
    return node({"name": 1}, name=name)


def numbers(start: int, end: int) -> bytes:
    """A range of extensions."""
    return _number(1, start) + _number(2, end)


def service(name: str, *methods: tuple[str, str, str]) -> bytes:
    """Methods are (name, input type, output type)."""
    parts = [_bytes(1, method) + _bytes(2, given) + _bytes(3, returned) for method, given, returned in methods]
    return node({"name": 1, "method": 2}, name=name, method=parts)


def file(*messages: bytes, name: str = "a.proto", **more: Any) -> bytes:
    return node(_FILE, name=name, message_type=list(messages), **more)


def native(files: list[bytes] | bytes, root: Any = "M", name: Any = "a.proto", **more: Any) -> dict[str, Any]:
    """The schema whose root message is in the file of that name."""
    data = files if isinstance(files, bytes) else b"".join(_bytes(1, one) for one in files)
    encoded = base64.b64encode(data).decode()
    return {"fileDescriptorSet": encoded, "rootMessageTypeName": root, "rootFileDescriptorName": name, **more}


def one(*fields: bytes, **more: Any) -> dict[str, Any]:
    """The schema of message M with these fields."""
    return native([file(message("M", *fields, **more))])


def part(number: int, value: str | bytes) -> bytes:
    """A field of another number."""
    return _bytes(number, value)


def nested(depth: int) -> bytes:
    """A message in a message, and so on."""
    found = message("M")
    for _ in range(depth):
        found = message("M", nested_type=[found])
    return found


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value & 0xFFFFFFFFFFFFFFFF)


def _bytes(number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
