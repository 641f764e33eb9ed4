"""Decides how objects of a class are created: attribute by attribute, or only by calling the class."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from .model import Build


def of_dataclass(cls: Any, names: Iterable[str]) -> Build:
    """Bypass the constructor of a dataclass if it only stores its arguments."""
    stores = (
        _made_by(cls, "__init__", "__create_fn__.")
        and not hasattr(cls, "__post_init__")
        and not hasattr(cls, "__pydantic_validator__")
        and (cls.__setattr__ is object.__setattr__ or _made_by(cls, "__setattr__", "__create_fn__."))
        and _is_plain(cls)
    )
    return _stored(cls, names) if stores else "call"


def of_attrs(cls: Any) -> Build:
    """Bypass the constructor of an attrs class unless it converts or validates attributes, or computes defaults."""
    fields = cls.__attrs_attrs__
    stores = (
        _made_in(cls, "__init__", "<attrs generated ")
        and not any(hasattr(cls, name) for name in ("__attrs_pre_init__", "__attrs_post_init__", "__attrs_init__"))
        and not any(field.converter or field.validator for field in fields)
        and not any(getattr(field.default, "takes_self", False) for field in fields)
        and not hasattr(cls, "_attrs_cached_hash")
        and not issubclass(cls, BaseException)
        and _is_plain(cls)
    )
    return _stored(cls, [field.name for field in fields]) if stores else "call"


def of_pydantic(cls: Any) -> Build:
    """Bypass validation if it changes and refuses no value of the fields' types, and nothing runs after it."""
    core: Any = cls.__pydantic_core_schema__
    known = core.get("definitions", ())
    core = core.get("schema") if core["type"] == "definitions" else core
    if core["type"] == "definition-ref":
        core = next((one for one in known if one.get("ref") == core["schema_ref"]), core)
    stores = (
        core["type"] == "model"
        and not core.keys() & {"custom_init", "post_init", "root_model"} - _unset(core)
        and core["schema"]["type"] == "model-fields"
        and all(_keeps(field["schema"], known) for field in core["schema"]["fields"].values())
        and cls.model_config.keys() <= _HARMLESS_SETTINGS
        and cls.model_config.get("extra") != "allow"
        and not cls.__private_attributes__
        and keeps_dict(cls, cls.model_fields)
        and _is_plain(cls)
    )
    return "model" if stores else "call"


def keeps_dict(cls: Any, names: Iterable[str]) -> bool:
    """Whether objects are pydantic models that keep these attributes in ``__dict__``, where they can be read."""
    return (
        {_place(cls, name) for name in _STATES} == {"slots"}
        and cls.__getattribute__ is object.__getattribute__
        and all(_place(cls, name) == "dict" for name in names)
    )


_STATES = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")  # what a model has beside __dict__
# Settings of a pydantic model that change no value, and refuse none of the right type.
_HARMLESS_SETTINGS = frozenset(
    {"alias_generator", "arbitrary_types_allowed", "defer_build", "extra", "from_attributes", "frozen", "json_encoders"}
    | {"hide_input_in_errors", "json_schema_extra", "loc_by_alias", "populate_by_name", "protected_namespaces"}
    | {"serialize_by_alias", "strict", "title", "use_attribute_docstrings", "validate_assignment", "validate_by_alias"}
    | {"validate_by_name"}
)
# Types of pydantic's core schema, and their keys, of which the same holds; ``_HARMLESS_KEYS`` may stand in all of them.
_HARMLESS_KEYS = frozenset({"type", "ref", "metadata", "serialization", "strict"})
_KEPT: dict[str, frozenset[str]] = {
    **dict.fromkeys(("any", "bool", "bytes", "date", "float", "int", "none", "str", "uuid"), frozenset()),
    "datetime": frozenset({"microseconds_precision"}),
    "time": frozenset({"microseconds_precision"}),
    "decimal": frozenset({"allow_inf_nan"}),  # Avro's decimals are finite
    "enum": frozenset({"cls", "members", "sub_type", "missing"}),
    "list": frozenset({"items_schema"}),
    "dict": frozenset({"keys_schema", "values_schema"}),
    "nullable": frozenset({"schema"}),
    "default": frozenset({"schema", "default", "default_factory", "default_factory_takes_data", "copy_default"}),
    "union": frozenset({"choices"}),
}
_MODELS = frozenset({"model", "dataclass"})  # created by shapes of their own


def _unset(core: Any) -> set[str]:
    return {key for key, value in core.items() if value is None or value is False}


def _keeps(core: Any, known: Iterable[Any]) -> bool:
    """Whether validation by this core schema returns values of its type as they are."""
    kind = core["type"]
    if kind == "definition-ref":
        return any(one.get("ref") == core["schema_ref"] and one["type"] in _MODELS for one in known)
    if kind in _MODELS:
        return True
    allowed = _KEPT.get(kind)
    if allowed is None or not core.keys() - _unset(core) <= allowed | _HARMLESS_KEYS:
        return False
    choices = [one[0] if isinstance(one, tuple) else one for one in core.get("choices", ())]
    inner = [core[key] for key in ("schema", "items_schema", "keys_schema", "values_schema") if key in core]
    return all(_keeps(one, known) for one in (*inner, *choices))


def of_named_tuple(cls: Any) -> Build:
    base = named_tuple(cls)
    plain = base is not None and cls.__new__ is base.__new__ and cls.__init__ is object.__init__
    return "tuple" if plain and type(cls).__call__ is type.__call__ else "call"


def named_tuple(cls: type) -> Any:
    """Return the class in the MRO of ``cls`` that was created as a named tuple; None if there is none."""
    if not issubclass(cls, tuple):
        return None
    return next((base for base in cls.__mro__ if isinstance(vars(base).get("_fields"), tuple)), None)


def _is_plain(cls: Any) -> bool:
    return cls.__new__ is object.__new__ and type(cls).__call__ is type.__call__


def _made_by(cls: type, name: str, function: str) -> bool:
    """Whether a method was created inside a function with this name."""
    method = getattr(cls, name, None)
    return isinstance(method, types.FunctionType) and method.__code__.co_qualname.startswith(function)


def _made_in(cls: type, name: str, file: str) -> bool:
    """Whether the file name of a method's code begins with ``start``."""
    method = getattr(cls, name, None)
    return isinstance(method, types.FunctionType) and method.__code__.co_filename.startswith(file)


def _stored(cls: Any, names: Iterable[str]) -> Build:
    """Return where objects store these attributes; for mixed storage the constructor is called."""
    kinds = {_place(cls, name) for name in names}
    if kinds == {"slots"}:
        return "slots"
    return "dict" if kinds <= {"dict"} and cls.__dictoffset__ else "call"


def _place(cls: type, name: str) -> str:
    for base in cls.__mro__:
        if name in vars(base):
            found = vars(base)[name]
            if isinstance(found, types.MemberDescriptorType):
                return "slots"
            return "other" if hasattr(type(found), "__set__") else "dict"  # a default is a class attribute
    return "dict"
