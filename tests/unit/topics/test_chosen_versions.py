"""Options that choose the version to write or read, and requests before the first message."""

from __future__ import annotations

from typing import Any

import pytest
from conf import conf

from streamnative_serdes import ConfigError, KafkaAvroDeserializer, KafkaAvroSerializer, SchemaNotFoundError
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.watch import Watch
from streamnative_serdes.testing import LocalRegistry

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
AGE = {"name": "age", "type": ["null", "int"], "default": None}
WIDER = {**USER, "fields": [*USER["fields"], AGE]}
BOB, ANN = {"name": "bob"}, {"name": "ann", "age": 7}
FIRST, SECOND = b"\x03\x04" + bytes(8), b"\x03\x04" + bytes(7) + b"\x01"
READ_ONLY = {"auto.register.schemas": False}


@pytest.fixture
def users(registry: LocalRegistry) -> LocalRegistry:
    """A registry in which topic `users` has two versions, none of them cached."""
    for schema in (USER, WIDER):
        KafkaAvroSerializer({"schema.registry.url": registry.url}, schema).serialize("users", BOB)
    Binding.forget()
    registry.reset_calls()
    return registry


def test_the_latest_version_is_written_whichever_schema_was_given(users: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(users, **READ_ONLY, **{"use.latest.version": "true"}), USER)
    assert serializer.serialize("users", ANN) == SECOND + b"\x06ann\x02\x0e"
    assert users.calls == {"GET schema": 1}


@pytest.mark.parametrize("given", [None, USER, WIDER])
@pytest.mark.parametrize(("version", "header", "body"), [(0, FIRST, b"\x06ann"), ("1", SECOND, b"\x06ann\x02\x0e")])
def test_a_version_may_be_chosen_by_its_number_whichever_schema_was_given(
    users: LocalRegistry, version: Any, header: bytes, body: bytes, given: Any
) -> None:
    serializer = KafkaAvroSerializer(conf(users, **READ_ONLY, **{"use.schema.version": version}), given)
    assert serializer.serialize("users", ANN) == header + body
    assert users.calls == {"GET version": 1}


def test_a_chosen_version_that_does_not_exist_is_an_error(users: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(users, **READ_ONLY, **{"use.schema.version": 7}))
    with pytest.raises(SchemaNotFoundError, match="topic users, schema version 7"):
        serializer.serialize("users", ANN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use.latest.version": True}, "cannot enable both use.latest.version and auto.register.schemas"),
        ({"use.schema.version": 0}, "cannot enable both use.schema.version and auto.register.schemas"),
        (
            {**READ_ONLY, "use.latest.version": True, "use.schema.version": 0},
            "cannot enable both use.latest.version and use.schema.version",
        ),
        ({**READ_ONLY, "use.schema.version": -1}, "use.schema.version: expected a schema version from 0"),
        ({**READ_ONLY, "use.schema.version": 1.5}, "use.schema.version: expected a schema version from 0"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    registry: LocalRegistry, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        KafkaAvroSerializer(conf(registry, **options), USER)
    assert message in str(caught.value)


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a Spark worker: no thread checks topics."""
    monkeypatch.setattr(Watch, "allowed", False)


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(("ttl", "seen"), [(0, ANN | {"city": None}), (3_600, ANN)])
def test_a_newer_latest_schema_is_used_after_the_ttl_of_the_old_one(
    users: LocalRegistry, ttl: int, seen: dict[str, Any]
) -> None:
    options = {"use.latest.version": True, "cache.latest.ttl.sec": ttl}
    reader = KafkaAvroDeserializer(conf(users, **options))
    message = SECOND + b"\x06ann\x02\x0e"
    for _ in range(2):
        assert reader.deserialize("users", message) == ANN
    newer = {**WIDER, "fields": [*WIDER["fields"], {"name": "city", "type": ["null", "string"], "default": None}]}
    KafkaAvroSerializer(conf(users), newer).warm_up("users")  # by another binding, so the reader's does not know
    for _ in range(2):
        assert reader.deserialize("users", message) == seen


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(("ttl", "calls"), [(0, 4), (3_600, 1)])
def test_the_latest_schema_is_requested_after_each_ttl(users: LocalRegistry, ttl: int, calls: int) -> None:
    reader = KafkaAvroDeserializer(conf(users, **{"cache.latest.ttl.sec": ttl}))
    writer = KafkaAvroSerializer(conf(users, **{"cache.latest.ttl.sec": ttl}))  # writes with the latest schema
    for face, data in ((reader, b"\x06ann\x02\x0e"), (writer, ANN)):
        for _ in range(2):
            (face.deserialize if isinstance(face, KafkaAvroDeserializer) else face.serialize)("users", data)
    assert users.calls["GET schema"] == calls


def test_a_deserializer_is_warmed_up_with_one_request(users: LocalRegistry) -> None:
    reader = KafkaAvroDeserializer(conf(users))
    reader.warm_up("users")
    assert users.calls == {"GET schemas": 1}
    assert reader.deserialize("users", FIRST + b"\x06bob") == BOB
    assert reader.deserialize("users", SECOND + b"\x06ann\x02\x0e") == ANN
    assert reader.deserialize("users", b"\x06ann\x02\x0e") == ANN
    assert users.calls == {"GET schemas": 1}


@pytest.mark.parametrize(
    ("schema", "options", "call"),
    [
        (USER, {}, "POST schema"),
        (USER, READ_ONLY, "GET schemas"),
        (None, {}, "GET schema"),
        (None, {**READ_ONLY, "use.schema.version": 0}, "GET version"),
    ],
)
def test_a_serializer_is_warmed_up_with_one_request(
    users: LocalRegistry, schema: Any, options: dict[str, Any], call: str
) -> None:
    writer = KafkaAvroSerializer(conf(users, **options), schema)
    writer.warm_up("users")
    assert users.calls == {call: 1}
    assert writer.serialize("users", BOB) is not None
    assert users.calls == {call: 1}


@pytest.mark.parametrize("face", [KafkaAvroSerializer, KafkaAvroDeserializer])
def test_warming_up_without_a_configuration_says_what_is_missing(face: Any) -> None:
    with pytest.raises(ConfigError, match=r"schema\.registry\.url is missing"):
        face().warm_up("users")


def test_a_topic_without_schemas_can_be_warmed_up(registry: LocalRegistry) -> None:
    KafkaAvroDeserializer(conf(registry)).warm_up("nothing")
    assert registry.calls == {"GET schemas": 1}
