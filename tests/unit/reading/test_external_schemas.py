"""Topics whose schemas are outside of Pulsar (EXTERNAL, PIP-420): read by the id in a header, refused without it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

from any_type import PulsarMessage, register
from confluent_stand_in import refusal
from external_schemas import GUID, ID_1, ID_2, NEW, OLD, ONE, TWO, golden
from external_topic import external_topic

from streamnative_serdes import (
    KafkaAutoConsumeDeserializer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
)
from streamnative_serdes._reading.messages import schema_version_of
from streamnative_serdes.converters import Message, PulsarEntryReader, schema_id_headers
from streamnative_serdes.errors import (
    ConfigError,
    DecodeError,
    IncompatibleSchemaError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes.testing import LocalRegistry

CLIENTS = pytest.mark.parametrize("client", [OLD, NEW])
PULSAR = "schema.registry.url"
UNKNOWN = b"\0\0\0\0\x63"


def messages(client: str, topic: str) -> list[Message]:
    reader = PulsarEntryReader()
    return [message for entry in golden()[client, topic] for message in reader.entry(entry)]


def named(identifier: bytes) -> list[tuple[str, bytes]]:
    return list(schema_id_headers(identifier))


# Rows


@pytest.mark.promise("external-ids")
@CLIENTS
def test_each_message_of_java_is_read_by_its_id(client: str) -> None:
    with external_topic() as (conf, _), KafkaAvroDeserializer(conf) as deserializer:
        found = [
            deserializer.deserialize("t", message.value, headers=message.headers)
            for message in messages(client, "ids")[:3]
        ]
        assert found == [{"a": 1}, {"a": 2, "b": "two"}, {"a": 3}]
        assert deserializer.stats()["confluent_header"] == 3


@CLIENTS
def test_a_message_with_the_id_of_another_in_its_batch_is_an_error_unless_that_reads_it(client: str) -> None:
    """Java's clients write the first one's; the third message has another id for the same schema."""
    with external_topic() as (conf, _), KafkaAvroDeserializer(conf) as deserializer:
        first, second, third = messages(client, "two ids")
        assert deserializer.deserialize("t", first.value, headers=first.headers) == {"a": 1}
        with pytest.raises(
            DecodeError, match="as the former: byte 1: expected the end of the message, got 4 more bytes"
        ):
            deserializer.deserialize("t", second.value, headers=second.headers)
        assert deserializer.deserialize("t", third.value, headers=third.headers) == {"a": 3}


def test_a_readers_schema_converts_them() -> None:
    with external_topic() as (conf, _), KafkaAvroDeserializer(conf, ONE | {"name": "Two"}) as deserializer:
        assert deserializer.deserialize("t", b"\x04\x06two", headers=named(ID_2)) == {"a": 2}


@pytest.mark.parametrize("encoding", ["INLINE", "SEPARATED"])
@CLIENTS
def test_the_halves_of_a_pair_are_read_each_by_its_id(client: str, encoding: str) -> None:
    with external_topic(encoding) as (conf, _):
        keys, values = KafkaAvroDeserializer(conf, is_key=True), KafkaAvroDeserializer(conf)
        found = [
            (
                keys.deserialize("t", message.key, headers=message.headers),
                values.deserialize("t", message.value, headers=message.headers),
            )
            for message in messages(client, encoding.lower())[:3]
        ]
        assert found == [({"a": 1}, {"a": 2, "b": "two"}), ({"a": 3}, None), (None, {"a": 1})]


def test_a_half_of_a_pair_without_an_id_is_refused() -> None:
    with external_topic("SEPARATED") as (conf, _):
        *_, last = messages(NEW, "separated")
        with pytest.raises(SchemaError, match="messages of schema type EXTERNAL cannot be read") as caught:
            KafkaAvroDeserializer(conf).deserialize("t", last.value)
        assert "confluent-header" in str(caught.value.hint)
        with pytest.raises(DecodeError, match="expected a key with one of the framings confluent-header"):
            KafkaAvroDeserializer(conf, is_key=True).deserialize("t", b"\x02")


def test_a_key_of_another_type_is_read_by_the_topics_pair() -> None:
    with external_topic("SEPARATED", key="STRING") as (conf, _):
        (message,) = messages(NEW, "string key")
        keys, values = KafkaAvroDeserializer(conf, is_key=True), KafkaAvroDeserializer(conf)
        assert keys.deserialize("t", message.key, headers=message.headers) == "k"
        assert values.deserialize("t", message.value, headers=message.headers) == {"a": 1}


# Batches


def test_a_batch_is_read_as_the_readers_schema() -> None:
    pytest.importorskip("pyarrow")
    with external_topic() as (conf, _), KafkaAvroDeserializer(conf, ONE) as deserializer:
        for _ in range(2):  # the type of the topic is not known at first
            rows = deserializer.deserialize_batch("t", [b"\x02", b"\x06"], headers=[named(ID_1), named(GUID)])
            assert rows.to_pylist() == [{"a": 1}, {"a": 3}]
            deserializer.warm_up("t")


def test_a_row_of_a_batch_without_an_id_is_an_error() -> None:
    pytest.importorskip("pyarrow")
    with external_topic() as (conf, _), KafkaAvroDeserializer(conf, ONE) as deserializer:
        data, headers = [b"\x02", b"\x04", b"\x06", None], [named(ID_1), [], named(UNKNOWN), []]
        rows = deserializer.deserialize_batch("t", data, headers=headers, error_column="e").to_pylist()
        assert [row["a"] for row in rows] == [1, None, None, None]
        assert "EXTERNAL" in rows[1]["e"]
        assert "schema id 99" in rows[2]["e"]
        assert rows[3]["e"] is None
        with pytest.raises(SchemaError, match="EXTERNAL"):
            deserializer.deserialize_batch("t", data, headers=headers)


def test_a_batch_of_pairs_is_refused() -> None:
    pytest.importorskip("pyarrow")
    with external_topic("SEPARATED") as (conf, _), KafkaAvroDeserializer(conf, ONE) as deserializer:
        with pytest.raises(SchemaError, match="the topic has type EXTERNAL") as caught:
            deserializer.deserialize_batch("t", [b"\x02"], keys=[b"\x02"], headers=[named(ID_1)])
        assert "outside of Pulsar" in str(caught.value.hint)


def test_a_batch_without_a_readers_schema_is_refused() -> None:
    pytest.importorskip("pyarrow")
    with external_topic() as (conf, _), KafkaAvroDeserializer(conf) as deserializer:
        with pytest.raises(SchemaError, match="EXTERNAL") as caught:
            deserializer.deserialize_batch("t", [b"\x02"], headers=[named(ID_1)])
        assert "give the deserializer the schema of the columns" in str(caught.value.hint)


# AUTO_CONSUME


@CLIENTS
def test_auto_consume_reads_them_and_says_by_which_schema(client: str) -> None:
    with external_topic() as (conf, _), KafkaAutoConsumeDeserializer(conf) as deserializer:
        found = [
            deserializer.deserialize("t", message.value, headers=message.headers)
            for message in messages(client, "ids")[:3]
        ]
        assert [(one.schema_type, one.native_object, one.decoded_by.rule, one.schema_version) for one in found] == [
            ("AVRO", {"a": 1}, "id", 1),
            ("AVRO", {"a": 2, "b": "two"}, "id", 2),
            ("AVRO", {"a": 3}, "id", -1),
        ]
        schema = found[1].reader_schema
        assert (schema.topic, schema.type, schema.native["name"]) == ("t", "AVRO", "Two")
        assert schema.decode(b"\x04\x06two") == {"a": 2, "b": "two"}
        assert deserializer.stats()["confluent_header"] == 3
        assert pickle.loads(pickle.dumps(deserializer)).deserialize("t", b"\x02", headers=named(ID_1)) == found[0]


def test_auto_consume_reads_the_halves_of_a_pair() -> None:
    with external_topic("SEPARATED") as (conf, _):
        first = messages(NEW, "separated")[0]
        key = KafkaAutoConsumeDeserializer(conf, is_key=True).deserialize("t", first.key, headers=first.headers)
        value = KafkaAutoConsumeDeserializer(conf).deserialize("t", first.value, headers=first.headers, key=first.key)
        assert (key.native_object, value.native_object) == ({"a": 1}, {"a": 2, "b": "two"})


def test_auto_consume_reads_the_id_in_front_of_the_value() -> None:
    with external_topic() as (conf, _):
        conf["framings"] = "snip42,confluent,headerless"
        with KafkaAutoConsumeDeserializer(conf) as deserializer:
            found = deserializer.deserialize("t", ID_2 + b"\x04\x06two")
            assert (found.native_object, found.decoded_by.rule) == ({"a": 2, "b": "two"}, "id")
            with pytest.raises(DecodeError, match="Confluent's framing with schema id 2, or Avro without"):
                deserializer.deserialize("t", ID_2 + b"\x04\x06tw")


def test_auto_consume_reads_what_only_looks_like_an_id_by_pulsars_registry(registry: LocalRegistry) -> None:
    five = {"type": "record", "name": "Five", "fields": [{"name": name, "type": "int"} for name in "abcde"]}
    register(registry, "t", "AVRO", five)
    with external_topic() as (conf, _):
        conf |= {PULSAR: registry.url, "framings": "snip42,confluent,headerless"}
        for data in (b"\0\0\0\0\x62", ID_1):  # no such id; and an id that does not read the rest
            found = KafkaAutoConsumeDeserializer(conf).deserialize("t", data)
            assert (found.decoded_by.rule, found.native_object["d"]) == ("latest", 0)


def test_a_schema_of_the_second_registry_pickles() -> None:
    with external_topic() as (conf, second), KafkaAutoConsumeDeserializer(conf) as deserializer:
        number = second.register("raw-value", '"bytes"')  # whose data have no length in Confluent's framing
        headers = [("__value_schema_id", b"\0" + number.to_bytes(4))]
        schema = deserializer.deserialize("t", b"\x04hi", headers=headers).reader_schema
        assert schema.decode(b"\x04hi") == pickle.loads(pickle.dumps(schema)).decode(b"\x04hi") == b"\x04hi"


def test_auto_consume_has_one_reader_for_each_schema() -> None:
    with external_topic() as (conf, second), KafkaAutoConsumeDeserializer(conf) as deserializer:
        for _ in range(3):
            for identifier in (ID_1, GUID):
                deserializer.deserialize("t", b"\x02", headers=named(identifier))
        assert sum(second.calls.values()) == 2


def test_a_second_registry_that_no_framing_needs_is_refused() -> None:
    with external_topic() as (conf, _):
        del conf["framings"]
        with pytest.raises(
            ConfigError, match=r"confluent\.schema\.registry\.url has no effect with framings=snip42,head"
        ):
            KafkaAutoConsumeDeserializer(conf)


# Without an id, with one that is unknown, and with registries that are away


@pytest.mark.parametrize("make", [KafkaAvroDeserializer, KafkaAutoConsumeDeserializer])
@pytest.mark.parametrize("version", [None, 0])
@pytest.mark.parametrize("framings", ["snip42,headerless", "snip42,confluent-header,headerless"])
def test_a_message_without_an_id_is_refused(make: Any, version: int | None, framings: str) -> None:
    with external_topic() as (conf, _):
        conf["framings"] = framings
        if framings == "snip42,headerless":
            del conf["confluent.schema.registry.url"]
        with (
            make(conf) as deserializer,
            pytest.raises(SchemaError, match=r"topic t, schema version 0: .*EXTERNAL") as e,
        ):
            deserializer.deserialize("t", b"\x02", version)
        hint = str(e.value.hint)
        assert "PIP-420" in hint
        assert "framings=snip42,confluent-header,headerless and confluent.schema.registry.url" in hint
        assert "streamnative_serdes.converters" in hint


@pytest.mark.parametrize("make", [KafkaAvroDeserializer, KafkaAutoConsumeDeserializer])
def test_an_unknown_id_is_an_error(make: Any) -> None:
    with external_topic() as (conf, _):
        with make(conf) as deserializer, pytest.raises(DecodeError, match="schema id 99") as caught:
            deserializer.deserialize("t", b"\x02", headers=named(UNKNOWN))
        assert "EXTERNAL" in str(caught.value)
        conf["framings"] = "snip42,confluent-header"
        with make(conf) as deserializer, pytest.raises(SchemaNotFoundError, match="does not have schema id 99"):
            deserializer.deserialize("t", b"\x02", headers=named(UNKNOWN))


@pytest.mark.parametrize("make", [KafkaAvroDeserializer, KafkaAutoConsumeDeserializer])
def test_a_second_registry_that_is_away_is_an_error_and_its_return_is_noticed(make: Any) -> None:
    with external_topic() as (conf, second), make(conf) as deserializer:
        second.faults = [refusal(50301, "away")] * 40
        with pytest.raises(RegistryUnavailableError):
            deserializer.deserialize("t", b"\x02", headers=named(ID_1))
        second.faults = []
        assert deserializer.deserialize("t", b"\x02", headers=named(ID_1)) is not None


@pytest.mark.parametrize("make", [KafkaAvroDeserializer, KafkaAutoConsumeDeserializer])
@pytest.mark.parametrize("datum", [b"", b"\x04\x06tw", b"\x04\x06two!", b"\x04\x06\xff\xff\xff"])
def test_a_damaged_datum_is_an_error(make: Any, datum: bytes) -> None:
    with external_topic() as (conf, _), make(conf) as deserializer, pytest.raises(DecodeError, match="schema id 2"):
        deserializer.deserialize("t", datum, headers=named(ID_2))


# Writing


def test_a_serializer_is_refused_by_the_broker() -> None:
    with external_topic() as (conf, _), KafkaAvroSerializer({PULSAR: conf[PULSAR]}, TWO) as serializer:
        with pytest.raises(IncompatibleSchemaError, match="schema type EXTERNAL") as caught:
            serializer.serialize("t", {"a": 2, "b": "two"})
        assert "framing=confluent" in str(caught.value.hint)


def test_a_serializer_that_registers_nothing_is_refused_with_the_same_way_out() -> None:
    with external_topic() as (conf, _):
        serializer = KafkaAvroSerializer({PULSAR: conf[PULSAR], "auto.register.schemas": False}, TWO)
        with pytest.raises(SchemaNotFoundError, match="does not have the serializer's schema") as caught:
            serializer.serialize("t", {"a": 2, "b": "two"})
        assert "framing=confluent" in str(caught.value.hint)


def test_a_serializer_of_the_latest_version_is_refused() -> None:
    with external_topic() as (conf, _):
        conf = {PULSAR: conf[PULSAR], "auto.register.schemas": False, "use.latest.version": True}
        with KafkaAvroSerializer(conf) as serializer, pytest.raises(SchemaError, match="got type EXTERNAL") as caught:
            serializer.serialize("t", {})
        assert "outside of Pulsar" in str(caught.value.hint)


def test_with_framing_confluent_a_serializer_writes_what_the_topic_takes() -> None:
    with external_topic() as (conf, _):
        del conf["framings"]
        with KafkaAvroSerializer(conf | {"framing": "confluent"}, TWO) as serializer:
            data = serializer.serialize("t", {"a": 2, "b": "two"})
        assert data == ID_2 + b"\x04\x06two"


# pulsar-client


class WithId(PulsarMessage):
    """As of a client that shows the id."""

    def __init__(self, data: bytes | None, identifier: Any) -> None:
        super().__init__(data, "t", 0)
        self._identifier = identifier

    def schema_id(self) -> Any:
        return self._identifier


def test_messages_of_pulsar_client_are_read_where_it_shows_the_id() -> None:
    with external_topic() as (conf, _):
        for make in (KafkaAvroDeserializer, KafkaAutoConsumeDeserializer):
            shown = [WithId(b"\x02", b"\xff" + ID_1), WithId(b"\x04\x06two", ID_2)]
            found = list(make(conf).deserialize_many(None, shown))
            natives = [getattr(one, "native_object", one) for one in found]
            assert natives == [{"a": 1}, {"a": 2, "b": "two"}]


@pytest.mark.parametrize("identifier", [None, b""])
def test_messages_of_pulsar_client_without_the_id_are_refused(identifier: Any) -> None:
    with external_topic() as (conf, _), pytest.raises(SchemaError, match="EXTERNAL"):
        list(KafkaAvroDeserializer(conf).deserialize_many(None, [WithId(b"\x02", identifier)]))


def test_an_id_of_pulsar_client_of_another_form_is_an_error_of_its_message() -> None:
    shown = [WithId(b"\x02", b"urn:7"), WithId(b"\x02", ID_1)]
    with external_topic() as (conf, _), KafkaAvroDeserializer(conf) as deserializer:
        with pytest.raises(DecodeError, match=r"topic persistent://public/default/t: .*expected Kafka's form"):
            list(deserializer.deserialize_many(None, shown))
        assert list(deserializer.deserialize_many(None, shown, on_error="skip")) == [{"a": 1}]
        kept = list(deserializer.deserialize_many(None, shown, on_error=lambda error: error.raw.data))
        assert kept == [b"\x02", {"a": 1}]


def test_a_null_whose_id_cannot_be_read_is_kept_as_a_null() -> None:
    with external_topic() as (conf, _), KafkaAvroDeserializer(conf) as deserializer:
        bad = WithId(None, b"urn:7")
        assert list(deserializer.deserialize_many(None, [bad], on_error=lambda error: [error.raw.data])) == [[None]]


def test_the_version_of_the_pip_is_no_version() -> None:
    class Minus(PulsarMessage):
        def schema_version(self) -> str:
            return (b"\xff" * 8).decode()  # which fails, as in the client

    assert schema_version_of(Minus(b"\x02", "t")) is None
    with external_topic() as (conf, _), pytest.raises(SchemaError, match="EXTERNAL"):
        list(KafkaAvroDeserializer(conf).deserialize_many(None, [Minus(b"\x02", "t")]))
