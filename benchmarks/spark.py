"""The command of `make bench-spark`: DataFrames to and from messages, compared with what Spark allows.

python benchmarks/spark.py                     tables and goals: 1,000,000 rows, 7 rounds
python benchmarks/spark.py --quick             the same in a minute, less precise
python benchmarks/spark.py --shares            only decode_df, encode_df and their ceilings, in 15 rounds
python benchmarks/spark.py --write-docs        also write the page and its chart

Each job runs on local[2], from a parquet file of two partitions. The ceilings are tasks with the same input and output
as ours that do no work: they return slices of batches that were made beforehand.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import spark_tasks
from harness import DOCS, Goal, Job, Results, judged, measure, options, versions, write_docs
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from spark_data import DATA_SOURCE, heading, job_table, noop, same, trades, write
from spark_tasks import SCHEMA, TOPIC, Produce, Ready, fastavro_decoded, fastavro_encoded, loop_only

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.spark import KafkaAvroSink, decode_df, encode_df
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

cloudpickle.register_pickle_by_value(spark_tasks)  # type: ignore[no-untyped-call]
CHECKED = 10_000  # rows that are read back to check the sink
CEILING, FASTAVRO, LOOP, COLUMNS, ROWS = "ceiling", "fastavro", "loop only", "sink in columns", "sink in rows"
# Group, ours, peer, and how many times as fast ours is at least.
GOALS = (
    ("decode", "decode_df", CEILING, 0.85),
    ("decode", "decode_df", FASTAVRO, 4.5),
    ("encode", "encode_df", CEILING, 0.85),
    ("encode", "encode_df", FASTAVRO, 3.5),
    (ROWS, "foreach_partition", CEILING, 0.80),
    (COLUMNS, "write", CEILING, 0.80),
    (COLUMNS, "write", FASTAVRO, 3.0),
)
NAMES = {"decode": "messages to columns", "encode": "columns to messages"}
NAMES |= {COLUMNS: "columns to a topic", ROWS: "rows to a topic"}


def sending(df: DataFrame, task: Callable[[Any], Iterator[pa.RecordBatch]]) -> Callable[[], object]:
    return lambda: df.mapInArrow(task, "nothing int").collect()


def packed(batch: pa.RecordBatch) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(out.getvalue())


def jobs(spark: SparkSession, folder: Path, conf: dict[str, str], brokers: str, rows: int) -> Iterator[Job]:
    batch, serializer = trades(rows), KafkaAvroSerializer(conf, SCHEMA)
    messages = pa.RecordBatch.from_arrays([serializer.serialize_batch(TOPIC, batch)], ["value"])
    columns = spark.read.parquet(write(folder / "columns", batch))
    framed = spark.read.parquet(write(folder / "messages", messages))
    size = int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") or 0)
    decoded, encoded = decode_df(framed, conf, topic=TOPIC), encode_df(columns, conf, topic=TOPIC)
    theirs = framed.mapInArrow(fastavro_decoded, decoded.schema), columns.mapInArrow(fastavro_encoded, "value binary")
    sink = KafkaAvroSink(TOPIC, {"bootstrap.servers": brokers}, conf, SCHEMA)
    for found, expected in ((decoded, columns), (theirs[0], columns), (encoded, framed), (theirs[1], framed)):
        same(found, expected)
    check_sink(spark, sink, conf, brokers, columns.limit(CHECKED))
    bare = Produce(brokers, messages.column(0)[0].as_py())
    ready = framed.mapInArrow(Ready(packed(batch.slice(0, size))), decoded.schema)
    ready_messages = columns.mapInArrow(Ready(packed(messages.slice(0, size))), "value binary")
    works: dict[tuple[str, str], Callable[[], object]] = {
        ("decode", CEILING): noop(ready),
        ("decode", "decode_df"): noop(decoded),
        ("decode", FASTAVRO): noop(theirs[0]),
        ("encode", CEILING): noop(ready_messages),
        ("encode", "encode_df"): noop(encoded),
        ("encode", FASTAVRO): noop(theirs[1]),
        (COLUMNS, CEILING): sending(columns, bare.batches),
        (COLUMNS, "write"): lambda: sink.write(columns),
        (COLUMNS, FASTAVRO): sending(columns, bare.fastavro),
        (ROWS, LOOP): lambda: columns.foreachPartition(loop_only),
        (ROWS, CEILING): lambda: columns.foreachPartition(bare.rows),
        (ROWS, "foreach_partition"): lambda: columns.foreachPartition(sink.foreach_partition),
    }
    yield from (Job(key, work, rows, clock=time.perf_counter) for key, work in works.items())


def check_sink(spark: SparkSession, sink: KafkaAvroSink, conf: dict[str, str], brokers: str, rows: DataFrame) -> None:
    """With few rows: the broker inside this process keeps only 5 MB per partition."""
    sink.write(rows.persist())
    reading = {**conf, "kafka.bootstrap.servers": brokers, "subscribe": TOPIC, "decode": "true"}
    found = spark.read.format(DATA_SOURCE).options(**reading).load().persist()
    same(found, rows)


def chart(cells: Results) -> str:
    """Bars of rows per second."""
    from chart import COLOURS, GREY, LIGHT, Bars, svg

    keys, groups = [key for key in cells if key[1] != LOOP], list(NAMES)
    places = [number + groups.index(group) * 0.6 for number, (group, _) in enumerate(keys)]
    ours = {group: COLOURS["deserialize" if group == "decode" else "serialize"] for group in groups}
    colours = [{CEILING: LIGHT, FASTAVRO: GREY}.get(name, ours[group]) for group, name in keys]
    rates = [1e6 / cells[key].ns for key in keys]
    labels = [f"{NAMES[group]}: {'what Spark allows' if name == CEILING else name}" for group, name in keys]
    title = f"Thousands of rows per second, {versions('pyspark').replace('pys', 'PyS')} on two cores"
    return svg(title, places, labels, [Bars(places, rates, [f"{rate:,.0f}" for rate in rates], colours)], 0.8)


def main() -> int:
    parser = options(__doc__, None, "--quick", "--write-docs", "--check")
    parser.add_argument("--rows", type=int, help="default: 1,000,000, with --quick 100,000")
    parser.add_argument("--rounds", type=int, help="default: 7, with --quick 3")
    parser.add_argument("--shares", action="store_true", help="only decode_df, encode_df and their ceilings")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    chosen = parser.parse_args()
    rows = chosen.rows or (100_000 if chosen.quick else 1_000_000)
    rounds = chosen.rounds or (3 if chosen.quick else 15 if chosen.shares else 7)
    with (
        tempfile.TemporaryDirectory() as folder,
        local_session("bench-spark", cores="2") as spark,
        LocalRegistry() as registry,
        MockBroker({TOPIC: 4}) as broker,
    ):
        made = jobs(spark, Path(folder), {"schema.registry.url": registry.url}, broker.bootstrap_servers, rows)
        left_out = (FASTAVRO, COLUMNS, ROWS) if chosen.shares else ()
        cells = measure((job for job in made if not {*job.key} & {*left_out}), rounds, warm_up=1)
        spark.stop()  # must come before the broker is closed
    found = {goal[:3]: cells.times((goal[0], goal[2]), goal[:2]) for goal in GOALS}
    times = {goal: ratio for goal, ratio in found.items() if ratio is not None}
    print(heading(rows, rounds), job_table(cells, rows), sep="\n")
    goals = [
        Goal(f"{goal[1]} >= {goal[3]:g}x {goal[0]} {goal[2]}", times[goal[:3]], goal[3])
        for goal in GOALS
        if goal[:3] in times
    ]
    status = judged(goals, check=chosen.check)
    if chosen.json:
        seconds = {": ".join(key): [ns * rows / 1e9 for ns in job.rounds] for key, job in cells.items()}
        chosen.json.write_text(json.dumps(seconds, indent=1))
    if chosen.write_docs:
        shares = ", ".join(f"{ours} {got:.0%}" for (_, ours, peer), got in times.items() if peer == CEILING)
        others = ", ".join(f"{ours} {got:.1f}" for (_, ours, peer), got in times.items() if peer == FASTAVRO)
        summary = f"Share of what Spark allows: {shares}. Times as fast as fastavro: {others}."
        text = "\n".join([job_table(cells, rows), "", summary, "", heading(rows, rounds)])
        write_docs(DOCS / "spark-performance.md", text)
        (DOCS / "benchmark-spark.svg").write_text(chart(cells))
    return status


if __name__ == "__main__":
    sys.exit(main())
