"""Avro schemas of a registry whose properties lie to the converter of Connect's data: typed errors, or a value."""

from __future__ import annotations

import random
from typing import Any

import pytest

from streamnative_serdes import _schema as avro
from streamnative_serdes.codec import Codec
from streamnative_serdes.connect import Date, Decimal, Time, Timestamp
from streamnative_serdes.connect.avro.options import AvroOptions
from streamnative_serdes.connect.avro.reading import reader_of, with_branches
from streamnative_serdes.connect.avro.to_schema import avro_schema
from streamnative_serdes.connect.values import validate
from streamnative_serdes.errors import SerdesError

DATA: dict[str, Any] = {"int": 5, "long": 5, "string": "A", "bytes": b"\1", "double": 1.5, "boolean": True}
PARAMETERS = [
    {"scale": "2", "connect.decimal.precision": "9" * 50},
    {"scale": "x", "connect.fixed.size": "9" * 50},
    {"io.confluent.connect.avro.Enum": "e", "io.confluent.connect.avro.Enum.A": "9" * 5000},
    {"org.apache.kafka.connect.data.Union": "u"},
]
LIES: list[Any] = [
    *(None, True, 5, -1, 2**70, 1.5, "", "x", "9" * 5000, [], [1], {}, {"a": 1}, "int8", "MapEntry", "decimal", "date"),
    *(kind.LOGICAL_NAME for kind in (Date, Time, Timestamp, Decimal)),
    *PARAMETERS,
]
PROPERTIES = [
    *("connect.name", "connect.version", "connect.doc", "connect.default", "connect.parameters", "connect.type"),
    *("connect.internal.type", "logicalType", "scale", "precision", "avro.x"),
]


def read(tree: Any, datum: Any, options: AvroOptions) -> None:
    schema = avro.parse(tree, strict=False)
    message = Codec(schema, avro_logical_types=False).encode(datum)
    codec = Codec(with_branches(schema), avro_logical_types=False, return_record_name=True)
    found = reader_of(schema, codec.decode, options, 3)(message)
    assert found.schema is not None
    validate(found.schema, found.value)
    avro_schema(found.schema, options)


@pytest.mark.parametrize("options", [AvroOptions(), AvroOptions(True, True, True, True, True, True)], ids=["no", "all"])
def test_properties_of_any_content_are_read_or_refused_by_a_typed_error(options: AvroOptions) -> None:
    rng = random.Random(24)
    refused = 0
    for _ in range(4000):
        kind = rng.choice(list(DATA))
        lies = {name: rng.choice(LIES) for name in rng.sample(PROPERTIES, rng.randint(1, 3))}
        tree = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": kind, **lies}}]}
        try:
            read(tree, {"a": DATA[kind]}, options)
        except SerdesError:
            refused += 1
    assert 500 < refused < 4000
