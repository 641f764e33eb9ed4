"""The state file of a migration, and its route."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from streamnative_serdes._rewriting import Direction
from streamnative_serdes.errors import ConfigError, FileError
from streamnative_serdes.migration.route import Route, Side
from streamnative_serdes.migration.state import State, Widened, default_path

GUID = "89791762-2336-186f-9674-180ca802d4d1"
DIGITS = "00000000-0000-0000-0000-000000000007"


def route(direction: Direction = "forward", source: str = "from", target: str = "to", **pulsar: Any) -> Route:
    confluent = Side({"bootstrap.servers": "c:1"}, {"schema.registry.url": "http://c:2/"})
    return Route(direction, source, target, confluent, Side({}, {"schema.registry.url": "http://p:3", **pulsar}))


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "state"
    widened = [Widened("topic", "persistent://a/b/c", None, "FULL"), Widened("namespace", "a/b", "NONE")]
    mapping: Any = {0: 1, 2**31 - 1: 0, -1: 3, GUID: 4, DIGITS: 5}
    state = State(path, route(), mapping, widened, {"seen": [1]}, ["backup"], {-1, GUID, 2**31 - 1})
    state.save()
    assert State.load(path, route()) == state
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_findings_are_saved_beside_what_another_step_has_saved_meanwhile(tmp_path: Path) -> None:
    slow = State.load(tmp_path / "state", route())
    slow.findings = {"seen": [0]}
    slow.save_findings()
    other = State.load(slow.path, route())
    other.map([7], 3, '"bytes"')
    other.widened.append(Widened("topic", "persistent://a/b/c", None))
    other.save()
    slow.findings = {"seen": [1]}
    slow.save_findings()
    other.findings = {"seen": [1]}
    assert State.load(slow.path, route()) == other


def test_without_a_file_a_state_begins_empty_and_has_no_rewriter(tmp_path: Path) -> None:
    state = State.load(tmp_path / "state", route())
    assert state == State(tmp_path / "state", route())
    with pytest.raises(FileError, match="has no schemas"):
        state.rewriter()
    state.mapping[7] = 0
    assert state.rewriter().rewrite(b"\0\0\0\0\7x", None)[0] == b"\3\4" + bytes(8) + b"x"


def test_a_schema_that_another_process_has_added_is_found_in_the_file(tmp_path: Path) -> None:
    state = State(tmp_path / "state", route(), {7: 0})
    assert state.renewed(8) is None
    State(state.path, route(), {7: 0, 8: 1}).save()
    assert state.renewed(9) is None
    assert state.mapping == {7: 0}
    rewriter = state.renewed(8)
    assert rewriter is not None
    assert rewriter.rewrite(b"\0\0\0\0\10x", None)[0] == b"\3\4" + bytes(7) + b"\1x"
    assert state.mapping == {7: 0, 8: 1}


def test_the_names_of_schemas_whose_root_is_bytes_are_noted(tmp_path: Path) -> None:
    state = State(tmp_path / "state", route())
    state.map([7, GUID], 0, '{"type": "bytes", "logicalType": "decimal", "precision": 3}')
    state.map([8], 1, '["null", "bytes"]')
    state.save()
    for each in (state, State.load(state.path, route())):
        assert each.mapping == {7: 0, GUID: 0, 8: 1}
        assert each.bytes_roots == {7, GUID}
        assert each.rewriter().rewrite(b"\0\0\0\0\7hi", None)[0] == b"\3\4" + bytes(8) + b"\4hi"


@pytest.mark.promise("own-state")
@pytest.mark.parametrize("other", [route("back"), route(source="x"), route(target="x")])
def test_the_file_of_another_migration_is_refused(tmp_path: Path, other: Route) -> None:
    State(tmp_path / "state", other).save()
    with pytest.raises(FileError, match="is of another migration") as caught:
        State.load(tmp_path / "state", route())
    hint = str(caught.value.hint)
    assert hint.startswith(f"this one is {route().identity}. To go on with that one, give its topics, registries and")
    assert hint.endswith("for this one, name another file with --state")


@pytest.mark.promise("own-state")
@pytest.mark.parametrize("change", [("7", "8"), ("mapping", "mopping"), ("{", "")])
def test_a_damaged_file_is_refused_and_stays(tmp_path: Path, change: tuple[str, str]) -> None:
    path = tmp_path / "state"
    State(path, route(), {7: 0}).save()
    path.write_text(damaged := path.read_text().replace(*change, 1))
    with pytest.raises(FileError):
        State.load(path, route())
    assert path.read_text() == damaged


def test_the_default_name_has_no_odd_characters() -> None:
    assert default_path(route()).name == "from-to-to.migration.json"
    found = default_path(route(source="../a/b c", target="persistent://t/n/\u00e4" + "x" * 100)).name
    assert found == ".._a_b_c-to-" + ("persistent___t_n_\u00e4" + "x" * 100)[:80] + ".migration.json"


def test_each_side_is_read_or_written_by_the_direction() -> None:
    one, back = route(), route("back")
    assert (one.reading, one.writing) == (one.confluent, one.pulsar)
    assert (back.reading, back.writing) == (back.pulsar, back.confluent)
    assert (one.subject, back.subject) == ("from-value", "to-value")
    assert (str(one.topic), str(back.topic)) == ("persistent://public/default/to", "persistent://public/default/from")
    assert one.identity == "forward: from of http://c:2 -> to of http://p:3"
    assert back.identity == "back: from of http://p:3 -> to of http://c:2"


def test_the_topic_has_the_tenant_and_namespace_of_the_options() -> None:
    found = route(**{"pulsar.tenant": "shop", "pulsar.namespace": "eu"}).topic
    assert str(found) == "persistent://shop/eu/to"
    assert str(route().topic) == "persistent://public/default/to"


def test_an_address_is_needed() -> None:
    with pytest.raises(ConfigError, match=r"schema\.registry\.url"):
        _ = Side({}, {}).url
    assert Side({}, {"schema.registry.url": "http://a:1/ , http://b:2"}).url == "http://a:1,http://b:2"


@pytest.mark.parametrize(
    ("source", "target", "one"),
    [
        ("orders", "orders", True),
        ("orders", "public/default/orders", True),
        ("persistent://public/default/orders", "orders", True),
        ("orders", "sales/default/orders", False),
        ("orders", "orders-snip42", False),
    ],
)
def test_one_topic_has_several_names(source: str, target: str, one: bool) -> None:
    assert Route("forward", source, target, Side({}, {}), Side({}, {})).has_one_name is one
