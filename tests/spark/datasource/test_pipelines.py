"""``pyspark.pipelines.create_sink`` with the data source: a pipeline reads a topic, and writes another one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark.pipelines", reason="PySpark has pipelines from 4.1 on")
pytest.importorskip("yaml", reason="PyYAML is not installed: pip install 'pyspark[pipelines]'")
pytest.importorskip("grpc_status", reason="Spark Connect's packages are not installed: pip install 'pyspark[connect]'")

import pyspark
from orders import messages_of
from spark_topics import send

import streamnative_serdes
from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.spark.session.java import java_home
from streamnative_serdes.testing import LocalRegistry, MockBroker

SECONDS = 600
ROWS = 20
RECORD = '{"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}'
SPEC = """\
name: orders
storage: file://{folder}/storage
libraries: [{{glob: {{include: flows/**}}}}]
"""
FLOWS = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

client = {client!r}
dp.create_sink("large", "streamnative-kafka", {{**client, "topic": "large", "encode": "columns", "schema": {schema!r}}})


@dp.append_flow(target="large")
def large():
    reader = SparkSession.active().readStream.format("streamnative-kafka")
    given = {{**client, "subscribe": "orders", "startingOffsets": "earliest", "decode": "true"}}
    return reader.options(**given).load().where("id >= 10")
"""


def test_a_pipeline_reads_a_topic_and_writes_to_a_sink(tmp_path: Path) -> None:
    home = str(Path(streamnative_serdes.__file__).parents[1])
    with LocalRegistry() as registry, MockBroker({"orders": 1, "large": 1}) as broker:
        conf = {"schema.registry.url": registry.url}
        kafka, serializer = {"bootstrap.servers": broker.bootstrap_servers}, KafkaAvroSerializer(conf, RECORD)
        send(kafka, "orders", *(serializer.serialize("orders", {"id": number}) for number in range(ROWS)))
        client = {"kafka.bootstrap.servers": broker.bootstrap_servers, "kafka.log_level": "0", **conf}
        (tmp_path / "flows").mkdir()
        (tmp_path / "flows" / "orders.py").write_text(FLOWS.format(client=client, schema=RECORD))
        (tmp_path / "spark-pipeline.yml").write_text(SPEC.format(folder=tmp_path))
        told = {
            "JAVA_HOME": str(java_home()),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_TESTING": "1",  # a port of its own for the Connect server
            "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")])),
        }
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-pipelines"), "run"]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **told}, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        read = KafkaAvroDeserializer(conf)
        found = [read.deserialize("large", message.value()) for message in messages_of(kafka, "large")]
        assert found == [{"id": number} for number in range(10, ROWS)]
