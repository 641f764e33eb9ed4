"""Tests of the campaign's own parts that could fail silently; CI does not run the campaign itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import campaign
import faults
import pytest
import running
from building import check
from drawing import changes, draw
from faults import NEW, Fault, ListError, all_faults, read_list, write_list
from kept import Kept, read_killers, write_killers
from places import changed, place_of
from rooms import ROOMS, room_of
from running import Runner, Verdict, run_tests
from switches import declared, with_switches
from table import problems, table

CODE = """\
def first(a):
    if a < 1:
        return 0
    return a

def second(a):
    if a < 1:
        return 0
    return a + 1
"""
FAULT = Fault("one", "streamnative_serdes/errors.py", "a < 1", "a <= 1", "bound", where="def second")
EXT = "ext/streamnative_serdes/_header.pyx"


def verdict(killer: str, **known: str) -> Verdict:
    return Verdict(replace(FAULT, **known), killer, 1.0)


# Places


def test_a_place_stays_where_it_is_when_lines_come_before_it() -> None:
    before, after = place_of(FAULT, CODE)[0], place_of(FAULT, f"import os\n\n{CODE}")[0]
    assert after - before == len("import os\n\n")
    assert changed(FAULT, CODE).count("a <= 1") == 1
    assert changed(FAULT, CODE).index("a <= 1") > CODE.index("def second")


@pytest.mark.parametrize(("nth", "function"), [(1, "def first"), (2, "def second")])
def test_the_nth_of_several_equal_lines_is_changed(nth: int, function: str) -> None:
    start, _ = place_of(replace(FAULT, where="", line="if a < 1:", nth=nth), CODE)
    assert CODE.rfind("def ", 0, start) == CODE.index(function)


@pytest.mark.parametrize(
    "moved",
    [
        {"where": "def third"},
        {"where": "", "old": "a > 1"},
        {"where": "", "nth": 3},
        {"where": "", "line": "if a < 2:"},
        {"where": "", "nth": 0},  # ambiguous
        {"where": "", "line": "return a", "old": "a < 1"},
    ],
)
def test_a_fault_that_does_not_apply_is_named(moved: dict[str, object]) -> None:
    with pytest.raises(ListError, match=r"^one: "):
        changed(replace(FAULT, **moved), CODE)


def test_the_check_names_faults_of_missing_files_and_invalid_python() -> None:
    missing = replace(FAULT, id="gone", file="streamnative_serdes/nowhere.py")
    broken = Fault("broken", "streamnative_serdes/_topics/cache.py", "import", "import import", "bound", nth=1)
    assert [text.partition(":")[0] for text in check([missing, broken])] == ["gone", "broken"]


# Switches


def test_an_expression_is_switched_in_place() -> None:
    text = with_switches("x = size + 1\n", {3: replace(FAULT, old="size + 1", new="size", where="")}, is_c=False)
    assert text == "x = ((size) if sns_fault == 3 else (size + 1))\n"


def test_a_condition_is_switched_as_a_truth_value() -> None:
    text = with_switches("if a < 1:\n    pass\n", {3: replace(FAULT, where="")}, is_c=False)
    assert text == "if ((sns_fault == 3 and (a <= 1)) or (sns_fault != 3 and (a < 1))):\n    pass\n"


def test_a_statement_becomes_the_other_arm_of_an_if() -> None:
    fault = replace(FAULT, old="w.left -= 1", new="pass", where="")
    text = with_switches("    w.left -= 1      # paid\n", {7: fault}, is_c=False)
    assert text == "    if sns_fault == 7:\n        pass\n    else:\n        w.left -= 1      # paid\n"


@pytest.mark.parametrize("chosen", [0, 1, 2, 3])
def test_the_number_selects_one_of_several_nested_or_equal_places(chosen: int) -> None:
    numbered = {
        1: replace(FAULT, id="outer", old="a < 1 and b", new="False", where=""),
        2: replace(FAULT, id="inner", old="a < 1", new="a <= 1", where=""),
        3: replace(FAULT, id="same", old="a < 1", new="a > 1", where=""),
    }
    text = with_switches("(a < 1 and b)", numbered, is_c=False)
    outcomes = [eval(text, {"sns_fault": chosen, "a": a, "b": True}) for a in (0, 1, 2)]
    assert outcomes == [[True, False, False], [False] * 3, [True, True, False], [False, False, True]][chosen]


def test_faults_that_overlap_are_refused_with_their_names() -> None:
    numbered = {1: replace(FAULT, old="a < 1", where=""), 2: replace(FAULT, id="two", old="1 and b", where="")}
    with pytest.raises(ListError, match="two and one overlap"):
        with_switches("(a < 1 and b)", numbered, is_c=False)


@pytest.mark.parametrize("part", ["a < 1 and", "if a < 1", "and b", "a < 1 and not", "a = 1 if b", "a[0] = 1", "1 if"])
def test_a_part_of_an_expression_is_refused(part: str) -> None:
    with pytest.raises(ListError, match=f"^one: {re.escape(repr(part))} is not a whole expression"):
        with_switches("if a < 1 and not b:\n", {1: replace(FAULT, new=part, where="")}, is_c=False)


def test_the_head_of_a_block_is_refused() -> None:
    with pytest.raises(ListError, match=r"^one: 'if a < 1:' is the head of a block without its body"):
        with_switches("if a < 1:\n    b\n", {1: replace(FAULT, old="if a < 1:", where="")}, is_c=False)


def test_c_is_switched_by_its_own_operators() -> None:
    numbered = {1: replace(FAULT, old="n > 2", new="n > 3", where=""), 2: replace(FAULT, old="n++;", new=";", where="")}
    text = with_switches("if (n > 2) n++;", numbered, is_c=True)
    assert text == "if ((sns_fault == 1 ? (n > 3) : (n > 2))) { if (sns_fault == 2) { ; } else { n++; } }"


def test_the_switch_is_declared_behind_the_docstring() -> None:
    text = declared('# cython: binding=True\n"""What it is,\n\nat length."""\n\nfrom x cimport y\n')
    assert text.startswith('# cython: binding=True\n"""What it is,\n\nat length."""\n\ncdef extern')


# Drawing


def small_tree(root: Path) -> Path:
    """Create a file in each room, with a place for each kind of change."""
    for room in ROOMS:
        name = room.files[0].replace("*", "x.py" if "x.py" not in room.files[0] else "")
        path = root / (name if name.endswith((".py", ".pyx")) else name.replace("x.py", "pyx"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(CODE.replace("first", f"first{i}") for i in range(20)))
    return root


def test_the_same_seed_draws_the_same_list_and_another_seed_another_list(tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    assert draw(root, 1) == draw(root, 1) != draw(root, 2)


@pytest.mark.parametrize("new", [False, True])
def test_a_drawn_fault_applies_where_it_was_drawn(new: bool, tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    drawn = draw(root, 5, new)
    assert len(drawn) == sum(room.new if new else room.drawn for room in ROOMS)
    for fault in drawn:
        text = (root / fault.file).read_text()
        assert changed(fault, text) != text
        assert f"{NEW * new}{room_of(fault.file).name.replace(' ', '-')}" == fault.id.rpartition("-drawn-")[0]


@pytest.mark.parametrize(
    ("file", "code", "kind", "new"),
    [
        ("a.py", "if x == 1:\n    return\n", "comparison", "x != 1"),
        ("a.py", "if x == 1:\n    return\n", "early return", "False"),
        ("a.py", "y = a and b\n", "and/or", "a or b"),
        ("a.py", "y = a[n - 1]\n", "one off", "n"),
        ("a.py", "def f(x: int = 2) -> None: ...\n", "default", "x: int = 3"),
        ("a.py", 'Option("a.b", True, flag, "doc")\n', "default", '"a.b", False'),
        ("a.pyx", "    if p is NULL:\n        return -1\n", "comparison", "p is not NULL"),
        ("a.pyx", "    return n + 1    # more\n", "one off", "n"),
        ("a.h", "    if (a && b) return 0;\n", "and/or", "a || b"),
        ("a.h", "    if (a && b) return 0;\n", "early return", "0"),
    ],
)
def test_each_kind_of_change_is_drawn(file: str, code: str, kind: str, new: str) -> None:
    assert [change.new for change in changes(file, code) if change.kind == kind] == [new]


# Lists


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    faults = [FAULT, replace(FAULT, id="two", old="'a'\n\t\"b\"", new="", nth=2, equivalent='it\'s "so"')]
    write_list(tmp_path / "list.toml", "seed = 1", faults)
    assert read_list(tmp_path / "list.toml") == faults


def test_an_unknown_key_of_a_fault_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text("[[fault]]\nid = 'one'\nlife = 'no'\n")
    with pytest.raises(ListError, match=r"one has the unknown keys \['life'\]"):
        read_list(tmp_path / "list.toml")


def test_every_fault_of_the_lists_belongs_to_a_room_and_half_of_them_are_drawn() -> None:
    listed = all_faults()
    assert {room_of(fault.file).name for fault in listed} == {room.name for room in ROOMS}
    assert sum("-drawn-" in fault.id and not fault.is_new for fault in listed) >= 75
    assert sum("-drawn-" in fault.id and fault.is_new for fault in listed) >= 60


# Running


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(running, "BUILD", tmp_path)
    return tmp_path


def file_with(folder: Path, body: str) -> tuple[str, ...]:
    path = folder / "test_it.py"
    path.write_text(f"import os, time\n\ndef test_it():\n    {body}\n")
    return ("--confcutdir", str(folder), "-c", "/dev/null", str(path))


@pytest.mark.parametrize(
    ("body", "killer"),
    [
        ("assert os.environ['SERDES_FAULT'] == '4'", ""),
        ("assert os.environ['SERDES_FAULT'] == '5'", "test_it.py::test_it"),
        ("os.abort()", "crashed by signal 6"),
    ],
)
def test_a_failure_or_crash_kills_the_fault_and_success_lets_it_live(scratch: Path, body: str, killer: str) -> None:
    run = run_tests(file_with(scratch, body), "one", scratch, 4, 60.0)
    assert run.killer.endswith(killer)
    assert bool(run.killer) is bool(killer)


@pytest.mark.parametrize(("body", "limit"), [("time.sleep(600)", 1.0), ("while True: pass", 3.0)])
def test_an_endless_test_kills_the_fault_at_the_time_limit(scratch: Path, body: str, limit: float) -> None:
    run = run_tests(file_with(scratch, body), "one", scratch, 4, limit)
    assert run.killer.startswith("no end within")


def test_tests_that_fail_without_a_fault_end_the_campaign(scratch: Path) -> None:
    with pytest.raises(running.BaselineError, match="test_it"):
        Runner({}).limit_of(file_with(scratch, "assert False"), "room")


# The verdict


def test_a_fault_that_lives_without_a_reason_fails_the_campaign() -> None:
    assert problems([verdict("")], []) == ["one is alive, and its list says no reason"]
    assert problems([verdict("", lives="so it is"), verdict("test_it")], []) == []


@pytest.mark.parametrize("known", [{"equivalent": "no way to tell"}, {"lives": "too slow to test"}])
def test_a_reason_for_a_fault_that_is_killed_is_reported(known: dict[str, str]) -> None:
    assert len(problems([verdict("test_it", **known)], [])) == 1


@pytest.mark.parametrize("prefix", ["", NEW])
def test_of_each_list_at_least_120_faults_must_be_tried_and_at_most_8_percent_may_live(prefix: str) -> None:
    def tried(killed: int, alive: int, equivalent: int = 0) -> list[str]:
        lived = [verdict("", id=f"{prefix}alive", lives="so it is")] * alive
        same = [verdict("", id=f"{prefix}same", equivalent="no way to tell")] * equivalent
        verdicts = [verdict("test_it", id=f"{prefix}killed")] * killed + lived + same
        return problems(verdicts, [v.fault for v in verdicts] + [replace(FAULT, id="other" if prefix else "new-other")])

    name = "the second list" if prefix else "the first list"
    few, many_alive = (
        f"expected at least 120 faults in {name}, got 119",
        f"{{}} of {{}} faults in {name} are alive: more than 8%",
    )
    assert tried(138, 12) == []
    assert tried(137, 12) == [many_alive.format(12, 149)]
    assert tried(137, 12, equivalent=1) == [many_alive.format(12, 149)]
    assert tried(110, 9) == [few]
    assert tried(109, 10) == [few, many_alive.format(10, 119)]


def test_a_part_of_a_list_may_have_any_number_of_faults_that_live() -> None:
    alive = verdict("", lives="so it is")
    assert problems([alive], [FAULT, replace(FAULT, id="two")]) == []


def test_the_ids_of_the_second_list_alone_begin_with_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, other in (("BY_HAND", f"{NEW}one"), ("NEW_BY_HAND", "one")):
        write_list(tmp_path / "list.toml", "", [replace(FAULT, id=other)])
        with monkeypatch.context() as patched:
            patched.setattr(faults, name, tmp_path / "list.toml")
            with pytest.raises(ListError, match=f"begin with 'new-': {other}$"):
                all_faults()


def test_a_list_that_exists_is_not_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "NEW_DRAWN", tmp_path / "new_drawn.toml")
    monkeypatch.setattr(campaign, "ROOT", small_tree(tmp_path))
    assert campaign.draw_list("new", 5) == 0
    drawn = (tmp_path / "new_drawn.toml").read_text()
    assert "--draw new --seed 5" in drawn
    with pytest.raises(ListError, match="remove it to draw it again"):
        campaign.draw_list("new", 6)
    assert (tmp_path / "new_drawn.toml").read_text() == drawn


def test_the_table_counts_by_room_and_gives_the_reasons() -> None:
    lines = table([verdict("test_it"), verdict("", lives="so it is"), verdict("", equivalent="no way")]).splitlines()
    assert lines[1].split() == ["words", "3", "1", "1", "1"]
    assert lines[2].split() == ["all", "3", "1", "1", "1"]
    assert lines[-2:] == ["alive: one: so it is", "equivalent: one: no way"]


# Going on after a run that was stopped


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "ext").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "ext" / "one.pyx").write_text("a = 1\n")
    (tmp_path / "tests" / "test_one.py").write_text("assert True\n")
    return tmp_path


def test_a_resumed_run_takes_over_the_verdicts_of_the_one_before(sources: Path) -> None:
    other = replace(FAULT, id="two")
    first = Kept([FAULT, other], resume=False, root=sources, build=sources / "build")
    first.add(Verdict(FAULT, "test_one.py::test", 1.5))
    for _ in range(2):  # it may be stopped again
        again = Kept([FAULT, replace(other, lives="a reason")], resume=True, root=sources, build=sources / "build")
        assert again.before == [Verdict(FAULT, "test_one.py::test", 1.5)]
        assert FAULT in again
        assert other not in again


@pytest.mark.parametrize("changed", ["ext/one.pyx", "tests/test_one.py", "a fault"])
def test_no_verdict_is_taken_over_after_a_change(
    changed: str, sources: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Kept([FAULT], resume=False, root=sources, build=sources / "build").add(Verdict(FAULT, "", 1.0))
    fault = replace(FAULT, new="a >= 1") if changed == "a fault" else FAULT
    if changed != "a fault":
        (sources / changed).write_text("a = 2\n")
    assert Kept([fault], resume=True, root=sources, build=sources / "build").before == []
    assert "nothing to resume" in capsys.readouterr().out


def test_a_run_that_is_not_resumed_starts_from_the_beginning(sources: Path) -> None:
    Kept([FAULT], resume=False, root=sources, build=sources / "build").add(Verdict(FAULT, "", 1.0))
    assert Kept([FAULT], resume=False, root=sources, build=sources / "build").before == []
    assert Kept([FAULT], resume=True, root=sources, build=sources / "build").before == []


# The test that killed a fault the last time


def test_killers_are_kept_by_fault_and_others_stay(tmp_path: Path) -> None:
    path, other, gone = tmp_path / "killers.json", replace(FAULT, id="two"), replace(FAULT, id="three")
    write_killers([Verdict(other, "a.py::b", 1.0), Verdict(gone, "a.py::c", 1.0)], [FAULT, other, gone], path)
    write_killers([Verdict(FAULT, "a.py::a[x]", 1.0)], [FAULT, other], path)
    assert read_killers([FAULT, other, gone], path) == {FAULT: "a.py::a[x]", other: "a.py::b"}


@pytest.mark.parametrize("killer", ["", "crashed by signal 11", "no end within 60 s of work or 300 s of waiting"])
def test_only_tests_are_kept_as_killers(killer: str, tmp_path: Path) -> None:
    write_killers([Verdict(FAULT, killer, 1.0)], [FAULT], tmp_path / "killers.json")
    assert read_killers([FAULT], tmp_path / "killers.json") == {}


class Runs:
    """Stands in for run_tests: ``ends`` has the killer by the tests that are run; all others pass."""

    def __init__(self, ends: dict[tuple[str, ...], str]) -> None:
        self.ends, self.seen = ends, list[tuple[str, ...]]()

    def __call__(self, tests: tuple[str, ...], name: str, folder: Path, *_: object) -> running.Run:
        self.seen.append(tests)
        without = name.startswith("without-a-fault")
        return running.Run("" if without else self.ends.get(tests, ""), 1.0)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str], str], tuple[str, list[tuple[str, ...]]]]:
    def judge(ends: dict[str, str], killer: str) -> tuple[str, list[tuple[str, ...]]]:
        runs = Runs({(tests,): end for tests, end in ends.items()})
        monkeypatch.setattr(running, "run_tests", runs)
        monkeypatch.setattr(running, "copy_with", lambda *_: None)
        found = Runner({}, narrow=True, killers={FAULT: killer}).judge(FAULT)
        return found.killer, runs.seen

    return judge


def test_the_test_that_killed_a_fault_before_runs_first(judged: Any) -> None:
    killer, seen = judged({"a.py::b": "a.py::b"}, "a.py::b")
    assert killer == "a.py::b"
    assert seen == [("a.py::b",), ("a.py::b",)]  # without a fault, and with it


@pytest.mark.parametrize("end", ["", "pytest ended with status 4: one.txt", "a.py::other"])
def test_a_fault_that_its_test_does_not_kill_gets_the_tests_of_its_room(judged: Any, end: str) -> None:
    killer, seen = judged({"a.py::b": end}, "a.py::b")
    assert killer == ""
    assert seen[-1] == room_of(FAULT.file).tests


def test_killers_that_were_renamed_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By pytest itself, whose text names them."""
    here = Path(__file__).relative_to(running.ROOT).as_posix()
    gone, kept = f"{here}::test_that_is_gone[a,b]", f"{here}::test_only_tests_are_kept_as_killers[]"
    monkeypatch.setattr(running, "BUILD", tmp_path)
    other = replace(FAULT, id="two")
    runner = Runner({}, killers={FAULT: gone, other: kept})
    run = running.run_tests((gone, kept), "both", running.ROOT, 0, 60.0)
    assert run.missing == {gone}
    monkeypatch.setattr(running, "COPY", running.ROOT)
    runner._limit_of_killers(room_of(FAULT.file))
    assert runner.gone == {gone}
