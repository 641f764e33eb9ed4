"""Struct: the value of a STRUCT schema, a dict of the fields that are set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Self

from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import EncodeError, SchemaError

from .schema import Field, Schema, Type, same_value
from .values import make_checker, validate


class Struct(dict[str, Any]):
    """A value with fields: ``Struct(schema, id=1).put("name", "Ada")``.

    Each value is checked when it is set. ``struct[name]`` is the value, or the field's default if it is not set, or
    None, as Java's ``get``; ``struct.get(name)`` is what is set, without the default, as Java's ``getWithoutDefault``.
    As a dict, it holds the fields that are set, and no None: to set a field to None removes it, since Java cannot tell
    the two apart.

    Args:
        schema: of the type STRUCT.
        values: by field name, as for ``put``.
        **more: the same.

    Raises:
        SchemaError: the schema is not a struct.
        EncodeError: as ``put``.
    """

    __slots__ = ("schema",)
    schema: Schema

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        if schema.type is not Type.STRUCT:
            raise SchemaError(f"expected a schema of the type struct, got {schema!r:.80}")
        super().__init__()
        self.schema = schema
        self.update(values or {}, **more)

    @classmethod
    def of_checked(cls, schema: Schema, values: dict[str, Any]) -> Self:
        """A struct of values that are known to fit, such as decoded ones; None must not be among them."""
        made = cls.__new__(cls)
        made.schema = schema
        dict.update(made, values)
        return made

    def put(self, name: str, value: Any) -> Self:
        """Set a field; None removes its value.

        Raises:
            EncodeError: the field does not exist, or the value does not fit; ``path`` names the place.
        """
        schema = self._field(name).schema
        if value is not None:
            validate(schema, value, name)
            dict.__setitem__(self, name, value)
            return self
        if not schema.optional and schema.default is None:
            validate(schema, None, name)
        dict.pop(self, name, None)
        return self

    def validate(self) -> None:
        """Check that all required fields without a default are set, and all values still fit.

        Raises:
            EncodeError: ``path`` names the place.
        """
        self.schema.checker(make_checker)(self)

    def _field(self, name: str) -> Field:
        found = self.schema.field(name)
        if found is None:
            names = list(self.schema.fields_by_name)
            hint = did_you_mean(str(name), names) or f"its fields are {', '.join(names[:10])}"
            raise EncodeError(f"{self.schema!r} has no field {name!r:.80}", hint=hint)
        return found

    def __missing__(self, name: str) -> Any:
        return self._field(name).schema.default

    def __setitem__(self, name: str, value: Any) -> None:
        self.put(name, value)

    def __delitem__(self, name: str) -> None:
        self.put(name, None)

    def update(self, *others: Any, **more: Any) -> None:
        for name, value in dict(*others, **more).items():
            self.put(name, value)

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self.put(name, default)
        return self[name]

    def __ior__(self, other: Any) -> Self:  # type: ignore[override,misc]
        self.update(other)
        return self

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("fields of a Struct are set by put(), to None to remove a value")

    pop = popitem = clear = fromkeys = _refuse

    def copy(self) -> Self:
        return self.of_checked(self.schema, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and same_value(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        shown = ",".join(f"{name}={dict.get(self, name)!r}" for name in self.schema.fields_by_name if name in self)
        return f"Struct{{{shown}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.schema, dict(self))


def _rebuilt(schema: Schema, values: dict[str, Any]) -> Struct:
    return Struct.of_checked(schema, values)
