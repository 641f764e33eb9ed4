"""Checks that values fit their schemas: a function for each type, which names the path of the bad field."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from streamnative_serdes._missing import hint_of
from streamnative_serdes._paths import entry
from streamnative_serdes.errors import EncodeError, SchemaError

from .logical import Decimal, Enum, logical_of, require_base
from .schema import Schema, Type

Check = Callable[[Any], object]  # what it returns is dropped
_FLOAT32_MAX: Final = 3.4028235677973366e38  # half a unit above the largest float: from here on, it rounds to infinity


class SchemaAndValue(NamedTuple):
    """A value with its schema. Data without a schema has None: dicts, lists, str, int, float, bool and None."""

    schema: Schema | None
    value: Any


NOTHING: Final = SchemaAndValue(None, None)


def validate(schema: Schema, value: Any, path: str = "") -> None:
    """Check that ``value`` fits ``schema``.

    INT8 to INT64 are int, FLOAT32 and FLOAT64 float, or an int that is one exactly; BYTES are bytes, bytearray or
    memoryview; an ARRAY is a list or a tuple, a MAP a dict, and a STRUCT a :class:`Struct` whose schema ``fits``.
    Logical types have Python's types: date, time, datetime in UTC, Decimal.

    Raises:
        EncodeError: the value does not fit; ``path`` begins with the given one and names the place inside the value.
    """
    try:
        if value is not None:
            schema.checker(make_checker)(value)
        elif not schema.optional:
            raise _none(schema)
    except EncodeError as error:
        raise error.inside(path) from None


def described(schema: Schema) -> str:
    """The type in words, for errors."""
    return schema.type.value if schema.name is None else f"{schema.type.value} {schema.name:.80}"


def checked_schema(schema: Schema) -> Schema:
    """Return the schema if its logical type and its default are valid. Raises SchemaError otherwise."""
    if schema.name is not None:
        require_base(schema)
    default = schema.default
    if default is not None:
        try:
            schema.checker(make_checker)(default)
        except EncodeError as error:
            raise SchemaError(f"the default does not fit: {error.message}", path=error.path, hint=error.hint) from None
    return schema


def _none(schema: Schema) -> EncodeError:
    return EncodeError(f"expected {described(schema)}, got None", hint="only optional schemas allow None")


def _expected(what: str, value: object) -> EncodeError:
    return EncodeError(f"expected {what}, got {value!r:.80} of type {type(value).__name__}", hint=hint_of(value))


# --- one function per type --------------------------------------------------------------------------------------------


def _int_checker(bits: int) -> Check:
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    words = f"from {least} to {most}" if bits <= 16 else f"of {bits} bits"

    def check(value: Any) -> None:
        if type(value) is not int or not least <= value <= most:
            raise _expected(f"int{bits}, an int {words}", value)

    return check


def _check_float32(value: Any) -> None:
    if type(value) is not float:
        if type(value) is not int or not -(2**24) <= value <= 2**24:
            raise _expected("float32, a float", value)
    elif _FLOAT32_MAX <= abs(value) < float("inf"):
        raise _expected("float32, a float of 32 bits", value)


def _check_float64(value: Any) -> None:
    if type(value) is not float and (type(value) is not int or not -(2**53) <= value <= 2**53):
        raise _expected("float64, a float", value)


def _class_checker(words: str, *classes: type) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, classes):
            raise _expected(words, value)

    return check


_PLAIN: Final[dict[Type, Check]] = {
    Type.INT8: _int_checker(8),
    Type.INT16: _int_checker(16),
    Type.INT32: _int_checker(32),
    Type.INT64: _int_checker(64),
    Type.FLOAT32: _check_float32,
    Type.FLOAT64: _check_float64,
    Type.BOOLEAN: _class_checker("boolean, True or False", bool),
    Type.STRING: _class_checker("string, a str", str),
    Type.BYTES: _class_checker("bytes", bytes, bytearray, memoryview),
}


# --- types made of others ---------------------------------------------------------------------------------------------


def make_checker(schema: Schema) -> Check:
    """The check for values of ``schema`` other than None."""
    if schema.name is None and schema.parameters is None and (plain := _PLAIN.get(schema.type)) is not None:
        return plain
    if schema.name is not None and (logical := logical_of(schema)) is not None:
        require_base(schema)
        if logical is Decimal:  # its number is enough, without the bytes
            return partial(Decimal.unscaled, Decimal.scale(schema))
        return partial(logical.from_logical, schema)
    match schema.type:
        case Type.ARRAY:
            return _array_checker(schema)
        case Type.MAP:
            return _map_checker(schema)
        case Type.STRUCT:
            return _struct_checker(schema)
        case Type.STRING if schema.parameters and schema.name != Enum.DEBEZIUM_NAME:
            symbols = Enum.symbols(schema)
            if symbols is not None:
                return _enum_checker(schema, symbols)
    return _PLAIN[schema.type]


def _enum_checker(schema: Schema, symbols: dict[str, int]) -> Check:
    shown = ", ".join(list(symbols)[:10])

    def check(value: Any) -> None:
        if not isinstance(value, str) or value not in symbols:
            raise _expected(f"a symbol of {schema.name or 'the enum'}: {shown}", value)

    return check


def _array_checker(schema: Schema) -> Check:
    item = schema.values
    check_item, optional = item.checker(make_checker), item.optional

    def check(value: Any) -> None:
        if not isinstance(value, (list, tuple)):
            raise _expected("array, a list", value)
        at = 0
        try:
            for at, each in enumerate(value):  # noqa: B007 - for the error
                if each is not None:
                    check_item(each)
                elif not optional:
                    raise _none(item)
        except EncodeError as error:
            raise error.inside(f"[{at}]") from None

    return check


def _map_checker(schema: Schema) -> Check:
    key_schema, value_schema = schema.keys, schema.values
    check_value, optional = value_schema.checker(make_checker), value_schema.optional

    def check(value: Any) -> None:
        if not isinstance(value, dict) or hasattr(value, "schema"):
            raise _expected("map, a dict", value)
        key = None
        try:
            for key, each in value.items():
                validate(key_schema, key, " (key)")
                if each is not None:
                    check_value(each)
                elif not optional:
                    raise _none(value_schema)
        except EncodeError as error:
            raise error.inside(entry(key)) from None

    return check


def _struct_checker(schema: Schema) -> Check:
    fields = [
        (name, kind.checker(make_checker), not kind.optional and kind.default is None, kind)
        for name, _, kind in schema.fields or ()
    ]
    get = dict[str, Any].get  # without the default

    def check(value: Any) -> None:
        own = getattr(value, "schema", None)
        if not isinstance(value, dict) or not isinstance(own, Schema):
            raise _expected(f"{described(schema)}, a Struct", value)
        if not own.fits(schema):
            raise EncodeError(
                f"expected a Struct with the schema {schema!r}, got one with another schema, {own!r}",
                hint="SchemaProjector.project converts between compatible schemas",
            )
        name = ""
        try:
            for name, check_field, required, kind in fields:
                one = get(value, name)
                if one is not None:
                    check_field(one)
                elif required:
                    raise _none(kind)
        except EncodeError as error:
            raise error.inside(name) from None

    return check
