"""Connect's data in Avro: the time to write and read a Struct, beside a dict of the same record through our SerDes.

python benchmarks/connect_avro.py            table
python benchmarks/connect_avro.py --check    fail if a Struct takes more than 2 times as long to write as a dict

Times are the least of all rounds, ratios medians over the rounds. What is written is equal, and is compared before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from connect import CENTS, DAY, MOMENT, struct
from harness import Goal, Job, judged, measure, options, table

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes import connect as api
from streamnative_serdes.testing import LocalRegistry

GOAL = 2.0


def ten(kinds: list[api.Schema], values: list[Any]) -> tuple[api.Schema, dict[str, Any]]:
    names = [f"field{at}" for at in range(10)]
    fields = {name: kinds[at % len(kinds)] for at, name in enumerate(names)}
    return struct("Ten", **fields), {name: values[at % len(kinds)] for at, name in enumerate(names)}


def records() -> dict[str, tuple[api.Schema, dict[str, Any]]]:
    inner = struct("Inner", a=api.INT32, b=api.STRING)
    counts, days = api.SchemaBuilder.map(api.STRING, api.INT64), api.SchemaBuilder.array(api.Date.schema())
    outer = struct("Outer", id=api.INT64, inner=inner, tags=api.SchemaBuilder.array(api.STRING), counts=counts)
    lists = struct("Lists", days=days, prices=api.SchemaBuilder.array(api.Decimal.schema(2)))
    nested = {"id": 1, "inner": api.Struct(inner, a=1, b="x"), "tags": ["a", "b", "c"], "counts": {"x": 1, "y": 2}}
    logicals = [api.Timestamp.schema(), api.Decimal.schema(2), api.Date.schema(optional=True), api.OPTIONAL_STRING]
    return {
        "10 plain fields": ten(
            [api.INT32, api.STRING, api.INT64, api.FLOAT64, api.BOOLEAN], [7, "some text", 2**40, 1.5, True]
        ),
        "10 fields, logical types": ten(logicals, [MOMENT, CENTS, DAY, "x"]),
        "nested, list and map": (outer, nested),
        "lists of dates and decimals": (lists, {"days": [DAY] * 10, "prices": [CENTS] * 10}),
    }


def jobs_of(name: str, schema: api.Schema, values: dict[str, Any], conf: dict[str, Any]) -> Iterator[Job]:
    topic = name.replace(" ", "-").replace(",", "")
    converter, deserializer = api.AvroConverter(conf), KafkaAvroDeserializer(conf)
    made, plain = api.Struct(schema, values), dict(values)
    message = converter.from_connect_data(topic, schema, made)
    serializer = KafkaAvroSerializer(conf)  # by the topic's schema, the one that the converter has registered
    assert serializer.serialize(topic, plain) == message
    expected = api.Struct.of_checked(made.schema.replaced(version=0), made)
    assert converter.to_connect_data(topic, message).value == expected
    yield Job((name, "write", "dict"), lambda: serializer.serialize(topic, plain))
    yield Job((name, "write", "Struct"), lambda: converter.from_connect_data(topic, schema, made))
    yield Job((name, "read", "dict"), lambda: deserializer.deserialize(topic, message))
    yield Job((name, "read", "Struct"), lambda: converter.to_connect_data(topic, message))


def main() -> int:
    given = options(__doc__, 31, "--check").parse_args()
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        jobs = (job for name, record in records().items() for job in jobs_of(name, *record, conf))
        cells = measure(jobs, given.rounds, seconds=0.001)
    rows = [["record", "write a dict", "write a Struct", "ratio", "read a dict", "read a Struct"]]
    goals = []
    for name in records():
        ratio = cells.times((name, "write", "Struct"), (name, "write", "dict"))
        keys = ((name, way, what) for way in ("write", "read") for what in ("dict", "Struct"))
        least = [f"{min(cells[key].rounds):.0f}" for key in keys]
        rows.append([name, *least[:2], f"{ratio:.2f}", *least[2:]])
        goals.append(Goal(f"write a Struct, {name}: <= {GOAL:g}x a dict", ratio, GOAL, most=True))
    print(table(rows, padded=False), "", sep="\n")
    return judged(goals, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
