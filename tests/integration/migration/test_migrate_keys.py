"""A topic with Avro keys of Confluent's serializers goes to Pulsar and back: the keys are kept, or become bare Avro."""

from __future__ import annotations

from typing import Any

import pytest
from keyed_topic import KEYS, KeyedTopic, kept_there_and_back, stripped_there_and_back
from servers import ConfluentRegistry, Kafka, Pulsar

pytestmark = pytest.mark.usefixtures("nothing_is_known", "own_folder")


@pytest.mark.promise("kept-keys")
@pytest.mark.parametrize("migrate", [kept_there_and_back, stripped_there_and_back])
@pytest.mark.parametrize(("schema", "keys"), KEYS)
def test_keys_go_there_and_back(
    kafka: Kafka, confluent_registry: ConfluentRegistry, pulsar: Pulsar, migrate: Any, schema: Any, keys: list[Any]
) -> None:
    with KeyedTopic(kafka.bootstrap_servers, confluent_registry.url, pulsar.url, schema) as topic:
        migrate(topic, keys)
