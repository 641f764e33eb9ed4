"""What a message without our header looks like when it cannot be read as Avro: other framings, text, known files."""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import Any, Final, TypeVar

from . import header
from .errors import SerdesError

_E = TypeVar("_E", bound=SerdesError)

_LOOKED_AT: Final = 256  # bytes
_QUOTED: Final = 40  # characters
_LEAST_TEXT: Final = 4  # bytes; fewer are too often text by chance
# First bytes -> what begins so.
_BEGINNINGS: Final = {
    b"Obj\x01": "a file of Avro (an object container), whose records are messages only one by one",
    b"\xc3\x01": "Avro's single-object encoding, whose framing this deserializer does not read",
    b"PAR1": "a file of Parquet",
    b"ARROW1\0\0": "a file of Arrow",
    b"\x1f\x8b\x08": "gzip: it was compressed before it was given to the client",
    b"\x28\xb5\x2f\xfd": "zstd: it was compressed before it was given to the client",
    b"\x04\x22\x4d\x18": "lz4: it was compressed before it was given to the client",
    b"\xac\xed\x00\x05": "an object of Java's own serialization",
}


def with_hint(error: _E, data: Any, in_header: int | None) -> _E:
    """``error`` with a hint where its message has no header of ours, and looks like something else.

    Args:
        error: why it could not be read.
        data: the message, whatever holds bytes.
        in_header: the version in its header; None where it has none.
    """
    looks = None if in_header is not None else look_of(memoryview(data).tobytes())
    if looks is not None:
        error.hint = looks
    return error


def look_of(message: bytes) -> str | None:
    """What a message without our header looks like, as a hint; None where nothing is likely enough to be named."""
    return _cut_header(message) or _confluent(message) or _known(message) or _text(message)


def _cut_header(message: bytes) -> str | None:
    if not message.startswith(header.MARKER) or len(message) >= header.SIZE:
        return None
    return f"the message may be cut off: it has {len(message)} of the {header.SIZE} bytes of a schema version header"


def _confluent(message: bytes) -> str | None:
    schema_id = header.confluent_id(message)
    if schema_id is None:
        return None
    return (
        f"the message may come from Confluent's serializer (0x00, schema id {schema_id}), "
        "whose framing this deserializer does not read"
    )


def _known(message: bytes) -> str | None:
    found = (what for beginning, what in _BEGINNINGS.items() if message.startswith(beginning))
    what = next(found, None)
    return None if what is None else f"the message looks like {what}"


def _text(message: bytes) -> str | None:
    try:
        text = getincrementaldecoder("utf-8-sig")().decode(message[:_LOOKED_AT])
    except UnicodeDecodeError:
        return None
    if len(message) < _LEAST_TEXT or not all(letter.isprintable() or letter in "\t\r\n" for letter in text):
        return None
    quoted = repr(text[:_QUOTED]) + ("..." if len(text) > _QUOTED else "")
    ends = text.lstrip()[:1], message[-_LOOKED_AT:].rstrip()[-1:]
    if ends in (("{", b"}"), ("[", b"]")):
        return f"the message looks like JSON text, not Avro: {quoted}"
    return f"the message looks like text: {quoted}"
