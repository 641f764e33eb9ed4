"""A local Spark session that starts from Python alone: the right Java, the right Python, and no chatter."""

from __future__ import annotations

import logging
import os
import signal
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from .java import java_home

_TRACEBACK: Final = "Traceback (most recent call last):"

# The gateway's own level becomes the root's, with a line that says so unless they are equal already.
# A failed task reaches the caller as an exception with the same text: its echo in the log is off.
_LOGGING: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = Spark %p %c{1}: %m%n%ex{short}
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.context.name = org.apache.spark.TaskContextImpl
logger.context.level = off
"""


class SparkError(RuntimeError):
    """Spark, or a task of it, failed; the text is the reason alone, the cause holds all that Spark says."""


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turns the errors that Spark raises inside the block into SparkError."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        # After a Ctrl-C the connection to Java is gone, which PySpark's own cleaning up then trips over.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise SparkError(reason(str(error))) from error


def reason(report: str) -> str:
    """The reason inside Spark's report of hundreds of lines.

    From a Python worker: the exception as Python prints it after its last traceback. From the JVM: the messages of
    the exception and its causes, without their stacks.
    """
    if _TRACEBACK in report:
        lines = report.rpartition(_TRACEBACK)[2].partition("\n\tat ")[0].splitlines()
        return "\n".join(line for line in lines if line.strip() and not line.startswith("  "))
    lines = report.splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.startswith(("\tat ", "\t... ")))


@contextmanager
def local_session(app_name: str, cores: str = "*") -> Iterator[SparkSession]:
    """A Spark session on this machine; leaving the block stops it and removes its files.

    Args:
        app_name: the name that Spark shows.
        cores: how many cores it uses; ``*`` for all.

    Raises:
        ConfigError: there is no Java to run it on.
        SparkError: it does not start.
    """
    environment = {"JAVA_HOME": str(java_home()), **_worker_environment()}
    with tempfile.TemporaryDirectory(prefix="spark-") as folder, _environment(environment), _quiet_interrupt():
        builder = SparkSession.builder.master(f"local[{cores}]").appName(app_name)
        for key, value in _options(Path(folder)).items():
            builder = builder.config(key, value)
        with spark_errors(), _own_interrupt():
            session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


def _worker_environment() -> dict[str, str]:
    """Makes the workers import what this process does: the same Python, and the same copy of this package."""
    # Spark's default is the first python3 on PATH. And Python would look into the current folder first of all, where
    # a checkout may stand while an installed wheel is meant.
    environment = {"PYSPARK_PYTHON": sys.executable, "PYTHONSAFEPATH": "1"}
    home = str(Path(__file__).resolve().parents[2])
    if home not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        before = os.environ.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([home, before] if before else [home])
    return environment


def _options(folder: Path) -> dict[str, str]:
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOGGING)
    return {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.as_uri()}",
        # A machine whose own name does not resolve can run it too.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keeps Python's way of Ctrl-C.

    PySpark's handler calls into Java from whatever the main thread is doing. Where that is another call into Java,
    as it mostly is, the two collide in pages of errors. Stopping the session cancels its jobs all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread has handlers
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _unless_interrupted(record: logging.LogRecord) -> bool:
    return not (record.exc_info and record.exc_info[0] is KeyboardInterrupt)


@contextmanager
def _quiet_interrupt() -> Iterator[None]:
    """Keeps Py4J from printing the stack of a Ctrl-C, which goes on its way as KeyboardInterrupt."""
    root = logging.getLogger()  # Py4J reports it there
    root.addFilter(_unless_interrupted)
    try:
        yield
    finally:
        root.removeFilter(_unless_interrupted)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
