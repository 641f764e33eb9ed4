"""pulsar_schema and its helpers without a broker; tests/integration uses them on a real one."""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import dataclass
from typing import Any

import _pulsar
import pulsar
import pytest
from pulsar.schema import Schema
from schemas import record

from streamnative_serdes import ConfigError, DecodeError, EncodeError, KeyValueSchema, SchemaError
from streamnative_serdes.integrations import pulsar_client
from streamnative_serdes.integrations.pulsar_client import is_tombstone, key_of, pulsar_schema, schema_version_of

CONF = {"schema.registry.url": "http://127.0.0.1:1"}  # nobody listens there
USER = record("User", ("name", "string"), ("age", "int"))
ADA = {"name": "Ada", "age": 36}


@dataclass
class User:
    name: str
    age: int


def built(**parts: Any) -> pulsar.Message:
    """A message as it is before it is sent."""
    builder = _pulsar.MessageBuilder().content(b"")
    for name, value in parts.items():
        getattr(builder, name)(value)
    return pulsar.Message._wrap(builder.build())


def test_it_is_a_schema_of_the_client_and_attaches_with_the_text_that_our_serializer_registers() -> None:
    text = '{"type": "record",   "name": "R", "doc": "caf\u00e9", "fields": []}'
    schema: Any = pulsar_schema(CONF, text)
    assert isinstance(schema, Schema)
    assert isinstance(schema, pulsar_client.PulsarSchema)
    info = schema.schema_info()
    assert (info.schema_type(), info.name(), info.schema()) == (_pulsar.SchemaType.AVRO, "AVRO", text)


@pytest.mark.parametrize("arguments", [(CONF,), (CONF, None)], ids=["no schema", "None"])
def test_without_a_schema_it_attaches_without_one(arguments: Any) -> None:
    schema: Any = pulsar_schema(*arguments)
    assert schema.schema_info().schema_type() == _pulsar.SchemaType.BYTES


def test_a_schema_that_is_not_announced_attaches_without_one_and_cannot_write() -> None:
    schema: Any = pulsar_schema(CONF, USER, announce=False)
    assert schema.schema_info().schema_type() == _pulsar.SchemaType.BYTES
    for own in (schema, pulsar_schema(CONF)):
        with pytest.raises(ConfigError, match=r"there is no schema to write by \(hint: give pulsar_schema the schema"):
            own.encode(ADA)


def test_with_the_second_engine_fastavro_writes() -> None:
    schema = pulsar_schema({**CONF, "avro.engine": "fastavro"}, USER)
    assert schema.encode(ADA) == b"\x06Ada\x48"
    with pytest.raises(EncodeError, match="fastavro"):
        schema.encode({"name": "Ada", "age": "36"})


def test_it_writes_bare_avro_of_dicts_and_objects_and_names_the_field_that_does_not_fit() -> None:
    given = json.loads(json.dumps(USER))
    schema = pulsar_schema(CONF, given)
    assert schema.encode(ADA) == b"\x06Ada\x48"
    assert schema.encode(User("Ada", 36)) == b"\x06Ada\x48"
    with pytest.raises(EncodeError, match="field age: expected int, got str"):
        schema.encode({"name": "Ada", "age": "36"})
    assert schema.encode(ADA) == b"\x06Ada\x48"
    assert given == USER


@pytest.mark.parametrize(
    ("conf", "error"),
    [
        ({}, "schema.registry.url is missing"),
        ({**CONF, "alow.null": True}, "alow.null.*allow.null"),
        ({**CONF, "framing": "confluent"}, "framing is an option for Kafka producers"),
        ({**CONF, "auto.register.schemas": False}, "auto.register.schemas=false has no effect: .*announce=False"),
        ({**CONF, "validate.strict": "perhaps"}, "validate.strict"),
        ({**CONF, "fallback.to.latest": "perhaps"}, "fallback.to.latest"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(conf: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        pulsar_schema(conf, USER)


def test_options_of_both_directions_are_accepted_together() -> None:
    both = {**CONF, "validate.strict": True, "fallback.to.latest": False, "value.type": User, "framing": "snip42"}
    schema = pulsar_schema(both, USER)
    with pytest.raises(EncodeError, match="more"):
        schema.encode({**ADA, "more": 1})
    reading = {**CONF, "framings": "snip42,confluent,headerless", "confluent.schema.registry.url": "http://127.0.0.1:1"}
    assert pulsar_schema(reading, USER).encode(ADA) == b"\x06Ada\x48"
    assert pulsar_schema({**CONF, "auto.register.schemas": False})
    assert pulsar_schema({**CONF, "auto.register.schemas": False}, USER, announce=False)


def test_a_bad_schema_is_an_error_at_once() -> None:
    with pytest.raises(SchemaError):
        pulsar_schema(CONF, {"type": "recrd", "name": "R"})


def test_a_key_value_schema_is_not_announced() -> None:
    pair = KeyValueSchema("STRING", USER, "SEPARATED")
    with pytest.raises(
        ConfigError, match=r"cannot attach with a KEY_VALUE schema \(hint: to read, pass announce=False"
    ):
        pulsar_schema(CONF, pair)
    schema: Any = pulsar_schema(CONF, pair, announce=False)
    assert schema.schema_info().schema_type() == _pulsar.SchemaType.BYTES


def test_bytes_without_a_topic_are_a_clear_error() -> None:
    with pytest.raises(ConfigError, match=r"expected a topic.*pass topic= to pulsar_schema"):
        pulsar_schema(CONF, USER).decode(b"\x06Ada\x48")


@pytest.mark.parametrize("hidden", ["pulsar", "pulsar.schema"])
def test_without_the_client_the_error_names_it(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pulsar_client._class.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, hidden, None)
        with pytest.raises(ConfigError, match="pulsar-client is not installed"):
            pulsar_schema(CONF)
    assert pulsar_schema(CONF)


def test_a_client_that_does_not_tell_tombstones_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pulsar_client._class.cache_clear()
    with monkeypatch.context() as patch:
        patch.delattr(pulsar.Message, "has_null_value")
        with pytest.raises(ConfigError, match=r"too old.*pulsar-client>=3\.13"):
            pulsar_schema(CONF)
    assert pulsar_schema(CONF)


# --- helpers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "key", "decoded"),
    [
        ({}, None, None),
        ({"partition_key": "k1"}, b"k1", DecodeError),
        ({"partition_key": "caf\u00e9"}, "caf\u00e9".encode(), DecodeError),
        ({"partition_key": "azE="}, b"azE=", b"k1"),  # text, or bytes that a Java producer set
        ({"partition_key": "azE=", "ordering_key": "k1"}, b"k1", b"k1"),  # as KoP writes it
        ({"partition_key": "azE=", "ordering_key": "k2"}, b"azE=", b"k1"),
        ({"partition_key": "azE", "ordering_key": "k1"}, b"azE", DecodeError),  # base64 without its padding
        ({"partition_key": "k1", "ordering_key": "azE="}, b"k1", DecodeError),
        ({"ordering_key": "k1"}, None, None),
    ],
)
def test_a_key_is_decoded_if_the_ordering_key_shows_that_it_is_base64(
    parts: dict[str, str], key: bytes | None, decoded: Any
) -> None:
    message = built(**parts)
    for one in (message, message._message):
        assert key_of(one) == key
        if decoded is DecodeError:
            with pytest.raises(DecodeError, match="expected a key in base64, got b'"):
                key_of(one, encoded=True)
        else:
            assert key_of(one, encoded=True) == decoded


def test_each_key_of_up_to_three_bytes_is_found_in_what_kop_writes() -> None:
    for key in (b"a", b"ab", b"abc", b"abcd", "\u20ac".encode()):
        message = built(partition_key=base64.b64encode(key).decode(), ordering_key=key.decode())
        assert key_of(message) == key_of(message, encoded=True) == key


def test_a_message_without_its_bytes_is_an_error_that_says_so_before_the_registry_is_asked() -> None:
    schema: Any = pulsar_schema(CONF)
    with pytest.raises(DecodeError, match=r"without its bytes.*entryFormat=kafka"):
        schema.decode_message(built())
    assert pulsar_client.data_of(built(event_timestamp=1)) == b""


def test_a_message_that_was_not_sent_has_no_version_and_only_null_is_a_tombstone() -> None:
    assert schema_version_of(built()) is None
    assert not is_tombstone(built())
    assert is_tombstone(pulsar.Message._wrap(_pulsar.MessageBuilder().set_null_value().build()))
