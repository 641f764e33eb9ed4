"""Protobuf as text: messages as JSON (ProtoJSON), and the text that is registered for a type of messages.

The broker compares texts, so the same bytes give Java's and Python's producers the same schema version.

Source: ProtobufNativeSchemaUtils of Pulsar 4.0.8, which keeps the descriptors of files in a java.util.HashMap.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, SchemaError

from .faults import described, not_encodable

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


_FIRST_CAPACITY: Final = 16  # of a java.util.HashMap, which doubles it when it is three quarters full


def protobuf_native_text(schema: Any) -> str:
    """Return the text for a message class, a descriptor, or a text of this form, which is returned as it is.

    Raises:
        SchemaError: ``schema`` has another type.
        ConfigError: the library protobuf is not installed.
    """
    if isinstance(schema, str):
        return schema
    try:
        from google.protobuf.descriptor import Descriptor
        from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    except ModuleNotFoundError:
        hint = "pip install protobuf"
        raise ConfigError("topics of type PROTOBUF_NATIVE need the library protobuf", hint=hint) from None
    root = getattr(schema, "DESCRIPTOR", schema)
    if not isinstance(root, Descriptor):
        raise SchemaError(f"expected a protobuf message class or its descriptor, got {described(schema)}")
    files: dict[str, Any] = {}
    _collect(root.file, files)
    found = FileDescriptorSet()
    for name in _in_javas_order(list(files)):
        found.file.append(FileDescriptorProto.FromString(files[name].serialized_pb))
    text = {
        "fileDescriptorSet": base64.b64encode(found.SerializeToString()).decode(),
        "rootMessageTypeName": root.full_name,
        "rootFileDescriptorName": root.file.name,
    }
    return json.dumps(text, separators=(",", ":"), ensure_ascii=False)


def _collect(file: Any, files: dict[str, Any]) -> None:
    """Add a file after all that it imports."""
    for imported in file.dependencies:
        if imported.name not in files:
            _collect(imported, files)
    files[file.name] = file


def _in_javas_order(names: list[str]) -> list[str]:
    """The order in which a HashMap returns these keys, which were put in this order."""
    capacity = _FIRST_CAPACITY
    while len(names) > capacity * 3 // 4:
        capacity *= 2
    return sorted(names, key=lambda name: _spread(name) & (capacity - 1))


def _spread(name: str) -> int:
    """``HashMap.hash(name)``."""
    code = 0
    units = name.encode("utf-16-be")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return code ^ code >> 16
