"""A cluster whose machines do not have this package: an archive with a virtual environment travels with the job.

    python -m venv packed
    packed/bin/pip install ".[arrow]" "pandas<3" venv-pack    # in the checkout; the cluster has PySpark
    packed/bin/venv-pack -o environment.tar.gz
    mkdir environment && tar -xzf environment.tar.gz -C environment
    PYSPARK_PYTHON=./environment/bin/python python examples/spark_cluster.py environment.tar.gz

Spark unpacks the archive in the working folder of each executor, as ``environment``. The driver's working folder needs
it too, because Spark plans with that Python. This program starts a cluster of two executors on this machine, each of
them a process with a folder of its own. For another cluster, leave out ``master``; docs/spark-clusters.md has the rest.
"""

import os
import sys
from contextlib import ExitStack

from pyspark.sql import SparkSession

from streamnative_serdes.spark.datasource import register
from streamnative_serdes.spark.session.java import java_home
from streamnative_serdes.testing import LocalRegistry, MockBroker

FORMAT, TOPIC = "streamnative-kafka", "orders"
ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "total", "type": "double"}]}"""


def cluster(archive: str) -> SparkSession:
    """A session whose executors run the Python of the archive."""
    os.environ.setdefault("JAVA_HOME", str(java_home()))
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("cluster")
    options = {
        "spark.archives": f"{archive}#environment",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    register(session)  # tasks of a source that Spark finds itself run PYSPARK_DRIVER_PYTHON, if that is set
    return session


def run(spark: SparkSession, brokers: str, registry: str) -> None:
    client = {"kafka.bootstrap.servers": brokers, "schema.registry.url": registry}
    orders = spark.sql("select id, double(id) / 4 total from range(1000)")
    to = {**client, "topic": TOPIC, "encode": "columns", "schema": ORDER}
    orders.write.format(FORMAT).options(**to).mode("append").save()

    found = spark.read.format(FORMAT).options(**client, subscribe=TOPIC, decode="true").load()
    row = found.selectExpr("count(*) rows", "sum(total) total").first()
    assert row is not None
    print(f"{row.rows} orders of {row.total:.2f}")
    tasks = spark.sparkContext.parallelize(range(4), 4)
    for python in sorted(set(tasks.map(lambda _: sys.executable[-len("environment/bin/python") :]).collect())):
        print("tasks were run by", python)


def main(archive: str, *addresses: str) -> None:
    with ExitStack() as stack:
        spark = stack.enter_context(cluster(archive))
        if addresses:
            brokers, registry = addresses
        else:
            brokers = stack.enter_context(MockBroker({TOPIC: 4})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        run(spark, brokers, registry)
        spark.stop()  # must come before the broker is closed


if __name__ == "__main__":
    main(*sys.argv[1:])
