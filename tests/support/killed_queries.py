"""Three streams in a process of their own, which kills itself at given places: what Spark runs, and the program.

The program reads a topic of orders by the data source, and writes them to two topics by it: one at least once, the
other in transactions. The third stream notes which offsets each of its batches has. Workers import this module too: it
wraps the steps of a batch, so that a place can be reached in any process of Spark. Whichever process reaches the
planned place kills the driver, its JVM and itself with SIGKILL.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from pyspark_streamnative_kafka import DefaultSource
from streamnative_serdes.spark.datasource.reading.columns import Plan
from streamnative_serdes.spark.datasource.reading.stream import StreamReader
from streamnative_serdes.spark.datasource.writing import sink_messages, transactions, writers
from streamnative_serdes.spark.datasource.writing.outbox import Outbox

FOLDER = Path(os.environ.get("KILLED_QUERIES", "."))

BEFORE_OFFSETS = "before the offset log"
INSIDE = "inside a task, rows sent and not committed"
AFTER_TASK = "after a task's commit, before Spark knows"
BEFORE_COMMITS = "between the sink's commit and the commit log"
READING = "inside a task, some messages read"
# In turns; 20 kills are at least 5 inside tasks, and 5 at each other place.
PLACES = (INSIDE, BEFORE_COMMITS, AFTER_TASK, BEFORE_OFFSETS, READING, BEFORE_COMMITS, AFTER_TASK, BEFORE_OFFSETS)


def reach(place: str, of: str) -> None:
    """Note that a process is at this place; it dies here if that is the plan, along with the driver."""
    plan = FOLDER / "plan"
    try:
        planned, times = plan.read_text().split("\n")
    except FileNotFoundError:
        return
    if planned != place:
        return
    with (FOLDER / "reached").open("ab") as reached:
        reached.write(b".")
        if reached.tell() < int(times):
            return
    try:
        plan.rename(FOLDER / "done")
    except FileNotFoundError:
        return  # another process was here first
    with (FOLDER / "kills").open("a") as kills:
        kills.write(f"{place}: {of}\n")
    os.killpg(int((FOLDER / "group").read_text()), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class InTransaction(Outbox):
    """The outbox of a transaction."""


def _wrap_the_sink() -> None:
    transactions.Outbox = InTransaction  # type: ignore[misc]
    send, commit, report = sink_messages.MessageBatches.send, transactions.Transaction.commit, writers.report

    @wraps(send)
    def sent(self: Any, batch: Any) -> None:
        send(self, batch)
        if not isinstance(self._out, InTransaction):
            self._out.flush()
            reach(INSIDE, "at least once")

    @wraps(commit)
    def committed(self: Any, *given: Any) -> None:
        self.out.flush()
        reach(INSIDE, "transactional")
        commit(self, *given)
        reach(AFTER_TASK, "transactional")

    @wraps(report)
    def reported(sent: Any, batch: Any) -> None:
        report(sent, batch)
        reach(BEFORE_COMMITS, f"batch {batch}")

    sink_messages.MessageBatches.send = sent  # type: ignore[method-assign]
    transactions.Transaction.commit = committed  # type: ignore[method-assign]
    writers.report = reported


def _wrap_the_source() -> None:
    latest, batches = StreamReader.latestOffset, Plan.batches

    @wraps(latest)
    def latest_offset(self: Any, start: Any = None, limit: Any = None) -> dict[str, Any]:
        found = latest(self, start, limit)
        reach(BEFORE_OFFSETS, "any")
        return found

    @wraps(batches)
    def read(self: Any, span: Any) -> Iterator[Any]:
        for batch in batches(self, span):
            yield batch
            reach(READING, f"partition {span.partition}")

    StreamReader.latestOffset = latest_offset  # type: ignore[method-assign]
    Plan.batches = read  # type: ignore[method-assign]


if "KILLED_QUERIES" in os.environ:  # the program and its workers; not the tests, which import the places
    _wrap_the_sink()
    _wrap_the_source()


class Killed(DefaultSource):
    """The data source, in processes that have imported this module."""

    @classmethod
    def name(cls) -> str:
        return "killed"


def note_offsets(df: DataFrame, batch: int) -> None:
    """A sink that knows batches: one file for each, which a repeated batch replaces."""
    rows = sorted((row.topic, row.partition, row.offset) for row in df.select("topic", "partition", "offset").collect())
    draft = FOLDER / "draft"
    draft.write_text(json.dumps(rows))
    folder = FOLDER / "batches"
    folder.mkdir(exist_ok=True)
    draft.rename(folder / f"{batch}.json")
    reach(BEFORE_COMMITS, f"batch {batch}, read")


def started(writer: DataStreamWriter) -> StreamingQuery:
    """Start a query, and wait for its source: Spark gives a worker ten seconds to start, too few for three at once."""
    query = writer.start()
    while query.isActive and query.status["message"].startswith("Initializing"):
        time.sleep(0.1)
    return query


def main(given: dict[str, Any]) -> None:
    """Run both streams until everything in the topic is written."""
    from streamnative_serdes.spark import decode_df
    from streamnative_serdes.spark.session import local_session

    conf = {"schema.registry.url": given["registry"]}
    with local_session("killed", cores="2") as spark:
        spark.dataSource.register(Killed)
        client = {"kafka.bootstrap.servers": given["servers"], "kafka.log_level": "0"}
        client["kafka.reconnect.backoff.max.ms"] = "500"
        told = {"subscribe": given["topic"], "startingOffsets": "earliest", "maxOffsetsPerTrigger": given["most"]}
        messages = spark.readStream.format("killed").options(**client, **told).load()
        orders = decode_df(messages, conf, topic=given["topic"], schema=given["schema"])
        queries = [
            started(
                orders.writeStream.format("killed")
                .options(**client, **conf, topic=target, delivery=delivery, dedupHeaders="true", schema=given["schema"])
                .option("encode", "columns")
                .option("checkpointLocation", str(FOLDER / delivery))
            )
            for delivery, target in given["targets"].items()
        ]
        reading = messages.writeStream.foreachBatch(note_offsets)
        queries.append(started(reading.option("checkpointLocation", str(FOLDER / "reading"))))
        for query in queries:
            query.processAllAvailable()
            query.stop()


def _arguments() -> Iterator[str]:
    yield from sys.argv[1:]


if __name__ == "__main__":
    import killed_queries  # by the name under which workers import it

    killed_queries.main(json.loads(next(_arguments())))
