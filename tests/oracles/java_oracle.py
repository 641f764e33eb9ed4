"""Apache Avro's Java library as an oracle: pyspark's jar, driven over stdin and stdout (see Oracle.java)."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from java_program import JavaProgram, class_path
from java_values import Shown

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.session.java import java_home

PROGRAM = Path(__file__).with_name("Oracle.java")
JARS = ("avro-1.*", "jackson-core-2*", "jackson-databind-*", "jackson-annotations-*", "slf4j-api-*", "janino-*")
JARS += ("commons-compiler-*",)
# Items of an array of nulls take no bytes: we refuse too many of them; Java would create them and run out of memory.
MOST_ITEMS = 1 << 20


class NoJavaError(Exception):
    """This machine cannot run the oracle."""


class RefusedError(Exception):
    """Java refused: the stage ("parse writer", "parse reader", "read", "write"), and its exception."""

    def __init__(self, stage: str, kind: str, message: str) -> None:
        super().__init__(f"{stage}: {kind}: {message}")
        self.stage = stage
        self.kind = kind.rpartition(".")[2]
        self.message = message


@dataclass(frozen=True)
class Read:
    """One datum as Java reads it."""

    value: Any  # records as dicts, symbols as text, fixed as bytes
    branches: tuple[int, ...]  # branches chosen in the reader's unions, in the order of the value
    written: bytes  # the value, written with the reader's schema
    left: int  # number of bytes after the datum


class JavaAvro(JavaProgram):
    """A running oracle; one request at a time. Schemas are JSON values, and their defaults are not validated.

    Raises:
        NoJavaError: from the constructor, on a machine without Java or pyspark.
    """

    def __init__(self) -> None:
        # A sanitizer loaded into the process breaks Java.
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        super().__init__(_command(), environment)

    def canonical(self, schema: Any, *, strict: bool = False) -> str:
        """Return the parsing canonical form. With ``strict``, defaults are validated too. Raises RefusedError."""
        return self._ask("parse", ["strict"] if strict else [], _text(schema))[0].decode()

    def can_read(self, writer: Any, reader: Any) -> bool:
        """Whether canReadStrategy of SchemaValidator accepts, which Pulsar's broker uses."""
        return self._ask("can-read", [], _text(writer), _text(reader))[0] == b"true"

    def read(self, writer: Any, data: bytes, reader: Any = None, *flags: str) -> Read:
        """Read with ``reader`` (default: the writer's schema), and write the result again. Raises RefusedError.

        Flags: ``fast`` for Java's fast reader, ``logical`` for its conversions of logical types, ``blocks`` to write
        arrays and maps in blocks with a size, ``unwritten`` not to write.
        """
        theirs = _text(writer)
        answer = self._ask("read", [*flags], theirs, theirs if reader is None else _text(reader), data)
        shown = Shown(answer[1])
        return Read(shown.value(), tuple(shown.branches), answer[2], int(answer[0]))

    def _ask(self, operation: str, flags: list[str], *arguments: bytes) -> list[bytes]:
        parts = [operation.encode(), ",".join(flags).encode(), *arguments]
        self._stdin.write(
            struct.pack(">i", len(parts)) + b"".join(struct.pack(">i", len(part)) + part for part in parts)
        )
        self._stdin.flush()
        status, *answer = [self._take(self._size()) for _ in range(self._size())]
        if status != b"ok":
            raise RefusedError(*(part.decode() for part in answer))
        return answer

    def _size(self) -> int:
        size: int = struct.unpack(">i", self._take(4))[0]
        return size

    def _take(self, size: int) -> bytes:
        data = self._stdout.read(size)
        if len(data) != size:
            raise self.gone()
        return data


def _command() -> list[str]:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise NoJavaError("pyspark is not installed: its jars hold Java's Avro")
    try:
        with _no_preload():
            java = java_home() / "bin" / "java"
    except ConfigError as error:
        raise NoJavaError(str(error)) from error
    jars = Path(spec.origin).parent / "jars"
    found = [jar for pattern in JARS for jar in sorted(jars.glob(f"{pattern}.jar"))]
    limits = [f"-Dorg.apache.avro.limits.collectionItems.maxLength={MOST_ITEMS}"]
    options = ["-Xmx512m", "-Xss4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *limits]
    compiler = "org.codehaus.janino.SimpleCompiler"
    return [str(java), *options, *class_path(*found), compiler, str(PROGRAM), "Oracle"]


@contextmanager
def _no_preload() -> Iterator[None]:
    before = os.environ.pop("LD_PRELOAD", None)
    try:
        yield
    finally:
        if before is not None:
            os.environ["LD_PRELOAD"] = before


def _text(schema: Any) -> bytes:
    return (schema if isinstance(schema, str) and schema[:1] in '{["' else json.dumps(schema)).encode()
