"""BOOLEAN, INT8 to INT64, FLOAT and DOUBLE, as Pulsar's Java client writes them.

    BOOLEAN | INT8   one byte: 0 or 1; the number in two's complement
    INT16 | INT32 | INT64   2, 4 or 8 bytes, two's complement, big-endian
    FLOAT | DOUBLE   4 or 8 bytes, IEEE 754, big-endian

Source: BooleanSchema, ByteSchema, ShortSchema, IntSchema, LongSchema, FloatSchema and DoubleSchema of Pulsar 4.0.8.
"""

from __future__ import annotations

from math import isnan
from struct import Struct
from typing import Any, Final

from streamnative_serdes._config import CodecArguments
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError

from .faults import check_size
from .format import Format, PrimitiveFormat

_INTEGERS: Final = {"INT8": "b", "INT16": "h", "INT32": "i", "INT64": "q"}
_REALS: Final = {"FLOAT": "f", "DOUBLE": "d"}
_ONLY_NAN: Final = bytes.fromhex("7ff8000000000000")  # Java writes each NaN as this one; but a float as it is
NUMBERS: Final = ("BOOLEAN", *_INTEGERS, *_REALS)


def number_format(kind: str, options: CodecArguments) -> Format:
    """The format of one of ``NUMBERS``; the Avro codec decides which Python objects it takes."""
    if kind == "BOOLEAN":
        return _boolean(options)
    return _integer(kind, options) if kind in _INTEGERS else _real(kind, options)


def _boolean(options: CodecArguments) -> Format:
    codec = Codec("boolean", **options)

    def decode(data: bytes) -> bool:
        check_size("BOOLEAN", 1, data)
        return data[0] != 0  # as in Java

    return PrimitiveFormat("BOOLEAN", decode, codec.encode)


def _integer(kind: str, options: CodecArguments) -> Format:
    layout = Struct(f">{_INTEGERS[kind]}")
    bits = 8 * layout.size
    codec = Codec("int" if bits <= 32 else "long", **options)

    def decode(data: bytes) -> Any:
        check_size(kind, layout.size, data)
        return layout.unpack(data)[0]

    def encode(obj: Any) -> bytes:
        number = codec.decode(codec.encode(obj))
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise EncodeError(f"{kind} out of range: {number}")
        return layout.pack(number)

    return PrimitiveFormat(kind, decode, encode)


def _real(kind: str, options: CodecArguments) -> Format:
    layout = Struct(f">{_REALS[kind]}")
    codec = Codec(kind.lower(), **options)

    def decode(data: bytes) -> Any:
        check_size(kind, layout.size, data)
        return layout.unpack(data)[0]

    def encode(obj: Any) -> bytes:
        data = codec.encode(obj)[::-1]  # Avro's are little-endian
        return _ONLY_NAN if kind == "DOUBLE" and isnan(layout.unpack(data)[0]) else data

    return PrimitiveFormat(kind, decode, encode)
