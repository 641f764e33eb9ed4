"""Messages of each schema type that Pulsar's Java client wrote (SchemaTypes.java), and what its AUTO_CONSUME reads."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import struct
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
PROGRAM: Final = FOLDER / "SchemaTypes.java"
GOLDEN: Final = FOLDER / "golden.jsonl"
_EPOCH: Final = dt.datetime(1970, 1, 1)
SECOND: Final = 1_000_000_000
DAY: Final = 86_400 * SECOND


@dataclass(frozen=True)
class Moment:
    """Nanoseconds since 1970 or midnight, since Java's types hold more than Python's."""

    nanos: int


@dataclass(frozen=True)
class Row:
    """One line of golden.jsonl; SchemaTypes.java describes them."""

    name: str
    type: str
    schema: str
    properties: Mapping[str, str]
    data: bytes
    value: Any  # see java_value
    auto: Mapping[str, Any]
    refused: str

    def auto_class(self) -> str:
        """The class of the native object that AUTO_CONSUME gives, or the class of the exception."""
        return self.auto.get("class") or self.auto["error"].rpartition(".")[2]


@cache
def golden() -> dict[str, Row]:
    """All rows by name, also of messages that Java refused to write."""
    return {row.name: row for row in map(_row, GOLDEN.read_text().splitlines())}


def written() -> list[Row]:
    return [row for row in golden().values() if not row.refused]


def _row(line: str) -> Row:
    tree = json.loads(line)
    return Row(
        tree["name"],
        tree["type"],
        tree.get("schema", ""),
        tree.get("properties", {}),
        base64.b64decode(tree.get("data", "")),
        java_value(tree["value"]),
        tree.get("auto", {}),
        tree.get("refused", ""),
    )


def java_value(shown: Any) -> Any:
    """What SchemaTypes.java shows, as a Python value; dates and times that may have nanoseconds as Moment."""
    if shown is None:
        return None
    ((kind, content),) = shown.items()
    return _READERS.get(kind, int)(content)


def _float(bits: str) -> float:
    return struct.unpack(">f", int(bits, 16).to_bytes(4))[0]  # type: ignore[no-any-return]


def _double(bits: str) -> float:
    return struct.unpack(">d", int(bits, 16).to_bytes(8))[0]  # type: ignore[no-any-return]


def _seconds(text: str) -> Moment:
    seconds, nanos = map(int, text.split())
    return Moment(seconds * SECOND + nanos)


def _days(text: str) -> Moment:
    days, nanos = map(int, text.split())
    return Moment(days * DAY + nanos)


def _map(pairs: list[Any]) -> Any:
    """A dict, or a list of keys and values if keys are not text, as Avro has it."""
    read = [(java_value(key), java_value(value)) for key, value in pairs]
    if all(isinstance(key, str) for key, _ in read):
        return dict(read)
    return [{"key": key, "value": value} for key, value in read]


_READERS: Final[Mapping[str, Any]] = {
    "Boolean": lambda text: text == "true",
    "Float": _float,
    "Double": _double,
    "BigDecimal": Decimal,
    "String": str,
    "URI": str,
    "enum": str,
    "json": str,
    "message": str,
    "Character": ord,
    "UUID": uuid.UUID,
    "bytes": base64.b64decode,
    "Date": lambda text: Moment(int(text) * 1_000_000),
    "Time": lambda text: Moment(int(text) * 1_000_000),
    "Timestamp": lambda text: Moment(int(text) * 1_000_000),
    "Instant": _seconds,
    "LocalDate": lambda text: Moment(int(text) * DAY),
    "LocalTime": lambda text: Moment(int(text)),
    "LocalDateTime": _days,
    "Duration": str,
    "OffsetDateTime": str,
    "list": lambda items: [java_value(item) for item in items],
    "map": _map,
    "KeyValue": lambda pair: tuple(map(java_value, pair)),
    "record": lambda parts: {name: java_value(value) for name, value in parts},
}


def same(ours: Any, java: Any, unit: int = 1_000) -> bool:
    """Whether our value is Java's; ``unit`` is the number of nanoseconds to which ours is rounded down."""
    if isinstance(java, dict):
        return isinstance(ours, dict) and ours.keys() == java.keys() and all(same(ours[k], java[k], unit) for k in java)
    if isinstance(java, list):
        return isinstance(ours, list) and len(ours) == len(java) and all(map(same, ours, java, [unit] * len(java)))
    if isinstance(java, Moment):
        return _nanos(ours) == (java.nanos if type(ours) is int else java.nanos // unit * unit)
    if isinstance(java, float):
        bits = [struct.pack(">d", value) for value in (ours, java)] if type(ours) is float else []
        return len(bits) == 2 and (bits[0] == bits[1] or (math.isnan(ours) and math.isnan(java)))
    if isinstance(java, Decimal):
        return str(ours) == str(java)
    if type(java) is int and isinstance(ours, dt.datetime):
        return _nanos(ours) == java * 1_000_000  # a long of Java that the schema calls a timestamp
    if type(java) is int and isinstance(ours, str):
        return ours == str(java)  # a BigInteger
    return type(ours) is type(java) and bool(ours == java)


def _nanos(value: Any) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, dt.time):
        value = dt.datetime.combine(_EPOCH, value)
    elif not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    found: int = (value.replace(tzinfo=None) - _EPOCH) // dt.timedelta(microseconds=1) * 1000
    return found
