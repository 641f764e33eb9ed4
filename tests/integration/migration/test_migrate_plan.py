"""``migrate plan`` at a real Kafka, Apicurio and Pulsar: what it finds, and what is missing or away."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import pytest
import requests
from command import CommandLine
from confluent_kafka import Producer
from confluent_stand_in import ConfluentStandIn
from page_blocks import ROOT, blocks_of, run_code
from plan_source import AWAY, VERSIONS, PlanSource, counts, names
from schemas import record
from servers import ConfluentRegistry, Kafka, Pulsar

from streamnative_serdes import header
from streamnative_serdes.migration import PlanOptions, State, plan
from streamnative_serdes.migration.planning.source_messages import Sample

pytestmark = pytest.mark.usefixtures("nothing_is_known", "own_folder")


def test_a_plan_lists_all_that_the_source_uses(kafka: Kafka, confluent_registry: ConfluentRegistry) -> None:
    source = PlanSource(kafka, confluent_registry.url)
    ids = [source.register(schema) for schema in VERSIONS]
    key = source.register(record("Key", ("id", "long")), f"{source.name}-key")
    other = source.register({**VERSIONS[0], "doc": "elsewhere"}, f"{source.name}-elsewhere")
    for number in (*ids, ids[3]):
        source.send(header.pack_id(number) + b"\2", partition=1)
    source.send(header.pack_id(other) + b"\2")
    source.send(b"\2", headers=[("__value_schema_id", header.pack_id(ids[0]))])
    source.send(None)
    source.send(b"garbage")
    source.send(header.pack_id(2**31 - 1) + b"\2", header.pack_id(key) + b"\2", partition=2)
    source.send(header.pack_id(ids[0]) + b"\2", header.pack_id(2**31 - 2) + b"\2", partition=2)
    source.send(header.pack_id(ids[0]) + b"\2", None, headers=[("n", None), ("r", b"\xff"), ("n", b"")], partition=2)
    found = source.found()
    used = {entry["id"]: (entry["count"], entry["first"], entry["name"]) for entry in found["ids"]}
    assert used == {
        ids[0]: (4, [0, 1], "shop.Order"),
        ids[1]: (1, [1, 1], "shop.Order"),
        ids[2]: (1, [1, 2], "shop.Order"),
        ids[3]: (2, [1, 3], "shop.Order"),
        other: (1, [0, 0], "shop.Order"),
    }
    subjects = {entry["id"]: entry["subjects"] for entry in found["ids"]}
    assert subjects[ids[0]] == [f"{source.name}-value"]
    assert subjects[other] == [f"{source.name}-elsewhere"]
    assert found["unknown_ids"] == [{"id": 2**31 - 1, "count": 1, "first": [2, 0]}]
    assert [(entry["id"], entry["count"]) for entry in found["key_ids"]] == [(key, 1)]
    assert [entry["id"] for entry in found["listed"]] == ids
    assert counts(found) == {
        "empty_headers": (1, [2, 2]),
        "framed_in_header": (1, [0, 1]),
        "framed_in_value": (9, [0, 0]),
        "no_framing": (1, [0, 3]),
        "null_headers": (1, [2, 2]),
        "null_keys": (1, [2, 2]),
        "raw_headers": (1, [2, 2]),
        "repeated_headers": (1, [2, 2]),
        "tombstones": (1, [0, 2]),
        "with_headers": (2, [0, 1]),
    }
    assert (found["messages"], found["whole"]) == (12, True)
    assert names(found) == ["unknown-ids", "other-subjects", "framed-keys", "no-framing", "missing-target", "strategy"]
    assert State.load(Path(f"{source.name}-to-{source.target}.migration.json"), source.route()).findings == found


def test_guids_at_a_registry_without_them_are_a_question(kafka: Kafka, confluent_registry: ConfluentRegistry) -> None:
    source = PlanSource(kafka, confluent_registry.url)
    source.register(VERSIONS[0])
    source.send(b"\2", headers=[("__value_schema_id", b"\1" + bytes(16))])
    ended = source.plan("--json", "--no-probe", code=1)
    assert ended.error["error"]["problems"] == ["guids"]
    assert "--accept guids" in ended.error["error"]["hint"]
    source.plan("--no-probe", "--accept", "guids")


def test_a_json_schema_of_apicurio_is_refused(kafka: Kafka, confluent_registry: ConfluentRegistry) -> None:
    source = PlanSource(kafka, confluent_registry.url)
    source.register({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, kind="JSON")
    assert source.plan("--json", "--no-probe", code=1).error["error"]["problems"] == ["schema-type"]


# The registry of the target


def test_a_target_with_confluents_api_is_an_error_before_anything_is_created(
    source: PlanSource, confluent_registry: ConfluentRegistry, tmp_path: Path
) -> None:
    ended = source.plan("--create", "--target-registry", confluent_registry.url, code=3)
    assert "the target's registry: cannot list the schemas" in ended.err
    assert "Hint: this is a Confluent-style registry: use Pulsar's HTTP address" in ended.err
    assert (source.scratch, source.target in source.topics(), list(tmp_path.iterdir())) == ([], False, [])


def test_a_registry_of_the_target_that_is_away_or_lacks_the_namespace_stops_before_the_probe(
    source: PlanSource, pulsar: Pulsar
) -> None:
    assert "the target's registry: " in source.plan("--target-registry", AWAY, code=3).err
    other = ("--target-registry", pulsar.url, "--set", "target.pulsar.namespace=nowhere")
    ended = source.plan(*other, code=3)
    assert "Pulsar does not create them automatically" in ended.err
    assert source.scratch == []


def test_what_pulsars_strategy_will_refuse_is_noted(
    kafka: Kafka, confluent_registry: ConfluentRegistry, pulsar: Pulsar
) -> None:
    source = PlanSource(kafka, confluent_registry.url)
    source.other_registry = pulsar.url
    level = {"compatibility": "BACKWARD"}
    answer = requests.put(f"{source.registry}/config/{source.name}-value", json=level, timeout=60)
    assert answer.ok, answer.text
    for schema in (VERSIONS[1], VERSIONS[0], record("Order", ("f1", ["null", "int"], None), namespace="shop")):
        source.register(schema)  # the last one removes id, which has no default
    found = source.found()
    assert found["strategies"] == {"source": "BACKWARD", "target": "FULL"}
    (problem,) = [problem for problem in found["problems"] if problem["name"] == "strategy"]
    assert f"; Pulsar refuses {source.name}-value version 3; after the migration" in problem["text"]
    assert "new version that removes a field without a default is refused (409)" in problem["text"]
    steps = [step if step != "plan" else "schemas" for step in source.arguments()]
    ended = CommandLine()(*steps, code=1)
    assert f"{source.name}-value version 3: " in ended.err  # as was foretold
    assert "target-schemas" not in names(source.found())
    run = CommandLine(pulsar.url)
    run("schemas", "register", source.target, "-", stdin=json.dumps({**VERSIONS[1], "name": "Else"}))
    assert "target-schemas" in names(source.found())


# The sample


def test_a_sample_reads_the_beginning_the_end_and_between(source: PlanSource) -> None:
    for number in range(998):
        source.send(str(number).encode())
    source.producer.flush(30)
    read = [
        message.offset()
        for message in Sample({"bootstrap.servers": source.bootstrap}, source.name, 3, 20)
        if message.partition() == 0
    ]
    assert len(read) == len(set(read)) == 20
    assert sorted(read) == read
    assert read[:2] == [0, 1]
    assert read[-2:] == [998, 999]
    assert read[10] in range(500, 600)


def test_whole_reads_all_and_says_so(source: PlanSource) -> None:
    for _ in range(100):
        source.send(b"x", partition=2)
    source.producer.flush(30)
    sampled = source.found("--sample", "10")
    assert (sampled["messages"], sampled["whole"]) == (12, False)
    assert sampled["partitions"]["2"] == {"first": 0, "next": 100, "read": 10}
    whole = source.found("--whole")
    assert (whole["messages"], whole["whole"]) == (102, True)


def test_aborted_and_open_transactions_are_not_counted(source: PlanSource) -> None:
    """An open one hides what comes after it, and does not make the plan wait."""
    producers = []
    for end in ("abort", "open"):
        producer = Producer({"bootstrap.servers": source.bootstrap, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(source.name, b"hidden", partition=1)
        producer.flush(30)
        if end == "abort":
            producer.abort_transaction(30)
            source.send(None, partition=1)
            source.producer.flush(30)
        producers.append(producer)
    begun = time.monotonic()
    found = source.found("--whole")
    assert time.monotonic() - begun < 20
    assert found["partitions"]["1"]["read"] == 1
    assert "no_framing" not in found["counts"]
    producers[1].abort_transaction(30)


def test_the_progress_ends_at_the_total(source: PlanSource) -> None:
    seen: list[tuple[int, int]] = []
    plan(
        State(Path("s.json"), source.route()), PlanOptions(probe=False), lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (2, 2)
    assert seen == sorted(seen)


def test_the_code_of_the_page_shows_what_blocks(source: PlanSource, capsys: pytest.CaptureFixture[str]) -> None:
    source.create(source.target, 2)
    (code,) = (block.text for block in blocks_of(ROOT / "docs" / "migrate.md") if block.language == "python")
    run_code(code, {"state": State(Path("s.json"), source.route())})
    assert capsys.readouterr().out == "['partitions', 'message-size']\n"


# What is missing or away


def test_a_missing_source_is_refused_and_not_created(source: PlanSource) -> None:
    source.name = f"missing-{source.name}"
    ended = source.plan("--no-probe", code=3)
    assert f"topic {source.name} does not exist" in ended.err
    assert source.name not in source.topics()


def test_a_registry_that_is_away_stops_before_the_probe(source: PlanSource, tmp_path: Path) -> None:
    ended = source.plan("--source-registry", AWAY, "--set", "source.retries.total.ms=100", code=3)
    assert AWAY in ended.err
    assert source.scratch == []
    assert list(tmp_path.iterdir()) == []


def test_a_state_file_that_cannot_be_written_is_named_before_anything_is_created(source: PlanSource) -> None:
    Path("folder").mkdir()
    ended = source.plan("--no-probe", "--create", "--state", "missing/state.json", code=1)
    assert "missing/state.json cannot be written" in ended.err
    assert source.target not in source.topics()


# The way back


def test_the_way_back_reads_versions_of_pulsar(kafka: Kafka, pulsar: Pulsar, stand_in: ConfluentStandIn) -> None:
    source = PlanSource(kafka, stand_in.url)
    source.other_registry = pulsar.url
    run = CommandLine(pulsar.url)
    for schema in VERSIONS[:2]:
        run("schemas", "register", source.name, "-", stdin=json.dumps(schema))
    for version in (0, 1, 1, 9):
        source.send(header.pack(version) + b"\2")
    source.send(b"\2")
    source.send(header.pack_id(1) + b"\2")
    source.send(None, header.pack(0) + b"\2")
    found = source.found("--back", "--create")
    used = [(entry["id"], entry["count"], entry["type"], entry["name"]) for entry in found["ids"]]
    assert used == [(0, 1, "AVRO", "shop.Order"), (1, 2, "AVRO", "shop.Order")]
    assert found["unknown_ids"] == [{"id": 9, "count": 1, "first": [0, 3]}]
    assert [entry["id"] for entry in found["listed"]] == [0, 1]
    assert counts(found)["no_framing"] == (2, [0, 4])
    assert [entry["id"] for entry in found["key_ids"]] == [0]
    assert names(found) == ["unknown-ids", "framed-keys", "no-framing"]
    assert "max.message.bytes" not in source.settings(source.target)


def test_the_way_back_refuses_other_types_of_pulsar(kafka: Kafka, pulsar: Pulsar, stand_in: ConfluentStandIn) -> None:
    source = PlanSource(kafka, stand_in.url)
    source.other_registry = pulsar.url
    run = CommandLine(pulsar.url)
    run("schemas", "register", source.name, "-", "--type", "JSON", stdin=json.dumps(VERSIONS[0]))
    assert source.plan("--json", "--no-probe", "--back", code=1).error["error"]["problems"] == ["schema-type"]


def test_people_see_the_same_as_tables(source: PlanSource) -> None:
    source.send(b"\x1b[2Jgarbage", headers=[("\x1b[2J", b"x")])
    text = source.plan("--no-probe").out
    assert "SCHEMAS IN USE" in text
    assert "-value 1" in text, "of the first topics with this schema"
    assert "no-framing" in text
    assert f"TARGET {source.target}: does not exist; it would have 3 partitions" in text
    assert "\x1b" not in text
