"""Topics of type EXTERNAL (PIP-420) on a real Pulsar 4.2: its registry, its admin API, its clients, and our entries."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from command import CommandLine
from external_schemas import GUID, ID_1, ID_2, NEW, OLD, ONE, TOPICS, golden
from external_schemas.java import lines_of_java, read_by_java
from external_topic import HEADERS, WithGuid
from java_program import jdk
from kop_entries import _number, _text, send_entries
from pulsar import Client, IncompatibleSchema
from pulsar_topic import PulsarTopic
from servers import Pulsar

from streamnative_serdes import KafkaAutoConsumeDeserializer, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._external_ids import IdForm
from streamnative_serdes.converters import (
    AdminEntryReader,
    KafkaToPulsarConverter,
    Message,
    PulsarEntryReader,
    write_record_batch,
)
from streamnative_serdes.errors import IncompatibleSchemaError, SchemaError
from streamnative_serdes.integrations.pulsar_client import pulsar_schema

pytestmark = pytest.mark.usefixtures("nothing_is_known")


@pytest.fixture(scope="module")
def pulsar_client_4_2(pulsar_4_2: Pulsar) -> Iterator[Client]:
    client = Client(pulsar_4_2.service_url)
    yield client
    client.close()


@pytest.fixture
def topic() -> str:
    return f"external-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def conf(pulsar_4_2: Pulsar) -> Iterator[dict[str, Any]]:
    with WithGuid() as second:
        yield {
            "schema.registry.url": pulsar_4_2.url,
            "confluent.schema.registry.url": second.url,
            "framings": HEADERS,
        }


def register(server: Pulsar, topic: str, kind: str = "EXTERNAL", encoding: str = "") -> requests.Response:
    posted: dict[str, Any] = {"type": kind, "schema": "", "properties": {}}
    if encoding:
        halves = {"key.schema.type": kind, "value.schema.type": kind, "kv.encoding.type": encoding}
        posted = {"type": "KEY_VALUE", "schema": '{"key": "", "value": ""}', "properties": halves}
    url = f"{server.url}/admin/v2/schemas/public/default/{topic}/schema"
    return requests.post(url, json=posted, timeout=30)


def without_ids(client: str, topic: str) -> list[tuple[Any, ...]]:
    """The golden messages, as parts that do not depend on when they were sent."""
    reader = PulsarEntryReader()
    return [(m.key, m.value, m.headers) for entry in golden()[client, topic] for m in reader.entry(entry)]


def test_java_sends_the_golden_messages(pulsar_4_2: Pulsar) -> None:
    if jdk() is None:
        pytest.skip("no JDK")
    lines = [json.loads(line) for line in lines_of_java(pulsar_4_2)]
    assert [(line["client"], line["topic"]) for line in lines] == [(one, name) for one in (OLD, NEW) for name in TOPICS]
    for line in lines:
        assert len(line["entries"]) == len(golden()[line["client"], line["topic"]])


def test_the_registry_has_the_type_and_nothing_else(pulsar_4_2: Pulsar, topic: str) -> None:
    assert register(pulsar_4_2, topic).json() == {"version": {"version": 0}}
    refused = register(pulsar_4_2, topic, "STRING")
    assert (refused.status_code, "exists schema type EXTERNAL" in refused.text) == (409, True)
    run = CommandLine(pulsar_4_2.url)
    assert run("schemas", "get", topic, "--json").json["type"] == "EXTERNAL"
    send_entries(pulsar_4_2, topic, golden()[NEW, "ids"][0])  # topics without a message are not listed
    for command in (("schemas", "list"), ("topics",)):
        listed = [line for line in run(*command, "public/default").out.splitlines() if topic in line]
        assert len(listed) == 1
        assert "EXTERNAL" in listed[0]


def test_a_serializer_is_refused_with_a_way_out(pulsar_4_2: Pulsar, conf: dict[str, Any], topic: str) -> None:
    register(pulsar_4_2, topic)
    serializer = KafkaAvroSerializer({"schema.registry.url": pulsar_4_2.url}, ONE)
    with serializer, pytest.raises(IncompatibleSchemaError, match="schema type EXTERNAL") as caught:
        serializer.serialize(topic, {"a": 1})
    assert "framing=confluent" in str(caught.value.hint)
    del conf["framings"]
    with KafkaAvroSerializer(conf | {"framing": "confluent"}, ONE) as serializer:
        data = serializer.serialize(topic, {"a": 1})
    read = conf | {"framings": "snip42,confluent,headerless"}
    assert KafkaAvroDeserializer(read).deserialize(topic, data) == {"a": 1}
    assert KafkaAutoConsumeDeserializer(read).deserialize(topic, data).native_object == {"a": 1}


@pytest.mark.promise("external-ids")
@pytest.mark.parametrize("client", [OLD, NEW])
def test_entries_are_read_by_their_ids_and_those_without_are_refused(
    pulsar_4_2: Pulsar, conf: dict[str, Any], topic: str, client: str
) -> None:
    register(pulsar_4_2, topic)
    *named, (_, bare, _) = without_ids(client, "ids")
    for make in (KafkaAvroDeserializer, KafkaAutoConsumeDeserializer):
        with make(conf) as deserializer:
            found = [deserializer.deserialize(topic, value, headers=headers) for _, value, headers in named]
            natives = [getattr(one, "native_object", one) for one in found]
            assert natives == [{"a": 1}, {"a": 2, "b": "two"}, {"a": 3}]
            with pytest.raises(SchemaError, match="EXTERNAL"):
                deserializer.deserialize(topic, bare, 0)


def test_the_admin_api_does_not_show_the_id_so_its_messages_are_refused(
    pulsar_4_2: Pulsar, conf: dict[str, Any], topic: str
) -> None:
    register(pulsar_4_2, topic)
    send_entries(pulsar_4_2, topic, golden()[NEW, "ids"][0])
    with AdminEntryReader({"schema.registry.url": pulsar_4_2.url}) as admin:
        (entry,) = admin.entries(topic)
    ended = CommandLine(pulsar_4_2.url)("convert", "--topic", topic)
    assert "Warning: the topic's schemas are outside of Pulsar, and the admin API leaves out the id" in ended.err
    (message,) = PulsarEntryReader().entry(entry.data)
    assert (message.value, message.headers, message.schema_version) == (b"\x02", (), 0)
    with pytest.raises(SchemaError, match="EXTERNAL") as caught:
        KafkaAvroDeserializer(conf).deserialize(topic, message.value, message.schema_version)
    assert "outside of Pulsar" in str(caught.value.hint)


def test_pulsar_schema_is_refused(pulsar_4_2: Pulsar, conf: dict[str, Any], pulsar_client_4_2: Client) -> None:
    """pulsar-client 3.13 shows no id; by an Avro schema, the broker does not let it attach."""
    topic = PulsarTopic(pulsar_4_2, pulsar_client_4_2)
    register(pulsar_4_2, topic.name)
    send_entries(pulsar_4_2, topic.name, golden()[NEW, "ids"][0])
    (raw,) = topic.raw()
    assert (raw.data, raw.version) == (b"\x02", 0)
    for schema in (pulsar_schema(conf), pulsar_schema(conf, ONE, announce=False)):
        (error,) = topic.read(schema, 1)
        assert isinstance(error, SchemaError), error
        assert "this pulsar-client does not show the id of a message's schema; its schemas are" in str(error.hint)
    with pytest.raises(IncompatibleSchema):
        pulsar_client_4_2.subscribe(topic.name, "s", schema=pulsar_schema(conf, ONE))


# Entries of ours, read by Java


def kafka_entry(*messages: Message) -> bytes:
    metadata = _text(1, b"p") + _number(2, 0) + _number(3, 7) + _number(11, len(messages))
    metadata += _text(4, _text(1, b"entry.format") + _text(2, b"kafka"))
    return len(metadata).to_bytes(4) + metadata + write_record_batch(messages)


@pytest.mark.promise("external-written")
@pytest.mark.parametrize(("client", "form"), [(NEW, "4.2"), (NEW, "4.1"), (OLD, "4.1")])
@pytest.mark.parametrize("encoding", ["NONE", "SEPARATED"])
def test_java_reads_the_ids_of_composed_entries(
    pulsar_4_2: Pulsar, topic: str, client: str, form: IdForm, encoding: str
) -> None:
    if jdk() is None:
        pytest.skip("no JDK")
    pair = encoding != "NONE"
    register(pulsar_4_2, topic, encoding=encoding if pair else "")
    of_key = [("__key_schema_id", ID_1)] if pair else []
    messages = [
        Message(value, key=key if pair else None, headers=[("__value_schema_id", identifier), *of_key])
        for key, value, identifier in ((b"\x04", b"\x02", GUID), (b"\x06", b"\x04\x06two", ID_2))
    ]
    entries = list(KafkaToPulsarConverter(external_ids=form).entries(kafka_entry(*messages)))
    assert len(entries) == 2
    send_entries(pulsar_4_2, topic, *entries)
    keys = [f"{ID_1.hex()} 04 | ", f"{ID_1.hex()} 06 | "] if pair else ["", ""]
    assert read_by_java(pulsar_4_2, client, topic, encoding, 2) == [
        f"{keys[0]}{GUID.hex()} 02",
        f"{keys[1]}{ID_2.hex()} 040674776f",
    ]
