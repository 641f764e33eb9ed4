"""Threads share a SerDes: counts add up, configure() reaches all of them, and a SerDes ends with its last user.

Without a GIL each thread works with a replica of the SerDes (ext/streamnative_serdes/threads.h).
"""

from __future__ import annotations

import gc
import json
import sysconfig
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from waiting import elsewhere, together

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KeyValueSchema, header
from streamnative_serdes._call_path import twin_of
from streamnative_serdes._serdes import Serializer
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

FIELD = {"name": "n", "type": "long"}
SCHEMA = json.dumps({"type": "record", "name": "Row", "fields": [FIELD]})
OLDER = json.dumps({"type": "record", "name": "Row", "fields": [FIELD, {"name": "m", "type": "long", "default": 0}]})
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
free_threaded = pytest.mark.skipif(not FREE_THREADED, reason="this Python has a GIL, so there are no replicas")


def test_the_counts_of_all_threads_add_up_those_of_ended_threads_too(conf: dict[str, Any]) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf, SCHEMA), KafkaAvroDeserializer(conf)

    def work(number: int) -> None:
        for n in range(200):
            message = serializer.serialize(f"topic-{number % 3}", {"n": n})
            assert deserializer.deserialize(f"topic-{number % 3}", message) == {"n": n}

    for _ in range(3):
        together(4, work)
    assert serializer.stats()["messages"] == deserializer.stats()["messages"] == 3 * 4 * 200
    assert serializer.stats()["errors"] == deserializer.stats()["errors"] == 0


def test_configure_reaches_a_thread_that_has_used_the_serdes_before(conf: dict[str, Any]) -> None:
    with LocalRegistry() as other, ThreadPoolExecutor(1) as thread:
        elsewhere_conf = {"schema.registry.url": other.url}
        for schema in (OLDER, SCHEMA):
            KafkaAvroSerializer(elsewhere_conf, schema).serialize("topic", {"n": 1})
        serializer = KafkaAvroSerializer(conf, SCHEMA)
        assert header.read(thread.submit(serializer.serialize, "topic", {"n": 1}).result()) == 0
        serializer.configure(elsewhere_conf)
        assert header.read(thread.submit(serializer.serialize, "topic", {"n": 1}).result()) == 1
        assert serializer.stats()["messages"] == serializer.stats()["misses"] == 2


@pytest.mark.parametrize("own_thread", [False, True])
def test_what_a_registry_changes_reaches_keys_too(conf: dict[str, Any], own_thread: bool) -> None:
    """The SerDes for keys is a user of the binding by itself, which lets it look up its topics again."""
    pair = KeyValueSchema("string", "string", "SEPARATED")
    serializer, deserializer = KafkaAvroSerializer(conf, pair), KafkaAvroDeserializer(conf)
    key = SerializationContext("topic", MessageField.KEY)
    serializer("v", SerializationContext("topic", MessageField.VALUE))
    data = serializer("k", key)
    with ThreadPoolExecutor(1) as thread:

        def misses() -> int:
            read = thread.submit(deserializer, data, key).result if own_thread else (lambda: deserializer(data, key))
            assert read() == "k"
            return deserializer.stats()["misses"]

        first = misses()
        assert misses() == misses() == first
        twin = twin_of(deserializer)
        assert twin is not None
        twin.rebind()
        assert misses() == misses() == first + 1


def test_a_serdes_is_freed_while_a_thread_lives_that_has_used_it(conf: dict[str, Any]) -> None:
    with ThreadPoolExecutor(1) as thread:
        serializer = KafkaAvroSerializer(conf, SCHEMA, lambda row, _ctx: row)
        thread.submit(serializer.serialize, "topic", {"n": 1}).result()
        thread.submit(int).result()  # lets go of the call before
        end, convert = weakref.ref(serializer), weakref.ref(serializer._given.convert)
        del serializer
        gc.collect()
        assert end() is None
        assert convert() is None


def test_a_thread_uses_many_serdes_one_after_the_other(conf: dict[str, Any]) -> None:
    kept = []
    for number in range(100):
        serializer = KafkaAvroSerializer(conf, SCHEMA)
        assert serializer.serialize("topic", {"n": number})
        kept += [serializer] if number % 10 == 0 else []
    for serializer in kept:
        assert serializer.serialize("topic", {"n": 1})
        assert serializer.stats()["messages"] == 2


@free_threaded
def test_a_thread_takes_over_the_replica_of_one_that_has_ended(conf: dict[str, Any]) -> None:
    serializer = KafkaAvroSerializer(conf, SCHEMA)
    gc.collect()
    before = replicas()
    for n in range(20):
        elsewhere(lambda n=n: serializer.serialize("topic", {"n": n}))  # type: ignore[misc]
    assert replicas() - before <= 2
    assert serializer.stats()["messages"] == 20


def replicas() -> int:
    return sum(type(each) is Serializer for each in gc.get_objects())


@free_threaded
def test_threads_at_one_time_have_a_replica_each(conf: dict[str, Any]) -> None:
    serializer = KafkaAvroSerializer(conf, SCHEMA)
    gc.collect()
    before, ready = replicas(), threading.Barrier(4)

    def work(number: int) -> int:
        serializer.serialize("topic", {"n": number})
        ready.wait()
        found = replicas()
        ready.wait()
        return found

    assert {found - before for found in together(4, work)} == {4}
