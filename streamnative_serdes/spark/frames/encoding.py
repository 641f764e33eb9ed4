"""Batches of columns to messages inside a task, by one schema that was fixed when the query was planned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from streamnative_serdes._avro_engine import refuse_columns
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._config import codec_arguments, schema_limits
from streamnative_serdes._formats.parts import PairParts, Parts, Plain
from streamnative_serdes._schema import MISSING, Array, AvroType, Map, Record, Schema, Union
from streamnative_serdes._schema.unmatched import unmatched
from streamnative_serdes._topics.schema_version import parts_of
from streamnative_serdes._writing.pairs import codec_of_values, known_of
from streamnative_serdes._writing.policy import WritePolicy
from streamnative_serdes.errors import ConfigError, EncodeError
from streamnative_serdes.key_value import TypedSchema
from streamnative_serdes.serializer import KafkaAvroSerializer
from streamnative_serdes.spark.session.workers import Carried
from streamnative_serdes.spark.types.arrow import arrow_type
from streamnative_serdes.spark.types.names import refuse_other_case


class TopicWriter:
    """Writes a topic by one schema: the given schema, or the topic's latest schema at construction.

    A given ``schema`` is registered on the topic now. The registry is asked for the latest schema also of a topic that
    this process knows.
    """

    def __init__(self, topic: str, conf: Mapping[str, Any], schema: object = None) -> None:
        self._typed = schema if isinstance(schema, TypedSchema) and schema.type != "AVRO" else None
        given = None if self._typed is not None else schema.schema if isinstance(schema, TypedSchema) else schema
        self._topic, self._serializer = topic, KafkaAvroSerializer(conf, given)
        self._parts: Parts | None = None  # of a topic of another type than AVRO
        self._schema: Schema | None = None
        self._policy.binding.confirm(topic)  # what this process knows of it may be of one that was deleted since
        version = None if self._typed is None else self._registered(self._typed)
        if version is None:
            version = self._chosen()
        if not self._policy.has_schema:  # whatever comes later, the columns are chosen for this one
            fixed = {**conf, "use.schema.version": version, "use.latest.version": False}
            self._serializer = KafkaAvroSerializer({**fixed, "auto.register.schemas": False})
        if self._typed is not None:
            self._chosen()
        if self._parts is None:
            self._serializer.warm_up(topic)
        self._policy.topics.add(topic)

    def _registered(self, typed: TypedSchema) -> int:
        policy = self._policy
        known, new = known_of(typed, policy.conf), policy.conf["auto.register.schemas"]
        return policy.binding.registered(self._topic, known, new=new)

    def _chosen(self) -> int:
        """Set the schema to write by, and return its version."""
        policy = self._policy
        refuse_columns(policy.engine, self._topic)
        other = policy.other_type(self._serializer, self._topic)
        if other is not None:
            options = codec_arguments(policy.conf)
            self._parts = parts_of(other, schema_limits(policy.conf), options, to_write=True)
            return other.version
        bound = policy.bind(self._serializer, self._topic, None, None)
        self._schema = codec_of_values(bound).schema
        return bound.version

    @property
    def _policy(self) -> WritePolicy:
        policy: WritePolicy = policy_of(self._serializer)
        return policy

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_parts": None, "_schema": None}  # of the driver alone

    @property
    def writes_pairs(self) -> bool:
        return isinstance(self._parts, PairParts)

    @property
    def root(self) -> AvroType | Plain | PairParts:
        """The type of a message."""
        if isinstance(self._parts, PairParts):
            return self._parts
        if self._parts is not None and self._parts.schema is None:
            return Plain(self._parts.type)
        schema = self._schema if self._parts is None else self._parts.schema
        assert schema is not None
        return schema.root

    def write(self, rows: Any) -> pa.Array | pa.RecordBatch:
        """A message for each row of columns; null for null. For KEY_VALUE topics the columns key and value."""
        return self._serializer.serialize_batch(self._topic, rows)

    def write_one(self, row: Any) -> bytes | None:
        """A message of one row."""
        return self._serializer.serialize(self._topic, row)

    def fields_of(self, names: Sequence[str], elsewhere: Collection[str] = ()) -> list[str]:
        """The fields of the record for which there are columns.

        Args:
            names: all columns of a DataFrame.
            elsewhere: columns that need not be fields, since they are the key, or are kept.

        Raises:
            ConfigError: the schema is not a record; names of columns and fields do not match, as
                ``unmatched.columns`` and ``validate.strict`` require, or differ in case alone; a field without a
                default has no column; or no field has a column.
        """
        root, topic = self.root, self._topic
        if isinstance(root, PairParts):
            return self._halves_of(names)
        if self._parts is not None and not isinstance(root, Record) and "value" in names:
            return ["value"]
        if not isinstance(root, Record):
            raise ConfigError(
                f"expected a record schema, got {root.kind}",
                topic=topic,
                hint="use to_avro for one column, KafkaAvroSink's value, or the data source's encode=value",
            )
        refuse_other_case(root, names, topic)
        self._refuse_unmatched(root, names, ConfigError, elsewhere=elsewhere)
        missing = [field.name for field in root.fields if field.name not in names and field.default is MISSING]
        if missing:
            raise ConfigError(f"there is no column for the fields {', '.join(missing)}"[:500], topic=topic)
        found = [field.name for field in root.fields if field.name in names]
        if not found:
            raise ConfigError("there is no column for any field", topic=topic, hint="all messages would be the same")
        return found

    def refuse_pairs(self) -> None:
        """Raises ConfigError if the topic is of type KEY_VALUE."""
        if self.writes_pairs:
            raise ConfigError(
                "messages of type KEY_VALUE have a key and a value",
                topic=self._topic,
                hint="encode_df makes the columns key and value of them, which Spark's own Kafka sink writes",
            )

    def _halves_of(self, names: Sequence[str]) -> list[str]:
        missing = [half for half in ("key", "value") if half not in names]
        if missing:
            raise ConfigError(
                f"there is no column {missing[0]}, and rows of a topic of type KEY_VALUE need key and value",
                topic=self._topic,
                hint='build a struct from columns: df.select(F.struct("id").alias("key"), ...)',
            )
        return ["key", "value"]

    def refuse_unmatched(
        self, kind: T.DataType, path: str = "", root: AvroType | Plain | PairParts | None = None
    ) -> None:
        """Check the fields of the rows' structs, nested ones too, once for all rows.

        Raises:
            EncodeError: as :meth:`fields_of`, for a struct that is written as a record; ``path`` names the struct.
        """
        match self.root if root is None else only_branch(root), kind:
            case Record() as record, T.StructType():
                names = kind.fieldNames()
                self._refuse_unmatched(record, names, EncodeError, path=path)
                for field in record.fields:
                    if field.name in names:
                        self.refuse_unmatched(kind[field.name].dataType, f"{path}.{field.name}".lstrip("."), field.type)
            case Array(items), T.ArrayType():
                self.refuse_unmatched(kind.elementType, f"{path}[]", items)
            case Map(values), T.MapType():
                self.refuse_unmatched(kind.valueType, f"{path}[]", values)

    def _refuse_unmatched(
        self,
        record: Record,
        names: Sequence[str],
        error: type[ConfigError | EncodeError],
        *,
        elsewhere: Collection[str] = (),
        path: str | None = None,
    ) -> None:
        conf = self._policy.conf
        fields = {field.name for field in record.fields}
        unknown = [name for name in names if name not in fields and name not in elsewhere]
        closed = conf["validate.strict"] or conf["validate.strict.allow.default"]
        if not unknown or not (closed or conf["unmatched.columns"] == "error"):
            return
        lacking = [field.name for field in record.fields if field.name not in names]
        if lacking:
            text, hint = unmatched(record.name, unknown, lacking)
        elif closed:
            text, hint = (
                f"record {record.name} has no field {unknown[0]!r:.80}",
                "validate.strict allows no other columns",
            )
        else:
            return
        raise error(text, hint=hint, topic=self._topic, path=path)

    def try_columns(self, columns: Iterable[tuple[str, T.DataType]]) -> None:
        """Write zero rows of such columns, so that a mismatch is an error on the driver, not in a task."""
        try:
            fields = [pa.field(name, arrow_type(kind)) for name, kind in columns]
        except LookupError:
            return  # Spark says so itself
        self.write(pa.nulls(0, pa.struct(fields)))  # pa.array would import pandas

    def try_value(self, kind: T.DataType) -> None:
        """Check the values of one column as :meth:`try_columns` does; a null in the column becomes a null message."""
        if isinstance(kind, T.UserDefinedType):
            kind = kind.sqlType()
        if isinstance(kind, T.NullType):
            return
        if not isinstance(self.root, Record):
            self.try_columns([("value", kind)])
        elif isinstance(kind, T.StructType):
            self.try_columns([(field.name, field.dataType) for field in kind.fields])
        else:
            raise EncodeError(
                f"expected a struct for record {self.root.name}, got {kind.simpleString()}",
                topic=self._topic,
                hint="build a struct from columns with F.struct",
            )


def only_branch(kind: AvroType | Plain | PairParts) -> AvroType | Plain | PairParts:
    """The other type in a union of null and one other type; any other type is returned unchanged."""
    others = [branch for branch in kind.branches if branch.kind != "null"] if isinstance(kind, Union) else []
    return others[0] if len(others) == 1 else kind


@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes rows to messages; the object goes to the workers."""

    topic: str
    writer: Carried[TopicWriter]
    record: bool

    @classmethod
    def plan(
        cls, topic: str, conf: Mapping[str, Any], schema: object, *, pairs: bool = False
    ) -> tuple[Encoder, TopicWriter]:
        """On the driver: registers the schema, or asks for the topic's latest. Also returns the writer.

        Raises:
            ConfigError: the topic is of type KEY_VALUE, and not ``pairs``.
        """
        writer = TopicWriter(topic, conf, schema)
        if not pairs:
            writer.refuse_pairs()
        return cls(topic, Carried(writer), isinstance(writer.root, Record)), writer

    def encode(self, rows: pa.RecordBatch | pa.StructArray) -> pa.Array | pa.RecordBatch:
        """A message for each row of columns, or for each struct; null for null. For KEY_VALUE topics a key, too."""
        return self.writer.get().write(rows)

    def encode_column(self, values: pa.Array) -> pa.Array:
        """A message for each value; null for null."""
        if pa.types.is_null(values.type):
            return pa.nulls(len(values), pa.binary())
        if not self.record:  # goes as the one column "value"
            values = pa.StructArray.from_arrays([values], ["value"], mask=pc.is_null(values))
        return self.encode(values)
