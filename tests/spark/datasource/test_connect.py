"""Spark Connect: what reads topics works in a session of ``remote("local[2]")`` as in a classic one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
pytest.importorskip("grpc_status", reason="Spark Connect's packages are not installed: pip install 'pyspark[connect]'")

import streamnative_serdes
from streamnative_serdes.testing import LocalRegistry, MockBroker

SECONDS = 600
SECRET = "c4n4ryInTheCoalMine"
PROGRAM = '''
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from streamnative_serdes.spark.java import java_home
os.environ["JAVA_HOME"] = str(java_home())
from pyspark.sql import SparkSession
from streamnative_serdes.spark import KafkaAvroSource, decode_df, encode_df, to_avro_schema
from streamnative_serdes.spark.datasource import register

servers, url, folder = sys.argv[1:]
conf, kafka = {"schema.registry.url": url}, {"bootstrap.servers": servers, "log_level": 0}
found = {}
spark = SparkSession.builder.remote("local[2]").getOrCreate()
register(spark)
client = {"kafka.bootstrap.servers": servers, "kafka.log_level": "0", "kafka.sasl.password": "env:CONNECT_SECRET"}
given = {**client, "subscribe": "orders", "decode": "true", **conf}


def stream(df, name):
    """The ids that a stream writes to a file, from its checkpoint."""
    writer = df.writeStream.format("json").option("path", f"{folder}/{name}")
    query = writer.option("checkpointLocation", f"{folder}/{name}-checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    return sorted(row.id for row in spark.read.json(f"{folder}/{name}").collect())


try:
    rows = spark.range(40)
    encoded = encode_df(rows, conf, topic="orders", schema=to_avro_schema(rows.schema))
    encoded.write.format("streamnative-kafka").options(**client, topic="orders").mode("append").save()
    df = spark.read.format("streamnative-kafka").options(**given, keep="offset").load()
    found["batch"] = sorted(row.id for row in df.collect())
    raw = spark.read.format("streamnative-kafka").options(**client, subscribe="orders").load()
    found["decode_df"] = sorted(row.id for row in decode_df(raw, conf, topic="orders").collect())
    reader = spark.readStream.format("streamnative-kafka").options(**given, startingOffsets="earliest")
    found["stream"] = stream(reader.load(), "a")
    source = KafkaAvroSource("orders", kafka, conf)
    loaded = source.load(spark, source.ranges())
    found["load"] = sorted(row.id for row in decode_df(loaded, conf, topic="orders").collect())
    found["streamed"] = stream(decode_df(source.stream(spark), conf, topic="orders"), "b")
    try:
        spark.read.format("streamnative-kafka").options(**client, subscribe="orderz").load().collect()
    except Exception as error:
        found["error"] = str(error)
    print("FOUND " + json.dumps(found))
finally:
    spark.stop()
'''


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program found, in a process of its own: a process has either kind of session."""
    folder = tmp_path_factory.mktemp("connect")
    home = str(Path(streamnative_serdes.__file__).parents[1])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "CONNECT_SECRET": SECRET}
    with LocalRegistry() as registry, MockBroker({"orders": 4}) as broker:
        command = [sys.executable, "-c", PROGRAM, broker.bootstrap_servers, registry.url, str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, cwd=folder)
    lines = [line for line in done.stdout.splitlines() if "FOUND " in line]
    assert lines, done.stdout[-2000:] + done.stderr[-4000:]
    return {**json.loads(lines[-1].partition("FOUND ")[2]), "said": done.stdout + done.stderr}


@pytest.mark.parametrize("what", ["batch", "decode_df", "stream", "load", "streamed"])
def test_topics_are_read_in_a_connect_session(found: dict[str, Any], what: str) -> None:
    assert found[what] == list(range(40))


def test_errors_come_from_the_driver_and_show_no_secret(found: dict[str, Any]) -> None:
    assert "topic orderz: the topic does not exist" in found["error"]
    assert SECRET not in found["said"]
    assert "Spark Connect has written" not in found["said"]
