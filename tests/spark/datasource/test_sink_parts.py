"""Parts of the sink, without Spark and Kafka: rows that are refused, what tells attempts apart, and what is logged."""

from __future__ import annotations

import datetime as dt
import logging
from contextlib import nullcontext
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest

from streamnative_serdes.arrow.kafka_columns import ANY_PARTITION, NOW
from streamnative_serdes.errors import EncodeError
from streamnative_serdes.spark.datasource.user_options.options import Options
from streamnative_serdes.spark.datasource.writing import writers
from streamnative_serdes.spark.datasource.writing.sink_columns import SinkColumns
from streamnative_serdes.spark.datasource.writing.sink_messages import MessageBatches, Sending
from streamnative_serdes.spark.datasource.writing.transactions import TRANSACTION_MS, Rows
from streamnative_serdes.spark.datasource.writing.writes import ROW_HEADER, Sent, Write, _Writes, report, report_failure

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
US = pa.timestamp("us", "UTC")
MILLISECOND = dt.datetime(1970, 1, 1, 0, 0, 0, 1000, dt.UTC)
EARLIER = MILLISECOND - dt.timedelta(microseconds=1)


class Out:
    """Stands for a producer: keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    def send(self, *message: Any) -> None:
        self.sent.append(message)


def sender(*parts: str) -> tuple[MessageBatches, Out]:
    out: Any = Out()
    columns = SinkColumns({name: number for number, name in enumerate(("value", *parts))})
    return MessageBatches(columns, Sending("t", {}, None, 5), out), out


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize(
    ("part", "place", "good", "sent", "wrong", "error"),
    [
        ("partition", 3, pa.array([None, 0], pa.int32()), [ANY_PARTITION, 0], -1, "to 2147483647, got -1"),
        ("timestamp", 4, pa.array([MILLISECOND, None], US), [1, NOW], EARLIER, "got 999 microseconds"),
        ("topic", 5, pa.array(["t", "u"]), ["t", "u"], None, "the row has no topic"),
        ("topic", 5, pa.array(["t", "u"]), ["t", "u"], "", "the row has no topic"),
    ],
)
def test_each_part_of_a_row_is_sent_or_refused_with_the_row_of_the_task(
    part: str, place: int, good: pa.Array, sent: list[Any], wrong: Any, error: str
) -> None:
    messages, out = sender(part)
    messages.send(batch(**{"value": pa.array([b"a", b"b"]), part: good}))
    assert [each[place] for each in out.sent] == sent
    bad = pa.array([*good.to_pylist(), wrong], good.type)
    with pytest.raises(EncodeError, match=rf"{error}.* \(row 4 of partition 0\)"):
        messages.send(batch(**{"value": pa.array([b"a", b"b", b"c"]), part: bad}))  # its third row is the task's fifth
    assert len(out.sent) == 2


def test_each_header_of_a_row_has_a_name() -> None:
    messages, out = sender("headers")
    good = [[{"key": "a", "value": b"1"}, {"key": "b", "value": None}], None]
    messages.send(batch(value=pa.array([b"a", b"b"]), headers=pa.array(good, HEADERS)))
    assert [each[2] for each in out.sent] == [[("a", b"1"), ("b", None)], None]
    messages.send(batch(value=pa.array([b"c", b"d"]), headers=pa.array([[good[0][1]], []], HEADERS)))
    assert [each[2] for each in out.sent][2:] == [[("b", None)], []]
    for bad, said in (({"key": None, "value": b"2"}, "a header's key of type string"), (None, "a header")):
        with pytest.raises(EncodeError, match=f"expected {said}, got null"):
            messages.send(batch(value=pa.array([b"a"]), headers=pa.array([[good[0][0], bad]], HEADERS)))


def test_rows_with_other_parts_are_numbered_over_all_batches_of_a_task() -> None:
    out: Any = Out()
    write = Write("query", 7, 0)
    messages = MessageBatches(SinkColumns({"value": 0, "partition": 1}), Sending("t", {}, write, 5), out)
    for values in ([b"a", b"b"], [b"c"]):
        messages.send(batch(value=pa.array(values), partition=pa.array([0] * len(values), pa.int32())))
    common = list(write.headers())
    assert [each[2] for each in out.sent] == [[*common, (ROW_HEADER, number)] for number in (b"0", b"1", b"2")]


def rows(*batches: list[int]) -> Rows:
    made = Rows()
    for numbers in batches:
        made.add(batch(value=pa.array(numbers, pa.int64())))
    return made


def test_rows_of_two_attempts_are_equal_however_spark_has_cut_them_into_batches() -> None:
    """Their number, the first and the last one count."""
    committed = rows([1, 2, 3], [4, 5])
    assert committed.rows == 5
    assert committed == rows([1], [], [2, 3, 4, 5])
    for other in (rows([1, 2, 3]), rows([0, 2, 3, 4, 5]), rows([1, 2, 3, 4], [6]), rows([4], [1, 2, 3, 5])):
        assert committed != other


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "GMT+08:00", "UTC+8", "Z", "PST", "-3:00", None])
def test_rows_of_two_attempts_are_equal_in_any_time_zone(zone: str | None) -> None:
    """Spark's types of timestamps have the session's time zone; and Python has neither all zones nor all years."""

    def rows_in(zone: str | None, last: int = 7, micros: int = -62_135_596_800_000_000) -> Rows:
        times = pa.array([micros, 400_000_000_000_000_000, None]).cast(pa.timestamp("us", zone))
        lists = pa.ListArray.from_arrays([0, 1, 3, 3], times)
        structs = pa.StructArray.from_arrays([times, lists], ["time", "list"])
        maps = pa.MapArray.from_arrays([0, 1, 2, 3], pa.array(["a", "b", "c"]), structs)
        dates = pa.array([1, 4_000_000, last], pa.int32()).cast(pa.date32())
        whole = batch(times=times, lists=lists, structs=structs, maps=maps, dates=dates)
        made = Rows()
        for part in (whole.slice(0, 1), whole.slice(1)):
            made.add(part)
        return made

    assert rows_in(zone) == rows_in("Europe/Berlin")
    assert rows_in(zone) not in (rows_in(zone, last=8), rows_in(zone, micros=5))


def test_only_the_columns_that_are_written_tell_attempts_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, committed = Mock(begin=lambda _: None), list[Rows]()
    mine.commit = lambda _, rows: committed.append(rows)
    monkeypatch.setattr(writers, "transaction", lambda *_: nullcontext((mine, None)))
    columns = SinkColumns({"key": 2}, ("id",), (1,), Mock(encode=lambda rows: pa.array([b"x"] * len(rows))))
    task = writers.Task(Options.parse({"kafka.bootstrap.servers": "b:1"}, "write"), columns, "t", "q", False, True, {})
    for now, number, key in ((1, 1, "k"), (2, 1, "k"), (2, 2, "k"), (2, 1, "l")):
        task.run(iter([batch(now=pa.array([now]), id=pa.array([number]), key=pa.array([key]))]))
    assert committed[0] == committed[1]
    assert committed[0] not in committed[2:]


def test_a_transaction_may_take_ten_minutes_unless_it_is_told_otherwise() -> None:
    assert TRANSACTION_MS == 600_000


def test_the_log_has_the_number_of_messages(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "streamnative_serdes")
    sent = [Sent(0, 3), None, Sent(1, 4), Sent(2, 6, again=True)]
    report(sent, 9)
    assert caplog.messages == ["batch 9 of a stream: 13 messages of 3 tasks (1 had committed before)"]
    report_failure([*sent, Sent(3)], None)
    assert caplog.messages[1] == (
        "a batch write failed; the messages of its other tasks stay in the topic: 13 messages of 3 tasks "
        "(partitions 0, 1, 2)"
    )


def test_writes_of_a_batch_are_numbered_and_begin_again_where_another_run_repeats_it() -> None:
    begin = _Writes().begin
    assert [begin("q", "t", 1, "a") for _ in range(3)] == [0, 1, 2]
    assert [begin("q", topic, 1, "a") for topic in ("other", "t")] == [0, 3]
    assert [begin("q", "t", 2, "a") for _ in range(2)] == [0, 1]
    assert [begin("q", "t", 2, "b") for _ in range(2)] == [0, 1]  # restarted in the middle of the batch
    assert [begin("q", "t", 2, None), begin("q", "t", 2, "b")] == [2, 3]  # a run that is not known repeats nothing
