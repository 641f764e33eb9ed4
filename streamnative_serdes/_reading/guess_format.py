"""Recognizes foreign data in messages that cannot be read as Avro: other framings, text, known file formats."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Set
from typing import Any, Final, TypeVar
from uuid import UUID

from streamnative_serdes import _config as config
from streamnative_serdes import header
from streamnative_serdes.errors import DecodeError, SchemaNotFoundError, SerdesError

from .framings import VENDORS, foreign_id

_E = TypeVar("_E", bound=SerdesError)

_LOOKED_AT: Final = 256  # bytes
_QUOTED: Final = 40  # characters
_RANDOM: Final = 4  # the version of the UUIDs that AWS gives out
_LEAST_TEXT: Final = 4  # bytes; shorter data is too often text by chance
# Magic bytes -> description.
_BEGINNINGS: Final = {
    b"Obj\x01": "an Avro object container file; send each of its records as a message",
    b"\xc3\x01": "Avro's single-object encoding, which this deserializer does not read",
    b"PAR1": "a Parquet file",
    b"ARROW1\0\0": "an Arrow file",
    b"\x1f\x8b\x08": "gzip data: the producer compressed it before passing it to the client",
    b"\x28\xb5\x2f\xfd": "zstd data: the producer compressed it before passing it to the client",
    b"\x04\x22\x4d\x18": "lz4 data: the producer compressed it before passing it to the client",
    b"\xac\xed\x00\x05": "an object in Java serialization format",
}


def with_hint(error: _E, data: Any, in_header: int | None, framings: Set[str] = frozenset()) -> _E:
    """Add a hint to ``error`` if its message has no schema version header and looks like something else.

    ``in_header`` is the version in its header, or None; ``framings`` are those of other registries that are read.
    """
    looks = None if in_header is not None else look_of(memoryview(data).tobytes(), framings)
    if looks is None:
        return error
    if isinstance(error, DecodeError):
        error.hint = looks  # any other hint about bytes is a guess too
    elif isinstance(error, SchemaNotFoundError):
        error.hint = f"{looks}; {error.hint}" if error.hint else looks
    elif error.hint:  # the cause is known, whatever the bytes look like
        error.hint = f"{error.hint}; {looks}"
    return error


def look_of(message: bytes, framings: Set[str] = frozenset()) -> str | None:
    """Return a hint that names the likely format of a message without a header; None if no format is likely."""
    of_registry = _foreign(message, framings) or (None if framings & set(config.ALIKE) else _confluent(message))
    return _cut_header(message) or of_registry or _known(message) or _text(message)


def _cut_header(message: bytes) -> str | None:
    if not message.startswith(header.MARKER) or len(message) >= header.SIZE:
        return None
    return f"the message may be truncated: it has {len(message)} of the {header.SIZE} bytes of a schema version header"


def _foreign(message: bytes, framings: Set[str]) -> str | None:
    # Ids of Confluent begin with 1, so five zeros are no prefix of Confluent's with a real id.
    there = {framing.size: framing for framing in config.FRAMINGS if framing.bit and framing.name != config.APICURIO_V3}
    prefix = header.foreign_prefix(message, sum(framing.bit for framing in there.values()) | config.SHORT_IDS)
    if prefix is None or there[len(prefix)].name in framings:
        return None
    framing = there[len(prefix)]
    if framing.name == config.GLUE and UUID(bytes=prefix[2:]).version != _RANDOM:
        return None
    return (
        f"the message begins like those of {VENDORS[framing.registry]} serializer ({foreign_id(framing, prefix)}); "
        f"framings=snip42,{framing.name},headerless with {framing.option} reads those too"
    )


def _confluent(message: bytes) -> str | None:
    schema_id = header.confluent_id(message)
    if schema_id is None:
        return None
    return (
        f"the message begins like those of Confluent's serializer (0x00, schema id {schema_id}); "
        "framings=snip42,confluent,headerless with confluent.schema.registry.url reads those too, and "
        "`streamnative-serdes migrate` copies the topic (docs/migration.md); apicurio-v3 reads those of Apicurio 3"
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
