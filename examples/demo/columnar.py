"""Columnar round trip: the demo job with encode_df and decode_df, which create no Python object per flight."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from pyspark.accumulators import Accumulator
from pyspark.sql import Row

from streamnative_serdes.spark.datasource.writing.outbox import outbox
from streamnative_serdes.spark.frames.frames import decode_df, encode_df

from .flights import FLIGHT_SCHEMA, with_epoch
from .round_trip import RoundTrip, Stage
from .tasks import DigestTask, Tally, task_number


@dataclass(frozen=True, slots=True)
class ProduceTask:
    """A task that sends serialized messages to the partitions in turn."""

    kafka: Mapping[str, Any]
    topic: str
    partitions: int
    total: Accumulator[Tally]

    def __call__(self, rows: Iterable[Row]) -> None:
        sent, turn = 0, count(task_number())
        with outbox(self.kafka, self.topic) as out:
            for (value,) in rows:
                out.send(bytes(value), partition=next(turn) % self.partitions)
                sent += 1
        self.total.add(Tally(sent))


class ColumnarRoundTrip(RoundTrip):
    """Like RoundTrip. Reads twice: once at full speed to measure the rate, once row by row for the checksum."""

    def write(self, starts: Sequence[int], rows: int) -> Stage:
        to, total = self.to, self.accumulator()
        encoded = encode_df(self.flights, to.registry, topic=to.topic, schema=FLIGHT_SCHEMA)
        task = ProduceTask(to.kafka, to.topic, len(starts), total)
        began = time.perf_counter()
        with self.watched("writing", rows, lambda: sum(self.ends(len(starts))) - sum(starts)):
            encoded.foreachPartition(task)
        return Stage(total.value, time.perf_counter() - began, "from the CSV through columns to the last flush")

    def read(self, starts: Sequence[int]) -> Stage:
        to, total = self.to, self.accumulator()
        client = {f"kafka.{name}": str(value) for name, value in to.kafka.items()}
        offsets = json.dumps({to.topic: {str(number): start for number, start in enumerate(starts)}})
        reader = self.spark.read.format("streamnative-kafka").options(**client, subscribe=to.topic)
        messages = reader.option("startingOffsets", offsets).load()
        decoded = decode_df(messages, to.registry, topic=to.topic, schema=FLIGHT_SCHEMA)
        began = time.perf_counter()
        decoded.write.format("noop").mode("overwrite").save()
        seconds = time.perf_counter() - began
        with self.watched("reading", sum(self.ends(len(starts))) - sum(starts), lambda: total.value.rows):
            with_epoch(decoded).foreachPartition(DigestTask(total))
        return Stage(total.value, seconds, "from the first fetch to the last column")
