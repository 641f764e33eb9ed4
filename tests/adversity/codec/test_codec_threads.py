"""Eight threads that share a codec, or a serializer and a deserializer, never get each other's values or errors.

With a GIL, threads switch where Python code runs in the middle of a message: in properties, ``__index__`` and ``get``
of the objects, when UUIDs have unusual forms, and when errors are created. Without one, they run at the same time.
"""

from __future__ import annotations

import uuid
from collections import UserDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from waiting import busy_switching, together

from streamnative_serdes import DecodeError, EncodeError, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

THREADS = 8
TREE: dict[str, Any] = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "words", "type": {"type": "map", "values": "string"}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "kids", "type": {"type": "array", "items": "Tree"}},
        {"name": "either", "type": ["null", "double", "string", {"type": "array", "items": "int"}]},
    ],
}
CHANGING: dict[str, Any] = {
    "type": "record",
    "name": "Changing",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "list", "type": {"type": "array", "items": "string"}},
        {"name": "map", "type": {"type": "map", "values": "long"}},
    ],
}
READER: dict[str, Any] = {
    **TREE,
    "fields": [
        {"name": "added", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
        *TREE["fields"][2:],
        {"name": "number", "type": "double"},
    ],
}


class Number:
    """A long whose value is computed by Python code."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return sum([self.value])


@pytest.fixture(autouse=True)
def _busy_switching() -> Iterator[None]:
    with busy_switching():
        yield


def in_threads(work: Callable[[Random], None], times: int) -> None:
    """Call ``work`` repeatedly in all threads at once; fails with the first of their errors."""

    def run(number: int) -> None:
        rng = Random(number)
        for _ in range(times):
            work(rng)

    together(THREADS, run)


def tree(rng: Random, depth: int = 2) -> dict[str, Any]:
    """Return a random datum that decodes to an equal one."""
    return {
        "number": rng.getrandbits(40),
        "words": {f"k{rng.randrange(99)}": f"word{rng.randrange(999)}" for _ in range(rng.randrange(4))},
        "id": uuid.UUID(int=rng.getrandbits(128)),
        "kids": [tree(rng, depth - 1) for _ in range(rng.randrange(3))] if depth else [],
        "either": rng.choice((None, 1.5, "x", [1, 2, 3])),
    }


def with_code(datum: dict[str, Any]) -> UserDict[str, Any]:
    """Wrap ``datum`` in objects that run Python code when they are read."""
    kids = [with_code(kid) for kid in datum["kids"]]
    return UserDict({**datum, "number": Number(datum["number"]), "words": UserDict(datum["words"]), "kids": kids})


def spoilt(datum: dict[str, Any], rng: Random) -> tuple[Any, str]:
    """Return ``datum`` with a value of the wrong type, and the path to it."""
    path, here = "", datum
    while here["kids"] and rng.random() < 0.7:
        at = rng.randrange(len(here["kids"]))
        path, here = f"{path}kids[{at}].", here["kids"][at]
    here["number"] = "no number"
    return with_code(datum), f"{path}number"


def refused(kind: type[Exception], work: Callable[[], object]) -> Any:
    with pytest.raises(kind) as caught:
        work()
    return caught.value


def read_by_reader(datum: dict[str, Any]) -> dict[str, Any]:
    kept = {name: datum[name] for name in ("id", "either")}
    kids = [read_by_reader(kid) for kid in datum["kids"]]
    return {"added": [1, 2], **kept, "kids": kids, "number": float(datum["number"])}


def test_threads_on_one_codec_get_their_own_values_and_errors() -> None:
    codec, resolving = Codec(TREE), Codec(TREE, READER)

    def work(rng: Random) -> None:
        datum = tree(rng)
        data = codec.encode(with_code(datum))
        assert data == codec.encode(datum)
        assert codec.decode(data) == datum
        unusual = data.replace(str(datum["id"]).encode(), b"----" + datum["id"].hex.encode())
        assert codec.decode(unusual) == datum
        assert codec.skip(data) == len(data)
        fresh = resolving.decode(data)
        assert fresh == read_by_reader(datum)
        fresh["added"].append(rng.random())
        bad, path = spoilt(datum, rng)
        assert refused(EncodeError, lambda: codec.encode(bad)).path == path
        assert refused(DecodeError, lambda: codec.decode(data[:-1])).offset <= len(data)

    in_threads(work, 300)


def test_what_other_threads_change_meanwhile_is_written_as_it_was_at_some_moment_or_refused() -> None:
    """A dict, its keys, a list and a map; and for reading, the bytes of a bytearray. Nothing crashes."""
    codec = Codec(CHANGING)
    shared: dict[str, Any] = {"number": 1, "list": ["a"], "map": {}}
    data = bytearray(codec.encode({"number": 1, "list": ["a", "b"], "map": {"a": 1}}))

    def change(rng: Random) -> None:
        shared.pop("number", None)
        shared[f"more{rng.randrange(50)}"] = [rng.random()]
        shared["list"][:] = [f"word{rng.random()}" for _ in range(rng.randrange(9))]
        shared["map"][f"key{rng.randrange(9)}"] = rng.getrandbits(60)
        if len(shared["map"]) > 5 or len(shared) > 20:
            shared["map"].clear()
            shared.clear()
            shared.update({"list": [], "map": {}})
        shared["number"] = rng.getrandbits(60)
        data[rng.randrange(len(data))] = rng.getrandbits(8)

    def work(rng: Random) -> None:
        if rng.random() < 0.5:
            with suppress(KeyError, RuntimeError):  # of Python itself, in such a free-for-all
                change(rng)
            return
        with suppress(EncodeError):
            assert codec.decode(codec.encode(shared)).keys() == {"number", "list", "map"}
        with suppress(DecodeError):
            assert codec.decode(data).keys() == {"number", "list", "map"}

    in_threads(work, 2_000)


@pytest.mark.parametrize("capacity", [1000, 2])
def test_threads_on_one_serializer_and_deserializer_get_their_own_messages(
    registry: LocalRegistry, capacity: int
) -> None:
    """Each topic has its own versions; with a small cache, threads evict the topics that others have bound."""
    conf = {"schema.registry.url": registry.url, "cache.capacity": capacity}
    topics = {f"topic-{i}": versions(registry, f"topic-{i}", i) for i in range(4)}
    serializer, deserializer = KafkaAvroSerializer(conf), KafkaAvroDeserializer(conf)

    def work(rng: Random) -> None:
        topic = rng.choice(list(topics))
        schemas = topics[topic]
        version = rng.randrange(len(schemas))
        message, datum = framed(version, schemas[version], rng)
        assert deserializer.deserialize(topic, message) == datum
        latest = framed(len(schemas) - 1, schemas[-1], rng)
        assert serializer.serialize(topic, latest[1]) == latest[0]
        error = refused(EncodeError, lambda: serializer.serialize(topic, {"wrong": 1}))
        assert (error.topic, error.version) == (topic, len(schemas) - 1)
        error = refused(DecodeError, lambda: deserializer.deserialize(topic, message + b"\0"))
        assert (error.topic, error.version) == (topic, version)

    in_threads(work, 300 if capacity > 2 else 30)


def versions(registry: LocalRegistry, topic: str, first: int) -> list[dict[str, Any]]:
    """Register three schemas in this order; the names of their fields identify topic and version."""
    fields = [{"name": f"f{first}{i}", "type": ["null", "long"], "default": None} for i in range(3)]
    fields.insert(0, {"name": "name", "type": "string"})
    schemas = [{"type": "record", "name": f"T{first}", "fields": fields[: n + 1]} for n in range(3)]
    for number, schema in enumerate(schemas):
        serializer = KafkaAvroSerializer({"schema.registry.url": registry.url}, schema)
        assert serializer.serialize(topic, {"name": "x"})[:10] == header(number)
    return schemas


def header(version: int) -> bytes:
    return b"\3\4" + version.to_bytes(8, "big")


def framed(version: int, schema: dict[str, Any], rng: Random) -> tuple[bytes, dict[str, Any]]:
    datum = {field["name"]: rng.getrandbits(30) for field in schema["fields"]}
    datum["name"] = f"name{rng.random()}"
    return header(version) + Codec(schema).encode(datum), datum
