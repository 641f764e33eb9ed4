"""Spark Connect: what this package has for Spark works in a session of ``remote("local[2]")`` as in a classic one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc_status", reason="Spark Connect's packages are not installed: pip install 'pyspark[connect]'")

import connect_session

import streamnative_serdes
from streamnative_serdes.testing import LocalRegistry, MockBroker

EXAMPLE = Path(__file__).parents[3] / "examples" / "spark_connect.py"
SECONDS = 900
ALL = list(range(connect_session.ROWS))
TOPICS = ("orders", "columns", "rows", "partitions", "batches", "row-batches", "stream")
# What gives all ids of the topic `orders`, or of the one that it has written.
GIVE_ALL = (
    "batch", "decode_df", "stream", "decode_stream", "view", "from_avro_and_to_avro", "sink_columns", "sink_rows",
    "sink_partitions", "sink_batches", "sink_batches_of_rows", "stream_to_stream", "seen",
)  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program found, in a process of its own: a process has either kind of session."""
    folder = tmp_path_factory.mktemp("connect")
    program = Path(connect_session.__file__)
    home = str(Path(streamnative_serdes.__file__).parents[1])
    path = os.pathsep.join(filter(None, [str(program.parent), home, os.environ.get("PYTHONPATH")]))
    # SPARK_TESTING: the server has a port of its own.
    user = tmp_path_factory.mktemp("references") / "user"
    user.write_text(f"{connect_session.USER}\n")
    told = {"PYTHONPATH": path, "SPARK_TESTING": "1"}
    told |= {"CONNECT_EXAMPLE": str(EXAMPLE), "KAFKA_PASSWORD": "secret"}
    told |= {"CONNECT_LOGIN": connect_session.LOGIN, "CONNECT_USER_FILE": user.as_uri()}
    with LocalRegistry() as registry, MockBroker(dict.fromkeys(TOPICS, 4)) as broker:
        command = [sys.executable, str(program), broker.bootstrap_servers, registry.url, str(folder)]
        done = subprocess.run(
            command, env={**os.environ, **told}, capture_output=True, text=True, timeout=SECONDS, cwd=folder
        )
    lines = [line for line in done.stdout.splitlines() if "FOUND " in line]
    assert lines, done.stdout[-2000:] + done.stderr[-4000:]
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {**json.loads(lines[-1].partition("FOUND ")[2]), "said": done.stdout + done.stderr, "files": files}


@pytest.mark.parametrize("what", GIVE_ALL)
def test_it_gives_all_rows_in_a_connect_session(found: dict[str, Any], what: str) -> None:
    assert found[what] == ALL


def test_the_example_reads_and_writes_topics(found: dict[str, Any]) -> None:
    assert found["example"] == ["1000 orders, 199 of more than 200", "10 rows of the stream in a table"]


def test_dead_letters_are_split_off_in_a_connect_session(found: dict[str, Any]) -> None:
    good, offsets = found["dead_letters"]
    assert good < len(ALL)
    assert offsets == [3]


def test_headers_that_could_not_tell_copies_are_an_error_that_names_the_data_source(found: dict[str, Any]) -> None:
    """In a classic session, they have the query's id, which Connect does not tell a function of foreachBatch."""
    assert len(found["sink_headers"]) == 2
    for error in found["sink_headers"]:
        assert "Spark Connect does not tell" in error
        assert "format('streamnative-kafka') with dedupHeaders=true" in error


def test_errors_come_from_the_driver_and_show_no_secret(found: dict[str, Any]) -> None:
    assert "topic orderz: the topic does not exist" in found["error"]
    assert connect_session.SECRET not in found["said"]


def test_of_secrets_that_are_references_the_event_log_and_the_checkpoints_have_the_references_alone(
    found: dict[str, Any],
) -> None:
    """The literal one shows that Connect writes the values of options to the event log."""
    files: dict[str, bytes] = found["files"]
    events = b"".join(content for name, content in files.items() if "/events/" in name)
    for part in (
        b"SparkListenerJobStart",
        b"env:CONNECT_LOGIN",
        b"/references0/user",
        connect_session.LITERAL.encode(),
    ):
        assert part in events
    assert any("g-checkpoint" in name and b"streamnative-kafka" in content for name, content in files.items())
    assert [name for name, content in files.items() if connect_session.SECRET.encode() in content] == []


def test_a_literal_secret_is_a_warning_that_names_the_option(found: dict[str, Any]) -> None:
    assert found["literal_secret"] == len(ALL)
    warnings = [line for line in found["said"].splitlines() if "Spark Connect has written" in line]
    assert warnings
    assert all("the option kafka.sasl.oauthbearer.config to its event log" in line for line in warnings)
