"""kafka-python and aiokafka on a real Kafka, with schemas in a real Pulsar: the examples, run as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from servers import Kafka, Pulsar

from streamnative_serdes import ConfigError, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.clients import for_kafka_python

EXAMPLES = Path(__file__).parents[2] / "examples"
USERS = "{'name': 'Ada', 'age': 36}\n{'name': 'Grace', 'age': 85}\n{'name': 'Edsger', 'age': 72}\n"


@pytest.mark.parametrize("example", ["kafka_python_client.py", "aiokafka_client.py"])
def test_users_go_there_and_back(kafka: Kafka, pulsar: Pulsar, example: str) -> None:
    place = {
        "BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "SCHEMA_REGISTRY_URL": pulsar.url,
        "TOPIC": f"clients-{uuid.uuid4()}",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", EXAMPLES / example],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **place},
    )
    assert (done.returncode, done.stdout) == (0, USERS), done.stderr


def test_what_is_no_serdes_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected a KafkaAvroSerializer or KafkaAvroDeserializer, got str"):
        for_kafka_python("serializer")  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.* is deprecated. Use files:DeprecationWarning")  # kafka-python's import, on 3.11
def test_both_versions_of_kafka_pythons_interface_are_served() -> None:
    from kafka.serializer import Deserializer, Serializer

    class Echo(KafkaAvroSerializer):
        def serialize(self, topic: str, obj: object, headers: object = None) -> object:  # type: ignore[override]
            return topic, obj, headers

    class Back(KafkaAvroDeserializer):
        def deserialize(self, topic: str, data: object, version: object = None) -> object:  # type: ignore[override]
            return topic, data, version

    writing, reading = for_kafka_python(Echo()), for_kafka_python(Back())
    assert isinstance(writing, Serializer)
    assert isinstance(reading, Deserializer)
    assert writing.serialize("t", "value") == ("t", "value", None)
    assert writing.serialize("t", [("h", b"v")], "value") == ("t", "value", [("h", b"v")])
    assert reading.deserialize("t", b"value") == ("t", b"value", None)
    assert reading.deserialize("t", [("h", b"v")], b"value") == ("t", b"value", None)
