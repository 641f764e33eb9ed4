"""Full names of topics at a real KoP, which lists only the short names of the user's own namespace."""

from __future__ import annotations

import json
import urllib.request

import pytest
from command import CommandLine
from kop_server import Kop
from migrations import new_name

from streamnative_serdes._kafka import listed

pytestmark = pytest.mark.usefixtures("nothing_is_known")

LINES = '{"value": {"name": "Ada"}}\n'


@pytest.mark.parametrize("before", ["public/default/", "persistent://public/default/"])
def test_commands_and_sparks_source_take_full_names(kop_as_delivered: Kop, before: str) -> None:
    kop, short = kop_as_delivered, new_name("names")
    topic, kafka = before + short, {"bootstrap.servers": kop.kafka}
    run = CommandLine(kop.url, kop.kafka)
    schema = '{"type": "record", "name": "U", "fields": [{"name": "name", "type": "string"}]}'
    run("schemas", "register", short, "-", stdin=schema)
    assert "does not have topic" in run("produce", topic, stdin=LINES, code=3).err
    assert "does not have the topic" in run("ping", topic, code=3).err
    assert list(listed(kafka, topic)) == []
    with urllib.request.urlopen(f"{kop.url}/admin/v2/persistent/public/default/partitioned") as reply:
        assert not [name for name in json.load(reply) if name.endswith(short)], "asking creates no topic"

    run("produce", short, "--create", "--set", "enable.idempotence=false", stdin=LINES)
    run("produce", topic, "--set", "enable.idempotence=false", stdin=LINES)
    assert [line["value"]["name"] for line in run("decode", topic).lines] == ["Ada", "Ada"]
    assert len(run("tail", topic).lines) == 2
    assert run("ping", topic, "--json").json[-1]["found"] == "permitted; 2 messages"
    assert list(listed(kafka, topic)) == [0]

    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
    from streamnative_serdes.spark.datasource.offsets.bounds import Topics
    from streamnative_serdes.spark.datasource.offsets.brokers import Brokers

    for topics in (Topics((topic,)), Topics((topic,), assigned=frozenset({(topic, 0)}))):
        brokers = Brokers(kafka, topics)
        assert brokers.places() == brokers.left() == [(topic, 0)]
        assert brokers.latest([(topic, 0)]) == {(topic, 0): 2}
