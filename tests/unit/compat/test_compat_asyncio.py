"""Asyncio SerDes: registry requests for a topic's first message never block the event loop."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from confluent_kafka.serialization import Deserializer, MessageField, SerializationContext, Serializer
from schemas import record

from streamnative_serdes._topics import binding as binding_module
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.compat import AsyncSchemaRegistryClient, Schema, SchemaReference, SchemaRegistryClient
from streamnative_serdes.compat.avro import (
    AsyncAvroDeserializer,
    AsyncAvroSerializer,
    AvroDeserializer,
    AvroSerializer,
)
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, SchemaRegistryError, SerdesError
from streamnative_serdes.testing import Fault, LocalRegistry

USER = json.dumps(record("User", ("name", "string")))
ADA = {"name": "Ada"}
CTX = SerializationContext("users", MessageField.VALUE)
TICKS = 50


async def answered_while_the_loop_runs(registry: LocalRegistry, question: Callable[[], Awaitable[Any]]) -> Any:
    """Return the result of ``question``; the registry responds only after TICKS iterations of the event loop."""
    gate, busy = threading.Event(), Fault.status(503).answer
    assert busy is not None

    def held(request: Any, url: str) -> Any:
        gate.wait(60)
        return busy(request, url)  # retried

    registry.reset_calls()
    registry.fail(Fault(answer=held))
    asked = asyncio.ensure_future(question())  # type: ignore[arg-type]
    while not (registry.calls.total() or asked.done()):
        await asyncio.sleep(0.001)
    for _ in range(TICKS):
        await asyncio.sleep(0)
    assert not asked.done()
    gate.set()
    return await asked


async def opened(registry: LocalRegistry) -> tuple[AsyncAvroSerializer, AsyncAvroDeserializer]:
    client = AsyncSchemaRegistryClient({"url": registry.url, "retries.wait.ms": 1})
    return await AsyncAvroSerializer(client, USER), await AsyncAvroDeserializer(client, USER)


def test_objects_are_read_back_equal(registry: LocalRegistry) -> None:
    async def run() -> Any:
        serializer, deserializer = await opened(registry)
        assert isinstance(serializer, Serializer)
        assert isinstance(deserializer, Deserializer)
        assert await serializer(None, CTX) is None
        assert await deserializer(None, CTX) is None
        messages = await asyncio.gather(*(serializer({"name": str(n)}, CTX) for n in range(64)))
        return await asyncio.gather(*(deserializer(message, CTX) for message in messages))

    assert asyncio.run(run()) == [{"name": str(n)} for n in range(64)]
    assert registry.calls == {"POST schema": 1, "GET version": 1}


def test_arguments_are_in_confluents_order(registry: LocalRegistry) -> None:
    async def run() -> Any:
        client = AsyncSchemaRegistryClient({"url": registry.url})
        calls: list[str] = []

        def to_dict(user: str, ctx: SerializationContext) -> Any:
            calls.append(user)
            return {"name": f"{user} of {ctx.topic}"}

        serializer = await AsyncAvroSerializer(client, USER, to_dict, {}, None, None)
        deserializer = await AsyncAvroDeserializer(client, USER, lambda u, ctx: (u, ctx.topic), False, {}, None, None)
        message = await serializer("Ada", CTX)
        assert calls == ["Ada"]  # called once, even though the registry had to be asked
        return await deserializer(message, CTX)

    assert asyncio.run(run()) == ({"name": "Ada of users"}, "users")


def test_versions_count_as_in_the_blocking_twin(registry: LocalRegistry) -> None:
    async def run() -> None:
        async with AsyncSchemaRegistryClient({"url": registry.url}) as client:
            assert await client.register_schema("users", Schema(USER)) == 0
            made = await client.register_schema_full_response("users", Schema(USER))
            assert (made.version, made.schema_id) == (1, 0)
            assert made == await client.get_version("users", 1) == await client.get_latest_version("users")
            assert made == await client.lookup_schema("users", Schema(USER))
            assert await client.get_schema(0, "users") == made.schema
            for version, words in ((0, "expected a version from 1 on"), (2, "schema version 2: ")):
                with pytest.raises(SchemaRegistryError, match=words):
                    await client.get_version("users", version)
            assert await client.get_versions("users") == await client.delete_subject("users") == [1]

    asyncio.run(run())


def test_the_loop_runs_on_while_the_registry_is_asked(registry: LocalRegistry) -> None:
    async def run() -> Any:
        serializer, deserializer = await opened(registry)
        message = await answered_while_the_loop_runs(registry, lambda: serializer(ADA, CTX))
        return await answered_while_the_loop_runs(registry, lambda: deserializer(message, CTX))

    assert asyncio.run(run()) == ADA


def test_the_loop_keeps_running_while_references_are_fetched_and_subjects_computed(registry: LocalRegistry) -> None:
    async def run() -> Any:
        client = AsyncSchemaRegistryClient({"url": registry.url, "retries.wait.ms": 1})
        await answered_while_the_loop_runs(registry, lambda: client.register_schema("users", Schema(USER)))
        top = Schema(json.dumps(record("Top", ("user", "User"))), "AVRO", [SchemaReference("User", "users", 1)])
        serializer = await answered_while_the_loop_runs(registry, lambda: make(client, top))
        return await serializer({"user": ADA}, SerializationContext("tops", MessageField.VALUE))

    async def make(client: AsyncSchemaRegistryClient, schema: Schema) -> AsyncAvroSerializer:
        return await AsyncAvroSerializer(client, schema)

    assert asyncio.run(run()) == b"\x03\x04" + bytes(8) + b"\x06Ada"


def test_the_loop_keeps_running_while_an_unreadable_message_is_handled(registry: LocalRegistry) -> None:
    async def run() -> None:
        serializer, deserializer = await opened(registry)
        message = await serializer(ADA, CTX)
        assert message is not None
        assert await deserializer(message, CTX) == ADA
        unknown = message[:9] + b"\x07" + message[10:]  # version 7
        assert await answered_while_the_loop_runs(registry, lambda: deserializer(unknown, CTX)) == ADA
        with pytest.raises(DecodeError):
            await deserializer(message[:-1], CTX)

    asyncio.run(run())


def test_a_topic_is_checked_off_the_loop_after_an_unreadable_message(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version is known, so only the recovery asks the registry."""
    looks, look = [], Binding.doubt

    def noted(binding: Binding, topic: str) -> None:
        looks.append(threading.current_thread() is threading.main_thread())
        look(binding, topic)

    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    monkeypatch.setattr(Binding, "doubt", noted)

    async def run() -> None:
        serializer, deserializer = await opened(registry)
        message = await serializer(ADA, CTX)
        assert message is not None
        assert await deserializer(message, CTX) == ADA
        registry.reset_calls()
        with pytest.raises(DecodeError, match="topic users, schema version 0, field name, byte 11: "):
            await deserializer(message[:-1], CTX)

    asyncio.run(run())
    assert looks == [False]
    assert registry.calls == {"GET schema": 1}


def test_a_hit_is_computed_without_waiting(registry: LocalRegistry) -> None:
    async def run() -> None:
        serializer, deserializer = await opened(registry)
        message = await serializer(ADA, CTX)
        await deserializer(message, CTX)
        assert message is not None
        messages = message, bytearray(message), memoryview(message)
        for coroutine in (serializer(ADA, CTX), *(deserializer(each, CTX) for each in messages)):
            with pytest.raises(StopIteration):
                coroutine.send(None)  # it ends without an await

    asyncio.run(run())


def test_errors_equal_those_of_the_blocking_classes(registry: LocalRegistry) -> None:
    async def run() -> None:
        client = AsyncSchemaRegistryClient({"url": registry.url})
        serializer = await AsyncAvroSerializer(client, USER)
        for _ in range(2):  # before and after the registry is asked
            with pytest.raises(EncodeError, match="topic users, schema version 0, field name"):
                await serializer({"name": 5}, CTX)
        nothing = await AsyncAvroSerializer(client, USER, lambda obj, ctx: None)
        with pytest.raises(EncodeError):  # not a tombstone
            await nothing(ADA, CTX)
        with pytest.raises(ConfigError, match="cannot enable both"):
            await AsyncAvroSerializer(client, USER, conf={"use.latest.version": True})
        with pytest.raises(SchemaRegistryError, match="cannot list"):
            await client.get_subjects()
        with pytest.raises(ConfigError, match=r"was not awaited \(hint: await AsyncAvroSerializer"):
            await AsyncAvroSerializer(client, USER)(ADA, CTX)
        with pytest.raises(ConfigError, match=r"expected an AsyncSchemaRegistryClient, got .*compat.client"):
            AsyncAvroSerializer(SchemaRegistryClient({"url": registry.url}), USER)  # type: ignore[arg-type]

    asyncio.run(run())


@pytest.mark.parametrize("context", [None, "users", SerializationContext(5, "value")])  # type: ignore[arg-type]
def test_a_context_without_a_topic_is_the_same_error_as_of_the_blocking_classes(
    registry: LocalRegistry, context: Any
) -> None:
    def convert(*_: object) -> Any:
        raise AssertionError

    async def run() -> None:
        client = AsyncSchemaRegistryClient({"url": registry.url})
        serializer = await AsyncAvroSerializer(client, USER, convert)
        deserializer = await AsyncAvroDeserializer(client, USER, convert)
        blocking = AvroSerializer(client.blocking, USER, convert), AvroDeserializer(client.blocking, USER, convert)
        for asynchronous, twin, data in ((serializer, blocking[0], ADA), (deserializer, blocking[1], b"\6Ada")):
            with pytest.raises(SerdesError) as expected:
                twin(data, context)  # type: ignore[operator]
            with pytest.raises(SerdesError) as caught:
                await asynchronous(data, context)  # type: ignore[operator]
            assert (type(caught.value), str(caught.value)) == (type(expected.value), str(expected.value))

    asyncio.run(run())


@pytest.mark.promise("pickles")
def test_both_can_be_pickled_and_work_in_another_loop(registry: LocalRegistry) -> None:
    async def there(pair: tuple[AsyncAvroSerializer, AsyncAvroDeserializer]) -> Any:
        serializer, deserializer = pair
        read = await deserializer(await serializer(ADA, CTX), CTX)
        await serializer.aclose()
        return read

    pair = asyncio.run(opened(registry))
    assert asyncio.run(there(pair)) == ADA
    registry.reset_calls()
    assert asyncio.run(there(pickle.loads(pickle.dumps(pair)))) == ADA
    assert registry.calls.total() == 0
