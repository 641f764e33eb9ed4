"""The sentence in docs/config.md on options for topics of any type is that of the code."""

from __future__ import annotations

import re
from pathlib import Path

from streamnative_serdes import _config as config

DOCS = Path(__file__).parents[3] / "docs"


def test_the_pages_list_the_options_for_topics_of_any_type() -> None:
    text = (
        (DOCS / "config.md").read_text().partition("`KafkaAutoConsumeDeserializer` takes ")[2].partition(" of these")[0]
    )
    registries = (*config.REGISTRY_OPTIONS, *config.CONFLUENT_OPTIONS, *config.FOREIGN_OPTIONS)
    shared = {option.key for option in (*registries, *config.CODEC_OPTIONS)}
    assert set(re.findall("`([^`]+)`", text)) == {option.key for option in config.AUTO_CONSUME_OPTIONS} - shared
    second = {option.key for option in config.CONFLUENT_OPTIONS}
    left_out = {option.key for option in config.SERIALIZER_OPTIONS} - {o.key for o in config.PULSAR_SERIALIZER_OPTIONS}
    assert left_out - second == {"avro.engine", "framing", "key.schema"}
