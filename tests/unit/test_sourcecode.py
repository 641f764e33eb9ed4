"""A naive linter for the mistakes in Cython that no other tool names, and for traces of somebody's machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FRAGMENTS = sorted(path for path in ROOT.glob("ext/**/*") if path.suffix in {".pyx", ".pxd", ".pxi"})
TEXTS = sorted(
    path
    for folder in (
        "ext",
        "streamnative_serdes",
        "tests",
        "benchmarks",
        "examples",
        "tools",
        "docs",
        ".github",
        ".ci",
        ".",
    )
    for path in (ROOT.glob("*") if folder == "." else (ROOT / folder).rglob("*"))
    if path.suffix in {".pyx", ".pxd", ".pxi", ".h", ".py", ".pyi", ".md", ".toml", ".ini", ".yml", ".avsc", ""}
    and path.is_file()
)

# `cdef [inline] RETURN name(arguments) ...:`, on one logical line; without the colon it is a declaration.
FUNCTION = re.compile(r"^\s*c(?:p)?def\s+(?:inline\s+)?(?P<returns>[^=()]*?)\s*(?P<name>\w+)\s*\((?P<rest>.*)$")
# What Python reference counting carries reports an exception by NULL, with no clause needed.
REFERENCES = {"object", "bytes", "str", "list", "dict", "tuple", "set", "bytearray", "type", "frozenset"}
MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home/\w+|tmp)/\w|[A-Z]:\\Users")

needs_sources = pytest.mark.skipif(not FRAGMENTS, reason="the Cython sources are not here: a wheel is under test")


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their number, joined while a bracket is open, without comments."""
    start, gathered = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].rstrip()
        start, gathered = (start, f"{gathered} {line.strip()}") if gathered else (number, line)
        if gathered.count("(") <= gathered.count(")"):
            yield start, gathered
            gathered = ""


def classes_in(texts: list[str]) -> set[str]:
    """The cdef classes: what returns one returns a reference."""
    return {name for text in texts for name in re.findall(r"^\s*cdef\s+class\s+(\w+)", text, re.MULTILINE)}


def unguarded(text: str, references: set[str]) -> Iterator[str]:
    """The cdef functions of a C result (or none) that say neither `except` nor `noexcept`."""
    for number, line in logical_lines(text):
        found = FUNCTION.match(line)
        if not found or line.lstrip().startswith(("cdef class", "cdef extern", "cdef struct", "cdef enum")):
            continue
        returns = found["returns"].strip()
        if returns in references or returns == "":
            continue
        tail = found["rest"].rpartition(")")[2]
        if "except" not in tail:
            yield f"line {number}: {line.strip()}"


@needs_sources
@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_cdef_function_says_how_it_reports_an_exception(path: Path) -> None:
    references = REFERENCES | classes_in([other.read_text() for other in FRAGMENTS])
    assert list(unguarded(path.read_text(), references)) == []


@needs_sources
def test_no_file_names_a_path_of_a_machine() -> None:
    assert TEXTS
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if MACHINE.search(line)
    ]
    assert named == []


@pytest.mark.parametrize(
    "line",
    [
        "cdef int f(object x):",
        "cdef inline Py_ssize_t f(const char* p, Py_ssize_t n) nogil:",
        "    cdef void write(self, int64_t value):",
        "    cdef int write(self,\n                   int64_t value):",
        "cdef char* f(self)",
        "cpdef bint f(self):",
    ],
)
def test_the_linter_finds_a_missing_clause(line: str) -> None:
    assert list(unguarded(line, REFERENCES))


@pytest.mark.parametrize(
    "line",
    [
        "cdef int f(object x) except -1:",
        "cdef inline Py_ssize_t f(const char* p) except? -1 nogil:",
        "    cdef void write(self, int64_t value) noexcept:",
        "cdef object f(self, x):",
        "cdef f(self, x):",
        "cpdef f(self, int x):",
        "cdef Node f(self, x):",
        "cdef class Node(Base):",
        "cdef int x = f(3)",
        "cdef Py_ssize_t n = len(x)",
        "ctypedef int (*function)(object) except -1",
    ],
)
def test_the_linter_lets_good_lines_pass(line: str) -> None:
    assert list(unguarded(line, REFERENCES | {"Node"})) == []
