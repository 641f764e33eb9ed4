"""The policy latest.seen for DataFrames: the driver finds the highest version in a DataFrame before fixing the columns.

A folder keeps the versions that topics were read up to, as JSON lines; the last line of a topic counts::

    {"number": 3, "topic": "public/default/orders", "version": 1, "timestamp": 1700000000000,
     "type": "AVRO", "schema": "{...}", "properties": {}}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes import header
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._reading.batches import held_version
from streamnative_serdes._reading.columns import latest_of_columns
from streamnative_serdes._reading.policy import ReadPolicy
from streamnative_serdes._reading.reader_schema import Mark
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes.arrow import in_parts
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.models import Registered
from streamnative_serdes.schema_registry import SchemaInfo
from streamnative_serdes.spark.session.workers import Carried
from streamnative_serdes.spark.types.names import name_of, pick, require_headers

from .reading import PLANNED

_ROW: Final = (
    "number bigint, topic string, version bigint, timestamp bigint, type string, schema string, "
    "properties map<string, string>"
)


class SeenSchemas:
    """The schema versions that the batches of a query have read so far, for ``reader.schema.policy=latest.seen``.

    Create it on the driver, once for each query, and pass it to each ``decode_df`` of that query.

    Args:
        folder: keeps the versions over restarts of the query; for example, a folder beside the checkpoint. Any file
            system will do that the driver and the executors can write to. The folder is created with the first batch,
            and grows by one small file for each new version.
    """

    def __init__(self, folder: str) -> None:
        if not folder:
            raise ConfigError("expected a folder, got an empty text")
        self._folder = folder
        self._marks: dict[str, Mark] | None = None  # by topic; None before the folder was read
        self._count = 0

    def marks(self, session: SparkSession) -> list[Mark]:
        """The known versions by topic; the folder is read once."""
        if self._marks is None:
            rows = sorted(self._rows(session), key=lambda row: int(row.number))
            self._count = len(rows)
            self._marks = {row.topic: _mark(row) for row in rows}
        return list(self._marks.values())

    def _rows(self, session: SparkSession) -> list[Any]:
        try:
            return session.read.schema(_ROW).option("mode", "FAILFAST").json(self._folder).collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            return []

    def keep(self, session: SparkSession, marks: Iterable[Mark]) -> None:
        """Write the new ones of these marks to the folder."""
        known = {mark.path: mark for mark in self.marks(session)}
        for mark in marks:
            if mark.info is not None and mark != known.get(mark.path):
                info, self._count = mark.info, self._count + 1
                row = self._count, mark.path, info.version, info.timestamp, info.type, info.text, dict(info.properties)
                session.createDataFrame([row], _ROW).coalesce(1).write.mode("append").json(self._folder)
                known[mark.path] = mark
        self._marks = known


def _mark(row: Any) -> Mark:
    return Mark(
        row.topic, SchemaInfo(row.version, row.type, row.schema, row.timestamp, row.properties or {}), settled=True
    )


def planned(
    df: DataFrame,
    conf: Mapping[str, Any],
    schema: object,
    topic: str,
    columns: tuple[str, str],
    seen: SeenSchemas | None,
) -> tuple[Mapping[str, Any], object]:
    """The options and schema to plan ``df`` with: the given ones, or with ``latest.seen``, the highest version's."""
    deserializer = KafkaAvroDeserializer(conf, schema)
    policy: ReadPolicy = policy_of(deserializer)
    if policy.seen is None:
        if seen is not None:
            raise ConfigError("seen has no effect without reader.schema.policy=latest.seen", topic=topic)
        return conf, schema
    if latest_of_columns(policy, topic).avro is None:
        raise ConfigError(
            "in DataFrames, latest.seen is for topics of type AVRO", topic=topic, hint="leave out reader.schema.policy"
        )
    if df.isStreaming:
        raise ConfigError(
            "the columns of a stream are fixed before its first message is read, so there is no latest.seen",
            topic=topic,
            hint="call decode_df in a function of foreachBatch, or use latest with the option schemaEvolution=restart",
        )
    if seen is not None:
        policy.seen.learn(seen.marks(df.sparkSession))
    known = _highest(df, deserializer, topic, columns)
    policy.seen.advance(deserializer, topic, known)
    if seen is not None:
        seen.keep(df.sparkSession, policy.seen.learnt())
    return {**conf, **PLANNED}, Registered(known.schema.text)


def _highest(df: DataFrame, deserializer: KafkaAvroDeserializer, topic: str, columns: tuple[str, str]) -> SchemaVersion:
    """The highest version of the messages of a DataFrame, or of earlier messages.

    Runs a job if several versions of the topic may be the highest.
    """
    policy: ReadPolicy = policy_of(deserializer)
    binding, seen, (value, headers) = policy.binding, policy.seen, columns
    assert seen is not None
    needed = [value, *([require_headers(df, name_of("headers", headers))] if policy.signs.header else [])]
    there = binding.versions(topic)
    before = seen.highest(topic)
    older = sorted(version for version in there if before is not None and version <= before.version)
    if len(there) - len(older) > (before is None):
        version = _held(pick(df, needed), _Held(topic, Carried(deserializer)), older)
        if version is not None:
            return binding.version(topic, version)
    return before or binding.latest(topic)[0]


def _held(df: DataFrame, task: _Held, older: list[int]) -> int | None:
    """The highest version of the messages, without the versions in ``older``."""
    message = F.col("0")  # as pick() names the first column
    rows = df.where(message.isNotNull())
    if older:
        rows = rows.where(~F.substring(message, 1, header.SIZE).isin([header.pack(version) for version in older]))
    found = rows.mapInArrow(task, "version bigint").collect()
    return max((int(row.version) for row in found), default=None)


@dataclass(frozen=True, slots=True)
class _Held:
    """The task of :func:`_held`: the highest new version of each batch of messages."""

    topic: str
    deserializer: Carried[KafkaAvroDeserializer]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [version for _, version in in_parts(batch, self._version) if version is not None]
            yield pa.RecordBatch.from_pydict({"version": pa.array(found, pa.int64())})

    def _version(self, batch: pa.RecordBatch) -> int | None:
        messages, *headers = batch.columns
        policy: ReadPolicy = policy_of(self.deserializer.get())
        assert policy.seen is not None
        return held_version(policy, policy.seen, self.topic, messages, headers[0] if headers else None, "spark")
