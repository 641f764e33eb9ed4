"""SchemaProjector: converts a value from one schema to a compatible one, by Kafka Connect's rules.

A number becomes a wider one, in the order INT8, INT16, INT32, INT64, FLOAT32, FLOAT64; a field that the source lacks
is not set if it is optional, and becomes the target's default otherwise; a field that the target lacks is dropped.
Names and parameters must be equal. An optional source needs an optional target, or one with a default.
"""

from __future__ import annotations

from typing import Any, Final

from streamnative_serdes._formats.jackson.notation import to_float as nearest_float
from streamnative_serdes._formats.jackson.numbers import to_float
from streamnative_serdes._paths import entry
from streamnative_serdes.errors import EncodeError, SchemaError

from .logical import logical_of
from .schema import Schema, Type
from .struct import Struct
from .values import described

_WIDTHS: Final = {
    kind: width
    for width, kind in enumerate((Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64))
}


class SchemaProjector:
    """The counterpart of Java's ``org.apache.kafka.connect.data.SchemaProjector``."""

    @staticmethod
    def project(source: Schema, value: Any, target: Schema) -> Any:
        """The value of schema ``source`` as one of ``target``.

        As in Java, an INT64 that becomes a FLOAT32 or a FLOAT64 is rounded.

        Raises:
            SchemaError: the schemas are not compatible; ``path`` names the field.
            EncodeError: the value does not fit ``source``; ``path`` names the field.
        """
        _require_compatible(source, target)
        if source.optional and not target.optional:
            if target.default is None:
                raise SchemaError(
                    f"expected an optional {described(target)} or one with a default, got a required one",
                    hint="the source is optional",
                )
            if value is None:
                return target.default
        if value is None:
            return None
        match target.type:
            case Type.STRUCT:
                return _struct(source, value, target)
            case Type.ARRAY:
                return _array(source, value, target)
            case Type.MAP:
                return _map(source, value, target)
        return _primitive(source, value, target)


def _require_compatible(source: Schema, target: Schema) -> None:
    if source.type is not target.type and not _is_wider(source.type, target.type):
        raise SchemaError(f"{source.type.value} cannot become {target.type.value}")
    if source.name != target.name:
        raise SchemaError(f"expected schemas of the same name, got {source.name!r:.80} and {target.name!r:.80}")
    if source.parameters != target.parameters:
        shown = [None if each.parameters is None else dict(each.parameters) for each in (source, target)]
        raise SchemaError(f"expected schemas with the same parameters, got {shown[0]!r:.120} and {shown[1]!r:.120}")


def _is_wider(source: Type, target: Type) -> bool:
    return source in _WIDTHS and target in _WIDTHS and _WIDTHS[source] < _WIDTHS[target]


def _primitive(source: Schema, value: Any, target: Schema) -> Any:
    if source.type is target.type or logical_of(source) is not None:
        return value
    if type(value) not in (int, float):
        raise EncodeError(f"expected {described(source)}, got {value!r:.80} of type {type(value).__name__}")
    if target.type is Type.FLOAT32:
        return to_float(value) if type(value) is int else nearest_float(value)
    return float(value) if target.type is Type.FLOAT64 else value


def _struct(source: Schema, value: Any, target: Schema) -> Struct:
    if not isinstance(value, Struct):
        raise EncodeError(f"expected {described(source)}, a Struct, got {type(value).__name__}")
    found: dict[str, Any] = {}
    for name, _, wanted in target.fields or ():
        given = source.field(name)
        if given is not None:
            one = _within(name, given.schema, value[name], wanted)
        elif wanted.optional:
            continue  # not set, as in Java, where reading it gives the default
        elif wanted.default is not None:
            one = wanted.default
        else:
            raise SchemaError("the field is required, and the source does not have it", path=name)
        if one is not None:
            found[name] = one
    return Struct.of_checked(target, found)


def _array(source: Schema, value: Any, target: Schema) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise EncodeError(f"expected array, a list, got {type(value).__name__}")
    inner, wanted = source.values, target.values
    return [_within(f"[{at}]", inner, each, wanted) for at, each in enumerate(value)]


def _map(source: Schema, value: Any, target: Schema) -> dict[Any, Any]:
    if not isinstance(value, dict) or isinstance(value, Struct):
        raise EncodeError(f"expected map, a dict, got {type(value).__name__}")
    found = {}
    for key, each in value.items():
        path = entry(key)
        name = _within(f"{path} (key)", source.keys, key, target.keys)
        found[name] = _within(path, source.values, each, target.values)
    return found


def _within(path: str, source: Schema, value: Any, target: Schema) -> Any:
    try:
        return SchemaProjector.project(source, value, target)
    except (SchemaError, EncodeError) as error:
        raise error.inside(path) from None
