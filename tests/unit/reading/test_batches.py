"""deserialize_many: errors are raised, skipped or passed to a function, with the message and its position."""

from __future__ import annotations

import pickle
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pytest
from any_type import register
from consumed import Message

from streamnative_serdes import (
    AuthenticationError,
    AuthorizationError,
    ConfigError,
    DecodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from streamnative_serdes.errors import RawMessage
from streamnative_serdes.testing import Fault, LocalRegistry

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB, ANN = {"name": "bob"}, {"name": "ann"}
HEADER = b"\x03\x04" + bytes(8)
GOOD, OTHER, BAD = HEADER + b"\x06bob", HEADER + b"\x06ann", HEADER + b"\x06bo"
Record = namedtuple(
    "Record", "topic partition offset key value headers"
)  # like the records of kafka-python and aiokafka


@pytest.fixture
def reader(registry: LocalRegistry) -> KafkaAvroDeserializer:
    KafkaAvroSerializer({"schema.registry.url": registry.url}, USER).serialize("users", BOB)
    return KafkaAvroDeserializer({"schema.registry.url": registry.url, "retries.total.ms": 2000})


def test_messages_are_read_in_order_and_only_on_demand(reader: KafkaAvroDeserializer) -> None:
    taken: list[bytes | None] = []

    def messages() -> Iterator[bytes | None]:
        for message in (GOOD, None, OTHER):
            taken.append(message)
            yield message

    found = reader.deserialize_many("users", messages())
    assert taken == []
    assert next(found) == BOB
    assert taken == [GOOD]
    assert list(found) == [None, ANN]


def test_an_error_stops_the_iteration_and_carries_the_message(reader: KafkaAvroDeserializer) -> None:
    found = reader.deserialize_many("users", [GOOD, BAD, OTHER])
    assert next(found) == BOB
    with pytest.raises(DecodeError) as caught:
        next(found)
    assert caught.value.raw == RawMessage(BAD, "users")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.raw == caught.value.raw
    assert str(again) == str(caught.value)


def test_unreadable_messages_can_be_skipped(reader: KafkaAvroDeserializer) -> None:
    assert list(reader.deserialize_many("users", [BAD, GOOD, BAD, None, OTHER], on_error="skip")) == [BOB, None, ANN]
    assert reader.stats()["errors"] == 2


def test_a_function_gets_the_error_and_returns_the_replacement(reader: KafkaAvroDeserializer) -> None:
    dead: list[RawMessage | None] = []

    def keep(error: SerdesError) -> str:
        dead.append(error.raw)
        return "dead"

    assert list(reader.deserialize_many("users", [GOOD, BAD, OTHER], keep)) == [BOB, "dead", ANN]
    assert dead == [RawMessage(BAD, "users")]


@pytest.mark.parametrize("kind", ["confluent", "kafka-python"])
def test_messages_of_clients_provide_topic_partition_and_offset(reader: KafkaAvroDeserializer, kind: str) -> None:
    def message(value: bytes) -> Any:
        parts = {"topic": "users", "partition": 3, "offset": 42, "key": b"k", "headers": [("h", b"v")]}
        return (Message if kind == "confluent" else Record)(value=value, **parts)

    assert list(reader.deserialize_many(None, [message(GOOD), message(OTHER)])) == [BOB, ANN]
    with pytest.raises(DecodeError, match="topic users, partition 3, offset 42, schema version 0") as caught:
        list(reader.deserialize_many(None, [message(BAD)]))
    assert caught.value.raw == RawMessage(BAD, "users", 3, 42, b"k", [("h", b"v")])


def test_a_given_topic_takes_precedence_over_the_topic_of_the_messages(reader: KafkaAvroDeserializer) -> None:
    """For a topic mirrored under another name, whose schemas are registered under the original one."""
    mirrored = [Record("dc2.users", 3, 42, b"k", value, None) for value in (GOOD, OTHER)]
    assert list(reader.deserialize_many("users", mirrored)) == [BOB, ANN]
    bad = Record("dc2.users", 3, 42, b"k", BAD, None)
    with pytest.raises(DecodeError, match="topic users, partition 3, offset 42, schema version 0") as caught:
        list(reader.deserialize_many("users", [bad]))
    assert caught.value.raw == RawMessage(BAD, "users", 3, 42, b"k", None)


class Error(str):
    """Stands in for confluent_kafka.KafkaError."""

    def name(self) -> str:
        return str(self)


@pytest.mark.parametrize("on_error", ["raise", "skip", lambda error: error.raw])
def test_an_error_of_the_client_in_place_of_a_message_is_always_raised(
    reader: KafkaAvroDeserializer, on_error: Any
) -> None:
    refusal = Message(b"Broker: Topic authorization failed", error=Error("TOPIC_AUTHORIZATION_FAILED"))
    found = reader.deserialize_many(None, [Message(GOOD, topic="users"), refusal], on_error)
    assert next(found) == BOB
    with pytest.raises(DecodeError, match="in place of a message: TOPIC_AUTHORIZATION_FAILED") as caught:
        next(found)
    assert caught.value.raw is not None


@pytest.mark.parametrize("on_error", ["raise", "skip", lambda error: error.raw])
def test_the_end_of_a_partition_is_left_out(reader: KafkaAvroDeserializer, on_error: Any) -> None:
    end = Message(b"Broker: No more messages", error=Error("_PARTITION_EOF"))
    batch = [end, Message(GOOD, topic="users"), end]
    assert list(reader.deserialize_many(None, batch, on_error)) == [BOB]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.status(503), RegistryUnavailableError),
        (Fault.status(401), AuthenticationError),
        (Fault.status(403), AuthorizationError),
        (Fault.garbage(), SchemaRegistryError),
    ],
)
def test_an_error_of_the_registry_is_raised_even_with_skip(
    reader: KafkaAvroDeserializer, registry: LocalRegistry, fault: Fault, kind: type[SchemaRegistryError]
) -> None:
    registry.fail(fault, times=None)
    with pytest.raises(kind) as caught:
        list(reader.deserialize_many("users", [GOOD], on_error="skip"))
    assert caught.value.raw == RawMessage(GOOD, "users")


def test_a_missing_configuration_is_an_error_even_with_skip() -> None:
    with pytest.raises(ConfigError, match=r"schema\.registry\.url is missing"):
        list(KafkaAvroDeserializer().deserialize_many("users", [GOOD], on_error="skip"))


def test_an_unknown_version_is_an_error_of_the_message(registry: LocalRegistry) -> None:
    strict = KafkaAvroDeserializer({"schema.registry.url": registry.url, "fallback.to.latest": False})
    assert list(strict.deserialize_many("users", [GOOD], on_error=lambda error: type(error))) == [SchemaNotFoundError]


@pytest.mark.parametrize("schema", [None, USER])
def test_a_version_that_is_not_avro_is_an_error_of_the_message(registry: LocalRegistry, schema: Any) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    register(registry, "users", "STRING")
    good = KafkaAvroSerializer({"schema.registry.url": registry.url}, USER).serialize("users", BOB)
    assert good == b"\x03\x04" + (1).to_bytes(8, "big") + b"\x06bob"
    reader = KafkaAvroDeserializer({"schema.registry.url": registry.url}, schema)
    assert list(reader.deserialize_many("users", [good, GOOD, good, GOOD], "skip")) == [BOB, BOB]
    errors: list[SerdesError] = []
    assert list(reader.deserialize_many("users", [GOOD, good], errors.append)) == [None, BOB]
    assert [type(error) for error in errors] == [SchemaError]
    assert str(errors[0]).startswith("topic users, schema version 0: expected a schema of type AVRO")
    assert errors[0].raw == RawMessage(GOOD, "users")
    with pytest.raises(SchemaError):
        list(reader.deserialize_many("users", [good, GOOD]))


@pytest.mark.parametrize("wrong", ["ignore", None, 3])
def test_an_invalid_on_error_is_refused_before_the_first_message(reader: KafkaAvroDeserializer, wrong: Any) -> None:
    with pytest.raises(ConfigError, match="on_error: expected 'raise', 'skip' or a function of the error, got"):
        reader.deserialize_many("users", [], wrong)


@pytest.mark.parametrize("wrong", ["text", 3, object()])
def test_anything_but_a_message_is_an_error(reader: KafkaAvroDeserializer, wrong: Any) -> None:
    with pytest.raises(DecodeError, match="topic users: expected bytes or a client's message, got"):
        list(reader.deserialize_many("users", [wrong]))
