"""kafka-python and aiokafka on a real Kafka, with schemas in a real Pulsar: runs the examples as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from servers import Kafka, Pulsar

EXAMPLES = Path(__file__).parents[2] / "examples"
USERS = "{'name': 'Ada', 'age': 36}\n{'name': 'Grace', 'age': 85}\n{'name': 'Edsger', 'age': 72}\n"


@pytest.mark.parametrize("example", ["kafka_python_client.py", "aiokafka_client.py"])
def test_users_are_read_back_equal(kafka: Kafka, pulsar: Pulsar, example: str) -> None:
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
