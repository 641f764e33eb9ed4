"""Literal secrets in the options of a classic session show nowhere: not in plans, the event log, checkpoint or errors.

The options are two that Spark's own redaction does not know, which goes by names such as `password`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from spark_topics import send

import streamnative_serdes
from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry, MockBroker

SECONDS = 600
CANARY = "c4n4ryInTheCoalMine"
PROGRAM = """
import os, sys
import pyspark
from pyspark.sql import SparkSession
from streamnative_serdes.spark.session.java import java_home

servers, url, folder = sys.argv[1:]
os.environ["JAVA_HOME"] = str(java_home())
os.environ["PYSPARK_PYTHON"] = sys.executable
os.mkdir(f"{folder}/events")
conf = {
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{folder}/events", "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.local.dir": f"{folder}/local",
    "spark.eventLog.compress": "false", "spark.sql.warehouse.dir": f"{folder}/warehouse",
}
builder = SparkSession.builder.master("local[1]")
for key, value in conf.items():
    builder = builder.config(key, value)
with builder.getOrCreate() as spark:
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=u password="
    jaas += os.environ["CANARY"]
    given = {
        "kafka.bootstrap.servers": servers, "kafka.log_level": "0", "kafka.sasl.jaas.config": jaas + ";",
        "schema.registry.url": url, "basic.auth.user.info": "me:" + os.environ["CANARY"],
        "subscribe": "orders", "decode": "true",
    }
    df = spark.read.format("streamnative-kafka").options(**given).load()
    df.explain(True)
    print("ROWS", df.count(), df._jdf.queryExecution().toString())
    for wrong in ({"subscribe": "orderz"}, {"columns": "x"}, {"kafka.nothing": "1"}, {"startingOffsets": "latest"}):
        try:
            spark.read.format("streamnative-kafka").options(**{**given, **wrong}).load().collect()
        except Exception as error:
            print("ERROR", error)
    stream = spark.readStream.format("streamnative-kafka").options(**given, startingOffsets="earliest").load()
    query = stream.writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint")
    query = query.trigger(availableNow=True).start()
    query.awaitTermination()
    query.explain(True)
    print("PROGRESS", query.lastProgress)
    to = {name: value for name, value in given.items() if name not in ("subscribe", "decode")}
    to |= {"topic": "out", "encode": "columns", "schema": os.environ["RECORD"]}
    rows = spark.range(3)
    rows.write.format("streamnative-kafka").options(**to).mode("append").save()
    for wrong in ({"schema": "x"}, {"delivery": "x"}, {"kafka.acks": "0"}):
        try:
            rows.write.format("streamnative-kafka").options(**{**to, **wrong}).mode("append").save()
        except Exception as error:
            print("REFUSED", error)
    spark.range(5).write.parquet(f"{folder}/rows")
    stream = spark.readStream.schema("id long").parquet(f"{folder}/rows")
    query = stream.writeStream.format("streamnative-kafka").options(**to, dedupHeaders="true")
    query = query.option("checkpointLocation", f"{folder}/checkpoint2").trigger(availableNow=True).start()
    query.awaitTermination()
    if pyspark.__version__ > "4.1":  # before, Spark shows the options of a stream's sink here
        query.explain(True)
    print("WRITTEN", query.lastProgress)
"""


def test_literal_secrets_show_nowhere(tmp_path: Path) -> None:
    home = str(Path(streamnative_serdes.__file__).parents[1])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    record = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
    environment = {**os.environ, "PYTHONPATH": path, "CANARY": CANARY, "RECORD": record}
    with LocalRegistry() as registry, MockBroker({"orders": 1, "out": 1}) as broker:
        value = KafkaAvroSerializer({"schema.registry.url": registry.url}, "long").serialize("orders", 1)
        send({"bootstrap.servers": broker.bootstrap_servers}, "orders", value)
        command = [sys.executable, "-c", PROGRAM, broker.bootstrap_servers, registry.url, str(tmp_path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "ROWS 1" in done.stdout
    assert done.stdout.count("\nERROR ") == 4
    assert done.stdout.count("\nREFUSED ") == 3
    assert "PROGRESS" in done.stdout
    assert "WRITTEN" in done.stdout
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("events" in path.parts and b"SparkListenerJobStart" in path.read_bytes() for path in files)
    assert any("checkpoint" in path.parts and b"streamnative-kafka" in path.read_bytes() for path in files)
    assert [str(path) for path in files if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in done.stdout + done.stderr
