"""The jobs of arrow_avro.py with a reader's schema: eight versions of messages, and three of a hundred fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from arrow_avro_crate import Rust
from arrow_avro_jobs import bodies_of, check, confluent, decoding, job, same_columns
from column_shapes import COLUMNS_BY_NAME, FEW, different
from harness import Job
from shapes import FLAT, WIDE

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.codec import Codec

VERSIONS, COLUMN_OF_VERSIONS, COLUMN_OF_FEW = 8, "8 versions", "3 of 100 fields"
ONE_DECODER = "arrow-avro, one decoder"
ROWS_OF_ONE_DECODER = 1_024  # a batch for each row takes just as long for each row if there are more of them


def version_of(number: int) -> dict[str, Any]:
    """The flat schema, with as many fields added as versions came before."""
    added = [{"name": f"added_{which}", "type": "string", "default": "none"} for which in range(number)]
    return {**FLAT, "fields": [*FLAT["fields"], *added]}


def eight_versions(rust: Rust, url: str, rows: int) -> Iterator[Job]:
    """Messages of eight versions in turn, read as the latest."""
    conf, topic, records = {"schema.registry.url": url}, f"versions-{rows}", different("flat")
    schemas = [version_of(number) for number in range(VERSIONS)]
    bodies, data = [b""] * rows, [b""] * rows
    for number, schema in enumerate(schemas):
        codec, serializer = Codec(schema), KafkaAvroSerializer(conf, schema)
        for row in range(number, rows, VERSIONS):
            # Not the row's number: eight versions in turn would get an eighth of the records each.
            record = records[row // VERSIONS % len(records)] | {f"added_{which}": "some" for which in range(number)}
            bodies[row], data[row] = codec.encode(record), serializer.serialize(topic, record) or b""
    texts, theirs = [json.dumps(schema) for schema in schemas], confluent(bodies, VERSIONS)
    deserializer = KafkaAvroDeserializer(conf, schemas[-1])
    reader = rust.reader(texts, rows, framed=True, reader=texts[-1], by_id=True)
    yield from decoding(rust, reader, theirs, deserializer, topic, COLUMN_OF_VERSIONS, pa.array(data))
    if rows == ROWS_OF_ONE_DECODER:
        one, messages = rust.reader(texts, rows, framed=True, reader=texts[-1]), rust.messages(theirs, apart=False)
        ours = deserializer.deserialize_batch(topic, data)
        check(same_columns(rust.columns(one, messages), ours), "8 versions, one decoder")
        slow = job("decode, framed", COLUMN_OF_VERSIONS, ONE_DECODER, rows, lambda: rust.read(one, messages))
        slow.loops = 1
        yield slow


def few(rust: Rust, url: str, rows: int) -> Iterator[Job]:
    """Three of a hundred fields, by a reader's schema."""
    conf, topic, bodies = {"schema.registry.url": url}, f"few-{rows}", bodies_of(COLUMNS_BY_NAME["wide"], rows)
    messages = KafkaAvroSerializer(conf, WIDE).serialize_batch(topic, ColumnCodec(WIDE).decode(pa.array(bodies)))
    reader = rust.reader([json.dumps(WIDE)], rows, framed=True, reader=json.dumps(FEW))
    read = KafkaAvroDeserializer(conf, FEW)
    yield from decoding(rust, reader, confluent(bodies), read, topic, COLUMN_OF_FEW, messages)
