"""STRING, BYTES and NONE: the text in the schema's charset, and the bytes as they are.

Source: StringSchema and BytesSchema of Pulsar 4.0.8. A topic without a schema has type NONE or BYTES.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamnative_serdes._config import CodecArguments
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError

from .faults import described
from .format import Format, PrimitiveFormat

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
    """The format of one of ``TEXTS``.

    Raises:
        SchemaError: the charset of a STRING schema is not supported.
    """
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
