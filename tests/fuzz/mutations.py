# ruff: noqa: E501 - a table
"""Mutations of valid messages: bits, bytes, numbers, lengths and pieces are changed, cut out, doubled and swapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

BYTES = (0, 1, 2, 3, 4, 0x7E, 0x7F, 0x80, 0x81, 0xC0, 0xED, 0xFE, 0xFF)
# Values at bounds, one below and above them, and values that overflow when incremented, negated or doubled.
NUMBERS = (
    *range(-4, 9),
    *(sign * (2**bits + near) for bits in (6, 7, 13, 20, 30, 31, 32, 40, 61, 62, 63) for sign in (1, -1) for near in (-1, 0, 1)),
    253_402_300_799_999_999, -62_135_596_800_000_000, 86_400_000_000, 86_400_000, 2_932_896, -719_162,
)  # fmt: skip


def as_varint(number: int) -> bytes:
    """Encode ``number`` as Avro's long; more than 64 bits give an overlong number, as from a hostile sender."""
    folded, out = (number << 1) ^ (number >> 127), bytearray()
    while folded > 0x7F:
        out.append(folded & 0x7F | 0x80)
        folded >>= 7
    return bytes([*out, folded])


VARINTS = tuple(as_varint(number) for number in NUMBERS)


def span(data: bytes, rng: Random) -> tuple[int, int]:
    """Return start and end of a random piece of ``data``, usually a short one."""
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 1, 2, 3, 5, 8, 13, 100)))


def varint_at(data: bytes, start: int) -> int:
    """Return the end of the number that begins at ``start``, if one begins there."""
    end = start
    while end < len(data) and data[end] >= 0x80 and end - start < 9:
        end += 1
    return min(end + 1, len(data))


def flip_bit(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def set_byte(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.choice(BYTES) if rng.random() < 0.7 else rng.randrange(256)]) + data[at + 1 :]


def set_number(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(VARINTS) + data[varint_at(data, at) :]


def insert_number(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(VARINTS) + data[at:]


def set_length(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    """Replace a number by one close to the number of remaining bytes, the bound of lengths and counts."""
    at = rng.randrange(len(data) + 1)
    end = varint_at(data, at)
    left = len(data) - end
    return data[:at] + as_varint(rng.choice((1, -1)) * (left + rng.randint(-2, 2))) + data[end:]


def make_overlong(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    """Write the same number in more bytes than necessary, up to and above the maximum of ten."""
    if not data:
        return data
    end = varint_at(data, rng.randrange(len(data)))
    return data[: end - 1] + bytes([data[end - 1] | 0x80]) + b"\x80" * rng.randrange(10) + b"\0" + data[end:]


def with_block_size(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    """Replace a small positive number by its negative and a size: the start of a block with a size."""
    if not data:
        return data
    at = rng.randrange(len(data))
    count = data[at] >> 1 if data[at] < 0x80 and not data[at] & 1 else 1
    return data[:at] + as_varint(-count) + as_varint(rng.choice((0, 1, count, len(data) - at - 1))) + data[at + 1 :]


def cut_out(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    start, end = span(data, rng)
    return data[:start] + data[end:]


def double(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    start, end = span(data, rng)
    times = rng.choice((1, 1, 2, 50, 300)) if end - start < 20 else 1  # 300: deeper than allowed
    return data[:end] + data[start:end] * times + data[end:]


def insert(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice((1, 2, 4, 9))) + data[at:]


def exchange(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    (a, b), (c, d) = sorted((span(data, rng), span(data, rng)))
    return data if c < b else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def cut_off(data: bytes, rng: Random, _: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def cross_over(data: bytes, rng: Random, pool: Sequence[bytes]) -> bytes:
    other = rng.choice(pool)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def splice(data: bytes, rng: Random, pool: Sequence[bytes]) -> bytes:
    other = rng.choice(pool)
    (start, end), (a, b) = span(data, rng), span(other, rng)
    return data[:start] + other[a:b] + data[end:]


MUTATIONS: tuple[Callable[[bytes, Random, Sequence[bytes]], bytes], ...] = (
    flip_bit,
    set_byte,
    set_number,
    insert_number,
    set_length,
    make_overlong,
    with_block_size,
    cut_out,
    double,
    insert,
    exchange,
    cut_off,
    cross_over,
    splice,
)


def mutated(data: bytes, rng: Random, pool: Sequence[bytes]) -> bytes:
    """Return ``data`` after one to four changes; ``pool`` has other messages to take pieces from."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        data = rng.choice(MUTATIONS)(data, rng, pool)
    return data
