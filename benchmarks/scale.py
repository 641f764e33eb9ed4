"""Many topics: time per message and memory with 10,000 topics of 20 versions each, compared with one topic.

python benchmarks/scale.py                  topics with equal schemas (one per customer), and 300 with different ones
python benchmarks/scale.py --topics 1000    fewer topics, faster

Topics with equal schemas share the compiled plans. With different schemas, the plans do not fit into the processor's
caches, and the time per message depends on the memory. That is shown, but there is no goal for it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
from pathlib import Path
from statistics import median
from typing import Any

from measure import CLOCK, pin
from shapes import SHAPES

from streamnative_serdes import KafkaAvroDeserializer, header
from streamnative_serdes._call_path import look_up, policy_of
from streamnative_serdes._topics.known import Posted
from streamnative_serdes._topics.topic_state import Learnt
from streamnative_serdes.codec import Codec
from streamnative_serdes.schema_registry import TopicName

SHAPE = next(shape for shape in SHAPES if shape.name == "flat")
SLICE = 2_000  # messages
ROUNDS = 31
MOST = 1.5


def schema(topic: str, version: int, *, alike: bool) -> str:
    """The 10-field record with ``version`` additional optional fields. If not ``alike``, its doc names the topic."""
    more = [{"name": f"more{number}", "type": ["null", "long"], "default": None} for number in range(version)]
    tree: dict[str, Any] = json.loads(SHAPE.text)
    return json.dumps({**tree, "doc": "" if alike else topic, "fields": [*tree["fields"], *more]})


def reader(topics: int, versions: int, capacity: int, *, alike: bool) -> KafkaAvroDeserializer:
    """A deserializer that already knows all versions and asks no registry, like one from a pickle."""
    conf = {
        "schema.registry.url": "http://localhost:9",
        "cache.capacity": capacity,
        # A different value for each reader, so that readers share nothing; large, so that topics are never checked.
        "cache.latest.ttl.sec": 1e9 + random.randrange(10**6),
    }
    made = KafkaAvroDeserializer(conf)
    policy_of(made).binding.learn(
        Learnt(
            TopicName.parse(f"t{topic}"),
            version,
            Posted("AVRO", schema(f"t{topic}", version, alike=alike)),
            version == versions - 1,
            1,
        )
        for topic in range(topics)
        for version in range(versions)
    )
    return made


def messages(topics: int, versions: int) -> list[tuple[str, bytes]]:
    bodies = [Codec(schema("", version, alike=True)).encode(SHAPE.records[0]) for version in range(versions)]
    picks = random.Random(0)
    found = []
    for _ in range(SLICE):
        version = picks.randrange(versions)
        found.append((f"t{picks.randrange(topics)}", header.pack(version) + bodies[version]))
    return found


def spent(deserializer: KafkaAvroDeserializer, batch: list[tuple[str, bytes]]) -> float:
    """Nanoseconds per message."""
    deserialize = deserializer.deserialize
    began = CLOCK()
    for topic, data in batch:
        deserialize(topic, data)
    return (CLOCK() - began) / len(batch) * 1e9


def resident() -> int:
    """Resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def compare(topics: int, versions: int, *, alike: bool) -> bool:
    """Print the comparison and return whether the goal is met. Only topics with equal schemas have a goal."""
    kind = "equal schemas" if alike else "different schemas"
    gc.collect()
    before = resident()
    many = reader(topics, versions, topics, alike=alike)
    one, batch = reader(1, versions, 1_000, alike=alike), messages(topics, versions)
    single = [("t0", data) for _, data in batch]
    for topic in range(topics):  # bind each version once, before the clock starts
        for version in range(versions):
            look_up(many, f"t{topic}", version)
    spent(one, single)
    taken = (resident() - before) / (topics * versions)
    rows = [(spent(one, single), spent(many, batch)) for _ in range(ROUNDS)]
    times = median(there / here for here, there in rows)
    met = times <= MOST or not alike
    verdict = f" (goal {MOST}x, {'met' if met else 'MISSED'})" if alike else ""
    print(
        f"{topics:,} topics of {versions} versions, {kind}: {median(row[1] for row in rows):,.0f} ns a message, "
        f"one topic {median(row[0] for row in rows):,.0f} ns: {times:.2f}x{verdict}; "
        f"{taken:,.0f} bytes per cached version"
    )
    return met


def bounded(topics: int, versions: int) -> bool:
    """Whether a cache with the capacity of a tenth of the topics keeps no more than that after reading all topics."""
    capacity = topics // 10
    few = reader(topics, versions, capacity, alike=True)
    kept = len(policy_of(few).binding.learnt(f"t{topic}" for topic in range(topics)))
    met = kept <= capacity * versions
    print(
        f"cache.capacity={capacity:,}: {kept:,} versions cached of {topics * versions:,} ({'met' if met else 'MISSED'})"
    )
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--versions", type=int, default=20)
    chosen = parser.parse_args()
    pin()
    met = [
        compare(chosen.topics, chosen.versions, alike=True),
        compare(min(chosen.topics, 300), chosen.versions, alike=False),
        bounded(chosen.topics, chosen.versions),
    ]
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
