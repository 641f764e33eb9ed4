"""Values by which pandas and numpy mark missing data. Avro's null is None, so errors say to pass None."""

from __future__ import annotations

from typing import Final

HINT: Final = "a missing value is None, where the field may be null"
_PANDAS: Final = frozenset({"NAType", "NaTType"})
_NUMPY: Final = frozenset({"float16", "float32", "datetime64", "timedelta64"})  # float64 is a float


def hint_of(value: object, otherwise: str | None = None) -> str | None:
    """The hint for a value that does not fit: to pass None for a mark of missing data, or ``otherwise``."""
    return HINT if _is_missing(value) else otherwise


def _is_missing(value: object) -> bool:
    kind = type(value)
    if isinstance(value, float):
        return float.__ne__(value, value)
    if kind.__module__ == "numpy" and kind.__name__ in _NUMPY:
        return bool(value != value)
    return kind.__name__ in _PANDAS
