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


class Seen(NamedTuple):
    """One message as a Java consumer receives it."""

    data: bytes
    version: int  # schema version in Pulsar's metadata; -1 if there is none
    type: str  # AVRO or BYTES; "" if it could not be read
    value: Any  # fields by name, or bytes
    error: str  # the exceptions, from the outermost to the cause; "" if it was read
    key: bytes | None = None


class JavaPulsar:
    """A running client; one request at a time."""

    def __init__(self, service_url: str) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            _command(service_url), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )

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

    def produce(self, topic: str, pojo: str, *values: dict[str, Any]) -> None:
        """Send objects of a class of JavaClient.java with its ``Schema.AVRO``."""
        sent = self._ask({"do": "produce", "topic": topic, "as": pojo, "values": values})
        assert len(sent) == len(values)

    def consume(self, topic: str, schema: str, count: int) -> list[Seen]:
        """Return the first messages of a topic, read with AUTO_CONSUME, BYTES, or ``Schema.AVRO`` of a class."""
        return [
            _seen(message) for message in self._ask({"do": "consume", "topic": topic, "as": schema, "count": count})
        ]

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
    value = message.get("value")
    return Seen(
        base64.b64decode(message["data"]),
        message["version"],
        message.get("type", ""),
        base64.b64decode(value) if isinstance(value, str) else value,
        message.get("error", ""),
        None if message["key"] is None else base64.b64decode(message["key"]),
    )


def _command(service_url: str) -> list[str]:
    spec = importlib.util.find_spec("pyspark")
    assert spec
    assert spec.origin  # the servers were downloaded with a jar of pyspark
    jars = Path(spec.origin).parent / "jars"
    compiler = [str(jar) for pattern in ("janino-*.jar", "commons-compiler-*.jar") for jar in jars.glob(pattern)]
    path = os.pathsep.join([f"{requirements().pulsar}/*", *compiler])
    main = ["org.codehaus.janino.SimpleCompiler", str(PROGRAM), "JavaClient", service_url]
    return [str(requirements().java), *_OPTIONS, "-cp", path, *main]
