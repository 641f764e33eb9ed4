"""The programs in examples/ run unchanged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from program import EXAMPLES, printed


def test_produce_and_consume_runs_without_arguments() -> None:
    assert printed(EXAMPLES / "produce_and_consume.py").startswith("10 orders, the last one: Order(number=9")


def test_schema_evolution_reads_every_version_as_each_schema() -> None:
    found = printed(EXAMPLES / "schema_evolution.py")
    assert '{"id": "a", "cents": 1250, "state": "OPEN", "note": null}' in found
    seen = found.partition("as the latest that was seen:")[2].splitlines()
    assert [json.loads(line).get("state") for line in seen[1:4]] == [None, "PAID", "OPEN"]
    assert '{"amount": 3000000000.0, "currency": "EUR"}' in found
    assert found.count("refused by the") == 2


def test_any_topic_reads_each_type() -> None:
    said = "topic raw has no schema, so its messages are returned as bytes\n"
    assert printed(EXAMPLES / "any_topic.py", said=said).splitlines() == [
        "BYTES: b'\\x00\\x01' (no schema)",
        "DOUBLE: 21.5 (latest)",
        "JSON: {'customer': 'Ada', 'number': 1} (latest)",
        "KEY_VALUE: KeyValue(key='Ada', value={'customer': 'Ada', 'number': 2}) (latest)",
        "KEY_VALUE: KeyValue(key='Ada', value=None) (latest)",
    ]


def test_kafka_to_polars_has_each_row_and_the_dead_letter() -> None:
    pytest.importorskip("polars")
    assert printed(EXAMPLES / "kafka_to_polars.py").splitlines() == [
        "[('bus', 250, 1000.0), ('ferry', 250, 625.0), ('tram', 500, 375.0)]",
        "[(b'bus', b'\\xff', 'trips')]",
    ]


def test_kafka_to_duckdb_has_each_row_once() -> None:
    pytest.importorskip("duckdb")
    assert printed(EXAMPLES / "kafka_to_duckdb.py").splitlines() == [
        "[300, 300] rows came",
        "[('sensor 0', 100, 14.85), ('sensor 1', 100, 14.95), ('sensor 2', 100, 15.05)]",
    ]


def test_key_value_keeps_the_last_value_of_each_key() -> None:
    assert printed(EXAMPLES / "key_value.py").splitlines() == [
        "Article(shop='Paris', number=1) -> Stock(pieces=11, shelf='A7')",
        "Article(shop='Paris', number=2) -> None",
    ]


def test_prometheus_metrics_are_served_and_drawn(tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLES / "prometheus_metrics.py", "2", tmp_path / "curves.svg"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    counts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert int(counts["in: messages_total"]) > 0
    assert int(counts["attic, SchemaNotFoundError: failures_total"]) > 0
    assert not any(name.startswith("out: failures") for name in counts)
    assert "kitchen, DecodeError" in (tmp_path / "curves.svg").read_text(encoding="utf-8")
