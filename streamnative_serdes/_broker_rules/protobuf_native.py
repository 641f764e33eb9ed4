"""PROTOBUF_NATIVE schemas as the broker reads them: the message that a schema means, and the allowed changes.

The text is JSON: ``{"fileDescriptorSet": base64, "rootMessageTypeName": ..., "rootFileDescriptorName": ...}``. The
descriptor pool of the library protobuf checks the descriptors; a few more rules are for schemas that only protobuf-java
refuses.

Source: ProtobufNativeSchemaUtils and ProtobufNativeSchemaCompatibilityCheck of Pulsar 4.0.8; Descriptors.java of
protobuf-java 3.25.5.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes._formats.protobuf_native import (
    ImportCycleError,
    descriptor_files,
    descriptor_pool,
    need_protobuf,
)
from streamnative_serdes.errors import SchemaError

from .compatibility import DIRECTIONS
from .refusals import BrokerError, IncompatibleError, InvalidDataError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

_STRING, _GROUP, _MESSAGE, _BYTES, _ENUM = 9, 10, 11, 12, 14  # types of fields
_NOT_PACKABLE: Final = (_STRING, _GROUP, _MESSAGE, _BYTES)
_NAMED: Final = (_GROUP, _MESSAGE, _ENUM)
_REPEATED: Final = 3  # label


@lru_cache(maxsize=256)
def root_message(text: str) -> str:
    """Return the full name of the message that a schema means.

    Raises:
        InvalidDataError: the broker cannot read it.
        BrokerError: a file imports itself, be it through others.
        ConfigError: the library protobuf is not installed.
    """
    need_protobuf()
    try:
        tree = json.JSONDecoder().raw_decode(text.lstrip())[0]  # Jackson ignores what follows
        files = descriptor_files(_decoded(tree["fileDescriptorSet"]))
        name: str = tree["rootFileDescriptorName"]
        pool = descriptor_pool(files, name)
        _check(name, files, pool)
        return _message(files[name], pool, _text(tree["rootMessageTypeName"]))
    except ImportCycleError:
        raise BrokerError("", "StackOverflowError") from None
    except (SchemaError, ValueError, LookupError, TypeError) as error:
        raise InvalidDataError("deserialize ProtobufNative Schema failed") from error


def _decoded(text: Any) -> bytes:
    if not isinstance(text, str):
        raise TypeError("no base64")
    return base64.b64decode("".join(text.split()), validate=True)


def _text(value: Any) -> str:
    """Jackson converts numbers and booleans."""
    if isinstance(value, dict | list | None):
        raise TypeError("no text")
    return value if isinstance(value, str) else json.dumps(value)


def _message(file: FileDescriptorProto, pool: DescriptorPool, root: str) -> str:
    """Find ``root`` as the broker does: the package is a regular expression, and the dot after it is the first one.

    So a message inside another one is not found if there is no package.
    """
    path = re.sub(file.package, "", root, count=1).replace(".", "", 1).rstrip(".").split(".")
    name = f"{file.package}.{path[0]}" if file.package else path[0]
    for part in [*path[1:], ""]:
        if pool.FindMessageTypeByName(name).file.name != file.name:
            raise LookupError(f"the message {name} is in another file")
        name = f"{name}.{part}" if part else name
    return name


def check_root(strategy: str, new: str, existing: Iterable[str]) -> None:
    """Check that all schemas mean the same message; nothing else about them is compared.

    Raises:
        IncompatibleError: the schemas mean different messages, or no change is allowed.
        InvalidDataError, BrokerError, ConfigError: see :func:`root_message`.
    """
    ours = root_message(new)
    if strategy not in DIRECTIONS:
        raise IncompatibleError("Unknown SchemaCompatibilityStrategy.")
    for old in existing:
        theirs = root_message(old)
        if ours != theirs:
            raise IncompatibleError(
                f"Protobuf root message change is not allowed under the '{strategy}' strategy. "
                f"Original message name: '{theirs}', new message name: '{ours}'."
            )


# What the pool accepts, and protobuf-java refuses


def _check(root: str, files: Mapping[str, FileDescriptorProto], pool: DescriptorPool) -> None:
    """Raises ValueError: protobuf-java refuses the file ``root``, or one that it imports."""
    for name in _reached([root], lambda name: files[name].dependency):
        visible = {
            name,
            *_reached(
                files[name].dependency,
                lambda name: [files[name].dependency[index] for index in files[name].public_dependency],
            ),
        }
        for full_name, message in _messages(files[name].message_type, files[name].package):
            if any(f"{files[seen].package}.".startswith(f"{full_name}.") for seen in visible):
                raise ValueError(f"{full_name} is a package and a message")
            _check_message(message, pool.FindMessageTypeByName(full_name), visible)
        for extension in files[name].extension:
            _check_field(extension, extends=True)


def _reached(names: Iterable[str], links: Callable[[str], Iterable[str]]) -> Iterable[str]:
    """The names, and all names that links lead to."""
    found, waiting = dict[str, None](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += links(name)
    return found


def _check_message(message: DescriptorProto, built: Descriptor, visible: Container[str]) -> None:
    """``built`` is the message in the pool."""
    names = [part.name for parts in (message.field, message.nested_type, message.enum_type) for part in parts]
    if len(set(names)) < len(names):
        raise ValueError(f"{built.full_name} has a name twice")
    for field in message.field:
        _check_field(field, extends=False)
        _check_type(field, built.fields_by_name[field.name], visible)
    for extension in message.extension:
        _check_field(extension, extends=True)


def _messages(messages: Iterable[DescriptorProto], scope: str) -> Iterator[tuple[str, DescriptorProto]]:
    for message in messages:
        full_name = f"{scope}.{message.name}" if scope else message.name
        yield full_name, message
        yield from _messages(message.nested_type, full_name)


def _check_field(field: FieldDescriptorProto, *, extends: bool) -> None:
    repeated, kind = field.label == _REPEATED, field.type
    if field.HasField("extendee") != extends:
        raise ValueError(f"{field.name} is an extension without extendee, or a field with one")
    if not field.type_name and (kind in _NAMED or not field.HasField("type")):
        raise ValueError(f"{field.name} has no type")
    if field.options.packed and (not repeated or kind in _NOT_PACKABLE):
        raise ValueError(f"{field.name} cannot be packed")
    if field.HasField("default_value") and (repeated or (not field.default_value and kind not in (_STRING, _BYTES))):
        raise ValueError(f"{field.name} cannot have this default")


def _check_type(field: FieldDescriptorProto, built: FieldDescriptor, visible: Container[str]) -> None:
    """``built`` is the field in the pool."""
    found = built.enum_type or built.message_type
    if field.HasField("type") and built.type != field.type:
        raise ValueError(f"{field.name} is of another type than {field.type_name}")
    if found is not None and found.file.name not in visible:
        raise ValueError(f"{field.name} is of a type in a file that is not imported")
    if found is not None and not field.type_name.startswith("."):
        _check_scopes(field.type_name, found.full_name, built.containing_type)


def _check_scopes(name: str, found: str, scope: Descriptor | None) -> None:
    """The innermost scope that has the first part of the type's name must be that of the type."""
    first = name.partition(".")[0]
    while scope is not None and found != f"{scope.full_name}.{name}":
        if first in scope.nested_types_by_name or first in scope.enum_types_by_name:
            raise ValueError(f"{name} means a type in {scope.full_name}")
        scope = scope.containing_type
