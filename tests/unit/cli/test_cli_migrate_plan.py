"""The command ``migrate plan`` without servers: its options, what is away, and its progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import CommandLine, Ended

from streamnative_serdes.cli.migrate import plan as module
from streamnative_serdes.cli.migrate.steps import ProgressBar
from streamnative_serdes.migration import Findings, PlanOptions, Problem, State

AWAY = "127.0.0.1:1"
SIDES = [
    *("--source-registry", f"http://{AWAY}", "--source-bootstrap", AWAY),
    *("--target-registry", f"http://{AWAY}", "--target-bootstrap", AWAY),
]
TOPIC = {"partitions": 3, "replicas": 1, "settings": {}, "own": {"retention.ms": "-1"}}
TREE: dict[str, Any] = {
    "messages": 1,
    "whole": True,
    "counts": {"tombstones": {"count": 1, "first": [2, 7]}},
    "largest": {"bytes": 99, "first": [0, 0]},
    "timestamps": {"oldest": 0, "newest": 10**17},
    "ids": [],
    "unknown_ids": [{"id": 5, "count": 1, "first": [0, 4]}],
    "key_ids": [],
    "probe": {"null_headers": False, "raw_headers": True, "reasons": {"null_headers": "refused: x"}},
    "source": {"topic": "t", **TOPIC},
    "target": {"topic": "out", **TOPIC, "exists": True, "created": False},
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Planned:
    """Stands in for the plan itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.problems: list[Problem] = []
        self.options: PlanOptions | None = None
        monkeypatch.setattr(module, "make_plan", self._plan)

    def _plan(self, _: State, options: PlanOptions, __: Any) -> Findings:
        self.options = options
        return Findings({**TREE, "problems": [problem.tree() for problem in self.problems]}, tuple(self.problems))

    def __call__(self, *more: str, code: int = 0) -> Ended:
        return CommandLine()("migrate", "plan", "t", "out", *SIDES, *more, code=code)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Planned:
    return Planned(monkeypatch)


def test_options_say_how_to_look(planned: Planned) -> None:
    planned()
    assert planned.options == PlanOptions(1_000, True, False, {}, (), False)
    planned("--sample", "7", "--no-probe", "--create", "--dry-run", "--accept", "retention", "--accept", "guids")
    assert planned.options == PlanOptions(7, False, True, {}, ("retention", "guids"), True)
    planned("--sample", "7", "--whole", "--topic-config", "retention.ms=-1", "--topic-config", "segment.ms=")
    assert planned.options == PlanOptions(None, True, False, {"retention.ms": "-1", "segment.ms": ""}, (), False)


@pytest.mark.parametrize(
    "wrong", [("--sample", "0"), ("--accept", "partitions"), ("--accept", "nothing"), ("--topic-config", "key")]
)
def test_wrong_options_are_errors_of_usage(planned: Planned, wrong: tuple[str, str]) -> None:
    assert wrong[0] in planned(*wrong, code=2).err
    assert planned.options is None


def test_notes_do_not_fail_the_command(planned: Planned) -> None:
    planned.problems = [Problem("no-subject", "it does not exist")]
    assert "no-subject" in planned().out


def test_questions_are_shown_with_how_to_answer_them(planned: Planned) -> None:
    planned.problems = [Problem("retention", "too short", "raise it"), Problem("message-size", "too small")]
    ended = planned(code=1)
    assert "too short (raise it)" in ended.out
    assert "the migration must not begin: retention, message-size" in ended.err
    assert "--accept retention --accept message-size" in ended.err


def test_what_has_to_be_mended_is_not_offered_for_accepting(planned: Planned) -> None:
    planned.problems = [Problem("partitions", "2 against 3"), Problem("message-size", "too small")]
    assert "--accept" not in planned(code=1).err


def test_accepted_problems_do_not_fail_the_command(planned: Planned) -> None:
    planned.problems = [Problem("retention", "too short", accepted=True)]
    assert "accepted" in planned().out


def test_programs_get_the_findings_and_the_names(planned: Planned) -> None:
    planned.problems = [Problem("retention", "too short")]
    ended = planned("--json", code=1)
    assert ended.json["problems"] == [Problem("retention", "too short").tree()]
    assert ended.error == {
        "error": {
            "message": "the migration must not begin: retention",
            "hint": "mend them, or run this again with --accept retention",
            "problems": ["retention"],
        },
        "exit_code": 1,
    }


def test_people_see_each_place_and_reason(planned: Planned) -> None:
    lines = [line.split() for line in planned().out.splitlines()]
    assert ["tombstones", "1", "2:7"] in lines
    assert ["5", "1", "0:4"] in lines
    assert ["null", "headers", "no", "refused:", "x"] in lines
    assert ["retention.ms=-1"] in lines


def test_times_beyond_the_calendar_are_shown_as_they_are(planned: Planned) -> None:
    assert "times from 1970-01-01 00:00:00+00:00 to 100000000000000000 ms" in planned().out


def test_brokers_that_are_away_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    ended = CommandLine()("migrate", "plan", "t", "out", *SIDES, code=3)
    assert f"no response from a Kafka broker at {AWAY}" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(("what", "table"), [("registry", "registry"), ("bootstrap", "kafka")])
def test_a_missing_address_names_its_side_and_its_table(side: str, what: str, table: str) -> None:
    given = [
        part for pair in zip(SIDES[::2], SIDES[1::2], strict=True) for part in pair if pair[0] != f"--{side}-{what}"
    ]
    ended = CommandLine()("migrate", "plan", "t", "out", *given, code=2)
    assert f"Hint: give --{side}-{what} " in ended.err
    assert f"in [{side}.{table}] of --config" in ended.err


def test_a_missing_address_is_an_error_of_usage() -> None:
    assert "broker" in CommandLine()("migrate", "plan", "t", "out", code=2).err


def test_progress_is_shown_as_differences() -> None:
    seen: list[tuple[str, int]] = []

    class Bar(ProgressBar):
        def expect(self, total: int) -> None:
            seen.append(("expect", total))

        def advance(self, messages: int) -> None:
            seen.append(("advance", messages))

    bar = Bar()
    bar.show(3, 10)
    bar.show(10, 10)
    assert seen == [("expect", 10), ("advance", 3), ("expect", 10), ("advance", 7)]
