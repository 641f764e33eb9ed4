"""Both sources on a real Kafka: transactions and broker timestamps, which the mock broker lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from migrations import create, new_name
from servers import Kafka
from waiting import HANG_SECONDS, until

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.spark import KafkaAvroSource, OffsetRange
from streamnative_serdes.spark.datasource.offsets.bounds import Topics
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.offsets.ranges import Range
from streamnative_serdes.spark.datasource.reading.columns import Plan, plan
from streamnative_serdes.spark.datasource.reading.stream import stream_reader
from streamnative_serdes.spark.partitions import source as sources
from streamnative_serdes.testing import LocalRegistry

STAMP = 1_700_000_000_123


@pytest.fixture
def conf() -> Iterator[dict[str, str]]:
    with LocalRegistry() as registry:
        yield {"schema.registry.url": registry.url}


@pytest.fixture
def client(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    # A source that waits for missing messages must fail soon.
    monkeypatch.setattr(sources, "PATIENCE", replace(sources.PATIENCE, seconds=5.0))
    return {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}


def created(client: dict[str, Any], **config: str) -> str:
    """The name of a new topic with one partition."""
    topic = new_name("spark-source")
    create(client["bootstrap.servers"], topic, partitions=1, **config)
    return topic


def planned(client: dict[str, Any], topic: str, **more: str) -> Plan:
    """A read of the data source, from the earliest offsets."""
    options = {f"kafka.{name}": str(value) for name, value in client.items()}
    return plan({**options, "subscribe": topic, "startingOffsets": "earliest", **more})


class Transactions:
    """Writes numbers, one transaction per call; ``end`` is the offset after all of them."""

    def __init__(self, client: dict[str, Any], conf: dict[str, str], topic: str) -> None:
        self._topic, self._serializer = topic, KafkaAvroSerializer(conf, "long")
        self._brokers = Brokers({**client, "isolation.level": "read_committed"}, Topics((topic,)))
        self._producer = Producer({**client, "transactional.id": topic})
        self._producer.init_transactions(HANG_SECONDS)
        self.end = 0

    def begin(self, *numbers: int) -> None:
        self._producer.begin_transaction()
        for number in numbers:
            self._producer.produce(self._topic, self._serializer.serialize(self._topic, number), timestamp=STAMP)
        assert self._producer.flush(HANG_SECONDS) == 0
        self.end += len(numbers)

    def commit(self, *numbers: int) -> None:
        if numbers:
            self.begin(*numbers)
        self._producer.commit_transaction(HANG_SECONDS)
        self._marked()

    def abort(self, *numbers: int) -> None:
        self.begin(*numbers)
        self._producer.abort_transaction(HANG_SECONDS)
        self._marked()

    def close(self) -> None:
        self._brokers.close()

    def _marked(self) -> None:
        """Wait for the marker that ends the transaction, which the broker may write after its response."""
        self.end += 1
        until(
            lambda: self._brokers.latest([(self._topic, 0)]) == {(self._topic, 0): self.end}, "the transaction is ended"
        )


def test_offsets_without_messages_neither_block_the_source_nor_hide_messages(
    client: dict[str, Any], conf: dict[str, str]
) -> None:
    """Transaction markers have offsets, and so do messages that were not committed."""
    topic = created(client)
    source = KafkaAvroSource(topic, client, conf)

    def read(*spans: OffsetRange) -> list[tuple[int, int]]:
        return [(message.offset, message.value) for message in source.read(spans)]

    with closing(Transactions(client, conf, topic)) as writer:
        writer.commit(0, 1, 2)  # the marker is at offset 3
        assert source.ranges() == [OffsetRange(0, 0, 4)]
        assert read(*source.ranges()) == [(0, 0), (1, 1), (2, 2)]
        writer.abort(4, 5)  # marker at 6
        assert source.ranges() == [OffsetRange(0, 0, 7)]
        assert read(*source.ranges()) == [(0, 0), (1, 1), (2, 2)]
        assert read(OffsetRange(0, 3, 4)) == read(OffsetRange(0, 4, 7)) == read(OffsetRange(0, 3, 7)) == []
        writer.commit(7)  # marker at 8
    for per_partition in (1, 2, 4, 9):
        assert read(*source.ranges(per_partition=per_partition)) == [(0, 0), (1, 1), (2, 2), (7, 7)]
    assert read(OffsetRange(0, 2, 7)) == [(2, 2)]
    assert read(OffsetRange(0, 4, 8)) == [(7, 7)]
    whole = KafkaAvroSource(topic, {**client, "isolation.level": "read_uncommitted"}, conf)
    assert [message.value for message in whole.read([OffsetRange(0, 0, 9)])] == [0, 1, 2, 4, 5, 7]


def test_an_open_transaction_limits_the_offsets_to_read(client: dict[str, Any], conf: dict[str, str]) -> None:
    topic = created(client)
    with closing(Transactions(client, conf, topic)) as writer:
        writer.commit(0)  # the marker is at offset 1
        writer.begin(2)
        source = KafkaAvroSource(topic, client, conf)
        assert source.ranges() == [OffsetRange(0, 0, 2)]
        reader = stream_reader(planned(client, topic, **{"kafka.isolation.level": "read_committed"}))
        begin = reader.initialOffset()
        end = reader.latestOffset(begin)
        assert end["topics"] == {topic: {"0": 2}}
        (part,) = reader.partitions(begin, end)
        assert pa.Table.from_batches(reader.read(part)).column("offset").to_pylist() == [0]
        writer.commit()  # marker at 3
    assert source.ranges({0: 2}) == [OffsetRange(0, 2, 4)]
    assert [message.value for message in source.read([OffsetRange(0, 2, 4)])] == [2]


@pytest.mark.parametrize(("kind", "number"), [("CreateTime", 0), ("LogAppendTime", 1)])
def test_a_timestamp_has_the_type_that_the_topic_is_configured_for(
    client: dict[str, Any], conf: dict[str, str], kind: str, number: int
) -> None:
    topic = created(client, message_timestamp_type=kind)
    with closing(Transactions(client, conf, topic)) as writer:
        writer.commit(0, 1)
    table = pa.Table.from_batches(planned(client, topic).batches(Range(topic, 0, 0, 2)))
    assert table.column("timestampType").to_pylist() == [number] * 2
    stamps = {stamp // 1_000 for stamp in table.column("timestamp").cast("int64").to_pylist()}
    read = KafkaAvroSource(topic, client, conf).read([OffsetRange(0, 0, 2)])
    assert {message.timestamp for message in read} == stamps
    assert (stamps == {STAMP}) is (kind == "CreateTime")
    assert min(stamps) >= STAMP  # the broker's own clock is later
