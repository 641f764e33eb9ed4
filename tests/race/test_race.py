"""The race of ``racing.py`` holds, and finds a last entry that is written in two steps; see test_planted.py for more.

RACE_SECONDS is how long it runs: ``make race`` takes a minute.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn
from racing import Race, RaceError

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import LocalRegistry

SECONDS = float(os.environ.get("RACE_SECONDS", "10"))
MOST_SECONDS = 60.0  # until a planted race is found

pytest.importorskip("pyarrow")


@pytest.fixture
def race() -> Iterator[Callable[[type[KafkaAvroSerializer]], Race]]:
    package = logging.getLogger("streamnative_serdes")
    package.setLevel(logging.ERROR)  # else the warnings take more time than all else
    Binding.forget()
    with LocalRegistry() as registry, LocalRegistry() as calm, ConfluentStandIn() as second:
        yield lambda serializer: Race(registry, calm, second.url, serializer)
    package.setLevel(logging.NOTSET)
    Binding.forget()


def test_what_threads_do_at_once_loses_nothing_and_mixes_nothing_up(race: Callable[..., Race]) -> None:
    done = race(KafkaAvroSerializer).run(SECONDS)
    print(f"jobs of {SECONDS:g} s: {dict(done)}")
    assert min(done.values()) > 0
    assert len(done) == 19


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
    with pytest.raises(RaceError, match=r"(Assertion|Decode|Encode|Config|Attribute|SchemaNotFound)Error"):
        race(TornLastEntry).run(MOST_SECONDS)
