"""The same queries through Spark's own Kafka source and through ours, on one real Kafka, give the same rows.

Spark's is a jar that Ivy finds for PySpark 4.0.0 alone. So this runs where that version is: in `tox -e spark40`, or
with SPARK_4_0_0, a folder that `pip install --target FOLDER pyspark==4.0.0` has filled. The outcome is in
docs/spark-same-rows.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from servers import Kafka
from sparks_kafka.cases import BATCHES, STREAMS
from sparks_kafka.page import PAGE, section, table

import streamnative_serdes

SECONDS = 1800
CUT = ("minPartitions", "minPartitions and maxRecordsPerPartition", "transactions, read_committed, minPartitions")
# What ours does otherwise, and why.
OTHERWISE = {
    "assign a partition that is not there": "Spark reads nothing; ours is an error",
}


def home_of_spark() -> str:
    """Where PySpark 4.0.0 is; empty for the place of this one."""
    if pyspark.__version__ == "4.0.0":
        return ""
    if "SPARK_4_0_0" in os.environ:
        return os.environ["SPARK_4_0_0"]
    pytest.skip("PySpark 4.0.0 is not here, the one for which Ivy finds Spark's own Kafka source: set SPARK_4_0_0")


@pytest.fixture(scope="module")
def found(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What each source made of each case: Spark's first."""
    folders = [
        home_of_spark(),
        str(Path(streamnative_serdes.__file__).parents[1]),
        str(Path(__file__).parents[2] / "oracles"),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    environment.pop("SPARK_HOME", None)
    command = [sys.executable, "-m", "sparks_kafka", kafka.bootstrap_servers, str(tmp_path_factory.mktemp("compared"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines and "unresolved dependency" in done.stderr + done.stdout and not os.environ.get("CI"):
        pytest.skip("Ivy does not find Spark's own Kafka source")
    assert done.returncode == 0, done.stderr[-3000:]
    return {line["case"]: line["found"] for line in lines if "case" in line}


@pytest.mark.parametrize("name", [case.name for case in (*BATCHES, *STREAMS)])
def test_both_sources_give_the_same(found: dict[str, list[dict[str, Any]]], name: str) -> None:
    sparks, ours = found[name]
    if name in OTHERWISE:
        assert (sparks.get("rows"), "error" in ours) == ([], True)
        return
    assert bool(sparks.get("error")) == bool(ours.get("error")), f"{sparks}\n{ours}"[:3000]
    if sparks.get("error"):
        assert "streamnative_serdes" in ours["error"]  # ours says why
    else:
        assert ours["rows"] == sparks["rows"]
        assert ours.get("runs") == sparks.get("runs")
    if name in CUT:
        assert ours["tasks"] == sparks["tasks"]


def test_some_cases_have_rows_and_some_are_errors(found: dict[str, list[dict[str, Any]]]) -> None:
    """Else the comparison would compare nothing."""
    sparks = {name: outcome[0] for name, outcome in found.items()}
    assert sum(bool(each.get("rows")) for each in sparks.values()) > 25
    assert sum(bool(each.get("error")) for each in sparks.values()) > 8
    compacted, name = len(sparks["a compacted topic"]["rows"]), "a compacted topic with transactions"
    assert len(sparks["a compacted topic, read_committed"]["rows"]) == compacted < 61
    assert len(sparks[name]["rows"]) > len(sparks[f"{name}, read_committed"]["rows"]) > 0
    assert len(sparks["transactions, read_committed"]["rows"]) == 30


def test_the_table_in_the_docs_is_what_was_found(found: dict[str, list[dict[str, Any]]]) -> None:
    made = table(found, OTHERWISE)
    if os.environ.get("UPDATE_DOCS"):
        before, _, after = section(PAGE.read_text())
        PAGE.write_text(before + made + after)
    assert section(PAGE.read_text())[1] == made
