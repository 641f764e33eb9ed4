"""The compiled reading of records and protocol buffers, and their writing."""

from __future__ import annotations

from typing import NamedTuple

from streamnative_serdes._records import Message, RecordColumns, RecordReader, fields_of, varint, zigzag

__all__ = ["Field", "Message", "RecordColumns", "RecordReader", "fields_of", "number", "text", "varint", "zigzag"]


class Field(NamedTuple):
    """A field of a protocol buffer as :func:`fields_of` returns it."""

    number: int
    value: int | bytes
    start: int
    end: int


def number(field: int, value: int) -> bytes:
    """A varint field of a protocol buffer."""
    return varint(field << 3) + varint(value & 0xFFFFFFFFFFFFFFFF)


def text(field: int, value: bytes) -> bytes:
    """A field of bytes, text or a nested message."""
    return varint(field << 3 | 2) + varint(len(value)) + value
