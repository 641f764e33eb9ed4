"""Which protocol buffers files protobuf-java accepts: names, numbers, types and defaults, as ``buildFrom`` checks them.

Source: Descriptors.java and TextFormat.java of protobuf-java 3.25.5; each rule was observed on Pulsar 4.0.8, which does
not repeat what the library says. Of the options, ``packed`` and ``message_set_wire_format`` are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from .descriptor_wire import Node
from .java_text import as_number

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DOUBLE, _FLOAT, _STRING, _GROUP, _MESSAGE, _BYTES, _ENUM = 1, 2, 9, 10, 11, 12, 14
_TYPES: Final = range(1, 19)
_SIGNED: Final = {3: 64, 5: 32, 15: 32, 16: 64, 17: 32, 18: 64}  # type -> bits
_UNSIGNED: Final = {4: 64, 6: 64, 7: 32, 13: 32}
_OPTIONAL, _REPEATED = 1, 3  # labels
_NOT_PACKABLE: Final = (_STRING, _GROUP, _MESSAGE, _BYTES)
_DIGITS: Final = {16: "[0-9a-fA-F]+", 10: "[0-9]+", 8: "[0-7]+"}
_ESCAPED: Final = re.compile(
    r"(?:[^\\]|\\(?:[0-7]{1,3}|[abfnrtv\\'\"?]|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))*", re.DOTALL
)


class DescriptorError(ValueError):
    """protobuf-java does not accept the file."""


class Symbol(NamedTuple):
    """``kind``: package, message, enum, service; or another, which no name of a type can mean."""

    kind: str
    node: Node


_TYPE: Final = ("message", "enum")
_AGGREGATE: Final = (*_TYPE, "package", "service")


class File:
    """A file that protobuf-java accepts, with all names that it declares.

    Args:
        node: the file.
        dependencies: the files that it imports, in order.

    Raises:
        DescriptorError: as above.
    """

    def __init__(self, node: Node, dependencies: Sequence[File]) -> None:
        self.package: str = node.get("package", "")
        self.symbols: dict[str, Symbol] = {}
        self._fields: list[tuple[Node, str, Node]] = []  # field, full name, and the message that has it, or {}
        self.public = list(self._public(node, dependencies))
        self._visible = list({id(file): file for file in self._imported(dependencies)}.values())
        for package in (*(file.package for file in self._visible), self.package):
            self._declare_package(package)
        self._declare_all(node)
        for field, name, parent in self._fields:
            self._link(field, name, parent)
        for service in node.get("service", ()):
            for method in service.get("method", ()):
                full_name = f"{self._full(self.package, service)}.{method['name']}"
                for key in ("input_type", "output_type"):
                    self._need(method.get(key, ""), full_name, "message")

    @staticmethod
    def _public(node: Node, dependencies: Sequence[File]) -> Iterator[File]:
        for index in node.get("public_dependency", ()):
            if not 0 <= index < len(dependencies):
                raise DescriptorError(f"public dependency {index}")
            yield dependencies[index]

    @classmethod
    def _imported(cls, files: Iterable[File]) -> Iterator[File]:
        """The files, and those that they import publicly."""
        for file in files:
            yield file
            yield from cls._imported(file.public)

    # Names

    def _declare_package(self, package: str) -> None:
        for end in (*(found.start() for found in re.finditer(r"\.", package)), len(package)):
            if self.symbols.setdefault(package[:end], Symbol("package", {})).kind != "package":
                raise DescriptorError(f"{package[:end]} is a package and something else")

    def _declare_all(self, node: Node) -> None:
        for message in node.get("message_type", ()):
            self._declare_message(message, self.package)
        for enum in node.get("enum_type", ()):
            self._declare_enum(enum, self.package)
        for service in node.get("service", ()):
            name = self._declare("service", service, self.package)
            for method in service.get("method", ()):
                self._declare("method", method, name)
        for extension in node.get("extension", ()):
            self._declare_field(extension, self.package, None)

    def _declare_message(self, message: Node, scope: str) -> None:
        name = self._declare("message", message, scope)
        for nested in message.get("nested_type", ()):
            self._declare_message(nested, name)
        for enum in message.get("enum_type", ()):
            self._declare_enum(enum, name)
        for field in message.get("field", ()):
            self._declare_field(field, name, message)
        for extension in message.get("extension", ()):
            self._declare_field(extension, name, None)
        numbers = [field["number"] for field in message.get("field", ())]
        if len(set(numbers)) < len(numbers):
            raise DescriptorError(f"{name} uses a field number twice")

    def _declare_enum(self, enum: Node, scope: str) -> None:
        if not enum.get("value"):
            raise DescriptorError("an enum without values")
        name = self._declare("enum", enum, scope)
        for value in enum["value"]:
            self._declare("value", value, name)

    def _declare_field(self, field: Node, scope: str, parent: Node | None) -> None:
        """``parent`` is the message that has the field; None for an extension."""
        if field.get("number", 0) <= 0:
            raise DescriptorError("a field number below 1")
        if ("extendee" in field) != (parent is None):
            raise DescriptorError("an extension without extendee, or a field with one")
        if "oneof_index" in field:
            declared = 0 if parent is None else len(parent.get("oneof_decl", ()))
            if not 0 <= field["oneof_index"] < declared:
                raise DescriptorError("a oneof that does not exist")
        self._fields.append((field, self._declare("field", field, scope), parent or {}))

    def _declare(self, kind: str, node: Node, scope: str) -> str:
        if not _IDENTIFIER.fullmatch(node.get("name", "")):
            raise DescriptorError(f"{node.get('name', '')!r} is no identifier")
        name = self._full(scope, node)
        if name in self.symbols:
            raise DescriptorError(f"{name} is declared twice")
        self.symbols[name] = Symbol(kind, node)
        return name

    @staticmethod
    def _full(scope: str, node: Node) -> str:
        name: str = node["name"]
        return f"{scope}.{name}" if scope else name

    # Types

    def _find(self, name: str, kinds: Sequence[str]) -> Symbol | None:
        for file in (self, *self._visible):
            symbol = file.symbols.get(name)
            if symbol is not None and symbol.kind in kinds:
                return symbol
        return None

    def _look_up(self, name: str, user: str) -> Symbol | None:
        """What ``name`` means in the declaration of ``user``: the innermost scope that has its first part decides."""
        if name.startswith("."):
            return self._find(name[1:], _TYPE)
        first = name.partition(".")[0]
        scope = user.rpartition(".")[0]
        while scope:
            found = self._find(f"{scope}.{first}", _AGGREGATE)
            if found is not None:
                return found if first == name else self._find(f"{scope}.{name}", _TYPE)
            scope = scope.rpartition(".")[0]
        return self._find(name, _TYPE)

    def _need(self, name: str, user: str, *kinds: str) -> Symbol:
        symbol = self._look_up(name, user)
        if symbol is None or symbol.kind not in kinds:
            raise DescriptorError(f"{user}: {name} is not a {' or '.join(kinds)}")
        return symbol

    def _link(self, field: Node, name: str, parent: Node) -> None:
        if "extendee" in field:
            parent = self._need(field["extendee"], name, "message").node
            ranges = parent.get("extension_range", ())
            if not any(part.get("start", 0) <= field["number"] < part.get("end", 0) for part in ranges):
                raise DescriptorError(f"{name} is outside of the extension ranges")
        kind, enum = self._type_of(field, name)
        repeated = field.get("label") == _REPEATED
        if field.get("options", {}).get("packed") and (not repeated or kind in _NOT_PACKABLE):
            raise DescriptorError(f"{name} cannot be packed")
        if "default_value" in field and (
            repeated or kind in (_GROUP, _MESSAGE) or not _is_default(kind, field["default_value"], enum)
        ):
            raise DescriptorError(f"{name} cannot have this default")
        if parent.get("options", {}).get("message_set_wire_format"):
            optional = field.get("label", _OPTIONAL) not in (2, _REPEATED)
            if "extendee" not in field or not optional or kind != _MESSAGE:
                raise DescriptorError(f"{name} is in a message set")

    def _type_of(self, field: Node, name: str) -> tuple[int, Node]:
        """The type's number, and the definition of an enum."""
        kind = field.get("type")
        kind = kind if kind in _TYPES else None
        if "type_name" not in field:
            if kind in (None, _GROUP, _MESSAGE, _ENUM):
                raise DescriptorError(f"{name} has no type")
            return kind, {}
        symbol = self._need(field["type_name"], name, *_TYPE)
        found = _ENUM if symbol.kind == "enum" else _MESSAGE
        if kind not in (None, found) and (kind, found) != (_GROUP, _MESSAGE):
            raise DescriptorError(f"{name} is of another type than {field['type_name']}")
        return kind or found, symbol.node


def _is_default(kind: int, text: str, enum: Mapping[str, Sequence[Node]]) -> bool:
    if kind == _ENUM:
        return any(value["name"] == text for value in enum["value"])
    if kind in (_DOUBLE, _FLOAT):
        return text in ("inf", "-inf", "nan") or _is_number(text)
    if kind in _SIGNED or kind in _UNSIGNED:
        return _is_integer(kind, text)
    return kind != _BYTES or _ESCAPED.fullmatch(text) is not None  # a bool that is not "true" is false


def _is_number(text: str) -> bool:
    try:
        as_number(text)
    except ValueError:
        return False
    return True


def _is_integer(kind: int, text: str) -> bool:
    negative, digits = text.startswith("-"), text.removeprefix("-")
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    digits = digits.removeprefix("0x")
    if not re.fullmatch(rf"[+-]?{_DIGITS[base]}", digits):
        return False
    number = -int(digits, base) if negative else int(digits, base)
    if kind in _SIGNED:
        limit = 1 << (_SIGNED[kind] - 1)
        return -limit <= number < limit
    return not negative and 0 <= number < 1 << _UNSIGNED[kind]
