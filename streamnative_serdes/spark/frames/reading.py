"""TopicReader: reads batches of a topic's messages as one schema, which was fixed when the query was planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import types as T

from streamnative_serdes._call_path import policy_of
from streamnative_serdes._config import schema_limits
from streamnative_serdes._formats import EXTERNAL
from streamnative_serdes._formats.parts import PairParts, Parts
from streamnative_serdes._reading.batches import read_batch
from streamnative_serdes._reading.columns import as_parts, columns_for, columns_of, latest_of_columns, target_of
from streamnative_serdes._reading.policy import ReadPolicy
from streamnative_serdes._schema import Record, Schema
from streamnative_serdes._topics.schema_version import SchemaVersion, known_from
from streamnative_serdes.arrow import Dialect
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.key_value import SEPARATED
from streamnative_serdes.models import Registered
from streamnative_serdes.schema_registry import SchemaInfo
from streamnative_serdes.spark.types.arrow import Decoded
from streamnative_serdes.spark.types.avro import to_spark_type, type_of_parts

_PAIR: Final = ("key", "value")
_ERRORS: Final = " errors"  # no field of Avro has a space in its name
# For a query whose schema is fixed when it is planned, whatever policy has chosen it.
PLANNED: Final = {"reader.schema.policy": None, "use.latest.version": False}


class SchemaEvolvedError(SerdesError):
    """The topic has a newer schema than the query was planned with, and ``schemaEvolution`` is ``restart``.

    A query that is restarted, from its checkpoint, is planned with the newer schema.
    """

    help = "docs/troubleshooting.md#spark-the-topic-has-a-newer-schema"


class TopicReader:
    """Reads a topic as one schema: the given schema, or the topic's latest schema at construction.

    With ``restart``, a message of a newer version than the topic has now raises SchemaEvolvedError. With ``times``,
    time-micros is TIME, not BIGINT.
    """

    def __init__(self, topic: str, conf: Mapping[str, Any], schema: object, *, restart: bool, times: bool) -> None:
        self._topic, self._times = topic, times
        self._dialect: Dialect = "spark" if times else "spark-4.0"  # what Arrow has for these types
        self._newest: int | None = None  # of the versions that it may read, if a newer one is refused
        self._deserializer = KafkaAvroDeserializer(conf, schema)
        self._target: SchemaInfo | None = None  # of a topic of another type than AVRO
        self._known: SchemaVersion | None = None
        self._chosen: Sequence[int] | None = None  # of a pair's columns; None for all
        policy = self._policy
        if policy.evolution.of_columns() is not None:
            raise ConfigError(
                "from_avro cannot know which versions its column holds, so there is no latest.seen",
                topic=topic,
                hint="use decode_df",
            )
        self._deserializer.warm_up(topic)
        other = policy.binding.kind(topic) not in (None, "AVRO", EXTERNAL)
        if policy.reading is None or restart or other:
            latest = latest_of_columns(policy, topic)
            if other:
                self._known = target_of(policy, topic, latest)
                self._target = self._known.info
            elif policy.reading is None:
                self._deserializer = KafkaAvroDeserializer({**conf, **PLANNED}, Registered(latest.schema.text))
            if restart:
                self._newest = latest.version
        self._try_columns()

    def choose(self, names: Sequence[str]) -> None:
        """Give these columns of a pair only, in this order. Raises ConfigError if it has no such column."""
        for name in names:
            if name not in _PAIR:
                raise ConfigError(f"columns: a pair has key and value, not {name!r:.80}", topic=self._topic)
        self._chosen = tuple(map(_PAIR.index, names))

    def _try_columns(self) -> None:
        """Make the columns' types, so that a schema without such types is an error on the driver, not in a task."""
        policy = self._policy
        if self._known is None:
            columns_of(self._deserializer, policy, self._topic, self._dialect, False)
        else:
            columns_for(policy, self._known, self._dialect, False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._target is not None:
            policy = self._policy
            name = policy.binding.named(self._topic)
            self._known = known_from(name, self._target, schema_limits(policy.conf))

    @property
    def _policy(self) -> ReadPolicy:
        policy: ReadPolicy = policy_of(self._deserializer)
        return policy

    @property
    def _schema(self) -> Schema:
        """The schema that messages are read as."""
        reading = self._policy.reading
        assert reading is not None
        return reading.target.schema

    def spark_type(self) -> T.DataType:
        """Spark's type of the decoded messages."""
        logical_types = self._policy.conf["avro.logical.types"]
        parts = self._parts
        if parts is not None:
            kind = type_of_parts(parts, logical_types=logical_types, times=self._times)
            if self._chosen is not None:
                assert isinstance(kind, T.StructType)
                return T.StructType([kind[number] for number in self._chosen])
            return kind
        return to_spark_type(self._schema, logical_types=logical_types, times=self._times)

    @property
    def _parts(self) -> Parts | None:
        """The parts that messages are read as, in a topic of another type than AVRO; None for AVRO."""
        return None if self._known is None else as_parts(self._policy, self._known)

    def reads_pairs(self) -> bool:
        """Whether the columns are key and value."""
        return isinstance(self._parts, PairParts)

    def reads_records(self) -> bool:
        """Whether there is a column for each field."""
        parts = self._parts
        if parts is None:
            return isinstance(self._schema.root, Record)
        return not isinstance(parts, PairParts) and parts.schema is not None and isinstance(parts.schema.root, Record)

    def schema_text(self) -> str:
        """The JSON of the record's schema that messages are read as, if they are records."""
        if self._known is not None:
            return self._known.info.text
        return self._schema.text

    def needs_keys(self) -> bool:
        """Whether messages are read together with their keys."""
        known = self._policy.binding.pairs(self._topic) if self.reads_pairs() else []
        return any(pair.halves is not None and pair.halves.encoding == SEPARATED for pair in known)

    def needs_headers(self) -> bool:
        """Whether a header of a message may name its schema."""
        return self._policy.signs.header

    def decode(self, messages: Any, headers: Any, keys: Any, fail: bool) -> Decoded:
        """The columns of the reader's schema; null in all where a message is null or cannot be read.

        Args:
            messages: the values, or messages of confluent-kafka, which are decoded in place.
            headers: the messages' headers, in the type of Spark's Kafka source, if the reader needs headers.
            keys: the messages' keys, if the reader needs keys.
            fail: whether a message that cannot be read is an error.

        Raises:
            SchemaEvolvedError: a message is of a newer version than the query may read.
        """
        columns = read_batch(
            self._deserializer,
            self._policy,
            self._topic,
            messages,
            headers,
            error_column=None if fail else _ERRORS,
            dialect=self._dialect,
            large_types=False,
            message_keys=keys,
            check=None if self._newest is None else self._refuse_newer,
            read_as=self._known,
        ).columns
        errors = pa.nulls(len(messages), pa.string()) if fail else columns.pop()
        return Decoded(columns if self._chosen is None else [columns[number] for number in self._chosen], errors)

    def _refuse_newer(self, version: int) -> None:
        if self._newest is not None and version > self._newest:
            raise SchemaEvolvedError(
                f"the query was planned when version {self._newest} was the topic's latest",
                topic=self._topic,
                version=version,
                hint="start the query again: schemaEvolution is restart",
            )
