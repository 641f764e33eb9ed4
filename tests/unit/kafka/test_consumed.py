"""While a client consumes, the garbage collector pauses, and it is as before afterwards, whatever happens."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from streamnative_serdes._kafka import consumed


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def enabled_meanwhile(seconds: float) -> bool:
    seen: list[bool] = []

    def consume(most: int, within: float) -> list[str]:
        assert (most, within) == (3, seconds)
        seen.append(gc.isenabled())
        return ["message"]

    assert consumed(consume, 3, seconds) == ["message"]
    return seen == [True]


@pytest.mark.parametrize("seconds", [0, 0.2, 1.0])
def test_it_pauses_for_a_second_at_most(seconds: float) -> None:
    assert not enabled_meanwhile(seconds)
    assert gc.isenabled()


@pytest.mark.parametrize("seconds", [1.1, 60, -1])
def test_it_goes_on_where_the_client_may_wait_for_longer(seconds: float) -> None:
    assert enabled_meanwhile(seconds)
    assert gc.isenabled()


def test_a_collector_that_is_switched_off_stays_off() -> None:
    gc.disable()
    assert not enabled_meanwhile(0.2)
    assert not gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    def consume(_most: int, _seconds: float) -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consumed(consume, 1, 0.2)
    assert gc.isenabled()
