"""Reads each supported kind of class into a Model: dataclasses, attrs, pydantic, NamedTuple, pulsar Records.

Their libraries are not imported: if a library is not loaded, its classes cannot exist.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Callable
from typing import Any

from streamnative_serdes._schema import MISSING
from streamnative_serdes.errors import SchemaError

from . import building
from .model import Attribute, Model, depends, words_of
from .type_hints import hints_of


def is_model(cls: object) -> bool:
    """Whether a schema can be derived from ``cls``."""
    return _reader(cls) is not None


def model_of(cls: type) -> Model:
    """Return the Model of a class. Raises SchemaError: no schema can be derived from ``cls``."""
    read = _reader(cls)
    if read is None:
        raise SchemaError(
            f"expected a dataclass to derive a schema from, got {cls!r:.80}",
            hint="a pydantic model, a typed NamedTuple, an attrs class or a pulsar.schema.Record is accepted too",
        )
    return read(cls)


def _reader(cls: object) -> Callable[[type], Model] | None:
    if not isinstance(cls, type) or typing.get_origin(cls) is not None:
        return None
    if dataclasses.is_dataclass(cls):
        return _dataclass
    if hasattr(cls, "__attrs_attrs__"):
        return _attrs
    if _is_of("pydantic", "BaseModel", cls):
        return _pydantic
    if _is_of("pulsar.schema", "Record", cls):
        return _record
    return _named_tuple if _is_typed_tuple(cls) else None


def _is_of(module: str, name: str, cls: type) -> bool:
    base = getattr(sys.modules.get(module), name, None)
    return isinstance(base, type) and issubclass(cls, base) and cls is not base


def _is_typed_tuple(cls: type) -> bool:
    """Whether ``cls`` is a typing.NamedTuple; a collections.namedtuple has no types."""
    base = building.named_tuple(cls)
    marks = ("__annotations__", "__annotate__", "__annotate_func__")
    return base is not None and any(mark in vars(base) for mark in marks)


def _owner(cls: type, name: str) -> type:
    """Return the class that declares the annotation ``name``, the most derived one."""
    return next((base for base in cls.__mro__ if name in _annotations(base)), cls)


def _annotations(cls: type) -> Any:
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return get_annotations(cls, format=Format.FORWARDREF)
    return vars(cls).get("__annotations__", {})


# --- dataclasses and attrs --------------------------------------------------------------------------------------------


def _dataclass(cls: type) -> Model:
    hints = hints_of(cls)
    attributes = tuple(_of_dataclass(cls, one, hints) for one in dataclasses.fields(cls))
    return Model(cls, words_of(cls), attributes, building.of_dataclass(cls, [one.name for one in attributes]))


def _of_dataclass(cls: type, field: dataclasses.Field[Any], hints: dict[str, Any]) -> Attribute:
    return Attribute(
        field.name,
        hints[field.name],
        _owner(cls, field.name),
        field.name if field.init else None,
        MISSING if field.default is dataclasses.MISSING else field.default,
        None if field.default_factory is dataclasses.MISSING else field.default_factory,
    )


def _attrs(cls: Any) -> Model:
    hints = hints_of(cls)
    attributes = tuple(_of_attrs(cls, one, hints) for one in cls.__attrs_attrs__)
    return Model(cls, words_of(cls), attributes, building.of_attrs(cls))


def _of_attrs(cls: type, field: Any, hints: dict[str, Any]) -> Attribute:
    attr: Any = sys.modules["attr"]
    default, factory = field.default, None
    if isinstance(default, attr.Factory):
        factory = depends if default.takes_self else default.factory
        default = MISSING
    elif default is attr.NOTHING:
        default = MISSING
    hint = hints.get(field.name, field.type)
    if hint is None:
        raise SchemaError("the attribute has no type", path=f"{cls.__name__}.{field.name}")
    return Attribute(field.name, hint, _owner(cls, field.name), field.alias if field.init else None, default, factory)


# --- pydantic ---------------------------------------------------------------------------------------------------------


def _pydantic(cls: Any) -> Model:
    pydantic: Any = sys.modules["pydantic"]
    if issubclass(cls, pydantic.RootModel):
        raise SchemaError(f"{cls.__name__} is a RootModel, which is not a record", path=cls.__name__)
    try:
        cls.model_rebuild()  # resolves names that were not defined yet when the class was created
    except (NameError, pydantic.errors.PydanticUserError) as error:
        raise SchemaError(f"the types of {cls.__name__} cannot be resolved: {error}", path=cls.__name__) from error
    attributes = tuple(_of_pydantic(cls, name, info) for name, info in cls.model_fields.items())
    return Model(cls, words_of(cls), attributes, building.of_pydantic(cls))


def _of_pydantic(cls: Any, name: str, info: Any) -> Attribute:
    hint = info.annotation
    for note in info.metadata:
        hint = typing.Annotated[hint, note]
    factory, default = info.default_factory, MISSING
    if factory is None and not info.is_required():
        default = info.default
    elif getattr(info, "default_factory_takes_validated_data", False):
        factory = depends
    return Attribute(name, hint, _owner(cls, name), _keyword(cls, name, info), default, factory)


def _keyword(cls: Any, name: str, info: Any) -> str | None:
    """Return the keyword for a field: its alias, unless the model accepts field names."""
    by_name = cls.model_config.get("populate_by_name") or cls.model_config.get("validate_by_name")
    alias = info.validation_alias
    if alias is None or by_name:
        return name
    return alias if isinstance(alias, str) else None


# --- named tuples -----------------------------------------------------------------------------------------------------


def _named_tuple(cls: Any) -> Model:
    hints = hints_of(cls)
    attributes = tuple(
        Attribute(name, hints[name], cls, name, cls._field_defaults.get(name, MISSING)) for name in cls._fields
    )
    return Model(cls, words_of(cls), attributes, building.of_named_tuple(cls))


# --- pulsar.schema.Record ---------------------------------------------------------------------------------------------


def _record(cls: Any) -> Model:
    attributes = tuple(
        Attribute(name, _record_hint(field), cls, None if name in _RECORD_ARGUMENTS else name, None)
        for name, field in cls._fields.items()
    )
    return Model(cls, words_of(cls), attributes, "call", cls.schema)


def _record_hint(field: Any) -> Any:
    """Return the type hint for a pulsar-client field; None is allowed unless the field is required."""
    kind = _record_kind(field)
    return kind if getattr(field, "_required", False) else kind | None


def _record_kind(field: Any) -> Any:
    pulsar: Any = sys.modules["pulsar.schema"]
    if isinstance(field, pulsar.Record):
        return type(field)
    if isinstance(field, pulsar.Array):
        return list[_record_kind(field.array_type)]  # type: ignore[misc]
    if isinstance(field, pulsar.Map):
        return dict[str, _record_kind(field.value_type)]  # type: ignore[misc]
    if isinstance(field, pulsar.CustomEnum):
        return field.enum_type
    return _RECORD_LEAVES[field.type()]


# A field of such a name can be set, but the constructor uses the argument for itself.
_RECORD_ARGUMENTS = frozenset({"default", "required", "required_default"})
_RECORD_LEAVES: dict[str, type] = {
    "null": type(None), "boolean": bool, "int": int, "long": int, "float": float, "double": float, "bytes": bytes,
    "string": str,
}  # fmt: skip
