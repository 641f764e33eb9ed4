"""`migrate schemas` from a real registry of Confluent's API (Apicurio) to a real Pulsar, and back."""

from __future__ import annotations

import json
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from confluent_kafka import Producer
from schema_migrations import STATE, Migration
from schemas import record
from servers import ConfluentRegistry, Kafka, Pulsar, Tokens
from waiting import HANG_SECONDS

from streamnative_serdes import header
from streamnative_serdes._broker_rules.rehearsal import comparison_fault
from streamnative_serdes.errors import SchemaRegistryError
from streamnative_serdes.migration import Side
from streamnative_serdes.schema_registry import ConfluentRegistryClient, ConfluentSchema, SchemaRegistryClient

MONEY = record("Money", ("cents", "long"), namespace="shop")
FIRST = record("Sale", ("price", "shop.Money"))
DOCUMENTED = {**FIRST, "doc": "What was sold"}
REQUIRED = record("Sale", ("price", "shop.Money"), ("place", "string"))  # which Pulsar's default strategy refuses
LAST = record("Sale", ("price", "shop.Money"), ("place", "string"), ("note", ["null", "string"], None))
OUTSIDE = record("Sale", ("price", MONEY), ("old", ["null", "int"], None))
VERSIONS = (FIRST, DOCUMENTED, REQUIRED, LAST)
COPIES = [FIRST, REQUIRED, LAST, OUTSIDE]  # DOCUMENTED is the same to Pulsar
WIDE = "ALWAYS_COMPATIBLE"

each_old = pytest.mark.parametrize("old", [None, "BACKWARD"], ids=["unset", "set"])


def written_out(schema: Any) -> Any:
    """With the type that it refers to."""
    return json.loads(json.dumps(schema).replace('"shop.Money"', json.dumps(MONEY)))


class Shop:
    """A topic of Confluent's with four versions that refer to another subject, and one id outside of its subject."""

    def __init__(self, confluent: str, pulsar: Pulsar) -> None:
        self.topic = f"sales-{uuid.uuid4().hex[:12]}"
        self.pulsar, self.run = pulsar, Migration(confluent, pulsar.url, self.topic, self.topic)
        side = Side({}, {"schema.registry.url": confluent})
        self.registry = ConfluentRegistryClient(side.options())
        self.target = SchemaRegistryClient(Side({}, {"schema.registry.url": pulsar.url}).options())
        money = f"money-{self.topic}"
        self.registry.register(money, json.dumps(MONEY))
        reference = {"name": "shop.Money", "subject": money, "version": 1}
        self.ids = [self._register(confluent, schema, reference) for schema in VERSIONS]
        self.outside = self.registry.register(f"old-{self.topic}", json.dumps(OUTSIDE))

    def _register(self, url: str, schema: Any, reference: Any) -> int:
        body = {"schema": json.dumps(schema), "references": [reference]}
        answer = requests.post(f"{url}/subjects/{self.topic}-value/versions", json=body, timeout=60)
        answer.raise_for_status()
        return int(answer.json()["id"])

    def create(self, partitions: int = 3) -> None:
        """Create the topic in Pulsar: only topics that exist have policies."""
        done = self.pulsar.admin("PUT", f"persistent/public/default/{self.topic}/partitions", json=partitions)
        assert done.ok, done.text

    def close(self) -> None:
        self.registry.close()
        self.target.close()

    @property
    def versions(self) -> list[Any]:
        return [json.loads(info.text) for info in self.target.all_versions(self.topic)]

    @property
    def complete(self) -> bool:
        """Whether all is there, in order, and the state file has it."""
        first, documented, required, last = self.ids
        mapping = {first: 0, documented: 0, required: 1, last: 2, self.outside: 3}
        return self.versions == list(map(written_out, COPIES)) and self.run.saved().mapping == mapping

    def strategy(self) -> str | None:
        return self.target.topic_strategy(self.topic)

    def set_strategy(self, strategy: str | None) -> None:
        self.target.set_topic_strategy(self.topic, strategy)


@pytest.fixture
def shop(
    pulsar_with_policies: Pulsar,
    confluent_registry: ConfluentRegistry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Shop]:
    monkeypatch.chdir(tmp_path)
    shop = Shop(confluent_registry.url, pulsar_with_policies)
    yield shop
    shop.close()


@pytest.fixture
def plain_shop(
    pulsar: Pulsar, confluent_registry: ConfluentRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shop]:
    """As ``shop``, but Pulsar has topic policies off."""
    monkeypatch.chdir(tmp_path)
    shop = Shop(confluent_registry.url, pulsar)
    yield shop
    shop.close()


def kill_at(method: str, number: int, when: str, kill: str) -> str:
    """Code that ends the process before or after this call of a method of the registry's client."""
    return f"""
import os, signal
from streamnative_serdes.schema_registry import SchemaRegistryClient
plain, calls = SchemaRegistryClient.{method}, 0
def call(*args, **kwargs):
    global calls
    calls += 1
    if (calls, {when!r}) == ({number}, "before"):
        os.kill(os.getpid(), signal.{kill})
    found = plain(*args, **kwargs)
    if (calls, {when!r}) == ({number}, "after"):
        os.kill(os.getpid(), signal.{kill})
    return found
SchemaRegistryClient.{method} = call
"""


PLACES = [
    ("set_topic_strategy", 1, "before", "SIGKILL"),  # the old value is in the state file
    ("set_topic_strategy", 1, "after", "SIGTERM"),  # widened
    ("register", 3, "before", "SIGTERM"),  # two of four versions are registered
    ("register", 3, "after", "SIGKILL"),  # and the third, of which the state file does not know
    ("set_topic_strategy", 2, "before", "SIGTERM"),  # all is registered
    ("set_topic_strategy", 2, "after", "SIGKILL"),  # and the strategy is back, of which the state file does not know
]


@pytest.mark.parametrize(("method", "number", "when", "kill"), PLACES)
def test_a_run_that_is_killed_is_completed_by_the_next_with_the_strategy_as_it_was(
    shop: Shop, method: str, number: int, when: str, kill: str
) -> None:
    old = "BACKWARD" if number % 2 else None  # one or the other at each place
    shop.create()
    shop.set_strategy(old)
    options = ("--widen", "--id", str(shop.outside))
    process = shop.run.start("schemas", *options, first=kill_at(method, number, when, kill))
    out, err = process.communicate(timeout=HANG_SECONDS)
    restoring = method == "set_topic_strategy" and number == 2  # SIGTERM is ignored while the strategy is put back
    expected = -signal.SIGKILL if kill == "SIGKILL" else 0 if restoring else 143
    assert process.returncode == expected, (out, err)
    if kill == "SIGTERM":
        assert (shop.strategy(), shop.run.saved().widened) == (old, [])
    else:
        assert [entry.old for entry in shop.run.saved().widened] == [old]
    shop.run("schemas", *options)
    assert shop.complete
    assert (shop.strategy(), shop.run.saved().widened) == (old, [])


@each_old
def test_all_is_copied_with_the_strategy_widened_and_a_second_run_changes_nothing(shop: Shop, old: str | None) -> None:
    shop.create()
    shop.set_strategy(old)
    options = ("--widen", "--id", str(shop.outside))
    refused = shop.run("schemas", "--id", str(shop.outside), "--dry-run", "--json", code=1).json
    assert [row["refusal"] is None for row in refused["schemas"]] == [True, True, False, True, old is not None]
    assert (refused["strategy"], list(Path().iterdir())) == (old or "FULL", [])
    report = shop.run("schemas", *options, "--json").json
    assert report["widened"]["old"] == old
    assert shop.complete
    assert shop.strategy() == old
    before = STATE.read_bytes()
    assert [row["new"] for row in shop.run("schemas", *options, "--json").json["schemas"]] == [False] * 5
    assert STATE.read_bytes() == before


@each_old
def test_what_pulsar_refuses_is_what_the_dry_run_said(shop: Shop, old: str | None) -> None:
    shop.create()
    shop.set_strategy(old)
    said = shop.run("schemas", "--dry-run", "--json", code=1).json["schemas"]
    first = [row["refusal"] is None for row in said].index(False)
    ended = shop.run("schemas", code=1)
    assert f"{said[first]['from']}: cannot register a schema" in ended.err
    assert set(shop.run.saved().mapping) == set(shop.ids[:first])


def test_a_topic_that_does_not_exist_needs_its_namespace_widened(shop: Shop) -> None:
    options = ("--id", str(shop.outside))
    ended = shop.run("schemas", *options, "--widen", code=3)
    assert f"Topic persistent://public/default/{shop.topic} not found" in ended.err
    assert "create the topic first" in ended.err
    shop.run("schemas", *options, "--namespace-strategy")
    assert shop.complete
    assert shop.target.namespace_strategy("public/default") is None


def test_a_broker_with_topic_policies_off_names_the_other_way(plain_shop: Shop) -> None:
    shop, options = plain_shop, ("--id", str(plain_shop.outside))
    shop.create()
    ended = shop.run("schemas", *options, "--widen", code=3)
    assert "Topic level policies is disabled" in ended.err
    assert "--namespace-strategy" in ended.err
    assert shop.versions == []
    report = shop.run("schemas", *options, "--namespace-strategy", "--json").json
    assert shop.complete
    assert f"persistent://public/default/{shop.topic}" in report["widened"]["topics"]
    assert shop.target.namespace_strategy("public/default") is None


def test_a_namespaces_strategy_comes_back_too(plain_shop: Shop) -> None:
    shop, options = plain_shop, ("--id", str(plain_shop.outside), "--namespace-strategy")
    process = shop.run.start("schemas", *options, first=kill_at("register", 3, "after", "SIGKILL"))
    process.communicate(timeout=HANG_SECONDS)
    assert shop.target.namespace_strategy("public/default") == WIDE
    shop.run("schemas", *options)
    assert shop.complete
    assert shop.target.namespace_strategy("public/default") is None


def test_a_bad_default_is_what_pulsar_cannot_compare(shop: Shop) -> None:
    """That it is refused beforehand is a claim about Pulsar, which this asks."""
    bad = json.dumps(record("Sale", ("price", "long", "seven")))
    assert comparison_fault(bad) is not None
    assert shop.target.register(shop.topic, bad) == 0
    with pytest.raises(SchemaRegistryError, match="HTTP 500"):
        shop.target.register(shop.topic, json.dumps(MONEY))


# Rights


@pytest.fixture
def guarded(
    pulsar_with_tokens: Pulsar, confluent_registry: ConfluentRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Migration:
    monkeypatch.chdir(tmp_path)
    topic = f"guarded-{uuid.uuid4().hex[:12]}"
    body = {"schema": json.dumps(MONEY)}
    requests.post(f"{confluent_registry.url}/subjects/{topic}-value/versions", json=body, timeout=60).raise_for_status()
    return Migration(confluent_registry.url, pulsar_with_tokens.url, topic, topic)


def signed_in(tokens: Tokens, role: str) -> tuple[str, str]:
    Path("token").write_text(tokens.of(role))
    return "--secret", "target.bearer.auth.token=file:token"


def test_the_right_that_a_step_needs_is_named(guarded: Migration, tokens: Tokens) -> None:
    consume, produce = signed_in(tokens, "consume"), ("--secret", "target.bearer.auth.token=file:token")
    assert "the role needs the right to produce" in guarded("schemas", *consume, code=3).err
    assert guarded("schemas", *consume, "--dry-run", "--strategy", "FULL", "--json").json["schemas"][0]["new"]
    signed_in(tokens, "produce")
    assert "the role needs to be an admin of the tenant" in guarded("schemas", *produce, "--dry-run", code=3).err
    guarded("schemas", *produce)
    assert list(guarded.saved().mapping.values()) == [0]


# The way back


def back_of(shop: Shop, target: str) -> Migration:
    return Migration(shop.run.confluent, shop.run.pulsar, shop.topic, target, back=True, state=Path("back.json"))


def forward(shop: Shop) -> None:
    shop.create()
    shop.run("schemas", "--widen", "--id", str(shop.outside))


def test_the_way_back_takes_the_ids_of_the_way_forward_and_registers_what_came_since(shop: Shop) -> None:
    forward(shop)
    since = json.dumps(
        written_out(record("Sale", ("price", "shop.Money"), ("old", ["null", "int"], None), ("n", "int", 0)))
    )
    shop.target.register(shop.topic, since)
    back = back_of(shop, shop.topic)
    preview = back("schemas", "--ids-of", str(STATE), "--dry-run", "--json").json
    assert [row["id"] for row in preview["schemas"]] == [*shop.ids[1:], shop.outside, None]
    report = back("schemas", "--ids-of", str(STATE), "--json").json
    # Of the two ids of version 0, the one that is the higher version of the subject.
    assert [row["origin"] for row in report["schemas"]] == [*["forward"] * 4, "new"]
    mapping = back.saved().mapping
    assert [mapping[version] for version in range(4)] == [*shop.ids[1:], shop.outside]
    assert shop.registry.by_id(mapping[4]) == ConfluentSchema(since)
    again = back("schemas", "--ids-of", str(STATE), "--json").json
    assert [row["id"] for row in again["schemas"]] == list(mapping.values())
    assert back.saved().mapping == mapping


def test_the_way_back_can_register_all_in_another_subject(shop: Shop) -> None:
    forward(shop)
    back = back_of(shop, f"{shop.topic}-again")
    report = back("schemas", "--new-ids", "--json").json
    ids = [row["id"] for row in report["schemas"]]
    assert back.saved().mapping == dict(enumerate(ids))
    assert [json.loads(shop.registry.by_id(number).schema_str) for number in ids] == list(map(written_out, COPIES))
    assert shop.registry.versions(f"{shop.topic}-again-value") == [1, 2, 3, 4]


def test_the_level_of_the_subject_refuses_on_the_way_back_and_the_dry_run_says_so(shop: Shop) -> None:
    forward(shop)
    back = back_of(shop, f"{shop.topic}-again")
    level = f"{shop.run.confluent}/config/{shop.topic}-again-value"
    requests.put(level, json={"compatibility": "FULL"}, timeout=60).raise_for_status()
    preview = back("schemas", "--new-ids", "--dry-run", "--json", code=1).json
    assert (preview["level"], [row["refusal"] is None for row in preview["schemas"]]) == (
        "FULL",
        [True, False, True, False],
    )
    error = back("schemas", "--new-ids", "--json", code=1).error["error"]
    assert (error["kind"], error["version"]) == ("IncompatibleSchemaError", 1)
    assert "compatibility level to NONE" in error["hint"]
    requests.put(level, json={"compatibility": "NONE"}, timeout=60).raise_for_status()
    back("schemas", "--new-ids")
    assert list(back.saved().mapping) == [0, 1, 2, 3]


def test_schemas_that_plan_found_in_messages_are_copied_too(shop: Shop, kafka: Kafka) -> None:
    unknown = 2_000_000_000
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 2})
    for number in (*shop.ids, shop.outside, unknown):
        producer.produce(shop.topic, header.pack_id(number) + b"\x02")
    assert producer.flush(HANG_SECONDS) == 0
    run = shop.run
    run.source_bootstrap = run.target_bootstrap = kafka.bootstrap_servers
    run.target = f"{shop.topic}-copy"
    planned = run("plan", "--json", "--no-probe", "--create", "--accept", "many-ids", code=None)
    assert [entry["id"] for entry in planned.json["ids"]] == sorted([*shop.ids, shop.outside]), planned
    report = run("schemas", "--namespace-strategy", "--json").json
    assert report["unknown"] == [unknown]
    assert [row["id"] for row in report["schemas"]] == [*shop.ids, shop.outside]
    assert run.saved().findings is not None
    assert set(run.saved().mapping) == {*shop.ids, shop.outside}
