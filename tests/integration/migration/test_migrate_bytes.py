"""A topic whose schema is `bytes`: Confluent's serializers leave out the length, and Pulsar's clients need it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import CommandLine
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from migrations import BEGIN, Sent, Sides, create, new_name, read, send
from servers import ConfluentRegistry, Kafka, Pulsar

from streamnative_serdes import KafkaAvroDeserializer
from streamnative_serdes.serialization import MessageField, SerializationContext

pytestmark = pytest.mark.usefixtures("nothing_is_known")
RAW = [b"\x04\x68\x69", b"x", b"x" * 70_000, b"\x00\x01\x02"]


def test_bytes_at_the_root_go_to_pulsar_and_back(
    kafka: Kafka, confluent_registry: ConfluentRegistry, pulsar: Pulsar, tmp_path: Path
) -> None:
    source, target, again = new_name("source"), new_name("target"), new_name("again")
    for number, name in enumerate((source, target, again)):
        create(kafka.bootstrap_servers, name, partitions=1, max_message_bytes=str(1_000_000 + 20 * number))
    run = CommandLine()
    sides = Sides(confluent_registry.url, pulsar.url, kafka.bootstrap_servers)
    with SchemaRegistryClient({"url": confluent_registry.url}) as theirs:
        serializer = AvroSerializer(theirs, '"bytes"')
        ctx = SerializationContext(source, MessageField.VALUE)
        values = [serializer(raw, ctx) for raw in RAW]
        send(kafka.bootstrap_servers, source, [Sent(0, None, value, None, BEGIN) for value in [*values, None]])

        def migrate(one: str, other: str, *more: str) -> list[bytes | None]:
            state = ("--state", str(tmp_path / f"{other}.json"))
            way = ["--back"] if more else []
            run(*sides("schemas", one, other, *way, *more, *state))
            run(*sides("topic", one, other, *way, *state))
            ended = run(*sides("verify", one, other, *way, *state), "--json")
            found: Any = json.loads(ended.out.splitlines()[-1])
            assert found["same"] is True
            assert [part["undecodable"] for part in found["partitions"]] == [0]
            return [parts[1] for parts in read(kafka.bootstrap_servers, other)[0]]

        there = migrate(source, target)
        reader = KafkaAvroDeserializer({"schema.registry.url": pulsar.url, "fallback.to.latest": False})
        assert [reader.deserialize(target, value) for value in there] == [*RAW, None]
        back = migrate(target, again, "--ids-of", str(tmp_path / f"{target}.json"))
        assert back == [*values, None]
        assert [AvroDeserializer(theirs)(value, ctx) for value in back] == [*RAW, None]
