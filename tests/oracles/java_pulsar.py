"""Pulsar's Java client from the server's jars, driven over stdin and stdout (see JavaClient.java)."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyspark
from java_program import OPTIONS, JavaProgram, class_path
from schema_types import java_value
from servers import requirements

PROGRAM = Path(__file__).with_name("JavaClient.java")
# Without a version, Janino does not support static methods of interfaces, such as Schema.AVRO.
_OPTIONS: Final = (*OPTIONS, "-Dlog4j2.level=ERROR", "-Dorg.codehaus.janino.UnitCompiler.defaultTargetVersion=8")


# As JavaClient.java says: a class for Schema.AVRO, "JSON " and a class, STRING, INT8, ..., or a dict for KEY_VALUE.
SchemaName = str | dict[str, str]


class Seen(NamedTuple):
    """One message as a Java consumer receives it."""

    data: bytes | None  # None for a tombstone
    version: int  # schema version in Pulsar's metadata; -1 if there is none
    type: str  # AVRO, KEY_VALUE, BYTES, ...; "" for null, and if it could not be read
    value: Any  # fields by name, [key, value], or bytes
    error: str  # the exceptions, from the outermost to the cause; "" if it was read
    key: bytes | None = None


class Reader(NamedTuple):
    """What ``Message.getReaderSchema()`` gives."""

    type: str
    text: str
    properties: dict[str, str]
    native: str | None  # Avro's schema as text, or the name of a protobuf message
    decoded: Any  # what its decode() makes of the message's bytes, see schema_types.java_value; not for KEY_VALUE


class Received(NamedTuple):
    """One message of any type as a Java consumer receives it."""

    data: bytes | None
    key: bytes | None
    version: int  # schema version in Pulsar's metadata; -1 if there is none
    null: bool  # the consumer gets null
    type: str | None  # of the GenericObject that AUTO_CONSUME gives
    native: str | None  # the class of its native object, or of the value
    value: Any  # that object, see schema_types.java_value
    reader: Reader | None
    error: str | None


class JavaPulsar(JavaProgram):
    """A running client; one request at a time."""

    def __init__(self, service_url: str) -> None:
        jars = Path(pyspark.__file__).parent / "jars"  # the servers were downloaded with one of them
        compiler = [jar for pattern in ("janino-*.jar", "commons-compiler-*.jar") for jar in jars.glob(pattern)]
        main = ["org.codehaus.janino.SimpleCompiler", PROGRAM, "JavaClient", service_url]
        java = requirements()
        super().__init__([java.java, *_OPTIONS, *class_path(f"{java.pulsar}/*", *compiler), *main])

    def produce(self, topic: str, schema: SchemaName, *values: Any) -> None:
        """Send values with a schema; without values, only register it."""
        sent = self._ask({"do": "produce", "topic": topic, "as": schema, "values": values})
        assert len(sent) == len(values)

    def consume(self, topic: str, schema: SchemaName, count: int) -> list[Seen]:
        """Return the first messages of a topic, read with a schema or with AUTO_CONSUME."""
        return [
            _seen(message) for message in self._ask({"do": "consume", "topic": topic, "as": schema, "count": count})
        ]

    def receive(self, topic: str, count: int, schema: SchemaName = "AUTO_CONSUME") -> list[Received]:
        """Return the first messages of a topic as :meth:`consume` does, with all that Java says of their schemas."""
        request = {"do": "receive", "topic": topic, "as": schema, "count": count}
        return [_received(message) for message in self._ask(request)]

    def _ask(self, request: dict[str, Any]) -> list[Any]:
        answer = self.asked(request)
        assert "ok" in answer, answer["error"]
        found: list[Any] = answer["ok"]
        return found


def _seen(message: dict[str, Any]) -> Seen:
    kind, value = message.get("type") or "", message.get("value")
    return Seen(
        _bytes(message["data"]),
        message["version"],
        kind,
        _bytes(value) if kind == "BYTES" else value,
        message.get("error", ""),
        _bytes(message["key"]),
    )


def _received(message: dict[str, Any]) -> Received:
    reader = message.get("reader")
    return Received(
        _bytes(message["data"]),
        _bytes(message["key"]),
        message["version"],
        message.get("null", False),
        message.get("type"),
        message.get("class"),
        java_value(message.get("value")),
        reader and Reader(*(reader[name] for name in Reader._fields[:-1]), java_value(reader.get("decoded"))),
        message.get("error"),
    )


def _bytes(shown: str | None) -> bytes | None:
    return None if shown is None else base64.b64decode(shown)
