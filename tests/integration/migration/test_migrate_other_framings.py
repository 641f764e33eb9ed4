"""Topics in the framings of Apicurio and Azure are copied to SNIP 42, with the schemas that their messages name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import CommandLine
from foreign_stand_ins import ForeignStandIn
from migrations import BEGIN, Sent, Sides, create, new_name, read, send
from servers import Kafka, Pulsar
from vendor_framings import AZURE_ID, SCHEMA, golden

from streamnative_serdes import KafkaAvroDeserializer

pytestmark = pytest.mark.usefixtures("nothing_is_known")


@pytest.mark.parametrize(
    ("framings", "address"),
    [("snip42,apicurio-header,apicurio", "/apis/registry/v2"), ("snip42,azure-header,azure,azure-content-type", "")],
)
def test_a_topic_in_other_framings_goes_to_pulsar(
    kafka: Kafka, pulsar: Pulsar, tmp_path: Path, framings: str, address: str
) -> None:
    source, target = new_name("source"), new_name("target")
    for name in (source, target):
        create(kafka.bootstrap_servers, name, partitions=1, max_message_bytes=str(1_000_000 + 20 * (name == target)))
    written = [one for one in golden() if one.framing in framings.split(",") and one.use_id is None]
    assert len(written) > 4
    with ForeignStandIn() as others:
        for path in ("/ids/globalIds/2", "/ids/contentIds/1", f"/$schemaGroups/$schemas/{AZURE_ID}"):
            others.add(path, SCHEMA)
        messages: list[tuple[Any, Any]] = [(one.message, [("kept", b"x"), *one.headers]) for one in written]
        messages.append((None, None))
        sent = [Sent(0, b"k", value, headers, BEGIN + n) for n, (value, headers) in enumerate(messages)]
        bad = Sent(0, b"k", b"\1nothing", None, BEGIN)
        send(kafka.bootstrap_servers, source, [*sent, bad])
        run = CommandLine()
        more = ("--set", f"source.framings={framings}", "--state", str(tmp_path / "state.json"))
        sides = Sides(others.url + address, pulsar.url, kafka.bootstrap_servers, more)
        refused = run(*sides("schemas", source, target), code=None)
        assert refused.code != 0
        assert "`migrate plan`" in refused.err
        found = [run(*sides(step, source, target), code=None) for step in ("plan", "schemas", "topic")]
        assert [ended.code for ended in found[:2]] == [0, 0], found
        assert "1 message lacks the source's framing" in found[0].out
        ended = run(*sides("verify", source, target), "--json")
        assert json.loads(ended.out.splitlines()[-1])["same"] is True
    reader = KafkaAvroDeserializer({"schema.registry.url": pulsar.url, "fallback.to.latest": False})
    copies = read(kafka.bootstrap_servers, target)[0]
    assert [reader.deserialize(target, value) for _, value, _, _ in copies] == [*(one.datum for one in written), None]
    kept = [[name for name, _ in headers or ()] for _, _, headers, _ in copies[:-1]]
    encoding = [["apicurio.value.encoding"] if len(one.headers) > 1 else [] for one in written]
    assert kept == [["kept", *more] for more in encoding]
