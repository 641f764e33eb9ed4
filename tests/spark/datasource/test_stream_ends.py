"""Where the batches of a stream end, when brokers answer late, with less than they know, or not about a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from spark_topics import send

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark import OffsetOutOfRangeError
from streamnative_serdes.spark.datasource.offsets import brokers
from streamnative_serdes.spark.datasource.offsets.bounds import Place
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.reading.batch import BatchReader
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
    kafka = {"bootstrap.servers": client["kafka.bootstrap.servers"]}
    return lambda: send(kafka, "t", b"v")


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


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_an_open_transaction_is_named_as_a_reason_for_an_earlier_end(client: dict[str, str], level: str) -> None:
    reader = stream(client, **{"kafka.isolation.level": level})
    for ask in (lambda: reader.latestOffset(at(2), ALL), lambda: ranges(reader, at(2), at(1))):
        with pytest.raises(OffsetOutOfRangeError, match="was the topic recreated") as caught:
            ask()
        assert ("ends at its first open transaction" in str(caught.value)) is (level == "read_committed")


@pytest.mark.parametrize("name", ["UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID"])
def test_topics_are_asked_for_again_while_one_is_listed_that_its_broker_does_not_know(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As in the moment when it is deleted or created."""
    produce()
    own, left = brokers.offsets, list[bool]()

    def refused(*given: Any, **named: Any) -> dict[Place, int]:
        if left:
            left.clear()
            raise KafkaException(KafkaError(getattr(KafkaError, name)))
        return own(*given, **named)

    monkeypatch.setattr(brokers, "offsets", refused)
    reader, now = stream(client, startingOffsets="earliest"), stream(client)
    for ask, expected in (
        (lambda: reader.initialOffset()["topics"], at(0)),
        (lambda: reader.latestOffset(at(0), ALL)["topics"], at(1)),
        (lambda: ranges(reader, {"other": {"0": 0}}, {"other": {"0": 0}, **at(1)}), [(0, 1)]),
        (now.prepareForTriggerAvailableNow, None),
        (lambda: len(BatchReader(plan({**client})).partitions()), 1),
    ):
        left.append(True)
        assert ask() == expected
        assert not left


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


def test_a_batch_without_a_start_keeps_the_offsets_of_the_one_before(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before PySpark 4.2, Spark does not say where the batch begins."""
    produce()
    for fail in ("true", "false"):
        reader = stream(client, failOnDataLoss=fail, startingOffsets="earliest")
        end = reader.latestOffset()
        assert ranges(reader, reader.initialOffset(), end) == [(0, 1)]
        assert reader.latestOffset() == end
        with monkeypatch.context() as patch:
            once(patch, "existing", {"other": 1})
            assert reader.latestOffset() == end
        monkeypatch.setattr(Brokers, "existing", lambda _: {"other": 1})
        if fail == "true":
            with pytest.raises(OffsetOutOfRangeError, match="partition 0 no longer exists"):
                reader.latestOffset()
        else:
            assert reader.latestOffset()["topics"] == {}
        monkeypatch.undo()


def test_a_first_batch_that_runs_again_ends_with_the_same_text_if_nothing_is_new(
    client: dict[str, str], produce: Produce
) -> None:
    """Its end has where it began; PySpark 4.0 compares texts, and would run one more batch."""
    produce()
    start, end = {"start": at(0)}, {"format": 1, "source": "streamnative-kafka", "topics": at(1)}
    reader = stream(client)
    assert ranges(reader, reader.initialOffset(), {**end, **start}) == [(0, 1)]
    assert reader.latestOffset() == {**end, **start}
    produce()
    assert reader.latestOffset() == {**end, "topics": at(2)}


def test_a_query_that_goes_on_without_a_start_asks_again_for_a_topic_that_is_missing(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce()
    once(monkeypatch, "existing", {"other": 1})
    assert stream(client).latestOffset()["topics"] == at(1)
    monkeypatch.setattr(Brokers, "existing", lambda _: {"other": 1})
    with pytest.raises(ConfigError, match="the topic does not exist"):
        stream(client, failOnDataLoss="false").latestOffset()


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": '{"t": {"0": -1}}'},
        {"startingTimestamp": "4000000000000", "startingOffsetsByTimestampStrategy": "latest"},
        {"startingOffsetsByTimestamp": '{"t": {"0": 4000000000000}}', "startingOffsetsByTimestampStrategy": "latest"},
    ],
)
def test_a_first_batch_runs_again_where_its_start_was_the_latest_offset(
    client: dict[str, str], produce: Produce, options: dict[str, str]
) -> None:
    """Before PySpark 4.2, older versions stored its end alone, and the start is asked for again."""
    end = stream(client, **options).latestOffset()
    old = {name: value for name, value in end.items() if name != "start"}
    produce()
    for each in (end, old):
        reader = stream(client, **options)
        assert ranges(reader, reader.initialOffset(), each) == []


def test_a_first_batch_runs_again_from_its_start_whatever_the_options_say_then(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before PySpark 4.2, where Spark asks for the end first."""
    produce()
    first = stream(client, startingOffsets="earliest")
    end = first.latestOffset()
    assert end == {**end, "topics": at(1), "start": at(0)}
    assert ranges(first, first.initialOffset(), end) == [(0, 1)]
    produce()
    again = stream(client)
    assert ranges(again, again.initialOffset(), end) == [(0, 1)]
    monkeypatch.setattr(Brokers, "earliest", lambda *_: {("t", 0): 1})  # the task finds that the message is gone
    again = stream(client, startingOffsets="earliest")
    assert ranges(again, again.initialOffset(), end) == [(0, 1)]


def test_a_topic_of_a_pattern_that_is_unknown_when_a_query_starts_goes_on_with_its_second_batch(
    client: dict[str, str],
    produce: Produce,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Before PySpark 4.2: a broker did not know the topic when Spark asked for the end of the first batch."""
    produce()
    own = Brokers.existing
    for unknown in (1, 2):  # in this number of answers
        left = iter([{"other": 1}] * unknown)
        monkeypatch.setattr(Brokers, "existing", lambda self, left=left: next(left, None) or own(self))
        reader = pattern(client)
        end = reader.latestOffset()
        caplog.clear()
        assert batches(reader.initialOffset(), end)(reader) == []
        assert (
            "topic t: partition 0 was not known when the batch was planned; the next reads it from offset"
            in caplog.text
        )
        first: int = reader.initialOffset()["topics"]["t"]["0"]
        produce()
        assert batches(end, reader.latestOffset())(reader) == [("t", first, first + 1)]


@pytest.mark.parametrize("options", [{}, {"startingOffsets": "earliest"}])
def test_an_unfinished_first_batch_of_sparks_own_source_is_refused(
    client: dict[str, str], produce: Produce, options: dict[str, str]
) -> None:
    """Spark's source stores where it began in a file that Python sources do not see."""
    produce()
    reader = stream(client, **options)
    with pytest.raises(ConfigError, match="Spark's own source, whose first batch is not finished"):
        reader.partitions(reader.initialOffset(), at(1))
    assert ranges(reader, at(0), at(1)) == [(0, 1)]  # a later batch


def test_a_first_batch_whose_messages_are_gone_is_an_error_when_it_runs_again(
    client: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = stream(client, startingOffsets='{"t": {"0": -2}}')
    moved: dict[Place, int] = {("t", 0): 7}
    monkeypatch.setattr(Brokers, "earliest", lambda *_: moved)
    monkeypatch.setattr(Brokers, "latest", lambda *_: moved)
    with pytest.raises(OffsetOutOfRangeError, match="partition 0 ends at 5, and was read up to 7"):
        reader.partitions(reader.initialOffset(), {"format": 1, "source": "streamnative-kafka", "topics": at(5)})


@pytest.mark.parametrize("fail", ["true", "false"])
def test_an_added_topic_that_is_missing_from_one_answer_is_read(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch, fail: str
) -> None:
    produce()
    once(monkeypatch, "existing", {"other": 1})
    start = {"other": {"0": 0}}
    reader = stream(client, failOnDataLoss=fail, subscribe="t,other")
    assert ranges(reader, start, start | at(1)) == [(0, 1)]


def batches(start: Any, end: Any) -> Callable[[StreamReader], list[tuple[str, int, int]]]:
    """What a reader reads of a batch: topic, first offset, and end."""

    def read(reader: StreamReader) -> list[tuple[str, int, int]]:
        found: Any = reader.partitions(start, end)
        return [(each.value.topic, each.value.start, each.value.end) for each in found]

    return read


def pattern(client: dict[str, str], **options: str) -> StreamReader:
    given = {name: value for name, value in client.items() if name != "subscribe"}
    return stream(given, subscribePattern="t|other", **options)


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_query_with_a_pattern_that_goes_on_asks_again_for_a_topic_that_is_missing(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch, fail: str
) -> None:
    """Before PySpark 4.2, Spark tells where the query was by a batch without offsets, and then asks for an end."""
    for _ in range(3):
        produce()
    last: Any = at(2) | {"other": {"0": 0}}
    for answers in ([{"other": 1}], [{"other": 1}] * 5):
        reader = pattern(client, failOnDataLoss=fail)
        assert batches(last, last)(reader) == []
        own, left = Brokers.existing, iter(answers)
        monkeypatch.setattr(Brokers, "existing", lambda self, own=own, left=left: next(left, None) or own(self))
        if len(answers) == 1:
            assert reader.latestOffset()["topics"] == at(3) | {"other": {"0": 0}}
        elif fail == "true":
            with pytest.raises(OffsetOutOfRangeError, match="partition 0 no longer exists"):
                reader.latestOffset()
        else:
            assert reader.latestOffset()["topics"] == {"other": {"0": 0}}
        monkeypatch.undo()


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_topic_that_a_batch_was_planned_without_goes_on_with_the_next_batch(
    client: dict[str, str], produce: Produce, fail: str
) -> None:
    """As PySpark before 4.2 plans the first one, if a broker did not know the topic for a moment."""
    for _ in range(3):
        produce()
    start: Any = at(2) | {"other": {"0": 0}}
    without = {"format": 1, "source": "streamnative-kafka", "topics": {"other": {"0": 0}}}
    begin = 2 if fail == "true" else 0  # it was missing, may be a new topic, and no message may be skipped
    for given in ({}, {"start": without}):  # from PySpark 4.2 on, Spark says where the batch begins
        reader = pattern(client, failOnDataLoss=fail)
        assert batches(start, without)(reader) == []
        end = reader.latestOffset(**given)
        assert end["topics"] == at(3) | {"other": {"0": 0}}
        then = batches(without, end)
        assert then(reader) == [("t", begin, 3)]
        assert then(pattern(client, failOnDataLoss=fail)) == [("t", begin, 3)]  # killed, and started again
        assert reader.latestOffset(**({"start": end} if given else {})) == end  # nothing is new


def test_the_end_of_a_query_that_ends_now_does_not_go_back_for_a_missing_topic(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        produce()
    reader = pattern(client, failOnDataLoss="false")
    reader.prepareForTriggerAvailableNow()
    produce()
    monkeypatch.setattr(Brokers, "existing", lambda _: {"other": 1})
    assert reader.latestOffset(at(4) | {"other": {"0": 0}}, ALL)["topics"] == {"other": {"0": 0}}


@pytest.mark.parametrize("left_out", [True, False])
def test_a_topic_that_was_missing_is_read_from_its_first_message_when_it_is_back(
    client: dict[str, str],
    produce: Produce,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    left_out: bool,
) -> None:
    """It may have been created again. With failOnDataLoss=true, that it is missing is an error."""
    for _ in range(3):
        produce()
    start: Any = at(2) | {"other": {"0": 0}}
    without = {"format": 1, "source": "streamnative-kafka", "topics": {"other": {"0": 0}}}
    own = Brokers.existing
    monkeypatch.setattr(Brokers, "existing", lambda _: {"other": 1})
    reader = pattern(client)
    with pytest.raises(OffsetOutOfRangeError, match="partition 0 no longer exists"):
        batches(start, without)(reader) if left_out else reader.latestOffset(start, ALL)
    reader = pattern(client, failOnDataLoss="false")
    if not left_out:
        assert reader.latestOffset(start, ALL) == without
    assert batches(start, without)(reader) == []
    assert caplog.text.count("topic t: partition 0 no longer exists") == 1
    asked = reader._brokers.calls
    monkeypatch.setattr(Brokers, "existing", lambda _: asked.update(existing=1) or {"other": 1})
    assert reader.latestOffset() == without
    assert asked["existing"] == 1  # that it is gone was said: it is not asked for again
    monkeypatch.setattr(Brokers, "existing", own)
    end = reader.latestOffset()
    for each in (reader, pattern(client)):
        assert batches(without, end)(each) == [("t", 0, 3)]


def test_a_topic_that_is_missing_while_a_batch_waits_for_more_messages_is_new_when_it_is_back(
    client: dict[str, str], produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce()
    reader = pattern(client, failOnDataLoss="false", minOffsetsPerTrigger="9")
    end: Any = at(1) | {"other": {"0": 0}}
    assert reader.latestOffset(end) == end  # the first batch does not wait
    with monkeypatch.context() as patch:
        patch.setattr(Brokers, "existing", lambda _: {"other": 1})
        end = reader.latestOffset(end)
        assert end["topics"] == {"other": {"0": 0}}


@pytest.mark.parametrize(
    "options",
    [{"subscribe": "other"}, {"subscribe": "", "assign": '{"t": [1]}'}, {"subscribe": "", "subscribePattern": "o.*"}],
)
def test_a_partition_that_the_options_no_longer_name_is_an_error_that_says_so(
    client: dict[str, str], options: dict[str, str]
) -> None:
    given = {name: value for name, value in {**client, **options}.items() if value}
    reader = StreamReader(plan(given))
    with pytest.raises(
        OffsetOutOfRangeError, match=r"partition 0 was read before, and the options no longer name it.*name it again"
    ) as caught:
        reader.latestOffset(at(1), ALL)
    assert "ACLs" not in str(caught.value)


def test_topics_that_the_options_no_longer_name_keep_their_offsets(client: dict[str, str], produce: Produce) -> None:
    for _ in range(2):
        produce()
    start: Any = at(1) | {"other": {"0": 0}}
    reader = stream(client, subscribe="other", failOnDataLoss="false")
    end = reader.latestOffset(start, ALL)
    assert end == start
    again = stream(client, subscribe="t,other")
    assert batches(end, again.latestOffset(end, ALL))(again) == [("t", 1, 2)]


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_batch_that_runs_again_says_that_a_topic_was_deleted_meanwhile(
    client: dict[str, str],
    produce: Produce,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fail: str,
) -> None:
    for _ in range(2):
        produce()
    here: Any = {"t": {"0": 1}}
    start, end = here | {"deleted": {"0": 0}}, at(2) | {"deleted": {"0": 1}}
    reader = stream(client, subscribe="t,deleted", failOnDataLoss=fail)
    again = batches(start, end)
    if fail == "true":
        with pytest.raises(OffsetOutOfRangeError, match="topic deleted: partition 0 no longer exists"):
            again(reader)
        return
    assert again(reader) == [("deleted", 0, 1), ("t", 1, 2)], "the task says what it finds"
    assert "topic deleted: partition 0 no longer exists" in caplog.text
    asked = reader._brokers.calls["topics"]
    caplog.clear()
    then = reader.latestOffset(end, ALL)
    assert not caplog.text  # it was said already
    assert reader._brokers.calls["topics"] == asked + 1
    batches(end, then)(reader)
    assert reader._brokers.calls["topics"] == asked + 1  # an ordinary batch does not ask
    # a topic that the options no longer name is read all the same, and one that is briefly unknown is asked for again
    assert batches(start, end)(stream(client)) == [("deleted", 0, 1), ("t", 1, 2)]
    once(monkeypatch, "existing", {"other": 1})
    assert ranges(stream(client), here, at(2)) == [(1, 2)]
