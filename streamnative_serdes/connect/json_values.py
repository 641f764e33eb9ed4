"""Values in JSON as Kafka's JsonConverter writes them: one function per schema to write, and one to read.

| Connect | JSON |
|---|---|
| INT8 to INT64, FLOAT32, FLOAT64 | number; NaN and the infinities as text |
| BYTES | text, base64 |
| MAP with keys of STRING | object |
| MAP with other keys | array of arrays, each of a key and a value |
| Date, Time, Timestamp | number: days, milliseconds |
| Decimal | text, base64 of the unscaled integer; or, with ``decimal.format=NUMERIC``, a number |

Source: ``org.apache.kafka.connect.json.JsonConverter`` of Kafka 4. Where Java reads a value of another type as 0 or
false, or drops bits of a number, this raises an error.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from streamnative_serdes._formats.faults import not_decodable
from streamnative_serdes._formats.jackson.notation import (
    decimal_text,
    double_text,
    float_text,
    from_base64,
    quoted,
    to_base64,
)
from streamnative_serdes._formats.jackson.notation import to_float as nearest_float
from streamnative_serdes._formats.jackson.numbers import to_float
from streamnative_serdes._formats.jackson.parsing import to_float as to_double
from streamnative_serdes._formats.json_number import JsonNumber
from streamnative_serdes._paths import entry
from streamnative_serdes._schema import NOT_FINITE
from streamnative_serdes.errors import DecodeError, EncodeError

from .containers import as_decoded, listed
from .logical import Decimal, decimal_of, logical_of, rescaled, to_bytes
from .schema import Schema, Type
from .struct import Struct
from .values import described, make_checker

Write = Callable[[Any], str]
Read = Callable[[Any], Any]
_Convert = TypeVar("_Convert", Write, Read)


class Form(NamedTuple):
    """The form of values: the options ``decimal.format`` and ``replace.null.with.default``."""

    numeric: bool = False
    replace_null: bool = True


# --- writing ----------------------------------------------------------------------------------------------------------


def writer(schema: Schema, form: Form) -> Write:
    """The function from a value to its JSON text. Raises EncodeError, with the path, if the value does not fit."""
    write = _logical_writer(schema, form) or _WRITERS[schema.type](schema, form)
    checked = schema.checker(make_checker) if schema.type.is_primitive else None
    default, optional, replace = schema.default, schema.optional, form.replace_null

    def write_one(value: Any) -> str:
        if value is None:
            if default is None or not replace:
                if optional:
                    return "null"
                raise EncodeError(f"expected {described(schema)}, got None", hint=_null_hint(schema))
            value = default
        if checked is not None:
            checked(value)
        return write(value)

    return write_one


def _null_hint(schema: Schema) -> str:
    if schema.default is not None:
        return "set replace.null.with.default=true to write the default"
    return "only optional schemas allow None"


def _logical_writer(schema: Schema, form: Form) -> Write | None:
    logical = logical_of(schema)
    if logical is Decimal:
        scale = Decimal.scale(schema)
        if form.numeric:
            return lambda value: decimal_text(decimal_of(scale, to_bytes(Decimal.unscaled(scale, value))))
        return lambda value: f'"{to_base64(to_bytes(Decimal.unscaled(scale, value)))}"'
    return None if logical is None else lambda value: str(logical.from_logical(schema, value))


def _leaf(convert: _Convert) -> Callable[[Schema, Form], _Convert]:
    return lambda _schema, _form: convert


def _array_writer(schema: Schema, form: Form) -> Write:
    items = listed(writer(schema.values, form))

    def write(value: Any) -> str:
        if not isinstance(value, (list, tuple)):
            raise EncodeError(f"expected array, a list, got {type(value).__name__}")
        return f"[{','.join(items(value))}]"

    return write


def _map_writer(schema: Schema, form: Form) -> Write:
    key_writer, value_writer = writer(schema.keys, form), writer(schema.values, form)
    named = schema.keys.type is Type.STRING

    def write(value: Any) -> str:
        if not isinstance(value, dict) or isinstance(value, Struct):
            raise EncodeError(f"expected map, a dict, got {type(value).__name__}")
        key = None
        try:
            parts = []
            for key, each in value.items():
                name = key_writer(key)
                if named and name == "null":
                    raise EncodeError("a map with string keys is a JSON object, where None cannot be a key")
                parts.append(f"{name}:{value_writer(each)}" if named else f"[{name},{value_writer(each)}]")
        except EncodeError as error:
            raise error.inside(entry(key)) from None
        return f"{{{','.join(parts)}}}" if named else f"[{','.join(parts)}]"

    return write


def _struct_writer(schema: Schema, form: Form) -> Write:
    fields = [(field.name, f"{quoted(field.name)}:", writer(field.schema, form)) for field in schema.fields or ()]

    def write(value: Any) -> str:
        if not isinstance(value, Struct) or not value.schema.fits(schema):
            got = repr(value.schema) if isinstance(value, Struct) else type(value).__name__
            raise EncodeError(f"expected {described(schema)}, a Struct with this schema, got {got}")
        get = dict[str, Any].get
        name = ""
        try:
            parts = []
            for name, label, write_one in fields:
                parts.append(label + write_one(get(value, name)))
        except EncodeError as error:
            raise error.inside(name) from None
        return f"{{{','.join(parts)}}}"

    return write


_WRITERS: Final[Mapping[Type, Callable[[Schema, Form], Write]]] = {
    Type.INT8: _leaf(str),
    Type.INT16: _leaf(str),
    Type.INT32: _leaf(str),
    Type.INT64: _leaf(str),
    Type.FLOAT32: _leaf(lambda value: float_text(_rounded(float(value)))),
    Type.FLOAT64: _leaf(lambda value: double_text(float(value))),
    Type.BOOLEAN: _leaf(lambda value: "true" if value else "false"),
    Type.STRING: _leaf(quoted),
    Type.BYTES: _leaf(lambda value: f'"{to_base64(bytes(value))}"'),
    Type.ARRAY: _array_writer,
    Type.MAP: _map_writer,
    Type.STRUCT: _struct_writer,
}


def _rounded(value: float) -> float:
    return nearest_float(value) if math.isfinite(value) else value


def write_schemaless(value: Any) -> str:
    """The JSON text of data without a schema: None, bool, int, float, str, bytes, lists and dicts."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if -(2**63) <= value < 2**63:
            return str(value)
        case float():
            return double_text(value)
        case str():
            return quoted(value)
        case bytes() | bytearray() | memoryview():
            return f'"{to_base64(bytes(value))}"'
        case list() | tuple():
            return f"[{','.join(_inner(f'[{at}]', each) for at, each in enumerate(value))}]"
        case dict() if not isinstance(value, Struct):
            return _schemaless_map(value)
    raise EncodeError(
        f"data without a schema cannot have a value of type {type(value).__name__}",
        hint="give the schema: a Struct has its own in struct.schema",
    )


def _schemaless_map(value: dict[Any, Any]) -> str:
    parts = [(write_schemaless(key), _inner(entry(key), each)) for key, each in value.items()]
    if all(isinstance(key, str) for key in value):
        return f"{{{','.join(f'{key}:{each}' for key, each in parts)}}}"
    return f"[{','.join(f'[{key},{each}]' for key, each in parts)}]"


def _inner(path: str, value: Any) -> str:
    try:
        return write_schemaless(value)
    except EncodeError as error:
        raise error.inside(path) from None


# --- reading ----------------------------------------------------------------------------------------------------------


def reader(schema: Schema, form: Form) -> Read:
    """The function from parsed JSON to a value. Raises DecodeError, with the path, if the JSON does not fit."""
    read = _logical_reader(schema) or _READERS[schema.type](schema, form)
    optional, replace = schema.optional, form.replace_null and schema.default is not None

    def read_one(value: Any) -> Any:
        if value is not None:
            return read(value)
        if replace:
            return schema.default
        if optional:
            return None
        raise DecodeError(f"expected {described(schema)}, got null", hint="the schema is required")

    return read_one


def _logical_reader(schema: Schema) -> Read | None:
    logical = logical_of(schema)
    if logical is None:
        return _symbol_reader(schema) if schema.type is Type.STRING and schema.parameters else None
    if logical is Decimal:
        return _decimal_reader(schema)
    stored = _READERS[schema.type](schema, Form())
    return lambda value: as_decoded(logical.to_logical, schema, stored(value))


def _symbol_reader(schema: Schema) -> Read:
    check = schema.checker(make_checker)  # an enum has symbols

    def read(value: Any) -> Any:
        as_decoded(check, _read_string(value))
        return value

    return read


def _decimal_reader(schema: Schema) -> Read:
    scale = Decimal.scale(schema)

    def read(value: Any) -> Any:
        if type(value) is str:
            return as_decoded(decimal_of, scale, from_base64(value))
        if type(value) is bool or not isinstance(value, (int, JsonNumber)):
            raise not_decodable("a decimal, base64 text or a number", value)
        try:
            number = decimal.Decimal(value)
        except decimal.InvalidOperation:
            raise not_decodable("a decimal", value) from None
        return as_decoded(lambda: decimal_of(scale, to_bytes(rescaled(scale, number))))

    return read


def _int_reader(bits: int) -> Callable[[Schema, Form], Read]:
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1

    def read(value: Any) -> Any:
        if type(value) is not int or not least <= value <= most:
            raise not_decodable(f"int{bits}, an integer from {least} to {most}", value)
        return value

    return _leaf(read)


def _float_reader(nearest: Callable[[int | str], float]) -> Callable[[Schema, Form], Read]:
    def read(value: Any) -> float:
        if isinstance(value, JsonNumber) or type(value) is int:
            return nearest(value)
        if type(value) is float:  # NaN without quotes
            return value
        if type(value) is str and value in NOT_FINITE:
            return NOT_FINITE[value]
        raise not_decodable("a number", value)

    return _leaf(read)


def _class_reader(kind: type, expected: str) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise not_decodable(expected, value)
        return value

    return read


_read_string: Final = _class_reader(str, "a string")


def _array_reader(schema: Schema, form: Form) -> Read:
    items = listed(reader(schema.values, form))

    def read(value: Any) -> list[Any]:
        if type(value) is not list:
            raise not_decodable("an array", value)
        return items(value)

    return read


def _map_reader(schema: Schema, form: Form) -> Read:
    read_key, read_value = reader(schema.keys, form), reader(schema.values, form)
    named = schema.keys.type is Type.STRING

    def read(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict if named else list):
            raise not_decodable("a map, an object" if named else "a map, an array of arrays of two", value)
        found: dict[Any, Any] = {}
        key = None
        try:
            for pair in value.items() if isinstance(value, dict) else value:
                key = len(found)
                if not named and (type(pair) is not list or len(pair) != 2):
                    raise not_decodable("an array of a key and a value", pair)
                key = read_key(pair[0])
                if key in found:
                    raise DecodeError("expected each key once in a map")
                found[key] = read_value(pair[1])
        except DecodeError as error:
            raise error.inside(entry(key)) from None
        return found

    return read


def _struct_reader(schema: Schema, form: Form) -> Read:
    fields = [(field.name, reader(field.schema, form)) for field in schema.fields or ()]
    make = Struct.of_checked

    def read(value: Any) -> Struct:
        if type(value) is not dict:
            raise not_decodable(f"{described(schema)}, an object", value)
        found = {}
        name = ""
        try:
            for name, read_one in fields:
                one = read_one(value.get(name))
                if one is not None:
                    found[name] = one
        except DecodeError as error:
            raise error.inside(name) from None
        return make(schema, found)

    return read


_READERS: Final[Mapping[Type, Callable[[Schema, Form], Read]]] = {
    Type.INT8: _int_reader(8),
    Type.INT16: _int_reader(16),
    Type.INT32: _int_reader(32),
    Type.INT64: _int_reader(64),
    Type.FLOAT32: _float_reader(to_float),
    Type.FLOAT64: _float_reader(to_double),
    Type.BOOLEAN: _leaf(_class_reader(bool, "true or false")),
    Type.STRING: _leaf(_read_string),
    Type.BYTES: _leaf(from_base64),
    Type.ARRAY: _array_reader,
    Type.MAP: _map_reader,
    Type.STRUCT: _struct_reader,
}


def read_schemaless(value: Any) -> Any:
    """Parsed JSON as data without a schema: numbers with a fraction become floats; integers have at most 64 bits."""
    if isinstance(value, JsonNumber):
        return to_double(value)
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise not_decodable("an integer of 64 bits", value)
    at: Any = None
    try:
        if type(value) is dict:
            for at, each in value.items():
                value[at] = read_schemaless(each)
        elif type(value) is list:
            for at, each in enumerate(value):
                value[at] = read_schemaless(each)
    except DecodeError as error:
        raise error.inside(entry(at)) from None
    return value
