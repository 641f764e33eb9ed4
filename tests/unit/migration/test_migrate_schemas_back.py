"""`migrate schemas --back`: every version of the Pulsar topic gets an id of Confluent's, its old one if it had one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn, refusal
from schema_migrations import STATE, Migration, put
from schemas import record
from scripted_registry import Answer

from streamnative_serdes.migration import copy_schemas_back, preview_schemas_back
from streamnative_serdes.testing import LocalRegistry

TOPIC, SUBJECT = "public/default/orders", "orders-value"
FIRST = record("Order", ("id", "long"))
DOCUMENTED = {**FIRST, "doc": "An order"}
SECOND = record("Order", ("id", "long"), ("note", ["null", "string"], None))
SINCE = record("Order", ("id", "long"), ("note", ["null", "string"], None), ("tag", "string", ""))
REQUIRED = record("Order", ("id", "long"), ("sum", "double"))
BACK = Path("back.json")
IDS = ("--ids-of", str(STATE))


@pytest.fixture
def confluent() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn(guids=False) as confluent:
        yield confluent


@pytest.fixture
def forward(
    confluent: ConfluentStandIn, registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Migration:
    monkeypatch.chdir(tmp_path)
    return Migration(confluent.url, registry.url)


@pytest.fixture
def back(forward: Migration) -> Migration:
    return Migration(forward.confluent, forward.pulsar, back=True, state=BACK)


def registrations(confluent: ConfluentStandIn) -> int:
    return sum(
        count for call, count in confluent.calls.items() if call.startswith("POST") and call.endswith("versions")
    )


def test_the_ids_are_those_of_the_way_forward(forward: Migration, back: Migration, confluent: ConfluentStandIn) -> None:
    ids = [confluent.register(SUBJECT, schema) for schema in (FIRST, SECOND)]
    forward("schemas")
    ended = back("schemas", *IDS)
    assert [line.split() for line in ended.out.splitlines()] == [
        ["VERSION", "SCHEMA", "ID"],
        ["0", "Order", "1", "as", "before"],
        ["1", "Order", "2", "as", "before"],
        ["2", "schemas;", "state", "in", "back.json"],
    ]
    assert (back.saved().mapping, registrations(confluent)) == ({0: ids[0], 1: ids[1]}, 0)


def test_of_several_ids_the_one_of_the_subjects_highest_version_is_taken(
    forward: Migration, back: Migration, confluent: ConfluentStandIn
) -> None:
    documented = confluent.register("elsewhere", DOCUMENTED)
    first = confluent.register(SUBJECT, FIRST)
    third = confluent.register("elsewhere", {**FIRST, "doc": "A third text"})
    confluent.register(SUBJECT, DOCUMENTED)  # as version 2, with its old id
    assert documented < first < third
    forward("schemas", "--id", str(third))
    back("schemas", *IDS)
    assert back.saved().mapping == {0: documented}


def test_of_several_ids_outside_of_the_subject_the_highest_is_taken(
    forward: Migration, back: Migration, confluent: ConfluentStandIn
) -> None:
    ids = [confluent.register("elsewhere", schema) for schema in (FIRST, DOCUMENTED)]
    forward("schemas", "--id", str(ids[1]), "--id", str(ids[0]))
    back("schemas", *IDS)
    assert back.saved().mapping == {0: ids[1]}


def test_versions_that_came_since_are_registered(
    forward: Migration, back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry
) -> None:
    ids = [confluent.register(SUBJECT, schema) for schema in (FIRST, SECOND)]
    forward("schemas")
    put(registry, TOPIC, SINCE)
    preview = back("schemas", *IDS, "--dry-run", "--json").json
    assert [(row["id"], row["origin"]) for row in preview["schemas"]] == [
        (ids[0], "forward"),
        (ids[1], "forward"),
        (None, "new"),
    ]
    assert (preview["level"], preview["dry_run"], BACK.exists(), registrations(confluent)) == (
        "BACKWARD",
        True,
        False,
        0,
    )
    back("schemas", *IDS)
    assert json.loads(confluent.subjects[SUBJECT][2].body["schema"]) == SINCE
    assert back.saved().mapping == {0: ids[0], 1: ids[1], 2: confluent.subjects[SUBJECT][2].id}


def test_new_ids_are_registered_in_order_and_a_second_run_nothing(
    back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry
) -> None:
    confluent.register("elsewhere", SINCE)
    put(registry, TOPIC, FIRST, SECOND)
    back.target = "again"
    assert "would be new" in back("schemas", "--new-ids", "--dry-run").out
    rows = back("schemas", "--new-ids", "--json").json["schemas"]
    assert [(row["version"], row["id"], row["origin"]) for row in rows] == [(0, 2, "new"), (1, 3, "new")]
    assert [json.loads(one.body["schema"]) for one in confluent.subjects["again-value"]] == [FIRST, SECOND]
    count = registrations(confluent)
    back("schemas", "--new-ids")
    assert (registrations(confluent), back.saved().mapping) == (count, {0: 2, 1: 3})


def test_what_the_subject_has_already_is_known(
    back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry
) -> None:
    number = confluent.register(SUBJECT, FIRST)
    put(registry, TOPIC, FIRST)
    assert back("schemas", "--new-ids", "--json").json["schemas"][0]["origin"] == "known"
    assert (back.saved().mapping, registrations(confluent)) == ({0: number}, 0)


def test_a_refusal_stops_the_run_and_the_next_completes_it(
    back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry
) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    put(registry, TOPIC, FIRST, REQUIRED, SECOND)
    confluent.incompatible.add(json.dumps(REQUIRED))
    error = back("schemas", "--new-ids", "--json", code=1).error["error"]
    assert (error["kind"], error["version"], error["topic"]) == ("IncompatibleSchemaError", 1, "orders")
    assert back.saved().mapping == {0: 1}
    confluent.incompatible.clear()
    back("schemas", "--new-ids")
    assert back.saved().mapping == {0: 1, 1: 2, 2: 3}


def test_a_dry_run_checks_by_the_subjects_level(
    back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry
) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    confluent.register(SUBJECT, FIRST)
    put(registry, TOPIC, FIRST, REQUIRED, SECOND)
    ended = back("schemas", "--new-ids", "--dry-run", code=1)
    assert "refused by BACKWARD" in ended.out
    assert "version 1: Error during schema compatibility check" in ended.out
    rows = back("schemas", "--new-ids", "--dry-run", "--json", code=1).json["schemas"]
    assert [(row["origin"], row["refusal"] is None) for row in rows] == [("known", True), ("new", False), ("new", True)]


def test_a_registry_that_dies_in_the_middle_leaves_a_state_that_the_next_run_completes(
    back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry
) -> None:
    put(registry, TOPIC, FIRST, SECOND)
    answer, dead = confluent._answer, Answer(503)

    def dies(asked: Any) -> Answer:
        return dead if asked.method == "POST" and b"note" in asked.body else answer(asked)

    confluent._answer = dies  # type: ignore[method-assign]
    quick = ("--set", "source.retries.total.ms=1500", "--set", "source.retries.wait.ms=10")
    error = back("schemas", "--new-ids", *quick, "--json", code=3).error["error"]
    assert (error["kind"], error["status"]) == ("RegistryUnavailableError", 503)
    assert back.saved().mapping == {0: 1}
    confluent._answer = answer  # type: ignore[method-assign]
    back("schemas", "--new-ids")
    assert back.saved().mapping == {0: 1, 1: 2}


# What is refused


def test_an_id_that_is_gone_or_has_another_schema_is_refused(
    forward: Migration, back: Migration, confluent: ConfluentStandIn
) -> None:
    number = confluent.register(SUBJECT, FIRST)
    other = confluent.register("elsewhere", SECOND)
    forward("schemas")
    confluent.alias(number, of=other)
    ended = back("schemas", *IDS, code=1)
    assert "schema version 0: id 1 is not the schema of this version" in ended.err
    assert "--new-ids" in ended.err
    confluent.faults = [refusal(40403, "Schema not found")]
    assert "Schema not found" in back("schemas", *IDS, code=3).err
    assert back.saved().mapping == {}


def test_versions_of_another_type_are_refused_by_name(
    back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry
) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    put(registry, TOPIC, FIRST)
    put(registry, TOPIC, SECOND, kind="JSON")
    assert "only AVRO can be copied, and version 1 is of type JSON" in back("schemas", "--new-ids", code=1).err
    assert registrations(confluent) == 0


def test_a_topic_without_schemas_is_an_error(back: Migration) -> None:
    assert "topic orders: the topic has no schemas" in back("schemas", "--new-ids", code=1).err


@pytest.mark.parametrize("wrong", ["topic", "registry", "direction"])
def test_the_ids_must_be_of_a_migration_to_this_topic(
    forward: Migration, back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry, wrong: str
) -> None:
    confluent.register(SUBJECT, FIRST)
    forward("schemas")
    ids = STATE
    if wrong == "topic":
        back.source = "persistent://public/default/orders"  # which the way forward called by its short name
    elif wrong == "registry":
        back.confluent = confluent.url.replace("127.0.0.1", "localhost")
    else:
        back("schemas", "--new-ids")
        ids, back.state = BACK, Path("other.json")
    assert "is of another migration" in back("schemas", "--ids-of", str(ids), code=1).err


def test_the_ids_may_be_of_a_migration_from_another_topic(
    forward: Migration, back: Migration, confluent: ConfluentStandIn
) -> None:
    number = confluent.register(SUBJECT, FIRST)
    forward("schemas")
    back.target = "orders-returned"
    back("schemas", *IDS)
    assert back.saved().mapping == {0: number}


def test_the_functions_do_what_the_command_does(
    back: Migration, confluent: ConfluentStandIn, registry: LocalRegistry
) -> None:
    put(registry, TOPIC, FIRST)
    assert [one.id for one in preview_schemas_back(back.saved(), ids_of=None).schemas] == [None]
    report = copy_schemas_back(back.saved(), ids_of=None)
    assert [(one.version, one.name, one.id, one.origin) for one in report.schemas] == [(0, "Order", 1, "new")]
    assert not report.refused
