"""The commands ``schemas``: get, list, register, check and diff, with their exit codes and what they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import requests
from command import CommandLine
from schemas import record

from streamnative_serdes.testing import Fault, LocalRegistry

FIRST = record("User", ("name", "string"))
SECOND = record("User", ("name", "string"), ("age", ["null", "int"], None))
OTHER = record("User", ("age", "int"))
FULL_NAME = "persistent://public/default/users"


@pytest.fixture
def run(registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """In a folder with the schemas as files."""
    monkeypatch.chdir(tmp_path)
    for name, schema in (("first", FIRST), ("second", SECOND), ("other", OTHER)):
        Path(f"{name}.avsc").write_text(json.dumps(schema))
    return CommandLine(registry.url)


@pytest.fixture
def users(run: CommandLine) -> CommandLine:
    """With two versions on the topic users."""
    run("schemas", "register", "users", "first.avsc")
    run("schemas", "register", "users", "second.avsc")
    return run


def text_of(schema: Any) -> str:
    return json.dumps(schema)


# register


def test_registering_says_whether_the_schema_is_new(run: CommandLine) -> None:
    assert run("schemas", "register", "users", "first.avsc").out == "users: version 0, new\n"
    assert run("schemas", "register", "users", "first.avsc").out == "users: version 0, registered before\n"
    ended = run("schemas", "register", "users", "-", "--json", stdin=text_of(SECOND))
    assert ended.json == {"topic": "users", "version": 1, "new": True, "dry_run": False}
    # Pulsar does not look at white space.
    ended = run("schemas", "register", "users", "-", "--json", stdin=json.dumps(FIRST, indent=7))
    assert ended.json == {"topic": "users", "version": 0, "new": False, "dry_run": False}


def test_registering_an_incompatible_schema_is_a_failed_check(users: CommandLine) -> None:
    for same in (("check",), ("register", "--dry-run")):
        users("schemas", *same, "users", "other.avsc", code=1)
    ended = users("schemas", "register", "users", "other.avsc", code=1)
    assert ended.out == ""
    assert ended.err.startswith("Error: topic users: cannot register a schema: ")
    assert "Hint: the topic's compatibility strategy refuses this new schema" in ended.err


def test_a_dry_run_registers_nothing(run: CommandLine, registry: LocalRegistry) -> None:
    assert (
        run("schemas", "register", "users", "first.avsc", "--dry-run").out == "users: the schema would be registered\n"
    )
    run("schemas", "register", "users", "first.avsc")
    registry.reset_calls()
    assert (
        run("schemas", "register", "users", "first.avsc", "--dry-run").out == "users: registered already, version 0\n"
    )
    ended = run("schemas", "register", "users", "other.avsc", "--dry-run", code=1)
    assert "incompatible" in ended.err
    assert "POST schema" not in registry.calls
    assert len(registry.store.versions("public/default/users")) == 1


@pytest.mark.filterwarnings("default:.*:streamnative_serdes.errors.SchemaWarning")
def test_what_a_newer_pulsar_refuses_is_a_warning_in_a_line_of_its_own(run: CommandLine) -> None:
    text = '{"type": "record", "name": "Row", "namespace": "my-server.shop", "fields": []}'
    ended = run("schemas", "register", "users", "-", stdin=text)
    assert ended.err.startswith("Warning: the namespace 'my-server.shop' is refused by Avro 1.12")
    assert len(ended.err.splitlines()) == 1


def test_other_types_and_properties_are_registered(run: CommandLine) -> None:
    run("schemas", "register", "words", "-", "--type", "STRING", "--property", "a=b=c", stdin="")
    found = run("schemas", "get", "words", "--json").json
    assert (found["type"], found["text"], found["properties"]) == ("STRING", "", {"a": "b=c"})


def test_a_key_value_schema_without_its_types_is_refused_since_pulsar_would_lose_it(run: CommandLine) -> None:
    ended = run("schemas", "register", "kv", "-", "--type", "KEY_VALUE", stdin='{"key": "", "value": ""}', code=1)
    assert "a KEY_VALUE schema needs the types of its halves" in ended.err
    half = ("--property", "key.schema.type=STRING", "--property", "value.schema.type=STRING")
    run("schemas", "register", "kv", "-", "--type", "KEY_VALUE", *half, stdin='{"key": "", "value": ""}')


@pytest.mark.parametrize("text", ["{", '{"type": "nope"}', b"\xff", ""])
def test_a_file_that_is_not_a_schema_is_found_before_anything_is_asked(
    run: CommandLine, registry: LocalRegistry, text: str | bytes
) -> None:
    registry.reset_calls()
    ended = run("schemas", "register", "users", "-", stdin=text, code=1)
    assert ended.err.startswith("Error: the schema ") or "unknown type" in ended.err
    assert not registry.calls


# get


def test_the_latest_schema_is_shown_laid_out_or_as_it_is(users: CommandLine) -> None:
    ended = users("schemas", "get", "users")
    assert ended.out == json.dumps(SECOND, indent=2) + "\n"
    assert ended.err.startswith("users: version 1, AVRO, registered 20")
    assert users("schemas", "get", "users", "--version", "0", "--raw").out == json.dumps(FIRST) + "\n"


def test_a_schema_as_json_has_all_that_the_registry_has(users: CommandLine) -> None:
    found = users("schemas", "get", "users", "--json").json
    assert found.pop("timestamp") > 1_700_000_000_000
    assert found == {"topic": "users", "version": 1, "type": "AVRO", "text": text_of(SECOND), "properties": {}}
    every = users("schemas", "get", "users", "--all", "--json").json
    assert [(one["version"], json.loads(one["text"])) for one in every] == [(0, FIRST), (1, SECOND)]


def test_a_schema_that_is_not_there_is_the_servers_refusal(users: CommandLine) -> None:
    assert "Schema not found" in users("schemas", "get", "nothing", code=3).err
    assert "Schema not found" in users("schemas", "get", "nothing", "--all", code=3).err
    ended = users("schemas", "get", "users", "--version", "7", "--json", code=3)
    assert ended.out == ""
    assert ended.error["exit_code"] == 3
    assert ended.error["error"]["kind"] == "SchemaNotFoundError"
    assert (ended.error["error"]["version"], ended.error["error"]["status"]) == (7, 404)


@pytest.mark.parametrize(
    "arguments",
    [
        ("get",),
        ("get", "a/b"),
        ("get", "users", "--version", "-1"),
        ("get", "users", "--all", "--version", "1"),
        ("register", "users", "nowhere.avsc"),
        ("check", "users", "first.avsc", "--strategy", "SIDEWAYS"),
        ("nothing",),
    ],
)
def test_a_mistake_in_the_command_is_a_usage_error(run: CommandLine, arguments: tuple[str, ...]) -> None:
    assert "Usage: " in run("schemas", *arguments, code=2).err


def test_what_a_schema_contains_does_not_reach_the_terminal(run: CommandLine) -> None:
    schema = {**FIRST, "doc": "\x1b[2J\u202e"}
    run("schemas", "register", "users", "-", stdin=text_of(schema))
    shown = run("schemas", "get", "users").out
    assert json.loads(shown) == schema
    assert not {"\x1b", "\u202e"} & set(shown)


def test_a_registry_that_is_away_is_the_servers_fault(run: CommandLine) -> None:
    ended = run("schemas", "get", "users", "--registry", "http://127.0.0.1:1", "--set", "retries.first.ms=100", code=3)
    assert "no usable response" in ended.err


def test_debug_adds_the_traceback(run: CommandLine) -> None:
    assert "Traceback" not in run("schemas", "get", "users", code=3).err
    ended = run("schemas", "get", "users", "--debug", code=3)
    assert "Traceback (most recent call last)" in ended.err
    assert ended.err.splitlines()[-2].startswith("Error: ")


# list


def make(registry: LocalRegistry, path: str, partitions: int | None = None) -> None:
    leaf = "" if partitions is None else "/partitions"
    answer = requests.put(f"{registry.url}/admin/v2/persistent/{path}{leaf}", json=partitions, timeout=30)
    assert answer.status_code == 204


def test_topics_are_listed_with_their_schemas_and_what_cannot_be_seen(
    users: CommandLine, registry: LocalRegistry
) -> None:
    make(registry, "public/default/users", 3)
    make(registry, "public/default/empty")
    found = users("topics", "public/default", "--json").json
    assert users("schemas", "list", "public/default", "--json").json == found
    empty, listed = found["topics"]
    assert empty == {"topic": "persistent://public/default/empty", "note": "no schema"}
    assert (listed["topic"], listed["type"], listed["versions"], listed["version"]) == (FULL_NAME, "AVRO", 2, 1)
    assert any("topics that do not exist" in sentence for sentence in found["not_seen"])

    ended = users("topics", "public/default")
    assert [line.split()[:4] for line in ended.out.splitlines()[1:]] == [
        ["persistent://public/default/empty", "-", "-", "-"],
        [FULL_NAME, "AVRO", "2", "1"],
    ]
    assert ended.err.startswith("Not listed: schemas of topics that do not exist")


def test_a_topic_that_may_not_be_read_does_not_hide_the_others(users: CommandLine, registry: LocalRegistry) -> None:
    for name in ("users", "secret"):
        make(registry, f"public/default/{name}")
    registry.fail(Fault.status(401, "Unauthorized to validateTopicOperation"), times=None, match="secret/schema")
    secret, listed = users("schemas", "list", "public/default", "--json").json["topics"]
    assert secret["note"].startswith("not permitted: Unauthorized")
    assert listed["version"] == 1


@pytest.mark.parametrize(("namespace", "code"), [("public/nope", 3), ("public", 2), ("a/b/c", 2)])
def test_a_namespace_that_cannot_be_listed_is_an_error(run: CommandLine, namespace: str, code: int) -> None:
    assert run("schemas", "list", namespace, code=code).out == ""
    run("schemas", "backup", "--namespace", namespace, "--output", "all.json", code=code)


# strategy


def test_a_strategy_is_that_of_the_topic_or_its_namespace_or_the_broker(
    users: CommandLine, registry: LocalRegistry
) -> None:
    make(registry, "public/default/users")

    def shown() -> tuple[str, Any]:
        get = ("schemas", "strategy", "get", "users")
        return users(*get).out, users(*get, "--json").json

    assert shown() == (
        "users: none of its own; the broker's, by default FULL\n",
        {"place": "users", "own": None, "namespace": None},
    )
    changed = users("schemas", "strategy", "set", "public/default", "BACKWARD")
    assert changed.out == "public/default: changed from UNDEFINED to BACKWARD\n"
    assert users("schemas", "strategy", "get", "public/default").out == "public/default: BACKWARD\n"
    assert shown() == (
        "users: BACKWARD, of its namespace\n",
        {"place": "users", "own": None, "namespace": "BACKWARD"},
    )
    users("schemas", "strategy", "set", FULL_NAME, "always_compatible")
    assert shown() == ("users: ALWAYS_COMPATIBLE\n", {"place": "users", "own": "ALWAYS_COMPATIBLE", "namespace": None})
    users("schemas", "register", "users", "other.avsc")  # accepted now
    for place in ("users", "public/default"):
        users("schemas", "strategy", "set", place, "UNDEFINED")
    assert shown()[1] == {"place": "users", "own": None, "namespace": None}


def test_a_dry_run_sets_no_strategy(users: CommandLine, registry: LocalRegistry) -> None:
    make(registry, "public/default/users")
    for place in ("users", "public/default"):
        ended = users("schemas", "strategy", "set", place, "FORWARD", "--dry-run")
        assert ended.out == f"{place}: would change from UNDEFINED to FORWARD\n"
        assert users("schemas", "strategy", "get", place, "--json").json["own"] is None


@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        ("nobody/nothing", 3, "namespace nobody/nothing"),
        ("no-topic", 3, "no-topic"),
        ("users", 3, "it does not exist yet: create it first"),
        ("a/b/c/d", 1, "invalid topic name"),
    ],
)
def test_a_place_without_a_strategy_is_an_error(users: CommandLine, place: str, code: int, said: str) -> None:
    for command in (("get", place), ("set", place, "FULL")):
        ended = users("schemas", "strategy", *command, code=code)
        assert said in ended.err
    assert "SIDEWAYS" in users("schemas", "strategy", "set", "users", "SIDEWAYS", code=2).err


# check


@pytest.mark.parametrize("here", [(), ("--strategy", "FULL")], ids=["Pulsar", "here"])
def test_a_check_says_whether_the_topic_would_accept_a_schema(users: CommandLine, here: tuple[str, ...]) -> None:
    assert users("schemas", "check", "users", "first.avsc", *here).out == "users: registered already, version 0\n"
    third = record("User", ("name", "string"), ("mail", ["null", "string"], None))
    assert users("schemas", "check", "users", "-", *here, stdin=text_of(third)).out == "users: compatible by FULL\n"
    ended = users("schemas", "check", "users", "other.avsc", *here, code=1)
    assert ended.err.startswith("Error: topic users: incompatible: ")
    assert "Unable to read schema" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_check_as_json_has_verdict_and_reason(users: CommandLine) -> None:
    ended = users("schemas", "check", "users", "other.avsc", "--json", code=1)
    assert ended.err == ""
    assert (ended.json["compatible"], ended.json["version"]) == (False, None)
    assert "Unable to read schema" in ended.json["reason"]
    ended = users("schemas", "check", "users", "second.avsc", "--json")
    assert (ended.json["compatible"], ended.json["version"]) == (True, 1)


@pytest.mark.parametrize(
    ("strategy", "code"),
    [("BACKWARD", 1), ("backward", 1), ("FORWARD", 0), ("ALWAYS_COMPATIBLE", 0), ("ALWAYS_INCOMPATIBLE", 1)],
)
def test_a_check_here_goes_by_the_strategy_and_needs_the_right_to_read_alone(
    users: CommandLine, registry: LocalRegistry, strategy: str, code: int
) -> None:
    registry.fail(Fault.status(401, "Don't have permission to administrate"), times=None, match="compatibility")
    required = record("User", ("name", "string"), ("mail", "string"))
    users("schemas", "check", "users", "-", stdin=text_of(required), code=3)
    users("schemas", "check", "users", "-", "--strategy", strategy, stdin=text_of(required), code=code)


# diff


def test_a_diff_compares_the_latest_schema_with_the_one_before(users: CommandLine) -> None:
    ended = users("schemas", "diff", "users")
    assert ended.out.startswith("--- version 0\n+++ version 1\n")
    assert '+      "name": "age"' in ended.out
    assert ended.err == "The schemas differ. New reads old (BACKWARD): yes; old reads new (FORWARD): yes\n"


@pytest.mark.parametrize(
    ("operands", "code", "same", "reads"),
    [
        (("0", "1"), 1, False, [True, True]),
        (("1",), 0, True, [True, True]),
        (("latest", "1"), 0, True, [True, True]),
        (("0", "other.avsc"), 1, False, [False, False]),
        (("required.avsc", "first.avsc"), 1, False, [True, False]),
        (("docs.avsc", "0"), 0, True, [True, True]),
    ],
)
def test_a_diff_says_which_schema_reads_the_other(
    users: CommandLine, operands: tuple[str, ...], code: int, same: bool, reads: list[bool]
) -> None:
    Path("required.avsc").write_text(text_of(record("User", ("name", "string"), ("mail", "string"))))
    Path("docs.avsc").write_text(text_of({**FIRST, "doc": "What Pulsar does not compare."}))
    users("schemas", "diff", "users", *operands)
    found = users("schemas", "diff", "users", *operands, "--exit-code", "--json", code=code).json
    assert (found["same"], [found["new_reads_old"], found["old_reads_new"]]) == (same, reads)


@pytest.mark.parametrize("operands", [("7",), ("00",), ("0", "7"), ("nowhere.avsc",)])
def test_a_diff_with_something_that_is_not_there_says_so(users: CommandLine, operands: tuple[str, ...]) -> None:
    ended = users("schemas", "diff", "users", *operands, code=1)
    assert "Error: " in ended.err
    assert "http-404" not in ended.err
    ended = users("schemas", "diff", "nothing", code=1)
    assert ended.err == "Error: topic nothing: expected two versions to compare, the topic has 0\n"


def test_schemas_that_are_not_avro_are_compared_by_type_and_text(run: CommandLine, registry: LocalRegistry) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    for kind in ("STRING", "INT32"):
        run("schemas", "register", "mixed", "-", "--type", kind, stdin="")
    found = run("schemas", "diff", "mixed", "--json").json
    assert (found["same"], found["new_reads_old"]) == (False, None)
    assert run("schemas", "diff", "mixed", "0", "0", "--json").json["same"]
