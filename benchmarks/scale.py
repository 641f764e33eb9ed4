"""Many topics: time per message and memory with 10,000 topics of 20 versions each, compared with one topic.

python benchmarks/scale.py                  topics with equal schemas (one per customer), and 300 with different ones
python benchmarks/scale.py --topics 1000    fewer topics, faster

Topics with equal schemas share the compiled plans. With different schemas, the plans do not fit into the processor's
caches, and the time per message depends on the memory. That is shown, but there is no goal for it.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
from functools import partial
from pathlib import Path

from harness import Goal, Job, judged, measure, options, pin
from shapes import BY_NAME, FLAT

from streamnative_serdes import KafkaAvroDeserializer, header
from streamnative_serdes._call_path import at_hand, keep, policy_of
from streamnative_serdes._topics.schema_version import Posted
from streamnative_serdes._topics.topic_state import PickledSchema
from streamnative_serdes.codec import Codec
from streamnative_serdes.schema_registry import TopicName

SLICE, MOST = 2_000, 1.5  # messages; times
ONE, MANY = "one topic", "many topics"
Batch = list[tuple[str, bytes]]  # topics and messages


def schema(topic: str, version: int, *, alike: bool) -> str:
    """The 10-field record with ``version`` additional optional fields. If not ``alike``, its doc names the topic."""
    more = [{"name": f"more{number}", "type": ["null", "long"], "default": None} for number in range(version)]
    return json.dumps({**FLAT, "doc": "" if alike else topic, "fields": [*FLAT["fields"], *more]})


def reader(topics: int, versions: int, capacity: int, *, alike: bool) -> KafkaAvroDeserializer:
    """A deserializer that already knows all versions and asks no registry, like one from a pickle."""
    # Another life time for each reader, so that readers share nothing; large, so that topics are never checked.
    life = 1e9 + random.randrange(10**6)
    conf = {"schema.registry.url": "http://localhost:9", "cache.capacity": capacity, "cache.latest.ttl.sec": life}
    made = KafkaAvroDeserializer(conf)
    texts = ((f"t{topic}", version) for topic in range(topics) for version in range(versions))
    policy_of(made).binding.learn(
        PickledSchema(TopicName.parse(name), version, Posted("AVRO", schema(name, version, alike=alike)), last, 1)
        for name, version in texts
        for last in [version == versions - 1]
    )
    return made


def messages(topics: int, versions: int) -> Batch:
    record, picks = BY_NAME["flat"].records[0], random.Random(0)
    bodies = [Codec(schema("", version, alike=True)).encode(record) for version in range(versions)]
    chosen = [(picks.randrange(versions), picks.randrange(topics)) for _ in range(SLICE)]
    return [(f"t{topic}", header.pack(version) + bodies[version]) for version, topic in chosen]


def read_all(deserializer: KafkaAvroDeserializer, batch: Batch) -> None:
    deserialize = deserializer.deserialize
    for topic, data in batch:
        deserialize(topic, data)


def resident() -> int:
    """Resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def compared(topics: int, versions: int, rounds: int, *, alike: bool) -> Goal:
    """Print the comparison. Only topics with equal schemas have a goal."""
    gc.collect()
    before = resident()
    many, one = reader(topics, versions, topics, alike=alike), reader(1, versions, 1_000, alike=alike)
    batch = messages(topics, versions)
    single = [("t0", data) for _, data in batch]
    for topic in range(topics):  # bind each version once, before the clock starts
        for version in range(versions):
            name = f"t{topic}"
            keep(many, at_hand(many, name, version)[1], policy_of(many).bind(many, name, version, None))
    read_all(one, single)
    taken = (resident() - before) / (topics * versions)
    jobs = [Job(("read", ONE), partial(read_all, one, single), SLICE)]
    jobs += [Job(("read", MANY), partial(read_all, many, batch), SLICE)]
    cells = measure(jobs, rounds)
    times = cells.times(("read", MANY), ("read", ONE))
    kind = "equal schemas" if alike else "different schemas"
    print(
        f"{topics:,} topics of {versions} versions, {kind}: {cells['read', MANY].ns:,.0f} ns a message, "
        f"one topic {cells['read', ONE].ns:,.0f} ns: {times:.2f}x; {taken:,.0f} bytes per cached version"
    )
    return Goal(f"{topics:,} topics, {kind}: <= {MOST}x", times, MOST, most=True)


def bounded(topics: int, versions: int) -> Goal:
    """A cache with the capacity of a tenth of the topics keeps no more than that after all topics were read."""
    capacity = topics // 10
    few = reader(topics, versions, capacity, alike=True)
    kept = len(policy_of(few).binding.learnt(f"t{topic}" for topic in range(topics)))
    text = f"cache.capacity={capacity:,}: <= {capacity * versions:,} versions cached of {topics * versions:,}"
    return Goal(text, kept, capacity * versions, most=True, form="{:,}")


def main() -> int:
    parser = options(__doc__, 31)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--versions", type=int, default=20)
    chosen = parser.parse_args()
    pin()
    goals = [compared(chosen.topics, chosen.versions, chosen.rounds, alike=True)]
    compared(min(chosen.topics, 300), chosen.versions, chosen.rounds, alike=False)
    return judged([*goals, bounded(chosen.topics, chosen.versions)])


if __name__ == "__main__":
    sys.exit(main())
