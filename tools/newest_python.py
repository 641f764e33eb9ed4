"""Print the newest Python here of those that the package promises; the one that runs this, if there is no newer one.

Others are looked for in PATH and among those of pyenv, which need not be selected.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MINORS = range(12, 16)  # that pyproject.toml promises


def candidates() -> Iterator[str]:
    """Yield programs that may be a Python."""
    yield from (f"python3.{minor}" for minor in MINORS)
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    yield from (str(found / "bin" / "python") for found in versions.glob("3.*") if re.fullmatch(r"[0-9.]+", found.name))


def version_of(program: str) -> tuple[int, ...]:
    """The version of a Python; () if the program is another one, cannot be started, or has no pip for environments."""
    code = "import ensurepip, sys; print(*sys.version_info[:3])"
    try:
        done = subprocess.run([program, "-c", code], check=False, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else ()


def main() -> None:
    """Print the program."""
    found = [(version, program) for program in candidates() if (version := version_of(program))]
    newer = [one for one in found if sys.version_info[:2] < one[0][:2] and one[0][1] in MINORS]
    print(max(newer)[1] if newer else sys.executable)


if __name__ == "__main__":
    main()
