"""Rehearsal: the answers of a topic to several registrations, without the topic."""

from __future__ import annotations

import json
from typing import Any

import pytest
from schemas import enum, record

from streamnative_serdes._broker_rules.rehearsal import Rehearsal, comparison_fault, refusal_of
from streamnative_serdes.schema_registry import SchemaInfo

FIRST = json.dumps(record("User", ("name", "string")))
SECOND = json.dumps(record("User", ("name", "string"), ("age", ["null", "int"], None)))
REQUIRED = json.dumps(record("User", ("name", "string"), ("mail", "string")))
BAD_DEFAULT = json.dumps(record("User", ("kind", enum("Kind", "A"), 7)))


def there(*texts: str, first: int = 0, kind: str = "AVRO") -> list[SchemaInfo]:
    return [SchemaInfo(number, kind, text) for number, text in enumerate(texts, first)]


def numbers(rehearsal: Rehearsal, *texts: str) -> list[tuple[int, bool, bool]]:
    """Number, whether new, whether refused."""
    found = [rehearsal.register(text) for text in texts]
    return [(one.number, one.new, one.refusal is not None) for one in found]


def test_new_schemas_follow_those_that_are_there_with_their_numbers() -> None:
    rehearsal = Rehearsal("FULL", there(FIRST, first=4))
    assert numbers(rehearsal, FIRST, SECOND, FIRST, SECOND) == [
        (4, False, False),
        (5, True, False),
        (4, False, False),
        (5, False, False),
    ]


def test_what_is_refused_counts_for_those_after_it() -> None:
    assert numbers(Rehearsal("FULL"), FIRST, REQUIRED, SECOND) == [(0, True, False), (1, True, True), (2, True, True)]
    assert numbers(Rehearsal("FULL"), FIRST, SECOND) == [(0, True, False), (1, True, False)]


@pytest.mark.parametrize(
    ("strategy", "refused"),
    [("ALWAYS_COMPATIBLE", False), ("BACKWARD", True), ("FORWARD", False), ("ALWAYS_INCOMPATIBLE", True)],
)
def test_it_goes_by_the_strategy(strategy: str, refused: bool) -> None:
    rehearsal = Rehearsal(strategy, there(FIRST))
    assert rehearsal.check(REQUIRED).compatible is not refused
    assert (rehearsal.register(REQUIRED).refusal is not None) is refused


def test_a_check_adds_nothing() -> None:
    rehearsal = Rehearsal("FULL", there(FIRST))
    assert rehearsal.check(SECOND).compatible
    assert rehearsal.register(SECOND).new


def test_a_topic_of_another_type_refuses_with_its_reason() -> None:
    verdict = Rehearsal("FULL", there(FIRST, kind="JSON")).check(FIRST)
    assert (verdict.compatible, verdict.strategy) == (False, "FULL")
    assert verdict.reason == "Incompatible schema: exists schema type JSON, new schema type AVRO"


def test_what_no_strategy_accepts_is_refused_and_not_added() -> None:
    rehearsal = Rehearsal("ALWAYS_COMPATIBLE", there(FIRST))
    union: Any = json.dumps(["null", json.loads(FIRST)])
    assert rehearsal.register(union).refusal == "Avro schema typed [UNION] is not supported"
    assert rehearsal.register(SECOND).number == 1


def test_a_schema_that_the_broker_cannot_compare_refuses_all_after_it() -> None:
    """The broker accepts it as the first one, and fails at each comparison."""
    assert Rehearsal("FULL").register(BAD_DEFAULT).refusal is None
    for rehearsal in (Rehearsal("FULL", there(BAD_DEFAULT)), Rehearsal("FULL", there(BAD_DEFAULT, FIRST))):
        assert not rehearsal.check(SECOND).compatible
        assert rehearsal.register(SECOND).refusal is not None


def test_a_refusal_by_no_strategy_has_the_brokers_words() -> None:
    assert refusal_of(FIRST) is None
    assert refusal_of('["null", "int"]') == "Avro schema typed [UNION] is not supported"
    assert refusal_of(f"/* v1 */ {FIRST}") is None
    assert refusal_of(f"{FIRST} // v1") == "Invalid schema definition data for AVRO schema"
    assert refusal_of("{") == "Invalid schema definition data for AVRO schema"


@pytest.mark.parametrize(
    "more",
    [
        {"type": "enum", "symbols": ["A"], "fields": 3},
        {"type": "enum", "symbols": ["A"], "fields": ["x"]},
        {"type": "fixed", "size": 2, "fields": [{"aliases": 1}]},
        {"type": "enum", "symbols": ["A"], "default": None},
        {"type": "enum", "symbols": ["A"], "default": 1},
        {"type": "enum", "symbols": ["A"], "default": ["A"]},
    ],
)
def test_what_means_nothing_to_java_is_accepted(more: dict[str, Any]) -> None:
    assert refusal_of(json.dumps({"name": "N", **more})) is None


def test_an_enum_default_that_is_not_a_symbol_is_refused() -> None:
    text = json.dumps({"name": "E", "type": "enum", "symbols": ["A"], "default": "B"})
    assert refusal_of(text) == "Invalid schema definition data for AVRO schema"


def test_a_schema_that_cannot_be_compared_is_known_before() -> None:
    assert comparison_fault(FIRST) is None
    assert comparison_fault(BAD_DEFAULT) is not None
    assert refusal_of(BAD_DEFAULT) is None
