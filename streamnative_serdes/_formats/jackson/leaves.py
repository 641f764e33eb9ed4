"""The leaves of JSON data by type: booleans, numbers, text and bytes, as Jackson and as other writers write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamnative_serdes._schema import AvroType, Fixed
from streamnative_serdes.errors import DecodeError

from ..faults import described, not_decodable
from ..json_number import JsonNumber
from .base64_text import from_base64
from .java_classes import CHARACTER, NUMBERS, java_class
from .numbers import to_float
from .parsing import to_float as to_double

_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_BITS: Final = {"int": 32, "long": 64}


def _null(_: AvroType) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        raise not_decodable("null", value)

    return read


def _boolean(_: AvroType) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, bool):
            raise not_decodable("boolean", value)
        return value

    return read


def _integer(node: AvroType) -> Callable[[Any], Any]:
    kind, limit = node.kind, 1 << _BITS[node.kind] - 1
    character = java_class(node) == CHARACTER

    def read(value: Any) -> Any:
        if character and isinstance(value, str) and len(value) == 1:
            return ord(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise not_decodable(kind, value)
        if not -limit <= value < limit:
            raise DecodeError(f"{kind} out of range: {described(value)}")
        return value

    return read


def _real(node: AvroType) -> Callable[[Any], Any]:
    kind = node.kind

    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, JsonNumber | int | float):
            if isinstance(value, str) and value in _SPECIAL:
                return _SPECIAL[value]
            raise not_decodable(kind, value)
        if isinstance(value, float):
            return value  # NaN or an infinity without quotes
        return to_double(value) if kind == "double" else to_float(value)

    return read


def _text(node: AvroType) -> Callable[[Any], Any]:
    number = java_class(node) in NUMBERS

    def read(value: Any) -> Any:
        if type(value) is str:
            return value
        if number and isinstance(value, int | JsonNumber) and not isinstance(value, bool):
            return str.__str__(value) if isinstance(value, JsonNumber) else str(value)
        raise not_decodable("string", value)

    return read


def _bytes(_: AvroType) -> Callable[[Any], Any]:
    return from_base64


def _fixed(node: AvroType) -> Callable[[Any], Any]:
    assert isinstance(node, Fixed)
    return lambda value: from_base64(value, node.size)


LEAVES: Final[Mapping[str, Callable[[AvroType], Callable[[Any], Any]]]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _integer,
    "long": _integer,
    "float": _real,
    "double": _real,
    "string": _text,
    "bytes": _bytes,
    "fixed": _fixed,
}
