"""What pandas and numpy have for a missing value is refused with one hint, whatever the field's type is."""

from __future__ import annotations

import math
from typing import Any

import pytest

from streamnative_serdes import KafkaPulsarSerializer
from streamnative_serdes.codec import Codec
from streamnative_serdes.connect import SchemaBuilder, Struct
from streamnative_serdes.errors import EncodeError
from streamnative_serdes.testing import LocalRegistry

HINT = "a missing value is None, where the field may be null"
KINDS: list[Any] = ["int", "long", "string", "bytes", "boolean", {"type": "array", "items": "int"}]
KINDS += [{"type": "map", "values": "int"}, {"type": "record", "name": "I", "fields": []}]
KINDS += [{"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "fixed", "name": "F", "size": 2}]
KINDS += [
    {"type": "long", "logicalType": f"{kind}-{unit}"}
    for kind in ("timestamp", "local-timestamp")
    for unit in ("millis", "micros", "nanos")
]
KINDS += [{"type": "int", "logicalType": "date"}, {"type": "long", "logicalType": "time-micros"}]
KINDS += [{"type": "string", "logicalType": "uuid"}, {"type": "bytes", "logicalType": "big-decimal"}]
KINDS += [{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}]


def missing() -> list[Any]:
    values: list[Any] = [math.nan]
    try:
        import numpy as np

        values += [np.float64("nan"), np.float32("nan"), np.datetime64("NaT", "us"), np.timedelta64("NaT", "us")]
        import pandas as pd

        values += [pd.NA, pd.NaT]
    except ImportError:
        pass
    return values


@pytest.mark.parametrize("value", missing(), ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("nullable", [False, True])
def test_the_hint_is_the_same_for_every_type(kind: Any, nullable: bool, value: Any) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", kind] if nullable else kind}]}
    with pytest.raises(EncodeError) as caught:
        Codec(schema).encode({"a": value})
    assert (caught.value.path, caught.value.hint) == ("a", HINT)


@pytest.mark.parametrize("value", missing()[1:], ids=lambda value: type(value).__name__)
def test_a_union_of_several_types_has_it_too(value: Any) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec(["null", "int", "string"]).encode(value)
    assert caught.value.hint == HINT


def test_nan_is_a_value_of_float_and_double() -> None:
    for kind in ("float", "double"):
        codec = Codec(["null", kind])
        assert math.isnan(codec.decode(codec.encode(math.nan)))


def test_other_values_keep_their_own_hint() -> None:
    with pytest.raises(EncodeError, match=r"Decimal\(str\(value\)\)"):
        Codec(KINDS[-1]).encode(1.5)


def test_other_types_of_topics_and_connect_have_it_too() -> None:
    with LocalRegistry() as registry:
        for kind in ("INT32", "STRING", "TIMESTAMP"):
            with pytest.raises(EncodeError) as caught:
                KafkaPulsarSerializer({"schema.registry.url": registry.url}, kind).serialize(kind, math.nan)
            assert caught.value.hint == HINT
    schema = SchemaBuilder.struct("S").field("a", SchemaBuilder.int32().optional()).build()
    with pytest.raises(EncodeError) as caught:
        Struct(schema, a=math.nan)
    assert caught.value.hint == HINT
