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
