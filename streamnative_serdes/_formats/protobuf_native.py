"""PROTOBUF_NATIVE topics: the payload is a protobuf message; the registry has its descriptor, with all it depends on.

    {"fileDescriptorSet": base64 of a FileDescriptorSet, "rootMessageTypeName": "pkg.Message",
     "rootFileDescriptorName": "file.proto"}

Source: ProtobufNativeSchemaUtils of Pulsar 4.0.8. The descriptors go into a pool of their own, not the process's.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, SchemaError

from .faults import described, not_encodable
from .protobuf_objects import fill, refuse_other
from .protobuf_text import from_json, to_json

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

_KEYS: Final = ("fileDescriptorSet", "rootMessageTypeName", "rootFileDescriptorName")


class ImportCycleError(SchemaError):
    """A file of a schema imports itself, directly or through other files."""


class ProtobufNativeFormat:
    """The format of a message type; ``native`` is its descriptor."""

    type: Final = "PROTOBUF_NATIVE"

    def __init__(self, native: Descriptor) -> None:
        from google.protobuf import message
        from google.protobuf.message_factory import GetMessageClass

        self.native = native
        self._class = GetMessageClass(native)
        self._damage = message.DecodeError
        self._refusal = message.EncodeError
        self._base = message.Message

    def decode(self, data: bytes) -> Message:
        """Return a message of a class made from the descriptor.

        Raises:
            DecodeError: the bytes are no such message, or lack a field that is required.
        """
        try:
            message: Message = self._class.FromString(data)
        except self._damage as error:
            raise DecodeError(f"expected a message {self.native.full_name}: {error}") from None
        if not message.IsInitialized():
            missing = ", ".join(message.FindInitializationErrors())
            raise DecodeError(f"the message {self.native.full_name} lacks fields that are required: {missing:.200}")
        return message

    def encode(self, obj: Any) -> bytes:
        """Return the payload; equal messages have equal bytes.

        Args:
            obj: a message of this type, of any class with its full name; or a dict of its fields, with dicts or
                messages for messages in it and lists for repeated fields.

        Raises:
            EncodeError: ``obj`` is neither, or does not fit the descriptor.
        """
        message = self._message(obj)
        try:
            data: bytes = message.SerializeToString(deterministic=True)
        except (self._refusal, ValueError) as error:
            raise EncodeError(f"the message {self.native.full_name} cannot be written: {error}") from None
        return data

    def to_json(self, data: bytes) -> Any:
        """Return the message in ``data`` as JSON data (ProtoJSON).

        Raises:
            DecodeError: as :meth:`decode`; or JSON cannot hold the message.
        """
        return to_json(self.decode(data))

    def from_json(self, value: Any) -> bytes:
        """Return the payload for JSON data, as :meth:`to_json` gives them.

        Raises:
            EncodeError: the data does not fit the descriptor.
        """
        made = self._class()
        from_json(value, made)
        return self.encode(made)

    def _message(self, obj: Any) -> Message:
        if not isinstance(obj, self._base):
            if not isinstance(obj, Mapping):
                raise not_encodable(f"a message {self.native.full_name} or a dict", obj)
            made = self._class()
            fill(made, obj)
            return made
        refuse_other(self.native, obj.DESCRIPTOR)
        return obj


def protobuf_native_format(text: str, limits: Limits) -> ProtobufNativeFormat:
    """The format of a schema of type PROTOBUF_NATIVE, by its text.

    Raises:
        SchemaError: the text is not as described above, or the descriptors are invalid, incomplete or too large.
        ConfigError: the library protobuf is not installed.
    """
    need_protobuf()
    encoded, root, root_file = _parts(text, limits)
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise SchemaError('expected base64 in "fileDescriptorSet" of a PROTOBUF_NATIVE schema') from None
    files = descriptor_files(data)
    _check_names(files.values(), limits)
    return ProtobufNativeFormat(_find(descriptor_pool(files, root_file), root))


def need_protobuf() -> None:
    """Raises ConfigError if the library protobuf is not installed."""
    try:
        from google.protobuf.descriptor_pool import DescriptorPool  # noqa: F401 - tried
    except ModuleNotFoundError:
        hint = "pip install protobuf"
        raise ConfigError("topics of type PROTOBUF_NATIVE need the library protobuf", hint=hint) from None


def descriptor_files(data: bytes) -> dict[str, FileDescriptorProto]:
    """The files of a FileDescriptorSet, by name; of several with one name, the last.

    Raises:
        SchemaError: the bytes are not a FileDescriptorSet.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.message import DecodeError as ProtobufError

    try:
        return {file.name: file for file in FileDescriptorSet.FromString(data).file}
    except ProtobufError as error:
        raise SchemaError(f'expected a FileDescriptorSet in "fileDescriptorSet": {error}') from None


def descriptor_pool(files: Mapping[str, FileDescriptorProto], root: str) -> DescriptorPool:
    """A pool with the file ``root`` and all that it imports.

    Raises:
        ImportCycleError: a file imports itself, be it through others.
        SchemaError: a file is missing or invalid.
    """
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Error

    pool = DescriptorPool()
    for file in _in_order(files, root):
        try:
            pool.Add(file)
        except (TypeError, ValueError, KeyError, Error) as error:
            raise SchemaError(f"the descriptor {described(file.name)} is invalid: {str(error)[:300]}") from None
    return pool


def _parts(text: str, limits: Limits) -> tuple[str, str, str]:
    if len(text) > limits.size:
        raise SchemaError(f"the schema text has {len(text)} characters, the limit is {limits.size}")
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        raise SchemaError("the schema of a PROTOBUF_NATIVE topic is not JSON") from None
    if not isinstance(tree, dict):
        raise SchemaError("the schema of a PROTOBUF_NATIVE topic is not a JSON object")
    for key in _KEYS:
        if not isinstance(tree.get(key), str):
            raise SchemaError(f'expected text in "{key}" of a PROTOBUF_NATIVE schema, got {described(tree.get(key))}')
    return tree[_KEYS[0]], tree[_KEYS[1]], tree[_KEYS[2]]


def _check_names(files: Iterable[FileDescriptorProto], limits: Limits) -> None:
    count = 0
    for file in files:
        count += len(file.enum_type)
        left = list(file.message_type)
        while left:
            message = left.pop()
            count += 1 + len(message.enum_type)
            left += message.nested_type
            if count > limits.names:
                raise SchemaError(f"the schema defines more than {limits.names} names")


def _in_order(files: Mapping[str, FileDescriptorProto], root: str) -> list[FileDescriptorProto]:
    """The files that the root needs, each after the files that it imports."""
    ordered: dict[str, FileDescriptorProto] = {}
    path = [(root, iter([root]))]  # of imports, from the root; with those of the last one that are left
    on_path: set[str] = set()
    while path:
        name = next(path[-1][1], None)
        if name is None:
            done, _ = path.pop()
            if path:
                ordered[done] = files[done]
                on_path.discard(done)
            continue
        if name in on_path:
            raise ImportCycleError(f"the descriptor {described(name)} imports itself")
        if name not in files:
            by = "" if len(path) == 1 else f", which {described(path[-1][0])} imports"
            raise SchemaError(f"the schema lacks the descriptor {described(name)}{by}")
        if name not in ordered:
            on_path.add(name)
            path.append((name, iter(files[name].dependency)))
    return list(ordered.values())


def _find(pool: Any, root: str) -> Descriptor:
    try:
        found: Descriptor = pool.FindMessageTypeByName(root)
    except KeyError:
        raise SchemaError(f"the schema lacks the message {described(root)}") from None
    return found
