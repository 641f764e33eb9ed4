"""Python objects as protobuf messages: fills a message from dicts, and compares the classes of messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes._paths import entry
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError

from .faults import described, not_encodable
from .jackson.notation import to_float

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message

_DEPTH: Final = 90  # of messages; protobuf reads 100 levels


def fill(message: Message, values: Mapping[Any, Any], depth: int = _DEPTH) -> None:
    """Set the fields of a message; None leaves a field unset.

    Raises:
        EncodeError: a value does not fit its field; ``path`` names it.
    """
    if depth == 0:
        raise EncodeError(f"nested deeper than {_DEPTH} messages")
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in values.items():
        field = fields.get(name) if isinstance(name, str) else None
        if field is None:
            raise EncodeError(f"the message {message.DESCRIPTOR.full_name} has no field {described(name)}")
        try:
            if value is not None:
                _refuse_second(message, field)
                _set(message, field, value, depth)
        except EncodeError as error:
            raise error.inside(name) from None


def _refuse_second(message: Message, field: FieldDescriptor) -> None:
    """Refuse a second field of a oneof, which would remove the first."""
    oneof = field.containing_oneof
    first = None if oneof is None else message.WhichOneof(oneof.name)
    if first is not None:
        raise EncodeError(f"the oneof {oneof.name} has {first} already")


def _set(message: Message, field: FieldDescriptor, value: Any, depth: int) -> None:
    if _is_map(field):
        _set_map(getattr(message, field.name), field, value, depth)
    elif is_repeated(field):
        _set_list(getattr(message, field.name), field, value, depth)
    elif field.message_type is not None:
        _set_message(getattr(message, field.name), value, depth)
    else:
        _assign(field, value, lambda scalar: setattr(message, field.name, scalar))


def _set_map(target: Any, field: FieldDescriptor, value: Any, depth: int) -> None:
    if not isinstance(value, Mapping):
        raise not_encodable("a mapping", value)
    keys, items = (field.message_type.fields_by_name[name] for name in ("key", "value"))
    tried = target.GetEntryClass()()
    for key, item in value.items():
        try:
            _assign(keys, key, lambda scalar: setattr(tried, "key", scalar))
            if items.message_type is None:
                _assign(items, item, lambda scalar, key=key: target.__setitem__(key, scalar))
            else:
                _set_message(target[key], item, depth)
        except EncodeError as error:
            raise error.inside(entry(key)) from None


def _set_list(target: Any, field: FieldDescriptor, value: Any, depth: int) -> None:
    if not isinstance(value, list | tuple):
        raise not_encodable("a list", value)
    for number, item in enumerate(value):
        try:
            if field.message_type is None:
                _assign(field, item, target.append)
            else:
                _set_message(target.add(), item, depth)
        except EncodeError as error:
            raise error.inside(f"[{number}]") from None


def _set_message(target: Any, value: Any, depth: int) -> None:
    from google.protobuf.message import Error, Message

    target.SetInParent()
    if isinstance(value, Message):  # first, since a google.protobuf.Struct is a mapping, too
        refuse_other(target.DESCRIPTOR, value.DESCRIPTOR)
        try:
            target.MergeFromString(value.SerializePartialToString())
        except Error as error:
            raise EncodeError(f"the message {target.DESCRIPTOR.full_name} cannot be written: {error}") from None
    elif isinstance(value, Mapping):
        fill(target, value, depth - 1)
    else:
        raise not_encodable(f"a message {target.DESCRIPTOR.full_name} or a dict", value)


def _assign(field: FieldDescriptor, value: Any, assign: Any) -> None:
    if field.type == _BYTES and not isinstance(value, bytes):
        value = _CODEC.decode(_CODEC.encode(value))
    expected = _EXPECTED.get(field.type)
    if not isinstance(value, expected or object) or (isinstance(value, bool) and expected is not bool):
        raise not_encodable(expected.__name__ if expected else "a number", value)
    if field.enum_type is not None and isinstance(value, str):
        symbol = field.enum_type.values_by_name.get(value)
        if symbol is None:
            raise not_encodable(f"a value of enum {field.enum_type.full_name}", value)
        value = symbol.number
    elif field.type == _FLOAT and isinstance(value, float) and math.isfinite(value):
        _check_float(value)
    try:
        assign(value)
    except UnicodeError:
        raise not_encodable("text that UTF-8 can hold", value) from None
    except (TypeError, ValueError):
        raise not_encodable(_TYPES.get(field.type, "another type"), value) from None


# Some versions of protobuf take bytes for text, 1 for true, or true for 1. The keys are FieldDescriptor.TYPE_*.
_FLOAT: Final = 2
_BYTES: Final = 12
_CODEC: Final = Codec("bytes")  # takes what Avro takes for bytes
_EXPECTED: Final[Mapping[int, type]] = {8: bool, 9: str, 12: bytes}


def _check_float(value: float) -> None:
    try:
        to_float(value)
    except OverflowError:
        raise not_encodable("a number that a 32-bit float can hold", value) from None


def is_repeated(field: FieldDescriptor) -> bool:
    """Whether a field is repeated, in all versions of protobuf; the old property warns in new versions."""
    found = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if found is None else found)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


# --- classes of messages ----------------------------------------------------------------------------------------------


def refuse_other(ours: Descriptor, theirs: Descriptor) -> None:
    """Compare the class of a message with the schema.

    Raises:
        EncodeError: ``theirs`` is another message, or one of its fields has another type or name in ``ours``.
    """
    if ours is theirs:
        return
    if theirs.full_name != ours.full_name:
        raise EncodeError(f"expected a message {ours.full_name}, got a message {theirs.full_name:.200}")
    found = _conflict(ours, theirs, set())
    if found:
        raise EncodeError(f"the class of the message differs from the topic's schema: {found}")


def _conflict(ours: Descriptor, theirs: Descriptor, seen: set[str]) -> str | None:
    """The first field with the same number in both, but another type or name; None if all agree."""
    if ours.full_name in seen:
        return None
    seen.add(ours.full_name)
    for number, field in theirs.fields_by_number.items():
        other = ours.fields_by_number.get(number)
        if other is None:
            continue
        if (field.type, is_repeated(field), field.name) != (other.type, is_repeated(other), other.name):
            return (
                f"field {number} of {ours.full_name} is {_shown(other)} in the schema, but {_shown(field)} in the class"
            )
        if field.message_type is not None:
            found = _conflict(other.message_type, field.message_type, seen)
            if found:
                return found
    return None


def _shown(field: FieldDescriptor) -> str:
    many = "repeated " if is_repeated(field) else ""
    return f"{field.name}, {many}{_TYPES.get(field.type, field.type)}"


_TYPES: Final = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool", 9: "string",
    10: "group", 11: "message", 12: "bytes", 13: "uint32", 14: "enum", 15: "sfixed32", 16: "sfixed64", 17: "sint32",
    18: "sint64",
}  # fmt: skip
