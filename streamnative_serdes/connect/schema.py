"""Schema: the type of a value in Kafka Connect's data API, made at run time.

The model is that of ``org.apache.kafka.connect.data`` (Kafka's ``connect-api``), with what the document "Copycat Data
API" adds to it: a namespace, and versions that may be text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from enum import Enum
from math import copysign
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, Self

from streamnative_serdes.errors import SchemaError


class Type(Enum):
    """The types of Connect; the value is Java's ``Schema.Type.getName()``."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    # Members are unique, and Enum's own __hash__ is a call of a Python function.
    __hash__ = object.__hash__

    @property
    def is_primitive(self) -> bool:
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)


class Field(NamedTuple):
    """A field of a struct: its name, its place from 0, and the schema of its values."""

    name: str
    index: int  # type: ignore[assignment]
    schema: Schema


def _stored(name: str, doc: str) -> Any:
    """A read-only attribute, faster than a property that is a function of Python."""
    return property(attrgetter(name), doc=doc)


def _copied(default: Any) -> Any:
    """A value that can be changed without a change of the default."""
    return deepcopy(default) if isinstance(default, (list, tuple, dict, bytearray)) else default


class Schema:
    """The type of a value, immutable and hashable. Use :class:`SchemaBuilder` or the constants such as ``STRING``.

    Two schemas are equal if all their attributes are, as in Java. Attributes that a type does not have are None (in
    Java, they raise an exception).

    Args:
        type: the type; it decides which of ``fields``, ``key_schema`` and ``value_schema`` there are.
        optional: whether the value may be None.
        default: the value that replaces None; None means that the schema has no default. The builder checks it, this
            constructor does not.
        name: the full name, with its namespace: ``org.apache.kafka.sample``. Logical types are known by it.
        version: an int, or a text; see :func:`newer`.
        doc: a description.
        parameters: further properties, text by text; read-only.
        fields: of a STRUCT.
        key_schema: of a MAP.
        value_schema: of the values of a MAP, or of the items of an ARRAY.
    """

    type: Final[Type] = _stored("_type", "The type.")
    optional: Final[bool] = _stored("_optional", "Whether the value may be None.")
    default: Final[Any] = property(
        lambda self: _copied(self._default), doc="The value that replaces None: a new list, dict or Struct each time."
    )
    name: Final[str | None] = _stored("_name", "The full name; None if it has none.")
    version: Final[int | str | None] = _stored("_version", "An int or a text; None if it has none.")
    doc: Final[str | None] = _stored("_doc", "The description, or None.")
    parameters: Final[Mapping[str, str] | None] = _stored("_parameters", "Read-only; None if there are none.")
    fields: Final[tuple[Field, ...] | None] = _stored("_fields", "The fields of a STRUCT; None for other types.")
    key_schema: Final[Schema | None] = _stored("_key_schema", "Of a MAP's keys; None for other types.")
    value_schema: Final[Schema | None] = _stored("_value_schema", "Of a MAP's values or an ARRAY's items; else None.")

    __slots__ = (
        "_checker",
        "_default",
        "_doc",
        "_fields",
        "_fields_by_name",
        "_hash",
        "_key_schema",
        "_name",
        "_optional",
        "_parameters",
        "_type",
        "_value_schema",
        "_version",
    )

    def __init__(
        self,
        type: Type,  # noqa: A002 - Java's name
        optional: bool = False,
        default: Any = None,
        name: str | None = None,
        version: int | str | None = None,
        doc: str | None = None,
        parameters: Mapping[str, str] | None = None,
        fields: tuple[Field, ...] | None = None,
        key_schema: Schema | None = None,
        value_schema: Schema | None = None,
    ) -> None:
        self._type = type
        self._optional = optional
        self._default = _copied(default)
        self._name = name
        self._version = version
        self._doc = doc
        self._parameters = None if parameters is None else MappingProxyType(dict(parameters))
        self._fields = fields
        self._key_schema = key_schema
        self._value_schema = value_schema
        self._fields_by_name: Mapping[str, Field] | None = None
        self._hash: int | None = None
        self._checker: Callable[[Any], object] | None = None

    @property
    def keys(self) -> Schema:
        """``key_schema`` of a MAP. Raises SchemaError for other types, which have none."""
        return self._key_schema or self._lacks("keys")

    @property
    def values(self) -> Schema:
        """``value_schema`` of a MAP or an ARRAY. Raises SchemaError for other types, which have none."""
        return self._value_schema or self._lacks("values")

    def _lacks(self, what: str) -> NoReturn:
        raise SchemaError(f"a schema of type {self._type.name} has no schema of {what}")

    @property
    def namespace(self) -> str | None:
        """The part of ``name`` before its last dot; None without a dot."""
        return self._name.rpartition(".")[0] or None if self._name else None

    @property
    def fields_by_name(self) -> Mapping[str, Field]:
        """The fields of a STRUCT by name; empty for other types."""
        found = self._fields_by_name
        if found is None:
            found = self._fields_by_name = MappingProxyType({field.name: field for field in self._fields or ()})
        return found

    def field(self, name: str) -> Field | None:
        """The field with this name; None if it does not exist."""
        return self.fields_by_name.get(name)

    def replaced(self, **changes: Any) -> Schema:
        """This schema with other attributes, by the names of the constructor's arguments; nothing is checked."""
        return Schema(**{name: getattr(self, name) for name in _ATTRIBUTES} | changes)

    def fits(self, other: Schema) -> bool:
        """Whether both schemas are equal except for ``optional``, ``default`` and ``doc``, so a Struct fits both.

        Java requires equal schemas, which a struct's own default can never have.
        """
        return self is other or (
            self._type is other._type
            and self._name == other._name
            and self._version == other._version
            and self._parameters == other._parameters
            and self._fields == other._fields
        )

    def checker(self, make: Callable[[Schema], Callable[[Any], object]]) -> Callable[[Any], object]:
        """The function that checks values other than None; made by ``make`` at the first use, then kept."""
        found = self._checker
        if found is None:
            found = self._checker = make(self)
        return found

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema):
            return NotImplemented
        return (
            self._type is other._type
            and self._optional == other._optional
            and self._name == other._name
            and type(self._version) is type(other._version)
            and self._version == other._version
            and self._doc == other._doc
            and self._parameters == other._parameters
            and hash(self) == hash(other)
            and self._fields == other._fields
            and self._key_schema == other._key_schema
            and self._value_schema == other._value_schema
            and same_value(self._default, other._default)
        )

    def __hash__(self) -> int:
        found = self._hash
        if found is None:  # without the default, which may be a list or a Struct
            parts = (self._type, self._optional, self._name, self._version, self._fields)
            found = self._hash = hash((*parts, self._key_schema, self._value_schema))
        return found

    def __repr__(self) -> str:
        return f"Schema{{{self._name}:{self._type.name}}}" if self._name else f"Schema{{{self._type.name}}}"

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        parameters = None if self._parameters is None else dict(self._parameters)
        given = {name: getattr(self, name) for name in _ATTRIBUTES} | {"parameters": parameters}
        return Schema, tuple(given.values())


_ATTRIBUTES: Final = tuple(Schema.__annotations__)  # in the order of the arguments


def same_value(one: Any, other: Any) -> bool:
    """Whether two values of one schema are equal as in Java: NaN equals NaN, and 0.0 is not -0.0."""
    if isinstance(one, float) and isinstance(other, float):
        return (one == other and copysign(1, one) == copysign(1, other)) or (one != one and other != other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, dict) and type(one) is type(other):
        schema = getattr(one, "schema", None)  # of a Struct
        if schema is not None and not schema.fits(other.schema):  # type: ignore[attr-defined]
            return False
        return one.keys() == other.keys() and all(same_value(value, other[key]) for key, value in one.items())
    return type(one) is type(other) and bool(one == other)


def newer(one: Schema, other: Schema) -> bool:
    """Whether ``one`` has a newer version: ints by their size, texts in lexicographic order.

    A schema with a version is newer than one without.

    Raises:
        SchemaError: one version is an int, the other a text.
    """
    this, that = one.version, other.version
    if this is None or that is None:
        return this is not None
    if isinstance(this, int) and isinstance(that, int):
        return this > that
    if isinstance(this, str) and isinstance(that, str):
        return this > that
    raise SchemaError(f"expected versions that are both ints or both texts, got {this!r:.80} and {that!r:.80}")


INT8, OPTIONAL_INT8 = Schema(Type.INT8), Schema(Type.INT8, True)
INT16, OPTIONAL_INT16 = Schema(Type.INT16), Schema(Type.INT16, True)
INT32, OPTIONAL_INT32 = Schema(Type.INT32), Schema(Type.INT32, True)
INT64, OPTIONAL_INT64 = Schema(Type.INT64), Schema(Type.INT64, True)
FLOAT32, OPTIONAL_FLOAT32 = Schema(Type.FLOAT32), Schema(Type.FLOAT32, True)
FLOAT64, OPTIONAL_FLOAT64 = Schema(Type.FLOAT64), Schema(Type.FLOAT64, True)
BOOLEAN, OPTIONAL_BOOLEAN = Schema(Type.BOOLEAN), Schema(Type.BOOLEAN, True)
STRING, OPTIONAL_STRING = Schema(Type.STRING), Schema(Type.STRING, True)
BYTES, OPTIONAL_BYTES = Schema(Type.BYTES), Schema(Type.BYTES, True)
