"""A finalizer or a signal handler may use a SerDes in the middle of its own thread's request; both succeed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import requests
from interrupts import at_each_line
from raw_server import RawServer
from scripted_registry import CONF, INFO, Clock, Connect, ScriptedRegistry
from waiting import elsewhere

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import RegistryUnavailableError
from streamnative_serdes.schema_registry import SchemaRegistryClient
from streamnative_serdes.testing import LocalRegistry
from streamnative_serdes.testing.scopes import registry_of


def test_a_request_can_be_made_at_each_line_of_another_request(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    asking = connect(server, clock)

    def nested() -> None:
        assert asking.latest("t") == INFO

    assert elsewhere(lambda: at_each_line(lambda: asking.latest("t"), nested)) == INFO


def test_a_message_can_be_written_at_each_line_of_the_first_write_to_a_topic(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url}, '"int"')
    reader = KafkaAvroDeserializer({"schema.registry.url": registry.url})
    numbers = itertools.count()

    def nested() -> None:
        topic = f"other{next(numbers)}"
        assert reader.deserialize(topic, serializer.serialize(topic, 1)) == 1

    assert elsewhere(lambda: at_each_line(lambda: serializer.serialize("t", 1), nested)) == b"\3\4" + bytes(8) + b"\2"


def test_a_request_keeps_its_deadline_after_a_nested_request(
    server: ScriptedRegistry, connect: Connect, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, inner, ends = requests.adapters.HTTPAdapter.send, connect(server, clock), []

    def answer(_headers: object, _body: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        for _ in range(500):  # ten seconds in all, but never long between two bytes
            yield b" "
            time.sleep(0.02)
        ends.append("the client waited for all of it")

    def nesting(self: Any, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        if server.url not in (request.url or ""):
            assert inner.latest("t") == INFO
        return send(self, request, **options)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", nesting)
    with RawServer(answer) as trickling:
        conf = {**CONF, "schema.registry.url": trickling.url, "retries.total.ms": 100.0}
        with (
            closing(SchemaRegistryClient(conf)) as outer,
            pytest.raises(RegistryUnavailableError, match="TimeoutError"),
        ):
            outer.latest("t")
    assert len(server.asked) == 1
    assert ends == []


def test_the_object_created_during_the_creation_of_the_same_object_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conf = {**CONF, "schema.registry.url": "mock://nested"}
    inner: list[object] = []

    def nest(kind: type, method: str, again: Callable[[], object]) -> None:
        real = getattr(kind, method)

        def nested(*arguments: Any) -> object:
            monkeypatch.setattr(kind, method, real)
            inner.append(again())
            return real(*arguments)

        monkeypatch.setattr(kind, method, nested)

    nest(Binding, "__init__", lambda: Binding.shared(conf))
    assert Binding.shared(conf) is inner[0]
    nest(LocalRegistry, "start", lambda: registry_of("nested"))
    assert registry_of("nested") is inner[1]
    Binding.forget()
