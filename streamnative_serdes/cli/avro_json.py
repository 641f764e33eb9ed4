"""Avro data as plain JSON and back, by its schema: as people write it, and with nothing lost on the way.

| Avro | JSON |
|---|---|
| null, boolean, int, long, string, enum, array, map, record | the corresponding JSON type |
| float, double | a number; ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which JSON does not have |
| bytes, fixed | text, a character from U+0000 to U+00FF for each byte, as in Avro's JSON encoding |
| logical types | text: a timestamp as ISO 8601, a decimal as its digits; or a number, such as for the year 10000 |
| a union of null and one other type | null, or the value itself |
| any other union | null, or ``{"name of the type": value}``, as in Avro's JSON encoding |

Decoded data does not tell which branch of a union it is of: 5 may be an int or a long. So :func:`writer_of` decodes by
a schema of its own, in which each branch of such a union is a record with one field. Its bytes are the same.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import (
    NOT_FINITE,
    ONLY_FIELD,
    Array,
    AvroType,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Schema,
    Union,
    branch_number,
    json_float,
    name_of,
    only_branch,
    told_apart,
)
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import DecodeError, EncodeError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS: Final = {"millis": 3, "micros": 6, "nanos": 9}  # of a second's fraction
_DAY: Final = 86_400  # seconds
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,5000}(\.[0-9]{1,5000})?([eE][+-]?[0-9]{1,10})?", re.ASCII)
_PARTS: Final = ("months", "days", "millis")
Conversion: TypeAlias = Callable[[Any], Any]
_MOST_DEPTH: Final = 1_000  # the most that max.depth may be


class Form(NamedTuple):
    """How a logical type is shown and read back; both raise ValueError with what was expected."""

    show: Callable[[Any], Any]
    read: Callable[[Any], Any]


def form_of(node: Primitive | Fixed) -> Form | None:
    """The form of a type; None if it has no logical type, or one whose values are shown as they are."""
    if node.logical is None:
        return None
    name = node.logical.name
    if name in ("decimal", "big-decimal"):
        return _converted(node, lambda value: f"{value:f}" if name == "decimal" else str(value), _number)
    if isinstance(node, Fixed):
        return _converted(node, *((str, _uuid) if name == "uuid" else (Duration._asdict, _duration)))
    if name == "date":
        return Form(_show_date, _read_date)
    family, _, unit = name.rpartition("-")
    if unit not in _DIGITS:
        return None
    digits, zone = _DIGITS[unit], family == "timestamp"
    if family == "time":
        return Form(lambda value: _show_time(value, digits), lambda text: _read_time(text, digits))
    return Form(lambda value: show_moment(value, digits, zone), lambda text: read_moment(text, digits, zone))


def _show_date(days: int) -> str | int:
    try:
        return (_EPOCH + timedelta(days=days)).date().isoformat()
    except OverflowError:
        return days


def _read_date(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return (date.fromisoformat(text) - _EPOCH.date()).days
    except ValueError:
        raise ValueError("a date such as 2026-11-23") from None


def _show_time(value: int, digits: int) -> str | int:
    seconds, fraction = divmod(value, 10**digits)
    if not 0 <= seconds < _DAY:
        return value
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:0{digits}}"


def _read_time(text: Any, digits: int) -> Any:
    if not isinstance(text, str):
        return text
    found = _TIME.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[:3]) if found else (24, 0, 0)
    if found is None or hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("a time such as 13:45:00.123")
    return (hours * 3600 + minutes * 60 + seconds) * 10**digits + _fraction(found[4], digits)


def show_moment(value: int, digits: int, zone: bool) -> str | int:
    """A time since 1970 as ISO 8601, or unchanged if ISO 8601 cannot show the time.

    The unit has ``digits`` digits of a second's fraction; with ``zone``, the time is shown in UTC, otherwise as local.
    """
    seconds, fraction = divmod(value, 10**digits)
    try:
        moment = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None)
    except OverflowError:
        return value
    return f"{moment.isoformat()}.{fraction:0{digits}}{'Z' if zone else ''}"


def read_moment(text: Any, digits: int, zone: bool) -> Any:
    """The time of a text from :func:`show_moment`. Raises ValueError with the expected form; only text is checked."""
    if not isinstance(text, str):
        return text
    found = _MOMENT.fullmatch(text)
    expected = f"a time such as 2026-11-23T13:45:00.123{'Z, with its zone' if zone else ', without a zone'}"
    if found is None or (found[4] is not None) != zone:
        raise ValueError(expected)
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[4] or ''}")
    except ValueError:
        raise ValueError(expected) from None
    past = moment - (_EPOCH if zone else _EPOCH.replace(tzinfo=None))
    return (past.days * _DAY + past.seconds) * 10**digits + _fraction(found[3], digits)


def _fraction(text: str | None, digits: int) -> int:
    if text is not None and len(text) > digits:
        raise ValueError(f"at most {digits} digits of a second")
    return int((text or "").ljust(digits, "0"))


def _converted(node: Primitive | Fixed, show: Callable[[Any], Any], read: Callable[[Any], Any]) -> Form:
    """A form of two steps: the codec converts Avro's bytes to a Python type and back, ``show`` and ``read`` to JSON."""
    schema = _alone(node)
    plain, typed = Codec(schema, avro_logical_types=False), Codec(schema)

    def shown(data: Any) -> Any:
        try:
            return show(typed.decode(plain.encode(data)))
        except DecodeError as error:
            raise ValueError(f"a valid {schema['logicalType']}: {error.message}") from None

    def back(value: Any) -> Any:
        datum = read(value)
        try:
            return plain.decode(typed.encode(datum))
        except EncodeError as error:
            raise ValueError(f"a valid {schema['logicalType']}: {error.message}") from None

    return Form(shown, back)


def _alone(node: Primitive | Fixed) -> dict[str, Any]:
    assert node.logical is not None
    schema: dict[str, Any] = {"type": node.kind, "logicalType": node.logical.name}
    if node.logical.name == "decimal":
        schema |= {"precision": node.logical.precision, "scale": node.logical.scale}
    return schema | ({"name": "Alone", "size": node.size} if isinstance(node, Fixed) else {})


def _number(text: Any) -> Decimal:
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise ValueError('a decimal as text, such as "12.50"')
    return Decimal(text)


def _uuid(text: Any) -> UUID:
    try:
        return UUID(text)
    except (ValueError, TypeError, AttributeError):
        raise ValueError("a UUID as text") from None


def _duration(tree: Any) -> tuple[int, ...]:
    if isinstance(tree, dict) and set(tree) == set(_PARTS):
        parts = [tree[part] for part in _PARTS]
        if all(isinstance(part, int) and not isinstance(part, bool) for part in parts):
            return tuple(map(int, parts))
    raise ValueError('a duration such as {"months": 1, "days": 2, "millis": 3}')


class _FaultError(Exception):
    """A value that does not fit; ``path`` grows on the way out."""

    def __init__(self, expected: str, got: Any) -> None:
        super().__init__(f"expected {expected}, got {got!r:.60}")
        self.path: list[str] = []

    @property
    def where(self) -> str:
        return "".join(reversed(self.path)).removeprefix(".")


def writer_of(schema: Schema, options: CodecArguments) -> Callable[[Buffer], Any]:
    """A function from data of a writer's schema to JSON; options for logical types and names are not used."""
    own: CodecArguments = {**options, "max_depth": _MOST_DEPTH, "return_record_name": True}
    codec, show = Codec(told_apart(schema), **own), shower_of(schema.root)
    return lambda body: show(codec.decode(body))


def shower_of(root: AvroType) -> Conversion:
    """A function from data, as a schema of :func:`told_apart` decodes them, to JSON. It raises DecodeError."""
    return _typed(_Writer().of(root), DecodeError)


def reader_of(root: AvroType) -> Conversion:
    """A function from JSON as of :func:`writer_of` to data for the encoder. It raises EncodeError for other forms."""
    return _typed(_Reader().of(root), EncodeError)


def _typed(convert: Conversion, kind: type[DecodeError | EncodeError]) -> Conversion:
    def typed(value: Any) -> Any:
        try:
            return convert(value)
        except _FaultError as fault:
            raise kind(str(fault), path=fault.where) from None

    return typed


def _same(value: Any) -> Any:
    return value


def _to_bytes(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise _FaultError("text with characters from U+0000 to U+00FF, one for each byte", text) from None


class _Compiler(ABC):
    """Makes a conversion for each type; for a named type only once, since the type may contain itself."""

    way: str  # of a Form
    number: Conversion
    data: Conversion

    def __init__(self) -> None:
        self._named: dict[int, Conversion] = {}

    def of(self, node: AvroType) -> Conversion:
        if not isinstance(node, Record):
            return self._made(node)
        if id(node) not in self._named:
            made: list[Conversion] = []

            def itself(value: Any) -> Any:
                return made[0](value)

            self._named[id(node)] = itself  # for the record inside itself
            made.append(self._made(node))
            self._named[id(node)] = made[0]
        return self._named[id(node)]

    def _made(self, node: AvroType) -> Conversion:
        if isinstance(node, Record):
            return self.record(node, {part.name: self.of(part.type) for part in node.fields})
        if isinstance(node, Array):
            return _each_item(self.of(node.items))
        if isinstance(node, Map):
            return _each_value(self.of(node.values))
        if isinstance(node, Union):
            return self.union(node, [self.of(branch) for branch in node.branches])
        if isinstance(node, Enum):
            return _same
        return self.leaf(node)

    @abstractmethod
    def record(self, node: Record, fields: Mapping[str, Conversion]) -> Conversion: ...

    @abstractmethod
    def union(self, node: Union, branches: list[Conversion]) -> Conversion: ...

    def leaf(self, node: Primitive | Fixed) -> Conversion:
        form = form_of(node)
        if form is not None:
            return _checked(getattr(form, self.way))
        return {"float": self.number, "double": self.number, "bytes": self.data, "fixed": self.data}.get(
            node.kind, _same
        )


class _Writer(_Compiler):
    way = "show"
    number, data = staticmethod(json_float), staticmethod(lambda value: value.decode("latin-1"))

    def record(self, node: Record, fields: Mapping[str, Conversion]) -> Conversion:  # noqa: ARG002
        def write(datum: Any) -> Any:
            return {name: _at(f".{name}", convert, datum[name]) for name, convert in fields.items()}

        return write

    def union(self, node: Union, branches: list[Conversion]) -> Conversion:
        names = [name_of(branch) for branch in node.branches]
        only = only_branch(node)

        def write_only(datum: Any) -> Any:
            assert only is not None
            return None if datum is None else branches[only](datum[1] if isinstance(datum, tuple) else datum)

        def write(datum: Any) -> Any:
            if datum is None:
                return None
            name, fields = datum
            number = branch_number(name)
            return {names[number]: branches[number](fields[ONLY_FIELD])}

        return write if only is None else write_only


class _Reader(_Compiler):
    way = "read"
    number = staticmethod(lambda value: NOT_FINITE.get(value, value) if isinstance(value, str) else value)
    data = staticmethod(_to_bytes)

    def record(self, node: Record, fields: Mapping[str, Conversion]) -> Conversion:
        def read(value: Any) -> Any:
            if not isinstance(value, dict):
                raise _FaultError(f"an object for record {node.name}", value)
            # The encoder says which fields are missing, and which ones the record does not have.
            return {
                name: _at(f".{name}", fields[name], item) if name in fields else item for name, item in value.items()
            }

        return read

    def union(self, node: Union, branches: list[Conversion]) -> Conversion:
        by_name = dict(zip(map(name_of, node.branches), branches, strict=True))
        only = only_branch(node)

        def read(value: Any) -> Any:
            if value is None:
                return None
            if only is not None:
                return branches[only](value)
            name = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else None
            if name not in by_name or name == "null":
                forms = " or ".join(f'{{"{name}": ...}}' for name in by_name if name != "null")
                raise _FaultError(forms, value)
            return name, _at(f".{name}", by_name[name], value[name])

        return read


def _each_item(convert: Conversion) -> Conversion:
    def each(items: Any) -> Any:
        if not isinstance(items, list):
            return items
        return [_at(f"[{number}]", convert, item) for number, item in enumerate(items)]

    return _same if convert is _same else each


def _each_value(convert: Conversion) -> Conversion:
    def each(items: Any) -> Any:
        if not isinstance(items, dict):
            return items
        return {key: _at(f'["{key}"]', convert, item) for key, item in items.items()}

    return _same if convert is _same else each


def _checked(convert: Conversion) -> Conversion:
    """``convert`` with _FaultError in place of ValueError, whose text names the expected form."""

    def checked(value: Any) -> Any:
        try:
            return convert(value)
        except ValueError as expected:
            fault = _FaultError(str(expected), value)
        raise fault

    return checked


def _at(step: str, convert: Conversion, value: Any) -> Any:
    try:
        return convert(value)
    except _FaultError as fault:
        fault.path.append(step)
        raise
