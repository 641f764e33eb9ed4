"""Batches and single messages that mix framings and schema versions, against those with one of them.

python benchmarks/framings.py            table: 20,000 messages, 15 rounds
python benchmarks/framings.py --check    fail if a mixed batch takes more than 1.3 times as long as a pure one

Batches are read to Arrow columns, single messages to dicts. All registries run in this process, and all schemas are
known before the first round.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import pyarrow as pa
from harness import ROOT, Goal, Job, Results, judged, measure, options
from shapes import array, record

sys.path.insert(0, str(ROOT / "tests" / "support"))

from confluent_stand_in import ConfluentStandIn  # type: ignore[import-not-found] # of tests/support
from foreign_stand_ins import ForeignStandIn, GlueStandIn  # type: ignore[import-not-found]

from streamnative_serdes import Codec, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry

OLD = record("Order", id="long", customer="string", total="double", items=array("int"), note=["null", "string"])
NEW = {**OLD, "fields": [*OLD["fields"], {"name": "paid", "type": "boolean", "default": False}]}
GOAL, MIXED, OURS = 1.3, "all of them", "snip42"
# What a mixed batch would take if its messages were in pure batches; it has Confluent's framings twice.
WEIGHTS = {OURS: 1, "confluent": 2, "confluent-header": 2, "headerless": 1}
FOREIGN = dict.fromkeys(("apicurio", "apicurio-header", "glue", "azure", "azure-content-type", "azure-header"), 1)
FRAMINGS = [OURS, *(name for name in (WEIGHTS | FOREIGN) if name not in (OURS, "headerless")), "headerless"]
UUID, HEX = bytes(range(16)), bytes(range(16)).hex()
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
Way = Callable[[Any], tuple[bytes | None, list[dict[str, Any]]]]  # a message and its headers


def order(number: int) -> dict[str, Any]:
    return {
        "id": number + 1, "customer": f"customer {number}", "total": number / 4, "items": list(range(number % 5)),
        "note": f"note {number}" if number % 3 else None, "paid": True,
    }  # fmt: skip


def foreign_ways(others: ForeignStandIn, glue: GlueStandIn) -> dict[str, list[Way]]:
    """As :func:`ways`, for the framings of Apicurio, AWS Glue and Azure."""
    encode, kind = Codec(NEW).encode, f"avro/binary+{HEX}".encode()
    others.add("/ids/globalIds/7", NEW)
    others.add(f"/$schemaGroups/$schemas/{HEX}", NEW)
    glue.schemas[str(uuid.UUID(bytes=UUID))] = json.dumps(NEW)
    return {
        "apicurio": [lambda datum: (b"\0" + (7).to_bytes(8, "big") + encode(datum), [])],
        "apicurio-header": [
            lambda datum: (encode(datum), [{"key": "apicurio.value.globalId", "value": bytes(7) + b"\7"}])
        ],
        "glue": [lambda datum: (b"\3\0" + UUID + encode(datum), [])],
        "azure": [lambda datum: (bytes(4) + HEX.encode() + encode(datum), [])],
        "azure-content-type": [lambda datum: (b"\x2c" + kind + encode(datum), [])],
        "azure-header": [lambda datum: (encode(datum), [{"key": "content-type", "value": kind}])],
    }


def ways(ours: KafkaAvroSerializer, second: ConfluentStandIn, foreign: dict[str, list[Way]]) -> dict[str, list[Way]]:
    """How the messages of each batch are made, in turn; each batch has the same orders."""
    old, new = second.register("orders-value", OLD), second.register("orders-value", NEW)
    codecs = {old: Codec(OLD), new: Codec(NEW)}

    def prefixed(number: int) -> Way:
        return lambda datum: (b"\0" + number.to_bytes(4, "big") + codecs[number].encode(datum), [])

    def by_header(number: int) -> Way:
        found = [{"key": "__value_schema_id", "value": b"\1" + second.guid(number)}]
        return lambda datum: (codecs[number].encode(datum), found)

    pure: dict[str, list[Way]] = {
        OURS: [lambda datum: (ours.serialize("orders", datum), [])],
        "confluent": [prefixed(new)],
        "confluent-header": [by_header(new)],
        "headerless": [lambda datum: (codecs[new].encode(datum), [])],
        **foreign,
    }
    mixed = [way for each in pure.values() for way in each]
    from_0: Way = lambda datum: (codecs[new].encode({**datum, "id": 0}), [])  # noqa: E731
    return {**pure, "headerless, from 0x00": [from_0], MIXED: [*mixed, prefixed(old), by_header(old)]}


def read_alone(deserializer: KafkaAvroDeserializer, messages: list[Any]) -> None:
    for message, headers in messages:
        deserializer.deserialize("orders", message, headers=headers)


def measured(count: int, rounds: int) -> Results:
    with LocalRegistry() as registry, ConfluentStandIn() as second, ForeignStandIn() as others:
        conf = {"schema.registry.url": registry.url, "confluent.schema.registry.url": second.url}
        glue = GlueStandIn()
        conf |= {
            "apicurio.registry.url": others.apicurio,
            "azure.schema.registry.url": others.url,
            "glue.registry": glue,
        }
        deserializer = KafkaAvroDeserializer({**conf, "framings": FRAMINGS}, NEW)
        serializer, jobs = KafkaAvroSerializer({"schema.registry.url": registry.url}, NEW), []
        for name, makers in ways(serializer, second, foreign_ways(others, glue)).items():
            pairs = [makers[number % len(makers)](order(number)) for number in range(count)]
            data, headers = pa.array([pair[0] for pair in pairs], pa.binary()), pa.array([p[1] for p in pairs], HEADERS)
            read = partial(deserializer.deserialize_batch, "orders", data, headers=headers)
            assert read().num_rows == count
            jobs.append(Job(("batch", name), read, count))
            alone = [(message, [(h["key"], h["value"]) for h in headers] or None) for message, headers in pairs]
            jobs.append(Job(("alone", name), partial(read_alone, deserializer, alone), count))
        return measure(jobs, rounds, warm_up=2)


def main() -> int:
    parser = options(__doc__, 15, "--check")
    parser.add_argument("--messages", type=int, default=20_000)
    given = parser.parse_args()
    cells = measured(given.messages, given.rounds)
    print(f"{'read':6} {'messages':24} {'ns per message':>14} {'of snip42':>10}")
    for how, name in cells:
        print(f"{how:6} {name:24} {cells[how, name].ns:14.0f} {cells.times((how, name), (how, OURS)):10.2f}")
    print()
    weights = WEIGHTS | FOREIGN
    goals = []
    for how in ("batch", "alone"):
        pure = zip(*([weight * ns for ns in cells[how, name].rounds] for name, weight in weights.items()), strict=True)
        means = [sum(each) / sum(weights.values()) for each in pure]
        mixed = median(took / mean for took, mean in zip(cells[how, MIXED].rounds, means, strict=True))
        goals.append(Goal(f"{how}, {MIXED}: <= {GOAL}x the mean of the pure ones", mixed, GOAL, most=True))
    return judged(goals, check=given.check)


if __name__ == "__main__":
    sys.exit(main())
