"""Reading ranges of offsets: a range is done when the position is its end, whether or not ends are reported."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from scripted_consumer import END, ScriptedConsumer, at

from streamnative_serdes._kafka import (
    BrokerRefusedError,
    BrokerUnavailableError,
    ClientErrors,
    OffsetsGoneError,
    RangeReader,
    StalledError,
    clients,
    consuming,
    topics,
)

ENDS = pytest.mark.parametrize("ends", [True, False], ids=["kafka", "kop"])


def reader_of(consumer: ScriptedConsumer, patience: float = 30.0, *, beyond: bool = False) -> RangeReader:
    return RangeReader(consumer, ClientErrors({"bootstrap.servers": "x:1"}, "t"), "t", patience, beyond=beyond)  # type: ignore[arg-type]


def read(
    consumer: ScriptedConsumer, ranges: dict[int, list[tuple[int, int]]], most: int = 500
) -> list[tuple[int, int]]:
    """Partition and offset of each message."""
    reader = reader_of(consumer)
    reader.start(ranges)
    return [(message.partition(), message.offset()) for message in reader.messages(most)]


@ENDS
@pytest.mark.parametrize("most", [1, 2, 500])
def test_a_range_ends_where_its_last_offsets_are_no_messages(ends: bool, most: int) -> None:
    consumer = ScriptedConsumer({0: (0, 9, [0, 1, 2, 5])}, ends)
    assert read(consumer, {0: [(0, 9)]}, most) == [(0, 0), (0, 1), (0, 2), (0, 5)]


@ENDS
def test_a_range_of_no_messages_at_all_ends(ends: bool) -> None:
    assert read(ScriptedConsumer({0: (0, 4, [])}, ends), {0: [(0, 4)]}) == []


@ENDS
@pytest.mark.parametrize("most", [1, 3, 500])
def test_messages_behind_the_end_are_left_out(ends: bool, most: int) -> None:
    consumer = ScriptedConsumer({0: (0, 20, range(20)), 1: (0, 20, range(20)), 2: (0, 1, [0])}, ends)
    found = read(consumer, {0: [(3, 5)], 1: [(18, 20)], 2: [(1, 1)]}, most)
    assert sorted(found) == [(0, 3), (0, 4), (1, 18), (1, 19)]


@ENDS
def test_the_message_right_behind_the_end_is_left_out_where_offsets_before_it_are_missing(ends: bool) -> None:
    assert read(ScriptedConsumer({0: (0, 9, [0, 2, 4])}, ends), {0: [(0, 4)]}) == [(0, 0), (0, 2)]


@ENDS
@pytest.mark.parametrize("most", [1, 7, 30, 500])
def test_windows_are_read_in_order_over_what_lies_between(ends: bool, most: int) -> None:
    """Also where the client has given more than the first window, and where windows end with markers."""
    spans = [(0, 10), (20, 30), (50, 60)]
    consumer = ScriptedConsumer({0: (0, 60, [n for n in range(60) if n % 10 < 8])}, ends)
    assert read(consumer, {0: spans}, most) == [
        (0, n) for start, stop in spans for n in range(start, stop) if n % 10 < 8
    ]


def test_a_window_far_away_is_sought() -> None:
    consumer = ScriptedConsumer({0: (0, 10_000, range(10_000))})
    assert read(consumer, {0: [(0, 5), (9_995, 10_000)]}, 100) == [(0, n) for n in (*range(5), *range(9_995, 10_000))]
    assert consumer.seeks == [(0, 9_995)]


def test_a_second_range_of_one_consumer_is_not_ended_by_the_position_of_the_first() -> None:
    consumer = ScriptedConsumer({0: (0, 10, range(10))})
    for _ in range(2):
        assert read(consumer, {0: [(0, 10)]}) == [(0, n) for n in range(10)]


def test_a_position_that_assigning_leaves_behind_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = ScriptedConsumer({0: (0, 10, range(10))})
    assert len(read(consumer, {0: [(0, 10)]})) == 10
    monkeypatch.setattr(consumer, "unassign", lambda: None)
    monkeypatch.setattr(consumer, "consume", lambda *_: [])  # nothing has come yet
    reader = reader_of(consumer)
    reader.start({0: [(0, 10)]})
    assert reader.take(500) == []
    assert reader.left


@ENDS
def test_offsets_that_the_broker_has_deleted_are_an_error(ends: bool) -> None:
    with pytest.raises(
        OffsetsGoneError, match=r"partition 0 from offset 2: .*; the partition has offsets 5 to 9"
    ) as caught:
        read(ScriptedConsumer({0: (5, 9, range(5, 9))}, ends), {0: [(2, 9)]})
    assert (caught.value.partition, caught.value.place, caught.value.bounds) == (0, 2, (5, 9))


@ENDS
def test_a_recreated_topic_that_ends_before_the_range_is_an_error(ends: bool) -> None:
    reader = reader_of(ScriptedConsumer({0: (0, 4, range(4))}, ends), patience=-1.0)
    reader.start({0: [(4, 9)]})
    with pytest.raises(OffsetsGoneError, match="expected messages up to offset 9, but the partition ends at 4"):
        list(reader.messages(500))


@pytest.mark.parametrize("code", [KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART])
def test_a_partition_that_no_longer_exists_is_an_error_of_its_offsets(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client reports it among its connection errors, and does not say so to whoever consumes."""
    monkeypatch.setattr(topics, "_NEW_SECONDS", 0.0)
    consumer = ScriptedConsumer({0: (0, 9, range(9))})

    def unknown(*_: Any, **__: Any) -> tuple[int, int]:
        raise KafkaException(KafkaError(code))

    reader = reader_of(consumer, patience=-1.0)
    reader.start({0: [(0, 9)]})
    assert len(reader.take(4)) == 4
    monkeypatch.setattr(consumer, "consume", lambda *_: [])
    monkeypatch.setattr(consumer, "get_watermark_offsets", unknown)
    reader._errors(KafkaError(code, "t [0]: topic does not exist"))
    with pytest.raises(
        OffsetsGoneError, match=r"partition 0 from offset 4: the topic or .* no longer exists"
    ) as caught:
        reader.take(500)
    assert (caught.value.place, caught.value.bounds) == (4, (0, 0))


def test_a_range_without_progress_is_an_error_that_names_it() -> None:
    """The broker has the offsets, and does not give them: an open transaction, perhaps."""
    consumer = ScriptedConsumer({0: (0, 9, range(4))})
    consumer.consume = lambda *_: []  # type: ignore[method-assign]
    reader = reader_of(consumer, patience=-1.0)
    reader.start({0: [(4, 9)]})
    with pytest.raises(StalledError, match=r"partition 0: no message from offset 4 on .* the end is 9"):
        reader.take(500)


@pytest.mark.parametrize("stable", [True, False])
def test_an_open_transaction_ends_what_readers_of_committed_messages_read_where_it_begins(
    stable: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A KoP counts it as part of the partition. Ranges that were planned, as Spark's, wait for its end.

    What is left out is said: on Kafka, a follower that is behind ends ranges, too.
    """
    monkeypatch.setattr(consuming, "HALT_SECONDS", 0.0)
    consumer = ScriptedConsumer({0: (0, 9, [])})
    answers = [[at(0, 3), at(0, 4, END)]]
    consumer.consume = lambda *_: answers.pop() if answers else []  # type: ignore[method-assign]
    errors = ClientErrors({"bootstrap.servers": "x:1"}, "t")
    reader = RangeReader(consumer, errors, "t", -1.0, stable=stable)  # type: ignore[arg-type]
    reader.start({0: [(0, 9)]})
    assert [message.offset() for message in reader.take(500)] == [3]
    assert reader.left != stable
    assert reader.places == {0: 4}
    assert ("topic t, partition 0: read up to offset 4, and not 9" in caplog.text) == stable
    if not stable:
        with pytest.raises(StalledError):
            reader.take(500)


def test_an_end_that_a_broker_takes_back_ends_nothing() -> None:
    """A new leader may know less for a moment."""
    consumer = ScriptedConsumer({0: (0, 9, [])})
    answers = [[at(0, 8)], [], [at(0, 3), at(0, 4, END)]]
    consumer.consume = lambda *_: answers.pop() if answers else []  # type: ignore[method-assign]
    errors = ClientErrors({"bootstrap.servers": "x:1"}, "t")
    reader = RangeReader(consumer, errors, "t", 30.0, stable=True)  # type: ignore[arg-type]
    reader.start({0: [(0, 9)]})
    assert [message.offset() for message in reader.messages(500)] == [3, 8]


def test_the_time_of_whoever_takes_the_messages_is_not_the_brokers_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Any = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(consuming, "time", clock)
    monkeypatch.setattr(clients, "time", clock)
    consumer = ScriptedConsumer({0: (0, 1000, range(1000))})
    reader = reader_of(consumer, patience=30.0)
    reader.start({0: [(0, 1000)]})
    serve, stopped = consumer.consume, 0.0

    def silent(_: int, seconds: float) -> list[Any]:
        clock.now += seconds + stopped
        return []

    for _ in range(2):
        assert len(reader.take(100)) == 100
        clock.now += 3600.0
        monkeypatch.setattr(consumer, "consume", silent)
        assert reader.take(100, 20.0) == []
        clock.now += 3600.0
        monkeypatch.setattr(consumer, "consume", serve)
    assert len(reader.take(100)) == 100
    monkeypatch.setattr(consumer, "consume", silent)
    assert reader.take(100, 20.0) == []
    stopped = 3600.0  # by a signal, or the machine slept
    assert reader.take(100, 1.0) == []
    stopped = 0.0
    with pytest.raises(StalledError, match="no message from offset 300 on for 30 s"):
        reader.take(100, 20.0)


def test_connection_errors_are_what_a_silent_broker_ends_in() -> None:
    consumer = ScriptedConsumer({0: (0, 9, range(9))})
    consumer.consume = lambda *_: []  # type: ignore[method-assign]
    reader = reader_of(consumer, patience=-1.0)
    reader.start({0: [(4, 9)]})
    reader._errors(KafkaError(KafkaError._TRANSPORT, "x:1: Connection refused"))
    with pytest.raises(BrokerUnavailableError, match="Connection refused"):
        reader.take(500)


def test_messages_before_an_error_are_given_first() -> None:
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    consumer = ScriptedConsumer({0: (0, 9, [])}, coming=deque([at(0, 0), at(0, 1), at(0, 2, refused)]))
    reader = reader_of(consumer)
    reader.start({0: [(0, 9)]})
    assert [message.offset() for message in reader.take(500)] == [0, 1]
    with pytest.raises(BrokerRefusedError, match="topic t: cannot consume: Broker: Topic authorization") as caught:
        reader.take(500)
    assert caught.value.hint == "the user needs the right to consume from the topic"


def test_an_error_that_waits_is_forgotten_with_its_ranges() -> None:
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    consumer = ScriptedConsumer({0: (0, 9, [])}, coming=deque([at(0, 0), at(0, 1, refused)]))
    reader = reader_of(consumer)
    reader.start({0: [(0, 9)]})
    assert [message.offset() for message in reader.take(500)] == [0]
    consumer.logs = {0: (0, 2, range(2))}
    reader.start({0: [(0, 2)]})
    assert [message.offset() for message in reader.messages(500)] == [0, 1]


def test_what_is_left_counts_from_the_place_that_was_reached_not_from_the_ranges_first_offset() -> None:
    reader = reader_of(ScriptedConsumer({0: (0, 40, range(40)), 1: (0, 1, [0])}))
    reader.start({0: [(0, 10), (30, 40)], 1: [(0, 1)]})
    assert reader.to_go() == 21
    taken = len(reader.take(4))
    assert taken == 4
    assert reader.to_go() == 17


def test_connection_errors_before_messages_are_forgotten() -> None:
    reader = reader_of(ScriptedConsumer({0: (0, 9, range(9))}), patience=-1.0)
    reader.start({0: [(0, 9)]})
    reader._errors(KafkaError(KafkaError._TRANSPORT, "x:1: Connection refused"))
    assert len(reader.take(3)) == 3
    reader._consumer.consume = lambda *_: []  # type: ignore[method-assign]
    with pytest.raises(StalledError, match="no message from offset 3 on"):
        reader.take(500)


def test_errors_about_the_group_that_nobody_uses_do_not_matter() -> None:
    refused = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    consumer = ScriptedConsumer({0: (0, 2, range(2))}, coming=deque([at(-1, -1001, refused)]))
    assert read(consumer, {0: [(0, 2)]}) == [(0, 0), (0, 1)]


@ENDS
def test_who_follows_gets_what_is_behind_the_end_and_waits_there(ends: bool) -> None:
    consumer = ScriptedConsumer({0: (0, 6, range(4)), 1: (7, 7, [])}, ends)
    reader = reader_of(consumer, patience=-1.0, beyond=True)
    reader.start({0: [(0, 2)], 1: [(7, 7)]})
    assert [message.offset() for message in reader.take(500)] == [0, 1, 2, 3]
    assert not reader.left
    assert reader.take(500) == []  # without an error
    assert reader.places == {0: 6, 1: 7}
