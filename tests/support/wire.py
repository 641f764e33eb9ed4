"""Avro's binary encoding, implemented a second time and plainly, so that tests can build bytes by hand."""

from __future__ import annotations


def varint(number: int) -> bytes:
    """Encode ``number`` as Avro's int or long."""
    folded, out = (number << 1) ^ (number >> 63), bytearray()
    while folded > 0x7F:
        out.append(folded & 0x7F | 0x80)
        folded >>= 7
    return bytes([*out, folded])


def sized(data: bytes) -> bytes:
    """Encode ``data`` as Avro's bytes."""
    return varint(len(data)) + data
