"""Worker Python: the log and the job's error say which packages the workers' Python lacks."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import venv
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import PySparkException

import streamnative_serdes
from streamnative_serdes.spark.session import workers as pythons

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOME = str(Path(streamnative_serdes.__file__).parents[1])
SECONDS = 300  # limit for a child process


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python without packages; PySpark adds itself to its path."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    pythons._warn.cache_clear()


def session(python: str, master: str | None = "local[2]", **environment: str) -> SparkSession:
    context = SimpleNamespace(pythonExec=python, master=master, environment=environment)
    return cast("SparkSession", SimpleNamespace(sparkContext=context))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings of this test; serializers of other tests may still check topics of a closed registry."""
    records = [record for record in caplog.records if record.threadName != "streamnative_serdes watch"]
    return [record.getMessage() for record in records if record.levelno >= logging.WARNING]


def test_missing_packages_of_the_workers_python_are_logged_once(bare: str, caplog: pytest.LogCaptureFixture) -> None:
    pythons.warn_of_workers(session(bare))
    pythons.warn_of_workers(session(bare, "local"))
    (line,) = warnings(caplog)
    assert line.startswith(
        f"Spark's workers run {bare}, which lacks streamnative_serdes, confluent_kafka, pandas, pyarrow"
    )
    assert f"set PYSPARK_PYTHON to a Python that has it, such as {sys.executable}" in line


def test_packages_on_the_workers_pythonpath_are_not_missing(
    bare: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alone = tmp_path / "alone"  # an installed package has others beside it
    alone.mkdir()
    (alone / "streamnative_serdes").symlink_to(Path(HOME) / "streamnative_serdes", target_is_directory=True)
    pythons.warn_of_workers(session(bare, PYTHONPATH=str(alone)))
    (line,) = warnings(caplog)
    assert "streamnative_serdes," not in line.partition("lacks")[2]
    site_packages = [path for path in sys.path if path.endswith("site-packages")]
    pythons.warn_of_workers(session(bare, PYTHONPATH=os.pathsep.join([HOME, *site_packages])))
    assert len(warnings(caplog)) == 1


def test_no_warning_if_the_workers_python_is_unknown(
    spark: SparkSession, bare: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "fails").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "fails").chmod(0o755)

    class Connected:
        @property
        def sparkContext(self) -> Any:
            raise PySparkException("[JVM_ATTRIBUTE_NOT_SUPPORTED]")

    for one in (
        spark,
        session(sys.executable),
        *(session(bare, master) for master in ("yarn", "spark://somewhere:7077", "k8s://somewhere", None)),
        session("no-such-python"),
        session("./environment/bin/python"),  # from an archive that Spark unpacks for the workers
        session(str(tmp_path / "fails")),
        cast("SparkSession", Connected()),
    ):
        pythons.warn_of_workers(one)
    assert warnings(caplog) == []


def test_other_errors_are_unchanged() -> None:
    for error in (PySparkException("No module named 'pyarrows'"), ValueError("No module named 'pyarrow'")):
        with pytest.raises(type(error)) as caught, pythons.worker_hints():
            raise error
        assert not hasattr(caught.value, "__notes__")


PROGRAM = """
    import logging, sys
    sys.path.insert(0, {home!r})  # not by PYTHONPATH, which workers inherit
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="LOG %(message)s")
    import os
    from streamnative_serdes.spark.session.java import java_home
    os.environ["JAVA_HOME"] = str(java_home())
    from pyspark.sql import SparkSession
    from streamnative_serdes.spark import KafkaAvroSink, decode_df, encode_df, to_avro_schema
    from streamnative_serdes.testing import LocalRegistry, MockBroker

    options = {{"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}}
    builder = SparkSession.builder.master("local[1]")
    for key, value in options.items():
        builder = builder.config(key, value)
    with LocalRegistry() as registry, MockBroker({{"orders": 1}}) as broker, builder.getOrCreate() as spark:
        conf = {{"schema.registry.url": registry.url}}
        rows = spark.range(3)
        encoded = encode_df(rows, conf, topic="orders", schema=to_avro_schema(rows.schema))
        try:
            encoded.collect()
        except Exception as error:
            print("FRAME", "No module named 'streamnative_serdes'" in str(error))
        sink = KafkaAvroSink("orders", {{"bootstrap.servers": broker.bootstrap_servers}}, conf)
        for one in (sink, KafkaAvroSink("orders", {{"bootstrap.servers": broker.bootstrap_servers}}, conf, key=str)):
            try:
                one.write(rows)
            except Exception as error:
                print("SINK", *error.__notes__)
"""


def test_a_job_whose_workers_lack_the_package_gets_a_hint(bare: str, tmp_path: Path) -> None:
    """Runs in a separate session, started by the Python of a virtual environment that is called by its path."""
    program = dedent(PROGRAM).format(home=HOME)
    environment = {**os.environ, "PYSPARK_PYTHON": bare, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    said = [line for line in done.stdout.splitlines() if line.startswith(("LOG ", "FRAME ", "SINK "))]
    assert len(said) == 4, f"{said}\n{done.stderr[-3000:]}"
    warned, frame, *sinks = said
    assert warned.startswith(f"LOG Spark's workers run {bare}, which lacks streamnative_serdes")
    assert frame == "FRAME True"
    for line in sinks:
        assert line.startswith("SINK Spark's workers run a Python that lacks streamnative_serdes (hint: ")
        assert f"set PYSPARK_PYTHON to a Python that has it, such as {sys.executable}" in line
