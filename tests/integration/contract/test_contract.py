"""Contract: every case on LocalRegistry and on Pulsar, with the expected and equal responses."""

from __future__ import annotations

from collections import Counter

import pytest
from contract import GROUPS, Case, Player, said_differently

CASES = [case for cases in GROUPS.values() for case in cases]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.promise)


@each_case
def test_the_responses_are_as_promised(player: Player, case: Case) -> None:
    assert not (found := case.complaints(player.transcript(case))), "\n".join(found)


@each_case
def test_both_servers_send_equal_responses(local: Player, real: Player, case: Case) -> None:
    """Compares status, reason phrase, headers and the whole body."""
    assert not (found := said_differently(case, local.transcript(case), real.transcript(case))), "\n".join(found)


def test_no_two_cases_share_a_topic() -> None:
    shared = [name for name, count in Counter(case.name for case in CASES).items() if count > 1]
    assert shared == []


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 1_000
