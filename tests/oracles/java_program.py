"""Programs of Java that tests run: to the end, or as an oracle that is asked over stdin and stdout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from servers import requirements

OPTIONS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF")
_PATIENCE: Final = 240.0  # seconds


def jdk() -> Path | None:
    """Return the path of a ``java`` that can compile (a JDK), if there is one."""
    for java in (requirements().java, Path(shutil.which("java") or "java")):
        if java.resolve().with_name("javac").exists():
            return java
    return None


def class_path(*jars: str | Path) -> tuple[str, str]:
    return "-cp", os.pathsep.join(map(str, jars))


def run(*arguments: str | Path, given: str = "") -> list[str]:
    """Return the lines that Java prints.

    Args:
        *arguments: of ``java``: its options, a program and what it takes.
        given: its stdin.

    Raises:
        AssertionError: there is no JDK, or Java failed.
    """
    java = jdk()
    assert java, "this requires a JDK"
    command = [str(java), *map(str, arguments)]
    done = subprocess.run(command, input=given, check=False, capture_output=True, encoding="utf-8", timeout=_PATIENCE)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.splitlines()


def regenerate(golden: Path, lines: Iterable[str]) -> None:
    golden.write_text("".join(f"{line}\n" for line in lines))


class JavaProgram:
    """A running oracle; one request at a time."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=None if environment is None else dict(environment),
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

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

    def asked(self, request: Mapping[str, Any]) -> Any:
        """The answer to a request, one line of JSON each."""
        self._stdin.write(json.dumps(request).encode() + b"\n")
        self._stdin.flush()
        line = self._stdout.readline()
        if not line:
            raise self.gone()
        return json.loads(line)

    def gone(self) -> AssertionError:
        self._log.seek(0)
        return AssertionError(f"Java is gone: {self._log.read()[-3000:].decode(errors='replace')}")
