"""`migrate schemas`: every version in order, each id with its version in the state file, and nothing half done."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from confluent_stand_in import ConfluentStandIn, refusal
from schema_migrations import STATE, Migration, put, tree, versions
from schemas import record
from waiting import HANG_SECONDS

from streamnative_serdes.errors import FileError, SchemaError
from streamnative_serdes.migration import State, copy_schemas, preview_schemas
from streamnative_serdes.schema_registry import backups
from streamnative_serdes.testing import Fault, LocalRegistry

TOPIC = "public/default/orders"
SUBJECT = "orders-value"
FIRST = record("Order", ("id", "long"))
DOCUMENTED = {**FIRST, "doc": "An order"}
SECOND = record("Order", ("id", "long"), ("note", ["null", "string"], None))
REQUIRED = record("Order", ("id", "long"), ("sum", "double"))
OTHER = record("Other", ("x", "string"))
MONEY = record("Money", ("cents", "long"), namespace="shop")
SALE = record("Sale", ("price", "shop.Money"))
PROTO = 'syntax = "proto3"; message M { int32 a = 1; }'


@pytest.fixture
def source() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn(guids=False) as source:
        yield source


@pytest.fixture
def run(
    source: ConfluentStandIn, registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Migration:
    monkeypatch.chdir(tmp_path)
    return Migration(source.url, registry.url)


def posts(registry: LocalRegistry) -> int:
    return registry.calls["POST schema"]


def with_findings(run: Migration, *names: Any, unknown: tuple[Any, ...] = ()) -> None:
    state = run.saved()
    parts = {"ids": names, "unknown_ids": unknown}
    state.findings = {part: [{"id": name, "messages": 1} for name in found] for part, found in parts.items()}
    state.save()


# What is copied


def test_every_version_is_copied_in_order_and_the_state_has_each_id(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register("elsewhere", OTHER)  # takes an id
    ids = [source.register(SUBJECT, schema) for schema in (FIRST, DOCUMENTED, SECOND)]
    ended = run("schemas")
    assert versions(registry, TOPIC) == [FIRST, SECOND]
    assert run.saved().mapping == {ids[0]: 0, ids[1]: 0, ids[2]: 1}
    assert stat.S_IMODE(STATE.stat().st_mode) == 0o600
    assert [line.split() for line in ended.out.splitlines()] == [
        ["ID", "FROM", "VERSION"],
        ["2", SUBJECT, "version", "1", "0", "new"],
        ["3", SUBJECT, "version", "2", "0", "to", "Pulsar", "the", "same", "as", "2"],
        ["4", SUBJECT, "version", "3", "1", "new"],
        ["3", "schemas,", "2", "new;", "state", "in", "m.json"],
    ]


def test_references_are_written_into_the_copy(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register("money-value", MONEY)
    source.register(SUBJECT, SALE, references=({"name": "shop.Money", "subject": "money-value", "version": 1},))
    run("schemas")
    assert versions(registry, TOPIC) == [record("Sale", ("price", MONEY))]


def test_a_registry_that_tells_guids_has_them_in_the_mapping(
    registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ConfluentStandIn() as source:
        run = Migration(source.url, registry.url)
        number, outside = source.register(SUBJECT, FIRST), source.register("elsewhere", SECOND)
        own, guid = str(UUID(bytes=source.guid(number))), str(UUID(bytes=source.guid(outside)))
        run("schemas", "--dry-run")
        with_findings(run, guid)
        assert [row["guid"] for row in run("schemas", "--json").json["schemas"]] == [own, guid]
        assert run.saved().mapping == {number: 0, own: 0, guid: 1}


def test_ids_outside_of_the_subject_are_copied_after_it(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    found, by_hand = source.register("a", SECOND), source.register("b", DOCUMENTED)
    own = source.register(SUBJECT, FIRST)
    with_findings(run, found, own, 999)
    report = run("schemas", "--id", str(by_hand), "--json").json
    assert versions(registry, TOPIC) == [FIRST, SECOND]
    assert run.saved().mapping == {own: 0, by_hand: 0, found: 1}
    assert [row["from"] for row in report["schemas"]] == [f"{SUBJECT} version 1", *[f"outside of {SUBJECT}"] * 2]
    assert (report["unknown"], report["out_of_order"]) == ([999], 0)


def test_what_plan_did_not_find_in_the_registry_is_asked_for_again(run: Migration, source: ConfluentStandIn) -> None:
    own = source.register(SUBJECT, FIRST)
    later, guid = source.register("later", SECOND), "89791762-2336-186f-9674-180ca802d4d1"
    with_findings(run, own, unknown=(later, 999, guid))
    assert run("schemas", "--json").json["unknown"] == [999, guid]
    assert run.saved().mapping == {own: 0, later: 1}


def test_an_id_of_the_users_has_to_exist(run: Migration, source: ConfluentStandIn, registry: LocalRegistry) -> None:
    source.register(SUBJECT, FIRST)
    assert "schema with id 77" in run("schemas", "--id", "77", code=3).err
    assert posts(registry) == 0


def test_a_missing_subject_is_an_error_unless_there_are_ids(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    ended = run("schemas", code=3)
    assert "list the versions of subject 'orders-value'" in ended.err
    assert "is this the right topic?" in ended.err
    number = source.register("Order", FIRST)  # Confluent's RecordNameStrategy
    run("schemas", "--id", str(number))
    assert versions(registry, TOPIC) == [FIRST]


def test_ids_that_nobody_knows_leave_nothing_to_copy(run: Migration, registry: LocalRegistry) -> None:
    with_findings(run, 7)
    assert "nothing to copy" in run("schemas", code=1).err
    assert "nothing to copy" in run("schemas", "--dry-run", code=1).err


# What is refused


@pytest.mark.parametrize(
    ("schema", "more", "said"),
    [
        (
            PROTO,
            {"kind": "PROTOBUF"},
            "id 2 (orders-value version 2): expected a schema of type AVRO, got type PROTOBUF",
        ),
        (
            ["null", FIRST],
            {},
            "id 2 (orders-value version 2): Pulsar refuses it: Avro schema typed [UNION] is not supported",
        ),
        (SECOND, {"ruleSet": {"domainRules": [{"name": "r"}]}}, "id 2 (orders-value version 2): has rules"),
    ],
    ids=["another type", "a union", "rules"],
)
def test_what_cannot_be_copied_is_refused_by_name_before_anything_is_registered(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry, schema: Any, more: dict[str, Any], said: str
) -> None:
    source.register(SUBJECT, FIRST)
    source.register(SUBJECT, schema, **more)
    assert said in run("schemas", code=1).err
    assert said in run("schemas", "--dry-run", code=1).err
    assert (posts(registry), run.saved().mapping) == (0, {})


def test_a_schema_that_pulsar_cannot_compare_is_refused_unless_it_is_the_only_one(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register(SUBJECT, record("Order", ("id", "long", "seven")))
    run("schemas")
    source.register(SUBJECT, FIRST)
    ended = run("schemas", code=1)
    assert "id 1 (orders-value version 1): Pulsar accepts it as a topic's only schema, and fails when" in ended.err
    assert posts(registry) == 1


def test_all_that_cannot_be_copied_is_named_at_once(run: Migration, source: ConfluentStandIn) -> None:
    source.register(SUBJECT, PROTO, "PROTOBUF")
    source.register(SUBJECT, ["null", FIRST])
    error = run("schemas", "--json", code=1).error["error"]
    assert error["kind"] == "SchemaError"
    assert "2 schemas cannot be copied, so none was: id 1 (" in error["message"]
    assert "; id 2 (" in error["message"]


def test_a_topic_with_other_schemas_is_refused_unless_they_are_accepted(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    put(registry, TOPIC, OTHER)
    number = source.register(SUBJECT, FIRST)
    ended = run("schemas", code=1)
    assert "topic orders: the topic has schemas that are not in the source: version 0 (Other)" in ended.err
    assert posts(registry) == 0
    registry.set_strategy("ALWAYS_COMPATIBLE")
    run("schemas", "--add")
    assert (versions(registry, TOPIC), run.saved().mapping) == ([OTHER, FIRST], {number: 1})


def test_schemas_of_another_type_are_not_accepted_even_so(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    put(registry, TOPIC, FIRST, kind="JSON")
    source.register(SUBJECT, FIRST)
    assert "version 0 (JSON)" in run("schemas", "--add", code=1).err


def test_a_backup_has_what_the_topic_held_before(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    put(registry, TOPIC, FIRST)
    source.register(SUBJECT, FIRST)
    source.register(SUBJECT, SECOND)
    path = run("schemas", "--json").json["backup"]
    (saved,) = backups.read(Path(path), registry.url)
    assert [tree(info.text) for info in saved.schemas] == [FIRST]
    assert run.saved().backups == [path]
    assert run("schemas", "--json").json["backup"] is None  # nothing new
    assert len(list(Path().glob("*.schemas.json"))) == 1


# Again


def test_a_second_run_registers_nothing(run: Migration, source: ConfluentStandIn, registry: LocalRegistry) -> None:
    source.register(SUBJECT, FIRST)
    source.register(SUBJECT, SECOND)
    run("schemas")
    before, count = STATE.read_bytes(), posts(registry)
    again = run("schemas", "--json").json
    assert [row["new"] for row in again["schemas"]] == [False, False]
    assert (posts(registry), STATE.read_bytes()) == (count, before)


def test_a_later_version_is_added_by_a_later_run(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register(SUBJECT, FIRST)
    run("schemas")
    source.register(SUBJECT, SECOND)
    assert [row["new"] for row in run("schemas", "--json").json["schemas"]] == [False, True]
    assert versions(registry, TOPIC) == [FIRST, SECOND]
    assert not list(Path().glob("*.schemas.json"))  # what was there came from here


def test_schemas_that_producers_registered_since_do_not_stop_a_run_with_nothing_to_do(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register(SUBJECT, FIRST)
    run("schemas")
    put(registry, TOPIC, SECOND)
    run("schemas")
    source.register(SUBJECT, REQUIRED)
    assert "version 1 (Order)" in run("schemas", code=1).err


def test_schemas_that_were_deleted_meanwhile_are_noticed(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register(SUBJECT, FIRST)
    source.register(SUBJECT, SECOND)
    run("schemas")
    registry.store.delete_forever(TOPIC)
    source.register(SUBJECT, record("Order", ("id", "long"), ("tag", "string", "")))
    assert "schema 1 was copied as version 0, but the topic has none" in run("schemas", code=1).err
    put(registry, TOPIC, SECOND)
    assert "schema 1 was copied as version 0, but the topic has another" in run("schemas", code=1).err
    assert versions(registry, TOPIC) == [SECOND]


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_registry_that_dies_in_the_middle_leaves_a_state_that_the_next_run_completes(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry, at: int
) -> None:
    third = record("Order", ("id", "long"), ("note", ["null", "string"], None), ("tag", "string", ""))
    ids = [source.register(SUBJECT, schema) for schema in (FIRST, SECOND, third)]
    more = ("--set", "target.retries.total.ms=1500", "--set", "target.retries.wait.ms=10")
    # The fault is for the POST number `at`: those before it are served as they come.
    for _ in range(at - 1):
        registry.fail(Fault(), match="^POST .*schema$")
    registry.fail(Fault.status(503), times=None, match="^POST .*schema$")
    ended = run("schemas", *more, code=3)
    assert f"{SUBJECT} version {at}: cannot register a schema" in ended.err
    assert "run this again" in ended.err
    assert run.saved().mapping == {ids[number]: number for number in range(at - 1)}
    registry.heal()
    run("schemas", *more)
    assert versions(registry, TOPIC) == [FIRST, SECOND, third]
    assert run.saved().mapping == {id_: number for number, id_ in enumerate(ids)}


def test_a_response_that_was_lost_does_not_register_twice(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register(SUBJECT, FIRST)
    registry.fail(Fault.cut(), match="^POST .*schema$")
    run("schemas")
    assert versions(registry, TOPIC) == [FIRST]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [(KeyboardInterrupt(), 130, "interrupted"), (FileError("No space left on device"), 1, "No space left")],
    ids=["an interrupt", "a full disk"],
)
def test_an_end_before_the_state_is_saved_leaves_one_that_the_next_run_completes(
    run: Migration,
    source: ConfluentStandIn,
    registry: LocalRegistry,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    said: str,
) -> None:
    ids = [source.register(SUBJECT, schema) for schema in (FIRST, SECOND)]
    save, calls = State.save, []

    def ending(self: State) -> None:
        calls.append(dict(self.mapping))
        if len(self.mapping) == 1:  # registered, and not in the file
            raise error
        save(self)

    with monkeypatch.context() as patch:
        patch.setattr(State, "save", ending)
        assert said in run("schemas", code=code).err
    assert (calls, run.saved().mapping) == ([{}, {ids[0]: 0}], {})
    run("schemas")
    assert (versions(registry, TOPIC), run.saved().mapping) == ([FIRST, SECOND], {ids[0]: 0, ids[1]: 1})


# Rights and files


def test_the_right_that_is_missing_is_named(run: Migration, source: ConfluentStandIn, registry: LocalRegistry) -> None:
    source.register(SUBJECT, FIRST)
    registry.fail(Fault.status(401, "Unauthorized to validateTopicOperation"), match="^POST .*/schema$")
    error = run("schemas", "--json", code=3).error["error"]
    assert (error["kind"], error["topic"]) == ("AuthorizationError", "orders")
    assert error["hint"].startswith("the role needs the right to produce")
    registry.fail(Fault.status(401, "Unauthorized to validateAdminAccessForTenant"), match="compatibility")
    error = run("schemas", "--dry-run", "--json", code=3).error["error"]
    right, other_way = error["hint"].split("; ")
    assert right == "the role needs to be an admin of the tenant"
    assert other_way.startswith("--strategy NAME checks by that strategy")


def test_the_right_that_is_missing_in_confluents_registry_is_named(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register(SUBJECT, FIRST)
    source.faults.append(refusal(40301, "User is denied operation Read on Subject"))
    error = run("schemas", "--json", code=3).error["error"]
    assert (error["kind"], error["hint"]) == ("AuthorizationError", "the user needs the right to read the subject")
    assert posts(registry) == 0


def test_a_state_file_that_cannot_be_written_is_an_error_before_anything_is_registered(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register(SUBJECT, FIRST)
    run.state = Path("missing", "m.json")
    ended = run("schemas", code=1)
    assert "missing/m.json cannot be written: No such file or directory" in ended.err
    assert posts(registry) == 0


@pytest.mark.skipif(os.name == "nt", reason="the limit is that of a POSIX system")
def test_a_file_that_has_no_room_is_an_error_before_anything_is_registered(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    source.register(SUBJECT, FIRST)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))"
    process = run.start("schemas", first=limit)
    _, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 1
    assert b"m.json cannot be written: File too large" in err
    assert (posts(registry), list(Path().iterdir())) == (0, [])


def test_a_state_of_another_migration_is_refused(run: Migration, source: ConfluentStandIn) -> None:
    source.register(SUBJECT, FIRST)
    run("schemas")
    run.target = "others"
    assert "is of another migration" in run("schemas", code=1).err


# Without writing


def test_a_dry_run_says_what_would_happen_and_writes_nothing(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    put(registry, TOPIC, FIRST)
    for schema in (FIRST, DOCUMENTED, SECOND):
        source.register(SUBJECT, schema)
    report = run("schemas", "--dry-run", "--json").json
    assert [(row["version"], row["new"], row["refusal"]) for row in report["schemas"]] == [
        (0, False, None),
        (0, False, None),
        (1, True, None),
    ]
    assert (report["strategy"], report["dry_run"]) == ("FULL", True)
    assert "Checked by the strategy FULL; nothing was written" in run("schemas", "--dry-run").out
    assert (posts(registry), list(Path().iterdir())) == (0, [])


def test_a_dry_run_lists_all_that_the_strategy_refuses_one_after_the_other(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    for schema in (FIRST, REQUIRED, SECOND, FIRST):
        source.register(SUBJECT, schema)
    report = run("schemas", "--dry-run", "--json", code=1).json
    # SECOND fits after FIRST, but not after REQUIRED.
    assert [row["refusal"] is None for row in report["schemas"]] == [True, False, False]
    ended = run("schemas", "--dry-run", code=1)
    assert "refused by FULL" in ended.out
    assert f"{SUBJECT} version 2: Error during schema compatibility check with strategy FULL" in ended.out
    assert "--widen" in ended.out
    backward = run("schemas", "--dry-run", "--strategy", "BACKWARD", "--json", code=1).json
    assert [row["refusal"] is None for row in backward["schemas"]] == [True, False, True]
    registry.set_strategy("ALWAYS_COMPATIBLE")
    assert run("schemas", "--dry-run", "--json").json["strategy"] == "ALWAYS_COMPATIBLE"


@pytest.mark.parametrize(
    "strategy", ["FULL", "BACKWARD", "FORWARD_TRANSITIVE", "ALWAYS_INCOMPATIBLE", "ALWAYS_COMPATIBLE"]
)
def test_what_a_dry_run_expects_is_what_happens(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry, strategy: str
) -> None:
    registry.set_strategy(strategy)
    put(registry, TOPIC, FIRST)
    for schema in (FIRST, SECOND, REQUIRED):
        source.register(SUBJECT, schema)
    expected = run("schemas", "--dry-run", "--json", code=None).json["schemas"]
    fits = [row["refusal"] is None for row in expected]
    run("schemas", code=0 if all(fits) else 1)
    count = len(fits) if all(fits) else fits.index(False)
    assert len(versions(registry, TOPIC)) == max(count, 1)
    assert set(run.saved().mapping.values()) == {row["version"] for row in expected[:count]}


def test_a_refused_schema_stops_the_run_and_the_hint_names_the_ways_on(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    for schema in (FIRST, REQUIRED, SECOND):
        source.register(SUBJECT, schema)
    ended = run("schemas", code=1)
    assert "orders-value version 2: cannot register a schema" in ended.err
    assert "--dry-run lists all that are refused, and --widen lets them in" in ended.err
    assert (versions(registry, TOPIC), run.saved().mapping) == ([FIRST], {1: 0})


# Options and Python


@pytest.mark.parametrize(
    "options",
    [
        ("--ids-of", "pyproject.toml"),
        ("--new-ids",),
        ("--strategy", "FULL"),
        ("--restore-strategy", "--dry-run"),
        ("--restore-strategy", "--widen"),
        ("--id", "-1"),
        ("--back",),
        ("--back", "--new-ids", "--id", "1"),
        ("--back", "--new-ids", "--widen"),
        ("--back", "--new-ids", "--restore-strategy"),
    ],
)
def test_options_that_contradict_each_other_are_usage_errors(
    run: Migration, registry: LocalRegistry, options: tuple[str, ...]
) -> None:
    Path("pyproject.toml").touch()
    run("schemas", *options, code=2)
    assert not registry.calls
    assert not STATE.exists()


def test_the_functions_do_what_the_command_does(
    run: Migration, source: ConfluentStandIn, registry: LocalRegistry
) -> None:
    number = source.register(SUBJECT, FIRST)
    state = run.saved()
    preview = preview_schemas(state)
    assert [(one.number, one.new) for one in preview.schemas] == [(0, True)]
    assert not preview.refused
    report = copy_schemas(state)
    assert [(one.original.names, one.number, one.new) for one in report.schemas] == [((number,), 0, True)]
    assert state.mapping == {number: 0}
    put(registry, TOPIC, SECOND)
    with pytest.raises(SchemaError, match="not in the source"):
        copy_schemas(state, ids=[source.register("b", REQUIRED)])


def test_findings_that_are_not_those_of_plan_are_refused(run: Migration, source: ConfluentStandIn) -> None:
    source.register(SUBJECT, FIRST)
    with_findings(run, None)
    assert "an id that is not valid" in run("schemas", code=1).err
