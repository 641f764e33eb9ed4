"""Topic-level strategies, on a separate Pulsar: topic-level policies are off by default."""

from __future__ import annotations

import pytest
from contract import Case, Player, said_differently
from contract.topics import of_topic_strategies
from servers import Pulsar

each_case = pytest.mark.parametrize("case", of_topic_strategies(), ids=lambda case: case.promise)


@pytest.fixture(scope="module")
def real(pulsar_with_policies: Pulsar) -> Player:
    return Player(pulsar_with_policies.url)


@each_case
def test_the_responses_are_as_promised(player: Player, case: Case) -> None:
    assert not (found := case.complaints(player.transcript(case))), "\n".join(found)


@each_case
def test_both_servers_send_equal_responses(local: Player, real: Player, case: Case) -> None:
    assert not (found := said_differently(case, local.transcript(case), real.transcript(case))), "\n".join(found)
