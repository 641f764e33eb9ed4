"""The rewriting of one message: another prefix in front of the same Avro bytes.

::

    forward   0x00 | schema id, int32 BE | datum          ->   0x03 0x04 | version, int64 BE | datum
              header __value_schema_id, and the datum     ->   0x03 0x04 | version, int64 BE | datum, without the header
    back      0x03 0x04 | version, int64 BE | datum       ->   0x00 | schema id, int32 BE | datum

A datum is changed only if the root of its schema is ``bytes``: behind Confluent's framing, bytes have no length.

Framings of other registries go forward too (``Framings``).

A schema is named as in the messages: by a schema id (int) or GUID (text) of Confluent's registry, or by a version (int)
of Pulsar's registry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias
from uuid import UUID

from . import header
from .codec import Codec
from .errors import DecodeError, SchemaError

Direction: TypeAlias = Literal["forward", "back"]  # from Confluent's framing to SNIP 42, and the other way round
Name: TypeAlias = int | str  # of a schema, in a message of the source
Headers: TypeAlias = list[tuple[str, bytes | None]] | None

VALUE_HEADER: Final = "__value_schema_id"
KEY_HEADER: Final = "__key_schema_id"
_PREFIX: Final = {"forward": 5, "back": header.SIZE}  # bytes
_BYTES: Final = Codec("bytes")  # with their length


class BadMessageError(DecodeError):
    """A message cannot be rewritten, whatever the registries know: it goes to the dead letters."""


class UnmappedSchemaError(SchemaError):
    """A message names a schema that has no counterpart yet; ``migrate schemas`` adds the counterpart."""

    def __init__(self, name: Name, **where: Any) -> None:
        super().__init__(
            f"schema {name} has not been copied", hint="run `migrate schemas` again, then this again", **where
        )
        self.name = name


class Framings(Protocol):
    """The framings of a source that are not Confluent's."""

    @property
    def headers(self) -> Collection[str]:
        """The names of the headers that name schemas."""

    def name_of(self, value: bytes, headers: Headers) -> tuple[Name, int]:
        """As :meth:`Rewriter.name_of`."""

    def opened(self, value: bytes) -> bytes:
        """The value with its datum as it is, if it was compressed. Raises BadMessageError."""


class Rewriter:
    """Rewrites values of one direction.

    Args:
        direction: see :class:`Route`.
        mapping: the name of each schema in the source's messages, and its number (version or id) in the target's.
        bytes_roots: the names of the schemas whose root is ``bytes``.
        framings: of the source, ``forward``, if they are not Confluent's.
    """

    def __init__(
        self,
        direction: Direction,
        mapping: Mapping[Name, int],
        bytes_roots: Collection[Name] = frozenset(),
        framings: Framings | None = None,
    ) -> None:
        self.direction, self.framings = direction, framings
        self.size = _PREFIX[direction] if framings is None else 0  # no prefix alone is to be changed
        self._bytes_roots = frozenset(bytes_roots)
        pack_in, pack_out = (header.pack_id, header.pack) if direction == "forward" else (header.pack, header.pack_id)
        self._prefixes = {pack_in(name): pack_out(number) for name, number in mapping.items() if isinstance(name, int)}
        self._by_guid = {name: pack_out(number) for name, number in mapping.items() if isinstance(name, str)}

    @property
    def prefixes(self) -> Mapping[bytes, bytes]:
        """The target's prefix for each prefix of the source, for messages in which only the prefix is to be changed.

        A message with another prefix goes to :meth:`rewrite`.
        """
        pack = _id_prefix if self.direction == "forward" else header.pack
        whole = {pack(name) for name in self._bytes_roots if isinstance(name, int)}
        return {prefix: other for prefix, other in self._prefixes.items() if prefix not in whole}

    def name_of(self, value: bytes, headers: Headers) -> tuple[Name, int]:
        """The name of the message's schema, and the position of its datum, in bytes.

        Raises:
            BadMessageError: the message has no framing of the source.
        """
        if self.framings is not None:
            return self.framings.name_of(value, headers)
        if self.direction == "forward":
            return confluent_name(value, headers, VALUE_HEADER)
        version = header.read(value)
        if version is None:
            raise BadMessageError(f"expected a schema version header, got {len(value)} bytes {value[:10].hex(' ')!r}")
        return version, self.size

    def rewrite(self, value: bytes, headers: Headers) -> tuple[bytes, Headers]:
        """The value and the headers of the copy.

        Raises:
            BadMessageError: the message has no framing of the source, or bytes have another length than declared.
            UnmappedSchemaError: the message's schema is not in the mapping.
        """
        value = self.opened(value)
        name, start = self.name_of(value, headers)
        if isinstance(name, str):
            prefix = self._by_guid.get(name)
        else:
            prefix = self._prefixes.get(value[:start]) if start else self._prefixes.get(_id_prefix(name))
        if prefix is None:
            raise UnmappedSchemaError(name)
        datum = self._with_other_length(name, value[start:]) if name in self._bytes_roots else value[start:]
        return prefix + datum, headers if start else self.unnamed(headers)

    def opened(self, value: bytes) -> bytes:
        """The value with its datum as it is, if its framing may compress it. Raises BadMessageError."""
        return value if self.framings is None else self.framings.opened(value)

    def unnamed(self, headers: Headers) -> Headers:
        """The headers without those that name the schema of the value."""
        names = (VALUE_HEADER,) if self.framings is None else self.framings.headers
        return [pair for pair in headers or () if pair[0] not in names] or None

    def _with_other_length(self, name: Name, datum: bytes) -> bytes:
        if self.direction == "forward":
            return _BYTES.encode(datum)
        try:
            plain: bytes = _BYTES.decode(datum)
        except DecodeError as error:
            raise BadMessageError(f"the value cannot be decoded by schema {name}: {error}") from None
        return plain


def confluent_name(data: bytes, headers: Headers, header: str) -> tuple[Name, int]:
    """As :meth:`Rewriter.name_of`, for a value or key of Confluent's framing, whose header has this name."""
    named = next((text for name, text in headers or () if name == header), None)
    if named is not None:
        return name_in_header(named, header), 0
    if data[:1] == b"\0" and len(data) >= _PREFIX["forward"]:
        return int.from_bytes(data[1:5], signed=True), _PREFIX["forward"]
    where = " in the key" if header == KEY_HEADER else ""
    raise BadMessageError(f"expected Confluent's framing{where}, got {len(data)} bytes {data[:10].hex(' ')!r}")


def name_in_header(data: bytes, header: str = VALUE_HEADER) -> Name:
    """The schema that a header of Confluent's names: ``0x00`` and an id, or ``0x01`` and a GUID."""
    if (len(data), data[:1]) == (5, b"\0"):
        return int.from_bytes(data[1:], signed=True)
    if (len(data), data[:1]) == (17, b"\1"):
        return str(UUID(bytes=data[1:]))
    raise BadMessageError(f"expected a schema id or GUID in header {header}, got {data[:20]!r}")


def bare_key(key: bytes | None, headers: Headers, is_bytes: Callable[[Name], bool]) -> tuple[bytes | None, Headers]:
    """A key of Confluent's framing as bare Avro, and the headers without the header that names the key's schema.

    ``is_bytes`` tells whether the root of a schema is ``bytes``, which has no length in Confluent's framing.
    """
    if key is None:
        return None, headers
    schema, start = confluent_name(key, headers, KEY_HEADER)
    datum = key[start:]
    return _BYTES.encode(datum) if is_bytes(schema) else datum, headers if start else without(KEY_HEADER, headers)


def without(name: str, headers: Headers) -> Headers:
    """The headers except those with this name; None if no header is left."""
    return [pair for pair in headers or () if pair[0] != name] or None


def is_text(data: bytes) -> bool:
    """Whether the data are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _id_prefix(number: int) -> bytes:
    return header.pack_id(number) if 0 <= number < 2**31 else b""
