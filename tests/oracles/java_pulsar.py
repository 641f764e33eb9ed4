"""Pulsar's Java client from the server's jars, driven over stdin and stdout (see JavaClient.java)."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from schema_types import java_value
from servers import requirements

PROGRAM = Path(__file__).with_name("JavaClient.java")
_OPTIONS: Final = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dlog4j2.level=ERROR",
    # Without a version, Janino does not support static methods of interfaces, such as Schema.AVRO.
    "-Dorg.codehaus.janino.UnitCompiler.defaultTargetVersion=8",
)
_PATIENCE: Final = 30.0  # seconds until a client that does not end is killed


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


class JavaPulsar:
    """A running client; one request at a time."""

    def __init__(self, service_url: str) -> None:
        command = _command(service_url)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._log.close()

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
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise AssertionError(f"Java is gone: {self._log.read()[:3000].decode(errors='replace')}")
        answer = json.loads(line)
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


def _command(service_url: str) -> list[str]:
    spec = importlib.util.find_spec("pyspark")
    assert spec
    assert spec.origin  # the servers were downloaded with a jar of pyspark
    jars = Path(spec.origin).parent / "jars"
    compiler = [str(jar) for pattern in ("janino-*.jar", "commons-compiler-*.jar") for jar in jars.glob(pattern)]
    path = os.pathsep.join([f"{requirements().pulsar}/*", *compiler])
    main = ["org.codehaus.janino.SimpleCompiler", str(PROGRAM), "JavaClient", service_url]
    return [str(requirements().java), *_OPTIONS, "-cp", path, *main]
