"""The Spark examples in examples/ run unchanged, in the tests' session."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamnative_serdes.testing import LocalRegistry

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("spark_sink", ["1000 readings in 4 partitions, 124875.00 in all"]),
        ("spark_stream", ["103 large orders, the largest: number 496 with 502.0"]),
        ("spark_topic_to_topic", ["103 large orders, the largest: number 496 with 502.0"]),
        ("spark_dead_letters", ["90 payments of 94410 cents, 10 dead letters, the first: topic payments, "]),
        (
            "spark_debezium",
            [
                "struct<before:struct<id:int,first_name:string,email:string>,after:struct<",
                "c inventory None -> {'id': 1004, 'first_name': 'Anne', 'email': None}",
                "u inventory {'id': 1004, 'first_name': 'Anne', 'email': None} -> {'id': 1004, 'first_name': 'Ann', ",
                "c inventory None -> {'id': 1005, 'first_name': 'Sally', 'email': None}",
                "d inventory {'id': 1004, 'first_name': 'Ann', 'email': 'annek@noanswer.org'} -> None",
            ],
        ),
        (
            "spark_key_value",
            [
                "struct<key:struct<id:bigint>,value:struct<name:string,city:string>>",
                "?: 30 users",
                "Oslo: 30 users",
                "Rome: 30 users",
            ],
        ),
        (
            "spark_debezium_avro",
            [
                "read back with its schema: True",
                "struct<id:bigint,total:decimal(10,2),paid:timestamp>",
                "c orders None -> 12.50",
                "u orders 12.50 -> 12.50",
                "d orders 12.50 -> None",
            ],
        ),
        (
            "spark_schema_evolution",
            [
                "10 rows of page",
                "the topic has a newer schema: restarting from the checkpoint",
                "5 rows of page, agent",
            ],
        ),
    ],
)
def test_an_example_prints_what_it_should(
    spark: SparkSession,
    kafka: dict[str, str],
    registry: LocalRegistry,
    capsys: pytest.CaptureFixture[str],
    name: str,
    expected: list[str],
) -> None:
    run = runpy.run_path(str(EXAMPLES / f"{name}.py"))["run"]
    run(spark, kafka["bootstrap.servers"], registry.url)
    lines = capsys.readouterr().out.splitlines()
    assert [line[: len(start)] for line, start in zip(lines, expected, strict=True)] == expected


def test_segments_of_a_brokers_log_are_read(
    spark: SparkSession, registry: LocalRegistry, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    example = runpy.run_path(str(EXAMPLES / "spark_segments.py"))
    example["write"](tmp_path, {"schema.registry.url": registry.url})
    example["run"](spark, tmp_path, registry.url)
    assert capsys.readouterr().out == "1000 orders of 599500 cents in 4 partitions\n"
