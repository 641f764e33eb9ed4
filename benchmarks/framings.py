"""Batches that mix framings and schema versions, against batches with one of them.

python benchmarks/framings.py            table: 20,000 messages, 15 rounds
python benchmarks/framings.py --check    fail if a mixed batch takes more than 1.3 times as long as a pure one

Batches are read to Arrow columns, in shuffled order within each round; ratios are medians over the rounds. The clock is
the processor time of this thread. Both registries run in this process; all schemas are known before the first round.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from confluent_stand_in import ConfluentStandIn  # type: ignore[import-not-found] # of tests/support

from streamnative_serdes import Codec, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry

FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "total", "type": "double"},
    {"name": "items", "type": {"type": "array", "items": "int"}},
    {"name": "note", "type": ["null", "string"], "default": None},
]
OLD: dict[str, Any] = {"type": "record", "name": "Order", "fields": FIELDS}
NEW: dict[str, Any] = {**OLD, "fields": [*FIELDS, {"name": "paid", "type": "boolean", "default": False}]}
GOAL = 1.3


def order(number: int) -> dict[str, Any]:
    return {
        "id": number + 1, "customer": f"customer {number}", "total": number / 4, "items": list(range(number % 5)),
        "note": f"note {number}" if number % 3 else None, "paid": True,
    }  # fmt: skip


def batches(
    count: int, ours: KafkaAvroSerializer, second: ConfluentStandIn
) -> dict[str, tuple[list[bytes], list[Any]]]:
    """Name -> messages and their headers; each batch has the same orders."""
    old, new = second.register("orders-value", OLD), second.register("orders-value", NEW)
    codecs = {old: Codec(json.dumps(OLD)), new: Codec(json.dumps(NEW))}
    orders = [order(number) for number in range(count)]

    def prefixed(number: int, datum: Any) -> tuple[bytes, Any]:
        return b"\0" + number.to_bytes(4) + codecs[number].encode(datum), None

    def by_header(number: int, datum: Any) -> tuple[bytes, Any]:
        return codecs[number].encode(datum), [("__value_schema_id", b"\1" + second.guid(number))]

    ways: dict[str, list[Callable[[Any], tuple[Any, Any]]]] = {
        "snip42": [lambda datum: (ours.serialize("orders", datum), None)],
        "confluent": [lambda datum: prefixed(new, datum)],
        "confluent-header": [lambda datum: by_header(new, datum)],
        "headerless": [lambda datum: (codecs[new].encode(datum), None)],
        "headerless, from 0x00": [lambda datum: (codecs[new].encode({**datum, "id": 0}), None)],
    }
    ways["all of them"] = [
        *(way for name in list(ways)[:4] for way in ways[name]),
        lambda datum: prefixed(old, datum),
        lambda datum: by_header(old, datum),
    ]
    found = {}
    for name, makers in ways.items():
        pairs = [makers[number % len(makers)](datum) for number, datum in enumerate(orders)]
        found[name] = [message for message, _ in pairs], [headers for _, headers in pairs]
    return found


def measure(count: int, rounds: int) -> dict[str, list[float]]:
    """Nanoseconds per message by batch, a number for each round."""
    import pyarrow as pa

    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    with LocalRegistry() as registry, ConfluentStandIn() as second:
        url = {"schema.registry.url": registry.url}
        data = {
            name: (
                pa.array(messages, pa.binary()),
                pa.array([[{"key": k, "value": v} for k, v in each or ()] for each in headers], kind),
            )
            for name, (messages, headers) in batches(count, KafkaAvroSerializer(url, NEW), second).items()
        }
        reading = {
            **url,
            "confluent.schema.registry.url": second.url,
            "framings": "snip42,confluent,confluent-header,headerless",
        }
        deserializer = KafkaAvroDeserializer(reading, NEW)
        taken: dict[str, list[float]] = {name: [] for name in data}
        for number in range(-2, rounds):  # two to warm up
            for name in random.sample(list(data), len(data)):
                messages, headers = data[name]
                begin = time.thread_time_ns()
                batch = deserializer.deserialize_batch("orders", messages, headers=headers)
                if number >= 0:
                    taken[name].append((time.thread_time_ns() - begin) / count)
                assert batch.num_rows == count
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    taken = measure(given.messages, given.rounds)
    pure = [name for name in taken if name in ("snip42", "confluent", "confluent-header", "headerless")]
    # What a mixed batch would take if its messages were in pure batches; it has Confluent's framings twice.
    weights = {"snip42": 1, "confluent": 2, "confluent-header": 2, "headerless": 1}
    print(f"{'batch':24} {'ns per message':>14} {'of snip42':>10}")
    for name, times in taken.items():
        ratio = statistics.median(a / b for a, b in zip(times, taken["snip42"], strict=True))
        print(f"{name:24} {statistics.median(times):14.0f} {ratio:10.2f}")
    mixed = statistics.median(
        took / (sum(weights[name] * taken[name][i] for name in pure) / sum(weights.values()))
        for i, took in enumerate(taken["all of them"])
    )
    print(f"\nall of them, of the mean of the pure batches: {mixed:.2f} (goal: at most {GOAL})")
    return 1 if given.check and mixed > GOAL else 0


if __name__ == "__main__":
    sys.exit(main())
