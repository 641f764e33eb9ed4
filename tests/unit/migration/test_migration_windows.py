"""The windows of offsets that a sample reads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from streamnative_serdes.migration.planning.source_messages import MOST_WINDOWS, windows


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ((5, 5, 100), []),
        ((3, 1_000_000, None), [(3, 1_000_000)]),  # all
        ((10, 20, 1), [(10, 11)]),
        ((10, 20, 2), [(10, 11), (19, 20)]),
    ],
)
def test_few_messages_are_the_first_and_the_last_and_all_are_one_window(of: Any, expected: Any) -> None:
    assert windows(*of) == expected


@pytest.mark.parametrize("count", [99, 100, 101])
def test_a_partition_of_a_hundred_is_read_whole_from_a_sample_of_a_hundred_on(count: int) -> None:
    found = windows(7, 107, count)
    assert (found == [(7, 107)]) == (count >= 100)
    assert sum(stop - start for start, stop in found) == min(count, 100)


@pytest.mark.parametrize("total", [11, 12, 99, 1_000, 12_345_678])
@pytest.mark.parametrize("count", [1, 3, 9, 10, 11, 25])
def test_windows_are_in_order_apart_and_spread(total: int, count: int) -> None:
    low = 42
    found = windows(low, low + total, count)
    assert sum(stop - start for start, stop in found) == min(count, total)
    assert all(start < stop for start, stop in found)
    assert all(one[1] <= two[0] for one, two in pairwise(found))
    assert found[0][0] == low
    assert len(found) <= MOST_WINDOWS
    if count > 1:
        assert found[-1][1] == low + total
        gaps = [two[0] - one[1] for one, two in pairwise(found)]
        assert not gaps or max(gaps) - min(gaps) <= 1
