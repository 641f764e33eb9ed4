"""Problems of a migration: what blocks it, what can be accepted, and what each finding becomes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.migration import Findings, Problem, ProblemsError
from streamnative_serdes.migration.planning.problems import NAMES, judged, of_probe, of_source, require_none

PARTITIONS = Problem("partitions", "2 against 3", "choose another one")
RETENTION = Problem("retention", "too short", "raise it")
SIZE = Problem("message-size", "too small")
NOTE = Problem("framed-keys", "7 of them")


def test_what_is_refused_and_unanswered_questions_block() -> None:
    assert [problem.blocks for problem in judged([PARTITIONS, RETENTION, NOTE], ())] == [True, True, False]
    assert [problem.blocks for problem in judged([RETENTION], ["retention"])] == [False]


@pytest.mark.parametrize(
    ("problems", "blocked"),
    [([], False), ([NOTE], False), ([NOTE, SIZE], True), ([PARTITIONS, NOTE], True)],
)
def test_one_problem_that_blocks_is_enough(problems: list[Problem], blocked: bool) -> None:
    assert Findings({}, tuple(problems)).blocked == blocked


def test_the_most_severe_problems_come_first() -> None:
    found = judged([NOTE, SIZE, PARTITIONS, RETENTION], ())
    assert [problem.name for problem in found] == ["partitions", "message-size", "retention", "framed-keys"]


def test_accepting_one_problem_accepts_no_other() -> None:
    assert [problem.accepted for problem in judged([SIZE, RETENTION], ["retention"])] == [False, True]


def test_accepting_what_did_not_happen_is_fine() -> None:
    assert judged([], ["retention"]) == []


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"no problem called 'retentoin'.*retention"):
        judged([], ["retentoin"])


@pytest.mark.parametrize("name", [name for name, severity in NAMES.items() if severity == "refused"])
def test_what_is_refused_cannot_be_accepted(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} cannot be accepted"):
        judged([], [name])


def test_the_error_has_all_reasons_and_how_to_answer() -> None:
    with pytest.raises(ProblemsError) as caught:
        require_none(judged([PARTITIONS, SIZE, RETENTION, NOTE], ["message-size"]), "t")
    assert str(caught.value) == (
        "topic t: partitions: 2 against 3; retention: too short (hint: choose another one; raise it; or go on in spite "
        "of it with --accept retention)"
    )
    assert len(caught.value.problems) == 4
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)


def test_without_questions_no_answer_is_offered() -> None:
    with pytest.raises(ProblemsError) as caught:
        require_none([PARTITIONS], "t")
    assert "--accept" not in str(caught.value)


def test_notes_do_not_raise() -> None:
    require_none([NOTE], "t")


# Of the source

SCHEMA = {
    "id": 1,
    "count": 5,
    "first": [0, 3],
    "type": "AVRO",
    "name": "shop.Order",
    "aliases": [],
    "subjects": ["t-value"],
    "versions": [["t-value", 1]],
    "rules": False,
}
CLEAN: dict[str, Any] = {
    "messages": 5,
    "whole": True,
    "counts": {},
    "ids": [SCHEMA],
    "unknown_ids": [],
    "more_ids": {"count": 0, "first": [0, 0]},
    "key_ids": [],
    "listed": [SCHEMA],
    "guids": True,
    "probe": None,
}


def tree(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CLEAN), **changes}


def other(**changes: Any) -> dict[str, Any]:
    return {**SCHEMA, **changes}


def found(subject: str | None = "t-value", **changes: Any) -> dict[str, str]:
    problems = list(of_source(tree(**changes), subject))
    assert len({problem.name for problem in problems}) == len(problems)
    return {problem.name: problem.text for problem in problems}


def counts(**kinds: int) -> dict[str, Any]:
    return {"counts": {kind: {"count": count, "first": [0, 7]} for kind, count in kinds.items()}}


def unknown(*ids: Any, count: int = 1) -> list[Any]:
    return [{"id": number, "count": count, "first": [0, 8 - place]} for place, number in enumerate(ids)]


RENAMED = other(id=2, name="shop.Sale", aliases=["shop.Order"])
AGAIN = other(id=3, name="shop.Deal", aliases=["shop.Sale"])
# Findings in the source, the problems that they become, and words in the texts of these.
SOURCE: dict[str, tuple[dict[str, Any], dict[str, tuple[str, ...]]]] = {
    "a clean source": ({}, {}),
    **{
        f"other types, by name with a place: {kind}": (
            {"ids": [SCHEMA, *(other(id=at, type=kind, name=None, first=[9 - at, at]) for at in (7, 8))]},
            {"schema-type": (f"schemas 7, 8 of type {kind}", "partition 1, offset 8")},
        )
        for kind in ("JSON", "PROTOBUF")
    },
    "another type in the subject alone": (
        {"listed": [SCHEMA, other(id=7, type="JSON", name=None)]},
        {"schema-type": ("schema 7 of type JSON", "no message that was read has them")},
    ),
    "several records": (
        {"ids": [SCHEMA, other(id=2, name="shop.Refund")]}, {"record-types": ("shop.Order, shop.Refund",)}
    ),
    "the same name in another namespace": ({"ids": [SCHEMA, other(id=2, name="store.Order")]}, {"record-types": ()}),
    "a record that was renamed with aliases is one": ({"ids": [SCHEMA, AGAIN, RENAMED]}, {}),
    "a record that was renamed, with a name in between missing": ({"ids": [SCHEMA, AGAIN]}, {"record-types": ()}),
    "rules": ({"listed": [SCHEMA, other(id=2, rules=True)]}, {"schema-rules": ("schema 2 with rules",)}),
    "all refusals at once": (
        {"ids": [SCHEMA, other(id=2, type="JSON", name=None), other(id=3, name="x.Y", rules=True)]},
        {"schema-type": (), "record-types": (), "schema-rules": ()},
    ),
    "schemas of other subjects": (
        {"ids": [SCHEMA, other(id=2, subjects=["shop.Order"])]},
        {"other-subjects": ("schema 2 of subject shop.Order, not of t-value",)},
    ),
    "a schema of the subject and of others": ({"ids": [other(subjects=["another", "t-value"])]}, {}),
    "a schema without any subject": ({"ids": [other(subjects=[])]}, {}),
    "a missing subject": ({"listed": None}, {"no-subject": ("subject t-value does not exist",)}),
    "a topic without schemas": ({"subject": None, "listed": None}, {"no-subject": ("the topic has no schemas",)}),
    "unknown ids with the first place": (
        {"unknown_ids": unknown(7, 9, count=2)},
        {"unknown-ids": ("4 messages name schemas 7, 9, which the registry does not have", "partition 0, offset 7")},
    ),
    "guids that the registry does not support": (
        {"unknown_ids": unknown(7, "89791762-2336"), "guids": False},
        {"guids": ("1 message names a schema by GUID",), "unknown-ids": ("1 message names schema 7,",)},
    ),
    "guids that the registry does not have": ({"unknown_ids": unknown(7, "89791762-2336")}, {"unknown-ids": ()}),
    "ids that were not looked up": ({"more_ids": {"count": 1, "first": [0, 5]}}, {"many-ids": ()}),
    "framed keys, with both ways": (
        {"key_ids": [other(id=4, count=3, first=[0, 1])]},
        {"framed-keys": (
            "3 messages have a key that names schema 4, the first one at partition 0, offset 1.",
            "--keys keep", "--keys strip",
        )},
    ),
    "messages without framing": (
        counts(no_framing=2, target_framing=1),
        {"no-framing": ("2 messages lack the source's framing", "1 message has the target's framing already")},
    ),
    "what is normal": (counts(tombstones=1, null_keys=1, raw_headers=1, framed_in_header=1), {}),
    "no times": (counts(no_timestamp=1), {"no-timestamps": ()}),
    "times of the broker": (counts(log_append_time=1), {"source-log-append-time": ()}),
    "an empty source": ({"messages": 0}, {"no-messages": ()}),
    "no more than five schemas in a sentence": (
        {"unknown_ids": unknown(*range(7))}, {"unknown-ids": ("schemas 0, 1, 2, 3, 4 and 2 more",)}
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), SOURCE.values(), ids=SOURCE)
def test_each_finding_of_the_source_becomes_its_problem(
    changes: dict[str, Any], expected: dict[str, tuple[str, ...]]
) -> None:
    problems = found(**changes)
    assert list(problems) == list(expected)
    for name, words in expected.items():
        assert all(word in problems[name] for word in words), problems[name]


def test_two_other_types_are_two_reasons() -> None:
    schemas = [other(id=7, type="JSON", name=None), other(id=8, type="PROTOBUF", name=None)]
    problems = list(of_source(tree(ids=schemas), "t-value"))
    assert [problem.name for problem in problems] == ["schema-type", "schema-type"]


# Of the probe

CASES = [
    *("values", "timestamps", "transactions", "null_keys", "empty_keys", "empty_values", "tombstones"),
    *("null_headers", "empty_headers", "raw_headers", "repeated_headers"),
]


def probed(*broken: str, **counts: int) -> dict[str, str]:
    probe = {case: case not in broken for case in CASES} | {"reasons": dict.fromkeys(broken, "refused: x")}
    met = {kind: {"count": count, "first": [0, 2]} for kind, count in counts.items()}
    return {problem.name: problem.text for problem in of_probe(tree(probe=probe, counts=met), None)}


def test_a_broker_that_keeps_all_has_no_problems() -> None:
    assert probed(**dict.fromkeys(CASES, 1)) == {}


@pytest.mark.parametrize(
    ("case", "name", "always", "text"),
    [
        ("transactions", "no-transactions", True, "(refused: x)"),
        *((case, "altered-headers", False, "4 messages have ") for case in CASES if case.endswith("_headers")),
        *((case, "altered-messages", False, "") for case in CASES if case.endswith(("_keys", "_values", "stones"))),
        *((case, "altered-messages", True, "") for case in ("values", "timestamps")),
    ],
)
def test_what_the_broker_does_not_keep_matters_always_or_where_messages_have_it(
    case: str, name: str, always: bool, text: str
) -> None:
    assert list(probed(case)) == ([name] if always else [])
    problems = probed(case, **{case: 4})
    assert list(problems) == [name]
    assert text in problems[name]
    assert name != "altered-headers" or "partition 0, offset 2" in problems[name]


def test_a_scratch_topic_that_is_left_is_noted_without_a_probe_too() -> None:
    assert [problem.text for problem in of_probe(tree(), "topic x could not be deleted")] == [
        "topic x could not be deleted"
    ]


def test_no_probe_has_no_problems() -> None:
    assert list(of_probe(tree(), None)) == []
