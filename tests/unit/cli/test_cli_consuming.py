"""Consuming for ``decode``: where it ends, on a stand-in for the client whose messages come in a given order."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError
from consumed import Message

from streamnative_serdes._kafka import BrokerRefusedError, BrokerUnavailableError
from streamnative_serdes._kafka import consuming as ranges
from streamnative_serdes.cli import kafka_clients as module
from streamnative_serdes.cli.kafka_clients import Start, reach_end
from streamnative_serdes.cli.output import FailureError

END = KafkaError(KafkaError._PARTITION_EOF)


@dataclass
class Client:
    """Stands in for a consumer of topic ``t``.

    Args:
        bounds: first and next offset of each partition.
        coming: what each poll returns: partition, offset and error of a message, or None.
        times: by partition, the offset that the broker finds for a timestamp; -1 without a message.
    """

    bounds: dict[int, tuple[int, int]]
    coming: list[tuple[int, int, KafkaError | None] | None]
    times: dict[int, int] = field(default_factory=dict)
    assigned: dict[int, int] = field(default_factory=dict)
    closed: bool = False

    def offsets_for_times(self, asked: Any, **_: Any) -> Any:
        return [SimpleNamespace(partition=one.partition, offset=self.times[one.partition]) for one in asked]

    def list_topics(self, **_: Any) -> Any:
        return SimpleNamespace(topics={"t": SimpleNamespace(error=None, partitions=dict.fromkeys(self.bounds))})

    def get_watermark_offsets(self, where: Any, **_: Any) -> tuple[int, int]:
        return self.bounds[where.partition]

    def unassign(self) -> None:
        self.assigned = {}

    def assign(self, places: Any) -> None:
        self.assigned = {place.partition: place.offset for place in places}

    def pause(self, places: Any) -> None:
        assert {place.partition for place in places} <= self.assigned.keys()

    def position(self, places: Any) -> Any:
        return [SimpleNamespace(partition=place.partition, offset=-1001) for place in places]

    def consume(self, most: int, _seconds: float) -> Any:
        """Messages up to the next pause, None."""
        found: list[Any] = []
        while self.coming and len(found) < most and (next_ := self.coming.pop(0)) is not None:
            partition, offset, error = next_
            found.append(Message(partition=partition, offset=offset, error=error))
        return found

    def close(self) -> None:
        self.closed = True


def consumed(client: Client, monkeypatch: pytest.MonkeyPatch, start: Start = Start()) -> list[tuple[int, int]]:  # noqa: B008
    """Partition and offset of each message."""
    monkeypatch.setattr(ranges, "client", lambda *_: client)
    messages = module.consumed({"bootstrap.servers": "x:1"}, "t", start)
    found = [(message.partition(), message.offset()) for message in messages]
    assert client.closed
    return found


def test_messages_that_come_meanwhile_are_neither_shown_nor_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client({0: (0, 1), 1: (0, 2)}, [(0, 0, None), (0, 1, None), (1, 0, None), (0, 2, None), (1, 1, None)])
    assert consumed(client, monkeypatch) == [(0, 0), (1, 0), (1, 1)]
    assert client.coming == []


def test_the_end_may_be_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The offsets before the end are then markers of transactions, or messages of an aborted one."""
    client = Client({0: (0, 5)}, [(0, 0, None), (0, 5, END)])
    assert consumed(client, monkeypatch) == [(0, 0)]


def test_a_partition_without_messages_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client({0: (7, 7), 1: (3, 4)}, [(1, 3, None)])
    assert consumed(client, monkeypatch) == [(1, 3)]
    assert client.assigned == {1: 3}
    assert consumed(Client({0: (7, 7)}, []), monkeypatch) == []


def test_the_last_messages_are_counted_from_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client({0: (0, 9), 1: (5, 6)}, [(0, 7, None), (0, 8, None), (1, 5, None)])
    consumed(client, monkeypatch, Start("last", 2))
    assert client.assigned == {0: 7, 1: 5}


def test_a_time_begins_at_the_first_offset_too_and_at_the_end_where_nothing_is_as_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client({0: (0, 2), 1: (0, 2), 2: (4, 9)}, [(0, 0, None), (0, 1, None)], {0: 0, 1: -1, 2: -1})
    assert consumed(client, monkeypatch, Start("time", 1)) == [(0, 0), (0, 1)]
    assert client.assigned == {0: 0}


@pytest.mark.parametrize("offset", [3, 5])
def test_the_first_offset_and_the_next_one_are_beginnings_and_those_beside_them_are_not(
    offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming = [(0, number, None) for number in range(offset, 5)]
    assert consumed(Client({0: (3, 5)}, [*coming]), monkeypatch, Start("offset", offset)) == [
        (0, n) for _, n, _ in coming
    ]
    beside = {3: 2, 5: 6}[offset]
    with pytest.raises(FailureError, match=f"partition 0 has offsets 3 to 5, not {beside}"):
        consumed(Client({0: (3, 5)}, []), monkeypatch, Start("offset", beside))


def test_more_of_the_last_messages_than_there_are_begin_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client({0: (3, 5)}, [(0, 3, None), (0, 4, None)])
    assert consumed(client, monkeypatch, Start("last", 3)) == [(0, 3), (0, 4)]
    assert client.assigned == {0: 3}


def test_an_error_of_the_broker_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(BrokerRefusedError, match="the right to consume from the topic"):
        consumed(Client({0: (0, 5)}, [(0, 0, None), (0, 1, refused)]), monkeypatch)


def test_a_broker_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    with pytest.raises(BrokerUnavailableError, match=r"partition 0: no message from offset 1 on .* the end is 5"):
        consumed(Client({0: (0, 5)}, [(0, 0, None)]), monkeypatch)


def test_an_open_transaction_at_the_end_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KoP says that the partition ends before it, and that the next offset is behind it."""
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    monkeypatch.setattr(ranges, "HALT_SECONDS", 0.0)
    client = Client({0: (0, 5)}, [(0, 4, END)])
    monkeypatch.setattr(ranges, "client", lambda *_: client)
    assert reach_end({"bootstrap.servers": "x:1"}, "t") == 5
    assert client.assigned == {0: 4}
