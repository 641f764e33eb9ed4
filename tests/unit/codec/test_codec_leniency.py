"""`confluent.leniency`: values that Confluent's serializer accepts, and values that are errors in either case."""

from __future__ import annotations

import datetime as dt
import io
import time
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest

from streamnative_serdes import EncodeError
from streamnative_serdes.codec import Codec

NAIVE = dt.datetime(2021, 6, 1, 12, 30, 15, 250_000)
MILLIS, MICROS = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros"))


def by_fastavro(schema: Any, datum: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), datum)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["int", "long", "float", "double"])
@pytest.mark.parametrize("flag", [True, False])
def test_a_bool_is_accepted_as_a_number(kind: str, flag: bool) -> None:
    assert Codec(kind, confluent_leniency=True).encode(flag) == by_fastavro(kind, flag)
    with pytest.raises(EncodeError, match=f"expected {kind}, got bool"):
        Codec(kind).encode(flag)


@pytest.mark.parametrize("schema", [MILLIS, MICROS], ids=["millis", "micros"])
def test_a_naive_datetime_is_accepted_as_local_time(schema: Any) -> None:
    assert Codec(schema, confluent_leniency=True).encode(NAIVE) == by_fastavro(schema, NAIVE)
    with pytest.raises(EncodeError, match="expected a datetime with a time zone"):
        Codec(schema).encode(NAIVE)


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of the process."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="TZ does not set the time zone of a process on Windows")
@pytest.mark.parametrize("hours", [0, 13])
def test_local_time_within_a_day_of_the_ends_of_datetime_is_accepted(zone: str, hours: int) -> None:
    """There astimezone() fails, which looks at the day before and after."""
    codec, rest = Codec(MICROS, confluent_leniency=True), dt.timedelta(hours=hours)
    moments = {"first": dt.datetime.min + rest, "last": dt.datetime.max - rest}
    outside = {("Asia/Tokyo", "first", 0), ("America/New_York", "last", 0)}
    for name, naive in moments.items():
        if (zone, name, hours) in outside:
            with pytest.raises(EncodeError, match="outside of the years 1 to 9999 in UTC"):
                codec.encode(naive)
        else:
            assert codec.encode(naive) == by_fastavro(MICROS, naive)


def test_leniency_applies_at_every_depth_and_in_named_tuples() -> None:
    from collections import namedtuple

    Inner = namedtuple("Inner", "at flag")
    inner = {
        "type": "record",
        "name": "Inner",
        "fields": [{"name": "at", "type": MILLIS}, {"name": "flag", "type": "int"}],
    }
    schema = {
        "type": "record",
        "name": "Outer",
        "fields": [
            {"name": "all", "type": {"type": "array", "items": inner}},
            {"name": "after", "type": ["null", MILLIS]},
        ],
    }
    datum = {"all": [{"at": NAIVE, "flag": True}], "after": NAIVE}
    codec = Codec(schema, confluent_leniency=True)
    assert codec.encode(datum) == by_fastavro(schema, datum)
    assert codec.encode({**datum, "all": [Inner(NAIVE, True)]}) == by_fastavro(schema, datum)


@pytest.mark.parametrize(
    ("schema", "datum"),
    [
        (["string", "int"], True),
        ({"type": "int", "logicalType": "date"}, True),
        (MILLIS, True),
        ("int", 2**31),
        ("int", 1.5),
        ("boolean", 1),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, NAIVE.astimezone(dt.UTC)),
    ],
)
def test_all_other_errors_remain_errors(schema: Any, datum: Any) -> None:
    with pytest.raises(EncodeError):
        Codec(schema, confluent_leniency=True).encode(datum)
