"""Both engines read each other's messages: ``avro.engine=fastavro`` and our codec, with each shape of data.

Values and bytes are equal except for what KNOWN lists, and what fastavro lacks (see test_codec_against_fastavro.py).
"""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from avro_evolution import writer_reader_datum
from avro_strategies import ALL_LOGICAL, bare, schema_and_datum, unions
from hypothesis import given
from schemas import array, enum, fixed, logical, record

from examples import examples
from streamnative_serdes import DecodeError, EncodeError, KafkaAvroDeserializer, KafkaAvroSerializer, SchemaError
from streamnative_serdes.codec import Duration
from streamnative_serdes.testing import LocalRegistry

UNKNOWN = {"big-decimal", "fixed-uuid"}  # to fastavro: KNOWN has them
TOPICS = map("topic-{}".format, itertools.count())


@pytest.fixture(scope="module")
def confs() -> Iterator[list[dict[str, str]]]:
    with LocalRegistry() as registry:
        ours = {"schema.registry.url": registry.url}
        yield [ours, {**ours, "avro.engine": "fastavro"}]


def around(schema: Any) -> Any:
    """A record with one field: Pulsar's registry takes no union at the root."""
    return record("Around", ("field", schema))


def written_otherwise(branches: list[Any]) -> bool:
    """Whether fastavro writes data of ours as another branch of this union."""
    names = [branch if isinstance(branch, str) else branch["type"] for branch in branches]
    kinds = [branch.get("logicalType") for branch in branches if isinstance(branch, dict)]
    texts = any(name.startswith(("string", "enum", "Enum")) for name in names)
    raw = any(name.startswith(("bytes", "fixed", "Fixed")) for name in names)
    return ("date" in kinds and texts) or ("array" in names and raw) or ("duration" in kinds and "bytes" in names)


@given(schema_and_datum(ALL_LOGICAL - UNKNOWN))
@examples(150)
def test_each_engine_reads_what_the_other_has_written(confs: list[dict[str, str]], sample: tuple[Any, Any]) -> None:
    schema, datum = around(sample[0]), {"field": sample[1]}
    topic = next(TOPICS)
    ours, theirs = (KafkaAvroSerializer(conf, schema) for conf in confs)
    messages = [ours.serialize(topic, datum)]
    if not any(map(written_otherwise, unions(schema))):
        messages.append(theirs.serialize(topic, bare(datum)))
        assert messages[0] == messages[1]

    for message in messages:
        read_by_us, read_by_them = (KafkaAvroDeserializer(conf).deserialize(topic, message) for conf in confs)
        assert read_by_us == datum
        assert read_by_them == bare(datum)


@given(writer_reader_datum(frozenset({"date"}), gentle=True))
@examples(75)
def test_both_engines_resolve_a_gently_changed_schema_alike(
    confs: list[dict[str, str]], sample: tuple[Any, Any, Any]
) -> None:
    writer, reader, datum = sample
    topic = next(TOPICS)
    message = KafkaAvroSerializer(confs[0], around(writer)).serialize(topic, {"field": datum})
    by_spec = {"schema.resolution": "spec"}  # as fastavro
    ours, theirs = (read_or_refused(conf | by_spec, around(reader), topic, message) for conf in confs)
    assert theirs in (ours, DecodeError)  # it loses a type whose fields have moved


def read_or_refused(conf: Any, reader: Any, topic: str, message: bytes | None) -> Any:
    try:
        return KafkaAvroDeserializer(conf, reader).deserialize(topic, message)
    except DecodeError as error:
        assert (error.topic, error.version) == (topic, 0)
        return DecodeError


class Known(NamedTuple):
    """A difference: what a datum is after it was written and read by our engine, and by fastavro; or the error."""

    schema: Any
    datum: Any
    ours: Any
    theirs: Any


NOON = dt.datetime(2026, 1, 1, 12)
ID = uuid.UUID(int=7)
MOMENT = logical("long", "timestamp-millis")
KNOWN = {
    "a fraction as int": Known("int", 1.5, EncodeError, 1),
    "true as int": Known("int", True, EncodeError, 1),
    "an int beyond 32 bits": Known("int", 2**40, EncodeError, DecodeError),
    "any object as boolean": Known("boolean", "no", EncodeError, True),
    "a number in a union": Known(["double", "int"], 1, 1, 1.0),
    "a symbol in a union": Known(["string", enum("E", "A")], "A", "A", "A"),
    "a tuple": Known(array("int"), (1, 2), [1, 2], [1, 2]),
    "a uuid in 16 bytes": Known(fixed("F", 16, logicalType="uuid"), ID, ID, EncodeError),
    "a duration": Known(fixed("F", 12, logicalType="duration"), Duration(1, 2, 3), Duration(1, 2, 3), EncodeError),
    "a big decimal": Known(logical("bytes", "big-decimal"), Decimal("1.5"), Decimal("1.5"), EncodeError),
    "the characters of text": Known(array("string"), "ab", EncodeError, ["a", "b"]),
    "a lone surrogate": Known("string", "\ud800", EncodeError, EncodeError),
    "text as a number": Known("int", "1", EncodeError, EncodeError),
    "null as text": Known("string", None, EncodeError, EncodeError),
}


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN.keys())
def test_the_engines_differ_where_the_table_says_so(confs: list[dict[str, str]], known: Known) -> None:
    for conf, expected in zip(confs, (known.ours, known.theirs), strict=True):
        topic, schema = next(TOPICS), around(known.schema)
        try:
            message = KafkaAvroSerializer(conf, schema).serialize(topic, {"field": known.datum})
        except EncodeError as error:
            assert expected is EncodeError, error
            assert (error.topic, error.version) == (topic, 0)
            assert error.hint is not None or error.path == "field"
            continue
        if expected is DecodeError:
            with pytest.raises(DecodeError, match="at most 32 bits"):
                KafkaAvroDeserializer(conf).deserialize(topic, message)
            continue
        found = KafkaAvroDeserializer(conf).deserialize(topic, message)["field"]
        assert (type(found), found) == (type(expected), expected)


def test_a_default_of_bytes_that_fastavro_fills_in_is_text(confs: list[dict[str, str]]) -> None:
    topic = next(TOPICS)
    reader = record("Around", ("field", "int"), ("raw", "bytes", "\u00ff"))
    message = KafkaAvroSerializer(confs[0], around("int")).serialize(topic, {"field": 1})
    ours, theirs = (KafkaAvroDeserializer(conf, reader).deserialize(topic, message) for conf in confs)
    assert (ours["raw"], theirs["raw"]) == (b"\xff", "\u00ff")


def test_a_registrys_schema_that_fastavro_refuses_is_an_error_of_the_schema(confs: list[dict[str, str]]) -> None:
    topic, schema = next(TOPICS), around(enum("E", "ä"))
    message = KafkaAvroSerializer(confs[0], schema).serialize(topic, {"field": "ä"})
    with pytest.raises(SchemaError, match=f"topic {topic}, schema version 0: fastavro refuses the schema"):
        KafkaAvroDeserializer(confs[1]).deserialize(topic, message)
    with pytest.raises(SchemaError, match="fastavro refuses the schema"):
        KafkaAvroSerializer(confs[1], schema)
