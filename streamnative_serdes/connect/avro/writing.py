"""Connect values as data of the Avro codec: functions made once per schema."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from streamnative_serdes.connect.containers import listed, paired
from streamnative_serdes.connect.logical import Date, Decimal, logical_of, to_bytes
from streamnative_serdes.connect.schema import Schema, Type
from streamnative_serdes.connect.values import validate
from streamnative_serdes.errors import EncodeError

from . import names
from .anything import to_anything
from .options import AvroOptions
from .to_schema import Translated, most_digits

Convert: TypeAlias = Callable[[Any], Any]

# Python's values of these are those of the codec. Those of INT8 and INT16 are too, but the codec allows 32 bits.
_SAME: Final = frozenset({Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING, Type.BYTES})

# Of these, the codec loses nothing, also if they have not been checked; of a Time or a Timestamp, microseconds.
_EXACT: Final = frozenset({None, Date, Decimal})


def datum_of(schema: Schema | None, convert: Convert | None, value: Any) -> Any:
    """A valid value as data of the codec without logical types.

    Raises:
        EncodeError: the value does not fit; ``path`` names the place.
    """
    if schema is None:
        return to_anything(value)
    validate(schema, value)
    return value if convert is None or value is None else convert(value)


def converter_of(schema: Schema, options: AvroOptions, translated: Translated) -> Convert | None:
    """A function that converts values other than None; None if the codec takes the values unchanged."""
    logical = logical_of(schema)
    size = names.fixed_size(schema)
    if logical is Decimal:
        return _decimal(schema, size)
    if logical is not None:
        return lambda value: logical.from_logical(schema, value)
    match schema.type:
        case Type.ARRAY:
            return _array(schema, options, translated)
        case Type.MAP:
            return _map(schema, options, translated)
        case Type.STRUCT:
            return (
                _union(schema, options, translated) if names.is_union(schema) else _struct(schema, options, translated)
            )
    return None


def _nullable(schema: Schema, options: AvroOptions, translated: Translated) -> Convert | None:
    convert = converter_of(schema, options, translated)
    if convert is None or not schema.optional:
        return convert
    return lambda value: None if value is None else convert(value)


def _decimal(schema: Schema, size: int | None) -> Convert:
    """A function for decimals; refuses more digits than the precision in the schema, as Avro's own library does."""
    precision = most_digits(schema) if names.PRECISION in (schema.parameters or {}) else None
    limit = math.inf if precision is None else 10**precision
    scale = Decimal.scale(schema)

    def convert(value: Any) -> bytes:
        unscaled = Decimal.unscaled(scale, value)
        if abs(unscaled) >= limit:
            raise EncodeError(
                f"decimal({precision}, {scale}) cannot hold {value!s:.80}: it has more than {precision} digits",
                hint=f"the precision is the schema's parameter {names.PRECISION}",
            )
        return _extended(to_bytes(unscaled), size)

    return convert


def _extended(stored: bytes, size: int | None) -> bytes:
    """The bytes of a decimal, filled up with its sign to ``size`` for a fixed."""
    if size is None:
        return stored
    if len(stored) > size:
        raise EncodeError(f"expected a decimal of at most {size} bytes, got one of {len(stored)}")
    return (b"\xff" if stored[0] & 0x80 else b"\0") * (size - len(stored)) + stored


def _array(schema: Schema, options: AvroOptions, translated: Translated) -> Convert | None:
    item = _nullable(schema.values, options, translated)
    return None if item is None else listed(item)


def _map(schema: Schema, options: AvroOptions, translated: Translated) -> Convert | None:
    """For keys other than text, a list of records of a key and a value."""
    item = _nullable(schema.values, options, translated)
    pairs = paired(_nullable(schema.keys, options, translated) or _same, item or _same)
    if not names.is_avro_map(schema, options):
        return lambda value: [{names.KEY: key, names.VALUE: each} for key, each in pairs(value)]
    return None if item is None else lambda value: dict(pairs(value))


def _same(value: Any) -> Any:
    return value


def _struct(schema: Schema, options: AvroOptions, translated: Translated) -> Convert:
    default_null = options.ignore_default_for_nullables
    fields = [
        (
            name,
            names.scrubbed(name, options),
            _nullable(kind, options, translated) or _same,
            default_null and kind.optional,
        )
        for name, _, kind in schema.fields or ()
    ]

    def convert(value: Any) -> dict[str, Any]:
        converted, name = {}, ""
        try:
            for name, avro_name, field, as_set in fields:
                converted[avro_name] = field(value.get(name) if as_set else value[name])
        except EncodeError as error:
            raise error.inside(name) from None
        return converted

    return convert


def _union(schema: Schema, options: AvroOptions, translated: Translated) -> Convert:
    """A function that returns the first set field's branch and value, since a value may fit several branches."""
    branches = [
        (name, label, converter_of(kind, options, translated) or _same)
        for (name, _, kind), label in zip(schema.fields or (), translated.branches[schema], strict=True)
    ]

    def convert(value: Any) -> Any:
        for name, branch, field in branches:
            if value.get(name) is not None:
                return branch, field(value[name])
        if not schema.optional:
            raise EncodeError("expected one field of the union to be set, got none")
        return None

    return convert


# --- values that the codec takes as they are --------------------------------------------------------------------------


def is_direct(schema: Schema, options: AvroOptions, *, checked: bool = True) -> bool:
    """Whether the codec with logical types writes values of this schema unchanged, with the necessary checks.

    ``checked``: a Struct has checked the values when they were set. Items of lists may have changed since.
    """
    if names.is_union(schema):
        return False
    match schema.type:
        case Type.STRUCT:
            return all(_is_direct_field(name, kind, options) for name, _, kind in schema.fields or ())
        case Type.ARRAY:
            return is_direct(schema.values, options, checked=False)
        case Type.MAP:
            plain = names.is_avro_map(schema, options)
            return plain and is_direct(schema.values, options, checked=False)
    return checked or (schema.type in _SAME and logical_of(schema) in _EXACT)


def _is_direct_field(name: str, schema: Schema, options: AvroOptions) -> bool:
    """As :func:`is_direct`, for a field; if not set, the codec writes the default of the Avro field."""
    scrubbed = names.scrubbed(name, options) != name
    ignored = options.ignore_default_for_nullables and schema.optional and schema.default is not None
    return not scrubbed and not ignored and is_direct(schema, options)
