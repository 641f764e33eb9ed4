"""Where the batches of a stream end, when brokers answer late, with less than they know, or not about a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")

from confluent_kafka import Producer

from streamnative_serdes.spark import OffsetOutOfRangeError
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.reading.columns import plan
from streamnative_serdes.spark.datasource.reading.stream import StreamReader
from streamnative_serdes.testing import MockBroker

Produce = Callable[[], None]


class ReadAllAvailable:
    """As Spark's, by its name."""


ALL = ReadAllAvailable()


@pytest.fixture
def client() -> Iterator[dict[str, str]]:
    """A broker with an empty topic."""
    with MockBroker({"t": 1, "other": 1}) as broker:
        yield {
            "kafka.bootstrap.servers": broker.bootstrap_servers,
            "kafka.log_level": "0",
            "subscribe": "t",
            "fetchOffset.retryIntervalMs": "0",
        }


@pytest.fixture
def produce(client: dict[str, str]) -> Produce:
    """Writes one message."""
    producer = Producer({"bootstrap.servers": client["kafka.bootstrap.servers"]})

    def one() -> None:
        producer.produce("t", b"v", partition=0)
        assert producer.flush(30) == 0

    return one


def stream(client: dict[str, str], **options: str) -> StreamReader:
    return StreamReader(plan({**client, **options}))


def at(offset: int) -> dict[str, dict[str, int]]:
    return {"t": {"0": offset}}


def ranges(reader: StreamReader, start: Any, end: Any) -> list[tuple[int, int]]:
    found: Any = reader.partitions(start, end)
    return [(each.value.start, each.value.end) for each in found]


def once(monkeypatch: pytest.MonkeyPatch, method: str, answer: Any) -> None:
    """Let the next question have this answer, and those after it the broker's own."""
    own, answers = getattr(Brokers, method), iter([answer])
    monkeypatch.setattr(Brokers, method, lambda self, *asked: next(answers, None) or own(self, *asked))


@pytest.mark.parametrize("options", [{}, {"startingOffsets": '{"t": {"0": -1}}'}])
def test_available_now_ends_after_a_message_that_came_while_the_query_started(
    client: dict[str, str], produce: Produce, options: dict[str, str]
) -> None:
    reader = stream(client, **options)
    reader.prepareForTriggerAvailableNow()
    produce()
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    assert end == start  # Spark runs a first batch nevertheless, and asks again after it
    assert ranges(reader, start, end) == []
    produce()
    assert reader.latestOffset(end, ALL) == end


def test_available_now_asks_again_for_an_older_end_or_a_missing_topic_and_then_ends_there(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        produce()
    for method, answer in (("latest", {("t", 0): 1}), ("existing", {"other": 1})):
        reader = stream(client)
        with monkeypatch.context() as patch:
            once(patch, method, answer)
            reader.prepareForTriggerAvailableNow()
        found = reader.latestOffset(at(2), ALL)
        assert found["topics"] == at(3)
        monkeypatch.setattr(Brokers, "latest", lambda *_: {("t", 0): 9})  # messages that came later
        assert reader.latestOffset(found, ALL) == found
        monkeypatch.undo()


def test_available_now_with_an_end_that_stays_lower_is_an_error_before_the_end_is_stored(
    client: dict[str, str], produce: Produce
) -> None:
    produce()
    reader = stream(client)
    reader.prepareForTriggerAvailableNow()
    with pytest.raises(OffsetOutOfRangeError, match="partition 0 ends at 1, and was read up to 2"):
        reader.latestOffset(at(2), ALL)
