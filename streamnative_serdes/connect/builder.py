"""SchemaBuilder: makes schemas by calls that can be chained, as Kafka's class of that name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self, TypeAlias

from streamnative_serdes.errors import SchemaError

from .schema import Field, Schema, Type
from .values import checked_schema

_STRUCT: Final = Type.STRUCT
_OF_OTHERS: Final = {Type.ARRAY: "use SchemaBuilder.array(items)", Type.MAP: "use SchemaBuilder.map(keys, values)"}
_new_field: Final = tuple.__new__  # without the call of Field's own, a function in Python


class SchemaBuilder:
    """Makes a :class:`Schema`: ``SchemaBuilder.struct("User").field("id", INT64).field("name", STRING).build()``.

    Each property can be set once; the order of the calls does not matter, as ``build`` checks the whole. Where a schema
    is expected, a builder will do.

    Args:
        type: the type, or its name, such as ``"int32"``.
        name: the schema's name.
        namespace: goes in front of the name, with a dot.
        version: an int or a text.
        doc: a description.
    """

    # Until they are set: builders are made for every schema, and most properties of most are never set.
    _optional: bool | None = None
    _default: Any = None
    _parameters: dict[str, str] | None = None
    _key_schema: Schema | None = None
    _value_schema: Schema | None = None

    def __init__(
        self,
        type: Type | str,  # noqa: A002 - Java's name
        name: str | None = None,
        *,
        namespace: str | None = None,
        version: int | str | None = None,
        doc: str | None = None,
    ) -> None:
        self._type = type if isinstance(type, Type) else _type_named(type)
        self._fields: dict[str, Field] = {}
        self._name, self._namespace, self._version, self._doc = name, namespace, version, doc

    # Types

    @classmethod
    def int8(cls) -> Self:
        return cls(Type.INT8)

    @classmethod
    def int16(cls) -> Self:
        return cls(Type.INT16)

    @classmethod
    def int32(cls) -> Self:
        return cls(Type.INT32)

    @classmethod
    def int64(cls) -> Self:
        return cls(Type.INT64)

    @classmethod
    def float32(cls) -> Self:
        return cls(Type.FLOAT32)

    @classmethod
    def float64(cls) -> Self:
        return cls(Type.FLOAT64)

    @classmethod
    def boolean(cls) -> Self:
        return cls(Type.BOOLEAN)

    @classmethod
    def string(cls) -> Self:
        return cls(Type.STRING)

    @classmethod
    def bytes(cls) -> Self:
        return cls(Type.BYTES)

    @classmethod
    def array(cls, items: SchemaLike) -> Self:
        made = cls(Type.ARRAY)
        made._value_schema = _built(items)
        return made

    @classmethod
    def map(cls, keys: SchemaLike, values: SchemaLike) -> Self:
        """Raises SchemaError unless keys are of a primitive type."""
        made = cls(Type.MAP)
        made._key_schema, made._value_schema = _built(keys), _built(values)
        if not made._key_schema.type.is_primitive:
            raise SchemaError(f"expected map keys of a primitive type, got {made._key_schema.type.value}")
        return made

    @classmethod
    def struct(
        cls,
        name: str | None = None,
        *,
        namespace: str | None = None,
        version: int | str | None = None,
        doc: str | None = None,
    ) -> Self:
        return cls(Type.STRUCT, name, namespace=namespace, version=version, doc=doc)

    # Properties

    def optional(self) -> Self:
        return self._once("optional", True)

    def required(self) -> Self:
        """The default; to make it explicit."""
        return self._once("optional", False)

    def default(self, value: Any) -> Self:
        """The value in place of None. ``build`` checks it."""
        if value is None:
            raise SchemaError(
                "expected a default other than None", hint="leave default() out: without it, there is no default"
            )
        return self._once("default", value)

    def name(self, name: str) -> Self:
        return self._once("name", name)

    def namespace(self, namespace: str) -> Self:
        return self._once("namespace", namespace)

    def version(self, version: int | str) -> Self:
        return self._once("version", version)

    def doc(self, doc: str) -> Self:
        return self._once("doc", doc)

    def _once(self, what: str, value: Any) -> Self:
        if getattr(self, f"_{what}") is not None:
            raise SchemaError(f"the {what} of this builder is already set", hint="use another builder")
        setattr(self, f"_{what}", value)
        return self

    def parameter(self, name: str, value: str) -> Self:
        return self.parameters({name: value})

    def parameters(self, more: Mapping[str, str]) -> Self:
        """Add parameters, text by text. Raises SchemaError for one that is not a text."""
        for name, value in more.items():
            if type(name) is not str or type(value) is not str:
                raise SchemaError(f"expected texts as parameters, got {name!r:.80}: {value!r:.80}")
            self._parameters = self._parameters or {}
            self._parameters[name] = value
        return self

    def field(self, name: str, schema: SchemaLike, *, optional: bool | None = None, default: Any = None) -> Self:
        """Add a field.

        Args:
            name: any text that is not empty, and that no other field has.
            schema: of its values.
            optional: in place of the schema's own.
            default: in place of the schema's own.

        Raises:
            SchemaError: this is not a struct, or the name or the default is not valid; ``path`` has the name.
        """
        fields = self._fields
        if type(name) is not str or not name or name in fields:
            raise SchemaError(f"expected a name that no other field has, got {name!r:.80}")
        if self._type is not _STRUCT:
            raise SchemaError(f"expected a struct to add a field to, got {self._type.value}", path=name)
        if type(schema) is not Schema or optional is not None or default is not None:
            schema = _of_field(name, schema, optional, default)
        fields[name] = _new_field(Field, (name, len(fields), schema))
        return self

    def build(self) -> Schema:
        """The schema. Raises SchemaError: ``path`` names the field, or the place inside the default."""
        kind = self._type
        if kind in _OF_OTHERS and self._value_schema is None:
            raise SchemaError(f"{kind.value}: the schema of its values is missing", hint=_OF_OTHERS[kind])
        name = self._name if self._namespace is None else self._full_name()
        if name is not None or self._doc is not None or self._version is not None:
            _require_texts(name, self._doc, self._version)
        made = Schema(
            kind,
            self._optional is True,
            self._default,
            name,
            self._version,
            self._doc,
            self._parameters,
            tuple(self._fields.values()) if kind is _STRUCT else None,
            self._key_schema,
            self._value_schema,
        )
        return made if name is None and self._default is None else checked_schema(made)

    def _full_name(self) -> str:
        if self._name is None:
            raise SchemaError(f"expected a name in the namespace {self._namespace!r:.80}, got none")
        return f"{self._namespace}.{self._name}"


SchemaLike: TypeAlias = Schema | SchemaBuilder


def _built(schema: object) -> Schema:
    if isinstance(schema, SchemaBuilder):
        return schema.build()
    if isinstance(schema, Schema):
        return schema
    raise SchemaError(f"expected a Schema or a SchemaBuilder, got {schema!r:.80} of type {type(schema).__name__}")


def _of_field(name: str, schema: SchemaLike, optional: bool | None, default: Any) -> Schema:
    """The schema of a field, with its own ``optional`` and ``default``; errors have the field's name."""
    try:
        made = schema if type(schema) is Schema else _built(schema)
        given = {"optional": optional, "default": default}
        changes = {what: value for what, value in given.items() if value is not None}
        return checked_schema(made.replaced(**changes)) if changes else made
    except SchemaError as error:
        raise error.inside(name) from None


def _require_texts(name: object, doc: object, version: object) -> None:
    for what, value in (("name", name), ("doc", doc)):
        if value is not None and not isinstance(value, str):
            raise SchemaError(f"expected a text as the {what}, got {value!r:.80} of type {type(value).__name__}")
    if version is not None and (isinstance(version, bool) or not isinstance(version, (int, str))):
        raise SchemaError(f"expected an int or a text as the version, got {version!r:.80}")


def _type_named(name: object) -> Type:
    for kind in Type:
        if kind.value == name:
            return kind
    raise SchemaError(f"expected one of {', '.join(kind.value for kind in Type)}, got {name!r:.80}")
