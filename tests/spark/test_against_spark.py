"""decode_df and encode_df against Spark's own Avro classes, and against the SerDes row by row: random schemas and data.

``AvroFileFormat`` is part of PySpark; it reads container files, whose records are encoded like messages.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from avro_strategies import ALL_LOGICAL, Maker
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, SchemaError
from streamnative_serdes._schema import Array, AvroType, Fixed, Map, Primitive, Record, Schema, Union, parse
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.spark import decode_df, encode_df, to_spark_type
from streamnative_serdes.spark.types.avro import HAS_TIME
from streamnative_serdes.testing import LocalRegistry

SPARKS_OWN = "org.apache.spark.sql.avro.AvroFileFormat"
# Spark has its own types for nanoseconds, where we use BIGINT; and it reads a big-decimal as bytes, which cannot be
# compared with a number.
LOGICAL = ALL_LOGICAL - {"timestamp-nanos", "local-timestamp-nanos", "big-decimal"}
EXAMPLES = settings(
    max_examples=int(os.environ.get("SERDES_SPARK_EXAMPLES", "5")),  # each example takes three jobs
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking takes minutes, with one job per step
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@st.composite
def records(draw: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Draw a record schema that Spark has a type for, and data of it."""
    maker = Maker(draw, frozenset(LOGICAL))
    fields = [(f"c{number}", *maker.type(3)) for number in range(draw(st.integers(1, 4)))]
    schema = {"type": "record", "name": "Top", "fields": [{"name": name, "type": kind} for name, kind, _ in fields]}
    try:
        to_spark_type(schema)
    except SchemaError:  # it is recursive
        assume(False)
    return schema, draw(st.lists(st.fixed_dictionaries({name: data for name, _, data in fields}), max_size=6))


def container(schema: Any, data: list[bytes]) -> bytes:
    """Return an Avro object container file with one block."""
    header = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}
    sync, long, block = b"S" * 16, Codec(parse("long")), b"".join(data)
    head = b"Obj\x01" + Codec(parse({"type": "map", "values": "bytes"})).encode(header) + sync
    return head + (long.encode(len(data)) + long.encode(len(block)) + block + sync if data else b"")


@pytest.fixture
def times(spark: SparkSession) -> Iterator[None]:
    """Enable Spark's TIME type, because its own reader refuses time-micros otherwise."""
    if HAS_TIME:
        spark.conf.set("spark.sql.timeType.enabled", "true")
    yield
    if HAS_TIME:
        spark.conf.unset("spark.sql.timeType.enabled")


@pytest.mark.usefixtures("times")
@EXAMPLES
@given(records())
def test_spark_and_the_deserializer_read_random_messages_equally(
    spark: SparkSession, registry: LocalRegistry, tmp_path: Path, made: tuple[Any, list[Any]]
) -> None:
    schema, data = made
    topic, conf = f"t{uuid.uuid4().hex}", {"schema.registry.url": registry.url}
    serializer = KafkaAvroSerializer(conf, schema)
    serializer.warm_up(topic)
    messages = [serializer.serialize(topic, datum) for datum in data]
    decoded = decode_df(spark.createDataFrame(pa.table({"value": pa.array(messages, pa.binary())})), conf, topic=topic)
    ours = rows_of(decoded)

    (tmp_path / "in").mkdir()
    try:
        (tmp_path / "in" / "data.avro").write_bytes(container(schema, [(each or b"")[10:] for each in messages]))
        theirs = spark.read.format(SPARKS_OWN).option("datetimeRebaseMode", "CORRECTED").load(str(tmp_path / "in"))
        assert unordered(ours) == unordered(rows_of(theirs))
    finally:
        shutil.rmtree(tmp_path / "in")

    root = parse(schema).root
    read = [KafkaAvroDeserializer(conf).deserialize(topic, each) for each in messages]
    assert ours == [as_spark(root, record) for record in read]
    assert [bytes(row.value) for row in encode_df(decoded, conf, topic=topic).collect()] == messages


def rows_of(df: DataFrame) -> list[dict[str, Any]]:
    """Return the rows that toArrow() should give; it fails if a struct is null and its fields are not nullable."""
    return [row for batch in df._collect_as_arrow() for row in batch.to_pylist()]  # type: ignore[operator]


def unordered(value: Any) -> Any:
    """Sort maps by key, because Java's Avro does not keep their order."""
    if isinstance(value, dict):
        return {name: unordered(each) for name, each in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return sorted((key, unordered(each)) for key, each in value)
    return [unordered(each) for each in value] if isinstance(value, list) else value


def as_spark(kind: AvroType, value: Any) -> Any:
    """Convert a value of the deserializer to the form that Arrow has in Spark's types."""
    if value is None:
        return None
    if isinstance(kind, Union):
        return as_member(kind, value)
    if isinstance(kind, Record):
        return {field.name: as_spark(field.type, value[field.name]) for field in kind.fields}
    if isinstance(kind, Map):
        return [(key, as_spark(kind.values, each)) for key, each in value.items()]
    if isinstance(kind, Array):
        return [as_spark(kind.items, each) for each in value]
    return as_leaf(kind, value)


def as_leaf(kind: AvroType, value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return value.bytes if isinstance(kind, Fixed) else str(value)
    if isinstance(value, Duration):
        return b"".join(part.to_bytes(4, "little") for part in value)
    if isinstance(value, dt.time) and not (HAS_TIME and logical_of(kind) == "time-micros"):
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond
        return micros // 1000 if logical_of(kind) == "time-millis" else micros
    return value


def logical_of(kind: AvroType) -> str:
    logical = kind.logical if isinstance(kind, Primitive | Fixed) else None
    return logical.name if logical else ""


def as_member(union: Union, value: Any) -> Any:
    """Return the union member for ``value``, by the branch number that the serializer wrote."""
    chosen = union.branches[Codec(Schema("", union)).encode(value)[0] >> 1]
    branches = [branch for branch in union.branches if branch.kind != "null"]
    if len(branches) == 1:
        return as_spark(chosen, value)
    return {
        f"member{number}": as_spark(branch, value) if branch is chosen else None
        for number, branch in enumerate(branches)
    }
