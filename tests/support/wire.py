"""Avro's binary encoding, implemented a second time and plainly, so that tests can build bytes by hand; and damage."""

from __future__ import annotations

import random


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


def damaged(whole: bytes, rng: random.Random) -> bytearray:
    """The bytes, up to four of which are others."""
    changed = bytearray(whole)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return changed
