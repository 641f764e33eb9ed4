"""Stubs of compiled modules: the site is made of their docstrings, and ``help()`` shows those of the modules."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import streamnative_serdes

STUBS = sorted(Path(streamnative_serdes.__file__).parent.glob("*.pyi"))
SIGNATURE = re.compile(r"[\w.]+\(.*\)( -> \w+)?\n\n")


def documented(stub: Path) -> Iterator[tuple[str, str, Any]]:
    """Name, docstring in the stub, and compiled object of all that has a docstring there."""

    def inside(nodes: list[ast.stmt], owner: Any, path: str) -> Iterator[tuple[str, str, Any]]:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                compiled = getattr(owner, node.name)
                if text := ast.get_docstring(node):
                    yield f"{path}.{node.name}", text, compiled
                if isinstance(node, ast.ClassDef):
                    yield from inside(node.body, compiled, f"{path}.{node.name}")

    module = importlib.import_module(f"streamnative_serdes.{stub.stem}")
    yield from inside(ast.parse(stub.read_text()).body, module, stub.stem)


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.stem)
def test_help_of_a_compiled_name_says_what_its_stub_says(stub: Path) -> None:
    found = list(documented(stub))
    assert found, "the stub has no docstring at all"
    for path, text, compiled in found:
        # Cython puts the signature in front.
        assert SIGNATURE.sub("", inspect.getdoc(compiled) or "", count=1) == text, path
