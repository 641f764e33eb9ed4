"""A topic with Avro keys of Confluent's serializers goes there and back on a KoP."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn
from keyed_topic import KEYS, KeyedTopic, kept_there_and_back, stripped_there_and_back
from kop_server import Kop

pytestmark = pytest.mark.usefixtures("nothing_is_known", "own_folder")


@pytest.mark.parametrize("migrate", [kept_there_and_back, stripped_there_and_back])
@pytest.mark.parametrize(("schema", "keys"), KEYS)
def test_keys_go_there_and_back_on_a_kop(
    kop: Kop, stand_in: ConfluentStandIn, migrate: Any, schema: Any, keys: list[Any]
) -> None:
    with KeyedTopic(kop.kafka, stand_in.url, kop.url, schema) as topic:
        migrate(topic, keys)
