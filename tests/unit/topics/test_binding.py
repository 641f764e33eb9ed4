"""Each question goes to the registry once per process, however many threads and instances ask."""

import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import requests
import waiting
from conf import conf

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, SchemaNotFoundError, SchemaRegistryError
from streamnative_serdes import _config as config
from streamnative_serdes._call_path import bound_of
from streamnative_serdes._schema import parse
from streamnative_serdes._topics import cache
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes._topics.schema_version import Compiled, SchemaVersion
from streamnative_serdes.errors import AuthenticationError, NestedTooDeeplyError, RegistryUnavailableError
from streamnative_serdes.testing import Fault, LocalRegistry

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB = {"name": "bob"}
FRAMED = b"\x03\x04" + bytes(8) + b"\x06bob"
THREADS = 8
PATIENCE = 30.0  # seconds until a hanging thread fails the test


def together(work: Callable[[], Any]) -> list[Any]:
    """Call ``work`` in threads that start at once, and return the results or errors."""

    def outcome(_: int) -> Any:
        try:
            return work()
        except SchemaRegistryError as error:
            return error

    return waiting.together(THREADS, outcome)


def test_64_threads_with_a_thousand_messages_each_on_one_cold_serializer_make_one_post(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    registry.fail(Fault.delay(0.2))

    def work(number: int) -> list[bytes | None]:
        return [serializer.serialize("users", {"name": f"{number}-{message}"}) for message in range(1000)]

    found = waiting.together(64, work)
    assert registry.calls == {"POST schema": 1}
    names = [[message[11:].decode() for message in messages if message] for messages in found]
    assert names == [[f"{number}-{message}" for message in range(1000)] for number in range(64)]
    assert serializer.stats()["messages"] == 64_000


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
    registry.fail(Fault.status(403).after(0.2))
    errors = together(lambda: serializer.serialize("users", BOB))
    assert [error.status for error in errors] == [403] * THREADS
    assert registry.calls == {"POST schema": 1}
    assert serializer.serialize("users", BOB) == FRAMED
    assert registry.calls == {"POST schema": 2}


def test_after_an_interrupt_of_the_leader_another_thread_sends_the_request(registry: LocalRegistry) -> None:
    binding = Binding.shared(config.parse(config.SERIALIZER_OPTIONS, conf(registry), strict=True))
    schema, lead, follows = parse(USER), threading.Event(), threading.Event()
    real = binding.client.register

    def interrupted(*_: Any, **__: Any) -> int:
        lead.set()
        follows.wait(PATIENCE)
        binding.client.register = real  # type: ignore[method-assign]
        raise KeyboardInterrupt

    binding.client.register = interrupted  # type: ignore[assignment, method-assign]
    outcome: list[object] = []

    def leader() -> None:
        try:
            binding.registered("users", SchemaVersion.of_schema(schema))
        except KeyboardInterrupt:
            outcome.append("interrupted")

    first = threading.Thread(target=leader)
    first.start()
    assert lead.wait(PATIENCE)
    second = threading.Thread(
        target=lambda: outcome.append(binding.registered("users", SchemaVersion.of_schema(schema)))
    )
    second.start()
    follows.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert sorted(map(str, outcome)) == ["0", "interrupted"]


def test_a_thread_may_repeat_its_request_while_it_is_running(registry: LocalRegistry) -> None:
    binding = Binding.shared(config.parse(config.SERIALIZER_OPTIONS, conf(registry), strict=True))
    real, seen = binding.client.register, []

    def reentrant(*arguments: Any, **more: Any) -> int:  # like a signal handler or a finalizer
        binding.client.register = real  # type: ignore[method-assign]
        seen.append(binding.registered("users", SchemaVersion.of_schema(parse(USER))))
        return real(*arguments, **more)

    binding.client.register = reentrant  # type: ignore[assignment, method-assign]
    assert binding.registered("users", SchemaVersion.of_schema(parse(USER))) == 0
    assert seen == [0]


@pytest.mark.parametrize(
    ("key", "value"), [("pulsar.tenant", "t2"), ("pulsar.namespace", "n2"), ("bearer.auth.token", "other")]
)
def test_other_tenants_namespaces_and_tokens_share_nothing(registry: LocalRegistry, key: str, value: str) -> None:
    first = config.parse(config.SERIALIZER_OPTIONS, conf(registry), strict=True)
    second = config.parse(config.SERIALIZER_OPTIONS, conf(registry, **{key: value}), strict=True)
    assert Binding.shared(first) is Binding.shared(dict(first))
    assert Binding.shared(first) is not Binding.shared(second)


@dataclass
class Token:
    """A function without a hash."""

    text: str

    def __call__(self) -> str:
        return self.text


def test_token_functions_without_a_hash_are_told_apart_by_identity(registry: LocalRegistry) -> None:
    def options(token: Token, **more: Any) -> dict[str, Any]:
        given = conf(registry, **{"bearer.auth.token": token, **more})
        return config.parse(config.DESERIALIZER_OPTIONS, given, strict=True)

    token, equal = Token("a"), Token("a")
    assert Binding.shared(options(token)) is Binding.shared(options(token))
    assert Binding.shared(options(token)) is not Binding.shared(options(equal))
    assert KafkaAvroSerializer(conf(registry, **{"bearer.auth.token": token}), USER).serialize("users", BOB) == FRAMED
    of_confluent = {"confluent.schema.registry.url": registry.url, "confluent.bearer.auth.token": token}
    second = config.confluent_conf(options(token, **of_confluent))
    assert second is not None
    assert ConfluentSchemas.shared(second) is ConfluentSchemas.shared(second)


def test_tenant_and_namespace_determine_where_a_short_name_is(registry: LocalRegistry) -> None:
    here = conf(registry, **{"pulsar.tenant": "t2", "pulsar.namespace": "n2"})
    for path, body in (("tenants/t2", {"allowedClusters": ["standalone"]}), ("namespaces/t2/n2", None)):
        requests.put(f"{registry.url}/admin/v2/{path}", json=body, timeout=5).raise_for_status()
    assert KafkaAvroSerializer(here, USER).serialize("users", BOB) == FRAMED
    assert KafkaAvroDeserializer(conf(registry)).deserialize("t2/n2/users", FRAMED) == BOB
    with pytest.raises(SchemaNotFoundError):
        KafkaAvroDeserializer(conf(registry)).deserialize("users", FRAMED[10:])


def test_a_missing_version_is_cached_only_for_a_moment(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER).serialize("users", BOB)
    deserializer = KafkaAvroDeserializer(conf(registry, **{"cache.missing.ttl.sec": 0}))
    later = b"\x03\x04" + (1).to_bytes(8, "big") + FRAMED[10:] + b"\x00"
    assert deserializer.deserialize("users", later[:-1]) == BOB
    wider = {**USER, "fields": [*USER["fields"], {"name": "a", "type": ["null", "int"], "default": None}]}
    KafkaAvroSerializer(conf(registry), wider).serialize("users", BOB)
    assert deserializer.deserialize("users", later) == {**BOB, "a": None}


def test_with_a_cached_response_a_new_one_is_not_waited_for_long(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float | None] = []
    binding = Binding.shared(
        config.parse(config.SERIALIZER_OPTIONS, conf(registry, **{"cache.latest.ttl.sec": 0}), strict=True)
    )
    real = binding.client.latest
    monkeypatch.setattr(
        binding.client, "latest", lambda topic, patience=None: seen.append(patience) or real(topic, patience=patience)
    )
    KafkaAvroSerializer(conf(registry), USER).serialize("users", BOB)
    binding.latest("users")
    binding.latest("users")
    assert seen == [None, 2.0]


def test_the_last_response_is_used_while_the_registry_is_unavailable(
    registry: LocalRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"cache.latest.ttl.sec": 0, "retries.total.ms": 2000}
    KafkaAvroSerializer(conf(registry), USER).serialize("users", BOB)
    deserializer = KafkaAvroDeserializer(conf(registry, **options))
    assert deserializer.deserialize("users", FRAMED[10:]) == BOB
    registry.close()
    assert deserializer.deserialize("users", FRAMED[10:]) == BOB
    assert "still using version 0 as the latest schema" in caplog.text


@pytest.mark.parametrize(
    ("error", "asked"), [(RegistryUnavailableError("away"), ["a"]), (AuthenticationError("no token"), ["a", "b", "c"])]
)
def test_one_topic_waits_for_a_registry_that_is_away_and_the_others_keep_their_last_response(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, error: SchemaRegistryError, asked: list[str]
) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    binding = Binding.shared(config.parse(config.SERIALIZER_OPTIONS, conf(registry), strict=True))
    for topic in ("a", "b", "c"):
        serializer.serialize(topic, BOB)
    before = [binding.latest(topic)[0] for topic in ("a", "b", "c")]
    seen: list[str] = []

    def away(topic: Any, patience: float | None = None) -> Any:
        seen.append(topic.given)
        raise error

    binding.expire()
    with monkeypatch.context() as patched:
        patched.setattr(binding.client, "latest", away)
        assert [binding.latest(topic)[0] for topic in ("a", "b", "c")] == before
        assert seen == asked
        with pytest.raises(type(error)):
            binding.latest("never asked for")
    registry.reset_calls()
    binding.expire()
    binding.latest("a")
    assert registry.calls == {"GET schema": 1}


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_child_forked_during_a_request_sends_its_own_request(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    registry.fail(Fault.delay(1.0))
    asking = threading.Thread(target=serializer.serialize, args=("users", BOB))
    asking.start()
    waiting.until(lambda: registry.calls, "the thread asks")
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))  # a child that waits for a thread of its parent never ends
        os._exit(0 if serializer.serialize("users", BOB) == FRAMED else 1)
    assert waiting.exit_code(child) == 0
    waiting.join(asking)


def test_a_thread_that_starts_just_after_the_response_does_not_repeat_the_request(registry: LocalRegistry) -> None:
    binding = Binding.shared(config.parse(config.SERIALIZER_OPTIONS, conf(registry), strict=True))
    KafkaAvroSerializer(conf(registry), USER).serialize("users", BOB)
    registry.reset_calls()
    before = binding.use("users")
    known, _ = binding.latest("users")
    # Like a thread that read the state before the response, and sends its request afterwards.
    assert binding._fetch_latest(before).known is known
    assert registry.calls == {"GET schema": 1}


def test_topics_with_the_same_schema_share_compiled_plans(registry: LocalRegistry) -> None:
    for topic in ("a", "b"):
        KafkaAvroSerializer(conf(registry), USER).serialize(topic, BOB)
    reader = KafkaAvroDeserializer(conf(registry))
    for topic in ("a", "b"):
        assert reader.deserialize(topic, FRAMED) == BOB
    first, second = (bound.codec for bound in bound_of(reader))
    assert first is second


def test_a_recursion_error_is_not_cached_for_a_version() -> None:
    def chain(leaf: str) -> Any:
        schema: Any = leaf
        for number in range(60):
            schema = {"type": "record", "name": f"R{number}", "fields": [{"name": "f", "type": ["null", schema]}]}
        return schema

    def from_below(levels: int) -> Any:
        return from_below(levels - 1) if levels else known.codec({}, reader)

    known, reader = Compiled(parse(chain("int"))), parse(chain("long"))
    with pytest.raises(NestedTooDeeplyError, match="recursion limit"):
        from_below(sys.getrecursionlimit() - 250 - len(inspect.stack()))
    assert known.codec({}, reader).decode(b"\0") == {"f": None}


def test_a_process_caches_a_limited_number_of_registries(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_MOST", 2)
    confs = [
        config.parse(config.SERIALIZER_OPTIONS, conf(registry, **{"retries.wait.ms": wait}), strict=True)
        for wait in (201, 202, 203)
    ]
    first, second, third = (Binding.shared(each) for each in confs)

    assert Binding.shared(confs[1]) is second
    assert Binding.shared(confs[2]) is third
    assert Binding.shared(confs[0]) is not first
