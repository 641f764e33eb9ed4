"""PROTOBUF_NATIVE schemas as the broker reads them: which message a schema means, and which changes are allowed.

The text is JSON: ``{"fileDescriptorSet": base64, "rootMessageTypeName": ..., "rootFileDescriptorName": ...}``.

Source: ProtobufNativeSchemaUtils and ProtobufNativeSchemaCompatibilityCheck of Pulsar 4.0.8.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from .compatibility import DIRECTIONS
from .descriptor_rules import DescriptorError, File
from .descriptor_wire import Node, file_descriptors
from .refusals import BrokerError, IncompatibleError, InvalidDataError


@lru_cache(maxsize=256)
def root_message(text: str) -> str:
    """Return the full name of the message that a schema means.

    Raises:
        InvalidDataError: the broker cannot read it.
        BrokerError: a file imports itself, be it through others.
    """
    try:
        tree = json.JSONDecoder().raw_decode(text.lstrip())[0]  # Jackson ignores what follows
        protos = {node.get("name", ""): node for node in file_descriptors(_decoded(tree["fileDescriptorSet"]))}
        files: dict[str, File] = {}
        name: str = tree["rootFileDescriptorName"]
        _build(name, protos, files, ())
        return _message(files[name], _text(tree["rootMessageTypeName"]))
    except (ValueError, LookupError, TypeError, re.error) as error:
        raise InvalidDataError("deserialize ProtobufNative Schema failed") from error


def _decoded(text: Any) -> bytes:
    if not isinstance(text, str):
        raise DescriptorError("no base64")
    return base64.b64decode("".join(text.split()), validate=True)


def _text(value: Any) -> str:
    """Jackson converts numbers and booleans."""
    if isinstance(value, dict | list | None):
        raise DescriptorError("no text")
    return value if isinstance(value, str) else json.dumps(value)


def _build(name: str, protos: Mapping[str, Node], files: dict[str, File], users: tuple[str, ...]) -> None:
    if name in users:
        raise BrokerError("", "StackOverflowError")
    dependencies = protos[name].get("dependency", ())
    for dependency in dependencies:
        if dependency not in files:
            _build(dependency, protos, files, (*users, name))
    files[name] = File(protos[name], [files[dependency] for dependency in dependencies])


def _message(file: File, root: str) -> str:
    """Find ``root`` as the broker does: the package is a regular expression, and the dot after it is the first one.

    So a message inside another one is not found if there is no package.
    """
    path = re.sub(file.package, "", root, count=1).replace(".", "", 1).rstrip(".").split(".")
    name = f"{file.package}.{path[0]}" if file.package else path[0]
    for part in path[1:]:
        _need_message(file, name)
        name = f"{name}.{part}"
    _need_message(file, name)
    return name


def _need_message(file: File, name: str) -> None:
    symbol = file.symbols.get(name)
    if symbol is None or symbol.kind != "message":
        raise DescriptorError(f"there is no message {name}")


def check_root(strategy: str, new: str, existing: Iterable[str]) -> None:
    """Check that all schemas mean the same message; nothing else about them is compared.

    Raises:
        IncompatibleError: they do not, or no change is allowed.
        InvalidDataError, BrokerError: see :func:`root_message`.
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
