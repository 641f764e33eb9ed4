"""Protobuf messages as JSON by protobuf's own mapping (ProtoJSON), with the names of fields as in the descriptor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes.errors import DecodeError, EncodeError

from .faults import not_encodable

if TYPE_CHECKING:
    from google.protobuf.message import Message

_MOST: Final = 300  # characters of what protobuf says
_SPECIAL: Final = "google.protobuf."  # some of these are text, numbers or lists in JSON


def to_json(message: Message) -> Any:
    """Return a message as JSON data. Fields that its descriptor does not have are left out.

    Raises:
        DecodeError: JSON cannot hold it, such as a Timestamp after the year 9999, or an Any of another schema's type.
    """
    from google.protobuf.json_format import Error, MessageToDict

    descriptor = message.DESCRIPTOR
    try:
        return MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=descriptor.file.pool)
    except (Error, TypeError, ValueError) as error:
        raise DecodeError(f"the message {descriptor.full_name} cannot be shown as JSON: {_said(error)}") from None


def from_json(value: Any, message: Message) -> None:
    """Fill a message from JSON data, as :func:`to_json` gives it.

    Raises:
        EncodeError: the data do not fit the descriptor; they may not have other fields than it has.
    """
    from google.protobuf.json_format import Error, ParseDict

    descriptor = message.DESCRIPTOR
    if not isinstance(value, dict) and not descriptor.full_name.startswith(_SPECIAL):
        raise not_encodable(f"an object for the message {descriptor.full_name}", value)
    try:
        ParseDict(value, message, descriptor_pool=descriptor.file.pool)
    except (Error, TypeError, ValueError) as error:
        raise EncodeError(f"expected a message {descriptor.full_name} as JSON: {_said(error)}") from None


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:_MOST]
