"""Sink tasks on Arrow batches, without a session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from orders import ROWS, SCHEMA, TOPIC, messages_of, read

from streamnative_serdes import EncodeError, KafkaAvroSerializer
from streamnative_serdes.errors import BatchTooLargeError
from streamnative_serdes.spark.datasource.writing.sink_columns import SinkColumns
from streamnative_serdes.spark.datasource.writing.sink_messages import Sending
from streamnative_serdes.spark.datasource.writing.writes import Write
from streamnative_serdes.spark.frames.encoding import Encoder
from streamnative_serdes.spark.partitions.sink import ColumnsTask

BATCH = pa.RecordBatch.from_pylist([dict(zip(("0", "1", "2"), row, strict=True)) for row in ROWS])


def columns_of(encoder: Encoder) -> SinkColumns:
    return SinkColumns({}, ("id", "state", "note"), (0, 1, 2), encoder)


@pytest.fixture
def task(kafka: dict[str, str], conf: dict[str, str]) -> ColumnsTask:
    encoder, _ = Encoder.plan(TOPIC, conf, SCHEMA)
    return ColumnsTask(Sending(TOPIC, kafka, None, 5), columns_of(encoder))


def test_batches_without_rows_are_skipped(task: ColumnsTask, kafka: dict[str, str], conf: Any) -> None:
    assert list(task(iter([BATCH.slice(0, 0), BATCH.slice(0, 2), BATCH.slice(2, 0), BATCH.slice(2, 3)]))) == []
    found = [tuple(record.values()) for record in read(conf, messages_of(kafka))]
    assert sorted(found) == ROWS[:5]


def test_a_task_without_rows_needs_no_broker(conf: dict[str, str]) -> None:
    nowhere = Sending(TOPIC, {"bootstrap.servers": "127.0.0.1:1", "no.such.option": 1}, None, 5)
    task = ColumnsTask(nowhere, columns_of(Encoder.plan(TOPIC, conf, SCHEMA)[0]))
    assert list(task(iter([BATCH.slice(0, 0)]))) == []
    assert list(task(iter([]))) == []


def test_the_row_of_an_error_is_counted_through_batches(task: ColumnsTask) -> None:
    bad = BATCH.set_column(1, "1", pa.array(["PAID"] * 41 + ["LOST"] + ["OPEN"] * 958))
    with pytest.raises(EncodeError, match=r"field state.*LOST.*\(row 241 of partition 0\)") as caught:
        task(iter([BATCH.slice(0, 200), bad]))
    assert caught.value.row is None


MOST = 300  # rows


@dataclass(frozen=True)
class Narrow(Encoder):
    """Accepts only small batches, so that larger ones are split."""

    def encode(self, rows: pa.RecordBatch | pa.StructArray) -> pa.Array:
        if len(rows) > MOST:
            error = BatchTooLargeError("no room")
            error.row = MOST
            raise error
        return super().encode(rows)


@pytest.fixture
def narrow(task: ColumnsTask) -> ColumnsTask:
    whole = task.columns.encoder
    assert whole is not None
    return replace(task, columns=columns_of(Narrow(whole.topic, whole.writer, whole.record)))


def test_rows_are_numbered_through_the_parts_of_batches(narrow: ColumnsTask, kafka: dict[str, str], conf: Any) -> None:
    task = replace(narrow, to=replace(narrow.to, write=Write("q")))
    assert list(task(iter([BATCH.slice(0, 350), BATCH.slice(350), BATCH.slice(0, 2)]))) == []
    messages = messages_of(kafka)
    ids = [record["id"] for record in read(conf, messages)]
    rows = [int(dict(message.headers())["spark.row"]) for message in messages]
    assert sorted(zip(rows, ids, strict=True)) == list(enumerate([*range(1000), 0, 1]))


@pytest.mark.parametrize("place", [0, 99, 299, 300, 599, 600, 998])
def test_the_row_of_an_error_is_counted_through_the_parts_of_a_batch(narrow: ColumnsTask, place: int) -> None:
    states = ["PAID"] * 1000
    states[place] = "LOST"
    bad = BATCH.set_column(1, "1", pa.array(states))
    expected = rf"field state.*LOST.*\(row {400 + place} of partition 0\)"
    with pytest.raises(EncodeError, match=expected) as caught:
        narrow(iter([BATCH.slice(0, 400), bad]))
    assert caught.value.row is None


def test_the_error_for_columns_of_another_schema_has_no_row(task: ColumnsTask) -> None:
    with pytest.raises(EncodeError) as caught:
        task(iter([BATCH.set_column(0, "0", pa.array([[1]] * 1000))]))
    assert "of partition" not in str(caught.value)


@pytest.mark.parametrize(("schema", "option"), [(None, False), ("long", True)])
def test_a_plan_with_the_latest_version_keeps_the_version_that_it_chose(
    conf: dict[str, str], schema: object, option: bool
) -> None:
    """Its columns match that version; ``use.latest.version`` takes precedence over a given schema."""
    brief = {**SCHEMA, "fields": SCHEMA["fields"][:2]}  # type: ignore[index]
    KafkaAvroSerializer(conf, brief).warm_up(TOPIC)
    options = {**conf, "use.latest.version": option, "auto.register.schemas": False, "cache.latest.ttl.sec": 0}
    encoder, _ = Encoder.plan(TOPIC, options, schema)
    KafkaAvroSerializer(conf, SCHEMA).warm_up(TOPIC)
    rows = BATCH.slice(0, 1).rename_columns(["id", "state", "note"])
    (message,) = encoder.encode(rows).to_pylist()
    assert int.from_bytes(message[2:10]) == 0


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_plans_of_many_writes_are_equal_for_workers(conf: dict[str, str], schema: object) -> None:
    """Otherwise workers would keep a plan per batch of a stream. The first may differ, as it learns the schema."""
    KafkaAvroSerializer(conf, SCHEMA).warm_up(TOPIC)
    writers = [Encoder.plan(TOPIC, conf, schema)[0].writer for _ in range(5)]
    assert len({writer._key for writer in writers}) <= 2
