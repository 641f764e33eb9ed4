"""The commands ``schemas backup``, ``delete`` and ``restore``: what is deleted can be restored as it was."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import requests
from command import CommandLine
from schema_migrations import put
from schemas import record

from streamnative_serdes.schema_registry import SchemaInfo, backups
from streamnative_serdes.schema_registry.backups import Restoration
from streamnative_serdes.testing import Fault, LocalRegistry

FIRST = record("User", ("name", "string"))
SECOND = record("User", ("name", "string"), ("age", ["null", "int"], None))
THIRD = record("User", ("name", "string"), ("mail", ["null", "string"], None))
OTHER = record("Order", ("id", "long"))
USERS = "public/default/users"
FULL_NAME = f"persistent://{USERS}"


@pytest.fixture
def run(registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(registry.url)


def shown(registry: LocalRegistry, topic: str = USERS) -> list[tuple[int, Any]]:
    """Numbers and schemas of a topic."""
    return [
        (entry.version, json.loads(entry.data.text))
        for entry in registry.store.versions(topic)
        if entry.data is not None
    ]


def following(registry: LocalRegistry, topic: str = USERS) -> int:
    """The number that the next schema would get; it takes it."""
    return registry.store.delete(topic)


def after_deletions(registry: LocalRegistry, count: int, *schemas: Any) -> None:
    """The topic users with these schemas, numbered from ``count`` on."""
    for _ in range(count):
        registry.store.delete(USERS)
    put(registry, USERS, *schemas)


# backup


def test_a_backup_has_all_versions_and_is_private(run: CommandLine, registry: LocalRegistry) -> None:
    after_deletions(registry, 2, FIRST, SECOND)
    put(registry, "public/default/words", "", kind="STRING", a="b")
    ended = run("schemas", "backup", "users", "words", "nothing", "-o", "all.json")
    assert ended.out.splitlines() == [
        f"{FULL_NAME}: versions 2 to 3 (AVRO)",
        "persistent://public/default/words: version 0 (STRING)",
        "saved in all.json; 1 topic without schemas",
    ]
    assert stat.S_IMODE(Path("all.json").stat().st_mode) == 0o600
    tree = json.loads(Path("all.json").read_text())
    assert tree["source"] == registry.url
    assert [one["topic"] for one in tree["body"]] == [FULL_NAME, "persistent://public/default/words"]
    assert [json.loads(one["text"]) for one in tree["body"][0]["schemas"]] == [FIRST, SECOND]
    assert tree["body"][1]["schemas"][0]["properties"] == {"a": "b"}


def test_a_namespace_is_saved_by_its_topics(run: CommandLine, registry: LocalRegistry) -> None:
    registry.store.add_topic(USERS, 2)
    put(registry, USERS, FIRST)
    tree = run("schemas", "backup", "--namespace", "public/default", "-o", "all.json", "--json").json
    assert tree == {"file": "all.json", "topics": [{"topic": FULL_NAME, "versions": [0]}], "dry_run": False}


def test_a_backup_does_not_overwrite_a_file(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    Path("all.json").write_text("precious")
    for arguments in (("backup", "users", "-o", "all.json"), ("delete", "users", "--yes", "--backup", "all.json")):
        for dry in ((), ("--dry-run",)):
            ended = run("schemas", *arguments, *dry, code=1)
            assert (ended.out, "all.json exists already" in ended.err) == ("", True)
        assert "the name is empty" in run("schemas", *arguments[:-1], "", code=2).err
    assert Path("all.json").read_text() == "precious"
    assert shown(registry) == [(0, FIRST)]


def test_a_backup_needs_topics(run: CommandLine) -> None:
    assert "name topics" in run("schemas", "backup", "-o", "all.json", code=2).err
    assert "invalid topic name" in run("schemas", "backup", "users", "a/b", "-o", "all.json", code=2).err


# delete


def test_deleting_makes_a_backup_first_and_says_where(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST, SECOND)
    ended = run("schemas", "delete", "users", "--yes")
    (path,) = Path().glob("public.default.users-*.schemas.json")
    assert f"backup: {path}" in ended.err
    assert ended.out.splitlines()[-1] == f"{FULL_NAME}: deleted, backup in {path}"
    assert shown(registry) == []
    assert following(registry) == 3
    assert len(json.loads(path.read_text())["body"][0]["schemas"]) == 2


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_deleting_asks_and_takes_anything_but_yes_for_no(
    run: CommandLine, registry: LocalRegistry, answer: str
) -> None:
    put(registry, USERS, FIRST)
    ended = run("schemas", "delete", "users", stdin=answer, code=1)
    assert f"Delete all schemas of {FULL_NAME}?" in ended.err
    assert shown(registry) == [(0, FIRST)]
    assert list(Path().iterdir()) == []
    run("schemas", "delete", "users", stdin="y\n")
    assert shown(registry) == []


def test_programs_are_not_asked_before_a_deletion(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    ended = run("schemas", "delete", "users", "--json", stdin="y\n", code=2)
    assert "--json needs --yes" in json.loads(ended.err)["error"]["message"]
    assert shown(registry) == [(0, FIRST)]
    assert run("schemas", "delete", "users", "--json", "--yes").json["deleted"] == 1


def test_a_schema_that_came_while_people_were_asked_is_in_the_backup(
    run: CommandLine, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(registry, USERS, FIRST)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: put(registry, USERS, SECOND))
    run("schemas", "delete", "users", "--backup", "b.json")
    assert [one["version"] for one in json.loads(Path("b.json").read_text())["body"][0]["schemas"]] == [0, 1]


def test_a_backup_of_nothing_is_not_written(run: CommandLine) -> None:
    ended = run("schemas", "backup", "nothing", "-o", "all.json", code=3)
    assert ended.err == "Error: no schemas: persistent://public/default/nothing\n"
    assert not Path("all.json").exists()


def test_a_dry_run_deletes_and_writes_nothing(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    registry.reset_calls()
    tree = run("schemas", "delete", "users", "--dry-run", "--json").json
    assert (tree["deleted"], tree["dry_run"]) == (1, True)
    assert run("schemas", "backup", "users", "-o", "b.json", "--dry-run").out.endswith("would be saved in b.json\n")
    assert not {kind for kind in registry.calls if not kind.startswith("GET ")}
    assert list(Path().iterdir()) == []


def test_nothing_is_deleted_if_the_backup_cannot_be_written(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    ended = run("schemas", "delete", "users", "--yes", "--backup", "nowhere/b.json", code=1)
    assert "nowhere/b.json cannot be written" in ended.err
    assert shown(registry) == [(0, FIRST)]


def test_a_topic_without_schemas_stays_as_it_is(run: CommandLine, registry: LocalRegistry) -> None:
    assert run("schemas", "delete", "users", "--yes").out == f"{FULL_NAME}: the topic has no schemas\n"
    assert following(registry) == 0
    assert list(Path().iterdir()) == []


def test_a_forced_deletion_lets_numbers_start_at_0(run: CommandLine, registry: LocalRegistry) -> None:
    after_deletions(registry, 3, FIRST)
    run("schemas", "delete", "users", "--yes", "--force", "--backup", "b.json")
    assert following(registry) == 0
    assert json.loads(Path("b.json").read_text())["body"][0]["schemas"][0]["version"] == 3


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["deleted", "by force"])
def test_a_schema_that_came_between_backup_and_deletion_is_reported(
    run: CommandLine, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, force: tuple[str, ...]
) -> None:
    put(registry, USERS, FIRST)
    original = backups.save

    def late(*arguments: Any, **more: Any) -> None:
        original(*arguments, **more)
        put(registry, USERS, SECOND)

    monkeypatch.setattr(backups, "save", late)
    ended = run("schemas", "delete", "users", "--yes", "--backup", "b.json", *force, code=1)
    assert "b.json may lack one that was registered after the backup" in ended.err


def test_a_missing_right_to_delete_leaves_a_backup_and_the_schemas(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    registry.fail(Fault.status(401, "Don't have permission to administrate"), match="DELETE")
    ended = run("schemas", "delete", "users", "--yes", code=3)
    assert "Hint: the role needs to be an admin of the tenant" in ended.err
    assert shown(registry) == [(0, FIRST)]


# restore


def deleted(run: CommandLine, *options: str) -> None:
    run("schemas", "delete", "users", "--yes", "--backup", "b.json", *options)


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["deleted", "deleted by force"])
@pytest.mark.parametrize("first", [0, 1, 4])
def test_a_restored_topic_has_its_schemas_with_their_old_numbers(
    run: CommandLine, registry: LocalRegistry, first: int, force: tuple[str, ...]
) -> None:
    after_deletions(registry, first, FIRST, SECOND)
    before = shown(registry)
    deleted(run, *force)
    ended = run("schemas", "restore", "b.json")
    assert ended.out == f"{FULL_NAME}: versions {first} to {first + 1}, 2 of 2 restored\n"
    assert shown(registry) == before == [(first, FIRST), (first + 1, SECOND)]


def test_properties_and_other_types_come_back(run: CommandLine, registry: LocalRegistry) -> None:
    halves = {"key.schema.type": "STRING", "value.schema.type": "AVRO", "kv.encoding.type": "SEPARATED"}
    put(registry, USERS, json.dumps({"key": "", "value": FIRST}), kind="KEY_VALUE", **halves)
    before = run("schemas", "get", "users", "--json").json
    deleted(run)
    run("schemas", "restore", "b.json")
    after = run("schemas", "get", "users", "--json").json
    assert {**after, "timestamp": 0} == {**before, "timestamp": 0}


def test_restoring_again_changes_nothing(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST, SECOND)
    deleted(run)
    run("schemas", "restore", "b.json")
    registry.reset_calls()
    tree = run("schemas", "restore", "b.json", "--json").json
    assert tree == {"topics": [{"topic": FULL_NAME, "versions": [0, 1], "restored": 0}], "dry_run": False}
    assert not {kind for kind in registry.calls if not kind.startswith("GET ")}


def test_a_restoration_that_was_killed_is_completed(run: CommandLine, registry: LocalRegistry) -> None:
    after_deletions(registry, 2, FIRST, SECOND, THIRD)
    deleted(run)
    registry.store.delete_forever(USERS)
    after_deletions(registry, 2, FIRST)  # so far a former run had come
    ended = run("schemas", "restore", "b.json")
    assert ended.out == f"{FULL_NAME}: versions 2 to 4, 2 of 3 restored\n"
    assert shown(registry) == [(2, FIRST), (3, SECOND), (4, THIRD)]


def test_what_a_former_run_had_begun_stays_and_that_is_said(run: CommandLine, registry: LocalRegistry) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    put(registry, USERS, FIRST, SECOND, OTHER)
    deleted(run, "--force")
    put(registry, USERS, FIRST)  # so far a former run had come
    registry.set_strategy("FULL")
    ended = run("schemas", "restore", "b.json", code=1)
    assert f"topic {FULL_NAME} keeps what was restored, since a former run had begun to" in ended.err
    assert shown(registry) == [(0, FIRST), (1, SECOND)]


def test_a_dry_run_of_a_restoration_changes_nothing(run: CommandLine, registry: LocalRegistry) -> None:
    after_deletions(registry, 2, FIRST)
    deleted(run)
    registry.reset_calls()
    assert run("schemas", "restore", "b.json", "--dry-run").out == f"{FULL_NAME}: version 2, 1 of 1 would be restored\n"
    assert not {kind for kind in registry.calls if not kind.startswith("GET ")}


@pytest.mark.parametrize("there", [[OTHER], [SECOND], [FIRST, THIRD]])
def test_a_topic_with_other_schemas_is_left_alone(run: CommandLine, registry: LocalRegistry, there: list[Any]) -> None:
    put(registry, USERS, FIRST, SECOND)
    deleted(run, "--force")
    put(registry, USERS, *there)
    before = shown(registry)
    for more in ((), ("--dry-run",)):
        ended = run("schemas", "restore", "b.json", *more, code=1)
        assert "has schemas that are not those of the backup" in ended.err
    assert shown(registry) == before


def test_the_same_schemas_with_other_numbers_are_other_schemas(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    deleted(run)
    put(registry, USERS, FIRST)
    assert "versions 2" in run("schemas", "restore", "b.json", code=1).err
    assert shown(registry) == [(2, FIRST)]


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_restoration_that_fails_in_the_middle_changes_nothing(
    run: CommandLine, registry: LocalRegistry, first: int, count: int
) -> None:
    """The topic's count is what it was before, too."""
    registry.set_strategy("ALWAYS_COMPATIBLE")
    after_deletions(registry, first, FIRST, OTHER)
    deleted(run, "--force")
    registry.set_strategy("FULL")
    for _ in range(count):
        registry.store.delete(USERS)
    ended = run("schemas", "restore", "b.json", "--json", code=1)
    assert ended.error["error"]["kind"] == "IncompatibleSchemaError"
    assert ended.error["error"]["version"] == first + 1
    assert ended.error["error"]["message"].endswith("; nothing was changed")
    assert ended.error["error"]["changed"] is False
    assert shown(registry) == []
    assert following(registry) == count


def test_of_several_topics_all_or_none_are_restored(run: CommandLine, registry: LocalRegistry) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    put(registry, "public/default/orders", OTHER)
    put(registry, USERS, FIRST, OTHER)
    run("schemas", "backup", "orders", "users", "-o", "b.json")
    for topic in ("orders", "users"):
        registry.store.delete_forever(f"public/default/{topic}")
    registry.set_strategy("FULL")
    assert "; nothing was changed" in run("schemas", "restore", "b.json", code=1).err
    assert [shown(registry, f"public/default/{topic}") for topic in ("orders", "users")] == [[], []]
    registry.set_strategy("ALWAYS_COMPATIBLE")
    run("schemas", "restore", "b.json")
    assert shown(registry) == [(0, FIRST), (1, OTHER)]


def test_what_cannot_be_undone_is_reported_and_completed_by_the_next_run(
    run: CommandLine, registry: LocalRegistry
) -> None:
    put(registry, USERS, FIRST, SECOND)
    deleted(run, "--force")
    refused = Fault.status(401, "Unauthorized to validateTopicOperation")
    registry.fail(Fault(), match="POST")  # lets the first one through
    registry.fail(refused, match="POST")
    registry.fail(Fault.status(401, "Don't have permission to administrate"), match="DELETE")
    ended = run("schemas", "restore", "b.json", code=3)
    assert "; not all could be undone: " in ended.err
    assert "Hint: the role needs the right to produce; then run the same command again" in ended.err
    assert shown(registry) == [(0, FIRST)]
    run("schemas", "restore", "b.json")
    assert shown(registry) == [(0, FIRST), (1, SECOND)]


def test_schemas_of_another_client_are_never_deleted(
    run: CommandLine, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(registry, USERS, FIRST, SECOND)
    deleted(run, "--force")
    registry.set_strategy("ALWAYS_COMPATIBLE")
    post: Callable[[Restoration, SchemaInfo], int] = Restoration._post

    def disturbed(work: Restoration, info: SchemaInfo) -> int:
        if info.version == 1:
            put(registry, USERS, OTHER)
        return post(work, info)

    monkeypatch.setattr(Restoration, "_post", disturbed)
    ended = run("schemas", "restore", "b.json", code=1)
    assert "version 1 was registered with number 2" in ended.err
    assert "it has other schemas now, which are not deleted" in ended.err
    assert (1, OTHER) in shown(registry)


def test_what_is_read_back_must_be_what_was_registered(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    deleted(run, "--force")
    registry.fail(Fault(), match="GET .*schemas", times=2)
    empty = Fault.garbage(b'{"getSchemaResponses": []}')
    registry.fail(empty, match="GET .*schemas")
    assert "what was read back is not what was registered" in run("schemas", "restore", "b.json", code=1).err
    assert shown(registry) == []


@pytest.mark.parametrize("registered", [0, 1])
def test_ctrl_c_in_the_middle_undoes_what_was_done(
    run: CommandLine, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, registered: int
) -> None:
    put(registry, USERS, FIRST, SECOND)
    deleted(run, "--force")
    post: Callable[[Restoration, SchemaInfo], int] = Restoration._post

    def interrupted(work: Restoration, info: SchemaInfo) -> int:
        if info.version == registered:
            raise KeyboardInterrupt
        return post(work, info)

    monkeypatch.setattr(Restoration, "_post", interrupted)
    assert "interrupted; nothing was changed" in run("schemas", "restore", "b.json", code=130).err
    assert shown(registry) == []


def test_a_backup_of_another_registry_is_refused_unless_that_is_meant(
    run: CommandLine, registry: LocalRegistry
) -> None:
    put(registry, USERS, FIRST)
    deleted(run)
    with LocalRegistry() as other:
        ended = run("schemas", "restore", "b.json", "--registry", other.url, code=1)
        assert f"is a backup of the registry {registry.url}, and this one is {other.url}" in ended.err
        assert "Hint: --other-registry accepts it" in ended.err
        assert shown(other) == []
        run("schemas", "restore", "b.json", "--registry", other.url, "--other-registry")
        assert shown(other) == [(0, FIRST)]


def test_a_backup_is_restored_to_another_topic(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    run("schemas", "backup", "users", "-o", "b.json")
    run("schemas", "restore", "b.json", "--topic", "copy")
    assert shown(registry, "public/default/copy") == [(0, FIRST)]
    put(registry, "public/default/more", FIRST)
    run("schemas", "backup", "users", "more", "-o", "two.json")
    assert "needs a backup of one topic" in run("schemas", "restore", "two.json", "--topic", "x", code=2).err


def test_a_damaged_backup_is_refused_before_anything_is_asked(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST)
    deleted(run)
    registry.reset_calls()
    path = Path("b.json")
    path.write_text(path.read_text().replace("name", "nome", 1))
    assert "is damaged" in run("schemas", "restore", "b.json", code=1).err
    path.write_text("{}")
    assert "is not a file of this program" in run("schemas", "restore", "b.json", code=1).err
    assert not registry.calls


def test_a_registry_that_dies_is_reported(run: CommandLine, registry: LocalRegistry) -> None:
    put(registry, USERS, FIRST, SECOND)
    deleted(run, "--force")
    registry.fail(Fault.status(503), times=None, match="POST")
    ended = run("schemas", "restore", "b.json", "--set", "retries.total.ms=500", code=3)
    assert "no usable response" in ended.err
    assert "nothing was changed" in ended.err
    assert requests.get(f"{registry.url}/admin/v2/schemas/{USERS}/schema", timeout=30).status_code == 404
