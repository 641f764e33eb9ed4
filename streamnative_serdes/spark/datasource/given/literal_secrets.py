"""Spark Connect writes the values of options to the event log and the UI: warns of secrets among them.

Spark plans Python sources in processes of their own, which know no session. Those of a Connect server are told by what
the server was started with.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from streamnative_serdes._log import logger

from .secrets import literal_secrets

# Set by PySpark for the server that remote("local") starts, and for the token of any server.
_VARIABLES: Final = ("SPARK_LOCAL_REMOTE", "SPARK_CONNECT_AUTHENTICATE_TOKEN")
_SERVER: Final = b"org.apache.spark.sql.connect.service.SparkConnectServer"
_GENERATIONS: Final = 4  # worker, daemon, perhaps a shell, JVM
_PROCESSES: Final = Path("/proc")


def warn_of_literal_secrets(options: Mapping[str, str], processes: Path = _PROCESSES) -> None:
    """Log which options have literal secrets, in a process of a Connect server.

    Args:
        options: as the user gave them.
        processes: where the operating system tells of processes.
    """
    names = literal_secrets(options)
    if names and _is_connect(processes):
        logger.warning(
            "Spark Connect has written the value of the option %s to its event log and UI "
            "(hint: use a reference instead, file:///PATH or env:NAME; for a user in a URL, basic.auth.user.info)",
            " and ".join(names),
        )


def _is_connect(processes: Path) -> bool:
    return any(name in os.environ for name in _VARIABLES) or any(_SERVER in line for line in _ancestors(processes))


def _ancestors(processes: Path) -> Iterator[bytes]:
    """The command lines of this process's parents, where the system has /proc."""
    process = os.getppid()
    for _ in range(_GENERATIONS):
        try:
            yield (processes / str(process) / "cmdline").read_bytes()
            # "PID (name) state PARENT ..."; the name may have spaces and parentheses.
            process = int((processes / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
