"""Arrow values in the form that Codec returns, for comparison."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

from streamnative_serdes._schema import Schema
from streamnative_serdes.codec import Codec, Duration

CONTAINERS: dict[str, type] = {"record": dict, "map": dict, "array": list}
MIDNIGHT = dt.datetime(1970, 1, 1)
NOT_HELD = "expected a decimal of at most "  # of more digits than its precision, which an object may have


def as_object(value: Any, kind: Any) -> Any:
    """Convert ``value`` from ``to_pylist()`` of a column in Spark's dialect; ``kind`` is its type in the schema."""
    if value is None:
        return None
    if kind.kind == "record":
        return {field.name: as_object(value[field.name], field.type) for field in kind.fields}
    if kind.kind == "array":
        return [as_object(item, kind.items) for item in value]
    if kind.kind == "map":
        return {key: as_object(item, kind.values) for key, item in value}
    if kind.kind == "union":
        return of_union(value, [branch for branch in kind.branches if branch.kind != "null"])
    logical = getattr(kind, "logical", None)
    return value if logical is None else of_logical(value, kind, logical.name)


def of_union(value: Any, others: list[Any]) -> Any:
    if len(others) == 1:
        return as_object(value, others[0])
    if {branch.kind for branch in others} in ({"int", "long"}, {"float", "double"}):
        return value
    taken = [(value[f"member{i}"], branch) for i, branch in enumerate(others) if value[f"member{i}"] is not None]
    assert len(taken) <= 1
    return as_object(*taken[0]) if taken else None


def of_logical(value: Any, kind: Any, name: str) -> Any:
    if name == "uuid":
        return UUID(value) if kind.kind == "string" else UUID(bytes=value)
    if name == "duration":
        return Duration(*(int.from_bytes(value[i : i + 4], "little") for i in (0, 4, 8)))
    if name == "big-decimal":
        return Codec({"type": "bytes", "logicalType": name}).decode(sized(value))
    if name == "time-millis":
        return (MIDNIGHT + dt.timedelta(milliseconds=value)).time()
    return value


def sized(data: bytes) -> bytes:
    return Codec("bytes").encode(data)


def plain_numbers(value: Any, kind: Any) -> Any:
    """Return ``value`` of Codec with the numbers that unions of numbers have in columns."""
    if value is None:
        return None
    if kind.kind == "record":
        return {field.name: plain_numbers(value[field.name], field.type) for field in kind.fields}
    if kind.kind == "array":
        return [plain_numbers(item, kind.items) for item in value]
    if kind.kind == "map":
        return {key: plain_numbers(item, kind.values) for key, item in value.items()}
    if kind.kind == "union":
        return plain_number_of_union(value, [branch for branch in kind.branches if branch.kind != "null"])
    return value


def plain_number_of_union(value: Any, others: list[Any]) -> Any:
    if len(others) == 1:
        return plain_numbers(value, others[0])
    if {branch.kind for branch in others} == {"int", "long"} and not isinstance(value, int):
        branch = next(branch for branch in others if branch.logical and fits(value, branch))
        return Codec("long").decode(Codec(Schema("", branch)).encode(value))
    for branch in others:
        if isinstance(value, CONTAINERS.get(branch.kind, ())) and fits(value, branch):
            return plain_numbers(value, branch)
    return value


def fits(value: Any, kind: Any) -> bool:
    try:
        Codec(Schema("", kind)).encode(value)
    except ValueError:
        return False
    if kind.kind == "record":
        return set(value) == {field.name for field in kind.fields}
    same = {dt.date: "date", dt.time: "time", dt.datetime: "timestamp"}.get(type(value))
    return same is None or kind.logical.name.removeprefix("local-").startswith(same)


def equal(one: Any, other: Any) -> bool:
    """Compare values; decimals may differ in trailing zeros, because columns have a fixed scale."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return (one == other or (one != one and other != other)) and isinstance(one, Decimal) == isinstance(other, Decimal)
