"""A topic with Avro keys of Confluent's serializers goes there and back on a KoP."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn
from keyed_topic import KEYS, KeyedTopic, kept_there_and_back, stripped_there_and_back
from kop_server import Kop

pytestmark = pytest.mark.usefixtures("nothing_is_known", "own_folder")


@pytest.mark.parametrize(
    ("schema", "keys", "migrate"),  # the other two pairs on a Kafka
    [(*given, migrate) for given, migrate in zip(KEYS, [kept_there_and_back, stripped_there_and_back], strict=True)],
)
def test_keys_go_there_and_back_on_a_kop(
    kop: Kop, stand_in: ConfluentStandIn, schema: Any, keys: list[Any], migrate: Any
) -> None:
    with KeyedTopic(kop.kafka, stand_in.url, kop.url, schema) as topic:
        migrate(topic, keys)
