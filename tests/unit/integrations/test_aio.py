"""integrations.aio: SerDes for asyncio clients never hold up the event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KafkaPulsarSerializer
from streamnative_serdes._call_path import policy_of
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, RegistryUnavailableError
from streamnative_serdes.integrations.aio import awaited
from streamnative_serdes.testing import LocalRegistry

SCHEMA = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
ADA = {"name": "Ada"}
CONTEXT = SerializationContext("users", MessageField.VALUE)


def test_only_the_first_message_leaves_the_loop(conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf, SCHEMA), KafkaAvroDeserializer(conf)
    left: list[Any] = []
    to_thread = asyncio.to_thread

    async def noted(function: Any, *arguments: Any) -> Any:
        left.append(function)
        return await to_thread(function, *arguments)

    monkeypatch.setattr(asyncio, "to_thread", noted)

    async def there_and_back() -> None:
        write, read = awaited(serializer), awaited(deserializer)
        for _ in range(3):
            assert await read(await write(ADA, CONTEXT), CONTEXT) == ADA

    asyncio.run(there_and_back())
    assert left == [serializer, deserializer]
    assert (serializer.stats()["messages"], deserializer.stats()["messages"]) == (3, 3)


@pytest.mark.parametrize("datum", [0, 1])
def test_a_datum_that_is_false_is_read_once(conf: dict[str, Any], datum: int) -> None:
    message = KafkaAvroSerializer(conf, '"long"').serialize("users", datum)
    deserializer = KafkaAvroDeserializer(conf)

    async def main() -> None:
        for _ in range(3):
            assert await awaited(deserializer)(message, CONTEXT) == datum

    asyncio.run(main())
    assert deserializer.stats()["messages"] == 3


@pytest.mark.promise("loop-goes-on")
def test_the_loop_goes_on_while_the_registry_is_asked(conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    serializer = KafkaAvroSerializer(conf, SCHEMA)
    policy, asked, answer = policy_of(serializer), threading.Event(), threading.Event()
    bind = policy.bind

    def slow(*arguments: Any) -> Any:
        asked.set()
        assert answer.wait(60), "the loop did not go on"
        return bind(*arguments)

    monkeypatch.setattr(policy, "bind", slow)

    async def main() -> Any:
        writing = asyncio.create_task(awaited(serializer)(ADA, CONTEXT))  # type: ignore[arg-type]
        while not asked.is_set():
            await asyncio.sleep(0)
        answer.set()
        return await writing

    assert asyncio.run(main()) == KafkaAvroSerializer(conf, SCHEMA).serialize("users", ADA)


@pytest.mark.parametrize("bad", [b"\xff", b"\3\4" + bytes(8)])
def test_errors_are_those_of_the_call(conf: dict[str, Any], bad: bytes) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf, SCHEMA), KafkaAvroDeserializer(conf)

    async def main() -> None:
        write, read = awaited(serializer), awaited(deserializer)
        for _ in range(2):
            assert await write(None, CONTEXT) is await read(None, CONTEXT) is None
            assert await write(ADA, CONTEXT)
            with pytest.raises(EncodeError, match="topic users, schema version 0, field name"):
                await write({"name": 5}, CONTEXT)
            with pytest.raises(DecodeError, match="topic users, schema version 0, field name"):
                await read(bad, CONTEXT)
            with pytest.raises(EncodeError, match="SerializationContext"):
                await write(ADA)

    asyncio.run(main())
    assert serializer.stats(by="error.type") == {"EncodeError": {"users": 2}}
    assert deserializer.stats(by="error.type") == {"DecodeError": {"users": 2}}


def test_messages_of_other_types_are_written_in_a_thread(conf: dict[str, Any]) -> None:
    async def main() -> list[Any]:
        write = awaited(KafkaPulsarSerializer(conf, "INT64"))
        return [await write(5, CONTEXT) for _ in range(2)]

    assert asyncio.run(main()) == [bytes(7) + b"\5"] * 2


def test_a_registry_that_is_away_is_an_error_of_the_message(registry: LocalRegistry, conf: dict[str, Any]) -> None:
    deserializer = KafkaAvroDeserializer({**conf, "retries.total.ms": 1})
    registry.close()
    with pytest.raises(RegistryUnavailableError):
        asyncio.run(awaited(deserializer)(b"\3\4" + bytes(9), CONTEXT))  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [None, str, object()])
def test_something_else_is_refused(other: Any) -> None:
    with pytest.raises(ConfigError, match="expected a SerDes of this package"):
        awaited(other)
