"""Contract: every case on LocalRegistry and on Pulsar 4.0.8 and 4.2.4, with equal responses, which are as promised.

That those of LocalRegistry are as promised is checked by tests/unit/testing, without a server.
"""

from __future__ import annotations

from collections import Counter

import pytest
from contract import GROUPS, Case, Player, said_differently
from contract.on_4_2 import ANSWERS, on_4_2
from servers import NEXT_PULSAR

CASES = [case for cases in GROUPS.values() for case in cases]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.promise)


@each_case
def test_the_responses_of_pulsar_are_as_promised(real: Player, release: str, case: Case) -> None:
    promised = on_4_2(case) if release == NEXT_PULSAR else case
    assert not (found := promised.complaints(real.transcript(case))), "\n".join(found)


@pytest.mark.promise("same-answers")
@each_case
def test_both_servers_send_equal_responses(local: Player, real: Player, release: str, case: Case) -> None:
    """Compares status, reason phrase, headers and the whole body."""
    found = said_differently(case, local.transcript(case), real.transcript(case))
    if release == NEXT_PULSAR and case.promise in ANSWERS:
        assert len(found) in (len(ANSWERS[case.promise]), len(ANSWERS[case.promise]) - 1)
        return
    assert not found, "\n".join(found)


def test_what_is_said_of_another_release_is_about_cases_and_their_requests() -> None:
    requests = {case.promise: len(case.asks) for case in CASES}
    assert {promise: max(answers) < requests[promise] for promise, answers in ANSWERS.items()} == dict.fromkeys(
        ANSWERS, True
    )


def test_no_two_cases_share_a_topic() -> None:
    shared = [name for name, count in Counter(case.name for case in CASES).items() if count > 1]
    assert shared == []


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 1_000
