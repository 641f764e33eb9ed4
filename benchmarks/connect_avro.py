"""Connect's data in Avro: the time to write and read a Struct, beside a dict of the same record through our SerDes.

python benchmarks/connect_avro.py            table
python benchmarks/connect_avro.py --check    fail if a Struct takes more than 2 times as long to write as a dict

Contenders alternate within each round; times are the least of all rounds, ratios medians over the rounds. What is
written is equal, and is compared before the first round. The clock is the processor time of this thread.
"""

from __future__ import annotations

import argparse
import datetime as dt
import statistics
import sys
from collections.abc import Callable
from decimal import Decimal as PythonDecimal
from time import thread_time
from typing import Any, NamedTuple

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.connect import (
    BOOLEAN,
    FLOAT64,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    AvroConverter,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
)
from streamnative_serdes.testing import LocalRegistry

GOAL = 2.0
LOOPS, ROUNDS = 2_000, 31


class Shape(NamedTuple):
    schema: Schema
    value: dict[str, Any]


def _ten(name: str, kinds: list[Schema], values: list[Any]) -> Shape:
    builder = SchemaBuilder.struct(name)
    for at in range(10):
        builder.field(f"field{at}", kinds[at % len(kinds)])
    return Shape(builder.build(), {f"field{at}": values[at % len(kinds)] for at in range(10)})


def shapes() -> dict[str, Shape]:
    inner = SchemaBuilder.struct("Inner").field("a", INT32).field("b", STRING).build()
    outer = (
        SchemaBuilder.struct("Outer")
        .field("id", INT64)
        .field("inner", inner)
        .field("tags", SchemaBuilder.array(STRING))
        .field("counts", SchemaBuilder.map(STRING, INT64))
        .build()
    )
    lists = (
        SchemaBuilder.struct("Lists")
        .field("days", SchemaBuilder.array(Date.schema()))
        .field("prices", SchemaBuilder.array(Decimal.schema(2)))
        .build()
    )
    nested = {"id": 1, "inner": Struct(inner, a=1, b="x"), "tags": ["a", "b", "c"], "counts": {"x": 1, "y": 2}}
    moment = dt.datetime(2026, 11, 24, tzinfo=dt.UTC)
    logical = [Timestamp.schema(), Decimal.schema(2), Date.schema(optional=True), OPTIONAL_STRING]
    return {
        "10 plain fields": _ten("Plain", [INT32, STRING, INT64, FLOAT64, BOOLEAN], [7, "some text", 2**40, 1.5, True]),
        "10 fields, logical types": _ten(
            "Logical", logical, [moment, PythonDecimal("12.50"), dt.date(2026, 11, 24), "x"]
        ),
        "nested, list and map": Shape(outer, nested),
        "lists of dates and decimals": Shape(
            lists, {"days": [dt.date(2026, 11, 24)] * 10, "prices": [PythonDecimal("12.50")] * 10}
        ),
    }


def timed(work: Callable[[], object]) -> float:
    """Nanoseconds per call."""
    start = thread_time()
    for _ in range(LOOPS):
        work()
    return (thread_time() - start) / LOOPS * 1e9


def interleaved(*works: Callable[[], object]) -> list[list[float]]:
    """The times of each, round by round; each goes first in every other round."""
    found: list[list[float]] = [[] for _ in works]
    for number in range(ROUNDS):
        order = range(len(works)) if number % 2 else reversed(range(len(works)))
        for at in order:
            found[at].append(timed(works[at]))
    return found


def ratio(one: list[float], other: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def measured(name: str, shape: Shape, conf: dict[str, Any]) -> float:
    """Print one line, and return how many times as long as a dict a Struct takes to be written."""
    converter, deserializer = AvroConverter(conf), KafkaAvroDeserializer(conf)
    struct, record = Struct(shape.schema, shape.value), dict(shape.value)
    message = converter.from_connect_data(name, shape.schema, struct)
    serializer = KafkaAvroSerializer(conf)  # by the topic's schema, the one that the converter has registered
    assert serializer.serialize(name, record) == message
    assert converter.to_connect_data(name, message).value == Struct.of_checked(
        struct.schema.replaced(version=0), struct
    )
    dicts, structs, read_dicts, read_structs = interleaved(
        lambda: serializer.serialize(name, record),
        lambda: converter.from_connect_data(name, shape.schema, struct),
        lambda: deserializer.deserialize(name, message),
        lambda: converter.to_connect_data(name, message),
    )
    times = ratio(structs, dicts)
    cells = [
        f"{min(dicts):.0f}",
        f"{min(structs):.0f}",
        f"{times:.2f}",
        f"{min(read_dicts):.0f}",
        f"{min(read_structs):.0f}",
    ]
    print("|".join(["", *(f" {cell} " for cell in (name, *cells)), ""]))
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    print("| record | write a dict | write a Struct | ratio | read a dict | read a Struct |\n|---|---|---|---|---|---|")
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        ratios = {
            name: measured(name.replace(" ", "-").replace(",", ""), shape, conf) for name, shape in shapes().items()
        }
    late = [name for name, times in ratios.items() if times > GOAL]
    if check and late:
        print(f"a Struct takes more than {GOAL} times as long to write as a dict: {', '.join(late)}")
    return 1 if check and late else 0


if __name__ == "__main__":
    sys.exit(main())
