"""Data without a schema in Avro: a record with a field for each type, with at most one field set."""

from __future__ import annotations

import json
from typing import Any, Final

from streamnative_serdes._paths import entry, joined
from streamnative_serdes.errors import DecodeError, EncodeError

from .names import KEY, MAP_ENTRY, NAMESPACE, VALUE

_NAME: Final = "Anything"
_MAX_DEPTH: Final = 100  # levels of lists and dicts
# The order in which Java looks for the field that is set.
_PLAIN: Final = ("boolean", "bytes", "double", "float", "int", "long", "string")


def _optional(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


_ENTRY: Final = {
    "type": "record",
    "name": MAP_ENTRY,
    "fields": [{"name": KEY, "type": _NAME}, {"name": VALUE, "type": _NAME}],
}
ANYTHING: Final = json.dumps(
    {
        "type": "record",
        "name": _NAME,
        "namespace": NAMESPACE,
        "fields": [
            *(_optional(name, name) for name in _PLAIN),
            _optional("array", {"type": "array", "items": _NAME}),
            _optional("map", {"type": "array", "items": _ENTRY}),
        ],
    }
)


def to_anything(value: Any, path: str = "", depth: int = 0) -> dict[str, Any]:
    """The record of ``value``: None, bool, int, float, str, bytes, list, tuple or dict.

    Raises:
        EncodeError: the value is something else, is nested too deeply, or an int does not fit 64 bits.
    """
    if depth > _MAX_DEPTH:
        raise EncodeError(f"the value is nested deeper than {_MAX_DEPTH} levels", path=path[:200])
    if value is None:
        return {}
    if isinstance(value, (list, tuple)):
        return {"array": [to_anything(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]}
    if isinstance(value, dict):
        return {
            "map": [
                {
                    KEY: to_anything(key, joined(path, entry(key)) + " (key)", depth + 1),
                    VALUE: to_anything(item, joined(path, entry(key)), depth + 1),
                }
                for key, item in value.items()
            ]
        }
    return {_field_of(value, path): value}


def _field_of(value: Any, path: str) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise EncodeError(f"expected an int of 64 bits, got {value!r:.80}", path=path)
        return "int" if -(2**31) <= value < 2**31 else "long"
    for kind, field in ((float, "double"), (str, "string"), (bytes, "bytes"), (bytearray, "bytes")):
        if isinstance(value, kind):
            return field
    raise EncodeError(
        f"expected data without a schema (bool, int, float, str, bytes, list, dict or None), "
        f"got {value!r:.80} of type {type(value).__name__}",
        path=path,
        hint="pass its schema",
    )


def from_anything(datum: dict[str, Any]) -> Any:
    """The value of a record. Raises DecodeError: a key of a map is a list or a dict."""
    for name in _PLAIN:
        if datum[name] is not None:
            return datum[name]
    if datum["array"] is not None:
        return [from_anything(item) for item in datum["array"]]
    if datum["map"] is not None:
        try:
            return {from_anything(entry[KEY]): from_anything(entry[VALUE]) for entry in datum["map"]}
        except TypeError:
            raise DecodeError("a key of a map without a schema is a list or a map, which cannot be a key") from None
    return None
