"""Local Spark session: finds Java, runs the workers with the driver's Python, and keeps Spark's log quiet."""

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

_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"  # spark-submit sets it
_TRACEBACK: Final = "Traceback (most recent call last):"

# The gateway sets the root level to its own, and logs that unless they are equal already.
# A failed task raises an exception with the same text in the caller, so its log messages are off.
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
    """Spark or one of its tasks failed; the message is only the reason, the cause has Spark's full report."""


@contextmanager
def spark_errors() -> Iterator[None]:
    """Convert the errors that Spark raises inside the block to SparkError."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        # After a Ctrl-C the connection to Java is closed, so PySpark's own cleanup fails.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise SparkError(reason(str(error))) from error


def reason(report: str) -> str:
    """Extract the reason from Spark's report of hundreds of lines.

    For a Python worker: the exception as printed after the last traceback. For the JVM: the messages of the exception
    and its causes, without stack traces.
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
        cores: number of cores to use; ``*`` for all.

    Raises:
        ConfigError: no suitable Java was found.
        SparkError: Spark does not start.
    """
    environment = {"JAVA_HOME": str(java_home()), **_worker_environment()}
    with tempfile.TemporaryDirectory(prefix="spark-") as folder, _environment(environment), _quiet_interrupt():
        builder = SparkSession.builder.master(f"local[{cores}]").appName(app_name)
        for key, value in _options(Path(folder)).items():
            builder = builder.config(key, value)
        with spark_errors(), _own_interrupt():
            session = builder.getOrCreate()
        with session:
            yield session


@contextmanager
def session_for(app_name: str, master: str | None = None) -> Iterator[SparkSession]:
    """A session on the cluster that ``master`` or ``spark-submit`` names, or else on this machine.

    Raises:
        ConfigError: on this machine, and no suitable Java was found.
        SparkError: Spark does not start.
    """
    if master is None and _SUBMITTED not in os.environ:
        with local_session(app_name) as session:
            yield session
        return
    builder = SparkSession.builder.appName(app_name)
    with spark_errors():
        session = (builder if master is None else builder.master(master)).getOrCreate()
    with session:
        yield session


def _worker_environment() -> dict[str, str]:
    """Environment that makes the workers use the same Python and the same copy of this package as this process."""
    # Spark's default is the first python3 on PATH. And Python would search the current folder first, which may be a
    # checkout while this process uses an installed wheel.
    environment = {"PYSPARK_PYTHON": sys.executable, "PYTHONSAFEPATH": "1"}
    home = str(Path(__file__).resolve().parents[3])
    if home not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        before = os.environ.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([home, before] if before else [home])
    return environment


def _options(folder: Path) -> dict[str, str]:
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOGGING)
    return {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.as_uri()}",
        # Works also on a machine whose host name does not resolve.
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
    """Keep Python's own handler of Ctrl-C.

    PySpark's handler calls into Java in the middle of whatever the main thread does. If that is another call into Java,
    as it usually is, the two collide with pages of errors. Stopping the session cancels its jobs anyway.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set signal handlers
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
    """Keep Py4J from logging the traceback of a Ctrl-C, which is raised as KeyboardInterrupt anyway."""
    root = logging.getLogger()  # where Py4J logs it
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
