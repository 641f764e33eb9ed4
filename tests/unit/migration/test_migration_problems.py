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


def test_a_clean_source_has_no_problems() -> None:
    assert found() == {}


@pytest.mark.parametrize("kind", ["JSON", "PROTOBUF"])
def test_other_types_are_refused_by_name_with_a_place(kind: str) -> None:
    schemas = [SCHEMA, other(id=7, type=kind, name=None, first=[2, 9]), other(id=8, type=kind, name=None, first=[1, 4])]
    text = found(ids=schemas)["schema-type"]
    assert "schemas 7, 8 of type " + kind in text
    assert "partition 1, offset 4" in text


def test_another_type_in_the_subject_alone_is_refused_too() -> None:
    text = found(listed=[SCHEMA, other(id=7, type="JSON", name=None)])["schema-type"]
    assert "schema 7 of type JSON" in text
    assert "no message that was read has them" in text


def test_two_other_types_are_two_reasons() -> None:
    schemas = [other(id=7, type="JSON", name=None), other(id=8, type="PROTOBUF", name=None)]
    problems = list(of_source(tree(ids=schemas), "t-value"))
    assert [problem.name for problem in problems] == ["schema-type", "schema-type"]


def test_several_records_are_refused_by_name() -> None:
    text = found(ids=[SCHEMA, other(id=2, name="shop.Refund")])["record-types"]
    assert "shop.Order, shop.Refund" in text


def test_the_same_name_in_another_namespace_is_another_record() -> None:
    assert "record-types" in found(ids=[SCHEMA, other(id=2, name="store.Order")])


def test_a_record_that_was_renamed_with_aliases_is_one() -> None:
    second = other(id=2, name="shop.Sale", aliases=["shop.Order"])
    third = other(id=3, name="shop.Deal", aliases=["shop.Sale"])
    assert found(ids=[SCHEMA, third, second]) == {}
    assert "record-types" in found(ids=[SCHEMA, third])


def test_rules_are_refused() -> None:
    assert "schema 2 with rules" in found(listed=[SCHEMA, other(id=2, rules=True)])["schema-rules"]


def test_all_refusals_are_listed_at_once() -> None:
    schemas = [SCHEMA, other(id=2, type="JSON", name=None), other(id=3, name="x.Y", rules=True)]
    assert list(found(ids=schemas)) == ["schema-type", "record-types", "schema-rules"]


def test_schemas_of_other_subjects_are_listed() -> None:
    text = found(ids=[SCHEMA, other(id=2, subjects=["shop.Order"])])["other-subjects"]
    assert "schema 2 of subject shop.Order, not of t-value" in text


def test_a_schema_of_the_subject_and_of_others_is_not_listed() -> None:
    assert found(ids=[other(subjects=["another", "t-value"])]) == {}


def test_a_schema_without_any_subject_is_not_listed() -> None:
    assert found(ids=[other(subjects=[])]) == {}


def test_a_missing_subject_is_noted() -> None:
    assert "subject t-value does not exist" in found(listed=None)["no-subject"]
    assert "the topic has no schemas" in found(None, listed=None)["no-subject"]


def test_unknown_ids_are_noted_with_the_first_place() -> None:
    unknown = [{"id": 7, "count": 2, "first": [1, 0]}, {"id": 9, "count": 1, "first": [0, 8]}]
    text = found(unknown_ids=unknown)["unknown-ids"]
    assert text.startswith("3 messages name schemas 7, 9, which the registry does not have")
    assert text.endswith("partition 0, offset 8")


def test_guids_that_the_registry_does_not_support_are_a_question() -> None:
    unknown = [{"id": 7, "count": 2, "first": [1, 0]}, {"id": "89791762-2336", "count": 1, "first": [0, 8]}]
    problems = found(unknown_ids=unknown, guids=False)
    assert problems["guids"].startswith("1 message names a schema by GUID")
    assert problems["unknown-ids"].startswith("2 messages name schema 7,")
    assert "guids" not in found(unknown_ids=unknown)


def test_ids_that_were_not_looked_up_are_a_question() -> None:
    assert "many-ids" in found(more_ids={"count": 1, "first": [0, 5]})


def test_framed_keys_are_noted_with_both_ways() -> None:
    text = found(key_ids=[other(id=4, count=3, first=[0, 1])])["framed-keys"]
    assert text.startswith("3 messages have a key that names schema 4, the first one at partition 0, offset 1.")
    assert "--keys keep" in text
    assert "--keys strip" in text


def test_messages_without_framing_are_noted() -> None:
    counts = {"no_framing": {"count": 2, "first": [0, 7]}, "target_framing": {"count": 1, "first": [0, 7]}}
    text = found(counts=counts)["no-framing"]
    assert "2 messages lack the source's framing" in text
    assert "1 message has the target's framing already" in text


def test_what_is_normal_is_no_problem() -> None:
    kinds = ("tombstones", "null_keys", "raw_headers", "framed_in_header")
    counts = {kind: {"count": 1, "first": [0, 0]} for kind in kinds}
    assert found(counts=counts) == {}


@pytest.mark.parametrize(
    ("kind", "name"), [("no_timestamp", "no-timestamps"), ("log_append_time", "source-log-append-time")]
)
def test_odd_times_are_noted(kind: str, name: str) -> None:
    assert list(found(counts={kind: {"count": 1, "first": [0, 0]}})) == [name]


def test_an_empty_source_is_noted() -> None:
    assert list(found(messages=0)) == ["no-messages"]


def test_no_more_than_five_schemas_are_in_a_sentence() -> None:
    unknown = [{"id": number, "count": 1, "first": [0, 0]} for number in range(7)]
    assert "schemas 0, 1, 2, 3, 4 and 2 more" in found(unknown_ids=unknown)["unknown-ids"]


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


def test_missing_transactions_are_noted() -> None:
    assert "(refused: x)" in probed("transactions")["no-transactions"]


@pytest.mark.parametrize("case", ["null_headers", "empty_headers", "raw_headers", "repeated_headers"])
def test_headers_that_the_broker_does_not_keep_matter_where_messages_have_them(case: str) -> None:
    assert probed(case) == {}
    text = probed(case, **{case: 4})["altered-headers"]
    assert text.startswith("4 messages have ")
    assert "partition 0, offset 2" in text


@pytest.mark.parametrize("case", ["null_keys", "empty_keys", "empty_values", "tombstones"])
def test_what_else_the_broker_does_not_keep_is_a_question_where_messages_have_it(case: str) -> None:
    assert probed(case) == {}
    assert list(probed(case, **{case: 1})) == ["altered-messages"]


@pytest.mark.parametrize("case", ["values", "timestamps"])
def test_values_and_times_always_matter(case: str) -> None:
    assert list(probed(case)) == ["altered-messages"]


def test_a_scratch_topic_that_is_left_is_noted_without_a_probe_too() -> None:
    assert [problem.text for problem in of_probe(tree(), "topic x could not be deleted")] == [
        "topic x could not be deleted"
    ]


def test_no_probe_has_no_problems() -> None:
    assert list(of_probe(tree(), None)) == []
