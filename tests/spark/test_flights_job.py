"""The demo job verifies that every row came back, and fails if one did not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from demo import round_trip
from demo.__main__ import demo
from demo.columnar import ColumnarRoundTrip
from demo.flights import (
    COLUMNS,
    FLIGHT_SCHEMA,
    count_missing,
    decoded_values,
    read_flights,
    row_digest,
    with_epoch,
)
from demo.job import Job
from demo.round_trip import Destination, Result, RoundTrip, Stage
from demo.tasks import Tally
from orders import messages_of
from pyspark.sql import SparkSession
from spark_topics import send

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.spark.session import SparkError, reason
from streamnative_serdes.testing import LocalRegistry

ROWS = 3_000
CAN_MISS = {"dep_time", "dep_delay", "arr_time", "arr_delay", "tailnum", "air_time"}
FIRST = datetime(2013, 1, 1, 10, tzinfo=UTC)


class Recorded:
    """Progress that records its updates."""

    def __init__(self) -> None:
        self.stages: dict[str, tuple[int, list[int]]] = {}

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Callable[[int], object]]:
        seen: list[int] = []
        self.stages[name] = total, seen
        yield seen.append


def values_of(kafka: dict[str, str], partition: int) -> list[bytes | None]:
    return [message.value() for message in messages_of(kafka, "flights") if message.partition() == partition]


def test_a_missing_topic_is_created_and_awaited(
    spark: SparkSession, flights_csv: Path, to: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Admin:
        """Stands in for AdminClient: the mock broker creates no topics."""

        created: ClassVar[list[tuple[str, int]]] = []

        def __init__(self, conf: dict[str, Any]) -> None:
            assert conf["bootstrap.servers"] == to.kafka["bootstrap.servers"]

        def create_topics(self, topics: list[Any]) -> dict[str, Future[None]]:
            done: Future[None] = Future()
            done.set_result(None)
            self.created.extend((topic.topic, topic.num_partitions) for topic in topics)
            return {topic.topic: done for topic in topics}

    monkeypatch.setattr(round_trip, "AdminClient", Admin)
    job = RoundTrip(spark, flights_csv, replace(to, topic="new", partitions=3), Recorded())
    shown = iter([0, 0, 3])  # number of partitions
    monkeypatch.setattr(job.admin, "existing", lambda: {"new": next(shown)})
    assert job._create_topic() == 3
    assert Admin.created == [("new", 3)]
    job.admin.close()


def test_every_flight_is_read_back_and_only_the_driver_asks_the_registry(
    spark: SparkSession, flights_csv: Path, to: Destination, registry: LocalRegistry, kafka: dict[str, str]
) -> None:
    progress = Recorded()
    result = RoundTrip(spark, flights_csv, to, progress).run()

    assert result.equal
    assert [stage.tally.rows for stage in (result.source, result.written, result.read)] == [ROWS] * 3
    assert {name for name, count in result.missing.items() if count} == CAN_MISS
    assert result.schema_version == 0
    assert progress.stages.keys() == {"checksum", "writing", "reading"}
    assert all(total == seen[-1] == ROWS for total, seen in progress.stages.values())
    sizes = [len(values_of(kafka, partition)) for partition in range(result.partitions)]
    assert sum(sizes) == ROWS
    assert max(sizes) - min(sizes) <= spark.sparkContext.defaultParallelism * 4
    assert registry.calls == {"POST schema": 1, "GET version": 1}
    assert (result.driver_calls, result.task_calls) == (2, 0)

    again = RoundTrip(spark, flights_csv, to, Recorded()).run()  # what the topic held before stays out of account
    assert again.equal
    assert again.read.tally.rows == ROWS


def test_every_flight_is_read_back_through_columns(
    spark: SparkSession, flights_csv: Path, to: Destination, registry: LocalRegistry
) -> None:
    for _ in range(2):  # what the topic held before stays out of account
        result = ColumnarRoundTrip(spark, flights_csv, to, Recorded()).run()
        assert result.equal
        assert [stage.tally.rows for stage in (result.source, result.written, result.read)] == [ROWS] * 3
    assert registry.calls == {"POST schema": 1, "GET version": 1, "GET schemas": 2, "GET schema": 2}  # by the driver


class SkipsOne(RoundTrip):
    """Reads all but the first message."""

    def read(self, starts: Sequence[int]) -> Stage:
        return super().read([starts[0] + 1, *starts[1:]])


def test_a_lost_message_is_not_equal(spark: SparkSession, flights_csv: Path, to: Destination) -> None:
    result = SkipsOne(spark, flights_csv, to, Recorded()).run()
    assert (result.written.tally.rows, result.read.tally.rows) == (ROWS, ROWS - 1)
    assert not result.equal


def test_an_altered_message_is_not_equal(spark: SparkSession, flights_csv: Path, to: Destination) -> None:
    class Alters(SkipsOne):
        def write(self, starts: Sequence[int], rows: int) -> Stage:
            done = super().write(starts, rows)
            flight = KafkaAvroDeserializer(to.registry).deserialize("flights", values_of(to.kafka, 0)[0])
            altered = flight | {"time_hour": flight["time_hour"].replace(minute=1)}
            send(to.kafka, "flights", KafkaAvroSerializer(to.registry, FLIGHT_SCHEMA).serialize("flights", altered))
            return done

    result = Alters(spark, flights_csv, to, Recorded()).run()
    assert result.read.tally.rows == ROWS
    assert result.read.tally.digest != result.source.tally.digest
    assert not result.equal


def test_a_garbled_message_fails_the_job(spark: SparkSession, flights_csv: Path, to: Destination) -> None:
    class Garbles(RoundTrip):
        def write(self, starts: Sequence[int], rows: int) -> Stage:
            done = super().write(starts, rows)
            send(to.kafka, "flights", (values_of(to.kafka, 0)[0] or b"")[:-3])
            return done

    with pytest.raises(SparkError, match=r"DecodeError: topic flights, schema version 0, field time_hour"):
        Garbles(spark, flights_csv, to, Recorded()).run()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (",517,", ",5x7,", 'NumberFormatException: For input string: "5x7"'),
        ("2013-01-01T10:00:00Z", "2013-01-01 10:00", "MALFORMED_RECORD"),
        ("year,month", "month,year", "CSV header does not conform"),
        (",1400,", ",NA,", "field distance"),
    ],
)
def test_a_malformed_source_fails_the_job(
    spark: SparkSession, flights_csv: Path, to: Destination, old: str, new: str, expected: str
) -> None:
    flights_csv.write_text(flights_csv.read_text().replace(old, new, 1))
    with pytest.raises((SparkError, ValueError), match=expected):
        RoundTrip(spark, flights_csv, to, Recorded()).run()


def test_only_na_becomes_null(spark: SparkSession, flights_csv: Path) -> None:
    flights_csv.write_text(flights_csv.read_text().replace(",N14228,", ",,", 1))
    with pytest.raises(ValueError, match=r"tailnum: \d+ NA, \d+ null"):
        count_missing(spark, flights_csv)


def test_time_hour_is_utc_in_any_time_zone(spark: SparkSession, flights_csv: Path, to: Destination) -> None:
    flights = read_flights(spark, flights_csv)
    first = with_epoch(flights).head()
    assert first is not None
    assert first["time_hour"] == int(FIRST.timestamp()) * 1000
    data = KafkaAvroSerializer(to.registry, FLIGHT_SCHEMA).serialize("flights", flights.head())
    decoded = KafkaAvroDeserializer(to.registry).deserialize("flights", data)
    assert decoded["time_hour"] == FIRST
    assert decoded_values(decoded) == list(first)


def test_the_digest_is_the_same_in_every_process_and_distinguishes_types() -> None:
    expected = blake2b(b'[1,null,"1","\\u00e9"]', digest_size=16).digest()
    assert row_digest([1, None, "1", "é"]) == int.from_bytes(expected, "big")
    digests = {row_digest([value, "x"]) for value in (1, "1", None, "null", "", 0)}
    assert len(digests) == 6
    assert row_digest(["a", "bc"]) != row_digest(["ab", "c"])


def test_digests_add_up_in_any_order_and_equal_rows_do_not_cancel() -> None:
    one, two = Tally(1, 2**128 - 1, 0, {"read": 1.0}), Tally(1, 5, 2, {"read": 0.5, "write": 1.0})
    assert one + two == two + one == Tally(2, 4, 2, {"read": 1.5, "write": 1.0})
    assert (two + two).digest == 10


@pytest.mark.parametrize("change", [{"extra": 1}, {"distance": None}])
def test_a_record_of_other_fields_is_an_error(change: dict[str, Any]) -> None:
    flight = dict.fromkeys(COLUMNS, 1) | {"time_hour": FIRST} | change
    if "extra" not in change:
        del flight["distance"]
    with pytest.raises(ValueError, match="expected a record with the fields"):
        decoded_values(flight)


@pytest.fixture
def unequal() -> Result:
    stage = Stage(Tally(2, 7, 0, {}), 1.0)
    return Result("flights", 4, 0, dict.fromkeys(COLUMNS, 0), stage, stage, replace(stage, tally=Tally(2, 8, 0, {})), 2)


def test_the_command_says_loudly_that_rows_differ(unequal: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job, "__init__", lambda job, *_: setattr(job, "registry", None))
    monkeypatch.setattr(Job, "run", lambda *_, **__: unequal)
    ended = CliRunner().invoke(demo, ["--bootstrap-servers", "nowhere:1", "--schema-registry-url", "http://nowhere"])
    assert ended.exit_code == 1
    assert "2 rows written, 2 rows read, NOT EQUAL" in ended.stdout
    assert "the rows read differ from the rows written" in ended.stderr


def test_only_the_reason_of_a_spark_error_is_shown() -> None:
    python = "An error:\nTraceback (most recent call last):\n  File\nKeyError: 'a'\n\n\tat org.x.Y(Z.scala:1)\n"
    assert reason(python) == "KeyError: 'a'"
    java = "An error occurred.\n: org.x.SparkException: first\n\tat a.b\nCaused by: java.X: second\n\t... 3 more\n"
    assert reason(java) == "An error occurred.\n: org.x.SparkException: first\nCaused by: java.X: second"


def test_without_pyspark_the_demo_says_in_one_line_what_to_install() -> None:
    code = f"import runpy, sys; sys.path[:0] = {sys.path!r}; sys.argv[1:] = []; sys.modules['pyspark'] = None; "
    code += "runpy.run_module('demo', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    told = "Error: pyspark is not installed: pip install 'pyspark<5' 'pandas<3' pyarrow\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


@pytest.mark.parametrize("arguments", [["-X", "acks"], ["--rows", "0"], ["--partitions", "0"], ["--unknown"]])
def test_an_invalid_option_of_the_demo_fails_before_anything_starts(arguments: list[str]) -> None:
    ended = CliRunner().invoke(demo, arguments)
    assert ended.exit_code == 2
    assert arguments[-1] in ended.stderr
