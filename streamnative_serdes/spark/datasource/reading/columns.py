"""Plan: the columns of a read, and how tasks convert messages to columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from streamnative_serdes.arrow import in_parts
from streamnative_serdes.arrow.kafka_columns import kafka_columns
from streamnative_serdes.spark.datasource.offsets.bounds import Topics
from streamnative_serdes.spark.datasource.offsets.ranges import Range
from streamnative_serdes.spark.datasource.user_options.client_config import client_config, is_fixed
from streamnative_serdes.spark.datasource.user_options.names import FORMAT
from streamnative_serdes.spark.datasource.user_options.options import Options
from streamnative_serdes.spark.frames.decoding import Decoding, MessageRows
from streamnative_serdes.spark.types.arrow import KAFKA_COLUMNS, WITH_HEADERS

from .task import Patience, read_range, require_valid

if TYPE_CHECKING:
    from confluent_kafka import Message

_DECODED_ONLY: Final = ("columns", "keep", "mode", "errorColumn", "schemaEvolution", "reader.schema", "reader.schemas")
# Before PySpark 4.1, the time zone is always UTC.
_ZONE: Final[Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
_GROUP: Final = "spark-kafka-source"  # as Spark's own source calls its groups


@dataclass(frozen=True)
class Plan:
    """A read, planned on the driver; it goes to the tasks."""

    options: Options  # with the user's references in place of secrets
    topics: Topics
    schema: T.StructType
    decoding: Mapping[str, Decoding] | None  # how values become columns, by topic; None for the columns of Kafka
    client: Mapping[str, Any] | None = field(repr=False)  # the Kafka client's configuration, if it needs no references
    patience: Patience  # of tasks with missing messages
    retries: tuple[int, float]  # how often a question to the brokers is repeated, and after how many seconds

    def kafka(self) -> dict[str, Any]:
        """The client's configuration, with references resolved in this process."""
        return _client(self.options) if self.client is None else dict(self.client)

    @cached_property
    def _arrow(self) -> pa.Schema:
        return to_arrow_schema(self.schema, **_ZONE)

    def batches(self, span: Range) -> Iterator[pa.RecordBatch]:
        """The columns of a range's messages, in the types that Spark expects; runs in a task."""
        schema = self._arrow
        for messages in read_range(self.kafka(), span, self.patience):
            for columns in self._columns(span.topic, messages):
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _columns(self, topic: str, messages: Sequence[Message]) -> Iterator[list[pa.Array]]:
        if self.decoding is None:
            as_columns = partial(kafka_columns, names=self.schema.names)
            return (batch.columns for _, batch in in_parts(messages, as_columns))
        decoding = self.decoding.get(topic)
        if decoding is None:
            from .decoded import decoding_of_new

            decoding = decoding_of_new(self.options, topic, self.schema)
        return decoding.columns(MessageRows(messages, decoding.names))


def _client(options: Options) -> dict[str, Any]:
    """The client requires a group. Nobody joins it: partitions are assigned, and offsets are never committed."""
    prefix = options.text("groupIdPrefix") or _GROUP
    return {"group.id": f"{prefix}-{FORMAT}", **client_config(options)}


def plan(given: Mapping[str, str]) -> Plan:
    """Plan a read; with ``decode``, this asks the registry."""
    options = Options.parse(given, "read")
    topics = Topics.of(options)
    # Errors in what only tasks use, or nothing but a stream, are raised now.
    patience = Patience(
        options.flag("failOnDataLoss", True), options.whole("kafkaConsumer.pollTimeoutMs", default=120_000) / 1000
    )
    pause = options.whole("fetchOffset.retryIntervalMs", least=0, default=1_000) / 1000
    retries = options.whole("fetchOffset.numRetries", least=0, default=3), pause
    schema, how = _planned(options, topics)
    kafka = _client(options)
    require_valid(kafka, topics.shown)
    return Plan(options, topics, schema, how, kafka if is_fixed(options) else None, patience, retries)


def _planned(options: Options, topics: Topics) -> tuple[T.StructType, Mapping[str, Decoding] | None]:
    """The columns, and how values become columns."""
    if options.flag("decode", False):
        from .decoded import decoding

        return decoding(options, topics)
    options.refuse_idle(_DECODED_ONLY, "decode=true", '.option("decode", "true")')
    return WITH_HEADERS if options.flag("includeHeaders", False) else KAFKA_COLUMNS, None
