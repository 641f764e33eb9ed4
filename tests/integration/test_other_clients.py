"""kafka-python and aiokafka on a real Kafka, pulsar-client on a real Pulsar, with schemas in Pulsar: runs the examples
as a user would.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from kop_entries import Record, kop_entry, send_entries
from pulsar_topic import PulsarTopic
from servers import Kafka, Pulsar

from streamnative_serdes import KafkaAvroSerializer

EXAMPLES = Path(__file__).parents[2] / "examples"
USERS = "{'name': 'Ada', 'age': 36}\n{'name': 'Grace', 'age': 85}\n{'name': 'Edsger', 'age': 72}\n"
# The schema that Pulsar's Java client derives from the class in the example.
USER = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "age", "type": ["null", "long"], "default": None},
        {"name": "name", "type": ["null", "string"], "default": None},
    ],
}
PULSAR_USERS = """\
b'Edsger' None User(name='Edsger', age=72)
b'Edsger' None None
b'Ada' 0 User(name='Ada', age=36)
b'Grace' 0 User(name='Grace', age=85)
b'Ada' 0 None
"""


@pytest.mark.parametrize("example", ["kafka_python_client.py", "aiokafka_client.py"])
def test_users_are_read_back_equal(kafka: Kafka, pulsar: Pulsar, example: str) -> None:
    place = {
        "BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "SCHEMA_REGISTRY_URL": pulsar.url,
        "TOPIC": f"clients-{uuid.uuid4()}",
    }
    assert output_of(example, place) == USERS


def test_a_pulsar_client_reads_what_kafka_and_pulsar_clients_wrote(pulsar: Pulsar, pulsar_topic: PulsarTopic) -> None:
    name = pulsar_topic.name
    message = KafkaAvroSerializer(pulsar_topic.conf, USER).serialize(name, {"name": "Edsger", "age": 72})
    send_entries(pulsar, name, kop_entry(Record(message, b"Edsger"), Record(None, b"Edsger")))
    place = {"SERVICE_URL": pulsar.service_url, "SCHEMA_REGISTRY_URL": pulsar.url, "TOPIC": name}
    assert output_of("pulsar_schema.py", place) == PULSAR_USERS


def output_of(example: str, place: dict[str, str]) -> str:
    """Run an example without warnings, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", EXAMPLES / example],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **place},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
