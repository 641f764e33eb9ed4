"""Ids of schemas outside of Pulsar (type EXTERNAL, PIP-420): in Pulsar's metadata, and as Confluent's headers.

::

    field 32 of MessageMetadata, schema_id
        client 4.2    0xff | id                                                     of a value
                      0xfe | int32 BE | id of the key | int32 BE | id of the value  of a KeyValue; an id may be empty
        client 4.1    the same without the first byte

The ids of Kafka-compatible registries have the form of Confluent's headers: ``0x00`` and an int32, or ``0x01`` and a
GUID. So a message of such a topic is a message with the headers ``__key_schema_id`` and ``__value_schema_id``, and all
that reads those headers reads it.

Source: SchemaIdUtil and KeyValue of Pulsar's common jars 4.1.1 and 4.2.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

from ._rewriting import KEY_HEADER, VALUE_HEADER
from .errors import DecodeError

IdForm: TypeAlias = Literal["4.2", "4.1"]  # the client that writes it
Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
_VALUE, _PAIR = b"\xff", b"\xfe"
_FORMS: Final = frozenset({(5, b"\x00"), (17, b"\x01")})  # size and first byte of an id of Kafka's form
_HINT: Final = (
    "the topic's schemas are in a registry whose ids are not those of Kafka's clients: only its own library reads them"
)


class SchemaIds(NamedTuple):
    """The schema ids of a message, as Kafka's clients write them; ``key`` is None unless the message is a pair."""

    key: bytes | None = None
    value: bytes = b""


NO_IDS: Final = SchemaIds()


def ids_in(metadata: bytes) -> SchemaIds:
    """The ids in the field ``schema_id`` of Pulsar's metadata, in any form that a client writes.

    Raises:
        DecodeError: an id is not of Kafka's form, or the field is cut off.
    """
    if not metadata:
        return NO_IDS
    if metadata[:1] == _VALUE:
        found = _value(metadata[1:])
    elif metadata[:1] == _PAIR:
        found = _pair(metadata[1:])
    else:
        found = _value(metadata) or _pair(metadata)
    if found is None:
        raise DecodeError(
            "schema id in Pulsar's metadata: expected Kafka's form, 0x00 and an int32 or 0x01 and a GUID, or a pair of "
            f"such ids, got {len(metadata)} bytes {metadata[:24].hex(' ')!r}",
            hint=_HINT,
        )
    return found


def _value(data: bytes) -> SchemaIds | None:
    return SchemaIds(value=data) if (len(data), data[:1]) in _FORMS else None


def _pair(data: bytes) -> SchemaIds | None:
    """Both ids, or None if the data are not a pair; sizes are compared with what is there."""
    ids: list[bytes] = []
    place = 0
    for _ in range(2):
        end = place + 4 + int.from_bytes(data[place : place + 4])
        ids.append(data[place + 4 : end])
        place = end
    formed = all(not one or (len(one), one[:1]) in _FORMS for one in ids)
    return SchemaIds(*ids) if place == len(data) and formed and any(ids) else None


def id_bytes(ids: SchemaIds, form: IdForm = "4.2") -> bytes:
    """The field ``schema_id`` with these ids, as a client writes it; empty without ids."""
    if ids.key is not None:
        found = b"".join((_PAIR, len(ids.key).to_bytes(4), ids.key, len(ids.value).to_bytes(4), ids.value))
    else:
        found = _VALUE + ids.value if ids.value else b""
    return found if form == "4.2" else found[1:]


def schema_id_headers(metadata: bytes | bytearray | memoryview | None) -> list[tuple[str, bytes]]:
    """Return the headers with which our deserializers read a message of a topic of type EXTERNAL.

    Args:
        metadata: the field ``schema_id`` of Pulsar's message metadata, as the client stores it, any bytes-like object;
            empty or None if the message has none.

    Raises:
        DecodeError: an id is not of Kafka's form, or the field is cut off.
    """
    if not isinstance(metadata, bytes | bytearray | memoryview | None):
        raise DecodeError(f"schema id in Pulsar's metadata: expected bytes, got {type(metadata).__name__}")
    return headers_of(ids_in(bytes(metadata or b"")))


def headers_of(ids: SchemaIds) -> list[tuple[str, bytes]]:
    """The headers that name these ids."""
    return [(name, one) for name, one in ((KEY_HEADER, ids.key), (VALUE_HEADER, ids.value)) if one]


def ids_among(headers: Iterable[tuple[str, bytes | None]], *, null: bool) -> tuple[SchemaIds, Headers]:
    """The ids that headers name, the first of each, and the other headers; a null value has no id."""
    found: dict[str, bytes] = {}
    others = []
    for name, value in headers:
        if name in (KEY_HEADER, None if null else VALUE_HEADER) and name not in found and _value(value or b""):
            found[name] = value or b""
        else:
            others.append((name, value))
    return SchemaIds(found.get(KEY_HEADER), found.get(VALUE_HEADER, b"")), tuple(others)
