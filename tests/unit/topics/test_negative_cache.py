"""Refusals of the registry are cached for a moment, so failing messages do not cause a flood of requests."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from any_type import delete, register
from conf import conf
from waiting import together

from streamnative_serdes import (
    IncompatibleSchemaError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    SchemaError,
    SchemaNotFoundError,
    SerdesError,
)
from streamnative_serdes import _config as config
from streamnative_serdes._topics import binding as binding_module
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import AuthorizationError, DecodeError
from streamnative_serdes.testing import Fault, LocalRegistry

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
OTHER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "id", "type": "int"}]}
BOB = {"name": "bob"}
FRAMED = b"\x03\x04" + bytes(8) + b"\x06bob"


def errors(call: Callable[[], object], kind: type[SerdesError], count: int = 3) -> list[SerdesError]:
    found = []
    for _ in range(count):
        with pytest.raises(kind) as caught:
            call()
        found.append(caught.value)
    return found


def test_a_missing_schema_is_requested_once(registry: LocalRegistry) -> None:
    reader, writer = KafkaAvroDeserializer(conf(registry)), KafkaAvroSerializer(conf(registry))
    first, *others = errors(lambda: reader.deserialize("t", b"\x06bob"), SchemaNotFoundError)
    assert registry.calls == {"GET schema": 1}
    assert [str(error) for error in others] == [str(first)] * 2
    assert all(error is not first for error in others)  # each has its own traceback
    errors(lambda: writer.serialize("t", BOB), SchemaNotFoundError)
    assert registry.calls == {"GET schema": 1}  # both share the cache of the process


def test_a_schema_of_another_type_is_requested_once(registry: LocalRegistry) -> None:
    register(registry, "t", "STRING")
    registry.reset_calls()
    errors(lambda: KafkaAvroDeserializer(conf(registry)).deserialize("t", b"\x06bob"), SchemaError)
    assert registry.calls == {"GET schema": 1}


def test_a_refused_schema_is_posted_once(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    registry.reset_calls()
    refused = KafkaAvroSerializer(conf(registry), OTHER)
    errors(lambda: refused.serialize("t", {"id": 1}), IncompatibleSchemaError)
    assert registry.calls == {"POST schema": 1}
    assert KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB) == FRAMED


def test_a_refusal_is_cached_only_for_its_time(registry: LocalRegistry) -> None:
    reader = KafkaAvroDeserializer(conf(registry, **{"cache.missing.ttl.sec": 0.05}))
    errors(lambda: reader.deserialize("t", b"\x06bob"), SchemaNotFoundError, 1)
    other = conf(registry, **{"retries.wait.ms": 201})  # as if in another process
    KafkaAvroSerializer(other, USER).serialize("t", BOB)
    deadline = time.monotonic() + 30
    while True:
        try:
            assert reader.deserialize("t", b"\x06bob") == BOB
        except SchemaNotFoundError:
            assert time.monotonic() < deadline
        else:
            return


def test_registering_a_schema_ends_the_cached_refusal(registry: LocalRegistry) -> None:
    reader = KafkaAvroDeserializer(conf(registry))
    errors(lambda: reader.deserialize("t", b"\x06bob"), SchemaNotFoundError, 1)
    KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    assert reader.deserialize("t", b"\x06bob") == BOB


def test_a_missing_permission_is_not_cached(registry: LocalRegistry) -> None:
    writer = KafkaAvroSerializer(conf(registry), USER)
    registry.fail(Fault.status(403))
    errors(lambda: writer.serialize("t", BOB), AuthorizationError, 1)
    assert writer.serialize("t", BOB) == FRAMED


def test_threads_that_wait_for_one_response_each_get_their_own_error(registry: LocalRegistry) -> None:
    registry.fail(Fault.delay(0.3))
    reader = KafkaAvroDeserializer(conf(registry))
    found = together(8, lambda _: errors(lambda: reader.deserialize("t", b"\x06bob"), SchemaNotFoundError, 1))
    seen = [error for own in found for error in own]
    assert registry.calls == {"GET schema": 1}
    assert len({id(error) for error in seen}) == 8


def test_requests_for_a_missing_version_do_not_extend_the_time_that_it_is_cached(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    binding = Binding.shared(config.parse(config.DESERIALIZER_OPTIONS, conf(registry), strict=True))
    with pytest.raises(SchemaNotFoundError):
        binding.version("t", 7)
    first = binding.missing_seconds(binding.named("t"), 7)
    assert 0 < first <= 5.0
    with pytest.raises(SchemaNotFoundError):  # the cached refusal, not a new one
        binding.version("t", 7)
    assert binding.missing_seconds(binding.named("t"), 7) < first
    assert binding.missing_seconds(binding.named("t"), 8) == 0.0


def test_a_refused_schema_is_posted_again_after_all_versions_were_read(registry: LocalRegistry) -> None:
    often = conf(registry, **{"cache.missing.ttl.sec": 3600})
    KafkaAvroSerializer(often, USER).serialize("t", BOB)
    writer = KafkaAvroSerializer(often, OTHER)
    errors(lambda: writer.serialize("t", {"id": 7}), IncompatibleSchemaError, 2)
    registry.set_strategy("ALWAYS_COMPATIBLE")
    errors(lambda: writer.serialize("t", {"id": 7}), IncompatibleSchemaError, 1)
    KafkaAvroDeserializer(often).warm_up("t")
    assert writer.serialize("t", {"id": 7}) is not None


def test_a_refused_schema_is_posted_again_after_the_topic_lost_its_schemas(registry: LocalRegistry) -> None:
    often = conf(registry, **{"cache.missing.ttl.sec": 3600})
    KafkaAvroSerializer(often, USER).serialize("t", BOB)
    writer = KafkaAvroSerializer(often, OTHER)
    errors(lambda: writer.serialize("t", {"id": 7}), IncompatibleSchemaError, 2)
    delete(registry, force=False)
    errors(lambda: writer.serialize("t", {"id": 7}), IncompatibleSchemaError, 1)
    binding = Binding.shared(config.parse(config.SERIALIZER_OPTIONS, often, strict=True))
    binding.confirm("t")
    assert writer.serialize("t", {"id": 7}) is not None


def test_a_topic_that_lost_its_schemas_has_no_latest_schema(registry: LocalRegistry) -> None:
    long = conf(registry, **{"cache.latest.ttl.sec": 3600})
    KafkaAvroSerializer(long, USER).serialize("t", BOB)
    binding = Binding.shared(config.parse(config.SERIALIZER_OPTIONS, long, strict=True))
    assert binding.latest("t")[0].version == 0
    delete(registry, force=False)
    assert binding.latest("t")[0].version == 0  # cached until it expires, or a check finds that it was deleted
    binding.confirm("t")
    with pytest.raises(SchemaNotFoundError):
        binding.latest("t")


def test_a_failed_check_is_not_repeated_for_each_message(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    reader = KafkaAvroDeserializer(conf(registry))
    assert reader.deserialize("t", FRAMED) == BOB
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 3600.0)
    binding = Binding.shared(config.parse(config.DESERIALIZER_OPTIONS, conf(registry), strict=True))
    binding._topics.change(binding.named("t"), lambda state: replace(state, asked=-math.inf))  # long ago
    registry.fail(Fault.status(403, "no"), times=5)
    registry.reset_calls()
    errors(lambda: reader.deserialize("t", FRAMED + b"\x01"), DecodeError)
    assert registry.calls == {"GET schema": 1}


def test_a_version_that_cannot_be_parsed_does_not_hide_the_others(registry: LocalRegistry) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    KafkaAvroSerializer(conf(registry), USER).serialize("t", BOB)
    long_name = {**USER, "name": "U" * 500}
    KafkaAvroSerializer(conf(registry), long_name).serialize("t", BOB)
    Binding.forget()
    small = conf(registry, **{"auto.register.schemas": False, "max.schema.size": 200})
    assert KafkaAvroSerializer(small, USER).serialize("t", BOB) == FRAMED
