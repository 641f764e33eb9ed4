"""A race: 16 threads do random jobs with one serializer and one deserializer, while others change all that can change.

What must hold, whatever happens at once:

- every message decodes to what was written, in rows and in batches, by the schema of its own topic;
- each question of the topics ``new-*`` reaches the registry once, however many threads ask at the same time;
- no job raises anything but what it declares, and none hangs;
- after joining, the counters add up to the calls and the errors of all threads.

Objects that another thread changes meanwhile are written as they were at some moment of each of their parts.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import pickle
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import requests
import waiting
from schemas import array, mapping, record

from streamnative_serdes import (
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    SchemaRegistryError,
    SerdesError,
)
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import Fault, LocalRegistry

THREADS: Final = 16
TOPICS: Final = 50
RECREATED: Final = 4  # topics beside these, which are deleted and made again
FIELDS: Final[list[tuple[str, Any]]] = [
    *(("id", "long"), ("text", "string"), ("flag", "boolean"), ("ratio", "double"), ("raw", "bytes")),
    *(("tags", mapping("long")), ("items", array("long"))),
]
BURST: Final = 10  # times that a job repeats what is fast
HOT: Final = ["hot-0", "hot-1", "hot-2"] * (BURST * 20)
LATER: Final = 5  # fields that later versions add
STALE_SECONDS: Final = float(os.environ.get("RACE_STALE_SECONDS", "60"))  # without a step of a thread
FAULTS: Final = (
    Fault.status(503),
    Fault.status(500),
    Fault.cut(),
    Fault.cut("body"),
    Fault.delay(0.01),
    Fault.garbage(),
)
AWAY: Final = (SchemaRegistryError, requests.RequestException)  # after faults
NEW: Final = record("New", ("id", "long"))
KEY: Final = record("Key", ("number", "long"))  # of bare keys, which no registry knows
KINDS: Final = ((MessageField.KEY, "number"), (MessageField.VALUE, "id"))
# Never freed: without the GIL, CPython 3.13 may miscount the users of a bytearray that threads share.
_shared_bytes: Final[list[bytearray]] = []


class RaceError(AssertionError):
    """Something did not hold; the cause says what."""


def schema_of(topic: int, version: int) -> Any:
    """The schema of a topic: the fields in an order of its own, and after them one more for each version."""
    turn = topic % len(FIELDS)
    later = [(f"later{number}", "long", number) for number in range(version)]
    return record(f"T{topic}", *FIELDS[turn:], *FIELDS[:turn], *later)


def era_of(number: int) -> Any:
    """The schema of a recreated topic; data of one era cannot be read as another: it is too long, or too short."""
    return record("Era", *((f"text{at}", "string") for at in range(number + 1)))


def datum(random: Random) -> dict[str, Any]:
    """Data of all topics and versions."""
    number = random.getrandbits(40)
    small = [random.randrange(10) for _ in range(random.randrange(5))]
    return {
        "id": number,
        "text": f"text {number}",
        "flag": number % 2 == 0,
        "ratio": number / 2,
        "raw": b"%d" % number,
        "tags": {f"k{each}": each for each in small},
        "items": small,
        **{f"later{at}": number + at for at in range(LATER)},
    }


@dataclass
class Tally:
    """The calls of one thread, and what it is doing."""

    random: Random
    written: int = 0
    read: int = 0
    write_errors: int = 0
    read_errors: int = 0
    hits: int = 0
    jobs: Counter[str] = field(default_factory=Counter)
    doing: str = ""
    since: float = field(default_factory=time.monotonic)


class Race:
    """One race; the arguments replace what it is about, to plant a race that it has to find."""

    def __init__(
        self, registry: LocalRegistry, calm: LocalRegistry, confluent: str, serializer: type[KafkaAvroSerializer]
    ) -> None:
        """``registry`` has faults, and ``calm`` and that of Confluent, at its URL, have none."""
        retries = {
            "retries.wait.ms": 1,
            "retries.max.wait.ms": 10,
            "retries.total.ms": 5_000,
            "retries.first.ms": 5_000,
        }
        times = {"cache.latest.ttl.sec": 0.2, "cache.missing.ttl.sec": 0.05, "cache.capacity": 20}
        self.registry, self.calm = registry, calm
        self.conf: dict[str, Any] = {"schema.registry.url": registry.url, **retries, **times}
        self.serializer, self.deserializer = serializer(self.conf), KafkaAvroDeserializer(self.conf)
        calm_conf = {"schema.registry.url": calm.url, "cache.latest.ttl.sec": 86_400}  # nor does the watch ask again
        self.new_serializer, self.new_deserializer = serializer(calm_conf, NEW), KafkaAvroDeserializer(calm_conf)
        self.hot = serializer(calm_conf, NEW), KafkaAvroDeserializer(calm_conf)
        second = {**calm_conf, "confluent.schema.registry.url": confluent}
        self.old = serializer({**second, "framing": "confluent"}, NEW)
        both = {"key.schema": KEY, "framings": "snip42,confluent,headerless"}
        self.both = serializer({**calm_conf, "key.schema": KEY}, NEW), KafkaAvroDeserializer({**second, **both})
        self._tickets = itertools.count()
        self._shared = datum(Random(0))
        raw, buffer = bytearray(b"aaaa"), bytearray()
        _shared_bytes.extend((raw, buffer))
        self._shared["raw"] = raw
        for topic in range(TOPICS):
            self._evolve_to(topic, 0)
        for topic in range(RECREATED):
            self._recreate_as(topic, 0)
        self._buffer, self._messages = buffer, [self._message_with(letter * 20) for letter in "ab"]
        buffer.extend(self._messages[0])
        self._jobs: tuple[Callable[[Tally], None], ...] = (
            *(self.rows, self.rows, self.rows, self.batch, self.bad_object, self.first_messages),
            *(self.evolve, self.recreate, self.recreated_row, self.fault, self.configure, self.close, self.pickle),
            *(self.stats, self.keys_and_framings),
        )
        self._storm: tuple[Callable[[Tally], None], ...] = (
            *(self.hits, self.rebind, self.rebind, self.rows, self.keys_and_framings),
            *(self.change_object, self.changing_object, self.change_buffer, self.changing_buffer, self.close),
        )

    def _message_with(self, text: str) -> bytes:
        message = self.serializer.serialize("topic-0", {**datum(Random(0)), "text": text})
        assert message is not None
        return message

    # The race itself

    def run(self, seconds: float) -> Counter[str]:
        """How often each job was done. Raises RaceError as soon as something does not hold."""
        before = self.serializer.stats()["messages"], self.serializer.stats()["errors"]
        failures: list[tuple[str, BaseException]] = []
        stop, begin = threading.Event(), threading.Barrier(THREADS)
        tallies = [Tally(Random(number)) for number in range(THREADS)]

        def work(tally: Tally) -> None:
            begin.wait(waiting.HANG_SECONDS)
            try:
                while not stop.is_set():
                    tally.since = time.monotonic()
                    job = tally.random.choice(self._jobs_at(tally.since % 1.0))
                    tally.doing = job.__name__
                    job(tally)
                    tally.jobs[job.__name__] += 1
            except BaseException as error:  # noqa: BLE001 - raised again by the main thread
                failures.append((tally.doing, error))
                stop.set()

        with waiting.busy_switching():
            threads = [threading.Thread(target=work, args=(tally,), daemon=True) for tally in tallies]
            for thread in threads:
                thread.start()
            self._watch(tallies, stop, time.monotonic() + seconds)
            for thread in threads:
                thread.join(STALE_SECONDS)
        for doing, error in failures:
            raise RaceError(f"{doing}: {type(error).__name__}: {error}") from error
        self._refuse_hanging(tallies, any(thread.is_alive() for thread in threads))
        self._add_up(tallies, *before)
        return sum((tally.jobs for tally in tallies), Counter())

    def _jobs_at(self, part: float) -> tuple[Callable[[Tally], None], ...]:
        """The jobs in a part of each second: first all do what takes microseconds, since others wait or compile."""
        return (self.hits,) * 7 + (self.rebind,) if part < 0.4 else self._storm if part < 0.7 else self._jobs

    def _watch(self, tallies: list[Tally], stop: threading.Event, until: float) -> None:
        while time.monotonic() < until and not stop.wait(0.1):
            self._refuse_hanging(tallies, time.monotonic() - min(tally.since for tally in tallies) > STALE_SECONDS)
            if self._asked_again():
                break
        stop.set()

    def _refuse_hanging(self, tallies: list[Tally], hangs: bool) -> None:
        if hangs:
            faulthandler.dump_traceback(sys.__stderr__)
            raise RaceError(f"a thread hangs: they do {[tally.doing for tally in tallies]}")

    def _add_up(self, tallies: list[Tally], messages: int, errors: int) -> None:
        written, read = self.serializer.stats(), self.deserializer.stats()
        held = {
            "written": (written["messages"] - messages, sum(tally.written for tally in tallies)),
            "errors of writing": (written["errors"] - errors, sum(tally.write_errors for tally in tallies)),
            "read": (read["messages"], sum(tally.read for tally in tallies)),
            "errors of reading": (read["errors"], sum(tally.read_errors for tally in tallies)),
        }
        hits = sum(tally.hits for tally in tallies)
        held |= {f"hits of {type(each).__name__}": (each.stats()["messages"], hits) for each in self.hot}
        wrong = {name: f"{counted} counted, {done} done" for name, (counted, done) in held.items() if counted != done}
        wrong |= self._asked_again()
        if wrong:
            raise RaceError(str(wrong))

    def _asked_again(self) -> dict[str, str]:
        """The questions of the topics ``new-*`` that were asked more than once."""
        asked = Counter(f"{line.method} {line.path}" for line in self.calm.requests if "/new-" in line.path)
        return {question: f"asked {times} times" for question, times in asked.items() if times > 1}

    # Rows and batches

    def rows(self, tally: Tally) -> None:
        """Messages of a few topics in turn: most of them are hits."""
        topics = [f"topic-{tally.random.randrange(TOPICS)}" for _ in range(3)]
        for topic in topics * BURST:
            value = datum(tally.random)
            message = self._written(tally, topic, value)
            found = None if message is None else self._read(tally, topic, message)
            if found is not None:
                _require_equal(found, value)

    def _written(self, tally: Tally, topic: str, value: Any) -> bytes | None:
        """The message; None if the registry is away."""
        tally.written, tally.since = tally.written + 1, time.monotonic()
        try:
            if tally.random.random() < 0.5:
                return self.serializer.serialize(topic, value)
            return self.serializer(value, SerializationContext(topic, MessageField.VALUE))
        except SchemaRegistryError:
            tally.write_errors += 1
            return None

    def _read(self, tally: Tally, topic: str, message: Any) -> Any:
        tally.read, tally.since = tally.read + 1, time.monotonic()
        try:
            return self.deserializer.deserialize(topic, message)
        except SchemaRegistryError:
            tally.read_errors += 1
            return None

    def hits(self, tally: Tally) -> None:
        """Messages of three topics, without a request after the first ones."""
        serialize, deserialize = self.hot[0].serialize, self.hot[1].deserialize
        value = {"id": tally.random.getrandbits(40)}
        for topic in HOT:
            found = deserialize(topic, serialize(topic, value))
            assert found == value, (found, value)
        tally.hits += len(HOT)

    def rebind(self, tally: Tally) -> None:
        """What is bound is made again, as after news about a topic, and freed while others work with it."""
        tally.random.choice((*self.hot, *self.both, self.old)).rebind()

    def keys_and_framings(self, tally: Tally) -> None:
        """One serializer and one deserializer for keys and values of a topic, whose values have two framings."""
        serializer, deserializer = self.both
        for kind, name in KINDS * BURST:
            context, value = SerializationContext("both", kind), {name: tally.random.getrandbits(40)}
            found = deserializer(serializer(value, context), context)
            assert found == value, (found, value)
        assert deserializer(self.old(value, context), context) == value

    def batch(self, tally: Tally) -> None:
        import pyarrow as pa

        rows, topic = [datum(tally.random) for _ in range(5)], f"topic-{tally.random.randrange(TOPICS)}"
        kinds = {"id": pa.int64(), "text": pa.string(), "flag": pa.bool_(), "ratio": pa.float64(), "raw": pa.binary()}
        kinds |= {"tags": pa.map_(pa.string(), pa.int64()), "items": pa.list_(pa.int64())}
        kinds |= {f"later{at}": pa.int64() for at in range(LATER)}
        try:
            messages = self.serializer.serialize_batch(topic, pa.RecordBatch.from_pylist(rows, pa.schema(kinds)))
        except SchemaRegistryError:
            tally.write_errors += 1
            return
        tally.written += len(rows)
        try:
            found = self.deserializer.deserialize_batch(topic, messages)
        except SchemaRegistryError:
            tally.read_errors += 1
            return
        tally.read += len(rows)
        for each, value in zip(found.to_pylist(), rows, strict=True):
            # A batch is read by the topic's latest schema, which may have fields that were not written.
            default = {f"later{at}": {value[f"later{at}"], at} for at in range(LATER)}
            assert all(each.pop(name) in allowed for name, allowed in default.items() if name in each), each
            _require_equal({**each, "tags": dict(each["tags"])}, value)

    def bad_object(self, tally: Tally) -> None:
        value, topic = {**datum(tally.random), "id": "no number"}, f"topic-{tally.random.randrange(TOPICS)}"
        tally.written += 1
        tally.write_errors += 1
        try:
            self.serializer.serialize(topic, value)
        except EncodeError as error:
            assert (error.topic, error.path) == (topic, "id"), error
        except SchemaRegistryError:
            pass
        else:
            raise AssertionError("text was written as a number")

    def first_messages(self, tally: Tally) -> None:
        """Four new threads write and read the first messages of a topic at once, and end."""
        topic = f"new-{next(self._tickets)}"

        def first(number: int) -> Any:
            message = self.new_serializer.serialize(topic, {"id": number})
            return self.new_deserializer.deserialize(topic, message)

        found = waiting.together(4, first)
        assert found == [{"id": number} for number in range(4)], found

    # What changes meanwhile

    def _evolve_to(self, topic: int, version: int) -> None:
        with KafkaAvroSerializer(self.conf, schema_of(topic, version)) as one:
            one.warm_up(f"topic-{topic}")

    def evolve(self, tally: Tally) -> None:
        with suppress(*AWAY):
            self._evolve_to(tally.random.randrange(TOPICS), tally.random.randrange(LATER + 1))

    def _recreate_as(self, topic: int, era: int) -> None:
        url = f"{self.registry.url}/admin/v2/schemas/public/default/recreated-{topic}/schema?force=true"
        requests.delete(url, timeout=10)
        with KafkaAvroSerializer(self.conf, era_of(era)) as one:
            one.warm_up(f"recreated-{topic}")

    def recreate(self, tally: Tally) -> None:
        with suppress(*AWAY):
            self._recreate_as(tally.random.randrange(RECREATED), tally.random.randrange(5))

    def recreated_row(self, tally: Tally) -> None:
        topic = f"recreated-{tally.random.randrange(RECREATED)}"
        value = {f"text{at}": f"{tally.random.random()}" for at in range(5)}
        message = self._written(tally, topic, value)
        if message is None:
            return
        try:
            found = self._read(tally, topic, message)
        except SerdesError:  # it was recreated in between
            tally.read_errors += 1
            return
        if found is not None:
            assert found == {name: value[name] for name in found}, (found, value)

    def fault(self, tally: Tally) -> None:
        self.registry.fail(tally.random.choice(FAULTS), tally.random.randrange(1, 3))

    def configure(self, tally: Tally) -> None:
        serdes: Any = tally.random.choice((self.serializer, self.deserializer))
        serdes.configure({**self.conf, "max.depth": tally.random.randrange(100, 200)})

    def close(self, tally: Tally) -> None:
        shared = (self.serializer, self.deserializer, self.new_serializer, self.new_deserializer, *self.both, self.old)
        tally.random.choice(shared).close()

    def pickle(self, tally: Tally) -> None:
        value, topic = datum(tally.random), f"topic-{tally.random.randrange(TOPICS)}"
        serializer, deserializer = pickle.loads(pickle.dumps((self.serializer, self.deserializer)))
        with serializer, deserializer, suppress(*AWAY):
            _require_equal(deserializer.deserialize(topic, serializer.serialize(topic, value)), value)

    def change_object(self, tally: Tally) -> None:
        for _ in range(BURST * 10):
            self._change_object(tally)

    def _change_object(self, tally: Tally) -> None:
        tags, items, number = self._shared["tags"], self._shared["items"], tally.random.randrange(10)
        change = tally.random.randrange(6)
        if change == 0:
            tags[f"k{number}"] = number
        elif change == 1:
            tags.pop(f"k{number}", None)
        elif change == 2:
            items.append(number)
        elif change == 3:
            items[:] = items[number:]
        elif change == 4:
            self._shared["raw"][number % 4] = b"ab"[number % 2]
        else:
            self._shared[f"more{number}"] = self._shared.pop(f"more{9 - number}", None)

    def changing_object(self, tally: Tally) -> None:
        topic = f"topic-{tally.random.randrange(TOPICS)}"
        for _ in range(BURST):
            self._write_changing(tally, topic)

    def _write_changing(self, tally: Tally, topic: str) -> None:
        try:
            message = self._written(tally, topic, self._shared)
        except EncodeError:  # it says that the object has changed
            tally.write_errors += 1
            return
        found = None if message is None else self._read(tally, topic, message)
        if found is not None:
            tags, items, raw = found.pop("tags"), found.pop("items"), found.pop("raw")
            assert all(name == f"k{value}" for name, value in tags.items()), tags
            assert set(items) <= set(range(10)), items
            assert (len(raw), set(raw) - set(b"ab")) == (4, set()), raw
            assert found == {name: self._shared[name] for name in found}, found

    def change_buffer(self, tally: Tally) -> None:
        for _ in range(BURST * 10):
            self._buffer[:] = tally.random.choice(self._messages)

    def changing_buffer(self, tally: Tally) -> None:
        for _ in range(BURST):
            found = self._read(tally, "topic-0", self._buffer)
            if found is not None:
                assert (len(found["text"]), set(found["text"]) - set("ab")) == (20, set()), found["text"]

    def stats(self, tally: Tally) -> None:
        found = self.serializer.stats() | self.deserializer.stats()
        assert min(found.values()) >= 0, found


def _require_equal(found: dict[str, Any], value: dict[str, Any]) -> None:
    """What was written comes back, as far as the version of the schema has it."""
    assert {name for name, _ in FIELDS} <= found.keys(), found
    assert found == {name: value[name] for name in found}, (found, value)
