"""Each question goes to the registry once per process, however many threads and instances ask."""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, SchemaRegistryError
from streamnative_serdes.testing import Fault, LocalRegistry

USER = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB = {"name": "bob"}
FRAMED = b"\x03\x04" + bytes(8) + b"\x06bob"
THREADS = 8


def conf(registry: LocalRegistry, **more: Any) -> dict[str, Any]:
    return {"schema.registry.url": registry.url, **more}


def together(work: Callable[[], Any]) -> list[Any]:
    """What ``work`` gives, or raises, in threads that all start at once."""
    start, results = threading.Barrier(THREADS), []

    def run() -> None:
        start.wait()
        try:
            results.append(work())
        except SchemaRegistryError as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_eight_threads_on_one_cold_serializer_make_one_post(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    registry.fail(Fault.delay(0.2))
    assert together(lambda: serializer.serialize("users", BOB)) == [FRAMED] * THREADS
    assert registry.calls == {"POST schema": 1}


def test_eight_serializers_in_eight_threads_make_one_post(registry: LocalRegistry) -> None:
    registry.fail(Fault.delay(0.2))
    work = lambda: KafkaAvroSerializer(conf(registry), USER).serialize("users", BOB)  # noqa: E731
    assert together(work) == [FRAMED] * THREADS
    assert registry.calls == {"POST schema": 1}


@pytest.mark.parametrize(("message", "call"), [(FRAMED, "GET version"), (FRAMED[10:], "GET schema")])
def test_eight_threads_on_one_cold_deserializer_make_one_get(
    registry: LocalRegistry, message: bytes, call: str
) -> None:
    KafkaAvroSerializer(conf(registry), USER).serialize("users", BOB)
    registry.reset_calls()
    registry.fail(Fault.delay(0.2))
    deserializer = KafkaAvroDeserializer(conf(registry))
    assert together(lambda: deserializer.deserialize("users", message)) == [BOB] * THREADS
    assert registry.calls == {call: 1}


def test_all_waiting_threads_get_the_error_and_the_next_call_asks_again(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    registry.fail(Fault.delay(0.2))
    registry.fail(Fault.status(403))
    errors = together(lambda: serializer.serialize("users", BOB))
    assert {getattr(error, "status", None) for error in errors if isinstance(error, Exception)} <= {403}
    assert serializer.serialize("users", BOB) == FRAMED


def test_what_the_registry_said_last_holds_while_it_cannot_be_asked(
    registry: LocalRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"cache.latest.ttl.sec": 0, "retries.total.ms": 1000}
    KafkaAvroSerializer(conf(registry), USER).serialize("users", BOB)
    deserializer = KafkaAvroDeserializer(conf(registry, **options))
    assert deserializer.deserialize("users", FRAMED[10:]) == BOB
    registry.close()
    assert deserializer.deserialize("users", FRAMED[10:]) == BOB
    assert "keeps schema version 0 as its latest" in caplog.text


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_child_forked_while_a_question_is_under_way_asks_for_itself(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    registry.fail(Fault.delay(1.0))
    asking = threading.Thread(target=serializer.serialize, args=("users", BOB))
    asking.start()
    while not registry.calls:
        time.sleep(0.01)
    child = os.fork()
    if child == 0:
        os._exit(0 if serializer.serialize("users", BOB) == FRAMED else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    asking.join()
