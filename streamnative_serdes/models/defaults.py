"""Converts class defaults to the JSON defaults of Avro fields (Avro specification, "Complex Types")."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from streamnative_serdes._schema import MISSING, PRIMITIVES, DefaultChecker, Primitive, json_float, qualified
from streamnative_serdes.errors import SchemaError

from .kinds import is_model, model_of
from .model import Attribute
from .type_hints import TypeHint


def takes(kind: Any, value: Any, named: Mapping[str, dict[str, Any]], around: str = "") -> bool:
    """Whether a value of the schema ``kind`` is read from the JSON ``value``.

    Args:
        kind: the schema.
        value: JSON.
        named: the records and enums that the schema may refer to, by full name. An unknown type counts as taking the
            value.
        around: the namespace that encloses ``kind``.
    """
    if isinstance(kind, list):
        return any(takes(branch, value, named, around) for branch in kind)
    base = kind if isinstance(kind, str) else kind["type"]
    match base:
        case "array":
            return isinstance(value, list) and all(takes(kind["items"], item, named, around) for item in value)
        case "map":
            return isinstance(value, dict) and all(
                takes(kind["values"], item, named, around) for item in value.values()
            )
        case "enum":
            return value in kind["symbols"]
        case "fixed":
            return isinstance(value, str) and len(value) == kind["size"]
        case "record":
            inner = _space(_full(kind, around))
            return isinstance(value, dict) and all(_field_takes(field, value, named, inner) for field in kind["fields"])
    if base in PRIMITIVES:
        return DefaultChecker().fault(Primitive(base), value) is None
    if not isinstance(base, str):
        return takes(base, value, named, around)
    full = _full(base, around)
    return full not in named or takes(named[full], value, named, _space(full))


def _field_takes(
    field: dict[str, Any], value: dict[str, Any], named: Mapping[str, dict[str, Any]], around: str
) -> bool:
    name = field["name"]
    return takes(field["type"], value[name], named, around) if name in value else "default" in field


def _full(kind: Any, around: str) -> str:
    """The full name of a named type inside the namespace ``around``, or of a reference to it."""
    if isinstance(kind, str):
        return qualified(kind, around)
    return qualified(kind.get("name", ""), kind.get("namespace", around))


def _space(full: str) -> str:
    return full.rpartition(".")[0]


_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - of local timestamps
_PRIMITIVES: dict[str, tuple[type, ...]] = {
    "null": (type(None),), "boolean": (bool,), "int": (int,), "long": (int,), "float": (float, int),
    "double": (float, int), "string": (str,), "bytes": (bytes, bytearray, memoryview),
}  # fmt: skip
_NUMBERS_OF_NUMPY = "biuf"  # kinds of dtypes
# A factory that returns one of these returns a different value each time.
_PASSING = (datetime.date, datetime.time, uuid.UUID)


def constant(attribute: Attribute) -> Any:
    """Return the default of an attribute, or MISSING if its factory does not always return the same value."""
    if attribute.factory is None:
        return _plain(attribute.default)
    try:
        first, second = attribute.factory(), attribute.factory()
        return MISSING if isinstance(first, _PASSING) or not _alike(first, second) else _plain(first)
    except SchemaError:
        return MISSING
    except Exception as error:  # user code may raise anything; comparing numpy arrays raises too
        where, fault = f"{attribute.owner.__name__}.{attribute.name}", f"{type(error).__name__}: {error}"
        raise SchemaError(f"the default_factory of {where} failed: {fault}") from error


def _alike(first: Any, second: Any) -> bool:
    """Whether two values are equal, with NaN equal to NaN."""
    if first == second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, Mapping):
        return first.keys() == second.keys() and all(_alike(one, second[key]) for key, one in first.items())
    if _is_list(first):
        return len(first) == len(second) and all(map(_alike, first, second))
    if is_model(type(first)):
        names = [attribute.name for attribute in model_of(type(first)).attributes]
        return all(_alike(getattr(first, name), getattr(second, name)) for name in names)
    return bool(first != first and second != second)  # NaN


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's; any other value unchanged."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item() if value.dtype.kind in _NUMBERS_OF_NUMPY else value
    return value


def suits(value: Any, hint: TypeHint) -> int:
    """Return how badly ``value`` fits this member of a union: 0 is best."""
    kinds: tuple[Any, ...] = (hint.bare,)
    if hint.item is not None:
        kinds = (list, tuple)
    elif hint.value is not None:
        kinds = (dict,)
    elif hint.is_literal:
        kinds = (str,)
    if type(value) in kinds:
        return 0
    near = (*kinds, int) if hint.bare is float else kinds
    return 1 if any(isinstance(kind, type) and isinstance(value, kind) for kind in near) else 2


class _Named(NamedTuple):
    name: str  # full
    schema: dict[str, Any]
    attributes: Mapping[str, str]  # field -> attribute


class Defaults:
    """Converts default values, given the classes that one schema has types for.

    Args:
        reading: the schema is a reader's and is never registered, so NaN and the infinities may be text in it.
    """

    def __init__(self, *, reading: bool) -> None:
        self._reading = reading
        self._named: dict[type, _Named] = {}

    def define(self, cls: type, name: str, schema: dict[str, Any], attributes: Mapping[str, str]) -> None:
        """Register the record or enum of ``cls`` under its full name; a record may still lack fields."""
        self._named[cls] = _Named(name, schema, attributes)

    def json(self, value: Any, kind: Any, around: str, path: str) -> Any:
        """Return ``value`` as the JSON default of a field of type ``kind``, a schema in the namespace ``around``.

        Raises:
            SchemaError: ``value`` cannot be a default of this type.
        """
        try:
            return None if value is None else self._json(value, kind, around)
        except (_NoDefaultError, _OtherTypeError) as error:
            raise SchemaError(
                f"the default {value!r:.80} cannot be written in a schema: {error}",
                path=path,
                hint="give the attribute another type or default; a default_factory that returns a different value "
                "each time is left out of the schema",
            ) from None

    def _json(self, value: Any, kind: Any, around: str) -> Any:
        if isinstance(kind, list):
            return self._of_union(value, kind, around)
        base = kind if isinstance(kind, str) else kind["type"]
        if base in ("record", "enum") or (base not in _PRIMITIVES and base == kind):
            return self._of_named(value, _full(kind, around))
        if base == "array" and _is_list(value):
            return [self._json(item, kind["items"], around) for item in value]
        if base == "map" and isinstance(value, Mapping):
            return {key: self._json(item, kind["values"], around) for key, item in value.items()}
        logical = _LOGICAL.get(kind.get("logicalType")) if isinstance(kind, dict) else None
        return self._primitive(_plain(value) if logical is None else logical(_plain(value), kind), base)

    def _of_union(self, value: Any, branches: list[Any], around: str) -> Any:
        for branch in sorted(branches, key=lambda branch: not self._is_own(value, branch, around)):
            try:
                found = self._json(value, branch, around)
            except _NoDefaultError:
                continue
            self._refuse_earlier(found, branch, branches, around)
            return found
        raise _NoDefaultError("it matches no branch of the union")

    def _is_own(self, value: Any, branch: Any, around: str) -> bool:
        """Whether values of a branch have exactly this type."""
        if type(value) in self._named:
            return self._named[type(value)].name == _full(branch, around)
        return isinstance(branch, str) and type(_plain(value)) in _PRIMITIVES.get(branch, ())[:1]

    def _refuse_earlier(self, found: Any, branch: Any, branches: list[Any], around: str) -> None:
        """Refuse a default that a reader would take for a value of an earlier branch."""
        named = {one.name: one.schema for one in self._named.values()}
        earlier = next(one for one in branches if one is branch or takes(one, found, named, around))
        if earlier is not branch:
            first, own = _label(earlier, around), _label(branch, around)
            raise _OtherTypeError(f"as JSON it is {found!r:.80}, which is read as {first}: put {own} before {first}")

    def _of_named(self, value: Any, name: str) -> Any:
        # An object of a subclass is one of the class that the hint names.
        found = (self._named[cls] for cls in type(value).__mro__ if cls in self._named)
        named = next((one for one in found if one.name == name), None)
        if named is None:
            raise _NoDefaultError(f"it is not of type {name}")
        if isinstance(value, Enum):
            return value.name
        if len(named.schema["fields"]) < len(named.attributes):
            raise _NoDefaultError("it is an instance of the class that declares it")
        return {
            field["name"]: self._json(getattr(value, named.attributes[field["name"]]), field["type"], _space(name))
            for field in named.schema["fields"]
        }

    def _primitive(self, value: Any, base: str) -> Any:
        kinds: Any = _PRIMITIVES.get(base, ())
        if not isinstance(value, kinds) or (isinstance(value, bool) and base != "boolean"):
            raise _NoDefaultError(f"it is not of type {base}")
        if base == "bytes":
            return bytes(value).decode("latin-1")
        if isinstance(value, float) and not math.isfinite(value):
            if not self._reading:
                raise _NoDefaultError("JSON has no such number")
            return json_float(value)
        # A value of a subclass, such as an IntEnum, as the number that it is.
        number = next((kind(value) for kind in (int, float) if isinstance(value, kind) and base != "boolean"), value)
        if not takes(base, number, {}):
            raise _NoDefaultError(f"it does not fit into {base}")
        return number


class _NoDefaultError(ValueError):
    """A value cannot be a default; the text has the reason."""


class _OtherTypeError(ValueError):
    """A default would be read as a value of another type; the text names it."""


def _label(branch: Any, around: str) -> str:
    """A branch of a union in words."""
    if isinstance(branch, str):
        return branch if branch in PRIMITIVES else _full(branch, around)
    return _full(branch, around) if "name" in branch else str(branch.get("logicalType") or branch["type"])


def _is_list(value: Any) -> bool:
    """Whether the codec takes the value for an array: a sequence, but not text, bytes or a named tuple."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes | bytearray | memoryview)
        and not hasattr(value, "_fields")
    )


def _since_epoch(unit: datetime.timedelta, *, local: bool) -> Callable[[Any, Any], int]:
    def convert(value: Any, _kind: Any) -> int:
        if not isinstance(value, datetime.datetime) or (value.tzinfo is None) is not local:
            raise _NoDefaultError(f"it is not a datetime {'without' if local else 'with'} a time zone")
        moment = value if local else value.astimezone(datetime.UTC).replace(tzinfo=None)
        return _exactly(moment - _EPOCH, unit)

    return convert


def _of_day(unit: datetime.timedelta) -> Callable[[Any, Any], int]:
    def convert(value: Any, _kind: Any) -> int:
        if not isinstance(value, datetime.time) or value.tzinfo is not None:
            raise _NoDefaultError("it is not a time without a time zone")
        return _exactly(datetime.datetime.combine(_EPOCH, value) - _EPOCH, unit)

    return convert


def _exactly(span: datetime.timedelta, unit: datetime.timedelta) -> int:
    count, rest = divmod(span, unit)
    if rest:
        raise _NoDefaultError(f"it is more precise than {unit}")
    return count


def _days(value: Any, _kind: Any) -> int:
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        raise _NoDefaultError("it is not a date")
    return value.toordinal() - _EPOCH.toordinal()


def _uuid(value: Any, kind: Any) -> str:
    try:
        value = uuid.UUID(value) if isinstance(value, str) else value
    except ValueError:
        raise _NoDefaultError("it is not a UUID") from None
    if not isinstance(value, uuid.UUID) or kind["type"] != "string":
        raise _NoDefaultError("it is not a UUID")
    return str(value)


def _decimal(value: Any, kind: Any) -> bytes:
    """Encode the unscaled number in two's complement, big-endian."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = decimal.Decimal(value)
    if not isinstance(value, decimal.Decimal) or not value.is_finite() or kind["type"] != "bytes":
        raise _NoDefaultError("it is not a finite Decimal")
    sign, items, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, items)).rstrip("0")  # as the codec, which takes 5.00 where one decimal place fits
    shift = exponent + len(items) - len(digits) + kind.get("scale", 0)
    if not digits:
        return b"\x00"
    if shift < 0 or len(digits) + shift > kind["precision"]:
        raise _NoDefaultError(
            f"it has more than {kind['precision']} digits, or more than {kind.get('scale', 0)} decimal places"
        )
    number: int = int(digits) * 10**shift * (-1 if sign else 1)
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


_MILLI, _MICRO = datetime.timedelta(milliseconds=1), datetime.timedelta(microseconds=1)
_LOGICAL: dict[Any, Callable[[Any, Any], Any]] = {
    "date": _days,
    "time-millis": _of_day(_MILLI),
    "time-micros": _of_day(_MICRO),
    "timestamp-millis": _since_epoch(_MILLI, local=False),
    "timestamp-micros": _since_epoch(_MICRO, local=False),
    "local-timestamp-millis": _since_epoch(_MILLI, local=True),
    "local-timestamp-micros": _since_epoch(_MICRO, local=True),
    "uuid": _uuid,
    "decimal": _decimal,
}
