"""The demo job on real servers, as run by `make demo-real`, with fewer rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import downloads

ROOT = Path(__file__).parents[3]
PATH = [str(ROOT / "tests" / "servers"), str(ROOT / "examples")]


@pytest.mark.long  # each part of it has tests of its own, and `make demo` runs the job
def test_the_flights_job_runs_on_servers_started_for_it(servers_at_hand: None) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "servers", "demo", "--rows", "2000"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*PATH, os.environ.get("PYTHONPATH", "")])},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == [
        "servers",
        "Apache",
        "Kafka",
        f"{downloads.KAFKA},",
        "Apache",
        "Pulsar",
        downloads.PULSAR,
    ]
    assert "topic             flights, 4 partitions" in lines
    assert lines[-1] == "2000 rows written, 2000 rows read, equal"
