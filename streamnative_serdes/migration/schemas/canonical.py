"""The canonical form of Avro data: two data of a schema are the same value if their canonical bytes are equal.

Avro has several encodings for some values: arrays and maps in any number of blocks, maps in any order, numbers with
more bytes than they need. A codec decodes and encodes each datum again by a schema that keeps all else apart: the
branch of a union, 0.0 and -0.0, the bits of NaN. Logical types are as their base types.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from streamnative_serdes._config import schema_limits
from streamnative_serdes._rewriting import BadMessageError, Name
from streamnative_serdes._schema import (
    Array,
    AvroType,
    Enum,
    Fixed,
    Limits,
    Map,
    Record,
    Schema,
    Union,
    comparable,
    name_of,
    only_branch,
    parse,
    told_apart,
)
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, MissingEndpointError, SchemaError, SchemaNotFoundError
from streamnative_serdes.migration.foreign import named
from streamnative_serdes.migration.route import Route

FINGERPRINT: Final = 16  # bytes
_BYTES: Final = Codec("bytes")
_FLOATS: Final = {"float": 4, "double": 8}  # bytes
_LIMITS: Final = Limits(size=1 << 30, names=1_000_000, depth=1_000)  # the schema was parsed within limits before
_MAX_DEPTH: Final = 600  # levels in one datum: twice the default of messages, since branches are records here
_MOST_MISSING: Final = 10_000  # corrupt messages may name any number of schemas that do not exist
_MISSING_SECONDS: Final = 5.0  # a schema may come later, or a registry's replica may be behind


class Value(NamedTuple):
    schema: bytes  # the fingerprint of its schema
    data: bytes  # the datum, in canonical form if it can be decoded, otherwise unchanged
    decoded: bool  # whether the datum can be decoded


class CanonicalForm:
    def __init__(self, schema: Schema) -> None:
        self.schema, self.fingerprint = schema, fingerprint(schema)
        self._sized = parse(schema.text, strict=False, limits=_LIMITS) if schema.unsized else schema
        plain = _Plain()
        tree = plain.of(told_apart(schema).root)
        self._codec = Codec(
            parse(json.dumps(tree), strict=False, limits=_LIMITS),
            max_depth=_MAX_DEPTH,
            return_record_name=plain.named_branches,
        )
        self._maps = plain.maps

    def of(self, datum: bytes) -> bytes:
        """The canonical bytes of ``datum``. Raises DecodeError if the bytes are not exactly one datum of the schema."""
        if self.schema.unsized:
            return _BYTES.encode(datum)
        decoded = self._codec.decode(datum)
        if self._maps:
            try:
                decoded = _in_order(decoded)
            except RecursionError:
                raise DecodeError("the datum is nested too deeply") from None
        return self._codec.encode(decoded)

    @cached_property
    def check(self) -> Callable[[bytes], object]:
        """A function that decodes a datum as consumers do, logical types included. The function raises DecodeError."""
        return Codec(self.schema).decode

    @cached_property
    def _raw(self) -> Codec:
        return Codec(self._sized, avro_logical_types=False, return_record_name=True)

    def shown(self, datum: bytes) -> str:
        """The canonical bytes for people, without logical types. Raises DecodeError."""
        return repr(self._raw.decode(datum))


def fingerprint(schema: Schema) -> bytes:
    """16 bytes that are equal for schemas that Pulsar's registry treats as the same. Raises SchemaError."""
    try:
        return blake2b(comparable(schema.root).encode(), digest_size=FINGERPRINT).digest()
    except RecursionError:
        raise SchemaError("the schema is nested too deeply to be compared") from None


class _Plain:
    """Makes the text of a schema of :func:`told_apart`, in which decoded data keep all that was encoded.

    Floats and doubles are fixed: their bits do not change. Names are numbers, since those of the schema may be invalid.
    """

    def __init__(self) -> None:
        self.maps = self.named_branches = False
        self._names: dict[str, str] = {}
        self._count = 0

    def of(self, node: AvroType) -> Any:
        if isinstance(node, Record | Enum | Fixed):
            return self._named(node)
        if isinstance(node, Array):
            return {"type": "array", "items": self.of(node.items)}
        if isinstance(node, Map):
            self.maps = True
            return {"type": "map", "values": self.of(node.values)}
        if isinstance(node, Union):
            self.named_branches |= only_branch(node) is None
            return [self.of(branch) for branch in node.branches]
        return self._bits(node.kind) if node.kind in _FLOATS else node.kind

    def _named(self, node: Record | Enum | Fixed) -> Any:
        known = self._names.get(node.name)
        if known is not None:
            return known
        name = self._names[node.name] = self._name()
        if isinstance(node, Fixed):
            return {"type": "fixed", "name": name, "size": node.size}
        if isinstance(node, Enum):
            return {"type": "enum", "name": name, "symbols": [f"S{number}" for number in range(len(node.symbols))]}
        fields = [{"name": f"f{number}", "type": self.of(part.type)} for number, part in enumerate(node.fields)]
        return {"type": "record", "name": name, "fields": fields}

    def _bits(self, kind: str) -> Any:
        key = f" {kind}"  # no type has a name with a blank
        if key in self._names:
            return self._names[key]
        self._names[key] = self._name()
        return {"type": "fixed", "name": self._names[key], "size": _FLOATS[kind]}

    def _name(self) -> str:
        self._count += 1
        return f"T{self._count}"


def _in_order(value: Any) -> Any:
    """The value with the entries of maps in order of their keys; the fields of records may be in any order."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    if isinstance(value, tuple):
        return value[0], _in_order(value[1])
    return value


@dataclass(frozen=True, slots=True)
class KnownSchema:
    name: Name  # the schema's name in messages
    fingerprint: bytes  # equal for schemas that Pulsar's registry treats as the same
    form: CanonicalForm | None  # of the schema's data; None if the schema is not valid Avro
    fault: str | None = None  # why the schema is not valid

    def __str__(self) -> str:
        return f"schema {self.name} ({self.title})"

    @property
    def title(self) -> str:
        return self.fault or "" if self.form is None else name_of(self.form.schema.root)

    def check(self, datum: bytes) -> None:
        if self.form is None:
            raise SchemaError(f"schema {self.name}: {self.fault}")
        self.form.check(datum)

    def shown(self, value: Value) -> str:
        return self.form.shown(value.data) if self.form is not None and value.decoded else value.data.hex(" ")

    def value(self, datum: bytes) -> Value:
        if self.form is not None:
            try:
                return Value(self.fingerprint, self.form.of(datum), True)
            except DecodeError:
                pass  # what cannot be decoded is compared as bytes, and counted
        return Value(self.fingerprint, datum, False)


class SideSchemas:
    """The schemas of one side, each asked for once; those that do not exist are asked for again after some seconds.

    ``fetch`` returns type and text of the schema with a name, or raises SchemaNotFoundError; it raises SchemaError if
    the text cannot be put together.
    """

    def __init__(
        self, fetch: Callable[[Name], tuple[str, str]], *, confluent: bool = False, limits: Limits | None = None
    ) -> None:
        self._fetch, self._confluents, self._limits = fetch, confluent, limits or Limits()
        self._known: dict[Name, KnownSchema] = {}
        self._missing: dict[Name, tuple[float, SchemaNotFoundError]] = {}  # with the time until which it holds

    def of(self, name: Name) -> KnownSchema:
        found = self._known.get(name)
        if found is not None:
            return found
        until, missing = self._missing.get(name, (0.0, None))
        if missing is not None and time.monotonic() < until:
            raise copy(missing)
        try:
            found = self._known[name] = self._ask(name)
        except SchemaNotFoundError as error:
            if len(self._missing) >= _MOST_MISSING:
                self._missing.clear()
            self._missing[name] = time.monotonic() + _MISSING_SECONDS, error.with_traceback(None)
            raise
        return found

    def is_bytes(self, name: Name) -> bool:
        """Whether the root of this schema is ``bytes``; False for a schema that is not Avro. Raises BadMessageError."""
        try:
            form = self.of(name).form
        except SchemaNotFoundError as error:
            raise BadMessageError(f"the registry has no schema {name}, which the key names") from error
        return form is not None and form.schema.root.kind == "bytes"

    def _ask(self, name: Name) -> KnownSchema:
        try:
            kind, text = self._fetch(name)
        except SchemaError as error:
            return _unreadable(name, f"{name} {error.message}", str(error))
        if kind != "AVRO":
            return _unreadable(name, f"{kind} {text}", f"expected a schema of type AVRO, got type {kind}")
        try:
            schema = parse(text, strict=False, limits=self._limits)
            form = CanonicalForm(schema.in_confluents_framing() if self._confluents else schema)
        except SchemaError as error:
            return _unreadable(name, text, str(error))
        return KnownSchema(name, form.fingerprint, form)


def _unreadable(name: Name, text: str, fault: str) -> KnownSchema:
    return KnownSchema(name, blake2b(text.encode(), digest_size=FINGERPRINT).digest(), None, fault)


@contextmanager
def schemas_of(route: Route, *, reading: bool) -> Iterator[SideSchemas]:
    """The schemas that messages of the source name, if ``reading``, else those of the target. Raises ConfigError."""
    if reading != (route.direction == "forward"):
        with route.pulsar_registry() as pulsar:

            def by_version(name: Name) -> tuple[str, str]:
                assert isinstance(name, int)
                found = pulsar.by_version(route.topic, name)
                return found.type, found.text

            yield SideSchemas(by_version, limits=schema_limits(route.pulsar.options()))
        return
    limits = schema_limits((route.reading if reading else route.confluent).options())
    with route.confluent_registry() as confluent:

        def by_name(name: Name) -> tuple[str, str]:
            try:
                found = named(confluent, name)
            except MissingEndpointError as error:
                if isinstance(name, int) or route.framings is not None:
                    raise
                confluent.subjects()  # raises too if the address is wrong: then the schema may be there
                raise SchemaNotFoundError(error.message, status=error.status, url=error.url) from error
            if found.schema_type != "AVRO":
                return found.schema_type, found.schema_str
            try:
                return found.schema_type, confluent.self_contained(found)
            except SchemaNotFoundError as error:  # of a schema that it refers to
                raise SchemaError(f"schema {name} refers to one that does not exist: {error.message}") from error

        yield SideSchemas(by_name, confluent=route.framings is None, limits=limits)
