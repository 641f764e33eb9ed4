"""The libraries under test: one class each, set up for one shape as the library's documentation recommends.

``statements`` are the timed statements, word for word, for one ``value``: a record to write or a message to read. The
names in a statement are attributes of the instance. A missing operation means that the contender does not offer it.
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

OPERATIONS = ("serialize", "deserialize", "resolve")  # resolve: deserialize with a reader's schema
FRAMED = OPERATIONS[:2]  # measured with header and registry as well


class Contender:
    """A library, set up for one shape."""

    name: ClassVar[str]  # on the command line and in JSON
    title: ClassVar[str]  # in tables
    frame: ClassVar[int] = 0  # bytes before the Avro body; 0: a codec alone
    against: ClassVar[str | None] = None  # for a peer: the contender of ours that does the same work
    statements: ClassVar[Mapping[str, str]]

    def __init__(self, shape: Shape, url: str) -> None:
        """Set up for ``shape``. ``url`` is the address of a Pulsar-style registry."""
        raise NotImplementedError

    def messages(self, shape: Shape, bodies: Sequence[bytes]) -> Sequence[Any]:
        """The messages to read, one for each record of ``shape``. ``bodies`` are fastavro's bytes."""
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
    """The same SerDes, called by method with a topic."""

    name, title = "methods", "streamnative_serdes, by method"
    statements: ClassVar = {"serialize": "serialize(topic, value)", "deserialize": "deserialize(topic, value)"}

    def __init__(self, shape: Shape, url: str) -> None:
        super().__init__(shape, url)
        self.serialize, self.deserialize = self.serializer.serialize, self.deserializer.deserialize


class Confluent(Contender):
    """Confluent's SerDes with default options, and the mock registry that confluent_kafka provides for tests."""

    name, title, frame, against = "confluent", "confluent-kafka", 5, "ours"
    statements = Ours.statements

    def __init__(self, shape: Shape, url: str) -> None:
        registry = SchemaRegistryClient.new_client({"url": f"mock://{url}"})
        self.context = SerializationContext(f"bench-{shape.name}", MessageField.VALUE)
        self.serializer = AvroSerializer(registry, shape.text)
        self.deserializer = AvroDeserializer(registry)


class OurCodec(Contender):
    """Our codec, without header and registry."""

    name, title = "codec", "streamnative_serdes.codec"
    statements: ClassVar = dict(zip(OPERATIONS, ("encode(value)", "decode(value)", "resolve(value)"), strict=True))

    def __init__(self, shape: Shape, _url: str) -> None:
        codec = Codec(shape.schema)
        self.encode, self.decode = codec.encode, codec.decode
        self.resolve = Codec(shape.schema, shape.reader).decode


class Floor(Contender):
    """C code that knows the objects beforehand and only creates them: the cost that CPython itself causes."""

    name, title = "floor", "creating the objects only, in C"
    statements: ClassVar = {"deserialize": "build(value)"}

    def __init__(self, _shape: Shape, _url: str) -> None:
        self.build = load_floor().build

    def messages(self, shape: Shape, bodies: Sequence[bytes]) -> Sequence[Any]:  # noqa: ARG002
        return [load_floor().Program(shape.schema, record) for record in shape.records]


class Fastavro(Contender):
    """The codec that Confluent's SerDes use, with the schema parsed beforehand."""

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
    """Another compiled codec. By default it returns its own record objects; here it returns dicts, like the others."""

    name, title, against = "cavro", "cavro", "codec"
    statements: ClassVar = dict(
        zip(OPERATIONS, ("binary_encode(value)", "binary_decode(value)", "resolve(value)"), strict=True)
    )

    def __init__(self, shape: Shape, _url: str) -> None:
        schema = cavro.Schema(shape.text, record_decodes_to_dict=True)
        self.binary_encode, self.binary_decode = schema.binary_encode, schema.binary_decode
        reader = cavro.Schema(json.dumps(shape.reader), record_decodes_to_dict=True)
        self.resolve = reader.reader_for_writer(schema).binary_decode


CONTENDERS: tuple[type[Contender], ...] = (Ours, OurMethods, Confluent, OurCodec, Floor, Fastavro, Cavro)


def function(statement: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    """Turn the statement into a function of ``value``, so that the code that is checked is the code that is timed."""
    *before, last = statement.split("; ")
    space: dict[str, Any] = dict(names)
    exec("def run(value):\n " + "\n ".join([*before, f"return {last}"]), space)
    run: Callable[[Any], Any] = space["run"]
    return run
