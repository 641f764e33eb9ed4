"""The broker's checks of a new schema: validation by type, equality, and compatibility with the topic's schemas.

Source: Pulsar's SchemaDataValidator, SchemaRegistryServiceImpl and the SchemaCompatibilityChecks; observed on 4.0.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamnative_serdes._schema import Schema, Union

from .compatibility import check
from .java_avro import avro, check_defaults, check_ids, is_avro, jackson_kind
from .protobuf_native import check_root, root_message
from .refusals import BrokerError, IncompatibleError, InvalidDataError
from .schema_data import AVRO_TYPES, CLIENT_SIDE, TEXTLESS, SchemaData

_CHECKED: Final = frozenset({"AVRO", "JSON"})  # the broker does not check PROTOBUF for compatibility
_STRING_TEXTS: Final = ("", "null")  # pulsar-client for Python registers null


def validate(data: SchemaData) -> None:
    """Validate a schema as Pulsar's SchemaDataValidator does.

    Raises:
        InvalidDataError: the text is not valid for the type.
        BrokerError: the broker fails on the schema.
    """
    if data.type in AVRO_TYPES:
        if jackson_kind(data):
            return
        root = avro(data).root
        if data.type == "AVRO" and isinstance(root, Union):
            raise InvalidDataError("Avro schema typed [UNION] is not supported")
    elif data.type == "KEY_VALUE":
        for half in data.halves():
            if half.type == "KEY_VALUE":
                raise _nested(half.text)
            validate(half)
    elif data.type in CLIENT_SIDE:
        raise InvalidDataError(f"Schema {data.type} is a client-side schema type")
    elif data.type == "STRING" and data.text not in _STRING_TEXTS:
        raise InvalidDataError(f"Invalid schema definition data for string schema : '{data.text}'")
    elif data.type in TEXTLESS and data.text:
        raise InvalidDataError(
            "Invalid schema definition data for primitive schemas :length of schema data should be zero, "
            f"but {len(data.text.encode())} bytes is found"
        )
    elif data.type == "PROTOBUF_NATIVE":
        root_message(data.text)


def _nested(text: str) -> BrokerError:
    """The error of a pair within a pair: the broker reads the first four bytes of the inner pair as a length."""
    if len(text.encode()) < 4:
        return BrokerError("", "java.nio.BufferUnderflowException")
    return BrokerError("Java heap space", "OutOfMemoryError")


def find(data: SchemaData, existing: Sequence[SchemaData]) -> int | None:
    """Index in ``existing`` of the schema that POST considers identical, or None.

    Schemas are compared as parsed, or as text if the type has no parser. Properties are not compared.

    Raises:
        BrokerError: a default does not fit its field. The broker accepts such a schema as a topic's first one, and then
            fails at each comparison.
    """
    if data.type in AVRO_TYPES and existing:
        ours = _checked(data)
        for position, other in enumerate(existing):
            if other.type in AVRO_TYPES and ours.same_as(_checked(other)) and other.type == data.type:
                return position
        return None
    return find_exact(data, existing)


def find_exact(data: SchemaData, existing: Sequence[SchemaData]) -> int | None:
    """Index in ``existing`` of the schema with the same text and type, or None."""
    wanted = (data.type, data.text)
    return next((position for position, other in enumerate(existing) if (other.type, other.text) == wanted), None)


def _checked(data: SchemaData) -> Schema:
    schema = avro(data)
    check_defaults(schema)
    return schema


def check_compatible(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    """Check whether the strategy accepts ``new`` after ``existing``, oldest first.

    Raises:
        IncompatibleError: the strategy does not accept ``new``.
        BrokerError: Java's Avro fails on one of the schemas.
    """
    if strategy == "ALWAYS_COMPATIBLE" or not existing:
        return
    for old in existing if strategy.endswith("_TRANSITIVE") else existing[-1:]:
        if old.type != new.type:
            raise IncompatibleError(f"Incompatible schema: exists schema type {old.type}, new schema type {new.type}")
    if strategy.endswith("_TRANSITIVE"):
        try:
            _check_type(strategy, new, existing)
        except BrokerError as error:
            raise IncompatibleError(f"{error.kind}: {error}") from error  # the broker catches it only here
    elif find_exact(new, existing[-1:]) is None:
        _check_type(strategy, new, existing)


def _check_type(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    if new.type == "JSON" and not strategy.endswith("_TRANSITIVE") and not (is_avro(new) and is_avro(existing[-1])):
        if not is_avro(new) and not is_avro(existing[-1]):
            check_ids(existing[-1], new)  # an old format and Avro are compatible
    elif new.type == "KEY_VALUE":
        _check_halves(strategy, new, existing)
    else:
        _check_structure(strategy, new, existing)


def _check_structure(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    if new.type in _CHECKED:
        try:
            olds = [avro(old) for old in existing]
            ours = avro(new)
        except BrokerError as error:
            raise IncompatibleError(f"{error.kind}: {error}") from error
        check(strategy, ours, olds)
    elif new.type == "PROTOBUF_NATIVE":
        compared = existing if strategy.endswith("_TRANSITIVE") else existing[-1:]
        check_root(strategy, new.text, [old.text for old in compared])
    elif strategy == "ALWAYS_INCOMPATIBLE":
        raise IncompatibleError("Schema compatibility strategy is ALWAYS_INCOMPATIBLE")


def _check_halves(strategy: str, new: SchemaData, existing: Sequence[SchemaData]) -> None:
    key, value = new.halves()
    olds = [old.halves() for old in (existing if strategy.endswith("_TRANSITIVE") else existing[-1:])]
    for old_key, old_value in olds:
        if (old_key.type, old_value.type) != (key.type, value.type):
            raise IncompatibleError(
                "Key schemas or Value schemas are different schema type, "
                f"from key schema type is {old_key.type} and to key schema is {key.type}, "
                f"from value schema is {old_value.type} and to value schema is {value.type}"
            )
    olds.reverse()  # the broker compares halves with the oldest first, and whole schemas with the newest
    _check_structure(strategy, key, [old for old, _ in olds])
    _check_structure(strategy, value, [old for _, old in olds])
