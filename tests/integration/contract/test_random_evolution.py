"""Random schema changes with a fixed seed: both servers accept and refuse the same schemas, with equal versions.

Error texts are compared in the written cases only, because JDKs before 19 print the digits of doubles differently.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

import pytest
from avro_evolution import writer_reader_datum
from contract import Case, Player, Said, register, would_take
from contract.changes import STRATEGIES
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from servers import NEXT_PULSAR

PAIRS = 200
SAMPLES = st.one_of(writer_reader_datum(), writer_reader_datum(gentle=True))
SETTINGS = settings(
    max_examples=PAIRS,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # shrinking would take minutes
    suppress_health_check=list(HealthCheck),
)


def verdict(said: Said) -> tuple[int, Any]:
    """Return the status, and the version or the strategy of a success."""
    return said.status, said.body if said.status < 300 else None


def needs_avro_1_12(said: Said) -> bool:
    """Whether a default was refused that only Avro 1.12 takes, which Pulsar 4.2.4 has, and LocalRegistry does not."""
    return said.status == 500 and "Invalid default for field" in str(said.body)


@pytest.mark.promise("same-decisions")
def test_local_registry_and_pulsar_agree_on_random_schema_changes(local: Player, real: Player, release: str) -> None:
    numbers = count()
    verdicts: Counter[int] = Counter()

    @SETTINGS
    @given(sample=SAMPLES, strategy=st.sampled_from(STRATEGIES[:6]))
    def compare(sample: tuple[Any, Any, Any], strategy: str) -> None:
        old, new = (register(schema, namespace=f"contract/{strategy}") for schema in sample[:2])
        asked = would_take(sample[1], namespace=f"contract/{strategy}")
        case = Case(f"random pair {next(numbers)}", old, asked, new, old)
        ours, theirs = local.play(case), real.play(case)
        assume(release != NEXT_PULSAR or not any(map(needs_avro_1_12, ours)))
        assert list(map(verdict, ours)) == list(map(verdict, theirs))
        verdicts[ours[2].status] += 1

    compare()
    assert min(verdicts[200], verdicts[409]) > PAIRS / 10, verdicts
