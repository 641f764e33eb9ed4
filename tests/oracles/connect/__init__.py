"""Connect's converters in Java as an oracle: JsonConverter, AvroData, SchemaProjector, and Debezium's envelopes."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from java_shapes.java import jdk
from servers import Missing, connect_jars
from waiting import HANG_SECONDS

PROGRAM: Final = Path(__file__).with_name("ConnectOracle.java")
_OPTIONS: Final = ("-Xmx256m", "-Xss4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC")

Described = Any  # a schema or a value as ConnectOracle.java describes it


class RefusedError(Exception):
    """Java refused: the class of its exception, and its text."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class JavaConnect:
    """A running oracle; one request at a time. Schemas and values are described as in ConnectOracle.java.

    Raises:
        Missing: from the constructor: there is no JDK, or the jars cannot be downloaded.
    """

    def __init__(self) -> None:
        jars = connect_jars()
        java = jdk()
        if java is None:
            raise Missing("Connect's converters need a JDK, and there is only a JRE")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        command = [str(java), *_OPTIONS, "-cp", f"{jars}/*", str(PROGRAM)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, encoding="utf-8"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=HANG_SECONDS)
        self._log.close()

    def to_json(self, schema: Described, value: Described, **options: Any) -> bytes | None:
        """What JsonConverter writes. Options are its own, with underscores for dots. Raises RefusedError."""
        return _bytes(self._ask("to-json", options, schema=schema, value=value))

    def from_json(self, data: bytes | None, **options: Any) -> tuple[Described, Described]:
        """Schema and value as JsonConverter reads them. Raises RefusedError."""
        return _both(self._ask("from-json", options, bytes=_text(data)))

    def to_avro(self, schema: Described, value: Described, **options: Any) -> tuple[str, bytes]:
        """The text of AvroData's schema, and its Avro bytes. Options as above. Raises RefusedError."""
        answer = self._ask("to-avro", options, schema=schema, value=value)
        return answer["avro"], base64.b64decode(answer["bytes"])

    def from_avro(
        self, avro: str, data: bytes, version: int | None = None, **options: Any
    ) -> tuple[Described, Described]:
        """Schema and value as AvroData makes them of ``data``; ``version`` is the registry's. Raises RefusedError."""
        known = {} if version is None else {"version": version}
        return _both(self._ask("from-avro", options, avro=avro, bytes=_text(data), **known))

    def project(self, source: Described, value: Described, target: Described) -> Described:
        """The value as SchemaProjector projects it. Raises RefusedError."""
        return self._ask("project", {}, schema=source, value=value, target=target)["value"]

    def debezium(self, row: Described, first: Described, second: Described) -> list[tuple[Described, Described]]:
        """Change events of Debezium's Envelope: read and create of ``first``, update to and delete of ``second``."""
        events = self._ask("debezium", {}, schema=row, rows=[first, second])["events"]
        return [_both(event) for event in events]

    def _ask(self, operation: str, options: Mapping[str, Any], **request: Any) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        chosen = {name.replace("_", "."): value for name, value in options.items()}
        stdin.write(json.dumps({"do": operation, "options": chosen, **request}) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            self._log.seek(0)
            raise AssertionError(f"the oracle is gone: {self._log.read()[-3000:].decode(errors='replace')}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RefusedError(answer["error"], answer["message"])
        return answer


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(answer: Mapping[str, Any]) -> bytes | None:
    return None if answer["bytes"] is None else base64.b64decode(answer["bytes"])


def _both(answer: Mapping[str, Any]) -> tuple[Described, Described]:
    return answer["schema"], answer["value"]
