"""Two streams in a process of their own, which kills itself at given places: what Spark runs, and the program.

The program reads a topic of orders and writes them to two topics by the data source: one at least once, the other in
transactions. Workers import this module too: it wraps the steps of a batch, so that a place can be reached in any
process of Spark. Whichever process reaches the planned place kills the driver, its JVM and itself with SIGKILL.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource

from pyspark_streamnative_kafka import DefaultSource
from streamnative_serdes.spark.datasource import sink_messages, transactions, writing
from streamnative_serdes.spark.stream import KAFKA_COLUMNS, Origin, StreamReader

FOLDER = Path(os.environ.get("KILLED_QUERIES", "."))

BEFORE_OFFSETS = "before the offset log"
INSIDE = "inside a task, rows sent and not committed"
AFTER_TASK = "after a task's commit, before Spark knows"
BEFORE_COMMITS = "between the sink's commit and the commit log"
PLACES = (INSIDE, BEFORE_COMMITS, AFTER_TASK, BEFORE_OFFSETS)


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


def _wrap_the_sink() -> None:
    send, commit, report = sink_messages.MessageBatches.send, transactions.Transaction.commit, writing.report

    @wraps(send)
    def sent(self: Any, batch: Any) -> None:
        send(self, batch)
        if not isinstance(self._out, transactions._TransactionalOutbox):
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
    writing.report = reported


_wrap_the_sink()


class KilledSink(DefaultSource):
    """The data source, in processes that have imported this module."""

    @classmethod
    def name(cls) -> str:
        return "killed-sink"


class _Reader(StreamReader):
    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:
        latest = super().latestOffset(start, limit)
        reach(BEFORE_OFFSETS, "both")
        return latest


class KilledTopic(DataSource):
    """The topic to read."""

    @classmethod
    def name(cls) -> str:
        return "killed-topic"

    def schema(self) -> str:
        return KAFKA_COLUMNS

    def streamReader(self, schema: Any) -> StreamReader:
        kafka = {"bootstrap.servers": self.options["servers"], "reconnect.backoff.max.ms": 500, "log_level": 0}
        return _Reader(Origin(kafka, self.options["topic"], "earliest", int(self.options["most"])))


def main(given: dict[str, Any]) -> None:
    """Run both streams until everything in the topic is written."""
    from streamnative_serdes.spark import decode_df
    from streamnative_serdes.spark.session import local_session

    conf = {"schema.registry.url": given["registry"]}
    with local_session("killed", cores="2") as spark:
        spark.dataSource.register(KilledSink)
        spark.dataSource.register(KilledTopic)
        told = {name: given[name] for name in ("servers", "topic", "most")}
        messages = spark.readStream.format("killed-topic").options(**told).load()
        orders = decode_df(messages, conf, topic=given["topic"], schema=given["schema"])
        queries = [
            orders.writeStream.format("killed-sink")
            .options(**{"kafka.bootstrap.servers": given["servers"], "kafka.log_level": "0", **conf})
            .options(topic=target, delivery=delivery, dedupHeaders="true", schema=given["schema"])
            .option("kafka.reconnect.backoff.max.ms", "500")
            .option("checkpointLocation", str(FOLDER / delivery))
            .start()
            for delivery, target in given["targets"].items()
        ]
        for query in queries:
            query.processAllAvailable()
            query.stop()


def _arguments() -> Iterator[str]:
    yield from sys.argv[1:]


if __name__ == "__main__":
    import killed_queries  # by the name under which workers import it

    killed_queries.main(json.loads(next(_arguments())))
