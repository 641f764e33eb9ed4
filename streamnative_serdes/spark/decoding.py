"""Batches of messages to columns inside a task, by one reader's schema that was fixed when the query was planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from streamnative_serdes.arrow import Columns, Dialect, Routes
from streamnative_serdes.binding import Binding
from streamnative_serdes.columns import BatchReader
from streamnative_serdes.config import schema_limits
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.models import Reading, Target
from streamnative_serdes.schema import AvroType, Record, parse

from .options import DROPMALFORMED, FAILFAST, ReadOptions
from .types import has_time, to_spark_type
from .workers import Carried

_ERRORS: Final = " errors"  # no field of Avro has a space in its name


class SchemaEvolvedError(SerdesError):
    """The topic has a newer schema than the query was planned with, and ``schemaEvolution`` is ``restart``.

    A query that is started again, from its checkpoint, is planned with the newer one.
    """


class TopicReader(KafkaAvroDeserializer):
    """Reads a topic as one schema: the given one, or what is the topic's latest when this is made.

    Args:
        topic: the Kafka topic.
        conf: as of KafkaAvroDeserializer.
        schema: the reader's.
        restart: raise SchemaEvolvedError for a message of a newer version than the topic has now.
        times: read time-micros as TIME, not as BIGINT.

    Raises:
        SchemaNotFoundError: no schema is given, and the topic has none.
    """

    _lenient = False  # what a user gives is checked; what the registry holds need not be without fault
    _newest: int | None = None

    def __init__(self, topic: str, conf: Mapping[str, Any], schema: object, *, restart: bool, times: bool) -> None:
        super().__init__(conf, schema)
        self._times = times
        self.warm_up(topic)
        if self._codec is None or restart:
            latest, _ = self._attached().latest(topic)
            if self._codec is None:
                self._lenient = True
                self._begin(conf, latest.schema, None, is_key=False)
            if restart:
                self._newest = latest.version

    @property
    def root(self) -> AvroType:
        """The type of what is read."""
        found: AvroType = self._codec.target.schema.root
        return found

    def spark_type(self) -> T.DataType:
        """The same in Spark."""
        assert self._conf is not None
        logical_types = self._conf["avro.logical.types"]
        return to_spark_type(self._codec.target.schema, logical_types=logical_types, times=self._times)

    @property
    def dialect(self) -> Dialect:
        """What Arrow has for these types."""
        return "spark" if self._times else "spark-4.0"

    def reads_records(self) -> bool:
        return isinstance(self.root, Record)

    def _compiled(self, schema: object, conf: dict[str, Any]) -> Reading | None:
        if not self._lenient:
            return super()._compiled(schema, conf)
        return Reading(Target(parse(schema, strict=False, limits=schema_limits(conf)), {}))

    def _batch_reader(self, topic: str, binding: Binding, columns: Columns) -> BatchReader:
        if self._newest is None:
            return super()._batch_reader(topic, binding, columns)
        return _UpTo(self._newest, topic, binding, columns, fall_back=self._fall_back)


class _UpTo(BatchReader):
    """Reads no version of the topic that came after ``newest``."""

    def __init__(self, newest: int, topic: str, binding: Binding, columns: Columns, *, fall_back: bool) -> None:
        super().__init__(topic, binding, columns, fall_back=fall_back)
        self._newest, self._name = newest, topic

    def find(self, version: int) -> Routes | SerdesError:
        found = super().find(version)
        # Damaged headers name all kinds of versions: only one that the registry has is of a newer schema.
        if version > self._newest and version in self.known:
            raise SchemaEvolvedError(
                f"the query was planned when version {self._newest} was the topic's latest",
                topic=self._name,
                version=version,
                hint="start the query again: schemaEvolution is restart",
            )
        return found


@dataclass(frozen=True, slots=True)
class Decoded:
    """A batch of messages as columns, a row each; ``errors`` has a text for each that could not be read."""

    columns: list[pa.Array]
    errors: pa.Array

    @property
    def failed(self) -> bool:
        return bool(self.errors.null_count < len(self.errors))


@dataclass(frozen=True, slots=True)
class Decoder:
    """What goes to the workers.

    Args:
        topic: the Kafka topic.
        reader: what reads it.
        mode: of ReadOptions.
    """

    topic: str
    reader: Carried[TopicReader]
    mode: str

    @classmethod
    def plan(
        cls, session: SparkSession, topic: str, conf: Mapping[str, Any], schema: object, options: ReadOptions
    ) -> tuple[Decoder, TopicReader]:
        """On the driver: asks the registry for all versions that the topic has."""
        reader = TopicReader(topic, conf, schema, restart=options.restart, times=has_time(session))
        decoder = cls(topic, Carried(reader), options.mode)
        reader.columns(topic, dialect=reader.dialect)  # so that it is not the tasks who find out that there are none
        return decoder, reader

    def decode(self, messages: pa.Array) -> Decoded:
        """The columns of the reader's schema; null in all where a message is null or cannot be read.

        Raises:
            DecodeError: one cannot be read, and the mode is FAILFAST.
            SchemaEvolvedError: one is of a newer version than the query may read.
            SchemaRegistryError: a version that is not known yet cannot be asked for.
        """
        reader, name = self.reader.get(), None if self.mode == FAILFAST else _ERRORS
        batch = reader.deserialize_batch(self.topic, messages, error_column=name, dialect=reader.dialect)
        columns = batch.columns
        errors = pa.nulls(len(messages), pa.string()) if name is None else columns.pop()
        return Decoded(columns, errors)

    def drops(self, decoded: Decoded) -> bool:
        """Whether rows of this batch are left out: those of :func:`good` remain."""
        return self.mode == DROPMALFORMED and decoded.failed


def good(errors: pa.Array) -> pa.Array:
    """A mask of the rows that could be read."""
    return pc.is_null(errors)
