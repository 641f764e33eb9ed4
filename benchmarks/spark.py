"""The command of `make bench-spark`: DataFrames to and from messages, compared with what Spark allows.

python benchmarks/spark.py                     tables and goals: 1,000,000 rows, 7 rounds
python benchmarks/spark.py --quick             the same in about a minute, less precise
python benchmarks/spark.py --write-docs        also write the table in docs/spark.md, and its chart

Each job runs on local[2], from a parquet file of two partitions. The ceilings are tasks with the same input and output
as ours that do no work: they return slices of batches that were made beforehand. In each round, jobs of one direction
follow each other in shuffled order. Results are only compared within a round.
"""

from __future__ import annotations

import argparse
import datetime as dt
import io
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import spark_tasks
from pages import DOCS, write_docs
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from spark_tasks import SCHEMA, TOPIC, Produce, Ready, fastavro_decoded, fastavro_encoded, loop_only

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource, decode_df, encode_df
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

cloudpickle.register_pickle_by_value(spark_tasks)  # type: ignore[no-untyped-call]
PARTITIONS = 4
CHECKED = 10_000  # number of rows that are read back to check the sink


def text(values: Any) -> pa.Array:
    """Text of numpy in one array, of which pyarrow makes several chunks beyond two million rows."""
    found = pa.array(values)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def columns(rows: int) -> pa.RecordBatch:
    """Random trades, identical in every run."""
    source = np.random.default_rng(0)
    millis = np.datetime64("2026-01-01", "ms") + source.integers(0, 10**10, rows).astype("timedelta64[ms]")
    notes = text(np.char.add("note ", source.integers(0, 10**6, rows).astype(str)))
    return pa.RecordBatch.from_pydict(
        {
            "id": pa.array(source.integers(0, 2**40, rows)),
            "account": text(np.char.add("account-", source.integers(0, 10**8, rows).astype(str))),
            "symbol": text(source.choice(["NYSE:ABCD", "XETR:EFGH.DE", "LSE:IJ"], rows)),
            "side": text(source.choice(["BUY", "SELL", "HOLD"], rows)),
            "price": pa.array(source.uniform(0, 1e5, rows)),
            "weight": pa.array(source.uniform(0, 1, rows).astype(np.float32)),
            "quantity": pa.array(source.integers(-1000, 10**6, rows).astype(np.int32)),
            "open": pa.array(source.integers(0, 2, rows).astype(bool)),
            "at": pa.array(millis.astype("datetime64[us]"), pa.timestamp("us", "UTC")),
            "note": pa.compute.if_else(pa.array(source.random(rows) < 0.25), None, notes),
        }
    )


def write(folder: Path, table: pa.RecordBatch) -> Path:
    """Write ``table`` as two files, one per partition."""
    folder.mkdir()
    half = (table.num_rows + 1) // 2
    for number in range(2):
        pq.write_table(pa.table(table.slice(number * half, half)), folder / f"{number}.parquet")
    return folder


@dataclass
class Job:
    """``name`` is shown in the table; ``seconds`` has one time per round."""

    group: str
    name: str
    run: Callable[[], None]
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Goal:
    """``ours`` is at least ``least`` times as fast as ``peer``."""

    group: str
    ours: str
    peer: str
    least: float


CEILING, FASTAVRO, LOOP = "ceiling", "fastavro", "loop only"
GOALS = (
    Goal("decode", "decode_df", CEILING, 0.85),
    Goal("decode", "decode_df", FASTAVRO, 4.5),
    Goal("encode", "encode_df", CEILING, 0.85),
    Goal("encode", "encode_df", FASTAVRO, 3.5),
    Goal("sink in rows", "foreach_partition", CEILING, 0.80),
    Goal("sink in columns", "write", CEILING, 0.80),
    Goal("sink in columns", "write", FASTAVRO, 3.0),
)


def noop(df: DataFrame) -> Callable[[], None]:
    return lambda: df.write.format("noop").mode("overwrite").save()


def sending(df: DataFrame, task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> Callable[[], None]:
    def send() -> None:
        df.mapInArrow(task, "nothing int").collect()

    return send


def packed(batch: pa.RecordBatch) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(out.getvalue())


def jobs(spark: SparkSession, folder: Path, conf: dict[str, str], brokers: str, rows: int) -> list[Job]:
    table, serializer = columns(rows), KafkaAvroSerializer(conf, SCHEMA)
    messages = pa.RecordBatch.from_arrays([serializer.serialize_batch(TOPIC, table)], ["value"])
    trades = spark.read.parquet(str(write(folder / "columns", table)))
    framed = spark.read.parquet(str(write(folder / "messages", messages)))
    batch = int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") or 0)
    decoded = decode_df(framed, conf, topic=TOPIC)
    encoded = encode_df(trades, conf, topic=TOPIC)
    sink = KafkaAvroSink(TOPIC, {"bootstrap.servers": brokers}, conf, SCHEMA)
    same(decoded, trades)
    same(framed.mapInArrow(fastavro_decoded, decoded.schema), trades)
    same(encoded, framed)
    same(trades.mapInArrow(fastavro_encoded, "value binary"), framed)
    check_sink(spark, sink, conf, brokers, trades.limit(CHECKED))
    bare = Produce(brokers, messages.column(0)[0].as_py())
    ready_columns, ready_messages = Ready(packed(table.slice(0, batch))), Ready(packed(messages.slice(0, batch)))
    return [
        Job("decode", CEILING, noop(framed.mapInArrow(ready_columns, decoded.schema))),
        Job("decode", "decode_df", noop(decoded)),
        Job("decode", FASTAVRO, noop(framed.mapInArrow(fastavro_decoded, decoded.schema))),
        Job("encode", CEILING, noop(trades.mapInArrow(ready_messages, "value binary"))),
        Job("encode", "encode_df", noop(encoded)),
        Job("encode", FASTAVRO, noop(trades.mapInArrow(fastavro_encoded, "value binary"))),
        Job("sink in columns", CEILING, sending(trades, bare.batches)),
        Job("sink in columns", "write", lambda: sink.write(trades)),
        Job("sink in columns", FASTAVRO, sending(trades, bare.fastavro)),
        Job("sink in rows", LOOP, lambda: trades.foreachPartition(loop_only)),
        Job("sink in rows", CEILING, lambda: trades.foreachPartition(bare.rows)),
        Job("sink in rows", "foreach_partition", lambda: trades.foreachPartition(sink.foreach_partition)),
    ]


def same(found: DataFrame, expected: DataFrame) -> None:
    """Assert equal rows, each the same number of times, so that no wrong result is timed."""
    assert found.exceptAll(expected).isEmpty()
    assert expected.exceptAll(found).isEmpty()


def check_sink(spark: SparkSession, sink: KafkaAvroSink, conf: dict[str, str], brokers: str, rows: DataFrame) -> None:
    """Check the sink with few rows: the broker inside this process keeps only 5 MB per partition."""
    source = KafkaAvroSource(TOPIC, {"bootstrap.servers": brokers}, conf)
    before = {each.partition: each.end for each in source.ranges()}
    sink.write(rows.persist())
    reader = spark.read.format("streamnative-kafka").option("kafka.bootstrap.servers", brokers)
    starts = json.dumps({TOPIC: {str(number): before.get(number, 0) for number in range(PARTITIONS)}})
    messages = reader.options(subscribe=TOPIC, startingOffsets=starts).load()
    same(decode_df(messages, conf, topic=TOPIC), rows)
    rows.unpersist()


def measure(found: Sequence[Job], rounds: int) -> None:
    order = random.Random(0)
    groups = list(dict.fromkeys(job.group for job in found))
    for number in range(-1, rounds):  # the first round is a warm-up
        for group in order.sample(groups, len(groups)):
            for job in order.sample([each for each in found if each.group == group], 3):
                began = time.perf_counter()
                job.run()
                if number >= 0:
                    job.seconds.append(time.perf_counter() - began)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)


def ratio(found: Sequence[Job], goal: Goal) -> float:
    """How many times as fast as its peer: the median over the ratios of the rounds."""
    by_name = {(job.group, job.name): job.seconds for job in found}
    pairs = zip(by_name[goal.group, goal.peer], by_name[goal.group, goal.ours], strict=True)
    return median(theirs / ours for theirs, ours in pairs)


def table(found: Sequence[Job], rows: int) -> str:
    lines = ["| job | median s (least - most) | krows/s |", "|---|---:|---:|"]
    for job in found:
        middle = median(job.seconds)
        span = f"{min(job.seconds):.2f} - {max(job.seconds):.2f}"
        lines.append(f"| {job.group}: {job.name} | {middle:.2f} ({span}) | {rows / middle / 1000:,.0f} |")
    return "\n".join(lines)


def verdicts(found: Sequence[Job]) -> list[tuple[bool, str]]:
    out = []
    for goal in GOALS:
        times = ratio(found, goal)
        met = times >= goal.least
        text = f"{goal.ours} >= {goal.least:g}x {goal.group} {goal.peer}: {times:.2f}x"
        out.append((met, f"{'met   ' if met else 'MISSED'} {text}"))
    return out


def chart(found: Sequence[Job], rows: int) -> str:
    """Bars of rows per second, as SVG."""
    import matplotlib as mpl
    from chart import COLOURS, GREY, STYLE
    from matplotlib.figure import Figure

    names = {
        "decode": "messages to columns",
        "encode": "columns to messages",
        "sink in columns": "columns to a topic",
        "sink in rows": "rows to a topic",
    }
    bars = [job for job in found if job.name != LOOP]
    colours = [
        {CEILING: "#b1bac4", FASTAVRO: GREY}.get(
            job.name, COLOURS["serialize" if job.group != "decode" else "deserialize"]
        )
        for job in bars
    ]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.4), layout="constrained")
        axes = figure.add_subplot()
        places = [number + list(names).index(job.group) * 0.6 for number, job in enumerate(bars)]
        rates = [rows / median(job.seconds) / 1000 for job in bars]
        drawn = axes.barh(places, rates, height=0.8, color=colours)
        axes.bar_label(drawn, [f"{rate:,.0f}" for rate in rates], padding=4, color=GREY, fontweight="bold")
        labels = [f"{names[job.group]}: {'what Spark allows' if job.name == CEILING else job.name}" for job in bars]
        axes.set_yticks(places, labels)
        axes.invert_yaxis()
        axes.margins(x=0.1)
        axes.tick_params(colors=GREY, length=0)
        axes.spines[:].set_visible(False)
        axes.xaxis.set_visible(False)
        title = f"Thousands of rows per second, PySpark {version('pyspark')} on two cores"
        axes.set_title(title, color=GREY, fontsize=11, loc="left", pad=12)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def summary(found: Sequence[Job]) -> list[str]:
    """The ratios that the goals are about, as text for the page."""
    shares = [f"{goal.ours} {ratio(found, goal):.0%}" for goal in GOALS if goal.peer == CEILING]
    times = [f"{goal.ours} {ratio(found, goal):.1f}" for goal in GOALS if goal.peer == FASTAVRO]
    return [f"Share of what Spark allows: {', '.join(shares)}. Times as fast as fastavro: {', '.join(times)}."]


def heading(rows: int, rounds: int) -> str:
    packages = ("pyspark", "pyarrow", "pandas", "fastavro", "confluent-kafka")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return (
        f"{dt.datetime.now(dt.UTC):%Y-%m-%d}; {rows:,} rows, medians of {rounds} rounds, local[2], "
        f"load average {os.getloadavg()[0]:.1f}; {versions}; fastavro.__version__ {fastavro.__version__}."
    )


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="default: 1,000,000, with --quick 100,000")
    parser.add_argument("--rounds", type=int, help="default: 7, with --quick 3")
    parser.add_argument("--quick", action="store_true", help="few rows, to check that it works")
    parser.add_argument("--write-docs", action="store_true", help="write the table in docs/spark.md, and its chart")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a goal is missed")
    chosen = parser.parse_args(arguments)
    chosen.rows = chosen.rows or (100_000 if chosen.quick else 1_000_000)
    chosen.rounds = chosen.rounds or (3 if chosen.quick else 7)
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        local_session("bench-spark", cores="2") as spark,
        LocalRegistry() as registry,
        MockBroker({TOPIC: PARTITIONS}) as broker,
    ):
        conf = {"schema.registry.url": registry.url}
        found = jobs(spark, Path(folder), conf, broker.bootstrap_servers, chosen.rows)
        measure(found, chosen.rounds)
        spark.stop()  # must come before the broker is closed
    print(heading(chosen.rows, chosen.rounds))
    print(table(found, chosen.rows))
    judged = verdicts(found)
    print("\n".join(line for _, line in judged))
    if chosen.json:
        chosen.json.write_text(json.dumps({f"{job.group}: {job.name}": job.seconds for job in found}, indent=1))
    if chosen.write_docs:
        write_docs(
            DOCS / "spark.md",
            "\n".join([table(found, chosen.rows), "", *summary(found), "", heading(chosen.rows, chosen.rounds)]),
        )
        (DOCS / "benchmark-spark.svg").write_text(chart(found, chosen.rows))
    return int(chosen.check and not all(met for met, _ in judged))


if __name__ == "__main__":
    sys.exit(main())
