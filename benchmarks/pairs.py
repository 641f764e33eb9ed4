"""KEY_VALUE messages against the sum of their halves, which are keys and values of two AVRO topics.

python benchmarks/pairs.py            table: 200 pairs, 10 times in each of 41 rounds
python benchmarks/pairs.py --check    fail if a pair takes more than 1.2 times as long as its two halves

Every contender makes the same calls as a Kafka client, `serializer(obj, ctx)` and `deserializer(data, ctx)`. What is
read equals what was written, and is compared before the first round. Ratios are medians over the rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from confluent_kafka.serialization import MessageField, SerializationContext
from harness import Goal, Job, judged, measure, options
from shapes import array, record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KeyValue, KeyValueSchema
from streamnative_serdes.testing import LocalRegistry

GOAL, PASSES = 1.2, 10  # passes over all pairs in each round
HALVES = "halves: two AVRO topics"


class Shape(NamedTuple):
    """Schemas and data: ``pair(number)`` is a key and a value."""

    name: str
    key: dict[str, Any]
    value: dict[str, Any]
    pair: Callable[[int], tuple[Any, Any]]


ID = record("Id", id="long")
ORDER = record("Order", customer="string", total="double", note=["null", "string"], items=array("int"))
WIDE = record("Wide", **{f"f{place}": "string" if place % 2 else "long" for place in range(30)})
SHAPES = [
    Shape("tiny", ID, record("Tick", at="long"), lambda number: ({"id": number}, {"at": number})),
    Shape("order", record("OrderKey", shop="string", number="long"), ORDER, lambda number: (
        {"shop": "Paris", "number": number},
        {"customer": f"c{number}", "total": number / 4, "note": None, "items": [1, 2, number]},
    )),
    Shape("wide", ID, WIDE, lambda number: (
        {"id": number}, {f"f{place}": f"text {number}" if place % 2 else number for place in range(30)},
    )),
]  # fmt: skip


class Half(NamedTuple):
    """Serializer and deserializer of keys, values or whole pairs, with their contexts."""

    write: Callable[[Any, Any], Any]
    read: Callable[[Any, Any], Any]
    context: SerializationContext


def contenders(url: str, shape: Shape) -> Iterator[tuple[str, list[Half]]]:
    """The halves of each: keys and values, or pairs of INLINE."""
    conf = {"schema.registry.url": url}

    def serdes(schema: Any, framing: str | None = None, **more: Any) -> tuple[Any, Any]:
        writing = {**conf, "key.value.framing": framing} if framing else conf
        return KafkaAvroSerializer(writing, schema, **more), KafkaAvroDeserializer(conf, **more)

    def value_of(topic: str) -> SerializationContext:
        return SerializationContext(f"{shape.name}-{topic}", MessageField.VALUE)

    yield HALVES, [Half(*serdes(shape.key), value_of("keys")), Half(*serdes(shape.value), value_of("values"))]
    inline = KeyValueSchema(shape.key, shape.value, "INLINE")
    separated = KeyValueSchema(shape.key, shape.value, "SEPARATED")
    keys = SerializationContext(f"{shape.name}-separated", MessageField.KEY)
    for framing in ("bare", "value"):
        both, own = serdes(separated, framing), serdes(separated, framing, is_key=True)
        yield f"SEPARATED, {framing}, is_key", [Half(*own, keys), Half(*both, value_of("separated"))]
        both = serdes(separated, framing)
        yield f"SEPARATED, {framing}, shared", [Half(*both, keys), Half(*both, value_of("separated"))]
        yield f"INLINE, {framing}", [Half(*serdes(inline, framing), value_of("inline"))]


def passes(halves: list[Half], pairs: list[tuple[Any, Any]]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Functions that write and read all pairs."""
    if len(halves) == 1:
        (whole,) = halves
        write, read, context, both = whole.write, whole.read, whole.context, [KeyValue(*pair) for pair in pairs]
        messages = [write(pair, context) for pair in both]
        return lambda: [write(pair, context) for pair in both], lambda: [read(data, context) for data in messages]
    (write_key, read_key, of_keys), (write_value, read_value, of_values) = halves
    framed = [(write_key(key, of_keys), write_value(value, of_values)) for key, value in pairs]
    return (
        lambda: [(write_key(key, of_keys), write_value(value, of_values)) for key, value in pairs],
        lambda: [(read_key(key, of_keys), read_value(value, of_values)) for key, value in framed],
    )


def jobs(url: str, count: int) -> Iterator[Job]:
    for shape in SHAPES:
        pairs = [shape.pair(number) for number in range(count)]
        for name, halves in contenders(url, shape):
            write, read = passes(halves, pairs)
            if read() != pairs:
                raise SystemExit(f"{shape.name}, {name}: what was read is not what was written")
            for direction, work in (("write", write), ("read", read)):
                yield Job((shape.name, direction, name), work, count, loops=PASSES)


def main() -> int:
    parser = options(__doc__, 41, "--check")
    parser.add_argument("--pairs", type=int, default=200)
    given = parser.parse_args()
    with LocalRegistry() as registry:
        cells = measure(jobs(registry.url, given.pairs), given.rounds, warm_up=2, grouped=False)
    worst = 0.0
    print(f"{'shape':8} {'':6} {'contender':28} {'ns per pair':>12} {'of halves':>10}")
    for key in sorted(cells, key=lambda key: (key[:2], key[2] != HALVES)):
        ratio = cells.times(key, (*key[:2], HALVES)) or 0.0
        worst = max(worst, ratio)
        print(f"{key[0]:8} {key[1]:6} {key[2]:28} {cells[key].ns:12.0f} {ratio:10.2f}")
    print()
    return judged(
        [Goal(f"the worst pair: <= {GOAL}x the sum of its halves", worst, GOAL, most=True)], check=given.check
    )


if __name__ == "__main__":
    sys.exit(main())
