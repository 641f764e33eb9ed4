"""Pulsar's Java client writes the golden messages of all schema types, and reads the JSON that we write."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal
from typing import Any

import pytest
from java_program import jdk
from schema_types import GOLDEN, golden, same
from schema_types.java import lines_of_java, read_by_java

from streamnative_serdes._formats import JsonFormat, format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.schema_registry import SchemaInfo

UTC = dt.UTC


@pytest.fixture(autouse=True)
def a_jdk(servers_at_hand: None) -> None:
    if jdk() is None:
        pytest.skip("no JDK; Janino, which is used elsewhere, drops the T of List<T>")


def test_the_golden_messages_equal_those_of_java() -> None:
    made = lines_of_java()
    assert len(made) == len(golden())
    for ours, javas in zip(GOLDEN.read_text().splitlines(), made, strict=True):
        assert ours == javas


def of(name: str) -> JsonFormat:
    row = golden()[f"JSON {name}"]
    made = format_of(SchemaInfo(0, "JSON", row.schema, 0, row.properties), Limits(), {})
    assert isinstance(made, JsonFormat)
    return made


def times(at: dt.datetime) -> dict[str, Any]:
    local = at.replace(tzinfo=None)
    rest = at.microsecond // 1000 * 1000
    coarse = {
        "day": local.date(),
        "local": local.replace(microsecond=rest),
        "time": local.time().replace(microsecond=rest),
    }
    return {"at": at, **coarse, "millis": at.replace(microsecond=rest), "ticks": at.replace(microsecond=rest)}


LEAVES = {
    "buffer": b"\0\xff",
    "count": -(2**63),
    "flag": False,
    "half": 0.10000000149011612,
    "id": uuid.UUID(int=5),
    "place": "x:y",
    "ratio": 5e-324,
    "raw": bytes(range(256)),
    "sign": 0x4E2D,
    "small": 2**31 - 1,
    "text": 'a\U0001f600\0"\\\u2028',
    "tight": -32768,
    "tiny": 127,
}
COLLECTIONS = {
    "addresses": [{"city": None, "street": "x"}, {"city": "y", "street": None}],
    "blobs": [b"", b"\0"],
    "byCity": {"": []},
    "colours": ["GREEN"],
    "counts": {"\u00fc": 2**63 - 1},
    "matrix": [[math.inf, -0.0], []],
    "numbers": [-1],
    "seen": {"a": dt.datetime(1969, 12, 31, 23, 59, 59, 1, UTC)},
    "sizes": [-1],
    "tags": [""],
}
WRITTEN: list[tuple[str, str, dict[str, Any]]] = [
    ("Leaves", "Leaves full", LEAVES),
    ("Leaves", "Leaves full", {**LEAVES, "half": math.nan, "ratio": -math.inf, "sign": None, "text": None}),
    ("Numbers", "Numbers", {"amount": Decimal("-0.01"), "exact": "1E+400", "huge": "-" + "9" * 100}),
    ("Collections", "Collections full", COLLECTIONS),
    ("Maps", "Maps", {"byNumber": [{"key": -5, "value": "x"}]}),
    ("Zoo", "Zoo dog", {"label": 5, "pet": None}),
    ("Defaults", "Defaults", {"count": 7, "text": "x"}),
    ("Unsorted", "Unsorted", {"apple": 1, "mango": "m", "zebra": None}),
    ("OldTimes", "OldTimes", {"date": dt.datetime(1969, 12, 31, 23, 59, 59, 1000, UTC), "stamp": None}),
    *(
        ("Times", "Times 2013-01-01T05:00:00.123456789Z", times(at))
        for at in (
            dt.datetime(1970, 1, 1, tzinfo=UTC),
            dt.datetime(1970, 1, 1, 0, 0, 0, 1, UTC),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
            dt.datetime(1969, 12, 31, 23, 59, 59, 1, UTC),
            dt.datetime(1969, 12, 31, 23, 59, 58, tzinfo=UTC),
            dt.datetime(1, 1, 1, 0, 0, 0, 1, UTC),
            dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
            dt.datetime(2013, 1, 1, 5, 30, 15, 120_000, UTC),
        )
    ),
]


def test_java_reads_the_json_that_we_write_value_for_value() -> None:
    messages = [(name, of(row).encode(value)) for name, row, value in WRITTEN]
    for (_, _, value), (_, data), javas in zip(WRITTEN, messages, read_by_java(messages), strict=True):
        assert same(value, javas, 1), (data, value, javas)
