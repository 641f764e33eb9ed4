"""The libraries that are measured: one class each, set up for one shape as its documentation says.

``statements`` are what is timed, word for word, for one ``value``: a record to write or a message to read. Their names
are the attributes of the instance. An operation that is not there is not what the contender is about.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import cavro  # type: ignore[import-not-found]
import fastavro
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from floor import load as load_floor
from shapes import Shape

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.codec import Codec

OPERATIONS = ("serialize", "deserialize", "resolve")  # resolve: deserialize by a reader's schema
FRAMED = OPERATIONS[:2]  # measured with header and registry as well


class Contender:
    """A library at work on one shape."""

    name: ClassVar[str]  # on the command line and in JSON
    title: ClassVar[str]  # in tables
    frame: ClassVar[int] = 0  # bytes before the Avro body; 0: a codec alone
    against: ClassVar[str | None] = None  # a peer is compared with this one of ours, which does the same work
    statements: ClassVar[Mapping[str, str]]

    def __init__(self, shape: Shape, url: str) -> None:
        """Set up for ``shape``; ``url`` is that of a registry in the manner of Pulsar."""
        raise NotImplementedError

    def messages(self, shape: Shape, bodies: Sequence[bytes]) -> Sequence[Any]:
        """What is read, one for each record of ``shape``; ``bodies`` are fastavro's bytes."""
        if not self.frame:
            return bodies
        write = function(self.statements["serialize"], vars(self))
        return [write(record) for record in shape.records]


class Ours(Contender):
    """The public call, as confluent_kafka's producers and consumers make it."""

    name, title, frame = "ours", "streamnative_serdes, as clients call it", 10
    statements: ClassVar = {"serialize": "serializer(value, context)", "deserialize": "deserializer(value, context)"}

    def __init__(self, shape: Shape, url: str) -> None:
        self.topic = f"bench-{shape.name}"
        self.context = SerializationContext(self.topic, MessageField.VALUE)
        self.serializer = KafkaAvroSerializer({"schema.registry.url": url}, shape.schema)
        self.deserializer = KafkaAvroDeserializer({"schema.registry.url": url})


class OurMethods(Ours):
    """The same by method and topic."""

    name, title = "methods", "streamnative_serdes, by method"
    statements: ClassVar = {"serialize": "serialize(topic, value)", "deserialize": "deserialize(topic, value)"}

    def __init__(self, shape: Shape, url: str) -> None:
        super().__init__(shape, url)
        self.serialize, self.deserialize = self.serializer.serialize, self.deserializer.deserialize


class Confluent(Contender):
    """Confluent's SerDes at their defaults, with the registry that confluent_kafka brings for tests."""

    name, title, frame, against = "confluent", "confluent-kafka", 5, "ours"
    statements = Ours.statements

    def __init__(self, shape: Shape, url: str) -> None:
        registry = SchemaRegistryClient.new_client({"url": f"mock://{url}"})
        self.context = SerializationContext(f"bench-{shape.name}", MessageField.VALUE)
        self.serializer = AvroSerializer(registry, shape.text)
        self.deserializer = AvroDeserializer(registry)


class OurCodec(Contender):
    """Our codec alone."""

    name, title = "codec", "streamnative_serdes.codec"
    statements: ClassVar = {
        "serialize": "encode(value)",
        "deserialize": "decode(value)",
        "resolve": "resolve(value)",
    }

    def __init__(self, shape: Shape, _url: str) -> None:
        codec = Codec(shape.schema)
        self.encode, self.decode = codec.encode, codec.decode
        self.resolve = Codec(shape.schema, shape.reader).decode


class Floor(Contender):
    """The same objects made by C that knows them beforehand: what CPython itself charges for them."""

    name, title = "floor", "the objects alone, made by C"
    statements: ClassVar = {"deserialize": "build(value)"}

    def __init__(self, _shape: Shape, _url: str) -> None:
        self.build = load_floor().build

    def messages(self, shape: Shape, bodies: Sequence[bytes]) -> Sequence[Any]:  # noqa: ARG002
        return [load_floor().Program(shape.schema, record) for record in shape.records]


class Fastavro(Contender):
    """The codec below Confluent's SerDes, with the schema parsed beforehand."""

    name, title, against = "fastavro", "fastavro", "codec"
    statements: ClassVar = {
        "serialize": "out = BytesIO(); schemaless_writer(out, schema, value); out.getvalue()",
        "deserialize": "schemaless_reader(BytesIO(value), schema)",
        "resolve": "schemaless_reader(BytesIO(value), schema, reader)",
    }

    def __init__(self, shape: Shape, _url: str) -> None:
        self.schema: Any = fastavro.parse_schema(shape.schema)
        self.reader: Any = fastavro.parse_schema(shape.reader)
        self.schemaless_writer, self.schemaless_reader = fastavro.schemaless_writer, fastavro.schemaless_reader
        self.BytesIO = io.BytesIO


class Cavro(Contender):
    """The other compiled codec. By default it reads records as objects of its own; here as dicts, like all others."""

    name, title, against = "cavro", "cavro", "codec"
    statements: ClassVar = {
        "serialize": "binary_encode(value)",
        "deserialize": "binary_decode(value)",
        "resolve": "resolve(value)",
    }

    def __init__(self, shape: Shape, _url: str) -> None:
        schema = cavro.Schema(shape.text, record_decodes_to_dict=True)
        self.binary_encode, self.binary_decode = schema.binary_encode, schema.binary_decode
        reader = cavro.Schema(json.dumps(shape.reader), record_decodes_to_dict=True)
        self.resolve = reader.reader_for_writer(schema).binary_decode


CONTENDERS: tuple[type[Contender], ...] = (Ours, OurMethods, Confluent, OurCodec, Floor, Fastavro, Cavro)


def function(statement: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    """The statement as a function of ``value``: so what is checked is what is timed."""
    *before, last = statement.split("; ")
    space: dict[str, Any] = dict(names)
    exec("def run(value):\n " + "\n ".join([*before, f"return {last}"]), space)
    run: Callable[[Any], Any] = space["run"]
    return run
