"""Topic-level strategies, on a separate Pulsar: topic-level policies are off by default."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract import Case, Player, said_differently
from contract.topics import of_topic_strategies
from servers import Pulsar

each_case = pytest.mark.parametrize("case", of_topic_strategies(), ids=lambda case: case.promise)


@pytest.fixture(scope="module")
def real(servers_at_hand: None) -> Iterator[Player]:
    with Pulsar(conf={"topicLevelPoliciesEnabled": True, "systemTopicEnabled": True}) as server:
        yield Player(server.url)


@each_case
def test_the_responses_are_as_promised(player: Player, case: Case) -> None:
    assert not (found := case.complaints(player.transcript(case))), "\n".join(found)


@each_case
def test_both_servers_send_equal_responses(local: Player, real: Player, case: Case) -> None:
    assert not (found := said_differently(case, local.transcript(case), real.transcript(case))), "\n".join(found)
