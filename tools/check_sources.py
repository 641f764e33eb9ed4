"""A linter for two mistakes that no other tool finds: cdef functions that lose exceptions, and paths of a machine.

Prints each finding as ``file:line: text``, and exits with status 1 if there is any; `make lint` runs it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("ext", "streamnative_serdes", "tests", "benchmarks", "examples", "tools", "docs", ".github", ".ci")
SUFFIXES = {".pyx", ".pxd", ".pxi", ".h", ".py", ".pyi", ".md", ".toml", ".ini", ".yml", ".avsc", ""}

# `cdef [inline] RETURN name(arguments) ...:`, on one logical line; without the colon it is a declaration.
FUNCTION = re.compile(r"^\s*c(?:p)?def\s+(?:inline\s+)?(?P<returns>[^=()]*?)\s*(?P<name>\w+)\s*\((?P<rest>.*)$")
# Functions that return Python objects report exceptions by NULL, and need no clause.
REFERENCES = {"object", "bytes", "str", "list", "dict", "tuple", "set", "bytearray", "type", "frozenset"}
MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home/\w+|tmp)/\w|[A-Z]:\\Users")


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines without comments, with their number; lines are joined while a bracket is open."""
    start, gathered = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].rstrip()
        start, gathered = (start, f"{gathered} {line.strip()}") if gathered else (number, line)
        if gathered.count("(") <= gathered.count(")"):
            yield start, gathered
            gathered = ""


def classes_in(texts: list[str]) -> set[str]:
    """Return the names of cdef classes; functions that return one return a Python object."""
    return {name for text in texts for name in re.findall(r"^\s*cdef\s+class\s+(\w+)", text, re.MULTILINE)}


def unguarded(text: str, references: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each cdef function with a C result and neither `except` nor `noexcept`."""
    for number, line in logical_lines(text):
        found = FUNCTION.match(line)
        if not found or line.lstrip().startswith(("cdef class", "cdef extern", "cdef struct", "cdef enum")):
            continue
        returns = found["returns"].strip()
        if returns in references or returns == "":
            continue
        if "except" not in found["rest"].rpartition(")")[2]:
            yield number, f"neither `except` nor `noexcept`: {line.strip()}"


def machine_paths(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each line that contains a path of a particular machine."""
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE.search(line):
            yield number, f"a path of a machine: {line.strip()}"


def findings(root: Path) -> Iterator[str]:
    fragments = {path: path.read_text() for path in sorted(root.glob("ext/**/*.p*")) if path.suffix in SUFFIXES}
    references = REFERENCES | classes_in(list(fragments.values()))
    for path, text in fragments.items():
        yield from (f"{path.relative_to(root)}:{number}: {what}" for number, what in unguarded(text, references))
    for path in sorted({*root.glob("*"), *(path for folder in FOLDERS for path in (root / folder).rglob("*"))}):
        if path.suffix in SUFFIXES and path.is_file():
            text = path.read_text(errors="replace")
            yield from (f"{path.relative_to(root)}:{number}: {what}" for number, what in machine_paths(text))


def main() -> None:
    found = list(findings(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
