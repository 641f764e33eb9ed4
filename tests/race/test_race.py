"""The race of ``racing.py`` holds, and finds each of three races that are planted.

RACE_SECONDS is how long it runs: ``make race`` takes a minute. The planted races are in Python, where threads switch
between any two steps, so they are found with the GIL as well as without it; ``sleep(0)`` makes that likely.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from racing import Race, RaceError

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._log import logger
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import LocalRegistry

SECONDS = float(os.environ.get("RACE_SECONDS", "10"))
MOST_SECONDS = 60.0  # until a planted race is found

pytest.importorskip("pyarrow")


@pytest.fixture
def race(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[type[KafkaAvroSerializer]], Race]]:
    monkeypatch.setattr(logger, "level", logging.ERROR)  # else the warnings take more time than all else
    Binding.forget()
    with LocalRegistry() as registry, LocalRegistry() as calm:
        yield lambda serializer: Race(registry, calm, serializer)
    Binding.forget()


def test_what_threads_do_at_once_loses_nothing_and_mixes_nothing_up(race: Callable[..., Race]) -> None:
    done = race(KafkaAvroSerializer).run(SECONDS)
    print(f"jobs of {SECONDS:g} s: {dict(done)}")
    assert min(done.values()) > 0
    assert len(done) == 18


class TornLastEntry(KafkaAvroSerializer):
    """The last entry is two assignments without a lock: its topic, and the topic whose writer it has."""

    last: Any = None
    written_as: Any = None

    def serialize(self, topic: str, obj: Any, headers: Any = None) -> bytes | None:
        if self.last != topic:
            self.last = topic
            time.sleep(0)  # lets the other threads run
            self.written_as = topic
        return super().serialize(self.written_as, obj, headers)


def test_an_unlocked_write_of_the_last_entry_is_found(race: Callable[..., Race]) -> None:
    with pytest.raises(RaceError, match=r"(Assertion|Decode|Encode|Config|Attribute)Error"):
        race(TornLastEntry).run(MOST_SECONDS)


class LosingFlights:
    """Flights that look for a running one, and then begin their own: two steps."""

    def __init__(self) -> None:
        self.under_way: dict[Any, threading.Event] = {}

    def run(self, key: Any, work: Callable[[], Any], _seconds: float | None = None) -> Any:
        other = self.under_way.get(key)
        if other is not None:
            other.wait()
            return work()
        time.sleep(0)
        own = self.under_way[key] = threading.Event()
        try:
            return work()
        finally:
            self.under_way.pop(key, None)
            own.set()


def test_a_lost_flight_is_found(race: Callable[..., Race]) -> None:
    planted = race(KafkaAvroSerializer)
    policy_of(planted.new_serializer).binding._flights = LosingFlights()
    with pytest.raises(RaceError, match=r"asked [2-4] times"):
        planted.run(MOST_SECONDS)


class ClosedDuringACall(KafkaAvroSerializer):
    """close() drops what a call is about to use."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.open: dict[str, str] = {}

    def serialize(self, topic: str, obj: Any, headers: Any = None) -> bytes | None:
        if topic not in self.open:
            self.open[topic] = topic
        time.sleep(0)
        return super().serialize(self.open[topic], obj, headers)

    def close(self) -> None:
        self.open.clear()
        super().close()


def test_a_close_during_a_call_is_found(race: Callable[..., Race]) -> None:
    with pytest.raises(RaceError, match="KeyError"):
        race(ClosedDuringACall).run(MOST_SECONDS)
