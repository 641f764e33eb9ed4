"""Corrupted Arrow data: changes the C structs as a buggy producer would."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_pointer_of = c.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = c.c_void_p, [c.py_object, c.c_char_p]


class CSchema(c.Structure):
    """ArrowSchema of the C data interface."""


class CArray(c.Structure):
    """ArrowArray of the C data interface."""


CSchema._fields_ = [
    ("format", c.c_char_p),
    ("name", c.c_char_p),
    ("metadata", c.c_char_p),
    ("flags", c.c_int64),
    ("n_children", c.c_int64),
    ("children", c.POINTER(c.POINTER(CSchema))),
    ("dictionary", c.POINTER(CSchema)),
    ("release", c.c_void_p),
    ("private_data", c.c_void_p),
]
CArray._fields_ = [
    ("length", c.c_int64),
    ("null_count", c.c_int64),
    ("offset", c.c_int64),
    ("n_buffers", c.c_int64),
    ("n_children", c.c_int64),
    ("buffers", c.POINTER(c.c_void_p)),
    ("children", c.POINTER(c.POINTER(CArray))),
    ("dictionary", c.POINTER(CArray)),
    ("release", c.c_void_p),
    ("private_data", c.c_void_p),
]


class Exported:
    """The structs ``schema`` and ``array`` that pyarrow exports for ``data``; they may be changed."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._capsules = data.__arrow_c_array__()
        schema, array = self._capsules
        self.schema = CSchema.from_address(_pointer_of(schema, b"arrow_schema"))
        self.array = CArray.from_address(_pointer_of(array, b"arrow_array"))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


Change = Callable[[Exported], Any]


@contextmanager
def damaged(data: Any, change: Change) -> Iterator[Exported]:
    """Yield ``data`` with ``change`` applied; at the end, restore what pyarrow needs to release it."""
    exported = Exported(data)
    kept: list[tuple[Any, bytes]] = []
    _keep(exported.schema, kept)
    _keep(exported.array, kept)
    try:
        change(exported)
        yield exported
    finally:
        for struct, before in kept:
            c.memmove(c.addressof(struct), before, len(before))


def _keep(struct: Any, kept: list[tuple[Any, bytes]]) -> None:
    kept.append((struct, bytes(struct)))
    for i in range(struct.n_children):
        pointers = c.cast(struct.children, c.POINTER(c.c_void_p))
        slot = c.c_void_p.from_address(c.addressof(pointers.contents) + i * c.sizeof(c.c_void_p))
        kept.append((slot, bytes(slot)))
        _keep(struct.children[i].contents, kept)
    if struct.dictionary:
        _keep(struct.dictionary.contents, kept)
    if isinstance(struct, CArray):
        for i in range(struct.n_buffers):
            slot = c.c_void_p.from_address(c.addressof(struct.buffers.contents) + i * c.sizeof(c.c_void_p))
            kept.append((slot, bytes(slot)))


def put(**fields: Any) -> Change:
    """Set fields of the array."""
    return lambda exported: _set(exported.array, fields)


def put_child(number: int, **fields: Any) -> Change:
    """Set fields of a child of the array."""
    return lambda exported: _set(exported.array.children[number].contents, fields)


def put_schema(**fields: Any) -> Change:
    """Set fields of the schema."""
    return lambda exported: _set(exported.schema, fields)


def no_buffer(number: int) -> Change:
    """Remove one buffer of the array."""
    return lambda exported: exported.array.buffers.__setitem__(number, None)


def write_int32(buffer: int, place: int, value: int) -> Change:
    """Overwrite a number in a buffer of 32-bit numbers; only for arrays whose memory is not shared."""
    return lambda exported: _write(c.c_int32, exported.array.buffers[buffer], place, value)


def write_int64(buffer: int, place: int, value: int) -> Change:
    """The same for a buffer of 64-bit numbers."""
    return lambda exported: _write(c.c_int64, exported.array.buffers[buffer], place, value)


def _write(kind: type[c.c_int32 | c.c_int64], address: int, place: int, value: int) -> None:
    kind.from_address(address + c.sizeof(kind) * place).value = value


def _set(struct: Any, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(struct, name, value)
