"""The linter of sources finds each kind of mistake, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_sources import REFERENCES, findings, unguarded


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
def test_a_missing_clause_is_found(line: str) -> None:
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
def test_a_correct_line_is_accepted(line: str) -> None:
    assert list(unguarded(line, REFERENCES | {"Node"})) == []


def test_all_folders_of_a_tree_are_checked(tmp_path: Path) -> None:
    for name, text in {
        "ext/package/_a.pyx": "cdef class Node:\n    pass\ncdef Node f():\n    pass\ncdef int g():\n    pass\n",
        "docs/page.md": "fine\nsee " + "/" + "tmp/notes\n",
        "Makefile": "all:\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [line.partition(": ")[0] for line in findings(tmp_path)] == ["ext/package/_a.pyx:5", "docs/page.md:2"]
