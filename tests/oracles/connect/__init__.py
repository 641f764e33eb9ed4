"""Connect's converters in Java as an oracle: JsonConverter, AvroData, SchemaProjector, and Debezium's envelopes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from java_program import OPTIONS, JavaProgram, class_path, jdk
from servers import Missing, connect_jars

PROGRAM: Final = Path(__file__).with_name("ConnectOracle.java")
_OPTIONS: Final = (*OPTIONS, "-Xss4m", "-Duser.timezone=UTC")

Described = Any  # a schema or a value as ConnectOracle.java describes it


class RefusedError(Exception):
    """Java refused: the class of its exception, and its text."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class JavaConnect(JavaProgram):
    """A running oracle; one request at a time. Schemas and values are described as in ConnectOracle.java.

    Raises:
        Missing: from the constructor: there is no JDK, or the jars cannot be downloaded.
    """

    def __init__(self) -> None:
        jars = connect_jars()
        java = jdk()
        if java is None:
            raise Missing("Connect's converters need a JDK, and there is only a JRE")
        super().__init__([java, *_OPTIONS, *class_path(f"{jars}/*"), PROGRAM])

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
        chosen = {name.replace("_", "."): value for name, value in options.items()}
        answer: dict[str, Any] = self.asked({"do": operation, "options": chosen, **request})
        if "error" in answer:
            raise RefusedError(answer["error"], answer["message"])
        return answer


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(answer: Mapping[str, Any]) -> bytes | None:
    return None if answer["bytes"] is None else base64.b64decode(answer["bytes"])


def _both(answer: Mapping[str, Any]) -> tuple[Described, Described]:
    return answer["schema"], answer["value"]
