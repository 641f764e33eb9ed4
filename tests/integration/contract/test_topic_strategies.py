"""Topic-level strategies, on a separate Pulsar of each release: topic-level policies are off by default."""

from __future__ import annotations

import pytest
from contract import Case, Player, said_differently
from contract.topics import of_topic_strategies
from servers import PULSAR, Pulsar

each_case = pytest.mark.parametrize("case", of_topic_strategies(), ids=lambda case: case.promise)


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest, release: str) -> Player:
    server: Pulsar = request.getfixturevalue(
        "pulsar_with_policies" if release == PULSAR else "pulsar_4_2_with_policies"
    )
    return Player(server.url)


@each_case
def test_the_responses_of_local_registry_are_as_promised(local_4_0: Player, case: Case) -> None:
    assert not (found := case.complaints(local_4_0.transcript(case))), "\n".join(found)


@each_case
def test_the_responses_of_pulsar_are_as_promised(real: Player, case: Case) -> None:
    assert not (found := case.complaints(real.transcript(case))), "\n".join(found)


@each_case
def test_both_servers_send_equal_responses(local: Player, real: Player, case: Case) -> None:
    assert not (found := said_differently(case, local.transcript(case), real.transcript(case))), "\n".join(found)
