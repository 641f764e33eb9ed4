"""Read the log segments of a Kafka broker's topic with Spark, without the broker: old data, copies, tiered storage.

    python examples/spark_segments.py [FOLDER SCHEMA_REGISTRY_URL]

FOLDER is a broker's log.dirs, or a copy of it, with a folder for each partition of the topic: orders-0, orders-1, and
so on. All workers have to see it. Without arguments, the program writes such segments and starts an embedded registry.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.converters import Message, read_segment_batches, write_record_batch
from streamnative_serdes.spark import decode_df
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry

TOPIC = "orders"
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "cents", "type": "int"}],
}
# Those of Spark's own Kafka source.
COLUMNS = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


def write(folder: Path, conf: dict[str, str]) -> None:
    """Write what a broker would have stored: four partitions with two segments each."""
    serializer = KafkaAvroSerializer(conf, ORDER)
    for number in range(8):
        orders = [{"id": order, "cents": 100 + order} for order in range(number, 1000, 8)]
        first = number % 2 * len(orders)
        messages = [
            Message(serializer.serialize(TOPIC, order), timestamp=1_767_225_600_000, offset=first + place)
            for place, order in enumerate(orders)
        ]
        partition = folder / f"{TOPIC}-{number // 2}"
        partition.mkdir(exist_ok=True)
        (partition / f"{first:020}.log").write_bytes(write_record_batch(messages))


def read(partitions: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the messages of partitions, each given by its folder. The segments of one are read together, in order."""
    for folders in partitions:
        for folder in folders["folder"].to_pylist():
            segments = sorted(Path(folder).glob("*.log"))
            # The broker may still write to the last segment: partial=True leaves out what is not complete.
            yield from read_segment_batches(*segments, isolation="read_committed", partial=True)


def run(spark: SparkSession, folder: Path, registry: str) -> None:
    partitions = [(str(path),) for path in sorted(folder.glob(f"{TOPIC}-*"))]
    listed = spark.createDataFrame(partitions, "folder string").repartition(len(partitions), "folder")
    messages = listed.mapInArrow(read, COLUMNS)
    orders = decode_df(messages, {"schema.registry.url": registry}, topic=TOPIC)
    count, cents = orders.selectExpr("count(*)", "sum(cents)").collect()[0]
    print(f"{count} orders of {cents} cents in {len(partitions)} partitions")


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        spark = stack.enter_context(local_session("segments"))
        if arguments:
            folder, registry = Path(arguments[0]), arguments[1]
        else:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            registry = stack.enter_context(LocalRegistry()).url
            write(folder, {"schema.registry.url": registry})
        run(spark, folder, registry)


if __name__ == "__main__":
    main(sys.argv[1:])
