"""What is read without Spark: offsets of a batch and of a stream, and filters that choose them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from spark_topics import send

from streamnative_serdes import ConfigError, KafkaAvroSerializer, KeyValueSchema
from streamnative_serdes._kafka import consuming
from streamnative_serdes.spark import OffsetOutOfRangeError
from streamnative_serdes.spark.datasource.offsets import brokers
from streamnative_serdes.spark.datasource.offsets.bounds import Topics
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.offsets.ranges import Range
from streamnative_serdes.spark.datasource.reading.batch import BatchReader, PushingReader, Wanted
from streamnative_serdes.spark.datasource.reading.columns import plan
from streamnative_serdes.spark.datasource.reading.stream import HAS_LIMITS, StreamReader
from streamnative_serdes.testing import LocalRegistry, MockBroker


@pytest.fixture(scope="module")
def client() -> Iterator[dict[str, str]]:
    """A broker with a topic of two partitions, of ten messages and of four."""
    with MockBroker({"t": 2, "u": 1, "w": 1, "pairs": 1}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for n in range(14):
            producer.produce("t", b"v", partition=n > 9)
        assert producer.flush(30) == 0
        yield {"kafka.bootstrap.servers": broker.bootstrap_servers, "kafka.log_level": "0", "subscribe": "t"}


def batch(client: dict[str, str], **options: str) -> list[tuple[int, int, int]]:
    return tasks(BatchReader(plan({**client, **options})))


def tasks(reader: BatchReader) -> list[tuple[int, int, int]]:
    """Partition, start and end of each task."""
    found: Any = reader.partitions()
    return [(each.value.partition, each.value.start, each.value.end) for each in found]


def ranges(reader: StreamReader, start: Any, end: Any) -> list[Range]:
    """Those of a batch of a stream."""
    found: Any = reader.partitions(start, end)
    return [each.value for each in found]


def test_a_batch_is_planned_from_its_options(client: dict[str, str]) -> None:
    assert batch(client) == [(0, 0, 10), (1, 0, 4)]
    assert batch(client, minPartitions="4") == [(0, 0, 3), (0, 3, 6), (0, 6, 10), (1, 0, 4)]
    assert batch(client, startingOffsets='{"t": {"0": 7, "1": -2}}', endingOffsets='{"t": {"0": -1, "1": 1}}') == [
        (0, 7, 10),
        (1, 0, 1),
    ]


def test_one_client_asks_for_all_full_names_that_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    asked: list[str | None] = []

    class Client:
        def list_topics(self, topic: str | None = None, **_: Any) -> Any:
            asked.append(topic)
            error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART) if topic == "a/b/gone" else None
            return SimpleNamespace(topics={topic or "c": SimpleNamespace(error=error, partitions={0: None})})

        def close(self) -> None:
            pass

    def made_of(kind: Any, *_: Any) -> Client:
        made.append(kind.__name__)
        return Client()

    for module in (brokers, consuming):
        monkeypatch.setattr(module, "client", made_of)
    names = ("a/b/c", "a/b/gone", "persistent://a/b/c", "not/full", "c")
    found = Brokers({"bootstrap.servers": "kop:1"}, Topics(names)).existing()
    assert found == {"c": 1, "a/b/c": 1, "persistent://a/b/c": 1}
    assert made == ["AdminClient", "Consumer"]
    assert asked == [None, "a/b/c", "a/b/gone", "persistent://a/b/c"]


def test_offsets_that_are_not_there_are_lost_or_left_out(client: dict[str, str]) -> None:
    beyond = {"startingOffsets": '{"t": {"0": 11, "1": 2}}'}
    with pytest.raises(OffsetOutOfRangeError, match=r"partition 0 has offsets 0 to 10, got 11.*failOnDataLoss=false"):
        batch(client, **beyond)
    assert batch(client, **beyond, failOnDataLoss="false") == [(1, 2, 4)]
    with pytest.raises(ConfigError, match=r"from offset 5 \(startingOffsets\) to 3 \(endingOffsets\)"):
        batch(client, startingOffsets='{"t": {"0": 5, "1": 0}}', endingOffsets='{"t": {"0": 3, "1": 4}}')
    with pytest.raises(ConfigError, match="must name each partition, and lacks partition 1; use -1"):
        batch(client, startingOffsets='{"t": {"0": 5}}')
    with pytest.raises(ConfigError, match="partition 2 does not exist, or is not to be read"):
        batch(client, startingOffsets='{"t": {"0": 5, "1": 1, "2": 1}}')


def test_all_topics_and_partitions_have_to_be_there(client: dict[str, str]) -> None:
    given = {name: value for name, value in client.items() if name != "subscribe"}
    with pytest.raises(ConfigError, match=r"topic tt: the topic does not exist .*did you mean t.*ACLs.*DESCRIBE"):
        batch(given, subscribe="t,u,tt")
    assert batch(given, assign='{"t": [1]}') == [(1, 0, 4)]
    with pytest.raises(ConfigError, match="assign: partition 2 does not exist: the topic has 2 partitions"):
        batch(given, assign='{"t": [1, 2]}')


def test_no_partition_of_a_batch_starts_at_the_latest_offset(client: dict[str, str]) -> None:
    for offsets in ('{"t": {"0": -1, "1": 0}}', '{"t": {"0": 0, "1": -1}}'):
        with pytest.raises(ConfigError, match=r"a batch cannot start at the latest offset \(-1\) of partition"):
            batch(client, startingOffsets=offsets)
    for offsets in ('{"t": {"0": -2, "1": 0}}', '{"t": {"0": 0, "1": -2}}'):
        with pytest.raises(ConfigError, match=r"a batch cannot end at the earliest offset \(-2\) of partition"):
            batch(client, endingOffsets=offsets)


@dataclass
class Limit:
    """Like Spark's ReadMaxRows, which PySpark has from 4.2 on."""

    max_rows: int


class ReadAllAvailable:
    """As Spark's, by its name."""


def stream(client: dict[str, str], **options: str) -> StreamReader:
    return StreamReader(plan({**client, "startingOffsets": "earliest", **options}))


def topics(offsets: Any) -> Any:
    return offsets["topics"]


def test_a_stream_takes_no_more_than_its_limit_and_waits_for_its_minimum(client: dict[str, str]) -> None:
    reader = stream(client)
    start = reader.initialOffset()
    assert topics(start) == {"t": {"0": 0, "1": 0}}
    assert topics(reader.latestOffset(start, Limit(7))) == {"t": {"0": 5, "1": 2}}
    assert topics(reader.latestOffset(start, ReadAllAvailable())) == {"t": {"0": 10, "1": 4}}
    assert topics(reader.reportLatestOffset()) == {"t": {"0": 10, "1": 4}}
    reader = stream(client, minOffsetsPerTrigger="6", maxOffsetsPerTrigger="7", maxTriggerDelay="1h")
    end = reader.latestOffset(reader.initialOffset(), Limit(7))
    assert topics(end) == {"t": {"0": 5, "1": 2}}
    end = reader.latestOffset(end, Limit(7))
    assert topics(end) == {"t": {"0": 10, "1": 4}}
    assert reader.latestOffset(end, Limit(7)) == end
    nearly = reader.latestOffset(reader.initialOffset(), Limit(10))
    assert reader.latestOffset(nearly, Limit(10)) == nearly  # five are left, and six are wanted
    with pytest.raises(ConfigError, match=r"minOffsetsPerTrigger \(8\) is higher than maxOffsetsPerTrigger \(7\)"):
        stream(client, minOffsetsPerTrigger="8", maxOffsetsPerTrigger="7")
    with pytest.raises(ConfigError, match="maxTriggerDelay has no effect without minOffsetsPerTrigger"):
        stream(client, maxTriggerDelay="1m")


def test_minimum_and_maximum_may_be_equal_and_the_delay_is_a_quarter_of_an_hour_by_default(
    client: dict[str, str],
) -> None:
    reader = stream(client, minOffsetsPerTrigger="7", maxOffsetsPerTrigger="7")
    assert reader._delay is not None
    assert reader._delay._seconds == 900
    assert topics(reader.latestOffset(reader.initialOffset(), Limit(7))) == {"t": {"0": 5, "1": 2}}


@pytest.mark.parametrize(("retries", "asked"), [("0", 1), ("2", 3), (None, 4)])
def test_a_broker_that_knows_less_than_was_read_is_asked_again(
    client: dict[str, str], retries: str | None, asked: int
) -> None:
    given = {} if retries is None else {"fetchOffset.numRetries": retries}
    reader = stream(client, **given, **{"fetchOffset.retryIntervalMs": "1"})
    start = {"t": {"0": 12, "1": 0}}
    with pytest.raises(OffsetOutOfRangeError, match="partition 0 ends at 10, and was read up to 12"):
        reader.latestOffset(start, ReadAllAvailable())
    assert reader._brokers.calls["offsets"] == asked


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_topic_that_is_missing_from_one_answer_keeps_its_offsets(
    client: dict[str, str], monkeypatch: pytest.MonkeyPatch, fail: str
) -> None:
    """As while a broker restarts. The second answer has it again."""
    existing, answers = Brokers.existing, iter([{"u": 1}])
    monkeypatch.setattr(Brokers, "existing", lambda self: next(answers, None) or existing(self))
    reader = stream(client, failOnDataLoss=fail, **{"fetchOffset.retryIntervalMs": "0"})
    found = reader.latestOffset({"t": {"0": 3, "1": 4}}, ReadAllAvailable())
    assert topics(found) == {"t": {"0": 10, "1": 4}}
    assert reader._brokers.calls["topics"] == 1  # the first one was made up


def test_a_topic_that_stays_missing_is_an_error_before_its_offsets_are_stored_or_left_out(
    client: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Brokers, "existing", lambda _: {"u": 1})
    options = {"fetchOffset.retryIntervalMs": "0"}
    start = {"t": {"0": 3, "1": 4}}
    with pytest.raises(OffsetOutOfRangeError, match=r"partition 0 no longer exists.*ACLs.*DESCRIBE.*otherwise"):
        stream(client, **options).latestOffset(start, ReadAllAvailable())
    reader = stream(client, failOnDataLoss="false", **options)
    asked = []
    monkeypatch.setattr(Brokers, "left", lambda _: asked.append(1) or [])
    for times in (4, 5):  # three more times at first, and then once, while it is gone
        end = reader.latestOffset(start, ReadAllAvailable())
        assert topics(end) == {}
        assert len(asked) == times
    assert reader.partitions(start, end) == []


def test_a_stream_from_the_latest_offsets_is_not_ended_by_messages_that_come_while_it_starts(
    client: dict[str, str],
) -> None:
    """Trigger.AvailableNow notes the end before Spark asks for the start; so does PySpark 4.0 in each query."""
    given = {**client, "subscribe": "w", "startingOffsets": "latest"}
    kafka = {"bootstrap.servers": client["kafka.bootstrap.servers"]}
    reader = StreamReader(plan(given))
    reader.prepareForTriggerAvailableNow()
    send(kafka, "w", b"late")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end == start
    assert reader.partitions(start, end) == []

    reader = StreamReader(plan(given))
    end = reader.latestOffset()
    send(kafka, "w", b"late")
    assert topics(reader.initialOffset()) == topics(end)
    # Killed, and started again: Spark has the end of the first batch, and asks where to start.
    assert StreamReader(plan(given)).partitions(StreamReader(plan(given)).initialOffset(), end) == []


def test_a_partition_that_was_added_begins_at_its_first_message_and_what_it_has_lost_is_said(
    client: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Brokers, "earliest", lambda _, places: dict.fromkeys(places, 3))
    start, end = {"t": {"0": 10}}, {"t": {"0": 10, "1": 4}}
    with pytest.raises(OffsetOutOfRangeError, match="partition 1 was added, and starts at 3 instead of 0"):
        stream(client).partitions(start, end)
    assert ranges(stream(client, failOnDataLoss="false"), start, end) == [Range("t", 1, 3, 4)]


@pytest.mark.parametrize("first", [1, 3])
def test_a_partition_that_was_added_and_has_lost_messages_is_limited_as_the_others(
    client: dict[str, str], monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """The first offset counts, not 0: with one, an end of 3 would be before it."""
    monkeypatch.setattr(Brokers, "earliest", lambda _, places: dict.fromkeys(places, first))
    start = {"t": {"0": 10}}
    for limit, end in ((None, 4), (Limit(1), first + 1)):
        reader = stream(client, failOnDataLoss="false")
        found = reader.latestOffset(start, *([] if limit is None else [limit]))
        assert topics(found) == {"t": {"0": 10, "1": end}}
        with pytest.raises(OffsetOutOfRangeError, match=f"starts at {first} instead of 0"):
            stream(client).partitions(start, found)
        assert ranges(reader, start, found) == [Range("t", 1, first, end)]


def test_an_assigned_partition_that_the_topic_does_not_have_any_more_is_gone(
    client: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {name: value for name, value in client.items() if name != "subscribe"}
    at_once = {**given, "fetchOffset.retryIntervalMs": "0", "assign": '{"t": [0, 1]}'}
    start = {"t": {"0": 10, "1": 4}}
    own = Brokers.existing
    for there in (1, 0):  # partition 1 is the first one that is not there, then the second
        monkeypatch.setattr(Brokers, "existing", lambda _, there=there: {"t": there} if there else {"u": 1})
        with pytest.raises(OffsetOutOfRangeError, match=f"partition {there} no longer exists"):
            stream(at_once).latestOffset(start, ReadAllAvailable())
    monkeypatch.setattr(Brokers, "existing", own)
    assert stream(at_once).latestOffset(start, ReadAllAvailable()) == start


@pytest.mark.skipif(not HAS_LIMITS, reason="PySpark has limits of a batch from 4.2 on")
def test_the_limit_is_told_to_spark(client: dict[str, str]) -> None:
    for options, expected in (
        ({}, "ReadAllAvailable()"),
        ({"maxOffsetsPerTrigger": "7"}, "ReadMaxRows(max_rows=7)"),
        ({"minOffsetsPerTrigger": "6"}, "ReadMinRows(min_rows=6)"),
        ({"minOffsetsPerTrigger": "6", "maxOffsetsPerTrigger": "7"}, "ReadMaxRows(max_rows=7)"),
    ):
        assert repr(stream(client, **options).getDefaultReadLimit()) == expected


def test_lost_messages_of_a_stream_are_errors_or_left_out(client: dict[str, str]) -> None:
    there = {"t": {"0": 10, "1": 4}}
    at_once = {**client, "fetchOffset.retryIntervalMs": "0"}
    for start, end, said in (
        ({"t": {"0": 12, "1": 0}}, there, "partition 0 ends at 10, and was read up to 12; was the topic recreated"),
        ({"t": {"0": 10, "1": 0, "2": 5}}, there, "partition 2 no longer exists"),
        ({"t": {"0": 10, "1": 0}}, {"t": {"0": 10, "1": 4, "7": 3}}, "partition 7 was added and no longer exists"),
    ):
        with pytest.raises(OffsetOutOfRangeError, match=said):
            stream(at_once).partitions(start, end)
        assert ranges(stream(at_once, failOnDataLoss="false"), start, end) == [Range("t", 1, 0, 4)]
    assert ranges(stream(client), {"t": {"0": 8}}, there) == [Range("t", 0, 8, 10), Range("t", 1, 0, 4)]


def test_available_now_ends_where_the_topics_ended_at_its_start(client: dict[str, str]) -> None:
    reader = stream({**client, "subscribe": "u"})
    reader.prepareForTriggerAvailableNow()
    send({"bootstrap.servers": client["kafka.bootstrap.servers"]}, "u", b"late")
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    assert topics(stream({**client, "subscribe": "u"}).latestOffset(start)) == {"u": {"0": 1}}


def test_available_now_does_not_wait_for_a_minimum_of_offsets(client: dict[str, str]) -> None:
    reader = stream(client, minOffsetsPerTrigger="6", maxOffsetsPerTrigger="10")
    reader.prepareForTriggerAvailableNow()
    nearly = reader.latestOffset(reader.initialOffset(), Limit(10))
    assert topics(nearly) == {"t": {"0": 7, "1": 2}}
    assert topics(reader.latestOffset(nearly, Limit(10))) == {"t": {"0": 10, "1": 4}}


def named(kind: str, column: str, value: Any = None) -> Any:
    """A filter, as PySpark has them from 4.1 on."""
    return type(kind, (), {"attribute": (column,), "value": value})()


SEVEN = datetime(2024, 1, 1, 0, 0, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("filters", "evaluated", "expected"),
    [
        ([named("EqualTo", "partition", 1)], [], [(1, 0, 4)]),
        ([named("GreaterThan", "offset", 2), named("LessThanOrEqual", "offset", 3)], [], [(0, 3, 4), (1, 3, 4)]),
        ([named("GreaterThanOrEqual", "offset", 4), named("LessThan", "offset", 9)], [], [(0, 4, 9)]),
        ([named("LessThan", "partition", 1), named("IsNotNull", "partition")], [], [(0, 0, 10)]),
        ([named("EqualTo", "offset", 3), named("EqualTo", "offset", 5)], [], []),
        ([named("In", "offset", (1, 2)), named("Not", "offset")], [0, 1], [(0, 0, 10), (1, 0, 4)]),
        ([named("EqualTo", "topic", "t"), named("EqualTo", "id", 1)], [0, 1], [(0, 0, 10), (1, 0, 4)]),
        ([named("EqualTo", "offset", True), named("EqualTo", "offset", "3")], [0, 1], [(0, 0, 10), (1, 0, 4)]),
    ],
)
def test_filters_on_offset_and_partition_choose_what_is_read(
    client: dict[str, str], filters: list[Any], evaluated: list[int], expected: list[tuple[int, int, int]]
) -> None:
    reader = PushingReader(plan(client))
    assert [filters.index(each) for each in reader.pushFilters(filters)] == evaluated
    assert tasks(reader) == expected


def test_two_bounds_of_one_column_are_the_tighter_one_in_either_order(client: dict[str, str]) -> None:
    for first, second in ((2, 6), (6, 2)):
        reader = PushingReader(plan(client))
        filters = [named("GreaterThan", "offset", first), named("GreaterThan", "offset", second)]
        filters += [named("LessThan", "offset", first + 7), named("LessThan", "offset", second + 7)]
        assert list(reader.pushFilters(filters)) == []
        assert tasks(reader) == [(0, 7, 9)]


def test_a_field_that_is_called_offset_is_not_pushed_down(client: dict[str, str]) -> None:
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        KafkaAvroSerializer(
            conf, {"type": "record", "name": "R", "fields": [{"name": "offset", "type": "long"}]}
        ).warm_up("t")
        reader = PushingReader(plan({**client, **conf, "decode": "true", "keep": "partition"}))
    filters = [named("EqualTo", "offset", 3), named("EqualTo", "partition", 0)]
    assert list(reader.pushFilters(filters)) == filters[:1]
    assert tasks(reader) == [(0, 0, 10)]


@pytest.mark.parametrize(
    ("given", "names", "row"),
    [
        ({"columns": "value"}, ["value"], [7]),
        ({"columns": "value,key"}, ["value", "key"], [7, "k"]),
        ({"columns": "key", "keep": "offset", "errorColumn": "e"}, ["offset", "key", "e"], [0, "k", None]),
        ({"columns": "value", "keep": "key"}, ["key", "value"], [b"k", 7]),
    ],
)
def test_the_columns_of_pairs_are_key_and_value(
    client: dict[str, str], given: dict[str, str], names: list[str], row: list[Any]
) -> None:
    given = {**client, "subscribe": "pairs", "decode": "true", **given}
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        value = KafkaAvroSerializer(conf, KeyValueSchema("STRING", "long", "SEPARATED")).serialize("pairs", 7)
        send({"bootstrap.servers": client["kafka.bootstrap.servers"]}, "pairs", value, key=b"k")
        planned = plan({**given, **conf})
        assert planned.schema.names == names
        rows = next(pickle.loads(pickle.dumps(planned)).batches(Range("pairs", 0, 0, 1)))
        assert [column[0].as_py() for column in rows.columns] == row
        with pytest.raises(ConfigError, match="columns: a pair has key and value, not 'id'"):
            plan({**given, **conf, "columns": "value,id"})
        KafkaAvroSerializer(conf, "long").warm_up("u")
        with pytest.raises(ConfigError, match="columns: the topic's messages are not records, so they have no fields"):
            plan({**given, **conf, "subscribe": "u"})


def test_a_time_that_is_pushed_down_chooses_the_first_message_that_is_read(
    client: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the broker answers: partition 0 has such a message, and partition 1 none."""
    asked: list[Any] = []
    found = {("t", 0): 6, ("t", 1): -1}
    monkeypatch.setattr(Brokers, "by_time", lambda _, times: asked.append(times) or found)
    for start, expected in (("earliest", [(0, 6, 10)]), ('{"t": {"0": 8, "1": 0}}', [(0, 8, 10)])):
        reader = PushingReader(plan({**client, "startingOffsets": start}))
        filters = [named("GreaterThanOrEqual", "timestamp", SEVEN)]
        assert list(reader.pushFilters(filters)) == filters  # Spark evaluates it again
        assert tasks(reader) == expected
    assert asked[0] == dict.fromkeys(found, 1704067207000 - 1)


@pytest.mark.parametrize(
    ("since", "expected"),
    [(datetime(1960, 1, 1, tzinfo=UTC), None), (datetime(1970, 1, 1, tzinfo=UTC), None), (SEVEN, SEVEN)],
)
def test_a_time_before_1970_chooses_all_messages_also_those_without_a_time(
    client: dict[str, str], monkeypatch: pytest.MonkeyPatch, since: datetime, expected: datetime | None
) -> None:
    """They have -1 ms in Spark, and brokers look for times from 0 on."""
    asked: list[Any] = []
    monkeypatch.setattr(Brokers, "by_time", lambda _, times: asked.append(times) or dict.fromkeys(times, 3))
    reader = PushingReader(plan(client))
    filters = [named("GreaterThanOrEqual", "timestamp", since)]
    assert list(reader.pushFilters(filters)) == filters
    found: Any = reader.partitions()
    assert [each.value.start for each in found] == ([0, 0] if expected is None else [3, 3])
    assert bool(asked) is (expected is not None)


def test_a_time_says_where_to_start_and_is_evaluated_again() -> None:
    wanted = Wanted()
    for kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual"):
        assert not wanted.take(named(kind, "timestamp", SEVEN))
    assert wanted.since == 1704067207000 - 1
    later = SEVEN.replace(second=9)
    for since in (SEVEN, later, SEVEN):  # the latest one counts
        wanted.take(named("GreaterThan", "timestamp", since))
    assert wanted.since == 1704067209000 - 1
    wanted = Wanted()
    for each in (
        named("LessThan", "timestamp", SEVEN),
        named("GreaterThan", "timestamp", SEVEN.replace(tzinfo=None)),
        named("GreaterThan", "timestamp", 7),
    ):
        assert not wanted.take(each)
    assert wanted.since is None
