"""BOOLEAN, numbers, STRING, BYTES and NONE, as Pulsar's Java client writes them.

BOOLEAN, INT8 to INT64, FLOAT and DOUBLE, as Pulsar's Java client writes them.

    BOOLEAN | INT8   one byte: 0 or 1; the number in two's complement
    INT16 | INT32 | INT64   2, 4 or 8 bytes, two's complement, big-endian
    FLOAT | DOUBLE   4 or 8 bytes, IEEE 754, big-endian

Source: BooleanSchema, ByteSchema, ShortSchema, IntSchema, LongSchema, FloatSchema and DoubleSchema of Pulsar 4.0.8.

STRING, BYTES and NONE: the text in the schema's charset, and the bytes as they are.

Source: StringSchema and BytesSchema of Pulsar 4.0.8. A topic without a schema has type NONE or BYTES.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from struct import Struct
from typing import Any, Final

from streamnative_serdes._config import CodecArguments
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError

from .faults import check_size, described
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


TEXTS: Final = ("STRING", "BYTES", "NONE")
CHARSET: Final = "__charset"  # property of a STRING schema: Java's name of a charset

# The charsets that every Java has, and their names in Python.
_CHARSETS: Final[Mapping[str, str]] = {
    "UTF-8": "utf-8",
    "UTF-16": "utf-16-be",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
}
_BOM: Final = b"\xfe\xff"
_LITTLE_BOM: Final = b"\xff\xfe"


def text_format(kind: str, properties: Mapping[str, str], options: CodecArguments) -> Format:
    """The format of one of ``TEXTS``. Raises SchemaError: the charset of a STRING schema is not supported."""
    if kind != "STRING":
        codec = Codec("bytes", **options)
        return PrimitiveFormat(kind, bytes, lambda obj: bytes(codec.decode(codec.encode(obj))))
    charset = properties.get(CHARSET, "UTF-8").upper()
    if charset not in _CHARSETS:
        raise SchemaError(
            f"expected one of the charsets {', '.join(_CHARSETS)} for STRING, got {described(charset)}",
            hint="read the topic's values as BYTES, and decode them yourself",
        )
    return _utf_16(options) if charset == "UTF-16" else _text(charset, options)


def _text(charset: str, options: CodecArguments) -> Format:
    codec, name = Codec("string", **options), _CHARSETS[charset]

    def decode(data: bytes) -> str:
        try:
            return str(data, name)
        except UnicodeDecodeError as error:
            raise DecodeError(f"expected text in {charset}, got {error.reason}", offset=error.start) from None

    def encode(obj: Any) -> bytes:
        text: str = codec.decode(codec.encode(obj))  # takes what the Avro codec takes
        try:
            return text.encode(name)
        except UnicodeEncodeError as error:
            raise EncodeError(f"expected text in {charset}, got {described(text[error.start])}") from None

    return PrimitiveFormat("STRING", decode, encode)


def _utf_16(options: CodecArguments) -> Format:
    """Java's UTF-16: big-endian after a byte order mark; on reading, the mark decides, and none means big-endian."""
    big, little = _text("UTF-16BE", options), _text("UTF-16LE", options)

    def decode(data: bytes) -> Any:
        reader = little if data.startswith(_LITTLE_BOM) else big
        marked = data.startswith((_BOM, _LITTLE_BOM))
        try:
            return reader.decode(data[2:] if marked else data)
        except DecodeError as error:
            error.offset = (error.offset or 0) + 2 * marked
            raise

    def encode(obj: Any) -> bytes:
        data = big.encode(obj)
        return _BOM + data if data else data  # Java writes no mark before nothing

    return PrimitiveFormat("STRING", decode, encode)
