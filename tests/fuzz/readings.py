"""Other ways to read messages, each compared with the plain codec: options, framing, a reader's schema.

Each check takes bytes and the value of the plain codec (NOTHING if it refused), and returns whether they were read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from random import Random
from typing import Any

from classes import plain, shapes_of
from clients import check_clients, check_parts
from columns import check_columns, columns_of, neighbours_of
from oracle import NOTHING, Finding, check_written, read, same, write
from pairs import pairs_of
from schema_changes import reader_of, same_in_other_words

from streamnative_serdes import _call_path, header
from streamnative_serdes._schema import Schema, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import SchemaError

VERSION = 1
READER_TRIES = 4
MAX_EMPTY = 5_000  # values without bytes in a message; the default of a million would be slow

# Each fallback to the latest version logs a warning, and mutated headers contain very many versions.
logging.getLogger("streamnative_serdes").setLevel(logging.ERROR)


def offline(codec: Codec) -> KafkaAvroDeserializer:
    """Return a deserializer without a registry: every topic has only VERSION."""
    made = KafkaAvroDeserializer({"schema.registry.url": "http://127.0.0.1:9", "cache.capacity": 8})

    def bind(_serdes: Any, topic: str, key: int, _ctx: Any) -> _call_path.Bound:
        known = codec if key in (VERSION, _call_path.LATEST) else None
        return _call_path.Bound(topic, key, key, None, known)

    policy = _call_path.policy_of(made)
    policy.bind = bind
    policy.bound = lambda state, key, **_: bind(made, str(state), key, None)  # after a failure
    return made


def codec_of(schema: Schema, reader: Schema | None = None, **options: Any) -> Codec:
    return Codec(schema, reader, **{"max_empty_values": MAX_EMPTY, **options})


class Readings:
    """All ways to read for one schema; ``rng`` draws the reader's schema."""

    def __init__(self, schema: Schema, rng: Random) -> None:
        self.codec = codec_of(schema)
        self.topic = offline(self.codec)
        self.raw = codec_of(schema, avro_logical_types=False)
        self.named = codec_of(schema, return_record_name=True)
        self.tight = codec_of(schema, max_depth=4, max_items=5, max_empty_values=3)
        self.loose = codec_of(schema, ignore_trailing_bytes=True)
        strict = codec_of(schema, validate_strict=True), codec_of(schema, validate_strict_allow_default=True)
        self.writers = [self.codec, self.codec, self.codec, self.raw, *strict]
        tree = json.loads(schema.text)
        self.again = codec_of(schema, parse(same_in_other_words(tree), strict=False))
        self.shapes = shapes_of(schema.root, rng)
        self.shaped = codec_of(schema, shapes=self.shapes)
        rules = rng.choice(("java", "spec"))
        self.reader, self.resolving = self._reader(schema, tree, rng, rules)
        if self.reader is not None:
            self.reader_shapes = shapes_of(self.reader.schema.root, rng)
            shapes = self.reader_shapes
            self.resolving_shaped = codec_of(schema, self.reader.schema, shapes=shapes, schema_resolution=rules)
        self.columns, self.resolving_columns = columns_of(schema, max_empty_values=MAX_EMPTY), None
        self.neighbours, self.resolving_neighbours = neighbours_of(schema, max_empty_values=MAX_EMPTY), None
        if self.reader is not None:
            options: dict[str, Any] = {"max_empty_values": MAX_EMPTY, "schema_resolution": rules}
            self.resolving_columns = columns_of(schema, self.reader.schema, **options)
            self.resolving_neighbours = neighbours_of(schema, self.reader.schema, **options)
        self.pairs = None if self.columns is None else pairs_of(schema, self.codec, rng, max_empty_values=MAX_EMPTY)
        self.checks: list[Callable[[bytes, Any], bool]] = [
            *(
                self.check_raw,
                self.check_named,
                self.check_tight,
                self.check_loose,
                self.check_again,
                self.check_shaped,
            ),
            *([] if self.resolving is None else [self.check_resolved, self.check_resolved]),
            *([] if self.columns is None else [self.check_columns, self.check_clients, self.check_parts]),
            *([] if self.pairs is None else [self.check_pairs]),
            *([] if self.resolving_columns is None else [self.check_resolved_columns]),
        ]

    def _reader(self, schema: Schema, tree: Any, rng: Random, rules: str) -> tuple[Codec | None, Codec | None]:
        """Return a codec of a random reader's schema, and the codec that resolves to it."""
        for _ in range(READER_TRIES):
            try:
                reader = parse(reader_of(tree, rng), strict=False)
                return codec_of(reader), codec_of(schema, reader, schema_resolution=rules)
            except SchemaError:
                continue  # the reader lacks a name, or the schemas can never be resolved
        return None, None

    def check_framed(self, message: bytes) -> bool:
        """Read with KafkaAvroDeserializer, with and without a header."""
        got = read(lambda data: self.topic.deserialize("topic", data), message)
        if header.read(message) == VERSION:
            self._agree(got, read(self.codec.decode, message[header.SIZE :]), "with a header and without")
        elif header.read(message) is None:
            self._agree(got, read(self.codec.decode, message), "by the deserializer and by the codec")
        return got is not NOTHING

    def check_raw(self, data: bytes, value: Any) -> bool:
        """Read without logical types, which only ever refuse additional data."""
        got = read(self.raw.decode, data)
        if got is NOTHING and value is not NOTHING:
            raise Finding("read with logical types and refused without")
        if got is not NOTHING:
            check_written(self.raw, write(self.raw, got, "what was read without logical types"))
        return got is not NOTHING

    def check_named(self, data: bytes, value: Any) -> bool:
        got = read(self.named.decode, data)
        self._agree(without_names(got), value, "with names of records and without")
        if got is not NOTHING:  # the name determines the branch when writing
            data = write(self.codec, got, "what was read with names of records")
            if write(self.codec, self.named.decode(data), "what was written with names of records") != data:
                raise Finding(f"names of records do not hold: {data.hex()}")
        return got is not NOTHING

    def check_tight(self, data: bytes, value: Any) -> bool:
        """Read with small limits, which only ever refuse additional data."""
        got = read(self.tight.decode, data)
        if got is not NOTHING:
            self._agree(got, value, "with small limits and with large ones")
            if self.tight.skip(data) != len(data):
                raise Finding("decode and skip disagree under small limits")
        return got is not NOTHING

    def check_loose(self, data: bytes, value: Any) -> bool:
        """Read with trailing bytes: the datum must end where skip says."""
        got = read(self.loose.decode, data)
        if got is not NOTHING:
            end = self.codec.skip(data)
            self._agree(got, read(self.codec.decode, data[:end]), f"before byte {end} and with what follows")
        elif value is not NOTHING:
            raise Finding("read whole, and refused where more may follow")
        return got is not NOTHING

    def check_again(self, data: bytes, value: Any) -> bool:
        """Read through a resolution that changes nothing."""
        got = read(self.again.decode, data)
        self._agree(got, value, "through a resolution to the same schema and without")
        return got is not NOTHING

    def check_shaped(self, data: bytes, value: Any) -> bool:
        """Read as objects of classes, and write these."""
        got = read(self.shaped.decode, data)
        self._agree(plain(got, self.shapes), value, "as objects and as dicts")
        if got is not NOTHING:  # a class determines the branch of a union more clearly than a dict
            data = write(self.codec, value, "what was read as dicts")
            again = write(self.shaped, got, "what was read as objects")
            self._agree(read(self.codec.decode, again), read(self.codec.decode, data), "from objects and from dicts")
        return got is not NOTHING

    def check_resolved(self, data: bytes, _: Any) -> bool:
        """Read with a reader's schema: the result must be data of the reader, and all bytes must be consumed."""
        assert self.resolving is not None
        assert self.reader is not None
        got = read(self.resolving.decode, data)
        if got is not NOTHING:
            if self.codec.skip(data) != len(data):
                raise Finding(f"a reader's schema reads what skip ends at {self.codec.skip(data)}")
            try:
                check_written(self.reader, write(self.reader, got, "what a reader's schema gave"))
            except Finding as finding:
                raise Finding(f"{finding}\nreader: {self.reader.schema.text}") from finding
        objects = plain(read(self.resolving_shaped.decode, data), self.reader_shapes)
        if (got is NOTHING) != (objects is NOTHING) or repr(got) != repr(objects):
            raise Finding(f"by a reader's schema, as dicts and as objects: {shown(got)} and {shown(objects)}")
        return got is not NOTHING

    def check_columns(self, data: bytes, value: Any) -> bool:
        assert self.columns is not None
        if self.neighbours is not None:
            self.neighbours.check(data)
        return check_columns(self.columns, data, value)

    def check_clients(self, data: bytes, _: Any) -> bool:
        """Read a client's messages, and the list of their values."""
        assert self.columns is not None
        return check_clients(self.columns, data)

    def check_parts(self, data: bytes, _: Any) -> bool:
        """Read a client's messages as the columns of Spark's Kafka source."""
        return check_parts(data)

    def check_pairs(self, data: bytes, _: Any) -> bool:
        assert self.pairs is not None
        return self.pairs.check(data)

    def check_resolved_columns(self, data: bytes, _: Any) -> bool:
        assert self.resolving is not None
        assert self.resolving_columns is not None
        if self.resolving_neighbours is not None:
            self.resolving_neighbours.check(data)
        return check_columns(self.resolving_columns, data, read(self.resolving.decode, data))

    def _agree(self, one: Any, other: Any, what: str) -> None:
        if NOTHING not in (one, other) if one is not other else False:
            same(self.codec, one, other, what)
        elif one is not other:
            raise Finding(f"{what}: {shown(one)} and {shown(other)}")


def shown(value: Any) -> str:
    return "refused" if value is NOTHING else f"{value!r:.200}"


def without_names(value: Any) -> Any:
    """Remove the record names that return_record_name added."""
    if type(value) is tuple:
        return without_names(value[1])
    if isinstance(value, dict):
        return {key: without_names(item) for key, item in value.items()}
    return [without_names(item) for item in value] if isinstance(value, list) else value
