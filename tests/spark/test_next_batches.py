"""A task reads its next batches as the one before, and a newer version still stops a query that restarts for it."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from streamnative_serdes import DecodeError, KafkaAvroSerializer
from streamnative_serdes._reading import batches
from streamnative_serdes.spark import SchemaEvolvedError
from streamnative_serdes.spark.frames.reading import TopicReader
from streamnative_serdes.testing import LocalRegistry

OLD: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
NEW = {**OLD, "fields": [*OLD["fields"], {"name": "age", "type": ["null", "int"], "default": None}]}
BOB = {"name": "bob"}


def message(registry: LocalRegistry, schema: dict[str, Any]) -> bytes:
    """As another process writes it: nothing that this one knows changes."""
    with KafkaAvroSerializer({"schema.registry.url": registry.url, "retries.wait.ms": 201}, schema) as writer:
        data = writer.serialize("t", BOB)
    assert data is not None
    return data


def in_task(registry: LocalRegistry, *, restart: bool, schema: Any = None) -> TopicReader:
    """A reader as a task has it: from a pickle."""
    planned = TopicReader("t", {"schema.registry.url": registry.url}, schema, restart=restart, times=False)
    reader: TopicReader = pickle.loads(pickle.dumps(planned))
    return reader


def read(reader: TopicReader, messages: list[bytes], *, fail: bool = True) -> list[dict[str, Any]]:
    """The columns of the version that the query was planned with."""
    columns = reader.decode(messages, None, None, fail).columns
    rows: list[dict[str, Any]] = pa.RecordBatch.from_arrays(columns, ["name", "age"][: len(columns)]).to_pylist()
    return rows


@pytest.fixture
def first_ways(monkeypatch: pytest.MonkeyPatch) -> list[list[bytes]]:
    """The batches that went the way of a first one."""
    found: list[list[bytes]] = []
    before = batches._read_first

    def counted(serdes: Any, wanted: Any, data: Any, *more: Any) -> Any:
        found.append(data)
        return before(serdes, wanted, data, *more)

    monkeypatch.setattr(batches, "_read_first", counted)
    return found


@pytest.mark.parametrize("schema", [None, OLD])
def test_only_the_first_of_ten_batches_goes_the_first_way(
    registry: LocalRegistry, first_ways: list[list[bytes]], schema: Any
) -> None:
    old = message(registry, OLD)
    reader = in_task(registry, restart=False, schema=schema)
    registry.reset_calls()
    for _ in range(10):
        assert read(reader, [old] * 3) == [BOB] * 3
    assert first_ways == [[old] * 3]
    assert not registry.calls


def test_a_newer_version_sends_one_batch_the_first_way(registry: LocalRegistry, first_ways: list[list[bytes]]) -> None:
    old = message(registry, OLD)
    reader = in_task(registry, restart=False)
    assert read(reader, [old]) == [BOB]
    new = message(registry, NEW)
    for _ in range(3):
        assert read(reader, [old, new]) == [BOB, BOB]
    # The registry's answer about the new version changes the state of the topic, so the next batch goes the first way.
    assert first_ways == [[old], [old, new]]


@pytest.mark.parametrize("fail", [True, False])
@pytest.mark.parametrize("nth", [0, 1, 2, 3])
@pytest.mark.parametrize("older", [0, 2])
def test_a_newer_version_stops_exactly_the_batches_that_have_it(
    registry: LocalRegistry, nth: int, older: int, fail: bool
) -> None:
    old = message(registry, OLD)
    reader = in_task(registry, restart=True)
    for _ in range(nth):
        assert read(reader, [old], fail=fail) == [BOB]
    new = message(registry, NEW)
    for _ in range(2):
        with pytest.raises(SchemaEvolvedError, match="planned when version 0 was the topic's latest") as caught:
            read(reader, [old] * older + [new, old], fail=fail)
        assert (caught.value.topic, caught.value.version) == ("t", 1)
        assert read(reader, [old], fail=fail) == [BOB]


def test_a_version_that_the_query_was_planned_with_does_not_stop_it(registry: LocalRegistry) -> None:
    old, new = message(registry, OLD), message(registry, NEW)
    reader = in_task(registry, restart=True)
    for messages in ([old], [new], [old, new]):
        assert [row["name"] for row in read(reader, messages)] == ["bob"] * len(messages)


def test_a_newer_version_stops_the_query_after_a_damaged_message(registry: LocalRegistry) -> None:
    old = message(registry, OLD)
    reader = in_task(registry, restart=True)
    for _ in range(2):
        with pytest.raises(DecodeError, match="schema version 0, field name"):
            read(reader, [old, old[:-1]])
        assert read(reader, [old]) == [BOB]
    new = message(registry, NEW)
    with pytest.raises(SchemaEvolvedError):
        read(reader, [old, old[:-1], new], fail=False)
    with pytest.raises(SchemaEvolvedError):
        read(reader, [new[:-1]], fail=False)
