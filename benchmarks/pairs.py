"""KEY_VALUE messages against the sum of their halves, which are keys and values of two AVRO topics.

python benchmarks/pairs.py            table: 200 pairs, 10 times in each of 41 rounds
python benchmarks/pairs.py --check    fail if a pair takes more than 1.2 times as long as its two halves

Every contender makes the same calls as a Kafka client, `serializer(obj, ctx)` and `deserializer(data, ctx)`, in
shuffled order within each round; ratios are medians over the rounds. What is read equals what was written, and is
compared before the first round. The clock is the processor time of this thread.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from confluent_kafka.serialization import MessageField, SerializationContext

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KeyValue, KeyValueSchema
from streamnative_serdes.key_value import KeyValueEncodingType
from streamnative_serdes.testing import LocalRegistry

GOAL = 1.2
PASSES = 10  # in each round
HALVES = "halves: two AVRO topics"

Pass = Callable[[], list[Any]]  # writes or reads all pairs


class Shape(NamedTuple):
    """Schemas and data: ``pair(number)`` is a key and a value."""

    name: str
    key: dict[str, Any]
    value: dict[str, Any]
    pair: Callable[[int], tuple[Any, Any]]


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


ID = record("Id", id="long")
SHAPES = [
    Shape("tiny", ID, record("Tick", at="long"), lambda number: ({"id": number}, {"at": number})),
    Shape(
        "order",
        record("OrderKey", shop="string", number="long"),
        record(
            "Order", customer="string", total="double", note=["null", "string"], items={"type": "array", "items": "int"}
        ),
        lambda number: (
            {"shop": "Paris", "number": number},
            {"customer": f"c{number}", "total": number / 4, "note": None, "items": [1, 2, number]},
        ),
    ),
    Shape(
        "wide",
        ID,
        record("Wide", **{f"f{place}": "string" if place % 2 else "long" for place in range(30)}),
        lambda number: (
            {"id": number},
            {f"f{place}": f"text {number}" if place % 2 else number for place in range(30)},
        ),
    ),
]


def contexts(topic: str) -> tuple[SerializationContext, SerializationContext]:
    return SerializationContext(topic, MessageField.KEY), SerializationContext(topic, MessageField.VALUE)


def halves(url: str, shape: Shape, pairs: list[tuple[Any, Any]]) -> tuple[Pass, Pass]:
    """Keys and values of two AVRO topics, by two serializers and two deserializers."""
    conf = {"schema.registry.url": url}
    write_key, write_value = KafkaAvroSerializer(conf, shape.key), KafkaAvroSerializer(conf, shape.value)
    read_key, read_value = KafkaAvroDeserializer(conf), KafkaAvroDeserializer(conf)
    (_, of_keys), (_, of_values) = contexts(f"{shape.name}-keys"), contexts(f"{shape.name}-values")

    def write() -> list[Any]:
        return [(write_key(key, of_keys), write_value(value, of_values)) for key, value in pairs]

    messages = write()

    def read() -> list[Any]:
        return [(read_key(key, of_keys), read_value(value, of_values)) for key, value in messages]

    return write, read


def separated(url: str, shape: Shape, pairs: list[tuple[Any, Any]], framing: str, *, shared: bool) -> tuple[Pass, Pass]:
    """SEPARATED, by SerDes of their own for keys, or by one for keys and values."""
    conf = {"schema.registry.url": url}
    schema = KeyValueSchema(shape.key, shape.value, "SEPARATED")
    writing = {**conf, "key.value.framing": framing}
    write_value, read_value = KafkaAvroSerializer(writing, schema), KafkaAvroDeserializer(conf)
    write_key, read_key = write_value, read_value
    if not shared:
        write_key = KafkaAvroSerializer(writing, schema, is_key=True)
        read_key = KafkaAvroDeserializer(conf, is_key=True)
    of_keys, of_values = contexts(f"{shape.name}-separated")

    def write() -> list[Any]:
        return [(write_key(key, of_keys), write_value(value, of_values)) for key, value in pairs]

    messages = write()

    def read() -> list[Any]:
        return [(read_key(key, of_keys), read_value(value, of_values)) for key, value in messages]

    return write, read


def inline(url: str, shape: Shape, pairs: list[tuple[Any, Any]], framing: str) -> tuple[Pass, Pass]:
    conf = {"schema.registry.url": url}
    both = [KeyValue(*pair) for pair in pairs]
    encoding: KeyValueEncodingType = "INLINE"
    schema = KeyValueSchema(shape.key, shape.value, encoding)
    serializer, deserializer = (
        KafkaAvroSerializer({**conf, "key.value.framing": framing}, schema),
        KafkaAvroDeserializer(conf),
    )
    _, of_values = contexts(f"{shape.name}-inline")

    def write() -> list[Any]:
        return [serializer(pair, of_values) for pair in both]

    messages = write()

    def read() -> list[Any]:
        return [deserializer(message, of_values) for message in messages]

    return write, read


def contenders(url: str, shape: Shape, count: int) -> dict[str, tuple[Pass, Pass]]:
    """All of them, once they have read what they wrote."""
    pairs = [shape.pair(number) for number in range(count)]
    found = {HALVES: halves(url, shape, pairs)}
    for framing in ("bare", "value"):
        found[f"SEPARATED, {framing}, is_key"] = separated(url, shape, pairs, framing, shared=False)
        found[f"SEPARATED, {framing}, shared"] = separated(url, shape, pairs, framing, shared=True)
        found[f"INLINE, {framing}"] = inline(url, shape, pairs, framing)
    for name, (_, read) in found.items():
        if read() != pairs:
            raise SystemExit(f"{shape.name}, {name}: what was read is not what was written")
    return found


def measure(count: int, rounds: int) -> dict[tuple[str, str, str], list[float]]:
    """Nanoseconds per pair by shape, direction and contender, a number for each round."""
    taken: dict[tuple[str, str, str], list[float]] = {}
    with LocalRegistry() as registry:
        jobs = {
            (shape.name, direction, name): work
            for shape in SHAPES
            for name, both in contenders(registry.url, shape, count).items()
            for direction, work in zip(("write", "read"), both, strict=True)
        }
        for number in range(-2, rounds):  # two to warm up
            for key in random.sample(list(jobs), len(jobs)):
                begin = time.thread_time_ns()
                for _ in range(PASSES):
                    jobs[key]()
                if number >= 0:
                    taken.setdefault(key, []).append((time.thread_time_ns() - begin) / PASSES / count)
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    taken = measure(given.pairs, given.rounds)
    worst = 0.0
    print(f"{'shape':8} {'':6} {'contender':28} {'ns per pair':>12} {'of halves':>10}")
    for (shape, direction, name), times in sorted(taken.items(), key=lambda one: (one[0][:2], one[0][2] != HALVES)):
        sums = taken[shape, direction, HALVES]
        ratio = statistics.median(a / b for a, b in zip(times, sums, strict=True))
        worst = max(worst, ratio)
        print(f"{shape:8} {direction:6} {name:28} {statistics.median(times):12.0f} {ratio:10.2f}")
    print(f"\nthe worst, of the sum of its halves: {worst:.2f} (goal: at most {GOAL})")
    return 1 if given.check and worst > GOAL else 0


if __name__ == "__main__":
    sys.exit(main())
