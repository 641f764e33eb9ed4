"""Commands on topics of type EXTERNAL (PIP-420): messages with an id in a header, and entries of Java's clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

from command import CommandLine
from external_schemas import ID_1, ID_2, NEW, OLD, golden
from external_topic import HEADERS, external_topic
from first_messages import send

from streamnative_serdes.converters import (
    DumpWriter,
    KafkaEntryReader,
    PulsarEntryReader,
    StoredEntry,
    read_dump,
)
from streamnative_serdes.testing import MockBroker

NAMED = [("__value_schema_id", ID_1)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker({"t": 1}) as broker:
        yield broker


def dump(client: str, topic: str) -> str:
    with Path("a.dump").open("wb") as file:
        writer = DumpWriter(file)
        for entry in golden()[client, topic]:
            writer.write(StoredEntry(entry))
    return "a.dump"


# decode


def test_decode_reads_the_messages_with_an_id_and_refuses_the_others(broker: MockBroker) -> None:
    for value, headers in ((b"\x02", NAMED), (b"\x04\x06two", [("__value_schema_id", ID_2)]), (b"\x06", None)):
        send(broker, "t", value, headers=headers)
    with external_topic() as (conf, second):
        run = CommandLine(conf["schema.registry.url"], bootstrap=broker.bootstrap_servers)
        options = ("--set", f"framings={HEADERS}", "--set", f"confluent.schema.registry.url={second.url}")
        lines = run("decode", "t", *options, code=1).lines
        assert [(one["framing"], one.get("schema_id"), one.get("value")) for one in lines] == [
            ("confluent-header", 1, {"a": 1}),
            ("confluent-header", 2, {"a": 2, "b": "two"}),
            (None, None, None),
        ]
        assert "EXTERNAL" in lines[2]["error"]
        assert "EXTERNAL" in run("decode", "t", "--max", "1", code=1).lines[0]["error"]


@pytest.mark.parametrize("key", ["EXTERNAL", "STRING"])
def test_decode_reads_the_values_of_a_pair(broker: MockBroker, key: str) -> None:
    send(broker, "t", b"\x02", key=b"\x04", headers=NAMED)
    with external_topic("SEPARATED", key) as (conf, second):
        run = CommandLine(conf["schema.registry.url"], bootstrap=broker.bootstrap_servers)
        options = ("--set", f"framings={HEADERS}", "--set", f"confluent.schema.registry.url={second.url}")
        (line,) = run("decode", "t", *options).lines
    assert (line["key"], line["schema_id"], line["value"]) == ("\x04", 1, {"a": 1})


def test_schemas_get_names_the_type() -> None:
    with external_topic() as (conf, _):
        run = CommandLine(conf["schema.registry.url"])
        assert run("schemas", "get", "t", "--json").json["type"] == "EXTERNAL"


# convert


def shown(line: Any) -> list[Any]:
    return [line["key"], line["value"], line["headers"], line["version"]]


@pytest.mark.parametrize("client", [OLD, NEW])
def test_convert_shows_the_ids_as_headers(client: str) -> None:
    first, *_, last = CommandLine()("convert", dump(client, "ids")).lines
    assert shown(first) == [None, "\x02", [["__value_schema_id", "\0\0\0\0\x01"]], None]
    assert shown(last) == [None, "\x08", [], 0]
    pair, *_ = CommandLine()("convert", dump(client, "inline")).lines
    headers = [["__key_schema_id", "\0\0\0\0\x01"], ["__value_schema_id", "\0\0\0\0\x02"]]
    assert shown(pair) == ["\x02", "\x04\x06two", headers, None]


def test_convert_to_kafka_gives_what_kafkas_clients_read() -> None:
    CommandLine()("convert", dump(NEW, "inline"), "--to", "kafka", "-o", "kafka.log")
    first, *_ = KafkaEntryReader().batches(Path("kafka.log").read_bytes())
    assert (first.key, first.value) == (b"\x02", b"\x04\x06two")
    assert first.headers == (("__key_schema_id", ID_1), ("__value_schema_id", ID_2))


@pytest.mark.parametrize(("form", "magic"), [("4.2", b"\xff"), ("4.1", b"")])
def test_convert_puts_the_ids_back_into_the_metadata(form: str, magic: bytes) -> None:
    run = CommandLine()
    run("convert", dump(NEW, "batch"), "--to", "kafka", "-o", "kafka.log")
    batches = ("convert", "kafka.log", "--input-format", "batches", "--to", "pulsar")
    run(*batches, "--external-ids", form, "-o", "ids.dump")
    run(*batches, "-o", "headers.dump")
    with Path("ids.dump").open("rb") as with_ids, Path("headers.dump").open("rb") as with_headers:
        (ours,), (bare,) = read_dump(with_ids), read_dump(with_headers)
    assert magic + ID_1 in ours.data
    assert b"__value_schema_id" not in ours.data
    assert b"__value_schema_id" in bare.data
    messages = [list(PulsarEntryReader().entry(entry.data)) for entry in (ours, bare)]
    assert messages[0] == messages[1]


def test_external_ids_go_with_pulsars_format_only() -> None:
    ended = CommandLine()("convert", dump(NEW, "ids"), "--external-ids", "4.2", code=2)
    assert "--external-ids needs --to pulsar" in ended.err


def test_an_id_of_another_registry_is_an_error_and_kept_by_failed() -> None:
    ended = CommandLine()("convert", dump(NEW, "other"), code=1)
    assert "schema id in Pulsar's metadata: expected Kafka's form" in ended.err
    assert CommandLine()("convert", dump(NEW, "other"), "--failed", "failed.dump", code=1).out == ""
    assert Path("failed.dump").read_bytes() == Path("a.dump").read_bytes()
    CommandLine()("convert", "a.dump", "--to", "entries", "-o", "same.dump")
    assert Path("same.dump").read_bytes() == Path("a.dump").read_bytes()
